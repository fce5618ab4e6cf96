// Arrays between Python and the core.
#pragma once

#include "numpy_api.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "driftline/base/rows.hpp"

namespace driftline::bindings {

namespace nb = nanobind;

template <class T, int Dimensions> using ArrayOf = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
using Vector = ArrayOf<const double, 1>;
using Table2 = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using OutVector = ArrayOf<double, 1>;
using OutIndices = ArrayOf<Index, 1>;
using OutTable = ArrayOf<double, 2>;
using OutMarks = ArrayOf<std::uint8_t, 1>;

inline void require(bool agree) {
    if (!agree)
        throw nb::value_error("the shapes do not agree");
}

inline int type_of(const double*) { return NPY_DOUBLE; }
inline int type_of(const float*) { return NPY_FLOAT; }
inline int type_of(const std::uint16_t*) { return NPY_UINT16; }
inline int type_of(const Index*) { return NPY_INT64; }

template <class T> nb::object new_array(Index n, T*& elements) {
    npy_intp shape[] = {static_cast<npy_intp>(n)};
    PyObject* array = PyArray_SimpleNew(1, shape, type_of(elements));
    if (!array)
        throw nb::python_error();
    elements = static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
    return nb::steal(array);
}

template <class T> nb::object new_table(Index rows, Index columns, T*& elements) {
    npy_intp shape[] = {static_cast<npy_intp>(rows), static_cast<npy_intp>(columns)};
    PyObject* array = PyArray_SimpleNew(2, shape, type_of(elements));
    if (!array)
        throw nb::python_error();
    elements = static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
    return nb::steal(array);
}

template <class T> nb::object copy_out(const T* from, Index n) {
    T* to;
    nb::object array = new_array(n, to);
    std::copy_n(from, n, to);
    return array;
}

// An array of a saved state, after checking that it is finite. Earlier versions may have written fewer numbers, but at least
// `first`: what the first format has. An array that was added later has a `first` of 0, and may be missing.
template <class T, int Dimensions = 1>
ArrayOf<const T, Dimensions> array_in(const nb::dict& state, const char* name, Index n, Index first) {
    ArrayOf<const T, Dimensions> array;
    if (!state.contains(name)) {
        if (first > 0)
            throw nb::value_error((std::string("the state lacks ") + name).c_str());
        return array;
    }
    const bool fits = nb::try_cast(state[name], array, false) && static_cast<Index>(array.shape(Dimensions - 1)) >= first &&
                      static_cast<Index>(array.shape(Dimensions - 1)) <= n;
    if (!fits)
        throw nb::value_error((std::string("the state's ") + name + " has another shape or type").c_str());
    for (std::size_t i = 0; i < array.size(); ++i)
        if (!std::isfinite(array.data()[i]))
            throw nb::value_error((std::string("the state's ") + name + " is not finite").c_str());
    return array;
}

// The same for a table, each row of which may lack numbers at its end.
template <class T>
ArrayOf<const T, 2> table_in(const nb::dict& state, const char* name, Index rows, Index count, Index first) {
    const auto table = array_in<T, 2>(state, name, count, first);
    if (table.is_valid() && static_cast<Index>(table.shape(0)) != rows)
        throw nb::value_error((std::string("the state's ") + name + " has another shape or type").c_str());
    return table;
}

// Copies an array of a saved state back in. Numbers that the state lacks stay as they are: those of a new model.
template <class T> void copy_in(const nb::dict& state, const char* name, T* to, Index n, Index first) {
    const auto array = array_in<T>(state, name, n, first);
    if (array.is_valid())
        std::copy_n(array.data(), array.size(), to);
}
template <class T> void copy_in(const nb::dict& state, const char* name, T* to, Index n) { copy_in(state, name, to, n, n); }

} // namespace driftline::bindings
