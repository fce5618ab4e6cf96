// What a second-order learner does after a row beyond the step itself: repairs, resets, the prior, the ball.
#pragma once

#include "driftline/linear/projection.hpp"
#include "driftline/linear/second_order_view.hpp"
#include "driftline/linear/second_order_weights.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// Adds `amount` I to S^-1 as d rows of noise 1 / amount, each of one feature: O(d^3). Their labels are 0 for the weights of
// `outputs` learners, one after the other at w; without outputs the weights stay. Returns what the rows add to the value.
template <class T> DRIFTLINE_ONCE double add_information(SecondOrderState<T>& m, double amount, T* w, Index outputs) {
    Row<0, T> row(m.factor);
    const double rho = 1 / amount;
    double value = 0;
    for (Index j = 0; j < m.d; ++j) {
        for (Index i = 0; i < row.columns; ++i) // row j of U
            row.product[i] = i < j ? T(0) : m.factor.u[panel_index<T>(j, i)];
        Growth none;
        const double variance = rho + project(m.factor, row, none);
        update(m.factor, row, rho, m.x);
        for (Index o = 0; o < outputs; ++o) {
            T* const own = w + o * row.size;
            const double gain = -static_cast<double>(own[j]) / variance;
            value += gain * gain * variance;
            if (!add_scaled(own, own, row.k, static_cast<T>(gain), row.size)) [[unlikely]] {
                hold_in_range(own, m.d);
                m.sums.saturated += 1;
            }
        }
    }
    m.ready = false;
    return value;
}

// Restores the prior if forgetting or a reset has reduced it below least_prior, which forgetting does every
// 2 log(least_prior) / log(forgetting) rows. The row has multiplied it by `keep`: if the fraction p was left before, the
// prior is restored to 1 / p, so that its logarithm averages 0 over a cycle; after a reset, to 1. The weights follow.
template <class T> void raise_prior(SecondOrderState<T>& m, double keep, T* w, Index outputs) {
    Sums& sums = m.sums;
    if (!(sums.prior < least_prior))
        return;
    const double before = sums.prior / keep, raised = before >= least_prior && before <= 1 ? 1 / before : 1;
    const double amount = (raised - sums.prior) / m.policy.start;
    sums.prior = raised;
    if (m.policy.reset == Reset::below)
        sums.bound += amount;
    sums.value = at_most(sums.value + add_information(m, amount, w, outputs), DBL_MAX);
}

// Whether so much of the prior fades before a row with a time that it is restored before the row, not after it.
template <class T> DRIFTLINE_INLINE bool fades_first(const SecondOrderState<T>& m, const View& view) {
    return m.policy.keep_prior && m.policy.unit > 0 && view.keep < at_most(least_prior, m.policy.amount) && !m.several &&
           !m.policy.complement;
}
// Lets that time pass and restores the prior, as rows without information would have. The view is then of a row at once.
template <class T> DRIFTLINE_ONCE void pass_gap(SecondOrderState<T>& m, View& view) {
    for (Index j = 0; j < m.d; ++j)
        m.factor.d[j] = at_most(m.factor.d[j] * view.growth.grow, view.growth.cap);
    m.sums.value *= view.keep;
    m.sums.prior *= view.keep;
    m.sums.bound *= view.keep;
    const double amount = (1 - m.sums.prior) / m.policy.start;
    m.sums.prior = 1;
    m.sums.bound += amount;
    m.sums.value = at_most(m.sums.value + add_information(m, amount, m.w, 1), DBL_MAX);
    view.keep = view.growth.grow = 1;
}

inline void count_reset(Sums& sums) {
    sums.resets += 1;
    sums.segment += 1;
    sums.begun = sums.rows;
}

// Whether a row ends a period. `before`: the units until the row before it.
template <class T> bool ends_period(const SecondOrderState<T>& m, double before) {
    const Policy& policy = m.policy;
    if (!(policy.unit > 0 && m.sums.timed > 0))
        return static_cast<Index>(m.sums.rows) % policy.period == 0;
    const auto periods = [&policy](double units) { return std::floor(units / policy.reset_after * (1 + 1e-12)); };
    return periods(units_so_far(m)) > periods(before);
}

// Resets S once the row is learned, if a reset is due.
template <class T>
void watch_resets(SecondOrderState<T>& m, double rho, double grow, double norm2, const T* next, double before) {
    const bool below = m.policy.reset == Reset::below;
    const bool due = below ? reset_is_due(m, rho, grow, norm2, next) : ends_period(m, before);
    if (!due)
        return;
    count_reset(m.sums);
    m.ready = false;
    if (m.guard.u) {
        m.sums.pending = 1;
        return;
    }
    reset(m, 1.0);
    if (below)
        begin_segment(m, 1.0);
}

// A packed S is repaired as a whole, in O(d^3), once in this many rows.
inline Index rows_between_repairs(Index d) { return 64 + 8 * d; }

// Everything that a policy may do to S and w after a row. `before`: the units until the row before it.
template <class T> DRIFTLINE_ONCE void watch(SecondOrderState<T>& m, double rho, View view, const T* next, double before) {
    if (m.additive && static_cast<Index>(m.sums.rows) % rows_between_repairs(m.d) == 0)
        repair(m);
    if (m.policy.keep_prior)
        m.sums.prior *= view.keep;
    if (m.policy.reset != Reset::none)
        watch_resets(m, rho, view.growth.grow, view.norm2 * (view.scale * view.scale), next, before);
    if (m.policy.keep_prior && !m.several)
        raise_prior(m, view.keep, m.w, 1);
    if (m.policy.radius > 0 && !(std::sqrt(dot(m.w, m.w, padded<T>(m.d))) <= m.policy.radius))
        project_on_ball(m);
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
