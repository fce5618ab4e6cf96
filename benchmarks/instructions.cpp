// Learns the same rows repeatedly, so that a simulator can count the instructions. Arguments: kind, d, times.
#include <cstdlib>
#include <cstring>
#include <random>

#include "driftline/linear/first_order_model.hpp"
#include "driftline/fleet/fleet.hpp"
#include "driftline/linear/second_order_model.hpp"

using namespace driftline;

namespace {
constexpr Index rows = 200;

struct Rows {
    std::vector<double> x, y, predictions;
    Batch batch;
    Outputs out;
    explicit Rows(Index d)
        : x(static_cast<std::size_t>(d * rows)), y(static_cast<std::size_t>(rows)), predictions(y.size()) {
        std::mt19937_64 source(1);
        std::normal_distribution<double> normal;
        for (double& value : x)
            value = normal(source);
        for (double& value : y)
            value = normal(source);
        batch.x = x.data();
        batch.rows = rows;
        batch.row_stride = d;
        batch.column_stride = 1;
        batch.y = y.data();
        out.predictions = predictions.data();
    }
};

template <class T> void second_order(Index d, Index times, Time time) {
    Policy policy;
    policy.time = time;
    policy.amount = time == Time::add ? 1e-3 : 0.999;
    SecondOrderModel<T> model(d, false, policy);
    Rows data(d);
    for (Index i = 0; i < times; ++i) {
        Outputs out = data.out;
        with_size(model.state, [&]<int G>() { return replay<G>(model.state, data.batch, out, false); });
    }
}
void one_by_one(Index d, Index times) {
    SecondOrderModel<double> model(d, false, Policy{});
    Rows data(d);
    Batch row = data.batch;
    row.rows = 1;
    for (Index t = 0; t < times * rows; ++t) {
        row.x = data.x.data() + t % rows * d;
        row.y = data.y.data() + t % rows;
        Outputs out = data.out;
        with_size(model.state, [&]<int G>() { return replay<G>(model.state, row, out, false); });
    }
}
void first_order(Index d, Index times) {
    FirstOrderPolicy policy;
    policy.rate = 0.01 / static_cast<double>(d);
    FirstOrderModel<double> model(d, false, policy);
    Rows data(d);
    for (Index i = 0; i < times; ++i) {
        Outputs out = data.out;
        replay(model.state, data.batch, out);
    }
}
} // namespace

int main(int count, char** words) {
    if (count != 4)
        return 2;
    const char* kind = words[1];
    const Index d = std::atol(words[2]), times = std::atol(words[3]);
    if (!std::strcmp(kind, "rls64"))
        second_order<double>(d, times, Time::divide);
    else if (!std::strcmp(kind, "rls32"))
        second_order<float>(d, times, Time::divide);
    else if (!std::strcmp(kind, "one-row"))
        one_by_one(d, times);
    else if (!std::strcmp(kind, "kalman64"))
        second_order<double>(d, times, Time::add);
    else if (!std::strcmp(kind, "lms64"))
        first_order(d, times);
    else
        return 2;
    return 0;
}
