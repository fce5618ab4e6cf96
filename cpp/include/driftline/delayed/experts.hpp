// Forecasts of a series from its labels alone, by four experts: exponential smoothing on the labels and on their
// logarithms, the theta method, and the last season or, without one, the drift method.
#pragma once

#include "driftline/delayed/smoothing.hpp"

namespace driftline {

// Simple exponential smoothing without the seasons, and half of the linear trend.
class Theta {
  public:
    void fit(const std::vector<double>& y, const Seasons& seasons) {
        start_ = decompose(y, seasons);
        for (Index s = 0; s < most_seasons; ++s)
            seasons_[s] = static_cast<Index>(start_.profile[s].size());
        row_ = 0;
        squares_.fill(0);
        levels_.fill(start_.level);
        for (const double value : y)
            learn(value);
    }
    void learn(double y) {
        if (const double rest = y - season(row_); is_known(rest))
            for (std::size_t k = 0; k < rates.size(); ++k) {
                const double error = rest - levels_[k];
                squares_[k] += error * error;
                levels_[k] += rates[k] * error;
            }
        ++row_;
    }
    void forecast(double* out, Index steps) const {
        const std::size_t best =
            static_cast<std::size_t>(std::min_element(squares_.begin(), squares_.end()) - squares_.begin());
        for (Index h = 0; h < steps; ++h)
            out[h] = levels_[best] + start_.slope / 2 * (static_cast<double>(h) + 1 / rates[best]) + season(row_ + h);
    }

  private:
    static constexpr std::array<double, 8> rates{0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 0.98};

    double season(Index row) const {
        double sum = 0;
        for (Index s = 0; s < most_seasons; ++s)
            if (seasons_[s] > 0)
                sum += start_.profile[s][row % seasons_[s]];
        return sum;
    }

    Decomposition start_;
    Seasons seasons_{};
    Index row_ = 0;
    std::array<double, rates.size()> squares_{}, levels_{};
};

class SeriesExperts {
  public:
    static constexpr Index count = 4;

    explicit SeriesExperts(std::vector<Index> seasons) : given_(std::move(seasons)) {}

    // Learns the next label; NaN if it is unknown.
    void learn(double y) {
        labels_.push_back(y);
        known_ += is_known(y);
        if (known_<least_rows&& static_cast<Index>(labels_.size())> most_window) {
            known_ -= is_known(labels_.front());
            labels_.erase(labels_.begin());
        }
        if (static_cast<Index>(labels_.size()) >= next_fit_ && known_ >= least_rows)
            refit();
        else if (is_fitted())
            step(y);
    }
    bool is_fitted() const { return fitted_ > 0; }
    // Whether trends and seasons multiply, which suits the labels better than that they add.
    bool is_relative() const { return relative_; }
    const Seasons& seasons() const { return seasons_; }

    // Writes the forecasts of the experts, (count, steps).
    void forecast(double* out, Index steps) const {
        additive_.forecast(out, steps);
        if (positive_)
            multiplicative_.forecast(out + steps, steps);
        else
            std::copy_n(out, steps, out + steps);
        theta_.forecast(out + 2 * steps, steps);
        for (Index h = 0; h < 2 * steps && positive_; ++h)
            out[steps + h] = std::exp(at_most(out[steps + h], 700));
        repeat(out + 3 * steps, steps);
        for (Index h = 0; h < count * steps; ++h)
            out[h] = std::clamp(out[h], low_ - 2 * (high_ - low_), high_ + 2 * (high_ - low_));
    }

    // The state: the labels of the window, how many there were at the last fit, and the one from which the next follows.
    const std::vector<double>& labels() const { return labels_; }
    Index fitted() const { return fitted_; }
    // False if learning cannot lead there.
    bool restore(std::vector<double> labels, Index fitted) {
        *this = SeriesExperts(given_);
        const Index all = static_cast<Index>(labels.size());
        const auto known = std::count_if(labels.begin(), labels.begin() + std::clamp<Index>(fitted, 0, all), is_known);
        if (fitted < 0 || fitted > all || all > 2 * most_window || (fitted > 0 && known < least_rows))
            return false;
        for (Index t = 0; t < all; ++t) {
            labels_.push_back(labels[t]);
            known_ += is_known(labels[t]);
            if (t + 1 == fitted)
                fit();
            else if (t + 1 > fitted && fitted > 0)
                step(labels[t]);
        }
        return true;
    }

  private:
    static constexpr Index least_rows = 4, usual_window = 1000, most_window = 2000, window_seasons = 6;

    void refit() {
        const Index n = static_cast<Index>(labels_.size());
        seasons_ = choose(labels_);
        const Index longest = std::max(seasons_[0], seasons_[1]);
        const Index window = std::clamp(window_seasons * longest, usual_window, most_window);
        if (n > window) {
            for (Index t = 0; t < n - window; ++t)
                known_ -= is_known(labels_[t]);
            labels_.erase(labels_.begin(), labels_.begin() + (n - window));
        }
        if (known_ < least_rows)
            fitted_ = next_fit_ = 0;
        else
            fit();
    }
    void fit() {
        seasons_ = choose(labels_);
        low_ = HUGE_VAL;
        high_ = -HUGE_VAL;
        for (const double y : labels_)
            if (is_known(y))
                reach(y);
        fitted_ = static_cast<Index>(labels_.size());
        next_fit_ = fitted_ + std::clamp<Index>(fitted_ / 20, 1, 100);
        additive_.fit(labels_, seasons_);
        positive_ = low_ > 0;
        std::vector<double> logs;
        double jacobian = 0, count = 0;
        if (positive_) {
            for (const double y : labels_) {
                logs.push_back(std::log(y));
                jacobian += is_known(y) ? logs.back() : 0;
                count += is_known(y);
            }
            multiplicative_.fit(logs, seasons_);
        }
        relative_ = positive_ && multiplicative_.log_variance() + 2 * jacobian / count < additive_.log_variance();
        theta_.fit(positive_ ? logs : labels_, seasons_);
    }
    void step(double y) {
        if (is_known(y))
            reach(y);
        additive_.learn(y);
        if (positive_ && y <= 0) // the next fit is without logarithms
            y = smallest_;
        if (positive_)
            multiplicative_.learn(std::log(y));
        theta_.learn(positive_ ? std::log(y) : y);
    }
    void reach(double y) {
        low_ = at_most(y, low_);
        high_ = at_least(y, high_);
        if (y > 0)
            smallest_ = at_most(y, smallest_);
    }
    Seasons choose(const std::vector<double>& y) const {
        if (given_.empty())
            return find_seasons(y);
        Seasons out{};
        Index found = 0;
        for (const Index season : given_)
            if (found < most_seasons && static_cast<Index>(y.size()) >= 2 * season)
                out[found++] = season;
        return out;
    }
    void repeat(double* out, Index steps) const {
        const Index n = static_cast<Index>(labels_.size()), season = std::max(seasons_[0], seasons_[1]);
        Index first = 0, last = n - 1;
        while (!is_known(labels_[first]))
            ++first;
        while (!is_known(labels_[last]))
            --last;
        const double slope = last > first ? (labels_[last] - labels_[first]) / static_cast<double>(last - first) : 0;
        for (Index h = 0; h < steps; ++h) {
            Index t = -1;
            if (season > 0)
                for (t = n + h - (h / season + 1) * season; t >= 0 && !is_known(labels_[t]);)
                    t -= season;
            out[h] = t >= 0 ? labels_[t] : labels_[last] + slope * static_cast<double>(n + h - last);
        }
    }

    std::vector<Index> given_;
    std::vector<double> labels_;
    Index known_ = 0, fitted_ = 0, next_fit_ = 0;
    Seasons seasons_{};
    bool positive_ = false, relative_ = false;
    double low_ = HUGE_VAL, high_ = -HUGE_VAL, smallest_ = HUGE_VAL;
    SmoothingGrid additive_, multiplicative_;
    Theta theta_;
};

} // namespace driftline
