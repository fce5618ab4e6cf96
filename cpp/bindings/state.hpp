// Parts of a saved state that all learners have.
#pragma once

#include <algorithm>
#include <iterator>

#include "core.hpp"

namespace driftline::bindings {

// The saved form: bounds, quantiles, debts, bins, the last scores, the weight of the zeros, the key of the first bin, the
// largest loss, five counts, the start of the memory, the width of the bins and the last misses. Scores that wait are taken
// in first. Then where labels lay, which earlier versions did not keep.
inline constexpr Index least_coverage_size = 3 * level_count + bin_count + most_waiting + 11;
inline constexpr Index coverage_size = least_coverage_size + place_count;

// Between two readings of the bins, 64 misses multiply a bound by up to 1e9.
inline constexpr double most_bound_saved = 1e10 * most_factor * most_score;

inline nb::object copy_coverage(Coverage& c) {
    catch_up(c);
    double* to;
    nb::object out = new_array(coverage_size, to);
    to = std::copy(std::begin(c.bound), std::end(c.bound), to);
    to = std::copy(std::begin(c.base), std::end(c.base), to);
    to = std::copy(std::begin(c.debt), std::end(c.debt), to);
    to = std::copy(std::begin(c.weight), std::end(c.weight), to);
    for (Index i = c.taken - most_waiting; i < c.taken; ++i)
        *to++ = c.ring[i & (ring_size - 1)];
    const double rest[] = {
        static_cast<double>(c.weight_of_zeros), static_cast<double>(c.first_key),  c.largest_loss,
        static_cast<double>(c.noted),           static_cast<double>(c.delay),      static_cast<double>(c.origin),
        static_cast<double>(c.batch),           static_cast<double>(c.last_batch), static_cast<double>(c.since),
        static_cast<double>(c.shift),           static_cast<double>(c.misses)};
    to = std::copy(std::begin(rest), std::end(rest), to);
    std::copy(std::begin(c.places.weight), std::end(c.places.weight), to);
    return out;
}

// 0 before the first error.
inline bool is_first_key(double key) {
    return key == 0 || (key == std::floor(key) && key > 0 && key <= static_cast<double>(key_of(most_score)));
}

// Reads `size` numbers. Later ones, which the state lacks, are 0.
inline void set_coverage(const double* from, Index size, Coverage& c) {
    double flat[coverage_size] = {};
    std::copy_n(from, size, flat);
    const double *debts = flat + 2 * level_count, *weights = debts + level_count, *scores = weights + bin_count,
                 *rest = scores + most_waiting;
    const double* const places = flat + least_coverage_size;
    const double key = rest[1], noted = rest[3], delay = rest[4];
    double total = 0;
    bool good = true;
    for (const double* bound = flat; bound < debts; ++bound)
        good = good && *bound >= 0 && *bound <= most_bound_saved;
    const double rows_at_once = at_least(rest[6], rest[7]), widest = at_least(1, rows_at_once / most_batch) * (1 + 1e-6);
    for (const double* debt = debts; debt < weights; ++debt)
        good = good && *debt >= widest * least_debt && *debt <= widest * most_debt;
    const auto add_weight = [&good, &total](double weight) {
        good = good && weight >= 0 && weight == std::floor(weight);
        total += weight;
    };
    std::for_each(weights, scores, add_weight);
    add_weight(rest[0]); // of the zeros
    for (const double* score = scores; score < rest; ++score)
        good = good && std::fabs(*score) <= most_score;
    good = good && rest[9] >= 0 && rest[9] <= most_shift && rest[9] == std::floor(rest[9]);
    good = good && rest[10] >= 0 && rest[10] <= UINT32_MAX && rest[10] == std::floor(rest[10]);
    good = good && total <= most_weight && is_first_key(key) && (key > 0 || (total == rest[0] && rest[9] == 0));
    total = 0;
    std::for_each(places, places + place_count, add_weight);
    good = good && total <= most_weight;
    good = good && rest[2] >= 0 && noted >= 0 && noted < 9e15 && delay >= 0 && delay <= noted;
    for (const double* count = rest + 5; count < rest + 9; ++count)
        good = good && *count >= 0 && *count <= noted && *count == std::floor(*count);
    if (!good)
        throw nb::value_error("the state's coverage is out of range");
    std::copy_n(flat, level_count, c.bound);
    std::copy_n(flat + level_count, level_count, c.base);
    std::transform(debts, weights, c.debt, [](double debt) { return static_cast<float>(debt); });
    std::copy_n(weights, bin_count, c.weight);
    c.weight_of_zeros = static_cast<std::uint32_t>(rest[0]);
    c.first_key = static_cast<Index>(key);
    c.largest_loss = rest[2];
    c.taken = c.noted = static_cast<Index>(noted);
    c.delay = static_cast<Index>(delay);
    c.origin = static_cast<Index>(rest[5]);
    c.batch = static_cast<Index>(rest[6]);
    c.last_batch = static_cast<Index>(rest[7]);
    c.since = static_cast<Index>(rest[8]);
    c.shift = static_cast<std::uint32_t>(rest[9]);
    c.misses = static_cast<std::uint32_t>(rest[10]);
    std::copy_n(places, place_count, c.places.weight);
    for (Index i = 0; i < most_waiting; ++i)
        c.ring[(c.taken - most_waiting + i) & (ring_size - 1)] = scores[i];
}

inline void set_coverage(const nb::dict& from, Coverage& c) {
    const auto saved = table_in<double, 1>(from, "coverage", 1, coverage_size, least_coverage_size);
    set_coverage(saved.data(), static_cast<Index>(saved.size()), c);
}

// Sums must not be negative, except the last `any`, and counts must be whole; `counts` lists their places.
template <class Sums> void check_sums(const Sums& sums, std::initializer_list<std::size_t> counts, std::size_t any = 0) {
    double flat[sizeof sums / sizeof(double)];
    std::memcpy(flat, &sums, sizeof sums);
    bool good = true;
    for (std::size_t i = 0; i < std::size(flat); ++i)
        good = good && (flat[i] >= 0 || (i + any >= std::size(flat) && std::isfinite(flat[i])));
    for (std::size_t place : counts)
        good = good && flat[place] < 9e15 && flat[place] == std::floor(flat[place]);
    if (!good)
        throw nb::value_error("the state's sums are out of range");
}

// Older states lack the last `added`.
template <class Sums> void copy_sums_in(const nb::dict& from, Sums& sums, Index added = 0) {
    constexpr Index count = sizeof sums / sizeof(double);
    copy_in(from, "sums", reinterpret_cast<double*>(&sums), count, count - added);
}

} // namespace driftline::bindings
