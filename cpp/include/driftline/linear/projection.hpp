// The point of the ball nearest to w in the metric of S^-1: v = (I + a S)^-1 w with |v| = radius.
#pragma once

#include "driftline/linear/reset.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// Newton's iteration on 1/|v(a)| = 1/radius, which is monotone from a = 0, inside a shrinking bracket. w and radius are
// scaled by a power of two that brings w near 1; if the radius is then below 1e-150, the direction has converged.
template <class T> void project_on_ball(SecondOrderState<T>& m) {
    double *v = m.vector, *half = m.vector + m.d;
    double most = 0;
    for (Index j = 0; j < m.d; ++j)
        most = at_least(most, std::fabs(static_cast<double>(m.w[j])));
    const double factor = most > 0 ? std::ldexp(1.0, -std::ilogb(most)) : 1.0;
    const auto take_weights = [&] {
        for (Index j = 0; j < m.d; ++j)
            v[j] = static_cast<double>(m.w[j]) * factor;
    };
    take_weights();
    const double norm = std::sqrt(plain_dot(v, v, m.d));
    if (norm <= m.policy.radius * factor)
        return;
    if (m.sums.pending != 0) { // S is the identity
        for (Index j = 0; j < m.d; ++j)
            m.w[j] = static_cast<T>(v[j] * (m.policy.radius / norm));
        m.sums.projections += 1;
        return;
    }
    const double radius = at_least(1e-150, m.policy.radius * factor);
    to_scratch(m);
    symmetric_times(m.scratch, v, half, m.d);
    double slope = plain_dot(v, half, m.d); // v' S (I + a S)^-1 v
    double a = 0, low = 0, high = HUGE_VAL, length = norm;
    for (int round = 0; round < 60 && std::fabs(length - radius) > 1e-15 * radius; ++round) {
        (length > radius ? low : high) = a;
        double step = a + (length / radius - 1) * length * length / slope;
        if (!(step > low && step < high))
            step = high < HUGE_VAL ? 0.5 * (low + high) : 2 * a + 1;
        if (step == a)
            break;
        a = step;
        to_scratch(m);
        for (Index i = 0; i < m.d; ++i) {
            double* row = triangle_row(m.scratch, i);
            for (Index j = 0; j <= i; ++j)
                row[j] *= a;
            row[i] += 1;
        }
        take_weights();
        cholesky(m.scratch, m.d);
        solve_lower(m.scratch, v, m.d);
        solve_lower_transposed(m.scratch, v, m.d);
        length = std::sqrt(plain_dot(v, v, m.d));
        for (Index j = 0; j < m.d; ++j)
            half[j] = v[j];
        solve_lower(m.scratch, half, m.d);
        slope = (length * length - plain_dot(half, half, m.d)) / a;
    }
    if (!(length > 0 && std::isfinite(length))) { // a S left the range: use the point of the ball along w
        take_weights();
        length = norm;
    }
    for (Index j = 0; j < m.d; ++j)
        m.w[j] = static_cast<T>(v[j] * (m.policy.radius / length));
    m.sums.projections += 1;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
