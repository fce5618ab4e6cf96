// The mixture of a learner's forecasts with those from the series alone.
#include "driftline/delayed/horizon.hpp"

#include <cfloat>
#include <memory>

#include <nanobind/stl/vector.h>

#include "guard.hpp"
#include "state_numbers.hpp"

namespace driftline::bindings {

namespace {

struct HorizonCore {
    HorizonCore(Index steps, std::vector<Index> seasons)
        : seasons(seasons), model(std::make_unique<Horizon>(steps, std::move(seasons))) {}

    std::vector<Index> seasons;
    std::unique_ptr<Horizon> model;
};

// `out` has a table for each number of Mixed: (5, rows, steps).
using OutCube = ArrayOf<double, 3>;

Mixed row_of(double* out, Index table, Index at) {
    out += at;
    return {out, out + table, out + 2 * table, out + 3 * table, out + 4 * table};
}

void rows(HorizonCore& self, ArrayOf<const double, 2> said, Vector y, OutCube out) {
    const Index count = static_cast<Index>(said.shape(0)), steps = self.model->steps();
    require(static_cast<Index>(said.shape(1)) == steps && y.shape(0) == said.shape(0));
    require(out.shape(0) == 5 && out.shape(1) == said.shape(0) && out.shape(2) == said.shape(1));
    nb::gil_scoped_release released;
    for (Index t = 0; t < count; ++t)
        self.model->row(said.data() + t * steps, y.data()[t], row_of(out.data(), count * steps, t * steps));
}

void forecast(HorizonCore& self, Vector said, OutTable out) {
    const Index count = static_cast<Index>(said.shape(0));
    require(count <= self.model->steps() && out.shape(0) == 5 && out.shape(1) == said.shape(0));
    self.model->forecast(said.data(), count, row_of(out.data(), count, 0));
}

nb::object weights(const HorizonCore& self) {
    double* out;
    nb::object table = new_table(self.model->steps(), Horizon::members, out);
    for (Index k = 0; k < self.model->steps(); ++k)
        self.model->weights(k, out + k * Horizon::members);
    return table;
}

// An unknown label is written as a number that no label can be.
constexpr double unknown = DBL_MAX;

nb::dict get_state(HorizonCore& self) {
    nb::dict out;
    write_numbers(*self.model, out);
    std::vector<double> labels = self.model->series().labels();
    std::replace_if(labels.begin(), labels.end(), [](double y) { return !is_known(y); }, unknown);
    out["labels"] = copy_out(labels.data(), static_cast<Index>(labels.size()));
    out["fitted"] = self.model->series().fitted();
    return out;
}

void set_state(HorizonCore& self, const nb::dict& from) {
    auto fresh = std::make_unique<Horizon>(self.model->steps(), self.seasons);
    read_numbers(from, *fresh);
    const auto found = array_in<double>(from, "labels");
    if (!found.is_valid() || !from.contains("fitted") || !fresh->good())
        throw nb::value_error("the state of the series is not what learning leads to");
    std::vector<double> labels(found.data(), found.data() + found.size());
    std::replace(labels.begin(), labels.end(), unknown, static_cast<double>(NAN));
    const auto fitted = nb::cast<Index>(from["fitted"]);
    if (!fresh->series().restore(std::move(labels), fitted))
        throw nb::value_error("the state's labels are not what learning leads to");
    self.model = std::move(fresh);
}

} // namespace

void bind_horizon(nb::module_& m) {
    using nb::arg;
    nb::class_<HorizonCore>(m, "Horizon", "Mixes a learner's forecasts of all steps with those from the labels alone.")
        .def(nb::init<Index, std::vector<Index>>(), arg("steps"), arg("seasons"))
        .def(
            "rows", &rows, arg("said"), arg("y"), arg("out").noconvert(),
            nb::sig("def rows(self, said: typing.Any, y: typing.Any, out: typing.Any) -> None"),
            "Mixes the forecasts of rows, then learns their labels, NaN for unknown ones. Writes predictions, ratios to the "
            "learner's errors, scales, their degrees of freedom, and correlations with the step before: (5, rows, steps).")
        .def("forecast", &forecast, arg("said"), arg("out").noconvert(),
             nb::sig("def forecast(self, said: typing.Any, out: typing.Any) -> None"),
             "Mixes the forecasts of the next rows.")
        .def("weights", &weights, nb::sig("def weights(self) -> typing.Any"), "By step: of the learner and of each expert.")
        .def_prop_ro("seasons",
                     [](const HorizonCore& self) {
                         std::vector<Index> out;
                         for (const Index season : self.model->series().seasons())
                             if (season > 0)
                                 out.push_back(season);
                         return out;
                     })
        .def(
            "labels",
            [](const HorizonCore& self, Index count) {
                const std::vector<double>& all = self.model->series().labels();
                const Index n = std::clamp<Index>(count, 0, static_cast<Index>(all.size()));
                return copy_out(all.data() + all.size() - n, n);
            },
            arg("count"), nb::sig("def labels(self, count: int) -> typing.Any"), "The last labels, NaN for unknown ones.")
        .def("get_state", &get_state)
        .def("set_state", &set_state, arg("state"));
}

} // namespace driftline::bindings
