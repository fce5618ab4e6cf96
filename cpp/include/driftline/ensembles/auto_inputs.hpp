// The inputs of Auto's experts: centred and scaled features, past labels and preceding rows.
//
// Centres and scales are estimated from the first `warm_rows` rows, which are buffered. Each time their number reaches a
// power of two, the experts restart on all of them in the improved units. After that, centres are fixed, and a scale
// changes only if it is off by more than a factor of two; the experts apply such a change exactly (see auto_model.hpp).
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "driftline/ensembles/auto_experts.hpp"
#include "driftline/ensembles/auto_labels.hpp"
#include "driftline/ensembles/auto_past.hpp"
#include "driftline/base/range.hpp"

namespace driftline {

// The scale of a feature or of the label. `size` is 0 until the value first varies.
struct Unit {
    double centre = 0, size = 0;
    double squares = 0; // sum of (value - centre)^2 over the rows learned since the centre was set
};

struct Rescaling {
    std::vector<double> features;
    double raw = 1, label = 1, raw_label = 1;
    bool any = false;
};

class AutoInputs {
  public:
    AutoInputs(Index features, Index born, bool intercept)
        : features_(features), born_(born), intercept_(intercept), units_(features), rows_(most_rows * features) {
        make_room();
    }

    Index features() const { return features_; }
    Index born() const { return born_; }
    bool intercept() const { return intercept_; }
    Index width(FeatureView view) const {
        const Extent extent = extent_of(view, born_);
        return intercept_ + extent.labels + features_ * extent.group;
    }
    double origin(FeatureView view) const { return is_raw(view) ? 0 : label_.centre; }

    // The number of earlier rows in the view that has most.
    Index rows_back() const { return extent_of(FeatureView::rows, born_).rows; }
    // Records what is known now about a row whose label comes `delay` rows late.
    void recall(const double* x, Index delay, Past& past) const {
        past.known = label_memory.rows;
        past.delay = static_cast<double>(delay);
        for (Index k = 0; k < all_labels; ++k)
            past.labels[k] = label_back(label_place(k, delay));
        past.rows.resize(static_cast<std::size_t>(rows_back() * features_));
        for (Index k = 0; k < rows_back(); ++k)
            std::copy_n(row_before(k, x), features_, past.rows.begin() + k * features_);
    }
    // Makes x the current row, with what was known when it was predicted, and computes the values that several views
    // share.
    void look_at(const double* x, const Past& past) {
        const double one = 1 / common_;
        for (Index j = 0; j < features_; ++j) {
            raw_[j] = saturate(x[j] * one, far);
            standard_[j] = seen(j, x[j]);
        }
        for (Index k = 0; k < rows_back(); ++k)
            for (Index j = 0; j < features_; ++j)
                before_[k * features_ + j] = seen(j, past.rows[static_cast<std::size_t>(k * features_ + j)]);
        for (Index k = 0; k < all_labels; ++k)
            labels_[k] = past.has_label(k) ? seen_label(false, past.labels[k]) : 0;
        for (Index k = 0; k < most_labels; ++k)
            raw_labels_[k] = past.has_label(k) ? seen_label(true, past.labels[k]) : 0;
    }
    std::vector<double> last_row() const { return {rows_.begin(), rows_.begin() + features_}; }
    // The label `back` rows back, where 1 is the last; 0 if there is none.
    double label_back(Index back) const {
        const Index rows = static_cast<Index>(label_memory.rows);
        return rows < back ? 0 : history_[(rows - back) % history];
    }
    // The features' change since the last row relative to their magnitude: about 1 if they vary around 0, near 0 if they
    // lie far from it.
    double change_from_last(const double* x) const {
        double total = 0;
        for (Index j = 0; j < features_; ++j)
            total += change_of(j, x[j]);
        return features_ > 0 ? at_most(total / static_cast<double>(features_), 1) : 1;
    }
    // A single label cannot show whether labels are large because they vary or because they lie far from 0. The
    // prediction is pulled towards the latter, more strongly if the features lie far from 0: if that is wrong, it costs
    // little.
    double leaning(const double* x, double prediction) const {
        if (label_memory.rows != 1)
            return prediction;
        const double centred = centredness(x), share = 0.8 * centred * centred;
        return saturate(share * prediction + (1 - share) * label_memory.last, DBL_MAX);
    }
    // True unless some feature is so extreme that it could explain an unusual label.
    bool ordinary(const double* x) const {
        constexpr double far_out = 8; // standard deviations
        for (Index j = 0; j < features_; ++j) {
            const double away = x[j] - units_[j].centre;
            if (away * away > far_out * far_out * units_[j].squares / label_memory.rows)
                return false;
        }
        return true;
    }
    // Writes the current row as experts with this view see it.
    template <class T> void write(FeatureView view, T* out) const {
        const Extent extent = extent_of(view, born_);
        const bool raw = is_raw(view);
        if (intercept_)
            *out++ = static_cast<T>(raw ? weak : 1);
        for (Index k = 0; k < extent.labels; ++k)
            *out++ = static_cast<T>(raw ? raw_labels_[k] : labels_[k]);
        if (extent.group == 1) {
            const double* from = raw ? raw_.data() : standard_.data();
            for (Index j = 0; j < features_; ++j)
                out[j] = static_cast<T>(from[j]);
            return;
        }
        for (Index j = 0; j < features_; ++j) {
            *out++ = static_cast<T>(standard_[j]);
            for (Index k = 0; k < extent.rows; ++k)
                *out++ = static_cast<T>(before_[k * features_ + j]);
            if (view == FeatureView::squares)
                *out++ = static_cast<T>(at_most(standard_[j] * standard_[j], 9) - 1);
        }
    }

    // The slope and offset of a prediction as a function of x itself, for weights w of this view.
    template <class T> void add_slopes(FeatureView view, const T* w, double share, double* slopes, double& offset) const {
        const Extent extent = extent_of(view, born_);
        const bool raw = is_raw(view);
        offset += share * origin(view);
        if (intercept_)
            offset += share * (raw ? weak : 1.0) * static_cast<double>(*w++);
        for (Index k = 0; k < extent.labels; ++k) {
            const Index back = k < most_labels ? k + 1 : far_labels[k - most_labels];
            offset += share * static_cast<double>(*w++) * label_seen(raw, back);
        }
        for (Index j = 0; j < features_; ++j) {
            const double slope = share * static_cast<double>(*w++);
            const double size = raw ? common_ : units_[j].size;
            if (size > 0) {
                slopes[j] += slope / size;
                offset -= raw ? 0 : slope * units_[j].centre / size;
            }
            for (Index k = 0; k < extent.rows; ++k)
                offset +=
                    share * static_cast<double>(*w++) * (label_memory.rows > 0 ? seen(j, row_before(k, nullptr)[j]) : 0);
            if (view == FeatureView::squares)
                offset -= share * static_cast<double>(*w++);
        }
    }

    // Estimates the units from these rows, (count, features), and their labels.
    void measure(const double* x, const double* y, Index count) {
        const double widen = 1 + 2.0 / static_cast<double>(count), n = static_cast<double>(count);
        std::vector<double> column(count);
        common_squares_ = 0;
        for (Index j = 0; j < features_; ++j) {
            for (Index t = 0; t < count; ++t)
                column[t] = x[t * features_ + j];
            hold_far_out(column);
            units_[j] = unit_of(column.data(), count, widen);
            common_squares_ = at_most(common_squares_ + squares_of(column.data(), count), DBL_MAX);
        }
        label_ = unit_of(y, count, widen);
        common_label_squares_ = squares_of(y, count);
        common_ = root(common_squares_ / (n * at_least(1, static_cast<double>(features_))));
        common_label_ = root(common_label_squares_ / n);
    }

    // Remembers a row that is not learned, with the expected value in place of its label.
    void remember_outlier(const double* x, double y, double expected) {
        keep(x, expected, true);
        label_memory.add_outlier(y, expected);
    }
    // Puts the last outlier back in the place of the value that replaced it.
    void reinstate_outlier() {
        label_memory.reinstate();
        history_[static_cast<Index>(label_memory.rows - 1) % history] = label_memory.last;
    }
    // Remembers a learned row for later ones. A feature that has been constant gets its scale from the first row in which
    // it varies; until then every expert saw it as 0.
    void remember(const double* x, double y, bool keep_units) {
        keep(x, y, keep_units);
        label_memory.add(y);
    }
    void forget_rows() { label_memory = LabelMemory{}; }

    // Corrects scales that are off by more than 2x; the experts then apply the same factors.
    Rescaling rescaled() {
        Rescaling change;
        change.features.assign(features_, 1.0);
        for (Index j = 0; j < features_; ++j)
            change.any |= adjust(units_[j].size, units_[j].squares, change.features[j]);
        change.any |= adjust(label_.size, label_.squares, change.label);
        change.any |= adjust(common_, common_squares_ / at_least(1, static_cast<double>(features_)), change.raw);
        change.any |= adjust(common_label_, common_label_squares_, change.raw_label);
        return change;
    }
    // The factors by which a rescaling divides the columns of a view.
    void column_factors(FeatureView view, const Rescaling& change, double* out) const {
        const Extent extent = extent_of(view, born_);
        const bool raw = is_raw(view);
        if (intercept_)
            *out++ = 1;
        for (Index k = 0; k < extent.labels; ++k)
            *out++ = raw ? change.raw_label : change.label;
        for (Index j = 0; j < features_; ++j)
            for (Index k = 0; k < extent.group; ++k)
                *out++ = raw ? change.raw : view == FeatureView::squares && k == 1 ? 1 : change.features[j];
    }

    // Adds features, which have not varied yet.
    void grow(Index more) {
        std::vector<double> rows(most_rows * (features_ + more));
        for (Index k = 0; k < most_rows; ++k)
            for (Index j = 0; j < features_; ++j)
                rows[k * (features_ + more) + j] = rows_[k * features_ + j];
        rows_ = std::move(rows);
        features_ += more;
        units_.resize(features_);
        make_room();
    }

    LabelMemory label_memory;

    // Calls act with a pointer and a length for each block of the state.
    template <class Act> void visit(Act&& act) {
        act(reinterpret_cast<double*>(units_.data()), 3 * features_);
        act(rows_.data(), most_rows * features_);
        act(history_, history);
        act(reinterpret_cast<double*>(&label_memory), static_cast<Index>(sizeof(LabelMemory) / sizeof(double)));
        act(reinterpret_cast<double*>(&label_), 3);
        act(&common_, 1);
        act(&common_label_, 1);
        act(&common_squares_, 1);
        act(&common_label_squares_, 1);
    }

  private:
    static constexpr double weak = 0.1, rounding_of_a_centre = 1e-12;
    // Values are clamped to this multiple of their unit, so a single outlier cannot distort the unit. The limit for
    // labels is much wider: labels that really grow that far have to be predicted.
    static constexpr double far = 1e8, far_label = 1e30;
    static bool is_raw(FeatureView view) { return view == FeatureView::raw || view == FeatureView::raw_past; }
    static double root(double mean) { return mean > 0 ? std::sqrt(mean) : 1; }
    static double squares_of(const double* values, Index count) {
        double total = 0;
        for (Index i = 0; i < count; ++i)
            total = at_most(total + values[i] * values[i], DBL_MAX);
        return total;
    }
    // Everything about a row but the statistics of its label.
    void keep(const double* x, double y, bool keep_units) {
        if (keep_units) {
            for (Index j = 0; j < features_; ++j) {
                observe(units_[j], x[j], far);
                add_square(common_squares_, std::fabs(x[j]), far * common_);
            }
            observe(label_, y, far_label);
            add_square(common_label_squares_, std::fabs(y), far_label * common_label_);
        }
        forget_oldest();
        for (Index j = 0; j < features_; ++j)
            rows_[j] = x[j];
        history_[static_cast<Index>(label_memory.rows) % history] = y;
    }
    static void observe(Unit& unit, double value, double most) {
        const double away = at_most(std::fabs(value - unit.centre), DBL_MAX);
        if (unit.size == 0 && away > 0)
            unit.size = away;
        add_square(unit.squares, away, most * unit.size);
    }
    static void add_square(double& squares, double away, double most) {
        const double held = at_most(away, most);
        squares = at_most(squares + held * held, DBL_MAX);
    }
    bool adjust(double& size, double squares, double& factor) const {
        const double now = std::sqrt(squares / label_memory.rows);
        if (!(size > 0 && now > 0 && (now > 2 * size || now < 0.5 * size)))
            return false;
        factor = now / size;
        size = now;
        return true;
    }

    // Clamps values to within `far_out` median absolute deviations of the median.
    static void hold_far_out(std::vector<double>& values) {
        constexpr double far_out = 1e6;
        std::vector<double> sorted = values;
        const auto median = [&] {
            const auto middle = sorted.begin() + static_cast<Index>(sorted.size() / 2);
            std::nth_element(sorted.begin(), middle, sorted.end());
            return *middle;
        };
        const double centre = median();
        for (double& value : sorted)
            value = std::fabs(value - centre);
        const double reach = far_out * median();
        if (reach > 0)
            for (double& value : values)
                value = at_most(at_least(centre - reach, value), centre + reach);
    }
    Unit unit_of(const double* values, Index count, double widen) const {
        const double n = static_cast<double>(count);
        Unit unit;
        if (intercept_)
            for (Index t = 0; t < count; ++t)
                unit.centre = saturate(unit.centre + values[t] / n, DBL_MAX);
        for (Index t = 0; t < count; ++t) {
            const double away = values[t] - unit.centre;
            unit.squares = at_most(unit.squares + away * away, DBL_MAX);
        }
        const double spread = std::sqrt(unit.squares / at_least(1, n - intercept_)) * widen;
        if (count == 1 && intercept_)
            unit.size = std::fabs(unit.centre);
        else if (spread > std::fabs(unit.centre) * rounding_of_a_centre)
            unit.size = spread;
        return unit;
    }

    double seen(Index j, double value) const {
        const Unit& unit = units_[j];
        const double away = value - unit.centre;
        return unit.size > 0 ? saturate(away / unit.size, far) : away > 0 ? 1 : away < 0 ? -1 : 0;
    }
    double seen_label(bool raw, double label) const {
        if (raw)
            return saturate(label / common_label_, far_label);
        return label_.size > 0 ? saturate((label - label_.centre) / label_.size, far_label) : 0;
    }
    double change_of(Index j, double value) const {
        const double size = at_least(std::fabs(value), std::fabs(rows_[j])), now = value / size, before = rows_[j] / size;
        return size > 0 ? (now - before) * (now - before) / (now * now + before * before) : 0;
    }
    // 0 if features lie far from 0, 1 if they vary around it. Based on the geometric mean of their changes, which is 1/2
    // around 0, so a few features far from 0 are enough to lower it.
    double centredness(const double* x) const {
        double logs = 0;
        for (Index j = 0; j < features_; ++j)
            logs += std::log(at_least(1e-3, change_of(j, x[j])));
        return features_ > 0 ? at_most(2 * std::exp(logs / static_cast<double>(features_)), 1) : 0;
    }
    double label_seen(bool raw, Index back) const {
        return label_memory.rows < static_cast<double>(back) ? 0 : seen_label(raw, label_back(back));
    }
    // The (k + 1)-th preceding row; the oldest known if there are fewer, or x itself if there are none.
    const double* row_before(Index k, const double* x) const {
        const double known = label_memory.rows;
        if (known == 0)
            return x;
        const Index at = static_cast<double>(k) < known ? k : static_cast<Index>(known) - 1;
        return rows_.data() + at * features_;
    }
    void make_room() {
        raw_.resize(features_);
        standard_.resize(features_);
        before_.resize(most_rows * features_);
    }
    void forget_oldest() {
        for (Index k = most_rows - 1; k > 0; --k)
            for (Index j = 0; j < features_; ++j)
                rows_[k * features_ + j] = rows_[(k - 1) * features_ + j];
    }

    Index features_, born_;
    bool intercept_;
    std::vector<Unit> units_;
    std::vector<double> rows_;                    // newest first
    std::vector<double> raw_, standard_, before_; // the current row
    double labels_[all_labels] = {}, raw_labels_[most_labels] = {};
    double history_[history] = {}; // label number i at i % history
    Unit label_;
    double common_ = 1, common_label_ = 1, common_squares_ = 0, common_label_squares_ = 0;
};

} // namespace driftline
