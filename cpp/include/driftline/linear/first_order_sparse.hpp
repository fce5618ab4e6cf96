// The first-order step on sparse rows, O(nnz) a row.
#pragma once

#include "driftline/linear/first_order.hpp"
#include "driftline/linear/sparse_rows.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// A row changes all multiplicative weights, but those without an entry only through the sum. So the sum is maintained, and
// the weights are formed from the logarithms when they are needed.

// A weight, from its logarithm and the sum.
template <class T> double shared_weight(const FirstOrderState<T>& m, Index j) {
    const double p = std::exp(m.logs[j]) / m.shares.total;
    if (m.policy.space == Space::simplex)
        return p;
    return saturate(m.policy.norm * (p - std::exp(m.logs[m.d + j]) / m.shares.total), type_max<T>);
}

// Sums the exponentials, after scaling the largest to 1.
template <class T> DRIFTLINE_ONCE void gather_shares(FirstOrderState<T>& m) {
    const Index n = m.policy.space == Space::simplex ? m.d : 2 * m.d;
    double most = -HUGE_VAL;
    for (Index i = 0; i < n; ++i)
        most = at_least(most, m.logs[i]);
    m.shares = {};
    for (Index i = 0; i < n; ++i) {
        m.logs[i] = at_least(m.logs[i] - most, -DBL_MAX);
        m.shares.add(std::exp(m.logs[i]));
    }
    m.shares.peak = m.shares.total;
    m.stale = true;
}

// Forms the weights, for a reader or a step on a dense row.
template <class T> void form_weights(FirstOrderState<T>& m) {
    if (!m.stale)
        return;
    for (Index j = 0; j < m.d; ++j)
        m.w[j] = static_cast<T>(shared_weight(m, j));
    m.stale = false;
}

template <class T> double score(FirstOrderState<T>& m, const Entries<T>& x, double& norm2) {
    const bool free = m.policy.space == Space::free;
    if (!free && m.shares.total == 0)
        gather_shares(m);
    double f = 0;
    norm2 = 0;
    for (Index e = 0; e < x.count; ++e) {
        const double value = x.value[e];
        f += (free ? m.w[x.at[e]] : static_cast<T>(shared_weight(m, x.at[e]))) * value;
        norm2 += value * value;
    }
    if (std::isfinite(f))
        return f;
    long double total = 0;
    for (Index e = 0; e < x.count; ++e)
        total += static_cast<long double>(free ? m.w[x.at[e]] : shared_weight(m, x.at[e])) * x.value[e];
    return static_cast<double>(std::clamp<long double>(total, -DBL_MAX, DBL_MAX));
}

// w += factor x, unless a weight would leave the range.
template <class T, class Real> bool move_entries(FirstOrderState<T>& m, const Entries<T>& x, Real factor) {
    for (Index e = 0; e < x.count; ++e)
        if (!std::isfinite(static_cast<T>(m.w[x.at[e]] + factor * x.value[e])))
            return false;
    for (Index e = 0; e < x.count; ++e)
        m.w[x.at[e]] = static_cast<T>(m.w[x.at[e]] + factor * x.value[e]);
    return true;
}

template <class T> bool far_step(FirstOrderState<T>& m, const Entries<T>& x, double slope, double weight) {
    long double norm2 = 0;
    for (Index e = 0; e < x.count; ++e)
        norm2 += static_cast<long double>(x.value[e]) * x.value[e];
    const long double divisor = rate_divisor<T, long double>(m, weight, norm2);
    return move_entries<T, long double>(m, x, divisor > 0 ? -m.policy.rate * static_cast<long double>(slope) / divisor : 0);
}

template <class T> void multiply_weights(FirstOrderState<T>& m, const Entries<T>& x, double step) {
    constexpr double largest_log = 300;
    const bool both = m.policy.space == Space::signed_;
    const double scale = both ? step * m.policy.norm : step;
    double most = 0;
    const auto move_log = [&](double& log, double move) {
        m.shares.add(-std::exp(log)); // exactly the number that was added
        log = at_least(log + move, -DBL_MAX);
        most = at_least(most, log);
        if (log <= largest_log)
            m.shares.add(std::exp(log));
    };
    for (Index e = 0; e < x.count; ++e) {
        const double move = saturate(scale * static_cast<double>(x.value[e]), 1e300);
        move_log(m.logs[x.at[e]], -move);
        if (both)
            move_log(m.logs[m.d + x.at[e]], move);
    }
    m.shares.peak = at_least(m.shares.peak, m.shares.total);
    m.stale = true;
    if (most > largest_log || !(m.shares.total > 1e-10 * m.shares.peak)) [[unlikely]]
        gather_shares(m); // the remaining sum would have lost its digits
}

// As on dense rows: nothing has changed unless the status is done.
template <class T> Status descend(FirstOrderState<T>& m, const Entries<T>& x, double norm2, double slope, double weight) {
    const FirstOrderPolicy& policy = m.policy;
    if (policy.space == Space::free) {
        const double step = policy.rate / rate_divisor<T, double>(m, weight, norm2);
        const double factor = slope == 0 ? 0 : -step * slope, size = std::fabs(factor);
        const bool near = slope == 0 || (size >= type_min<T> && size <= type_max<T> && step >= DBL_MIN);
        if (!(near ? move_entries<T, T>(m, x, static_cast<T>(factor)) : far_step(m, x, slope, weight)))
            return Status::diverged;
    } else {
        multiply_weights(m, x, saturate(policy.rate * slope, 1e300));
    }
    m.sums.largest_norm2 = at_least(m.sums.largest_norm2, at_most(norm2, DBL_MAX));
    return Status::done;
}

// Takes a row, with the constant feature after it if there is one. False if a value is missing or out of T's range.
template <class T> bool take_row(const FirstOrderState<T>& m, EntryBuffer<T>& row, const CompressedRows& rows, Index t) {
    const bool good = row.take(rows, t, m.d);
    if (m.intercept)
        row.add(m.d - 1, T(1));
    return good;
}

template <class T>
Status replay(FirstOrderState<T>& m, EntryBuffer<T>& row, const CompressedRows& rows, const Batch& batch, Outputs& out) {
    row.reserve(rows.longest() + 1);
    for (Index t = out.done; t < batch.rows; ++t) {
        const RowAction action = row_action<T>(batch, t, take_row(m, row, rows, t));
        if (action == RowAction::refuse)
            return Status::bad_value;
        double norm2, prediction = NAN;
        if (action != RowAction::pass)
            prediction = score(m, row.entries(), norm2);
        out.predictions[t] = m.policy.labels.hold(prediction);
        if (out.spread())
            action == RowAction::pass ? write_no_spread(out, t)
                                      : write_spread(out, t, m.coverage, m.policy.labels, 1, m.sums.largest_loss);
        if (action != RowAction::learn) {
            out.skipped += was_skipped<T>(batch, t, action);
        } else {
            const double weight = weight_of(batch, t);
            const double slope = weight * loss_slope(m.policy, batch.y[t], prediction);
            if (descend(m, row.entries(), norm2, slope, weight) != Status::done)
                return Status::diverged;
            count(m, batch.y[t], prediction);
        }
        if (out.weights && (t + 1) % out.every == 0) {
            form_weights(m);
            snapshot(out, m.w, m.d, t);
        }
        out.done = t + 1;
    }
    return Status::done;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
