// What a second-order model computes for a row before its label: w.x, x'S x, and the effect of time on S.
#pragma once

#include <algorithm>
#include <vector>

#include "driftline/linear/likelihood.hpp"
#include "driftline/linear/reset.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// The model's view of a row before its label: S after the effect of time, s = x'S x, f = w.x. A row too large to square is
// scaled: the recursion treats (x, y, rho) and (c x, c y, c^2 rho) alike.
struct View {
    double keep = 1, drift = 0; // the forgetting factor, the added drift
    Growth growth;
    double scale = 1, s = 0, f = 0, norm2 = 0;
    double share = 1;    // of the weight that a late row still has
    bool passed = false; // the time before the row is in the view
    bool scaled = false;
    bool held = false; // a number of this row exceeds the type's range or precision
};

// The initial view, if the effect of time does not depend on the row.
template <class T> DRIFTLINE_INLINE View usual_view(const SecondOrderState<T>& m) {
    const Policy& policy = m.policy;
    View view;
    view.growth.cap = variance_cap<T>;
    if (policy.time == Time::divide) {
        view.keep = policy.amount;
        view.growth.grow = 1 / view.keep;
        if (!policy.keep_prior) // else S stays near its start, or below
            view.growth.watch = policy.reset == Reset::none ? policy.start : at_least(1, policy.start);
    } else if (policy.time == Time::add) {
        view.drift = policy.amount;
    }
    return view;
}

// Sizes are fixed for factors only.
template <int G, class T> DRIFTLINE_INLINE bool is_additive(const SecondOrderState<T>& m) { return G == 0 && m.additive; }

template <class T> DRIFTLINE_ONCE void form_products(SecondOrderState<T>& m) {
    if (m.additive)
        multiply(m.packed, m.x);
    else
        multiply(m.factor, m.x);
    if (m.guard.u)
        multiply(m.guard, m.x);
    m.ready = true;
}

// |x|^2 is not clipped: it is not finite if x is not.
template <class T> DRIFTLINE_INLINE void look(const SecondOrderState<T>& m, View& view, Index size) {
    dot_and_norm(m.w, m.x, size, view.f, view.norm2);
    if (!std::isfinite(view.f)) [[unlikely]]
        view.f = far_dot(m.w, m.x, 1, m.d);
}

// How many units have passed since the latest row; negative for a row that comes late. A row without a time is one unit
// after the row before it, and so is the first row with one.
template <class T> DRIFTLINE_INLINE double units_since(const SecondOrderState<T>& m, double at, double last) {
    return m.policy.unit > 0 && m.sums.timed > 0 && !std::isnan(at) ? (at - last) / m.policy.unit : 1;
}
template <class T> DRIFTLINE_INLINE double units_since(const SecondOrderState<T>& m) {
    return units_since(m, m.at, m.sums.last_time);
}
// The units from one unit before the first row with a time until the latest.
template <class T> DRIFTLINE_INLINE double units_so_far(const SecondOrderState<T>& m) {
    return m.sums.timed > 0 ? (m.sums.last_time - m.sums.first_time) / m.policy.unit + 1 : 0;
}
// The forgetting factor of that many units.
inline double keep_over(const Policy& policy, double units) {
    return units == 1 ? policy.amount : at_least(least_keep, std::exp(policy.decay * units));
}
// The effect of time on S before a row with a time. A row that comes late is learned as of its time, and S keeps that of the
// latest: the row has since lost weight to forgetting, or its target has moved, which is more noise.
template <class T> DRIFTLINE_ONCE void pass_time(const SecondOrderState<T>& m, View& view, double units) {
    const Policy& policy = m.policy;
    const bool late = units < 0;
    if (policy.time == Time::divide) {
        const double keep = keep_over(policy, std::fabs(units));
        view.keep = late ? 1 : keep;
        view.share = late ? keep : 1;
        view.growth.grow = 1 / view.keep;
    } else if (policy.time == Time::add) {
        const double drift = at_most(policy.amount * std::fabs(units), largest_start<T>);
        view.drift = late ? 0 : drift;
        view.share = late ? at_least(least_keep, 1 / (1 + drift * view.norm2 / policy.noise)) : 1;
    }
}
// The effect of time before the rows of a batch, if each follows the one before it: some rows at once, since the exponential
// function is slow for one.
class StepsOfTime {
  public:
    StepsOfTime(const Policy& policy, const Batch& batch) : policy_(policy), batch_(batch) {}
    // Whether the factors of row t are those of the time since `last`.
    DRIFTLINE_INLINE bool have(Index t, double last) {
        if (t == 0 || batch_.times[t - 1] != last)
            return false;
        if (t < first_ || t >= first_ + some_)
            compute(t);
        return batch_.times[t] >= last;
    }
    DRIFTLINE_INLINE double keep(Index t) const { return keep_[t - first_]; }
    DRIFTLINE_INLINE double grow(Index t) const { return grow_[t - first_]; }

  private:
    static constexpr Index some_ = 64;
    // 2^f for |f| <= 1/2 by Taylor's series, whose rest is below 1e-17; the whole part of the exponent is added to the bits.
    DRIFTLINE_ONCE void compute(Index t) {
        constexpr double least = -332, magic = 6755399441055744.0; // 1.5 * 2^52: adding it rounds, and leaves the low bits
        const double binary = policy_.decay / 0.693147180559945309417, unit = policy_.unit;
        const Index rows = batch_.rows - t < some_ ? batch_.rows - t : some_;
        const double* const times = batch_.times + t;
        first_ = t;
        for (Index i = 0; i < rows; ++i)
            grow_[i] = (times[i] - times[i - 1]) / unit;
        for (Index i = rows; i < some_; ++i)
            grow_[i] = 0;
        for (Index i = 0; i < rows; i += lanes<double>) {
            const Doubles units = load_doubles(grow_ + i);
            const Doubles power = larger(smaller(units * binary, all(0.0)), all(least)), moved = rounded(power + magic);
            const Doubles z = (power - (moved - magic)) * 0.693147180559945309417;
            Doubles e = all(1.0 / 6227020800);
            for (const double factor :
                 {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0})
                e = e * z + 1 / factor;
            using Bits = Vec<Index, lanes<double>>;
            const Bits bits = reinterpret_cast<Bits>(e) + (reinterpret_cast<Bits>(moved) << 52);
            const Doubles keep = units == 1.0 ? all(policy_.amount) : reinterpret_cast<Doubles>(bits);
            store_doubles(keep_ + i, keep);
            store_doubles(grow_ + i, 1 / keep);
        }
    }

    const Policy& policy_;
    const Batch& batch_;
    Index first_ = -some_;
    alignas(64) double keep_[some_], grow_[some_];
};

// The same for a row of a batch, if it is known from many rows at once.
template <class T> DRIFTLINE_INLINE void pass_known(const SecondOrderState<T>& m, StepsOfTime& steps, Index t, View& view) {
    view.passed = m.policy.time == Time::divide && m.policy.unit > 0 && m.sums.timed > 0 && steps.have(t, m.sums.last_time);
    if (view.passed) {
        view.keep = steps.keep(t);
        view.growth.grow = steps.grow(t);
    }
}

template <class T> DRIFTLINE_INLINE void note_time(SecondOrderState<T>& m) {
    Sums& sums = m.sums;
    if (std::isnan(m.at)) [[likely]]
        return;
    sums.first_time = sums.timed > 0 ? at_most(sums.first_time, m.at) : m.at;
    sums.last_time = sums.timed > 0 ? at_least(sums.last_time, m.at) : m.at;
    sums.timed += 1;
}

// The effect of time before this row, or `later` rows ahead, if it differs from row to row.
template <class T>
DRIFTLINE_INLINE Status look_up_forgetting(const SecondOrderState<T>& m, View& view, double at, double last,
                                           Index later = 0) {
    view.norm2 = at_most(view.norm2, DBL_MAX);
    if (m.policy.growth_limit > 0) [[unlikely]] {
        const double most = allowed_growth<T> * m.policy.noise / at_least(view.norm2, m.sums.largest_norm2);
        view.growth.watch = growth_room * at_most(at_least(m.policy.growth_limit * m.policy.start, most), largest_start<T>);
    }
    if (m.forgetting.values) [[unlikely]] { // for division only
        const Index t = static_cast<Index>(m.sums.rows) + 1 + later;
        if (!m.forgetting.covers(t))
            return Status::needs_forgetting;
        view.keep = m.forgetting.at(t);
        view.growth.grow = 1 / view.keep;
    } else if (!std::isnan(at) && !view.passed) [[unlikely]] {
        if (const double units = units_since(m, at, last); units != 1)
            pass_time(m, view, units);
    }
    return Status::done;
}

template <class T> DRIFTLINE_INLINE Status look_up_forgetting(const SecondOrderState<T>& m, View& view) {
    return look_up_forgetting(m, view, m.at, m.sums.last_time);
}

// Repairs the positive definiteness of a packed S, by raising each diagonal entry by the same fraction of itself.
template <class T> DRIFTLINE_ONCE void repair(SecondOrderState<T>& m) {
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

// s of a packed S. In exact arithmetic it is at least drift |x|^2: less means that S is no longer positive definite.
template <class T> DRIFTLINE_INLINE double project_packed(SecondOrderState<T>& m, const View& view) {
    const double s = project(m.packed, m.x, view.drift), least = view.drift * view.norm2;
    if (view.scaled || !(s < 0.5 * least)) [[likely]]
        return s;
    repair(m);
    form_products(m);
    return at_least(least, project(m.packed, m.x, view.drift));
}

// An f_j below this fraction of its terms is only their rounding.
template <class T> DRIFTLINE_INLINE double rounding_share(Index d) {
    return 16 * (sizeof(T) == 8 ? DBL_EPSILON : static_cast<double>(FLT_EPSILON)) * (1 + std::sqrt(static_cast<double>(d)));
}
template <class T> inline constexpr double resolution = sizeof(T) == 8 ? 1e16 : 1e7;

// Forgetting lets D_j grow without bound while no row excites its direction u_j, and a row does not excite it if
// f_j = u_j.x is only the rounding of its terms: such an f_j is set to 0. Directions that rows excite, however weakly, are
// not capped, until the rounding of u_j itself would count as excitation: if a row does not reduce D_j, D_j is capped at
// `resolution` rho / (sum of |u_ij x_i|)^2, or at its start if that is larger. Works on the stored copy of the row; true if
// it capped something.
template <class T> DRIFTLINE_ONCE bool hold_growth(SecondOrderState<T>& m, double watch) {
    const double share = rounding_share<T>(m.d);
    const double noise = m.policy.complement ? 1 : m.policy.noise;
    T* const product = m.factor.product;
    double* const grown = m.factor.grown;
    bool cut = false;
    for (Index j = 0; j < m.d; ++j) {
        if (grown[j] <= watch)
            continue;
        const T* u = m.factor.u + panel_index<T>(0, j);
        const double terms = absolute_terms(u, m.x, panel_rows<T>(j / panel_width<T>));
        const double f = static_cast<double>(product[j]);
        if (!(terms <= DBL_MAX)) // S left the range, which s must show
            continue;
        if (std::fabs(f) <= share * terms)
            product[j] = 0;
        const double most = at_least(watch, resolution<T> * noise / (terms * terms));
        if (grown[j] > most && grown[j] * f * f <= noise) {
            grown[j] = most;
            cut = true;
        }
    }
    return cut;
}

// A row whose s is too large is looked at again, scaled. If s is still not finite, S has left the range of its type, and is
// restarted if the row is learned. Everything that uses the row or the view is inlined: a call that takes their address
// would keep them out of registers for every row.
template <int G, class T>
DRIFTLINE_INLINE void look_at_variance(SecondOrderState<T>& m, Row<G, T>& row, View& view, bool learns) {
    for (;;) {
        if (!m.ready) [[unlikely]] {
            form_products(m);
            fetch_product(m.factor, row);
        }
        view.s = is_additive<G>(m) ? project_packed(m, view) : project(m.factor, row, view.growth);
        if (view.growth.watched && m.policy.growth_limit == 0) [[unlikely]] {
            store_row(m.factor, row);
            view.growth.capped |= hold_growth(m, view.growth.watch);
            fetch_product(m.factor, row);
            fetch_grown(m.factor, row);
            view.s = weigh(row);
        }
        if (view.s <= largest_s<T>) [[likely]]
            return;
        if (!view.scaled) {
            view.scale = scale_row(m.x, m.d);
            view.scaled = true;
            m.ready = false;
        } else if (view.s <= DBL_MAX || !learns) {
            return;
        } else {
            restart_variance(m);
            view.growth.watched = view.growth.capped = false;
            learns = false; // one restart is enough
        }
    }
}

// The view of a row by the S that will be restarted when the row is learned; nothing changes.
template <class T> DRIFTLINE_ONCE void look_at_restarted(SecondOrderState<T>& m, Row<0, T>& row, View& view) {
    T* const matrix = m.additive ? m.packed.s : m.factor.u;
    const std::vector<T> entries(matrix, matrix + panel_elements<T>(m.d));
    const std::vector<double> diagonal(m.factor.d, m.factor.d + m.factor.size);
    reset(m, m.policy.start);
    view.growth.watched = view.growth.capped = false;
    look_at_variance(m, row, view, false);
    std::copy(entries.begin(), entries.end(), matrix);
    std::copy(diagonal.begin(), diagonal.end(), m.factor.d);
    m.ready = false;
}

// The mean of a label of a generalised linear model.
template <class T> DRIFTLINE_ONCE double predicted_mean(const SecondOrderState<T>& m, double f) {
    const Likelihood kind = m.policy.likelihood;
    const bool grows = kind == Likelihood::poisson || kind == Likelihood::gamma;
    const double least = kind == Likelihood::poisson ? 1 : 0, mean = mean_of(kind, f);
    const double most =
        grows && m.sums.rows >= enough_labels ? largest_reach * at_least(least, m.sums.largest_label) : DBL_MAX;
    return m.policy.predictions.hold(at_most(mean, most));
}

template <class T> DRIFTLINE_INLINE double predicted(const SecondOrderState<T>& m, const View& view) {
    const Policy& policy = m.policy;
    if (policy.has_mean()) [[unlikely]]
        return predicted_mean(m, view.f);
    return policy.predictions.hold(policy.shrink ? view.f * shrinkage(policy, view.scale * view.scale, view.s) : view.f);
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
