// Memory statistics of a second-order learner: two numbers from which Python computes how many rows it remembers.
#pragma once

#include <cmath>

#include "driftline/linear/second_order_state.hpp"

namespace driftline {

struct MemoryStatistics {
    double rows = 0; // rows learned
    // About how many of the last rows the weights rest on, not counting forgetting by division. With added drift q, a weight
    // of variance v is forgotten in 1 + v/q rows: the geometric mean over the weights. Otherwise all rows since the last
    // reset.
    double span = 0;
};

template <class T> MemoryStatistics memory_statistics(const SecondOrderState<T>& m) {
    const double span = at_least(0, m.sums.rows - m.sums.begun);
    if (m.policy.time != Time::add || !m.additive || span == 0)
        return {m.sums.rows, span};
    double logs = 0;
    for (Index j = 0; j < m.d; ++j) {
        const double variance = m.packed.s[panel_index<T>(j, j)];
        logs += std::log(at_least(1, at_most(1 + variance / m.policy.amount, at_least(1, span))));
    }
    return {m.sums.rows, std::exp(logs / static_cast<double>(m.d))};
}

inline namespace DRIFTLINE_ISA {

template <class T> DRIFTLINE_INLINE void note_memory(const Outputs& out, const SecondOrderState<T>& m, Index t) {
    if (out.memory && (t + 1) % out.every == 0) {
        const MemoryStatistics now = memory_statistics(m);
        out.memory[2 * ((t + 1) / out.every - 1)] = now.rows;
        out.memory[2 * ((t + 1) / out.every - 1) + 1] = now.span;
    }
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
