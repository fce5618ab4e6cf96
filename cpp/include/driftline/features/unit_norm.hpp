// Rows of length 1.
#pragma once

#include "driftline/features/transform.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

class UnitNorm : public Transform {
  public:
    using Transform::Transform;

    // A row of zeros stays as it is. The largest entry is scaled to about 1 first, so that no square leaves the range.
    void view(const double* x, double* z, Index) override {
        double most = 0, total = 0;
        for (Index j = 0; j < inputs_; ++j)
            most = at_least(most, std::fabs(x[j]));
        const int exponent = most > 0 ? std::ilogb(most) : 0;
        for (Index j = 0; j < inputs_; ++j) {
            z[j] = std::scalbn(x[j], -exponent);
            total += z[j] * z[j];
        }
        const double length = total > 0 ? std::sqrt(total) : 1;
        for (Index j = 0; j < inputs_; ++j)
            z[j] /= length;
    }
};

} // namespace DRIFTLINE_ISA
} // namespace driftline
