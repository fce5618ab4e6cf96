// MurmurHash3 (Austin Appleby, public domain), 32-bit variant: the same number for a text in every process.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "driftline/base/simd.hpp"

namespace driftline {

inline std::uint32_t scrambled(std::uint32_t word) { return std::rotl(word * 0xCC9E2D51u, 15) * 0x1B873593u; }

inline std::int32_t murmur3(const unsigned char* text, std::size_t length) {
    std::uint32_t hash = 0;
    for (std::size_t i = 0; i + 4 <= length; i += 4) {
        const std::uint32_t word =
            text[i] | text[i + 1] << 8 | text[i + 2] << 16 | static_cast<std::uint32_t>(text[i + 3]) << 24;
        hash = std::rotl(hash ^ scrambled(word), 13) * 5 + 0xE6546B64u;
    }
    std::uint32_t tail = 0;
    for (std::size_t i = length; i > length / 4 * 4; --i)
        tail = tail << 8 | text[i - 1];
    hash ^= scrambled(tail);
    hash ^= static_cast<std::uint32_t>(length);
    hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
    hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
    return static_cast<std::int32_t>(hash ^ hash >> 16);
}

} // namespace driftline
