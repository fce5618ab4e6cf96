// Standard normal numbers from random bits, by the inverse of the distribution function to 16 digits: Wichura 1988, AS 241.
// One uniform number gives one normal number, in place: none is rejected, and none depends on the others.
#pragma once

#include <cmath>
#include <cstdint>

#include "driftline/base/simd.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// A uniform number in (0, 1) minus 1/2: an odd multiple of 2^-53, exact, and never at the ends.
DRIFTLINE_INLINE double centred_uniform(std::uint64_t bits) {
    return (static_cast<double>(static_cast<std::int64_t>(bits >> 12)) + 0.5) * 0x1p-52 - 0.5;
}

template <int N> DRIFTLINE_INLINE double polynomial(const double (&c)[N], double x) {
    double value = c[N - 1];
    for (int i = N - 2; i >= 0; --i)
        value = value * x + c[i];
    return value;
}

inline constexpr double normal_middle = 0.425; // the first quotient is valid up to this |q|

DRIFTLINE_INLINE double normal_in_the_middle(double q) {
    constexpr double over[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                               1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                               3.3430575583588128105e4, 2.5090809287301226727e3};
    constexpr double under[] = {1.0,
                                4.2313330701600911252e1,
                                6.8718700749205790830e2,
                                5.3941960214247511077e3,
                                2.1213794301586595867e4,
                                3.9307895800092710610e4,
                                2.8729085735721942674e4,
                                5.2264952788528545610e3};
    const double r = 0.180625 - q * q;
    return q * polynomial(over, r) / polynomial(under, r);
}

// `log_tail` is the logarithm of 1/2 - |q|.
inline double normal_in_the_tails(double q, double log_tail) {
    constexpr double over[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                               3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
    constexpr double under[] = {1.0,
                                2.05319162663775882187e0,
                                1.67638483018380384940e0,
                                6.89767334985100004550e-1,
                                1.48103976427480074590e-1,
                                1.51986665636164571966e-2,
                                5.47593808499534494600e-4,
                                1.05075007164441684324e-9};
    constexpr double far_over[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                   2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                   2.71155556874348757815e-5, 2.01033439929228813265e-7};
    constexpr double far_under[] = {1.0,
                                    5.99832206555887937690e-1,
                                    1.36929880922735805310e-1,
                                    1.48753612908506148525e-2,
                                    7.86869131145613259100e-4,
                                    1.84631831751005468180e-5,
                                    1.42151175831644588870e-7,
                                    2.04426310338993978564e-15};
    const double r = std::sqrt(-log_tail);
    const double size = r <= 5 ? polynomial(over, r - 1.6) / polynomial(under, r - 1.6)
                               : polynomial(far_over, r - 5) / polynomial(far_under, r - 5);
    return std::copysign(size, q);
}
inline double normal_in_the_tails(double q) { return normal_in_the_tails(q, std::log(0.5 - std::fabs(q))); }

} // namespace DRIFTLINE_ISA
} // namespace driftline
