// What models of both orders let Python do.
#pragma once

#include "model.hpp"

#include <algorithm>
#include <iterator>

#include "driftline/engine.hpp"

namespace driftline::bindings {

template <class T> Status replay_rows(SecondOrderState<T>& state, const Batch& batch, Outputs& out) {
    return engine<T>().replay(state, batch, out);
}
template <class T> Status replay_rows(FirstOrderState<T>& state, const Batch& batch, Outputs& out) {
    return engine<T>().replay_first(state, batch, out);
}

// With Python free to do something else.
template <class Replay> nb::tuple replay_freely(const Batch& batch, Outputs out, Replay&& replay) {
    Status status;
    {
        nb::gil_scoped_release released;
        status = replay(batch, out);
    }
    return nb::make_tuple(static_cast<int>(status), out.done, out.reset_count, out.skipped);
}

template <class Model>
nb::tuple run(Holder<Model>& self, Table2 x, std::optional<Vector> y, std::optional<Vector> weight, bool skip,
              OutVector predictions, std::optional<OutVector> lower, std::optional<OutVector> upper,
              std::optional<Level> level, std::optional<OutIndices> resets, std::optional<OutTable> weights, Index every,
              Index start, std::optional<OutTable> pace) {
    InUse use(self);
    auto& state = self.model->state;
    const Batch batch = make_batch(x, y, weight, skip, state.d - state.intercept);
    Outputs out = make_outputs(batch, predictions, resets, weights, every, start, state.d);
    if (lower && upper && level)
        add_intervals(out, batch, *lower, *upper, *level);
    add_pace(out, batch, pace);
    self.model->form_weights();
    return replay_freely(batch, out, [&](const Batch& rows, Outputs& into) { return replay_rows(state, rows, into); });
}

template <class Sums> nb::object copy_sums(const Sums& sums) {
    return copy_out(reinterpret_cast<const double*>(&sums), static_cast<Index>(sizeof sums / sizeof(double)));
}

// As it is saved: the quantiles, the scale, five counts, and the recent scores.
inline constexpr Index coverage_counts = level_count + 1, coverage_recent = coverage_counts + 5,
                       coverage_size = coverage_recent + remembered;

inline nb::object copy_coverage(Coverage& c) {
    if (c.due != never)
        catch_up(c);
    double flat[coverage_size];
    std::copy(std::begin(c.quantile), std::end(c.quantile), flat);
    flat[level_count] = c.scale;
    const Index counts[] = {c.streak, c.first, c.taken, c.noted, c.due != never};
    std::copy(std::begin(counts), std::end(counts), flat + coverage_counts);
    std::copy(std::begin(c.recent), std::end(c.recent), flat + coverage_recent);
    return copy_out(flat, coverage_size);
}

inline void set_coverage(const nb::dict& from, Coverage& c) {
    double flat[coverage_size];
    copy_in(from, "coverage", flat, coverage_size);
    std::copy(flat, flat + level_count, c.quantile);
    c.scale = flat[level_count];
    std::copy(flat + coverage_recent, flat + coverage_size, c.recent);
    bool good = c.scale == 0 || (c.scale >= least_scale && c.scale <= most_scale);
    for (double quantile : c.quantile)
        good = good && quantile >= least_quantile && quantile <= most_quantile;
    for (double score : c.recent)
        good = good && score >= 0;
    for (Index i = coverage_counts; i < coverage_recent; ++i)
        good = good && std::fabs(flat[i]) < 9e15;
    if (good) {
        const auto count = [&](Index i) { return static_cast<Index>(flat[coverage_counts + i]); };
        c.streak = count(0);
        c.first = count(1);
        c.taken = count(2);
        c.noted = count(3);
        c.due = count(4) ? c.noted + taken_at_once : never;
        good = c.first >= 0 && c.taken >= c.first && c.noted >= c.taken && (count(4) == 0 || c.taken == c.noted);
    }
    if (!good)
        throw nb::value_error("the state's coverage is out of range");
}

// Sums are of what is not negative, and those of a kind that counts are whole; `counts` lists their places.
template <class Sums> void check_sums(const Sums& sums, std::initializer_list<std::size_t> counts) {
    double flat[sizeof sums / sizeof(double)];
    std::memcpy(flat, &sums, sizeof sums);
    bool good = true;
    for (double sum : flat)
        good = good && sum >= 0;
    for (std::size_t place : counts)
        good = good && flat[place] < 9e15 && flat[place] == std::floor(flat[place]);
    if (!good)
        throw nb::value_error("the state's sums are out of range");
}

template <class Sums> void copy_sums_in(const nb::dict& from, Sums& sums) {
    copy_in(from, "sums", reinterpret_cast<double*>(&sums), static_cast<Index>(sizeof sums / sizeof(double)));
}

template <class State> nb::object interval_around(double prediction, const Level& level, State& state, double variance) {
    Outputs out;
    double lower = 0, upper = 0;
    out.predictions = &prediction;
    out.lower = &lower;
    out.upper = &upper;
    out.level = level;
    write_interval(out, 0, state.coverage, variance, state.sums.largest_loss);
    return nb::make_tuple(lower, upper);
}

template <class Model> nb::class_<Holder<Model>> bind_model(nb::module_& m, const char* name, const char* what) {
    using nb::arg;
    using Held = Holder<Model>;
    using Policy = decltype(Model::state.policy);
    return nb::class_<Held>(m, name, what)
        .def(
            "__init__",
            [](Held* self, Index d, bool intercept, const Policy& policy) {
                new (self) Held{std::make_unique<Model>(d, intercept, policy), {}, {}, 0};
            },
            arg("d"), arg("intercept"), arg("policy"))
        .def("run", &run<Model>, arg("x"), arg("y").none(), arg("weight").none(), arg("skip"), arg("predictions"),
             arg("lower").none(), arg("upper").none(), arg("level").none(), arg("resets").none(), arg("weights").none(),
             arg("every"), arg("start"), arg("pace") = nb::none(),
             "Replays rows from `start`; returns status, rows done, resets written and rows skipped.")
        .def("claim",
             [](Held& self) {
                 InUse use(self);
                 self.owner = PyThread_get_thread_ident();
             })
        .def("release",
             [](Held& self) {
                 InUse use(self);
                 self.owner = 0;
             })
        .def("sums",
             [](Held& self) {
                 InUse use(self);
                 return copy_sums(self.model->state.sums);
             })
        .def("weights",
             [](Held& self) {
                 InUse use(self);
                 self.model->form_weights();
                 return copy_out(self.model->state.w, self.model->state.d);
             })
        .def_prop_ro("features", [](Held& self) { return self.model->state.d - self.model->state.intercept; })
        .def(
            "grow",
            [](Held& self, Index more) {
                InUse use(self);
                self.model = self.model->grown(more);
            },
            arg("more"))
        .def(
            "set_names", [](Held& self, nb::object names) { self.names.set(std::move(names)); }, arg("names"))
        .def(
            "set_policy",
            [](Held& self, const Policy& policy) {
                InUse use(self);
                self.model->set_policy(policy);
            },
            arg("policy"), "Takes effect from the next row on; what the memory was laid out for stays as it is.");
}

} // namespace driftline::bindings
