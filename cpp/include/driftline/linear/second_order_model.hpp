// A second-order learner's state and its memory.
#pragma once

#include <memory>
#include <stdexcept>
#include <vector>

#include "driftline/linear/second_order_memory.hpp"
#include "driftline/engine.hpp"
#include "driftline/linear/reset.hpp"
#include "driftline/base/storage.hpp"

namespace driftline {

template <class T> class SecondOrderModel {
  public:
    SecondOrderModel(Index d, bool intercept, const Policy& policy) {
        state.d = d;
        state.intercept = intercept;
        state.policy = within_range(policy);
        held_in_range_ = !(state.policy == policy);
        state.additive = policy.time == Time::add;
        allocate();
        restart();
    }
    SecondOrderModel(const SecondOrderModel&) = delete;

    SecondOrderState<T> state;

    // The weights are always current.
    void form_weights() {}

    // Resets to the start: w = 0, S = start I.
    void restart() {
        const Index n = padded<T>(state.d);
        for (Index j = 0; j < n; ++j)
            state.w[j] = 0;
        if (state.additive)
            set_identity(state.packed, state.policy.start, state.d);
        else
            set_identity(state.factor, state.policy.start, state.d);
        state.sums = Sums{};
        const bool followed = state.coverage.taken != never;
        state.coverage = Coverage{};
        if (!followed)
            follow_no_coverage();
        state.ready = false;
    }
    // For a model that needs no intervals.
    void follow_no_coverage() { state.coverage.taken = never; }

    void set_forgetting(std::vector<double> values, Index first) {
        forgetting_ = std::move(values);
        forgetting_.reserve(1); // an empty table must not be null
        state.forgetting = {forgetting_.data(), first, static_cast<Index>(forgetting_.size())};
    }
    // Sets the thresholds of segments first, first + 1, ...; the first call starts the guard.
    void set_thresholds(std::vector<double> values, Index first) {
        thresholds_ = std::move(values);
        state.thresholds = {thresholds_.data(), first, static_cast<Index>(thresholds_.size())};
        if (state.sums.rows == 0)
            begin_segment(state, state.policy.start);
    }

    // Changes numbers, but not the kinds of time and reset, for which the memory was sized.
    void set_policy(const Policy& policy) {
        const Policy& old = state.policy;
        if (policy.time != old.time || policy.reset != old.reset || policy.keep_prior != old.keep_prior ||
            (policy.radius > 0 && !state.scratch))
            throw std::invalid_argument("this parameter cannot change once the model has learned");
        const Policy fresh = within_range(policy);
        state.sums.retuned += state.sums.rows > 0 && !(fresh == old);
        if (policy.keep_prior)
            state.sums.prior *= fresh.start / old.start;
        state.policy = fresh;
        held_in_range_ = !(fresh == policy);
    }
    // Whether the start, the noise or the drift was out of the type's range, and was clipped.
    bool held_in_range() const { return held_in_range_; }

    // The same model with `more` features at their start, before the intercept.
    std::unique_ptr<SecondOrderModel> grown(Index more) {
        const Policy& policy = state.policy;
        const double start = policy.keep_prior ? policy.start / state.sums.prior : policy.start;
        return grown(more, state.d - state.intercept, start);
    }
    // The same with the new features at place `at`, and S = start I for them.
    std::unique_ptr<SecondOrderModel> grown(Index more, Index at, double start) {
        settle(state);
        auto wider = std::make_unique<SecondOrderModel>(state.d + more, state.intercept, state.policy);
        if (state.forgetting.values)
            wider->set_forgetting(forgetting_, state.forgetting.first);
        wider->state.sums = state.sums;
        wider->state.coverage = state.coverage;
        wider->state.at = state.at;
        bool guarded = guard_u_.data() != nullptr;
        if (state.thresholds.values) {
            wider->set_thresholds(thresholds_, state.thresholds.first);
            begin_segment(wider->state, start);
            wider->state.sums.bound = at_least(state.sums.bound, wider->state.sums.bound);
            guarded = guarded && wider->guard_d_.data()[0] < no_room; // else new features start below the threshold
        }
        for (Index j = at; j < at + more; ++j)
            if (state.additive)
                wider->matrix_.data()[panel_index<T>(j, j)] = static_cast<T>(start);
            else
                wider->d_.data()[j] = start;
        const auto moved = [&](Index j) { return j >= at ? j + more : j; };
        for (Index j = 0; j < state.d; ++j)
            wider->state.w[moved(j)] = state.w[j];
        const T *from = matrix().data(), *guard = guarded ? guard_u_.data() : nullptr;
        for (Index j = 0; j < state.d; ++j)
            for (Index i = 0; i <= j; ++i) {
                wider->matrix().data()[panel_index<T>(moved(i), moved(j))] = from[panel_index<T>(i, j)];
                if (guard)
                    wider->guard_u_.data()[panel_index<T>(moved(i), moved(j))] = guard[panel_index<T>(i, j)];
            }
        for (Index j = 0; j < state.d; ++j) {
            wider->d_.data()[moved(j)] = d_.data()[j];
            if (guard)
                wider->guard_d_.data()[moved(j)] = guard_d_.data()[j];
        }
        if (state.additive)
            wider->mirror_diagonal_blocks();
        return wider;
    }

    Aligned<T>& matrix() { return matrix_; }
    const Aligned<T>& matrix() const { return matrix_; }
    Aligned<double>& diagonal() { return d_; }
    Aligned<T>& guard_matrix() { return guard_u_; }
    Aligned<double>& guard_diagonal() { return guard_d_; }

    void mirror_diagonal_blocks() { mirror_squares(matrix_.data(), state.d); }

  private:
    bool held_in_range_ = false;

    static Policy within_range(Policy policy) {
        constexpr double most = largest_start<T>;
        policy.start = at_most(at_least(smallest_start<T>, policy.start), most);
        policy.noise = at_most(at_least(smallest_noise<T>, policy.noise), largest_noise);
        if (policy.time == Time::add)
            policy.amount = at_most(policy.amount, most);
        return policy;
    }

    void allocate() {
        const Index d = state.d, n = padded<T>(d);
        const bool guarded = state.policy.reset == Reset::below && state.policy.time == Time::none;
        matrix_ = Aligned<T>(panel_elements<T>(d));
        d_ = Aligned<double>(n);
        rows_ = Aligned<T>(7 * n);
        columns_ = Aligned<double>(4 * n);
        T* row = rows_.data();
        state.w = row;
        state.x = row + n;
        state.next = row + 2 * n;
        state.factor = {n,           d,           matrix_.data(),  d_.data(),           row + 3 * n,
                        row + 4 * n, row + 5 * n, columns_.data(), columns_.data() + n, row + 6 * n};
        state.packed = {n, matrix_.data(), row + 3 * n, row + 6 * n, row + 4 * n, row + 5 * n};
        if (guarded) {
            guard_u_ = Aligned<T>(panel_elements<T>(d));
            guard_d_ = Aligned<double>(n);
            guard_rows_ = Aligned<T>(4 * n);
            T* extra = guard_rows_.data();
            double* columns = columns_.data() + 2 * n;
            state.guard = {n,       d,           guard_u_.data(), guard_d_.data(), extra, extra + n, extra + 2 * n,
                           columns, columns + n, extra + 3 * n};
        }
        if (state.policy.reset == Reset::below || state.policy.radius > 0 || state.additive) {
            scratch_ = Aligned<double>(d * (d + 1) / 2);
            vector_ = Aligned<double>(2 * d);
            state.scratch = scratch_.data();
            state.vector = vector_.data();
        }
    }

    Aligned<T> matrix_, rows_, guard_u_, guard_rows_;
    Aligned<double> d_, columns_, guard_d_, scratch_, vector_;
    std::vector<double> forgetting_, thresholds_;
};

} // namespace driftline
