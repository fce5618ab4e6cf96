// The alarms of many keys: rows are taken key by key, so that one alarm at a time is in the cache.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "driftline/base/alarm.hpp"
#include "driftline/fleet/slots.hpp"

namespace driftline {

// The alarm of a slot. Zeros stand for one that has seen no error.
struct Watch {
    Alarm alarm;
    Index raised = 0; // how often
    Index last = 0;   // errors up to and including the one that raised the last alarm

    bool sees(double error) {
        if (!raises(alarm, error))
            return false;
        ++raised;
        last = alarm.count;
        return true;
    }
};

inline Watch new_watch(double limit) {
    Watch watch;
    watch.alarm.limit = limit;
    return watch;
}

struct RowOfSlot {
    Index slot, row;
};

// Sorts by slot; the rows of a slot stay in their order. Radix sort, least significant digits first.
inline void sort_by_slot(std::vector<RowOfSlot>& rows, std::vector<RowOfSlot>& spare) {
    constexpr int bits = 11;
    Index most = 0;
    for (const RowOfSlot& row : rows)
        most = row.slot > most ? row.slot : most;
    spare.resize(rows.size());
    for (int shift = 0; most >> shift != 0; shift += bits) {
        std::array<std::size_t, (1 << bits) + 1> places{};
        const auto digit = [shift](const RowOfSlot& row) { return static_cast<std::size_t>(row.slot >> shift) % (1 << bits); };
        for (const RowOfSlot& row : rows)
            ++places[digit(row) + 1];
        for (std::size_t i = 1; i < places.size(); ++i)
            places[i] += places[i - 1];
        for (const RowOfSlot& row : rows)
            spare[places[digit(row)]++] = row;
        rows.swap(spare);
    }
}

// Rows [from, until) of the slots that part_of gives to `part`, one slot after the other.
inline std::vector<RowOfSlot> rows_by_slot(const Index* slots, Index from, Index until, std::uint32_t part,
                                           std::uint32_t parts) {
    std::vector<RowOfSlot> rows, spare;
    rows.reserve(static_cast<std::size_t>(until - from) / parts * 9 / 8 + 16);
    for (Index t = from; t < until; ++t)
        if (part_of(slots[t], parts) == part)
            rows.push_back({slots[t], t});
    if (rows.size() > 1)
        sort_by_slot(rows, spare);
    return rows;
}

// Rows that were learned, each seen by the watch of its slot; marks those that raise the alarm.
inline void watch_rows(Watch* watches, double limit, const KeyedRows& rows, Index from, Index until) {
    for (const auto& [slot, t] : rows_by_slot(rows.keys, from, until, rows.part, rows.parts)) {
        Watch& watch = watches[slot];
        if (watch.alarm.limit == 0)
            watch = new_watch(limit);
        if (watch.sees(rows.batch.y[t] - rows.predictions[t]) && rows.alarms)
            rows.alarms[t] = 1;
    }
}

// The same for errors alone, with alarms that begin with the first of them and are not kept.
inline void watch_errors(double limit, const Index* slots, const double* errors, Index count, std::uint32_t part,
                         std::uint32_t parts, std::uint8_t* alarms) {
    Watch watch;
    Index current = -1;
    for (const auto& [slot, t] : rows_by_slot(slots, 0, count, part, parts)) {
        if (slot != current) {
            watch = new_watch(limit);
            current = slot;
        }
        alarms[t] = watch.sees(errors[t]);
    }
}

} // namespace driftline
