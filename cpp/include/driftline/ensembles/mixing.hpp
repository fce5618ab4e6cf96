// Weights of predictions from their discounted losses, and what needs them: short loops, compiled for each instruction set.
#pragma once

#include <bit>
#include <cfloat>
#include <cmath>

#include "driftline/base/range.hpp"

namespace driftline {

inline namespace DRIFTLINE_ISA {

// Natural logarithm of a positive normal number to about 1e-15: its exponent, and the series of atanh on [sqrt(1/2),
// sqrt(2)). Without a branch, a call or a signed shift, so that a loop over it is vectorised.
DRIFTLINE_INLINE double plain_log(double value) {
    constexpr unsigned long long one = 0x3ff0000000000000, low = 0x3fe6a09e667f3bcd; // 1 and sqrt(1/2)
    const auto bits = std::bit_cast<unsigned long long>(value);
    const unsigned long long power = (bits + (one - low)) >> 52; // 1023 too many
    const double mantissa = std::bit_cast<double>(bits + one - (power << 52));
    const double exponent = std::bit_cast<double>(power | 0x4330000000000000) - (0x1p52 + 1023);
    const double t = (mantissa - 1) / (mantissa + 1), q = t * t;
    double series = 1.0 / 19;
    series = series * q + 1.0 / 17;
    series = series * q + 1.0 / 15;
    series = series * q + 1.0 / 13;
    series = series * q + 1.0 / 11;
    series = series * q + 1.0 / 9;
    series = series * q + 1.0 / 7;
    series = series * q + 1.0 / 5;
    series = series * q + 1.0 / 3;
    series = series * q + 1;
    return exponent * 0.6931471805599453 + 2 * t * series;
}

// e to a power of at most 0, to about 1e-15; below -700 it is e^-700.
DRIFTLINE_INLINE double plain_exp(double power) {
    power = power > -700 ? power : -700;
    const double shifted = power * 1.4426950408889634 + 0x1.8p52; // the nearest integer sits in the low bits
    const double whole = shifted - 0x1.8p52;
    const double r = (power - whole * 0.693147180369123816490) - whole * 1.90821492927058770002e-10;
    double series = 1.0 / 6227020800.0;
    series = series * r + 1.0 / 479001600;
    series = series * r + 1.0 / 39916800;
    series = series * r + 1.0 / 3628800;
    series = series * r + 1.0 / 362880;
    series = series * r + 1.0 / 40320;
    series = series * r + 1.0 / 5040;
    series = series * r + 1.0 / 720;
    series = series * r + 1.0 / 120;
    series = series * r + 1.0 / 24;
    series = series * r + 1.0 / 6;
    series = series * r + 0.5;
    series = series * r + 1;
    series = series * r + 1;
    const unsigned long long exponent = std::bit_cast<unsigned long long>(shifted) << 52;
    return std::bit_cast<double>(std::bit_cast<unsigned long long>(series) + exponent);
}

// Values taken together by an operation that does not mind the order, in four chains that do not wait for one another.
template <class Fold> DRIFTLINE_INLINE double folded(const double* values, Index count, Fold fold) {
    if (count < 4) {
        double all = values[0];
        for (Index k = 1; k < count; ++k)
            all = fold(all, values[k]);
        return all;
    }
    double chain[4] = {values[0], values[1], values[2], values[3]};
    Index k = 4;
    for (; k + 4 <= count; k += 4)
        for (Index i = 0; i < 4; ++i)
            chain[i] = fold(chain[i], values[k + i]);
    for (; k < count; ++k)
        chain[k % 4] = fold(chain[k % 4], values[k]);
    return fold(fold(chain[0], chain[1]), fold(chain[2], chain[3]));
}

// Takes a row's squared errors in: losses <- keep losses + weight squares; `now` and `before` are the least square of this
// row and of the last. One row counts no more than `most_times` the best mean so far: an outlier would otherwise make all
// alike for as long as it is remembered. Two such rows in succession are a jump of the target. Then the second counts in
// full, and the least of the first for all: one lucky row must not decide.
inline void discount_losses(double* losses, const double* squares, Index count, double rows, double before, double now,
                            double keep, double weight) {
    constexpr double most_times = 1e3, largest_square = 1e280;
    const double least = folded(losses, count, [](double a, double b) { return b < a ? b : a; });
    const double usual = least > 0 ? at_most(most_times * least / rows, largest_square) : largest_square;
    const bool jump = before > usual && now > usual;
    const double common = jump ? before : 0, cap = jump ? largest_square : usual;
    for (Index k = 0; k < count; ++k)
        losses[k] = at_most(keep * losses[k] + weight * (common + (squares[k] < cap ? squares[k] : cap)), 1e290);
}

// weights_k = exp(prior_k) (losses_k + floor)^(-rows/2), normalised; the floor keeps exact predictions from being
// everything.
inline void weigh(const double* losses, const double* prior, double rows, double* weights, Index count) {
    const auto sum = [](double a, double b) { return a + b; };
    const double floor = 1e-9 * folded(losses, count, sum) / static_cast<double>(count) + DBL_MIN;
    for (Index k = 0; k < count; ++k)
        weights[k] = prior[k] - 0.5 * rows * plain_log(losses[k] + floor);
    const double most = folded(weights, count, [](double a, double b) { return b > a ? b : a; });
    for (Index k = 0; k < count; ++k)
        weights[k] = plain_exp(weights[k] - most);
    const double one = 1 / folded(weights, count, sum);
    for (Index k = 0; k < count; ++k)
        weights[k] *= one;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
