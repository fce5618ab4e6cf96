// Whole steps through the engine: replay compared with single rows, resets with brute force, and growth.
#include <cstring>
#include <limits>

#include "check.hpp"
#include "steps.hpp"

using namespace driftline;
using namespace samples;

namespace {

template <class T> bool same(const SecondOrderModel<T>& a, const SecondOrderModel<T>& b) {
    const auto d = static_cast<std::size_t>(a.state.d);
    return std::memcmp(a.state.w, b.state.w, d * sizeof(T)) == 0 &&
           std::memcmp(a.matrix().data(), b.matrix().data(), static_cast<std::size_t>(a.matrix().size()) * sizeof(T)) == 0 &&
           std::memcmp(&a.state.sums, &b.state.sums, sizeof(Sums)) == 0;
}

template <class T> void replay_equals_single_steps(Index d, const Policy& policy) {
    const Index features = d - (d > 1);
    Stream stream(40, features);
    for (Index j = 0; j < features; ++j) // a row too large to square
        stream.x[static_cast<std::size_t>(11 * features + j)] *= policy.complement ? 1 : sizeof(T) == 8 ? 1e160 : 1e25;
    auto whole = make_model<T>(d, d > 1, policy), single = make_model<T>(d, d > 1, policy);
    const auto halves = make_model<T>(d, d > 1, policy);
    Outputs out = stream.outputs();
    const Batch batch = stream.batch();
    CHECK(engine<T>().replay(whole->state, batch, out) == Status::done);
    CHECK(out.done == stream.rows);
    for (Index t = 0; t < stream.rows; ++t) {
        auto& m = single->state;
        const auto take = [&] {
            for (Index j = 0; j < features; ++j)
                m.x[j] = static_cast<T>(stream.row(t)[j]);
            if (m.intercept)
                m.x[features] = 1;
        };
        double before = 0, prediction = 0;
        take();
        CHECK(engine<T>().predict(m, before, nullptr) == Status::done);
        take();
        CHECK(engine<T>().learn(m, stream.y[static_cast<std::size_t>(t)], 1.0, prediction) == Status::done);
        CHECK(before == prediction && prediction == out.predictions[t]);
    }
    CHECK(same(*whole, *single));
    Batch first = batch;
    first.rows = 17;
    const std::vector<unsigned char> at_once = stream.resets;
    Outputs resumed = stream.outputs();
    CHECK(engine<T>().replay(halves->state, first, resumed) == Status::done);
    CHECK(engine<T>().replay(halves->state, batch, resumed) == Status::done);
    CHECK(same(*whole, *halves));
    CHECK(stream.resets == at_once);
}

// An infinity in U: predictions do not change it, learning and saving repair it in the same way, and the weights do not
// change.
template <class T> void a_variance_out_of_range_is_repaired(Index d) {
    Policy policy;
    policy.shrink = true;
    auto learned = make_model<T>(d, false, policy), saved = make_model<T>(d, false, policy);
    const auto take = [&](SecondOrderState<T>& m) {
        for (Index j = 0; j < d; ++j)
            m.x[j] = T(j + 1);
    };
    double asked = 0, said = 0;
    for (auto* model : {learned.get(), saved.get()}) {
        take(model->state);
        CHECK(engine<T>().learn(model->state, 3.0, 1.0, said) == Status::done);
        model->matrix().data()[panel_index<T>(0, d - 1)] = std::numeric_limits<T>::infinity();
        model->state.ready = false;
    }
    const T before = learned->state.w[0];
    take(learned->state);
    CHECK(engine<T>().predict(learned->state, asked, nullptr) == Status::done);
    CHECK(learned->state.sums.repaired == 0 && std::isinf(learned->matrix().data()[panel_index<T>(0, d - 1)]));
    CHECK(restart_where_broken(saved->state) && !restart_where_broken(saved->state));
    CHECK(saved->state.w[0] == before);
    for (auto* model : {learned.get(), saved.get()}) {
        take(model->state);
        CHECK(engine<T>().learn(model->state, 3.0, 1.0, said) == Status::done);
        CHECK(said == asked && model->state.sums.repaired == 1);
    }
    CHECK(same(*learned, *saved));
}

// Extreme labels drive the weights out of range: they are clipped and counted.
template <class T> void weights_stay_in_range(Index d) {
    Policy policy;
    policy.noise = 1e-3;
    Stream stream(20, d);
    for (std::size_t t = 0; t < stream.y.size(); ++t)
        stream.y[t] = (t % 2 ? -1 : 1) * type_max<T>;
    for (double& x : stream.x)
        x *= 1e-2;
    auto model = make_model<T>(d, false, policy);
    Outputs out = stream.outputs();
    CHECK(engine<T>().replay(model->state, stream.batch(), out) == Status::done);
    for (Index j = 0; j < d; ++j)
        CHECK(std::isfinite(model->state.w[j]));
    CHECK(model->state.sums.saturated > 0);
}

// Whether the smallest eigenvalue of S is below the threshold, by Cholesky of S - threshold I in long double.
bool below(const Square& s, long double threshold) {
    Square l = s;
    for (Index i = 0; i < s.d; ++i) {
        l.at(i, i) -= threshold;
        for (Index j = 0; j <= i; ++j) {
            for (Index k = 0; k < j; ++k)
                l.at(i, j) -= l.at(i, k) * l.at(j, k);
            if (i == j && l.at(i, i) < 0)
                return true;
            l.at(i, j) = i == j ? std::sqrt(l.at(i, i)) : l.at(i, j) / l.at(j, j);
        }
    }
    return false;
}
void resets_equal_brute_force(Index d, double noise, double keep) {
    Policy policy;
    policy.noise = noise;
    policy.reset = Reset::below;
    policy.time = keep < 1 ? Time::divide : Time::none;
    policy.amount = keep;
    Stream stream(400, d);
    const auto model = make_model<double>(d, false, policy);
    Outputs out = stream.outputs();
    CHECK(engine<double>().replay(model->state, stream.batch(), out) == Status::done);
    std::vector<Index> expected;
    Square s(d);
    const auto restart = [&] {
        for (Index i = 0; i < d; ++i)
            for (Index j = 0; j < d; ++j)
                s.at(i, j) = i == j;
    };
    restart();
    for (Index t = 0; t < stream.rows; ++t) {
        for (auto& entry : s.entries)
            entry /= keep;
        const Vector k = times(s, stream.row(t));
        downdate(s, k, noise + inner(k, stream.row(t)));
        if (below(s, 1 / (static_cast<long double>(expected.size()) + 2))) {
            expected.push_back(t);
            restart();
        }
    }
    CHECK(!expected.empty());
    std::vector<Index> found;
    for (Index t = 0; t < stream.rows; ++t)
        if (out.resets[t])
            found.push_back(t);
    CHECK(found == expected);
}

// A feature that was always zero and a new feature are equivalent if time does not act on S, or if the prior is kept.
template <class T> void growth_equals_features_that_were_zero(Index d, Index more, bool intercept, bool forgetting) {
    Policy policy;
    policy.start = 2;
    policy.time = forgetting ? Time::divide : Time::none;
    policy.amount = 0.95;
    policy.keep_prior = forgetting;
    const Index features = d - intercept;
    Stream narrow(30, features), wide(30, features + more), rest(30, features + more);
    for (Index t = 0; t < narrow.rows; ++t) {
        for (Index j = 0; j < features + more; ++j)
            wide.x[static_cast<std::size_t>(t * (features + more) + j)] = j < features ? narrow.row(t)[j] : 0;
        wide.y[static_cast<std::size_t>(t)] = narrow.y[static_cast<std::size_t>(t)];
    }
    auto small = make_model<T>(d, intercept, policy), large = make_model<T>(d + more, intercept, policy);
    Outputs out = narrow.outputs(), out2 = wide.outputs(), out3 = rest.outputs(), out4 = rest.outputs();
    engine<T>().replay(small->state, narrow.batch(), out);
    engine<T>().replay(large->state, wide.batch(), out2);
    auto grown = small->grown(more);
    CHECK(grown->state.d == d + more && grown->state.sums.rows == 30);
    engine<T>().replay(grown->state, rest.batch(), out3);
    engine<T>().replay(large->state, rest.batch(), out4);
    const Square a = covariance(grown->state), b = covariance(large->state);
    for (std::size_t i = 0; i < a.entries.size(); ++i)
        CHECK_NEAR(a.entries[i], b.entries[i], 1e4 * eps<T>);
    for (Index j = 0; j < d + more; ++j)
        CHECK_NEAR(grown->state.w[j], large->state.w[j], 1e5 * eps<T>);
}

template <class T> void test_type() {
    for (const Named& named : policies()) {
        const int before = checks::failures;
        for (Index d = 1; d <= 41; ++d)
            replay_equals_single_steps<T>(d, named.policy);
        if (checks::failures > before)
            std::fprintf(stderr, "    in %s, %s\n", named.name, sizeof(T) == 8 ? "double" : "float");
    }
    for (const Index d : {2, 5, 20, 40})
        a_variance_out_of_range_is_repaired<T>(d);
    for (const Index d : {1, 5, 20, 40})
        weights_stay_in_range<T>(d);
    for (const Index d : {1, 3, 4, 8, 21})
        for (const Index more : {1, 5})
            for (const bool intercept : {false, true})
                for (const bool forgetting : {false, true})
                    if (d > intercept)
                        growth_equals_features_that_were_zero<T>(d, more, intercept, forgetting);
}

} // namespace

int main() {
    std::printf("%s\n", instruction_set());
    test_type<double>();
    test_type<float>();
    for (const Index d : {1, 2, 5, 8, 17})
        for (const double noise : {0.5, 2.0}) {
            resets_equal_brute_force(d, noise, 1.0);
            resets_equal_brute_force(d, noise, 0.995);
        }
    return checks::result();
}
