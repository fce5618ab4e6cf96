// What was usual of a series before a change: a regression on the inputs and on its own earlier values, whose innovations
// have Student's t-distribution with three degrees of freedom.
//
// A hypothesis says how the rows since the change would have to be altered to be usual again. Its gain is the
// log-likelihood of these rows if it holds, less that if nothing changed. Innovations are linear in the parameters of every
// hypothesis, so none of them needs a new fit.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "driftline/events/kinds.hpp"

namespace driftline::events {

inline constexpr Index most_before = 1024, fewest_before = 64, most_inputs = 32, most_lagged_inputs = 12;
inline constexpr Index seasons[] = {7, 12, 24, 48, 96, 144, 168, 288, 336};
// Degrees of freedom to choose from, and the logarithms of the densities at 0.
inline constexpr double freedoms[] = {3, 8, 30}, log_peaks[] = {-1.0008, -0.9501, -0.9273};

// The scale of t-distributed numbers by expectation maximisation.
inline double scale_of(const double* w, Index count, double freedom) {
    double square = 0;
    for (Index i = 0; i < count; ++i)
        square += w[i] * w[i];
    square /= static_cast<double>(std::max<Index>(count, 1));
    const double least = 1e-4 * square;
    for (int turn = 0; turn < 12 && square > 0; ++turn) {
        double sum = 0;
        for (Index i = 0; i < count; ++i)
            sum += w[i] * w[i] * (freedom + 1) / (freedom + w[i] * w[i] / square);
        square = at_least(least, sum / static_cast<double>(count));
    }
    return std::sqrt(square);
}

// The lag at which changes from row to row repeat best; 0 if they do not repeat.
inline Index find_season(const double* values, Index count) {
    Index best = 0;
    double most = 0.3;
    for (const Index lag : seasons) {
        if (count < 3 * lag || count - lag < fewest_before)
            continue;
        double products = 0, before = 0, now = 0;
        for (Index i = lag + 1; i < count; ++i) {
            const double step = values[i] - values[i - 1], earlier = values[i - lag] - values[i - lag - 1];
            products += step * earlier, before += earlier * earlier, now += step * step;
        }
        if (const double alike = products / std::sqrt(before * now); alike > most)
            most = alike, best = lag;
    }
    return best;
}

struct Usual {
    Index from = 0, onset = 0, stop = 0; // the rows before, and those since
    const double* labels = nullptr;
    Rows rows{};
    std::vector<Index> used;            // inputs that vary
    std::vector<double> centre, spread; // of these
    std::vector<Index> lags;
    std::vector<double> beta; // 1, inputs, inputs one row before, lags
    double mean = 0, deviation = 0, scale = 0, freedom = 3;
    double mean_log = 0; // of the density of an innovation before
    double clipped = 0;  // the mean of the clipped squares of innovations, in units of the scale
    bool lagged_inputs = false;
    std::vector<double> v, w; // standardized labels of all rows; innovations since the onset
    double usual_log = 0;     // of the rows since the onset if nothing changed
    double informed = 0;      // rows since whose value is new: neither 0 nor the one before
    double explained = 0;     // share of the labels' variance that the regression explains

    Index since() const { return stop - onset; }
    // Relative to the density at 0.
    double log_density(double e, double s) const { return -0.5 * (freedom + 1) * std::log1p(e * e / (freedom * s * s)); }
    double input(std::size_t k, Index row) const {
        if (row < 0 || row >= rows.count)
            return 0;
        const double value = (rows.inputs[used[k]][row] - centre[k]) / spread[k];
        return value == value ? value : 0;
    }
    double standard(Index row) const { return (labels[row] - mean) / deviation; }

    // Fits the regression; returns false if there are too few rows.
    bool fit(const Rows& all, const double* series, bool with_inputs, Index first, Index start, Index end,
             bool thorough = true) {
        rows = all;
        labels = series;
        from = std::max(first, start - most_before), onset = start, stop = end;
        const Index count = onset - from;
        if (count < fewest_before || since() < 0)
            return false;
        moments(labels, mean, deviation);
        if (!(deviation > 0) || !std::isfinite(deviation))
            return false;
        v.resize(static_cast<std::size_t>(stop));
        for (Index i = 0; i < stop; ++i)
            v[static_cast<std::size_t>(i)] = std::isfinite(labels[i]) ? standard(i) : 0;
        used.clear(), centre.clear(), spread.clear();
        for (Index j = 0; with_inputs && j < rows.width && std::ssize(used) < std::min(most_inputs, count / 12); ++j) {
            double m, s;
            moments(rows.inputs[j], m, s);
            if (s > 1e-9 * std::fabs(m) && std::isfinite(s)) {
                used.push_back(j), centre.push_back(m), spread.push_back(s);
            }
        }
        lagged_inputs = thorough && std::ssize(used) <= most_lagged_inputs && count > 16 * std::ssize(used);
        lags = {1, 2};
        if (const Index season = find_season(v.data() + from, onset - from); season > 0) {
            lags.push_back(season);
            lags.push_back(season + 1);
        }
        return solve(thorough ? 2 : 1);
    }

    void moments(const double* of, double& m, double& s) const {
        double n = 0, total = 0, squares = 0;
        for (Index i = from; i < onset; ++i)
            if (std::isfinite(of[i])) {
                ++n;
                total += of[i];
            }
        m = n > 0 ? total / n : 0;
        for (Index i = from; i < onset; ++i)
            if (std::isfinite(of[i]))
                squares += (of[i] - m) * (of[i] - m);
        s = n > 0 ? std::sqrt(squares / n) : 0;
    }

    // The share of rows before whose value is that of the row before.
    double ties() const {
        double equal = 0;
        for (Index i = from + 1; i < onset; ++i)
            equal += labels[i] == labels[i - 1];
        return equal / static_cast<double>(onset - from);
    }

    Index size() const { return 1 + std::ssize(used) * (lagged_inputs ? 2 : 1) + std::ssize(lags); }
    // The regressors of a row, whose inputs are those `shift` rows later. value(i) is the label of row i.
    template <class Value> void regressors(Index row, Index shift, double* z, Value&& value) const {
        *z++ = 1;
        for (std::size_t k = 0; k < used.size(); ++k)
            *z++ = input(k, row + shift);
        for (std::size_t k = 0; lagged_inputs && k < used.size(); ++k)
            *z++ = input(k, row + shift - 1);
        for (const Index lag : lags)
            *z++ = value(row - lag);
    }

    bool solve(int passes) {
        const Index p = size(), start = from + lags.back();
        const auto n = static_cast<std::size_t>(p);
        if (onset - start < 2 * p + 16)
            return false;
        std::vector<double> gram(n * n), right(n), z(n), residual;
        const auto value = [this](Index row) { return v[static_cast<std::size_t>(row)]; };
        beta.assign(n, 0);
        for (int pass = 0; pass < passes; ++pass) {
            std::fill(gram.begin(), gram.end(), 0);
            std::fill(right.begin(), right.end(), 0);
            for (Index i = start; i < onset; ++i) {
                regressors(i, 0, z.data(), value);
                double weight = 1;
                if (pass > 0) {
                    const double e = residual[static_cast<std::size_t>(i - start)];
                    weight = (freedom + 1) / (freedom + e * e / (scale * scale));
                }
                for (std::size_t a = 0; a < n; ++a) {
                    const double za = weight * z[a];
                    for (std::size_t b = 0; b <= a; ++b)
                        gram[a * n + b] += za * z[b];
                    right[a] += za * value(i);
                }
            }
            const double ridge = 1e-3 * static_cast<double>(onset - start) / std::sqrt(static_cast<double>(onset - start));
            for (std::size_t a = 1; a < n; ++a)
                gram[a * n + a] += ridge;
            if (!cholesky(gram, right, n))
                return false;
            beta = right;
            residual.resize(static_cast<std::size_t>(onset - start));
            double squares = 0, total = 0;
            for (Index i = start; i < onset; ++i) {
                const double e = value(i) - fitted(i, 0, z.data(), value);
                residual[static_cast<std::size_t>(i - start)] = e;
                squares += e * e, total += value(i) * value(i);
            }
            explained = total > 0 ? 1 - squares / total : 0;
            scale = at_least(1e-9, scale_of(residual.data(), onset - start, freedom));
        }
        if (passes == 1) {
            clipped = 1;
            for (int turn = 0; turn < 3; ++turn) {
                double sum = 0;
                for (const double e : residual)
                    sum += at_most(e * e / (scale * scale), 9 * clipped);
                clipped = sum / static_cast<double>(residual.size());
            }
            return true;
        }
        choose_freedom(residual);
        move(onset);
        return std::isfinite(usual_log);
    }
    void choose_freedom(const std::vector<double>& residual) {
        const auto n = static_cast<double>(residual.size());
        double squares = 0, best = -HUGE_VAL;
        for (const double e : residual)
            squares += e * e;
        const double least = at_least(1e-9, 0.2 * std::sqrt(squares / n)); // that of a mostly constant series is too small
        double chosen_scale = scale, chosen = freedom;
        for (int k = 0; k < 3; ++k) {
            freedom = freedoms[k];
            const double now = at_least(least, scale_of(residual.data(), std::ssize(residual), freedom));
            double log = n * (log_peaks[k] - std::log(now));
            for (const double e : residual)
                log += log_density(e, now);
            if (log > best)
                best = log, chosen = freedom, chosen_scale = now;
        }
        freedom = chosen, scale = chosen_scale;
        mean_log = 0;
        for (const double e : residual)
            mean_log += log_density(e, scale) / n;
    }
    // Sets another onset, not before the first.
    void move(Index to) {
        onset = to;
        std::vector<double> z(beta.size());
        const auto value = [this](Index row) { return v[static_cast<std::size_t>(row)]; };
        w.resize(static_cast<std::size_t>(since()));
        usual_log = informed = 0;
        for (Index i = onset; i < stop; ++i) {
            informed += labels[i] != 0 && labels[i] != labels[i - 1];
            w[static_cast<std::size_t>(i - onset)] = innovation(i, 0, z.data(), value);
            usual_log += log_density(w[static_cast<std::size_t>(i - onset)], scale);
        }
    }

    template <class Value> double fitted(Index row, Index shift, double* z, Value&& value) const {
        regressors(row, shift, z, value);
        double sum = 0;
        for (std::size_t a = 0; a < beta.size(); ++a)
            sum += beta[a] * z[a];
        return sum;
    }
    template <class Value> double innovation(Index row, Index shift, double* z, Value&& value) const {
        return std::isfinite(labels[row]) ? value(row) - fitted(row, shift, z, value) : 0;
    }

    // The innovations of the latest rows of a longer series, in units of their scale.
    void follow(const Rows& all, Index first, Index count, double* to) {
        rows = all, labels = all.labels;
        if (first >= lags.back() && !lagged_inputs && follow_whole(first, count, to))
            return;
        double z[1 + 2 * most_inputs + 4];
        const auto value = [this](Index row) {
            const double number = row >= 0 ? standard(row) : 0;
            return number == number ? number : 0;
        };
        for (Index i = 0; i < count; ++i)
            to[i] = std::isfinite(labels[first + i]) ? (value(first + i) - fitted(first + i, 0, z, value)) / scale
                                                     : std::nan("");
    }
    // The same, column by column; false if a value is missing.
    bool follow_whole(Index first, Index count, double* to) const {
        double constant = -beta[0] - mean / deviation;
        const double* phi = beta.data() + 1 + used.size();
        for (std::size_t l = 0; l < lags.size(); ++l)
            constant += phi[l] * mean / deviation;
        for (std::size_t k = 0; k < used.size(); ++k)
            constant += beta[1 + k] * centre[k] / spread[k];
        for (Index i = 0; i < count; ++i)
            to[i] = constant + labels[first + i] / deviation;
        const auto subtract = [&](double factor, const double* from) {
            for (Index i = 0; i < count; ++i)
                to[i] -= factor * from[i];
        };
        for (std::size_t k = 0; k < used.size(); ++k)
            subtract(beta[1 + k] / spread[k], rows.inputs[used[k]] + first);
        for (std::size_t l = 0; l < lags.size(); ++l)
            subtract(phi[l] / deviation, labels + first - lags[l]);
        bool whole = true;
        for (Index i = 0; i < count; ++i) {
            to[i] /= scale;
            whole = whole && std::isfinite(to[i]);
        }
        return whole;
    }

    static bool cholesky(std::vector<double>& a, std::vector<double>& b, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
                double sum = a[i * n + j];
                for (std::size_t k = 0; k < j; ++k)
                    sum -= a[i * n + k] * a[j * n + k];
                if (i == j) {
                    if (!(sum > 0))
                        return false;
                    a[i * n + i] = std::sqrt(sum);
                } else
                    a[i * n + j] = sum / a[j * n + j];
            }
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t k = 0; k < i; ++k)
                b[i] -= a[i * n + k] * b[k];
            b[i] /= a[i * n + i];
        }
        for (std::size_t i = n; i-- > 0;) {
            for (std::size_t k = i + 1; k < n; ++k)
                b[i] -= a[k * n + i] * b[k];
            b[i] /= a[i * n + i];
        }
        return true;
    }

    // What a change of h in the labels since the onset does to the innovations.
    template <class Change> std::vector<double> filtered(Change&& h) const {
        std::vector<double> g(static_cast<std::size_t>(since()));
        const double* phi = beta.data() + (beta.size() - lags.size());
        for (Index i = onset; i < stop; ++i) {
            double sum = h(i);
            for (std::size_t l = 0; l < lags.size(); ++l)
                if (i - lags[l] >= onset)
                    sum -= phi[l] * h(i - lags[l]);
            g[static_cast<std::size_t>(i - onset)] = sum;
        }
        return g;
    }

    double log_of(double delta, const std::vector<double>& g) const {
        double sum = 0;
        for (std::size_t i = 0; i < w.size(); ++i)
            sum += log_density(w[i] - delta * g[i], scale);
        return sum;
    }
    // The best delta for labels that changed by delta * h, whose filtered form is g; its gain.
    double added(const std::vector<double>& g, double& delta) const {
        double best = 0, steps[3] = {0, 0, 0};
        delta = 0;
        double up = 0, down = 1e-12;
        for (std::size_t i = 0; i < w.size(); ++i)
            up += g[i] * w[i], down += g[i] * g[i];
        steps[0] = up / down;
        if (std::fabs(g[0]) > 1e-6)
            steps[1] = w[0] / g[0];
        const std::size_t late = w.size() / 2;
        if (late > 0) {
            up = 0, down = 1e-12;
            for (std::size_t i = late; i < w.size(); ++i)
                up += g[i] * w[i], down += g[i] * g[i];
            steps[2] = up / down;
        }
        for (double now : steps) {
            for (int turn = 0; turn < 6; ++turn) {
                double a = 0, b = 1e-12;
                for (std::size_t i = 0; i < w.size(); ++i) {
                    const double e = w[i] - now * g[i];
                    const double weight = 1 / (freedom + e * e / (scale * scale));
                    a += weight * g[i] * w[i], b += weight * g[i] * g[i];
                }
                now = a / b;
            }
            if (const double gain = log_of(now, g) - usual_log; gain > best)
                best = gain, delta = now;
        }
        return best;
    }
    // The same for labels that were multiplied by a factor about -q deviations from their mean.
    double multiplied(double q, double& factor) const {
        const auto g = filtered([&](Index i) { return v[static_cast<std::size_t>(i)] + q; });
        const double n = informed;
        factor = 1;
        if (n < 16)
            return 0;
        const auto gain = [&](double log_factor) {
            return log_of(1 - std::exp(-log_factor), g) - n * log_factor - usual_log;
        };
        double best = 0, at = 0;
        for (int k = -20; k <= 20; ++k)
            if (const double found = gain(0.17 * k); found > best)
                best = found, at = 0.17 * k;
        for (double step = 0.085; step > 0.002; step /= 2)
            for (const double near : {at - step, at + step})
                if (const double found = gain(near); found > best)
                    best = found, at = near;
        factor = std::exp(at);
        return best;
    }
    // The same for labels that were multiplied by a given `factor` and moved by a given `offset`: nothing is fitted.
    double converted(double factor, double offset) const {
        double sum = 0;
        if (informed < 16)
            return 0;
        const auto g = filtered([&](Index i) {
            const double now = labels[i], then = (now - offset) / factor;
            return std::isfinite(now) ? (now - then) / deviation : 0;
        });
        for (std::size_t i = 0; i < w.size(); ++i)
            sum += log_density(w[i] - g[i], scale);
        return sum - informed * std::log(std::fabs(factor)) - usual_log;
    }
    // The gain if innovations are `factor` times as large.
    double noisier(double& factor) const {
        factor = scale_of(w.data(), since(), freedom) / scale;
        double sum = 0;
        for (const double e : w)
            sum += log_density(e, factor * scale);
        return sum - static_cast<double>(w.size()) * std::log(factor) - usual_log;
    }
    // The gain if a few labels are wrong: each costs `cost`. Also how many.
    double few(Index most, double cost, Index& count) const {
        std::vector<double> series(v.begin(), v.begin() + stop), z(beta.size());
        const auto value = [&](Index row) { return series[static_cast<std::size_t>(row)]; };
        double sum = 0;
        count = 0;
        for (Index i = onset; i < stop; ++i) {
            const double e = innovation(i, 0, z.data(), value);
            const double plain = log_density(e, scale);
            if (count < most && plain < -cost - 2) {
                // Wrong, or the first of a change that lasts? Compare the next rows with and without it.
                const double kept = series[static_cast<std::size_t>(i)];
                double with = plain, without = -cost;
                const Index next = std::min(i + 3, stop);
                for (Index k = i + 1; k < next; ++k)
                    with += log_density(innovation(k, 0, z.data(), value), scale);
                series[static_cast<std::size_t>(i)] = kept - e;
                for (Index k = i + 1; k < next; ++k)
                    without += at_least(-cost, log_density(innovation(k, 0, z.data(), value), scale));
                if (without > with) {
                    ++count;
                    sum -= cost;
                    continue;
                }
                series[static_cast<std::size_t>(i)] = kept;
            }
            sum += plain;
        }
        return sum - usual_log;
    }
    // The gain if labels belong to inputs `by` rows later than theirs, or earlier if it is negative.
    double shifted(Index by) const {
        std::vector<double> z(beta.size());
        double sum = 0;
        for (Index i = onset; i < stop; ++i) {
            bool known = i + by < rows.count && i + by >= 0;
            for (const Index lag : lags)
                known = known && (i - lag >= onset || (i - lag + by < onset && i - lag + by >= 0));
            const auto value = [&](Index row) { return v[static_cast<std::size_t>(row >= onset ? row : row + by)]; };
            sum += known ? log_density(innovation(i, by, z.data(), value), scale) : mean_log - 1;
        }
        return sum - usual_log;
    }
};

} // namespace driftline::events
