// The mixer's short loops, compared with the C library's functions in extended precision.
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "driftline/ensembles/mixing.hpp"

namespace {

using namespace driftline;

void logarithms_match_the_library() {
    for (int power = -1000; power <= 960; power += 7)
        for (double mantissa = 1; mantissa < 2; mantissa += 0.0173) {
            const double value = std::ldexp(mantissa, power);
            const long double expected = std::log(static_cast<long double>(value));
            CHECK_NEAR(plain_log(value), expected, 4e-16L * std::fmax(1.0L, std::fabs(expected)));
        }
}

void exponentials_match_the_library() {
    for (double power = -700; power <= 0; power += 0.0737)
        CHECK_NEAR(plain_exp(power) / std::exp(static_cast<long double>(power)), 1, 1e-15L);
    CHECK(plain_exp(-1e300) > 0 && plain_exp(-1e300) < 1e-300);
    CHECK(plain_exp(0) == 1);
}

void weights_are_the_likelihoods(Index count) {
    std::vector<double> losses, prior, weights(static_cast<std::size_t>(count));
    for (Index k = 0; k < count; ++k) {
        losses.push_back(1 + 0.01 * static_cast<double>((7 * k) % 11));
        prior.push_back(-0.1 * static_cast<double>(k % 3));
    }
    weigh(losses.data(), prior.data(), 20, weights.data(), count);
    long double sum = 0, floor = 0;
    for (const double loss : losses)
        floor += 1e-9L * loss / count;
    std::vector<long double> expected;
    for (std::size_t k = 0; k < losses.size(); ++k) {
        expected.push_back(std::exp(static_cast<long double>(prior[k])) * std::pow(losses[k] + floor, -10.0L));
        sum += expected.back();
    }
    for (std::size_t k = 0; k < losses.size(); ++k)
        CHECK_NEAR(weights[k], expected[k] / sum, 1e-14L);
}

void the_loss_of_one_row_is_limited(Index count) {
    std::vector<double> losses(static_cast<std::size_t>(count), 20.0), squares(losses.size(), 16.0);
    losses.back() = 10;
    squares.front() = 1;
    const auto take = [&](double before, double now) {
        discount_losses(losses.data(), squares.data(), count, 10, before, now, 0.5, 1.0);
    };
    take(0, 1);
    CHECK_NEAR(losses.front(), count == 1 ? 6 : 11, 1e-12);
    const double least = *std::min_element(losses.begin(), losses.end());
    squares.assign(losses.size(), 1e200);
    take(0, 1e200);
    for (const double loss : losses)
        CHECK(loss > 100 * least && loss < 100 * least + 14);
    squares.front() = 1e199;
    take(1e201, 1e199); // the second outlier in succession
    CHECK_NEAR(losses.front() / 1e201, 1.01, 1e-12);
    CHECK_NEAR(losses.back() / 1e201, count == 1 ? 1.01 : 1.1, 1e-12);
}

} // namespace

int main() {
    logarithms_match_the_library();
    exponentials_match_the_library();
    for (Index count = 1; count < 40; ++count) {
        weights_are_the_likelihoods(count);
        the_loss_of_one_row_is_limited(count);
    }
    return checks::result();
}
