// The basis of an interval, kept until its label comes, and how labels that come late correct the coverage.
//
// With late labels, adjusting a factor overshoots, because intervals that still wait for their labels have not been scored.
// Instead, the bound is the quantile of an adjusted level, chosen to repay the excess misses, the debt. A waiting interval
// counts as its expected number of misses.
//
// Errors of late labels come in bursts, so a debt of a few misses says little, and widths that follow it are worse. What
// matters is that the debt does not leave a band: the adjustment grows with its cube. And once a burst is over, wide
// intervals would repay its misses at the price of many rows whose errors are small: while the newest errors are calm, a
// debt counts little.
#pragma once

#include "driftline/base/coverage.hpp"

namespace driftline {

// A row aims at a share of misses that differs from 1 - level by the cube of debt / usual_debt, and the bound is multiplied
// by another factor for each miss by which the debt exceeds half of usual_debt, which is smaller for longer delays. Debts
// count more among the first `early_rows` labels, up to `most_urgency` times. The fraction `forgotten` is written off.
inline constexpr double most_usual_debt = 20, most_growth = 0.1, forgotten = 1 / 3000.0;
inline constexpr double least_debt = -30, most_debt = 200, early_rows = 1000, most_urgency = 4;
inline constexpr double most_batch = 10; // rows of larger batches repay less, and have a wider band
// Errors are calm if no more than this many of the last 32 exceed the bound of the run level at that time. A debt then
// lowers the share of misses to no less than this part of 1 - level.
inline constexpr int calm_misses = 3;
inline constexpr double calm_share = 0.6;
inline constexpr Index least_batch = 4; // fewer rows in succession may happen to be asked between two labels
// The cube root of x in (0, 1], by Newton's method.
inline constexpr double cube_root(double x) {
    double root = 1;
    for (int n = 0; n < 40; ++n)
        root -= (root - x / (root * root)) / 3;
    return root;
}
// Shares of labels outside the interval: that of each level, and the least and the most that a row may aim at. High levels
// expect few misses, so a few more matter.
struct LateShares {
    alignas(32) double outside[level_count] = {}, least[level_count] = {}, most[level_count] = {},
                       usual_debt[level_count] = {}, calm_debt[level_count] = {}; // the last one counts at most while calm
    double per_share[level_count - 1] = {};                                       // 1 / (outside[k] - outside[k + 1])
    constexpr LateShares() {
        for (Index k = 0; k < level_count; ++k) {
            outside[k] = 1 - levels[k];
            least[k] = 0.3 * outside[k];
            usual_debt[k] = most_usual_debt * (outside[k] < 0.1 ? outside[k] / 0.1 : 1);
            calm_debt[k] = usual_debt[k] * cube_root((1 - calm_share) * outside[k]);
            most[k] = 10 * outside[k] < (1 + outside[k]) / 2 ? 10 * outside[k] : (1 + outside[k]) / 2;
        }
        for (Index k = 0; k + 1 < level_count; ++k)
            per_share[k] = 1 / (outside[k] - outside[k + 1]);
    }
};
inline constexpr LateShares shares;

// Where a share lies among those of the levels, by its leading bits (see key_of): the level before it, or the one before
// that. For shares from 2^-10 to 1.
inline constexpr Index share_keys = 40, first_share_key = (1023 - 10) * 4;
struct SharePlaces {
    std::uint8_t at[share_keys] = {};
    constexpr SharePlaces() {
        for (Index key = 0; key < share_keys; ++key) {
            const double end = std::bit_cast<double>(static_cast<std::uint64_t>(first_share_key + key + 1) << 50);
            while (at[key] + 2 < level_count && shares.outside[at[key] + 1] >= end)
                ++at[key];
        }
    }
};
inline constexpr SharePlaces share_places;

inline constexpr double least_huge_bound = 1e255, least_huge_square = 1e285;

// What an interval is based on.
struct IntervalBasis {
    double bound[level_count] = {}; // a score above it is a miss of the level
    float debt[level_count] = {};   // times its urgency; the share of such intervals expected to be missed follows from it
    double variance = 1;            // of the label, from the model; a score is a squared error divided by it
    double largest_loss = 0;        // largest squared error so far
    Index labels = 0;               // labels known so far
    Limits limits;                  // of the label
};

inline namespace DRIFTLINE_ISA {

// The rows asked between two labels, if labels come in batches; 1 otherwise.
inline Index rows_at_once(const Coverage& c) {
    const Index rows = c.batch > c.last_batch ? c.batch : c.last_batch;
    return rows < least_batch ? 1 : rows;
}
// A few misses matter in a short stream. If labels come in batches, all rows of a batch repay a debt together.
inline double urgency(const Coverage& c) {
    const double urgent = at_most(at_least(1, early_rows / at_least(1, static_cast<double>(c.noted))), most_urgency);
    return at_most(urgent, most_batch / static_cast<double>(rows_at_once(c)));
}
inline bool is_calm(const Coverage& c) { return std::popcount(c.misses) <= calm_misses; }
// The debts of the levels from k on that the next row counts, times their urgency, in the precision in which a basis keeps
// them.
DRIFTLINE_INLINE Few<float> urgent_debts(const Coverage& c, Index k, double urgent) {
    const Doubles debt = urgent * load_doubles(c.debt + k);
    return narrowed<float>(is_calm(c) ? smaller(debt, wide(shares.calm_debt + k)) : debt);
}
// The shares of misses with which the levels from k on would repay urgent debts.
DRIFTLINE_INLINE Doubles shares_aimed_at(Index k, Few<float> urgent_debt, bool batches) {
    const Doubles debt = __builtin_convertvector(urgent_debt, Doubles) / wide(shares.usual_debt + k);
    const Doubles share = wide(shares.outside + k) - (batches ? debt : debt * debt * debt);
    return smaller(larger(share, wide(shares.least + k)), wide(shares.most + k));
}
DRIFTLINE_INLINE void base_interval(Coverage& c, const Limits& limits, double variance, double largest_loss,
                                    IntervalBasis& out) {
    catch_up(c);
    double below = 0;
    for (Index k = 0; k < level_count; ++k)
        out.bound[k] = below = at_least(below, c.bound[k]);
    const double urgent = urgency(c);
    for (Index k = 0; k < level_count; k += lanes<double>)
        store_anywhere(out.debt + k, urgent_debts(c, k, urgent));
    out.variance = variance;
    out.largest_loss = at_least(largest_loss, c.largest_loss);
    out.labels = c.noted;
    out.limits = limits;
}
// Ten times the largest error so far, or infinity if its square exceeds the range of double.
inline double widest_half(const IntervalBasis& basis) {
    return basis.largest_loss < DBL_MAX ? 10 * std::sqrt(basis.largest_loss) : HUGE_VAL;
}
// Whether a bound says no more than that errors are huge: scores above most_score count as most_score, and squares above
// DBL_MAX as DBL_MAX. Bounds are then at most a few bins and the least factor below these.
inline bool is_beyond_scores(const IntervalBasis& basis, double bound) {
    const double square = bound * at_most(basis.variance, DBL_MAX);
    return (bound >= least_huge_bound && basis.largest_loss / most_score >= basis.variance) ||
           (square >= least_huge_square && basis.largest_loss >= DBL_MAX);
}
// Half the width of the interval, at most ten times the largest error so far.
inline double half_width(const IntervalBasis& basis, const Level& level) {
    if (basis.labels < level.enough)
        return HUGE_VAL;
    if (is_beyond_scores(basis, basis.bound[level.at])) [[unlikely]]
        return widest_half(basis);
    double bound = basis.bound[level.at];
    if (level.share > 0 && bound > 0)
        bound *= std::pow(basis.bound[level.at + 1] / bound, level.share);
    const double half = std::sqrt(bound * level.factor) * std::sqrt(at_most(basis.variance, DBL_MAX));
    return at_most(half, 10 * std::sqrt(basis.largest_loss));
}

// The score that the given share of recent ones exceeds, between the quantiles of two levels.
DRIFTLINE_INLINE double exceeded_by(const Coverage& c, double share) {
    constexpr Index last = level_count - 1;
    if (share < shares.outside[last])
        return c.base[last] * std::sqrt(shares.outside[last] / share);
    Index k = share_places.at[key_of(share) - first_share_key];
    k += shares.outside[k + 1] > share;
    return c.base[k] + (c.base[k + 1] - c.base[k]) * at_least(0, (shares.outside[k] - share) * shares.per_share[k]);
}

// The limits of a debt, in units of those without batches: where a row repays less, more has to be kept.
inline double debt_scale(const Coverage& c) { return at_least(1, static_cast<double>(rows_at_once(c)) / most_batch); }

// Counts a late row among those predicted with the same number of known labels. Rows predicted before the first label are
// not counted: they do not show whether labels come in batches.
inline void count_in_batch(Coverage& c, Index labels) {
    if (labels != c.origin) {
        c.origin = labels;
        c.last_batch = c.batch;
        c.batch = 0;
    }
    c.batch += labels > 0;
}

// When a label arrives, replaces the expected misses of its interval by the outcome, 0 or 1, and adds those of the latest
// interval. In batches, no interval waits when the next ones are issued, and only outcomes count.
inline void settle_debts(Coverage& c, double score, const IntervalBasis& basis) {
    const double urgent = urgency(c);
    const bool batches = rows_at_once(c) > 1;
    const double least = least_debt * debt_scale(c), most = most_debt * debt_scale(c);
    for (Index k = 0; k < level_count; k += lanes<double>) {
        const Doubles zero = {}, old = load_doubles(c.debt + k), bound = load_anywhere<Doubles>(basis.bound + k);
        const Doubles issued = shares_aimed_at(k, urgent_debts(c, k, urgent), batches) - wide(shares.outside + k);
        const Doubles missed = all(score) > bound ? all(1.0) : zero;
        const Doubles expected = shares_aimed_at(k, load_anywhere<Few<float>>(basis.debt + k), false);
        const Doubles known = missed - (batches ? wide(shares.outside + k) : expected);
        const Doubles waits = batches ? zero : issued;
        const Doubles debt = old + (wide(c.bound + k) > 0 ? waits : zero) + (bound > 0 ? known : zero);
        store_doubles(c.debt + k, smaller(larger(debt * (1 - forgotten), all(least)), all(most)));
    }
}
// The largest bound. Intervals much wider than the recent errors help only if errors grow further, so bounds end at twice
// the largest recent score. It is not below the quantiles.
inline double most_bound(const Coverage& c) {
    return at_least(2 * edge_of_bin(c, high_bin(c) + 1), c.base[level_count - 1]);
}
// Sets the bounds with which the next rows would repay the debts.
inline void repay_debts(Coverage& c) {
    const double urgent = urgency(c), growth = at_most(most_growth, 2 / static_cast<double>(c.delay));
    const bool calm = is_calm(c);
    alignas(32) double aimed[level_count];
    for (Index k = 0; k < level_count; k += lanes<double>)
        store(aimed + k, shares_aimed_at(k, urgent_debts(c, k, urgent), rows_at_once(c) > 1));
    for (Index k = 0; k < level_count; ++k) {
        const double debt = at_most(urgent * c.debt[k], calm ? shares.calm_debt[k] : HUGE_VAL),
                     excess = debt - saturate(debt, shares.usual_debt[k] / 2);
        c.bound[k] = exceeded_by(c, aimed[k]);
        if (excess != 0)
            c.bound[k] *= std::exp(growth * excess);
    }
    double widest = 0;
    for (const double bound : c.bound)
        widest = at_least(widest, bound);
    const double most = widest > c.base[level_count - 1] ? most_bound(c) : HUGE_VAL;
    for (Index k = 0; k < level_count; k += lanes<double>) {
        const Doubles base = wide(c.base + k), bound = smaller(wide(c.bound + k), all(most));
        store(c.bound + k, smaller(larger(bound, least_factor * base), most_factor * base));
    }
}

// Counts the place of a late label among the ends issued with its prediction.
inline void count_late_place(Coverage& c, double score, double error, const IntervalBasis& basis) {
    Index missed = 0;
    while (missed < level_count && score > basis.bound[missed])
        ++missed;
    count_place_among(c, basis.bound, score, error, missed);
}

// Scores a late label against the interval issued with its prediction. The model's step has noted a score of its own, which
// does not count, unless the row was asked before the first label: its variance is then that of a model that had learned
// nothing, and the larger of the two scores counts. Assumes that one interval is issued for
// each label.
inline void judge(Coverage& c, double error, const IntervalBasis& basis) {
    const double square = error * error;
    --c.noted;
    double& noted = c.ring[c.noted & (ring_size - 1)];
    c.largest_loss = at_least(c.largest_loss, at_most(square, DBL_MAX));
    const bool beyond = square > 100 * basis.largest_loss; // see half_width
    const double score = at_most(square / basis.variance, most_score);
    count_in_batch(c, basis.labels);
    settle_debts(c, beyond ? HUGE_VAL : score, basis);
    c.delay = c.noted > basis.labels ? c.noted - basis.labels : 0;
    const double counted = basis.labels > 0 ? score : at_least(score, std::fabs(noted));
    noted = std::copysign(counted, error);
    count_score(c, counted);
    count_late_place(c, beyond ? HUGE_VAL : score, error, basis);
    c.taken = ++c.noted;
    if (ends_run(c.misses, counted > c.bound[run_level]))
        end_run(c);
    if (reading_is_due(c.taken - c.since))
        read_bins(c, counted);
    repay_debts(c);
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
