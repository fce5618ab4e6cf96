// S = U D U', U unit upper triangular, D > 0: symmetric and positive definite whatever is rounded.
//
// Bierman's update (Factorization Methods for Discrete Sequential Estimation, 1977, chapter V): with f = U'x, v = D f and
// a_j = rho + sum over i <= j of f_i v_i, column after column
//     D_j <- D_j a_{j-1} / a_j,   U_ij <- U_ij - (f_j / a_{j-1}) k_i,   k_i <- k_i + v_j U_ij,
// which ends with k = S x and costs the same 3 d^2 operations as the plain formula. The passing of time by division acts
// on D alone. D stays in double in a model of floats.
#pragma once

#include "driftline/panels.hpp"
#include "driftline/range.hpp"

namespace driftline {

template <class T> struct Factor {
    Index size;     // padded
    T* u;           // panels of U, unit diagonal stored, zeros below
    double* d;      // ones in the padding
    T* product;     // f = U'x
    T* v;           // D f
    T* step;        // -f_j / a_{j-1}
    double* prefix; // sum over i <= j of f_i v_i
    T* k;           // S x, once updated
};

inline constexpr double smallest_variance = 1e-280;

inline namespace DRIFTLINE_ISA {

template <class T> DRIFTLINE_INLINE void multiply(const Factor<T>& s, const T* x) {
    for (Index p = s.size / panel_width<T> - 1; p >= 0; --p) { // backwards: the update that follows starts where this ends
        const Index rows = panel_rows<T>(p);
        for (Index c = 0; c < panel_width<T>; c += 4) {
            const T* u0 = s.u + panel_offset<T>(p) + c * rows;
            const T *u1 = u0 + rows, *u2 = u1 + rows, *u3 = u2 + rows;
            Wide<T> s0 = {}, s1 = {}, s2 = {}, s3 = {};
            for (Index i = 0; i < rows; i += lanes<T>) {
                const Wide<T> xi = wide(x + i);
                s0 += wide(u0 + i) * xi;
                s1 += wide(u1 + i) * xi;
                s2 += wide(u2 + i) * xi;
                s3 += wide(u3 + i) * xi;
            }
            store_sums(s.product + p * panel_width<T> + c, s0, s1, s2, s3);
        }
    }
}

// x'(S grow)x, for the product at hand, with D * grow capped. Nothing but the workspace changes.
template <class T> DRIFTLINE_INLINE double project(const Factor<T>& s, double grow, double cap) {
    for (Index j = 0; j < s.size; j += lanes<double>) {
        const Doubles f = load_doubles(s.product + j);
        const Doubles v = smaller(load_doubles(s.d + j) * grow, all(cap)) * f;
        store_doubles(s.v + j, v);
        store_doubles(s.prefix + j, running_sums(rounded(v * f)));
    }
    double total = 0; // carried on its own: the chain of additions is what takes the time
    for (Index j = 0; j < s.size; j += lanes<double>) {
        const double block = s.prefix[j + lanes<double> - 1];
        store_doubles(s.prefix + j, load_doubles(s.prefix + j) + total);
        total += block;
    }
    return total;
}

// D and the steps of the columns; returns the largest D * grow before the cap.
template <class T> DRIFTLINE_INLINE double update_diagonal(const Factor<T>& s, double rho, double grow, double cap) {
    Doubles largest = {};
    double previous = rho, inverse = 1 / rho;
    for (Index j = 0; j < s.size; j += lanes<double>) {
        const Doubles grown = load_doubles(s.d + j) * grow;
        largest = larger(largest, grown);
        const Doubles a = load_doubles(s.prefix + j) + rho;
        const Doubles inverses = 1 / a;
        const Doubles shrunk = smaller(grown, all(cap)) * (shift_in(a, previous) * inverses);
        store_doubles(s.d + j, larger(shrunk, all(smallest_variance)));
        const Doubles slope = -load_doubles(s.product + j) * shift_in(inverses, inverse);
        store_doubles(s.step + j, smaller(larger(slope, all(-type_max<T>)), all(type_max<T>)));
        previous = last(a);
        inverse = last(inverses);
    }
    double most = largest[0];
    for (int i = 1; i < lanes<double>; ++i)
        most = largest[i] > most ? largest[i] : most;
    return most;
}

// Takes in the projected row with noise rho and leaves k. While a column is at hand its product with the next row is
// formed too, so that a replay walks U once a row: s.product is then U'next.
template <class T> DRIFTLINE_INLINE double update(const Factor<T>& s, double rho, double grow, double cap, const T* next) {
    const double most = update_diagonal(s, rho, grow, cap);
    for (Index i = 0; i < s.size; i += lanes<T>)
        store(s.k + i, Wide<T>{});
    for (Index p = 0; p < s.size / panel_width<T>; ++p) {
        const Index rows = panel_rows<T>(p);
        for (Index c = 0; c < panel_width<T>; c += 4) {
            T* u0 = s.u + panel_offset<T>(p) + c * rows;
            T *u1 = u0 + rows, *u2 = u1 + rows, *u3 = u2 + rows;
            const T *step = s.step + p * panel_width<T> + c, *v = s.v + p * panel_width<T> + c;
            const T l0 = step[0], l1 = step[1], l2 = step[2], l3 = step[3];
            const T v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3];
            Wide<T> s0 = {}, s1 = {}, s2 = {}, s3 = {};
            for (Index i = 0; i < rows; i += lanes<T>) {
                const Wide<T> xi = wide(next + i);
                Wide<T> k = wide(s.k + i);
                const auto column = [&](T* at, T slope, T weight, Wide<T>& total) __attribute__((always_inline)) {
                    const Wide<T> old = wide(at);
                    const Wide<T> fresh = old + slope * k;
                    store(at, fresh);
                    total += fresh * xi;
                    k += weight * old;
                };
                column(u0 + i, l0, v0, s0);
                column(u1 + i, l1, v1, s1);
                column(u2 + i, l2, v2, s2);
                column(u3 + i, l3, v3, s3);
                store(s.k + i, k);
            }
            store_sums(s.product + p * panel_width<T> + c, s0, s1, s2, s3);
        }
    }
    return most;
}

template <class T> void set_identity(const Factor<T>& s, double scale, Index d) {
    for (Index i = 0; i < panel_elements<T>(d); ++i)
        s.u[i] = 0;
    for (Index j = 0; j < s.size; ++j) {
        s.u[panel_index<T>(j, j)] = 1;
        s.d[j] = j < d ? scale : 1;
    }
}

// Lower triangle of S, row after row.
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
