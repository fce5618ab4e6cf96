// The numbers of a state, in sequence, through a model's `visit`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "driftline/base/simd.hpp"

namespace driftline::bindings {

// Exports the numbers of a state in order, or imports them.
struct Collector {
    std::vector<double> numbers;
    std::vector<float> entries;
    std::vector<std::uint16_t> halves;
    void operator()(const double* from, Index n) { numbers.insert(numbers.end(), from, from + n); }
    void operator()(const float* from, Index n) { entries.insert(entries.end(), from, from + n); }
    void operator()(const std::uint16_t* from, Index n) { halves.insert(halves.end(), from, from + n); }
};
// Sets numbers that left the range, as after a forged state, to 0, so that what is saved can be loaded.
struct NonFiniteToZero {
    template <class T> void operator()(T* numbers, Index n) const {
        std::replace_if(numbers, numbers + n, [](T number) { return !std::isfinite(number); }, T(0));
    }
    void operator()(std::uint16_t*, Index) const {} // finite however they are read
};
struct Counter {
    Index numbers = 0, entries = 0, halves = 0;
    void operator()(const double*, Index n) { numbers += n; }
    void operator()(const float*, Index n) { entries += n; }
    void operator()(const std::uint16_t*, Index n) { halves += n; }
};
struct Filler {
    const double* numbers;
    const float* entries = nullptr;
    const std::uint16_t* halves = nullptr;
    void operator()(double* to, Index n) {
        std::copy(numbers, numbers + n, to);
        numbers += n;
    }
    void operator()(float* to, Index n) {
        std::copy(entries, entries + n, to);
        entries += n;
    }
    void operator()(std::uint16_t* to, Index n) {
        std::copy(halves, halves + n, to);
        halves += n;
    }
};

} // namespace driftline::bindings
