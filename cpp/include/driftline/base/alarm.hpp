// Detects that errors have become larger.
//
// Three CUSUMs of log-bets watch for larger errors, for a shift upwards and for a shift downwards. The bets depend only on
// the ranks of an error in a sample of the errors before it: the share p of larger sizes, and the signed rank as a normal
// score z. While the errors are exchangeable, power p^(power - 1) and exp(shift z - shift^2 / 2) have means of at most 1.
//
// Dependent errors cluster, and their bets add up to more than those of independent errors. Each log-bet is
// therefore multiplied by a share of at most 1, the reciprocal of how much more sums of neighbouring scores vary than
// those of independent scores would. The share of a CUSUM is fixed while its evidence is above 0, so that a change does
// not reduce the evidence for itself.
//
// A short stream shows too little of the dependence for that. Among the first errors a fourth CUSUM bets more on large
// sizes. It relies on an estimate of the dependence from a few dozen errors, and in return requires the latest errors to be
// larger by a factor, not by rank alone.
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
// The first errors come from a model that knows nothing yet: they are not in the sample. Ranks among few errors say little.
inline constexpr Index alarm_start_up = 24, alarm_few = 8, alarm_first_scores = alarm_warm_up - alarm_start_up - alarm_few;
// The fourth CUSUM: how many errors it watches, its bet, and the factor by which the median of the latest errors must grow.
inline constexpr Index alarm_early = 384, alarm_latest = 24;
inline constexpr double alarm_early_power = 0.4, alarm_factor = 2.5;

inline double normal_score(double p) {
    const double q = p - 0.5;
    return std::fabs(q) <= normal_middle ? normal_in_the_middle(q) : normal_in_the_tails(q);
}

// The variance of sums of 1, 2, 4, ... neighbouring scores per score: half the mean square of the difference between
// two neighbouring sums, which depends neither on the mean nor on a slow drift of the scores (Allan's variance).
struct BlockVariances {
    double half[alarm_scales] = {}; // the first sum of a pair
    double variance[alarm_scales] = {};

    static double pairs(Index scores, int k) {
        return static_cast<double>((scores < alarm_past ? scores : alarm_past) >> (k + 1));
    }
    // `scores` were added before. Bit k of that number says whether half[k] waits for its neighbour.
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
    // The largest certain variance: minus two standard errors of a mean of squared normal numbers.
    double largest(Index scores) const {
        double out = 0;
        for (int k = 0; k < alarm_scales && scores >> (k + 1) != 0; ++k)
            out = at_least(out, variance[k] / (1 + 2 * std::sqrt(2 / pairs(scores, k))));
        return out;
    }
};

// The long-run variance of scores with mean 0 and variance 1, estimated from every pair, so that a few dozen scores suffice:
// the larger of 1 + 2 (c_1 + kept c_2 + kept^2 c_3 + ...), with c_k the covariance at distance k, and
// (1 + c_1) / (1 - c_1), the value of an autoregression. One and a half standard errors are subtracted from both, or
// independent scores would seem dependent.
struct NearbyProducts {
    double last = 0, neighbours = 0; // the previous score; sum of the products of neighbours
    double recent = 0, products = 0; // faded sum of the previous scores; sum of each score's product with it
    static constexpr double kept = 0.9;

    void add(double score) {
        neighbours += score * last;
        products += score * recent;
        last = score;
        recent = kept * recent + score;
    }
    double variance(Index scores) const {
        constexpr double most = 0.99;
        const double count = static_cast<double>(scores), off = 1.5 / std::sqrt(count);
        const double c = at_most(neighbours / count - off, most);
        const double sum = products / count - off / std::sqrt(1 - kept * kept);
        return at_least(1, at_least(1 + 2 * sum, (1 + c) / (1 - c)));
    }
};

struct Alarm {
    double limit = 0;                  // on the evidence
    double evidence[4] = {};           // for larger errors, a shift upwards, a shift downwards; early, for much larger ones
    double share[4] = {1, 1, 1, 1};    // share of each log-bet that counts
    double current_share = 1;          // the share for evidence that begins now, updated every alarm_pause scores
    double early_share = 1;            // the same for the fourth CUSUM
    Index count = 0;                   // errors so far
    Index known = 0;                   // size of the sample
    Index waiting = 0;                 // errors until an alarm may follow the last one
    double waited = 0;                 // sum of p over the errors since the last alarm
    Index scores = 0;                  // bets so far
    BlockVariances size, sign;         // of -log p and of z
    NearbyProducts early[2];           // of -log p - 1 and of z, among the first errors
    double latest[alarm_warm_up] = {}; // errors, a ring
    double sample[alarm_sample] = {};  // sorted sample of the errors, in which new ones are ranked

    // How many sampled errors are below -size, and below size. Both searches run in step, without data-dependent branches.
    std::pair<Index, Index> below(double size) const {
        const double *left = sample, *right = sample;
        for (Index rest = known; rest > 0; rest /= 2) {
            const Index half = (rest + 1) / 2;
            left += half & -static_cast<Index>(left[half - 1] < -size);
            right += half & -static_cast<Index>(right[half - 1] < size);
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

    // Makes the latest errors the whole sample.
    void restart() {
        known = alarm_warm_up;
        std::copy(latest, latest + known, sample);
        std::sort(sample, sample + known);
    }
    // Once the sample is full, one error in alarm_stride replaces another. The ranks of the replaced errors follow the
    // multiples of the golden ratio: all ranks leave equally often, so the distribution is preserved.
    void insert(double error, Index at) {
        latest[count % alarm_warm_up] = error;
        ++count;
        if (count <= alarm_start_up)
            return;
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
    // Independent scores have variance 1. Early on, when little is known about their dependence, bets are smaller.
    void find_shares() {
        constexpr double unknown = 128;
        const double varies = at_least(at_least(1, size.largest(scores)), sign.largest(scores));
        current_share = 1 / (varies * (1 + unknown / static_cast<double>(scores + 1)));
        if (count <= alarm_early) {
            const Index known_scores = scores + alarm_first_scores;
            early_share = 1 / at_least(varies, at_least(early[0].variance(known_scores), early[1].variance(known_scores)));
        }
    }
    // Whether the median size of the latest errors is alarm_factor times that of the sample.
    bool latest_are_much_larger() const {
        double sizes[alarm_latest];
        for (Index i = 0; i < alarm_latest; ++i)
            sizes[i] = std::fabs(latest[(count - 1 - i) % alarm_warm_up]);
        double* const middle = sizes + alarm_latest / 2 - 1;
        std::nth_element(sizes, middle, sizes + alarm_latest);
        const auto [left, right] = below(*middle / alarm_factor);
        return 2 * (right - left) >= known;
    }
};

// The fourth CUSUM: whether its evidence exceeds the limit and the latest errors are large enough.
inline bool bet_early(Alarm& alarm, double log_p, double z) {
    double &evidence = alarm.evidence[3], &share = alarm.share[3];
    if (evidence == 0)
        share = alarm.early_share;
    const double log_bet = std::log(alarm_early_power) + (alarm_early_power - 1) * log_p;
    evidence = at_most(at_least(0, evidence + share * log_bet), 2 * alarm.limit);
    alarm.early[0].add(-log_p - 1);
    alarm.early[1].add(z);
    return evidence > alarm.limit && alarm.latest_are_much_larger();
}

// Whether the evidence exceeds the limit with this error.
inline bool bet(Alarm& alarm, double p, double z) {
    constexpr double most = 3; // one or two outliers do not raise an alarm
    // A shift that makes errors smaller does not count: no score exceeds that of the size.
    const double score = at_most(-normal_score(0.5 * p), most), half_square = 0.5 * alarm_shift * alarm_shift;
    const double log_p = std::log(p);
    const double log_bets[] = {std::log(alarm_power) + (alarm_power - 1) * log_p,
                               alarm_shift * at_most(z, score) - half_square,
                               alarm_shift * at_most(-z, score) - half_square};
    if (alarm.scores % alarm_pause == 0)
        alarm.find_shares();
    bool raised = false;
    for (int i = 0; i < 3; ++i) {
        if (alarm.evidence[i] == 0)
            alarm.share[i] = alarm.current_share;
        alarm.evidence[i] = at_least(0, alarm.evidence[i] + alarm.share[i] * log_bets[i]);
        raised = raised || alarm.evidence[i] > alarm.limit;
    }
    if (alarm.count <= alarm_early)
        raised = bet_early(alarm, log_p, z) || raised;
    else
        alarm.evidence[3] = 0;
    alarm.size.add(-log_p, alarm.scores);
    alarm.sign.add(z, alarm.scores);
    ++alarm.scores;
    return raised;
}

// After an alarm, the next errors are compared with those before it. If they are larger, they become the new sample.
inline void wait(Alarm& alarm, double p) {
    constexpr double least = 0.43; // for the mean of p: 2 standard deviations below 1/2
    alarm.waited += p;
    if (--alarm.waiting == 0 && alarm.waited < least * alarm_warm_up)
        alarm.restart();
}

// Whether this error raises the alarm. NaN is ignored.
inline bool raises(Alarm& alarm, double error) {
    if (std::isnan(error))
        return false;
    // The share of sampled errors of larger size, and of smaller ones; equal ones count half, as does the error itself.
    const double value = saturate(error, DBL_MAX), size = std::fabs(value);
    const auto [left, right] = alarm.below(size);
    const Index up_to_right = alarm.up_to(size, right), up_to_left = alarm.up_to(-size, left);
    const Index inside = up_to_right - left, strictly_inside = size > 0 ? right - up_to_left : 0;
    const double p = alarm.rank(2 * alarm.known - inside - strictly_inside);
    const double q = value < 0 ? alarm.rank(left + up_to_left) : alarm.rank(right + up_to_right);
    const bool ranked = alarm.count >= alarm_warm_up;
    if (!ranked && alarm.known >= alarm_few) {
        alarm.early[0].add(-std::log(p) - 1);
        alarm.early[1].add(normal_score(q));
    }
    alarm.insert(value, value < 0 ? up_to_left : up_to_right);
    if (alarm.waiting > 0)
        wait(alarm, p);
    else if (ranked && bet(alarm, p, normal_score(q))) {
        std::fill_n(alarm.evidence, 4, 0.0);
        alarm.waiting = alarm_warm_up;
        alarm.waited = 0;
        return true;
    }
    return false;
}

} // namespace driftline
