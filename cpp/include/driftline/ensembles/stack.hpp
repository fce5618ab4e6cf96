// Stacking by least squares: regresses y - first on the other predictions' deviations from the first, in units of the
// first one's errors. The result is clamped to the range of its inputs, widened by a tenth.
#pragma once

#include <algorithm>
#include <vector>

#include "driftline/linear/second_order_model.hpp"

namespace driftline {

class GuardedStack {
  public:
    explicit GuardedStack(Index count) : count_(count), model_(count - 1, false, policy()) { model_.follow_no_coverage(); }

    double predict(const double* said) {
        const double size = show(said);
        double value = 0;
        if (size > 0)
            engine<double>().predict(model_.state, value, nullptr);
        const auto [low, high] = std::minmax_element(said, said + count_);
        const double more = 0.1 * (*high - *low);
        return at_most(at_least(*low - more, said[0] + size * value), *high + more);
    }
    void learn(const double* said, double y, double weight) {
        const double error = saturate(y - said[0], 1e140);
        squares_ = at_most(keep * squares_ + weight * error * error, 1e290);
        rows_ = at_most(keep * rows_ + weight, 1e290);
        const double size = show(said);
        double ignored = 0;
        if (size > 0)
            engine<double>().learn(model_.state, saturate(error / size, 30), weight, ignored);
    }
    template <class Act> void visit(Act&& act) {
        act(&squares_, 1);
        act(&rows_, 1);
        act(reinterpret_cast<double*>(&model_.state.sums), untimed_sums_count);
        act(model_.diagonal().data(), model_.diagonal().size());
        act(model_.state.w, model_.state.d);
        act(model_.matrix().data(), model_.matrix().size());
    }
    SecondOrderModel<double>& model() { return model_; }

  private:
    static constexpr double keep = 0.999, ridge = 10;
    static Policy policy() {
        Policy out;
        out.start = 1 / ridge;
        out.time = Time::divide;
        out.amount = keep;
        return out;
    }
    double show(const double* said) {
        const double size = rows_ > 0 ? std::sqrt(squares_ / rows_) : 0;
        for (Index k = 1; k < count_; ++k)
            model_.state.x[k - 1] = size > 0 ? saturate((said[k] - said[0]) / size, 30) : 0;
        model_.state.ready = false;
        return size;
    }

    Index count_;
    double squares_ = 0, rows_ = 0; // of the first prediction's errors
    SecondOrderModel<double> model_;
};

} // namespace driftline
