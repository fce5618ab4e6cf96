// When the smallest eigenvalue of S falls below a threshold, decided exactly in O(d^2) a row.
//
// With limit = 1/threshold, the reset is due when the largest eigenvalue of A = S^-1 exceeds the limit. Between two resets a
// row adds x x'/rho to A, so B = (limit I - A)^-1 exists until the row that breaks the limit, and that is the first row
// with x'B x > rho. B follows by the same step as S with the sign of rho turned: the guard is a second Factor.
// Where time acts on S too, A does not only grow: then an upper bound decides, or else a Cholesky factorisation.
#pragma once

#include "driftline/dense.hpp"
#include "driftline/second_order_state.hpp"

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

template <class T> bool is_below(SecondOrderState<T>& m, double threshold) {
    to_scratch(m);
    for (Index i = 0; i < m.d; ++i)
        triangle_row(m.scratch, i)[i] -= threshold;
    return !cholesky(m.scratch, m.d);
}

// S is scale * I from here on, under the threshold of the segment that begins.
template <class T> void begin_segment(SecondOrderState<T>& m, double scale) {
    m.sums.bound = 1 / scale;
    if (m.guard.u) { // an infinite B, where S starts at or below the threshold, asks for a reset on the next row
        const double room = reset_limit(m) - 1 / scale;
        set_identity(m.guard, room > 0 ? 1 / room : HUGE_VAL, m.d);
    }
}

// Asked after the row at hand was taken in with noise rho.
template <class T> bool reset_is_due(SecondOrderState<T>& m, double rho, double grow, double norm2, const T* next) {
    const double limit = reset_limit(m);
    if (!m.guard.u) {
        m.sums.bound = m.sums.bound / grow + norm2 / rho;
        return m.sums.bound > limit && is_below(m, 1 / limit);
    }
    const double s = project(m.guard, 1.0, HUGE_VAL);
    const double margin = s / rho - 1, near = sizeof(T) == 8 ? 1e-6 : 1e-2;
    if (!(margin < near) || (margin > -near && is_below(m, 1 / limit)))
        return true;
    // A tie decided for "not yet" leaves B finite and very large.
    update(m.guard, margin > -1e-12 ? -s * (1 + 1e-12) : -rho, 1.0, HUGE_VAL, next);
    return false;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
