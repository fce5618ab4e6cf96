// Detects that errors have become larger than they were.
//
// Three CUSUMs of log-bets watch for larger errors, for a shift upwards and for a shift downwards. The bets depend only on
// the ranks of an error among the errors before it: the share p of larger sizes, and the signed rank as a normal score z.
// While the errors are exchangeable, power p^(power - 1) and exp(shift z - shift^2 / 2) have means of at most 1.
//
// Errors that depend on each other come in stretches, and their bets add up to more than independent ones. Each log-bet is
// therefore multiplied by a share of at most 1, the reciprocal of how much more sums of neighbouring scores vary than
// those of independent scores would. The share of a CUSUM is fixed while its evidence is above 0, so that a change does
// not reduce the evidence for itself.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "driftline/base/normal.hpp"
#include "driftline/base/range.hpp"

namespace driftline {

inline constexpr Index alarm_memory = 2048, alarm_warm_up = 64, alarm_past = 8192;
inline constexpr int alarm_scales = 9;
inline constexpr double alarm_power = 0.6, alarm_shift = 2;

// The variance of sums of 1, 2, 4, ... neighbouring scores per score: half the mean square of the difference between
// two neighbouring sums, which neither the mean nor a slow drift of the scores enters (Allan's variance).
struct BlockVariances {
    double half[alarm_scales] = {}; // the first sum of a pair
    double variance[alarm_scales] = {};

    static double pairs(Index scores, int k) {
        return static_cast<double>((scores < alarm_past ? scores : alarm_past) >> (k + 1));
    }
    // `scores` have been added before. Bit k of that number says whether half[k] waits for its neighbour.
    void add(double score, Index scores) {
        double sum = score;
        for (int k = 0; k < alarm_scales; ++k) {
            if ((scores >> k & 1) == 0) {
                half[k] = sum;
                return;
            }
            const double gap = half[k] - sum;
            variance[k] += (std::ldexp(gap * gap, -k - 1) - variance[k]) / pairs(scores + 1, k);
            sum += half[k];
        }
    }
    // The largest variance that is certain: two standard errors of a mean of squared normal numbers are taken off.
    double largest(Index scores) const {
        double out = 0;
        for (int k = 0; k < alarm_scales && scores >> (k + 1) != 0; ++k)
            out = at_least(out, variance[k] / (1 + 2 * std::sqrt(2 / pairs(scores, k))));
        return out;
    }
};

struct Alarm {
    double limit = 0;                  // of the evidence
    double evidence[3] = {};           // for larger errors, a shift upwards, a shift downwards
    double share[3] = {1, 1, 1};       // of its log-bets that count
    Index count = 0;                   // errors
    Index known = 0;                   // the latest of them, which new ones are ranked among
    Index waiting = 0;                 // errors until an alarm may follow the last one
    double waited = 0;                 // sum of p over the errors since the last alarm
    Index scores = 0;                  // ranks that made bets
    BlockVariances size, sign;         // of -log p and of z
    double errors[alarm_memory] = {};  // a ring
    double ordered[alarm_memory] = {}; // the known ones

    Index below(double value) const { return std::lower_bound(ordered, ordered + known, value) - ordered; }
    Index up_to(double value) const { return std::upper_bound(ordered, ordered + known, value) - ordered; }
    double rank(Index twice) const { return 0.5 * static_cast<double>(twice + 1) / static_cast<double>(known + 1); }
    // The share of errors that are smaller, and of those whose size is larger; half of equal ones count, and half of itself.
    double smaller(double error) const { return rank(below(error) + up_to(error)); }
    double larger(double size) const {
        const Index inside = up_to(size) - below(-size), inside_open = size > 0 ? below(size) - up_to(-size) : 0;
        return rank(2 * known - inside - inside_open);
    }
    // Keeps the latest errors.
    void remember(Index latest) {
        known = latest;
        for (Index i = 0; i < known; ++i)
            ordered[i] = errors[(count - known + i) % alarm_memory];
        std::sort(ordered, ordered + known);
    }
    void insert(double error) {
        double& place = errors[count % alarm_memory];
        if (known == alarm_memory) {
            const Index old = below(place);
            std::copy(ordered + old + 1, ordered + known, ordered + old);
            --known;
        }
        const Index at = up_to(error);
        std::copy_backward(ordered + at, ordered + known, ordered + known + 1);
        ordered[at] = place = error;
        ++known;
        ++count;
    }
    // Independent scores have the variance 1. Early on, when little is known about their dependence, bets are smaller.
    double current_share() const {
        constexpr double unknown = 128;
        const double varies = at_least(at_least(1, size.largest(scores)), sign.largest(scores));
        return 1 / (varies * (1 + unknown / static_cast<double>(scores + 1)));
    }
};

inline double normal_score(double p) {
    const double q = p - 0.5;
    return std::fabs(q) <= normal_middle ? normal_in_the_middle(q) : normal_in_the_tails(q);
}

// Whether the evidence exceeds the limit with this error.
inline bool bet(Alarm& alarm, double p, double z) {
    constexpr double most = 3; // one outlier or two are not enough for an alarm
    // A shift that makes errors smaller does not count: no score exceeds that of the size.
    const double score = at_most(-normal_score(0.5 * p), most), half_square = 0.5 * alarm_shift * alarm_shift;
    const double log_bets[] = {std::log(alarm_power) + (alarm_power - 1) * std::log(p),
                               alarm_shift * at_most(z, score) - half_square,
                               alarm_shift * at_most(-z, score) - half_square};
    const double share = alarm.current_share();
    bool raised = false;
    for (int i = 0; i < 3; ++i) {
        if (alarm.evidence[i] == 0)
            alarm.share[i] = share;
        alarm.evidence[i] = at_least(0, alarm.evidence[i] + alarm.share[i] * log_bets[i]);
        raised = raised || alarm.evidence[i] > alarm.limit;
    }
    alarm.size.add(-std::log(p), alarm.scores);
    alarm.sign.add(z, alarm.scores);
    ++alarm.scores;
    return raised;
}

// After an alarm, the next errors are compared with those before it. If they are larger, they are the new standard.
inline void wait(Alarm& alarm, double p) {
    constexpr double least = 0.43; // of the mean of p: 2 standard deviations below 1/2
    alarm.waited += p;
    if (--alarm.waiting == 0 && alarm.waited < least * alarm_warm_up)
        alarm.remember(alarm_warm_up);
}

// Whether this error raises the alarm. NaN is passed over.
inline bool raises(Alarm& alarm, double error) {
    if (std::isnan(error))
        return false;
    const double value = saturate(error, DBL_MAX);
    const double p = alarm.larger(std::fabs(value)), q = alarm.smaller(value);
    const bool ranked = alarm.known >= alarm_warm_up;
    alarm.insert(value);
    if (alarm.waiting > 0)
        wait(alarm, p);
    else if (ranked && bet(alarm, p, normal_score(q))) {
        std::fill_n(alarm.evidence, 3, 0.0);
        alarm.waiting = alarm_warm_up;
        alarm.waited = 0;
        return true;
    }
    return false;
}

} // namespace driftline
