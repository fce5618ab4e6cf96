// The alarm.
#include "alarm_state.hpp"

namespace driftline::bindings {

namespace {

nb::dict get_state(const Alarm& alarm) {
    nb::dict out;
    write_alarm(alarm, [&](const char* name, const double* from, Index count) { out[name] = copy_out(from, count); });
    return out;
}

void set_state(Alarm& alarm, const nb::dict& from) {
    alarm = read_alarm([&](const char* name, double* to, Index count) { copy_in(from, name, to, count); });
}

} // namespace

void bind_alarm(nb::module_& m) {
    using nb::arg;
    nb::class_<Alarm>(m, "Alarm", "Detects that errors have become larger.")
        .def(
            "__init__", [](Alarm* self, double limit) { (new (self) Alarm)->limit = limit; }, arg("limit"))
        .def(
            "watch",
            [](Alarm& self, Vector errors, OutIndices raised) {
                if (raised.shape(0) != errors.shape(0))
                    throw nb::value_error("the shapes do not agree");
                Index found = 0;
                watch(
                    self, static_cast<Index>(errors.shape(0)), [&](Index t) { return errors.data()[t]; },
                    [&](Index t, Index) { raised.data()[found++] = t; });
                return found;
            },
            arg("errors"), arg("raised"), "Writes the rows that raise the alarm; returns how many.")
        .def_prop_ro("evidence",
                     [](const Alarm& self) {
                         return at_most(*std::max_element(self.evidence, self.evidence + bet_smaller), self.limit);
                     })
        .def("get_state", &get_state)
        .def("set_state", &set_state, arg("state"));
}

} // namespace driftline::bindings
