// Decides exactly, in O(d^2) a row, when the smallest eigenvalue of S falls below a threshold.
//
// With limit = 1/threshold, the reset is due when the largest eigenvalue of A = S^-1 exceeds the limit. Between two resets a
// row adds x x'/rho to A, so B = (limit I - A)^-1 exists until the row that breaks the limit, which is the first row with
// x'B x > rho. B is updated by the same step as S with the sign of rho flipped: the guard is a second Factor.
// If time acts on S too, A does not only grow: then an upper bound decides, or else a Cholesky factorisation.
#pragma once

#include "driftline/base/dense.hpp"
#include "driftline/base/range.hpp"
#include "driftline/linear/second_order_state.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

template <class T> void to_scratch(SecondOrderState<T>& m) {
    if (m.additive)
        to_dense(m.packed, m.scratch, m.d);
    else
        to_dense(m.factor, m.scratch, m.d);
}

template <class T> double reset_limit(const SecondOrderState<T>& m) {
    return 1 / m.thresholds.at(static_cast<Index>(m.sums.segment));
}

// Strict: an eigenvalue at the threshold is not below it.
template <class T> bool is_below(SecondOrderState<T>& m, double threshold) {
    to_scratch(m);
    for (Index i = 0; i < m.d; ++i)
        triangle_row(m.scratch, i)[i] -= threshold * (1 - (sizeof(T) == 8 ? 1e-13 : 1e-6)); // rounding must not decide a tie
    return !cholesky<true>(m.scratch, m.d);
}

// Marks a B that does not exist because S starts at or below the threshold: is_below then decides every row.
inline constexpr double no_room = 1e300;

// Starts a segment: S is scale * I, and the segment's threshold applies.
template <class T> void begin_segment(SecondOrderState<T>& m, double scale) {
    m.sums.bound = 1 / scale;
    if (m.guard.u) {
        const double room = reset_limit(m) - 1 / scale;
        set_identity(m.guard, room > 0 ? at_most(1 / room, no_room) : no_room, m.d);
    }
}

// Resets S to the identity.
template <class T> void reset(SecondOrderState<T>& m, double scale) {
    if (m.additive)
        set_identity(m.packed, scale, m.d);
    else
        set_identity(m.factor, scale, m.d);
    if (m.policy.keep_prior)
        m.sums.prior = m.policy.start / scale;
    m.ready = false;
}

// Restarts S after it left the range of its type.
template <class T> DRIFTLINE_ONCE void restart_variance(SecondOrderState<T>& m) {
    reset(m, m.policy.start);
    if (m.policy.reset == Reset::below && m.thresholds.covers(static_cast<Index>(m.sums.segment)))
        begin_segment(m, m.policy.start);
    m.sums.repaired += 1;
}
// Removes infinities before a state is saved: restarts S now, as the next row would. True if something changed.
template <class T> bool restart_where_broken(SecondOrderState<T>& m) {
    if (m.additive || all_finite(m.factor.u, panel_elements<T>(m.d)))
        return false;
    if (m.sums.pending != 0) // S is the identity
        set_identity(m.factor, 1.0, m.d);
    else
        restart_variance(m);
    return true;
}

// Writes a pending reset to memory. If every row resets, none needs to be written.
template <class T> void settle(SecondOrderState<T>& m) {
    if (m.sums.pending == 0)
        return;
    m.sums.pending = 0;
    m.ready = false;
    set_identity(m.factor, 1.0, m.d);
    begin_segment(m, 1.0);
}

// The guard decides a row only if it is at least this far from a tie.
template <class T> inline constexpr double tie_margin = sizeof(T) == 8 ? 1e-6 : 1e-2;

// Called after the current row updated S with noise rho.
template <class T> bool reset_is_due(SecondOrderState<T>& m, double rho, double grow, double norm2, const T* next) {
    const double threshold = m.thresholds.at(static_cast<Index>(m.sums.segment)), limit = 1 / threshold;
    if (!m.guard.u) {
        m.sums.bound = m.sums.bound / grow + norm2 / rho;
        return m.sums.bound > limit && is_below(m, threshold);
    }
    if (m.guard.d[0] >= no_room)
        return is_below(m, threshold);
    Row<0, T> row(m.guard);
    Growth none;
    const double s = project(m.guard, row, none);
    const double margin = s / rho - 1, near = tie_margin<T>;
    if (!(margin < near) || (margin > -near && is_below(m, threshold)))
        return true;
    // A tie decided as "not yet" leaves B finite and very large.
    update(m.guard, row, margin > -1e-12 ? -s * (1 + 1e-12) : -rho, next);
    return false;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
