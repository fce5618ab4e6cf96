// Detects that errors have become larger.
//
// Three CUSUMs of log-bets watch for larger errors, for a shift upwards and for a shift downwards. The bets depend only on
// the ranks of an error in a sample of the errors before it: the share p of larger sizes, and the signed rank as a normal
// score z. While the errors are exchangeable, power p^(power - 1) and exp(shift z - shift^2 / 2) have means of at most 1.
//
// Dependent errors cluster, and their bets add up to more than those of independent errors. Each log-bet is therefore
// multiplied by a share of at most 1: the variance of sums of neighbouring scores if they were independent, divided by
// the actual variance. A CUSUM's share is fixed while its evidence is above 0, so a change does not reduce the evidence
// for itself.
//
// A short stream is not enough to estimate dependence that way. For the first errors, a fourth CUSUM bets on very large
// sizes only, and divides its log-bets by a dependence estimate that needs a few dozen errors. It ranks errors in the
// sample without those that arrived since its evidence began; otherwise a change would soon be compared with itself.
#pragma once

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdint>

#include "driftline/base/normal.hpp"
#include "driftline/base/range.hpp"

namespace driftline {

inline constexpr Index alarm_sample = 384, alarm_stride = 4, alarm_warm_up = 64, alarm_past = 8192, alarm_pause = 16;
inline constexpr int alarm_scales = 9;
inline constexpr double alarm_power = 0.6, alarm_shift = 2;
// The first errors come from an untrained model and stay out of the sample. Ranks among few errors carry little
// information.
inline constexpr Index alarm_start_up = 24, alarm_few = 8, alarm_first_scores = alarm_warm_up - alarm_start_up - alarm_few;
// The fourth CUSUM: the number of errors it watches, the most it leaves out of the sample, its bet, and the share of its
// log-bets for independent errors.
inline constexpr Index alarm_early = 384, alarm_gathered = 48;
inline constexpr double alarm_early_power = 0.2, alarm_early_share = 0.5;

// Ranks are quotients of whole numbers up to twice the size of the sample, so the logarithms of these are enough.
inline const auto alarm_logs = [] {
    std::array<double, 2 * alarm_sample + 3> logs{};
    for (std::size_t i = 1; i < logs.size(); ++i)
        logs[i] = std::log(static_cast<double>(i));
    return logs;
}();

// The variance of sums of 1, 2, 4, ... neighbouring scores per score: half the mean square of the difference between
// two neighbouring sums, which depends neither on the mean nor on a slow drift of the scores (Allan's variance).
struct BlockVariances {
    double half[alarm_scales] = {}; // the first sum of a pair
    double variance[alarm_scales] = {};

    // Adds a sum of 2^k scores. Returns its total with `half[k]`, a sum of 2^(k + 1) scores.
    double add(double sum, int k, double per_score, double pairs) {
        const double gap = half[k] - sum;
        variance[k] += (gap * gap * per_score - variance[k]) / pairs;
        return sum + half[k];
    }
};

inline double block_pairs(Index scores, int k) {
    return static_cast<double>((scores < alarm_past ? scores : alarm_past) >> (k + 1));
}

// Adds one score to each of a and b, which hold `scores` scores already. Bit k of that number tells whether half[k] is
// waiting for its neighbour.
inline void add_to_blocks(BlockVariances& a, double a_sum, BlockVariances& b, double b_sum, Index scores) {
    double per_score = 0.5;
    for (int k = 0; k < alarm_scales; ++k, per_score *= 0.5) {
        if ((scores >> k & 1) == 0) {
            a.half[k] = a_sum;
            b.half[k] = b_sum;
            return;
        }
        const double pairs = block_pairs(scores + 1, k);
        a_sum = a.add(a_sum, k, per_score, pairs);
        b_sum = b.add(b_sum, k, per_score, pairs);
    }
}

// The largest variance in either that is statistically certain, and at least 1: two standard errors of a mean of squared
// normal variables are subtracted.
inline double largest_variance(const BlockVariances& a, const BlockVariances& b, Index scores) {
    double out = 1;
    for (int k = 0; k < alarm_scales && scores >> (k + 1) != 0; ++k) {
        const double variance = at_least(a.variance[k], b.variance[k]), pairs = block_pairs(scores, k);
        const double excess = variance - out; // below 2 out sqrt(2 / pairs), skip the root and the division
        if (excess > 0 && excess * excess * pairs > 7.99 * out * out)
            out = at_least(out, variance / (1 + 2 * std::sqrt(2 / pairs)));
    }
    return out;
}

// The long-run variance of scores with mean 0 and variance 1. It uses every pair of scores, so a few dozen are enough:
// the larger of 1 + 2 (c_1 + kept c_2 + kept^2 c_3 + ...), with c_k the covariance at lag k, and (1 + c_1) / (1 - c_1),
// the value for a first-order autoregression.
struct NearbyProducts {
    double last = 0, neighbours = 0; // the previous score; sum of products of neighbouring scores
    double recent = 0, products = 0; // decaying sum of earlier scores; sum of each score times it
    static constexpr double kept = 0.85;

    void add(double score) {
        neighbours += score * last;
        products += score * recent;
        last = score;
        recent = kept * recent + score;
    }
    double variance(Index scores) const {
        constexpr double most = 0.99;
        const double count = static_cast<double>(scores), c = at_most(neighbours / count, most);
        return at_least(1, at_least(1 + 2 * products / count, (1 + c) / (1 - c)));
    }
};

struct Alarm {
    double limit = 0;               // on the evidence
    double evidence[4] = {};        // for larger errors, an upward shift, a downward shift; early, for very large errors
    double share[4] = {1, 1, 1, 1}; // factor on each CUSUM's log-bets
    double current_share = 1;       // for evidence that starts now; updated every alarm_pause scores
    double early_share = alarm_early_share; // the same for the fourth CUSUM
    Index count = 0;                        // number of errors
    Index known = 0;                        // size of the sample
    Index waiting = 0;                      // errors until another alarm is possible
    double waited = 0;                      // sum of p over the errors since the last alarm
    Index gathered = 0;                     // errors since the early evidence began, at most alarm_gathered
    Index scores = 0;                       // ranks that were bet on
    BlockVariances size, sign;              // of -log p and of z
    NearbyProducts early[2];                // of -log p - 1 and of z, among the first errors
    double latest[alarm_warm_up] = {};      // recent errors, a ring buffer
    double sample[alarm_sample] = {};       // sampled errors in ascending order, in which new ones are ranked

    // Counts the sampled errors below each bound. All binary searches advance in step, without data-dependent branches.
    template <int N> void below(const double (&bounds)[N], Index (&counts)[N]) const {
        std::fill_n(counts, N, 0);
        for (Index rest = known; rest > 0; rest /= 2) {
            const Index half = (rest + 1) / 2;
            for (int i = 0; i < N; ++i)
                counts[i] += half & -static_cast<Index>(sample[counts[i] + half - 1] < bounds[i]);
        }
    }
    // Counts the sampled errors up to and including the value, given the count below it.
    Index up_to(double value, Index below) const {
        if (below == known || sample[below] != value)
            return below;
        return std::upper_bound(sample + below, sample + known, value) - sample;
    }
    // The rank among `others` errors. `twice` counts larger (or smaller) errors twice, and equal ones once.
    static double rank(Index twice, Index others) {
        return 0.5 * static_cast<double>(twice + 1) / static_cast<double>(others + 1);
    }
    static double log_rank(Index twice, Index others) {
        return alarm_logs[static_cast<std::size_t>(twice + 1)] - alarm_logs[static_cast<std::size_t>(2 * (others + 1))];
    }

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
    // Independent scores have the variance 1. Early on, when little is known about their dependence, bets are smaller.
    void find_shares(bool is_early) {
        constexpr double unknown = 128;
        const double varies = largest_variance(size, sign, scores);
        current_share = 1 / (varies * (1 + unknown / static_cast<double>(scores + 1)));
        if (is_early) {
            const Index known_scores = scores + alarm_first_scores;
            const double nearby = at_least(early[0].variance(known_scores), early[1].variance(known_scores));
            early_share = alarm_early_share / at_least(varies, nearby);
        }
    }
};

// A batch of errors passing through an alarm. They are ranked a few at a time, because each enters the sample for the
// next. Their ranks are then turned into scores together, in loops the compiler can vectorise. Finally the bets are made
// one by one.
struct RankedErrors {
    static constexpr Index room = 16; // the alarm's ring holds these plus the alarm_gathered errors before them
    Index count = 0, before = 0;      // errors in this batch, and before it
    Index place[room];
    Index larger[room], lower[room];               // sampled errors of larger size, and of smaller value (twice; equal once)
    Index known[room];                             // sample size
    double p[room], q[room];                       // ranks by size, and by signed value
    double log_p[room], size_score[room], z[room]; // log p; normal score of p / 2, negated; normal score of q
    static_assert(room + alarm_gathered <= alarm_warm_up);

    // Ranks errors [from, all) until the batch is full or the sample may be replaced. Returns where it stopped. Skips
    // NaN.
    template <class Error> Index rank(Alarm& alarm, Index from, Index all, Error&& error) {
        before = alarm.count;
        const Index most = alarm.waiting > 0 ? std::min(room, alarm.waiting) : room; // then the sample may change
        for (count = 0; from < all && count < most;) {
            double values[alarm_stride];
            int found = 0;
            const Index stop = std::min(alarm_stride - alarm.count % alarm_stride, most - count);
            for (; from < all && found < stop; ++from)
                if (const double given = error(from); !std::isnan(given)) {
                    place[count + found] = from;
                    values[found++] = saturate(given, DBL_MAX);
                }
            rank_few(alarm, values, found);
        }
        return from;
    }
    // Takes at most alarm_stride errors, so only the last of them can replace a sampled error.
    void rank_few(Alarm& alarm, const double* values, int found) {
        constexpr int few = alarm_stride;
        double bounds[2 * few] = {};
        for (int i = 0; i < found; ++i) {
            bounds[i] = -std::fabs(values[i]);
            bounds[few + i] = std::fabs(values[i]);
        }
        Index counts[2 * few];
        alarm.below(bounds, counts);
        const Index searched = alarm.known;
        for (int i = 0; i < found; ++i, ++count) {
            const double value = values[i], size = bounds[few + i];
            Index left = counts[i], right = counts[few + i];
            for (Index j = 0; j < alarm.known - searched; ++j) { // entered the sample after the search
                left += values[j] < -size;
                right += values[j] < size;
            }
            // The fractions of sampled errors that are larger in size, and that are smaller in value. Equal ones and the
            // error itself count half.
            const Index up_to_right = alarm.up_to(size, right), up_to_left = alarm.up_to(-size, left);
            const Index inside = up_to_right - left, strictly_inside = size > 0 ? right - up_to_left : 0;
            const Index at = value < 0 ? up_to_left : up_to_right, below = value < 0 ? left : right;
            known[count] = alarm.known;
            larger[count] = 2 * alarm.known - inside - strictly_inside;
            lower[count] = below + at;
            p[count] = Alarm::rank(larger[count], alarm.known);
            q[count] = Alarm::rank(lower[count], alarm.known);
            alarm.insert(value, at);
        }
    }
    void score() {
        for (Index i = 0; i < count; ++i)
            log_p[i] = Alarm::log_rank(larger[i], known[i]);
        for (Index i = 0; i < count; ++i)
            size_score[i] = -normal_in_the_middle(0.5 * p[i] - 0.5);
        for (Index i = 0; i < count; ++i)
            z[i] = normal_in_the_middle(q[i] - 0.5);
        for (Index i = 0; i < count; ++i) {
            if (0.5 - 0.5 * p[i] > normal_middle)
                size_score[i] = -normal_in_the_tails(0.5 * p[i] - 0.5, log_p[i] - alarm_logs[2]);
            if (std::fabs(q[i] - 0.5) > normal_middle)
                z[i] =
                    normal_in_the_tails(q[i] - 0.5, Alarm::log_rank(std::min(lower[i], 2 * known[i] - lower[i]), known[i]));
        }
    }
};

// The log-bet of the fourth CUSUM.
inline double bet_early(Alarm& alarm, const RankedErrors& errors, Index i) {
    alarm.early[0].add(-errors.log_p[i] - 1);
    alarm.early[1].add(errors.z[i]);
    double log_p = errors.log_p[i];
    if (alarm.gathered > 0) {
        const Index now = errors.before + i;
        const auto size_of = [&](Index place) { return std::fabs(alarm.latest[place % alarm_warm_up]); };
        Index larger = errors.larger[i];
        for (Index place = now - alarm.gathered; place < now; ++place)
            larger -= (size_of(place) > size_of(now)) + (size_of(place) >= size_of(now));
        log_p = Alarm::log_rank(larger, errors.known[i] - alarm.gathered);
    }
    return std::log(alarm_early_power) + (alarm_early_power - 1) * log_p;
}

// Whether error i takes the evidence above the limit.
inline bool raises(Alarm& alarm, const RankedErrors& errors, Index i) {
    constexpr double most = 3,
                     half_square = 0.5 * alarm_shift * alarm_shift; // one or two outliers do not raise an alarm
    const bool is_early = errors.before + i < alarm_early;
    if (alarm.scores % alarm_pause == 0)
        alarm.find_shares(is_early);
    // A shift towards smaller errors does not count: no score exceeds the size score.
    const double log_p = errors.log_p[i], z = errors.z[i], score = at_most(errors.size_score[i], most);
    const double log_bets[] = {std::log(alarm_power) + (alarm_power - 1) * log_p,
                               alarm_shift * at_most(z, score) - half_square, alarm_shift * at_most(-z, score) - half_square,
                               is_early ? bet_early(alarm, errors, i) : -HUGE_VAL};
    double* const evidence = alarm.evidence;
    for (int k = 0; k < 4; ++k) {
        if (evidence[k] == 0)
            alarm.share[k] = k < 3 ? alarm.current_share : alarm.early_share;
        evidence[k] = at_least(0, evidence[k] + alarm.share[k] * log_bets[k]);
    }
    alarm.gathered = evidence[3] > 0 ? std::min(alarm.gathered + 1, alarm_gathered) : 0;
    add_to_blocks(alarm.size, -log_p, alarm.sign, z, alarm.scores);
    ++alarm.scores;
    return at_least(at_least(evidence[0], evidence[1]), at_least(evidence[2], evidence[3])) > alarm.limit;
}

// After an alarm, the next errors are ranked among those before it. If they are larger, they become the new sample.
inline void wait(Alarm& alarm, double p) {
    constexpr double least = 0.43; // threshold for the mean of p: 2 standard deviations below 1/2
    alarm.waited += p;
    if (--alarm.waiting == 0 && alarm.waited < least * alarm_warm_up)
        alarm.restart();
}

// Bets on ranked errors. Calls raised(place, count) for each that raises the alarm, as the count-th error.
template <class Raised> void make_bets(Alarm& alarm, const RankedErrors& errors, Raised&& raised) {
    for (Index i = 0; i < errors.count; ++i) {
        const Index count = errors.before + i + 1;
        if (count <= alarm_warm_up) {
            if (count > alarm_start_up + alarm_few) {
                alarm.early[0].add(-errors.log_p[i] - 1);
                alarm.early[1].add(errors.z[i]);
            }
        } else if (alarm.waiting > 0) {
            wait(alarm, errors.p[i]);
        } else if (raises(alarm, errors, i)) {
            std::fill_n(alarm.evidence, 4, 0.0);
            alarm.gathered = 0;
            alarm.waiting = alarm_warm_up;
            alarm.waited = 0;
            raised(errors.place[i], count);
        }
    }
}

// Processes error(0), ..., error(count - 1); calls raised as make_bets does.
template <class Error, class Raised> void watch(Alarm& alarm, Index count, Error&& error, Raised&& raised) {
    RankedErrors ranked;
    for (Index from = 0; from < count;) {
        from = ranked.rank(alarm, from, count, error);
        ranked.score();
        make_bets(alarm, ranked, raised);
    }
}

} // namespace driftline
