// Small dense linear algebra on a lower triangle stored row by row, for the rare steps that need it.
#pragma once

#include <cmath>

#include "driftline/base/simd.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

inline double* triangle_row(double* a, Index i) { return a + i * (i + 1) / 2; }
inline const double* triangle_row(const double* a, Index i) { return a + i * (i + 1) / 2; }

inline double plain_dot(const double* a, const double* b, Index n) {
    double t0 = 0, t1 = 0, t2 = 0, t3 = 0;
    Index i = 0;
    for (; i + 4 <= n; i += 4) {
        t0 += a[i] * b[i];
        t1 += a[i + 1] * b[i + 1];
        t2 += a[i + 2] * b[i + 2];
        t3 += a[i + 3] * b[i + 3];
    }
    for (; i < n; ++i)
        t0 += a[i] * b[i];
    return (t0 + t1) + (t2 + t3);
}

// Replaces A by its Cholesky factor; false, with A destroyed, if it is not positive definite (Semi: not semidefinite).
template <bool Semi = false> bool cholesky(double* a, Index d) {
    for (Index i = 0; i < d; ++i) {
        double* row = triangle_row(a, i);
        for (Index j = 0; j < i; ++j) {
            const double* other = triangle_row(a, j);
            const double rest = row[j] - plain_dot(row, other, j);
            if (Semi && other[j] == 0) {
                if (rest != 0)
                    return false;
                row[j] = 0;
            } else {
                row[j] = rest / other[j];
            }
        }
        const double pivot = row[i] - plain_dot(row, row, i);
        if (!(Semi ? pivot >= 0 : pivot > 0) || !std::isfinite(pivot))
            return false;
        row[i] = std::sqrt(pivot);
    }
    return true;
}

// x <- L^-1 x, and x <- L^-T x.
inline void solve_lower(const double* l, double* x, Index d) {
    for (Index i = 0; i < d; ++i) {
        const double* row = triangle_row(l, i);
        x[i] = (x[i] - plain_dot(row, x, i)) / row[i];
    }
}
inline void solve_lower_transposed(const double* l, double* x, Index d) {
    for (Index i = d - 1; i >= 0; --i) {
        const double* row = triangle_row(l, i);
        x[i] /= row[i];
        for (Index j = 0; j < i; ++j)
            x[j] -= row[j] * x[i];
    }
}

// y <- A x.
inline void symmetric_times(const double* a, const double* x, double* y, Index d) {
    for (Index i = 0; i < d; ++i)
        y[i] = 0;
    for (Index i = 0; i < d; ++i) {
        const double* row = triangle_row(a, i);
        y[i] += plain_dot(row, x, i + 1);
        for (Index j = 0; j < i; ++j)
            y[j] += row[j] * x[i];
    }
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
