// Export and import of an alarm's state.
#pragma once

#include "driftline/base/alarm.hpp"

#include "batch.hpp"

namespace driftline::bindings {

// Calls visit(name, numbers, count) for each array of the state. Whole numbers are in `counts`.
template <class Visit> void visit_alarm(Alarm& alarm, double (&counts)[5], double (&numbers)[4], Visit&& visit) {
    visit("counts", counts, 5);
    visit("numbers", numbers, 4);
    visit("evidence", alarm.evidence, 4);
    visit("share", alarm.share, 4);
    visit("size_half", alarm.size.half, alarm_scales);
    visit("size_variance", alarm.size.variance, alarm_scales);
    visit("sign_half", alarm.sign.half, alarm_scales);
    visit("sign_variance", alarm.sign.variance, alarm_scales);
    visit("early_size_last", &alarm.early[0].last, 1);
    visit("early_size_neighbours", &alarm.early[0].neighbours, 1);
    visit("early_size_recent", &alarm.early[0].recent, 1);
    visit("early_size_products", &alarm.early[0].products, 1);
    visit("early_sign_last", &alarm.early[1].last, 1);
    visit("early_sign_neighbours", &alarm.early[1].neighbours, 1);
    visit("early_sign_recent", &alarm.early[1].recent, 1);
    visit("early_sign_products", &alarm.early[1].products, 1);
    visit("latest", alarm.latest, alarm_warm_up);
    visit("sample", alarm.sample, alarm_sample);
}

template <class Visit> void write_alarm(Alarm alarm, Visit&& visit) {
    double counts[] = {static_cast<double>(alarm.count), static_cast<double>(alarm.known),
                       static_cast<double>(alarm.waiting), static_cast<double>(alarm.scores),
                       static_cast<double>(alarm.gathered)};
    double numbers[] = {alarm.limit, alarm.waited, alarm.current_share, alarm.early_share};
    visit_alarm(alarm, counts, numbers, visit);
}

inline bool is_sound(const Alarm& alarm) {
    const auto within = [](auto value, auto least, auto most) { return value >= least && value <= most; };
    bool sound = alarm.limit > 0 && within(alarm.known, Index{0}, alarm.count < alarm_sample ? alarm.count : alarm_sample) &&
                 within(alarm.scores, Index{0}, alarm.count) && within(alarm.waiting, Index{0}, alarm_warm_up) &&
                 within(alarm.waited, 0.0, static_cast<double>(alarm_warm_up)) &&
                 (alarm.known == at_least(Index{0}, alarm.count - alarm_start_up) || alarm.known >= alarm_warm_up) &&
                 (alarm.count < alarm_warm_up || alarm.known >= alarm_warm_up - alarm_start_up) &&
                 (alarm.waiting == 0 || alarm.count > alarm_warm_up) && within(alarm.current_share, DBL_MIN, 1.0) &&
                 within(alarm.early_share, DBL_MIN, 1.0) &&
                 within(alarm.gathered, Index{0}, std::min(alarm.known, alarm_gathered)) &&
                 std::is_sorted(alarm.sample, alarm.sample + alarm.known);
    for (int i = 0; i < 4; ++i)
        sound = sound && within(alarm.evidence[i], 0.0, alarm.limit) && within(alarm.share[i], DBL_MIN, 1.0);
    for (const BlockVariances* blocks : {&alarm.size, &alarm.sign})
        for (int k = 0; k < alarm_scales; ++k) {
            const double most = std::ldexp(9.0, k); // a sum of 2^k scores: no rank among 385 has a larger score
            sound = sound && within(blocks->half[k], -most, most) && within(blocks->variance[k], 0.0, 18 * most);
        }
    for (const NearbyProducts& early : alarm.early) {
        constexpr double most = 9, recent = 7 * most, count = alarm_early;
        sound = sound && within(early.last, -most, most) && within(early.recent, -recent, recent) &&
                within(early.neighbours, -count * most * most, count * most * most) &&
                within(early.products, -count * most * recent, count * most * recent);
    }
    return sound;
}

// Throws if no sequence of errors leads to the state.
template <class Visit> Alarm read_alarm(Visit&& visit) {
    constexpr double most_count = 9007199254740992.0; // 2^53
    double counts[5], numbers[4];
    Alarm read;
    visit_alarm(read, counts, numbers, visit);
    read.limit = numbers[0];
    read.waited = numbers[1];
    read.current_share = numbers[2];
    read.early_share = numbers[3];
    bool sound = true;
    Index* const to[] = {&read.count, &read.known, &read.waiting, &read.scores, &read.gathered};
    for (int i = 0; i < 5; ++i) {
        sound = sound && counts[i] >= 0 && counts[i] <= most_count && counts[i] == std::floor(counts[i]);
        *to[i] = sound ? static_cast<Index>(counts[i]) : 0;
    }
    if (!(sound && is_sound(read)))
        throw nb::value_error("the alarm's state is out of range");
    return read;
}

} // namespace driftline::bindings
