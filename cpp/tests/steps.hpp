// Random streams and models of every policy, for the tests of whole steps.
#pragma once

#include <algorithm>
#include <memory>

#include "samples.hpp"

namespace samples {

struct Stream {
    Index rows, features;
    std::vector<double> x, y, predictions;
    std::vector<unsigned char> resets;
    Stream(Index t, Index n) : rows(t), features(n), x(static_cast<std::size_t>(t * n)), y(static_cast<std::size_t>(t)) {
        fill(x.data(), t * n);
        fill(y.data(), t);
        predictions.resize(y.size());
        resets.resize(y.size());
    }
    driftline::Batch batch() const {
        driftline::Batch b;
        b.x = x.data();
        b.rows = rows;
        b.row_stride = features;
        b.column_stride = 1;
        b.y = y.data();
        return b;
    }
    driftline::Outputs outputs() {
        driftline::Outputs out;
        out.predictions = predictions.data();
        std::fill(resets.begin(), resets.end(), 0);
        out.resets = resets.data();
        return out;
    }
    const double* row(Index t) const { return x.data() + t * features; }
};

struct Named {
    const char* name;
    driftline::Policy policy;
};
inline std::vector<Named> policies() {
    using driftline::Reset, driftline::Time;
    return {
        {"ridge", {}},
        {"rls", {.time = Time::divide, .amount = 0.95}},
        {"aar", {.shrink = true, .predictions = {-0.7, 0.7}}},
        {"crrls", {.time = Time::divide, .amount = 0.9, .reset = Reset::every, .period = 7}},
        {"arcor", {.noise = 0.5, .reset = Reset::below, .radius = 0.4}},
        {"wemm", {.start = 1e-3, .complement = true}},
        {"weighted_laser", {.time = Time::add, .amount = 0.01, .complement = true, .shrink = true, .least_noise = 0.5}},
        {"kalman", {.time = Time::add, .amount = 0.01, .noise = 0.5}},
        {"drifting arcor", {.time = Time::divide, .amount = 0.99, .reset = Reset::below}},
        {"growth_limit rls", {.time = Time::divide, .amount = 0.5, .growth_limit = 1}},
        {"rls that keeps its prior", {.time = Time::divide, .amount = 0.9, .keep_prior = true}},
        {"drifting arcor that keeps its prior",
         {.start = 2, .time = Time::divide, .amount = 0.99, .reset = Reset::below, .keep_prior = true}},
    };
}
template <class T>
std::unique_ptr<driftline::SecondOrderModel<T>> make_model(Index d, bool intercept, const driftline::Policy& policy) {
    auto model = std::make_unique<driftline::SecondOrderModel<T>>(d, intercept, policy);
    if (policy.reset == driftline::Reset::below) {
        std::vector<double> thresholds;
        for (int i = 1; i <= 2000; ++i)
            thresholds.push_back(1 / (i + 1.0));
        model->set_thresholds(thresholds, 1);
    }
    return model;
}

} // namespace samples
