// The one step of every second-order learner, and the replay of many rows.
#pragma once

#include "driftline/projection.hpp"
#include "driftline/range.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// How the model sees a row before its label: S after the passing of time, s = x'S x, f = w.x. A row too large to square is
// scaled: (x, y, rho) and (c x, c y, c^2 rho) are the same to the recursion.
struct View {
    double grow = 1, drift = 0, scale = 1, s = 0, f = 0, norm2 = 0;
};

// The factor with its size known when compiling, for P panels; P = 0: only when running.
template <int P, class T> DRIFTLINE_INLINE Factor<T> sized(const Factor<T>& factor) {
    Factor<T> copy = factor;
    if constexpr (P > 0)
        copy.size = P * panel_width<T>;
    return copy;
}

template <int P, class T> DRIFTLINE_INLINE void form_products(SecondOrderState<T>& m) {
    if (m.additive)
        multiply(m.packed, m.x);
    else
        multiply(sized<P>(m.factor), m.x);
    if (m.guard.u)
        multiply(m.guard, m.x);
    m.ready = true;
}

template <int P, class T> DRIFTLINE_INLINE double project_row(SecondOrderState<T>& m, const View& view) {
    return m.additive ? project(m.packed, m.x, view.drift) : project(sized<P>(m.factor), view.grow, variance_cap<T>);
}

template <int P, class T> DRIFTLINE_INLINE Status look(SecondOrderState<T>& m, View& view) {
    const Policy& policy = m.policy;
    if (policy.time == Time::divide) {
        const Index t = static_cast<Index>(m.sums.rows) + 1;
        if (m.forgetting.values && !m.forgetting.covers(t))
            return Status::needs_forgetting;
        view.grow = 1 / (m.forgetting.values ? m.forgetting.at(t) : policy.amount);
    } else if (policy.time == Time::add) {
        view.drift = policy.amount;
    }
    dot_and_norm(m.w, m.x, sized<P>(m.factor).size, view.f, view.norm2);
    view.norm2 = at_most(view.norm2, DBL_MAX);
    if (!std::isfinite(view.f)) [[unlikely]]
        view.f = far_dot(m.w, m.x, 1, m.d);
    return Status::done;
}

// S back to the identity.
template <class T> void reset(SecondOrderState<T>& m, double scale) {
    if (m.additive)
        set_identity(m.packed, scale, m.d);
    else
        set_identity(m.factor, scale, m.d);
    m.ready = false;
}

// Positive definiteness of a packed S: mended by raising each entry of the diagonal by the same fraction of itself.
template <class T> void mend(SecondOrderState<T>& m) {
    double raise = 0;
    for (to_scratch(m); !cholesky(m.scratch, m.d); to_scratch(m)) {
        if (raise > 1) {
            reset(m, m.policy.start);
            m.sums.repaired += 1;
            return;
        }
        raise = raise > 0 ? 4 * raise : sizeof(T) == 8 ? 4e-16 : 2e-7;
        for (Index j = 0; j < m.d; ++j)
            m.packed.s[panel_index<T>(j, j)] *= static_cast<T>(1 + raise);
    }
    if (raise > 0) {
        m.sums.repaired += 1;
        m.ready = false;
    }
}

template <int P, class T> DRIFTLINE_INLINE void look_at_variance(SecondOrderState<T>& m, View& view) {
    if (!m.ready)
        form_products<P>(m);
    view.s = project_row<P>(m, view);
    // s >= drift |x|^2 in exact arithmetic: less means that S is no longer positive definite.
    if (m.additive && view.s < 0.5 * view.drift * view.norm2) [[unlikely]] {
        mend(m);
        form_products<P>(m);
        view.s = at_least(view.drift * view.norm2, project_row<P>(m, view));
    }
    if (!(view.s <= largest_s<T>)) [[unlikely]] {
        view.scale = scale_row(m.x, m.d);
        form_products<P>(m);
        view.s = project_row<P>(m, view);
    }
}

template <class T> DRIFTLINE_INLINE double predicted(const SecondOrderState<T>& m, const View& view) {
    const Policy& policy = m.policy;
    const double one = view.scale * view.scale;
    const double value = policy.shrink ? view.f * (one / (one + view.s)) : view.f;
    return policy.clip > 0 ? saturate(value, policy.clip) : value;
}

// w += gain k, held inside the range of T. A k that is not finite means that S broke: it starts afresh.
template <int P, class T> DRIFTLINE_INLINE void move_weights(SecondOrderState<T>& m, double gain) {
    const T* k = m.additive ? m.packed.k : m.factor.k;
    const Index n = sized<P>(m.factor).size;
    if (add_scaled(m.w, m.w, k, static_cast<T>(gain), n)) [[likely]]
        return;
    bool broken = false;
    for (Index j = 0; j < n; ++j) {
        broken = broken || !std::isfinite(k[j]);
        m.w[j] = static_cast<T>(saturate(static_cast<double>(m.w[j]), type_max<T>));
    }
    m.sums.saturated += 1;
    if (broken) {
        reset(m, m.policy.start);
        m.sums.repaired += 1;
    }
}

// Whether rounding could outweigh what the row leaves of S along x, about rho/|x|^2 (the sum of S_jj x_j^2 over rho tells),
// or the drift. No entry of the diagonal exceeds the start, or 1 after a reset, plus all drift so far; that settles most
// rows.
template <class T> DRIFTLINE_INLINE bool is_weak(const SecondOrderState<T>& m, const View& view, double rho) {
    const double most = at_least(1, m.policy.start) + view.drift * (m.sums.rows + 1);
    if (view.drift < rounding<T>(m.d) * most)
        return true;
    const double limit = rho * (sizeof(T) == 8 ? 1e11 : 1e3);
    if (most * view.norm2 * view.scale * view.scale <= limit) [[likely]]
        return false;
    double total = 0;
    for (Index j = 0; j < m.d; ++j)
        total += (static_cast<double>(m.packed.s[panel_index<T>(j, j)]) + view.drift) * m.x[j] * m.x[j];
    return !(total <= limit);
}

// Forgetting lets D_j grow without end while no row says anything about its direction u_j, and a row says nothing about it
// when u_j.x is nothing but the rounding of its terms. So D_j may grow to `resolution` times what a row as large as those
// terms would leave of it, or to where it started. True where that cut something off.
template <class T> bool hold_growth(SecondOrderState<T>& m, double rho, double start) {
    constexpr double resolution = sizeof(T) == 8 ? 1e10 : 1e4;
    bool held = false;
    for (Index j = 0; j < m.d; ++j) {
        if (m.factor.d[j] <= start)
            continue;
        const T* u = m.factor.u + panel_index<T>(0, j);
        double terms = 0;
        for (Index i = 0; i <= j; ++i)
            terms += std::fabs(static_cast<double>(u[i]) * static_cast<double>(m.x[i]));
        const double most = resolution * rho / (terms * terms);
        if (m.factor.d[j] > most) {
            m.factor.d[j] = at_least(start, most);
            held = true;
        }
    }
    return held;
}

// What a reset asks for once the row was taken in.
template <class T> void watch_resets(SecondOrderState<T>& m, double rho, double grow, double norm2, const T* next) {
    const bool below = m.policy.reset == Reset::below;
    const bool due =
        below ? reset_is_due(m, rho, grow, norm2, next) : static_cast<Index>(m.sums.rows) % m.policy.period == 0;
    if (!due)
        return;
    m.sums.resets += 1;
    m.sums.segment += 1;
    reset(m, 1.0);
    if (below)
        begin_segment(m, 1.0);
}

// Learns from the row at hand; `next`, where there is one, is the row that will follow. The matrices' products with it are
// formed on the way. Nothing has changed unless the status is done.
template <int P, class T>
DRIFTLINE_ONCE Status learn_row(SecondOrderState<T>& m, double y, double weight, const T* next, double& prediction) {
    const Policy& policy = m.policy;
    View view;
    if (const Status status = look<P>(m, view); status != Status::done)
        return status;
    if (policy.reset == Reset::below && !m.thresholds.covers(static_cast<Index>(m.sums.segment) + 1))
        return Status::needs_threshold;
    look_at_variance<P>(m, view);
    prediction = predicted(m, view);
    const double unit = view.scale * view.scale;
    double rho = policy.noise; // by branches: a division that waits for s would be felt in every row
    if (policy.complement || unit != 1 || weight != 1) [[unlikely]] {
        const double noise = policy.complement ? unit - view.s : unit * policy.noise;
        if (policy.complement && !(noise > 0))
            return Status::outside_noise;
        rho = at_most(at_least(smallest_noise<T>, noise / weight), 1e300);
    }

    const double error = saturate(y - view.f, DBL_MAX), total = rho + view.s;
    const bool fused = next != nullptr;
    next = fused ? next : m.x;
    double most = 0;
    m.ready = fused;
    if (m.additive)
        update(m.packed, m.d, rho, view.s, view.drift, is_weak(m, view, rho), next);
    else
        most = update(sized<P>(m.factor), rho, view.grow, variance_cap<T>, next);
    move_weights<P>(m, error * view.scale / total);
    bool capped = most > variance_cap<T>;
    if (policy.time == Time::divide) {
        for (Index j = m.d; j < sized<P>(m.factor).size; ++j)
            m.factor.d[j] = smallest_variance; // the padding has nothing to forget
        const double start = policy.reset == Reset::none ? policy.start : at_least(1, policy.start);
        if (most > start) [[unlikely]]
            capped |= hold_growth(m, rho, start);
    }

    Sums& sums = m.sums;
    sums.rows += 1;
    sums.loss = at_most(sums.loss + (y - prediction) * (y - prediction), DBL_MAX);
    sums.value = at_most(sums.value / view.grow + error * view.scale / total * error * view.scale, DBL_MAX);
    sums.largest_loss = at_least(sums.largest_loss, at_most(error * error, DBL_MAX));
    sums.largest_label = at_least(sums.largest_label, std::fabs(y));
    sums.largest_norm2 = at_least(sums.largest_norm2, view.norm2);
    sums.capped += capped;
    sums.weighted += weight != 1;
    if (m.additive && static_cast<Index>(sums.rows) % (64 + 8 * m.d) == 0)
        mend(m);
    if (policy.reset != Reset::none)
        watch_resets(m, rho, view.grow, view.norm2 * unit, next);
    if (policy.radius > 0) {
        const double norm = std::sqrt(dot(m.w, m.w, padded<T>(m.d)));
        if (!(norm <= policy.radius))
            project_on_ball(m);
    }
    return Status::done;
}

template <class T> Status predict_row(SecondOrderState<T>& m, double& prediction) {
    View view;
    if (const Status status = look<0>(m, view); status != Status::done)
        return status;
    m.ready = false;
    if (m.policy.shrink)
        look_at_variance<0>(m, view);
    prediction = predicted(m, view);
    return Status::done;
}

template <int P, class T> Status replay(SecondOrderState<T>& m, const Batch& batch, Outputs& out) {
    m.ready = false;
    bool loaded = false;
    for (Index t = out.done; t < batch.rows; ++t) {
        const Action action = action_of(batch, t);
        const bool follows = t + 1 < batch.rows && action_of(batch, t + 1) == Action::learn;
        Status status = Status::done;
        if (action == Action::skip) {
            out.predictions[t] = NAN;
        } else {
            if (!loaded) {
                take_row(m.x, batch, t, m.d, m.intercept);
                m.ready = false;
            }
            if (action == Action::predict_only) {
                status = predict_row(m, out.predictions[t]);
            } else {
                if (follows)
                    take_row(m.next, batch, t + 1, m.d, m.intercept);
                const double resets = m.sums.resets;
                status = learn_row<P>(m, batch.y[t], weight_of(batch, t), follows ? m.next : nullptr, out.predictions[t]);
                if (out.resets && m.sums.resets > resets)
                    out.resets[out.reset_count++] = t;
            }
        }
        if (status != Status::done)
            return status;
        loaded = follows && action == Action::learn;
        if (loaded) {
            T* const swap = m.x;
            m.x = m.next;
            m.next = swap;
        }
        snapshot(out, m.w, m.d, t);
        out.done = t + 1;
    }
    m.ready = false;
    return Status::done;
}

// Calls act with the number of panels as a constant where it is small.
template <class T, class Act> DRIFTLINE_INLINE Status with_size(const SecondOrderState<T>& m, Act&& act) {
    switch (m.additive ? 0 : m.factor.size / panel_width<T>) {
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
    default:
        return act.template operator()<0>();
    }
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
