// A first-order learner's state and its memory.
#pragma once

#include <memory>

#include "driftline/engine.hpp"
#include "driftline/linear/first_order_sparse.hpp"
#include "driftline/base/storage.hpp"

namespace driftline {

template <class T> class FirstOrderModel {
  public:
    FirstOrderModel(Index d, bool intercept, const FirstOrderPolicy& policy) : rows_(3 * padded<T>(d)) {
        state.d = d;
        state.intercept = intercept;
        state.policy = policy;
        state.w = rows_.data();
        state.x = rows_.data() + padded<T>(d);
        state.trial = rows_.data() + 2 * padded<T>(d);
        if (policy.space != Space::free) {
            logs_ = Aligned<double>(2 * d);
            state.logs = logs_.data();
            weights_from_logs(policy, state.logs, state.w, d);
        }
    }
    FirstOrderModel(const FirstOrderModel&) = delete;

    FirstOrderState<T> state;
    EntryBuffer<T> row; // for sparse rows

    // Forms the weights after sparse rows.
    void form_weights() { driftline::form_weights(state); }

    // The same model with `more` features before the intercept: weight 0, or, for multiplicative weights, an equal share.
    std::unique_ptr<FirstOrderModel> grown(Index more) const {
        auto wider = std::make_unique<FirstOrderModel>(state.d + more, state.intercept, state.policy);
        const Index d = state.d;
        const auto moved = [&](Index j) { return state.intercept && j == d - 1 ? j + more : j; };
        wider->state.sums = state.sums;
        wider->state.coverage = state.coverage;
        if (state.logs)
            grow_logs(*wider, moved);
        else
            for (Index j = 0; j < d; ++j)
                wider->state.w[moved(j)] = state.w[j];
        return wider;
    }

    void set_policy(const FirstOrderPolicy& policy) { state.policy = policy; }

    Aligned<double>& logs() { return logs_; }

  private:
    // New features get 1/n of the total each; the others keep their proportions in the rest.
    template <class Moved> void grow_logs(FirstOrderModel& wider, const Moved& moved) const {
        const Index d = state.d, wide = wider.state.d;
        const Index sides = state.policy.space == Space::simplex ? 1 : 2;
        double total = 0;
        for (Index i = 0; i < sides * d; ++i)
            total += std::exp(state.logs[i]);
        for (Index i = 0; i < sides * wide; ++i)
            wider.state.logs[i] = std::log(total / static_cast<double>(sides * d));
        for (Index side = 0; side < sides; ++side)
            for (Index j = 0; j < d; ++j)
                wider.state.logs[side * wide + moved(j)] = state.logs[side * d + j];
        weights_from_logs(state.policy, wider.state.logs, wider.state.w, wide);
    }

    Aligned<T> rows_;
    Aligned<double> logs_;
};

} // namespace driftline
