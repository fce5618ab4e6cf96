// driftline._core.Projected64 and Projected32: second-order learners of M x.
#include "growing_names.hpp"
#include "second_order_state.hpp"
#include "sparse.hpp"

#include "driftline/linear/projected_model.hpp"

namespace driftline::bindings {
namespace {

template <class T> struct Projected : Holder<SecondOrderModel<T>> {
    Projection<T> projection;
    GrowingNames growing; // in the place of the names that are set at once
};

template <class T> Holder<SecondOrderModel<T>>& holder(Projected<T>& self) { return self; }

template <class T, class Source> bool read_entries(PyArrayObject* array, EntryBuffer<T>& row) {
    const char* from = PyArray_BYTES(array);
    const Index features = PyArray_DIM(array, 0), stride = PyArray_STRIDE(array, 0);
    row.reserve(features);
    row.clear();
    for (Index j = 0; j < features; ++j) {
        const double value = static_cast<double>(*reinterpret_cast<const Source*>(from + j * stride));
        if (!finite_in<T>(value))
            return false;
        row.add(j, static_cast<T>(value));
    }
    return true;
}

template <class T> bool read_items(PyObject* dict, EntryBuffer<T>& row, const GrowingNames& names, bool unknown_allowed) {
    row.reserve(PyDict_Size(dict));
    row.clear();
    const Index room = PyDict_Size(dict);
    Index count = 0;
    const bool good = names.visit<T>(dict, unknown_allowed, [&](Index j, T value) {
        if (count++ < room) // a dict that grows while it is walked
            row.add(j, value);
    });
    row.sort();
    return good && count <= room;
}

// Puts M x where the model expects its row; false leaves x to Python.
template <class T> bool read_projected(Projected<T>& self, PyObject* x, bool unknown_allowed) {
    Projection<T>& projection = self.projection;
    bool good = false;
    if (PyArray_CheckExact(x)) {
        PyArrayObject* array = reinterpret_cast<PyArrayObject*>(x);
        if (PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != projection.features() || !PyArray_ISBEHAVED_RO(array))
            return false;
        good = PyArray_TYPE(array) == NPY_DOUBLE  ? read_entries<T, double>(array, projection.row)
               : PyArray_TYPE(array) == NPY_FLOAT ? read_entries<T, float>(array, projection.row)
                                                  : false;
    } else if (PyDict_CheckExact(x) && self.growing.known()) {
        good = read_items(x, projection.row, self.growing, unknown_allowed);
    }
    if (good)
        projection.into(self.model->state);
    return good;
}

template <class T> nb::object predict(Projected<T>& self, nb::handle x) {
    InUse use(holder(self));
    double prediction = 0;
    if (!read_projected(self, x.ptr(), true) || engine<T>().predict(self.model->state, prediction, nullptr) != Status::done)
        return nb::none();
    return nb::float_(prediction);
}

template <class T> nb::object predict_interval(Projected<T>& self, nb::handle x, const Level& level) {
    InUse use(holder(self));
    auto& state = self.model->state;
    double prediction = 0, s = 0;
    if (!read_projected(self, x.ptr(), true) || engine<T>().predict(state, prediction, &s) != Status::done)
        return nb::none();
    return interval_around(prediction, level, state, label_variance(state.policy, s, 1));
}

template <class T> bool learn(Projected<T>& self, nb::handle x, nb::handle y, nb::handle weight) {
    InUse use(holder(self));
    const double label = read_number<T>(y.ptr());
    const double share = weight.is_none() ? 1 : read_number<double>(weight.ptr());
    double prediction = 0;
    return share > 0 && !std::isnan(label) && read_projected(self, x.ptr(), false) &&
           engine<T>().learn(self.model->state, label, share, prediction) == Status::done;
}

template <class T> Index width(const Projected<T>& self) { return self.projection.features() + self.model->state.intercept; }

template <class T, class Rows>
nb::tuple replay_table(Projected<T>& self, const Rows& rows, Index longest, const Batch& batch, const Outputs& out) {
    self.projection.row.reserve(longest);
    return replay_freely(batch, out, [&](const Batch& rest, Outputs& results) {
        return self.projection.replay(self.model->state, rows, rest, results);
    });
}

template <class T>
nb::tuple run(Projected<T>& self, Table2 x, std::optional<Vector> y, std::optional<Vector> weight, bool skip,
              OutVector predictions, std::optional<OutVector> lower, std::optional<OutVector> upper,
              std::optional<Level> level, std::optional<OutIndices> resets, std::optional<OutTable> weights, Index every,
              Index start, std::optional<OutTable> pace) {
    InUse use(holder(self));
    const Index features = self.projection.features();
    const Batch batch = make_batch(x, y, weight, skip, features);
    Outputs out = make_outputs(batch, predictions, resets, weights, every, start, width(self));
    if (lower && upper && level)
        add_intervals(out, batch, *lower, *upper, *level);
    add_pace(out, batch, pace);
    return replay_table(self, batch, features, batch, out);
}

template <class T>
nb::tuple run_sparse(Projected<T>& self, const SparseRows& x, std::optional<Vector> y, std::optional<Vector> weight,
                     bool skip, OutVector predictions, std::optional<OutVector> lower, std::optional<OutVector> upper,
                     std::optional<Level> level, std::optional<OutIndices> resets, std::optional<OutTable> weights,
                     Index every, Index start, std::optional<OutTable> pace) {
    InUse use(holder(self));
    const Batch batch = make_labels(x.rows.rows, y, weight, skip);
    Outputs out = make_outputs(batch, predictions, resets, weights, every, start, width(self));
    if (lower && upper && level)
        add_intervals(out, batch, *lower, *upper, *level);
    add_pace(out, batch, pace);
    return replay_table(self, x.rows, x.rows.longest(), batch, out);
}

template <class T> nb::object weights(Projected<T>& self) {
    InUse use(holder(self));
    T* to;
    nb::object out = new_array(width(self), to);
    self.projection.weights(self.model->state, to);
    return out;
}

// M'v for any v.
template <class T> nb::object transpose(Projected<T>& self, Vector v) {
    InUse use(holder(self));
    const Index dim = self.projection.matrix().dim;
    if (static_cast<Index>(v.shape(0)) != dim)
        throw nb::value_error("v has another length than the columns");
    Aligned<T> aligned(padded<T>(dim));
    std::copy_n(v.data(), dim, aligned.data());
    double* to;
    nb::object out = new_array(self.projection.features(), to);
    self.projection.transpose(aligned.data(), 0, self.projection.features(), to);
    return out;
}

// Columns of M, one after the other.
template <class T> nb::object columns(Projected<T>& self, OutIndices which) {
    InUse use(holder(self));
    const RandomMatrix& matrix = self.projection.matrix();
    double* to;
    nb::object out = new_array(static_cast<Index>(which.shape(0)) * matrix.dim, to);
    for (std::size_t i = 0; i < which.shape(0); ++i)
        engine<double>().column(matrix, which.data()[i], to + static_cast<Index>(i) * matrix.dim);
    return out;
}

template <class T> nb::dict projected_state(Projected<T>& self) {
    nb::dict out = get_state<T>(self);
    const double features = static_cast<double>(self.projection.features());
    out["features"] = copy_out(&features, 1);
    return out;
}

template <class T> void set_projected_state(Projected<T>& self, const nb::dict& from) {
    double features = 0;
    copy_in(from, "features", &features, 1);
    if (!(features >= 0 && features < 9e15 && features == std::floor(features)))
        throw nb::value_error("the state's features are out of range");
    set_state<T>(self, from);
    self.projection.widen(static_cast<Index>(features));
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    nb::class_<Projected<T>, Holder<SecondOrderModel<T>>>(m, name, "A second-order learner of M x, for a random matrix M.")
        .def(
            "__init__",
            [](Projected<T>* self, int filling, Index dim, std::uint64_t seed, bool intercept, const Policy& policy) {
                const RandomMatrix matrix(static_cast<Filling>(filling), dim, seed);
                new (self)
                    Projected<T>{{std::make_unique<SecondOrderModel<T>>(dim + intercept, intercept, policy), {}, {}, 0},
                                 Projection<T>(matrix, 0)};
            },
            arg("filling"), arg("dim"), arg("seed"), arg("intercept"), arg("policy"))
        .def("predict", &predict<T>, arg("x").none(), "The prediction, or None where x has to be converted first.")
        .def("predict_interval", &predict_interval<T>, arg("x").none(), arg("level"),
             "Both ends of the interval, or None where x has to be converted first.")
        .def("learn", &learn<T>, arg("x").none(), arg("y").none(), arg("weight") = nb::none(),
             "False, with nothing changed, where the row needs Python's care.")
        .def("run", &run<T>, arg("x"), arg("y").none(), arg("weight").none(), arg("skip"), arg("predictions"),
             arg("lower").none(), arg("upper").none(), arg("level").none(), arg("resets").none(), arg("weights").none(),
             arg("every"), arg("start"), arg("pace") = nb::none(),
             "Replays rows from `start`; returns status, rows done, resets written and rows skipped.")
        .def("run", &run_sparse<T>, arg("x"), arg("y").none(), arg("weight").none(), arg("skip"), arg("predictions"),
             arg("lower").none(), arg("upper").none(), arg("level").none(), arg("resets").none(), arg("weights").none(),
             arg("every"), arg("start"), arg("pace") = nb::none(), "The same for compressed rows.")
        .def("weights", &weights<T>, "M'v, the weights of the features, and then the intercept's.")
        .def(
            "compressed",
            [](Projected<T>& self) {
                InUse use(holder(self));
                return copy_out(self.model->state.w, self.projection.matrix().dim);
            },
            "v, the weights of M x.")
        .def("intercept",
             [](Projected<T>& self) {
                 InUse use(holder(self));
                 const auto& state = self.model->state;
                 return state.intercept ? static_cast<double>(state.w[self.projection.matrix().dim]) : 0.0;
             })
        .def(
            "places",
            [](Projected<T>& self, const nb::list& names) {
                nb::list places;
                for (nb::handle name : names) {
                    const Index place = self.growing.find(name.ptr());
                    if (place == -2)
                        throw nb::python_error();
                    places.append(place);
                }
                return places;
            },
            arg("names"), "The places of these names; -1 where a name is not known.")
        .def("transpose", &transpose<T>, arg("v"), "M'v for the features met so far.")
        .def("columns", &columns<T>, arg("which"), "Columns of M, one after the other.")
        .def_prop_ro("features", [](Projected<T>& self) { return self.projection.features(); })
        .def("get_state", &projected_state<T>)
        .def("set_state", &set_projected_state<T>, arg("state"))
        .def(
            "grow",
            [](Projected<T>& self, Index more) {
                InUse use(holder(self));
                self.projection.widen(self.projection.features() + more);
            },
            arg("more"))
        .def(
            "set_names",
            [](Projected<T>& self, const nb::object& names) {
                self.growing = {};
                self.growing.append(nb::list(names));
            },
            arg("names"))
        .def("append_names", [](Projected<T>& self, const nb::list& names) { self.growing.append(names); }, arg("names"));
}

} // namespace

void bind_projected(nb::module_& m) {
    bind<double>(m, "Projected64");
    bind<float>(m, "Projected32");
}

} // namespace driftline::bindings
