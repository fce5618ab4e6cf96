// Events.
#include "driftline/events/watch.hpp"

#include <nanobind/stl/vector.h>

#include "alarm_state.hpp"

namespace driftline::bindings {

namespace {

using events::Event;
using events::Watch;

nb::object table_of(const std::vector<Event>& found) {
    double* to;
    nb::object out = new_table(std::ssize(found), 7, to);
    for (const Event& event : found)
        for (const double value :
             {static_cast<double>(event.row), static_cast<double>(event.found), static_cast<double>(event.kind),
              static_cast<double>(event.column), event.before, event.after, event.confidence})
            *to++ = value;
    return out;
}

template <class T> auto reader(const Table2& X) {
    const T* from = static_cast<const T*>(X.data());
    const auto row = static_cast<Index>(X.stride(0)), column = static_cast<Index>(X.stride(1));
    return [=](Index i, Index j) { return static_cast<double>(from[i * row + j * column]); };
}

void add(Watch& self, Vector labels, Vector predictions, const Table2& X, const std::vector<bool>& coded) {
    const auto count = static_cast<Index>(labels.shape(0));
    require(static_cast<Index>(predictions.shape(0)) == count && static_cast<Index>(X.shape(0)) == count);
    const auto width = static_cast<Index>(X.shape(1));
    self.widen(width, coded);
    if (width < self.width()) // unknown in these rows
        self.add(labels.data(), predictions.data(), count, [](Index, Index) { return std::nan(""); });
    else if (X.dtype() == nb::dtype<float>())
        self.add(labels.data(), predictions.data(), count, reader<float>(X));
    else if (X.dtype() == nb::dtype<double>())
        self.add(labels.data(), predictions.data(), count, reader<double>(X));
    else
        throw nb::type_error("X must be float64 or float32");
}

nb::object explain(Vector labels, Vector errors, const Table2& X, Index from, Index to, const std::vector<bool>& coded) {
    const auto count = static_cast<Index>(labels.shape(0)), width = static_cast<Index>(X.shape(1));
    require(static_cast<Index>(errors.shape(0)) == count && static_cast<Index>(X.shape(0)) == count);
    require(from >= 0 && from <= to && to <= count && X.dtype() == nb::dtype<double>());
    const auto read = reader<double>(X);
    std::vector<double> values(static_cast<std::size_t>(count * width));
    std::vector<const double*> inputs;
    for (Index j = 0; j < width; ++j) {
        inputs.push_back(values.data() + j * count);
        for (Index i = 0; i < count; ++i)
            values[static_cast<std::size_t>(j * count + i)] = read(i, j);
    }
    return table_of(Watch::explain({labels.data(), errors.data(), inputs.data(), count, width}, from, to, coded));
}

template <class Visit> void visit_saved(events::SavedWatch& saved, Visit&& visit) {
    visit("watch_numbers", saved.numbers);
    visit("watch_tail", saved.tail);
    visit("watch_channels", saved.channels);
    visit("watch_events", saved.events);
    visit("watch_onsets", saved.onsets);
    visit("watch_suspects", saved.suspects);
    visit("watch_usual", saved.usual);
}

nb::dict get_state(const Watch& self) {
    nb::dict out;
    write_alarm(self.alarm(), [&](const char* name, const double* from, Index count) { out[name] = copy_out(from, count); });
    events::SavedWatch saved = self.save();
    visit_saved(saved, [&](const char* name, const std::vector<double>& from) {
        out[name] = copy_out(from.data(), std::ssize(from));
    });
    return out;
}

void set_state(Watch& self, const nb::dict& from) {
    const Alarm alarm = read_alarm([&](const char* name, double* to, Index count) { copy_in(from, name, to, count); });
    events::SavedWatch saved;
    visit_saved(saved, [&](const char* name, std::vector<double>& to) { // missing values are NaN, and limits infinite
        Vector array;
        if (!from.contains(name) || !nb::try_cast(from[name], array, false))
            throw nb::value_error((std::string("the state's ") + name + " has another shape or type").c_str());
        to.assign(array.data(), array.data() + array.size());
    });
    if (!self.restore(saved, alarm))
        throw nb::value_error("the watch's state is out of range");
}

} // namespace

void bind_events(nb::module_& m) {
    using nb::arg;
    nb::class_<Watch>(m, "Watch", "Finds events.")
        .def(nb::init<double>(), arg("limit"))
        .def("add", &add, arg("labels"), arg("predictions"), arg("X"), arg("coded"), "Takes rows.")
        .def(
            "events", [](const Watch& self) { return table_of(self.events()); }, "The events, one a row.")
        .def_prop_ro("rows", &Watch::rows)
        .def("get_state", &get_state)
        .def("set_state", &set_state, arg("state"));
    m.def("explain", &explain, arg("labels"), arg("errors"), arg("X"), arg("start"), arg("stop"), arg("coded"),
          "What distinguishes some rows from those before, one finding a row.");
}

} // namespace driftline::bindings
