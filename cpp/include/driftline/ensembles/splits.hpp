// The inner loops of tree growing, compiled for each instruction set: histograms of a sample's rows, the best split, and
// the leaves of many rows. All instruction sets produce identical bits.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <cstring>

#include "driftline/base/range.hpp"

namespace driftline {

inline constexpr Index tree_depth = 5, tree_splits = (1 << tree_depth) - 1, most_bins = 32;
inline constexpr Index bytes_at_once = 32; // rows per step of the leaf search

// The thresholds between the bins of a column, in ascending order.
struct Edges {
    float value[most_bins]; // FLT_MAX from `count` on
    Index count;
};

// A row's weighted label and its weight, or sums of these.
struct alignas(16) Term {
    double sum, weight;
};

// The rows a tree is fitted on.
struct TreeSample {
    static constexpr double ridge = 1, least_rows = 8;
    const Term* terms;        // one per row
    const std::uint8_t* bins; // (rows, width), each twice the bin index
    const Index* edges;       // number of edges of each column
    Index width;              // columns
    Term* bars;               // (width, most_bins), scratch space for the histograms
};

// A split of a node, and the reduction in squared error it brings, shrinkage included.
struct TreeSplit {
    double gain = 0;
    Index column = -1, edge = 0; // rows in bins beyond the edge go right; column -1: no split helps
};

inline namespace DRIFTLINE_ISA {

using Pair = Vec<double, 2>;

DRIFTLINE_INLINE void add_pair(double* to, Pair term) { store(to, load<Pair>(to) + term); }

// Adds rows to the histograms, column by column, so that consecutive sums are independent. Returns the sum of the rows.
inline Term fill_bars(const TreeSample& sample, const std::uint16_t* row, const std::uint16_t* end) {
    constexpr Index size = 2 * most_bins;
    const Index width = sample.width;
    const Term* const terms = sample.terms;
    const std::uint8_t* const all_bins = sample.bins;
    double* const bars = &sample.bars->sum;
    std::memset(bars, 0, static_cast<std::size_t>(width) * size * sizeof(double));
    Pair sums{};
    for (; row < end; ++row) {
        const Pair term = load<Pair>(&terms[*row].sum);
        sums += term;
        const std::uint8_t* bins = all_bins + *row * width;
        double* to = bars;
        Index c = 0;
        for (; c + 4 <= width; c += 4, to += 4 * size) {
            add_pair(to + bins[c], term);
            add_pair(to + size + bins[c + 1], term);
            add_pair(to + 2 * size + bins[c + 2], term);
            add_pair(to + 3 * size + bins[c + 3], term);
        }
        for (; c < width; ++c, to += size)
            add_pair(to + bins[c], term);
    }
    return {sums[0], sums[1]};
}

// Columns whose bars are added up together: their sums are independent, and a processor computes them side by side.
inline constexpr Index columns_at_once = 4;
struct alignas(64) BarSums {
    double sum[most_bins], weight[most_bins];
};
inline void add_up(const Term* bars, Index columns, Index bins, BarSums* to) {
    Pair left[columns_at_once] = {};
    for (Index b = 0; b < bins; ++b)
        for (Index c = 0; c < columns; ++c) {
            left[c] += load<Pair>(&bars[c * most_bins + b].sum);
            to[c].sum[b] = left[c][0];
            to[c].weight[b] = left[c][1];
        }
}

// Scores the splits of one column several at a time, and one by one only if some of them beat the best so far.
inline void look_at_column(const BarSums& bars, const Term& all, Index column, Index last, TreeSplit& best) {
    constexpr double ridge = TreeSample::ridge, least_rows = TreeSample::least_rows;
    constexpr Index few = lanes<double>;
    const double whole = all.sum * all.sum / (all.weight + ridge) * (1 + 1e-9);
    for (Index b = 0; b < last; b += few) {
        const Doubles sum = wide(bars.sum + b), weight = wide(bars.weight + b);
        const Doubles other = all.sum - sum, rest = all.weight - weight, here = weight + ridge, there = rest + ridge;
        const Doubles scale = here * there;
        const Doubles value = rounded(sum * sum * there) + rounded(other * other * here); // times the scale
        if (!any((weight >= least_rows) & (rest >= least_rows) & (value > (best.gain + whole) * scale)))
            continue;
        for (Index i = 0; i < few && b + i < last; ++i)
            if (weight[i] >= least_rows && rest[i] >= least_rows && value[i] > (best.gain + whole) * scale[i])
                best = {value[i] / scale[i] - whole, column, b + i};
    }
}

// The best split of a node that holds the rows from `row` to `end` of the sample.
inline TreeSplit best_split(const TreeSample& sample, const std::uint16_t* row, const std::uint16_t* end) {
    const Term all = fill_bars(sample, row, end);
    TreeSplit best;
    if (all.weight < 2 * TreeSample::least_rows)
        return best;
    BarSums sums_of[columns_at_once];
    for (Index c = 0; c < sample.width; c += columns_at_once) {
        const Index columns = std::min(columns_at_once, sample.width - c);
        if (columns == columns_at_once) // a constant number, so that the sums stay in registers
            add_up(sample.bars + c * most_bins, columns_at_once, most_bins, sums_of);
        else
            add_up(sample.bars + c * most_bins, columns, most_bins, sums_of);
        for (Index k = 0; k < columns; ++k)
            look_at_column(sums_of[k], all, c + k, sample.edges[c + k], best);
    }
    return best;
}

// Finds the leaves of rows, `bytes_at_once` at a time, from the bins of each split's column: beyond the edge a row goes
// right. Every split is evaluated, and each level selects those on the row's path.
inline void find_leaves(const std::uint8_t* const* bins, const std::int8_t* edge, Index rows, std::uint8_t* to) {
    using Bytes = Wide<std::int8_t>;
    for (Index t = 0; t < rows; t += lanes<std::int8_t>) {
        Bytes right[tree_splits], turn[tree_depth], leaf{};
        for (Index n = 0; n < tree_splits; ++n) {
            Bytes bin;
            std::memcpy(&bin, bins[n] + t, sizeof bin);
            right[n] = bin > edge[n];
        }
        for (Index level = 0; level < tree_depth; ++level) {
            Bytes* choice = right + (Index(1) << level) - 1;
            for (Index above = level - 1; above >= 0; --above) // the last pass separates siblings
                for (Index m = 0; m < Index(1) << above; ++m)
                    choice[m] = (turn[above] & choice[2 * m + 1]) | (~turn[above] & choice[2 * m]);
            turn[level] = choice[0];
            leaf = leaf + leaf - turn[level];
        }
        std::memcpy(to + t, &leaf, sizeof leaf);
    }
}

// Finds the bins of a row's values.
inline void find_bins(const Edges* edges, const float* row, Index columns, std::uint8_t* to) {
    for (Index j = 0; j < columns; ++j) {
        int place = 0;
        for (const float edge : edges[j].value)
            place += row[j] > edge;
        to[j] = static_cast<std::uint8_t>(place);
    }
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
