// The interface of a transformation of rows, one of several in a chain, and the arrays of its state.
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
    bool any_length = false; // else the length is fixed unless features are added
};

class Transform {
  public:
    explicit Transform(Index inputs) : inputs_(inputs) {}
    virtual ~Transform() = default;

    Index inputs() const { return inputs_; }
    virtual Index outputs() const { return inputs_; }

    // The current row as the next stage sees it; the labels of the last `delay` rows are not known.
    virtual void view(const double* x, double* z, Index delay) = 0;
    // Transforms a row that is not part of the stream, using only what was learned.
    virtual void apply(const double* x, double* z) { view(x, z, 1); }
    // Adds the current row to those seen.
    virtual void learn(const double*, double) {}
    // A row that cannot be learned keeps its place among the rows that later ones look back on. `x` is null if a feature is
    // missing, `y` is NaN if the label is.
    virtual void pass_over(const double* /* x */, double /* y */) {}
    // Appends `more` features.
    virtual void grow(Index more) { inputs_ += more; }

    virtual std::vector<Part> parts() { return {}; }
    // Called after the parts were set from outside; throws std::invalid_argument if they are inconsistent.
    virtual void restore() {}

  protected:
    Index inputs_;
};

} // namespace driftline
