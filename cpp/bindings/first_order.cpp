// driftline._core.FirstOrder64 and FirstOrder32.
#include "first_order_state.hpp"
#include "sparse.hpp"

namespace driftline::bindings {
namespace {

template <class T> using Held = Holder<FirstOrderModel<T>>;

template <class T> bool fits(const Held<T>& self, const SparseRows& x) {
    return x.width == self.model->state.d - self.model->state.intercept;
}

// Puts one compressed row into the model's buffer; false where x is something else, or has a bad value.
template <class T> bool read_sparse_row(Held<T>& self, nb::handle x) {
    const SparseRows* rows = nullptr;
    if (!nb::try_cast(x, rows, false) || !rows || rows->rows.rows != 1 || !fits(self, *rows))
        return false;
    self.model->row.reserve(rows->rows.longest() + 1);
    return take_row(self.model->state, self.model->row, rows->rows, 0);
}

template <class T> nb::object predict(Held<T>& self, nb::handle x) {
    InUse use(self);
    auto& state = self.model->state;
    if (double norm2; read_sparse_row(self, x))
        return nb::float_(score(state, self.model->row.entries(), norm2));
    if (!read_row(x.ptr(), state, self.names, true))
        return nb::none();
    self.model->form_weights();
    return nb::float_(engine<T>().score(state));
}

template <class T> nb::object predict_interval(Held<T>& self, nb::handle x, const Level& level) {
    InUse use(self);
    auto& state = self.model->state;
    if (double norm2; read_sparse_row(self, x))
        return interval_around(score(state, self.model->row.entries(), norm2), level, state, 1);
    if (!read_row(x.ptr(), state, self.names, true))
        return nb::none();
    self.model->form_weights();
    return interval_around(engine<T>().score(state), level, state, 1);
}

template <class T> bool learn(Held<T>& self, nb::handle x, nb::handle y, nb::handle weight) {
    InUse use(self);
    auto& state = self.model->state;
    const double label = read_number<T>(y.ptr());
    const double share = weight.is_none() ? 1 : read_number<double>(weight.ptr());
    double prediction = 0;
    if (!(share > 0) || state.policy.loss == Loss::custom || std::isnan(label) ||
        !read_row(x.ptr(), state, self.names, false))
        return false;
    self.model->form_weights();
    return engine<T>().learn_first(state, label, share, prediction) == Status::done;
}

// One row under a loss that Python computes: the slope at the prediction is given.
template <class T> bool descend(Held<T>& self, nb::handle x, double y, double prediction, double slope) {
    InUse use(self);
    auto& state = self.model->state;
    Status status = Status::bad_value;
    if (double norm2; read_sparse_row(self, x)) {
        const auto entries = self.model->row.entries();
        score(state, entries, norm2);
        status = driftline::descend(state, entries, norm2, slope, 1.0);
    } else if (read_row(x.ptr(), state, self.names, false)) {
        self.model->form_weights();
        status = engine<T>().descend(state, slope);
    }
    if (status == Status::done)
        count(state, y, prediction);
    return status == Status::done;
}

template <class T>
nb::tuple run_sparse(Held<T>& self, const SparseRows& x, std::optional<Vector> y, std::optional<Vector> weight, bool skip,
                     OutVector predictions, std::optional<OutVector> lower, std::optional<OutVector> upper,
                     std::optional<Level> level, std::optional<OutIndices> resets, std::optional<OutTable> weights,
                     Index every, Index start) {
    InUse use(self);
    auto& model = *self.model;
    if (!fits(self, x))
        throw nb::value_error("the shapes do not agree");
    const Batch batch = make_labels(x.rows.rows, y, weight, skip);
    Outputs out = make_outputs(batch, predictions, resets, weights, every, start, model.state.d);
    if (lower && upper && level)
        add_intervals(out, batch, *lower, *upper, *level);
    return replay_freely(
        batch, out, [&](const Batch& rest, Outputs& into) { return replay(model.state, model.row, x.rows, rest, into); });
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    bind_model<FirstOrderModel<T>>(m, name, "State and steps of a first-order learner.")
        .def("predict", &predict<T>, arg("x").none(), "The prediction, or None where x has to be converted first.")
        .def("learn", &learn<T>, arg("x").none(), arg("y").none(), arg("weight") = nb::none(),
             "False, with nothing changed, where the row needs Python's care.")
        .def("descend", &descend<T>, arg("x"), arg("y"), arg("prediction"), arg("slope"))
        .def("predict_interval", &predict_interval<T>, arg("x").none(), arg("level"),
             "Both ends of the interval, or None where x has to be converted first.")
        .def("run", &run_sparse<T>, arg("x"), arg("y").none(), arg("weight").none(), arg("skip"), arg("predictions"),
             arg("lower").none(), arg("upper").none(), arg("level").none(), arg("resets").none(), arg("weights").none(),
             arg("every"), arg("start"), "The same for compressed rows.")
        .def("get_state", &get_state<T>)
        .def("set_state", &set_state<T>, arg("state"));
}

} // namespace

void bind_first_order(nb::module_& m) {
    using nb::arg;
    nb::class_<FirstOrderPolicy>(m, "FirstOrderPolicy", "What distinguishes one first-order learner from another.")
        .def(
            "__init__",
            [](FirstOrderPolicy* self, double rate, int rule, double eps, int loss, double parameter, int space,
               double norm) {
                new (self) FirstOrderPolicy{rate,      static_cast<Rate>(rule),   eps, static_cast<Loss>(loss),
                                            parameter, static_cast<Space>(space), norm};
            },
            nb::kw_only(), arg("rate"), arg("rule"), arg("eps"), arg("loss"), arg("parameter"), arg("space"), arg("norm"));
    bind<double>(m, "FirstOrder64");
    bind<float>(m, "FirstOrder32");
    m.attr("first_order_sums") = nb::make_tuple("rows", "loss", "largest_loss", "largest_label", "largest_norm2");
    static_assert(first_order_sums_count == 5);
}

} // namespace driftline::bindings
