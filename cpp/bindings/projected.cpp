// driftline._core.Projected64 and Projected32: second-order learners of M x.
#include "growing_names.hpp"
#include "second_order_core.hpp"
#include "sparse.hpp"

#include "driftline/linear/projected_model.hpp"

namespace driftline::bindings {
namespace {

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
        if (count++ < room) // the dict may grow while it is walked
            row.add(j, value);
    });
    row.sort();
    return good && count <= room;
}

template <class T> struct ProjectedCore : SecondOrderCore<T> {
    ProjectedCore(const RandomMatrix& matrix, bool intercept, const Policy& policy)
        : SecondOrderCore<T>(matrix.dim + intercept, intercept, policy), projection(matrix, 0) {}

    Index features() const { return projection.features(); }
    Index width() const { return projection.features() + this->model->state.intercept; }
    // Writes M x into the model's row.
    bool read(nb::handle x, bool unknown_allowed) {
        const bool good = read_entries_of(x.ptr(), unknown_allowed);
        if (good)
            projection.into(this->model->state);
        return good;
    }
    void numbers() = delete; // the numbers of x are not kept
    void load() = delete;
    void take() = delete; // replays project the rows of a table
    Status replay(const Batch& batch, Outputs& out) {
        projection.row.reserve(features());
        return projection.replay(this->model->state, batch, batch, out);
    }
    bool takes(const SparseRows&) const { return true; } // unknown columns count as 0
    Status replay(const SparseRows& x, const Batch& batch, Outputs& out) {
        projection.row.reserve(x.rows.longest());
        return projection.replay(this->model->state, x.rows, batch, out);
    }
    nb::object weights() {
        T* to;
        nb::object out = new_array(width(), to);
        projection.weights(this->model->state, to);
        return out;
    }
    void grow(Index more) { projection.widen(features() + more); }

    Projection<T> projection;
    GrowingNames names; // replaces the fixed names of other cores

  private:
    bool read_entries_of(PyObject* x, bool unknown_allowed) {
        if (PyDict_CheckExact(x) && names.known())
            return read_items(x, projection.row, names, unknown_allowed);
        if (!PyArray_CheckExact(x))
            return read_sparse(x);
        PyArrayObject* array = reinterpret_cast<PyArrayObject*>(x);
        if (PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != features() || !PyArray_ISBEHAVED_RO(array))
            return false;
        if (PyArray_TYPE(array) == NPY_DOUBLE)
            return read_entries<T, double>(array, projection.row);
        return PyArray_TYPE(array) == NPY_FLOAT && read_entries<T, float>(array, projection.row);
    }
    bool read_sparse(PyObject* x) {
        const SparseRows* rows = one_sparse_row(x);
        if (!rows)
            return false;
        projection.row.reserve(rows->rows.longest());
        return projection.row.take(rows->rows, 0, features());
    }
};

// M'v for any v.
template <class T> nb::object transpose(ProjectedCore<T>& self, Vector v) {
    InUse use(self);
    const Index dim = self.projection.matrix().dim;
    if (static_cast<Index>(v.shape(0)) != dim)
        throw nb::value_error("v has the wrong length");
    Aligned<T> aligned(padded<T>(dim));
    std::copy_n(v.data(), dim, aligned.data());
    double* to;
    nb::object out = new_array(self.projection.features(), to);
    self.projection.transpose(aligned.data(), 0, self.projection.features(), to);
    return out;
}

// Columns of M, concatenated.
template <class T> nb::object columns(ProjectedCore<T>& self, OutIndices which) {
    InUse use(self);
    const RandomMatrix& matrix = self.projection.matrix();
    double* to;
    nb::object out = new_array(static_cast<Index>(which.shape(0)) * matrix.dim, to);
    for (std::size_t i = 0; i < which.shape(0); ++i)
        engine<double>().column(matrix, which.data()[i], to + static_cast<Index>(i) * matrix.dim);
    return out;
}

template <class T> nb::dict projected_state(ProjectedCore<T>& self) {
    nb::dict out = get_state<T>(self);
    const double features = static_cast<double>(self.projection.features());
    out["features"] = copy_out(&features, 1);
    return out;
}

template <class T> void set_projected_state(ProjectedCore<T>& self, const nb::dict& from) {
    double features = 0;
    copy_in(from, "features", &features, 1);
    if (!(features >= 0 && features < 9e15 && features == std::floor(features)))
        throw nb::value_error("the state's features are out of range");
    set_state<T>(self, from);
    self.projection.widen(static_cast<Index>(features));
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    using Core = ProjectedCore<T>;
    auto core = nb::class_<Core, SecondOrderCore<T>>(m, name, "A second-order learner of M x, for a random matrix M.")
                    .def(
                        "__init__",
                        [](Core* self, Filling filling, Index dim, std::uint64_t seed, bool intercept,
                           const Policy& policy) { new (self) Core(RandomMatrix(filling, dim, seed), intercept, policy); },
                        arg("filling"), arg("dim"), arg("seed"), arg("intercept"), arg("policy"));
    bind_verbs(core);
    core.def(
            "compressed",
            [](Core& self) {
                InUse use(self);
                return copy_out(self.model->state.w, self.projection.matrix().dim);
            },
            nb::sig("def compressed(self) -> typing.Any"), "v, the weights of M x.")
        .def("intercept",
             [](Core& self) {
                 InUse use(self);
                 const auto& state = self.model->state;
                 return state.intercept ? static_cast<double>(state.w[self.projection.matrix().dim]) : 0.0;
             })
        .def(
            "places",
            [](Core& self, const nb::list& names) {
                nb::list places;
                for (nb::handle name : names) {
                    const Index place = self.names.find(name.ptr());
                    if (place == -2)
                        throw nb::python_error();
                    places.append(place);
                }
                return places;
            },
            arg("names"), nb::sig("def places(self, names: list) -> list[int]"),
            "The places of these names; -1 for an unknown name.")
        .def("transpose", &transpose<T>, arg("v"), nb::sig("def transpose(self, v: typing.Any) -> typing.Any"),
             "M'v for the features seen so far.")
        .def("columns", &columns<T>, arg("which"), nb::sig("def columns(self, which: typing.Any) -> typing.Any"),
             "Columns of M, concatenated.")
        .def("get_state", &projected_state<T>)
        .def("set_state", &set_projected_state<T>, arg("state"))
        .def("append_names", [](Core& self, const nb::list& names) { self.names.append(names); }, arg("names"));
}

} // namespace

void bind_projected(nb::module_& m) {
    bind<double>(m, "Projected64");
    bind<float>(m, "Projected32");
}

} // namespace driftline::bindings
