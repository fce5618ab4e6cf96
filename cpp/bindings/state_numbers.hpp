// The numbers of a state, between a dictionary of arrays and a model's `visit`.
#pragma once

#include "arrays.hpp"

#include "driftline/base/saved_numbers.hpp"

namespace driftline::bindings {

// Sets numbers that left the range, as after a forged state, to 0, so that what is saved can be loaded.
struct NonFiniteToZero {
    template <class T> void operator()(T* numbers, Index n, const char* = nullptr) const {
        std::replace_if(numbers, numbers + n, [](T number) { return !std::isfinite(number); }, T(0));
    }
    void operator()(std::uint16_t*, Index, const char* = nullptr) const {} // finite however they are read
};

template <class Model> void write_numbers(Model& model, nb::dict& state) {
    NumbersOut out;
    model.visit(out);
    out.arrays.each([&](const std::string& name, const auto& numbers) {
        if (!numbers.empty())
            state[name.c_str()] = copy_out(numbers.data(), static_cast<Index>(numbers.size()));
    });
}

// Throws if the state does not fit, and the model must then be discarded.
template <class Model> void read_numbers(const nb::dict& state, Model& model) {
    NumbersIn in([&]<class T>(const char* name, std::optional<std::span<const T>>& array) {
        if (const auto found = array_in<T>(state, name); found.is_valid())
            array.emplace(found.data(), found.size());
    });
    model.visit(in);
    if (!in.complete())
        throw nb::value_error("the state's numbers have another shape");
}

} // namespace driftline::bindings
