// Bernstein online aggregation (Wintenberger 2017) on linearised squared losses: exponential weights, with a learning
// rate per prediction that depends on the second moment of its regrets. Regrets decay, because experts change.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "driftline/base/range.hpp"

namespace driftline {

class Bernstein {
  public:
    explicit Bernstein(std::vector<double> prior)
        : prior_(std::move(prior)), parts_(prior_.size()), weights_(prior_), rates_(prior_.size()) {
        for (const double share : prior_)
            surprise_.push_back(-std::log(share));
        weigh(); // also needed after loading a state
    }

    Index count() const { return static_cast<Index>(prior_.size()); }
    const std::vector<double>& weights() const { return weights_; }
    double mix(const double* said) const {
        double total = 0;
        for (Index k = 0; k < count(); ++k)
            total += weights_[k] * said[k];
        return total;
    }
    // `mixed` is the mixture at prediction time, when the labels of the `delay` rows before were missing. Regrets of late
    // labels are correlated, so their squares count more.
    void learn(const double* said, double mixed, double y, double weight, Index delay) {
        const double alike = std::sqrt(static_cast<double>(delay + 1));
        double most = 0; // limit on one row's regret, once a usual size is known
        for (const Part& part : parts_)
            most = at_least(most, far_out * std::sqrt(part.squares / rows_));
        most = rows_ >= enough && most > 0 ? most : 1e145;
        rows_ = keep * rows_ + 1;
        for (Index k = 0; k < count(); ++k) {
            Part& part = parts_[k];
            const double regret = saturate(weight * regret_of(said[k], mixed, y), most);
            part.most = at_least(keep * part.most, std::fabs(regret));
            part.squares = at_most(keep * part.squares + alike * regret * regret, 1e290);
            if (part.most > 0) {
                const double eta = rates_[k] = rate(k);
                const double bonus = eta * regret > 0.5 ? bound(part.most) : 0;
                part.sum = saturate(keep * part.sum + 0.5 * (regret - eta * regret * regret + bonus), 1e290);
            }
        }
        weigh_by_rates();
    }
    template <class Act> void visit(Act&& act) {
        act(&rows_, 1);
        act(reinterpret_cast<double*>(parts_.data()), 3 * count());
    }
    void swap_prior(Index one, Index other) {
        std::swap(prior_[one], prior_[other]);
        std::swap(surprise_[one], surprise_[other]);
        weigh();
    }
    // Recomputes the weights after a state was loaded.
    void weigh() {
        for (Index k = 0; k < count(); ++k)
            if (parts_[k].most > 0)
                rates_[k] = rate(k);
        weigh_by_rates();
    }

  private:
    static constexpr double far_out = 100, enough = 64, keep = 0.998;
    struct Part {
        double sum = 0, squares = 0, most = 0; // statistics of the regrets
    };
    void weigh_by_rates() {
        double most = -HUGE_VAL, total = 0, largest = 0;
        for (const Part& part : parts_)
            largest = at_least(largest, part.most);
        for (Index k = 0; k < count(); ++k) {
            const double eta = parts_[k].most > 0 ? rates_[k] : largest > 0 ? 1 / bound(largest) : 1;
            weights_[k] = saturate(std::log(prior_[k] * eta) + eta * parts_[k].sum, DBL_MAX);
            most = at_least(most, weights_[k]);
        }
        for (double& weight : weights_)
            total += weight = std::exp(weight - most);
        for (double& weight : weights_)
            weight /= total;
    }
    static double regret_of(double said, double mixed, double y) {
        return 2 * saturate(mixed - y, 1e70) * saturate(mixed - said, 1e70);
    }
    static double bound(double most) { return std::exp2(std::ceil(std::log2(most))); }
    double rate(Index k) const {
        const double least = 1 / bound(parts_[k].most), own = std::sqrt(surprise_[k] / parts_[k].squares);
        return own < least ? own : least;
    }

    double rows_ = 0;
    std::vector<double> prior_;
    std::vector<Part> parts_;
    std::vector<double> weights_, rates_; // a rate is meaningful only after the first regrets
    std::vector<double> surprise_;        // -log of the prior
};

} // namespace driftline
