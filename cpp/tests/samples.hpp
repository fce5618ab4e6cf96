// Random input for the native tests, and plain loops in long double to compare with.
#pragma once

#include <random>
#include <vector>

#include "driftline/linear/second_order_model.hpp"

namespace samples {

using driftline::Index;
using Vector = std::vector<long double>;

inline std::mt19937_64& generator() {
    static std::mt19937_64 source(20240521);
    return source;
}
inline double normal() {
    static std::normal_distribution<double> distribution;
    return distribution(generator());
}
template <class T> void fill(T* x, Index n) {
    for (Index i = 0; i < n; ++i)
        x[i] = static_cast<T>(normal());
}

// A full square matrix, row after row.
struct Square {
    Index d;
    Vector entries;
    explicit Square(Index n) : d(n), entries(static_cast<std::size_t>(n * n)) {}
    long double& at(Index i, Index j) { return entries[static_cast<std::size_t>(i * d + j)]; }
    long double at(Index i, Index j) const { return entries[static_cast<std::size_t>(i * d + j)]; }
};

template <class X> Vector times(const Square& a, const X* x) {
    Vector y(static_cast<std::size_t>(a.d));
    for (Index i = 0; i < a.d; ++i)
        for (Index j = 0; j < a.d; ++j)
            y[static_cast<std::size_t>(i)] += a.at(i, j) * static_cast<long double>(x[j]);
    return y;
}
template <class X> long double inner(const Vector& a, const X* b) {
    long double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        total += a[i] * static_cast<long double>(b[i]);
    return total;
}
// S - k k' / a.
inline void downdate(Square& s, const Vector& k, long double a) {
    for (Index i = 0; i < s.d; ++i)
        for (Index j = 0; j < s.d; ++j)
            s.at(i, j) -= k[static_cast<std::size_t>(i)] * k[static_cast<std::size_t>(j)] / a;
}

template <class Matrix> Square to_square(const Matrix& matrix, Index d) {
    std::vector<double> triangle(static_cast<std::size_t>(d * (d + 1) / 2));
    driftline::to_dense(matrix, triangle.data(), d);
    Square s(d);
    for (Index i = 0; i < d; ++i)
        for (Index j = 0; j <= i; ++j)
            s.at(i, j) = s.at(j, i) = driftline::triangle_row(triangle.data(), i)[j];
    return s;
}
template <class T> Square covariance(const driftline::SecondOrderState<T>& m) {
    return m.additive ? to_square(m.packed, m.d) : to_square(m.factor, m.d);
}

inline std::vector<Index> sizes() {
    std::vector<Index> all = {47, 48, 49, 64, 65, 100, 129};
    for (Index d = 1; d <= 41; ++d)
        all.push_back(d);
    return all;
}

template <class T> inline constexpr double eps = sizeof(T) == 8 ? 2.2e-16 : 1.2e-7;

} // namespace samples
