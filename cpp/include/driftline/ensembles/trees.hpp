// Rolling boosting: an ensemble of shallow trees fitted on recent rows. The oldest tree is continually replaced, and each
// learned row corrects the leaves it falls into.
//
// A tree is fitted to the residuals of the others, on a sample of the kept rows and of the columns, from histograms over
// the columns' quantiles. Thresholds are stored as values, so quantiles may move. Sampling is seeded by the row number.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "driftline/ensembles/draw.hpp"
#include "driftline/ensembles/halves.hpp"
#include "driftline/ensembles/tree.hpp"

namespace driftline {

struct TreesKind {
    Index ring;       // rows kept
    double part;      // fraction of the columns a tree may use
    double correct;   // fraction of its error that a row corrects at once
    Index labels = 0; // columns that come from labels, the newest label first
    Index each = 1;   // columns of each feature, which follow: itself, or itself and its change
    // The newest label and the features themselves are kept in full. All other columns are differences: eight significant
    // bits are enough for them, so they are rounded to halves.
    bool is_rounded(Index column) const { return column < labels ? column > 0 : (column - labels) % each != 0; }
};

class Trees {
  public:
    static constexpr Index most_trees = 96, sample = 1024, first_rows = 32, most_chosen = 32;

    Trees(Index columns, TreesKind kind) : columns_(columns), kind_(kind), edges_(columns), gains_(columns), bins_(columns) {
        for (Edges& edges : edges_)
            set_edges(edges, 0);
    }

    Index columns() const { return columns_; }
    double rows() const { return rows_; } // learned so far
    Index kept() const { return std::min(static_cast<Index>(rows_), kind_.ring); }
    Index planted() const { return static_cast<Index>(trees_.size()); }
    bool ready() const { return planted() > 0; }
    double recent_error() const { return errors_ / at_least(1, count_); } // mean square
    // Predicts the label minus its base.
    double predict(const float* row) {
        find_places(row);
        double total = 0;
        for (std::size_t k = 0; k < trees_.size(); ++k)
            total += trees_[k].leaf[places_[k]];
        return total;
    }
    // With a pace of p, trees are fitted p times as rarely.
    void learn(const float* row, double y, double weight, Index pace = 1) {
        y = saturate(y, 1e100);
        find_places(row);
        if (ready())
            correct(y, weight);
        const Index at = static_cast<Index>(rows_) % kind_.ring;
        make_room(at);
        std::copy_n(row, columns_, x_.begin() + at * columns_);
        y_[at] = Tree::held(y);
        weights_[at] = static_cast<float>(weight);
        for (std::size_t g = 0; g < found_.size(); ++g)
            std::copy_n(places_.begin() + g * group, group, found_[g][at].begin());
        rows_ += 1;
        const Index rows = static_cast<Index>(rows_);
        if (rows >= first_rows &&
            (rows < kind_.ring ? std::has_single_bit(static_cast<std::size_t>(rows)) : at + 1 == kind_.ring)) {
            take_all_edges();
            bin_all();
        } else {
            bin(at);
        }
        if (rows >= first_rows && rows % (pace * interval()) == 0)
            plant();
    }
    // The inputs in single precision, rounded where the kind says so.
    void narrow(const double* from, float* to) const {
        for (Index j = 0; j < columns_; ++j) {
            const auto value = static_cast<float>(saturate(from[j], 1e30));
            to[j] = kind_.is_rounded(j) ? rounded_to_half(value) : value;
        }
    }
    // Appends new columns, which are 0 in the kept rows.
    void grow(Index more) {
        const Index wider = columns_ + more;
        std::vector<float> x(static_cast<std::size_t>(kept() * wider));
        for (Index t = 0; t < kept(); ++t)
            std::copy_n(x_.begin() + t * columns_, columns_, x.begin() + t * wider);
        x_ = std::move(x);
        bins_.resize(static_cast<std::size_t>(wider), std::vector<std::uint8_t>(bins_room()));
        edges_.resize(static_cast<std::size_t>(wider));
        gains_.resize(static_cast<std::size_t>(wider));
        for (Index j = columns_; j < wider; ++j)
            set_edges(edges_[j], 0);
        columns_ = wider;
        asked_.clear();
    }
    // Each column's share of the gain of all splits, in which older trees count less.
    void importance(double* out) const {
        double total = 0;
        for (const float gain : gains_)
            total += gain;
        for (Index j = 0; j < columns_; ++j)
            out[j] = total > 0 ? gains_[j] / total : 0;
    }

    // The sizes of the arrays in the state, and the shapes of the trees.
    void layout(std::vector<double>& out) const {
        out.insert(out.end(), {rows_, static_cast<double>(planted())});
        for (const Tree& tree : trees_)
            out.push_back(tree.shape());
        for (const Edges& edges : edges_)
            out.push_back(static_cast<double>(edges.count));
    }
    const double* set_layout(const double* from, const double* end) {
        if (end - from < 2 || !is_count(from[0], 9e15) || !is_count(from[1], most_trees))
            return nullptr;
        rows_ = *from++;
        trees_.resize(static_cast<std::size_t>(*from++));
        if (end - from < planted() + columns_)
            return nullptr;
        for (Tree& tree : trees_)
            if (!is_count(*from, 0x7fffffff) || !tree.set_shape(static_cast<std::uint32_t>(*from++)))
                return nullptr;
        for (Edges& edges : edges_) {
            if (!is_count(*from, most_bins - 1))
                return nullptr;
            set_edges(edges, static_cast<Index>(*from++));
        }
        x_.resize(static_cast<std::size_t>(kept() * columns_));
        y_.resize(static_cast<std::size_t>(kept()));
        weights_.resize(y_.size());
        return from;
    }
    // Visits only the first `own` columns of the newest `shared` rows, whose other columns and weights another ensemble
    // keeps, and the earlier rows in full.
    template <class Act> void visit(Act&& act, Index own, Index shared) {
        act(&next_, 1);
        act(&errors_, 1);
        act(&count_, 1);
        act(gains_.data(), columns_);
        for (Index j = 0; j < columns_; ++j)
            visit_edges(act, j);
        for (Tree& tree : trees_)
            tree.visit(act, columns_ <= 256);
        const Index rows = static_cast<Index>(rows_);
        for (Index i = rows - kept(); i < rows; ++i) {
            const Index at = i % kind_.ring;
            visit_row(act, x_.data() + at * columns_, i < rows - shared ? columns_ : own);
            if (i < rows - shared)
                act(&weights_[at], 1);
        }
        act(y_.data(), static_cast<Index>(y_.size()));
    }
    // Copies the features' columns and the weights of the newest rows from an ensemble that has learned the same rows last.
    void copy_features(const Trees& other) {
        const Index features = (columns_ - kind_.labels) / kind_.each, rows = static_cast<Index>(rows_);
        for (Index i = rows - std::min(kept(), other.kept()); i < rows; ++i) {
            const Index there = (i + static_cast<Index>(other.rows_) - rows) % other.kind_.ring, here = i % kind_.ring;
            const float* from = other.x_.data() + there * other.columns_ + other.kind_.labels;
            float* to = x_.data() + here * columns_ + kind_.labels;
            weights_[here] = other.weights_[there];
            for (Index j = 0; j < features; ++j)
                std::copy_n(from + j * other.kind_.each, kind_.each, to + j * kind_.each);
        }
    }
    // Completes a loaded state. Returns false if learning cannot lead to it.
    bool complete() {
        bool good = is_count(next_, most_trees - 1);
        for (const Tree& tree : trees_)
            for (Index i = 0; i < Tree::splits; ++i)
                good = good && tree.split[i].feature < columns_;
        for (const float gain : gains_)
            good = good && gain >= 0 && gain <= 1e30f;
        for (const Edges& edges : edges_)
            good = good && std::is_sorted(edges.value, edges.value + edges.count);
        if (!good)
            return false;
        for (auto& bins : bins_)
            bins.assign(bins_room(), 0);
        bin_all();
        places_.assign(round_up(planted(), group), 0);
        found_.assign(places_.size() / group, Found(static_cast<std::size_t>(kept())));
        for (std::size_t k = 0; k < trees_.size(); ++k)
            for (Index t = 0; t < kept(); ++t)
                found_[k / group][t][k % group] = trees_[k].find(x_.data() + t * columns_);
        asked_.clear();
        return true;
    }

  private:
    static constexpr double far_out = 10, keep = 0.99;
    static constexpr std::size_t group = 8; // number of trees whose leaves are stored together
    using Found = std::vector<std::array<std::uint8_t, group>>;
    static_assert(std::endian::native == std::endian::little); // see residuals

    // Rows between two fits: two until all trees stand; later, three quarters of the rows pass while all are replaced.
    Index interval() const { return planted() < most_trees ? 2 : std::clamp<Index>(static_cast<Index>(rows_) / 128, 2, 32); }
    template <class Act> void visit_edges(Act&& act, Index j) {
        Edges& edges = edges_[j];
        if (!kind_.is_rounded(j))
            return act(edges.value, edges.count);
        std::uint16_t halves[most_bins];
        std::transform(edges.value, edges.value + edges.count, halves, to_half);
        act(halves, edges.count);
        std::transform(halves, halves + edges.count, edges.value, from_half);
    }
    template <class Act> void visit_row(Act&& act, float* row, Index own) {
        wide_.clear();
        halves_.clear();
        for (Index j = 0; j < own; ++j)
            if (kind_.is_rounded(j))
                halves_.push_back(to_half(row[j]));
            else
                wide_.push_back(row[j]);
        act(wide_.data(), static_cast<Index>(wide_.size()));
        act(halves_.data(), static_cast<Index>(halves_.size()));
        const float* from = wide_.data();
        const std::uint16_t* half = halves_.data();
        for (Index j = 0; j < own; ++j)
            row[j] = kind_.is_rounded(j) ? from_half(*half++) : *from++;
    }
    static bool is_count(double value, double most) { return value >= 0 && value <= most && value == std::floor(value); }
    std::size_t bins_room() const { return static_cast<std::size_t>(round_up(kept(), bytes_at_once)); }
    void make_room(Index at) {
        if (at < static_cast<Index>(y_.size()))
            return;
        x_.resize(static_cast<std::size_t>((at + 1) * columns_));
        y_.push_back(0);
        weights_.push_back(0);
        if (at % bytes_at_once == 0)
            for (auto& bins : bins_)
                bins.resize(bins.size() + bytes_at_once);
        for (Found& found : found_)
            found.emplace_back();
    }
    // Finds the leaves of a row, and caches them: a row is usually predicted just before it is learned.
    void find_places(const float* row) {
        if (!asked_.empty() && std::equal(asked_.begin(), asked_.end(), row))
            return;
        for (std::size_t k = 0; k < trees_.size(); ++k)
            places_[k] = trees_[k].find(row);
        asked_.assign(row, row + columns_);
    }
    // Errors are clamped to ten times their usual size.
    void correct(double y, double weight) {
        double error = y;
        for (std::size_t k = 0; k < trees_.size(); ++k)
            error -= trees_[k].leaf[places_[k]];
        const double usual = std::sqrt(errors_ / at_least(1, count_));
        error = count_ > 20 ? saturate(error, far_out * usual) : saturate(error, 1e120);
        errors_ = at_most(keep * errors_ + error * error, 1e290);
        count_ = keep * count_ + 1;
        const double step = at_most(kind_.correct * weight, 1) * error / static_cast<double>(trees_.size());
        for (std::size_t k = 0; k < trees_.size(); ++k)
            trees_[k].leaf[places_[k]] = Tree::held(trees_[k].leaf[places_[k]] + step);
    }
    void bin(Index t) {
        row_bins_.resize(static_cast<std::size_t>(columns_));
        trees_engine().find_bins(edges_.data(), x_.data() + t * columns_, columns_, row_bins_.data());
        for (Index j = 0; j < columns_; ++j)
            bins_[j][t] = row_bins_[j];
    }
    void take_all_edges() {
        const Index step = std::max<Index>(1, kept() / sample);
        std::vector<float> column;
        for (Index j = 0; j < columns_; ++j) {
            column.clear();
            for (Index t = 0; t < kept(); t += step)
                column.push_back(x_[t * columns_ + j]);
            take_edges(edges_[j], column);
        }
    }
    void bin_all() {
        for (Index t = 0; t < kept(); ++t)
            bin(t);
    }

    void plant() {
        static thread_local TreeFit fit; // scratch space shared by all models
        std::size_t at = trees_.size();
        trees_.reserve(most_trees);
        if (planted() < most_trees) {
            trees_.emplace_back();
            places_.resize(round_up(planted(), group));
            found_.resize(places_.size() / group, Found(static_cast<std::size_t>(kept())));
        } else {
            at = static_cast<std::size_t>(next_);
            next_ = static_cast<double>((at + 1) % most_trees);
        }
        choose(Draw{static_cast<std::uint64_t>(rows_)});
        residuals(at);
        fit.set_sample(who_, chosen_, bins_, edges_);
        for (std::size_t i = 0; i < who_.size(); ++i)
            fit.set_term(i, left_[i], weights_[who_[i]]);
        std::int8_t edge[Tree::splits];
        for (float& gain : gains_)
            gain *= 1 - 1.0f / most_trees;
        fit.fit(trees_[at], edges_, edge, gains_);
        find_all(at, edge);
        asked_.clear();
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
    // The sample's labels minus the predictions of all trees but one.
    void residuals(std::size_t but) {
        left_.resize(who_.size());
        for (std::size_t i = 0; i < who_.size(); ++i)
            left_[i] = y_[who_[i]];
        double leaf[group][Tree::leaves]; // in double precision once, not for each row
        for (std::size_t g = 0; g < found_.size(); ++g) {
            for (std::size_t k = 0; k < group; ++k)
                if (const std::size_t tree = g * group + k; tree < trees_.size() && tree != but)
                    std::copy_n(trees_[tree].leaf, Tree::leaves, leaf[k]);
                else
                    std::fill_n(leaf[k], Tree::leaves, 0.0);
            for (std::size_t i = 0; i < who_.size(); ++i) {
                const auto found = std::bit_cast<std::uint64_t>(found_[g][who_[i]]); // one load instead of eight
                double left = left_[i];
                for (std::size_t k = 0; k < group; ++k)
                    left -= leaf[k][found >> 8 * k & 255];
                left_[i] = left;
            }
        }
    }
    void find_all(std::size_t k, const std::int8_t* edge) {
        const std::uint8_t* bins[Tree::splits];
        for (Index i = 0; i < Tree::splits; ++i)
            bins[i] = bins_[trees_[k].split[i].feature].data();
        leaves_.resize(bins_room());
        trees_engine().find_leaves(bins, edge, kept(), leaves_.data());
        Found& found = found_[k / group];
        for (Index t = 0; t < kept(); ++t)
            found[t][k % group] = leaves_[t];
    }

    Index columns_;
    TreesKind kind_;
    double rows_ = 0, next_ = 0, errors_ = 0, count_ = 0;
    std::vector<Edges> edges_; // bins of each column
    std::vector<float> gains_; // of each column; see importance
    std::vector<Tree> trees_;
    std::vector<float> x_, weights_; // of the kept rows; row i is at i % ring
    std::vector<float> y_;
    std::vector<std::vector<std::uint8_t>> bins_; // the rows' bins, by column
    std::vector<Found> found_;                    // the rows' leaves, for each group of trees
    std::vector<std::uint8_t> row_bins_;          // bins of the newest row
    std::vector<std::uint8_t> places_, leaves_;   // leaves of the last predicted row; leaves of all rows in one tree
    std::vector<float> asked_;                    // the last predicted row; empty: none
    std::vector<Index> who_, chosen_;
    std::vector<float> wide_; // a row of the state: its columns in full, and those that are rounded
    std::vector<std::uint16_t> halves_;
    std::vector<double> left_;
};

} // namespace driftline
