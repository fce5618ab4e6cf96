// Predicts rows before whose label no other label comes, however late it comes: from their features alone.
//
// The weights that the other experts earn while labels come say little about such rows. Therefore a few candidates are
// fitted to a sample of all rows learned: the mean, two ridge regressions, boosted trees, and trees on the residuals of a
// ridge regression. First they are fitted to the first 40 % of the sample, and predict the next 30 %, then to the first 70
// %, and predict the rest: the smaller their squared errors there, the larger their weights. The errors of their mixture
// also show how wide intervals must be. Then they are fitted to all of the sample.
//
// That happens when such a prediction is first asked for. Rows learned in the meantime cost no more than their place in the
// sample.
#pragma once

#include <array>
#include <memory>

#include "driftline/base/rows.hpp"
#include "driftline/ensembles/auto_mixer.hpp"
#include "driftline/ensembles/boosting.hpp"
#include "driftline/ensembles/stream_sample.hpp"

namespace driftline {

// Least squares on standardised columns, with a penalty on the squares of the weights.
class RidgeFit {
  public:
    RidgeFit(const StreamSample& sample, Index rows, const std::vector<double>& labels, const std::vector<double>& weights)
        : columns_(static_cast<std::size_t>(sample.features())) {
        const Index d = sample.features();
        double all = 0;
        for (Index t = 0; t < rows; ++t) {
            all += weights[t];
            for (Index j = 0; j < d; ++j)
                columns_[j].centre += (sample.row(t)[j] - columns_[j].centre) * weights[t] / all;
        }
        for (Index t = 0; t < rows; ++t)
            for (Index j = 0; j < d; ++j)
                columns_[j].size += weights[t] / all * std::pow(sample.row(t)[j] - columns_[j].centre, 2);
        for (Column& column : columns_) {
            column.size = std::sqrt(column.size);
            if (!(column.size > 1e-7 * std::fabs(column.centre))) // constant, in the precision of the sample
                column.size = 0;
        }
        gram_.resize(static_cast<std::size_t>(d * d));
        target_.resize(static_cast<std::size_t>(d));
        std::vector<double> z(static_cast<std::size_t>(d));
        for (Index t = 0; t < rows; ++t) {
            show(sample.row(t), z.data());
            for (Index j = 0; j < d; ++j) {
                const double one = weights[t] * z[j];
                target_[j] += one * labels[t];
                for (Index i = 0; i <= j; ++i)
                    gram_[j * d + i] += one * z[i];
            }
        }
    }
    // The slopes in the standardised columns for a penalty, by a Cholesky factorisation.
    std::vector<double> solve(double penalty) const {
        const auto d = static_cast<Index>(columns_.size());
        std::vector<double> l = gram_, w = target_;
        for (Index j = 0; j < d; ++j) {
            double* own = l.data() + j * d;
            own[j] += penalty;
            const double least = 1e-12 * own[j];
            for (Index i = 0; i <= j; ++i) {
                const double* other = l.data() + i * d;
                double left = own[i];
                for (Index k = 0; k < i; ++k)
                    left -= own[k] * other[k];
                own[i] = i < j ? left / other[i] : std::sqrt(at_least(least, left));
            }
            for (Index i = 0; i < j; ++i)
                w[j] -= own[i] * w[i];
            w[j] /= own[j];
        }
        for (Index j = d - 1; j >= 0; --j) {
            w[j] /= l[j * d + j];
            for (Index i = 0; i < j; ++i)
                w[i] -= l[j * d + i] * w[j];
        }
        return w;
    }
    // A row's standardised columns.
    void show(const float* row, double* z) const {
        for (std::size_t j = 0; j < columns_.size(); ++j)
            z[j] = columns_[j].size > 0 ? saturate((row[j] - columns_[j].centre) / columns_[j].size, farthest) : 0;
    }

  private:
    static constexpr double farthest = 1e3;
    struct Column {
        double centre = 0, size = 0; // size 0: constant
    };
    std::vector<Column> columns_;
    std::vector<double> gram_, target_;
};

// The candidates, fitted to the first rows of a sample.
class LongRunCandidates {
  public:
    static constexpr Index count = 5;
    using Said = std::array<double, count>;

    LongRunCandidates(const StreamSample& sample, Index rows) : weights_(static_cast<std::size_t>(rows)) {
        double all = 0;
        for (Index t = 0; t < rows; ++t)
            all += sample.weight(t);
        all /= static_cast<double>(rows); // exactly 1 if every weight is
        std::vector<double> labels(static_cast<std::size_t>(rows));
        double total = 0;
        for (Index t = 0; t < rows; ++t) {
            weights_[t] = sample.weight(t) / all; // their scale has no meaning
            total += weights_[t];
            mean_ += (sample.label(t) - mean_) * weights_[t] / total;
        }
        low_ = high_ = rows > 0 ? sample.label(0) : 0;
        for (Index t = 0; t < rows; ++t) {
            labels[t] = sample.label(t) - mean_;
            size_ = at_least(size_, std::fabs(labels[t]));
            low_ = at_most(low_, sample.label(t));
            high_ = at_least(high_, sample.label(t));
        }
        const double reach = 0.5 * (high_ - low_);
        low_ -= reach;
        high_ += reach;
        if (size_ == 0)
            return;
        for (double& label : labels)
            label /= size_;
        ridge_ = std::make_unique<RidgeFit>(sample, rows, labels, weights_);
        strict_ = ridge_->solve(1);
        loose_ = ridge_->solve(1e-3);
        std::vector<double> left(labels), z(strict_.size());
        for (Index t = 0; t < rows; ++t) {
            ridge_->show(sample.row(t), z.data());
            left[t] -= dot(strict_, z);
        }
        trees_.fit(sample.row(0), sample.features(), rows, labels, weights_);
        on_ridge_.fit(sample.row(0), sample.features(), rows, left, weights_);
    }
    Said predict(const float* row) const {
        Said out;
        out.fill(mean_);
        if (size_ == 0)
            return out;
        std::vector<double> z(strict_.size());
        ridge_->show(row, z.data());
        const double strict = dot(strict_, z);
        const double found[] = {0, strict, dot(loose_, z), trees_.predict(row), strict + on_ridge_.predict(row)};
        for (Index k = 0; k < count; ++k)
            out[k] = at_most(at_least(low_, mean_ + size_ * found[k]), high_);
        return out;
    }

  private:
    static double dot(const std::vector<double>& w, const std::vector<double>& z) {
        double total = 0;
        for (std::size_t j = 0; j < w.size(); ++j)
            total += w[j] * z[j];
        return total;
    }

    std::vector<double> weights_; // of the rows
    double mean_ = 0, size_ = 0;  // of the labels: their mean, and the largest distance from it
    double low_ = 0, high_ = 0;   // half a range outside the labels
    std::unique_ptr<RidgeFit> ridge_;
    std::vector<double> strict_, loose_; // slopes
    Boosting trees_, on_ridge_;
};

class LongRun {
  public:
    using Said = LongRunCandidates::Said;

    explicit LongRun(Index features) : sample(features) {}

    double predict(const double* x) {
        fit_when_due();
        row_.resize(static_cast<std::size_t>(sample.features()));
        for (Index j = 0; j < sample.features(); ++j)
            row_[j] = sample.kept(j, x[j]);
        return saturate(mixed(candidates_->predict(row_.data())) / sample.label_unit(), DBL_MAX);
    }
    // What the intervals of predictions are made of.
    const IntervalBasis& basis() {
        fit_when_due();
        return basis_;
    }
    // The weights of the candidates.
    const Said& shares() {
        fit_when_due();
        return shares_;
    }
    void grow(Index more) {
        sample.grow(more);
        version_ = -1;
    }

    StreamSample sample;

  private:
    static constexpr Index folds = 2;
    static constexpr double ends[folds + 1] = {0.4, 0.7, 1}, most_power = 10;

    // The rows from `first` on, as predicted by candidates that were fitted to the rows before it.
    struct Fold {
        Index first;
        std::vector<Said> said;
        Index end() const { return first + static_cast<Index>(said.size()); }
    };

    double mixed(const Said& said) const {
        double total = 0;
        for (Index k = 0; k < LongRunCandidates::count; ++k)
            total += shares_[k] * said[k];
        return total;
    }
    double square(const Said& said, Index k, Index t) const { return squared(said[k] - sample.label(t)); }
    static double squared(double error) { return at_most(error * error, largest_square); }

    void fit_when_due() {
        if (sample.version() == version_)
            return;
        const auto rows = static_cast<double>(sample.settled());
        std::vector<Fold> all;
        for (Index f = 0; f < folds; ++f)
            all.push_back(fold(static_cast<Index>(ends[f] * rows), static_cast<Index>(ends[f + 1] * rows)));
        weigh(all);
        measure(all);
        candidates_ = std::make_unique<LongRunCandidates>(sample, sample.settled());
        version_ = sample.version();
    }
    Fold fold(Index first, Index end) const {
        Fold out{first, {}};
        const LongRunCandidates early(sample, first);
        for (Index t = first; t < end; ++t)
            out.said.push_back(early.predict(sample.row(t)));
        return out;
    }
    // A candidate's loss is relative to the least one of each fold. Few rows say little, so the weights then differ less.
    void weigh(const std::vector<Fold>& all) {
        Said losses{};
        double rows = 0;
        for (const Fold& fold : all) {
            Said own{};
            for (Index t = fold.first; t < fold.end(); ++t)
                for (Index k = 0; k < LongRunCandidates::count; ++k)
                    own[k] = at_most(own[k] + sample.weight(t) * square(fold.said[t - fold.first], k, t), DBL_MAX);
            const double least = at_least(DBL_MIN, *std::min_element(own.begin(), own.end()));
            for (Index k = 0; k < LongRunCandidates::count; ++k)
                losses[k] += at_least(1, own[k] / least);
            rows += static_cast<double>(fold.said.size());
        }
        const double least = *std::min_element(losses.begin(), losses.end()), power = at_most(most_power, rows / 4);
        double total = 0;
        for (Index k = 0; k < LongRunCandidates::count; ++k)
            total += shares_[k] = std::pow(least / losses[k], power);
        for (double& share : shares_)
            share /= total;
    }
    // The bound of a level is the largest of the folds' own: the next rows may be like either.
    void measure(const std::vector<Fold>& all) {
        const double unit = at_least(DBL_MIN, sample.label_unit() * sample.label_unit());
        basis_ = IntervalBasis{};
        for (const Fold& fold : all) {
            std::vector<double> squares;
            for (Index t = fold.first; t < fold.end(); ++t)
                squares.push_back(squared(mixed(fold.said[t - fold.first]) - sample.label(t)));
            if (squares.empty())
                continue;
            std::sort(squares.begin(), squares.end());
            const auto count = static_cast<Index>(squares.size());
            basis_.labels = std::max(basis_.labels, count);
            basis_.largest_loss = at_least(basis_.largest_loss, at_most(squares.back() / unit, DBL_MAX));
            for (Index k = 0; k < level_count; ++k) { // a new square is as likely to be above it
                const auto place = static_cast<Index>(std::ceil(levels[k] * static_cast<double>(count + 1)));
                basis_.bound[k] = at_least(basis_.bound[k], at_most(squares[std::min(place, count) - 1] / unit, DBL_MAX));
            }
        }
    }

    Said shares_{};
    IntervalBasis basis_;
    std::unique_ptr<LongRunCandidates> candidates_; // null until they are needed
    double version_ = -1;                           // of the sample that they were fitted to
    std::vector<float> row_;
};

} // namespace driftline
