// Several labels a row. S does not depend on the labels, so one S serves them all: it is updated once a row, and each output
// costs two passes over its weights.
#pragma once

#include "driftline/linear/likelihood.hpp"
#include "driftline/linear/second_order_model.hpp"
#include "driftline/linear/second_order_view.hpp"

namespace driftline {

// The weights of the outputs, stacked, each padded with zeros like a row.
template <class T> struct OutputWeights {
    OutputWeights(Index outputs_, Index d) : outputs(outputs_), stride(padded<T>(d)), values(outputs_ * stride) {}
    T* of(Index j) { return values.data() + j * stride; }
    const T* of(Index j) const { return values.data() + j * stride; }

    Index outputs, stride;
    Aligned<T> values;
};

inline namespace DRIFTLINE_ISA {

// The forgetting factor of the next row; false if the table of factors ends before it.
template <class T> bool find_keep(const SecondOrderState<T>& m, double& keep) {
    if (m.policy.time != Time::divide)
        return true;
    const Index row = static_cast<Index>(m.sums.rows) + 1;
    if (m.forgetting.values && !m.forgetting.covers(row))
        return false;
    const double units = units_since(m);
    keep = m.forgetting.values ? m.forgetting.at(row) : units < 0 ? 1 : keep_over(m.policy, units);
    return true;
}

// w.x of the current row for each output.
template <class T> void raw_predictions(const SecondOrderState<T>& m, OutputWeights<T>& w, double* f) {
    for (Index j = 0; j < w.outputs; ++j) {
        f[j] = dot(w.of(j), m.x, w.stride);
        if (!(std::fabs(f[j]) <= DBL_MAX)) [[unlikely]]
            f[j] = far_dot(w.of(j), m.x, 1.0, m.d);
    }
}

// The factor by which predictions are shrunk, where they are; else not used.
template <class T> Status find_shrinkage(SecondOrderState<T>& m, double& shrink) {
    double s = 0, ignored = 0;
    const Status status = m.policy.shrink ? engine<T>().predict(m, ignored, &s) : Status::done;
    shrink = shrinkage(m.policy, 1, s);
    return status;
}
inline double shown_prediction(const Policy& policy, double f, double shrink) { return policy.predictions.hold(f * shrink); }

// Predicts the current row.
template <class T> Status predict_outputs(SecondOrderState<T>& m, OutputWeights<T>& w, double* predictions) {
    double shrink = 1;
    if (const Status status = find_shrinkage(m, shrink); status != Status::done)
        return status;
    raw_predictions(m, w, predictions);
    for (Index j = 0; j < w.outputs; ++j)
        predictions[j] = shown_prediction(m.policy, predictions[j], shrink);
    return Status::done;
}

// w += error * gain; false if a weight was clipped.
template <class T> bool move_output(T* w, const T* gain, double error, Index d, Index stride) {
    if (add_scaled(w, w, gain, static_cast<T>(saturate(error, type_max<T>)), stride)) [[likely]]
        return true;
    hold_in_range(w, d);
    return false;
}

// A step from weights 0 with label 1 leaves the gain k / (rho + s) as the weights, and 1 / (rho + s) as the row's value.
// Nothing has changed unless the status is done.
template <class T>
Status learn_outputs(SecondOrderState<T>& m, OutputWeights<T>& w, const double* y, double weight, double* predictions) {
    const Sums before = m.sums;
    double shrink = 1, keep = 1, ignored = 0;
    if (const Status status = find_shrinkage(m, shrink); status != Status::done)
        return status;
    if (!find_keep(m, keep))
        return Status::needs_forgetting;
    raw_predictions(m, w, predictions);
    std::memset(static_cast<void*>(m.w), 0, static_cast<std::size_t>(w.stride) * sizeof(T));
    m.sums.value = 0;
    m.several = true;
    const Status status = engine<T>().learn(m, 1, weight, ignored);
    m.several = false;
    Sums& sums = m.sums;
    const double share = sums.value;
    sums.value = before.value;
    if (status != Status::done)
        return status;
    sums.loss = before.loss;
    sums.largest_loss = before.largest_loss;
    sums.largest_label = before.largest_label;
    double value = 0;
    bool held = false;
    for (Index j = 0; j < w.outputs; ++j) {
        const double error = at_most(at_least(-DBL_MAX, y[j] - predictions[j]), DBL_MAX);
        held |= !move_output(w.of(j), m.w, error, m.d, w.stride);
        predictions[j] = shown_prediction(m.policy, predictions[j], shrink);
        const double missed = y[j] - predictions[j];
        sums.loss = at_most(sums.loss + missed * missed, DBL_MAX);
        value = at_most(value + error * error * share, DBL_MAX);
        sums.largest_loss = at_least(sums.largest_loss, at_most(error * error, DBL_MAX));
        sums.largest_label = at_least(sums.largest_label, std::fabs(y[j]));
    }
    sums.value = at_most(before.value * keep + value, DBL_MAX);
    sums.saturated += held;
    if (m.policy.keep_prior)
        engine<T>().raise_prior(m, keep, w.of(0), w.outputs);
    return Status::done;
}

// Like the replay of single labels; `y`, the predictions and the snapshots have a place for each output.
template <class T> Status replay_outputs(SecondOrderState<T>& m, OutputWeights<T>& w, const Batch& batch, Outputs& out) {
    const Reader<0, T> reader(batch, m.d, m.intercept);
    const Index outputs = w.outputs;
    for (; out.done < batch.rows; ++out.done) {
        const Index t = out.done;
        if (batch.times)
            m.at = batch.times[t];
        const double* y = batch.y ? batch.y + t * outputs : nullptr;
        double* predictions = out.predictions + t * outputs;
        reader.take(m.x, t);
        const bool whole = all_finite(m.x, w.stride);
        bool labelled = y != nullptr, inside = true;
        for (Index j = 0; y && j < outputs; ++j) {
            const bool known = std::fabs(y[j]) <= type_max<T>;
            labelled &= known;
            inside &= !known || batch.labels.contain(y[j]);
        }
        const bool bad = !whole || (y && !labelled);
        if ((bad && !batch.skip) || !inside)
            return Status::bad_value;
        Status status = Status::done;
        const double resets = m.sums.resets;
        if (!whole)
            std::fill(predictions, predictions + outputs, NAN);
        else if (labelled && weight_of(batch, t) != 0)
            status = learn_outputs(m, w, y, weight_of(batch, t), predictions);
        else
            status = predict_outputs(m, w, predictions);
        if (status != Status::done)
            return status;
        out.skipped += bad;
        if (out.resets && m.sums.resets > resets)
            out.resets[t] = 1;
        note_memory(out, m, t);
        if (out.weights && (t + 1) % out.every == 0)
            for (Index j = 0; j < outputs; ++j)
                for (Index i = 0; i < m.d; ++i)
                    out.weights[(((t + 1) / out.every - 1) * outputs + j) * m.d + i] = static_cast<double>(w.of(j)[i]);
    }
    return Status::done;
}

// The same outputs with `more` features at 0, before the intercept.
template <class T> OutputWeights<T> grown_outputs(OutputWeights<T>& w, const SecondOrderState<T>& m, Index more) {
    OutputWeights<T> wider(w.outputs, m.d + more);
    for (Index j = 0; j < w.outputs; ++j)
        for (Index i = 0; i < m.d; ++i)
            wider.of(j)[m.intercept && i == m.d - 1 ? i + more : i] = w.of(j)[i];
    return wider;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
