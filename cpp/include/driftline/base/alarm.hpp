// Detects that errors have become larger than they were.
//
// Three CUSUMs of log-bets watch for larger errors, for a shift upwards and for a shift downwards. The bets depend only on
// the ranks of an error in a sample of the errors before it: the share p of larger sizes, and the signed rank as a normal
// score z. While the errors are exchangeable, power p^(power - 1) and exp(shift z - shift^2 / 2) have means of at most 1.
//
// Errors that depend on each other come in stretches, and their bets add up to more than independent ones. Each log-bet is
// therefore multiplied by a share of at most 1, the reciprocal of how much more sums of neighbouring scores vary than
// those of independent scores would. The share of a CUSUM is fixed while its evidence is above 0, so that a change does
// not reduce the evidence for itself.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <utility>

#include "driftline/base/normal.hpp"
#include "driftline/base/range.hpp"

namespace driftline {

inline constexpr Index alarm_sample = 384, alarm_stride = 4, alarm_warm_up = 64, alarm_past = 8192, alarm_pause = 16;
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
        double sum = score, per_score = 0.5;
        for (int k = 0; k < alarm_scales; ++k, per_score *= 0.5) {
            if ((scores >> k & 1) == 0) {
                half[k] = sum;
                return;
            }
            const double gap = half[k] - sum;
            variance[k] += (gap * gap * per_score - variance[k]) / pairs(scores + 1, k);
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
    double current_share = 1;          // of log-bets that begin now, found once in alarm_pause scores
    Index count = 0;                   // errors
    Index known = 0;                   // size of the sample
    Index waiting = 0;                 // errors until an alarm may follow the last one
    double waited = 0;                 // sum of p over the errors since the last alarm
    Index scores = 0;                  // ranks that made bets
    BlockVariances size, sign;         // of -log p and of z
    double latest[alarm_warm_up] = {}; // errors, a ring
    double sample[alarm_sample] = {};  // of the errors, in order: new ones are ranked among them

    // How many sampled errors are below -size, and below size. Both searches in step, without a branch that depends on them.
    std::pair<Index, Index> below(double size) const {
        const double *left = sample, *right = sample;
        for (Index rest = known; rest > 0; rest /= 2) {
            const Index half = (rest + 1) / 2;
            left += half * (left[half - 1] < -size);
            right += half * (right[half - 1] < size);
        }
        return {left - sample, right - sample};
    }
    // The same, up to and including the value, given how many are below.
    Index up_to(double value, Index below) const {
        if (below == known || sample[below] != value)
            return below;
        return std::upper_bound(sample + below, sample + known, value) - sample;
    }
    double rank(Index twice) const { return 0.5 * static_cast<double>(twice + 1) / static_cast<double>(known + 1); }

    // Only the latest errors are the sample.
    void restart() {
        known = alarm_warm_up;
        std::copy(latest, latest + known, sample);
        std::sort(sample, sample + known);
    }
    // Once the sample is full, one error in alarm_stride takes the place of another. The ranks of those that leave follow
    // the multiples of the golden ratio: all ranks leave equally often, so that what is left is spread as before.
    void insert(double error, Index at) {
        latest[count % alarm_warm_up] = error;
        ++count;
        if (known < alarm_sample) {
            std::copy_backward(sample + at, sample + known, sample + known + 1);
            sample[at] = error;
            ++known;
            return;
        }
        if (count % alarm_stride != 0)
            return;
        const auto turn = static_cast<std::uint32_t>(count / alarm_stride) * 0x9E3779B9u;
        const Index old = static_cast<Index>(static_cast<std::uint64_t>(turn) * alarm_sample >> 32);
        if (old < at) {
            std::copy(sample + old + 1, sample + at, sample + old);
            sample[at - 1] = error;
        } else {
            std::copy_backward(sample + at, sample + old, sample + old + 1);
            sample[at] = error;
        }
    }
    // Independent scores have the variance 1. Early on, when little is known about their dependence, bets are smaller.
    double found_share() const {
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
    const double log_p = std::log(p);
    const double log_bets[] = {std::log(alarm_power) + (alarm_power - 1) * log_p,
                               alarm_shift * at_most(z, score) - half_square,
                               alarm_shift * at_most(-z, score) - half_square};
    if (alarm.scores % alarm_pause == 0)
        alarm.current_share = alarm.found_share();
    bool raised = false;
    for (int i = 0; i < 3; ++i) {
        if (alarm.evidence[i] == 0)
            alarm.share[i] = alarm.current_share;
        alarm.evidence[i] = at_least(0, alarm.evidence[i] + alarm.share[i] * log_bets[i]);
        raised = raised || alarm.evidence[i] > alarm.limit;
    }
    alarm.size.add(-log_p, alarm.scores);
    alarm.sign.add(z, alarm.scores);
    ++alarm.scores;
    return raised;
}

// After an alarm, the next errors are compared with those before it. If they are larger, they are the new standard.
inline void wait(Alarm& alarm, double p) {
    constexpr double least = 0.43; // of the mean of p: 2 standard deviations below 1/2
    alarm.waited += p;
    if (--alarm.waiting == 0 && alarm.waited < least * alarm_warm_up)
        alarm.restart();
}

// Whether this error raises the alarm. NaN is passed over.
inline bool raises(Alarm& alarm, double error) {
    if (std::isnan(error))
        return false;
    // The share of sampled errors whose size is larger, and of those that are smaller; half of equal ones count, and half of
    // the error itself.
    const double value = saturate(error, DBL_MAX), size = std::fabs(value);
    const auto [left, right] = alarm.below(size);
    const Index up_to_right = alarm.up_to(size, right), up_to_left = alarm.up_to(-size, left);
    const Index inside = up_to_right - left, strictly_inside = size > 0 ? right - up_to_left : 0;
    const double p = alarm.rank(2 * alarm.known - inside - strictly_inside);
    const double q = value < 0 ? alarm.rank(left + up_to_left) : alarm.rank(right + up_to_right);
    const bool ranked = alarm.known >= alarm_warm_up;
    alarm.insert(value, value < 0 ? up_to_left : up_to_right);
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
