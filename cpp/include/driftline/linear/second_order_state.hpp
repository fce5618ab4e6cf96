// The parts of a second-order learner: its row of the table (Policy), its memory (State), its running sums (Sums).
// Plain data, shared by the code for every instruction set.
#pragma once

#include "driftline/linear/factor.hpp"
#include "driftline/linear/packed.hpp"
#include "driftline/base/rows.hpp"

namespace driftline {

enum class Time : int { none, divide, add };
enum class Reset : int { none, every, below };
enum class Likelihood : int { none, poisson, gamma, logistic, pinball, huber }; // none: the squared error

// The effects of time, noise, shrinking, resets and the ball; see docs/mathematics.md.
struct Policy {
    double start = 1;
    Time time = Time::none;
    double amount = 1; // the forgetting factor or the drift
    double noise = 1;
    bool complement = false; // the noise of a row is 1 - s, or least_noise if that is more
    bool shrink = false;
    Limits labels{};      // of labels and intervals
    Limits predictions{}; // the same, or narrower
    Reset reset = Reset::none;
    Index period = 0;
    double radius = 0; // of the ball; 0: no ball
    // Bounded growth, for rows that leave many directions unexcited: S grows less in these, and equally in all of them. It
    // may always grow to this multiple of its start; 0: growth is not bounded this way.
    double growth_limit = 0;
    bool keep_prior = false; // the prior does not fade under forgetting
    double robustness = 0;   // of the H-infinity filter: the errors that move the weights are divided by 1 - robustness
    double concavity = 0;    // of the Online Newton Step: the noise is 1/(4 error^2), and w moves by gradient/concavity
    Likelihood likelihood = Likelihood::none; // of a generalised linear model
    double parameter = 0;                     // the level of its pinball loss, the threshold of its Huber loss
    double curvature = 1;                     // of the pinball loss at the quantile of normal errors, times their mean loss
    double least_noise = 0;                   // of the complement; 0: a row with s >= 1 is refused
    // Rows with times: the amount is for `unit`, which also passes before the first row. 0: rows count, whatever their
    // times.
    double unit = 0;
    double decay = 0;                                                // the logarithm of the forgetting factor
    double reset_after = 0;                                          // the period in units
    bool has_mean() const { return likelihood != Likelihood::none; } // the prediction is the mean of a label with w.x
    bool may_lack_noise() const { return (complement && !(least_noise > 0)) || robustness > 0; }
    bool turns_labels() const { return robustness > 0 || concavity > 0 || has_mean(); }
    bool operator==(const Policy&) const = default;
};

// Values for rows or segments first, first + 1, ...; empty for constant policies.
struct Schedule {
    const double* values = nullptr;
    Index first = 0;
    Index count = 0;
    bool covers(Index i) const { return i >= first && i < first + count; }
    double at(Index i) const { return values[i - first]; }
};

struct Sums {
    double rows = 0;
    double loss = 0;         // sum of squared errors of the predictions
    double value = 0;        // sum of (y - w.x)^2 / (rho + s), discounted by the forgetting; for the pinball loss, of losses
    double largest_loss = 0; // of one row, from w.x
    double largest_label = 0; // |y|
    double largest_norm2 = 0; // |x|^2
    double resets = 0;
    double projections = 0;
    double capped = 0;    // rows on which the growth of S was capped
    double repaired = 0;  // times that positive definiteness was repaired
    double saturated = 0; // rows that needed more range or precision than the type has
    double weighted = 0;  // rows whose weight was not 1
    double retuned = 0;   // times that the policy changed after the first row
    double segment = 1;   // index i of the current reset threshold
    double bound = 0;     // upper bound on the largest eigenvalue of S^-1, for resets while time acts on S
    double pending = 0;   // 1: a reset of S and the guard is not yet written to memory; see settle
    double shrunk = 0;    // sum of 1 - the factor by which predictions are shrunk
    double begun = 0;     // rows before the last reset of S
    double prior = 1;     // S^-1 is prior / start I plus the rows' part; tracked if the policy keeps the prior
    double timed = 0;     // rows with times
    double first_time = 0, last_time = 0; // of the first of these, and of the latest
};
inline constexpr Index sums_count = sizeof(Sums) / sizeof(double), sums_added = 3; // the last came after the first format
inline constexpr Index untimed_sums_count = sums_count - sums_added;               // of models without times

template <class T> struct SecondOrderState {
    Index d = 0;            // weights, including the intercept
    bool intercept = false; // the last weight belongs to a constant 1
    bool additive = false;  // S is a Packed, else a Factor
    bool ready = false;     // the products formed are those of x
    bool several = false;   // weights of several outputs are kept elsewhere; the caller raises the prior
    Policy policy;
    Sums sums;
    Coverage coverage;
    Schedule forgetting, thresholds;
    double at = NAN; // the time of the current row; NaN if it has none
    T* w = nullptr;
    T* x = nullptr;    // the current row, padded with zeros
    T* next = nullptr; // the row after it, in a replay
    Factor<T> factor{};
    Packed<T> packed{};
    Factor<T> guard{};         // tells when a reset is due, see reset.hpp; unused if u is null
    double* scratch = nullptr; // lower triangle, if resets, the ball or added drift need one
    double* vector = nullptr;  // two vectors of length d, for the same
};

// The largest D under forgetting, where exact arithmetic would let it grow without bound.
template <class T> inline constexpr double variance_cap = sizeof(T) == 8 ? 1e60 : 1e24;
// How far D may grow under bounded growth: to a multiple of what the largest row so far would leave of it, noise / |x|^2, or
// of its start.
template <class T> inline constexpr double allowed_growth = sizeof(T) == 8 ? 1e6 : 1e3;
inline constexpr double growth_room = 16;
// What forgetting leaves over any time.
inline constexpr double least_keep = 1e-100;
// The largest s for which a row updates S without being scaled first.
template <class T> inline constexpr double largest_s = sizeof(T) == 8 ? 1e250 : 1e30;
// When less than this is left of the prior, a policy that keeps it raises it, to the reciprocal at most.
inline constexpr double least_prior = 0.79;
// After `enough_labels` labels, the predicted mean of a count or an amount is at most `largest_reach` times the largest
// label: exp(w.x) of a row far from all others can be of any size.
inline constexpr double enough_labels = 32, largest_reach = 10;
// The discount of pinball losses from row to row.
inline constexpr double pinball_memory = 0.995;
// The largest start and drift, and the smallest start and noise, whose results T can hold.
template <class T> inline constexpr double largest_start = sizeof(T) == 8 ? 1e100 : 1e15;
template <class T> inline constexpr double smallest_start = sizeof(T) == 8 ? 1e-100 : 1e-30;
// Its square stays in range.
inline constexpr double largest_noise = 1e150;
template <class T> inline constexpr double smallest_noise = sizeof(T) == 8 ? 1e-300 : 1e-37;

} // namespace driftline
