// driftline._core.SecondOrderFleet64 and its relatives: many models of one kind in one block of memory.
#include "fleet_state.hpp"

#include <algorithm>

namespace driftline::bindings {
namespace {

template <class Model> struct Held : Guarded {
    explicit Held(std::unique_ptr<FleetModel<Model>> fleet) : model(std::move(fleet)) {}
    std::unique_ptr<FleetModel<Model>> model;
};

// The first row with a value that every model refuses; -1 if there is none.
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

// Runs one thread for each entry of `at`, which holds the row where the thread starts and afterwards where it stopped;
// `until` is the end of the rows.
template <class Model>
nb::tuple run_keyed(Held<Model>& self, Indices keys, Table2 x, std::optional<Vector> y, std::optional<Vector> weight,
                    bool skip, const OutputArrays& out, nb::object alarms, OutIndices at, Index until) {
    InUse use(self);
    FleetModel<Model>& fleet = *self.model;
    KeyedRows rows;
    rows.batch = make_batch(x, y, weight, skip, fleet.features());
    const std::size_t count = static_cast<std::size_t>(rows.batch.rows);
    require(keys.shape(0) == count && at.shape(0) >= 1);
    rows.out = make_outputs(rows.batch, out, 0, fleet.width());
    require(rows.out.resets != nullptr && (y || !rows.out.spread() || fleet.options().intervals));
    const Index from = *std::min_element(at.data(), at.data() + at.shape(0));
    if (from < 0 || until < from || until > rows.batch.rows)
        throw nb::value_error("the rows are out of range");
    for (Index i = from; i < until; ++i)
        if (keys.data()[i] < 0 || keys.data()[i] >= fleet.size())
            throw nb::index_error("a key is out of range");
    rows.batch.rows = until;
    rows.keys = keys.data();
    rows.resets = rows.out.resets;
    rows.alarms = data_of<std::uint8_t>(alarms, count);
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
    const auto worker = fleet.model(slot);
    return nb::make_tuple(state_of(*worker), static_cast<Index>(fleet.head(slot).skipped));
}

// A model of a state as a separate model exports it.
template <class Model> std::unique_ptr<Model> model_of(FleetModel<Model>& fleet, const nb::dict& state) {
    auto model = fleet.new_worker();
    read_state(*model, state);
    return model;
}

template <class Model>
bool set_model(Held<Model>& self, Index slot, const nb::dict& state, Index skipped, std::optional<double> error) {
    InUse use(self);
    FleetModel<Model>& fleet = *self.model;
    if (slot < 0 || slot >= fleet.size() || skipped < 0)
        throw nb::index_error("a key is out of range");
    fleet.put(slot, *model_of(fleet, state), static_cast<std::uint64_t>(skipped));
    return error && fleet.see(slot, *error);
}

// The weights of the first `count` models.
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

// Rows learned and rows skipped, for the first `count` models.
template <class Model> nb::tuple counts(Held<Model>& self, Index count) {
    InUse use(self);
    FleetModel<Model>& fleet = *self.model;
    require_models(fleet, count);
    std::vector<Index> rows, skipped;
    for (Index i = 0; i < count; ++i) {
        double learned; // the first sum
        std::memcpy(&learned, fleet.content(i) + fleet.layout().sums, sizeof learned);
        rows.push_back(static_cast<Index>(learned));
        skipped.push_back(static_cast<Index>(fleet.head(i).skipped));
    }
    return nb::make_tuple(indices_out(rows), indices_out(skipped));
}

// For the first `count` models: rows, loss, judged, inside, alarms and the row of the last alarm; -1 if not kept.
template <class Model> nb::object summary(Held<Model>& self, Index count) {
    InUse use(self);
    FleetModel<Model>& fleet = *self.model;
    require_models(fleet, count);
    double* to;
    nb::object table = new_table(count, 6, to);
    for (Index i = 0; i < count; ++i, to += 6) {
        std::memcpy(to, fleet.content(i) + fleet.layout().sums, 2 * sizeof(double)); // the first of the sums
        const Tracker* const tracker = fleet.tracker(i);
        const Watch* const watch = fleet.watch(i);
        to[2] = tracker ? tracker->judged : -1;
        to[3] = tracker ? tracker->inside : -1;
        to[4] = watch ? static_cast<double>(watch->raised) : -1;
        to[5] = watch ? static_cast<double>(watch->last) - 1 : -1;
    }
    return table;
}

template <class Model> void drop(Held<Model>& self, Indices slots, Index count, bool close) {
    InUse use(self);
    FleetModel<Model>& fleet = *self.model;
    require_models(fleet, count);
    const std::vector<Index> listed(slots.data(), slots.data() + slots.shape(0));
    for (std::size_t i = 0; i < listed.size(); ++i)
        if (listed[i] < (i ? listed[i - 1] + 1 : 0) || listed[i] >= count)
            throw nb::index_error("the slots are not in ascending order, or out of range");
    close ? fleet.remove(listed, count) : fleet.clear(listed);
}

// Marks the errors that raise an alarm; the alarm of a slot starts with its first error.
nb::object find_alarms(Indices slots, Vector errors, double limit, Index threads) {
    const Index count = static_cast<Index>(errors.shape(0));
    require(static_cast<Index>(slots.shape(0)) == count && threads >= 1);
    for (Index t = 0; t < count; ++t)
        if (slots.data()[t] < 0 || slots.data()[t] > UINT32_MAX)
            throw nb::index_error("a slot is out of range");
    npy_intp shape[] = {static_cast<npy_intp>(count)};
    PyObject* const array = PyArray_ZEROS(1, shape, NPY_UINT8, 0);
    if (!array)
        throw nb::python_error();
    const nb::object out = nb::steal(array);
    auto* const marks = static_cast<std::uint8_t*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
    nb::gil_scoped_release released;
    const auto work = [&](Index part) {
        watch_errors(limit, slots.data(), errors.data(), count, static_cast<std::uint32_t>(part),
                     static_cast<std::uint32_t>(threads), marks);
    };
    in_threads(static_cast<std::size_t>(threads), [&](std::size_t part) { work(static_cast<Index>(part)); });
    return out;
}

template <class T, class Model> nb::class_<Held<Model>> bind(nb::module_& m, const char* name) {
    using nb::arg;
    using Policy = typename FleetModel<Model>::Policy;
    return nb::class_<Held<Model>>(m, name, "Models of one kind, each in a slot.")
        .def(
            "__init__",
            [](Held<Model>* self, Index n, Index d, bool intercept, const Policy& policy, bool intervals, double alarm_limit,
               bool undoable) {
                const FleetOptions options{intervals, alarm_limit, undoable};
                new (self) Held<Model>(std::make_unique<FleetModel<Model>>(n, d, intercept, policy, options));
            },
            arg("n"), arg("d"), arg("intercept"), arg("policy"), arg("intervals"), arg("alarm_limit"), arg("undoable"))
        .def_prop_ro("features", [](Held<Model>& self) { return self.model->features(); })
        .def_prop_ro(
            "slot_bytes", [](Held<Model>& self) { return self.model->bytes_each(); }, "Memory of one model.")
        .def_static("find_bad_row", &find_bad_row<T>, arg("x"), arg("y").none(),
                    "The first row with a value that every model refuses, or -1.")
        .def("run", &run_keyed<Model>, arg("keys"), arg("x"), arg("y").none(), arg("weight").none(), arg("skip"), arg("out"),
             arg("alarms").none(), arg("at"), arg("until"),
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
             "The state of one model, as a separate model exports it, and its skipped rows.")
        .def("set_model", &set_model<Model>, arg("slot"), arg("state"), arg("skipped"), arg("error").none() = nb::none(),
             "Replaces a model by one of this state; passes an error to its alarm, and returns whether that raises it.")
        .def(
            "start_from",
            [](Held<Model>& self, const nb::dict& state) {
                InUse use(self);
                self.model->start_from(*model_of(*self.model, state));
            },
            arg("state"), "Lets all models that have not learned yet start from this state.")
        .def("weights", &weights<T, Model>, arg("count"))
        .def("counts", &counts<Model>, arg("count"))
        .def("summary", &summary<Model>, arg("count"))
        .def("drop", &drop<Model>, arg("slots"), arg("count"), arg("close"),
             "Resets slots, or removes them from the first `count` and closes the gaps.")
        .def(
            "reserve",
            [](Held<Model>& self, Index n) {
                InUse use(self);
                self.model->reserve(n);
            },
            arg("n"), "Makes room for at least n models.")
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
            arg("name"), "An array of the state, with a row for each trained model.")
        .def(
            "fill",
            [](Held<Model>& self, const nb::dict& state) {
                InUse use(self);
                fill_fleet<T>(*self.model, state);
            },
            arg("state"), "Restores a state into an untrained fleet.");
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
    m.def("find_alarms", &find_alarms, nb::arg("slots"), nb::arg("errors"), nb::arg("limit"), nb::arg("threads"));
    bind_second_order_fleet<double>(m, "SecondOrderFleet64");
    bind_second_order_fleet<float>(m, "SecondOrderFleet32");
    bind<double, FirstOrderModel<double>>(m, "FirstOrderFleet64");
    bind<float, FirstOrderModel<float>>(m, "FirstOrderFleet32");
}

} // namespace driftline::bindings
