// The first predictions: not too far from the newest label, and with a share of it.
//
// While few labels are known, the final mixture may overshoot. It is therefore held within one and a half times the largest
// distance between a label and the newest one known at its prediction. Where the newest label is often better still, the
// share of it that would have been best so far, by least squares, is shrunk by a few rows' worth of evidence for none. It is
// less the better the mixture has just been than the newest label, and moves the prediction by no more than about the size
// of the last errors: where a model fits almost exactly, a single row would otherwise cost more than all later ones. Both
// fade out between rows 30 and 60.
#pragma once

#include "driftline/base/range.hpp"

namespace driftline {

class FirstRows {
  public:
    static constexpr double full = 30, none = 60; // labels known while this counts in full, and from which it does not

    // `known` labels were known, the newest of which was `last`.
    double predict(double mixed, double last, Index known) const {
        const double part = faded(known);
        if (part == 0)
            return mixed;
        const double near = nearer(mixed, last, known), most = reach * std::sqrt((1 - recent) * errors_);
        return mixed + part * (near - mixed + saturate(share() * (last - near), most));
    }
    void learn(double mixed, double last, double y, double weight, Index known) {
        if (faded(known) == 0)
            return;
        const double near = nearer(mixed, last, known);
        const double apart = held(last - near), error = held(y - near), other = held(y - last);
        products_ = keep * products_ + weight * error * apart;
        squares_ = keep * squares_ + weight * apart * apart;
        rows_ = keep * rows_ + weight;
        errors_ = recent * errors_ + weight * error * error;
        others_ = recent * others_ + weight * other * other;
        largest_ = at_least(largest_, std::fabs(other));
    }
    template <class Act> void visit(Act&& act) {
        act(&products_, 1);
        act(&squares_, 1);
        act(&rows_, 1);
        act(&errors_, 1);
        act(&others_, 1);
        act(&largest_, 1);
    }

  private:
    static constexpr double keep = 0.98, recent = 0.2, prior = 2, least_ratio = 0.6, most_ratio = 1.1, reach = 0.8,
                            farthest = 1.5;
    static constexpr Index least_known = 3;
    static double held(double value) { return saturate(value, 1e140); }
    static double part(double value) { return at_most(at_least(0, value), 1); }
    static double faded(Index known) { return part((none - static_cast<double>(known)) / (none - full)); }
    double nearer(double mixed, double last, Index known) const {
        return known < least_known || largest_ == 0 ? mixed : last + saturate(mixed - last, farthest * largest_);
    }
    double share() const {
        if (!(squares_ > 0) || !(rows_ > 0))
            return 0;
        const double best = part(products_ / (squares_ * (1 + prior / rows_)));
        const double ratio = others_ > 0 ? errors_ / others_ : 1;
        return best * part((ratio - least_ratio) / (most_ratio - least_ratio));
    }

    double products_ = 0, squares_ = 0, rows_ = 0; // of the mixture's errors and its distances from the newest label
    double errors_ = 0, others_ = 0;               // recent squared errors of the mixture and of the newest label
    double largest_ = 0;                           // distance of a label from the newest one at its prediction
};

} // namespace driftline
