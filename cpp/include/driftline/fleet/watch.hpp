// The alarms of many keys: rows are taken key by key, so that one alarm at a time is in the cache.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

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

// The error goes along, so that nothing is fetched from far away once the rows are sorted.
struct KeyedError {
    std::uint32_t slot, row; // alarms of more slots than that would not fit into any memory
    double error;
};

// Sorts by slot; the errors of a slot stay in their order. Radix sort, least significant digits first; `spare` has as much
// room. Returns which of the two holds the result.
inline KeyedError* sort_by_slot(KeyedError* errors, KeyedError* spare, std::size_t count) {
    constexpr int bits = 8;
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < count; ++i)
        most = errors[i].slot > most ? errors[i].slot : most;
    for (int shift = 0; shift < 32 && most >> shift != 0; shift += bits) {
        std::array<std::size_t, (1 << bits) + 1> places{};
        const auto digit = [shift](const KeyedError& error) { return error.slot >> shift & ((1u << bits) - 1); };
        for (std::size_t i = 0; i < count; ++i)
            ++places[digit(errors[i]) + 1];
        for (std::size_t i = 1; i < places.size(); ++i)
            places[i] += places[i - 1];
        for (std::size_t i = 0; i < count; ++i)
            spare[places[digit(errors[i])]++] = errors[i];
        std::swap(errors, spare);
    }
    return errors;
}

// The errors of rows [from, until) whose slots part_of gives to `part`, one slot after the other.
template <class Error, class See>
void see_by_slot(const Index* slots, Index from, Index until, std::uint32_t part, std::uint32_t parts, Error&& error,
                 See&& see) {
    const std::size_t room = static_cast<std::size_t>(until - from);
    const auto memory = std::make_unique_for_overwrite<KeyedError[]>(2 * room);
    std::size_t count = 0;
    for (Index t = from; t < until; ++t) {
        memory[count] = {static_cast<std::uint32_t>(slots[t]), static_cast<std::uint32_t>(t - from), error(t)};
        count += part_of(slots[t], parts) == part;
    }
    const KeyedError* const sorted = sort_by_slot(memory.get(), memory.get() + room, count);
    for (std::size_t i = 0; i < count; ++i)
        see(sorted[i]);
}

// Rows that were learned, each seen by the watch of its slot; marks those that raise the alarm.
inline void watch_rows(Watch* watches, double limit, const KeyedRows& rows, Index from, Index until) {
    const auto error_of = [&](Index t) { return rows.batch.y[t] - rows.predictions[t]; };
    see_by_slot(rows.keys, from, until, rows.part, rows.parts, error_of, [&](const KeyedError& error) {
        Watch& watch = watches[error.slot];
        if (watch.alarm.limit == 0)
            watch = new_watch(limit);
        if (watch.sees(error.error) && rows.alarms)
            rows.alarms[from + error.row] = 1;
    });
}

// The same for errors alone, with alarms that begin with the first of them and are not kept.
inline void watch_errors(double limit, const Index* slots, const double* errors, Index count, std::uint32_t part,
                         std::uint32_t parts, std::uint8_t* alarms) {
    Watch watch;
    std::uint32_t current = 0;
    const auto error_of = [&](Index t) { return errors[t]; };
    see_by_slot(slots, 0, count, part, parts, error_of, [&](const KeyedError& error) {
        if (watch.alarm.limit == 0 || error.slot != current)
            watch = new_watch(limit);
        current = error.slot;
        if (watch.sees(error.error))
            alarms[error.row] = 1;
    });
}

} // namespace driftline
