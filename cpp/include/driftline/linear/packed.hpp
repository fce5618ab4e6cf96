// One half of S itself, for learners that add drift to its diagonal every row.
//
// The diagonal blocks are stored as full squares. S is symmetric by construction, and positive definite because drift is
// added every row. Rounding could break that if the drift, or what a row leaves of S, is below the rounding of S: then the
// diagonal is lifted by that much, and second_order.hpp checks the whole matrix now and then.
#pragma once

#include <cmath>

#include "driftline/base/panels.hpp"

namespace driftline {

template <class T> struct Packed {
    Index size; // padded
    T* s;       // panels of S; ones on the diagonal of the padding
    T* product; // S x
    T* k;       // (S + drift I) x
    T* part;    // k / sqrt(rho + s)
    T* lift;    // added to the diagonal
};

inline namespace DRIFTLINE_ISA {

// The columns of one group: subtracts k k'/(rho + s), adds the lift to the diagonal, and forms the product of the result
// with `next`. With `Change` false the matrix does not change.
template <bool Change, class T> DRIFTLINE_INLINE void walk_columns(const Packed<T>& m, Index p, Index c, const T* next) {
    constexpr Index W = panel_width<T>;
    const Index rows = panel_rows<T>(p), first = p * W + c;
    T* const s0 = m.s + panel_offset<T>(p) + c * rows;
    T *const s1 = s0 + rows, *const s2 = s1 + rows, *const s3 = s2 + rows;
    T g0 = 0, g1 = 0, g2 = 0, g3 = 0;
    if constexpr (Change) {
        g0 = m.part[first], g1 = m.part[first + 1], g2 = m.part[first + 2], g3 = m.part[first + 3];
    }
    const T n0 = next[first], n1 = next[first + 1], n2 = next[first + 2], n3 = next[first + 3];
    Wide<T> t0 = {}, t1 = {}, t2 = {}, t3 = {};
    for (Index i = 0; i < p * W; i += lanes<T>) {
        Wide<T> a = wide(s0 + i), b = wide(s1 + i), e = wide(s2 + i), f = wide(s3 + i);
        if constexpr (Change) {
            const Wide<T> k = wide(m.part + i);
            a -= g0 * k, b -= g1 * k, e -= g2 * k, f -= g3 * k;
            store(s0 + i, a), store(s1 + i, b), store(s2 + i, e), store(s3 + i, f);
        }
        const Wide<T> x = wide(next + i);
        t0 += a * x, t1 += b * x, t2 += e * x, t3 += f * x;
        Wide<T> above = wide(m.product + i);
        above += n0 * a, above += n1 * b, above += n2 * e, above += n3 * f;
        store(m.product + i, above);
    }
    for (Index i = p * W; i < rows; i += lanes<T>) {
        Wide<T> a = wide(s0 + i), b = wide(s1 + i), e = wide(s2 + i), f = wide(s3 + i);
        if constexpr (Change) {
            const Wide<T> k = wide(m.part + i);
            a -= g0 * k, b -= g1 * k, e -= g2 * k, f -= g3 * k;
            const auto on_diagonal = [&](Index column) __attribute__((always_inline)) {
                return lane_numbers<T>() == static_cast<Lane<T>>(column - i) ? wide(m.lift + i) : Wide<T>{};
            };
            a += on_diagonal(first), b += on_diagonal(first + 1), e += on_diagonal(first + 2), f += on_diagonal(first + 3);
            store(s0 + i, a), store(s1 + i, b), store(s2 + i, e), store(s3 + i, f);
        }
        const Wide<T> x = wide(next + i);
        t0 += a * x, t1 += b * x, t2 += e * x, t3 += f * x;
    }
    alignas(32) T sums[4];
    store_sums(sums, t0, t1, t2, t3);
    for (Index j = 0; j < 4; ++j)
        m.product[first + j] += sums[j];
}

template <bool Change, class T> DRIFTLINE_INLINE void walk(const Packed<T>& m, const T* next) {
    for (Index i = 0; i < m.size; i += lanes<T>)
        store(m.product + i, Wide<T>{});
    for (Index p = 0; p < m.size / panel_width<T>; ++p)
        for (Index c = 0; c < panel_width<T>; c += 4)
            walk_columns<Change>(m, p, c, next);
}

template <class T> DRIFTLINE_INLINE void multiply(const Packed<T>& m, const T* x) { walk<false>(m, x); }

// x'(S + drift I)x for the current product; k is formed too.
template <class T> DRIFTLINE_INLINE double project(const Packed<T>& m, const T* x, double drift) {
    const T q = static_cast<T>(drift);
    for (Index i = 0; i < m.size; i += lanes<T>)
        store(m.k + i, wide(m.product + i) + q * wide(x + i));
    return dot(x, m.k, m.size);
}

// How far rounding may change an entry of S, as a fraction of the diagonal.
template <class T> DRIFTLINE_INLINE double rounding(Index d) {
    return static_cast<double>(d + 2) * (sizeof(T) == 8 ? 2.2e-16 : 1.2e-7);
}

// Updates S with the projected row and noise rho, s = x'k; the product is then S next. `weak` says that rounding could make
// S indefinite.
template <class T>
DRIFTLINE_INLINE void update(const Packed<T>& m, Index d, double rho, double s, double drift, bool weak, const T* next) {
    const T q = static_cast<T>(drift), scale = static_cast<T>(1 / std::sqrt(rho + s));
    for (Index i = 0; i < m.size; i += lanes<T>) {
        store(m.part + i, scale * wide(m.k + i));
        store(m.lift + i, Wide<T>{} + q);
    }
    if (weak) [[unlikely]]
        for (Index j = 0; j < d; ++j)
            m.lift[j] += static_cast<T>(rounding<T>(d)) * (m.s[panel_index<T>(j, j)] + q);
    walk<true>(m, next);
    for (Index j = d; j < m.size; ++j)
        m.s[panel_index<T>(j, j)] = 1;
}

// Copies the upper half of the diagonal squares to the lower half.
template <class T> DRIFTLINE_INLINE void mirror_squares(T* panels, Index d) {
    for (Index j = 0; j < d; ++j)
        for (Index i = j / panel_width<T> * panel_width<T>; i < j; ++i)
            panels[panel_index<T>(j, i)] = panels[panel_index<T>(i, j)];
}

template <class T> void set_identity(const Packed<T>& m, double scale, Index d) {
    for (Index i = 0; i < panel_elements<T>(d); ++i)
        m.s[i] = 0;
    for (Index j = 0; j < m.size; ++j)
        m.s[panel_index<T>(j, j)] = j < d ? static_cast<T>(scale) : T(1);
}

template <class T> void to_dense(const Packed<T>& m, double* out, Index d) {
    for (Index i = 0; i < d; ++i)
        for (Index j = 0; j <= i; ++j)
            *out++ = m.s[panel_index<T>(j, i)];
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
