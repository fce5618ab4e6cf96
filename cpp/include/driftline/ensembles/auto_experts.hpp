// The experts of Auto: what each of them sees, and its row of the table of second-order learners.
#pragma once

#include <vector>

#include "driftline/linear/second_order_state.hpp"

namespace driftline {

enum class Sight : int {
    raw,      // the features in their own proportions, the mean left in, a weak constant
    raw_past, // and the last two labels
    standard, // every feature centred and scaled, a constant
    past,     // and the last two labels
    far_past, // and the last eight labels, and those of a day and a week ago at usual rates of sampling
    rows,     // and the rows before, with their labels
    squares   // and the squares of the features
};
inline constexpr int sights = 7;

inline constexpr Index most_labels = 8, most_rows = 3;
inline constexpr Index far_labels[] = {12, 24, 48, 96, 144, 168, 336}; // rows back: months, hours, half-hours, ten minutes
inline constexpr Index far_count = sizeof far_labels / sizeof(Index), all_labels = most_labels + far_count;
inline constexpr Index history = far_labels[far_count - 1];

// Where label k of a view is, counted back from the newest one known, 1 being that one. The predicted row lies `ahead` rows
// beyond it. The first are the newest; of the others, a day ago stays a day ago, or becomes the latest day that is known.
inline constexpr Index label_place(Index k, Index ahead) {
    if (k < most_labels)
        return k + 1;
    const Index lag = far_labels[k - most_labels];
    return (ahead + lag - 1) / lag * lag - ahead + 1;
}

// How many labels and earlier rows a sight needs, for models that began with `born` features: wide rows get fewer extras.
struct Extent {
    Index labels = 0, rows = 0, group = 1; // a feature has `group` columns: itself and its past, or its square
    bool used = true;
};
inline Extent extent_of(Sight sight, Index born) {
    switch (sight) {
    case Sight::raw:
    case Sight::standard:
        return {};
    case Sight::raw_past:
    case Sight::past:
        return {2, 0, 1, true};
    case Sight::far_past:
        return {most_labels + far_count, 0, 1, true};
    case Sight::rows:
        return born <= 12 ? Extent{4, 3, 4, true} : Extent{2, 1, 2, born <= 32};
    case Sight::squares:
        return {2, 0, 2, born <= 12};
    }
    return {};
}
// The logarithm of the weight that an expert has before anything is known: the more it has to find out, the less. It fades
// as losses do.
inline constexpr double initial_log_weight(Sight sight) {
    switch (sight) {
    case Sight::raw:
    case Sight::raw_past:
        return 0;
    case Sight::standard:
    case Sight::past:
        return -2;
    default:
        return -3;
    }
}
inline constexpr double initial_log_weight_of_labels = -2; // of the last label, and of their mean

struct ExpertKind {
    Sight sight;
    Time time;
    double amount;     // the forgetting factor, or the drift
    double start;      // S starts at start I
    double reset = 0;  // S becomes reset I when the errors say that the target jumped; 0: never
    double sudden = 0; // how many times the usual error one row counts at most, towards a reset

    Policy policy() const {
        Policy out;
        out.start = start;
        out.time = time;
        out.amount = amount;
        return out;
    }
    double memory() const { // rows; 0: all of them
        return time == Time::divide ? 1 / (1 - amount) : time == Time::add ? 1 / std::sqrt(amount) : 0;
    }
    double drift() const { // variance of a step of a weight, the noise being 1
        return time == Time::divide ? (1 - amount) * (1 - amount) : time == Time::add ? amount : 0;
    }
};

inline constexpr ExpertKind expert_kinds[] = {
    {Sight::raw, Time::add, 1e-6, 1},
    {Sight::raw, Time::add, 1e-3, 1},
    {Sight::raw, Time::add, 1e-2, 1},
    {Sight::raw, Time::add, 1, 1},
    {Sight::raw, Time::add, 1e-2, 1e3},
    {Sight::raw, Time::add, 10, 1e3},
    {Sight::raw, Time::divide, 1 - 1.0 / 64, 1e3},
    {Sight::raw, Time::none, 1, 1e3, 1e3, 20},
    {Sight::raw_past, Time::add, 10, 1e3},
    {Sight::standard, Time::add, 1e-4, 1},
    {Sight::standard, Time::add, 1e-2, 1},
    {Sight::standard, Time::add, 1, 1},
    {Sight::standard, Time::add, 10, 1e3},
    {Sight::standard, Time::none, 1, 1e3, 1, 8},
    {Sight::standard, Time::none, 1, 1e3, 1e3, 20},
    {Sight::past, Time::add, 1e-6, 1},
    {Sight::past, Time::divide, 1 - 1.0 / 32, 1e3},
    {Sight::far_past, Time::divide, 1 - 1.0 / 256, 100},
    {Sight::rows, Time::divide, 1 - 1.0 / 1024, 100},
    {Sight::rows, Time::add, 1e-3, 1},
    {Sight::squares, Time::divide, 1 - 1.0 / 1024, 100},
};

// The experts of a model that began with `born` features. The second of the two that see earlier rows is for short rows.
inline std::vector<ExpertKind> experts_for(Index born) {
    std::vector<ExpertKind> chosen;
    for (const ExpertKind& kind : expert_kinds)
        if (extent_of(kind.sight, born).used && !(kind.sight == Sight::rows && kind.time == Time::add && born > 12))
            chosen.push_back(kind);
    return chosen;
}
// The experts without a model are the last label and the mean of all.
inline constexpr Index experts_without_model = 2;
inline std::vector<double> initial_log_weights(const std::vector<ExpertKind>& kinds) {
    std::vector<double> out(kinds.size() + experts_without_model, initial_log_weight_of_labels);
    for (std::size_t k = 0; k < kinds.size(); ++k)
        out[k] = initial_log_weight(kinds[k].sight);
    return out;
}

} // namespace driftline
