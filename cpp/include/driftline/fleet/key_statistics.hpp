// What the labels of each key say so far, for the shared model of a fleet whose keys learn from each other.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "driftline/base/simd.hpp"

namespace driftline {

// A row of the table of keys. Python keeps it as numbers, and counts the last five.
struct KeyStatistics {
    double labels = 0, mean = 0, last = 0, recent = 0;                   // of the key
    double number = 0;                                                   // of the key by its first label, from 1
    double errors = 0, pool_mse = 0, own_mse = 0;                        // mean squares of the recent errors of both models
    double loss = 0, judged = 0, inside = 0, alarms = 0, last_alarm = 0; // the latter from 1
};

// The same over all keys.
struct SharedStatistics {
    double labels = 0, level = 0, common = 0, keys = 0; // common: what recent labels had in common, less their keys' means
    double errors = 0, mse = 0;
};

// What the errors of different keys have in common, relative to the sizes to expect. Errors in a row of one key count once.
inline constexpr Index common_block = 4, common_recent = 15, common_keys = 5;
inline constexpr double common_clip = 2, least_common = 1;
struct CommonErrors {
    double next = 0, recent[common_recent] = {}, of[common_recent] = {}; // the latest errors in a ring, and their keys
    double last = 0;                                                     // the number of the last key
    double sum = 0, count = 0;                                           // of a block of errors
};

inline constexpr Index common_numbers = sizeof(CommonErrors) / sizeof(double);
inline constexpr Index key_numbers = sizeof(KeyStatistics) / sizeof(double);
inline constexpr Index shared_numbers = sizeof(SharedStatistics) / sizeof(double);
inline constexpr Index key_features = 5, described_numbers = key_features + 1, scaled_numbers = 3;
inline constexpr int oldest_band = 10;
inline constexpr double shared_memory = 1000, level_rate = 0.02, recent_rate = 0.2, error_rate = 0.05, doubt = 2,
                        least_errors = 8;

// Keys with 0, 1, 2 to 3, 4 to 7, … labels are of one age.
inline Index band_of(const KeyStatistics& key) {
    return std::min(oldest_band, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(key.labels))));
}

// The features of a key as of now: its level, shrunk to that of all keys, its last label, its recent ones, what labels have
// in common, and how much the key is known; then the level of all keys, NaN before the first label.
inline void describe(const KeyStatistics& key, const SharedStatistics& all, double* features) {
    const double known = key.labels / (key.labels + 1);
    features[0] = all.level + known * (key.mean - all.level);
    features[1] = key.labels > 0 ? key.last : all.level;
    features[2] = key.labels > 0 ? key.recent : all.level;
    features[3] = all.common;
    features[4] = known;
    features[5] = all.labels > 0 ? all.level : NAN;
}

inline void learn(KeyStatistics& key, SharedStatistics& all, double y) {
    if (key.labels == 0)
        key.number = ++all.keys;
    all.labels += 1;
    all.common += (y - (key.labels > 0 ? key.mean : all.level) - all.common) / all.keys;
    all.level += (y - all.level) / std::min(all.labels, shared_memory);
    key.labels += 1;
    key.mean += std::max(1 / key.labels, level_rate) * (y - key.mean);
    key.recent += std::max(1 / key.labels, recent_rate) * (y - key.recent);
    key.last = y;
}

// NaN if the square is out of range: no scale.
inline double root_of(double mean_square) {
    return mean_square > 1e-300 && mean_square < 1e300 ? std::sqrt(mean_square) : NAN;
}

// The size of the errors to expect of a key, how much better its own model has been, from -1/2 to 1/2, and the size of the
// errors of all keys. The sizes are NaN until there are enough errors: a first one that is small by chance would make all
// later ones look large.
inline void scale(const KeyStatistics& key, const SharedStatistics& all, double* scales) {
    const double sum = key.pool_mse + key.own_mse, known = std::min(key.pool_mse, key.own_mse);
    const bool enough = all.errors >= least_errors;
    scales[0] = enough ? root_of((doubt * all.mse + key.errors * known) / (doubt + key.errors)) : NAN;
    scales[1] = sum > 0 && std::isfinite(sum) ? key.pool_mse / sum - 0.5 : 0;
    scales[2] = enough ? root_of(all.mse) : NAN;
}

inline void learn_errors(KeyStatistics& key, SharedStatistics& all, double of_pool, double of_own) {
    const double pool_square = of_pool * of_pool, own_square = of_own * of_own;
    all.errors += 1;
    const double latest = std::max(2 / (all.errors + 1), 1 / shared_memory); // the first errors are the largest
    all.mse += latest * (std::min(pool_square, own_square) - all.mse);
    key.errors += 1;
    const double rate = std::max(1 / key.errors, error_rate);
    key.pool_mse += rate * (pool_square - key.pool_mse);
    key.own_mse += rate * (own_square - key.own_mse);
}

// The median of the latest errors, if most of them are large, of one sign and of several keys; otherwise 0.
inline double common_error(const CommonErrors& common) {
    Index above = 0, below = 0;
    for (const double error : common.recent) {
        above += error > least_common;
        below += error < -least_common;
    }
    if (std::max(above, below) <= common_recent / 2)
        return 0;
    double errors[common_recent], keys[common_recent];
    std::copy_n(common.of, common_recent, keys);
    std::sort(keys, keys + common_recent);
    if (std::unique(keys, keys + common_recent) - keys < common_keys)
        return 0;
    std::copy_n(common.recent, common_recent, errors);
    std::nth_element(errors, errors + common_recent / 2, errors + common_recent);
    return errors[common_recent / 2];
}

// Returns what is left of an error of a key without the common error, for the alarm of the key. A complete block gives the
// alarm of the pool the mean of its errors, in which a single key counts little.
inline double watch(CommonErrors& common, const KeyStatistics& key, double error, double size, double& block) {
    block = NAN;
    const double relative = error / size;
    if (!std::isfinite(relative))
        return error;
    const double left = error - size * common_error(common);
    if (common.last != key.number) {
        common.last = key.number;
        const auto place = static_cast<Index>(common.next);
        common.recent[place] = relative;
        common.of[place] = key.number;
        common.next = static_cast<double>((place + 1) % common_recent);
        common.sum += std::clamp(relative, -common_clip, common_clip);
        if (++common.count == common_block) {
            block = common.sum / common_block;
            common.sum = common.count = 0;
        }
    }
    return left;
}

} // namespace driftline
