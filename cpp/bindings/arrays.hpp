// Arrays between Python and the core.
#pragma once

#include "numpy_api.hpp"

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

template <class T> nb::object new_array(Index n, T*& elements) {
    npy_intp shape[] = {static_cast<npy_intp>(n)};
    PyObject* array = PyArray_SimpleNew(1, shape, sizeof(T) == 8 ? NPY_DOUBLE : NPY_FLOAT);
    if (!array)
        throw nb::python_error();
    elements = static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
    return nb::steal(array);
}

template <class T> nb::object new_table(Index rows, Index columns, T*& elements) {
    npy_intp shape[] = {static_cast<npy_intp>(rows), static_cast<npy_intp>(columns)};
    PyObject* array = PyArray_SimpleNew(2, shape, sizeof(T) == 8 ? NPY_DOUBLE : NPY_FLOAT);
    if (!array)
        throw nb::python_error();
    elements = static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
    return nb::steal(array);
}

template <class T> nb::object copy_out(const T* from, Index n) {
    T* to;
    nb::object array = new_array(n, to);
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
    return array;
}

// Copies an array of a saved state back in after checking its shape and that it is finite.
template <class T> void copy_in(const nb::dict& state, const char* name, T* to, Index n) {
    if (!state.contains(name))
        throw nb::value_error((std::string("the state lacks ") + name).c_str());
    ArrayOf<const T, 1> array;
    if (!nb::try_cast(state[name], array, false) || static_cast<Index>(array.shape(0)) != n)
        throw nb::value_error((std::string("the state's ") + name + " has another shape or type").c_str());
    for (Index i = 0; i < n; ++i)
        if (!std::isfinite(array.data()[i]))
            throw nb::value_error((std::string("the state's ") + name + " is not finite").c_str());
    std::memcpy(to, array.data(), static_cast<std::size_t>(n) * sizeof(T));
}

} // namespace driftline::bindings
