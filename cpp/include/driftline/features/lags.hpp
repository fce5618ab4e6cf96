// Earlier labels and earlier values of the features as inputs: autoregression and tapped delay lines.
#pragma once

#include <algorithm>

#include "driftline/features/transform.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// The latest values, newest first and contiguous. They are moved only when the buffer is full.
class DelayLine {
  public:
    explicit DelayLine(Index depth) : depth_(depth), cells_(static_cast<std::size_t>(depth + room(depth))) {
        head_ = room(depth);
    }

    // newest()[k - 1] is the value k rows ago.
    const double* newest() const { return cells_.data() + head_; }
    void push(double value) {
        if (depth_ == 0)
            return;
        if (head_ == 0) {
            head_ = room(depth_);
            std::memmove(cells_.data() + head_ + 1, cells_.data(), static_cast<std::size_t>(depth_ - 1) * sizeof(double));
            cells_[static_cast<std::size_t>(head_)] = value;
            return;
        }
        cells_[static_cast<std::size_t>(--head_)] = value;
    }
    double last() const { return depth_ > 0 ? *newest() : 0; }
    void load(const double* values) { std::copy(values, values + depth_, cells_.data() + head_); }

  private:
    static Index room(Index depth) { return depth == 0 ? 0 : std::max<Index>(depth, 64); }

    Index depth_, head_;
    std::vector<double> cells_;
};

// First the labels `label_lags` rows ago, then the values of each feature `lags` rows ago; lag 0 is the row itself. Values
// from before the first row are 0.
class Lags : public Transform {
  public:
    Lags(Index inputs, std::vector<Index> label_lags, std::vector<Index> lags)
        : Transform(inputs), label_lags_(std::move(label_lags)), lags_(std::move(lags)), depth_(deepest(lags_)),
          labels_(deepest(label_lags_)), lines_(static_cast<std::size_t>(inputs), DelayLine(depth_)) {
        in_a_row_ = true;
        for (std::size_t k = 0; k < lags_.size(); ++k)
            in_a_row_ = in_a_row_ && lags_[k] == static_cast<Index>(k);
        write_down();
    }

    Index outputs() const override {
        return static_cast<Index>(label_lags_.size()) + inputs_ * static_cast<Index>(lags_.size());
    }
    // A label lag counts from the current row. If that label is not known yet, lags 1, 2, ... mean the newest known labels,
    // in this order; any other lag is a season, and becomes its next multiple.
    void view(const double* x, double* z, Index delay) override {
        for (Index k = 0; k < static_cast<Index>(label_lags_.size()); ++k) {
            const Index lag = label_lags_[static_cast<std::size_t>(k)], season = (delay + lag) / lag * lag;
            *z++ = labels_.newest()[lag > delay ? lag - delay - 1 : k + 1 == lag ? lag - 1 : season - delay - 1];
        }
        for (Index j = 0; j < inputs_; ++j) {
            const double* line = lines_[static_cast<std::size_t>(j)].newest();
            if (in_a_row_ && depth_ > 0) {
                *z = x[j];
                std::memcpy(z + 1, line, static_cast<std::size_t>(depth_) * sizeof(double));
                z += depth_ + 1;
            } else {
                for (Index lag : lags_)
                    *z++ = lag == 0 ? x[j] : line[lag - 1];
            }
        }
    }
    void learn(const double* x, double y) override {
        labels_.push(y);
        for (Index j = 0; j < inputs_; ++j)
            lines_[static_cast<std::size_t>(j)].push(x[j]);
    }
    // A missing value repeats that of the row before.
    void pass_over(const double* x, double y) override {
        labels_.push(std::isnan(y) ? labels_.last() : y);
        for (Index j = 0; j < inputs_; ++j) {
            DelayLine& line = lines_[static_cast<std::size_t>(j)];
            line.push(x ? x[j] : line.last());
        }
    }
    void grow(Index more) override {
        Transform::grow(more);
        lines_.resize(static_cast<std::size_t>(inputs_), DelayLine(depth_));
    }
    // Newest first, feature by feature.
    std::vector<Part> parts() override {
        write_down();
        return {{"labels", &label_part_}, {"rows", &row_part_}};
    }
    void restore() override {
        labels_.load(label_part_.data());
        for (Index j = 0; j < inputs_; ++j)
            lines_[static_cast<std::size_t>(j)].load(row_part_.data() + j * depth_);
    }

  private:
    static Index deepest(const std::vector<Index>& lags) {
        return lags.empty() ? 0 : *std::max_element(lags.begin(), lags.end());
    }
    void write_down() {
        label_part_.assign(labels_.newest(), labels_.newest() + deepest(label_lags_));
        row_part_.clear();
        for (const DelayLine& line : lines_)
            row_part_.insert(row_part_.end(), line.newest(), line.newest() + depth_);
    }

    std::vector<Index> label_lags_, lags_;
    Index depth_;
    bool in_a_row_; // the lags are 0, 1, 2, ...
    DelayLine labels_;
    std::vector<DelayLine> lines_;
    std::vector<double> label_part_, row_part_;
};

} // namespace DRIFTLINE_ISA
} // namespace driftline
