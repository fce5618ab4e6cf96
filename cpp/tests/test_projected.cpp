// The random matrix, and its products with rows of any width.
#include "check.hpp"
#include "driftline/linear/projected_model.hpp"
#include "samples.hpp"

using namespace driftline;
using namespace samples;

namespace {

// The generator's published test vectors: counter and key all zeros, and all ones.
void philox_gives_the_published_words() {
    const Words zeros = philox({{0, 0, 0, 0}}, 0, 0);
    const std::uint64_t of_zeros[] = {0x16554d9eca36314cu, 0xdb20fe9d672d0fdcu, 0xd7e772cee186176bu, 0x7e68b68aec7ba23bu};
    const std::uint64_t all = ~std::uint64_t{0};
    const Words ones = philox({{all, all, all, all}}, all, all);
    const std::uint64_t of_ones[] = {0x87b092c3013fe90bu, 0x438c3c67be8d0224u, 0x9cc7d7c69cd777b6u, 0xa09caebf594f0ba0u};
    for (int i = 0; i < 4; ++i) {
        CHECK(zeros.word[i] == of_zeros[i]);
        CHECK(ones.word[i] == of_ones[i]);
    }
}

void quantiles_match_the_normal_distribution() {
    for (int i = 1; i < 1000; ++i) {
        const double q = i / 1000.0 - 0.5;
        const double z = std::fabs(q) <= normal_middle ? normal_in_the_middle(q) : normal_in_the_tails(q);
        CHECK_NEAR(0.5L * std::erfc(-static_cast<long double>(z) / std::sqrt(2.0L)), 0.5L + q, 2e-16L);
    }
    CHECK_NEAR(normal_in_the_tails(centred_uniform(0)), -8.209536151601387, 1e-12);
    CHECK(normal_in_the_tails(centred_uniform(~std::uint64_t{0})) == -normal_in_the_tails(centred_uniform(0)));
}

// psi = M x from the columns themselves, even if the cache is smaller than the number of columns.
template <class T> void products_are_sums_of_columns(Filling filling, Index dim, Index features, Index count, Index apart) {
    const RandomMatrix matrix(filling, dim, 9);
    Projection<T> projection(matrix, features);
    SecondOrderModel<T> model(dim + 1, true, Policy{});
    std::vector<T> column(static_cast<std::size_t>(padded<T>(dim)));
    for (int repeat = 0; repeat < 3; ++repeat) {
        std::vector<double> wanted(static_cast<std::size_t>(dim));
        projection.row.reserve(count);
        projection.row.clear();
        for (Index e = 0; e < count; ++e) {
            const Index j = (e * apart + repeat * 104729) % features;
            const double value = normal();
            projection.row.add(j, static_cast<T>(value));
            engine<T>().column(matrix, j, column.data());
            for (Index i = 0; i < dim; ++i)
                wanted[static_cast<std::size_t>(i)] +=
                    static_cast<double>(static_cast<T>(value)) * static_cast<double>(column[static_cast<std::size_t>(i)]);
        }
        projection.into(model.state);
        for (Index i = 0; i < dim; ++i)
            CHECK_NEAR(model.state.x[i], wanted[static_cast<std::size_t>(i)], sizeof(T) == 8 ? 1e-13 : 1e-5);
        CHECK(model.state.x[dim] == 1);
    }
}

void huge_rows_are_clipped_to_the_range() {
    Projection<double> projection(RandomMatrix(Filling::gaussian, 5, 1), 100);
    SecondOrderModel<double> model(5, false, Policy{});
    projection.row.reserve(100);
    for (Index j = 0; j < 100; ++j)
        projection.row.add(j, DBL_MAX);
    projection.into(model.state);
    for (Index i = 0; i < 5; ++i)
        CHECK(std::isfinite(model.state.x[i]) && std::fabs(model.state.x[i]) > 1e300);
}

} // namespace

int main() {
    philox_gives_the_published_words();
    quantiles_match_the_normal_distribution();
    for (const Filling filling : {Filling::gaussian, Filling::bernoulli, Filling::sparse})
        for (const Index dim : {1, 3, 8, 65, 100}) {
            products_are_sums_of_columns<double>(filling, dim, 40, 10, 7919);
            products_are_sums_of_columns<float>(filling, dim, 1000003, 15,
                                                65536); // columns share cache places if dim is large
        }
    huge_rows_are_clipped_to_the_range();
    return checks::result();
}
