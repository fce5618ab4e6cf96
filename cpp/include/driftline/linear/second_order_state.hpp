// What a second-order learner is made of: its row of the table (Policy), its memory (State), its running sums (Sums).
// Plain data, shared by the code for every instruction set.
#pragma once

#include "driftline/linear/factor.hpp"
#include "driftline/linear/packed.hpp"
#include "driftline/base/rows.hpp"

namespace driftline {

enum class Time : int { none, divide, add };
enum class Reset : int { none, every, below };

// What the passing of time, the noise, shrinking, resets and the ball do; see docs/mathematics.md.
struct Policy {
    double start = 1;
    Time time = Time::none;
    double amount = 1; // the forgetting factor or the drift
    double noise = 1;
    bool complement = false; // the noise of a row is 1 - s
    bool shrink = false;
    double clip = 0; // bound on the prediction; 0: none
    Reset reset = Reset::none;
    Index period = 0;
    double radius = 0; // 0: none
    // For rows that leave many directions alone: S grows less far in these, and alike in all of them. So many times its
    // start it may grow whatever the rows are; 0: the policy is not modest.
    double modest = 0;
    bool keep_prior = false; // what the start told of the weights does not fade under forgetting
    bool operator==(const Policy&) const = default;
};

// Of a label of the given weight, where x'S x = s.
DRIFTLINE_INLINE double label_variance(const Policy& policy, double s, double weight) {
    return (policy.complement ? 1 - s : policy.noise) / weight + s;
}

// Values for rows or segments first, first + 1, ...; constant policies have none.
struct Table {
    const double* values = nullptr;
    Index first = 0;
    Index count = 0;
    bool covers(Index i) const { return i >= first && i < first + count; }
    double at(Index i) const { return values[i - first]; }
};

struct Sums {
    double rows = 0;
    double loss = 0;          // sum of squared errors of the predictions
    double value = 0;         // sum of (y - w.x)^2 / (rho + s), discounted by the forgetting
    double largest_loss = 0;  // of one row, by w.x
    double largest_label = 0; // |y|
    double largest_norm2 = 0; // |x|^2
    double resets = 0;
    double projections = 0;
    double capped = 0;    // rows on which the growth of S was capped
    double repaired = 0;  // times that positive definiteness was mended
    double saturated = 0; // rows that asked for more range or precision than the type has
    double weighted = 0;  // rows whose weight was not 1
    double retuned = 0;   // times that the policy changed after the first row
    double segment = 1;   // index i of the reset threshold in force
    double bound = 0;     // upper bound on the largest eigenvalue of S^-1, for resets while time acts on S
    double pending = 0;   // 1: S and the guard were reset, which is yet to be written down; see settle
    double shrunk = 0;    // sum of s / (rho + s), where predictions are shrunk by it
    double begun = 0;     // rows until the last reset of S
    double prior = 1;     // S^-1 is prior / start I plus what the rows told; followed where the policy keeps the prior
};
inline constexpr Index sums_count = sizeof(Sums) / sizeof(double);

template <class T> struct SecondOrderState {
    Index d = 0;            // weights, the intercept's included
    bool intercept = false; // the last of them belongs to a constant 1
    bool additive = false;  // S is kept as Packed, else as Factor
    bool ready = false;     // the products formed belong to x
    bool several = false;   // the weights of several outputs are kept elsewhere: raising the prior is left to the caller
    Policy policy;
    Sums sums;
    Coverage coverage;
    Table forgetting, thresholds;
    T* w = nullptr;
    T* x = nullptr;    // the current row, padded with zeros
    T* next = nullptr; // the row after it, in a replay
    Factor<T> factor{};
    Packed<T> packed{};
    Factor<T> guard{};         // tells when a reset is due, see reset.hpp; unused where u is null
    double* scratch = nullptr; // lower triangle, where resets, the ball or added drift need one
    double* vector = nullptr;  // two vectors of length d, for the same
};

// What D may grow to under forgetting, where exact arithmetic would have it grow without end.
template <class T> inline constexpr double variance_cap = sizeof(T) == 8 ? 1e60 : 1e24;
// How far D may grow under a modest policy: to a multiple of what the largest row so far would leave of it, noise / |x|^2,
// or of its start.
template <class T> inline constexpr double modest_growth = sizeof(T) == 8 ? 1e6 : 1e3;
inline constexpr double modest_room = 16;
// The largest s for which a row is taken in without scaling it first.
template <class T> inline constexpr double largest_s = sizeof(T) == 8 ? 1e250 : 1e30;
// Where less than this is left of the prior, a policy that keeps it raises it, to the reciprocal at most.
inline constexpr double least_prior = 0.79;
// What start and drift may be, and the smallest start and noise: beyond, T cannot hold what they bring about.
template <class T> inline constexpr double largest_start = sizeof(T) == 8 ? 1e100 : 1e15;
template <class T> inline constexpr double smallest_start = sizeof(T) == 8 ? 1e-100 : 1e-30;
// Squares of it are formed.
inline constexpr double largest_noise = 1e150;
template <class T> inline constexpr double smallest_noise = sizeof(T) == 8 ? 1e-300 : 1e-37;

} // namespace driftline
