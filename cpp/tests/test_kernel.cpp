// Removing points from a kernel learner, and kernel learners on many rows.
#include "check.hpp"
#include "driftline/kernels/model.hpp"
#include "samples.hpp"

using namespace driftline;
using namespace samples;

namespace {

constexpr Index width = 14, lowest = 3, highest = 11;

Square turned(const Square& s, const std::vector<Rotation>& rotations) {
    Square out = s;
    for (Index hi = highest; hi > lowest; --hi) {
        const Rotation r = rotations[static_cast<std::size_t>(highest - hi)];
        const auto turn = [&](long double& high, long double& low) {
            const long double before = high;
            high = r.c * before + r.s * low;
            low = r.c * low - r.s * before;
        };
        for (Index k = 0; k < s.d; ++k)
            turn(out.at(hi, k), out.at(hi - 1, k));
        for (Index k = 0; k < s.d; ++k)
            turn(out.at(k, hi), out.at(k, hi - 1));
    }
    return out;
}

// Coordinates below `lowest` are unused. The dropped coordinate becomes like them; the others are rotated.
void dropping_a_coordinate_keeps_the_covariance_of_the_others(Time time) {
    Policy policy;
    policy.start = 0.7;
    policy.time = time;
    policy.amount = time == Time::divide ? 0.9 : 0.2;
    SecondOrderModel<double> model(width, false, policy);
    double prediction = 0;
    for (int t = 0; t < 40; ++t) {
        std::fill_n(model.state.x, width, 0.0);
        fill(model.state.x + lowest, width - lowest);
        CHECK(engine<double>().learn(model.state, normal(), 1, prediction) == Status::done);
    }
    std::vector<Rotation> rotations;
    for (Index hi = highest; hi > lowest; --hi) {
        const double angle = normal();
        rotations.push_back({std::cos(angle), std::sin(angle)});
    }
    Square wanted = turned(covariance(model.state), rotations);
    kernel_engine().drop_coordinate(model.state, rotations.data(), lowest, highest);
    const Square got = covariance(model.state);
    for (Index i = 0; i < width; ++i)
        for (Index j = 0; j < width; ++j) {
            const bool left = i == lowest || j == lowest;
            const long double entry = !left ? wanted.at(i, j) : i == j ? wanted.at(0, 0) : 0;
            CHECK_NEAR(got.at(i, j), entry, 1e-12L * wanted.at(0, 0));
        }
    CHECK(model.state.w[lowest] == 0);
}

// For every policy: finite predictions, a bounded number of points, and small errors in the end.
void learners_follow_a_function(const Policy& policy, Index budget) {
    KernelOptions options;
    options.budget = budget;
    options.threshold = 0.01;
    auto model = std::make_unique<SecondOrderModel<double>>(KernelModel::first_width(budget), false, policy);
    if (policy.reset == Reset::below)
        model->set_thresholds(std::vector<double>(1000, 0.05), 1);
    KernelModel kernel(model, 2, options);
    double prediction = 0, late = 0;
    Outputs out;
    out.predictions = &prediction;
    for (int t = 0; t < 600; ++t) {
        const double x[] = {std::sin(0.37 * t), std::cos(0.61 * t)}, y = x[0] * x[1];
        CHECK(kernel.step(x, &y, 1, out, 0) == Status::done);
        CHECK(std::isfinite(prediction));
        if (t >= 400)
            late += (y - prediction) * (y - prediction) / 200;
    }
    CHECK(budget == 0 ? kernel.dictionary().count() == 600 : kernel.dictionary().count() <= budget);
    CHECK(late < 0.01);
}

} // namespace

int main() {
    for (Time time : {Time::none, Time::divide, Time::add})
        dropping_a_coordinate_keeps_the_covariance_of_the_others(time);
    for (Index budget : {0, 15, 60}) {
        Policy policy;
        policy.noise = 0.01;
        learners_follow_a_function(policy, budget);
        policy.reset = Reset::below;
        policy.noise = 0.1;
        learners_follow_a_function(policy, budget);
        policy.reset = Reset::none;
        policy.time = Time::add;
        policy.amount = 1e-4;
        learners_follow_a_function(policy, budget);
        policy.time = Time::divide;
        policy.amount = 0.99;
        policy.growth_limit = 1e4;
        learners_follow_a_function(policy, budget);
    }
    return checks::result();
}
