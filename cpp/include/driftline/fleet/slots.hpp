// The memory layout of a stored model (a slot), and how models are loaded from and stored to it.
//
// A slot holds only what a model needs between rows: the weights, the sums and, for each triangle, the entries above the
// diagonal by column, without the kernels' padding. Fields are written in order of position, in whole registers: a write
// that runs past the end of a field is overwritten by the next one, and the sums at the end are longer than any register.
// Interval trackers, if a fleet has them, are in a separate block.
#pragma once

#include <cstddef>
#include <type_traits>

#include "driftline/linear/first_order.hpp"
#include "driftline/linear/second_order_state.hpp"

namespace driftline {

struct SlotHead {
    std::uint64_t call; // number of the call that last changed the model; 0: never changed
    std::uint64_t skipped;
};

// Offsets in bytes from the start of the slot.
struct SlotLayout {
    Index weights = sizeof(SlotHead), matrix = 0, guard_matrix = 0, logs = 0, diagonal = 0, guard_diagonal = 0, sums = 0;
    Index size = 0; // a multiple of the cache line
};

inline constexpr Index cache_line = 64;

// The number of entries of a triangle in a slot. A unit diagonal is not stored.
inline constexpr Index triangle_entries(Index d, bool unit) { return unit ? d * (d - 1) / 2 : d * (d + 1) / 2; }

template <class T> SlotLayout layout_of(const SecondOrderState<T>& m) {
    SlotLayout out;
    const Index triangle = round_up(triangle_entries(m.d, !m.additive) * static_cast<Index>(sizeof(T)), 8);
    const Index numbers = 8 * m.d;
    out.matrix = out.weights + round_up(m.d * static_cast<Index>(sizeof(T)), 8);
    out.guard_matrix = out.matrix + triangle;
    out.diagonal = out.guard_matrix + (m.guard.u ? triangle : 0);
    out.guard_diagonal = out.diagonal + (m.additive ? 0 : numbers);
    out.sums = out.guard_diagonal + (m.guard.u ? numbers : 0);
    out.size = round_up(out.sums + static_cast<Index>(sizeof(Sums)), cache_line);
    return out;
}
template <class T> SlotLayout layout_of(const FirstOrderState<T>& m) {
    SlotLayout out;
    out.logs = out.weights + round_up(m.d * static_cast<Index>(sizeof(T)), 8);
    out.sums = out.logs + (m.logs ? 16 * m.d : 0);
    out.size = round_up(out.sums + static_cast<Index>(sizeof(FirstOrderSums)), cache_line);
    return out;
}

// The interval tracker of a slot.
struct Tracker {
    Coverage coverage;
    double judged = 0, inside = 0; // labels with a finite interval, and how many of them were inside it
};
static_assert(std::is_trivially_copyable_v<Tracker>);

// The memory of the models. Slots that were never written stand for the model in `blank`.
struct Slots {
    std::byte* bytes = nullptr;
    const std::byte* blank = nullptr;
    SlotLayout layout;
    std::uint64_t call = 0;
    // Called with a slot before this call first changes it; null if no row can be refused.
    void (*keep)(void* journal, Index slot) = nullptr;
    Tracker* trackers = nullptr;      // null if intervals are neither requested nor kept
    const Coverage* untold = nullptr; // of a model in its initial state
    bool keeps_trackers = false;      // otherwise each call starts with new ones

    bool has_tracked(const SlotHead& head) const { return keeps_trackers ? head.call != 0 : head.call == call; }
};

// One thread's share of a call: the rows whose keys part_of assigns to it.
struct KeyedRows {
    Batch batch;
    const Index* keys = nullptr;
    Outputs out;                    // predictions, intervals and quantiles; `done` and `skipped` are in KeyedDone
    std::uint8_t* resets = nullptr; // marks the rows after which a model was reset
    std::uint8_t* alarms = nullptr; // marks the rows that raised their key's alarm; null if alarms are not kept
    std::uint32_t part = 0, parts = 1;
};

// Hashes a key to a number below `parts`, evenly for keys of any pattern: the high bits of the key times the golden
// ratio.
DRIFTLINE_INLINE std::uint32_t part_of(Index key, std::uint32_t parts) {
    const std::uint64_t mixed = static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15u;
    return static_cast<std::uint32_t>((mixed >> 32) * parts >> 32);
}

// A thread's progress.
struct KeyedDone {
    Index row = 0; // all earlier rows are finished
    Index skipped = 0;
    void* journal = nullptr;
};

inline namespace DRIFTLINE_ISA {

template <class T> inline constexpr Index size_of = sizeof(T);

// Stores n numbers from an array padded to whole registers.
template <class T> DRIFTLINE_INLINE void put_array(const T* from, Index n, std::byte* slot) {
    for (Index i = 0; i < n; i += lanes<T>)
        store_anywhere(slot + i * size_of<T>, wide(from + i));
}
template <class T> DRIFTLINE_INLINE void take_array(const std::byte* slot, Index n, T* to, T padding) {
    for (Index i = 0; i < n; i += lanes<T>) {
        const Wide<T> value = load_anywhere<Wide<T>>(slot + i * size_of<T>);
        store(to + i, lane_numbers<T>() < static_cast<Lane<T>>(n - i) ? value : all(padding));
    }
}

// Stores the entries of panels above the diagonal, and the diagonal unless it is all ones.
template <bool Unit, class T> DRIFTLINE_INLINE void put_triangle(const T* panels, Index d, std::byte* slot) {
    for (Index j = 0; j < d; ++j) {
        const Index count = Unit ? j : j + 1;
        put_array(panels + panel_index<T>(0, j), count, slot);
        slot += count * size_of<T>;
    }
}
// Loads a triangle and fills the entries below the diagonal with zeros.
template <bool Unit, class T> DRIFTLINE_INLINE void take_triangle(const std::byte* slot, Index d, T* panels) {
    for (Index j = 0; j < d; ++j) {
        T* const column = panels + panel_index<T>(0, j);
        const Index count = Unit ? j : j + 1, rows = panel_rows<T>(j / panel_width<T>);
        Index i = 0;
        for (; i + lanes<T> <= count; i += lanes<T>)
            store(column + i, load_anywhere<Wide<T>>(slot + i * size_of<T>));
        for (; i < rows; i += lanes<T>) {
            const Wide<T> value = i < count ? load_anywhere<Wide<T>>(slot + i * size_of<T>) : Wide<T>{};
            const auto left = lane_numbers<T>() - static_cast<Lane<T>>(count - i);
            store(column + i, left < 0 ? value : left == 0 ? all(T(Unit)) : Wide<T>{});
        }
        slot += count * size_of<T>;
    }
}

template <class T> void put_in_slot(const SecondOrderState<T>& m, const SlotLayout& at, std::byte* slot) {
    put_array(m.w, m.d, slot + at.weights);
    if (m.additive) {
        put_triangle<false>(m.packed.s, m.d, slot + at.matrix);
    } else {
        put_triangle<true>(m.factor.u, m.d, slot + at.matrix);
        if (m.guard.u)
            put_triangle<true>(m.guard.u, m.d, slot + at.guard_matrix);
        put_array(m.factor.d, m.d, slot + at.diagonal);
        if (m.guard.u)
            put_array(m.guard.d, m.d, slot + at.guard_diagonal);
    }
    std::memcpy(slot + at.sums, &m.sums, sizeof m.sums);
}

// Loads what predicting needs, unless the prediction is shrunk.
template <class T> void take_weights(SecondOrderState<T>& m, const SlotLayout& at, const std::byte* slot) {
    take_array(slot + at.weights, m.d, m.w, T(0));
    if (m.forgetting.values || m.policy.unit > 0)
        std::memcpy(&m.sums, slot + at.sums, sizeof m.sums);
}
template <class T> void take_from_slot(SecondOrderState<T>& m, const SlotLayout& at, const std::byte* slot) {
    take_array(slot + at.weights, m.d, m.w, T(0));
    if (m.additive) {
        take_triangle<false>(slot + at.matrix, m.d, m.packed.s);
        mirror_squares(m.packed.s, m.d);
    } else {
        take_triangle<true>(slot + at.matrix, m.d, m.factor.u);
        take_array(slot + at.diagonal, m.d, m.factor.d, smallest_variance);
        if (m.guard.u) {
            take_triangle<true>(slot + at.guard_matrix, m.d, m.guard.u);
            take_array(slot + at.guard_diagonal, m.d, m.guard.d, smallest_variance);
        }
    }
    std::memcpy(&m.sums, slot + at.sums, sizeof m.sums);
    m.ready = false;
}

template <class T> void put_in_slot(const FirstOrderState<T>& m, const SlotLayout& at, std::byte* slot) {
    put_array(m.w, m.d, slot + at.weights);
    if (m.logs)
        std::memcpy(slot + at.logs, m.logs, static_cast<std::size_t>(16 * m.d));
    std::memcpy(slot + at.sums, &m.sums, sizeof m.sums);
}
template <class T> void take_weights(FirstOrderState<T>& m, const SlotLayout& at, const std::byte* slot) {
    take_array(slot + at.weights, m.d, m.w, T(0));
}
template <class T> void take_from_slot(FirstOrderState<T>& m, const SlotLayout& at, const std::byte* slot) {
    take_weights(m, at, slot);
    if (m.logs)
        std::memcpy(m.logs, slot + at.logs, static_cast<std::size_t>(16 * m.d));
    std::memcpy(&m.sums, slot + at.sums, sizeof m.sums);
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
