// Transformations in a row: what one gives, the next takes.
#pragma once

#include <memory>

#include "driftline/transform.hpp"

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

    // The row at hand as a row of the stream, or, where `alone`, by what was learned before; false where a value left the
    // range.
    bool look(double* z, bool alone = false) {
        for (std::size_t i = 0; i < transforms_.size(); ++i) {
            double* to = i + 1 < transforms_.size() ? between_[i + 1].data() : z;
            if (alone)
                transforms_[i]->apply(between_[i].data(), to);
            else
                transforms_[i]->view(between_[i].data(), to);
        }
        for (Index j = 0; j < outputs(); ++j)
            if (!(std::fabs(z[j]) <= largest_))
                return false;
        return true;
    }
    // The row that was looked at, as one of the stream, becomes one of those seen.
    void learn(double y) {
        for (std::size_t i = 0; i < transforms_.size(); ++i)
            transforms_[i]->learn(between_[i].data(), y);
    }
    // When features were added to the transformations.
    void make_room() {
        between_.clear();
        for (const auto& transform : transforms_)
            between_.emplace_back(static_cast<std::size_t>(transform->inputs() + 1)); // never without memory
    }
    double largest() const { return largest_; }

  private:
    std::vector<std::shared_ptr<Transform>> transforms_;
    double largest_;
    std::vector<std::vector<double>> between_; // what each takes
};

} // namespace driftline
