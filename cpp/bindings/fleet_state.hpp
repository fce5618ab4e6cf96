// Export and import of a fleet's state: an array for each field of a slot, with a row for each trained model.
#pragma once

#include "alarm_state.hpp"
#include "first_order_core.hpp"
#include "second_order_core.hpp"

#include <nanobind/stl/string.h>

#include "driftline/fleet/model.hpp"

namespace driftline::bindings {

struct Field {
    const char* name;
    Index place, count;
    bool doubles;    // else the model's type
    Index added = 0; // numbers at the end that came after the first format
};

template <class T> std::vector<Field> fields_of(const SecondOrderState<T>& m, const SlotLayout& at) {
    const Index triangle = triangle_entries(m.d, !m.additive);
    std::vector<Field> fields{{"weights", at.weights, m.d, false}, {"matrix", at.matrix, triangle, false}};
    if (!m.additive)
        fields.push_back({"diagonal", at.diagonal, m.d, true});
    if (m.guard.u) {
        fields.push_back({"guard_matrix", at.guard_matrix, triangle, false});
        fields.push_back({"guard_diagonal", at.guard_diagonal, m.d, true});
    }
    fields.push_back({"sums", at.sums, sums_count, true, sums_added});
    return fields;
}
template <class T> std::vector<Field> fields_of(const FirstOrderState<T>& m, const SlotLayout& at) {
    std::vector<Field> fields{{"weights", at.weights, m.d, false}};
    if (m.logs)
        fields.push_back({"logs", at.logs, 2 * m.d, true});
    fields.push_back({"sums", at.sums, first_order_sums_count, true});
    return fields;
}

template <class Model> std::vector<Index> used_slots(FleetModel<Model>& fleet) {
    std::vector<Index> used;
    for (Index i = 0; i < fleet.size(); ++i)
        if (fleet.head(i).call)
            used.push_back(i);
    return used;
}

template <class T, class Model>
nb::object field_out(FleetModel<Model>& fleet, const std::vector<Index>& slots, const Field& field) {
    const Index rows = static_cast<Index>(slots.size());
    T* to;
    nb::object table = new_table(rows, field.count, to);
    const std::size_t bytes = static_cast<std::size_t>(field.count) * sizeof(T);
    for (Index r = 0; r < rows; ++r)
        std::memcpy(to + r * field.count, fleet.content(slots[static_cast<std::size_t>(r)]) + field.place, bytes);
    return table;
}

using Indices = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline Indices indices_in(const nb::dict& state, const char* name) {
    Indices indices;
    if (!state.contains(name) || !nb::try_cast(state[name], indices, false))
        throw nb::value_error((std::string("the state lacks ") + name).c_str());
    return indices;
}

inline nb::object indices_out(const std::vector<Index>& values) {
    return copy_out(values.data(), static_cast<Index>(values.size()));
}

inline constexpr const char *slots_part = "slots", *skipped_part = "skipped", *coverage_part = "coverage",
                            *judged_part = "judged", *alarms_part = "alarms";

// The numbers of an alarm, then how often it was raised and when.
inline constexpr Index watch_size = alarm_size + 2;

inline void write_watch(const Watch& watch, double* to) {
    write_alarm(watch.alarm, [&](const char*, const double* from, Index count) { to = std::copy(from, from + count, to); });
    to[0] = static_cast<double>(watch.raised);
    to[1] = static_cast<double>(watch.last);
}
inline Watch read_watch(const double* from, double limit) {
    Watch out;
    if (std::all_of(from, from + watch_size, [](double number) { return number == 0; }))
        return out; // no error yet
    out.alarm = read_alarm([&](const char*, double* to, Index count) {
        std::copy(from, from + count, to);
        from += count;
    });
    const double raised = from[0], last = from[1];
    if (!(raised >= 0 && raised == std::floor(raised) && last >= raised && last == std::floor(last) &&
          last <= static_cast<double>(out.alarm.count)) ||
        out.alarm.limit != limit)
        throw nb::value_error("the alarm's state is out of range");
    out.raised = static_cast<Index>(raised);
    out.last = static_cast<Index>(last);
    return out;
}

// An array with a row for each slot, written by `write`.
template <class Write> nb::object rows_out(const std::vector<Index>& slots, Index count, Write&& write) {
    double* to;
    nb::object table = new_table(static_cast<Index>(slots.size()), count, to);
    for (std::size_t r = 0; r < slots.size(); ++r)
        write(slots[r], to + static_cast<Index>(r) * count);
    return table;
}
template <class Model> nb::object coverage_out(FleetModel<Model>& fleet, const std::vector<Index>& slots) {
    return rows_out(slots, coverage_size, [&](Index slot, double* to) {
        const nb::object row = copy_coverage(fleet.tracker(slot)->coverage);
        std::copy_n(nb::cast<Vector>(row).data(), coverage_size, to);
    });
}

template <class Model> std::vector<std::string> state_names(FleetModel<Model>& fleet) {
    std::vector<std::string> names{slots_part, skipped_part};
    if (fleet.options().intervals)
        names.insert(names.end(), {coverage_part, judged_part});
    if (fleet.options().alarm_limit > 0)
        names.emplace_back(alarms_part);
    for (const Field& field : fields_of(fleet.new_worker()->state, fleet.layout()))
        names.emplace_back(field.name);
    return names;
}

// Restarts broken slots, as a separate model does when its state is saved.
template <class T, class Model> void restart_broken_slots(FleetModel<Model>& fleet, const std::vector<Index>& used) {
    if constexpr (requires(Model model) { restart_where_broken(model.state); }) {
        const auto worker = fleet.new_worker();
        for (Index slot : used) {
            take_from_slot(worker->state, fleet.layout(), fleet.content(slot));
            if (restart_where_broken(worker->state))
                put_in_slot(worker->state, fleet.layout(), fleet.slot(slot));
        }
    }
}

// One array of the state; the arrays need not all be in memory at once.
template <class T, class Model> nb::object state_part(FleetModel<Model>& fleet, const std::string& name) {
    const std::vector<Index> used = used_slots(fleet);
    if (name == slots_part)
        return indices_out(used);
    if (name == skipped_part) {
        std::vector<Index> skipped;
        for (Index slot : used)
            skipped.push_back(static_cast<Index>(fleet.head(slot).skipped));
        return indices_out(skipped);
    }
    if (name == coverage_part && fleet.options().intervals)
        return coverage_out(fleet, used);
    if (name == judged_part && fleet.options().intervals)
        return rows_out(used, 2, [&](Index slot, double* to) {
            to[0] = fleet.tracker(slot)->judged;
            to[1] = fleet.tracker(slot)->inside;
        });
    if (name == alarms_part && fleet.options().alarm_limit > 0)
        return rows_out(used, watch_size, [&](Index slot, double* to) { write_watch(*fleet.watch(slot), to); });
    restart_broken_slots<T>(fleet, used);
    for (const Field& field : fields_of(fleet.new_worker()->state, fleet.layout()))
        if (name == field.name)
            return field.doubles ? field_out<double>(fleet, used, field) : field_out<T>(fleet, used, field);
    throw nb::key_error(name.c_str());
}

// Restores what the fleet keeps besides the models, for the rows of a state, in their slots.
template <class Model> void fill_kept(FleetModel<Model>& fleet, const nb::dict& from, const Indices& slots) {
    const Index rows = static_cast<Index>(slots.shape(0));
    if (fleet.options().intervals) {
        const auto coverage = table_in<double>(from, coverage_part, rows, coverage_size, least_coverage_size);
        const auto judged = table_in<double>(from, judged_part, rows, 2);
        const auto size = static_cast<Index>(coverage.shape(1));
        for (Index r = 0; r < rows; ++r) {
            Tracker& tracker = *fleet.tracker(slots.data()[r]);
            tracker = Tracker{};
            set_coverage(coverage.data() + r * size, size, tracker.coverage);
            tracker.judged = judged.data()[2 * r];
            tracker.inside = judged.data()[2 * r + 1];
            if (!(tracker.inside >= 0 && tracker.judged >= tracker.inside))
                throw nb::value_error("the state's judged is out of range");
        }
    }
    if (fleet.options().alarm_limit > 0) {
        const auto alarms = table_in<double>(from, alarms_part, rows, watch_size);
        for (Index r = 0; r < rows; ++r)
            *fleet.watch(slots.data()[r]) = read_watch(alarms.data() + r * watch_size, fleet.options().alarm_limit);
    }
}

// A field of all models of a state.
struct SavedColumn {
    nb::object array;
    const std::byte* data;
    Index place, bytes;
};
template <class T> SavedColumn saved_column(const nb::dict& from, const Field& field, Index rows) {
    const auto table = table_in<T>(from, field.name, rows, field.count, field.count - field.added);
    const Index bytes = table.is_valid() ? static_cast<Index>(table.shape(1) * sizeof(T)) : 0;
    return {nb::cast(table), reinterpret_cast<const std::byte*>(table.data()), field.place, bytes};
}

// Fills a fresh fleet; throws if the state is invalid, and the fleet must then be discarded.
template <class T, class Model> void fill_fleet(FleetModel<Model>& fleet, const nb::dict& from) {
    const Indices slots = indices_in(from, slots_part), skipped = indices_in(from, skipped_part);
    const Index rows = static_cast<Index>(slots.shape(0));
    if (static_cast<Index>(skipped.shape(0)) != rows)
        throw nb::value_error("the state's slots and skipped differ in length");
    for (Index r = 0; r < rows; ++r)
        if (slots.data()[r] < (r ? slots.data()[r - 1] + 1 : 0) || slots.data()[r] >= fleet.size() || skipped.data()[r] < 0)
            throw nb::value_error("the state's slots are out of range");
    const auto worker = fleet.new_worker();
    std::vector<std::byte> fresh(static_cast<std::size_t>(fleet.layout().size));
    put_in_slot(worker->state, fleet.layout(), fresh.data());
    std::vector<SavedColumn> saved;
    for (const Field& field : fields_of(worker->state, fleet.layout()))
        saved.push_back(field.doubles ? saved_column<double>(from, field, rows) : saved_column<T>(from, field, rows));
    for (Index r = 0; r < rows; ++r) {
        std::byte* const slot = fleet.slot(slots.data()[r]);
        std::copy(fresh.begin(), fresh.end(), slot);
        for (const SavedColumn& column : saved)
            std::copy_n(column.data + r * column.bytes, column.bytes, slot + column.place);
        take_from_slot(worker->state, fleet.layout(), slot);
        check_state(worker->state);
        const SlotHead head{fleet.call(), static_cast<std::uint64_t>(skipped.data()[r])};
        std::memcpy(slot, &head, sizeof head);
    }
    fill_kept(fleet, from, slots);
    fleet.accept();
}

} // namespace driftline::bindings
