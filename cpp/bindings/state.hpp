// Parts of a saved state that learners share.
#pragma once

#include <algorithm>
#include <iterator>

#include "core.hpp"

namespace driftline::bindings {

// As it is saved: the quantiles, the scale, five counts, and the recent scores.
inline constexpr Index coverage_counts = level_count + 1, coverage_recent = coverage_counts + 5,
                       coverage_size = coverage_recent + remembered;

inline nb::object copy_coverage(Coverage& c) {
    if (c.due != never)
        catch_up(c);
    double flat[coverage_size];
    std::copy(std::begin(c.quantile), std::end(c.quantile), flat);
    flat[level_count] = c.scale;
    const Index counts[] = {c.streak, c.first, c.taken, c.noted, c.due != never};
    std::copy(std::begin(counts), std::end(counts), flat + coverage_counts);
    std::copy(std::begin(c.recent), std::end(c.recent), flat + coverage_recent);
    return copy_out(flat, coverage_size);
}

inline void set_coverage(const nb::dict& from, Coverage& c) {
    double flat[coverage_size];
    copy_in(from, "coverage", flat, coverage_size);
    std::copy(flat, flat + level_count, c.quantile);
    c.scale = flat[level_count];
    std::copy(flat + coverage_recent, flat + coverage_size, c.recent);
    bool good = c.scale == 0 || (c.scale >= least_scale && c.scale <= most_scale);
    for (double quantile : c.quantile)
        good = good && quantile >= least_quantile && quantile <= most_quantile;
    for (double score : c.recent)
        good = good && score >= 0;
    for (Index i = coverage_counts; i < coverage_recent; ++i)
        good = good && std::fabs(flat[i]) < 9e15;
    if (good) {
        const auto count = [&](Index i) { return static_cast<Index>(flat[coverage_counts + i]); };
        c.streak = count(0);
        c.first = count(1);
        c.taken = count(2);
        c.noted = count(3);
        c.due = count(4) ? c.noted + taken_at_once : never;
        good = c.first >= 0 && c.taken >= c.first && c.noted >= c.taken && (count(4) == 0 || c.taken == c.noted);
    }
    if (!good)
        throw nb::value_error("the state's coverage is out of range");
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
