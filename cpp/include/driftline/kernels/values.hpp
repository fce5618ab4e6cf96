// Kernel values of one row and many points.
#pragma once

#include <cmath>

#include "driftline/kernels/engine.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// For every point, the sum over the features of term(feature of x, feature of the point).
template <class Term> void sum_over_features(const PointTable& points, const double* x, double* out, Term term) {
    for (Index i = 0; i < points.count; ++i)
        out[i] = 0;
    for (Index j = 0; j < points.features; ++j) {
        const double xj = x[j];
        const double* column = points.at + j * points.stride;
        for (Index i = 0; i < points.count; ++i)
            out[i] += term(xj, column[i]);
    }
}

inline double square_gap(double a, double b) { return (a - b) * (a - b); }
inline double absolute_gap(double a, double b) { return std::fabs(a - b); }
inline double product(double a, double b) { return a * b; }

inline double whole_power(double base, int degree) {
    double power = 1;
    for (; degree > 0; degree /= 2, base *= base)
        if (degree % 2 == 1)
            power *= base;
    return power;
}

inline void ask_custom(const KernelFunction& k, const PointTable& points, const double* x, double* z, double* out) {
    for (Index i = 0; i < points.count; ++i) {
        for (Index j = 0; j < points.features; ++j)
            z[j] = points.at[j * points.stride + i];
        out[i] = (*k.custom)(x, z, points.features);
        if (!std::isfinite(out[i]))
            return; // the row is refused anyway
    }
}

inline void similarities(const KernelFunction& k, const PointTable& points, const double* x, double* z, double* out) {
    const Index n = points.count;
    switch (k.kind) {
    case KernelKind::gaussian:
        sum_over_features(points, x, out, square_gap);
        for (Index i = 0; i < n; ++i)
            out[i] = std::exp(-k.gamma * out[i]);
        break;
    case KernelKind::laplace:
        sum_over_features(points, x, out, absolute_gap);
        for (Index i = 0; i < n; ++i)
            out[i] = std::exp(-k.gamma * out[i]);
        break;
    case KernelKind::linear:
        sum_over_features(points, x, out, product);
        break;
    case KernelKind::polynomial:
        sum_over_features(points, x, out, product);
        for (Index i = 0; i < n; ++i)
            out[i] = whole_power(k.gamma * out[i] + k.offset, k.degree);
        break;
    case KernelKind::custom:
        ask_custom(k, points, x, z, out);
        break;
    }
    for (Index i = 0; i < n; ++i)
        out[i] += k.constant;
}

inline double self_similarity(const KernelFunction& k, const double* x, Index d) {
    if (k.kind == KernelKind::gaussian || k.kind == KernelKind::laplace)
        return 1 + k.constant;
    if (k.kind == KernelKind::custom)
        return (*k.custom)(x, x, d) + k.constant;
    double norm2 = 0;
    for (Index j = 0; j < d; ++j)
        norm2 += x[j] * x[j];
    return (k.kind == KernelKind::linear ? norm2 : whole_power(k.gamma * norm2 + k.offset, k.degree)) + k.constant;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
