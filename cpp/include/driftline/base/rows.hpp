// Input rows and output arrays, for first-order and second-order learners.
#pragma once

#include "driftline/base/quantiles.hpp"
#include "driftline/base/panels.hpp"

namespace driftline {

enum class Status : int {
    done,
    needs_forgetting, // the table of forgetting factors ends before this row
    needs_threshold,  // the table of reset thresholds ends before this segment
    outside_noise,    // complement noise 1 - s is not positive on this row
    diverged,         // the weights left the range of their type
    bad_value,        // a value of this row is missing, or beyond the range of the type
    outside_kernel,   // the kernel of this row is not finite, or not positive definite
    unread            // the row, its label or its weight must be converted first; never returned by kernels
};

// A table of T rows in either type, with any strides (in elements).
struct Batch {
    const void* x = nullptr;
    bool floats = false; // x is float, else double
    Index rows = 0, row_stride = 0, column_stride = 0;
    const double* y = nullptr;      // null: only predict
    const double* weight = nullptr; // null: all ones; a row of weight 0 is only predicted
    const double* times = nullptr;  // null: rows have none
    bool skip = false;              // skip and count rows with a bad value; else the first of them ends the replay
    Limits labels;                  // the first label outside ends the replay
};

// Where a replay writes; null for outputs that are not wanted.
struct Outputs {
    double* predictions = nullptr;
    double *lower = nullptr, *upper = nullptr; // ends of the intervals of `level`
    Level level;
    double* quantiles = nullptr;             // of `quantile_levels`, so many a row
    const double* quantile_levels = nullptr; // in ascending order
    Index quantile_count = 0;
    IntervalBasis* interval_basis = nullptr; // of one row, instead of its interval
    Places* places = nullptr;                // with the basis
    unsigned char* resets = nullptr;         // 1 at each row after which S was reset; others are not written
    double* weights = nullptr;               // snapshots, d each
    double* memory = nullptr;                // two memory statistics at each snapshot
    Index every = 0;
    bool apart = false; // rows without labels are predicted as if no label came before their own, however late it comes
    Index done = 0;     // rows finished
    Index skipped = 0;  // of the finished rows, those with a bad value

    // Whether more than predictions is wanted of a row. One branch, because it is asked for each.
    bool spread() const {
        return (std::bit_cast<std::uintptr_t>(lower) | std::bit_cast<std::uintptr_t>(quantiles) |
                std::bit_cast<std::uintptr_t>(interval_basis)) != 0;
    }
    // Where the predictions, intervals and quantiles of rows t, t + 1, ... go.
    Outputs from_row(Index t) const {
        Outputs out;
        out.predictions = predictions + t;
        out.lower = lower ? lower + t : nullptr;
        out.upper = upper ? upper + t : nullptr;
        out.level = level;
        out.quantiles = quantiles ? quantiles + t * quantile_count : nullptr;
        out.quantile_levels = quantile_levels;
        out.quantile_count = quantile_count;
        out.interval_basis = interval_basis;
        out.places = places;
        return out;
    }
};

inline namespace DRIFTLINE_ISA {

// Copies rows of a batch into a model: `features` converted elements, then 1 if there is an intercept; the padding stays
// zero. N is the padded size if it is known. Stores are as wide as the loads that follow, since narrower stores could not be
// forwarded to them.
template <int N, class T> class Reader {
  public:
    Reader(const Batch& batch, Index d, bool intercept)
        : x_(batch.x), floats_(batch.floats), row_stride_(batch.row_stride), stride_(batch.column_stride),
          full_(padded<T>(d) - panel_width<T>), rest_(d - intercept - full_), intercept_(intercept) {
        for (Index i = 0; i < panel_width<T>; ++i) {
            inside_[i] = i < rest_ ? -1 : 0;
            unit_[i] = T(intercept && i == rest_);
        }
    }
    DRIFTLINE_INLINE void take(T* x, Index t) const {
        if (floats_)
            take(x, static_cast<const float*>(x_) + t * row_stride_);
        else
            take(x, static_cast<const double*>(x_) + t * row_stride_);
    }

  private:
    template <class Source> DRIFTLINE_INLINE void take(T* x, const Source* row) const {
        const Index full = N > 0 ? N - panel_width<T> : full_; // all panels but the last are full
        if (stride_ != 1) [[unlikely]]
            return gather(x, row);
        for (Index j = 0; j < full; j += lanes<T>) {
            Vec<Source, lanes<T>> block;
            std::memcpy(&block, row + j, sizeof block);
            store(x + j, __builtin_convertvector(block, Wide<T>));
        }
        take_last(x + full, row + full);
    }
    template <class Source> DRIFTLINE_INLINE void take_last(T* x, const Source* row) const {
#ifdef __AVX2__
        if constexpr (sizeof(T) == 8)
            store(x, some(row, inside_) + wide(unit_));
        else
            store(x, join<T>(some(row, inside_), some(row + 4, inside_ + 4)) + wide(unit_));
#else
        for (Index j = 0; j < rest_; ++j)
            x[j] = static_cast<T>(row[j]);
        if (intercept_)
            x[rest_] = 1;
#endif
    }
#ifdef __AVX2__
    // Up to four elements; reads nothing beyond them.
    static DRIFTLINE_INLINE Vec<T, 4> some(const double* from, const Lane<T>* inside) {
        const auto mask = __builtin_convertvector((load<Vec<Lane<T>, 4>>(inside)), Vec<Index, 4>);
        return __builtin_convertvector(
            reinterpret_cast<Vec<double, 4>>(_mm256_maskload_pd(from, reinterpret_cast<__m256i>(mask))), Vec<T, 4>);
    }
    static DRIFTLINE_INLINE Vec<T, 4> some(const float* from, const Lane<T>* inside) {
        const auto mask = __builtin_convertvector((load<Vec<Lane<T>, 4>>(inside)), Vec<int, 4>);
        return __builtin_convertvector(
            reinterpret_cast<Vec<float, 4>>(_mm_maskload_ps(from, reinterpret_cast<__m128i>(mask))), Vec<T, 4>);
    }
#endif
    template <class Source> DRIFTLINE_ONCE void gather(T* x, const Source* row) const {
        for (Index j = 0; j < full_ + rest_; ++j)
            x[j] = static_cast<T>(row[j * stride_]);
        if (intercept_)
            x[full_ + rest_] = 1;
    }

    const void* x_;
    bool floats_;
    Index row_stride_, stride_, full_, rest_;
    bool intercept_;
    alignas(32) Lane<T> inside_[panel_width<T>]; // all ones in the lanes of the last panel that a row fills
    alignas(32) T unit_[panel_width<T>];
};

// Row t converted to T; returns whether all of it is in the range of T.
template <class T, class Source, class To> bool read_row(const Source* from, Index stride, Index features, To* to) {
    bool whole = true;
    for (Index j = 0; j < features; ++j) {
        to[j] = static_cast<T>(from[j * stride]);
        whole &= std::fabs(to[j]) <= type_max<T>;
    }
    return whole;
}
template <class T, class To> bool read_row(const Batch& batch, Index t, Index features, To* to) {
    const Index stride = batch.column_stride, first = t * batch.row_stride;
    return batch.floats ? read_row<T>(static_cast<const float*>(batch.x) + first, stride, features, to)
                        : read_row<T>(static_cast<const double*>(batch.x) + first, stride, features, to);
}

DRIFTLINE_INLINE double weight_of(const Batch& batch, Index t) { return batch.weight ? batch.weight[t] : 1.0; }

enum class RowAction { learn, predict, pass, refuse };

// What to do with row t, given whether its x is complete.
template <class T> DRIFTLINE_INLINE RowAction row_action(const Batch& batch, Index t, bool whole) {
    if (!batch.y)
        return whole ? RowAction::predict : batch.skip ? RowAction::pass : RowAction::refuse;
    const bool labelled = std::fabs(batch.y[t]) <= type_max<T>, inside = batch.labels.contain(batch.y[t]);
    if (whole && labelled && inside) [[likely]]
        return weight_of(batch, t) != 0 ? RowAction::learn : RowAction::predict;
    return !batch.skip || (labelled && !inside) ? RowAction::refuse : whole ? RowAction::predict : RowAction::pass;
}
// |x|^2, which every step needs, shows that x is finite; x is checked only if the square overflowed.
template <class T> DRIFTLINE_INLINE RowAction row_action(const Batch& batch, Index t, const T* x, Index size, double norm2) {
    return row_action<T>(batch, t, norm2 <= DBL_MAX || all_finite(x, size));
}
// Whether row t counts as skipped, given that it was only predicted or passed over.
template <class T> DRIFTLINE_INLINE bool was_skipped(const Batch& batch, Index t, RowAction action) {
    return action == RowAction::pass || (batch.y && !(std::fabs(batch.y[t]) <= type_max<T>));
}

inline void write_ends(const IntervalBasis& made, const Level& level, double prediction, double& lower, double& upper) {
    const double half = std::isnan(prediction) ? prediction : half_width(made, level);
    if (std::isnan(half)) {
        lower = upper = half;
        return;
    }
    lower = made.limits.hold(half < HUGE_VAL ? at_least(-DBL_MAX, prediction - half) : -HUGE_VAL);
    upper = made.limits.hold(half < HUGE_VAL ? at_most(prediction + half, DBL_MAX) : HUGE_VAL);
}
// Writes the interval and the quantiles of row t, as far as they are wanted.
inline void write_spread(const Outputs& out, Index t, const IntervalBasis& basis, const Places& places) {
    if (out.lower)
        write_ends(basis, out.level, out.predictions[t], out.lower[t], out.upper[t]);
    if (out.quantiles)
        write_quantiles(basis, places, out.predictions[t], out.quantile_levels, out.quantile_count,
                        out.quantiles + t * out.quantile_count);
}
// The same around the prediction of row t, for a label of the given variance; or writes what they are based on.
inline void write_spread(const Outputs& out, Index t, Coverage& coverage, const Limits& limits, double variance,
                         double largest_loss) {
    if (out.interval_basis) {
        base_interval(coverage, limits, variance, largest_loss, *out.interval_basis);
        *out.places = coverage.places;
    } else {
        IntervalBasis basis; // what the level does not need of it is not computed
        base_interval(coverage, limits, variance, largest_loss, basis);
        write_spread(out, t, basis, coverage.places);
    }
}
DRIFTLINE_INLINE void write_no_spread(const Outputs& out, Index t) {
    if (out.lower)
        out.lower[t] = out.upper[t] = NAN;
    for (Index k = 0; out.quantiles && k < out.quantile_count; ++k)
        out.quantiles[t * out.quantile_count + k] = NAN;
}

template <class T> DRIFTLINE_INLINE void snapshot(const Outputs& out, const T* w, Index d, Index t) {
    if (out.weights && (t + 1) % out.every == 0)
        for (Index j = 0; j < d; ++j)
            out.weights[((t + 1) / out.every - 1) * d + j] = static_cast<double>(w[j]);
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
