// The fast path for one row: a NumPy vector, a plain list or tuple of numbers, or a plain dict of known names. Anything
// unusual or wrong is left to Python, which converts it or raises an error.
#pragma once

#include "numpy_api.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include <nanobind/nanobind.h>

#include "numbers.hpp"

#include "driftline/base/range.hpp"
#include "driftline/base/rows.hpp"

namespace driftline::bindings {

namespace nb = nanobind;

// The feature names in order. Rows from one source usually have the same key objects in the same order, so the place of a
// key is guessed before it is looked up.
class Names {
  public:
    void set(nb::object names) {
        index_ = nb::dict();
        order_.clear();
        keep_ = nb::list(names);
        for (nb::handle name : keep_) {
            index_[name] = nb::int_(order_.size());
            order_.push_back(name.ptr());
        }
    }
    // -1: unknown; -2: a Python error is set.
    Index find(PyObject* name, std::size_t guess) const {
        if (guess < order_.size() && order_[guess] == name)
            return static_cast<Index>(guess);
        PyObject* at = PyDict_GetItemWithError(index_.ptr(), name);
        if (at)
            return PyLong_AsSsize_t(at);
        return PyErr_Occurred() ? -2 : -1;
    }
    bool known() const { return !order_.empty(); }
    nb::object list() const { return keep_; }

  private:
    nb::dict index_;
    nb::list keep_;
    std::vector<PyObject*> order_;
};

template <class T> bool finite_in(double value) { return std::fabs(value) <= type_max<T>; }

template <class T, class Source> bool copy_checked(T* x, const char* from, Index features, Index stride) {
    bool good = true;
    for (Index j = 0; j < features; ++j) {
        const double value = static_cast<double>(*reinterpret_cast<const Source*>(from + j * stride));
        good = good && finite_in<T>(value);
        x[j] = static_cast<T>(value);
    }
    return good;
}

template <class T> bool read_array(PyArrayObject* array, T* x, Index features) {
    if (PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != features || !PyArray_ISBEHAVED_RO(array))
        return false;
    const char* from = PyArray_BYTES(array);
    switch (PyArray_TYPE(array)) {
    case NPY_DOUBLE:
        return copy_checked<T, double>(x, from, features, PyArray_STRIDE(array, 0));
    case NPY_FLOAT:
        return copy_checked<T, float>(x, from, features, PyArray_STRIDE(array, 0));
    default:
        return false;
    }
}

// A number as a finite double in T's range; NaN otherwise, and for number types that run their own code.
template <class T> double read_number(PyObject* value) {
    const bool plain = PyFloat_Check(value) || PyLong_CheckExact(value) || PyBool_Check(value);
    if (!plain && !PyArray_IsScalar(value, Integer) && !PyArray_IsScalar(value, Floating) && !PyArray_IsScalar(value, Bool))
        return NAN;
    if (!plain && PyArray_IsScalar(value, Timedelta)) // an integer to NumPy, in a unit of its own
        return NAN;
    const double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return NAN;
    }
    return finite_in<T>(number) ? number : NAN;
}

template <class T> bool read_sequence(PyObject* sequence, T* x, Index features) {
    if (PySequence_Fast_GET_SIZE(sequence) != features)
        return false;
    for (Index j = 0; j < features; ++j) {
        const double number = read_number<T>(PySequence_Fast_GET_ITEM(sequence, j));
        if (std::isnan(number))
            return false;
        x[j] = static_cast<T>(number);
    }
    return true;
}

template <class T> bool read_dict(PyObject* dict, T* x, Index features, const Names& names, bool unknown_allowed) {
    for (Index j = 0; j < features; ++j)
        x[j] = 0;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    for (std::size_t guess = 0; PyDict_Next(dict, &position, &key, &value); ++guess) {
        const double number = read_number<T>(value); // before the look-up, where a key's own code may change the dict
        Py_INCREF(key);
        const Index j = names.find(key, guess);
        Py_DECREF(key);
        if (j == -2) {
            PyErr_Clear();
            return false;
        }
        if ((j < 0 && !unknown_allowed) || std::isnan(number))
            return false;
        if (j >= 0)
            x[j] = static_cast<T>(number);
    }
    return true;
}

// A buffer for read_row, for cores whose rows do not go straight to their model.
template <class T> struct RowBuffer {
    Index d = 0;
    bool intercept = false;
    T* x = nullptr;
};

// Fills the model's row; false leaves the row to Python. The row buffer is scratch, so nothing is lost.
template <class State> bool read_row(PyObject* x, const State& state, const Names& names, bool unknown_allowed) {
    const Index features = state.d - state.intercept;
    bool good = false;
    if (PyArray_CheckExact(x))
        good = read_array(reinterpret_cast<PyArrayObject*>(x), state.x, features);
    else if (PyList_CheckExact(x) || PyTuple_CheckExact(x))
        good = read_sequence(x, state.x, features);
    else if (PyDict_CheckExact(x) && (names.known() || features == 0))
        good = read_dict(x, state.x, features, names, unknown_allowed);
    if (good && state.intercept)
        state.x[features] = 1;
    return good;
}

// The same from numbers that were read earlier. Features added since are 0.
template <class State> bool load_row(const Numbers& row, const State& state) {
    using T = std::remove_reference_t<decltype(*state.x)>;
    const Index features = state.d - state.intercept, known = static_cast<Index>(row.size());
    if (known > features ||
        !copy_checked<T, double>(state.x, reinterpret_cast<const char*>(row.data()), known, sizeof(double)))
        return false;
    std::fill(state.x + known, state.x + features, T(0));
    if (state.intercept)
        state.x[features] = 1;
    return true;
}

} // namespace driftline::bindings
