// Rows with keys: each row goes to the model in its key's slot. A worker, which is an ordinary model, loads the slot,
// processes the row and stores the result back in the slot.
#pragma once

#include "driftline/linear/second_order.hpp"
#include "driftline/fleet/slots.hpp"

namespace driftline {

inline namespace DRIFTLINE_ISA {

// Slots are scattered in memory, so each is prefetched a few rows ahead: its first cache lines explicitly, the rest by
// the hardware prefetcher.
DRIFTLINE_INLINE void fetch_slot(const std::byte* slot, Index size) {
    constexpr Index most = 16 * cache_line;
    for (Index i = 0; i < (size < most ? size : most); i += cache_line)
        __builtin_prefetch(slot + i, 1);
}

template <class T> DRIFTLINE_INLINE bool weights_suffice(const SecondOrderState<T>& m) { return !m.policy.shrink; }
template <class T> DRIFTLINE_INLINE bool weights_suffice(const FirstOrderState<T>&) { return true; }

template <class T> DRIFTLINE_INLINE Status replay_one(SecondOrderState<T>& m, const Batch& row, Outputs& out) {
    return with_size(m, [&]<int G>() { return replay<G>(m, row, out, false); });
}
template <class T> DRIFTLINE_INLINE Status replay_one(FirstOrderState<T>& m, const Batch& row, Outputs& out) {
    return replay(m, row, out);
}

DRIFTLINE_INLINE Batch row_of(const Batch& batch, Index t) {
    Batch row = batch;
    const Index place = t * batch.row_stride;
    row.x = batch.floats ? static_cast<const void*>(static_cast<const float*>(batch.x) + place)
                         : static_cast<const void*>(static_cast<const double*>(batch.x) + place);
    row.rows = 1;
    row.y = batch.y ? batch.y + t : nullptr;
    row.weight = batch.weight ? batch.weight + t : nullptr;
    row.times = batch.times ? batch.times + t : nullptr;
    return row;
}

template <class State>
DRIFTLINE_INLINE Status replay_row(State& m, const Slots& slots, const KeyedRows& rows, KeyedDone& done, Index t) {
    const Index key = rows.keys[t];
    std::byte* const slot = slots.bytes + key * slots.layout.size;
    SlotHead* const head = reinterpret_cast<SlotHead*>(slot);
    const std::byte* const from = head->call ? slot : slots.blank;
    Tracker* const tracker = slots.trackers ? slots.trackers + key : nullptr;
    Outputs out = rows.out.from_row(t);
    if (tracker)
        m.coverage = slots.has_tracked(*head) ? tracker->coverage : *slots.untold;
    if (!rows.batch.y) {
        weights_suffice(m) && !out.spread() ? take_weights(m, slots.layout, from) : take_from_slot(m, slots.layout, from);
        return replay_one(m, row_of(rows.batch, t), out);
    }
    unsigned char reset = 0;
    out.resets = &reset;
    take_from_slot(m, slots.layout, from);
    const double learned = m.sums.rows;
    if (const Status status = replay_one(m, row_of(rows.batch, t), out); status != Status::done)
        return status;
    if (slots.keep && head->call != slots.call)
        slots.keep(done.journal, key);
    put_in_slot(m, slots.layout, slot);
    if (tracker) {
        tracker->coverage = m.coverage;
        if (out.lower && m.sums.rows > learned && *out.upper < HUGE_VAL) {
            tracker->judged += 1;
            tracker->inside += rows.batch.y[t] >= *out.lower && rows.batch.y[t] <= *out.upper;
        }
    }
    head->call = slots.call;
    head->skipped += static_cast<std::uint64_t>(out.skipped);
    done.skipped += out.skipped;
    if (reset)
        rows.resets[t] = 1;
    return Status::done;
}

// Continues at done.row.
template <class State>
DRIFTLINE_ONCE Status replay_slots(State& m, const Slots& slots, const KeyedRows& rows, KeyedDone& done) {
    constexpr Index block = 1024, ahead = 6;
    Index mine[block];
    while (done.row < rows.batch.rows) {
        const Index stop = done.row + block < rows.batch.rows ? done.row + block : rows.batch.rows;
        Index count = 0;
        for (Index t = done.row; t < stop; ++t) { // branch-free: keys are unpredictable
            mine[count] = t;
            count += part_of(rows.keys[t], rows.parts) == rows.part;
        }
        for (Index i = 0; i < count; ++i) {
            if (i + ahead < count)
                fetch_slot(slots.bytes + rows.keys[mine[i + ahead]] * slots.layout.size, slots.layout.size);
            if (const Status status = replay_row(m, slots, rows, done, mine[i]); status != Status::done) {
                done.row = mine[i];
                return status;
            }
        }
        done.row = stop;
    }
    return Status::done;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
