// Export and import of an alarm's state.
#pragma once

#include "driftline/base/alarm.hpp"

#include "batch.hpp"

namespace driftline::bindings {

inline constexpr int alarm_counts = 10, alarm_numbers = 9;
static_assert(sizeof(Scores) == 3 * sizeof(double) && sizeof(NearbyProducts) == 5 * sizeof(double));

// Calls visit(name, numbers, count) for each array of the state. Whole numbers are in `counts`.
template <class Visit>
void visit_alarm(Alarm& alarm, double (&counts)[alarm_counts], double (&numbers)[alarm_numbers], double (&began)[alarm_bets],
                 Visit&& visit) {
    Dependence& of = alarm.dependence;
    visit("counts", counts, alarm_counts);
    visit("numbers", numbers, alarm_numbers);
    visit("evidence", alarm.evidence, alarm_bets);
    visit("share", alarm.share, alarm_bets);
    visit("began", began, alarm_bets);
    visit("size_half", of.size_half, alarm_scales);
    visit("size_variance", of.size_variance, alarm_scales);
    visit("sign_half", of.sign_half, alarm_scales);
    visit("sign_variance", of.sign_variance, alarm_scales);
    visit("news_half", of.news_half, alarm_scales);
    visit("news_variance", of.news_variance, alarm_scales);
    visit("pairs", of.pairs, alarm_scales);
    visit("early", &alarm.early[0].last, 10);
    visit("before", &alarm.before[0].last, 10);
    visit("recent", &alarm.recent[0].size, 3 * alarm_held);
    visit("latest", alarm.latest, alarm_warm_up);
    visit("sample", alarm.sample.sorted, alarm_sample);
    visit("news", alarm.news.sorted, alarm_news_sample);
}

inline constexpr Index alarm_size = alarm_counts + alarm_numbers + 3 * alarm_bets + 7 * alarm_scales + 20 + 3 * alarm_held +
                                    alarm_warm_up + alarm_sample + alarm_news_sample;

template <class Visit> void write_alarm(Alarm alarm, Visit&& visit) {
    const Dependence& of = alarm.dependence;
    const auto number = [](Index count) { return static_cast<double>(count); };
    double counts[] = {number(alarm.count), number(alarm.sample.known), number(alarm.news.known), number(alarm.waiting),
                       number(alarm.fresh), number(alarm.scores),       number(alarm.held),       number(of.scores),
                       number(of.joined),   number(alarm.pause)};
    double numbers[] = {alarm.limit, alarm.waited, alarm.current_share, alarm.very_share, alarm.news_share,
                        alarm.kept,  of.squares,   of.products,         of.last};
    double began[alarm_bets];
    std::transform(alarm.began, alarm.began + alarm_bets, began, number);
    visit_alarm(alarm, counts, numbers, began, visit);
}

inline bool is_sound(const Dependence& of) {
    const auto within = [](auto value, auto least, auto most) { return value >= least && value <= most; };
    constexpr double most_score = 9; // no rank among 385 has a larger score
    bool sound = within(of.joined, Index{0}, of.scores) && within(of.squares, 0.0, most_score * most_score) &&
                 within(of.products, -most_score * most_score, most_score * most_score) &&
                 within(of.last, -most_score, most_score);
    const auto fits = [&](const double* half, const double* variance) {
        for (int k = 0; k < alarm_scales; ++k) {
            const double most = std::ldexp(most_score, k); // a sum of 2^k scores
            sound = sound && within(half[k], -most, most) && within(variance[k], 0.0, 18 * most);
        }
    };
    fits(of.size_half, of.size_variance);
    fits(of.sign_half, of.sign_variance);
    fits(of.news_half, of.news_variance);
    for (int k = 0; k < alarm_scales; ++k)
        sound = sound && within(of.pairs[k], 0.0, static_cast<double>(alarm_past >> (k + 1)));
    return sound;
}

inline bool is_sound(const Alarm& alarm) {
    const auto within = [](auto value, auto least, auto most) { return value >= least && value <= most; };
    constexpr Index none = 0;
    const Index known = alarm.sample.known, past = alarm.count;
    bool sound = alarm.limit > 0 && within(known, none, std::min(past, alarm_sample)) &&
                 (known == std::max(none, past - alarm_start_up) || known >= alarm_fewest) &&
                 (past < alarm_warm_up || known >= alarm_fewest) &&
                 within(alarm.news.known, none, alarm.kept > 0 ? std::min(past, alarm_news_sample) : none) &&
                 within(alarm.kept, 0.0, 63.0 / 64) && (alarm.kept == 0 || alarm.dependence.scores >= alarm_warm_up) &&
                 (alarm.waiting == 0 || (within(alarm.waiting, none, alarm.pause + alarm_block - 1) &&
                                         past > alarm_warm_up && (past + alarm.waiting) % alarm_block == 0)) &&
                 (alarm.pause == 0 || within(alarm.pause, alarm_pause, alarm_pause * static_cast<Index>(alarm_longest))) &&
                 alarm.pause % alarm_pause == 0 && within(alarm.waited, 0.0, static_cast<double>(alarm.pause / 2)) &&
                 (alarm.fresh == 0 || (within(alarm.fresh, alarm_fewest, alarm_warm_up) && past > alarm_warm_up)) &&
                 within(alarm.scores, none, past) && within(alarm.held, none, std::min(alarm.scores, alarm_held)) &&
                 alarm.dependence.scores <= alarm.scores - alarm.held && is_sound(alarm.dependence) &&
                 within(alarm.current_share, DBL_MIN, 1.0) && within(alarm.very_share, DBL_MIN, 1.0) &&
                 within(alarm.news_share, DBL_MIN, 1.0) &&
                 std::is_sorted(alarm.sample.sorted, alarm.sample.sorted + known) &&
                 std::is_sorted(alarm.news.sorted, alarm.news.sorted + alarm.news.known);
    for (int k = 0; k < alarm_bets; ++k)
        sound = sound && within(alarm.evidence[k], 0.0, alarm.limit) && within(alarm.share[k], DBL_MIN, 1.0) &&
                within(alarm.began[k], none, past);
    for (const NearbyProducts* of : {&alarm.early[0], &alarm.early[1], &alarm.before[0], &alarm.before[1]}) {
        constexpr double most = 9, recent = 7 * most, count = alarm_early;
        sound = sound && within(of->last, -most, most) && within(of->recent, -recent, recent) &&
                within(of->neighbours, -count * most * most, count * most * most) &&
                within(of->products, -count * most * recent, count * most * recent) && within(of->count, 0.0, count);
    }
    for (const Scores& scores : alarm.recent)
        for (const double score : {scores.size, scores.sign, scores.news})
            sound = sound && within(score, -9.0, 9.0);
    return sound;
}

// Throws if no sequence of errors leads to the state.
template <class Visit> Alarm read_alarm(Visit&& visit) {
    constexpr double most_count = 9007199254740992.0; // 2^53
    double counts[alarm_counts], numbers[alarm_numbers], began[alarm_bets];
    Alarm read;
    visit_alarm(read, counts, numbers, began, visit);
    bool sound = true;
    const auto take = [&](double from, Index& to) {
        sound = sound && from >= 0 && from <= most_count && from == std::floor(from);
        to = sound ? static_cast<Index>(from) : 0;
    };
    Dependence& of = read.dependence;
    Index* const whole[] = {&read.count,  &read.sample.known, &read.news.known, &read.waiting, &read.fresh,
                            &read.scores, &read.held,         &of.scores,       &of.joined,    &read.pause};
    for (int i = 0; i < alarm_counts; ++i)
        take(counts[i], *whole[i]);
    for (int k = 0; k < alarm_bets; ++k)
        take(began[k], read.began[k]);
    double* const real[] = {&read.limit, &read.waited, &read.current_share, &read.very_share, &read.news_share,
                            &read.kept,  &of.squares,  &of.products,        &of.last};
    for (int i = 0; i < alarm_numbers; ++i)
        *real[i] = numbers[i];
    if (!(sound && is_sound(read)))
        throw nb::value_error("the alarm's state is out of range");
    return read;
}

} // namespace driftline::bindings
