// Rows that were predicted and wait for their labels.
//
// How many labels were known then tells how late a label is, and what the experts and the mixtures said then is what they
// are judged by: asked again when the label has come they would know better.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "driftline/ensembles/auto_experts.hpp"
#include "driftline/base/range.hpp"

namespace driftline {

class Waiting {
  public:
    // A row is found again by its mark: of the features that are not 0, so that one more feature changes nothing. It is a
    // whole number below 2^52, which a double holds.
    static double mark_of(const double* x, Index features) {
        std::uint64_t mark = 0;
        for (Index j = 0; j < features; ++j)
            if (x[j] != 0) {
                std::uint64_t bits = std::bit_cast<std::uint64_t>(x[j]) + static_cast<std::uint64_t>(j);
                bits *= 0x9e3779b97f4a7c15;
                mark = (mark ^ bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9;
            }
        return static_cast<double>(mark >> 12);
    }

    struct Row {
        double mark = 0, labels = 0; // `labels` were known
        std::vector<double> said;    // see Mixer::note, and the prediction
    };

    // The latest `most_late` rows are kept. A row that is asked for again before anything else counts once.
    std::vector<double>& add(double mark, double labels) {
        if (!rows_.empty() && rows_.back().mark == mark && rows_.back().labels == labels)
            return rows_.back().said;
        if (static_cast<Index>(rows_.size()) == most_late)
            rows_.erase(rows_.begin());
        rows_.push_back({mark, labels, std::move(spare_)});
        return rows_.back().said;
    }
    // The label of this row has come, after so many others. Whether it is late, and what was said of it is at hand.
    bool recall(double mark, double labels) {
        if (!take(mark)) {
            asked_ = 0;
            return false;
        }
        const bool usual = asked_ >= enough_asked;
        asked_ = at_most(asked_ + 1, enough_asked);
        if (usual)
            late_ = at_most(labels - recalled_.labels, most_late);
        return usual && late_ > 0 && late_ < most_late;
    }
    const Row& recalled() const { return recalled_; }
    // The row as it was last predicted, where its label would be believed to be late or not; else null.
    const Row* awaited(double mark) const {
        const auto row = std::find_if(rows_.rbegin(), rows_.rend(), [&](const Row& one) { return one.mark == mark; });
        return row != rows_.rend() && asked_ >= enough_asked ? &*row : nullptr;
    }
    // Labels that came between the prediction of the last row learned and its own label.
    Index late() const { return static_cast<Index>(late_); }
    void forget_lateness() { late_ = 0; }

    // Part of the state are the rows that were overtaken: other labels came since. A prediction by itself changes nothing.
    // They are the first, because rows are kept in the order in which they were predicted.
    Index overtaken(double labels) const {
        Index count = 0;
        while (count < static_cast<Index>(rows_.size()) && rows_[count].labels < labels)
            ++count;
        return count;
    }
    void expect(Index rows, Index said) { rows_.assign(rows, {0, 0, std::vector<double>(said)}); }
    template <class Act> void visit(Index count, Act&& act) {
        act(&late_, 1);
        if (count > 0)
            act(&asked_, 1);
        for (Index i = 0; i < count; ++i) {
            act(&rows_[i].mark, 1);
            act(&rows_[i].labels, 1);
            act(rows_[i].said.data(), static_cast<Index>(rows_[i].said.size()));
        }
    }
    bool sound() const {
        return late_ >= 0 && late_ <= most_late && late_ == std::floor(late_) && asked_ >= 0 && asked_ <= enough_asked;
    }

  private:
    // The row as it was last predicted. It waits no longer, nor do those before it: labels come in the order of the rows.
    bool take(double mark) {
        for (auto row = rows_.end(); row != rows_.begin();)
            if ((--row)->mark == mark) {
                spare_ = std::move(recalled_.said); // so that a row is predicted without asking for memory
                recalled_ = std::move(*row);
                rows_.erase(rows_.begin(), row + 1);
                return true;
            }
        return false;
    }

    static constexpr double enough_asked = 8;
    std::vector<Row> rows_;
    Row recalled_;
    std::vector<double> spare_;
    double late_ = 0;
    double asked_ = enough_asked; // rows in succession that had been predicted, up to enough: only then lateness is a guide
};

} // namespace driftline
