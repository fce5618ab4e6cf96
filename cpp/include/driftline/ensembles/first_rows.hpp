// The share of the newest label in the first predictions.
//
// While few labels are known, the final mixture may overshoot, and the newest label is often the better prediction. The
// share of it that would have been best so far, by least squares, is shrunk by a few rows' worth of evidence for none. It is
// less the better the mixture has recently been than the newest label, and fades out between rows 50 and 80.
#pragma once

#include "driftline/base/range.hpp"

namespace driftline {

class FirstRows {
  public:
    static constexpr double full = 50, none = 80; // labels known while the share counts in full, and from which it is 0

    // `known` labels were known, the newest of which was `last`.
    double predict(double mixed, double last, Index known) const { return mixed + share(known) * (last - mixed); }
    void learn(double mixed, double last, double y, double weight, Index known) {
        if (static_cast<double>(known) >= none)
            return;
        const double apart = held(last - mixed), error = held(y - mixed), other = held(y - last);
        products_ = keep * products_ + weight * error * apart;
        squares_ = keep * squares_ + weight * apart * apart;
        rows_ = keep * rows_ + weight;
        errors_ = recent * errors_ + weight * error * error;
        others_ = recent * others_ + weight * other * other;
    }
    template <class Act> void visit(Act&& act) {
        act(&products_, 1);
        act(&squares_, 1);
        act(&rows_, 1);
        act(&errors_, 1);
        act(&others_, 1);
    }

  private:
    static constexpr double keep = 0.98, recent = 0.7, prior = 4, least_ratio = 0.2, most_ratio = 0.5;
    static double held(double value) { return saturate(value, 1e140); }
    static double part(double value) { return at_most(at_least(0, value), 1); }
    double share(Index known) const {
        if (!(squares_ > 0) || !(rows_ > 0))
            return 0;
        const double best = part(products_ / (squares_ * (1 + prior / rows_)));
        const double ratio = others_ > 0 ? errors_ / others_ : 1;
        const double needed = part((ratio - least_ratio) / (most_ratio - least_ratio));
        return best * needed * part((none - static_cast<double>(known)) / (none - full));
    }

    double products_ = 0, squares_ = 0, rows_ = 0; // of the mixture's errors and its distances from the newest label
    double errors_ = 0, others_ = 0;               // recent squared errors of the mixture and of the newest label
};

} // namespace driftline
