// How large a row's error is likely to be, relative to the errors of its time.
//
// Two regressions predict the logarithm of the error's size, relative to its usual value: one from recent sizes, and one
// from these, the features, the prediction, the usual size for each value of a feature and for each tenth of the
// predictions, the prediction's distance from the newest label, and the disagreement of the experts. They compete with a
// constant by the predictive likelihood of the errors, so the scale stays constant if errors have one size. If labels are
// late, recent sizes say little about a row, and intervals cannot soon correct a wrong scale: it then varies less.
//
// Errors of one mean size may differ in their largest ones, so intervals would miss more labels in some groups of rows than
// in others. The scale is therefore corrected for each value of a feature and each tenth of the predictions: it grows if
// more than a tenth of the errors there exceed what a tenth of all errors exceeds.
//
// The scale is relative, and bounded: coverage.hpp follows errors that change by orders of magnitude.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "driftline/ensembles/regression.hpp"
#include "driftline/ensembles/team_record.hpp"

namespace driftline {

// Weights logarithms of scales by the likelihood of Laplace errors whose mean size, in units of the scale, is that of the
// last 20 rows: intervals follow such changes anyway.
class ScaleMixture {
  public:
    static constexpr Index count = 5;

    double mix(const double* scales) const {
        double weights[count], total = 0, sum = 0;
        for (Index k = 0; k < count; ++k)
            weights[k] = (k == 0 ? lead_ : 0) - losses_[k];
        const double most = *std::max_element(weights, weights + count);
        for (Index k = 0; k < count; ++k) {
            const double weight = std::exp(weights[k] - most);
            total += weight;
            sum += weight * scales[k];
        }
        return sum / total;
    }
    void learn(const double* scales, double size, double weight) {
        const bool scored = rows_ > 5 && *std::min_element(sizes_, sizes_ + count) > 0;
        double first = 0;
        for (Index k = 0; k < count; ++k) {
            const double usual = scored ? sizes_[k] / rows_ : HUGE_VAL;
            const double own = at_most(size * std::exp(-scales[k]), most_times * usual);
            if (scored) {
                const double loss = scales[k] + std::log(usual) + own / usual;
                first = k == 0 ? loss : first;
                losses_[k] = saturate(keep * losses_[k] + weight * (loss - first), most_loss);
            }
            sizes_[k] = keep_size * sizes_[k] + own;
        }
        rows_ = keep_size * rows_ + 1;
        lead_ *= keep;
    }
    template <class Act> void visit(Act&& act) {
        act(&rows_, 1);
        act(&lead_, 1);
        act(sizes_, count);
        act(losses_, count);
    }
    bool good() const {
        return rows_ >= 0 && std::all_of(sizes_, sizes_ + count, [](double size) { return size >= 0; });
    }

  private:
    static constexpr double keep = 0.998, keep_size = 0.95, most_times = 20, most_loss = 1e6;
    double rows_ = 0, lead_ = 3;                    // log-weight of the first scale at the start
    double sizes_[count] = {}, losses_[count] = {}; // discounted sums; losses less those of the first
};

class ErrorScale {
  public:
    explicit ErrorScale(Index features)
        : features_(features), cells_(tabled(features)), full_(fixed + features + tabled(features), forgetting, ridge),
          recent_(spans, forgetting, ridge) {
        make_room();
    }

    // Writes the scale of a row, and what learning its error needs. All predictions are known.
    void predict(const RecordFields& fields) {
        write_inputs(fields);
        const bool ready = rows_ >= first_rows;
        fields.scale[1] = ready ? held(full_.predict(row_of(fields))) : 0;
        fields.scale[2] = ready ? held(recent_.predict(fields.scale_inputs)) : 0;
        const double size = mixture_.mix(candidates(fields).data()) + correction(fields);
        fields.scale[0] = std::exp(2 * (offset_ + held(size)));
    }
    // If a feature is new since the row was predicted, only the parts without features learn.
    void learn(const RecordFields& fields, double error, double weight, bool whole) {
        const double magnitude = at_most(std::fabs(error), largest), size = std::log(at_least(magnitude, least));
        if (rows_ == 0)
            usual_ = size;
        const double relative = held(size - usual_);
        mixture_.learn(candidates(fields).data(), magnitude, weight);
        if (whole) {
            full_.learn(row_of(fields), relative, weight);
            recent_.learn(fields.scale_inputs, relative, weight);
            learn_tables(fields, relative, size);
        }
        rows_ += 1;
        for (Index k = 0; k < spans; ++k)
            sizes_[k] += (relative - sizes_[k]) * at_least(rates[k], 1 / rows_);
        offset_ *= keep_offset;
        if (is_another_kind(size))
            return restart(0.5 * std::log(at_least(fields.variance(), least)));
        follow(size);
        remember(fields.prediction());
    }
    void grow(Index more) {
        const Index tables = tabled(features_ + more) - tabled(features_);
        full_.grow(more, fixed + features_);
        if (tables > 0)
            full_.grow(tables, fixed + features_ + more + tabled(features_));
        features_ += more;
        cells_.resize(static_cast<std::size_t>(tabled(features_)));
        make_room();
    }

    // The sizes of the tables.
    void layout(std::vector<double>& out) const {
        for (const auto& cells : cells_)
            out.push_back(static_cast<double>(cells.size()));
    }
    const double* set_layout(const double* from, const double* end) {
        if (end - from < static_cast<Index>(cells_.size()))
            return nullptr;
        for (auto& cells : cells_) {
            if (!(*from >= 0 && *from <= Catalog::most_values) || *from != std::floor(*from))
                return nullptr;
            cells.assign(static_cast<std::size_t>(*from++), Cell{});
        }
        return from;
    }
    template <class Act> void visit(Act&& act) {
        act(&rows_, 1);
        act(&usual_, 1);
        act(&run_, 1);
        act(&offset_, 1);
        act(&high_, 1);
        act(sizes_, spans);
        act(edges_, tenths - 1);
        act(predictions_, kept);
        act(reinterpret_cast<double*>(by_tenth_), 3 * tenths);
        for (auto& cells : cells_)
            act(reinterpret_cast<double*>(cells.data()), static_cast<Index>(3 * cells.size()));
        mixture_.visit(act);
        full_.visit(act);
        recent_.visit(act);
    }
    bool good() const {
        return rows_ >= 0 && rows_ < 9e15 && rows_ == std::floor(rows_) && mixture_.good() &&
               std::fabs(offset_) <= most_offset && std::fabs(high_) <= most_offset && std::fabs(run_) < long_run &&
               std::is_sorted(edges_, edges_ + tenths - 1);
    }
    Regression& full() { return full_; }
    Regression& recent() { return recent_; }

  private:
    static constexpr Index spans = RecordLayout::scale_spans, tenths = 10, kept = 512, most_tabled = 48,
                           fixed = RecordLayout::scale_inputs + 1, first_rows = 20, long_run = 64;
    static constexpr double rates[spans] = {0.3, 0.06, 0.015}, usual_rate = 0.003, cell_rate = 0.02, cell_prior = 5,
                            outside = 0.1, high_rate = 0.05, correction_rate = 0.03, keep_correction = 0.1, usual_late = 12,
                            keep_offset = 0.997, farthest = 3, least = 1e-150, largest = 1e150, most_offset = 2 * farthest,
                            forgetting = 0.9995, late_part = 0.5, fade = 0.04, ridge = 30;
    // The mean relative log-size of the rows with one value of a feature, and the correction of their scale's logarithm.
    struct Cell {
        double rows = 0, mean = 0, correction = 0;
        double usual() const { return rows * mean / (rows + cell_prior); }
        void add(double relative) {
            rows += 1;
            mean += (relative - mean) * at_least(cell_rate, 1 / rows);
        }
        void correct(double step, double rate) {
            correction = saturate(correction + step - keep_correction * rate * correction, 1);
        }
    };

    static double held(double relative) { return saturate(relative, farthest); }
    static Index tabled(Index features) { return std::min(features, most_tabled); }
    void make_room() { row_.resize(static_cast<std::size_t>(full_.columns())); }
    static std::array<double, ScaleMixture::count> candidates(const RecordFields& fields) {
        const double part = at_least(late_part, 1 - fade * fields.delay());
        const double full = part * held(fields.scale[1]), recent = held(fields.scale[2]);
        return {0, 0.5 * full, full, 0.5 * recent, recent};
    }
    double relative_size(double value) const {
        return rows_ > 0 ? held(std::log(at_least(at_most(std::fabs(value), largest), least)) - usual_) : 0;
    }
    void write_inputs(const RecordFields& fields) const {
        double* to = fields.scale_inputs;
        for (Index k = 0; k < spans; ++k)
            *to++ = fields.delay() > 0 ? 0 : sizes_[k];
        const double prediction = fields.prediction();
        fields.places[features_] = static_cast<double>(std::lower_bound(edges_, edges_ + tenths - 1, prediction) - edges_);
        *to++ = by_tenth_[tenth_of(fields)].usual();
        *to++ = relative_size(prediction - fields.last());
        *to++ = relative_size(spread(fields.said));
        for (Index j = 0; j < features_; ++j) {
            const Cell* cell = cell_of(fields, j);
            *to++ = cell ? cell->usual() : 0;
        }
    }
    double correction(const RecordFields& fields) const {
        double sum = by_tenth_[tenth_of(fields)].correction;
        for (Index j = 0; j < tabled(features_); ++j)
            if (const Cell* cell = cell_of(fields, j))
                sum += cell->correction;
        return sum;
    }
    // Records come back in tickets, so they are not trusted.
    Index tenth_of(const RecordFields& fields) const {
        return static_cast<Index>(at_most(at_least(0, fields.places[features_]), tenths - 1));
    }
    Index place_of(const RecordFields& fields, Index j) const {
        const double place = fields.places[j];
        return j < most_tabled && place >= 0 && place < Catalog::most_values ? static_cast<Index>(place) : -1;
    }
    // Null if no row with the feature's value has been learned.
    const Cell* cell_of(const RecordFields& fields, Index j) const {
        const Index at = place_of(fields, j);
        return at >= 0 && at < static_cast<Index>(cells_[j].size()) ? &cells_[j][at] : nullptr;
    }
    static double spread(const double* said) {
        double mean = 0, squares = 0;
        for (Index k = 0; k < members; ++k)
            mean += said[k] / members;
        for (Index k = 0; k < members; ++k)
            squares += (said[k] - mean) * (said[k] - mean);
        return std::sqrt(at_most(squares, DBL_MAX) / members);
    }
    // The columns of the full regression.
    const double* row_of(const RecordFields& fields) {
        double* to = std::copy_n(fields.scale_inputs, fixed - 1, row_.data());
        *to++ = fields.prediction();
        const double* x = fields.residual_trees + RecordLayout::residual_columns;
        for (Index j = 0; j < features_; ++j)
            *to++ = x[2 * j];
        std::copy_n(fields.scale_inputs + fixed - 1, tabled(features_), to);
        return row_.data();
    }
    void learn_tables(const RecordFields& fields, double relative, double size) {
        Index found = 1;
        for (Index j = 0; j < tabled(features_); ++j)
            found += place_of(fields, j) >= 0;
        const double above = size > usual_ + high_ + 0.5 * std::log(fields.variance()) ? 1 - outside : -outside;
        const double rate = correction_rate / std::sqrt(found) / (1 + fields.delay() / usual_late);
        high_ = saturate(high_ + high_rate * above, most_offset);
        const auto learn = [&](Cell& cell) {
            cell.add(relative);
            cell.correct(rate * above, rate);
        };
        learn(by_tenth_[tenth_of(fields)]);
        for (Index j = 0; j < tabled(features_); ++j) {
            const Index at = place_of(fields, j);
            if (at >= static_cast<Index>(cells_[j].size()))
                cells_[j].resize(static_cast<std::size_t>(at + 1));
            if (at >= 0)
                learn(cells_[j][at]);
        }
    }
    // Whether 64 sizes in succession were too far from the usual one, on the same side.
    bool is_another_kind(double size) {
        const double away = size - usual_;
        const bool far = std::fabs(away) >= farthest, above = away > 0;
        run_ = !far ? 0 : above ? at_least(run_, 0) + 1 : at_most(run_, 0) - 1;
        return std::fabs(run_) >= long_run;
    }
    // What was learned from errors of another kind would mislead. The scale continues where it was.
    void restart(double offset) {
        *this = ErrorScale(features_);
        offset_ = saturate(offset, most_offset);
    }
    void follow(double size) {
        const double before = usual_;
        usual_ += held(size - usual_) * at_least(usual_rate, 1 / rows_);
        for (double& one : sizes_)
            one = held(one + before - usual_);
    }
    void remember(double prediction) {
        const auto rows = static_cast<Index>(rows_);
        predictions_[(rows - 1) % kept] = static_cast<float>(saturate(prediction, FLT_MAX));
        if (rows < 32 || (rows % (kept / 2) != 0 && !std::has_single_bit(static_cast<std::size_t>(rows))))
            return;
        std::vector<float> sample(predictions_, predictions_ + std::min(rows, kept));
        std::sort(sample.begin(), sample.end());
        for (Index b = 1; b < tenths; ++b)
            edges_[b - 1] = sample[static_cast<std::size_t>(b) * sample.size() / tenths];
    }

    Index features_;
    double rows_ = 0, usual_ = 0;   // errors learned; their usual log-size
    double run_ = 0;                // sizes far above the usual one in succession; negative: below
    double high_ = 0.9;             // log of what a tenth of the errors exceed, in units of their scale and the usual size
    double offset_ = 0;             // of the logarithm of the scale, since the last restart
    double sizes_[spans] = {};      // means of recent log-sizes, relative to the usual one
    double edges_[tenths - 1] = {}; // of the tenths of the last predictions
    float predictions_[kept] = {};  // that of row i is at i % kept
    Cell by_tenth_[tenths];
    std::vector<std::vector<Cell>> cells_; // by feature and value
    ScaleMixture mixture_;
    Regression full_, recent_;
    std::vector<double> row_;
};

} // namespace driftline
