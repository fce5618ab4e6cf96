// The product, the projection and the update of both forms of the matrix, compared with plain loops; once for each
// instruction set.
#include <cstring>
#include <limits>

#include "check.hpp"
#include "driftline/linear/second_order.hpp"
#include "samples.hpp"

using namespace driftline;
using namespace samples;

namespace {

Policy with_time(Time time) {
    Policy policy;
    policy.time = time;
    policy.amount = time == Time::add ? 0.25 : 0.9;
    return policy;
}

// S = U D U' with entries of moderate size.
template <class T> void randomise(const Factor<T>& s, Index d) {
    for (Index j = 0; j < d; ++j) {
        for (Index i = 0; i < j; ++i)
            s.u[panel_index<T>(i, j)] = static_cast<T>(normal() / std::sqrt(static_cast<double>(d)));
        s.d[j] = std::exp(normal());
    }
}
template <class T> void randomise(SecondOrderModel<T>& model, const Packed<T>& s, Index d) {
    std::vector<double> root(static_cast<std::size_t>(d * d));
    fill(root.data(), d * d);
    for (Index j = 0; j < d; ++j)
        for (Index i = 0; i <= j; ++i) {
            double total = i == j;
            for (Index k = 0; k < d; ++k)
                total += root[static_cast<std::size_t>(i * d + k)] * root[static_cast<std::size_t>(j * d + k)] /
                         static_cast<double>(d);
            s.s[panel_index<T>(i, j)] = static_cast<T>(total);
        }
    model.mirror_diagonal_blocks();
}

// U'x computed from the stored entries.
template <class T> void check_product(const Factor<T>& s, const T* product, const T* x, Index d) {
    for (Index j = 0; j < d; ++j) {
        long double expected = 0, size = 0;
        for (Index i = 0; i <= j; ++i) {
            const long double term = static_cast<long double>(s.u[panel_index<T>(i, j)]) * x[i];
            expected += term;
            size += std::fabs(term);
        }
        CHECK_NEAR(product[j], expected, 4 * eps<T> * size);
    }
}

template <int G, class T> void factor_learns_a_row(SecondOrderModel<T>& model, double grow, double rho) {
    auto& m = model.state;
    const Factor<T>& s = m.factor;
    const Index d = m.d;
    randomise(s, d);
    fill(m.x, d);
    fill(m.next, d);
    Square expected = covariance(m);
    for (auto& entry : expected.entries)
        entry *= grow;
    const Vector k = times(expected, m.x);
    const long double variance = inner(k, m.x), scale = static_cast<long double>(d) * eps<T>;

    Row<G, T> row(s);
    multiply(s, m.x);
    check_product(s, s.product, m.x, d);
    fetch_product(s, row);
    Growth growth;
    growth.grow = grow;
    CHECK_NEAR(project(s, row, growth), variance, 20 * scale * variance);
    CHECK(!growth.watched && !growth.capped);
    update(s, row, rho, m.next);
    downdate(expected, k, rho + variance);
    for (Index j = 0; j < d; ++j)
        CHECK_NEAR(row.k[j], k[static_cast<std::size_t>(j)], 20 * scale * (1 + std::sqrt(variance)));
    const Square got = covariance(m);
    for (std::size_t i = 0; i < got.entries.size(); ++i)
        CHECK_NEAR(got.entries[i], expected.entries[i], 200 * scale);
    for (Index j = 0; j < s.size; ++j)
        CHECK(s.d[j] > 0 && s.u[panel_index<T>(j, j)] == 1);
    check_product(s, row.product, m.next, d);

    // The product left by the update equals a newly computed one bit for bit, so replay and single steps agree.
    const std::vector<T> fused(row.product, row.product + d);
    multiply(s, m.next);
    CHECK(std::memcmp(fused.data(), s.product, static_cast<std::size_t>(d) * sizeof(T)) == 0);
}

template <class T> void factor_caps_its_growth(Index d) {
    SecondOrderModel<T> model(d, false, with_time(Time::divide));
    auto& m = model.state;
    fill(m.x, d);
    m.factor.d[d - 1] = 50;
    with_size(m, [&]<int G>() {
        Row<G, T> row(m.factor);
        multiply(m.factor, m.x);
        fetch_product(m.factor, row);
        Growth growth{2, 40, 60};
        double expected = 0;
        for (Index j = 0; j < d; ++j)
            expected += (j == d - 1 ? 60 : 2) * static_cast<double>(m.x[j]) * static_cast<double>(m.x[j]);
        CHECK_NEAR(project(m.factor, row, growth), expected, 100 * eps<T> * expected);
        CHECK(growth.watched && growth.capped);
        CHECK(m.factor.d[d - 1] == 50);
        return Status::done;
    });
}

template <class T> void packed_learns_a_row(Index d) {
    SecondOrderModel<T> model(d, false, with_time(Time::add));
    auto& m = model.state;
    const Packed<T>& s = m.packed;
    randomise(model, s, d);
    fill(m.x, d);
    fill(m.next, d);
    const double drift = 0.25, rho = 0.7;
    Square expected = covariance(m);
    const long double scale = static_cast<long double>(d) * eps<T>;
    multiply(s, m.x);
    const Vector product = times(expected, m.x);
    for (Index j = 0; j < d; ++j)
        CHECK_NEAR(s.product[j], product[static_cast<std::size_t>(j)], 40 * scale);
    for (Index j = 0; j < d; ++j)
        expected.at(j, j) += drift;
    const Vector k = times(expected, m.x);
    const long double variance = inner(k, m.x);
    const double got_variance = project(s, m.x, drift);
    CHECK_NEAR(got_variance, variance, 40 * scale * (1 + variance));
    update(s, d, rho, got_variance, drift, false, m.next);
    downdate(expected, k, rho + variance);
    const Square got = covariance(m);
    for (std::size_t i = 0; i < got.entries.size(); ++i)
        CHECK_NEAR(got.entries[i], expected.entries[i], 100 * scale);
    const std::vector<T> fused(s.product, s.product + d);
    multiply(s, m.next);
    CHECK(std::memcmp(fused.data(), s.product, static_cast<std::size_t>(d) * sizeof(T)) == 0);
}

template <class T> void rows_are_read(Index d) {
    for (const bool intercept : {false, true}) {
        const Index features = d - intercept;
        std::vector<double> doubles(static_cast<std::size_t>(3 * features));
        fill(doubles.data(), 3 * features);
        const std::vector<float> floats(doubles.begin(), doubles.end());
        for (const bool narrow : {false, true})
            for (const bool by_columns : {false, true}) {
                Batch batch;
                batch.x = narrow ? static_cast<const void*>(floats.data()) : doubles.data();
                batch.floats = narrow;
                batch.rows = 3;
                batch.row_stride = by_columns ? 1 : features;
                batch.column_stride = by_columns ? 3 : 1;
                const Reader<0, T> reader(batch, d, intercept);
                Aligned<T> x(padded<T>(d));
                for (Index t = 0; t < 3; ++t) {
                    reader.take(x.data(), t);
                    for (Index j = 0; j < features; ++j) {
                        const auto at = static_cast<std::size_t>(t * batch.row_stride + j * batch.column_stride);
                        CHECK(x.data()[j] == static_cast<T>(narrow ? floats[at] : doubles[at]));
                    }
                    for (Index j = features; j < padded<T>(d); ++j)
                        CHECK(x.data()[j] == T(intercept && j == features));
                }
            }
    }
}

template <class T> void values_that_are_not_finite_are_detected(Index d) {
    const Index n = padded<T>(d);
    Aligned<T> w(n), k(n), sum(n);
    fill(w.data(), d);
    fill(k.data(), d);
    CHECK(all_finite(w.data(), n) && add_scaled(sum.data(), w.data(), k.data(), T(2), n));
    for (Index j = 0; j < d; ++j)
        CHECK_NEAR(sum.data()[j], w.data()[j] + 2 * static_cast<long double>(k.data()[j]), 10 * eps<T>);
    for (const T bad :
         {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()})
        for (Index j = 0; j < d; ++j) {
            const T kept = w.data()[j];
            w.data()[j] = bad;
            CHECK(!all_finite(w.data(), n) && !add_scaled(sum.data(), w.data(), k.data(), T(2), n));
            w.data()[j] = kept;
        }
    w.data()[d - 1] = k.data()[d - 1] = static_cast<T>(type_max<T>);
    CHECK(all_finite(w.data(), n) && !add_scaled(sum.data(), w.data(), k.data(), T(1), n));
}

template <class T> void test_type() {
    for (const Index d : sizes()) {
        values_that_are_not_finite_are_detected<T>(d);
        SecondOrderModel<T> model(d, false, with_time(Time::divide));
        for (const double rho : {1.0, 0.3}) {
            factor_learns_a_row<0>(model, 1 / 0.9, rho);
            with_size(model.state, [&]<int G>() {
                factor_learns_a_row<G>(model, 1 / 0.9, rho);
                return Status::done;
            });
        }
        factor_caps_its_growth<T>(d);
        packed_learns_a_row<T>(d);
        rows_are_read<T>(d);
    }
}

bool runs_here() {
#ifdef __AVX2__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

} // namespace

int main() {
    if (!runs_here()) {
        std::puts("skipped: this processor lacks the instructions");
        return 0;
    }
    test_type<double>();
    test_type<float>();
    return checks::result();
}
