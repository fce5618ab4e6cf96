// driftline._core.SecondOrderFleet64 and its kin: many models of one kind in one block of memory.
#include "fleet_state.hpp"

#include <algorithm>

namespace driftline::bindings {
namespace {

template <class Model> struct Held : Guarded {
    explicit Held(std::unique_ptr<FleetModel<Model>> fleet) : model(std::move(fleet)) {}
    std::unique_ptr<FleetModel<Model>> model;
};

// The first row with a value that no model takes; -1 where there is none.
template <class T, class Source> Index first_bad_row(const Batch& batch, Index features) {
    for (Index t = 0; t < batch.rows; ++t) {
        const Source* const row = static_cast<const Source*>(batch.x) + t * batch.row_stride;
        bool good = !batch.y || finite_in<T>(batch.y[t]);
        for (Index j = 0; j < features; ++j)
            good &= finite_in<T>(static_cast<double>(row[j * batch.column_stride]));
        if (!good)
            return t;
    }
    return -1;
}
template <class T> Index find_bad_row(const Table2& x, const std::optional<Vector>& y) {
    const Index features = static_cast<Index>(x.shape(1));
    const Batch batch = make_batch(x, y, std::nullopt, false, features);
    nb::gil_scoped_release released;
    return batch.floats ? first_bad_row<T, float>(batch, features) : first_bad_row<T, double>(batch, features);
}

// One thread for each of the places in `at`, which say where it starts and then how far it got; `until` is beyond the last
// row.
template <class Model>
nb::tuple run_keyed(Held<Model>& self, Indices keys, Table2 x, std::optional<Vector> y, std::optional<Vector> weight,
                    bool skip, OutVector predictions, OutMarks resets, OutIndices at, Index until) {
    InUse use(self);
    FleetModel<Model>& fleet = *self.model;
    KeyedRows rows;
    rows.batch = make_batch(x, y, weight, skip, fleet.features());
    const std::size_t count = static_cast<std::size_t>(rows.batch.rows);
    require(keys.shape(0) == count && predictions.shape(0) == count && resets.shape(0) == count && at.shape(0) >= 1);
    const Index from = *std::min_element(at.data(), at.data() + at.shape(0));
    if (from < 0 || until < from || until > rows.batch.rows)
        throw nb::value_error("the rows are out of range");
    for (Index i = from; i < until; ++i)
        if (keys.data()[i] < 0 || keys.data()[i] >= fleet.size())
            throw nb::index_error("a key is out of range");
    rows.batch.rows = until;
    rows.keys = keys.data();
    rows.predictions = predictions.data();
    rows.resets = resets.data();
    std::vector<KeyedDone> done(at.shape(0));
    for (std::size_t i = 0; i < done.size(); ++i)
        done[i].row = at.data()[i];
    Status status;
    {
        nb::gil_scoped_release released;
        status = fleet.run(rows, done);
    }
    Index skipped = 0;
    for (std::size_t i = 0; i < done.size(); ++i) {
        at.data()[i] = done[i].row;
        skipped += done[i].skipped;
    }
    return nb::make_tuple(to_python(status), skipped);
}

template <class Model> void require_models(const FleetModel<Model>& fleet, Index count) {
    if (count < 0 || count > fleet.size())
        throw nb::index_error("there are fewer models");
}

template <class Model> nb::tuple model_state(Held<Model>& self, Index slot) {
    InUse use(self);
    FleetModel<Model>& fleet = *self.model;
    if (slot < 0 || slot >= fleet.size())
        throw nb::index_error("a key is out of range");
    const auto worker = fleet.new_worker();
    take_from_slot(worker->state, fleet.layout(), fleet.content(slot));
    return nb::make_tuple(state_of(*worker), static_cast<Index>(fleet.head(slot).skipped));
}

// Of the first `count` models.
template <class T, class Model> nb::object weights(Held<Model>& self, Index count) {
    InUse use(self);
    FleetModel<Model>& fleet = *self.model;
    require_models(fleet, count);
    T* to;
    nb::object table = new_table(count, fleet.width(), to);
    const std::size_t bytes = static_cast<std::size_t>(fleet.width()) * sizeof(T);
    for (Index i = 0; i < count; ++i)
        std::memcpy(to + i * fleet.width(), fleet.content(i) + fleet.layout().weights, bytes);
    return table;
}

// Of the first `count` models: rows learned, and rows skipped.
template <class Model> nb::tuple counts(Held<Model>& self, Index count) {
    InUse use(self);
    FleetModel<Model>& fleet = *self.model;
    require_models(fleet, count);
    std::vector<Index> rows, skipped;
    for (Index i = 0; i < count; ++i) {
        double learned; // the first of the sums
        std::memcpy(&learned, fleet.content(i) + fleet.layout().sums, sizeof learned);
        rows.push_back(static_cast<Index>(learned));
        skipped.push_back(static_cast<Index>(fleet.head(i).skipped));
    }
    return nb::make_tuple(indices_out(rows), indices_out(skipped));
}

template <class T, class Model> nb::class_<Held<Model>> bind(nb::module_& m, const char* name) {
    using nb::arg;
    using Policy = typename FleetModel<Model>::Policy;
    return nb::class_<Held<Model>>(m, name, "Models of one kind, each in a slot.")
        .def(
            "__init__",
            [](Held<Model>* self, Index n, Index d, bool intercept, const Policy& policy) {
                new (self) Held<Model>(std::make_unique<FleetModel<Model>>(n, d, intercept, policy));
            },
            arg("n"), arg("d"), arg("intercept"), arg("policy"))
        .def_prop_ro("features", [](Held<Model>& self) { return self.model->features(); })
        .def_prop_ro(
            "slot_bytes", [](Held<Model>& self) { return self.model->layout().size; }, "Memory of one model.")
        .def_static("find_bad_row", &find_bad_row<T>, arg("x"), arg("y").none(),
                    "The first row with a value that no model takes, or -1.")
        .def("run", &run_keyed<Model>, arg("keys"), arg("x"), arg("y").none(), arg("weight").none(), arg("skip"),
             arg("predictions"), arg("resets"), arg("at"), arg("until"),
             "Replays rows, with a thread for each entry of `at`; returns status and rows skipped.")
        .def("accept",
             [](Held<Model>& self) {
                 InUse use(self);
                 self.model->accept();
             })
        .def("undo",
             [](Held<Model>& self) {
                 InUse use(self);
                 return self.model->undo();
             })
        .def("model_state", &model_state<Model>, arg("slot"),
             "The state of one model, as a model of its own exports it, and its skipped rows.")
        .def("weights", &weights<T, Model>, arg("count"))
        .def("counts", &counts<Model>, arg("count"))
        .def(
            "reserve",
            [](Held<Model>& self, Index n) {
                InUse use(self);
                self.model->reserve(n);
            },
            arg("n"), "Makes room for n models or more.")
        .def_prop_ro("state_names",
                     [](Held<Model>& self) {
                         InUse use(self);
                         return state_names(*self.model);
                     })
        .def(
            "state_part",
            [](Held<Model>& self, const std::string& name) {
                InUse use(self);
                return state_part<T>(*self.model, name);
            },
            arg("name"), "An array of the state, with a row for each model that learned.")
        .def(
            "fill",
            [](Held<Model>& self, const nb::dict& state) {
                InUse use(self);
                fill_fleet<T>(*self.model, state);
            },
            arg("state"), "Fills a fleet that has learned nothing.");
}

template <class T> void bind_second_order_fleet(nb::module_& m, const char* name) {
    using nb::arg;
    using Model = SecondOrderModel<T>;
    bind<T, Model>(m, name)
        .def(
            "extend_forgetting",
            [](Held<Model>& self, Vector more) {
                InUse use(self);
                self.model->extend_forgetting(more.data(), static_cast<Index>(more.shape(0)));
            },
            arg("more"))
        .def_prop_ro("forgettings", [](Held<Model>& self) { return self.model->forgettings(); })
        .def_prop_ro("thresholds", [](Held<Model>& self) { return self.model->thresholds(); })
        .def(
            "extend_thresholds",
            [](Held<Model>& self, Vector more) {
                InUse use(self);
                self.model->extend_thresholds(more.data(), static_cast<Index>(more.shape(0)));
            },
            arg("more"));
}

} // namespace

void bind_fleet(nb::module_& m) {
    bind_second_order_fleet<double>(m, "SecondOrderFleet64");
    bind_second_order_fleet<float>(m, "SecondOrderFleet32");
    bind<double, FirstOrderModel<double>>(m, "FirstOrderFleet64");
    bind<float, FirstOrderModel<float>>(m, "FirstOrderFleet32");
}

} // namespace driftline::bindings
