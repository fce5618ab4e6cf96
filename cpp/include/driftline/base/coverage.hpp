// Learns from the errors how wide an interval must be to cover a given share of the labels.
//
// The score of a row is its squared error divided by the model's variance. The bound of a level is a quantile of the recent
// scores times a factor. The factor responds to the intervals issued: it grows by exp(step * level) when a label falls
// outside its interval, and shrinks by exp(-step * (1 - level)) when it falls inside. Over any n rows whose labels came at
// once, the share outside then differs from 1 - level by log(last / first factor) / (step n), whatever the scores do.
//
// Where labels come late, steps of a factor overshoot: the intervals issued meanwhile do not count yet. The bound is then
// the quantile of another level, which would repay the misses in excess, and intervals that wait for their label count as
// the misses expected of them.
#pragma once

#include <bit>
#include <cstdint>

#include "driftline/base/range.hpp"

namespace driftline {

inline constexpr Index level_count = 16;
inline constexpr double levels[level_count] = {0.1,  0.2, 0.3,   0.4,  0.5,   0.6,  0.7,   0.8,
                                               0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 0.995, 0.999};

inline constexpr Index never = INT64_MAX;

// A histogram of recent scores, four bins per power of two. A row's weight fades; it is counted in units of 1 /
// row_weight.
inline constexpr Index bin_count = 192, median_bin = 64, memory_rows = 512;
inline constexpr std::uint32_t row_weight = 1024, all_kept = 4096, most_weight = 600 * row_weight;
static_assert(most_weight <= UINT32_MAX / all_kept, "fading must not overflow");
inline constexpr double least_score = 1e-290, most_score = 1e290, least_factor = 1e-6, most_factor = 1e12;

struct Coverage {
    alignas(32) double bound[level_count] = {}; // base times factor: scores above it are misses; 0: no error yet
    alignas(32) double base[level_count] = {};  // quantiles of the recent scores
    std::uint32_t weight[bin_count] = {};
    std::uint32_t weight_of_zeros = 0;
    Index first_key = 0;          // of bin 0; see key_of
    Index taken = 0;              // scores taken in: all but the last, perhaps; never, if no intervals are needed
    Index noted = 0;              // all scores
    double last = 0;              // score
    Index late = 0;               // labels that came between the last row's prediction and its label
    double largest_loss = 0;      // of the rows whose labels came late
    float debt[level_count] = {}; // late labels: misses in excess, known or expected of the intervals that wait
};

// Where a level lies among the tracked levels: bound[at]^(1 - share) bound[at + 1]^share factor.
struct Level {
    Index at = 0;
    double share = 0, factor = 1;
    Index enough = 0; // labels needed before intervals of this level are finite
};

inline constexpr double step_at_once = 0.3;
// exp(x) by its series, for |x| up to 1.
inline constexpr double exponential(double x) {
    double sum = 1;
    for (int n = 13; n > 0; --n)
        sum = 1 + sum * (x / n);
    return sum;
}
// Factors for the bounds after a score.
struct CoverageSteps {
    alignas(32) double missed[level_count] = {}, covered[level_count] = {};
    constexpr CoverageSteps() {
        for (Index k = 0; k < level_count; ++k) {
            missed[k] = exponential(step_at_once * levels[k]);
            covered[k] = exponential(step_at_once * (levels[k] - 1));
        }
    }
};
inline constexpr CoverageSteps coverage_steps;

// Of a debt, `repaid` is aimed to be repaid by each row, up to `most_urgency` times as much if labels are later than
// `usual_late`, and `forgotten` is let go. Beyond the largest and the smallest share aimed at, each miss of the debt moves
// the bound by a factor of its own, which is smaller for longer delays.
inline constexpr double repaid = 0.05, forgotten = 1 / 3000.0, least_debt = -30, most_debt = 200, most_growth = 0.15;
inline constexpr float usual_late = 24, most_urgency = 4;
struct LateShares {
    double outside[level_count] = {}, least[level_count] = {}, most[level_count] = {};
    constexpr LateShares() {
        for (Index k = 0; k < level_count; ++k) {
            outside[k] = 1 - levels[k];
            least[k] = outside[k] / 10;
            most[k] = 10 * outside[k] < (1 + outside[k]) / 2 ? 10 * outside[k] : (1 + outside[k]) / 2;
        }
    }
};
inline constexpr LateShares shares;

inline namespace DRIFTLINE_ISA {

// A positive score's exponent and the first two bits after its leading one; and the smallest score with a key.
DRIFTLINE_INLINE Index key_of(double score) { return static_cast<Index>(std::bit_cast<std::uint64_t>(score) >> 50); }
DRIFTLINE_INLINE double edge_of(Index key) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(key > 1 ? key : 1) << 50);
}
DRIFTLINE_INLINE Index bin_of(Index place) { return place < 0 ? 0 : place >= bin_count ? bin_count - 1 : place; }

DRIFTLINE_INLINE void count_score(Coverage& c, double score) {
    if (!(score >= least_score)) [[unlikely]] {
        c.weight_of_zeros += row_weight;
        return;
    }
    if (c.first_key == 0) [[unlikely]]
        c.first_key = key_of(score) - median_bin;
    c.weight[bin_of(key_of(score) - c.first_key)] += row_weight;
}

// The bins are read after every row at first, then less and less often.
DRIFTLINE_INLINE bool reading_is_due(Index rows) { return rows < 32 || (rows & (rows < 512 ? 7 : 63)) == 0; }
DRIFTLINE_INLINE Index rows_since_reading(Index rows) { return rows <= 32 ? 1 : rows <= 512 ? 8 : 64; }

// Bins move when the median of the nonzero scores has left the middle bins. In an end bin its scores may lie anywhere
// beyond; they are then taken to be like the last score, if that is in the same bin.
DRIFTLINE_ONCE inline void centre_bins(Coverage& c, Index median, double score) {
    const bool at_an_end = median == 0 || median == bin_count - 1;
    Index centre = median;
    if (at_an_end) {
        centre = score >= least_score ? key_of(score) - c.first_key : median;
        if (bin_of(centre) != median)
            return;
    }
    const Index by = centre - median_bin;
    std::uint32_t moved[bin_count] = {};
    for (Index i = 0; i < bin_count; ++i) {
        const bool beyond = i == (by < 0 ? 0 : bin_count - 1); // the end towards which the bins move
        moved[!beyond ? bin_of(i - by) : at_an_end ? median_bin : i] += c.weight[i];
    }
    std::memcpy(c.weight, moved, sizeof moved);
    c.first_key += by;
}

// A walk up the bins.
struct BinWalk {
    const std::uint32_t* weight;
    std::uint32_t below; // weight of the zeros and of all lower bins
    Index bin = 0;
    // Moves to the first bin with which the weight so far is at least the given one.
    DRIFTLINE_INLINE void reach(std::uint32_t wanted) {
        for (std::uint32_t here; below + (here = weight[bin]) < wanted; ++bin)
            below += here;
    }
};

// Called after the given score was counted.
DRIFTLINE_ONCE inline void read_bins(Coverage& c, double score) {
    const std::uint32_t zeros = c.weight_of_zeros;
    std::uint32_t total = zeros;
    for (const std::uint32_t weight : c.weight)
        total += weight;
    Index median = median_bin;
    if (total > zeros) {
        BinWalk walk{c.weight, zeros};
        for (Index k = 0; k < level_count; ++k) {
            const double wanted = levels[k] * total;
            const auto whole = static_cast<std::uint32_t>(std::ceil(wanted));
            walk.reach(whole > zeros ? whole : zeros + 1);
            const double within = at_least(0, (wanted - walk.below) / c.weight[walk.bin]);
            const double low = edge_of(c.first_key + walk.bin), high = edge_of(c.first_key + walk.bin + 1);
            const double factor = c.base[k] > 0 ? c.bound[k] / c.base[k] : 1;
            c.base[k] = low + (high - low) * within;
            c.bound[k] = c.base[k] * at_most(at_least(least_factor, factor), most_factor);
        }
        walk = {c.weight, zeros};
        walk.reach(zeros + (total - zeros) / 2 + 1);
        median = walk.bin;
    }
    const double rows = static_cast<double>(c.taken), memory = at_most(at_least(2, 0.5 * rows), memory_rows);
    const double kept = 1 - static_cast<double>(rows_since_reading(c.taken)) / memory;
    const auto keep = static_cast<std::uint32_t>(kept * all_kept);
    for (std::uint32_t& weight : c.weight)
        weight = weight * keep / all_kept;
    c.weight_of_zeros = zeros * keep / all_kept;
    if (median < median_bin - 16 || median >= median_bin + 32)
        centre_bins(c, median, score);
}

// Intervals of higher levels contain those of lower ones, so a score is a miss of all levels before the first whose own
// bound it does not exceed. It rarely exceeds a bound after that one.
DRIFTLINE_ONCE inline void step_out_of_order(Coverage& c, Index missed) {
    for (Index k = 0; k < level_count; ++k)
        c.bound[k] *= k < missed ? coverage_steps.missed[k] : coverage_steps.covered[k];
}
DRIFTLINE_INLINE void take_in_last(Coverage& c) {
    const Doubles score = all(c.last);
    unsigned above = 0;
    for (Index k = 0; k < level_count; k += lanes<double>)
        above |= bits_of(score > wide(c.bound + k)) << k;
    if (above & (above + 1)) [[unlikely]]
        step_out_of_order(c, std::countr_one(above));
    else
        for (Index k = 0; k < level_count; k += lanes<double>) {
            const Doubles bound = wide(c.bound + k);
            store(c.bound + k, bound * (score > bound ? wide(coverage_steps.missed + k) : wide(coverage_steps.covered + k)));
        }
    count_score(c, c.last);
    if (reading_is_due(++c.taken)) [[unlikely]]
        read_bins(c, c.last);
}

// Takes in the last score. Until then the step of the next row need not wait for it, and `judge` may replace it.
DRIFTLINE_INLINE void catch_up(Coverage& c) {
    if (c.taken < c.noted)
        take_in_last(c);
}

// Notes the score of a row whose label came at once.
DRIFTLINE_INLINE void note(Coverage& c, double score) {
    catch_up(c);
    c.last = at_most(score, most_score);
    ++c.noted;
}

// The basis of an interval. It is kept with the prediction, and scored when the label comes.
struct IntervalBasis {
    double bound[level_count] = {}; // a score above it is a miss of the level
    float debt[level_count] = {};   // times its urgency; the share of such intervals expected to be missed follows from it
    double variance = 1;            // of the label, from the model; a score is a squared error divided by it
    double largest_loss = 0;        // largest squared error so far
    Index labels = 0;               // labels known so far
};
// A debt weighs more if labels are very late, because corrections are few.
inline float urgency(const Coverage& c) {
    const auto late = static_cast<float>(c.late);
    return late <= usual_late ? 1 : late >= most_urgency * usual_late ? most_urgency : late / usual_late;
}
// The share of misses with which level k would repay an urgent debt.
inline double share_aimed_at(Index k, double debt) {
    return at_most(at_least(shares.least[k], shares.outside[k] - repaid * debt), shares.most[k]);
}
inline void issue(const Coverage& c, double* bound) {
    double below = 0;
    for (Index k = 0; k < level_count; ++k)
        bound[k] = below = at_least(below, c.bound[k]);
}
inline IntervalBasis basis_of_interval(Coverage& c, double variance, double largest_loss) {
    catch_up(c);
    IntervalBasis out;
    issue(c, out.bound);
    const float urgent = urgency(c);
    for (Index k = 0; k < level_count; ++k)
        out.debt[k] = urgent * c.debt[k];
    out.variance = variance;
    out.largest_loss = at_least(largest_loss, c.largest_loss);
    out.labels = c.noted;
    return out;
}
// Half the width of the interval, at most ten times the largest error so far.
inline double half_width(const IntervalBasis& basis, const Level& level) {
    if (basis.labels < level.enough)
        return HUGE_VAL;
    double bound = basis.bound[level.at];
    if (level.share > 0 && bound > 0)
        bound *= std::pow(basis.bound[level.at + 1] / bound, level.share);
    const double half = std::sqrt(bound * level.factor) * std::sqrt(at_most(basis.variance, DBL_MAX));
    return at_most(half, 10 * std::sqrt(basis.largest_loss));
}

// The score that the given share of recent ones exceeds, between the quantiles of two levels. The search starts at level k.
inline double exceeded_by(const Coverage& c, double share, Index k) {
    while (k + 1 < level_count && shares.outside[k + 1] > share)
        ++k;
    while (k > 0 && shares.outside[k] < share)
        --k;
    if (k + 1 == level_count)
        return c.base[k] * std::sqrt(shares.outside[k] / share);
    const double part = (shares.outside[k] - share) / (shares.outside[k] - shares.outside[k + 1]);
    return c.base[k] + (c.base[k + 1] - c.base[k]) * at_least(0, part);
}
inline double late_bound(const Coverage& c, Index k, double debt, double growth) {
    const double wanted = shares.outside[k] - repaid * debt, share = share_aimed_at(k, debt);
    double bound = exceeded_by(c, share, k);
    if (share != wanted) [[unlikely]]
        bound *= std::exp(growth * (share - wanted) / repaid);
    return at_most(at_least(least_factor * c.base[k], bound), most_factor * c.base[k]);
}

// Scores a late label against the interval issued with its prediction. The model's step has noted a score of its own, which
// does not count. For each label, an interval is taken to have been issued since the last one.
inline void judge(Coverage& c, double square, const IntervalBasis& basis) {
    --c.noted;
    c.largest_loss = at_least(c.largest_loss, at_most(square, DBL_MAX));
    const bool beyond = square > 100 * basis.largest_loss; // see half_width
    const double score = at_most(square / basis.variance, most_score);
    const double miss = beyond ? HUGE_VAL : score;
    const float before = urgency(c);
    for (Index k = 0; k < level_count; ++k) {
        double debt = c.debt[k];
        const double issued = share_aimed_at(k, before * c.debt[k]) - shares.outside[k];
        const double known = (miss > basis.bound[k] ? 1 : 0) - share_aimed_at(k, basis.debt[k]);
        debt += c.bound[k] > 0 ? issued : 0;
        debt += basis.bound[k] > 0 ? known : 0;
        c.debt[k] = static_cast<float>(at_most(at_least(least_debt, debt * (1 - forgotten)), most_debt));
    }
    c.late = c.noted > basis.labels ? c.noted - basis.labels : 0;
    count_score(c, score);
    c.taken = ++c.noted;
    if (reading_is_due(c.taken))
        read_bins(c, score);
    const double late = static_cast<double>(c.late);
    const double growth = at_most(most_growth, at_least(2, 3 * usual_late / late) / late);
    const float urgent = urgency(c);
    for (Index k = 0; k < level_count; ++k)
        c.bound[k] = late_bound(c, k, urgent * c.debt[k], growth / urgent);
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
