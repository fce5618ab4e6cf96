// Detects that errors have become larger.
//
// CUSUMs of log-bets watch for larger errors, for very large ones, and for shifts upwards and downwards. The bets depend
// only on the ranks of an error in a sample of the errors before it: the share p of larger sizes, and the signed rank as a
// normal score z. While the errors are exchangeable, power p^(power - 1) and exp(shift z - shift^2 / 2) have means of at
// most 1.
//
// Dependent errors cluster, and their bets add up to more than those of independent errors. Each log-bet is therefore
// multiplied by a share of at most 1: the variance of sums of neighbouring scores if they were independent, divided by
// the actual variance. A CUSUM's share is fixed while its evidence is above 0. Scores count towards the variance only when
// they are alarm_held errors old; if the evidence for a change has begun by then, those since its beginning never do.
// If errors are strongly autocorrelated, one more CUSUM ranks what is new in each: the error less the part that the
// previous one predicts.
//
// After a change the sample starts anew: once the errors after an alarm have settled on a higher level, or as soon as a
// CUSUM that raises no alarm finds them smaller. Decisions take effect after each alarm_block errors, so the alarms do not
// depend on how the errors are cut into batches.
//
// A short stream is not enough to estimate dependence that way. One CUSUM bets on very large sizes only. Among the first
// errors, its log-bets are divided by a dependence estimate that needs a few dozen errors, and it ranks errors in the
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

inline constexpr Index alarm_sample = 384, alarm_news_sample = 128, alarm_stride = 4, alarm_past = 8192, alarm_block = 16;
// No alarm among the first alarm_warm_up errors, nor for alarm_pause after an alarm, or a few times as many if errors are
// dependent. The latest alarm_warm_up are kept to start a sample anew.
inline constexpr Index alarm_warm_up = 64, alarm_pause = 64;
inline constexpr double alarm_longest = 4;
inline constexpr int alarm_scales = 9;
inline constexpr double alarm_power = 0.6, alarm_very_power = 0.2, alarm_shift = 2, alarm_shrink = 0.75;
// The first errors come from an untrained model and stay out of the sample. Ranks among few errors carry little
// information.
inline constexpr Index alarm_start_up = 24, alarm_few = 8;
// Bets on very large sizes among the first errors: the number of these, the most that are left out of the sample, and the
// share of the log-bets for independent errors.
inline constexpr Index alarm_early = 384, alarm_gathered = 48;
inline constexpr double alarm_early_share = 0.5;
// A new sample: the number of errors that it starts with after an alarm, and the fewest after errors became smaller.
inline constexpr Index alarm_settled = 32, alarm_fewest = 24;
// Scores wait for a change to show. One that takes longer than alarm_slow errors to find, or twice as many if errors became
// smaller, is gradual, such as a season's, and not a jump: the dependence estimate has to see it. With little known about
// the dependence, a jump takes longer too.
inline constexpr Index alarm_held = 64;
inline constexpr double alarm_slow = 52, alarm_unknown = 128;

// Ranks are quotients of whole numbers up to twice the size of the sample, so the logarithms of these are enough.
inline const auto alarm_logs = [] {
    std::array<double, 2 * alarm_sample + 3> logs{};
    for (std::size_t i = 1; i < logs.size(); ++i)
        logs[i] = std::log(static_cast<double>(i));
    return logs;
}();

// Errors in ascending order, in which new ones are ranked.
template <Index Size> struct Sample {
    Index known = 0;
    double sorted[Size] = {};

    // Counts the errors below each bound. All binary searches advance in step, without data-dependent branches.
    template <int N> void below(const double (&bounds)[N], Index (&counts)[N]) const {
        std::fill_n(counts, N, 0);
        for (Index rest = known; rest > 0; rest /= 2) {
            const Index half = (rest + 1) / 2;
            for (int i = 0; i < N; ++i)
                counts[i] += half & -static_cast<Index>(sorted[counts[i] + half - 1] < bounds[i]);
        }
    }
    // Counts the errors up to and including the value, given the count below it.
    Index up_to(double value, Index below) const {
        if (below == known || sorted[below] != value)
            return below;
        return std::upper_bound(sorted + below, sorted + known, value) - sorted;
    }
    // Takes the count-th error, whose place is given. In a full sample, one error in alarm_stride replaces another. The
    // ranks of the replaced errors follow the multiples of the golden ratio: all ranks leave equally often, so the
    // distribution is preserved.
    void take(double error, Index at, Index count) {
        if (known < Size) {
            std::copy_backward(sorted + at, sorted + known, sorted + known + 1);
            sorted[at] = error;
            ++known;
            return;
        }
        if (count % alarm_stride != 0)
            return;
        const auto turn = static_cast<std::uint32_t>(count / alarm_stride) * 0x9E3779B9u;
        const Index old = static_cast<Index>(static_cast<std::uint64_t>(turn) * Size >> 32);
        if (old < at) {
            std::copy(sorted + old + 1, sorted + at, sorted + old);
            sorted[at - 1] = error;
        } else {
            std::copy_backward(sorted + at, sorted + old, sorted + old + 1);
            sorted[at] = error;
        }
    }
    // Starts anew with error(0), ..., error(count - 1).
    template <class Error> void restart(Index count, Error&& error) {
        known = count;
        for (Index i = 0; i < count; ++i)
            sorted[i] = error(i);
        std::sort(sorted, sorted + count);
    }
};

// What one error gave the dependence estimate: -log p and z, and -log p of what was new in it.
struct Scores {
    double size, sign, news;
};

// How much more sums of 1, 2, 4, ... neighbouring scores vary than sums of independent scores: half the mean square of the
// difference between two neighbouring sums (Allan's variance), per score. It depends neither on the mean nor on a slow drift
// of the scores. And the autocorrelation of z.
struct Dependence {
    double size_half[alarm_scales] = {}, sign_half[alarm_scales] = {}, news_half[alarm_scales] = {}; // first sums of pairs
    double size_variance[alarm_scales] = {}, sign_variance[alarm_scales] = {}, news_variance[alarm_scales] = {};
    double pairs[alarm_scales] = {};  // behind each variance
    double squares = 0, products = 0; // means of z^2 and of z times the z before
    double last = 0;                  // z
    Index scores = 0;                 // so far
    Index joined = 0;                 // those since the last change

    // Adds the scores of one error. Bit k of `joined` tells whether the first sum of 2^k scores waits for its neighbour.
    void add(const Scores& score) {
        ++scores;
        const double step = 1 / static_cast<double>(std::min(scores, alarm_past));
        squares += (score.sign * score.sign - squares) * step;
        products += ((joined > 0 ? score.sign * last : 0) - products) * step;
        last = score.sign;
        double size = score.size, sign = score.sign, news = score.news, per_score = 0.5;
        for (int k = 0; k < alarm_scales; ++k, per_score *= 0.5) {
            if ((joined >> k & 1) == 0) {
                size_half[k] = size;
                sign_half[k] = sign;
                news_half[k] = news;
                break;
            }
            pairs[k] = at_most(pairs[k] + 1, static_cast<double>(alarm_past >> (k + 1)));
            const double weight = 1 / pairs[k];
            const auto pair = [&](double& half, double& variance, double& sum) {
                variance += ((half - sum) * (half - sum) * per_score - variance) * weight;
                sum += half;
            };
            pair(size_half[k], size_variance[k], size);
            pair(sign_half[k], sign_variance[k], sign);
            pair(news_half[k], news_variance[k], news);
        }
        ++joined;
    }
    // The largest variance that is statistically certain, and at least 1: two standard errors of a mean of squared normal
    // variables are subtracted, and a little more where their distribution is still skewed.
    template <class Variance> double largest(Variance&& variance) const {
        double out = 1;
        for (int k = 0; k < alarm_scales && pairs[k] > 0; ++k) {
            const double excess = (variance(k) - out) * pairs[k] - out;
            if (excess > 0 && excess * excess > 7.99 * out * out * pairs[k]) // otherwise skip the root and the division
                out = at_least(out, variance(k) / (1 + 2 * std::sqrt(2 / pairs[k]) + 1 / pairs[k]));
        }
        return out;
    }
    double of_errors() const {
        return largest([this](int k) { return at_least(size_variance[k], sign_variance[k]); });
    }
    double of_news() const {
        return largest([this](int k) { return news_variance[k]; });
    }
    // Little is known about the dependence at first: bets are smaller.
    double caution() const { return 1 + alarm_unknown / static_cast<double>(scores + 1); }
    // The part of an error that the one before it predicts, in steps of 1/64: the autocorrelation of z, less two standard
    // errors. 0 unless it is considerable.
    double kept() const {
        constexpr double steps = 64, least = 16;
        if (scores < alarm_warm_up || squares <= 0)
            return 0;
        const double part = at_least(0, at_most(products / squares, 1));
        const double step = std::floor(
            steps * (part - 2 * std::sqrt((1 - part * part) / static_cast<double>(std::min(scores, alarm_past)))));
        return step < least ? 0 : at_most(step, steps - 1) / steps;
    }
};

// The long-run variance of scores with mean 0 and variance 1. It uses every pair of scores, so a few dozen are enough:
// the larger of 1 + 2 (c_1 + kept c_2 + kept^2 c_3 + ...), with c_k the covariance at lag k, and (1 + c_1) / (1 - c_1),
// the value for a first-order autoregression.
struct NearbyProducts {
    double last = 0, neighbours = 0; // the previous score; sum of products of neighbouring scores
    double recent = 0, products = 0; // decaying sum of earlier scores; sum of each score times it
    double count = 0;                // of scores
    static constexpr double kept = 0.85;

    void add(double score) {
        ++count;
        neighbours += score * last;
        products += score * recent;
        last = score;
        recent = kept * recent + score;
    }
    double variance() const {
        constexpr double most = 0.99;
        const double c = at_most(neighbours / count, most);
        return at_least(1, at_least(1 + 2 * products / count, (1 + c) / (1 - c)));
    }
};

enum Bet { bet_larger, bet_up, bet_down, bet_very_large, bet_news, bet_smaller, alarm_bets };

struct Alarm {
    double limit = 0;                              // on the evidence
    double evidence[alarm_bets] = {};              // all but that for smaller errors can raise the alarm
    double share[alarm_bets] = {1, 1, 1, 1, 1, 1}; // factor on each CUSUM's log-bets
    Index began[alarm_bets] = {};                  // number of errors before its evidence began
    double current_share = 1;                      // for evidence that starts now
    double very_share = alarm_early_share;         // the same for very large errors
    double news_share = 1;                         // and for news
    Index count = 0;                               // number of errors
    Index pause = 0;                               // length of the latest pause, from a decision on
    Index waiting = 0;                             // errors until another alarm is possible
    double waited = 0;                             // sum of p over the second half of the pause
    Index fresh = 0;                               // latest errors with which the sample is about to start anew
    double kept = 0;                               // the part of an error that the one before it predicts
    Index scores = 0;                              // errors that were bet on
    Index held = 0;                                // the latest of their scores, not in the dependence estimate yet
    Dependence dependence;
    NearbyProducts early[2];           // of -log p - 1 and of z, among the first errors
    NearbyProducts before[2];          // the same when the evidence for very large errors began
    Scores recent[alarm_held] = {};    // the latest scores, a ring buffer
    double latest[alarm_warm_up] = {}; // the latest errors, a ring buffer
    Sample<alarm_sample> sample;       // of errors
    Sample<alarm_news_sample> news;    // of what was new in each error; empty while kept is 0

    // The rank among `others` errors. `twice` counts larger (or smaller) errors twice, and equal ones once.
    static double rank(Index twice, Index others) {
        return 0.5 * static_cast<double>(twice + 1) / static_cast<double>(others + 1);
    }
    static double log_rank(Index twice, Index others) {
        return alarm_logs[static_cast<std::size_t>(twice + 1)] - alarm_logs[static_cast<std::size_t>(2 * (others + 1))];
    }
    // The error `ago` errors before the next one.
    double earlier(Index ago) const { return latest[(count - ago) % alarm_warm_up]; }
    double new_in(double error, double before) const { return saturate(error - kept * before, DBL_MAX); }

    void restart(Index errors) {
        sample.restart(errors, [this](Index i) { return earlier(i + 1); });
        restart_news(errors);
    }
    void restart_news(Index errors) {
        news.restart(kept > 0 ? std::min(errors, alarm_warm_up - 1) : 0,
                     [this](Index i) { return new_in(earlier(i + 1), earlier(i + 2)); });
    }
    // The pause after an alarm begins with the next decision. No error of the pause enters a sample.
    bool pauses() const { return waiting > 0 && waiting <= pause; }

    // Takes effect before every alarm_block-th error.
    void decide() {
        if (fresh > 0)
            restart(fresh);
        fresh = 0;
        if (waiting == 0) {
            const bool starts = kept == 0;
            kept = dependence.kept();
            if (starts || kept == 0)
                restart_news(alarm_warm_up);
        }
        double varies = dependence.of_errors();
        if (count < alarm_early && early[0].count > 0) {
            varies = at_least(varies, at_least(early[0].variance(), early[1].variance()));
            very_share = alarm_early_share / varies;
        }
        const double caution = dependence.caution();
        current_share = 1 / (varies * caution);
        if (count >= alarm_early)
            very_share = current_share;
        news_share = kept > 0 ? 1 / (dependence.of_news() * caution) : 1;
    }

    // Adds scores to the dependence estimate until `left` are held.
    void see_until(Index left) {
        for (; held > left; --held)
            dependence.add(recent[(scores - held) % alarm_held]);
    }
    void hold(const Scores& score) {
        see_until(alarm_held - 1);
        recent[scores++ % alarm_held] = score;
        ++held;
    }
    // Prepares for what follows a change found by a CUSUM. The dependence estimate omits a jump: no pair of sums
    // spans it.
    void change(int bet, Index now) {
        const Index took = now - began[bet];
        if (static_cast<double>(took) > (bet == bet_smaller ? 2 : 1) * alarm_slow * dependence.caution()) {
            see_until(0);
        } else {
            see_until(std::min(held, took));
            held = 0;
            std::copy_n(before, 2, early);
            dependence.joined = 0;
        }
        std::fill_n(evidence, static_cast<int>(alarm_bets), 0.0);
        fresh = 0;
        if (bet == bet_smaller) {
            fresh = std::clamp(took, alarm_fewest, alarm_warm_up);
        } else {
            pause = alarm_pause * static_cast<Index>(at_most(dependence.of_errors(), alarm_longest));
            waiting = pause + (alarm_block - now % alarm_block) % alarm_block;
            waited = 0;
        }
    }
};

// A batch of errors passing through an alarm. They are ranked a few at a time, because each enters the sample for the
// next. Their ranks are then turned into scores together, in loops the compiler can vectorise. Finally the bets are made
// one by one.
struct RankedErrors {
    static constexpr Index room = alarm_block; // the alarm's ring holds these plus the alarm_gathered errors before them
    Index count = 0, before = 0;               // errors in this batch, and before it
    Index place[room];
    Index larger[room], lower[room];               // sampled errors of larger size, and of smaller value (twice; equal once)
    Index known[room];                             // sample size
    bool tied[room];                               // with the size of a sampled error
    Index news_larger[room], news_known[room];     // the same among what was new
    double p[room], q[room];                       // ranks by size, and by signed value
    double log_p[room], size_score[room], z[room]; // log p; normal score of p / 2, negated; normal score of q
    static_assert(room + alarm_gathered <= alarm_warm_up);

    // Ranks errors [from, all) until the batch is full or a decision is due. Returns where it stopped. Skips NaN.
    template <class Error> Index rank(Alarm& alarm, Index from, Index all, Error&& error) {
        before = alarm.count;
        const Index most = room - before % room;
        for (count = 0; from < all && count < most;) {
            double values[alarm_stride];
            int found = 0;
            const Index stop = std::min(alarm_stride - alarm.count % alarm_stride, most - count);
            for (; from < all && found < stop; ++from)
                if (const double given = error(from); !std::isnan(given)) {
                    place[count + found] = from;
                    values[found++] = saturate(given, DBL_MAX);
                }
            if (alarm.count % alarm_block == 0 && found > 0)
                alarm.decide();
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
        const Sample<alarm_sample>& sample = alarm.sample;
        sample.below(bounds, counts);
        const Index searched = sample.known;
        for (int i = 0; i < found; ++i, ++count) {
            const double value = values[i], size = bounds[few + i];
            Index left = counts[i], right = counts[few + i];
            for (Index j = 0; j < sample.known - searched; ++j) { // entered the sample after the search
                left += values[j] < -size;
                right += values[j] < size;
            }
            // The fractions of sampled errors that are larger in size, and that are smaller in value. Equal ones and the
            // error itself count half.
            const Index up_to_right = sample.up_to(size, right), up_to_left = sample.up_to(-size, left);
            const Index inside = up_to_right - left, strictly_inside = size > 0 ? right - up_to_left : 0;
            const Index at = value < 0 ? up_to_left : up_to_right, below = value < 0 ? left : right;
            known[count] = sample.known;
            larger[count] = 2 * sample.known - inside - strictly_inside;
            lower[count] = below + at;
            tied[count] = inside != strictly_inside;
            p[count] = Alarm::rank(larger[count], sample.known);
            q[count] = Alarm::rank(lower[count], sample.known);
            news_known[count] = 0;
            if (alarm.kept > 0)
                rank_news(alarm, alarm.new_in(value, alarm.earlier(1)));
            alarm.latest[alarm.count++ % alarm_warm_up] = value;
            if (alarm.count > alarm_start_up && !alarm.pauses())
                alarm.sample.take(value, at, alarm.count);
        }
    }
    void rank_news(Alarm& alarm, double value) {
        const double size = std::fabs(value), bounds[] = {-size, size};
        Index counts[2];
        Sample<alarm_news_sample>& news = alarm.news;
        news.below(bounds, counts);
        const Index up_to_right = news.up_to(size, counts[1]), up_to_left = news.up_to(-size, counts[0]);
        const Index inside = up_to_right - counts[0], strictly_inside = size > 0 ? counts[1] - up_to_left : 0;
        news_known[count] = news.known;
        news_larger[count] = 2 * news.known - inside - strictly_inside;
        if (!alarm.pauses())
            news.take(value, value < 0 ? up_to_left : up_to_right, alarm.count + 1);
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

// The log-bet on a very large size among the first errors.
inline double log_bet_early(Alarm& alarm, const RankedErrors& errors, Index i) {
    if (alarm.evidence[bet_very_large] == 0)
        std::copy_n(alarm.early, 2, alarm.before);
    alarm.early[0].add(-errors.log_p[i] - 1);
    alarm.early[1].add(errors.z[i]);
    double log_p = errors.log_p[i];
    const Index now = errors.before + i;
    const Index most = std::min(alarm_gathered, errors.known[i]);
    const Index gathered = alarm.evidence[bet_very_large] > 0 ? std::min(now - alarm.began[bet_very_large], most) : 0;
    if (gathered > 0) {
        const auto size_of = [&](Index place) { return std::fabs(alarm.latest[place % alarm_warm_up]); };
        Index larger = errors.larger[i];
        for (Index place = now - gathered; place < now; ++place)
            larger -= (size_of(place) > size_of(now)) + (size_of(place) >= size_of(now));
        const Index others = errors.known[i] - gathered;
        log_p = Alarm::log_rank(std::clamp(larger, Index{0}, 2 * others), others);
    }
    return std::log(alarm_very_power) + (alarm_very_power - 1) * log_p;
}

// Bets on error i. Returns the CUSUM whose evidence exceeds the limit, or alarm_bets.
inline int bet(Alarm& alarm, const RankedErrors& errors, Index i) {
    constexpr double most = 3, // one or two outliers do not raise an alarm
        half_square = 0.5 * alarm_shift * alarm_shift;
    static const double log_very = std::log(alarm_very_power);
    static const double log_power = std::log(alarm_power), log_shrink = 0.5 * std::log(1 + 2 * alarm_shrink);
    const auto on_larger = [](double log_p) { return log_power + (alarm_power - 1) * log_p; };
    const Index now = errors.before + i;
    // A shift towards smaller errors does not count: no score exceeds the size score.
    const double log_p = errors.log_p[i], z = errors.z[i], size = errors.size_score[i], score = at_most(size, most);
    const bool is_new = errors.news_known[i] >= alarm_settled;
    const double log_p_news = is_new ? Alarm::log_rank(errors.news_larger[i], errors.news_known[i]) : log_p;
    const double smaller = log_shrink - alarm_shrink * size * size;
    const double log_bets[] = {on_larger(log_p),
                               alarm_shift * at_most(z, score) - half_square,
                               alarm_shift * at_most(-z, score) - half_square,
                               now < alarm_early ? log_bet_early(alarm, errors, i)
                                                 : log_very + (alarm_very_power - 1) * log_p,
                               is_new ? on_larger(log_p_news) : -HUGE_VAL,
                               errors.tied[i] ? at_most(smaller, 0) : smaller};
    for (int k = 0; k < alarm_bets; ++k) {
        double& evidence = alarm.evidence[k];
        if (evidence == 0) {
            alarm.share[k] = k == bet_very_large ? alarm.very_share : k == bet_news ? alarm.news_share : alarm.current_share;
            alarm.began[k] = now;
        }
        evidence = at_least(0, evidence + alarm.share[k] * log_bets[k]);
    }
    alarm.hold({-log_p, z, -log_p_news});
    const double* const largest = std::max_element(alarm.evidence, alarm.evidence + bet_smaller);
    if (*largest > alarm.limit)
        return static_cast<int>(largest - alarm.evidence);
    return alarm.evidence[bet_smaller] > alarm.limit ? bet_smaller : alarm_bets;
}

// During the pause after an alarm, errors are ranked among those before it. If those of its second half are larger, they
// have settled on a higher level.
inline void wait(Alarm& alarm, double p) {
    constexpr double least = 0.43; // threshold for the mean of p: below 1/2 by more than chance explains
    const Index half = alarm.pause / 2;
    alarm.waited += --alarm.waiting < half ? p : 0;
    if (alarm.waiting == 0 && alarm.waited < least * static_cast<double>(half))
        alarm.fresh = alarm_settled;
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
        } else if (const int found = bet(alarm, errors, i); found < alarm_bets) {
            alarm.change(found, count);
            if (found != bet_smaller)
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
