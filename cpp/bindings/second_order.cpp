// driftline._core.SecondOrder64 and SecondOrder32.
#include "second_order_core.hpp"

namespace driftline::bindings {
namespace {

template <class T> nb::object covariance(SecondOrderCore<T>& self) {
    InUse use(self);
    auto& state = self.model->state;
    const Index d = state.d;
    std::vector<double> triangle(static_cast<std::size_t>(d * (d + 1) / 2));
    if (state.sums.pending != 0)
        for (Index i = 0; i < d; ++i)
            triangle_row(triangle.data(), i)[i] = 1;
    else if (state.additive)
        to_dense(state.packed, triangle.data(), d);
    else
        to_dense(state.factor, triangle.data(), d);
    for (double& entry : triangle)
        entry = saturate(entry, DBL_MAX);
    double* out;
    nb::object table = new_table(d, d, out);
    for (Index i = 0; i < d; ++i)
        for (Index j = 0; j <= i; ++j)
            out[i * d + j] = out[j * d + i] = triangle_row(triangle.data(), i)[j];
    return table;
}

template <class T> nb::object memory(SecondOrderCore<T>& self) {
    InUse use(self);
    const MemoryStatistics now = memory_statistics(self.model->state);
    const double numbers[] = {now.rows, now.span};
    return copy_out(numbers, 2);
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    using Core = SecondOrderCore<T>;
    auto core = nb::class_<Core>(m, name, "State and steps of a second-order learner.")
                    .def(nb::init<Index, bool, const Policy&>(), arg("d"), arg("intercept"), arg("policy"));
    bind_verbs(core);
    core.def("get_state", &get_state<T>)
        .def("set_state", &set_state<T>, arg("state"))
        .def("covariance", &covariance<T>, nb::sig("def covariance(self) -> typing.Any"))
        .def("memory", &memory<T>, nb::sig("def memory(self) -> typing.Any"),
             "Rows learned, and how many of them the weights rest on before any forgetting.")
        .def_prop_ro("held_in_range", [](Core& self) { return self.model->held_in_range(); })
        .def(
            "set_policy",
            [](Core& self, const Policy& policy) {
                InUse use(self);
                self.model->set_policy(policy);
            },
            arg("policy"), "Takes effect from the next row on; the memory layout must stay the same.")
        .def(
            "set_forgetting",
            [](Core& self, std::vector<double> values, Index first) {
                InUse use(self);
                self.model->set_forgetting(std::move(values), first);
            },
            arg("values"), arg("first"), nb::sig("def set_forgetting(self, values: typing.Any, first: int) -> None"))
        .def(
            "set_thresholds",
            [](Core& self, std::vector<double> values, Index first) {
                InUse use(self);
                self.model->set_thresholds(std::move(values), first);
            },
            arg("values"), arg("first"), nb::sig("def set_thresholds(self, values: typing.Any, first: int) -> None"));
}

} // namespace

void bind_second_order(nb::module_& m) {
    using nb::arg;
    nb::class_<Policy>(m, "Policy", "A learner's row in the table of docs/mathematics.md.")
        .def(
            "__init__",
            [](Policy* self, double start, Time time, double amount, double noise, bool complement, bool shrink,
               const Limits& labels, const Limits& predictions, Reset reset, Index period, double radius,
               double growth_limit, bool keep_prior, double robustness, double concavity, Likelihood likelihood,
               double parameter, double curvature, double least_noise, double unit, double decay, double reset_after) {
                new (self)
                    Policy{start,     time,      amount,      noise,        complement, shrink,     labels,    predictions,
                           reset,     period,    radius,      growth_limit, keep_prior, robustness, concavity, likelihood,
                           parameter, curvature, least_noise, unit,         decay,      reset_after};
            },
            nb::kw_only(), arg("start"), arg("time"), arg("amount"), arg("noise"), arg("complement"), arg("shrink"),
            arg("labels"), arg("predictions"), arg("reset"), arg("period"), arg("radius"), arg("growth_limit"),
            arg("keep_prior"), arg("robustness"), arg("concavity"), arg("likelihood"), arg("parameter"), arg("curvature"),
            arg("least_noise"), arg("unit"), arg("decay"), arg("reset_after"));
    bind<double>(m, "SecondOrder64");
    bind<float>(m, "SecondOrder32");
    m.attr("sums") = nb::make_tuple("rows", "loss", "value", "largest_loss", "largest_label", "largest_norm2", "resets",
                                    "projections", "capped", "repaired", "saturated", "weighted", "retuned", "segment",
                                    "bound", "pending", "shrunk", "begun", "prior", "timed", "first_time", "last_time");
    static_assert(sums_count == 22);
}

} // namespace driftline::bindings
