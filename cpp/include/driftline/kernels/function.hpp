// Kernels: inner products of rows in a space of functions.
#pragma once

#include "driftline/base/simd.hpp"

namespace driftline {

enum class KernelKind : int { linear, polynomial, gaussian, laplace, custom };

// Of two rows, for kernels that are not known here; NaN where it has no value.
struct PairFunction {
    virtual ~PairFunction() = default;
    virtual double operator()(const double* x, const double* z, Index d) = 0;
};

struct KernelFunction {
    KernelKind kind = KernelKind::gaussian;
    double gamma = 1;
    double offset = 1; // of polynomials
    int degree = 3;
    double constant = 0; // added to every value: the kernel of a constant feature beside the others
    PairFunction* custom = nullptr;
};

// Points feature by feature: feature j of point i is at[j * stride + i].
struct PointTable {
    const double* at = nullptr;
    Index count = 0, features = 0, stride = 0;
};

} // namespace driftline
