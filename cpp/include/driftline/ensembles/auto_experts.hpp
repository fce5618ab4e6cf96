// Auto's linear experts: the feature view and the hyperparameters of each.
#pragma once

#include <vector>

#include "driftline/linear/second_order_state.hpp"

namespace driftline {

enum class FeatureView : int {
    raw,      // the features on one common scale, not centred, with a weak constant
    raw_past, // raw, plus the last two labels
    standard, // every feature centred and scaled, plus a constant
    past,     // standard, plus the last two labels
    far_past, // standard, plus the last eight labels and the seasonal ones in `far_labels`
    rows,     // standard, plus the preceding rows and their labels
    squares   // standard, plus the squares of the features
};
inline constexpr int feature_views = 7;

inline constexpr Index most_labels = 8, most_rows = 3;
inline constexpr Index far_labels[] = {12, 24, 48, 96, 144, 168, 336}; // seasonal lags of monthly to ten-minute data
inline constexpr Index far_count = sizeof far_labels / sizeof(Index), all_labels = most_labels + far_count;
inline constexpr Index history = far_labels[far_count - 1];

// How many rows back label k of a view lies, where 1 is the newest known label. The labels of `delay` rows
// between it and the predicted row are not known. The first labels are the newest. The seasonal ones lie the smallest
// multiple of their lag before the predicted row at which a label is known.
inline constexpr Index label_place(Index k, Index delay) {
    if (k < most_labels)
        return k + 1;
    const Index lag = far_labels[k - most_labels];
    return (delay + lag) / lag * lag - delay;
}

// The number of labels and earlier rows in a view, for models created with `born` features: wide rows get fewer extras.
struct Extent {
    Index labels = 0, rows = 0, group = 1; // each feature has `group` columns: itself and its past values, or its square
    bool used = true;
};
inline Extent extent_of(FeatureView view, Index born) {
    switch (view) {
    case FeatureView::raw:
    case FeatureView::standard:
        return {};
    case FeatureView::raw_past:
    case FeatureView::past:
        return {2, 0, 1, true};
    case FeatureView::far_past:
        return {most_labels + far_count, 0, 1, true};
    case FeatureView::rows:
        return born <= 12 ? Extent{4, 3, 4, true} : Extent{2, 1, 2, born <= 32};
    case FeatureView::squares:
        return {2, 0, 2, born <= 12};
    }
    return {};
}
// Logarithm of an expert's prior weight: experts with more to estimate start lower. The prior fades at the same rate as
// losses.
inline constexpr double initial_log_weight(FeatureView view) {
    switch (view) {
    case FeatureView::raw:
    case FeatureView::raw_past:
        return 0;
    case FeatureView::standard:
    case FeatureView::past:
        return -2;
    default:
        return -3;
    }
}
inline constexpr double initial_log_weight_of_labels = -2; // for the last label and the mean label

struct ExpertKind {
    FeatureView view;
    Time time;
    double amount;     // the forgetting factor, or the drift
    double start;      // S starts at start I
    double reset = 0;  // S becomes reset I when the errors indicate a jump of the target; 0: never
    double sudden = 0; // upper limit on one row's contribution to a reset, in multiples of the usual error

    Policy policy() const {
        Policy out;
        out.start = start;
        out.time = time;
        out.amount = amount;
        return out;
    }
    double memory() const { // rows; 0: unlimited
        return time == Time::divide ? 1 / (1 - amount) : time == Time::add ? 1 / std::sqrt(amount) : 0;
    }
    double drift() const { // variance of one step of a weight, for noise of variance 1
        return time == Time::divide ? (1 - amount) * (1 - amount) : time == Time::add ? amount : 0;
    }
};

inline constexpr ExpertKind expert_kinds[] = {
    {FeatureView::raw, Time::add, 1e-6, 1},
    {FeatureView::raw, Time::add, 1e-3, 1},
    {FeatureView::raw, Time::add, 1e-2, 1},
    {FeatureView::raw, Time::add, 1, 1},
    {FeatureView::raw, Time::add, 1e-2, 1e3},
    {FeatureView::raw, Time::add, 10, 1e3},
    {FeatureView::raw, Time::divide, 1 - 1.0 / 64, 1e3},
    {FeatureView::raw, Time::none, 1, 1e3, 1e3, 20},
    {FeatureView::raw_past, Time::add, 10, 1e3},
    {FeatureView::standard, Time::add, 1e-4, 1},
    {FeatureView::standard, Time::add, 1e-2, 1},
    {FeatureView::standard, Time::add, 1, 1},
    {FeatureView::standard, Time::add, 10, 1e3},
    {FeatureView::standard, Time::none, 1, 1e3, 1, 8},
    {FeatureView::standard, Time::none, 1, 1e3, 1e3, 20},
    {FeatureView::past, Time::add, 1e-6, 1},
    {FeatureView::past, Time::divide, 1 - 1.0 / 32, 1e3},
    {FeatureView::far_past, Time::divide, 1 - 1.0 / 256, 100},
    {FeatureView::rows, Time::divide, 1 - 1.0 / 1024, 100},
    {FeatureView::rows, Time::add, 1e-3, 1},
    {FeatureView::squares, Time::divide, 1 - 1.0 / 1024, 100},
};

// The experts of a model created with `born` features. The second of the two that see earlier rows is used for short rows
// only.
inline std::vector<ExpertKind> experts_for(Index born) {
    std::vector<ExpertKind> chosen;
    for (const ExpertKind& kind : expert_kinds)
        if (extent_of(kind.view, born).used && !(kind.view == FeatureView::rows && kind.time == Time::add && born > 12))
            chosen.push_back(kind);
    return chosen;
}
// The two experts without a model predict the last label and the mean of all labels.
inline constexpr Index experts_without_model = 2;
inline std::vector<double> initial_log_weights(const std::vector<ExpertKind>& kinds) {
    std::vector<double> out(kinds.size() + experts_without_model, initial_log_weight_of_labels);
    for (std::size_t k = 0; k < kinds.size(); ++k)
        out[k] = initial_log_weight(kinds[k].view);
    return out;
}

} // namespace driftline
