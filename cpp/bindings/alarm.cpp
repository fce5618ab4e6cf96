// The alarm.
#include "driftline/base/alarm.hpp"

#include "batch.hpp"

namespace driftline::bindings {

namespace {

constexpr double most_count = 9007199254740992.0; // 2^53

nb::dict get_state(const Alarm& alarm) {
    nb::dict out;
    const double counts[] = {static_cast<double>(alarm.count), static_cast<double>(alarm.known),
                             static_cast<double>(alarm.waiting), static_cast<double>(alarm.scores)};
    const double numbers[] = {alarm.limit, alarm.waited, alarm.current_share};
    out["counts"] = copy_out(counts, 4);
    out["numbers"] = copy_out(numbers, 3);
    out["evidence"] = copy_out(alarm.evidence, 3);
    out["share"] = copy_out(alarm.share, 3);
    out["size_half"] = copy_out(alarm.size.half, alarm_scales);
    out["size_variance"] = copy_out(alarm.size.variance, alarm_scales);
    out["sign_half"] = copy_out(alarm.sign.half, alarm_scales);
    out["sign_variance"] = copy_out(alarm.sign.variance, alarm_scales);
    out["latest"] = copy_out(alarm.latest, alarm_warm_up);
    out["sample"] = copy_out(alarm.sample, alarm_sample);
    return out;
}

bool is_sound(const Alarm& alarm) {
    const auto within = [](auto value, auto least, auto most) { return value >= least && value <= most; };
    bool sound = alarm.limit > 0 && within(alarm.known, Index{0}, alarm.count < alarm_sample ? alarm.count : alarm_sample) &&
                 within(alarm.scores, Index{0}, alarm.count) && within(alarm.waiting, Index{0}, alarm_warm_up) &&
                 within(alarm.waited, 0.0, static_cast<double>(alarm_warm_up)) &&
                 (alarm.waiting == 0 || alarm.known > alarm_warm_up) && within(alarm.current_share, DBL_MIN, 1.0) &&
                 std::is_sorted(alarm.sample, alarm.sample + alarm.known);
    for (int i = 0; i < 3; ++i)
        sound = sound && within(alarm.evidence[i], 0.0, alarm.limit) && within(alarm.share[i], DBL_MIN, 1.0);
    for (const BlockVariances* blocks : {&alarm.size, &alarm.sign})
        for (int k = 0; k < alarm_scales; ++k) {
            const double most = std::ldexp(9.0, k); // a sum of 2^k scores: no rank among 385 has a larger score
            sound = sound && within(blocks->half[k], -most, most) && within(blocks->variance[k], 0.0, 18 * most);
        }
    return sound;
}

void set_state(Alarm& alarm, const nb::dict& from) {
    double counts[4], numbers[3];
    Alarm read;
    copy_in(from, "counts", counts, 4);
    copy_in(from, "numbers", numbers, 3);
    copy_in(from, "evidence", read.evidence, 3);
    copy_in(from, "share", read.share, 3);
    copy_in(from, "size_half", read.size.half, alarm_scales);
    copy_in(from, "size_variance", read.size.variance, alarm_scales);
    copy_in(from, "sign_half", read.sign.half, alarm_scales);
    copy_in(from, "sign_variance", read.sign.variance, alarm_scales);
    copy_in(from, "latest", read.latest, alarm_warm_up);
    copy_in(from, "sample", read.sample, alarm_sample);
    read.limit = numbers[0];
    read.waited = numbers[1];
    read.current_share = numbers[2];
    bool sound = true;
    Index* const to[] = {&read.count, &read.known, &read.waiting, &read.scores};
    for (int i = 0; i < 4; ++i) {
        sound = sound && counts[i] >= 0 && counts[i] <= most_count && counts[i] == std::floor(counts[i]);
        *to[i] = sound ? static_cast<Index>(counts[i]) : 0;
    }
    if (!(sound && is_sound(read)))
        throw nb::value_error("the alarm's state is out of range");
    alarm = read;
}

} // namespace

void bind_alarm(nb::module_& m) {
    using nb::arg;
    nb::class_<Alarm>(m, "Alarm", "Detects that errors have become larger than they were.")
        .def(
            "__init__", [](Alarm* self, double limit) { (new (self) Alarm)->limit = limit; }, arg("limit"))
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
        .def_prop_ro("evidence", [](const Alarm& self) { return *std::max_element(self.evidence, self.evidence + 3); })
        .def("get_state", &get_state)
        .def("set_state", &set_state, arg("state"));
}

} // namespace driftline::bindings
