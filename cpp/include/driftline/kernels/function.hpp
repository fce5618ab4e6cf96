// Kernel functions.
#pragma once

#include "driftline/base/simd.hpp"

namespace driftline {

enum class KernelKind : int { linear, polynomial, gaussian, laplace, custom };

// A custom kernel of two rows; NaN if it has no value.
struct PairFunction {
    virtual ~PairFunction() = default;
    virtual double operator()(const double* x, const double* z, Index d) = 0;
};

struct KernelFunction {
    KernelKind kind = KernelKind::gaussian;
    double gamma = 1;
    double offset = 1; // for polynomials
    int degree = 3;
    double constant = 0; // added to every value: the kernel of an additional constant feature
    PairFunction* custom = nullptr;
};

// Points feature by feature: feature j of point i is at[j * stride + i].
struct PointTable {
    const double* at = nullptr;
    Index count = 0, features = 0, stride = 0;
};

} // namespace driftline
