// Philox 4x64 with ten rounds: random bits as a function of a counter and a key, available in any order.
// Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
#pragma once

#include <cstdint>

#include "driftline/base/simd.hpp"

namespace driftline {

struct Words {
    std::uint64_t word[4];
};

inline namespace DRIFTLINE_ISA {

DRIFTLINE_INLINE void multiply_wide(std::uint64_t a, std::uint64_t b, std::uint64_t& high, std::uint64_t& low) {
    __extension__ using Wider = unsigned __int128;
    const Wider product = static_cast<Wider>(a) * b;
    high = static_cast<std::uint64_t>(product >> 64);
    low = static_cast<std::uint64_t>(product);
}

DRIFTLINE_INLINE Words philox(Words counter, std::uint64_t key, std::uint64_t second_key = 0) {
    for (int round = 0; round < 10; ++round) {
        std::uint64_t high0, low0, high1, low1;
        multiply_wide(0xD2E7470EE14C6C93u, counter.word[0], high0, low0);
        multiply_wide(0xCA5A826395121157u, counter.word[2], high1, low1);
        counter = {{high1 ^ counter.word[1] ^ key, low1, high0 ^ counter.word[3] ^ second_key, low0}};
        key += 0x9E3779B97F4A7C15u;
        second_key += 0xBB67AE8584CAA73Bu;
    }
    return counter;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
