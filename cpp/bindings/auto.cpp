// driftline._core.Auto64 and Auto32.
#include "state_checks.hpp"
#include "state_numbers.hpp"
#include "verbs.hpp"

#include "driftline/ensembles/auto_model.hpp"

namespace driftline::bindings {
namespace {

// The model, and the place where a row is put that Python hands over.
template <class T> class Auto {
  public:
    Auto(Index features, Index born, bool intercept) : model(features, born, intercept) { make_room(); }
    void make_room() {
        row_.resize(model.features() + 1);
        wide_.resize(model.features() + 1);
        state.d = model.features();
        state.x = row_.data();
    }
    const double* row() {
        std::copy(row_.begin(), row_.end(), wide_.begin());
        return wide_.data();
    }
    AutoModel<T> model;
    struct {
        Index d = 0;
        bool intercept = false;
        T* x = nullptr;
    } state;

  private:
    std::vector<T> row_;
    std::vector<double> wide_;
};
template <class T> using Held = Holder<Auto<T>>;

template <class T> nb::object predict(Held<T>& self, nb::handle x) {
    InUse use(self);
    Auto<T>& own = *self.model;
    if (!read_row(x.ptr(), own.state, self.names, true))
        return nb::none();
    return nb::float_(own.model.predict_next(own.row()));
}

template <class T> nb::object peek(Held<T>& self, nb::handle x) {
    InUse use(self);
    Auto<T>& own = *self.model;
    if (!read_row(x.ptr(), own.state, self.names, true))
        return nb::none();
    return nb::float_(own.model.said_of(own.row()));
}

template <class T> bool learn(Held<T>& self, nb::handle x, nb::handle y, nb::handle weight) {
    InUse use(self);
    Auto<T>& own = *self.model;
    const double label = read_number<T>(y.ptr());
    const double share = weight.is_none() ? 1 : read_number<double>(weight.ptr());
    if (!(share > 0) || std::isnan(label) || !read_row(x.ptr(), own.state, self.names, false))
        return false;
    own.model.learn_next(own.row(), label, share);
    return true;
}

template <class T> Index width(const Auto<T>& own) { return own.model.features() + own.model.inputs.intercept(); }

template <class T>
nb::tuple replay(Held<T>& self, Table2 x, std::optional<Vector> y, std::optional<Vector> weight, bool skip,
                 OutVector predictions, std::optional<OutVector> lower, std::optional<OutVector> upper,
                 std::optional<Level> level, std::optional<OutIndices> resets, std::optional<OutTable> weights, Index every,
                 Index start, std::optional<OutTable> pace) {
    InUse use(self);
    Auto<T>& own = *self.model;
    const Batch batch = make_batch(x, y, weight, skip, own.model.features());
    Outputs out = make_outputs(batch, predictions, resets, weights, every, start, width(own));
    if (lower && upper && level)
        add_intervals(out, batch, *lower, *upper, *level);
    add_pace(out, batch, pace);
    Status status;
    {
        nb::gil_scoped_release released;
        status = own.model.replay(batch, out);
    }
    return nb::make_tuple(static_cast<int>(status), out.done, out.reset_count, out.skipped);
}

template <class T> nb::object predict_interval(Held<T>& self, nb::handle x, const Level& level) {
    InUse use(self);
    Auto<T>& own = *self.model;
    if (!read_row(x.ptr(), own.state, self.names, true))
        return nb::none();
    return interval_around(own.model.predict_next(own.row()), level, own.model, 1);
}

template <class T> nb::object weights(Held<T>& self) {
    InUse use(self);
    std::vector<double> out(width(*self.model) + 1);
    self.model->model.weights(out.data());
    std::vector<T> narrow(out.size());
    for (std::size_t j = 0; j < out.size(); ++j)
        narrow[j] = static_cast<T>(saturate(out[j], type_max<T>));
    return copy_out(narrow.data(), width(*self.model));
}

template <class T> nb::dict get_state(Held<T>& self) {
    nb::object effective = weights(self);
    InUse use(self);
    AutoModel<T>& model = self.model->model;
    Collector all;
    const Index waiting = model.waiting_count();
    model.visit(waiting, all);
    const double shape[] = {static_cast<double>(model.inputs.born()), static_cast<double>(model.warm_count()),
                            static_cast<double>(waiting)};
    nb::dict out;
    out["weights"] = effective;
    out["shape"] = copy_out(shape, 3);
    out["coverage"] = copy_coverage(model.coverage);
    out["numbers"] = copy_out(all.numbers.data(), static_cast<Index>(all.numbers.size()));
    if (!all.entries.empty())
        out["entries"] = copy_out(all.entries.data(), static_cast<Index>(all.entries.size()));
    return out;
}

// An expert's sums are used to count rows, and must not ask for what it has no memory for.
template <class T> void check_expert(const SecondOrderState<T>& state) {
    check_matrix(state);
    const double rows = state.sums.rows;
    if (!(rows >= 0 && rows < 9e15) || rows != std::floor(rows) || state.sums.pending != 0)
        throw nb::value_error("the state's sums are out of range");
}

template <class T> void set_state(Held<T>& self, const nb::dict& from) {
    InUse use(self);
    const AutoModel<T>& old = self.model->model;
    double shape[3];
    copy_in(from, "shape", shape, 3);
    std::vector<T> effective(width(*self.model));
    copy_in(from, "weights", effective.data(), width(*self.model));
    const Index features = old.features(), born = static_cast<Index>(shape[0]), warm = static_cast<Index>(shape[1]);
    const Index waiting = static_cast<Index>(at_most(at_least(0, shape[2]), most_late));
    if (!(shape[0] >= 0 && shape[0] <= static_cast<double>(features) && shape[1] >= 0 && shape[1] < warm_rows) ||
        static_cast<double>(born) != shape[0] || static_cast<double>(warm) != shape[1] ||
        static_cast<double>(waiting) != shape[2])
        throw nb::value_error("the state's shape is out of range");
    auto fresh = std::make_unique<Auto<T>>(features, born, old.inputs.intercept());
    AutoModel<T>& model = fresh->model;
    set_coverage(from, model.coverage);
    model.expect_warm(warm);
    model.expect_waiting(waiting);
    Counter count;
    model.visit(waiting, count);
    std::vector<double> numbers(count.numbers);
    std::vector<float> entries(count.entries);
    copy_in(from, "numbers", numbers.data(), count.numbers);
    if (count.entries > 0)
        copy_in(from, "entries", entries.data(), count.entries);
    model.visit(waiting, Filler{numbers.data(), entries.data()});
    const double rows = model.sums.rows;
    if (!(rows >= 0 && rows < 9e15) || rows != std::floor(rows) ||
        (rows < warm_rows ? rows : 0) != static_cast<double>(warm) || model.inputs.label_memory.rows != rows ||
        !model.waiting().sound() || model.waiting_count() != waiting)
        throw nb::value_error("the state's sums are out of range");
    for (auto& expert : model.models())
        check_expert(expert->state);
    check_expert(model.mixer().top().state);
    model.mixer().weigh();
    self.model = std::move(fresh);
}

template <class T> nb::list experts(Held<T>& self) {
    InUse use(self);
    AutoModel<T>& model = self.model->model;
    std::vector<double> shares(model.experts());
    model.mixer().shares(shares.data());
    nb::list out;
    for (std::size_t k = 0; k < model.kinds().size(); ++k) {
        const ExpertKind& kind = model.kinds()[k];
        out.append(nb::make_tuple(static_cast<int>(kind.sight), static_cast<int>(kind.time), kind.amount, kind.start,
                                  kind.reset, kind.sudden, shares[k], model.memory(k), model.drift(k)));
    }
    const std::size_t last = model.kinds().size();
    for (std::size_t k = last; k < shares.size(); ++k)
        out.append(nb::make_tuple(k == last ? -1 : -2, 0, 1.0, 0.0, 0.0, 0.0, shares[k], model.memory(k), model.drift(k)));
    return out;
}

template <class T> nb::object pace(Held<T>& self) {
    InUse use(self);
    double numbers[2];
    self.model->model.pace(numbers);
    return copy_out(numbers, 2);
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    nb::class_<Held<T>>(m, name, "State and steps of Auto.")
        .def(
            "__init__",
            [](Held<T>* self, Index d, bool intercept) {
                new (self) Held<T>{std::make_unique<Auto<T>>(d - intercept, d - intercept, intercept), {}, {}, 0};
            },
            arg("d"), arg("intercept"))
        .def("predict", &predict<T>, arg("x").none(), "The prediction, or None where x has to be converted first.")
        .def("peek", &peek<T>, arg("x").none(), "What was predicted for a row whose label has come, or would be now.")
        .def("learn", &learn<T>, arg("x").none(), arg("y").none(), arg("weight") = nb::none(),
             "False, with nothing changed, where the row needs Python's care.")
        .def("run", &replay<T>, arg("x"), arg("y").none(), arg("weight").none(), arg("skip"), arg("predictions"),
             arg("lower").none(), arg("upper").none(), arg("level").none(), arg("resets").none(), arg("weights").none(),
             arg("every"), arg("start"), arg("pace") = nb::none(),
             "Replays rows from `start`; returns status, rows done, resets written and rows skipped.")
        .def("predict_interval", &predict_interval<T>, arg("x").none(), arg("level"),
             "Both ends of the interval, or None where x has to be converted first.")
        .def("claim",
             [](Held<T>& self) {
                 InUse use(self);
                 self.owner = PyThread_get_thread_ident();
             })
        .def("release",
             [](Held<T>& self) {
                 InUse use(self);
                 self.owner = 0;
             })
        .def("sums",
             [](Held<T>& self) {
                 InUse use(self);
                 return copy_out(reinterpret_cast<const double*>(&self.model->model.sums), auto_sums_count);
             })
        .def("weights", &weights<T>)
        .def("pace", &pace<T>, "Rows of memory, and the drift of a weight a row.")
        .def_prop_ro("features", [](Held<T>& self) { return self.model->model.features(); })
        .def("get_state", &get_state<T>)
        .def("set_state", &set_state<T>, arg("state"))
        .def(
            "experts", &experts<T>,
            "For each expert: sight, time, amount, start, reset, sudden, share, rows of memory, drift. Sight -1 is the last "
            "label, -2 the mean of the labels.")
        .def(
            "grow",
            [](Held<T>& self, Index more) {
                InUse use(self);
                self.model->model.grow(more);
                self.model->make_room();
            },
            arg("more"))
        .def("set_names", [](Held<T>& self, nb::object names) { self.names.set(std::move(names)); }, arg("names"));
}

} // namespace

void bind_auto(nb::module_& m) {
    bind<double>(m, "Auto64");
    bind<float>(m, "Auto32");
    m.attr("auto_sums") = nb::make_tuple("rows", "loss", "largest_loss", "expert_resets", "rescalings", "outliers");
    static_assert(auto_sums_count == 6);
}

} // namespace driftline::bindings
