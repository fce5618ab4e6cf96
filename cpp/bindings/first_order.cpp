// driftline._core.FirstOrder64 and FirstOrder32.
#include "first_order_core.hpp"

namespace driftline::bindings {
namespace {

template <class T> Status descend(FirstOrderCore<T>& self, nb::handle x, double y, double prediction, double slope) {
    InUse use(self);
    const Status status = self.read(x, false) ? self.descend(y, prediction, slope) : Status::unread;
    if (status == Status::done)
        set_delay(self, 0);
    return status;
}

template <class T> nb::object margin(FirstOrderCore<T>& self, nb::handle x) {
    InUse use(self);
    return self.read(x, true) ? nb::object(nb::float_(self.margin())) : nb::none();
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    using Core = FirstOrderCore<T>;
    auto core = nb::class_<Core>(m, name, "State and steps of a first-order learner.")
                    .def(nb::init<Index, bool, const FirstOrderPolicy&>(), arg("d"), arg("intercept"), arg("policy"));
    bind_verbs(core);
    core.def("margin", &margin<T>, arg("x"), nb::sig("def margin(self, x: object) -> float | None"),
             "w.x, which limits do not clip, or None if Python must read the row.")
        .def("descend", &descend<T>, arg("x"), arg("y"), arg("prediction"), arg("slope"),
             "Learns a row under a loss with this slope at the prediction.")
        .def("get_state", &get_state<T>)
        .def("set_state", &set_state<T>, arg("state"))
        .def(
            "set_policy",
            [](Core& self, const FirstOrderPolicy& policy) {
                InUse use(self);
                self.model->set_policy(policy);
            },
            arg("policy"), "Takes effect from the next row on.");
}

} // namespace

void bind_first_order(nb::module_& m) {
    using nb::arg;
    nb::class_<FirstOrderPolicy>(m, "FirstOrderPolicy", "What distinguishes one first-order learner from another.")
        .def(
            "__init__",
            [](FirstOrderPolicy* self, double rate, Rate rule, double eps, Loss loss, double parameter, Space space,
               double norm) { new (self) FirstOrderPolicy{rate, rule, eps, loss, parameter, space, norm}; },
            nb::kw_only(), arg("rate"), arg("rule") = Rate::plain, arg("eps") = 0.0, arg("loss"), arg("parameter") = 0.0,
            arg("space") = Space::free, arg("norm") = 1.0)
        .def_rw("labels", &FirstOrderPolicy::labels);
    bind<double>(m, "FirstOrder64");
    bind<float>(m, "FirstOrder32");
    m.attr("first_order_sums") = nb::make_tuple("rows", "loss", "largest_loss", "largest_label", "largest_norm2");
    static_assert(first_order_sums_count == 5);
}

} // namespace driftline::bindings
