// The alarms of many keys. Rows are grouped by key, so only one alarm at a time needs to be in the cache.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "driftline/base/alarm.hpp"
#include "driftline/fleet/slots.hpp"

namespace driftline {

// The alarm of a slot. All zeros is the state before the first error.
struct Watch {
    Alarm alarm;
    Index raised = 0; // number of alarms
    Index last = 0;   // number of errors up to and including the one that raised the last alarm

    // Processes `count` errors; calls mark(i) for each that raises the alarm.
    template <class Error, class Mark> void see(Index count, Error&& error, Mark&& mark) {
        driftline::watch(alarm, count, error, [&](Index i, Index seen) {
            ++raised;
            last = seen;
            mark(i);
        });
    }
};

inline Watch new_watch(double limit) {
    Watch watch;
    watch.alarm.limit = limit;
    return watch;
}

// Carries the error along, so the sorted pass makes no distant memory accesses.
struct KeyedError {
    std::uint32_t slot, row; // 32 bits suffice: the alarms of more slots would not fit in memory
    double error;
};

// Stable LSD radix sort by slot. `spare` is a buffer of the same size. Returns whichever of the two holds the result.
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

// Calls see(slot, count, errors) with the errors of rows [from, until), for each slot that part_of assigns to `part`.
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
    for (std::size_t i = 0, next = 0; i < count; i = next) {
        while (next < count && sorted[next].slot == sorted[i].slot)
            ++next;
        see(sorted[i].slot, static_cast<Index>(next - i), sorted + i);
    }
}

// Passes each learned row's error to the watch of its slot; marks the rows that raise the alarm.
inline void watch_rows(Watch* watches, double limit, const KeyedRows& rows, Index from, Index until) {
    const auto error_of = [&](Index t) { return rows.batch.y[t] - rows.out.predictions[t]; };
    const auto see = [&](std::uint32_t slot, Index count, const KeyedError* errors) {
        Watch& watch = watches[slot];
        if (watch.alarm.limit == 0)
            watch = new_watch(limit);
        watch.see(
            count, [&](Index i) { return errors[i].error; },
            [&](Index i) {
                if (rows.alarms)
                    rows.alarms[from + errors[i].row] = 1;
            });
    };
    see_by_slot(rows.keys, from, until, rows.part, rows.parts, error_of, see);
}

// The same for errors alone, with temporary alarms that start at the first error.
inline void watch_errors(double limit, const Index* slots, const double* errors, Index count, std::uint32_t part,
                         std::uint32_t parts, std::uint8_t* alarms) {
    const auto see = [&](std::uint32_t, Index seen, const KeyedError* sorted) {
        Watch watch = new_watch(limit);
        watch.see(seen, [&](Index i) { return sorted[i].error; }, [&](Index i) { alarms[sorted[i].row] = 1; });
    };
    see_by_slot(slots, 0, count, part, parts, [&](Index t) { return errors[t]; }, see);
}

} // namespace driftline
