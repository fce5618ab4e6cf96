// The single step behind every first-order learner: additive or multiplicative, with any loss, O(d) a row.
#pragma once

#include "driftline/base/rows.hpp"

namespace driftline {

enum class Loss : int { squared, half_squared, absolute, huber, pinball, logistic, hinge, perceptron, custom };
enum class Rate : int {
    plain,
    implicit,  // rate / (1 + rate |x|^2): the step that solves for the new weights
    normalised // rate / (eps + |x|^2)
};
enum class Space : int {
    free,    // w <- w - step g x
    simplex, // w_i <- w_i exp(-step g x_i), normalised to sum 1
    signed_  // the same on 2d weights of sum 1, w = norm (p - n)
};

struct FirstOrderPolicy {
    double rate = 0.01;
    Rate rule = Rate::plain;
    double eps = 0;
    Loss loss = Loss::half_squared;
    double parameter = 0; // the threshold of Huber's loss, the level of the pinball loss
    Space space = Space::free;
    double norm = 1;
    Limits labels{}; // predictions stay inside
};

struct FirstOrderSums {
    double rows = 0;
    double loss = 0;
    double largest_loss = 0;
    double largest_label = 0;
    double largest_norm2 = 0;
};
inline constexpr Index first_order_sums_count = sizeof(FirstOrderSums) / sizeof(double);

// The sum of the exponentials of the logarithms, updated while sparse rows change few of them. It has two parts, so that
// subtracting a term removes it exactly.
struct Shares {
    double total = 0, rest = 0;
    double peak = 0; // the largest total since the last full summation
    DRIFTLINE_INLINE void add(double more) {
        const double sum = total + more, part = sum - total;
        rest += (total - (sum - part)) + (more - part);
        total = sum + rest;
        rest -= total - sum;
    }
};
inline constexpr Index shares_count = sizeof(Shares) / sizeof(double);

template <class T> struct FirstOrderState {
    Index d = 0;
    bool intercept = false;
    FirstOrderPolicy policy;
    FirstOrderSums sums;
    Coverage coverage;
    T* w = nullptr;
    T* x = nullptr;
    T* trial = nullptr;     // the weights after the row, until they are known to be finite
    double* logs = nullptr; // logarithms of the multiplicative weights up to a constant, 2d of them
    Shares shares;          // 0 if not maintained
    bool stale = false;     // w must be formed from logs and shares
};

inline namespace DRIFTLINE_ISA {

// Derivative of the loss with respect to the prediction.
inline double loss_slope(const FirstOrderPolicy& policy, double y, double p) {
    const double error = p - y;
    switch (policy.loss) {
    case Loss::squared:
        return 2 * error;
    case Loss::half_squared:
        return error;
    case Loss::absolute:
        return static_cast<double>(error > 0) - static_cast<double>(error < 0);
    case Loss::huber:
        return saturate(error, policy.parameter);
    case Loss::pinball:
        return error > 0 ? 1 - policy.parameter : error < 0 ? -policy.parameter : 0;
    case Loss::logistic:
        return -y / (1 + std::exp(y * p));
    case Loss::hinge:
        return y * p < 1 ? -y : 0;
    case Loss::perceptron:
        return y * p <= 0 ? -y : 0;
    case Loss::custom:
        break;
    }
    return 0;
}

// w.x, and |x|^2 in the same pass.
template <class T> DRIFTLINE_INLINE double score(const FirstOrderState<T>& m, double& norm2) {
    double f;
    dot_and_norm(m.w, m.x, padded<T>(m.d), f, norm2);
    return std::isfinite(f) ? f : far_dot(m.w, m.x, 1, m.d);
}

// Weights from their logarithms; also used by growth and loading.
template <class T> void weights_from_logs(const FirstOrderPolicy& policy, double* logs, T* w, Index d) {
    const Index n = policy.space == Space::simplex ? d : 2 * d;
    double most = -HUGE_VAL, total = 0;
    for (Index i = 0; i < n; ++i)
        most = at_least(most, logs[i]);
    for (Index i = 0; i < n; ++i) {
        logs[i] = at_least(logs[i] - most, -DBL_MAX);
        total += std::exp(logs[i]);
    }
    for (Index i = 0; i < d; ++i) {
        const double p = std::exp(logs[i]) / total;
        w[i] = static_cast<T>(saturate(n == d ? p : policy.norm * (p - std::exp(logs[d + i]) / total), type_max<T>));
    }
}

template <class T> void multiply_weights(FirstOrderState<T>& m, double step) {
    const bool both = m.policy.space == Space::signed_;
    const double scale = both ? step * m.policy.norm : step;
    for (Index i = 0; i < m.d; ++i) {
        const double move = saturate(scale * static_cast<double>(m.x[i]), 1e300);
        m.logs[i] -= move;
        if (both)
            m.logs[m.d + i] += move;
    }
    weights_from_logs(m.policy, m.logs, m.w, m.d);
    m.shares = {};
}

// The rule's divisor of the rate: 1, 1 + rate weight |x|^2 (implicit in the new w.x), or eps + |x|^2.
template <class T, class Real> Real rate_divisor(const FirstOrderState<T>& m, Real weight, Real norm2) {
    const FirstOrderPolicy& policy = m.policy;
    switch (policy.rule) {
    case Rate::plain:
        break;
    case Rate::implicit:
        return 1 + policy.rate * weight * norm2;
    case Rate::normalised:
        return policy.eps + norm2;
    }
    return 1;
}

// The additive step if |x|^2 or the factor of x leaves the range of T, though the weights may not.
template <class T> DRIFTLINE_ONCE bool far_step(FirstOrderState<T>& m, double slope, double weight) {
    long double norm2 = 0;
    for (Index j = 0; j < m.d; ++j)
        norm2 += static_cast<long double>(m.x[j]) * m.x[j];
    const long double divisor = rate_divisor<T, long double>(m, weight, norm2);
    const long double factor = divisor > 0 ? -m.policy.rate * static_cast<long double>(slope) / divisor : 0;
    bool finite = true;
    for (Index j = 0; j < m.d; ++j) {
        m.trial[j] = m.x[j] == 0 ? m.w[j] : static_cast<T>(m.w[j] + factor * m.x[j]); // the factor may be infinite
        finite = finite && std::isfinite(m.trial[j]);
    }
    return finite;
}

// Moves against the gradient `slope` of the loss at the current row. Nothing has changed unless the status is done.
template <class T> DRIFTLINE_INLINE Status descend(FirstOrderState<T>& m, double norm2, double slope, double weight) {
    const FirstOrderPolicy& policy = m.policy;
    const Index n = padded<T>(m.d);
    if (policy.space == Space::free) {
        const double step = policy.rate / rate_divisor<T, double>(m, weight, norm2); // computed before the slope is known
        const double factor = slope == 0 ? 0 : -step * slope, size = std::fabs(factor);
        const bool near = slope == 0 || (size >= type_min<T> && size <= type_max<T> && step >= DBL_MIN);
        const bool finite = near ? add_scaled(m.trial, m.w, m.x, static_cast<T>(factor), n) : far_step(m, slope, weight);
        if (!finite)
            return Status::diverged;
        T* const swap = m.w;
        m.w = m.trial;
        m.trial = swap;
    } else {
        multiply_weights(m, saturate(policy.rate * slope, 1e300));
    }
    m.sums.largest_norm2 = at_least(m.sums.largest_norm2, at_most(norm2, DBL_MAX));
    return Status::done;
}

// `prediction` is w.x.
template <class T> DRIFTLINE_INLINE void count(FirstOrderState<T>& m, double y, double prediction) {
    prediction = m.policy.labels.hold(prediction);
    const double loss = at_most((y - prediction) * (y - prediction), DBL_MAX);
    note(m.coverage, loss, y - prediction);
    m.sums.rows += 1;
    m.sums.loss = at_most(m.sums.loss + loss, DBL_MAX);
    m.sums.largest_loss = at_least(m.sums.largest_loss, loss);
    m.sums.largest_label = at_least(m.sums.largest_label, std::fabs(y));
}

template <class T>
DRIFTLINE_INLINE Status learn_row(FirstOrderState<T>& m, double norm2, double y, double weight, double prediction) {
    double slope = loss_slope(m.policy, y, prediction);
    if (weight != 1) // a branch: the next row waits for the slope
        slope *= weight;
    const Status status = descend(m, norm2, slope, weight);
    if (status == Status::done)
        count(m, y, prediction);
    return status;
}

template <class T> Status replay(FirstOrderState<T>& m, const Batch& batch, Outputs& out) {
    const Reader<0, T> reader(batch, m.d, m.intercept);
    const Index size = padded<T>(m.d);
    for (Index t = out.done; t < batch.rows; ++t) {
        reader.take(m.x, t);
        double norm2;
        const double prediction = score(m, norm2);
        const RowAction action = row_action(batch, t, m.x, size, norm2);
        if (action == RowAction::refuse)
            return Status::bad_value;
        out.predictions[t] = action == RowAction::pass ? NAN : m.policy.labels.hold(prediction);
        if (out.spread()) [[unlikely]]
            action == RowAction::pass ? write_no_spread(out, t)
                                      : write_spread(out, t, m.coverage, m.policy.labels, 1, m.sums.largest_loss);
        if (action != RowAction::learn)
            out.skipped += was_skipped<T>(batch, t, action);
        else if (learn_row(m, norm2, batch.y[t], weight_of(batch, t), prediction) != Status::done)
            return Status::diverged;
        snapshot(out, m.w, m.d, t);
        out.done = t + 1;
    }
    return Status::done;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
