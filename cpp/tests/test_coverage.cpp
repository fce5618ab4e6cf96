// Bounds on scores: bit for bit the same however often they are queried, and finite for any scores.
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "driftline/base/quantiles.hpp"

namespace {

using namespace driftline;

IntervalBasis basis_of_interval(Coverage& c, double variance, double largest_loss) {
    IntervalBasis basis;
    base_interval(c, {}, variance, largest_loss, basis);
    return basis;
}

// Numbers from 0 to 1, the same on every machine.
double uniform(Index i) {
    const double value = std::sin(static_cast<double>(i)) * 43758.5453;
    return value - std::floor(value);
}
bool same(const Coverage& a, const Coverage& b) {
    return std::memcmp(a.bound, b.bound, sizeof a.bound) == 0 && std::memcmp(a.base, b.base, sizeof a.base) == 0 &&
           std::memcmp(a.weight, b.weight, sizeof a.weight) == 0 && a.weight_of_zeros == b.weight_of_zeros &&
           a.first_key == b.first_key && a.shift == b.shift && a.misses == b.misses && a.since == b.since &&
           a.noted == b.noted && std::memcmp(&a.places, &b.places, sizeof a.places) == 0;
}

void queries_between_scores_do_not_change_the_bits(Index every) {
    Coverage seldom, often;
    for (Index i = 0; i < 3000; ++i) {
        const double score = uniform(i) < 0.2 ? 0 : std::exp(20 * uniform(i + 5000) - 10);
        note(seldom, score, uniform(i + 9000) - 0.5);
        note(often, score, uniform(i + 9000) - 0.5);
        if (i % every == 0)
            basis_of_interval(often, 1, 1);
    }
    catch_up(seldom);
    catch_up(often);
    CHECK(same(seldom, often));
}

void bounds_are_finite_and_ordered(double least, double most, Index late) {
    Coverage c;
    std::vector<IntervalBasis> said;
    double largest = 0;
    for (Index i = 0; i < 4000; ++i) {
        said.push_back(basis_of_interval(c, 1, largest));
        for (Index k = 0; k < level_count; ++k) {
            CHECK(std::isfinite(said.back().bound[k]) && said.back().bound[k] >= 0);
            CHECK(k == 0 || said.back().bound[k - 1] <= said.back().bound[k]);
        }
        const double wanted[] = {0.001, 0.05, 0.5, 0.95, 0.999};
        double quantiles[5];
        write_quantiles(said.back(), c.places, 0, wanted, 5, quantiles);
        CHECK(std::is_sorted(std::begin(quantiles), std::end(quantiles)));
        CHECK(i - late < 1000 || (std::isfinite(quantiles[0]) && std::isfinite(quantiles[4])));
        if (i < late)
            continue;
        const double square = i / 100 % 2 ? least : most * uniform(i);
        largest = at_least(largest, square);
        note(c, square, 1);
        if (late > 0)
            judge(c, std::sqrt(square), said[static_cast<std::size_t>(i - late)]);
    }
    Index total = c.weight_of_zeros;
    for (const std::uint32_t weight : c.weight)
        total += weight;
    CHECK(total <= most_weight);
}

// Between two readings of the bins, log(last / first factor) / step is the number of misses minus the expected number.
void the_factor_counts_the_misses(Index late) {
    Coverage c;
    std::vector<IntervalBasis> said;
    for (Index i = 0; i < 640 + late; ++i) {
        said.push_back(basis_of_interval(c, 1, 1e9));
        if (i >= late) {
            note(c, uniform(i), 1);
            if (late > 0)
                judge(c, std::sqrt(uniform(i)), said[static_cast<std::size_t>(i - late)]);
        }
    }
    catch_up(c);
    double before[level_count], expected[level_count] = {};
    std::memcpy(before, c.bound, sizeof before);
    for (Index i = 0; i < 60; ++i) {
        const IntervalBasis now = basis_of_interval(c, 1, 1e9);
        for (Index k = 0; k < level_count; ++k)
            expected[k] += (uniform(i) > now.bound[k] ? 1 : 0) - (1 - levels[k]);
        note(c, uniform(i), 1);
    }
    catch_up(c);
    for (Index k = 0; k < level_count; ++k)
        CHECK_NEAR(std::log(c.bound[k] / before[k]), step_at_once * expected[k], 1e-8L);
}

// Whatever the scores do, there are at most as many misses as the factor says; runs of misses only raise it.
void the_factor_bounds_the_misses(Index rows_of_a_scale) {
    Coverage c;
    for (Index i = 0; i < 640; ++i)
        note(c, uniform(i), 1);
    catch_up(c);
    double first[level_count], misses[level_count] = {};
    for (Index k = 0; k < level_count; ++k)
        first[k] = std::log(c.bound[k] / c.base[k]);
    const Index rows = 8000;
    for (Index i = 0; i < rows; ++i) {
        const IntervalBasis now = basis_of_interval(c, 1, 1e9);
        const double score = uniform(i) * std::exp(20 * uniform(i / rows_of_a_scale + 7) - 10);
        for (Index k = 0; k < level_count; ++k)
            misses[k] += score > now.bound[k];
        note(c, score, 1);
    }
    catch_up(c);
    for (Index k = 0; k < level_count; ++k) {
        const double last = std::log(c.bound[k] / c.base[k]);
        CHECK(misses[k] - (1 - levels[k]) * static_cast<double>(rows) <= (last - first[k]) / step_at_once + 1e-6);
    }
}

// No interval is wider than ten times the largest error so far, so a label beyond that is a miss whatever its score.
void a_label_beyond_the_widest_interval_is_a_miss() {
    Coverage wide;
    for (Index i = 0; i < 640; ++i)
        note(wide, uniform(i), 1);
    Coverage capped = wide;
    const auto tell = [](Coverage& c, double largest_loss) {
        const IntervalBasis basis = basis_of_interval(c, 1, largest_loss);
        const double square = 0.5 * basis.bound[0];
        note(c, square, 1);
        judge(c, std::sqrt(square), basis);
    };
    tell(wide, 1e9);
    tell(capped, 1e-9);
    for (Index k = 0; k < level_count; ++k)
        CHECK_NEAR(capped.debt[k] - wide.debt[k], 1 - forgotten, 1e-5L);
}

// However much smaller scores were for however long, intervals of the upper levels cover them soon after they return.
void misses_do_not_last(double quiet, Index spell, Index late) {
    Coverage c;
    std::vector<IntervalBasis> said;
    Index run[level_count] = {}, longest[level_count] = {}, misses[level_count] = {};
    const Index before = 600, after = 2000, rows = before + spell + after;
    for (Index i = 0; i < rows + late; ++i) {
        said.push_back(basis_of_interval(c, 1, 1));
        if (i < late)
            continue;
        const Index row = i - late;
        const IntervalBasis& basis = said[static_cast<std::size_t>(row)];
        const double score = uniform(row) * (row < before || row >= before + spell ? 1 : quiet);
        for (Index k = 0; k < level_count && row >= before + spell; ++k) {
            run[k] = score > basis.bound[k] ? run[k] + 1 : 0;
            misses[k] += score > basis.bound[k];
            longest[k] = std::max(longest[k], run[k]);
        }
        note(c, score, 1);
        if (late > 0)
            judge(c, std::sqrt(score), basis);
    }
    for (Index k = run_level; k < level_count; ++k) {
        CHECK(longest[k] <= 20 + late);
        CHECK(static_cast<double>(misses[k]) <=
              (1 - levels[k] + 0.015) * static_cast<double>(after) + static_cast<double>(late));
    }
}

// Bins that become wider or move keep the weight of every score, and its place to within a bin.
void bins_of_any_width_keep_the_weights() {
    Coverage c;
    for (Index i = 0; i < 100; ++i) {
        const double score = std::exp(1200 * uniform(i) - 600);
        count_score(c, score);
        std::uint32_t total = 0, from = 0;
        for (Index bin = 0; bin < bin_count; ++bin) {
            total += c.weight[bin];
            from += bin >= bin_of(c, score) ? c.weight[bin] : 0;
        }
        CHECK(total == static_cast<std::uint32_t>(i + 1) * row_weight);
        Index larger = 0;
        for (Index j = 0; j <= i; ++j)
            larger += bin_of(c, std::exp(1200 * uniform(j) - 600)) >= bin_of(c, score);
        CHECK(bin_of(c, score) < 0 || from == static_cast<std::uint32_t>(larger) * row_weight);
    }
    CHECK(c.shift > 0);
}

} // namespace

int main() {
    bins_of_any_width_keep_the_weights();
    for (const double quiet : {0.0, 1e-280, 1e-30, 1e-6})
        for (const Index spell : {0, 500, 2000, 20000})
            for (const Index late : {0, 1, 12})
                misses_do_not_last(quiet, spell, late);
    a_label_beyond_the_widest_interval_is_a_miss();
    for (const Index rows_of_a_scale : {1, 10, 300, 2500})
        the_factor_bounds_the_misses(rows_of_a_scale);
    for (const Index every : {1, 3, 100})
        queries_between_scores_do_not_change_the_bits(every);
    for (const Index late : {0, 1, 30, 500}) {
        bounds_are_finite_and_ordered(0, 1, late);
        bounds_are_finite_and_ordered(1e-290, 1e290, late);
        bounds_are_finite_and_ordered(5e-324, DBL_MAX, late);
        the_factor_counts_the_misses(late);
    }
    return checks::result();
}
