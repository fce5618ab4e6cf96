// Learns from the errors how wide an interval must be to cover a given share of the labels.
//
// The score of a row is its squared error divided by the model's variance. The bound of a level is a quantile of the recent
// scores times a factor. The factor responds to the intervals issued: it grows by exp(step * level) when a label falls
// outside its interval, and shrinks by exp(-step * (1 - level)) when it falls inside. Over any n rows whose labels came at
// once, the share outside then differs from 1 - level by log(last / first factor) / (step n), whatever the scores do.
//
// The factor alone is too slow for errors that grow by orders of magnitude, as after a quiet spell. A run of misses that is
// next to impossible if scores are like the recent ones shows that they are not. Then factors that shrank while intervals
// were too wide return to 1: the share outside is at most what the factors say, but misses that were too few before the run
// are not made up for. And if most scores of the run are far above the recent ones, they take their place. Otherwise it may
// be a jump of the weights that the learner is following; the factor is fast enough for it.
// Labels that come late are scored in late_coverage.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "driftline/base/range.hpp"

namespace driftline {

inline constexpr Index level_count = 16;
inline constexpr double levels[level_count] = {0.1,  0.2, 0.3,   0.4,  0.5,   0.6,  0.7,   0.8,
                                               0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 0.995, 0.999};

inline constexpr Index never = INT64_MAX;

// A histogram of recent scores: a row's weight fades, counted in units of 1 / row_weight. Bins have one width in octaves,
// four to an octave if all scores fit, else as few as it takes, so that scores that differ by hundreds of orders of
// magnitude all have a place.
inline constexpr Index bin_count = 128, most_shift = 6, memory_rows = 512, place_memory_rows = 256;
inline constexpr std::uint32_t row_weight = 1024, all_kept = 4096, most_weight = 600 * row_weight;
static_assert(most_weight <= UINT32_MAX / all_kept, "fading must not overflow");
inline constexpr double least_score = 1e-290, most_score = 1e280, least_factor = 1e-6, most_factor = 1e12;

// Up to eight scores wait and are taken in together, which is faster. The ring also keeps the last eight that were taken in.
// Both sizes are powers of two.
inline constexpr Index most_waiting = 8, ring_size = 2 * most_waiting;

// Eight misses of this level in a row happen once in 10^8 rows if errors are like the recent ones.
inline constexpr Index run_level = 9;
inline constexpr std::uint32_t long_run = (1u << most_waiting) - 1; // as bits
static_assert(levels[run_level] == 0.9);
// Scores 100 times the quantile of the run level are far above the recent ones: a factor needs 17 misses to grow that much.
inline constexpr double far_above = 100;
// Late labels, whose errors are alike, often have such runs. Their debts are forgiven only if that far below 0: they rarely
// are, except after a quiet spell.
inline constexpr double surplus = -20;

// Where labels lay among the ends of the intervals issued, for quantiles.hpp: places from below all intervals to above them,
// with the prediction itself in the middle. Between the ends of neighbouring levels there are several places, because the
// errors of discrete labels gather next to the ends.
inline constexpr Index parts = 4, middle = (level_count + 1) * parts, place_count = 2 * middle + 1;
struct Places {
    std::uint32_t weight[place_count] = {}; // how often recent labels lay at each; fades as in the bins
};
inline constexpr double part_starts[parts] = {0, 1 / 8.0, 1 / 2.0, 7 / 8.0};

struct Coverage {
    alignas(32) double bound[level_count] = {}; // base times factor: scores above it are misses; 0: no error yet
    alignas(32) double base[level_count] = {};  // quantiles of the recent scores
    std::uint32_t weight[bin_count] = {};
    std::uint32_t weight_of_zeros = 0;
    std::uint32_t shift = 0;         // a bin is 2^shift keys wide
    std::uint32_t misses = 0;        // of the run level, a bit a row, the last one lowest
    Index first_key = 0;             // of bin 0; see key_of
    Index noted = 0;                 // scores
    Index taken = 0;                 // of these, how many are taken in; never, if no intervals are needed
    Index since = 0;                 // score from which rows count for memory and readings: 0, or moved by a change
    double ring[ring_size] = {};     // score i is at i % ring_size, negative if its label was below the prediction
    Index delay = 0;                 // labels that came between the last row's prediction and its label
    Index origin = 0;                // labels known when the last late row was predicted
    Index batch = 0, last_batch = 0; // rows predicted there whose labels have come; the same for the origin before
    double largest_loss = 0;         // of the rows whose labels came late
    alignas(16) float debt[level_count] =
        {}; // late labels: excess misses, known ones and the expected ones of waiting intervals
    Places places;
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
    constexpr Index last = 2046 * 4;
    return std::bit_cast<double>(static_cast<std::uint64_t>(key < 1 ? 1 : key < last ? key : last) << 50);
}
DRIFTLINE_INLINE double edge_of_bin(const Coverage& c, Index bin) { return edge_of(c.first_key + (bin << c.shift)); }
DRIFTLINE_INLINE Index bin_of(const Coverage& c, double score) { return (key_of(score) - c.first_key) >> c.shift; }

// Changes the bins to 2^shift keys each, the first one at or below the given key. The edges of old and new bins agree. A bin
// that is divided is assumed to be filled evenly.
inline void change_bins(Coverage& c, Index first_key, Index shift) {
    const Index width = Index{1} << shift, old_width = Index{1} << c.shift;
    first_key = c.first_key + ((first_key - c.first_key) >> shift << shift);
    while (first_key < 1)
        first_key += width;
    std::uint32_t old[bin_count];
    std::memcpy(old, c.weight, sizeof old);
    std::memset(c.weight, 0, sizeof c.weight);
    const Index parts = width < old_width ? old_width / width : 1;
    for (Index i = 0; i < bin_count; ++i)
        for (Index part = 0; part < parts && old[i] > 0; ++part) {
            const Index key = c.first_key + i * old_width + part * width, bin = (key - first_key) >> shift;
            const auto n = static_cast<std::uint32_t>(parts);
            c.weight[bin < 0 ? 0 : bin >= bin_count ? bin_count - 1 : bin] += old[i] / n + (part < old[i] % n);
        }
    c.first_key = first_key;
    c.shift = static_cast<std::uint32_t>(shift);
}

// Fits the bins to the scores from a low key to a high one: as narrow as possible with a third of them free, most of these
// at the top, since scores above the bins must not be confused.
inline void fit_bins(Coverage& c, Index low, Index high) {
    Index shift = 0;
    while (shift < most_shift && ((high - low) >> shift) >= 2 * bin_count / 3)
        ++shift;
    const Index free = bin_count - 1 - ((high - low) >> shift);
    change_bins(c, low - ((free * 2 / 5) << shift), shift);
}

// The lowest bin that matters: below it is less than a sixteenth of the weight.
inline Index low_bin(const Coverage& c) {
    std::uint32_t total = 0, below = 0;
    for (const std::uint32_t weight : c.weight)
        total += weight;
    Index bin = 0;
    while (bin < bin_count - 1 && (below += c.weight[bin]) <= total / 16)
        ++bin;
    return bin;
}
inline Index high_bin(const Coverage& c) {
    Index bin = bin_count - 1;
    while (bin > 0 && c.weight[bin] == 0)
        --bin;
    return bin;
}
DRIFTLINE_ONCE inline void reach_up(Coverage& c, Index key) {
    const bool first = c.first_key == 0;
    if (first)
        c.first_key = key;
    fit_bins(c, first ? key : c.first_key + (low_bin(c) << c.shift), key);
}

// Scores above the bins move them at once; those below share the first bin until a level lies there, see read_bins.
DRIFTLINE_INLINE void count_score(Coverage& c, double score) {
    if (!(score >= least_score)) [[unlikely]] {
        c.weight_of_zeros += row_weight;
        return;
    }
    Index bin = bin_of(c, score);
    if (bin >= bin_count) [[unlikely]] { // also before the first score
        reach_up(c, key_of(score));
        bin = bin_of(c, score);
    }
    c.weight[bin < 0 ? 0 : bin] += row_weight;
}

DRIFTLINE_INLINE double score_at(const Coverage& c, Index i) { return std::fabs(c.ring[i & (ring_size - 1)]); }
// Counts the place of a row: its score exceeds the issued bounds of the first `missed` levels, and lies between `low`, the
// last of these, and `high`, the next. The sign says on which side its label lay. Without branches: sides are unpredictable.
DRIFTLINE_INLINE void count_place(Coverage& c, double score, double side, Index missed, double low, double high) {
    const double beyond = score - low, between = high - low;
    Index place = missed * parts + 1;
    for (Index part = 1; part < parts; ++part)
        place += beyond > part_starts[part] * between;
    const Index sign = std::signbit(side) ? -1 : 1;
    c.places.weight[middle + (score > 0 ? sign * place : 0)] += row_weight;
}

// The bins are read after every row at first, then less and less often; always after a multiple of these rows.
DRIFTLINE_INLINE Index rows_to_reading(Index rows) { return rows < 32 ? 1 : rows < 512 ? 8 : 64; }
DRIFTLINE_INLINE bool reading_is_due(Index rows) { return (rows & (rows_to_reading(rows) - 1)) == 0; }
DRIFTLINE_INLINE Index rows_since_reading(Index rows) { return rows_to_reading(rows - 1); }

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

// If the lowest level lies in the first bin, its scores may be anywhere below; they are then taken to be like the last
// score, if that is there too.
DRIFTLINE_ONCE inline void reach_down(Coverage& c, double score) {
    if (!(score >= least_score) || bin_of(c, score) >= 0)
        return;
    const std::uint32_t lowest = c.weight[0];
    c.weight[0] = 0;
    fit_bins(c, key_of(score), c.first_key + (high_bin(c) << c.shift));
    const Index bin = bin_of(c, score);
    c.weight[bin < 0 ? 0 : bin] += lowest;
}
DRIFTLINE_ONCE inline void narrow_bins(Coverage& c) {
    const Index low = low_bin(c), high = high_bin(c);
    if (high - low < bin_count / 4)
        fit_bins(c, c.first_key + (low << c.shift), c.first_key + (high << c.shift));
}

// Called after the given score was counted, by the kernels or by whoever asks for an interval or the state. The result must
// not depend on which instruction set that code is compiled for, so sums of products are rounded once, explicitly.
DRIFTLINE_ONCE inline void read_bins(Coverage& c, double score) {
    const std::uint32_t zeros = c.weight_of_zeros;
    std::uint32_t total = zeros;
    for (const std::uint32_t weight : c.weight)
        total += weight;
    Index lowest = 1;
    if (total > zeros) {
        BinWalk walk{c.weight, zeros};
        double low[level_count], high[level_count], within[level_count];
        for (Index k = 0; k < level_count; ++k) {
            const double wanted = levels[k] * total;
            const auto whole = static_cast<std::uint32_t>(std::ceil(wanted));
            walk.reach(whole > zeros ? whole : zeros + 1);
            low[k] = edge_of_bin(c, walk.bin);
            high[k] = edge_of_bin(c, walk.bin + 1);
            within[k] = at_least(0, std::fma(levels[k], total, -static_cast<double>(walk.below))) / c.weight[walk.bin];
            lowest = k == 0 ? walk.bin : lowest;
        }
        for (Index k = 0; k < level_count; ++k) {
            const double factor = c.base[k] > 0 ? c.bound[k] / c.base[k] : 1;
            c.base[k] = std::fma(high[k] - low[k], within[k], low[k]);
            c.bound[k] = c.base[k] * at_most(at_least(least_factor, factor), most_factor);
        }
    }
    // Late labels repay debts by the large scores of a change, so these are not forgotten sooner than others.
    const Index rows = c.delay > 0 ? c.taken : c.taken - c.since;
    const double memory = at_least(2, 0.5 * static_cast<double>(rows)), read = rows_since_reading(c.taken - c.since);
    const auto keep = static_cast<std::uint32_t>((1 - read / at_most(memory, memory_rows)) * all_kept);
    const auto keep_places = static_cast<std::uint32_t>((1 - read / at_most(memory, place_memory_rows)) * all_kept);
    for (std::uint32_t& weight : c.weight)
        weight = weight * keep / all_kept;
    c.weight_of_zeros = zeros * keep / all_kept;
    for (std::uint32_t& weight : c.places.weight)
        weight = weight * keep_places / all_kept;
    if (lowest == 0) [[unlikely]]
        reach_down(c, score);
    else if (c.shift > 0) [[unlikely]]
        narrow_bins(c);
}

// Replaces the recent scores by the last few: the older ones then weigh as much as these together.
DRIFTLINE_ONCE inline void begin_anew(Coverage& c) {
    constexpr Index rows = most_waiting;
    std::uint64_t total = c.weight_of_zeros;
    for (const std::uint32_t weight : c.weight)
        total += weight;
    if (total > rows * row_weight) {
        const auto scaled = [total](std::uint32_t w) { return static_cast<std::uint32_t>(w * rows * row_weight / total); };
        for (std::uint32_t& weight : c.weight)
            weight = scaled(weight);
        c.weight_of_zeros = scaled(c.weight_of_zeros);
    }
    for (Index i = c.taken - rows; i < c.taken; ++i)
        count_score(c, score_at(c, i));
    c.since = c.taken - std::min(c.taken - c.since, 2 * rows);
    c.misses <<= most_waiting; // another run begins after this one
}

// Called when the last few scores were all misses.
DRIFTLINE_ONCE inline void end_run(Coverage& c) {
    for (Index k = 0; k < level_count; ++k) {
        c.bound[k] = at_least(c.base[k], c.bound[k]);
        c.debt[k] = c.debt[k] < surplus ? 0 : c.debt[k];
    }
    Index far = 0;
    for (Index i = c.taken - most_waiting; i < c.taken; ++i)
        far += score_at(c, i) > far_above * c.base[run_level];
    if (far > most_waiting / 2)
        begin_anew(c);
}

// Notes whether a score was a miss; true if the last few all were.
DRIFTLINE_INLINE bool ends_run(std::uint32_t& misses, bool missed) {
    misses = misses << 1 | missed;
    return (misses & long_run) == long_run;
}

// The same among the bounds issued for all levels. Before the first error, none were.
inline void count_place_among(Coverage& c, const double* bound, double score, double side, Index missed) {
    if (bound[level_count - 1] > 0)
        count_place(c, score, side, missed, missed > 0 ? bound[missed - 1] : 0,
                    missed < level_count ? bound[missed] : HUGE_VAL);
}

// Intervals of higher levels contain those of lower ones, so a score is a miss of all levels before the first whose own
// bound it does not exceed. It rarely exceeds a bound after that one.
// Returns the number of levels missed.
DRIFTLINE_ONCE inline Index step_out_of_order(Coverage& c, double score, double side) {
    Index missed = 0;
    while (missed < level_count && score > c.bound[missed])
        ++missed;
    count_place_among(c, c.bound, score, side, missed);
    for (Index k = 0; k < level_count; ++k)
        c.bound[k] *= k < missed ? coverage_steps.missed[k] : coverage_steps.covered[k];
    return missed;
}
// Moves the bounds by the scores up to the first that is out of order, ends a run or after which a reading is due.
DRIFTLINE_INLINE void take_in_some(Coverage& c) {
    constexpr Index groups = level_count / lanes<double>;
    Doubles bound[groups]; // in registers
    for (Index g = 0; g < groups; ++g)
        bound[g] = wide(c.bound + g * lanes<double>);
    bool in_order = true, long_missed = false;
    std::uint32_t misses = c.misses; // in a register
    const bool issued = c.bound[level_count - 1] > 0;
    alignas(32) double ends[level_count + 2 * lanes<double>]; // bounds of the row, between 0 and infinity
    ends[lanes<double> - 1] = 0;
    ends[lanes<double> + level_count] = HUGE_VAL;
    Index i = c.taken;
    const Index age = i - c.since, apart = rows_to_reading(age), end = std::min(c.noted, i + apart - (age & (apart - 1)));
    do {
        const double side = c.ring[i & (ring_size - 1)], score = std::fabs(side);
        unsigned above = 0;
        for (Index g = 0; g < groups; ++g)
            above |= bits_of(all(score) > bound[g]) << (g * lanes<double>);
        in_order = (above & (above + 1)) == 0;
        if (!in_order) [[unlikely]]
            break;
        for (Index g = 0; g < groups; ++g)
            store(ends + (g + 1) * lanes<double>, bound[g]);
        const Index missed = std::countr_one(above);
        for (Index g = 0; g < groups; ++g)
            bound[g] *= all(score) > bound[g] ? wide(coverage_steps.missed + g * lanes<double>)
                                              : wide(coverage_steps.covered + g * lanes<double>);
        count_score(c, score);
        if (issued)
            count_place(c, score, side, missed, ends[lanes<double> - 1 + missed], ends[lanes<double> + missed]);
        long_missed = ends_run(misses, above >> run_level & 1);
        ++i;
    } while (i < end && !long_missed);
    for (Index g = 0; g < groups; ++g)
        store(c.bound + g * lanes<double>, bound[g]);
    c.taken = i;
    c.misses = misses;
    if (!in_order) [[unlikely]] {
        const double side = c.ring[i & (ring_size - 1)], score = std::fabs(side);
        const Index missed = step_out_of_order(c, score, side);
        count_score(c, score);
        long_missed = ends_run(c.misses, missed > run_level);
        ++c.taken;
    }
    if (long_missed) [[unlikely]]
        end_run(c);
}
DRIFTLINE_ONCE inline void take_in(Coverage& c) {
    while (c.taken < c.noted) {
        take_in_some(c);
        if (reading_is_due(c.taken - c.since))
            read_bins(c, score_at(c, c.taken - 1));
    }
}

// Takes in all scores.
DRIFTLINE_INLINE void catch_up(Coverage& c) {
    if (c.taken < c.noted)
        take_in(c);
}

// Notes the score of a row whose label came at once, and the error. It is not yet taken in, so `judge` may replace it.
DRIFTLINE_INLINE void note(Coverage& c, double score, double error) {
    if ((c.noted & (most_waiting - 1)) == 0) [[unlikely]]
        catch_up(c);
    c.ring[c.noted & (ring_size - 1)] = std::copysign(at_most(score, most_score), error);
    ++c.noted;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
