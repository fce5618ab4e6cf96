// Many rows: one by one, or in blocks where that pays.
#pragma once

#include "driftline/factor_blocks.hpp"
#include "driftline/machine.hpp"
#include "driftline/packed_blocks.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// Whether the matrix is too large to stay in the cache from row to row.
template <class T> bool outgrows_cache(const SecondOrderState<T>& m) {
    return 4 * panel_elements<T>(m.d) * static_cast<Index>(sizeof(T)) > 3 * core_cache();
}

template <class T> Status replay_any(SecondOrderState<T>& m, const Batch& batch, Outputs& out) {
    if (batch.y && outgrows_cache(m)) {
        const ThreadClaim claim;
        if (FactorBlocks<T>::suits(m))
            return FactorBlocks<T>(m, batch, out, claim.has_room()).run();
        if (PackedBlocks<T>::suits(m))
            return PackedBlocks<T>(m, batch, out, claim.has_room()).run();
    }
    return with_size(m, [&]<int G>() { return replay<G>(m, batch, out, false); });
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
