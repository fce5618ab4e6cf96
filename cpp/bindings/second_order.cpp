// driftline._core.SecondOrder64 and SecondOrder32.
#include "second_order_state.hpp"

namespace driftline::bindings {
namespace {

template <class T> using Held = Holder<SecondOrderModel<T>>;

template <class T> nb::object predict(Held<T>& self, nb::handle x) {
    InUse use(self);
    auto& state = self.model->state;
    double prediction = 0;
    if (!read_row(x.ptr(), state, self.names, true) || engine<T>().predict(state, prediction, nullptr) != Status::done)
        return nb::none();
    return nb::float_(prediction);
}

template <class T> nb::object predict_interval(Held<T>& self, nb::handle x, const Level& level) {
    InUse use(self);
    auto& state = self.model->state;
    double prediction = 0, s = 0;
    if (!read_row(x.ptr(), state, self.names, true) || engine<T>().predict(state, prediction, &s) != Status::done)
        return nb::none();
    return interval_around(prediction, level, state, label_variance(state.policy, s, 1));
}

template <class T> bool learn(Held<T>& self, nb::handle x, nb::handle y, nb::handle weight) {
    InUse use(self);
    auto& state = self.model->state;
    const double label = read_number<T>(y.ptr());
    const double share = weight.is_none() ? 1 : read_number<double>(weight.ptr());
    double prediction = 0;
    return share > 0 && !std::isnan(label) && read_row(x.ptr(), state, self.names, false) &&
           engine<T>().learn(state, label, share, prediction) == Status::done;
}

template <class T> nb::object covariance(Held<T>& self) {
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
    npy_intp shape[] = {static_cast<npy_intp>(d), static_cast<npy_intp>(d)};
    PyObject* array = PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    if (!array)
        throw nb::python_error();
    double* out = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
    for (Index i = 0; i < d; ++i)
        for (Index j = 0; j <= i; ++j)
            out[i * d + j] = out[j * d + i] = triangle_row(triangle.data(), i)[j];
    return nb::steal(array);
}

template <class T> nb::object pace(Held<T>& self) {
    InUse use(self);
    const Pace now = pace_of(self.model->state);
    const double numbers[] = {now.rows, now.span};
    return copy_out(numbers, 2);
}

Policy make_policy(double start, int time, double amount, double noise, bool complement, bool shrink, double clip, int reset,
                   Index period, double radius, double modest) {
    return {start, static_cast<Time>(time),   amount, noise,  complement, shrink,
            clip,  static_cast<Reset>(reset), period, radius, modest};
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    bind_model<SecondOrderModel<T>>(m, name, "State and steps of a second-order learner.")
        .def("predict", &predict<T>, arg("x").none(), "The prediction, or None where x has to be converted first.")
        .def("learn", &learn<T>, arg("x").none(), arg("y").none(), arg("weight") = nb::none(),
             "False, with nothing changed, where the row needs Python's care.")
        .def("predict_interval", &predict_interval<T>, arg("x").none(), arg("level"),
             "Both ends of the interval, or None where x has to be converted first.")
        .def("get_state", &get_state<T>)
        .def("set_state", &set_state<T>, arg("state"))
        .def("covariance", &covariance<T>)
        .def("pace", &pace<T>, "Rows learned, and how many the weights rest on before any forgetting is counted.")
        .def_prop_ro("held_in_range", [](Held<T>& self) { return self.model->held_in_range(); })
        .def(
            "set_forgetting",
            [](Held<T>& self, std::vector<double> values, Index first) {
                InUse use(self);
                self.model->set_forgetting(std::move(values), first);
            },
            arg("values"), arg("first"))
        .def(
            "set_thresholds",
            [](Held<T>& self, std::vector<double> values, Index first) {
                InUse use(self);
                self.model->set_thresholds(std::move(values), first);
            },
            arg("values"), arg("first"));
}

} // namespace

void bind_second_order(nb::module_& m) {
    using nb::arg;
    nb::class_<Policy>(m, "Policy", "A learner's row of the table.")
        .def(
            "__init__",
            [](Policy* self, double start, int time, double amount, double noise, bool complement, bool shrink, double clip,
               int reset, Index period, double radius, double modest) {
                new (self)
                    Policy(make_policy(start, time, amount, noise, complement, shrink, clip, reset, period, radius, modest));
            },
            nb::kw_only(), arg("start"), arg("time"), arg("amount"), arg("noise"), arg("complement"), arg("shrink"),
            arg("clip"), arg("reset"), arg("period"), arg("radius"), arg("modest"));
    bind<double>(m, "SecondOrder64");
    bind<float>(m, "SecondOrder32");
    m.attr("sums") = nb::make_tuple("rows", "loss", "value", "largest_loss", "largest_label", "largest_norm2", "resets",
                                    "projections", "capped", "repaired", "saturated", "weighted", "retuned", "segment",
                                    "bound", "pending", "shrunk", "begun");
    static_assert(sums_count == 18);
}

} // namespace driftline::bindings
