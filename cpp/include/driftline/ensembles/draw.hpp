// Random integers below a bound, seeded by a row number, so that runs are repeatable.
#pragma once

#include "driftline/base/philox.hpp"
#include "driftline/base/simd.hpp"

namespace driftline {

struct Draw {
    std::uint64_t row, counter = 0;
    int used = 4;
    Words words{};
    Index operator()(Index below) {
        if (used == 4) {
            words = philox({{row, counter++, 0, 0}}, 0x74726565);
            used = 0;
        }
        return static_cast<Index>(((words.word[used++] >> 32) * static_cast<std::uint64_t>(below)) >> 32);
    }
};

} // namespace driftline
