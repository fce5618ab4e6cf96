// What Auto's further experts need to learn a row: the inputs and predictions from when the row was predicted.
#pragma once

#include "driftline/ensembles/final_mixture.hpp"
#include "driftline/ensembles/profiles.hpp"

namespace driftline {

// The stack combines the members listed before `cut`, which is the core clamped to the recent range of labels.
enum class Member : int { core, differences, profiles, usual, trees, residual_trees, feature_trees, cut, stack };
inline constexpr Index members = 9;

// The parts of a record.
struct RecordFields {
    double *head, *said, *layer, *scale, *usual, *differences, *profiles, *trees, *residual_trees, *scale_inputs, *places;

    Index known() const { return static_cast<Index>(head[0]); } // number of labels
    double& delay() const { return head[1]; }
    double& last() const { return head[2]; }  // the newest label
    double& base() const { return head[3]; }  // see PredictionContext
    double& mean() const { return head[4]; }  // of all labels
    double& mixed() const { return head[5]; } // by the final mixture
    double& prediction() const { return head[6]; }
    double& variance() const { return scale[0]; } // relative to other rows
    double& said_by(Member member) const { return said[static_cast<Index>(member)]; }
};

struct RecordLayout {
    static constexpr Index head_size = 7, usual_columns = profile_columns + far_count + 2,
                           tree_columns = 1 + 4 + 3 + far_count + profile_columns + 3, residual_columns = 5, scale_size = 3,
                           scale_spans = 3, scale_inputs = scale_spans + 3;
    Index features, lags;

    Index size() const {
        return head_size + members + FinalMixture::layers + scale_size + usual_columns + near_labels + features * lags +
               profiles_size() + tree_columns + 2 * features + residual_columns + 2 * features + scale_inputs + features +
               places_size();
    }
    RecordFields view(double* from) const {
        RecordFields out{};
        const auto take = [&](double*& place, Index count) {
            place = from;
            from += count;
        };
        take(out.head, head_size);
        take(out.said, members);
        take(out.layer, FinalMixture::layers);
        take(out.scale, scale_size);
        take(out.usual, usual_columns);
        take(out.differences, near_labels + features * lags);
        take(out.profiles, profiles_size());
        take(out.trees, tree_columns + 2 * features);
        take(out.residual_trees, residual_columns + 2 * features);
        take(out.scale_inputs, scale_inputs + features);
        take(out.places, places_size());
        return out;
    }

  private:
    Index places_size() const { return features + 1; } // of the features' values, and of the prediction
    Index profiles_size() const { return profile_columns + 4 + features; }
};

} // namespace driftline
