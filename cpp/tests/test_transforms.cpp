// Transformations of rows: their numbers, added features, and restored states.
#include "check.hpp"
#include "driftline/features/lags.hpp"
#include "driftline/features/monomials.hpp"
#include "driftline/features/random_fourier.hpp"
#include "driftline/features/standardize.hpp"
#include "driftline/features/transform_chain.hpp"
#include "driftline/features/unit_norm.hpp"

#include <functional>

using namespace driftline;

namespace {

using Make = std::function<std::shared_ptr<Transform>(Index)>;

std::vector<Make> kinds() {
    return {[](Index d) { return std::make_shared<Standardize>(d, 0.9); },
            [](Index d) { return std::make_shared<UnitNorm>(d); },
            [](Index d) { return std::make_shared<Lags>(d, std::vector<Index>{1, 2}, std::vector<Index>{0, 1, 2}); },
            [](Index d) { return std::make_shared<Lags>(d, std::vector<Index>{}, std::vector<Index>{70, 0}); },
            [](Index d) { return std::make_shared<Polynomial>(d, 3); },
            [](Index d) { return std::make_shared<RandomFourier>(d, 5, Spectrum::laplace, 0.5, 7); }};
}

double value(Index t, Index j) { return std::sin(static_cast<double>(3 * t + 7 * j)); }

std::vector<double> step(Transform& transform, Index t) {
    std::vector<double> x(static_cast<std::size_t>(transform.inputs()));
    for (Index j = 0; j < transform.inputs(); ++j)
        x[static_cast<std::size_t>(j)] = value(t, j);
    std::vector<double> z(static_cast<std::size_t>(transform.outputs()));
    transform.view(x.data(), z.data(), 0);
    transform.learn(x.data(), value(t, 99));
    return z;
}

// Copies the state, part by part, into a new transformation.
std::shared_ptr<Transform> copied(Transform& from, const Make& make) {
    auto to = make(from.inputs());
    const std::vector<Part> source = from.parts(), target = to->parts();
    for (std::size_t i = 0; i < source.size(); ++i)
        *target[i].values = *source[i].values;
    to->restore();
    return to;
}

void a_restored_state_continues_identically() {
    for (const Make& make : kinds()) {
        auto transform = make(2);
        for (Index t = 0; t < 200; ++t) {
            auto twin = copied(*transform, make);
            const std::vector<double> first = step(*twin, t);
            CHECK(first == step(*transform, t));
            if (t == 50 || t == 120)
                transform->grow(1);
        }
        CHECK(transform->inputs() == 4);
    }
}

void moments_match_the_rows() {
    Standardize transform(1, 1.0);
    double sum = 0, squares = 0;
    for (Index t = 0; t < 500; ++t) {
        const double x = value(t, 0);
        sum += x;
        squares += x * x;
        const double mean = sum / static_cast<double>(t + 1);
        const double variance = squares / static_cast<double>(t + 1) - mean * mean;
        const double z = step(transform, t)[0];
        if (t > 0)
            CHECK_NEAR(z, (x - mean) / std::sqrt(variance), 1e-10);
    }
}

void new_features_keep_the_places_of_the_others() {
    Polynomial grown(2, 3);
    const std::vector<Monomial> before = grown.products();
    grown.grow(2);
    CHECK(before.size() == 9 && grown.products().size() == 34);
    for (std::size_t m = 0; m < before.size(); ++m)
        CHECK(before[m].earlier == grown.products()[m].earlier && before[m].feature == grown.products()[m].feature);
}

void a_chain_passes_rows_on_and_refuses_values_out_of_range() {
    auto lags = std::make_shared<Lags>(1, std::vector<Index>{1}, std::vector<Index>{0, 1});
    TransformChain chain({lags, std::make_shared<Polynomial>(3, 2)}, 100);
    CHECK(chain.inputs() == 1 && chain.outputs() == 9);
    std::vector<double> z(9);
    chain.row()[0] = 2;
    CHECK(chain.look(z.data()));
    chain.learn(5);
    chain.row()[0] = 3;
    CHECK(chain.look(z.data()));
    const std::vector<double> wanted = {5, 3, 2, 25, 15, 10, 9, 6, 4};
    CHECK(z == wanted);
    chain.row()[0] = 11;
    CHECK(!chain.look(z.data()));
    CHECK(chain.left_after() == 1 && chain.left() == z);
    lags->grow(1);
}

void a_row_that_overflows_between_two_transformations_is_refused() {
    TransformChain chain(
        {std::make_shared<Polynomial>(1, 2), std::make_shared<Lags>(2, std::vector<Index>{}, std::vector<Index>{1})},
        FLT_MAX);
    std::vector<double> z(2);
    chain.row()[0] = 1e100; // beyond the learner's range, but the learner never sees this value
    CHECK(chain.look(z.data()));
    chain.row()[0] = 1e200;
    CHECK(!chain.look(z.data()));
    CHECK(chain.left_after() == 0 && chain.left().size() == 2 && std::isinf(chain.left()[1]));
}

} // namespace

int main() {
    a_restored_state_continues_identically();
    moments_match_the_rows();
    new_features_keep_the_places_of_the_others();
    a_chain_passes_rows_on_and_refuses_values_out_of_range();
    a_row_that_overflows_between_two_transformations_is_refused();
    return checks::result();
}
