// Combines the predictions of the linear core and of the other experts into one.
//
// Three likelihood mixtures with different rates of forgetting and one Bernstein mixture, all with a prior in favour of
// the core, are combined by a second Bernstein mixture. The likelihood mixtures follow the recent best; Bernstein's keeps
// to the best overall.
#pragma once

#include "driftline/ensembles/auto_mixer.hpp"
#include "driftline/ensembles/bernstein.hpp"

namespace driftline {

class FinalMixture {
  public:
    static constexpr Index layers = 4;

    explicit FinalMixture(Index count)
        : count_(count), likely_(count, {0.99, 0.998, 0.9998}, leaning(count)), cautious_(halved(count)),
          last_(std::vector<double>(layers, 1.0 / layers)) {}

    double mix(const double* said, double* layer) const {
        for (Index r = 0; r < layers - 1; ++r)
            layer[r] = likely_.mixed(r, said);
        layer[layers - 1] = cautious_.mix(said);
        return last_.mix(layer);
    }
    // Arguments are the values at prediction time. A late label carries less information, so it counts less.
    void learn(const double* said, const double* layer, double mixed, double y, double weight, Index delay) {
        likely_.learn(said, y, weight / std::sqrt(std::sqrt(static_cast<double>(delay + 1))));
        cautious_.learn(said, layer[layers - 1], y, weight, delay);
        last_.learn(layer, mixed, y, weight, delay);
    }
    // Gives the core's prior weight to another member.
    void move_head_start(Index to) {
        likely_.swap_prior(0, to);
        keep_head_start(to);
    }
    // Does so in a loaded state, which holds the priors of the likelihood mixtures alone.
    void keep_head_start(Index to) { cautious_.swap_prior(0, to); }
    void shares(double* out) const {
        for (Index k = 0; k < count_; ++k) {
            out[k] = last_.weights()[layers - 1] * cautious_.weights()[k];
            for (Index r = 0; r < layers - 1; ++r)
                out[k] += last_.weights()[r] * likely_.weights(r)[k];
        }
    }
    template <class Act> void visit(Act&& act) {
        likely_.visit(act);
        cautious_.visit(act);
        last_.visit(act);
    }
    void weigh() {
        likely_.weigh();
        cautious_.weigh();
        last_.weigh();
    }

  private:
    static std::vector<double> leaning(Index count) {
        std::vector<double> out(static_cast<std::size_t>(count));
        out[0] = 3;
        return out;
    }
    static std::vector<double> halved(Index count) {
        std::vector<double> out(static_cast<std::size_t>(count), 0.5 / static_cast<double>(count - 1));
        out[0] = 0.5;
        return out;
    }

    Index count_;
    Mixtures likely_;
    Bernstein cautious_, last_;
};

} // namespace driftline
