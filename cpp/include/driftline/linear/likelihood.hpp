// Convex losses of f = w.x other than the squared error, for generalised linear models; see GLM in Python.
//
// The label has the mean mu(f). A row is learned by the implicit step, which minimises (u - f)^2 / (2 r) + loss(u) over the
// new value u of w.x, where r is the variance x'S x over the row's noise. So the loss of a row never rises, however large r
// is. The row then adds its information, the curvature of the loss at u, to S^-1.
#pragma once

#include "driftline/linear/second_order_state.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

inline constexpr double largest_exponent = 700; // exp of it is finite

DRIFTLINE_INLINE double bounded_exp(double f) { return std::exp(saturate(f, largest_exponent)); }
DRIFTLINE_INLINE double sigmoid(double f) {
    const double e = std::exp(-std::fabs(f));
    return (f < 0 ? e : 1) / (1 + e);
}

// mu(f).
DRIFTLINE_INLINE double mean_of(Likelihood kind, double f) {
    switch (kind) {
    case Likelihood::poisson:
    case Likelihood::gamma:
        return bounded_exp(f);
    case Likelihood::logistic:
        return sigmoid(f);
    default:
        return f;
    }
}

// The variance of a label with the mean `mu`, where f has the variance s: that of the label given f, times rho, and
// mu'(f)^2 s.
DRIFTLINE_INLINE double variance_of(Likelihood kind, double mu, double rho, double s) {
    switch (kind) {
    case Likelihood::poisson:
        return at_most(rho * mu + mu * (mu * s), DBL_MAX);
    case Likelihood::gamma:
        return at_most(mu * mu * (rho + s), DBL_MAX);
    case Likelihood::logistic: {
        const double slope = at_least(DBL_MIN, mu * (1 - mu));
        return rho * slope + slope * slope * s;
    }
    default:
        return rho + s;
    }
}

// The variance of a label with the prediction `shown`, the noise rho and x'S x = s.
DRIFTLINE_INLINE double label_variance(const Policy& policy, double shown, double rho, double s) {
    return policy.has_mean() ? variance_of(policy.likelihood, shown, rho, s) : rho + s;
}
// The same for the next row, whose weight is 1.
DRIFTLINE_INLINE double label_variance(const Policy& policy, double shown, double s) {
    return label_variance(policy, shown, policy.complement ? at_least(policy.least_noise, 1 - s) : policy.noise, s);
}

// The factor of a shrunk prediction: 1/(rho + s) for weights of at most 1/least_noise, which is 1 while s < 1 - least_noise.
DRIFTLINE_INLINE double shrinkage(const Policy& policy, double one, double s) {
    if (policy.least_noise > 0) [[unlikely]]
        return one / at_least(one, policy.least_noise * one + s);
    return one / (one + s);
}

// The solution v > 0 of v + log v = z, by the iteration of Fritsch, Shafer and Crowley (1973), whose error falls with the
// fourth power: three steps reach the last digits.
inline double wright_omega(double z) {
    if (z < -50)
        return std::exp(z); // v is below the precision of z
    double v = z > 1 ? z - std::log(z) : std::exp(z < -2 ? z : 0.6 * (z - 1));
    for (int step = 0; step < 3; ++step) {
        const double rest = z - v - std::log(v), a = 1 + v, b = 2 * a * (a + 2 * rest / 3);
        v *= 1 + rest / a * (b - rest) / (b - 2 * rest);
    }
    return v;
}

// What the implicit step leads to: u, the slope of the loss there, and the information.
struct Implicit {
    double at, slope, information;
};

// Here and below, u and its slope are found by the one of two equal forms that loses no digits.
inline Implicit implicit_poisson(double f, double y, double r) {
    if (!(r > 0))
        return {f, bounded_exp(f) - y, bounded_exp(f)};
    const double sum = saturate(f + r * y, 1e300), log_r = std::log(r);
    const double v = wright_omega(log_r + sum), mu = v / r; // u + r exp(u) = f + r y, v = r exp(u)
    if (v < 1)
        return {sum - v, mu - y, mu};
    const double u = std::log(v) - log_r;
    return {u, (f - u) / r, mu};
}

inline Implicit implicit_gamma(double f, double y, double r) {
    if (!(r > 0))
        return {f, 1 - y * bounded_exp(-f), 1};
    const double sum = saturate(r - f, 1e300), log_ry = std::log(r) + std::log(y);
    const double v = wright_omega(log_ry + sum); // u - r y exp(-u) = f - r, v = r y exp(-u)
    if (v < 1)
        return {v - sum, 1 - v / r, 1};
    const double u = log_ry - std::log(v);
    return {u, (f - u) / r, 1};
}

// By Newton's method, between f + r (y - 1) and f + r y.
inline Implicit implicit_logistic(double f, double y, double r) {
    double low = f + r * (y - 1), high = f + r * y, p = 0, slope = 0;
    const auto look = [&](double u) {
        p = sigmoid(u);
        slope = (1 - y) * p - y * sigmoid(-u); // p - y, also where p is near 1
    };
    look(f);
    double u = f - r * slope / (1 + r * p * (1 - p));
    for (int step = 0; step < 100; ++step) {
        if (!(u > low && u < high))
            u = low + (high - low) / 2;
        look(u);
        const double rest = u - f + r * slope, move = rest / (1 + r * p * (1 - p));
        if (rest > 0)
            high = u;
        else
            low = u;
        u -= move;
        if (std::fabs(move) <= 1e-15 * (1 + std::fabs(u)))
            break;
    }
    look(u);
    return {u, r < 1 ? slope : (f - u) / r, p * (1 - p)};
}

inline Implicit implicit_huber(double threshold, double f, double y, double r) {
    const double error = f - y;
    if (std::fabs(error) <= threshold * (1 + r))
        return {y + error / (1 + r), error / (1 + r), 1};
    const double slope = std::copysign(threshold, error);
    return {f - r * slope, slope, 0};
}

// The pinball loss is multiplied by `unit`, which gives it the curvature 1 that the squared error has.
inline Implicit implicit_pinball(double level, double unit, double f, double y, double r) {
    const double above = (1 - level) * unit, below = -level * unit, error = f - y;
    const double slope = error > r * above ? above : error < r * below ? below : r > 0 ? error / r : 0;
    return {f - r * slope, slope, 1};
}

inline Implicit implicit_step(const Policy& policy, double unit, double f, double y, double r) {
    switch (policy.likelihood) {
    case Likelihood::poisson:
        return implicit_poisson(f, y, r);
    case Likelihood::gamma:
        return implicit_gamma(f, y, r);
    case Likelihood::logistic:
        return implicit_logistic(f, y, r);
    case Likelihood::huber:
        return implicit_huber(policy.parameter, f, y, r);
    default:
        return implicit_pinball(policy.parameter, unit, f, y, r);
    }
}

DRIFTLINE_INLINE double pinball_loss(double level, double error) { return error > 0 ? level * error : (level - 1) * error; }

} // namespace DRIFTLINE_ISA
} // namespace driftline
