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
          origins_(size(steps * steps * numbers)), grown_(size((powers - 1) * steps * 3)),
          grown_origins_(size(steps * steps * (1 + powers))) {
        for (Index o = 0; o < steps_; ++o)
            for (Index k = 0; k < steps_; ++k)
                rest(o, k);
    }

    Index steps() const { return steps_; }

    // Mixes the learner's forecasts of a row at all steps (NaN: no forecast), then learns the row's label (NaN: unknown).
    void row(const double* said, double y, const Mixed& out) {
        for (Index k = 0; k < steps_; ++k)
            mix(origin_of(k), said[k], k, out);
        errors_.resize(size(steps_));
        judge(out, y);
        for (Index k = 0; k < steps_; ++k) {
            const double* const from = origin_of(k);
            const bool known = is_judged(from, out.prediction[k], y);
            errors_[size(k)] = known ? saturate(y - out.prediction[k], 1e145) : unknown;
            if (known)
                learn(k, from, said[k], out.prediction[k], y);
        }
        last_errors_.swap(errors_);
        if (is_known(y)) {
            ++labels_[count];
            labels_[mean] += (y - labels_[mean]) / labels_[count];
            labels_[least] = labels_[count] > 1 ? std::min(labels_[least], y) : y;
        }
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
        act(likelihoods_.data(), powers, "growing spreads");
        act(labels_.data(), 3, "growing spreads");
        for (std::vector<double>* const all : {&grown_, &grown_origins_})
            act(all->data(), static_cast<Index>(all->size()), "growing spreads");
    }
    bool good() const {
        const auto whole = [](const std::vector<double>& all) {
            return std::all_of(all.begin(), all.end(), [](double one) { return one >= 0; });
        };
        return rows_ >= 0 && rows_ < 9e15 && rows_ == std::floor(rows_) && whole(squares_) && whole(weight_) &&
               whole(sizes_) && whole(grown_) && whole(grown_origins_) && labels_[count] >= 0;
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
    // The errors' scale may grow with the prediction, in proportion to its root or to itself. Scales of all three kinds are
    // averaged, each weighted by a power of the likelihood of earlier errors.
    static constexpr Index powers = 3;
    static constexpr double tempered = 0.6, likelihood_memory = 1000, degrees = 5, least_freedom = 6;
    static constexpr double least_part = 0.1; // of the mean label; smaller predictions have errors like this one's
    enum Label : Index { count, mean, least };
    static double power_of(Index p) { return static_cast<double>(p) / (powers - 1); }

    void mix(const double* from, double said, Index k, const Mixed& out) const {
        out.prediction[k] = from ? from[share] * said + from[others] : said;
        out.ratio[k] = from ? from[relative] : 1;
        out.scale[k] = from ? from[scale] * std::pow(base(out.prediction[k]), *grown_entry(from)) : 0;
        out.freedom[k] = from ? from[freedom] : 0;
        out.link[k] = from ? from[link] : 0;
    }
    // The part of the prediction that scales grow with.
    double base(double prediction) const {
        return labels_[least] > 0 ? std::clamp(prediction, least_part * labels_[mean], 1e145) : 1;
    }
    bool may_grow() const { return labels_[count] > 0 && labels_[least] > 0; }
    // The origin of the next row at a step; none if it is before the first row.
    const double* origin_of(Index k) {
        return rows_ > static_cast<double>(k) ? entry(rows_ - 1 - static_cast<double>(k), k) : nullptr;
    }
    static bool is_judged(const double* from, double prediction, double y) {
        return from && from[ready] > 0 && is_known(prediction) && is_known(y);
    }
    // An origin's exponent of the base, and its scales of each kind.
    const double* grown_entry(const double* from) const {
        return &grown_origins_[size((from - origins_.data()) / numbers * (1 + powers))];
    }
    double* grown_entry(const double* from) {
        return const_cast<double*>(static_cast<const Horizon*>(this)->grown_entry(from));
    }
    // Compares the kinds of scales by the likelihood of a row's errors, which have heavy tails.
    void judge(const Mixed& out, double y) {
        if (!may_grow())
            return;
        std::array<double, powers> gained{};
        double total = 0;
        for (Index k = 0; k < steps_; ++k) {
            const double part = 1 / (1 + per_later * static_cast<double>(k));
            const double* const from = origin_of(k);
            total += part;
            if (!is_judged(from, out.prediction[k], y) || from[freedom] < least_freedom)
                continue;
            const double* const scales = grown_entry(from) + 1;
            if (*std::min_element(scales, scales + powers) <= 0)
                continue;
            for (Index p = 0; p < powers; ++p) {
                const double wide = scales[p] * std::pow(base(out.prediction[k]), power_of(p)) + 1e-290;
                const double off = saturate((y - out.prediction[k]) / wide, 1e100);
                gained[size(p)] -= part * (std::log(wide) + (degrees + 1) / 2 * std::log1p(off * off / degrees));
            }
        }
        for (Index p = 0; p < powers; ++p)
            likelihoods_[size(p)] += gained[size(p)] / total - likelihoods_[size(p)] / likelihood_memory;
        const double best = *std::max_element(likelihoods_.begin(), likelihoods_.end());
        for (double& each : likelihoods_)
            each -= best;
    }
    static std::size_t size(Index n) { return static_cast<std::size_t>(n); }
    double* entry(double origin, Index k) {
        return &origins_[size((static_cast<Index>(origin) % steps_ * steps_ + k) * numbers)];
    }
    void rest(Index o, Index k) {
        double* const to = &origins_[size((o * steps_ + k) * numbers)];
        std::fill_n(to, numbers, 0.0);
        to[share] = to[relative] = 1;
        std::fill_n(grown_entry(to), 1 + powers, 0.0);
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
        if (may_grow())
            for (Index p = 1; p < powers; ++p) {
                double* const sums = &grown_[size(((p - 1) * steps_ + k) * 3)];
                const double off = saturate(error / std::pow(base(mixed), power_of(p)), 1e145);
                sums[0] = keep * sums[0] + off * off;
                sums[1] = keep * sums[1] + 1;
                sums[2] = keep * keep * sums[2] + 1;
            }
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
    // The discounted sum of squared errors, in units of the base's power, of weights, and of squared weights.
    std::array<double, 3> sums(Index p, Index k) const {
        if (p == 0)
            return {spreads_[size(2 * k)], weight_[k], spreads_[size(2 * k + 1)]};
        const double* const from = &grown_[size(((p - 1) * steps_ + k) * 3)];
        return {from[0], from[1], from[2]};
    }
    double variance(Index k, Index p = 0) const {
        const auto [squares, weight, weights] = sums(p, k);
        return squares / weight;
    }
    // How many labels of the step count, as if they all had the same weight and independent errors.
    double labels_of(Index k, Index p = 0) const {
        const auto [squares, weight, weights] = sums(p, k);
        return (weight > 0 ? weight * weight / weights : 0) / (1 + per_later * static_cast<double>(k));
    }
    // Fits the line through the logarithms of the scales, with a slope between 0 and 1, and shrinks them towards it. Steps
    // without labels have the scale 0.
    void shrink(Index p) {
        double total = 0, mean_x = 0, mean_v = 0, xx = 0, xv = 0;
        for (Index k = 0; k < steps_; ++k)
            if (const double labels = labels_of(k, p); labels > 0) {
                const double x = std::log1p(static_cast<double>(k)), v = std::log(variance(k, p) + 1e-300) / 2;
                total += labels;
                const double off = x - mean_x;
                mean_x += labels * off / total;
                xx += labels * off * (x - mean_x);
                xv += labels * off * (v - mean_v);
                mean_v += labels * (v - mean_v) / total;
            }
        const double slope = xx > 0 ? std::clamp(xv / xx, 0.0, 1.0) : 0.5;
        for (Index k = 0; k < steps_; ++k) {
            const double labels = labels_of(k, p);
            const double line = std::exp(2 * (mean_v + slope * (std::log1p(static_cast<double>(k)) - mean_x)));
            const double found = (labels * (labels > 0 ? variance(k, p) : 0) + borrowed * line) / (labels + borrowed);
            grown_entry(entry(rows_ - 1, k))[1 + p] = labels > 0 ? std::sqrt(found) : 0;
        }
    }
    // The scales of the steps, the average of those of each kind, and the links, which are the correlations of neighbouring
    // steps, shrunk towards 0.
    void keep_spreads() {
        const Index kinds = may_grow() ? powers : 1;
        for (Index p = 0; p < kinds; ++p)
            shrink(p);
        for (Index k = 0; k < steps_; ++k) {
            double* const to = entry(rows_ - 1, k);
            double* const grown = grown_entry(to);
            std::fill(grown + 1 + kinds, grown + 1 + powers, 0.0);
            const double labels = labels_of(k);
            *grown = 0;
            if (labels == 0)
                continue; // all later ones have none either
            double total = 0, logarithms = 0;
            for (Index p = 0; p < kinds; ++p) {
                if (p > 0 && (grown[1 + p] <= 0 || labels_of(k, p) + borrowed < least_freedom))
                    continue;
                const double part = std::exp(tempered * likelihoods_[size(p)]);
                total += part;
                logarithms += part * std::log(grown[1 + p] + 1e-300);
                *grown += part * power_of(p);
            }
            *grown /= total;
            to[scale] = grown[1] > 0 ? std::exp(logarithms / total) : 0;
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
    std::array<double, powers> likelihoods_{};  // by kind, in logarithms, below the largest
    std::array<double, 3> labels_{};            // their number, mean and minimum
    std::vector<double> grown_, grown_origins_; // by kind and step: the sums; by origin: what `grown_entry` returns
};

} // namespace driftline
