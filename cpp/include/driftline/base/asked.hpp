// What was said about a row when it was predicted. The label is learned and judged by it, however late it comes.
#pragma once

#include <vector>

#include "driftline/base/rows.hpp"

namespace driftline {

struct Asked {
    double prediction = NAN;
    Promise promise;
    double labels = 0;         // labels learned before
    Index ahead = 1;           // how many rows the row lies beyond the last of them
    std::vector<double> notes; // what the model itself keeps
};

// Row t of a batch as a batch of its own, with its label or without.
inline Batch one_row(const Batch& batch, Index t, bool labelled) {
    Batch one = batch;
    if (batch.floats)
        one.x = static_cast<const float*>(batch.x) + t * batch.row_stride;
    else
        one.x = static_cast<const double*>(batch.x) + t * batch.row_stride;
    one.rows = 1;
    one.y = labelled ? batch.y + t : nullptr;
    one.weight = batch.weight ? batch.weight + t : nullptr;
    return one;
}

} // namespace driftline
