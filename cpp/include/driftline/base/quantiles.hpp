// Quantiles of the label, from where recent labels lay among the ends of the intervals issued.
//
// The intervals say how large errors are, and adapt to changes of that row by row. The places, see coverage.hpp, say how
// often labels lay between the ends of two levels, above the prediction and below it. Both tails are therefore estimated on
// their own, from intervals as they were issued. A quantile is an end of an interval, or lies between two: the one below
// which recent labels had the wanted share.
#pragma once

#include <algorithm>

#include "driftline/base/late_coverage.hpp"

namespace driftline {

// The prior: labels lie on either side with the same probability, and between the ends of two levels as often as the levels
// say. It weighs as much as this number of rows.
inline constexpr std::uint32_t prior_rows = 2;
struct PriorPlaces : Places {
    constexpr PriorPlaces() {
        for (Index missed = 0; missed <= level_count; ++missed) {
            const double low = missed > 0 ? levels[missed - 1] : 0, high = missed < level_count ? levels[missed] : 1;
            for (Index part = 0; part < parts; ++part) {
                const double end = missed == level_count ? 1 : part + 1 < parts ? part_starts[part + 1] : 1;
                const double width = missed == level_count && part > 0 ? 0 : end - part_starts[part];
                const Index place = missed * parts + part + 1;
                weight[middle + place] = weight[middle - place] =
                    static_cast<std::uint32_t>(0.5 * prior_rows * row_weight * (high - low) * width + 0.5);
            }
        }
    }
};
inline constexpr PriorPlaces prior_places;

inline namespace DRIFTLINE_ISA {

// The score at which a place begins, counted from the prediction outwards: 1 is the first beyond it.
inline double start_of_place(const IntervalBasis& basis, Index place) {
    const Index missed = (place - 1) / parts, part = (place - 1) % parts;
    const double low = missed > 0 ? basis.bound[missed - 1] : 0;
    return part == 0 || missed == level_count ? low : std::fma(basis.bound[missed] - low, part_starts[part], low);
}
// The square root of a score within a place, such that a share of the place's labels is nearer to the prediction. Beyond the
// highest level there is no other end; see exceeded_by.
inline double root_within_place(const IntervalBasis& basis, Index place, double share) {
    const double start = std::sqrt(start_of_place(basis, place));
    if (place > level_count * parts)
        return start * std::pow(at_least(DBL_MIN, 1 - share), -0.25);
    return std::fma(std::sqrt(start_of_place(basis, place + 1)) - start, share, start);
}

// Whether there are enough labels for a finite quantile: those that an interval needs which leaves out the same share of
// labels in total as the quantile does on its side.
inline bool is_earned(const IntervalBasis& basis, double level) {
    const double outside = level < 0.5 ? level : 1 - level;
    return static_cast<double>(basis.labels) * outside >= (1 - outside) * (1 - 1e-9);
}

// Writes the quantiles of ascending levels, within the limits of the labels.
inline void write_quantiles(const IntervalBasis& basis, const Places& places, double prediction, const double* wanted,
                            Index count, double* to) {
    if (std::isnan(prediction)) {
        std::fill_n(to, count, prediction);
        return;
    }
    const double unit = std::sqrt(at_most(basis.variance, DBL_MAX)), most = 10 * std::sqrt(basis.largest_loss);
    // Whole numbers: their sums are exact in any order, and so take a few nanoseconds.
    std::uint32_t weights[place_count], total = 0;
    for (Index i = 0; i < place_count; ++i)
        total += weights[i] = places.weight[i] + prior_places.weight[i];
    BinWalk walk{weights, 0};
    for (Index k = 0; k < count; ++k) {
        const double goal = wanted[k] * total;
        walk.reach(static_cast<std::uint32_t>(std::ceil(goal)));
        const Index i = walk.bin;
        if (!is_earned(basis, wanted[k])) {
            to[k] = basis.limits.hold(wanted[k] < 0.5 ? -HUGE_VAL : wanted[k] > 0.5 ? HUGE_VAL : prediction);
        } else if (i == middle) {
            to[k] = prediction;
        } else {
            const double within = std::fma(wanted[k], total, -static_cast<double>(walk.below));
            const double share = weights[i] > 0 ? saturate(at_least(0, within / weights[i]), 1) : 0;
            const double half =
                i < middle ? -root_within_place(basis, middle - i, 1 - share) : root_within_place(basis, i - middle, share);
            if (is_beyond_scores(basis, half * half)) [[unlikely]]
                to[k] = basis.limits.hold(prediction + std::copysign(widest_half(basis), half));
            else
                to[k] = basis.limits.hold(saturate(prediction + saturate(half * unit, most), DBL_MAX));
        }
    }
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
