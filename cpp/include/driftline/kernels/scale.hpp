// Estimates the scale of a kernel from the first rows of a stream.
#pragma once

#include <cmath>
#include <vector>

#include "driftline/kernels/function.hpp"
#include "driftline/base/range.hpp"

namespace driftline {

// The first rows: x, y, the weight, the share of S^-1 that time left before the row, and the time if rows have times.
class FirstRows {
  public:
    static constexpr Index most = 256;

    Index rows() const { return static_cast<Index>(labels_.size()) / 3; }
    bool open() const { return !closed_; }
    // Whether the number of rows has doubled, so that the scale is estimated again.
    bool due() const { return rows() > 1 && (rows() & (rows() - 1)) == 0; }
    void add(const double* x, Index features, double y, double weight, double kept, double at) {
        x_.insert(x_.end(), x, x + features);
        labels_.insert(labels_.end(), {y, weight, kept});
        if (!std::isnan(at))
            times_.push_back(at);
    }
    const double* x(Index t, Index features) const { return x_.data() + t * features; }
    const double* y(Index t) const { return labels_.data() + 3 * t; }
    double at(Index t) const { return times_.empty() ? NAN : times_[static_cast<std::size_t>(t)]; }
    double weight(Index t) const { return labels_[static_cast<std::size_t>(3 * t + 1)]; }
    std::vector<double> kept() const {
        std::vector<double> all;
        for (std::size_t at = 2; at < labels_.size(); at += 3)
            all.push_back(labels_[at]);
        return all;
    }

    // The gamma with which the exponent of two rows is 2 on average, or a polynomial's argument is 1 beyond its offset; 0 if
    // the rows do not determine it.
    double gamma(KernelKind kind, Index features) const {
        const double n = static_cast<double>(rows());
        double total = 0;
        for (Index j = 0; j < features; ++j) {
            const double mean = kind == KernelKind::polynomial ? 0 : sum(j, features, [](double x) { return x; }) / n;
            const double variance = sum(j, features, [&](double x) { return (x - mean) * (x - mean); }) / n;
            total += kind == KernelKind::laplace ? std::sqrt(variance) : variance;
        }
        return total > 0 ? at_most(at_least(DBL_MIN, 1 / total), DBL_MAX) : 0;
    }

    void close() {
        closed_ = true;
        x_ = {};
        labels_ = {};
        times_ = {};
    }
    void widen(Index features, Index more) {
        std::vector<double> wider;
        for (Index t = 0; t < rows(); ++t) {
            wider.insert(wider.end(), x(t, features), x(t, features) + features);
            wider.insert(wider.end(), static_cast<std::size_t>(more), 0.0);
        }
        x_ = std::move(wider);
    }
    // Makes room for rows before the numbers of a state are read.
    void expect(Index rows, Index features, bool timed) {
        x_.resize(static_cast<std::size_t>(rows * features));
        labels_.resize(static_cast<std::size_t>(3 * rows));
        times_.resize(timed ? static_cast<std::size_t>(rows) : 0);
    }
    bool is_sound() const {
        bool good = true;
        for (std::size_t at = 0; at < labels_.size(); at += 3)
            good = good && labels_[at + 1] > 0 && labels_[at + 2] > 0 && labels_[at + 2] <= 1;
        return good;
    }
    template <class Act> void visit(Act&& act) {
        act(x_.data(), static_cast<Index>(x_.size()));
        act(labels_.data(), static_cast<Index>(labels_.size()));
        act(times_.data(), static_cast<Index>(times_.size()), "times");
    }

  private:
    template <class Term> double sum(Index j, Index features, Term term) const {
        double total = 0;
        for (Index t = 0; t < rows(); ++t)
            total += term(x(t, features)[j]);
        return total;
    }

    bool closed_ = false;
    std::vector<double> x_, labels_, times_;
};

} // namespace driftline
