// Random Fourier features (Rahimi and Recht 2007): on average over the seed, their inner product is a kernel of the rows.
#pragma once

#include "driftline/base/normal.hpp"
#include "driftline/base/philox.hpp"
#include "driftline/features/transform.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

enum class Spectrum : int { rbf, laplace };

// z = sqrt(2/n) (cos(w_i.x + b_i), sin(w_i.x + b_i)), i = 1, 2, ...; for odd n the last sine is omitted, which the random
// phase b_i corrects on average. The frequencies w_i of feature j are a function of the seed and j.
class RandomFourier : public Transform {
  public:
    RandomFourier(Index inputs, Index outputs, Spectrum spectrum, double gamma, std::uint64_t seed)
        : Transform(0), outputs_(outputs), pairs_((outputs + 1) / 2), spectrum_(spectrum), gamma_(gamma), seed_(seed),
          phase_(static_cast<std::size_t>(pairs_)), angle_(static_cast<std::size_t>(pairs_)) {
        for (Index i = 0; i < pairs_; ++i)
            phase_[static_cast<std::size_t>(i)] = 2 * pi * (uniform(i, 0, phases) + 0.5);
        grow(inputs);
    }

    Index outputs() const override { return outputs_; }
    void view(const double* x, double* z, Index) override {
        std::copy(phase_.begin(), phase_.end(), angle_.begin());
        for (Index j = 0; j < inputs_; ++j) {
            const double* column = frequency_.data() + j * pairs_;
            double* angle = angle_.data();
            for (Index i = 0; i < pairs_; ++i)
                angle[i] += column[i] * x[j];
        }
        const double scale = std::sqrt(2.0 / static_cast<double>(outputs_));
        for (Index i = 0; i < outputs_; ++i) {
            const double angle = angle_[static_cast<std::size_t>(i / 2)];
            z[i] = scale * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
        }
    }
    void grow(Index more) override {
        frequency_.resize(static_cast<std::size_t>((inputs_ + more) * pairs_));
        for (Index j = inputs_; j < inputs_ + more; ++j)
            for (Index i = 0; i < pairs_; ++i)
                frequency_[static_cast<std::size_t>(j * pairs_ + i)] = frequency(uniform(i, j, frequencies));
        Transform::grow(more);
    }

  private:
    static constexpr double pi = 3.14159265358979323846;
    static constexpr std::uint64_t frequencies = 2, phases = 3; // counters that no other code uses

    double uniform(Index i, Index j, std::uint64_t kind) const {
        const auto number = static_cast<std::uint64_t>(i);
        return centred_uniform(philox({{1 + number / 4, static_cast<std::uint64_t>(j), kind, 0}}, seed_).word[number % 4]);
    }
    // exp(-gamma |x - y|^2) is the characteristic function of normal frequencies, exp(-gamma |x - y|_1) of Cauchy ones.
    double frequency(double q) const {
        if (spectrum_ == Spectrum::laplace)
            return gamma_ * std::tan(pi * q);
        return std::sqrt(2 * gamma_) * (std::fabs(q) <= normal_middle ? normal_in_the_middle(q) : normal_in_the_tails(q));
    }

    Index outputs_, pairs_;
    Spectrum spectrum_;
    double gamma_;
    std::uint64_t seed_;
    std::vector<double> frequency_, phase_, angle_;
};

} // namespace DRIFTLINE_ISA
} // namespace driftline
