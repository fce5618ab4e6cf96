// Autoregression in differences: predicts the change from the newest known label, using the differences of order 0 to 15
// of earlier labels and those of the features, with as many lags as 16 columns allow.
#pragma once

#include "driftline/ensembles/regression.hpp"
#include "driftline/ensembles/row_history.hpp"

namespace driftline {

class Differences {
  public:
    static Index lags(Index features) { return std::max<Index>(1, std::min<Index>(16, 16 / std::max<Index>(1, features))); }
    Differences(Index features, Index lags)
        : features_(features), lags_(lags), fit_(near_labels + features * lags, 0.9998, 1e-3) {}

    Index columns() const { return fit_.columns(); }
    // Whether all the labels it needs exist.
    static bool sees(const PredictionContext& context) { return context.known >= near_labels; }
    void write(const PredictionContext& context, double* row) const {
        std::copy_n(context.near, near_labels, row);
        difference(row, near_labels, 1);
        row += near_labels;
        for (Index j = 0; j < features_; ++j) {
            row[j] = context.x[j];
            for (Index k = 1; k < lags_; ++k)
                row[k * features_ + j] = context.earlier(k, features_)[j];
            difference(row + j, lags_, features_);
        }
    }
    bool ready() const { return fit_.ready(); }
    double predict(const double* row, double last) { return last + fit_.predict(row); }
    void learn(const double* row, double last, double y, double weight) { fit_.learn(row, y - last, weight); }
    void grow(Index more) {
        for (Index k = lags_; k > 0; --k)
            fit_.grow(more, near_labels + k * features_);
        features_ += more;
    }
    template <class Act> void visit(Act&& act) { fit_.visit(act); }
    Regression& fit() { return fit_; }

  private:
    // Replaces consecutive values, newest first, with their differences of order 0, 1, 2, ...
    static void difference(double* values, Index count, Index stride) {
        for (Index order = 1; order < count; ++order)
            for (Index k = count - 1; k >= order; --k)
                values[k * stride] = values[(k - 1) * stride] - values[k * stride];
    }

    Index features_, lags_;
    Regression fit_;
};

} // namespace driftline
