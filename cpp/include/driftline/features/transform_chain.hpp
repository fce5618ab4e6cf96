// A chain of transformations: the output of each is the input of the next.
#pragma once

#include <memory>

#include "driftline/features/transform.hpp"

namespace driftline {

class TransformChain {
  public:
    // `largest` is the largest value that the learner at the end accepts.
    TransformChain(std::vector<std::shared_ptr<Transform>> transforms, double largest)
        : transforms_(std::move(transforms)), largest_(largest) {
        make_room();
    }

    Index inputs() const { return transforms_.front()->inputs(); }
    Index outputs() const { return transforms_.back()->outputs(); }
    // The buffer for the input row.
    double* row() { return between_.front().data(); }

    // Transforms the current row as a row of the stream whose label comes `delay` rows late, or, if `alone`, using only what
    // was learned before. False if a value left the range: that of float64 between two transformations, that of the learner
    // at the end.
    bool look(double* z, bool alone = false, Index delay = 0) {
        const std::size_t last = transforms_.size() - 1;
        for (std::size_t i = 0; i <= last; ++i) {
            double* to = i < last ? between_[i + 1].data() : z;
            if (alone)
                transforms_[i]->apply(between_[i].data(), to);
            else
                transforms_[i]->view(between_[i].data(), to, delay);
            if (!within(to, transforms_[i]->outputs(), i < last ? DBL_MAX : largest_)) {
                left_after_ = i;
                left_.assign(to, to + transforms_[i]->outputs());
                return false;
            }
        }
        return true;
    }
    // For the row that last left the range: the transformed values, and which transformation gave them.
    const std::vector<double>& left() const { return left_; }
    std::size_t left_after() const { return left_after_; }

    // Adds the row that was looked at to those seen.
    void learn(double y) {
        for (std::size_t i = 0; i < transforms_.size(); ++i)
            transforms_[i]->learn(between_[i].data(), y);
    }
    // The same for a row that cannot be learned: the row last looked at or, unless `looked`, one with missing features.
    void pass_over(bool looked, double y) {
        for (std::size_t i = 0; i < transforms_.size(); ++i)
            transforms_[i]->pass_over(looked ? between_[i].data() : nullptr, std::fabs(y) <= largest_ ? y : NAN);
    }
    // Called after features were added to the transformations.
    void make_room() {
        between_.clear();
        for (const auto& transform : transforms_)
            between_.emplace_back(static_cast<std::size_t>(transform->inputs() + 1)); // never without memory
    }
    double largest() const { return largest_; }

  private:
    static bool within(const double* values, Index count, double largest) {
        for (Index j = 0; j < count; ++j)
            if (!(std::fabs(values[j]) <= largest))
                return false;
        return true;
    }

    std::vector<std::shared_ptr<Transform>> transforms_;
    double largest_;
    std::vector<std::vector<double>> between_; // the input of each transformation
    std::vector<double> left_;
    std::size_t left_after_ = 0;
};

} // namespace driftline
