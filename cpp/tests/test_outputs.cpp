// Several labels a row, compared with one learner for each.
#include "check.hpp"
#include "driftline/linear/multi_output.hpp"

using namespace driftline;

namespace {

double value(Index t, Index j) { return std::sin(static_cast<double>(t * t % 97 + 5 * j + t)); }

template <class T> void outputs_equal_those_of_separate_models(const Policy& policy, Index d, double tolerance) {
    const Index outputs = 3;
    SecondOrderModel<T> shared(d, true, policy);
    OutputWeights<T> weights(outputs, d);
    std::vector<std::unique_ptr<SecondOrderModel<T>>> apart;
    for (Index j = 0; j < outputs; ++j)
        apart.push_back(std::make_unique<SecondOrderModel<T>>(d, true, policy));
    for (Index t = 0; t < 200; ++t) {
        double y[3], predictions[3], prediction = 0;
        const auto fill = [&](SecondOrderState<T>& state) {
            for (Index i = 0; i < d; ++i)
                state.x[i] = static_cast<T>(i == d - 1 ? 1 : value(t, i));
        };
        for (Index j = 0; j < outputs; ++j)
            y[j] = value(t, 50 + j);
        fill(shared.state);
        CHECK(learn_outputs(shared.state, weights, y, 1.0, predictions) == Status::done);
        for (Index j = 0; j < outputs; ++j) {
            auto& state = apart[static_cast<std::size_t>(j)]->state;
            fill(state);
            CHECK(engine<T>().learn(state, y[j], 1.0, prediction) == Status::done);
            CHECK_NEAR(predictions[j], prediction, tolerance);
            for (Index i = 0; i < d; ++i)
                CHECK_NEAR(weights.of(j)[i], state.w[i], tolerance);
        }
    }
    OutputWeights<T> wider = grown_outputs(weights, shared.state, 2);
    CHECK(wider.of(1)[d + 1] == weights.of(1)[d - 1] && wider.of(1)[d - 1] == 0);
}

template <class T> void with_every_policy(double tolerance) {
    Policy plain, fading, drifting, shrunk, kept;
    fading.time = Time::divide;
    fading.amount = 0.95;
    drifting.time = Time::add;
    drifting.amount = 0.01;
    shrunk.shrink = true;
    shrunk.predictions = {-0.5, 0.5};
    kept = fading;
    kept.keep_prior = true;
    for (const Policy& policy : {plain, fading, drifting, shrunk, kept})
        for (Index d : {1, 4, 9, 40})
            outputs_equal_those_of_separate_models<T>(policy, d, tolerance);
}

} // namespace

int main() {
    with_every_policy<double>(1e-11);
    with_every_policy<float>(2e-2);
    return checks::result();
}
