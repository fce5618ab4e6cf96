// The methods that every native learner offers to Python. A core is a struct with these members:
//
// - Value: the type of its rows
// - features(), width(): number of features of a row, and of weights
// - read(x, unknown_allowed): reads a row from Python into the core's buffer; false leaves the row to Python
// - numbers(), load(row): export and import of the row as numbers; null if it is kept in another form
// - predict(prediction), predict(out): predicts the row that was read; the second also its interval and quantiles
// - learn(label, share): learns the row that was read, with the share as its sample weight
// - replay(batch, out): replays many rows, with the interpreter's lock released
// - limits(): of the label
// - takes(rows), replay(rows, batch, out): optional, the same for sparse rows
// - rethrow(): optional, raises the error of a user's function that failed during a replay
// - set_time(time): optional, the time of the row that is predicted or learned next; NaN if it has none
// - ask(asked, out), tell(asked, label, share), take(batch, t): optional, if a ticket keeps more than the prediction
// - coverage(), sums(), weights(), grow(more)
#pragma once

#include <nanobind/stl/shared_ptr.h>

#include "batch.hpp"
#include "guard.hpp"
#include "one_row.hpp"
#include "sparse.hpp"
#include "late_replay.hpp"

#include "driftline/engine.hpp"

namespace driftline::bindings {

template <class Core> nb::object learn_row(Core& self, nb::handle x, nb::handle y, nb::handle weight) {
    InUse use(self);
    if (self.needs_time && std::isnan(self.at))
        return to_python(Status::unread);
    const double label = read_label(self, y);
    const double share = weight.is_none() ? 1 : read_number<double>(weight.ptr());
    if (!(share > 0) || std::isnan(label) || !self.read(x, false))
        return to_python(Status::unread);
    const Status status = self.learn(label, share);
    if (status == Status::done)
        set_delay(self, 0);
    return to_python(status);
}

template <class Core> nb::object predict_row(Core& self, nb::handle x) {
    InUse use(self);
    double prediction = 0;
    if (!self.read(x, true) || self.predict(prediction) != Status::done)
        return nb::none();
    return nb::float_(prediction);
}

template <class Core> nb::object predict_interval_of_row(Core& self, nb::handle x, const Level& level) {
    InUse use(self);
    double prediction = 0, lower = 0, upper = 0;
    Outputs out;
    out.predictions = &prediction;
    out.lower = &lower;
    out.upper = &upper;
    out.level = level;
    if (!self.read(x, true) || self.predict(out) != Status::done)
        return nb::none();
    return nb::make_tuple(lower, upper);
}

template <class Core> nb::object predict_quantiles_of_row(Core& self, nb::handle x, Vector levels) {
    InUse use(self);
    double prediction = 0, *to;
    nb::object quantiles = new_array(static_cast<Index>(levels.shape(0)), to);
    Outputs out;
    out.predictions = &prediction;
    out.quantiles = to;
    out.quantile_levels = levels.data();
    out.quantile_count = static_cast<Index>(levels.shape(0));
    if (!self.read(x, true) || self.predict(out) != Status::done)
        return nb::none();
    return quantiles;
}

// The rows are a table, or sparse rows if the core supports them.
template <class Core>
nb::tuple replay_rows(Core& self, nb::handle x, std::optional<Vector> y, std::optional<Vector> weight, bool skip,
                      const OutputArrays& arrays, Index start, std::optional<Vector> times) {
    const RowTime restored(self, self.at); // a replay moves it
    if constexpr (requires(const SparseRows& rows) { self.takes(rows); })
        if (const SparseRows* rows; nb::try_cast(x, rows, false) && rows) {
            require(self.takes(*rows));
            const Batch batch = make_labels(rows->rows.rows, y, weight, skip, self.limits(), times);
            return replay_without_the_gil(batch, make_outputs(batch, arrays, start, self.width()),
                                          [&](const Batch& rest, Outputs& out) { return self.replay(*rows, rest, out); });
        }
    const Batch batch = make_batch(nb::cast<Table2>(x), y, weight, skip, self.features(), self.limits(), times);
    nb::tuple done = replay_without_the_gil(batch, make_outputs(batch, arrays, start, self.width()),
                                            [&](const Batch& rows, Outputs& out) { return self.replay(rows, out); });
    if constexpr (requires { self.rethrow(); })
        self.rethrow();
    return done;
}
// Labels of a replay come at once. If all rows are skipped, labels are as late as before.
template <class Core>
nb::tuple run_rows(Core& self, nb::handle x, std::optional<Vector> y, std::optional<Vector> weight, bool skip,
                   const OutputArrays& arrays, Index start, std::optional<Vector> times) {
    InUse use(self);
    const Index delay = usual_delay(self);
    if (y)
        set_delay(self, 0);
    nb::tuple done = replay_rows(self, x, y, weight, skip, arrays, start, times);
    if (y && start == 0 && done[1].equal(done[2]))
        set_delay(self, delay);
    return done;
}

template <class Sums> nb::object copy_sums(const Sums& sums) {
    return copy_out(reinterpret_cast<const double*>(&sums), static_cast<Index>(sizeof sums / sizeof(double)));
}

inline constexpr const char* run_doc = "Replays rows from `start`; returns status, rows done and rows skipped.";
inline constexpr const char* run_signature =
    "def run(self, x: typing.Any, y: typing.Any, weight: typing.Any, skip: bool, out: Outputs, start: int, "
    "times: typing.Any = None) -> tuple[Status, int, int]";

// The methods that do not depend on how rows are read.
template <class Core, class... Bases> void bind_upkeep(nb::class_<Core, Bases...>& core) {
    using nb::arg;
    core.def_prop_rw(
            "guard", [](Core& self) { return self.guard; },
            [](Core& self, std::shared_ptr<Guard> guard) { self.guard = std::move(guard); })
        .def(
            "sums",
            [](Core& self) {
                InUse use(self);
                return copy_sums(self.sums());
            },
            nb::sig("def sums(self) -> typing.Any"))
        .def(
            "weights",
            [](Core& self) {
                InUse use(self);
                return self.weights();
            },
            nb::sig("def weights(self) -> typing.Any"))
        .def_rw("mark", &Core::mark)
        .def_prop_rw(
            "at", [](Core& self) { return self.at; },
            [](Core& self, double at) {
                InUse use(self);
                tell_time(self, self.at = at);
            },
            "The time of the row that is predicted or learned next; NaN if it has none.")
        .def_rw("needs_time", &Core::needs_time, "Whether rows without a time are left to Python.")
        .def_prop_ro(
            "rows", [](Core& self) { return static_cast<Index>(self.sums().rows); }, "Rows learned.")
        .def_prop_ro("features", [](Core& self) { return self.features(); })
        .def(
            "grow",
            [](Core& self, Index more) {
                InUse use(self);
                self.grow(more);
            },
            arg("more"))
        .def("set_names", [](Core& self, nb::object names) { self.names.set(std::move(names)); }, arg("names"));
}

template <class Core, class... Bases> void bind_verbs(nb::class_<Core, Bases...>& core) {
    using nb::arg;
    bind_upkeep(core);
    core.def("predict", &predict_row<Core>, arg("x").none(), nb::sig("def predict(self, x: object) -> float | None"),
             "The prediction, or None if Python must read the row.")
        .def("predict_interval", &predict_interval_of_row<Core>, arg("x").none(), arg("level"),
             nb::sig("def predict_interval(self, x: object, level: Level) -> tuple[float, float] | None"),
             "Both ends of the interval, or None if Python must read the row.")
        .def("predict_quantiles", &predict_quantiles_of_row<Core>, arg("x").none(), arg("levels"),
             nb::sig("def predict_quantiles(self, x: object, levels: typing.Any) -> typing.Any"),
             "Quantiles of the label, or None if Python must read the row.")
        .def("learn", &learn_row<Core>, arg("x").none(), arg("y").none(), arg("weight") = nb::none(),
             nb::sig("def learn(self, x: object, y: object, weight: object = None) -> Status"),
             "Learns a row; nothing has changed unless the status is `done`.")
        .def("run", &run_rows<Core>, arg("x"), arg("y").none(), arg("weight").none(), arg("skip"), arg("out"), arg("start"),
             arg("times") = nb::none(), nb::sig(run_signature), run_doc);
    bind_asking(core);
}

} // namespace driftline::bindings
