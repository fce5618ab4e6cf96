// The alarm.
#include "driftline/base/alarm.hpp"

#include "batch.hpp"

namespace driftline::bindings {

namespace {

nb::dict get_state(const Alarm& alarm) {
    nb::dict out;
    const double numbers[] = {alarm.limit, alarm.evidence, static_cast<double>(alarm.count)};
    out["numbers"] = copy_out(numbers, 3);
    out["sizes"] = copy_out(alarm.sizes, alarm_memory);
    return out;
}

void set_state(Alarm& alarm, const nb::dict& from) {
    double numbers[3];
    Alarm read;
    copy_in(from, "numbers", numbers, 3);
    copy_in(from, "sizes", read.sizes, alarm_memory);
    read.limit = numbers[0];
    read.evidence = numbers[1];
    const bool sound = read.limit > 0 && read.evidence >= 0 && read.evidence <= read.limit && numbers[2] >= 0 &&
                       numbers[2] <= 9007199254740992.0 && numbers[2] == std::floor(numbers[2]);
    if (!sound)
        throw nb::value_error("the alarm's state is out of range");
    read.count = static_cast<Index>(numbers[2]);
    alarm = read;
}

} // namespace

void bind_alarm(nb::module_& m) {
    using nb::arg;
    nb::class_<Alarm>(m, "Alarm", "Tells when errors have become larger than they were.")
        .def(
            "__init__", [](Alarm* self, double limit) { new (self) Alarm{.limit = limit}; }, arg("limit"))
        .def(
            "watch",
            [](Alarm& self, Vector errors, OutIndices raised) {
                if (raised.shape(0) != errors.shape(0))
                    throw nb::value_error("the shapes do not agree");
                Index found = 0;
                for (Index t = 0; t < static_cast<Index>(errors.shape(0)); ++t)
                    if (raises(self, errors.data()[t]))
                        raised.data()[found++] = t;
                return found;
            },
            arg("errors"), arg("raised"), "Writes the rows that raise the alarm; returns how many.")
        .def_prop_ro("evidence", [](const Alarm& self) { return self.evidence; })
        .def("get_state", &get_state)
        .def("set_state", &set_state, arg("state"));
}

} // namespace driftline::bindings
