// Parts of a saved state that learners share.
#pragma once

#include <algorithm>
#include <iterator>

#include "core.hpp"

namespace driftline::bindings {

// As it is saved: the quantiles, the scale, the largest loss and three counts. Whatever was noted is taken in first.
inline constexpr Index coverage_size = level_count + 5;

inline nb::object copy_coverage(Coverage& c) {
    catch_up(c);
    double flat[coverage_size];
    std::copy(std::begin(c.quantile), std::end(c.quantile), flat);
    const double rest[] = {c.scale, c.largest_loss, static_cast<double>(c.streak), static_cast<double>(c.noted),
                           static_cast<double>(c.late)};
    std::copy(std::begin(rest), std::end(rest), flat + level_count);
    return copy_out(flat, coverage_size);
}

inline void set_coverage(const nb::dict& from, Coverage& c) {
    double flat[coverage_size];
    copy_in(from, "coverage", flat, coverage_size);
    std::copy(flat, flat + level_count, c.quantile);
    const double *rest = flat + level_count, streak = rest[2], noted = rest[3], late = rest[4];
    c.scale = rest[0];
    c.largest_loss = rest[1];
    bool good = c.scale == 0 || (c.scale >= least_scale && c.scale <= most_scale);
    for (double quantile : c.quantile)
        good = good && quantile >= least_quantile && quantile <= most_quantile;
    good = good && c.largest_loss >= 0 && noted < 9e15 && std::fabs(streak) <= noted && late >= 0 && late <= noted;
    if (!good)
        throw nb::value_error("the state's coverage is out of range");
    c.streak = static_cast<Index>(streak);
    c.taken = c.noted = static_cast<Index>(noted);
    c.late = static_cast<Index>(late);
    c.due = c.noted + taken_at_once;
}

// Sums are of what is not negative, and those of a kind that counts are whole; `counts` lists their places.
template <class Sums> void check_sums(const Sums& sums, std::initializer_list<std::size_t> counts) {
    double flat[sizeof sums / sizeof(double)];
    std::memcpy(flat, &sums, sizeof sums);
    bool good = true;
    for (double sum : flat)
        good = good && sum >= 0;
    for (std::size_t place : counts)
        good = good && flat[place] < 9e15 && flat[place] == std::floor(flat[place]);
    if (!good)
        throw nb::value_error("the state's sums are out of range");
}

template <class Sums> void copy_sums_in(const nb::dict& from, Sums& sums) {
    copy_in(from, "sums", reinterpret_cast<double*>(&sums), static_cast<Index>(sizeof sums / sizeof(double)));
}

} // namespace driftline::bindings
