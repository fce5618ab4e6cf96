// The past labels and rows available to the team's experts.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "driftline/base/range.hpp"
#include "driftline/ensembles/auto_experts.hpp"

namespace driftline {

inline constexpr Index near_labels = 16; // number of recent labels that experts use

// What was known when a row was predicted, in original units.
struct PredictionContext {
    Index known = 0;                // number of labels
    double near[near_labels]{};     // newest first, padded with the oldest
    double seasons[far_count]{};    // see label_place; the newest label if unavailable
    double base = 0;                // the value expected from the newest label and the mean
    const double* x = nullptr;      // the row itself
    const double* before = nullptr; // preceding rows, newest first
    // The k-th preceding row, or the row itself if there is none.
    const double* earlier(Index k, Index features) const { return known > 0 ? before + (k - 1) * features : x; }
};

class RowHistory {
  public:
    RowHistory(Index features, Index depth) : features_(features), depth_(depth), rows_(features * depth) {}

    Index known() const { return static_cast<Index>(count_); }
    double mean() const { return mean_; }                 // of about 500 labels
    double overall_mean() const { return overall_mean_; } // of all labels

    void look(const double* x, Index delay, PredictionContext& out) const {
        out.known = known();
        out.x = x;
        out.before = rows_.data();
        for (Index k = 0; k < near_labels; ++k)
            out.near[k] = known() > 0 ? label(std::min(k + 1, known())) : 0;
        for (Index k = 0; k < far_count; ++k) {
            const Index back = label_place(most_labels + k, delay);
            out.seasons[k] = back <= known() ? label(back) : out.near[0];
        }
        out.base = known() < enough || !(squares_ > 0)
                       ? out.near[0]
                       : mean_ + at_most(at_least(0, products_ / squares_), 1) * (out.near[0] - mean_);
    }
    // `last` is the newest label known when the row was predicted; null if none was.
    void remember(const double* x, double y, const double* last) {
        std::copy_backward(rows_.begin(), rows_.end() - features_, rows_.end());
        std::copy_n(x, features_, rows_.begin());
        for (Index k = 1; known() == 0 && k < depth_; ++k)
            std::copy_n(x, features_, rows_.begin() + k * features_);
        labels_[known() % history] = y;
        count_ += 1;
        mean_ += (y - mean_) * at_least(mean_rate, 1 / count_);
        overall_mean_ += (y - overall_mean_) / count_;
        if (last) {
            products_ = saturate(keep * products_ + held(y - mean_) * held(*last - mean_), 1e290);
            squares_ = at_most(keep * squares_ + held(*last - mean_) * held(*last - mean_), 1e290);
        }
    }
    void replace_newest(double y) { labels_[(known() - 1) % history] = y; }
    void grow(Index more) {
        std::vector<double> wider(static_cast<std::size_t>((features_ + more) * depth_));
        for (Index k = 0; k < depth_; ++k)
            std::copy_n(rows_.begin() + k * features_, features_, wider.begin() + k * (features_ + more));
        rows_ = std::move(wider);
        features_ += more;
    }
    template <class Act> void visit(Act&& act) {
        act(&count_, 1);
        act(&mean_, 1);
        act(&overall_mean_, 1);
        act(&products_, 1);
        act(&squares_, 1);
        act(labels_, history);
        act(rows_.data(), static_cast<Index>(rows_.size()));
    }
    double count() const { return count_; }

  private:
    static constexpr double keep = 0.999, mean_rate = 0.002;
    static constexpr Index enough = 32; // labels needed before the newest is shrunk towards the mean
    static double held(double value) { return saturate(value, 1e140); }
    double label(Index back) const { return labels_[(known() - back) % history]; } // 1: the newest

    Index features_, depth_;
    double count_ = 0;
    double mean_ = 0, overall_mean_ = 0, products_ = 0,
           squares_ = 0;          // autocovariance sums: each label with the newest known when it was predicted
    double labels_[history] = {}; // label number i at i % history
    std::vector<double> rows_;    // newest first
};

struct LabelRange {
    bool known = false;
    double low = 0, high = 0;
    // Clamps a value to the range, widened by a multiple of its width.
    double hold(double value, double widths) const {
        const double more = widths * (0.5 * high - 0.5 * low) * 2;
        return saturate(at_most(at_least(low - more, value), high + more), DBL_MAX);
    }
};

// The range of the last 1,000 labels, updated in blocks of 125.
class RecentRange {
  public:
    void add(double y) {
        const Index at = static_cast<Index>(count_) / part % parts;
        const bool first = static_cast<Index>(count_) % part == 0;
        low_[at] = first ? y : at_most(low_[at], y);
        high_[at] = first ? y : at_least(high_[at], y);
        count_ += 1;
    }
    // Extends the range without counting another label.
    void widen(double y) {
        const Index at = (static_cast<Index>(count_) - 1) / part % parts;
        low_[at] = at_most(low_[at], y);
        high_[at] = at_least(high_[at], y);
    }
    LabelRange now() const {
        if (count_ <= 1)
            return {};
        const Index used = std::min<Index>((static_cast<Index>(count_) + part - 1) / part, parts);
        return {true, *std::min_element(low_, low_ + used), *std::max_element(high_, high_ + used)};
    }
    template <class Act> void visit(Act&& act) {
        act(&count_, 1);
        act(low_, parts);
        act(high_, parts);
    }
    double count() const { return count_; }

  private:
    static constexpr Index part = 125, parts = 8;
    double count_ = 0, low_[parts] = {}, high_[parts] = {};
};

} // namespace driftline
