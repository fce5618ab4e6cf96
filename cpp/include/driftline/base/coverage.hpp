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

// Scores are taken in some at a time, with the result of one by one.
inline constexpr Index taken_at_once = 32, never = INT64_MAX;
static_assert((taken_at_once & (taken_at_once - 1)) == 0, "places are found by masking");

struct Coverage {
    // Of a Gaussian's scores to begin with.
    alignas(32) double quantile[level_count] = {
        0.03470984799403696, 0.1410851086118283, 0.3263573859715383, 0.6044710507959871, 1.0,
        1.556978656366281,   2.361196238128532,  3.610118538954938,  4.555033957519767,  5.947080331671536,
        6.968123700228816,   8.443946506530777,  11.04305114298234,  14.58422817747731,  17.31986751597481,
        23.80017431098737};
    double scale = 0;                  // 0: no error yet
    Index streak = 0;                  // scores above the scale in a row, or minus those below it
    Index taken = 0;                   // scores that were taken in
    Index noted = 0;                   // all scores
    Index due = taken_at_once;         // scores are taken in when so many are noted; never, where nobody will ask
    Index late = 0;                    // labels that came between the prediction and the label of the last row
    double largest_loss = 0;           // of the rows whose labels came late
    double recent[taken_at_once] = {}; // score number i at i % taken_at_once
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
        const double score = c.recent[i % taken_at_once];
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
            if (streak > 5 || streak < -5 || i < 125) [[unlikely]]
                scale = faster_scale(scale, streak, i);
        }
    }
    for (Index k = 0; k < parts; ++k)
        store(c.quantile + k * lanes<double>, quantile[k]);
    c.scale = scale;
    c.streak = streak;
    c.taken = c.noted;
    c.due = c.noted + taken_at_once;
}

// The score of one more row, whose label came at once.
DRIFTLINE_INLINE void note(Coverage& c, double score) {
    c.recent[c.noted & (taken_at_once - 1)] = at_most(score, DBL_MAX);
    if (++c.noted == c.due) [[unlikely]]
        take_in_noted(c);
}

DRIFTLINE_INLINE void catch_up(Coverage& c) {
    if (c.taken < c.noted && c.due != never)
        take_in_noted(c);
}

// What an interval promises. It is kept with the prediction, and judged when the label comes.
struct Promise {
    double bound[level_count] = {}; // a score above it is a miss of the level
    double scale = 0;
    double variance = 1;     // of the label, by the model; a score is a squared error over it
    double largest_loss = 0; // so far
    Index labels = 0;        // known so far
};
inline Promise promise(Coverage& c, double variance, double largest_loss) {
    catch_up(c);
    Promise out;
    double below = 0; // intervals of higher levels contain those of lower ones
    for (Index k = 0; k < level_count; ++k)
        out.bound[k] = (below = at_least(below, c.quantile[k])) * c.scale;
    out.scale = c.scale;
    out.variance = variance;
    out.largest_loss = at_least(largest_loss, c.largest_loss);
    out.labels = c.noted;
    return out;
}
// Half the width of the interval, no more than ten times the largest error so far.
inline double half_width(const Promise& promise, const Level& level) {
    if (promise.labels < level.enough)
        return HUGE_VAL;
    double bound = promise.bound[level.at];
    if (level.share > 0 && bound > 0)
        bound *= std::pow(promise.bound[level.at + 1] / bound, level.share);
    const double half = std::sqrt(bound * level.factor) * std::sqrt(at_most(promise.variance, DBL_MAX));
    return at_most(half, 10 * std::sqrt(promise.largest_loss));
}

// The label of a row that was predicted some labels ago: what was promised then is what is judged. The step of the model has
// noted a score of its own, which does not count.
inline void judge(Coverage& c, double square, const Promise& promise) {
    --c.noted;
    const double score = at_most(square / promise.variance, DBL_MAX);
    c.late = c.noted - promise.labels;
    c.largest_loss = at_least(c.largest_loss, at_most(square, DBL_MAX));
    for (Index k = 0; k < level_count; ++k) {
        const double moved = c.quantile[k] * (score > promise.bound[k] ? coverage_steps.up[k] : coverage_steps.down[k]);
        c.quantile[k] = at_most(at_least(least_quantile, moved), most_quantile);
    }
    if (score > 0) {
        constexpr double up = 1.04;
        c.scale = c.scale == 0 ? score : score > promise.scale ? c.scale * up : c.scale / up;
        c.scale = at_most(at_least(least_scale, c.scale), most_scale);
    }
    c.taken = ++c.noted;
    c.due = c.due == never ? never : c.noted + taken_at_once;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
