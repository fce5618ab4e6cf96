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

// The error goes along, so that nothing is fetched from far away once the rows are sorted.
struct KeyedError {
    std::uint32_t slot, row; // alarms of more slots than that would not fit into any memory
    double error;
};

// Sorts by slot; the errors of a slot stay in their order. Radix sort, least significant digits first.
inline void sort_by_slot(std::vector<KeyedError>& errors) {
    constexpr int bits = 8;
    std::uint32_t most = 0;
    for (const KeyedError& error : errors)
        most = error.slot > most ? error.slot : most;
    std::vector<KeyedError> spare(errors.size());
    for (int shift = 0; shift < 32 && most >> shift != 0; shift += bits) {
        std::array<std::size_t, (1 << bits) + 1> places{};
        const auto digit = [shift](const KeyedError& error) { return error.slot >> shift & ((1u << bits) - 1); };
        for (const KeyedError& error : errors)
            ++places[digit(error) + 1];
        for (std::size_t i = 1; i < places.size(); ++i)
            places[i] += places[i - 1];
        for (const KeyedError& error : errors)
            spare[places[digit(error)]++] = error;
        errors.swap(spare);
    }
}

// The errors of rows [from, until) whose slots part_of gives to `part`, one slot after the other. Rows count from `from`.
template <class Error>
std::vector<KeyedError> errors_by_slot(const Index* slots, Index from, Index until, std::uint32_t part, std::uint32_t parts,
                                       Error&& error) {
    std::vector<KeyedError> out;
    out.reserve(static_cast<std::size_t>(until - from) / parts * 9 / 8 + 16);
    for (Index t = from; t < until; ++t)
        if (part_of(slots[t], parts) == part)
            out.push_back({static_cast<std::uint32_t>(slots[t]), static_cast<std::uint32_t>(t - from), error(t)});
    if (out.size() > 1)
        sort_by_slot(out);
    return out;
}

// Rows that were learned, each seen by the watch of its slot; marks those that raise the alarm.
inline void watch_rows(Watch* watches, double limit, const KeyedRows& rows, Index from, Index until) {
    const auto error_of = [&](Index t) { return rows.batch.y[t] - rows.predictions[t]; };
    for (const auto& [slot, row, error] : errors_by_slot(rows.keys, from, until, rows.part, rows.parts, error_of)) {
        Watch& watch = watches[slot];
        if (watch.alarm.limit == 0)
            watch = new_watch(limit);
        if (watch.sees(error) && rows.alarms)
            rows.alarms[from + row] = 1;
    }
}

// The same for errors alone, with alarms that begin with the first of them and are not kept.
inline void watch_errors(double limit, const Index* slots, const double* errors, Index count, std::uint32_t part,
                         std::uint32_t parts, std::uint8_t* alarms) {
    Watch watch;
    std::uint32_t current = 0;
    for (const auto& [slot, row, error] : errors_by_slot(slots, 0, count, part, parts, [&](Index t) { return errors[t]; })) {
        if (watch.alarm.limit == 0 || slot != current)
            watch = new_watch(limit);
        current = slot;
        if (watch.sees(error))
            alarms[row] = 1;
    }
}

} // namespace driftline
