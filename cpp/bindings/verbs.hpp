// What models of both orders let Python do.
#pragma once

#include "model.hpp"

#include "driftline/engine.hpp"

namespace driftline::bindings {

template <class T> Status replay_rows(SecondOrderState<T>& state, const Batch& batch, Outputs& out) {
    return engine<T>().replay(state, batch, out);
}
template <class T> Status replay_rows(FirstOrderState<T>& state, const Batch& batch, Outputs& out) {
    return engine<T>().replay_first(state, batch, out);
}

template <class Model>
nb::tuple run(Holder<Model>& self, Table2 x, std::optional<Vector> y, std::optional<Vector> weight, bool skip,
              OutVector predictions, std::optional<OutIndices> resets, std::optional<OutTable> weights, Index every,
              Index start) {
    InUse use(self.busy);
    auto& state = self.model->state;
    const Batch batch = make_batch(x, y, weight, skip, state.d - state.intercept);
    Outputs out = make_outputs(batch, predictions, resets, weights, every, start, state.d);
    Status status;
    {
        nb::gil_scoped_release released;
        status = replay_rows(state, batch, out);
    }
    return nb::make_tuple(static_cast<int>(status), out.done, out.reset_count, out.skipped);
}

template <class Model> nb::object copy_sums(Holder<Model>& self) {
    auto& sums = self.model->state.sums;
    return copy_out(reinterpret_cast<const double*>(&sums), static_cast<Index>(sizeof sums / sizeof(double)));
}

template <class Model> nb::class_<Holder<Model>> bind_model(nb::module_& m, const char* name, const char* what) {
    using nb::arg;
    using Held = Holder<Model>;
    using Policy = decltype(Model::state.policy);
    return nb::class_<Held>(m, name, what)
        .def(
            "__init__",
            [](Held* self, Index d, bool intercept, const Policy& policy) {
                new (self) Held{std::make_unique<Model>(d, intercept, policy), {}, {}};
            },
            arg("d"), arg("intercept"), arg("policy"))
        .def("run", &run<Model>, arg("x"), arg("y").none(), arg("weight").none(), arg("skip"), arg("predictions"),
             arg("resets").none(), arg("weights").none(), arg("every"), arg("start"),
             "Replays rows from `start`; returns status, rows done, resets written and rows skipped.")
        .def("sums",
             [](Held& self) {
                 InUse use(self.busy);
                 return copy_sums(self);
             })
        .def("weights",
             [](Held& self) {
                 InUse use(self.busy);
                 return copy_out(self.model->state.w, self.model->state.d);
             })
        .def_prop_ro("features", [](Held& self) { return self.model->state.d - self.model->state.intercept; })
        .def(
            "grow",
            [](Held& self, Index more) {
                InUse use(self.busy);
                self.model = self.model->grown(more);
            },
            arg("more"))
        .def(
            "set_names", [](Held& self, nb::object names) { self.names.set(std::move(names)); }, arg("names"))
        .def(
            "set_policy",
            [](Held& self, const Policy& policy) {
                InUse use(self.busy);
                self.model->set_policy(policy);
            },
            arg("policy"), "Takes effect from the next row on; what the memory was laid out for stays as it is.");
}

} // namespace driftline::bindings
