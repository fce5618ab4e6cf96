// Triangles of QR factorisations: their Gram matrices equal those of the rows, for numbers of any size, in any pieces.
#include "check.hpp"
#include "driftline/report/triangles.hpp"
#include "samples.hpp"

using namespace driftline;
using namespace samples;

namespace {

long double gram(const double* rows, Index m, Index k, Index i, Index j) {
    long double total = 0;
    for (Index r = 0; r < m; ++r)
        total += static_cast<long double>(rows[r * k + i]) * rows[r * k + j];
    return total;
}

std::vector<double> folded(const double* rows, Index m, Index k) {
    std::vector<double> triangle(static_cast<std::size_t>(k * k));
    fold(triangle.data(), rows, m, k);
    return triangle;
}

void check_triangle_of(const std::vector<double>& triangle, const std::vector<double>& rows, Index m, Index k) {
    for (Index i = 0; i < k; ++i)
        for (Index j = 0; j < k; ++j) {
            if (j < i)
                CHECK(triangle[static_cast<std::size_t>(i * k + j)] == 0);
            const long double size = std::sqrt(gram(rows.data(), m, k, i, i)) * std::sqrt(gram(rows.data(), m, k, j, j));
            CHECK_NEAR(gram(triangle.data(), k, k, i, j), gram(rows.data(), m, k, i, j),
                       1e-14L * static_cast<long double>(k) * size);
        }
}

void folded_rows_become_a_triangle(Index m, Index k, double scale) {
    std::vector<double> rows(static_cast<std::size_t>(m * k));
    fill(rows.data(), m * k);
    for (double& value : rows)
        value *= scale;
    check_triangle_of(folded(rows.data(), m, k), rows, m, k);
}

void triangles_can_be_folded_like_rows(Index m, Index k) {
    std::vector<double> rows(static_cast<std::size_t>(m * k));
    fill(rows.data(), m * k);
    const Index half = m / 2;
    std::vector<double> triangle = folded(rows.data(), half, k);
    const std::vector<double> other = folded(rows.data() + half * k, m - half, k);
    fold(triangle.data(), other.data(), k, k);
    check_triangle_of(triangle, rows, m, k);
}

// A column whose norm is dominated by its largest entry, but not its products with other columns.
void small_entries_count(Index m, Index k) {
    std::vector<double> rows(static_cast<std::size_t>(m * k));
    fill(rows.data(), m * k);
    std::fill_n(rows.data() + 1, k - 1, 0.0);
    rows[0] = 1e10;
    check_triangle_of(folded(rows.data(), m, k), rows, m, k);
    std::vector<double> triangle = folded(rows.data(), 1, k);
    fold(triangle.data(), rows.data() + k, m - 1, k);
    check_triangle_of(triangle, rows, m, k);
}

void zero_rows_change_nothing() {
    std::vector<double> rows(30, 0.0), triangle{1, 2, 3, 0, 4, 5, 0, 0, 6};
    const std::vector<double> before = triangle;
    fold(triangle.data(), rows.data(), 10, 3);
    fold(triangle.data(), rows.data(), 0, 3);
    CHECK(triangle == before);
}

} // namespace

int main() {
    for (const Index k : {1, 2, 3, 7, 40, 101})
        for (const Index m : {1, 2, 31, 32, 33, 100})
            folded_rows_become_a_triangle(m, k, 1.0);
    for (const double scale : {1e-140, 1e-80, 1e80, 1e140})
        folded_rows_become_a_triangle(50, 5, scale);
    triangles_can_be_folded_like_rows(50, 8);
    triangles_can_be_folded_like_rows(300, 67);
    small_entries_count(2, 3);
    small_entries_count(60, 20);
    zero_rows_change_nothing();
    return checks::result();
}
