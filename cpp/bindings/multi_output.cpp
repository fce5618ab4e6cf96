// driftline._core.MultiOutput64 and MultiOutput32: second-order learners of several labels a row.
#include "second_order_state.hpp"

#include "driftline/linear/multi_output.hpp"

namespace driftline::bindings {
namespace {

using Labels = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutCube = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class T> struct MultiHeld : Holder<SecondOrderModel<T>> {
    MultiHeld(Index d, Index outputs, bool intercept, const Policy& policy) : weights(outputs, d) {
        this->model = std::make_unique<SecondOrderModel<T>>(d, intercept, policy);
        labels.resize(static_cast<std::size_t>(outputs));
    }
    OutputWeights<T> weights;
    std::vector<double> labels;
};

nb::object new_table(Index rows, Index columns, int type, void*& elements) {
    npy_intp shape[] = {static_cast<npy_intp>(rows), static_cast<npy_intp>(columns)};
    PyObject* array = PyArray_SimpleNew(2, shape, type);
    if (!array)
        throw nb::python_error();
    elements = PyArray_DATA(reinterpret_cast<PyArrayObject*>(array));
    return nb::steal(array);
}

template <class T> nb::object copy_weights(MultiHeld<T>& self) {
    const Index d = self.model->state.d;
    void* elements;
    nb::object out = new_table(self.weights.outputs, d, sizeof(T) == 8 ? NPY_DOUBLE : NPY_FLOAT, elements);
    for (Index j = 0; j < self.weights.outputs; ++j)
        std::copy(self.weights.of(j), self.weights.of(j) + d, static_cast<T*>(elements) + j * d);
    return out;
}

// A prediction for each output, or None where x has to be converted first.
template <class T> nb::object predict(MultiHeld<T>& self, nb::handle x) {
    InUse use(self);
    auto& state = self.model->state;
    if (!read_row(x.ptr(), state, self.names, true))
        return nb::none();
    double* predictions;
    nb::object out = new_array(self.weights.outputs, predictions);
    return predict_outputs(state, self.weights, predictions) == Status::done ? out : nb::none();
}

template <class T> bool learn(MultiHeld<T>& self, nb::handle x, nb::handle y, nb::handle weight) {
    InUse use(self);
    auto& state = self.model->state;
    const Index outputs = self.weights.outputs;
    const double share = weight.is_none() ? 1 : read_number<double>(weight.ptr());
    std::vector<double>& labels = self.labels;
    bool good = false;
    if (PyArray_CheckExact(y.ptr()))
        good = read_array(reinterpret_cast<PyArrayObject*>(y.ptr()), labels.data(), outputs);
    else if (PyList_CheckExact(y.ptr()) || PyTuple_CheckExact(y.ptr()))
        good = read_sequence(y.ptr(), labels.data(), outputs);
    for (double label : labels)
        good = good && finite_in<T>(label);
    std::vector<double> predictions(labels.size());
    return share > 0 && good && read_row(x.ptr(), state, self.names, false) &&
           learn_outputs(state, self.weights, labels.data(), share, predictions.data()) == Status::done;
}

template <class T>
nb::tuple run(MultiHeld<T>& self, Table2 x, std::optional<Labels> y, std::optional<Vector> weight, bool skip,
              OutTable predictions, nb::handle lower, nb::handle upper, nb::handle level, std::optional<OutIndices> resets,
              std::optional<OutCube> weights, Index every, Index start, std::optional<OutTable> pace) {
    InUse use(self);
    auto& state = self.model->state;
    const Index outputs = self.weights.outputs;
    Batch batch = make_batch(x, {}, weight, skip, state.d - state.intercept);
    const auto fits = [&](const auto& table) {
        return static_cast<Index>(table.shape(0)) == batch.rows && static_cast<Index>(table.shape(1)) == outputs;
    };
    if ((y && !fits(*y)) || !fits(predictions) || !lower.is_none() || !upper.is_none() || !level.is_none() || start < 0 ||
        start > batch.rows || (resets && static_cast<Index>(resets->shape(0)) != batch.rows) ||
        (weights && (every < 1 || static_cast<Index>(weights->shape(0)) != batch.rows / every ||
                     static_cast<Index>(weights->shape(1)) != outputs || static_cast<Index>(weights->shape(2)) != state.d)))
        throw nb::value_error("the shapes do not agree");
    batch.y = y ? y->data() : nullptr;
    Outputs out;
    out.predictions = predictions.data();
    out.resets = resets ? resets->data() : nullptr;
    out.weights = weights ? weights->data() : nullptr;
    out.every = every;
    out.done = start;
    add_pace(out, batch, pace);
    Status status;
    {
        nb::gil_scoped_release released;
        status = replay_outputs(state, self.weights, batch, out);
    }
    return nb::make_tuple(static_cast<int>(status), out.done, out.reset_count, out.skipped);
}

template <class T> nb::dict get_outputs_state(MultiHeld<T>& self) {
    nb::dict out = get_state<T>(self);
    out["weights"] = copy_weights(self);
    return out;
}

template <class T> void set_outputs_state(MultiHeld<T>& self, const nb::dict& from) {
    using Array = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    const Index d = self.model->state.d;
    Array given;
    if (!from.contains("weights") || !nb::try_cast(from["weights"], given, false) ||
        static_cast<Index>(given.shape(0)) != self.weights.outputs || static_cast<Index>(given.shape(1)) != d)
        throw nb::value_error("the state's weights have another shape or type");
    for (Index i = 0; i < self.weights.outputs * d; ++i)
        if (!std::isfinite(given.data()[i]))
            throw nb::value_error("the state's weights are not finite");
    nb::dict rest;
    for (auto [name, array] : from)
        rest[name] = array;
    T* zeros;
    rest["weights"] = new_array(d, zeros);
    std::fill(zeros, zeros + d, T(0));
    set_state<T>(self, rest);
    for (Index j = 0; j < self.weights.outputs; ++j)
        std::copy(given.data() + j * d, given.data() + (j + 1) * d, self.weights.of(j));
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    using Held = MultiHeld<T>;
    nb::class_<Held, Holder<SecondOrderModel<T>>>(m, name, "A second-order learner of several labels a row.")
        .def(nb::init<Index, Index, bool, const Policy&>(), arg("d"), arg("outputs"), arg("intercept"), arg("policy"))
        .def_prop_ro("outputs", [](Held& self) { return self.weights.outputs; })
        .def("predict", &predict<T>, arg("x").none(), "The predictions, or None where x has to be converted first.")
        .def("learn", &learn<T>, arg("x").none(), arg("y").none(), arg("weight") = nb::none(),
             "False, with nothing changed, where the row needs Python's care.")
        .def("run", &run<T>, arg("x"), arg("y").none(), arg("weight").none(), arg("skip"), arg("predictions"),
             arg("lower").none(), arg("upper").none(), arg("level").none(), arg("resets").none(), arg("weights").none(),
             arg("every"), arg("start"), arg("pace") = nb::none(),
             "Replays rows from `start`; returns status, rows done, resets written and rows skipped.")
        .def("weights",
             [](Held& self) {
                 InUse use(self);
                 return copy_weights(self);
             })
        .def(
            "grow",
            [](Held& self, Index more) {
                InUse use(self);
                OutputWeights<T> wider = grown_outputs(self.weights, self.model->state, more);
                self.model = self.model->grown(more);
                self.weights = std::move(wider);
            },
            arg("more"))
        .def("get_state", &get_outputs_state<T>)
        .def("set_state", &set_outputs_state<T>, arg("state"));
}

} // namespace

void bind_multi_output(nb::module_& m) {
    bind<double>(m, "MultiOutput64");
    bind<float>(m, "MultiOutput32");
}

} // namespace driftline::bindings
