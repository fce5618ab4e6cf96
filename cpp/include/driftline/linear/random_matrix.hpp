// A random matrix M of `dim` rows and any number of columns. None of it is stored: column j is a function of the seed and j.
#pragma once

#include "driftline/base/normal.hpp"
#include "driftline/base/panels.hpp"
#include "driftline/base/philox.hpp"
#include "driftline/base/range.hpp"

namespace driftline {

enum class Filling : int {
    gaussian,  // every entry N(0, 1/dim)
    bernoulli, // every entry +-1/sqrt(dim)
    sparse     // one entry +-1/sqrt(strata) at a random place in each of `strata` equal parts of a column
};
inline constexpr Index most_strata = 8;

struct RandomMatrix {
    Filling filling;
    Index dim;
    std::uint64_t seed;
    Index strata = dim < most_strata ? dim : most_strata;
    Index first[most_strata + 1] = {}; // the first row of each part of a column

    RandomMatrix(Filling filling_, Index dim_, std::uint64_t seed_) : filling(filling_), dim(dim_), seed(seed_) {
        for (Index part = 0; part <= strata; ++part)
            first[part] = part * dim / strata;
    }
};

// The nonzero entries of a row, in the order of their columns.
template <class T> struct Entries {
    const Index* at = nullptr;
    const T* value = nullptr;
    Index count = 0;
};

// Recently used Gaussian or Bernoulli columns. A column's place is its number modulo the places, so a matrix with no more
// columns than places is cached whole. The cache can be recomputed, so it is not part of a model's state.
template <class T> struct ColumnCache {
    T* columns = nullptr;
    Index* owners = nullptr; // the column in each place, or -1
    Index stride = 0;        // elements of a place
    Index mask = 0;          // the number of places, a power of two, minus 1
};

inline namespace DRIFTLINE_ISA {

// Word i of column j is number i of the stream that starts at the counter (1, j, 0, 0).
template <class T> DRIFTLINE_ONCE void gaussian_column(const RandomMatrix& m, Index j, T* column) {
    constexpr Index batch = 64;
    const double scale = 1 / std::sqrt(static_cast<double>(m.dim));
    double q[batch], z[batch];
    for (Index start = 0; start < m.dim; start += batch) {
        const Index left = m.dim - start < batch ? m.dim - start : batch, n = round_up(left, 4);
        for (Index i = 0; i < n; i += 4) {
            const Words words =
                philox({{1 + static_cast<std::uint64_t>(start + i) / 4, static_cast<std::uint64_t>(j), 0, 0}}, m.seed);
            for (Index k = 0; k < 4; ++k)
                q[i + k] = centred_uniform(words.word[k]);
        }
        for (Index i = 0; i < n; ++i)
            z[i] = normal_in_the_middle(q[i]);
        for (Index i = 0; i < left; ++i)
            column[start + i] =
                static_cast<T>(scale * (std::fabs(q[i]) <= normal_middle ? z[i] : normal_in_the_tails(q[i])));
    }
}

// Entry i has the sign of bit i of the stream that starts at the counter (1, j, 2, 0).
template <class T> void bernoulli_column(const RandomMatrix& m, Index j, T* column) {
    const T size = static_cast<T>(1 / std::sqrt(static_cast<double>(m.dim)));
    for (Index start = 0; start < m.dim; start += 256) {
        const Words words =
            philox({{1 + static_cast<std::uint64_t>(start) / 256, static_cast<std::uint64_t>(j), 2, 0}}, m.seed);
        const Index count = m.dim - start < 256 ? m.dim - start : 256;
        for (Index i = 0; i < count; ++i)
            column[start + i] = (words.word[i / 64] >> (i % 64) & 1) != 0 ? -size : size;
    }
}

template <class T> DRIFTLINE_INLINE void dense_column(const RandomMatrix& m, Index j, T* column) {
    if (m.filling == Filling::gaussian)
        gaussian_column(m, j, column);
    else
        bernoulli_column(m, j, column);
}

// Calls act(row, negative) for each entry of a sparse column.
template <class Act> DRIFTLINE_INLINE void visit_sparse_column(const RandomMatrix& m, Index j, Act&& act) {
    const Words words = philox({{1, static_cast<std::uint64_t>(j), 1, 0}}, m.seed);
    for (Index part = 0; part < m.strata; ++part) {
        const std::uint64_t bits = words.word[part / 2] >> (part % 2 * 32) & 0xFFFFFFFFu;
        const auto size = static_cast<std::uint64_t>(m.first[part + 1] - m.first[part]);
        act(m.first[part] + static_cast<Index>((bits >> 1) * size >> 31), (bits & 1) != 0);
    }
}

// Column j as numbers, `dim` of them.
template <class T> void matrix_column(const RandomMatrix& m, Index j, T* column) {
    if (m.filling != Filling::sparse)
        return dense_column(m, j, column);
    for (Index i = 0; i < m.dim; ++i)
        column[i] = 0;
    const T size = static_cast<T>(1 / std::sqrt(static_cast<double>(m.strata)));
    visit_sparse_column(m, j, [&](Index i, bool negative) { column[i] = negative ? -size : size; });
}

// A Gaussian or Bernoulli column, through the cache.
template <class T> DRIFTLINE_INLINE const T* cached_column(const RandomMatrix& m, ColumnCache<T>& cache, Index j) {
    const Index place = j & cache.mask;
    T* const column = cache.columns + place * cache.stride;
    if (cache.owners[place] != j) [[unlikely]] {
        dense_column(m, j, column);
        cache.owners[place] = j;
    }
    return column;
}

// psi += factor * M x; psi has room for padded(dim).
template <class T>
DRIFTLINE_INLINE void add_product(const RandomMatrix& m, ColumnCache<T>& cache, const Entries<T>& x, double factor, T* psi) {
    const T size = static_cast<T>(factor / std::sqrt(static_cast<double>(m.strata)));
    for (Index e = 0; e < x.count; ++e) {
        const Index j = x.at[e];
        if (m.filling == Filling::sparse) {
            const T value = x.value[e] * size;
            visit_sparse_column(m, j, [&](Index i, bool negative) { psi[i] += negative ? -value : value; });
            continue;
        }
        const T* const column = cached_column(m, cache, j);
        const T value = x.value[e] * static_cast<T>(factor);
        for (Index i = 0; i < padded<T>(m.dim); i += lanes<T>)
            store(psi + i, wide(psi + i) + value * wide(column + i));
    }
}

// psi = M x. If the sum leaves the range of T on the way, it is formed in a smaller unit and clipped.
template <class T> void project(const RandomMatrix& m, ColumnCache<T>& cache, const Entries<T>& x, T* psi) {
    const Index n = padded<T>(m.dim);
    std::memset(psi, 0, static_cast<std::size_t>(n) * sizeof(T));
    add_product(m, cache, x, 1.0, psi);
    if (all_finite(psi, n)) [[likely]]
        return;
    const double unit = std::ldexp(1.0, std::ilogb(static_cast<double>(x.count)) + 5); // no entry of M exceeds 2^4
    std::memset(psi, 0, static_cast<std::size_t>(n) * sizeof(T));
    add_product(m, cache, x, 1 / unit, psi);
    for (Index i = 0; i < m.dim; ++i)
        psi[i] = static_cast<T>(saturate(static_cast<double>(psi[i]) * unit, type_max<T>));
}

// Entry j of M'v. Entries of v beyond `dim`, up to the padding, are ignored.
template <class T> double transposed(const RandomMatrix& m, ColumnCache<T>& cache, const T* v, Index j) {
    if (m.filling != Filling::sparse)
        return dot(v, cached_column(m, cache, j), padded<T>(m.dim));
    double total = 0;
    visit_sparse_column(m, j, [&](Index i, bool negative) { total += negative ? -v[i] : v[i]; });
    return total / std::sqrt(static_cast<double>(m.strata));
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
