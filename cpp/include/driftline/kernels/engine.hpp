// The loops of kernel learners that are compiled for each instruction set.
#pragma once

#include "driftline/kernels/function.hpp"
#include "driftline/linear/second_order_state.hpp"

namespace driftline {

// A rotation in the plane of two neighbouring coordinates: (high, low) <- (c high + s low, c low - s high).
struct Rotation {
    double c, s;
};

struct KernelEngine {
    // k(x, points) and k(x, x); `z` is scratch for a point.
    void (*similarities)(const KernelFunction&, const PointTable&, const double* x, double* z, double* out);
    double (*self_similarity)(const KernelFunction&, const double* x, Index d);
    // x <- L^-1 x and x <- L^-T x, for a lower triangle stored row by row.
    void (*solve)(const double* l, double* x, Index n);
    void (*solve_transposed)(const double* l, double* x, Index n);
    // Rotates the coordinates `highest`, ..., `lowest`, neighbours in this order, and resets the last to its start.
    void (*drop_coordinate)(SecondOrderState<double>&, const Rotation*, Index lowest, Index highest);
};

const KernelEngine& kernel_engine();

} // namespace driftline
