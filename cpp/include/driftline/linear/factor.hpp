// S = U D U', U unit upper triangular, D > 0: symmetric and positive definite despite rounding.
//
// Bierman's update (Factorization Methods for Discrete Sequential Estimation, 1977, chapter V): with f = U'x, v = D f and
// a_j = rho + sum over i <= j of f_i v_i, column after column
//     D_j <- D_j a_{j-1} / a_j,   U_ij <- U_ij - (f_j / a_{j-1}) k_i,   k_i <- k_i + v_j U_ij,
// which ends with k = S x and costs the same 3 d^2 operations as the plain formula. Division by a forgetting factor acts
// on D alone. D stays in double in a model of floats.
#pragma once

#include <utility>

#include "driftline/base/panels.hpp"
#include "driftline/base/range.hpp"

namespace driftline {

template <class T> struct Factor {
    Index size;    // padded
    Index used;    // columns in use, walked in groups of four
    T* u;          // panels of U, unit diagonal stored, zeros below
    double* d;     // positive in the padding too
    T* product;    // f = U'x
    T* v;          // D f
    T* slopes;     // f_j / a_{j-1}
    double* grown; // D after the step of time
    double* sums;  // of f_i v_i, running within a register
    T* k;          // S x, once updated
};

// The smallest D: from 0 it could not grow again.
inline constexpr double smallest_variance = 1e-300;
// The largest |x|^2 / rho that cannot take D below that within the rows that a model can count.
inline constexpr double largest_information = 1e280;

inline namespace DRIFTLINE_ISA {

// The current row, column by column: the last six fields of Factor. If the number of groups G is known, they live in
// registers.
template <int G, class T> struct Row {
    static constexpr Index groups = G, columns = 4 * G, size = padded<T>(columns);
    alignas(64) T product[columns] = {};
    alignas(64) T v[columns];
    alignas(64) T slopes[columns];
    alignas(64) double grown[columns];
    alignas(64) double sums[columns];
    alignas(64) T k[size];
    explicit Row(const Factor<T>&) {}
};
template <class T> struct Row<0, T> {
    Index groups, columns, size;
    T *product, *v, *slopes;
    double *grown, *sums;
    T* k;
    explicit Row(const Factor<T>& s)
        : groups((s.used + 3) / 4), columns(4 * groups), size(s.size), product(s.product), v(s.v), slopes(s.slopes),
          grown(s.grown), sums(s.sums), k(s.k) {}
};

template <class T> DRIFTLINE_INLINE void multiply(const Factor<T>& s, const T* x) {
    for (Index g = (s.used - 1) / 4; g >= 0; --g) { // backwards: the next update starts where this ends
        const Index rows = panel_rows<T>(4 * g / panel_width<T>);
        const T* u0 = s.u + panel_index<T>(0, 4 * g);
        const T *u1 = u0 + rows, *u2 = u1 + rows, *u3 = u2 + rows;
        Wide<T> s0 = {}, s1 = {}, s2 = {}, s3 = {};
        for (Index i = 0; i < rows; i += lanes<T>) {
            const Wide<T> xi = wide(x + i);
            accumulate(s0, wide(u0 + i), xi);
            accumulate(s1, wide(u1 + i), xi);
            accumulate(s2, wide(u2 + i), xi);
            accumulate(s3, wide(u3 + i), xi);
        }
        store_sums(s.product + 4 * g, s0, s1, s2, s3);
    }
}

// Called after a multiplication.
template <int G, class T> DRIFTLINE_INLINE void fetch_product(const Factor<T>& s, Row<G, T>& row) {
    if constexpr (G > 0)
        for (Index j = 0; j < row.columns; j += lanes<double>)
            store(row.product + j, load<Few<T>>(s.product + j));
}

// Stores what fetching brings back.
template <int G, class T> DRIFTLINE_INLINE void store_row(const Factor<T>& s, const Row<G, T>& row) {
    if constexpr (G > 0)
        for (Index j = 0; j < row.columns; j += lanes<double>) {
            store(s.product + j, load<Few<T>>(row.product + j));
            store_doubles(s.grown + j, load_doubles(row.grown + j));
        }
}
template <int G, class T> DRIFTLINE_INLINE void fetch_grown(const Factor<T>& s, Row<G, T>& row) {
    if constexpr (G > 0)
        for (Index j = 0; j < row.columns; j += lanes<double>)
            store_doubles(row.grown + j, load_doubles(s.grown + j));
}
// k in memory, for functions that are not inlined: a pointer into the row would keep the row out of registers.
template <int G, class T> DRIFTLINE_INLINE const T* k_in_memory(const Factor<T>& s, const Row<G, T>& row) {
    if constexpr (G == 0)
        return row.k;
    else
        for (Index i = 0; i < row.size; i += lanes<T>)
            store(s.k + i, wide(row.k + i));
    return s.k;
}

// Calls act for each group. If G is known, all group numbers are constants, so that data of a group can stay in registers;
// otherwise the first ones are, since short loops of varying length would be mispredicted.
template <int G, class Act> DRIFTLINE_INLINE void walk_groups(Index groups, Act&& act) {
    constexpr int constant = G > 0 ? G : 4;
    if (groups >= constant)
        [&]<int... g>(std::integer_sequence<int, g...>)
            __attribute__((always_inline)) { (act(g), ...); }(std::make_integer_sequence<int, constant>{});
    if constexpr (G == 0)
        for (Index g = groups >= constant ? constant : 0; g < groups; ++g)
            act(g);
}

// The effect of time on D: multiplication by `grow`, up to `cap`. Growth beyond `watch` is reported.
struct Growth {
    double grow = 1, watch = HUGE_VAL, cap = HUGE_VAL;
    bool watched = false, capped = false;
};

// The terms of x'S x that belong to four columns (fewer in narrow registers), for the current product and the D of the row;
// their sum is in every element of the result.
template <class Row> DRIFTLINE_INLINE Doubles weigh_columns(Row& row, Index j) {
    const Doubles f = load_doubles(row.product + j), v = load_doubles(row.grown + j) * f;
    const Doubles sums = running_sums(rounded(v * f));
    store_doubles(row.v + j, v);
    store_doubles(row.sums + j, sums);
    return all_last(sums);
}

// x'S x for the current product and the D of the row.
template <int G, class T> DRIFTLINE_INLINE double weigh(Row<G, T>& row) {
    Doubles total = {};
    for (Index j = 0; j < row.columns; j += lanes<double>) {
        const Doubles part = weigh_columns(row, j);
        total = G > 0 && j == 0 ? part : total + part;
    }
    return total[0];
}

// x'(S grow)x, for the current product. Changes only the row and the report.
template <int G, class T> DRIFTLINE_INLINE double project(const Factor<T>& s, Row<G, T>& row, Growth& growth) {
    constexpr Index L = lanes<double>;
    Doubles largest = {};
    for (Index j = 0; j < row.columns; j += L) {
        const Doubles grown = load_doubles(s.d + j) * growth.grow;
        largest = larger(largest, grown);
        store_doubles(row.grown + j, grown);
    }
    if (any(largest > at_most(growth.watch, growth.cap))) [[unlikely]] {
        for (Index j = 0; j < row.columns; j += L) {
            const Doubles grown = load_doubles(row.grown + j); // the padding does not grow
            const Doubles held = lane_numbers<double>() < s.used - j ? grown : all(smallest_variance);
            growth.watched |= any(held > growth.watch);
            growth.capped |= any(held > growth.cap);
            store_doubles(row.grown + j, smaller(held, all(growth.cap)));
        }
    }
    return weigh(row);
}

// Whether the noise is large enough that no slope can leave the range of T.
template <class T> DRIFTLINE_INLINE bool is_ample(double rho) {
    return sizeof(T) == 8 ? rho >= 1e-40 : rho >= 1 && rho <= 1e30;
}

// The progress of a row through the columns.
struct ColumnProgress {
    Doubles before, base; // a of the last columns passed; rho plus the sums of all columns passed
    bool ample;
    template <class T> static DRIFTLINE_INLINE ColumnProgress begin(double rho) {
        return {all(rho), all(rho), is_ample<T>(rho)};
    }
};

// D of group g after the row, and the slopes of its columns.
template <class T, class Row>
DRIFTLINE_INLINE void scale_columns(const Factor<T>& s, Row& row, ColumnProgress& progress, Index g) {
    for (Index j = 4 * g; j < 4 * g + 4; j += lanes<double>) {
        const Doubles sums = load_doubles(row.sums + j), a = sums + progress.base, left = shift_in(a, progress.before);
        const Doubles shrunk = load_doubles(row.grown + j) * (left / a); // D times a may leave the range
        store_doubles(s.d + j, larger(shrunk, all(smallest_variance)));
        store(row.slopes + j, load<Few<T>>(row.product + j) / narrowed<T>(left));
        if (!progress.ample) [[unlikely]] {
            const Doubles slope = load_doubles(row.product + j) / left;
            store_doubles(row.slopes + j, smaller(larger(slope, all(-type_max<T>)), all(type_max<T>)));
        }
        progress.base += all_last(sums);
        progress.before = a;
    }
}

// The columns of group g, which start at u: updates them with the row, adds them to k, and forms their products with `next`.
template <bool InRegisters, class T, class Row>
DRIFTLINE_INLINE void update_columns(T* u, Row& row, Index g, const T* next, T* products) {
    constexpr Index W = panel_width<T>;
    const Index p = 4 * g / W, rows = panel_rows<T>(p);
    if (4 * g == p * W)
        for (Index i = p * W; i < rows; i += lanes<T>) // the compiler would store a visible zero in halves: too narrow
            store(row.k + i, InRegisters ? Wide<T>{} : opaque_zero<T>());
    T *const u0 = u, *const u1 = u0 + rows, *const u2 = u1 + rows, *const u3 = u2 + rows;
    const T *slope = row.slopes + 4 * g, *v = row.v + 4 * g;
    const Wide<T> l0 = spread<0, InRegisters>(slope), l1 = spread<1, InRegisters>(slope);
    const Wide<T> l2 = spread<2, InRegisters>(slope), l3 = spread<3, InRegisters>(slope);
    const Wide<T> v0 = spread<0, InRegisters>(v), v1 = spread<1, InRegisters>(v);
    const Wide<T> v2 = spread<2, InRegisters>(v), v3 = spread<3, InRegisters>(v);
    Wide<T> s0 = {}, s1 = {}, s2 = {}, s3 = {};
    for (Index i = 0; i < rows; i += lanes<T>) {
        const Wide<T> xi = wide(next + i);
        Wide<T> k = wide(row.k + i);
        const auto column = [&](T* at, Wide<T> slope, Wide<T> weight, Wide<T>& total) __attribute__((always_inline)) {
            const Wide<T> old = wide(at), fresh = old - slope * k;
            k += weight * old;
            store(at, fresh);
            accumulate(total, fresh, xi);
        };
        column(u0 + i, l0, v0, s0);
        column(u1 + i, l1, v1, s1);
        column(u2 + i, l2, v2, s2);
        column(u3 + i, l3, v3, s3);
        store(row.k + i, k);
    }
    store_sums(products + 4 * g, s0, s1, s2, s3);
}

// Updates S with the projected row and noise rho, and leaves k. While a column is in registers, its product with the next
// row is formed too, so that a replay walks U once per row: the row's product is then U'next.
template <int G, class T> DRIFTLINE_INLINE void update(const Factor<T>& s, Row<G, T>& row, double rho, const T* next) {
    constexpr bool fixed = G > 0;
    constexpr Index ahead = fixed ? 1 : 2; // divisions of later groups overlap the products of this one
    ColumnProgress progress = ColumnProgress::begin<T>(rho);
    for (Index g = 0; g < ahead && g < row.groups; ++g)
        scale_columns(s, row, progress, g);
    T* u = s.u;
    walk_groups<G>(row.groups, [&](Index g) __attribute__((always_inline)) {
        if (g + ahead < row.groups)
            scale_columns(s, row, progress, g + ahead);
        update_columns<fixed>(u, row, g, next, row.product);
        u += 4 * panel_rows<T>(4 * g / panel_width<T>);
    });
}

// Whether an element of D is at the smallest variance.
template <class T> DRIFTLINE_ONCE bool is_held(const Factor<T>& s) {
    bool held = false;
    for (Index j = 0; j < s.used; ++j)
        held |= s.d[j] <= smallest_variance;
    return held;
}

template <class T> void set_identity(const Factor<T>& s, double scale, Index d) {
    for (Index i = 0; i < panel_elements<T>(d); ++i)
        s.u[i] = 0;
    for (Index j = 0; j < s.size; ++j) {
        s.u[panel_index<T>(j, j)] = 1;
        s.d[j] = j < d ? scale : 1;
    }
}

// Lower triangle of S, row by row.
template <class T> void to_dense(const Factor<T>& s, double* out, Index d) {
    for (Index i = 0; i < d * (d + 1) / 2; ++i)
        out[i] = 0;
    for (Index k = 0; k < d; ++k) {
        const T* column = s.u + panel_index<T>(0, k);
        double* row = out;
        for (Index i = 0; i <= k; row += ++i) {
            const double weight = s.d[k] * column[i];
            for (Index j = 0; j <= i; ++j)
                row[j] += weight * column[j];
        }
    }
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
