// What Auto keeps beside its experts: the first rows, a watch for jumps; rows through an expert, and how it follows a change
// of units.
#pragma once

#include <utility>
#include <vector>

#include "driftline/linear/second_order_model.hpp"

namespace driftline {

struct AutoSums {
    double rows = 0, loss = 0, largest_loss = 0, resets = 0, rescalings = 0, outliers = 0;
};
inline constexpr Index auto_sums_count = sizeof(AutoSums) / sizeof(double);

inline constexpr Index most_block = 128; // rows that go through one expert after the other

// The first rows, which are kept until units are known well enough.
struct WarmRows {
    std::vector<double> x, y, weights;

    Index count() const { return static_cast<Index>(y.size()); }
    void keep(const double* row, Index features, double label, double weight) {
        x.insert(x.end(), row, row + features);
        y.push_back(label);
        weights.push_back(weight);
    }
    void resize(Index rows, Index features) {
        x.resize(rows * features);
        y.resize(rows);
        weights.resize(rows);
    }
    // Features that come later were 0.
    void grow(Index before, Index more) {
        std::vector<double> wider;
        for (Index t = 0; t < count(); ++t) {
            wider.insert(wider.end(), x.begin() + t * before, x.begin() + (t + 1) * before);
            wider.insert(wider.end(), more, 0.0);
        }
        x = std::move(wider);
    }
    template <class Act> void visit(Act&& act) {
        act(x.data(), static_cast<Index>(x.size()));
        act(y.data(), count());
        act(weights.data(), count());
    }
};

// Tells an expert that its target jumped: errors beyond twice the usual add up, and the usual is a mean that forgets.
struct Watch {
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

// What an expert says to rows that are given as it sees them, one after the other; it learns their labels on the way.
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

// The same predictions for columns divided by these factors: w and S follow.
template <class T> void rescale(SecondOrderModel<T>& model, const double* factors) {
    SecondOrderState<T>& state = model.state;
    T* entries = model.matrix().data();
    for (Index j = 0; j < state.d; ++j) {
        state.w[j] = static_cast<T>(state.w[j] * factors[j]);
        for (Index i = 0; i < j; ++i) {
            T& entry = entries[panel_index<T>(i, j)];
            entry = static_cast<T>(entry * (state.additive ? factors[i] * factors[j] : factors[i] / factors[j]));
        }
        if (state.additive)
            entries[panel_index<T>(j, j)] *= static_cast<T>(factors[j] * factors[j]);
        else
            state.factor.d[j] =
                at_most(at_least(smallest_variance, state.factor.d[j] * factors[j] * factors[j]), variance_cap<T>);
    }
    if (state.additive)
        model.mirror_diagonal_blocks();
    state.ready = false;
}

} // namespace driftline
