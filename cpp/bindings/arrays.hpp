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

// An array of a saved state, after checking that it is finite; invalid if the state lacks it.
template <class T, int Dimensions = 1> ArrayOf<const T, Dimensions> array_in(const nb::dict& state, const char* name) {
    ArrayOf<const T, Dimensions> array;
    if (state.contains(name) && !nb::try_cast(state[name], array, false))
        throw nb::value_error((std::string("the state's ") + name + " has another shape or type").c_str());
    for (std::size_t i = 0; array.is_valid() && i < array.size(); ++i)
        if (!std::isfinite(array.data()[i]))
            throw nb::value_error((std::string("the state's ") + name + " is not finite").c_str());
    return array;
}

// A table whose rows have n numbers, or one of the lengths that they had in earlier versions: 0 if there was no table then.
template <class T, int Dimensions = 2, class... Lengths>
ArrayOf<const T, Dimensions> table_in(const nb::dict& state, const char* name, Index rows, Index n, Lengths... earlier) {
    const auto array = array_in<T, Dimensions>(state, name);
    if (!array.is_valid() && ((earlier == 0) || ...))
        return array;
    if (!array.is_valid())
        throw nb::value_error((std::string("the state lacks ") + name).c_str());
    const auto length = static_cast<Index>(array.shape(Dimensions - 1));
    if ((Dimensions > 1 && static_cast<Index>(array.shape(0)) != rows) ||
        !(length == n || ((earlier > 0 && length == earlier) || ...)))
        throw nb::value_error((std::string("the state's ") + name + " has another shape or type").c_str());
    return array;
}

// Copies an array of a saved state back in. Numbers that the state lacks stay as they are: those of a new model.
template <class T, class... Lengths>
void copy_in(const nb::dict& state, const char* name, T* to, Index n, Lengths... earlier) {
    const auto array = table_in<T, 1>(state, name, 1, n, earlier...);
    if (array.is_valid())
        std::copy_n(array.data(), array.size(), to);
}

} // namespace driftline::bindings
