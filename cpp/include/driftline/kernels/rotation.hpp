// Removes a point's direction from the state of a kernel learner.
//
// The coordinates are rotated so that the direction in which no other point has a component is the lowest one in use. That
// coordinate is then reset to its start: weight 0, and in S the prior variance. The rest of S is unchanged. With S = U D U'
// and U upper triangular, removing the lowest coordinate means clearing its row of U.
#pragma once

#include "driftline/kernels/engine.hpp"
#include "driftline/linear/reset.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

DRIFTLINE_INLINE void turn(const Rotation& r, double& high, double& low) {
    const double before = high;
    high = r.c * before + r.s * low;
    low = r.c * low - r.s * before;
}

// Rotates the rows of U D U', and restores the form of a factor. Rotating two rows leaves an entry below the diagonal; the
// two columns are then mixed, with the weights D, so that it vanishes.
inline void turn_factor(const Factor<double>& f, const Rotation* rotations, Index lowest, Index highest) {
    for (Index hi = highest; hi > lowest; --hi) {
        const Index lo = hi - 1;
        const auto [c, s] = rotations[highest - hi];
        double *a = f.u + panel_index<double>(0, lo), *b = f.u + panel_index<double>(0, hi);
        const double u = b[lo], below = c + s * u; // a has s in row hi, and b has this
        const double before = f.d[lo], total = at_least(smallest_variance, before * s * s + f.d[hi] * below * below);
        const double p = before * s / total, q = f.d[hi] * below / total;
        f.d[lo] = at_least(smallest_variance, before * (f.d[hi] / total));
        f.d[hi] = total;
        for (Index i = lowest; i < lo; ++i) {
            const double first = a[i], second = b[i];
            a[i] = below * first - s * second;
            b[i] = p * first + q * second;
        }
        b[lo] = p * c + q * (c * u - s);
    }
    for (Index k = lowest + 2; k < f.used; ++k) {
        double* column = f.u + panel_index<double>(0, k);
        for (Index hi = k - 1 < highest ? k - 1 : highest; hi > lowest; --hi)
            turn(rotations[highest - hi], column[hi], column[hi - 1]);
    }
}

inline void clear_row(const Factor<double>& f, Index row) {
    for (Index k = row + 1; k < f.used; ++k)
        f.u[panel_index<double>(row, k)] = 0;
    f.d[row] = f.d[0];
}

// The guard of resets is B = (limit I - S^-1)^-1. Clearing a row of its factor removes a coordinate of B; removing it from S
// adds a a' (1/(limit - A) + 1/A) to the inverse of that B, where A and a are the diagonal entry of S^-1 and the
// off-diagonal entries next to it.
inline void guard_without(SecondOrderState<double>& m, Index lowest) {
    const double limit = reset_limit(m), diagonal = 1 / m.factor.d[lowest];
    const double room = at_least(1e-12 * limit, limit - diagonal);
    std::memset(m.x, 0, static_cast<std::size_t>(m.factor.size) * sizeof(double));
    m.x[lowest] = diagonal;
    for (Index k = lowest + 1; k < m.d; ++k) {
        const double* column = m.factor.u + panel_index<double>(0, k);
        for (Index i = lowest; i < k; ++i)
            m.x[k] -= column[i] * m.x[i];
    }
    m.x[lowest] = 0;
    clear_row(m.guard, lowest);
    Row<0, double> row(m.guard);
    Growth none;
    multiply(m.guard, m.x);
    project(m.guard, row, none);
    update(m.guard, row, room * diagonal / limit, m.x);
}

// Rotates a symmetric matrix in the stored triangle.
inline void turn_triangle(double* a, Index d, const Rotation* rotations, Index lowest, Index highest) {
    for (Index hi = highest; hi > lowest; --hi) {
        const Index lo = hi - 1;
        const Rotation r = rotations[highest - hi];
        double *high = triangle_row(a, hi), *low = triangle_row(a, lo);
        for (Index k = lowest; k < lo; ++k)
            turn(r, high[k], low[k]);
        const double hh = high[hi], hl = high[lo], ll = low[lo], cross = 2 * r.c * r.s * hl;
        high[hi] = r.c * r.c * hh + cross + r.s * r.s * ll;
        low[lo] = r.s * r.s * hh - cross + r.c * r.c * ll;
        high[lo] = (r.c * r.c - r.s * r.s) * hl - r.c * r.s * (hh - ll);
        for (Index k = hi + 1; k < d; ++k)
            turn(r, triangle_row(a, k)[hi], triangle_row(a, k)[lo]);
    }
}

inline void drop_from_packed(SecondOrderState<double>& m, const Rotation* rotations, Index lowest, Index highest) {
    double* const a = m.scratch;
    to_dense(m.packed, a, m.d);
    turn_triangle(a, m.d, rotations, lowest, highest);
    for (Index k = lowest; k < m.d; ++k)
        triangle_row(a, k)[lowest] = 0;
    triangle_row(a, lowest)[lowest] = a[0];
    constexpr Index W = panel_width<double>;
    for (Index i = lowest; i < m.d; ++i)
        for (Index j = lowest; j <= i; ++j) {
            m.packed.s[panel_index<double>(j, i)] = triangle_row(a, i)[j];
            if (i / W == j / W) // diagonal blocks are full squares
                m.packed.s[panel_index<double>(i, j)] = triangle_row(a, i)[j];
        }
}

inline void drop_coordinate(SecondOrderState<double>& m, const Rotation* rotations, Index lowest, Index highest) {
    settle(m);
    for (Index hi = highest; hi > lowest; --hi)
        turn(rotations[highest - hi], m.w[hi], m.w[hi - 1]);
    m.w[lowest] = 0;
    m.ready = false;
    if (m.additive) {
        drop_from_packed(m, rotations, lowest, highest);
        return;
    }
    turn_factor(m.factor, rotations, lowest, highest);
    if (m.guard.u && m.guard.d[0] < no_room) {
        turn_factor(m.guard, rotations, lowest, highest);
        guard_without(m, lowest);
    }
    clear_row(m.factor, lowest);
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
