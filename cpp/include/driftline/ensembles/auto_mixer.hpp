// Combines the predictions of Auto's experts in three layers.
//
// (1) Likelihood-weighted mixtures of the experts, each with its own rate of forgetting past losses. With L the
// discounted sum of an expert's squared losses and n the discounted number of rows, its weight is L^(-n/2): the Gaussian
// likelihood at the maximum-likelihood variance, which needs no scale. (2) A second-order learner, the top layer,
// predicts the residual of the middle mixture from the experts' deviations from it. Mixing matches the best expert; this
// layer can beat it. (3) Mixtures of these predictions, again at several rates of forgetting, and a mixture of those.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "driftline/linear/second_order_model.hpp"

namespace driftline {

inline constexpr double largest_square = 1e280; // limit on a squared error

// Mixtures of `count` predictions, one per rate of forgetting.
class Mixtures {
  public:
    // `prior` holds the logarithms of the initial weights, which fade at each rate of forgetting.
    Mixtures(Index count, std::vector<double> keep, const std::vector<double>& prior)
        : count_(count), keep_(std::move(keep)), rows_(keep_.size()), losses_(keep_.size() * count),
          weights_(keep_.size() * count), squares_(count) {
        for (Index r = 0; r < rates(); ++r)
            prior_.insert(prior_.end(), prior.begin(), prior.end());
        weigh();
    }

    Index rates() const { return static_cast<Index>(keep_.size()); }
    const double* weights(Index rate) const { return weights_.data() + rate * count_; }
    double mixed(Index rate, const double* predictions) const {
        double total = 0;
        for (Index k = 0; k < count_; ++k)
            total += weights(rate)[k] * predictions[k];
        return total;
    }
    void learn(const double* predictions, double y, double weight) {
        const double before = least_;
        least_ = largest_square;
        for (Index k = 0; k < count_; ++k) {
            squares_[k] = (y - predictions[k]) * (y - predictions[k]);
            least_ = at_most(squares_[k], least_);
        }
        for (Index r = 0; r < rates(); ++r) {
            mixing_engine().discount(losses_.data() + r * count_, squares_.data(), count_, rows_[r], before, least_,
                                     keep_[r], weight);
            rows_[r] = at_most(keep_[r] * rows_[r] + weight, 1e290);
            for (Index k = 0; k < count_; ++k)
                prior_[r * count_ + k] *= keep_[r];
        }
        weigh();
    }

    // Notes the squared error of a row that is not learned: a second such row would count as a jump.
    void overlook(double square) { least_ = at_most(square, largest_square); }

    void temper_prior(double factor) {
        for (double& log_weight : prior_)
            log_weight *= factor;
        weigh();
    }

    void swap_prior(Index one, Index other) {
        for (Index r = 0; r < rates(); ++r)
            std::swap(prior_[r * count_ + one], prior_[r * count_ + other]);
        weigh();
    }

    template <class Act> void visit(Act&& act) {
        act(rows_.data(), rates());
        act(&least_, 1);
        act(losses_.data(), rates() * count_);
        act(prior_.data(), rates() * count_);
    }
    void weigh() {
        for (Index r = 0; r < rates(); ++r)
            mixing_engine().weigh(losses_.data() + r * count_, prior_.data() + r * count_, rows_[r],
                                  weights_.data() + r * count_, count_);
    }

  private:
    Index count_;
    std::vector<double> keep_, rows_, losses_, weights_, prior_, squares_;
    double least_ = 0; // smallest squared error of the last row
};

class Mixer {
  public:
    explicit Mixer(const std::vector<double>& prior)
        : experts_(static_cast<Index>(prior.size())), first_(experts_, {0.9, 0.98, 0.9998}, prior),
          second_(4, {0.9, 0.98, 0.9998}, {0, 0, 0, doubt}), last_(3, {0.998}, {0, 0, 0}),
          top_(experts_ + 2, false, on_top()) {
        top_.follow_no_coverage();
    }

    // Combines the experts' predictions into one.
    double mix(const double* expert) {
        mix_first(expert);
        double correction = 0;
        if (scale_ > 0)
            engine<double>().predict(top_.state, correction, nullptr);
        return mix_rest(expert, correction);
    }
    // Like mix, and then learns the label.
    double learn(const double* expert, double y, double weight) {
        mix_first(expert);
        double correction = 0;
        if (scale_ > 0)
            engine<double>().learn(top_.state, saturate((y - layer_[1]) / scale_, 1e30), weight, correction);
        const double shown = mix_rest(expert, correction);
        judge(expert, y, weight);
        return shown;
    }

    // Appends the intermediate results of the last prediction, starting with the experts' predictions.
    void append_to(const double* expert, std::vector<double>& said) const {
        said.insert(said.end(), expert, expert + experts_);
        said.insert(said.end(), layer_, layer_ + 4);
        said.insert(said.end(), second_layer_, second_layer_ + 3);
        said.insert(said.end(), top_.state.x, top_.state.x + top_.state.d);
        said.push_back(scale_);
    }
    Index record_size() const { return experts_ + 4 + 3 + top_.state.d + 1; }
    // Learns a late label from the intermediate results recorded when its row was predicted.
    void learn_late(const double* said, double y, double weight) {
        const double* from = said + experts_;
        std::copy(from, from + 4, layer_);
        std::copy(from + 4, from + 7, second_layer_);
        std::copy(from + 7, from + 7 + top_.state.d, top_.state.x);
        scale_ = said[record_size() - 1];
        top_.state.ready = false;
        double ignored = 0;
        if (scale_ > 0)
            engine<double>().learn(top_.state, saturate((y - layer_[1]) / scale_, 1e30), weight, ignored);
        judge(said, y, weight);
    }

    void overlook(double square) {
        for (Mixtures* mixtures : {&first_, &second_, &last_})
            mixtures->overlook(square);
    }
    // Flattens the experts' prior weights.
    void temper(double factor) { first_.temper_prior(factor); }

    // The share of each expert in the final mixture; the top layer's share goes to the mixture that it corrects.
    void shares(double* out) const {
        double of[4];
        shares_of_layer(of);
        of[1] += of[3];
        for (Index k = 0; k < experts_; ++k) {
            out[k] = 0;
            for (Index r = 0; r < 3; ++r)
                out[k] += of[r] * first_.weights(r)[k];
        }
    }
    // The derivative of the prediction by each expert's, assuming that nothing is clamped and that the top layer does not
    // shrink.
    double slopes(double* out) const {
        double of[4], moved = 0;
        shares_of_layer(of);
        for (Index k = 0; k < experts_; ++k)
            moved += top_.state.w[k];
        for (Index k = 0; k < experts_; ++k) {
            out[k] = of[3] * (top_.state.w[k] + (1 - moved) * first_.weights(1)[k]);
            for (Index r = 0; r < 3; ++r)
                out[k] += of[r] * first_.weights(r)[k];
        }
        return of[3];
    }

    template <class Act> void visit(Act&& act) {
        first_.visit(act);
        second_.visit(act);
        last_.visit(act);
        act(&residual_, 1);
        act(&squares_, 1);
        act(&rows_, 1);
        act(top_.state.w, top_.state.d);
        act(top_.matrix().data(), top_.matrix().size());
        act(top_.diagonal().data(), top_.diagonal().size());
        act(reinterpret_cast<double*>(&top_.state.sums), untimed_sums_count);
    }
    void weigh() {
        first_.weigh();
        second_.weigh();
        last_.weigh();
    }
    SecondOrderModel<double>& top() { return top_; }

  private:
    static constexpr double doubt = -4; // log of the top layer's prior weight
    static Policy on_top() {
        Policy policy;
        policy.start = 0.2;
        policy.shrink = true;
        return policy;
    }

    void judge(const double* expert, double y, double weight) {
        first_.learn(expert, y, weight);
        second_.learn(layer_, y, weight);
        last_.learn(second_layer_, y, weight);
        residual_ = saturate(y - layer_[1], DBL_MAX);
        squares_ = at_most(0.98 * squares_ + weight * residual_ * residual_, 1e290);
        rows_ = at_most(0.98 * rows_ + weight, 1e290);
    }
    void shares_of_layer(double* out) const {
        for (Index i = 0; i < 4; ++i) {
            out[i] = 0;
            for (Index r = 0; r < 3; ++r)
                out[i] += last_.weights(0)[r] * second_.weights(r)[i];
        }
    }
    // Computes the mixtures of the experts and the input row of the top layer. Deviations are scaled by the size of the
    // residuals and their own spread, so no row is large even after a sudden change.
    void mix_first(const double* expert) {
        for (Index r = 0; r < 3; ++r)
            layer_[r] = first_.mixed(r, expert);
        double* x = top_.state.x;
        double spread = 0;
        for (Index k = 0; k < experts_; ++k) {
            x[k] = expert[k] - layer_[1];
            spread += x[k] * x[k];
        }
        noise_ = rows_ > 0 ? squares_ / rows_ : 0;
        scale_ = std::sqrt(at_most(noise_ + spread / static_cast<double>(experts_), 1e290));
        const double one = scale_ > 0 ? 1 / scale_ : 0;
        for (Index k = 0; k < experts_; ++k)
            x[k] = at_most(at_least(-1e10, x[k] * one), 1e10);
        x[experts_] = at_most(at_least(-1e10, 0.3 * residual_ * one), 1e10);
        x[experts_ + 1] = 0.1;
    }
    double mix_rest(const double* expert, double correction) {
        layer_[3] = within_reach(expert, layer_[1] + scale_ * correction, std::sqrt(noise_));
        for (Index r = 0; r < 3; ++r)
            second_layer_[r] = second_.mixed(r, layer_);
        return last_.mixed(0, second_layer_);
    }
    // Clamps the top layer's prediction to the range of the experts with noticeable weight, widened by that range and
    // twice the noise.
    double within_reach(const double* expert, double value, double noise) const {
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (Index k = 0; k < experts_; ++k) {
            const double weight = at_least(first_.weights(0)[k], at_least(first_.weights(1)[k], first_.weights(2)[k]));
            if (weight > 1e-3) {
                low = at_most(low, expert[k]);
                high = at_least(high, expert[k]);
            }
        }
        const double reach = high - low + 2 * noise;
        return saturate(at_most(at_least(low - reach, value), high + reach), DBL_MAX);
    }

    Index experts_;
    Mixtures first_, second_, last_;
    SecondOrderModel<double> top_;
    double layer_[4] = {}, second_layer_[3] = {}, scale_ = 0, noise_ = 0, residual_ = 0, squares_ = 0, rows_ = 0;
};

} // namespace driftline
