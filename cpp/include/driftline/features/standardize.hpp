// Every feature minus its mean, divided by its deviation, from running moments (Welford 1962) that may fade.
#pragma once

#include "driftline/features/transform.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// The moments of one feature after one more value, and that value standardised.
struct Moments {
    double mean, deviation, z;
};

// x - mean, or a quarter of it if it would leave the range.
struct Distance {
    double delta, scale = 1;
    Distance(double x, double mean) : delta(x - mean) {
        if (!(std::fabs(delta) <= DBL_MAX)) {
            scale = 0.25;
            delta = x * scale - mean * scale;
        }
    }
};

// `weight` is the weight of the earlier values, 0 at first. |z| is at most the square root of the weight.
inline Moments with_value(double x, double weight, double mean, double deviation) {
    const Distance distance(x, mean);
    const double rows = weight + 1, share = weight / rows;
    const double moved = (mean * distance.scale + distance.delta / rows) / distance.scale;
    double delta = distance.delta, s = deviation * distance.scale;
    const double size = at_least(s, std::fabs(delta));
    if (size == 0 || weight == 0)
        return {moved, 0, 0};
    const bool extreme = !(size > 1e-100 && size < 1e100); // squares would leave the range
    const int exponent = extreme ? std::ilogb(size) : 0;
    if (extreme) {
        delta = std::scalbn(delta, -exponent);
        s = std::scalbn(s, -exponent);
    }
    const double root = std::sqrt(share * (s * s + delta * delta / rows));
    const double back = (extreme ? std::scalbn(root, exponent) : root) / distance.scale;
    return {moved, at_most(back, DBL_MAX), root > 0 ? delta * share / root : 0};
}

class Standardize : public Transform {
  public:
    Standardize(Index inputs, double forgetting) : Transform(inputs), forgetting_(forgetting) { resize(); }

    void view(const double* x, double* z, Index) override {
        for (Index j = 0; j < inputs_; ++j)
            z[j] = with_value(x[j], forgetting_ * weight_[at(j)], mean_[at(j)], deviation_[at(j)]).z;
    }
    void apply(const double* x, double* z) override {
        for (Index j = 0; j < inputs_; ++j) {
            const Distance distance(x[j], mean_[at(j)]);
            const double s = deviation_[at(j)] * distance.scale;
            z[j] = s > 0 ? saturate(distance.delta / s, DBL_MAX) : 0;
        }
    }
    void learn(const double* x, double) override {
        for (Index j = 0; j < inputs_; ++j) {
            const double weight = forgetting_ * weight_[at(j)];
            const Moments now = with_value(x[j], weight, mean_[at(j)], deviation_[at(j)]);
            weight_[at(j)] = weight + 1;
            mean_[at(j)] = now.mean;
            deviation_[at(j)] = now.deviation;
        }
    }
    void grow(Index more) override {
        Transform::grow(more);
        resize();
    }
    std::vector<Part> parts() override {
        return {{"weight", &weight_, false}, {"mean", &mean_}, {"deviation", &deviation_, false}};
    }

  private:
    static std::size_t at(Index j) { return static_cast<std::size_t>(j); }
    void resize() {
        for (auto* part : {&weight_, &mean_, &deviation_})
            part->resize(at(inputs_));
    }

    double forgetting_;
    std::vector<double> weight_, mean_, deviation_;
};

} // namespace DRIFTLINE_ISA
} // namespace driftline
