// A first-order learner for Python, and export and import of its state.
#pragma once

#include "sparse.hpp"
#include "state.hpp"

#include "driftline/linear/first_order_model.hpp"

namespace driftline::bindings {

template <class T> struct FirstOrderCore : Guarded {
    using Value = T;
    using Policy = FirstOrderPolicy;

    FirstOrderCore(Index d, bool intercept, const Policy& policy)
        : model(std::make_unique<FirstOrderModel<T>>(d, intercept, policy)) {}

    Index features() const { return model->state.d - model->state.intercept; }
    Index width() const { return model->state.d; }
    const Limits& limits() const { return model->state.policy.labels; }
    bool read(nb::handle x, bool unknown_allowed) {
        sparse = nullptr;
        if (read_row(x.ptr(), model->state, names, unknown_allowed)) {
            model->form_weights();
            return true;
        }
        sparse = one_sparse_row(x);
        return sparse && read_sparse();
    }
    // Reads row t of a batch into the model; false if a value is out of range.
    bool take(const Batch& batch, Index t) {
        sparse = nullptr;
        model->form_weights();
        const bool whole = driftline::read_row<T>(batch, t, features(), model->state.x);
        if (model->state.intercept)
            model->state.x[features()] = 1;
        return whole;
    }
    const T* numbers() const { return sparse ? nullptr : model->state.x; }
    bool load(const Numbers& row) {
        sparse = nullptr;
        model->form_weights();
        return load_row(row, model->state);
    }
    // w.x of the row that was read.
    double margin() {
        double norm2;
        return sparse ? score(model->state, model->row.entries(), norm2) : engine<T>().score(model->state);
    }
    Status predict(double& prediction) {
        prediction = limits().hold(margin());
        return Status::done;
    }
    Status predict(Outputs& out) {
        predict(*out.predictions);
        write_spread(out, 0, model->state.coverage, limits(), 1, model->state.sums.largest_loss);
        return Status::done;
    }
    Status learn(double label, double share) {
        if (model->state.policy.loss == Loss::custom)
            return Status::unread;
        double prediction = 0;
        if (!sparse)
            return engine<T>().learn_first(model->state, label, share, prediction);
        Batch batch = make_labels(1, {}, {}, false);
        batch.y = &label;
        batch.weight = &share;
        Outputs out;
        out.predictions = &prediction;
        return replay(*sparse, batch, out);
    }
    // Learns the row that was read, under a loss that Python computes: its slope at the prediction is given.
    Status descend(double label, double prediction, double slope) {
        Status status;
        if (double norm2; sparse) {
            const auto entries = model->row.entries();
            score(model->state, entries, norm2);
            status = driftline::descend(model->state, entries, norm2, slope, 1.0);
        } else {
            status = engine<T>().descend(model->state, slope);
        }
        if (status == Status::done)
            count(model->state, label, prediction);
        return status;
    }
    Status replay(const Batch& batch, Outputs& out) {
        model->form_weights();
        return engine<T>().replay_first(model->state, batch, out);
    }
    bool takes(const SparseRows& x) const { return x.width == features(); }
    Status replay(const SparseRows& x, const Batch& batch, Outputs& out) {
        return driftline::replay(model->state, model->row, x.rows, batch, out);
    }
    const FirstOrderSums& sums() const { return model->state.sums; }
    Coverage& coverage() { return model->state.coverage; }
    nb::object weights() {
        model->form_weights();
        return copy_out(model->state.w, model->state.d);
    }
    void grow(Index more) { model = model->grown(more); }

    std::unique_ptr<FirstOrderModel<T>> model;
    Names names;
    const SparseRows* sparse = nullptr; // the row that was read, with entries in model->row; null if it is in model->state.x

  private:
    bool read_sparse() {
        if (sparse->width != features())
            return false;
        model->row.reserve(sparse->rows.longest() + 1);
        return take_row(model->state, model->row, sparse->rows, 0);
    }
};

template <class T> nb::dict state_of(FirstOrderModel<T>& model) {
    model.form_weights();
    nb::dict out;
    out["weights"] = copy_out(model.state.w, model.state.d);
    out["sums"] = copy_sums(model.state.sums);
    out["coverage"] = copy_coverage(model.state.coverage);
    if (model.state.logs)
        out["logs"] = copy_out(model.logs().data(), model.logs().size());
    if (model.state.shares.total > 0)
        out["shares"] = copy_out(reinterpret_cast<const double*>(&model.state.shares), shares_count);
    return out;
}

// Checks that learning can lead to a state of finite numbers.
template <class T> void check_state(const FirstOrderState<T>& state) { check_sums(state.sums, {0}); }

template <class T> nb::dict get_state(FirstOrderCore<T>& self) {
    InUse use(self);
    return state_of(*self.model);
}

// Reads a state into a fresh model; throws if it is invalid, and the model must then be discarded.
template <class T> void read_state(FirstOrderModel<T>& fresh, const nb::dict& from) {
    auto& state = fresh.state;
    copy_in(from, "weights", state.w, state.d);
    copy_sums_in(from, state.sums);
    check_state(state);
    set_coverage(from, state.coverage);
    if (state.logs)
        copy_in(from, "logs", fresh.logs().data(), fresh.logs().size());
    if (state.logs) {
        copy_in(from, "shares", reinterpret_cast<double*>(&state.shares), shares_count, 0);
        const bool summed = from.contains("shares");
        if (summed && !(state.shares.total > 0 && state.shares.peak >= state.shares.total))
            throw nb::value_error("the state's shares are out of range");
    }
}

template <class T> void set_state(FirstOrderCore<T>& self, const nb::dict& from) {
    InUse use(self);
    const auto& old = self.model->state;
    auto fresh = std::make_unique<FirstOrderModel<T>>(old.d, old.intercept, old.policy);
    read_state(*fresh, from);
    self.model = std::move(fresh);
}

} // namespace driftline::bindings
