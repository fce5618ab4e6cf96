// Checks of matrices from outside, which the kernels then trust.
#pragma once

#include <cmath>

#include <nanobind/nanobind.h>

#include "driftline/linear/second_order_state.hpp"

namespace driftline::bindings {

namespace nb = nanobind;

// Throws unless the factor is unit upper triangular with empty padding columns.
template <class T> void check_factor(const Factor<T>& factor, Index d) {
    for (Index j = 0; j < factor.size; ++j) {
        if (!(factor.d[j] > 0))
            throw nb::value_error("the state's diagonal is not positive");
        for (Index i = j < d ? j : 0; i < panel_rows<T>(j / panel_width<T>); ++i)
            if (factor.u[panel_index<T>(i, j)] != T(i == j))
                throw nb::value_error("the state's matrix is not unit upper triangular");
    }
}

// No start and no drift leads to entries beyond largest_entry within the rows that a model can count. The core itself
// watches whether S is positive definite.
template <class T> void check_packed(const Packed<T>& packed, Index d) {
    constexpr double largest_entry = sizeof(T) == 8 ? 1e130 : 1e30;
    for (Index j = 0; j < packed.size; ++j)
        for (Index i = 0; i < panel_rows<T>(j / panel_width<T>); ++i) {
            const double entry = packed.s[panel_index<T>(i, j)];
            if (i < d && j < d ? std::fabs(entry) > largest_entry : entry != (i == j))
                throw nb::value_error("the state's matrix cannot come from learning");
        }
}

template <class T> void check_matrix(const SecondOrderState<T>& state) {
    if (state.additive)
        check_packed(state.packed, state.d);
    else
        check_factor(state.factor, state.d);
}

} // namespace driftline::bindings
