// The state of a first-order learner on its way out and in.
#pragma once

#include "verbs.hpp"

#include "driftline/linear/first_order_model.hpp"

namespace driftline::bindings {

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

// That a state of finite numbers is one to which learning can lead.
template <class T> void check_state(const FirstOrderState<T>& state) { check_sums(state.sums, {0}); }

template <class T> nb::dict get_state(Holder<FirstOrderModel<T>>& self) {
    InUse use(self);
    return state_of(*self.model);
}

template <class T> void set_state(Holder<FirstOrderModel<T>>& self, const nb::dict& from) {
    InUse use(self);
    const auto& old = self.model->state;
    auto fresh = std::make_unique<FirstOrderModel<T>>(old.d, old.intercept, old.policy);
    auto& state = fresh->state;
    copy_in(from, "weights", state.w, state.d);
    copy_sums_in(from, state.sums);
    check_state(state);
    set_coverage(from, state.coverage);
    if (state.logs)
        copy_in(from, "logs", fresh->logs().data(), fresh->logs().size());
    if (state.logs && from.contains("shares")) {
        copy_in(from, "shares", reinterpret_cast<double*>(&state.shares), shares_count);
        if (!(state.shares.total > 0 && state.shares.peak >= state.shares.total))
            throw nb::value_error("the state's shares are out of range");
    }
    self.model = std::move(fresh);
}

} // namespace driftline::bindings
