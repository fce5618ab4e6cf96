// driftline._core.MultiOutput64 and MultiOutput32: second-order learners of several labels a row.
#include "second_order_core.hpp"

#include "driftline/linear/multi_output.hpp"

namespace driftline::bindings {
namespace {

template <class T> struct MultiOutputCore : SecondOrderCore<T> {
    MultiOutputCore(Index d, Index outputs, bool intercept, const Policy& policy)
        : SecondOrderCore<T>(d, intercept, policy), output_weights(outputs, d), labels(static_cast<std::size_t>(outputs)) {}

    Index outputs() const { return output_weights.outputs; }
    nb::object weights() const {
        const Index d = this->model->state.d;
        T* to;
        nb::object out = new_table(outputs(), d, to);
        for (Index j = 0; j < outputs(); ++j)
            std::copy(output_weights.of(j), output_weights.of(j) + d, to + j * d);
        return out;
    }
    void grow(Index more) {
        OutputWeights<T> wider = grown_outputs(output_weights, this->model->state, more);
        SecondOrderCore<T>::grow(more);
        output_weights = std::move(wider);
    }
    bool read_labels(PyObject* y) {
        bool good = false;
        if (PyArray_CheckExact(y))
            good = read_array(reinterpret_cast<PyArrayObject*>(y), labels.data(), outputs());
        else if (PyList_CheckExact(y) || PyTuple_CheckExact(y))
            good = read_sequence(y, labels.data(), outputs());
        const Limits limits = this->limits();
        return good && std::all_of(labels.begin(), labels.end(),
                                   [&](double label) { return finite_in<T>(label) && limits.contain(label); });
    }

    OutputWeights<T> output_weights;
    std::vector<double> labels;
};

template <class T> nb::object predict(MultiOutputCore<T>& self, nb::handle x) {
    InUse use(self);
    if (!self.read(x, true))
        return nb::none();
    double* predictions;
    nb::object out = new_array(self.outputs(), predictions);
    return predict_outputs(self.model->state, self.output_weights, predictions) == Status::done ? out : nb::none();
}

template <class T> nb::object learn(MultiOutputCore<T>& self, nb::handle x, nb::handle y, nb::handle weight) {
    InUse use(self);
    const double share = weight.is_none() ? 1 : read_number<double>(weight.ptr());
    const bool lacks_time = self.needs_time && std::isnan(self.model->state.at);
    if (lacks_time || !(share > 0) || !self.read_labels(y.ptr()) || !self.read(x, false))
        return to_python(Status::unread);
    std::vector<double> predictions(self.labels.size());
    return to_python(learn_outputs(self.model->state, self.output_weights, self.labels.data(), share, predictions.data()));
}

template <class T> nb::object ask_outputs(MultiOutputCore<T>& self, nb::handle x, nb::handle delay, nb::handle kind) {
    InUse use(self);
    if (self.mark == 0 || !self.read(x, true))
        return nb::none();
    Asked asked;
    asked.labels = self.sums().rows;
    asked.at = self.at;
    asked.delay = delay.is_none() ? 0 : nb::cast<Index>(delay);
    asked.record.resize(self.labels.size());
    if (predict_outputs(self.model->state, self.output_weights, asked.record.data()) != Status::done)
        return nb::none();
    nb::object made = new_ticket(kind, nb::object(), self.mark, std::move(asked));
    keep_row(*nb::inst_ptr<Ticket>(made), copy_row(x));
    nb::inst_ptr<Ticket>(made)->several = true;
    return made;
}

template <class T> nb::object tell_outputs(MultiOutputCore<T>& self, nb::handle ticket, nb::handle y, nb::handle weight) {
    Ticket* valid = valid_ticket(self, ticket);
    if (!valid)
        return to_python(Status::unread);
    if (self.needs_time == std::isnan(valid->asked.at))
        return to_python(Status::unread);
    const RowTime time(self, valid->asked.at);
    nb::object status = learn(self, row_of(*valid), y, weight);
    valid->told = status.is(to_python(Status::done));
    return status;
}

template <class T>
nb::tuple run(MultiOutputCore<T>& self, Table2 x, std::optional<ArrayOf<const double, 2>> y, std::optional<Vector> weight,
              bool skip, const OutputArrays& arrays, Index start, std::optional<Vector> times) {
    InUse use(self);
    const RowTime restored(self, self.at);
    Batch batch = make_batch(x, {}, weight, skip, self.features(), self.limits(), times);
    require(!y || (static_cast<Index>(y->shape(0)) == batch.rows && static_cast<Index>(y->shape(1)) == self.outputs()));
    batch.y = y ? y->data() : nullptr;
    Outputs out = common_outputs(batch, arrays, start);
    out.predictions = data_of<double>(arrays.predictions, batch.rows, self.outputs());
    require(out.predictions && !out.spread());
    out.weights = data_of<double>(arrays.weights, out.every ? batch.rows / out.every : 0, self.outputs(), self.width());
    return replay_without_the_gil(batch, out, [&](const Batch& rows, Outputs& into) {
        return replay_outputs(self.model->state, self.output_weights, rows, into);
    });
}

template <class T> nb::dict get_outputs_state(MultiOutputCore<T>& self) {
    nb::dict out = get_state<T>(self);
    out["weights"] = self.weights();
    return out;
}

template <class T> void set_outputs_state(MultiOutputCore<T>& self, const nb::dict& from) {
    const Index d = self.model->state.d;
    const auto given = table_in<T>(from, "weights", self.outputs(), d);
    nb::dict rest;
    for (auto [name, array] : from)
        rest[name] = array;
    T* zeros;
    rest["weights"] = new_array(d, zeros);
    std::fill(zeros, zeros + d, T(0));
    set_state<T>(self, rest);
    for (Index j = 0; j < self.outputs(); ++j)
        std::copy(given.data() + j * d, given.data() + (j + 1) * d, self.output_weights.of(j));
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    using Core = MultiOutputCore<T>;
    auto core =
        nb::class_<Core, SecondOrderCore<T>>(m, name, "A second-order learner of several labels a row.")
            .def(nb::init<Index, Index, bool, const Policy&>(), arg("d"), arg("outputs"), arg("intercept"), arg("policy"));
    bind_upkeep(core);
    core.def("predict", &predict<T>, arg("x").none(), nb::sig("def predict(self, x: object) -> typing.Any"),
             "The predictions, or None if Python must read the row.")
        .def("learn", &learn<T>, arg("x").none(), arg("y").none(), arg("weight") = nb::none(),
             nb::sig("def learn(self, x: object, y: object, weight: object = None) -> Status"),
             "Learns a row; nothing has changed unless the status is `done`.")
        .def("ask", &ask_outputs<T>, arg("x").none(), arg("delay").none(), arg("kind"),
             nb::sig("def ask(self, x: object, delay: int | None, kind: type[Ticket]) -> typing.Any"))
        .def("tell", &tell_outputs<T>, arg("ticket").none(), arg("y").none(), arg("weight") = nb::none(),
             nb::sig("def tell(self, ticket: typing.Any, y: object, weight: object = None) -> Status"))
        .def("run", &run<T>, arg("x"), arg("y").none(), arg("weight").none(), arg("skip"), arg("out"), arg("start"),
             arg("times") = nb::none(), nb::sig(run_signature), run_doc)
        .def("get_state", &get_outputs_state<T>)
        .def("set_state", &set_outputs_state<T>, arg("state"));
}

} // namespace

void bind_multi_output(nb::module_& m) {
    bind<double>(m, "MultiOutput64");
    bind<float>(m, "MultiOutput32");
}

} // namespace driftline::bindings
