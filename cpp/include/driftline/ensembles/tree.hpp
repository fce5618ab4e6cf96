// A tree of depth five and its fitting, from histograms of binned columns, on a sample of rows.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "driftline/engine.hpp"
#include "driftline/ensembles/splits.hpp"

namespace driftline {

struct alignas(64) Tree {
    static constexpr Index depth = tree_depth, splits = tree_splits, leaves = 1 << depth;
    struct Split {
        float threshold; // values above it go right
        std::int32_t feature;
    };
    Split split[splits + 1]; // one spare, so that the first three levels share a cache line
    float leaf[leaves];

    std::uint8_t find(const float* row) const {
        Index node = 0;
        for (Index level = 0; level < depth; ++level)
            node = 2 * node + 1 + (row[split[node].feature] > split[node].threshold);
        return static_cast<std::uint8_t>(node - splits);
    }

    static float held(double value) { return static_cast<float>(saturate(value, 1e30)); }

    // A bit mask of the nodes that are split.
    std::uint32_t shape() const {
        std::uint32_t bits = 0;
        for (Index i = 0; i < splits; ++i)
            bits |= static_cast<std::uint32_t>(split[i].threshold < FLT_MAX) << i;
        return bits;
    }
    // Makes a tree of zeros with this shape. Returns false if a split node has an unsplit parent.
    bool set_shape(std::uint32_t bits) {
        *this = {};
        bool good = true;
        for (Index i = 0; i < splits; ++i) {
            const bool is_split = bits >> i & 1;
            good = good && (!is_split || i == 0 || (bits >> (i - 1) / 2 & 1));
            split[i].threshold = is_split ? 0 : FLT_MAX;
        }
        return good;
    }
    // Calls act with the splits and with the leaves that rows can reach; all other numbers are 0. With
    // `few_features`, those of two splits share a number.
    template <class Act> void visit(Act&& act, bool few_features) {
        const std::uint32_t bits = shape();
        const Index each = few_features ? 2 : 1;
        float numbers[splits + leaves];
        std::uint16_t features[splits] = {};
        Index count = 0, nodes = 0;
        for (Index i = 0; i < splits; ++i)
            if (bits >> i & 1) {
                numbers[count++] = split[i].threshold;
                features[nodes / each] |= static_cast<std::uint16_t>(split[i].feature << 8 * (nodes % each));
                ++nodes;
            }
        for (Index l = 0; l < leaves; ++l)
            if (reaches(bits, l))
                numbers[count++] = leaf[l];
        act(numbers, count);
        act(features, (nodes + each - 1) / each);
        count = nodes = 0;
        for (Index i = 0; i < splits; ++i)
            if (bits >> i & 1) {
                const float threshold = numbers[count++];
                const Index feature = features[nodes / each] >> 8 * (nodes % each) & (few_features ? 0xff : 0xffff);
                split[i] = {threshold < FLT_MAX ? threshold : 0, static_cast<std::int32_t>(feature)};
                ++nodes;
            }
        for (Index l = 0; l < leaves; ++l)
            if (reaches(bits, l))
                leaf[l] = numbers[count++];
    }

  private:
    // Whether rows can reach a leaf: at an unsplit node they all go left.
    static bool reaches(std::uint32_t bits, Index l) {
        for (Index node = splits + l; node > 0; node = (node - 1) / 2)
            if (node % 2 == 0 && !(bits >> (node - 1) / 2 & 1))
                return false;
        return true;
    }
};

inline void set_edges(Edges& edges, Index count) {
    std::fill_n(edges.value, most_bins, FLT_MAX);
    edges.count = count;
}
// Sorts by counting, a byte at a time; bytes that all values share take no pass.
inline void sort_floats(std::vector<float>& values) {
    static thread_local std::vector<std::uint32_t> keys, sorted; // scratch space shared by all models
    constexpr std::size_t digits = 4, radix = 256;
    constexpr std::uint32_t sign = 0x80000000;
    const std::size_t n = values.size();
    keys.resize(n);
    sorted.resize(n);
    std::uint32_t counts[digits][radix] = {};
    for (std::size_t i = 0; i < n; ++i) { // as unsigned numbers, the keys are in the order of the values
        const auto bits = std::bit_cast<std::uint32_t>(values[i]);
        keys[i] = bits & sign ? ~bits : bits | sign;
        for (std::size_t digit = 0; digit < digits; ++digit)
            ++counts[digit][keys[i] >> 8 * digit & 255];
    }
    for (std::size_t digit = 0; digit < digits; ++digit) {
        std::uint32_t* places = counts[digit];
        if (n == 0 || places[keys[0] >> 8 * digit & 255] == n)
            continue;
        for (std::uint32_t value = 0, before = 0; value < radix; ++value)
            before += std::exchange(places[value], before);
        for (const std::uint32_t key : keys)
            sorted[places[key >> 8 * digit & 255]++] = key;
        std::swap(keys, sorted);
    }
    for (std::size_t i = 0; i < n; ++i)
        values[i] = std::bit_cast<float>(keys[i] & sign ? keys[i] ^ sign : ~keys[i]);
}
// The quantiles of a sample (sorted in place), or all of its values if there are few.
inline void take_edges(Edges& edges, std::vector<float>& sample) {
    sort_floats(sample);
    const std::size_t n = sample.size();
    Index distinct = 1;
    for (std::size_t i = 1; i < n; ++i)
        distinct += sample[i] != sample[i - 1];
    set_edges(edges, 0);
    if (distinct <= most_bins) {
        for (std::size_t i = 1; i < n; ++i)
            if (sample[i] != sample[i - 1])
                edges.value[edges.count++] = sample[i - 1];
        return;
    }
    for (std::size_t b = 1; b < most_bins; ++b) {
        const float edge = sample[b * n / most_bins];
        if (edges.count == 0 || edge > edges.value[edges.count - 1])
            edges.value[edges.count++] = edge;
    }
}

// Fits trees. Its members are only scratch space.
class TreeFit {
  public:
    static constexpr double rate = 0.1;
    static constexpr std::int8_t no_edge = 127;

    // Sets the rows of the sample and the columns a tree may split on. `bins` holds the bins of all rows, by column.
    void set_sample(const std::vector<Index>& rows, const std::vector<Index>& chosen,
                    const std::vector<std::vector<std::uint8_t>>& bins, const std::vector<Edges>& edges) {
        columns_.clear();
        counts_.clear();
        for (const Index j : chosen)
            if (edges[j].count > 0) {
                columns_.push_back(j);
                counts_.push_back(edges[j].count);
            }
        const std::size_t width = columns_.size(), count = rows.size();
        bins_.resize(count * width);
        bars_.resize(width * most_bins);
        terms_.resize(count);
        for (std::size_t c = 0; c < width; ++c) {
            const std::uint8_t* from = bins[columns_[c]].data();
            std::uint8_t* to = bins_.data() + c;
            for (std::size_t i = 0; i < count; ++i)
                to[i * width] = static_cast<std::uint8_t>(2 * from[rows[i]]);
        }
    }
    void set_term(std::size_t i, double label, double weight) { terms_[i] = {weight * label, weight}; }

    // Fits a tree. `edge` receives the last bin that goes left at each split; `gains` adds up what each column gains.
    void fit(Tree& tree, const std::vector<Edges>& edges, std::int8_t* edge, std::vector<float>& gains) {
        const Index rows = static_cast<Index>(terms_.size());
        const TreeSample sample{terms_.data(), bins_.data(), counts_.data(), static_cast<Index>(columns_.size()),
                                bars_.data()};
        order_.resize(terms_.size());
        next_.resize(terms_.size());
        aside_.resize(terms_.size());
        for (Index i = 0; i < rows; ++i)
            order_[i] = static_cast<std::uint16_t>(i);
        Index ends[Tree::leaves] = {rows}, next_ends[Tree::leaves];
        for (Index level = 0; level < Tree::depth; ++level) {
            const Index width = Index(1) << level, first = width - 1;
            for (Index m = 0; m < width; ++m) {
                const Index from = m > 0 ? ends[m - 1] : 0, node = first + m;
                const bool hopeless = level > 0 && edge[(node - 1) / 2] == no_edge; // same rows as its parent, or none
                const TreeSplit best =
                    hopeless ? TreeSplit{}
                             : trees_engine().best_split(sample, order_.data() + from, order_.data() + ends[m]);
                const bool found = best.column >= 0;
                const Index column = found ? columns_[best.column] : 0;
                tree.split[node] = {found ? edges[column].value[best.edge] : FLT_MAX, static_cast<std::int32_t>(column)};
                if (found)
                    gains[column] = static_cast<float>(at_most(gains[column] + best.gain, 1e30));
                edge[node] = found ? static_cast<std::int8_t>(best.edge) : no_edge;
                next_ends[2 * m] = divide(from, ends[m], best);
                next_ends[2 * m + 1] = ends[m];
            }
            std::swap(order_, next_);
            std::copy_n(next_ends, 2 * width, ends);
        }
        for (Index l = 0, i = 0; l < Tree::leaves; ++l) {
            Term all{0, 0};
            for (; i < ends[l]; ++i) {
                all.sum += terms_[order_[i]].sum;
                all.weight += terms_[order_[i]].weight;
            }
            tree.leaf[l] = Tree::held(rate * all.sum / (all.weight + TreeSample::ridge));
        }
    }

  private:
    // A stable partition: rows that go left come first. Returns the end of the left part.
    Index divide(Index from, Index to, const TreeSplit& split) {
        if (split.column < 0) {
            std::copy(order_.begin() + from, order_.begin() + to, next_.begin() + from);
            return to;
        }
        const Index width = static_cast<Index>(columns_.size());
        const std::uint8_t* bins = bins_.data() + split.column;
        Index left = from, right = 0;
        for (Index i = from; i < to; ++i) {
            const std::uint16_t row = order_[i];
            const bool goes_right = bins[row * width] > 2 * split.edge;
            next_[left] = row;
            aside_[right] = row;
            left += !goes_right;
            right += goes_right;
        }
        std::copy_n(aside_.begin(), right, next_.begin() + left);
        return left;
    }

    std::vector<Index> columns_, counts_; // columns that have edges, and how many
    std::vector<std::uint8_t> bins_;      // bins of the sample; see TreeSample
    std::vector<Term> terms_, bars_;
    std::vector<std::uint16_t> order_, next_, aside_; // rows grouped by node
};

} // namespace driftline
