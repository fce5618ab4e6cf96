// Learns from the errors how wide an interval must be to cover a given share of the labels.
//
// The score of a row is its squared error divided by the model's variance. The bound of a level is a quantile of the recent
// scores times a factor. The factor responds to the intervals issued: it grows by exp(step * level) when a label falls
// outside its interval, and shrinks by exp(-step * (1 - level)) when it falls inside. Over any n rows whose labels came at
// once, the share outside then differs from 1 - level by log(last / first factor) / (step n), whatever the scores do.
// Labels that come late are scored in late_coverage.hpp.
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
inline constexpr double least_score = 1e-290, most_score = 1e280, least_factor = 1e-6, most_factor = 1e12;

// Scores are taken in a few at a time, which is faster; a power of two.
inline constexpr Index most_waiting = 8;

struct Coverage {
    alignas(32) double bound[level_count] = {}; // base times factor: scores above it are misses; 0: no error yet
    alignas(32) double base[level_count] = {};  // quantiles of the recent scores
    std::uint32_t weight[bin_count] = {};
    std::uint32_t weight_of_zeros = 0;
    Index first_key = 0;               // of bin 0; see key_of
    Index noted = 0;                   // scores
    Index taken = 0;                   // of these, how many are taken in; never, if no intervals are needed
    double waiting[most_waiting] = {}; // the others: score i is at i % most_waiting
    Index late = 0;                    // labels that came between the last row's prediction and its label
    Index origin = 0;                  // labels known when the last late row was predicted
    Index batch = 0, last_batch = 0;   // rows predicted there whose labels have come; the same for the origin before
    double largest_loss = 0;           // of the rows whose labels came late
    alignas(16) float debt[level_count] =
        {}; // late labels: excess misses, known ones and the expected ones of waiting intervals
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
DRIFTLINE_ONCE inline void step_out_of_order(Coverage& c, double score) {
    Index missed = 0;
    while (missed < level_count && score > c.bound[missed])
        ++missed;
    for (Index k = 0; k < level_count; ++k)
        c.bound[k] *= k < missed ? coverage_steps.missed[k] : coverage_steps.covered[k];
}
// Moves the bounds by the scores up to the first that is out of order or after which a reading is due.
DRIFTLINE_INLINE void take_in_some(Coverage& c) {
    constexpr Index groups = level_count / lanes<double>;
    Doubles bound[groups]; // in registers
    for (Index g = 0; g < groups; ++g)
        bound[g] = wide(c.bound + g * lanes<double>);
    bool in_order = true;
    Index i = c.taken;
    do {
        const double score = c.waiting[i & (most_waiting - 1)];
        unsigned above = 0;
        for (Index g = 0; g < groups; ++g)
            above |= bits_of(all(score) > bound[g]) << (g * lanes<double>);
        in_order = (above & (above + 1)) == 0;
        if (!in_order) [[unlikely]]
            break;
        for (Index g = 0; g < groups; ++g)
            bound[g] *= all(score) > bound[g] ? wide(coverage_steps.missed + g * lanes<double>)
                                              : wide(coverage_steps.covered + g * lanes<double>);
        count_score(c, score);
        ++i;
    } while (i < c.noted && !reading_is_due(i));
    for (Index g = 0; g < groups; ++g)
        store(c.bound + g * lanes<double>, bound[g]);
    c.taken = i;
    if (!in_order) [[unlikely]] {
        const double score = c.waiting[i & (most_waiting - 1)];
        step_out_of_order(c, score);
        count_score(c, score);
        ++c.taken;
    }
}
DRIFTLINE_ONCE inline void take_in(Coverage& c) {
    while (c.taken < c.noted) {
        take_in_some(c);
        if (reading_is_due(c.taken))
            read_bins(c, c.waiting[(c.taken - 1) & (most_waiting - 1)]);
    }
}

// Takes in all scores.
DRIFTLINE_INLINE void catch_up(Coverage& c) {
    if (c.taken < c.noted)
        take_in(c);
}

// Notes the score of a row whose label came at once. It is not yet taken in, so `judge` may replace it.
DRIFTLINE_INLINE void note(Coverage& c, double score) {
    if ((c.noted & (most_waiting - 1)) == 0) [[unlikely]]
        catch_up(c);
    c.waiting[c.noted & (most_waiting - 1)] = at_most(score, most_score);
    ++c.noted;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
