// Transformations in a row: what one gives, the next takes.
#pragma once

#include <memory>

#include "driftline/features/transform.hpp"

namespace driftline {

class TransformChain {
  public:
    // `largest` is the end of the range of the learner behind: values beyond it are not for its eyes.
    TransformChain(std::vector<std::shared_ptr<Transform>> transforms, double largest)
        : transforms_(std::move(transforms)), largest_(largest) {
        make_room();
    }

    Index inputs() const { return transforms_.front()->inputs(); }
    Index outputs() const { return transforms_.back()->outputs(); }
    // Where the row goes before it is looked at.
    double* row() { return between_.front().data(); }

    // The current row as a row of the stream, `ahead` rows beyond the last label, or, where `alone`, by what was learned
    // before; false where a value left the range: between two transformations that of float64, at the end that of the
    // learner behind.
    bool look(double* z, bool alone = false, Index ahead = 1) {
        const std::size_t last = transforms_.size() - 1;
        for (std::size_t i = 0; i <= last; ++i) {
            double* to = i < last ? between_[i + 1].data() : z;
            if (alone)
                transforms_[i]->apply(between_[i].data(), to);
            else
                transforms_[i]->view(between_[i].data(), to, ahead);
            if (!within(to, transforms_[i]->outputs(), i < last ? DBL_MAX : largest_)) {
                left_after_ = i;
                left_.assign(to, to + transforms_[i]->outputs());
                return false;
            }
        }
        return true;
    }
    // Of the row that last left the range: what a transformation made of it, and which one that was.
    const std::vector<double>& left() const { return left_; }
    std::size_t left_after() const { return left_after_; }

    // The row that was looked at, as one of the stream, becomes one of those seen.
    void learn(double y) {
        for (std::size_t i = 0; i < transforms_.size(); ++i)
            transforms_[i]->learn(between_[i].data(), y);
    }
    // The same for a row that cannot be learned; `looked`: the row that was looked at, else one whose features are missing.
    void pass_over(bool looked, double y) {
        for (std::size_t i = 0; i < transforms_.size(); ++i)
            transforms_[i]->pass_over(looked ? between_[i].data() : nullptr, std::fabs(y) <= largest_ ? y : NAN);
    }
    // When features were added to the transformations.
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
    std::vector<std::vector<double>> between_; // what each takes
    std::vector<double> left_;
    std::size_t left_after_ = 0;
};

} // namespace driftline
