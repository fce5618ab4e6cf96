// A sample of all rows learned, in their order: every row at first; when the sample is full, each of its rows is dropped
// with probability one half, and later rows enter it half as often. Draws are seeded by the row number.
//
// It settles after every row at first, then each time the number of rows has grown by a sixteenth to a thirty-second. What
// is fitted to the settled part stays valid until then.
#pragma once

#include <algorithm>
#include <bit>
#include <cfloat>
#include <vector>

#include "driftline/base/range.hpp"
#include "driftline/ensembles/draw.hpp"

namespace driftline {

class StreamSample {
  public:
    static constexpr Index most_rows = 16384, least_rows = 1024, most_numbers = 1 << 19;

    explicit StreamSample(Index features) : features_(features), units_(features) {}

    Index features() const { return features_; }
    Index count() const { return static_cast<Index>(y_.size()); }
    Index settled() const { return static_cast<Index>(settled_); }
    // Changes whenever the settled part does.
    double version() const { return settled_at_ + 1 / stride_; }
    const float* row(Index i) const { return x_.data() + i * features_; }
    double label(Index i) const { return y_[i]; } // in its unit
    double weight(Index i) const { return weights_[i]; }
    // The value of a feature as the sample keeps it: in single precision, in units of about its first value other than 0.
    float kept(Index j, double value) const {
        return static_cast<float>(saturate(units_[j] > 0 ? value * units_[j] : value, 1e30));
    }
    // The factor from a label to its unit.
    double label_unit() const { return label_unit_ > 0 ? label_unit_ : 1; }

    void add(const double* x, double y, double weight) {
        rows_ += 1;
        if (stride_ == 1 || Draw{static_cast<std::uint64_t>(rows_)}(static_cast<Index>(stride_)) == 0) {
            for (Index j = 0; j < features_; ++j) {
                choose_unit(units_[j], x[j]);
                x_.push_back(kept(j, x[j]));
            }
            choose_unit(label_unit_, y);
            y_.push_back(saturate(y * label_unit(), 1e100));
            weights_.push_back(static_cast<float>(at_most(at_least(FLT_MIN, weight), 1e30)));
            if (count() > room())
                thin();
        }
        const auto rows = static_cast<std::uint64_t>(rows_);
        if (rows % std::max<std::uint64_t>(std::bit_floor(rows) / 16, 1) == 0) {
            settled_ = static_cast<double>(count());
            settled_at_ = rows_;
        }
    }
    // Appends new features, which are 0 in the rows of the sample.
    void grow(Index more) {
        std::vector<float> wider(static_cast<std::size_t>(count() * (features_ + more)));
        for (Index i = 0; i < count(); ++i)
            std::copy_n(row(i), features_, wider.begin() + i * (features_ + more));
        x_ = std::move(wider);
        features_ += more;
        units_.resize(static_cast<std::size_t>(features_));
    }

    // Allocates a sample of this size before it is read.
    void expect(Index count) {
        x_.resize(static_cast<std::size_t>(count * features_));
        y_.resize(static_cast<std::size_t>(count));
        weights_.resize(static_cast<std::size_t>(count));
    }
    template <class Act> void visit(Act&& act) {
        act(&rows_, 1);
        act(&stride_, 1);
        act(&settled_, 1);
        act(&settled_at_, 1);
        act(units_.data(), features_);
        act(&label_unit_, 1);
        act(x_.data(), static_cast<Index>(x_.size()));
        act(y_.data(), count());
        act(weights_.data(), count());
    }
    // Whether a loaded state is one that learning `rows` rows can lead to.
    bool good(double rows) const {
        const auto whole = [](double value, double least, double most) {
            return value >= least && value <= most && value == std::floor(value);
        };
        return whole(rows_, 0, rows) && whole(settled_, 0, static_cast<double>(count())) && whole(settled_at_, 0, rows_) &&
               whole(stride_, 1, 0x1p31) && std::has_single_bit(static_cast<std::uint64_t>(stride_)) &&
               static_cast<double>(count()) <= rows_ && (settled_ > 0 || count() == 0) && label_unit_ >= 0 &&
               std::all_of(units_.begin(), units_.end(), [](double unit) { return unit >= 0; });
    }

  private:
    // Powers of two, so that nothing is rounded.
    static void choose_unit(double& unit, double value) {
        if (unit == 0 && value != 0)
            unit = std::ldexp(1.0, -std::clamp(std::ilogb(value), -1000, 1000));
    }
    // Fewer wide rows are kept.
    Index room() const { return std::clamp(most_numbers / std::max<Index>(features_, 1), least_rows, most_rows); }
    void thin() {
        Draw draw{static_cast<std::uint64_t>(rows_), 1};
        Index kept = 0, settled = 0;
        for (Index i = 0; i < count(); ++i) {
            if (draw(2) != 0)
                continue;
            std::copy_n(row(i), features_, x_.begin() + kept * features_);
            y_[kept] = y_[i];
            weights_[kept++] = weights_[i];
            settled += i < static_cast<Index>(settled_);
        }
        expect(kept);
        settled_ = static_cast<double>(settled);
        stride_ = at_most(2 * stride_, 0x1p31);
    }

    Index features_;
    double rows_ = 0, stride_ = 1;        // rows learned; one in how many enters
    double settled_ = 0, settled_at_ = 0; // rows of the settled part; the number of rows when it settled
    std::vector<double> units_;           // factors from the features to their units; 0: none yet
    double label_unit_ = 0;
    std::vector<float> x_, weights_;
    std::vector<double> y_;
};

} // namespace driftline
