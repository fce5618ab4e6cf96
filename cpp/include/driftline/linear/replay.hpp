// Replays many rows: one by one, or in blocks if that is faster.
#pragma once

#include "driftline/linear/factor_blocks.hpp"
#include "driftline/base/machine.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// The size of the matrix, in units of a core's cache.
template <class T> double cache_fillings(const SecondOrderState<T>& m) {
    const Index bytes = panel_elements<T>(m.d) * static_cast<Index>(sizeof(T));
    return static_cast<double>(bytes) / static_cast<double>(core_cache());
}

// The sizes from which blocks are faster than single rows, measured: on one core, on two, and with a guard.
struct BlockThresholds {
    static constexpr double factor = 1.2, factor_on_two_cores = 0.6, guarded_factor = 6;
    static constexpr Index rows = 8, rows_on_two_cores = 32; // with fewer, the setup costs more than it saves
};

template <class T> Status replay_any(SecondOrderState<T>& m, const Batch& batch, Outputs& out) {
    const double fillings = cache_fillings(m);
    const Index rows = batch.rows - out.done;
    if (batch.y && rows >= BlockThresholds::rows && fillings > BlockThresholds::factor_on_two_cores) {
        const ThreadClaim claim;
        const bool two_threads = rows >= BlockThresholds::rows_on_two_cores && claim.has_room();
        const double enough = m.guard.u     ? BlockThresholds::guarded_factor
                              : two_threads ? BlockThresholds::factor_on_two_cores
                                            : BlockThresholds::factor;
        if (FactorBlocks<T>::suits(m) && fillings > enough)
            return FactorBlocks<T>(m, batch, out, two_threads).run();
    }
    return with_size(m, [&]<int G>() { return replay<G>(m, batch, out, false); });
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
