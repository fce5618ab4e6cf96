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

// From which size on blocks are faster was found by trial, on one core and on two. Where they change the last places, only
// the size decides, so that the way a stream is learned does not depend on what else the machine does.
template <class T> Status replay_any(SecondOrderState<T>& m, const Batch& batch, Outputs& out) {
    const double fillings = cache_fillings(m);
    const Index rows = batch.rows - out.done;
    if (batch.y && rows >= 8 && fillings > 0.6) {
        const ThreadClaim claim;
        const bool two_threads = rows >= 32 && claim.has_room();
        if (FactorBlocks<T>::suits(m) && (m.guard.u ? fillings > 6 : two_threads || fillings > 1.2))
            return FactorBlocks<T>(m, batch, out, two_threads).run();
        if (PackedBlocks<T>::suits(m) && fillings > 12)
            return PackedBlocks<T>(m, batch, out, two_threads).run();
    }
    return with_size(m, [&]<int G>() { return replay<G>(m, batch, out, false); });
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
