// Cholesky factors, triangular solves, and the projection onto the ball.
#include "check.hpp"
#include "driftline/linear/projection.hpp"
#include "samples.hpp"

using namespace driftline;
using namespace samples;

namespace {

std::vector<double> random_triangle(Index d) {
    std::vector<double> root(static_cast<std::size_t>(d * d)), a(static_cast<std::size_t>(d * (d + 1) / 2));
    fill(root.data(), d * d);
    for (Index i = 0; i < d; ++i)
        for (Index j = 0; j <= i; ++j) {
            double& entry = triangle_row(a.data(), i)[j];
            entry = i == j;
            for (Index k = 0; k < d; ++k)
                entry += root[static_cast<std::size_t>(i * d + k)] * root[static_cast<std::size_t>(j * d + k)] /
                         static_cast<double>(d);
        }
    return a;
}
long double entry(const std::vector<double>& a, Index i, Index j) {
    return i >= j ? triangle_row(a.data(), i)[j] : triangle_row(a.data(), j)[i];
}

void cholesky_factors_and_solves(Index d) {
    const std::vector<double> a = random_triangle(d);
    std::vector<double> l = a, x(static_cast<std::size_t>(d)), y(static_cast<std::size_t>(d));
    CHECK(cholesky(l.data(), d));
    for (Index i = 0; i < d; ++i)
        for (Index j = 0; j <= i; ++j) {
            long double total = 0;
            for (Index k = 0; k <= j; ++k)
                total += static_cast<long double>(triangle_row(l.data(), i)[k]) * triangle_row(l.data(), j)[k];
            CHECK_NEAR(total, entry(a, i, j), 1e-14 * static_cast<double>(d));
        }
    fill(x.data(), d);
    symmetric_times(a.data(), x.data(), y.data(), d);
    for (Index i = 0; i < d; ++i) {
        long double total = 0;
        for (Index j = 0; j < d; ++j)
            total += entry(a, i, j) * x[static_cast<std::size_t>(j)];
        CHECK_NEAR(y[static_cast<std::size_t>(i)], total, 1e-13 * static_cast<double>(d));
    }
    solve_lower(l.data(), y.data(), d);
    solve_lower_transposed(l.data(), y.data(), d);
    for (std::size_t i = 0; i < x.size(); ++i)
        CHECK_NEAR(y[i], x[i], 1e-12 * static_cast<double>(d));
}

void cholesky_refuses_indefinite_matrices(Index d) {
    std::vector<double> a = random_triangle(d);
    triangle_row(a.data(), d - 1)[d - 1] = -1;
    CHECK(!cholesky(a.data(), d));
    std::vector<double> zero(static_cast<std::size_t>(d * (d + 1) / 2));
    CHECK(!cholesky(zero.data(), d));
    CHECK(cholesky<true>(zero.data(), d));
}

// v = (I + a S)^-1 w with |v| = radius: then w - v = a S v for one a >= 0.
template <class T> void projection_is_on_the_ball_and_optimal(Index d) {
    Policy policy;
    policy.radius = 0.5;
    SecondOrderModel<T> model(d, false, policy);
    auto& m = model.state;
    for (Index j = 0; j < d; ++j) {
        m.factor.d[j] = std::exp(normal());
        for (Index i = 0; i < j; ++i)
            m.factor.u[panel_index<T>(i, j)] = static_cast<T>(0.3 * normal());
        m.w[j] = static_cast<T>(1 + std::fabs(normal()));
    }
    const std::vector<T> before(m.w, m.w + d);
    project_on_ball(m);
    CHECK(m.sums.projections == 1);
    const Vector v(m.w, m.w + d), sv = times(covariance(m), m.w);
    CHECK_NEAR(std::sqrt(inner(v, m.w)), policy.radius, 10 * eps<T>);
    long double most = 0, along = 0;
    std::vector<long double> gap;
    for (std::size_t i = 0; i < v.size(); ++i) {
        gap.push_back(before[i] - v[i]);
        most = std::fmax(most, std::fabs(gap.back()));
    }
    along = inner(gap, sv.data()) / inner(sv, sv.data());
    CHECK(along > 0);
    for (std::size_t i = 0; i < v.size(); ++i)
        CHECK_NEAR(gap[i], along * sv[i], 2e3 * static_cast<double>(d) * eps<T> * most);
}

} // namespace

int main() {
    for (const Index d : sizes()) {
        cholesky_factors_and_solves(d);
        cholesky_refuses_indefinite_matrices(d);
        projection_is_on_the_ball_and_optimal<double>(d);
        projection_is_on_the_ball_and_optimal<float>(d);
    }
    return checks::result();
}
