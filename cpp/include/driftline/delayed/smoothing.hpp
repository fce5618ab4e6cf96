// Exponential smoothing of a series: forecasts of all steps ahead, from the labels alone.
//
// A grid of models in innovations form, each with a level, perhaps a damped trend, and perhaps one or two seasons:
//
//     f = l + phi b + s1 + s2;  e = y - f;  l = l + phi b + alpha e;  b = phi b + alpha beta e;  s += gamma (1 - alpha) e
//
// on the labels and, if they are all positive, on their logarithms, where seasons and trends multiply. The start values of a
// model come from a pass backwards in time, which begins with the season's profile. The models are weighted by the
// likelihood of the labels, with Akaike's correction for the number of parameters.
//
// Every now and then all models are fitted anew to a window of the last labels, whose length is bounded; in between, they
// take one step a label. So the state is the labels of the window.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "driftline/base/range.hpp"

namespace driftline {

inline constexpr Index most_seasons = 2, longest_season = 400;

// One model's parameters.
struct SmoothingRates {
    double level, trend, damping; // trend is a part of level's; 0 for no trend
    double season;
};

// The seasons of a series, the shorter one first; 0: none.
using Seasons = std::array<Index, most_seasons>;

// Profiles and trend that a series starts from.
struct Decomposition {
    std::array<std::vector<double>, most_seasons> profile; // by row of the window modulo the season
    double level = 0, slope = 0;                           // of the line through the labels without their seasons
};

inline bool is_known(double y) { return y == y; }

// Means of the known values of each phase, which sum to zero; `rest` loses them.
inline std::vector<double> take_profile(std::vector<double>& rest, const std::vector<double>& trend, Index season) {
    std::vector<double> sum(static_cast<std::size_t>(season)), count(sum), profile(sum);
    const Index n = static_cast<Index>(rest.size());
    for (Index t = 0; t < n; ++t)
        if (const double off = rest[t] - trend[t]; is_known(off)) {
            sum[t % season] += off;
            count[t % season] += 1;
        }
    double mean = 0;
    for (Index p = 0; p < season; ++p)
        mean += (profile[p] = count[p] > 0 ? sum[p] / count[p] : 0) / static_cast<double>(season);
    for (double& value : profile)
        value -= mean;
    for (Index t = 0; t < n; ++t)
        rest[t] -= profile[t % season];
    return profile;
}

// Centred means over a season, or NaN where the season does not fit.
inline std::vector<double> moving_means(const std::vector<double>& y, Index season) {
    const Index n = static_cast<Index>(y.size()), half = season / 2;
    const bool even = season % 2 == 0;
    std::vector<double> out(static_cast<std::size_t>(n), NAN), sum(static_cast<std::size_t>(n + 1)), count(sum);
    for (Index t = 0; t < n; ++t) {
        sum[t + 1] = sum[t] + (is_known(y[t]) ? y[t] : 0);
        count[t + 1] = count[t] + is_known(y[t]);
    }
    for (Index t = half; t + half < n; ++t) {
        double total = sum[t + half + 1] - sum[t - half], rows = count[t + half + 1] - count[t - half];
        for (const Index end : {t - half, t + half})
            if (even && is_known(y[end])) {
                total -= y[end] / 2;
                rows -= 0.5;
            }
        if (2 * rows > static_cast<double>(season))
            out[t] = total / rows;
    }
    return out;
}

inline void fit_line(const std::vector<double>& y, double& level, double& slope) {
    double n = 0, mean_t = 0, mean_y = 0, tt = 0, ty = 0;
    for (std::size_t t = 0; t < y.size(); ++t)
        if (is_known(y[t])) {
            n += 1;
            const double off_t = static_cast<double>(t) - mean_t, off_y = y[t] - mean_y;
            mean_t += off_t / n;
            mean_y += off_y / n;
            tt += off_t * (static_cast<double>(t) - mean_t);
            ty += off_t * (y[t] - mean_y);
        }
    slope = tt > 0 ? ty / tt : 0;
    level = mean_y - slope * mean_t;
}

// The seasons' profiles, the shorter one first, and a line through the rest.
inline Decomposition decompose(const std::vector<double>& y, const Seasons& seasons) {
    Decomposition out;
    std::vector<double> rest = y;
    for (Index s = 0; s < most_seasons && seasons[s] > 0; ++s)
        out.profile[s] = take_profile(rest, moving_means(rest, seasons[s]), seasons[s]);
    fit_line(rest, out.level, out.slope);
    return out;
}

// The state of a model between two labels.
class SmoothingState {
  public:
    SmoothingState(const SmoothingRates& rates, const Decomposition& start) : rates_(rates), profile_(start.profile) {
        seasons_ = static_cast<double>(
            std::max<std::size_t>(1, static_cast<std::size_t>(std::count_if(profile_.begin(), profile_.end(),
                                                                            [](const auto& one) { return !one.empty(); }))));
        for (Index s = 0; s < most_seasons; ++s)
            phase_[s] = 0;
    }
    void begin(double level, double trend) {
        level_ = level;
        trend_ = rates_.trend > 0 ? trend : 0;
    }
    double predict() const { return level_ + rates_.damping * trend_ + season_now(); }
    // Takes a step in time; returns the error, NaN for an unknown label.
    double step(double y, Index direction = 1) {
        const double moved = level_ + rates_.damping * trend_, error = y - moved - season_now();
        trend_ *= rates_.damping;
        level_ = moved;
        if (is_known(error)) {
            level_ += rates_.level * error;
            trend_ += rates_.level * rates_.trend * error;
            const double share = rates_.season * (1 - rates_.level) * error / seasons_;
            for (Index s = 0; s < most_seasons; ++s)
                if (!profile_[s].empty())
                    profile_[s][phase_[s]] += share;
        }
        move(direction);
        return error;
    }
    // The forecast `steps` ahead of the next label, added with a weight for each step.
    void add_forecasts(double weight, double* out, Index steps) const {
        double ahead = level_, trend = trend_;
        auto phase = phase_;
        for (Index h = 0; h < steps; ++h) {
            trend *= rates_.damping;
            ahead += trend;
            double f = ahead;
            for (Index s = 0; s < most_seasons; ++s)
                if (const Index season = static_cast<Index>(profile_[s].size()); season > 0) {
                    f += profile_[s][phase[s]];
                    phase[s] = phase[s] + 1 == season ? 0 : phase[s] + 1;
                }
            out[h] += weight * f;
        }
    }
    void set_row(Index row) {
        for (Index s = 0; s < most_seasons; ++s)
            phase_[s] = profile_[s].empty() ? 0 : row % static_cast<Index>(profile_[s].size());
    }
    // Turns around in time.
    void turn() { trend_ = -trend_; }

  private:
    double season_now() const {
        double sum = 0;
        for (Index s = 0; s < most_seasons; ++s)
            if (!profile_[s].empty())
                sum += profile_[s][phase_[s]];
        return sum;
    }
    void move(Index direction) {
        for (Index s = 0; s < most_seasons; ++s)
            if (const Index season = static_cast<Index>(profile_[s].size()); season > 0)
                phase_[s] = direction > 0 ? (phase_[s] + 1 == season ? 0 : phase_[s] + 1)
                                          : (phase_[s] == 0 ? season - 1 : phase_[s] - 1);
    }

    SmoothingRates rates_;
    double level_ = 0, trend_ = 0, seasons_ = 1;
    std::array<std::vector<double>, most_seasons> profile_;
    std::array<Index, most_seasons> phase_;
};

// A model with its likelihood.
struct Smoother {
    SmoothingState state;
    double parameters; // that were fitted
    double squares = 0, rows = 0;

    void learn(double y, double keep) {
        if (const double error = state.step(y); is_known(error)) {
            squares = keep * squares + error * error;
            rows = keep * rows + 1;
        }
    }
    // Twice the logarithm of the likelihood, negative, with the penalty.
    double criterion(double least) const {
        const double left = at_least(rows - parameters - 1, 0.5);
        return rows * std::log(squares / at_least(rows, 1) + least) + 2 * parameters * rows / left;
    }
};

// A weighted grid of models on one scale.
class SmoothingGrid {
  public:
    // Fits all models to the labels of a window.
    void fit(const std::vector<double>& y, const Seasons& seasons) {
        models_.clear();
        Seasons none{};
        double n = 0, mean = 0, squares = 0;
        for (const double value : y)
            if (is_known(value)) {
                n += 1;
                const double off = value - mean;
                mean += off / n;
                squares += off * (value - mean);
            }
        least_ = at_least(1e-8 * squares / at_least(n, 1), 1e-300);
        for (Index with = 0; with <= (seasons[0] > 0); ++with) {
            const Decomposition start = decompose(y, with ? seasons : none);
            double fitted = 1;
            for (Index s = 0; s < most_seasons && with; ++s)
                fitted += seasons[s] > 0 ? static_cast<double>(seasons[s] - 1) : 0;
            for (const double level : {0.02, 0.08, 0.2, 0.4, 0.65, 0.95})
                for (const auto& [trend, damping] : trends)
                    for (const double season : {0.0, 0.08, 0.25, 0.5}) {
                        if (!with && season > 0)
                            break;
                        fit({level, trend, damping, season}, start, y, fitted + 1 + 2 * (trend > 0) + (season > 0));
                    }
        }
        weigh();
    }
    void learn(double y) {
        for (Smoother& model : models_)
            model.learn(y, keep);
        weigh();
    }
    // Writes forecasts of the next labels.
    void forecast(double* out, Index steps) const {
        std::fill_n(out, steps, 0.0);
        for (std::size_t k = 0; k < models_.size(); ++k)
            if (weights_[k] > 0)
                models_[k].state.add_forecasts(weights_[k], out, steps);
    }
    // Of the errors one step ahead.
    double log_variance() const {
        double least = HUGE_VAL;
        for (const Smoother& model : models_)
            least = at_most(least, model.squares / at_least(model.rows, 1));
        return std::log(least + least_);
    }

  private:
    static constexpr double keep = 0.995;
    static constexpr std::array<std::array<double, 2>, 5> trends{
        {{0, 1}, {0.05, 0.9}, {0.3, 0.9}, {0.05, 0.98}, {0.2, 0.98}}};

    void fit(const SmoothingRates& rates, const Decomposition& start, const std::vector<double>& y, double parameters) {
        const Index n = static_cast<Index>(y.size());
        Smoother model{SmoothingState(rates, start), parameters, 0, 0};
        model.state.begin(start.level + start.slope * static_cast<double>(n), -start.slope);
        model.state.set_row(n - 1);
        for (Index t = n; t-- > 0;)
            model.state.step(y[t], -1);
        model.state.turn();
        model.state.set_row(0);
        for (const double value : y)
            model.learn(value, keep);
        models_.push_back(std::move(model));
    }
    void weigh() {
        weights_.assign(models_.size(), 0.0);
        std::vector<double> value(models_.size());
        for (std::size_t k = 0; k < models_.size(); ++k)
            value[k] = models_[k].criterion(least_);
        best_ = *std::min_element(value.begin(), value.end());
        double total = 0;
        for (std::size_t k = 0; k < models_.size(); ++k)
            if (value[k] - best_ < 14)
                total += weights_[k] = std::exp((best_ - value[k]) / 2);
        for (double& weight : weights_)
            weight /= total;
    }

    std::vector<Smoother> models_;
    std::vector<double> weights_;
    double best_ = 0, least_ = 0;
};

// How much of the variance around its moving means a season's profile explains, in cycles that it was not estimated from.
inline double explained(const std::vector<double>& y, Index season) {
    const std::vector<double> means = moving_means(y, season);
    std::vector<double> sum(static_cast<std::size_t>(season)), count(sum);
    for (std::size_t t = 0; t < y.size(); ++t)
        if (const double off = y[t] - means[t]; is_known(off)) {
            sum[t % season] += off;
            count[t % season] += 1;
        }
    double before = 0, after = 0;
    for (std::size_t t = 0; t < y.size(); ++t)
        if (const double off = y[t] - means[t], others = count[t % season] - 1; is_known(off) && others > 0) {
            const double rest = off - (sum[t % season] - off) / others;
            before += off * off;
            after += rest * rest;
        }
    return before > 0 ? 1 - after / before : 0;
}

inline Seasons find_seasons(const std::vector<double>& y) {
    static constexpr Index usual[] = {4, 5, 6, 7, 8, 12, 13, 24, 30, 48, 52, 96, 144, 168, 288, 336, 365};
    const Index n = static_cast<Index>(y.size());
    double most = 0;
    std::array<double, std::size(usual)> share{};
    for (std::size_t k = 0; k < std::size(usual); ++k)
        if (n >= 3 * usual[k])
            most = std::max(most, share[k] = explained(y, usual[k]));
    Seasons out{};
    if (most < 0.1)
        return out;
    std::size_t first = 0;
    while (share[first] < 0.7 * most)
        ++first;
    out[0] = usual[first];
    std::size_t best = first;
    for (std::size_t k = first + 1; k < std::size(usual); ++k)
        if (usual[k] % out[0] == 0 && share[k] > share[best])
            best = k;
    if (best != first && share[best] > share[first] + 0.2 * (1 - share[first]))
        out[1] = usual[best];
    return out;
}

} // namespace driftline
