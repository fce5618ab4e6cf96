// Compressed rows from Python.
#pragma once

#include "batch.hpp"

#include "driftline/linear/sparse_rows.hpp"

namespace driftline::bindings {

using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Rows whose structure was checked once, so that they and their slices need no further checks.
struct SparseRows {
    AnyVector values, columns, starts; // kept alive
    CompressedRows rows;
    Index width = 0;

    SparseRows(AnyVector values, AnyVector columns, AnyVector starts, Index width);
    SparseRows slice(Index start, Index stop) const;
};

// Null if x is something else, or not one row.
inline const SparseRows* one_sparse_row(nb::handle x) {
    const SparseRows* rows = nullptr;
    return nb::try_cast(x, rows, false) && rows && rows->rows.rows == 1 ? rows : nullptr;
}

} // namespace driftline::bindings
