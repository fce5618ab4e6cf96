// The single step behind every second-order learner, and the replay of many rows.
#pragma once

#include "driftline/linear/second_order_memory.hpp"
#include "driftline/linear/second_order_upkeep.hpp"
#include "driftline/linear/second_order_view.hpp"
#include "driftline/linear/second_order_weights.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// Compares rounding with what a row leaves of S along x, about rho/|x|^2, and with the drift.
struct RoundingRisk {
    bool lift;  // rounding could outweigh one of them: the diagonal is lifted by that much
    bool rough; // rounding is not small compared with the noise: the row's update is inaccurate
};
// Decided by the sum of S_jj x_j^2 over rho. No diagonal entry exceeds the start, or 1 after a reset, plus all drift so far;
// that bound settles most rows.
template <class T> DRIFTLINE_INLINE RoundingRisk rounding_risk(const SecondOrderState<T>& m, const View& view, double rho) {
    double drifted = view.drift * (m.sums.rows + 1);
    if (m.sums.timed > 0) [[unlikely]]
        drifted = view.drift + m.policy.amount * (m.sums.rows + (m.policy.unit > 0 ? units_so_far(m) : 0));
    const double most = at_least(1, m.policy.start) + drifted;
    const bool lift = view.drift < rounding<T>(m.d) * most;
    const double limit = rho * (sizeof(T) == 8 ? 1e11 : 1e3);
    if (most * view.norm2 * view.scale * view.scale <= limit) [[likely]]
        return {lift, false};
    double total = 0;
    for (Index j = 0; j < m.d; ++j)
        total += (static_cast<double>(m.packed.s[panel_index<T>(j, j)]) + view.drift) * m.x[j] * m.x[j];
    return {lift || !(total <= limit), !(total <= 10 * limit)};
}

DRIFTLINE_INLINE double plain_s(const View& view) { return view.s / (view.scale * view.scale); }

// Writes the prediction, and the interval if wanted, before anything is learned.
template <class T>
DRIFTLINE_INLINE void show(SecondOrderState<T>& m, const View& view, double prediction, const Outputs& out, Index t) {
    out.predictions[t] = prediction;
    if (out.spread()) [[unlikely]]
        write_spread(out, t, m.coverage, m.policy.labels, label_variance(m.policy, prediction, plain_s(view)),
                     m.sums.largest_loss);
}
// The squared error of the prediction shown, divided by the label's variance; rho is in the view's units.
DRIFTLINE_INLINE double score_of(const Policy& policy, const View& view, double y, double shown, double rho) {
    const double error = (y - shown) * view.scale, unit = view.scale * view.scale;
    if (policy.has_mean()) [[unlikely]]
        return error * error / (unit * at_least(DBL_MIN, label_variance(policy, shown, rho / unit, plain_s(view))));
    return error * error / (rho + view.s);
}

DRIFTLINE_INLINE void count_row(Sums& sums, const View& view, double y, double shown, double error, double value) {
    sums.rows += 1;
    sums.loss = at_most(sums.loss + (y - shown) * (y - shown), DBL_MAX);
    sums.value = at_most(sums.value * view.keep + value, DBL_MAX);
    sums.largest_loss = at_least(sums.largest_loss, at_most(error * error, DBL_MAX));
    sums.largest_label = at_least(sums.largest_label, std::fabs(y));
    sums.largest_norm2 = at_least(sums.largest_norm2, view.norm2);
}

// The same for a generalised linear model, whose `value` holds recent pinball losses.
template <class T> DRIFTLINE_INLINE void count_linked_row(SecondOrderState<T>& m, const View& view, double y, double shown) {
    const double losses = pinball_memory * m.sums.value + pinball_loss(m.policy.parameter, y - view.f);
    count_row(m.sums, view, y, shown, y - shown, 0);
    m.sums.value = m.policy.likelihood == Likelihood::pinball ? at_most(losses, DBL_MAX) : 0;
}

// Whether a row right after a reset causes another one: with S = I, |x|^2 decides.
template <class T> DRIFTLINE_INLINE bool resets_again(const SecondOrderState<T>& m, const View& view, double rho) {
    return m.sums.pending != 0 && !m.policy.complement && !m.policy.turns_labels() && view.norm2 <= largest_s<T> &&
           (1 + view.norm2 / rho) / reset_limit(m) - 1 > tie_margin<T>;
}

// Learns such a row without S. False, with nothing changed, for any other row.
template <class T>
DRIFTLINE_ONCE bool reset_again(SecondOrderState<T>& m, View view, double y, double weight, const Outputs& out, Index t) {
    const Policy& policy = m.policy;
    const double noise = policy.noise / (weight * view.share),
                 rho = at_most(at_least(smallest_noise<T>, noise), largest_noise);
    if (!resets_again(m, view, rho))
        return false;
    view.s = view.norm2;
    const double prediction = predicted(m, view);
    show(m, view, prediction, out, t);
    const double error = at_most(at_least(-DBL_MAX, y - view.f), DBL_MAX), gain = error / (rho + view.s);
    move_weights(m, m.x, padded<T>(m.d), gain, error, rho + view.s);
    count_row(m.sums, view, y, prediction, error, gain * error);
    note(m.coverage, score_of(policy, view, y, prediction, rho), y - prediction);
    m.sums.shrunk += view.s / (rho + view.s);
    m.sums.weighted += weight != 1;
    m.sums.saturated += rho != noise;
    note_time(m);
    count_reset(m.sums);
    if (policy.radius > 0 && !(std::sqrt(dot(m.w, m.w, padded<T>(m.d))) <= policy.radius))
        project_on_ball(m);
    m.ready = false;
    return true;
}

// What a policy needs beyond the plain step, determined once for many rows.
struct Extras {
    bool prediction, noise, after;
};
template <class T> DRIFTLINE_INLINE Extras extras_of(const SecondOrderState<T>& m, bool weighted) {
    const Policy& policy = m.policy;
    return {policy.shrink || policy.predictions.exist() || policy.turns_labels(),
            policy.complement || policy.robustness > 0 || weighted,
            m.additive || policy.reset != Reset::none || policy.radius > 0 || policy.keep_prior};
}

// The update that a label causes, for a row that was looked at.
struct LabelUpdate {
    double shown, rho;  // the prediction; the noise in the units of the view
    double error, gain; // of w.x, to the label that is learned; w moves by gain k
    double label;       // what is learned: y, but for policies that turn labels
    double score;       // the noise by which the error is scored
};
// The factor that gives the pinball loss the curvature of half the squared error: the density of errors at their quantile,
// phi(z)^2 over the mean loss if they are normal, is that curvature. The mean is of recent rows, this one included.
template <class T> DRIFTLINE_INLINE double pinball_unit(const SecondOrderState<T>& m, const View& view, double y) {
    const double rows = m.sums.rows + 1, all = rows > 1e4 ? 1 : -std::expm1(rows * std::log(pinball_memory));
    const double mean =
        (pinball_memory * m.sums.value + pinball_loss(m.policy.parameter, y - view.f)) * (1 - pinball_memory) / all;
    return mean / m.policy.curvature;
}

// A generalised linear model learns a row as if the noise were 1 / information, and the label such that the step of the
// squared error led to where the implicit step of the loss leads.
template <class T>
DRIFTLINE_INLINE LabelUpdate linked(const SecondOrderState<T>& m, View& view, LabelUpdate change, double y) {
    const double unit = m.policy.likelihood == Likelihood::pinball ? pinball_unit(m, view, y) : 1;
    const Implicit step = implicit_step(m.policy, unit, view.f, y, view.s / change.rho);
    change.gain = saturate(-step.slope * view.scale / change.rho, DBL_MAX);
    const double noise = change.rho / step.information;
    change.rho = at_most(at_least(smallest_noise<T>, noise), largest_noise);
    view.held |= noise < smallest_noise<T>; // more is as good as no information
    change.error = saturate(change.gain * ((change.rho + view.s) / view.scale), DBL_MAX);
    change.label = saturate(view.f + change.error, DBL_MAX);
    return change;
}

// The H-infinity filter and the Online Newton Step learn a row as if its label were farther from the prediction; the latter
// also gives it the noise 1/(4 error^2) instead of 1.
template <class T> DRIFTLINE_INLINE LabelUpdate turned(const Policy& policy, View& view, LabelUpdate change) {
    if (policy.robustness > 0) {
        change.error = at_most(at_least(-DBL_MAX, change.error / (1 - policy.robustness)), DBL_MAX);
    } else if (std::fabs(change.error) > 1e-70) {
        const double noise = change.rho / (4 * change.error * change.error);
        change.rho = at_most(at_least(smallest_noise<T>, noise), largest_noise);
        view.held |= noise < smallest_noise<T>; // more is as good as no information
        change.error = 1 / (2 * policy.concavity * change.error);
    } else {
        change.rho = largest_noise;
        change.error = 0;
    }
    change.gain = change.error * view.scale / (change.rho + view.s);
    change.label = at_most(at_least(-DBL_MAX, view.f + change.error), DBL_MAX);
    return change;
}
template <class T>
DRIFTLINE_INLINE LabelUpdate compare(const SecondOrderState<T>& m, View& view, Extras extras, double y, double rho) {
    double error = y - view.f;
    if (std::fabs(error) > DBL_MAX) [[unlikely]]
        error = std::copysign(DBL_MAX, error);
    const double shown = extras.prediction ? predicted(m, view) : view.f;
    const LabelUpdate change = {shown, rho, error, error * view.scale / (rho + view.s), y, rho};
    if (m.policy.has_mean()) [[unlikely]]
        return linked(m, view, change, y);
    return m.policy.turns_labels() ? turned<T>(m.policy, view, change) : change;
}

// The noise of a row that was looked at.
template <class T>
DRIFTLINE_INLINE Status find_noise(const SecondOrderState<T>& m, View& view, Extras extras, double weight, double& rho) {
    const Policy& policy = m.policy;
    rho = policy.noise; // with branches: a division that waits for s would slow down every row
    if (extras.noise || view.scaled || view.share != 1) [[unlikely]] {
        weight *= view.share;
        const double unit = view.scale * view.scale;
        const double noise = policy.complement ? at_least(unit * policy.least_noise, unit - view.s) : unit * policy.noise;
        if (policy.complement && policy.least_noise == 0 && !(noise > 0))
            return Status::outside_noise;
        rho = at_most(at_least(smallest_noise<T>, noise / weight), largest_noise);
        view.held = rho != noise / weight;
        if (policy.robustness > 0 && !(policy.robustness * view.s < (1 - policy.robustness) * rho))
            return Status::outside_noise;
    }
    return Status::done;
}

// Moves the weights if the plain step would lose the precision of T.
template <class T>
DRIFTLINE_ONCE void move_with_care(SecondOrderState<T>& m, const T* k, Index size, View view, LabelUpdate change) {
    const double variance = change.rho + view.s;
    move_weights(m, k, size, change.gain, change.error * view.scale, variance);
    if (view.s > largest_step<T> * change.rho)
        refine_weights(m, k, size, (change.label - change.error * (change.rho / variance)) * view.scale, variance);
}

// Everything that a row changes except S, whose k was formed; `next` is the row that S was multiplied with.
template <int G, class T>
DRIFTLINE_INLINE void conclude(SecondOrderState<T>& m, const Row<G, T>& row, View view, Extras extras,
                               const LabelUpdate& change, double y, double weight, const T* next) {
    const double error = change.error * view.scale;
    if (is_soft<T>(change.gain, error) || view.s > largest_step<T> * change.rho) [[unlikely]]
        move_with_care(m, k_in_memory(m.factor, row), row.size, view, change);
    else
        add_gain(m, row.k, row.size, change.gain);
    if (m.policy.growth_limit > 0 && view.growth.watched) [[unlikely]] {
        // Long before that, a multiple of I is added to S^-1. S then stays equal in all directions that no row excites,
        // whereas capping single D_j would let the weights drift in them. O(d^3), each time S has grown by a factor of
        // growth_room.
        add_information(m, growth_room / view.growth.watch, m.w, 0);
        view.growth.capped = true;
    }
    Sums& sums = m.sums;
    const double value = change.gain * error;
    if (m.policy.has_mean()) [[unlikely]]
        count_linked_row(m, view, y, change.shown);
    else
        count_row(sums, view, y, change.shown, y - view.f, value);
    note(m.coverage, extras.prediction ? score_of(m.policy, view, y, change.shown, change.score) : value, y - change.shown);
    if (m.policy.least_noise > 0) [[unlikely]]
        sums.shrunk += 1 - shrinkage(m.policy, view.scale * view.scale, view.s);
    else if (extras.prediction)
        sums.shrunk += at_most(view.s / (change.rho + view.s), 1); // s is infinite if S broke
    if (view.growth.capped || view.held) [[unlikely]] {
        sums.capped += view.growth.capped;
        sums.saturated += view.held;
    }
    if (extras.noise)
        sums.weighted += weight != 1;
    const double before = extras.after && m.policy.unit > 0 ? units_so_far(m) : 0;
    note_time(m);
    if (extras.after)
        watch(m, change.rho, view, next, before);
}

// Learns the current row, which was looked at; `next` is the row after it, if there is one. The matrices' products with it
// are formed on the way. Nothing has changed unless the status is done.
template <int G, class T>
DRIFTLINE_INLINE Status learn_row(SecondOrderState<T>& m, Row<G, T>& row, View view, Extras extras, double y, double weight,
                                  const T* next, const Outputs& out, Index t) {
    const Policy& policy = m.policy;
    if (const Status status = look_up_forgetting(m, view); status != Status::done)
        return status;
    if (extras.after && policy.reset == Reset::below && !m.thresholds.covers(static_cast<Index>(m.sums.segment) + 1))
        return Status::needs_threshold;
    if (m.sums.pending != 0) [[unlikely]] {
        if (reset_again(m, view, y, weight, out, t))
            return Status::done;
        settle(m);
    }
    if (fades_first(m, view)) [[unlikely]] {
        pass_gap(m, view);
        look(m, view, row.size);
        view.norm2 = at_most(view.norm2, DBL_MAX);
    }
    look_at_variance(m, row, view, true);
    double rho;
    if (const Status status = find_noise(m, view, extras, weight, rho); status != Status::done)
        return status;
    const LabelUpdate change = compare(m, view, extras, y, rho);
    show(m, view, change.shown, out, t);
    const bool fused = next != nullptr;
    next = fused ? next : m.x;
    m.ready = fused;
    if (is_additive<G>(m)) {
        const RoundingRisk weak = rounding_risk(m, view, change.rho);
        update(m.packed, m.d, change.rho, view.s, view.drift, weak.lift, next);
        view.held &= change.rho >= largest_noise; // noise below the least is negligible compared with the drift
        view.held |= weak.rough;
    } else {
        update(m.factor, row, change.rho, next);
        if (view.scaled || view.norm2 > largest_information * change.rho) [[unlikely]]
            view.held |= is_held(m.factor);
    }
    conclude(m, row, view, extras, change, y, weight, next);
    return Status::done;
}

// x'I x, summed in the same order as for a factor of I.
template <class T> DRIFTLINE_INLINE double identity_form(const T* x, Index columns) {
    Doubles total = {};
    for (Index j = 0; j < columns; j += lanes<double>) {
        const Doubles f = load_doubles(x + j);
        total += all_last(running_sums(rounded(f * f)));
    }
    return total[0];
}

template <class T> Status predict_row(SecondOrderState<T>& m, double& prediction, double* s);

// Predicts a row before which the prior is restored; the state is then put back.
template <class T> Status predict_after_gap(SecondOrderState<T>& m, View view, double& prediction, double* s) {
    const Index n = padded<T>(m.d);
    const std::vector<T> weights(m.w, m.w + n), entries(m.factor.u, m.factor.u + panel_elements<T>(m.d));
    const std::vector<double> diagonal(m.factor.d, m.factor.d + m.factor.size);
    const Sums sums = m.sums;
    const double at = m.at;
    pass_gap(m, view);
    m.at = m.sums.last_time; // at once
    const Status status = predict_row(m, prediction, s);
    m.at = at;
    m.sums = sums;
    std::copy(weights.begin(), weights.end(), m.w);
    std::copy(entries.begin(), entries.end(), m.factor.u);
    std::copy(diagonal.begin(), diagonal.end(), m.factor.d);
    m.ready = false;
    return status;
}

// Also x'S x, if `s` is given.
template <class T> DRIFTLINE_ONCE Status predict_row(SecondOrderState<T>& m, double& prediction, double* s) {
    View view = usual_view(m);
    Row<0, T> row(m.factor);
    look(m, view, row.size);
    if (const Status status = look_up_forgetting(m, view); status != Status::done)
        return status;
    m.ready = false;
    if (fades_first(m, view)) [[unlikely]]
        return predict_after_gap(m, view, prediction, s);
    if (m.policy.shrink || s) {
        if (m.sums.pending != 0) // S is I; a prediction does not write it to memory
            view.s = resets_again(m, view, m.policy.noise) ? view.norm2 : identity_form(m.x, row.columns);
        else
            look_at_variance(m, row, view, false);
        if (!(view.s <= DBL_MAX))
            look_at_restarted(m, row, view);
    }
    if (s)
        *s = plain_s(view);
    prediction = predicted(m, view);
    return Status::done;
}

// Handles a row that is not learned.
template <class T>
DRIFTLINE_ONCE Status pass_row(SecondOrderState<T>& m, const Batch& batch, Index t, RowAction action, Outputs& out) {
    if (action == RowAction::refuse)
        return Status::bad_value;
    out.predictions[t] = NAN;
    write_no_spread(out, t);
    if (action == RowAction::predict) {
        double s = 0;
        if (const Status status = predict_row(m, out.predictions[t], out.spread() ? &s : nullptr); status != Status::done)
            return status;
        if (out.spread())
            write_spread(out, t, m.coverage, m.policy.labels, label_variance(m.policy, out.predictions[t], s),
                         m.sums.largest_loss);
    }
    m.ready = false;
    out.skipped += was_skipped<T>(batch, t, action);
    return Status::done;
}

// With `loaded`, the first row is loaded already.
template <int G, class T>
DRIFTLINE_ONCE Status replay(SecondOrderState<T>& m, const Batch& rows, Outputs& outputs, bool loaded) {
    const Batch batch = rows; // copies, so that no store through a pointer may alias them
    Outputs out = outputs;
    const Reader<static_cast<int>(padded<T>(4 * G)), T> reader(batch, m.d, m.intercept);
    const View usual = usual_view(m);
    const Extras extras = extras_of(m, batch.weight != nullptr);
    Row<G, T> row(m.factor);
    StepsOfTime steps(m.policy, batch);
    double resets = m.sums.resets;
    Status status = Status::done;
    if (!loaded && out.done < batch.rows)
        reader.take(m.x, out.done);
    m.ready = false;
    for (; out.done < batch.rows; ++out.done) {
        const Index t = out.done;
        if (batch.times) [[unlikely]]
            m.at = batch.times[t];
        T* const next = t + 1 < batch.rows ? m.next : nullptr;
        if (next)
            reader.take(next, t + 1);
        View view = usual;
        if (batch.times) [[unlikely]]
            pass_known(m, steps, t, view);
        look(m, view, row.size);
        const RowAction action = row_action(batch, t, m.x, row.size, view.norm2);
        if (action == RowAction::learn) [[likely]]
            status = learn_row(m, row, view, extras, batch.y[t], weight_of(batch, t), next, out, t);
        else
            status = pass_row(m, batch, t, action, out);
        if (status != Status::done)
            break;
        if (extras.after && m.sums.resets > resets) {
            resets = m.sums.resets;
            if (out.resets)
                out.resets[t] = 1;
        }
        if (next) {
            m.next = m.x;
            m.x = next;
        }
        snapshot(out, m.w, m.d, t);
        note_memory(out, m, t);
    }
    if (batch.times)
        m.at = NAN;
    m.ready = false;
    outputs = out;
    return status;
}

// Calls act with the number of groups as a constant if it is small.
template <class T, class Act> DRIFTLINE_INLINE Status with_size(const SecondOrderState<T>& m, Act&& act) {
    switch (m.additive ? 0 : (m.factor.used + 3) / 4) {
    case 1:
        return act.template operator()<1>();
    case 2:
        return act.template operator()<2>();
    case 3:
        return act.template operator()<3>();
    case 4:
        return act.template operator()<4>();
    case 5:
        return act.template operator()<5>();
    case 6:
        return act.template operator()<6>();
    case 7:
        return act.template operator()<7>();
    case 8:
        return act.template operator()<8>();
    default:
        return act.template operator()<0>();
    }
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
