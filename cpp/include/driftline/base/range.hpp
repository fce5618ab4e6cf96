// Keeps results in the range of the type when finite input would leave it.
#pragma once

#include <cfloat>
#include <cmath>

#include "driftline/base/panels.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

template <class T> inline constexpr double type_max = sizeof(T) == 8 ? DBL_MAX : static_cast<double>(FLT_MAX);
template <class T> inline constexpr double type_min = sizeof(T) == 8 ? DBL_MIN : static_cast<double>(FLT_MIN);

// One instruction each, unlike fmin and fmax; a NaN in `value` gives the bound.
DRIFTLINE_INLINE double at_least(double bound, double value) { return value > bound ? value : bound; }
DRIFTLINE_INLINE double at_most(double value, double bound) { return value < bound ? value : bound; }

DRIFTLINE_INLINE double saturate(double value, double most) {
    return value > most ? most : value < -most ? -most : value == value ? value : 0.0;
}

// The limits of a label, given by the user: predictions and intervals stay inside.
struct Limits {
    double low = -HUGE_VAL, high = HUGE_VAL;
    DRIFTLINE_INLINE bool contain(double value) const { return value >= low && value <= high; }
    DRIFTLINE_INLINE double hold(double value) const { return value < low ? low : value > high ? high : value; }
    bool exist() const { return low > -HUGE_VAL || high < HUGE_VAL; }
    bool operator==(const Limits&) const = default;
};

// Clips weights that left the range of T.
template <class T> DRIFTLINE_ONCE void hold_in_range(T* w, Index d) {
    for (Index j = 0; j < d; ++j)
        w[j] = static_cast<T>(saturate(static_cast<double>(w[j]), type_max<T>));
    for (Index j = d; j < padded<T>(d); ++j)
        w[j] = 0; // an infinite gain times the zeros that pad k
}

// w.x / scale, if the plain sum overflowed.
template <class T> double far_dot(const T* w, const T* x, double scale, Index d) {
    long double total = 0;
    for (Index j = 0; j < d; ++j)
        total += static_cast<long double>(w[j]) * x[j];
    total /= scale;
    return total > DBL_MAX ? DBL_MAX : total < -DBL_MAX ? -DBL_MAX : total == total ? static_cast<double>(total) : 0.0;
}

// Multiplies x by a power of two such that its largest entry is near 1, and returns that factor.
template <class T> double scale_row(T* x, Index d) {
    double most = 0;
    for (Index j = 0; j < d; ++j)
        most = at_least(most, std::fabs(static_cast<double>(x[j])));
    const double factor = std::ldexp(1.0, -std::ilogb(most));
    for (Index j = 0; j < d; ++j)
        x[j] = static_cast<T>(x[j] * factor);
    return factor;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
