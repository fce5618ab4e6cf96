// How wide an interval must be to hold a given share of the labels, learned from the errors themselves.
//
// The score of a row is its squared error over the variance that the model gave it. For each level the quantile of the
// scores is followed by steps in its logarithm: up by step * level after a score above it, down by step * (1 - level) after
// one below. Over any n rows the share of scores above it then differs from 1 - level by log(last / first) / (step n),
// whatever the scores do. Quantiles are kept relative to a scale, the median of the scores that are not zero, which moves
// faster: when the errors of all rows grow or shrink together, the quantiles need not move.
#pragma once

#include <cstdint>

#include "driftline/base/range.hpp"

namespace driftline {

inline constexpr Index level_count = 16;
inline constexpr double levels[level_count] = {0.1,  0.2, 0.3,   0.4,  0.5,   0.6,  0.7,   0.8,
                                               0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 0.995, 0.999};

// Scores are only noted until an interval is asked for. From then on they are taken in, some at a time.
inline constexpr Index remembered = 128, taken_at_once = 32, never = INT64_MAX;
static_assert((remembered & (remembered - 1)) == 0, "places are found by masking");

struct Coverage {
    // Of a Gaussian's scores to begin with.
    alignas(32) double quantile[level_count] = {
        0.03470984799403696, 0.1410851086118283, 0.3263573859715383, 0.6044710507959871, 1.0,
        1.556978656366281,   2.361196238128532,  3.610118538954938,  4.555033957519767,  5.947080331671536,
        6.968123700228816,   8.443946506530777,  11.04305114298234,  14.58422817747731,  17.31986751597481,
        23.80017431098737};
    double scale = 0; // 0: no error yet
    Index streak = 0; // scores above the scale in a row, or minus those below it
    Index first = 0;  // of the scores that were taken in
    Index taken = 0; // the scores before this one are taken in, or were too old for it when the first interval was asked for
    Index noted = 0; // all scores
    Index due = never;              // scores are taken in when so many are noted
    double recent[remembered] = {}; // score number i at i % remembered
};
inline constexpr double least_quantile = 1e-6, most_quantile = 1e12, least_scale = 1e-290, most_scale = 1e290;

// Where a level lies among those that are followed: quantile[at]^(1 - share) quantile[at + 1]^share factor.
struct Level {
    Index at = 0;
    double share = 0, factor = 1;
    Index enough = 0; // labels without which nothing is said about this level
};

// What the quantiles are multiplied by after a score above, or not above, them.
struct CoverageSteps {
    alignas(32) double up[level_count] = {};
    alignas(32) double down[level_count] = {};
    constexpr CoverageSteps() {
        for (Index k = 0; k < level_count; ++k) {
            up[k] = exponential(step_of(levels[k]) * levels[k]);
            down[k] = exponential(-step_of(levels[k]) * (1 - levels[k]));
        }
    }
    // Where one score in a hundred is above the quantile, little is learned of it a row: steps are larger from 0.95 to 0.99.
    static constexpr double step_of(double level) {
        const double beyond = (level - 0.95) / 0.04;
        return 0.12 + 0.24 * (beyond < 0 ? 0 : beyond > 1 ? 1 : beyond);
    }
    static constexpr double exponential(double x) {
        double sum = 1, term = 1;
        for (int n = 1; n < 16; ++n)
            sum += term *= x / n;
        return sum;
    }
};
inline constexpr CoverageSteps coverage_steps;

inline namespace DRIFTLINE_ISA {

// The scale moves by more over the first scores, and where score after score falls on the same side of it.
DRIFTLINE_ONCE inline double faster_scale(double scale, Index streak, Index count) {
    const double beyond = at_least(0, static_cast<double>(streak > 0 ? streak : -streak) - 5);
    const double early = 1 + at_most(0.5, 5 / static_cast<double>(count + 1));
    const double factor = (count < 125 ? early : 1) * (1 + at_most(0.01 * beyond * beyond, 3));
    return at_most(at_least(least_scale, streak > 0 ? scale * factor : scale / factor), most_scale);
}

// Half of the scores are above the scale, so nothing branches on that. A score of 0 says nothing about the scale.
DRIFTLINE_ONCE inline void take_in_noted(Coverage& c) {
    constexpr Index parts = level_count / lanes<double>;
    constexpr double up = 1.04, down = 1 / up;
    Doubles quantile[parts];
    for (Index k = 0; k < parts; ++k)
        quantile[k] = wide(c.quantile + k * lanes<double>);
    double scale = c.scale;
    Index streak = c.streak;
    for (Index i = c.taken; i < c.noted; ++i) {
        const double score = c.recent[i % remembered];
        if (scale == 0) [[unlikely]]
            scale = score > 0 ? at_most(at_least(least_scale, score), most_scale) : 0;
        const Doubles relative = all(score > 0 ? score / scale : 0.0);
        for (Index k = 0; k < parts; ++k) {
            const Doubles higher = wide(coverage_steps.up + k * lanes<double>);
            const Doubles lower = wide(coverage_steps.down + k * lanes<double>);
            const Doubles moved = quantile[k] * (relative > quantile[k] ? higher : lower);
            quantile[k] = smaller(larger(moved, all(least_quantile)), all(most_quantile));
        }
        if (score > 0) [[likely]] {
            const Index side = 2 * static_cast<Index>(score > scale) - 1, broken = (streak ^ side) >> 63;
            scale = at_most(at_least(least_scale, scale * (score > scale ? up : down)), most_scale);
            streak = (streak & ~broken) + side;
            if (streak > 5 || streak < -5 || i - c.first < 125) [[unlikely]]
                scale = faster_scale(scale, streak, i - c.first);
        }
    }
    for (Index k = 0; k < parts; ++k)
        store(c.quantile + k * lanes<double>, quantile[k]);
    c.scale = scale;
    c.streak = streak;
    c.taken = c.noted;
    c.due = c.noted + taken_at_once;
}

// The score of one more row.
DRIFTLINE_INLINE void note(Coverage& c, double score) {
    c.recent[c.noted & (remembered - 1)] = at_most(score, DBL_MAX);
    if (++c.noted == c.due) [[unlikely]]
        take_in_noted(c);
}

// Makes ready for an interval.
DRIFTLINE_INLINE void catch_up(Coverage& c) {
    if (c.due == never)
        c.first = c.taken = c.noted > remembered ? c.noted - remembered : 0;
    if (c.taken < c.noted || c.due == never)
        take_in_noted(c);
}

// Half the width of the interval for a label of the given variance, no more than ten times the largest error so far.
// Intervals of higher levels contain those of lower ones.
inline double half_width(Coverage& c, const Level& level, double variance, double largest_loss) {
    catch_up(c);
    if (c.noted < level.enough)
        return HUGE_VAL;
    double below = 0;
    for (Index k = 0; k <= level.at; ++k)
        below = at_least(below, c.quantile[k]);
    double quantile = below;
    if (level.share > 0)
        quantile *= std::pow(at_least(below, c.quantile[level.at + 1]) / below, level.share);
    const double half = std::sqrt(quantile * level.factor) * std::sqrt(c.scale) * std::sqrt(at_most(variance, DBL_MAX));
    return at_most(half, 10 * std::sqrt(largest_loss));
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
