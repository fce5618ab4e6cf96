// Many rows: one by one, or in blocks where that pays.
#pragma once

#include "driftline/factor_blocks.hpp"
#include "driftline/machine.hpp"
#include "driftline/packed_blocks.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// How often a core's cache would have to be filled with the matrix for a row.
template <class T> double cache_fillings(const SecondOrderState<T>& m) {
    const Index bytes = panel_elements<T>(m.d) * static_cast<Index>(sizeof(T));
    return static_cast<double>(bytes) / static_cast<double>(core_cache());
}

// From which size on blocks are faster was found by trial. Only the size decides, so that the way a stream is learned does
// not depend on what else the machine does.
template <class T> Status replay_any(SecondOrderState<T>& m, const Batch& batch, Outputs& out) {
    if (batch.y && FactorBlocks<T>::suits(m) && cache_fillings(m) > 1.5) {
        const ThreadClaim claim;
        return FactorBlocks<T>(m, batch, out, claim.has_room()).run();
    }
    if (batch.y && PackedBlocks<T>::suits(m) && cache_fillings(m) > 8) {
        const ThreadClaim claim;
        return PackedBlocks<T>(m, batch, out, claim.has_room()).run();
    }
    return with_size(m, [&]<int G>() { return replay<G>(m, batch, out, false); });
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
