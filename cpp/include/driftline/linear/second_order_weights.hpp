// How the weights of a second-order model move, within the range and the precision of their type.
#pragma once

#include "driftline/linear/reset.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// Clips weights that left the range of T. A k that is not finite means that S broke: it is restarted.
template <class T> DRIFTLINE_ONCE void saturate_weights(SecondOrderState<T>& m, bool broken) {
    for (Index j = 0; j < m.d; ++j)
        m.w[j] = static_cast<T>(saturate(static_cast<double>(m.w[j]), type_max<T>));
    for (Index j = m.d; j < padded<T>(m.d); ++j)
        m.w[j] = 0; // an infinite gain times the zeros that pad k
    m.sums.saturated += 1;
    if (broken)
        restart_variance(m);
}

// w += error k / variance, if the quotient is too small for T.
template <class T>
DRIFTLINE_ONCE void move_softly(SecondOrderState<T>& m, const T* k, Index size, double error, double variance) {
    bool inside = true;
    for (Index j = 0; j < m.d; ++j) {
        const double share = static_cast<double>(k[j]) / variance; // k and the variance may both be large
        const double moved = m.w[j] + (std::fabs(share) >= DBL_MIN ? share * error : k[j] * (error / variance));
        m.w[j] = static_cast<T>(saturate(moved, type_max<T>));
        inside &= std::fabs(moved) <= type_max<T>;
    }
    if (!inside)
        saturate_weights(m, !all_finite(k, size));
}

// Whether a gain is too small for T although there is an error. On a noise-free stream errors are exactly 0 at random rows,
// and a branch on that would be mispredicted, so the bound becomes 0 instead. Any other error times DBL_MAX exceeds
// type_min.
template <class T> DRIFTLINE_INLINE bool is_soft(double gain, double error) {
    return std::fabs(gain) < at_most(std::fabs(error) * DBL_MAX, type_min<T>);
}

// w += gain k, for a gain that T can hold.
template <class T> DRIFTLINE_INLINE void add_gain(SecondOrderState<T>& m, const T* k, Index size, double gain) {
    if (!add_scaled(m.w, m.w, k, static_cast<T>(gain), size)) [[unlikely]]
        saturate_weights(m, !all_finite(k, size));
}

// w += error k / variance, all in the units of the view.
template <class T>
DRIFTLINE_INLINE void move_weights(SecondOrderState<T>& m, const T* k, Index size, double gain, double error,
                                   double variance) {
    if (is_soft<T>(gain, error)) [[unlikely]]
        move_softly(m, k, size, error, variance);
    else
        add_gain(m, k, size, gain);
}

// The largest s / rho after which the weights are as accurate as their type. Beyond it, they may have moved so far that only
// the rounding of their old values is left.
template <class T> inline constexpr double largest_step = sizeof(T) == 8 ? 1e10 : 1e4;

// Moves the weights along k until w.x of the current row is the target, up to rounding.
template <class T>
DRIFTLINE_ONCE void refine_weights(SecondOrderState<T>& m, const T* k, Index size, double target, double variance) {
    double before = HUGE_VAL;
    for (;;) {
        const double off = target - dot(m.w, m.x, size);
        if (!(std::fabs(off) < 0.5 * before) || off == 0)
            return;
        before = std::fabs(off);
        move_weights(m, k, size, off / variance, off, variance);
    }
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
