// A second-order learner of psi = M x: a random matrix projects rows of any width.
#pragma once

#include "driftline/linear/second_order_model.hpp"
#include "driftline/linear/sparse_rows.hpp"

namespace driftline {

template <class T> class Projection {
  public:
    Projection(const RandomMatrix& matrix, Index features)
        : matrix_(matrix), stride_(padded<T>(matrix.dim)), psi_(rows_at_once * stride_) {
        widen(features);
    }
    const RandomMatrix& matrix() const { return matrix_; }
    Index features() const { return features_; }
    void widen(Index features) {
        features_ = features;
        if (matrix_.filling != Filling::sparse)
            make_places();
    }

    EntryBuffer<T> row; // the entries of x

    // Writes M times the current row into a model's row, followed by the constant feature.
    void into(SecondOrderState<T>& state) {
        engine<T>().project(matrix_, cache_, row.entries(), psi_.data());
        std::memcpy(state.x, psi_.data(), static_cast<std::size_t>(matrix_.dim) * sizeof(T));
        if (state.intercept)
            state.x[matrix_.dim] = 1;
    }

    // Predicts and learns rows of x. `rows` is a table that `row` can read; its labels and weights are in `batch`. Rows are
    // projected a few at a time, and the model replays the projected rows.
    template <class Rows> Status replay(SecondOrderState<T>& state, const Rows& rows, const Batch& batch, Outputs& out) {
        Batch part = batch;
        part.x = psi_.data();
        part.floats = sizeof(T) == 4;
        part.row_stride = stride_;
        part.column_stride = 1;
        while (out.done < batch.rows) {
            const Index t = out.done, left = std::min(batch.rows - t, rows_at_once);
            part.rows = out.weights ? std::min(left, out.every - t % out.every) : left;
            part.y = batch.y ? batch.y + t : nullptr;
            part.weight = batch.weight ? batch.weight + t : nullptr;
            part.times = batch.times ? batch.times + t : nullptr;
            for (Index i = 0; i < part.rows; ++i)
                project_row(rows, t + i, psi_.data() + i * stride_);
            Outputs results = out.from_row(t);
            const Status status = engine<T>().replay(state, part, results);
            out.done = t + results.done;
            out.skipped += results.skipped;
            if (status != Status::done)
                return status;
            note_memory(out, state, out.done - 1);
            if (out.weights && out.done % out.every == 0)
                weights(state, out.weights + (out.done / out.every - 1) * (features_ + state.intercept));
        }
        return Status::done;
    }

    // M'v for the columns first, first + 1, ...: the weights of x that correspond to v.
    template <class Out> void transpose(const T* v, Index first, Index count, Out* out) {
        for (Index j = 0; j < count; ++j)
            out[j] = static_cast<Out>(saturate(engine<T>().transposed(matrix_, cache_, v, first + j), type_max<T>));
    }
    // The weights of x, followed by the intercept if there is one.
    template <class Out> void weights(const SecondOrderState<T>& state, Out* out) {
        transpose(state.w, 0, features_, out);
        if (state.intercept)
            out[features_] = static_cast<Out>(state.w[matrix_.dim]);
    }

  private:
    static constexpr Index rows_at_once = 64, largest_cache = Index{8} << 20; // in bytes

    // A bad value in x becomes a bad value in M x.
    template <class Rows> void project_row(const Rows& rows, Index t, T* psi) {
        if (row.take(rows, t, features_))
            engine<T>().project(matrix_, cache_, row.entries(), psi);
        else
            psi[0] = NAN;
    }

    // Makes a place for each feature's column, within bounds.
    void make_places() {
        const Index most = largest_cache / (stride_ * static_cast<Index>(sizeof(T)));
        Index places = 1;
        while (places < features_ && 2 * places <= most)
            places *= 2;
        if (cache_.columns && places == cache_.mask + 1)
            return;
        columns_ = Aligned<T>(places * stride_);
        owners_ = Aligned<Index>(places);
        std::fill_n(owners_.data(), places, -1);
        cache_ = {columns_.data(), owners_.data(), stride_, places - 1};
    }

    RandomMatrix matrix_;
    Index features_ = 0, stride_;
    ColumnCache<T> cache_;
    Aligned<T> psi_, columns_;
    Aligned<Index> owners_;
};

} // namespace driftline
