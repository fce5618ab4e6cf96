// Short loops that compute weights from discounted losses, compiled for each instruction set.
#pragma once

#include <bit>
#include <cfloat>
#include <cmath>

#include "driftline/base/range.hpp"

namespace driftline {

inline namespace DRIFTLINE_ISA {

// Natural logarithm of a positive normal number, accurate to about 1e-15: its exponent plus the atanh series on
// [sqrt(1/2), sqrt(2)). It has no branch, call or signed shift, so loops over it vectorise.
DRIFTLINE_INLINE double plain_log(double value) {
    constexpr unsigned long long one = 0x3ff0000000000000, low = 0x3fe6a09e667f3bcd; // 1 and sqrt(1/2)
    const auto bits = std::bit_cast<unsigned long long>(value);
    const unsigned long long power = (bits + (one - low)) >> 52; // biased by 1023
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

// exp of a number of at most 0, accurate to about 1e-15; below -700 it returns e^-700.
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

// Reduces values with a commutative operation, in four independent chains.
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

// Adds a row's squared errors: losses <- keep losses + weight squares. `now` and `before` are the smallest square of this
// row and of the last. One row counts at most `most_times` the best mean so far; otherwise an outlier would level all
// weights for as long as it is remembered. Two such rows in succession are a jump of the target: the second then counts
// in full, and the smallest square of the first is charged to all, so one lucky row does not decide.
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

// weights_k = exp(prior_k) (losses_k + floor)^(-rows/2), normalised. The floor keeps an exact prediction from taking all
// the weight.
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
