// What was known and predicted when a row was asked about. Its label is learned and scored with it, however late it comes.
#pragma once

#include <memory>
#include <vector>

#include "driftline/base/rows.hpp"

namespace driftline {

struct Asked {
    double prediction = NAN;
    IntervalBasis interval_basis;
    std::shared_ptr<const Places> places; // where labels had lain by then, shared by copies; null if nothing was asked
    double labels = 0;                    // labels learned by then
    double at = NAN;                      // the row's time; NaN if it has none
    Index delay = 0;                      // rows before it whose labels are not among them
    std::vector<double> record;           // what the model needs to learn the label
};

// Row t of a batch as a separate batch, with or without its label.
inline Batch one_row(const Batch& batch, Index t, bool labelled) {
    Batch one = batch;
    if (batch.floats)
        one.x = static_cast<const float*>(batch.x) + t * batch.row_stride;
    else
        one.x = static_cast<const double*>(batch.x) + t * batch.row_stride;
    one.rows = 1;
    one.y = labelled ? batch.y + t : nullptr;
    one.weight = batch.weight ? batch.weight + t : nullptr;
    one.times = batch.times ? batch.times + t : nullptr;
    return one;
}

} // namespace driftline
