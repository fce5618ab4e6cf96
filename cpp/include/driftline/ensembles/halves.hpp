// Numbers of 16 bits: the upper half of a float, with 8 significant bits. That is enough to tell into which of 32 bins a
// value falls.
#pragma once

#include <bit>
#include <cstdint>

#include "driftline/base/range.hpp"

namespace driftline {

// Rounds to the nearest half, ties to even. Values are at most 1e30.
inline float rounded_to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}
// Exact for rounded values.
inline std::uint16_t to_half(float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); }
inline float from_half(std::uint16_t half) {
    const double most = rounded_to_half(1e30f); // larger than 1e30
    return static_cast<float>(saturate(std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16), most));
}

} // namespace driftline
