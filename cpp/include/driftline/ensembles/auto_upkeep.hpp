// Auto's supporting parts: the warm-up buffer, the jump detector, the replay of one expert and its rescaling.
#pragma once

#include <utility>
#include <vector>

#include "driftline/ensembles/auto_past.hpp"
#include "driftline/linear/second_order_model.hpp"

namespace driftline {

struct AutoSums {
    double rows = 0, loss = 0, largest_loss = 0, resets = 0, rescalings = 0, outliers = 0;
    double gaps = 0; // rows that were not learned but count as earlier rows for later ones
};
inline constexpr Index auto_sums_count = sizeof(AutoSums) / sizeof(double);

inline constexpr Index most_block = 128; // most rows in a block

// The warm-up buffer: the first rows, each with what was known when it was predicted, kept until the units are reliable.
struct WarmRows {
    std::vector<double> x, y, weights, pasts;

    Index count() const { return static_cast<Index>(y.size()); }
    void keep(const double* row, Index features, double label, double weight, const Past& past) {
        x.insert(x.end(), row, row + features);
        y.push_back(label);
        weights.push_back(weight);
        pasts.resize(pasts.size() + static_cast<std::size_t>(2 + all_labels) + past.rows.size());
        past.write(pasts.data() + pasts.size() - static_cast<std::size_t>(2 + all_labels) - past.rows.size());
    }
    void resize(Index rows, Index features, Index rows_back) {
        x.resize(rows * features);
        y.resize(rows);
        weights.resize(rows);
        pasts.resize(rows * Past::size(rows_back, features));
    }
    void past(Index t, Index features, Index rows_back, Past& to) const {
        to.read(pasts.data() + t * Past::size(rows_back, features), rows_back, features, features);
    }
    // Features added later are 0 in the buffered rows.
    void grow(Index before, Index more, Index rows_back) {
        WarmRows wider;
        Past one;
        std::vector<double> row(static_cast<std::size_t>(before + more));
        for (Index t = 0; t < count(); ++t) {
            std::copy_n(x.begin() + t * before, before, row.begin());
            one.read(pasts.data() + t * Past::size(rows_back, before), rows_back, before, before + more);
            wider.keep(row.data(), before + more, y[t], weights[t], one);
        }
        *this = std::move(wider);
    }
    template <class Act> void visit(Act&& act) {
        act(x.data(), static_cast<Index>(x.size()));
        act(y.data(), count());
        act(weights.data(), count());
        act(pasts.data(), static_cast<Index>(pasts.size()));
    }
};

// Detects a jump of an expert's target: a CUSUM of squared errors beyond twice their exponentially weighted mean.
struct JumpDetector {
    double squares = 0, rows = 0, excess = 0, since = 0; // since: rows since the last reset

    bool jumped(double square, double most, double weight) {
        const double usual = rows > 5 && squares > 0 ? squares / rows : 0;
        const double times = usual > 0 ? at_most(square / usual, most) : 1;
        excess = at_least(0, excess + times - 2);
        squares = at_most(0.99 * squares + weight * (usual > 0 ? at_most(square, most * usual) : square), 1e290);
        rows = at_most(0.99 * rows + weight, 1e290);
        since += 1;
        if (excess <= 12)
            return false;
        excess = since = 0;
        return true;
    }
};

// Replays rows, given in the expert's own view, through one expert, which predicts and then learns each.
template <class T>
void replay_seen(SecondOrderState<T>& state, const double* seen, const std::vector<double>& labels, const double* weight,
                 double* predictions) {
    Batch batch;
    batch.x = seen;
    batch.rows = static_cast<Index>(labels.size());
    batch.row_stride = state.d;
    batch.column_stride = 1;
    batch.y = labels.data();
    batch.weight = weight;
    Outputs out;
    out.predictions = predictions;
    engine<T>().replay(state, batch, out);
}

// Diagonal entry j of S.
template <class T> double variance_of(const SecondOrderState<T>& state, Index j) {
    if (state.additive)
        return state.packed.s[panel_index<T>(j, j)];
    double total = 0;
    for (Index k = j; k < state.d; ++k) {
        const double entry = state.factor.u[panel_index<T>(j, k)];
        total += entry * state.factor.d[k] * entry;
    }
    return total;
}
// Limits the factors for S so that no variance exceeds `largest_start`. S stays positive definite.
template <class T> void hold_factors(const SecondOrderState<T>& state, double* factors) {
    for (Index j = 0; j < state.d; ++j) {
        const double room = std::sqrt(largest_start<T> / variance_of(state, j));
        factors[j] = at_most(factors[j], at_least(1, room));
    }
}
// Adapts w and S to columns divided by these factors, leaving predictions unchanged. Overwrites `factors`.
template <class T> void rescale(SecondOrderModel<T>& model, double* factors) {
    SecondOrderState<T>& state = model.state;
    restart_where_broken(state);
    T* entries = model.matrix().data();
    const auto scale = [](T& entry, double factor) {
        entry = static_cast<T>(saturate(static_cast<double>(entry) * factor, type_max<T>));
    };
    for (Index j = 0; j < state.d; ++j)
        scale(state.w[j], factors[j]);
    hold_factors(state, factors);
    for (Index j = 0; j < state.d; ++j) {
        for (Index i = 0; i < j; ++i)
            scale(entries[panel_index<T>(i, j)], state.additive ? factors[i] * factors[j] : factors[i] / factors[j]);
        if (state.additive)
            scale(entries[panel_index<T>(j, j)], factors[j] * factors[j]);
        else
            state.factor.d[j] =
                at_most(at_least(smallest_variance, state.factor.d[j] * factors[j] * factors[j]), variance_cap<T>);
    }
    if (state.additive)
        model.mirror_diagonal_blocks();
    state.ready = false;
}

} // namespace driftline
