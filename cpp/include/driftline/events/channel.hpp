// Screens one series, block by block: a cheap look at every row. What it finds is judged with the rows around it.
#pragma once

#include <algorithm>
#include <cmath>

#include "driftline/events/kinds.hpp"

namespace driftline::events {

inline constexpr Index block = 32, most_codes = 12, warm_up = 384;
inline constexpr double memory = 4096;

// What a block shows.
struct Sight {
    bool jump = false, shift = false, spread = false, slow = false; // to be judged
    bool clear = false;                                             // a jump far beyond all before
    bool range = false, stuck = false, missing = false, fresh = false;
    Index at = 0; // in the block
    double before = 0, after = 0;
};

// Sums over a block.
struct Sums {
    double count = 0, total = 0, squares = 0, products = 0, clipped = 0;
};

// Whole numbers are doubles, so that the state is one array.
struct Channel {
    double rows = 0, mean = 0, variance = 0, neighbours = 0; // decaying: mean square and product with the value before
    double scale = 0;                                        // mean of the clipped squares of innovations
    double low = HUGE_VAL, high = -HUGE_VAL, seen = 0;
    double last = 0, run = 0, longest = 0, longest_zero = 0, ties = 0; // equal values in succession
    double missing = 0, offered = 0;                                   // decaying share; rows
    double jump_record = 0, shift_record = 0, spread_record = 0, slow_record = 0;
    double slow = 0, drift = 0, drift_record = 0; // short means: of the clipped squares, relative to the long one; of shifts
    double hold = 0;                              // no look before that row
    double is_stuck = 0, is_missing = 0;
    double changed = -HUGE_VAL; // the latest change
    double coded = 0;           // whether values are codes, given by the user
    double codes = 0, changes = 0;
    double code[most_codes] = {}, spells[most_codes] = {};
    Sums waiting[2];

    bool discrete() const { return coded > 0 || codes <= most_codes; }
    // Rain, or what is switched on and off: most values are as the one before.
    bool intermittent() const { return ties > 0.2 * seen; }
    double kept() const { return variance > 0 ? at_least(0, at_most(neighbours / variance, 0.9995)) : 0; }

    // Screens the `block` values from row `first` on. Unless `first` is 0, x[-1] is read too.
    Sight look(const double* x, Index first, bool is_input, double least_jump = 7) {
        Sight found;
        Index count = 0;
        bool tied = false, whole = true;
        double lowest = HUGE_VAL, highest = -HUGE_VAL;
        constexpr Index lanes = 4;
        double low_of[lanes], high_of[lanes], zero = 0;
        std::fill_n(low_of, lanes, HUGE_VAL);
        std::fill_n(high_of, lanes, -HUGE_VAL);
        for (Index i = 0; i < block; i += lanes)
            for (Index l = 0; l < lanes; ++l) {
                const double value = x[i + l];
                low_of[l] = value < low_of[l] ? value : low_of[l];
                high_of[l] = value > high_of[l] ? value : high_of[l];
            }
        for (Index i = 0; i < block; ++i)
            zero += 0 * x[i];
        whole = zero == 0;
        for (Index l = 0; l < lanes; ++l) {
            lowest = low_of[l] < lowest ? low_of[l] : lowest;
            highest = high_of[l] > highest ? high_of[l] : highest;
        }
        double values[block + 1];
        values[0] = seen > 0 ? last : x[0];
        if (whole) {
            std::copy_n(x, block, values + 1);
            count = block;
        } else
            for (Index i = 0; i < block; ++i)
                if (std::isfinite(x[i]))
                    values[++count] = x[i];
        if (is_input)
            note_missing(count, x, found);
        if (count == 0)
            return found;
        if (seen == 0)
            mean = values[1];
        for (Index i = 0; i < count; ++i)
            tied = tied || values[i] == values[i + 1];
        const bool held = static_cast<double>(first) < hold;
        const bool ready = seen >= warm_up && !held;
        if (discrete())
            note_codes(values, count, found, ready && is_input);
        note_ties(values, count, tied, found, seen >= warm_up, is_input);
        if (is_input && seen >= 2 * warm_up && high > low)
            note_range(x, lowest, highest, found, ready);
        low = std::min(low, lowest), high = std::max(high, highest);
        // Innovations.
        const double phi = kept(), centre = mean;
        Sums sums;
        double most = 0, total = 0;
        const double limit = scale > 0 ? 9 * scale : HUGE_VAL;
        double lane[6][lanes] = {};
        const auto square_at = [&](Index i) {
            const double w = values[i] - centre - phi * (values[i - 1] - centre);
            return w * w;
        };
        const auto add = [&](Index i, Index l) {
            const double now = values[i] - centre, before = values[i - 1] - centre, w = now - phi * before;
            const double square = w * w;
            lane[0][l] += now, lane[1][l] += now * now, lane[2][l] += now * before, lane[3][l] += w;
            lane[4][l] += square < limit ? square : limit;
            lane[5][l] = square > lane[5][l] ? square : lane[5][l];
        };
        Index done = 1;
        for (; done + lanes <= count + 1; done += lanes)
            for (Index l = 0; l < lanes; ++l)
                add(done + l, l);
        for (; done <= count; ++done)
            add(done, 0);
        for (Index l = 0; l < lanes; ++l) {
            sums.total += lane[0][l], sums.squares += lane[1][l], sums.products += lane[2][l], total += lane[3][l];
            sums.clipped += lane[4][l], most = at_least(most, lane[5][l]);
        }
        sums.count = static_cast<double>(count);
        if (!(rows >= warm_up))
            slow = 1, drift = 0;
        if (rows >= warm_up && scale > 0 && !discrete() && count == block) {
            const double n = sums.count;
            const double jump = std::sqrt(most / scale), shift = std::fabs(total) / std::sqrt(n * scale);
            const double spread = std::fabs(std::log(at_least(1e-6 * scale, sums.clipped / n) / scale));
            const auto check = [&](double value, double least, double more, double& record, bool& flag) {
                flag = ready && value > at_least(least, more * record);
                record = at_least(record * (1 - 1.0 / 4096), at_most(value, at_least(least, 1.15 * record)));
            };
            found.clear = ready && jump > at_least(9, 1.6 * jump_record);
            check(jump, least_jump, 1.25, jump_record, found.jump);
            check(shift, 5, 1.25, shift_record, found.shift);
            check(spread, 1.6, 1.2, spread_record, found.spread);
            slow += 0.25 * (sums.clipped / (n * scale) - slow);
            check(std::fabs(std::log(at_least(1e-6, slow))), 0.8, 1.25, slow_record, found.slow);
            drift += 0.25 * (total / std::sqrt(n * scale) - drift);
            bool drifted = false;
            check(std::fabs(drift), 2.2, 1.25, drift_record, drifted);
            found.slow = found.slow || drifted;
            for (Index i = 1; found.jump && i <= count; ++i)
                if (square_at(i) == most) {
                    found.at = i - 1;
                    break;
                }
        }
        last = values[count];
        seen += static_cast<double>(count);
        const bool flagged = found.jump || found.shift || found.spread || found.slow;
        if (!held && !flagged) { // what may be a change must not become usual
            take(waiting[0]);
            waiting[0] = waiting[1], waiting[1] = sums;
        } else
            waiting[0] = waiting[1] = {};
        return found;
    }

    void take(const Sums& sums) {
        if (sums.count == 0)
            return;
        rows += sums.count;
        const double weight = sums.count / at_most(rows, memory), n = sums.count;
        const double step = weight * sums.total / n;
        mean += step;
        variance += weight * (sums.squares / n - variance) - step * step;
        neighbours += weight * (sums.products / n - neighbours) - step * step;
        scale += weight * (sums.clipped / n - scale);
        rows = at_most(rows, 2 * memory);
    }

    // After a change: no look until `until`; the mean is that of the latest values.
    void pause(double until, double latest) {
        hold = at_least(hold, until);
        if (std::isfinite(latest))
            mean = latest;
        rows = at_most(rows, warm_up), slow = 1, drift = 0;
        waiting[0] = waiting[1] = {};
    }

    void note_missing(Index count, const double* x, Sight& found) {
        const double lost = static_cast<double>(block - count);
        // Chernoff's bound on the probability of this many missing values.
        const double usual = at_least(0.5 / at_least(1, offered), missing), share = lost / block;
        if (share > usual && offered >= warm_up && is_missing == 0) {
            const double rest = share < 1 ? (1 - share) * std::log((1 - share) / (1 - usual)) : 0;
            if (block * (share * std::log(share / usual) + rest) > 16) {
                found.missing = true, is_missing = 1;
                found.before = missing, found.after = share;
                while (std::isfinite(x[found.at]))
                    ++found.at;
            }
        }
        if (lost == 0)
            is_missing = 0;
        offered += block;
        missing += (share - missing) * block / at_most(offered, memory);
    }

    void note_ties(const double* values, Index count, bool tied, Sight& found, bool ready, bool is_input) {
        const double fewest = is_input ? 12 : 8, evidence = is_input ? 24 : 18;
        if (!tied) {
            run = 1;
            is_stuck = 0;
            return;
        }
        for (Index i = 1; i <= count; ++i) {
            if (values[i] == values[i - 1] && seen + static_cast<double>(i) > 1) {
                ++run;
                const double chance = (ties + 1) / (seen + 2);
                if (ready && is_stuck == 0 && !discrete() && run >= fewest &&
                    run > 2 * (values[i] == 0 ? longest_zero : longest) + 2 && -run * std::log(chance) > evidence) {
                    is_stuck = 1;
                    found.stuck = true, found.at = i - static_cast<Index>(run), found.before = mean, found.after = values[i];
                }
            } else {
                if (run > 1) {
                    double& most = values[i - 1] == 0 ? longest_zero : longest;
                    most = at_least(most, run);
                    ties += run - 1;
                }
                run = 1, is_stuck = 0;
            }
        }
    }

    void note_codes(const double* values, Index count, Sight& found, bool ready) {
        for (Index i = 1; i <= count; ++i) {
            if (values[i] == values[i - 1] && seen + static_cast<double>(i) > 1)
                continue;
            ++changes;
            if (coded > 0 && codes > most_codes) { // codes are given in the order in which they appear
                if (values[i] >= codes) {
                    if (ready && !found.fresh && codes * 100 <= changes)
                        found.fresh = true, found.at = i - 1, found.before = codes, found.after = values[i];
                    codes = values[i] + 1;
                }
                continue;
            }
            const auto known = static_cast<Index>(codes);
            Index k = 0;
            while (k < known && code[k] != values[i])
                ++k;
            if (k == known) {
                if (known == most_codes) {
                    codes = coded > 0 ? at_least(codes + 1, values[i] + 1) : most_codes + 1;
                    continue;
                }
                // Values whose only spell is the first say how often new ones come.
                double once = 0;
                for (Index other = 0; other < known; ++other)
                    once += spells[other] == 1;
                const bool settled = known > 1 ? seen >= 4 * warm_up && changes >= 64 && once * 100 <= changes
                                               : coded > 0 && known == 1 && seen >= 2 * warm_up;
                if (ready && settled) {
                    found.fresh = true, found.at = i - 1, found.before = static_cast<double>(known), found.after = values[i];
                }
                code[k] = values[i], spells[k] = 0, codes = static_cast<double>(known + 1);
            }
            ++spells[k];
        }
    }

    void note_range(const double* x, double lowest, double highest, Sight& found, bool ready) {
        const double width = (discrete() ? 2 : 1) * (high - low);
        if (!ready || !(highest > high + width || lowest < low - width))
            return;
        for (Index i = 0; i < block && !found.range; ++i)
            if (x[i] > high + width || x[i] < low - width) {
                found.range = true, found.at = i;
                found.before = x[i] > high ? high : low, found.after = x[i];
            }
    }
};

} // namespace driftline::events
