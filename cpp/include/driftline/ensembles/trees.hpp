// Rolling boosting: shallow trees fitted on the last rows, the oldest of them replaced again and again, while each row that
// is learned corrects the leaves that it falls into.
//
// A tree is fitted to what the others leave of the labels, on a sample of the rows kept and of the columns, by histograms of
// the columns' quantiles. Thresholds are values, so that quantiles may move. Samples are drawn by the row's number.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "driftline/base/philox.hpp"
#include "driftline/base/range.hpp"

namespace driftline {

struct TreesKind {
    Index ring;     // rows kept
    double part;    // of the columns that a tree may use
    double correct; // how much of its error a row corrects at once
};

class Trees {
  public:
    static constexpr Index most_trees = 96, depth = 5, splits = (1 << depth) - 1, leaves = 1 << depth, most_bins = 32,
                           sample = 512, first_rows = 32, most_chosen = 32, growing = 2, rolling = 16;

    Trees(Index columns, TreesKind kind) : columns_(columns), kind_(kind), edges_(columns) {}

    Index columns() const { return columns_; }
    Index planted() const { return static_cast<Index>(trees_.size()); }
    bool ready() const { return planted() > 0; }
    // Of a label from its base.
    double predict(const float* row) const {
        double total = 0;
        for (const Tree& tree : trees_)
            total += tree.leaf[tree.find(row)];
        return total;
    }
    void learn(const float* row, double y, double weight) {
        y = saturate(y, 1e100);
        places_.resize(trees_.size());
        if (ready())
            correct(row, y, weight);
        const Index at = static_cast<Index>(rows_) % kind_.ring;
        make_room(at);
        std::copy_n(row, columns_, x_.begin() + at * columns_);
        y_[at] = y;
        weights_[at] = static_cast<float>(weight);
        for (std::size_t k = 0; k < trees_.size(); ++k)
            found_[k][at] = places_[k];
        rows_ += 1;
        const Index rows = static_cast<Index>(rows_);
        if (rows >= first_rows &&
            (rows < kind_.ring ? std::has_single_bit(static_cast<std::size_t>(rows)) : at + 1 == kind_.ring))
            take_edges();
        else
            bin(at);
        if (rows >= first_rows && rows % (planted() < most_trees ? growing : rolling) == 0)
            plant();
    }
    // New columns, the last; they were 0.
    void grow(Index more) {
        const Index wider = columns_ + more;
        std::vector<float> x(static_cast<std::size_t>(kept() * wider));
        for (Index t = 0; t < kept(); ++t)
            std::copy_n(x_.begin() + t * columns_, columns_, x.begin() + t * wider);
        x_ = std::move(x);
        bins_.resize(static_cast<std::size_t>(wider), std::vector<std::uint8_t>(static_cast<std::size_t>(kept())));
        edges_.resize(static_cast<std::size_t>(wider));
        columns_ = wider;
    }
    // How much the splits on each column gained, of all that splits gained.
    void importance(double* out) const {
        double total = 0;
        std::fill(out, out + columns_, 0.0);
        for (const Tree& tree : trees_)
            for (Index i = 0; i < splits; ++i) {
                out[tree.feature[i]] += tree.gain[i];
                total += tree.gain[i];
            }
        for (Index j = 0; j < columns_ && total > 0; ++j)
            out[j] /= total;
    }

    void layout(std::vector<double>& out) const {
        out.insert(out.end(), {rows_, static_cast<double>(planted())});
        for (const auto& edges : edges_)
            out.push_back(static_cast<double>(edges.size()));
    }
    const double* set_layout(const double* from, const double* end) {
        if (end - from < 2 + columns_ || !is_count(from[0], 9e15) || !is_count(from[1], most_trees))
            return nullptr;
        rows_ = *from++;
        trees_.resize(static_cast<std::size_t>(*from++));
        for (auto& edges : edges_) {
            if (!is_count(*from, most_bins - 1))
                return nullptr;
            edges.resize(static_cast<std::size_t>(*from++));
        }
        x_.resize(static_cast<std::size_t>(kept() * columns_));
        y_.resize(static_cast<std::size_t>(kept()));
        weights_.resize(y_.size());
        return from;
    }
    template <class Act> void visit(Act&& act) {
        act(&next_, 1);
        act(&errors_, 1);
        act(&count_, 1);
        for (auto& edges : edges_)
            act(edges.data(), static_cast<Index>(edges.size()));
        for (Tree& tree : trees_) {
            float feature[splits];
            std::copy_n(tree.feature, splits, feature);
            act(feature, splits);
            for (Index i = 0; i < splits; ++i)
                tree.feature[i] = feature[i] >= 0 && feature[i] < 1e6f ? static_cast<std::int32_t>(feature[i]) : -1;
            act(tree.threshold, splits);
            act(tree.gain, splits);
            act(tree.leaf, leaves);
        }
        act(x_.data(), static_cast<Index>(x_.size()));
        act(y_.data(), static_cast<Index>(y_.size()));
        act(weights_.data(), static_cast<Index>(weights_.size()));
    }
    // Completes what was read; false where it is not what learning leads to.
    bool complete() {
        bool good = is_count(next_, most_trees - 1);
        for (const Tree& tree : trees_)
            for (Index i = 0; i < splits; ++i)
                good = good && tree.feature[i] >= 0 && tree.feature[i] < columns_ && tree.gain[i] >= 0;
        for (const auto& edges : edges_)
            good = good && std::is_sorted(edges.begin(), edges.end());
        if (!good)
            return false;
        bins_.assign(static_cast<std::size_t>(columns_), std::vector<std::uint8_t>(static_cast<std::size_t>(kept())));
        for (Index t = 0; t < kept(); ++t)
            bin(t);
        found_.assign(trees_.size(), std::vector<std::uint8_t>(static_cast<std::size_t>(kept())));
        for (std::size_t k = 0; k < trees_.size(); ++k)
            find_all(k);
        return true;
    }

  private:
    static constexpr double rate = 0.1, ridge = 1, least_rows = 8, far_out = 10, keep = 0.99;
    struct Tree {
        std::int32_t feature[splits];
        float threshold[splits]; // a value above it goes right
        float gain[splits];
        double leaf[leaves];
        std::uint8_t find(const float* row) const {
            Index node = 0;
            for (Index level = 0; level < depth; ++level)
                node = 2 * node + 1 + (row[feature[node]] > threshold[node]);
            return static_cast<std::uint8_t>(node - splits);
        }
    };
    struct alignas(16) Bin {
        double sum, weight;
    };

    static bool is_count(double value, double most) { return value >= 0 && value <= most && value == std::floor(value); }
    Index kept() const { return std::min(static_cast<Index>(rows_), kind_.ring); }
    void make_room(Index at) {
        if (at < static_cast<Index>(y_.size()))
            return;
        x_.resize(static_cast<std::size_t>((at + 1) * columns_));
        y_.push_back(0);
        weights_.push_back(0);
        bins_.resize(static_cast<std::size_t>(columns_));
        for (auto& bins : bins_)
            bins.push_back(0);
        for (auto& found : found_)
            found.push_back(0);
    }
    // An error counts as at most ten times what is usual.
    void correct(const float* row, double y, double weight) {
        double error = y;
        for (std::size_t k = 0; k < trees_.size(); ++k)
            error -= trees_[k].leaf[places_[k] = trees_[k].find(row)];
        const double usual = std::sqrt(errors_ / at_least(1, count_));
        error = count_ > 20 ? saturate(error, far_out * usual) : saturate(error, 1e120);
        errors_ = at_most(keep * errors_ + error * error, 1e290);
        count_ = keep * count_ + 1;
        const double step = at_most(kind_.correct * weight, 1) * error / static_cast<double>(trees_.size());
        for (std::size_t k = 0; k < trees_.size(); ++k)
            trees_[k].leaf[places_[k]] += step;
    }
    void bin(Index t) {
        const float* row = x_.data() + t * columns_;
        for (Index j = 0; j < columns_; ++j) {
            const auto& edges = edges_[j];
            std::uint8_t place = 0;
            for (const float edge : edges)
                place = static_cast<std::uint8_t>(place + (row[j] > edge));
            bins_[j][t] = place;
        }
    }
    // Quantiles of the rows kept, or all values where they are few.
    void take_edges() {
        const Index step = std::max<Index>(1, kept() / sample);
        std::vector<float> column, distinct;
        for (Index j = 0; j < columns_; ++j) {
            column.clear();
            for (Index t = 0; t < kept(); t += step)
                column.push_back(x_[t * columns_ + j]);
            std::sort(column.begin(), column.end());
            distinct.assign(column.begin(), column.end());
            distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
            auto& edges = edges_[j];
            edges.clear();
            if (static_cast<Index>(distinct.size()) <= most_bins)
                edges.assign(distinct.begin(), distinct.end() - 1);
            for (std::size_t b = 1; b<most_bins&& static_cast<Index>(distinct.size())> most_bins; ++b) {
                const float edge = column[b * column.size() / most_bins];
                if (edges.empty() || edge > edges.back())
                    edges.push_back(edge);
            }
        }
        for (Index t = 0; t < kept(); ++t)
            bin(t);
    }

    // Random numbers below some other, by the number of the row.
    struct Draw {
        std::uint64_t row, counter = 0;
        int used = 4;
        Words words{};
        Index operator()(Index below) {
            if (used == 4) {
                words = philox({{row, counter++, 0, 0}}, 0x74726565);
                used = 0;
            }
            return static_cast<Index>(((words.word[used++] >> 32) * static_cast<std::uint64_t>(below)) >> 32);
        }
    };
    void plant() {
        std::size_t at = trees_.size();
        if (planted() < most_trees) {
            trees_.emplace_back();
            found_.emplace_back(static_cast<std::size_t>(kept()));
        } else {
            at = static_cast<std::size_t>(next_);
            next_ = static_cast<double>((at + 1) % most_trees);
        }
        choose(Draw{static_cast<std::uint64_t>(rows_)});
        residuals(at);
        fit(trees_[at]);
        find_all(at);
    }
    void choose(Draw draw) {
        const Index n = kept(), share = static_cast<Index>(kind_.part * static_cast<double>(columns_));
        const Index part = std::min({columns_, std::max<Index>(4, share), most_chosen});
        who_.resize(static_cast<std::size_t>(std::min(n, sample)));
        for (std::size_t i = 0; i < who_.size(); ++i)
            who_[i] = n <= sample ? static_cast<Index>(i) : draw(n);
        chosen_.resize(static_cast<std::size_t>(columns_));
        for (Index j = 0; j < columns_; ++j)
            chosen_[j] = j;
        for (Index j = 0; j < part; ++j)
            std::swap(chosen_[j], chosen_[j + draw(columns_ - j)]);
        chosen_.resize(static_cast<std::size_t>(part));
    }
    // What all trees but one leave of the sample's labels.
    void residuals(std::size_t but) {
        left_.resize(who_.size());
        for (std::size_t i = 0; i < who_.size(); ++i)
            left_[i] = y_[who_[i]];
        for (std::size_t k = 0; k < trees_.size(); ++k)
            if (k != but) {
                const double* leaf = trees_[k].leaf;
                const std::uint8_t* found = found_[k].data();
                for (std::size_t i = 0; i < who_.size(); ++i)
                    left_[i] -= leaf[found[who_[i]]];
            }
    }
    void fit(Tree& tree) {
        const Index part = static_cast<Index>(chosen_.size()), rows = static_cast<Index>(who_.size());
        nodes_.assign(who_.size(), 0);
        terms_.resize(who_.size());
        own_bins_.resize(who_.size() * chosen_.size());
        for (Index j = 0; j < part; ++j)
            for (Index i = 0; i < rows; ++i)
                own_bins_[j * rows + i] = bins_[chosen_[j]][who_[i]];
        for (Index i = 0; i < rows; ++i) {
            const double weight = weights_[who_[i]];
            terms_[i] = {weight * left_[i], weight};
        }
        for (Index level = 0; level < depth; ++level) {
            const Index width = Index(1) << level, first = width - 1;
            bars_.resize(static_cast<std::size_t>(width * most_bins));
            Best best[leaves];
            for (Index i = 0; i < rows; ++i)
                add(best[nodes_[i]].all, terms_[i]);
            for (Index j = 0; j < part; ++j) {
                fill_bars(own_bins_.data() + j * rows, width);
                for (Index m = 0; m < width; ++m)
                    best[m].look(bars_.data() + m * most_bins, j, static_cast<Index>(edges_[chosen_[j]].size()));
            }
            for (Index m = 0; m < width; ++m) {
                const bool split = best[m].column >= 0;
                const Index column = split ? chosen_[best[m].column] : 0;
                tree.feature[first + m] = static_cast<std::int32_t>(column);
                tree.threshold[first + m] = split ? edges_[column][best[m].edge] : FLT_MAX;
                tree.gain[first + m] = split ? static_cast<float>(at_most(best[m].gain, 1e30)) : 0;
            }
            for (Index i = 0; i < rows; ++i) {
                const Index node = first + nodes_[i];
                const float value = x_[who_[i] * columns_ + tree.feature[node]];
                nodes_[i] = static_cast<std::uint8_t>(2 * nodes_[i] + (value > tree.threshold[node]));
            }
        }
        Bin sums[leaves] = {};
        for (Index i = 0; i < rows; ++i)
            add(sums[nodes_[i]], terms_[i]);
        for (Index l = 0; l < leaves; ++l)
            tree.leaf[l] = rate * sums[l].sum / (sums[l].weight + ridge);
    }
    static void add(Bin& to, const Bin& term) {
        to.sum += term.sum;
        to.weight += term.weight;
    }
    void fill_bars(const std::uint8_t* bins, Index width) {
        std::fill_n(bars_.begin(), width * most_bins, Bin{0, 0});
        for (std::size_t i = 0; i < who_.size(); ++i)
            add(bars_[static_cast<std::size_t>(nodes_[i]) * most_bins + bins[i]], terms_[i]);
    }
    // The best split of a node so far: by how much it lowers the squares, shrinkage included.
    struct Best {
        Bin all{0, 0};
        double gain = 0;
        Index column = -1, edge = 0;
        void look(const Bin* bars, Index j, Index last) {
            if (all.weight < 2 * least_rows)
                return;
            const double whole = all.sum * all.sum / (all.weight + ridge) * (1 + 1e-9);
            Bin left{0, 0};
            for (Index b = 0; b < last; ++b) {
                add(left, bars[b]);
                const double rest = all.weight - left.weight;
                if (left.weight < least_rows || rest < least_rows)
                    continue;
                const double sum = all.sum - left.sum, here = left.weight + ridge, there = rest + ridge;
                const double value = left.sum * left.sum * there + sum * sum * here; // times here there
                if (value > (gain + whole) * (here * there)) {
                    gain = value / (here * there) - whole;
                    column = j;
                    edge = b;
                }
            }
        }
    };
    void find_all(std::size_t k) {
        for (Index t = 0; t < kept(); ++t)
            found_[k][t] = trees_[k].find(x_.data() + t * columns_);
    }

    Index columns_;
    TreesKind kind_;
    double rows_ = 0, next_ = 0, errors_ = 0, count_ = 0;
    std::vector<std::vector<float>> edges_; // of each column's bins
    std::vector<Tree> trees_;
    std::vector<float> x_, weights_; // of the rows kept, row number i at i % ring
    std::vector<double> y_;
    std::vector<std::vector<std::uint8_t>> bins_, found_; // of each column the rows' bins; in each tree the rows' leaves
    std::vector<std::uint8_t> places_, nodes_, own_bins_; // own_bins_: of the sample's rows, in the chosen columns
    std::vector<Index> who_, chosen_;
    std::vector<double> left_;
    std::vector<Bin> terms_, bars_;
};

} // namespace driftline
