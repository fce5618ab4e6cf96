// A second-order learner for Python, and export and import of its state.
#pragma once

#include <algorithm>

#include "state.hpp"
#include "state_checks.hpp"

#include "driftline/linear/likelihood.hpp"
#include "driftline/linear/second_order_model.hpp"

namespace driftline::bindings {

template <class T> struct SecondOrderCore : Guarded {
    using Value = T;
    using Policy = driftline::Policy;

    SecondOrderCore(Index d, bool intercept, const Policy& policy)
        : model(std::make_unique<SecondOrderModel<T>>(d, intercept, policy)) {}

    Index features() const { return model->state.d - model->state.intercept; }
    Index width() const { return model->state.d; }
    const Limits& limits() const { return model->state.policy.labels; }
    bool read(nb::handle x, bool unknown_allowed) { return read_row(x.ptr(), model->state, names, unknown_allowed); }
    // Reads row t of a batch into the model; false if a value is out of range.
    bool take(const Batch& batch, Index t) {
        const auto& state = model->state;
        const bool whole = driftline::read_row<T>(batch, t, features(), state.x);
        if (state.intercept)
            state.x[features()] = 1;
        return whole;
    }
    const T* numbers() const { return model->state.x; }
    bool load(const Numbers& row) { return load_row(row, model->state); }
    Status predict(double& prediction) { return engine<T>().predict(model->state, prediction, nullptr); }
    Status predict(Outputs& out) {
        auto& state = model->state;
        double s = 0;
        const Status status = engine<T>().predict(state, *out.predictions, &s);
        if (status == Status::done)
            write_spread(out, 0, state.coverage, limits(), label_variance(state.policy, *out.predictions, s),
                         state.sums.largest_loss);
        return status;
    }
    Status learn(double label, double share) {
        double prediction = 0;
        return engine<T>().learn(model->state, label, share, prediction);
    }
    Status replay(const Batch& batch, Outputs& out) { return engine<T>().replay(model->state, batch, out); }
    const Sums& sums() const { return model->state.sums; }
    Coverage& coverage() { return model->state.coverage; }
    nb::object weights() const { return copy_out(model->state.w, model->state.d); }
    void grow(Index more) { model = model->grown(more); }

    void set_time(double time) { model->state.at = time; }

    std::unique_ptr<SecondOrderModel<T>> model;
    Names names;
};

// A diagonal with its padding reset: the padding depends on how rows were processed.
inline nb::object copy_diagonal(Aligned<double>& diagonal, Index d) {
    std::fill(diagonal.data() + d, diagonal.data() + diagonal.size(), 1.0);
    return copy_out(diagonal.data(), diagonal.size());
}

template <class T> nb::dict state_of(SecondOrderModel<T>& model) {
    restart_where_broken(model.state);
    nb::dict out;
    out["weights"] = copy_out(model.state.w, model.state.d);
    out["sums"] = copy_sums(model.state.sums);
    out["coverage"] = copy_coverage(model.state.coverage);
    out["matrix"] = copy_out(model.matrix().data(), model.matrix().size());
    out["diagonal"] = copy_diagonal(model.diagonal(), model.state.d);
    if (model.state.guard.u) {
        out["guard_matrix"] = copy_out(model.guard_matrix().data(), model.guard_matrix().size());
        out["guard_diagonal"] = copy_diagonal(model.guard_diagonal(), model.state.d);
    }
    return out;
}

// Checks that learning can lead to a state of finite numbers.
template <class T> void check_state(const SecondOrderState<T>& state) {
    const Sums& sums = state.sums;
    check_sums(sums, {0, 6, 7, 8, 9, 10, 11, 12, 13, 15, 17, 19}, 2);
    check_matrix(state);
    if (state.guard.u)
        check_factor(state.guard, state.d);
    if (sums.segment < 1 || sums.begun > sums.rows || sums.pending > 1 || (sums.pending == 1 && !state.guard.u) ||
        !(sums.prior > 0) || sums.first_time > sums.last_time || sums.timed > sums.rows)
        throw nb::value_error("the state's sums are out of range");
}

template <class T> nb::dict get_state(SecondOrderCore<T>& self) {
    InUse use(self);
    return state_of(*self.model);
}

// Reads a state into a fresh model; throws if it is invalid, and the model must then be discarded.
template <class T> void read_state(SecondOrderModel<T>& fresh, const nb::dict& from) {
    auto& state = fresh.state;
    copy_in(from, "weights", state.w, state.d);
    copy_sums_in(from, state.sums, sums_added);
    set_coverage(from, state.coverage);
    copy_in(from, "matrix", fresh.matrix().data(), fresh.matrix().size());
    copy_in(from, "diagonal", fresh.diagonal().data(), fresh.diagonal().size());
    if (state.guard.u) {
        copy_in(from, "guard_matrix", fresh.guard_matrix().data(), fresh.guard_matrix().size());
        copy_in(from, "guard_diagonal", fresh.guard_diagonal().data(), fresh.guard_diagonal().size());
    }
    check_state(state);
}

// All or nothing: the arrays are checked on a fresh model, which then replaces the old one.
template <class T> void set_state(SecondOrderCore<T>& self, const nb::dict& from) {
    InUse use(self);
    const auto& old = self.model->state;
    auto fresh = std::make_unique<SecondOrderModel<T>>(old.d, old.intercept, old.policy);
    read_state(*fresh, from);
    self.model = std::move(fresh);
}

} // namespace driftline::bindings
