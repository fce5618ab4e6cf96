// Rows on their way into a model and what comes back: shared by both orders of learner.
#pragma once

#include "driftline/panels.hpp"

namespace driftline {

enum class Status : int {
    done,
    needs_forgetting, // the table of forgetting factors ends before this row
    needs_threshold,  // the table of reset thresholds ends before this segment
    outside_noise,    // complement noise 1 - s is not positive on this row
    diverged          // the weights left the range of their type
};

enum class Action : unsigned char { learn, predict_only, skip };

// A table of T rows in either type, with any strides (in elements).
struct Batch {
    const void* x = nullptr;
    bool floats = false; // x is float, else double
    Index rows = 0, row_stride = 0, column_stride = 0;
    const double* y = nullptr;
    const double* weight = nullptr;  // null: all ones
    const Action* actions = nullptr; // null: learn from all
};

// Where a replay writes; null where not asked for.
struct Outputs {
    double* predictions = nullptr;
    Index* resets = nullptr;
    Index reset_count = 0;
    double* weights = nullptr; // snapshots, d each
    Index every = 0;
    Index done = 0; // rows finished
};

// Row t of the batch, converted; `features` columns, then 1 where there is an intercept. The padding stays zero.
template <class T, class Source>
DRIFTLINE_INLINE void copy_row(T* x, const Source* row, Index features, Index stride, bool intercept) {
    if (stride == 1)
        for (Index j = 0; j < features; ++j)
            x[j] = static_cast<T>(row[j]);
    else
        for (Index j = 0; j < features; ++j)
            x[j] = static_cast<T>(row[j * stride]);
    if (intercept)
        x[features] = 1;
}

template <class T> DRIFTLINE_INLINE void take_row(T* x, const Batch& batch, Index t, Index d, bool intercept) {
    const Index features = d - intercept;
    if (batch.floats)
        copy_row(x, static_cast<const float*>(batch.x) + t * batch.row_stride, features, batch.column_stride, intercept);
    else
        copy_row(x, static_cast<const double*>(batch.x) + t * batch.row_stride, features, batch.column_stride, intercept);
}

DRIFTLINE_INLINE Action action_of(const Batch& batch, Index t) {
    return batch.actions ? batch.actions[t] : Action::learn;
}
DRIFTLINE_INLINE double weight_of(const Batch& batch, Index t) { return batch.weight ? batch.weight[t] : 1.0; }

template <class T> DRIFTLINE_INLINE void snapshot(Outputs& out, const T* w, Index d, Index t) {
    if (out.weights && (t + 1) % out.every == 0)
        for (Index j = 0; j < d; ++j)
            out.weights[((t + 1) / out.every - 1) * d + j] = static_cast<double>(w[j]);
}

} // namespace driftline
