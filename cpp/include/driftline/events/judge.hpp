// Judges a change: compares the mechanisms that may have caused it, by the rows since its onset.
#pragma once

#include <array>

#include "driftline/events/usual.hpp"

namespace driftline::events {

inline constexpr double least_gain = 14, clear_gain = 6, alarm_gain = 7, sure = 0.75, tempered = 2.5;
inline constexpr Index most_late = 96;

struct Finding {
    int kind = kinds; // none
    Index column = of_label, onset = 0;
    double before = 0, after = 0, gain = 0, confidence = 0;
};

// Hypotheses with their gains, net of what their parameters cost.
class Contest {
  public:
    // Several hypotheses of one kind and column count once, as the best of them.
    void enter(const Finding& finding) {
        if (!std::isfinite(finding.gain))
            return;
        for (Finding& other : field_)
            if (other.kind == finding.kind && other.column == finding.column) {
                if (finding.gain > other.gain)
                    other = finding;
                return;
            }
        field_.push_back(finding);
    }
    // The best; its confidence is its share of the evidence.
    Finding winner(Index onset) const {
        Finding best;
        best.onset = onset;
        for (const Finding& finding : field_)
            if (finding.gain > best.gain)
                best = finding;
        double rest = std::exp(-best.gain / tempered); // that nothing changed
        for (const Finding& finding : field_)
            if (finding.kind != best.kind || finding.column != best.column)
                rest += std::exp((finding.gain - best.gain) / tempered);
        best.confidence = 1 / (1 + rest);
        return best;
    }

  private:
    std::vector<Finding> field_;
};

inline double mean_of(const double* of, Index from, Index to) {
    double n = 0, total = 0;
    for (Index i = from; i < to; ++i)
        if (std::isfinite(of[i]))
            ++n, total += of[i];
    return n > 0 ? total / n : 0;
}

inline double root_mean_square(const double* of, Index from, Index to) {
    double n = 0, total = 0;
    for (Index i = from; i < to; ++i)
        if (std::isfinite(of[i]))
            ++n, total += of[i] * of[i];
    return n > 0 ? std::sqrt(total / n) : 0;
}

// Whether the label of a row and those around it repeat the labels `late` rows before, as when labels begin to come that
// much later; the first row that does. `rare` is the evidence that one equal label gives.
inline bool repeats(const double* labels, Index at, Index late, Index from, Index stop, double rare, Index& onset) {
    Index first = at, last = at, changes = 0;
    while (first > from && at - first < late && labels[first - 1] == labels[first - 1 - late])
        --first;
    while (last + 1 < stop && last + 1 - first < late && labels[last + 1] == labels[last + 1 - late])
        ++last;
    for (Index i = first + 1; i <= last; ++i)
        changes += labels[i] != labels[i - 1];
    onset = first;
    return last + 1 - first >= late && static_cast<double>(changes + (late > 1)) * rare > 20 &&
           4 * changes >= 3 * (late - 1);
}

// By how many rows labels come later since one of the latest `count` rows; 0 if they do not. Labels that come k rows late
// repeat the k before, so that some rows are enough to see it.
inline Index lateness(const double* labels, Index count, Index stop, double rare, Index& onset) {
    for (Index at = stop - count; at < stop; at += 2) {
        const Index most = std::min(at % 8 == 0 ? most_late : 8, at - 1);
        for (Index late = 2; late <= most; ++late)
            if (labels[at] == labels[at - late] &&
                repeats(labels, at, late, std::max(stop - 4 * most_late, late + 1), stop, rare, onset))
                return late;
    }
    return 0;
}

// The rows at which the change may have begun: those given, those with the largest innovations, and the one that splits them
// best by their mean or their size.
inline std::vector<Index> onsets(const Usual& usual, std::vector<Index> given, Index first) {
    const Index from = usual.onset, count = usual.since();
    std::array<Index, 4> largest{};
    largest.fill(-1);
    const auto size = [&](Index i) { return std::fabs(usual.w[static_cast<std::size_t>(i)]); };
    for (Index i = 0; i < count; ++i) {
        Index now = i;
        for (Index& place : largest) {
            if (now >= 0 && (place < 0 || size(now) > size(place)))
                std::swap(now, place);
        }
    }
    for (const Index place : largest)
        if (place >= 0)
            given.push_back(from + place);
    double n = 0, total = 0, squares = 0, by_mean = 0, by_size = 0;
    Index mean_at = -1, size_at = -1;
    for (Index i = count; i-- > 0;) {
        const double e = saturate(usual.w[static_cast<std::size_t>(i)] / usual.scale, 6);
        ++n, total += e, squares += e * e;
        if (n < 6)
            continue;
        const double ratio = at_least(1e-3, squares / n) / 1.5;
        const double mean = total * total / (2 * n), spread = n / 2 * (ratio - 1 - std::log(ratio));
        if (mean > by_mean)
            by_mean = mean, mean_at = i;
        if (spread > by_size)
            by_size = spread, size_at = i;
    }
    for (const Index place : {mean_at, size_at})
        if (place >= 0)
            given.push_back(from + place);
    std::erase_if(given, [&](Index row) { return row < std::max(from, first) || row >= usual.stop - 2; });
    std::sort(given.begin(), given.end());
    given.erase(std::unique(given.begin(), given.end()), given.end());
    return given;
}

// The onset with the most evidence for a change of any kind.
inline void find_onset(Usual& usual, const std::vector<Index>& rows) {
    Index best = usual.onset;
    double most = -HUGE_VAL;
    for (const Index row : rows) {
        usual.move(row);
        double number;
        Index few;
        const auto level = usual.filtered([](Index) { return 1.0; });
        const double gain = std::max({usual.added(level, number) - 3, usual.noisier(number) - 3, usual.few(8, 6, few)});
        if (gain > most)
            most = gain, best = row;
    }
    if (!rows.empty())
        usual.move(best);
}

inline Finding judge_labels(const Rows& rows, Index first, Index from, Index stop, const std::vector<Index>& given,
                            bool fixed) {
    Usual usual;
    Finding none;
    none.onset = given.empty() ? from : given.front();
    if (!usual.fit(rows, rows.labels, true, first, from, stop))
        return none;
    if (!fixed)
        find_onset(usual, onsets(usual, given, from));
    const Index onset = usual.onset;
    Contest contest;
    const double mean = usual.mean, deviation = usual.deviation, now = mean_of(rows.labels, onset, stop);
    double number;
    Index few;
    const auto level = usual.filtered([](Index) { return 1.0; });
    double gain = usual.added(level, number) - 3;
    contest.enter({label_level, of_label, onset, now - number * deviation, now, gain});
    gain = usual.multiplied(mean / deviation, number) - 3;
    contest.enter({label_scale, of_label, onset, now / number, now, gain});
    const double scaled = gain;
    gain = usual.multiplied(0, number) - 5;
    if (gain > scaled + 6)
        contest.enter({label_spread, of_label, onset, deviation, deviation * number, gain});
    gain = usual.noisier(number) - 3;
    if (number > 1)
        contest.enter({noise, of_label, onset, usual.scale * deviation, usual.scale * deviation * number, gain});
    else
        contest.enter({label_spread, of_label, onset, deviation, deviation * number, gain - 1});
    gain = usual.few(8, 6, few);
    if (few > 0)
        contest.enter({outliers, of_label, onset, 0, static_cast<double>(few), gain});
    const double choice = std::log(static_cast<double>(usual.used.size()) + 1);
    for (std::size_t k = 0; k < usual.used.size(); ++k) {
        const double centre = usual.centre[k] / usual.spread[k];
        double total = 0, squares = 0;
        for (Index i = onset; i < stop; ++i)
            total += usual.input(k, i), squares += usual.input(k, i) * usual.input(k, i);
        const double n = static_cast<double>(stop - onset), varies = squares / n - total / n * (total / n);
        if (!(varies > 0.1 * squares / n) || varies < 0.04) // nothing tells its effect from the level
            continue;
        for (const double offset : {0.0, centre}) {
            gain = usual.added(usual.filtered([&](Index i) { return usual.input(k, i) + offset; }), number) - 8 - choice;
            double slope = usual.beta[1 + k] + (usual.lagged_inputs ? usual.beta[1 + usual.used.size() + k] : 0), kept = 1;
            for (std::size_t l = 0; l < usual.lags.size(); ++l)
                kept -= usual.beta[usual.beta.size() - usual.lags.size() + l];
            const double unit = deviation / usual.spread[k];
            slope *= unit / at_least(0.05, kept);
            contest.enter({effect_changed, usual.used[k], onset, slope, slope + number * unit, gain});
            if (std::fabs(centre) < 0.1)
                break;
        }
    }
    for (const Index by : {-18, -12, -8, -6, -4, -3, -2, -1, 1, 2, 3, 4, 6, 8, 12, 18}) {
        if (usual.used.empty() && usual.lags.size() < 3)
            break;
        if (std::abs(by) > 4 && (usual.lags.size() < 3 || usual.lags[2] < 96))
            continue;
        gain = usual.shifted(by) - 6;
        bool twice = by < 0;
        for (Index i = 0; twice && i < -by; ++i)
            twice = onset + i < stop && onset + i + by >= 0 && rows.labels[onset + i] == rows.labels[onset + i + by];
        contest.enter({twice ? label_late : season_shifted, of_label, onset, 0, static_cast<double>(by < 0 ? -by : by),
                       gain + (twice ? 4 : 0)});
    }
    return contest.winner(onset);
}

// Units into which an input may have been converted: factor and offset.
inline constexpr double units[][2] = {
    {1.8, 32},         {1 / 1.8, -32 / 1.8},
    {1, 273.15},       {1, -273.15},
    {1.8, -459.67},    {10, 0},
    {0.1, 0},          {100, 0},
    {0.01, 0},         {1000, 0},
    {0.001, 0},        {3.6, 0},
    {1 / 3.6, 0},      {2.23694, 0},
    {1 / 2.23694, 0},  {1.60934, 0},
    {0.621371, 0},     {0.3048, 0},
    {1 / 0.3048, 0},   {25.4, 0},
    {1 / 25.4, 0},     {2.20462, 0},
    {1 / 2.20462, 0},  {60, 0},
    {1 / 60.0, 0},     {3600, 0},
    {1 / 3600.0, 0},   {0.514444, 0},
    {1 / 0.514444, 0}, {6.89476, 0},
    {1 / 6.89476, 0},  {1e6, 0},
    {1e-6, 0},
};

inline Finding judge_input(const Rows& rows, Index column, Index first, Index from, Index stop,
                           const std::vector<Index>& given, bool fixed) {
    Usual usual;
    Finding none;
    none.onset = from;
    if (!usual.fit(rows, rows.inputs[column], false, first, from, stop))
        return none;
    if (!fixed)
        find_onset(usual, onsets(usual, given, from));
    const Index onset = usual.onset;
    Contest contest;
    const double mean = usual.mean, deviation = usual.deviation, now = mean_of(rows.inputs[column], onset, stop);
    double number;
    Index few;
    if (usual.ties() > 0.3) // rain, or what is switched on and off, changes all the time
        return none;
    const double moved = usual.added(usual.filtered([](Index) { return 1.0; }), number) - 3;
    const double by = number * deviation;
    double gain = usual.multiplied(mean / deviation, number) - 3, exact = 0;
    if (std::fabs(std::log(number)) > 0.35)
        contest.enter({input_units, column, onset, now / number, now, gain});
    for (const auto& [factor, offset] : units) {
        gain = usual.converted(factor, offset) - 2;
        exact = std::max(exact, gain);
        contest.enter({input_units, column, onset, (now - offset) / factor, now, gain});
    }
    if (exact < moved - 2) // that a move equals a conversion is no chance
        contest.enter({input_moved, column, onset, now - by, now, moved});
    gain = usual.few(8, 6, few);
    if (few > 0)
        contest.enter({outliers, column, onset, 0, static_cast<double>(few), gain});
    gain = usual.noisier(number) - 3;
    contest.enter({noise, column, onset, usual.scale * deviation, usual.scale * deviation * number, gain});
    return contest.winner(onset);
}

} // namespace driftline::events
