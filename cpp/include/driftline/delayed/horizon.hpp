// Mixes a learner's forecasts with those of the series' experts, step by step.
//
// At each step, a forecast's weight is its prior times a power of its discounted mean squared error. The memory is a quarter
// of the labels, because a learner's first errors say little about its next ones. The power grows with the memory, more
// slowly at later steps, where the errors of neighbouring rows are alike. The weights for row t at step k are those of its
// origin: they rest on the labels through row t - k.
#pragma once

#include "driftline/delayed/experts.hpp"

namespace driftline {

// Forecasts of one row at all steps, and how their errors are spread.
struct Mixed {
    double* prediction;
    double* ratio;   // the size of the mixture's errors in units of the learner's
    double* scale;   // of the mixture's errors, by those of all steps; 0 until there are some
    double* freedom; // labels that the scale rests on
    double* link;    // the correlation of this step's error with that of the step before, from the same origin
};

class Horizon {
  public:
    Horizon(Index steps, std::vector<Index> seasons)
        : steps_(steps), series_(std::move(seasons)), squares_(size(steps * members)), weight_(size(steps)),
          sizes_(size(2 * steps)), spreads_(size(2 * steps)), links_(size(steps)), last_errors_(size(steps), unknown),
          origins_(size(steps * steps * numbers)) {
        for (Index o = 0; o < steps_; ++o)
            for (Index k = 0; k < steps_; ++k)
                rest(o, k);
    }

    Index steps() const { return steps_; }

    // Mixes the learner's forecasts of a row at all steps (NaN: no forecast), then learns the row's label (NaN: unknown).
    void row(const double* said, double y, const Mixed& out) {
        for (Index k = 0; k < steps_; ++k)
            mix(rows_ > static_cast<double>(k) ? entry(rows_ - 1 - static_cast<double>(k), k) : nullptr, said[k], k, out);
        errors_.resize(size(steps_));
        for (Index k = 0; k < steps_; ++k) {
            const double* const from =
                rows_ > static_cast<double>(k) ? entry(rows_ - 1 - static_cast<double>(k), k) : nullptr;
            const bool known = from && from[ready] > 0 && is_known(out.prediction[k]) && is_known(y);
            errors_[size(k)] = known ? saturate(y - out.prediction[k], 1e145) : unknown;
            if (known)
                learn(k, from, said[k], out.prediction[k], y);
        }
        last_errors_.swap(errors_);
        series_.learn(y);
        ++rows_;
        keep_origin();
    }
    // Mixes the learner's forecasts of the next rows.
    void forecast(const double* said, Index rows, const Mixed& out) {
        for (Index k = 0; k < rows; ++k)
            mix(rows_ > 0 ? entry(rows_ - 1, k) : nullptr, said[k], k, out);
    }
    // The weights of the learner and the experts at a step.
    void weights(Index step, double* out) const {
        for (Index e = 0; e < members; ++e)
            out[e] = e == 0;
        if (series_.is_fitted())
            weigh(step, out);
    }

    static constexpr Index members = 1 + SeriesExperts::count;
    const SeriesExperts& series() const { return series_; }
    SeriesExperts& series() { return series_; }
    template <class Act> void visit(Act&& act) {
        act(&rows_, 1);
        for (std::vector<double>* const all : {&squares_, &weight_, &sizes_, &origins_})
            act(all->data(), static_cast<Index>(all->size()));
        act(last_errors_.data(), steps_, "links");
        act(links_.data(), steps_, "links");
        act(spreads_.data(), 2 * steps_, "spreads");
    }
    bool good() const {
        const auto whole = [](const std::vector<double>& all) {
            return std::all_of(all.begin(), all.end(), [](double one) { return one >= 0; });
        };
        return rows_ >= 0 && rows_ < 9e15 && rows_ == std::floor(rows_) && whole(squares_) && whole(weight_) &&
               whole(sizes_);
    }

  private:
    // What is kept of an origin for each step: the experts' forecasts, and how they are mixed.
    enum Entry : Index { share = SeriesExperts::count, others, relative, ready, scale, freedom, link, numbers };
    // The memory in rows, and as a part of the labels.
    static constexpr double memory = 0.25, least_memory = 30, most_memory = 1000;
    static constexpr double power = 0.3, most_power = 15, per_step = 0.5;
    static constexpr double first_rows = 10; // from origins before, every forecast is a guess, which says little
    static constexpr std::array<double, members> prior{3, 1, 1, 1.5, 0.2};

    static constexpr double unknown = DBL_MAX;
    // A step's scale is shrunk towards a line through the scales of all steps, which counts as `borrowed` labels of its own.
    // Labels of later steps count less.
    static constexpr double borrowed = 5, per_later = 0.5, shrink_links = 3;

    void mix(const double* from, double said, Index k, const Mixed& out) const {
        out.prediction[k] = from ? from[share] * said + from[others] : said;
        out.ratio[k] = from ? from[relative] : 1;
        out.scale[k] = from ? from[scale] : 0;
        out.freedom[k] = from ? from[freedom] : 0;
        out.link[k] = from ? from[link] : 0;
    }
    static std::size_t size(Index n) { return static_cast<std::size_t>(n); }
    double* entry(double origin, Index k) {
        return &origins_[size((static_cast<Index>(origin) % steps_ * steps_ + k) * numbers)];
    }
    void rest(Index o, Index k) {
        double* const to = &origins_[size((o * steps_ + k) * numbers)];
        std::fill_n(to, numbers, 0.0);
        to[share] = to[relative] = 1;
    }
    void learn(Index k, const double* from, double said, double mixed, double y) {
        double* const squares = &squares_[size(k * members)];
        const double rows = memory * (rows_ - static_cast<double>(k) - first_rows);
        const double keep = 1 - 1 / std::clamp(rows, least_memory, most_memory);
        for (Index e = 0; e < members; ++e) {
            const double error = y - (e == 0 ? said : from[e - 1]);
            squares[e] = keep * squares[e] + at_most(error * error, 1e290);
        }
        weight_[k] = keep * weight_[k] + 1;
        const double error = errors_[size(k)], before = k > 0 ? last_errors_[size(k - 1)] : unknown;
        spreads_[size(2 * k)] = keep * spreads_[size(2 * k)] + error * error;
        spreads_[size(2 * k + 1)] = keep * keep * spreads_[size(2 * k + 1)] + 1;
        links_[size(k)] = keep * links_[size(k)] + (before != unknown ? error * before : 0);
        sizes_[2 * k] = keep * sizes_[2 * k] + at_most(std::fabs(y - said), 1e290);
        sizes_[2 * k + 1] = keep * sizes_[2 * k + 1] + at_most(std::fabs(y - mixed), 1e290);
    }
    void weigh(Index k, double* out) const {
        const double* const squares = &squares_[size(k * members)];
        const double least = *std::min_element(squares, squares + members) + 1e-290;
        const double exponent = at_most(power * weight_[k] / (1 + per_step * static_cast<double>(k)), most_power);
        double total = 0;
        for (Index e = 0; e < members; ++e)
            total += out[e] = prior[e] * std::pow(least / (squares[e] + 1e-290), exponent);
        for (Index e = 0; e < members; ++e)
            out[e] /= total;
    }
    void keep_origin() {
        if (!series_.is_fitted()) {
            for (Index k = 0; k < steps_; ++k)
                rest(static_cast<Index>(rows_ - 1) % steps_, k);
            return;
        }
        forecasts_.resize(size(SeriesExperts::count * steps_));
        series_.forecast(forecasts_.data(), steps_);
        for (Index k = 0; k < steps_; ++k) {
            double* const to = entry(rows_ - 1, k);
            double weights[members];
            weigh(k, weights);
            to[share] = weights[0];
            to[others] = 0;
            for (Index e = 0; e < SeriesExperts::count; ++e) {
                to[e] = forecasts_[size(e * steps_ + k)];
                to[others] += weights[e + 1] * to[e];
            }
            to[ready] = rows_ >= first_rows;
            to[relative] = sizes_[2 * k] > 0 ? saturate_ratio(sizes_[2 * k + 1] / sizes_[2 * k]) : 1;
        }
        keep_spreads();
    }
    double variance(Index k) const { return spreads_[size(2 * k)] / weight_[k]; }
    // How many labels of the step count, as if they all had the same weight and independent errors.
    double labels_of(Index k) const {
        const double labels = weight_[k] > 0 ? weight_[k] * weight_[k] / spreads_[size(2 * k + 1)] : 0;
        return labels / (1 + per_later * static_cast<double>(k));
    }
    // Fits the line through the logarithms of the scales, with a slope between 0 and 1. The scales are shrunk towards it,
    // the links, which are the correlations of neighbouring steps, towards 0.
    void keep_spreads() {
        double total = 0, mean_x = 0, mean_v = 0, xx = 0, xv = 0;
        for (Index k = 0; k < steps_; ++k)
            if (const double labels = labels_of(k); labels > 0) {
                const double x = std::log1p(static_cast<double>(k)), v = std::log(variance(k) + 1e-300) / 2;
                total += labels;
                const double off = x - mean_x;
                mean_x += labels * off / total;
                xx += labels * off * (x - mean_x);
                xv += labels * off * (v - mean_v);
                mean_v += labels * (v - mean_v) / total;
            }
        const double slope = xx > 0 ? std::clamp(xv / xx, 0.0, 1.0) : 0.5;
        for (Index k = 0; k < steps_; ++k) {
            double* const to = entry(rows_ - 1, k);
            const double labels = labels_of(k);
            if (labels == 0)
                continue; // all later ones have none either
            const double line = std::exp(2 * (mean_v + slope * (std::log1p(static_cast<double>(k)) - mean_x)));
            to[scale] = std::sqrt((labels * variance(k) + borrowed * line) / (labels + borrowed));
            to[freedom] = labels + borrowed;
            double product = 0, sizes = 0;
            const Index reach = 1 + k / 4;
            for (Index j = std::max<Index>(1, k - reach); k > 0 && j <= std::min(steps_ - 1, k + reach); ++j)
                if (weight_[j] > 0 && variance(j) > 0 && variance(j - 1) > 0) {
                    const double unit = std::sqrt(variance(j) * variance(j - 1));
                    product += links_[size(j)] / unit;
                    sizes += weight_[j];
                }
            to[link] = std::clamp(product / (sizes + shrink_links), -0.99, 0.99);
        }
    }
    static double saturate_ratio(double ratio) { return std::clamp(ratio, 0.05, 2.0); }

    Index steps_;
    double rows_ = 0;
    SeriesExperts series_;
    std::vector<double> squares_, weight_; // discounted sums of squared errors by step and member, and of the rows
    std::vector<double> spreads_; // by step: discounted sums of the mixture's squared errors, and of squared weights
    std::vector<double> links_, last_errors_; // by step: products with the step before from the same origin; the last row's
    std::vector<double> sizes_;               // by step: discounted sums of the learner's and the mixture's absolute errors
    std::vector<double> origins_, forecasts_, errors_;
};

} // namespace driftline
