// A transformation of rows, one of several in a chain: what it is asked, and the arrays in which its state leaves and
// enters.
#pragma once

#include <stdexcept>
#include <vector>

#include "driftline/base/range.hpp"

namespace driftline {

// A named part of a transformation's state.
struct Part {
    const char* name;
    std::vector<double>* values;
    bool may_be_negative = true;
    bool any_length = false; // else it keeps its length unless features are added
};

class Transform {
  public:
    explicit Transform(Index inputs) : inputs_(inputs) {}
    virtual ~Transform() = default;

    Index inputs() const { return inputs_; }
    virtual Index outputs() const { return inputs_; }

    // The current row as the learner behind sees it, `ahead` rows beyond the last label that is known.
    virtual void view(const double* x, double* z, Index ahead) = 0;
    // A row that is not part of the stream, by what was learned alone.
    virtual void apply(const double* x, double* z) { view(x, z, 1); }
    // The current row becomes one of those seen.
    virtual void learn(const double*, double) {}
    // A row that cannot be learned keeps its place among those that later rows look back on. `x` is null where a feature is
    // missing, `y` NaN where the label is.
    virtual void pass_over(const double* /* x */, double /* y */) {}
    // So many features more, behind the others.
    virtual void grow(Index more) { inputs_ += more; }

    virtual std::vector<Part> parts() { return {}; }
    // Called when the parts were set from outside; std::invalid_argument where they do not go together.
    virtual void restore() {}

  protected:
    Index inputs_;
};

} // namespace driftline
