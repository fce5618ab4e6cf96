// Folds rows into the triangle R of a QR factorisation, by Householder reflections: R'R becomes R'R + X'X. Few rows at a
// time, so that the working set stays in the cache, and in one thread, since matrices this small gain nothing from more.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "driftline/base/simd.hpp"

namespace driftline {

constexpr Index folded_at_once = 32;

// |(head, rows of column j)| without overflow; 0 if the rows are zero there.
inline double column_norm(double head, const double* rows, Index n, Index k, Index j) {
    double total = head * head, largest = 0;
    for (Index i = 0; i < n; ++i) {
        total += rows[i * k + j] * rows[i * k + j];
        largest = std::max(largest, std::fabs(rows[i * k + j]));
    }
    if (largest == 0)
        return 0;
    if (total > 1e-280 && total < 1e280)
        return std::sqrt(total);
    largest = std::max(largest, std::fabs(head));
    total = (head / largest) * (head / largest);
    for (Index i = 0; i < n; ++i)
        total += (rows[i * k + j] / largest) * (rows[i * k + j] / largest);
    return largest * std::sqrt(total);
}

// Makes column j of the rows zero; `sums` is scratch for k numbers.
inline void reflect(double* triangle, double* rows, Index n, Index k, Index j, double* sums) {
    double* __restrict top = triangle + j * k;
    const double norm = column_norm(top[j], rows, n, k, j);
    if (norm == 0)
        return;
    const double diagonal = top[j] > 0 ? -norm : norm;
    const double head = top[j] - diagonal, scale = -head / diagonal;
    top[j] = diagonal;
    double* __restrict total = sums;
    std::copy(top + j + 1, top + k, total + j + 1);
    for (Index i = 0; i < n; ++i) {
        double* __restrict row = rows + i * k;
        row[j] /= head;
        for (Index c = j + 1; c < k; ++c)
            total[c] += row[j] * row[c];
    }
    for (Index c = j + 1; c < k; ++c) {
        total[c] *= scale;
        top[c] -= total[c];
    }
    for (Index i = 0; i < n; ++i) {
        double* __restrict row = rows + i * k;
        for (Index c = j + 1; c < k; ++c)
            row[c] -= row[j] * total[c];
    }
}

// The first of k numbers that is not 0; k if all are 0.
inline Index first_entry(const double* row, Index k) {
    return static_cast<Index>(std::find_if(row, row + k, [](double value) { return value != 0; }) - row);
}

// Folds m rows of k numbers into a triangle of k x k numbers, both stored row by row. Leading zeros of a row, as in the rows
// of another triangle, cost next to nothing.
inline void fold(double* triangle, const double* rows, Index m, Index k) {
    std::vector<double> some(static_cast<std::size_t>(folded_at_once * k)), sums(static_cast<std::size_t>(k));
    Index n = 0, first = k;
    for (Index i = 0; i < m; ++i) {
        const Index entry = first_entry(rows + i * k, k);
        if (entry < k) {
            std::copy_n(rows + i * k, k, some.data() + n++ * k);
            first = std::min(first, entry);
        }
        if (n == folded_at_once || i == m - 1) {
            for (Index j = first; j < k; ++j)
                reflect(triangle, some.data(), n, k, j, sums.data());
            n = 0;
            first = k;
        }
    }
}

} // namespace driftline
