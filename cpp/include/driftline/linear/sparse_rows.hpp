// Sparse rows: compressed rows, and the nonzero entries of dense rows.
#pragma once

#include <algorithm>
#include <vector>

#include "driftline/linear/random_matrix.hpp"
#include "driftline/base/rows.hpp"

namespace driftline {

// A table of compressed rows (CSR): row t has the entries from starts[t] to starts[t + 1]. Columns within a row are strictly
// ascending.
struct CompressedRows {
    const void* values = nullptr;
    bool floats = false; // values are float, else double
    const void* columns = nullptr;
    const void* starts = nullptr;
    bool narrow = false; // columns and starts are 32 bits wide, else 64
    Index rows = 0;

    Index start(Index t) const {
        return narrow ? static_cast<const std::int32_t*>(starts)[t] : static_cast<const Index*>(starts)[t];
    }
    Index column(Index e) const {
        return narrow ? static_cast<const std::int32_t*>(columns)[e] : static_cast<const Index*>(columns)[e];
    }
    Index longest() const {
        Index most = 0;
        for (Index t = 0; t < rows; ++t)
            most = std::max(most, start(t + 1) - start(t));
        return most;
    }
};

// One row's entries; memory grows when a longer row than before is announced.
template <class T> class EntryBuffer {
  public:
    void reserve(Index count) {
        if (count > static_cast<Index>(at_.size())) {
            at_.resize(static_cast<std::size_t>(count));
            value_.resize(static_cast<std::size_t>(count));
        }
    }
    void clear() { count_ = 0; }
    // Returns whether the value, converted to T, is finite.
    DRIFTLINE_INLINE bool add(Index column, T value) {
        at_[static_cast<std::size_t>(count_)] = column;
        value_[static_cast<std::size_t>(count_)] = value;
        count_ += value != 0;
        return std::fabs(value) <= static_cast<T>(type_max<T>);
    }
    Entries<T> entries() const { return {at_.data(), value_.data(), count_}; }

    // Reads a row, without columns from `known` on. False if a value is missing or out of T's range.
    bool take(const CompressedRows& rows, Index t, Index known) {
        return rows.floats ? take(static_cast<const float*>(rows.values), rows, t, known)
                           : take(static_cast<const double*>(rows.values), rows, t, known);
    }
    // The same for a row of a dense table of `features` columns.
    bool take(const Batch& batch, Index t, Index features) {
        return batch.floats ? take_dense(static_cast<const float*>(batch.x) + t * batch.row_stride, batch, features)
                            : take_dense(static_cast<const double*>(batch.x) + t * batch.row_stride, batch, features);
    }
    // Sorts a row that was built in any order.
    void sort() {
        const auto size = static_cast<std::size_t>(count_);
        if (std::is_sorted(at_.begin(), at_.begin() + count_))
            return;
        std::vector<std::pair<Index, T>> pairs(size);
        for (std::size_t i = 0; i < size; ++i)
            pairs[i] = {at_[i], value_[i]};
        std::sort(pairs.begin(), pairs.end());
        for (std::size_t i = 0; i < size; ++i) {
            at_[i] = pairs[i].first;
            value_[i] = pairs[i].second;
        }
    }

  private:
    template <class Source> bool take(const Source* values, const CompressedRows& rows, Index t, Index known) {
        clear();
        bool good = true;
        for (Index e = rows.start(t), end = rows.start(t + 1); e < end; ++e) {
            const Index j = rows.column(e);
            const T value = static_cast<T>(values[e]);
            good &= j < known ? add(j, value) : std::fabs(value) <= static_cast<T>(type_max<T>);
        }
        return good;
    }
    template <class Source> bool take_dense(const Source* row, const Batch& batch, Index features) {
        clear();
        bool good = true;
        for (Index j = 0; j < features; ++j)
            if (const Source value = row[j * batch.column_stride]; value != 0)
                good &= add(j, static_cast<T>(value));
        return good;
    }

    std::vector<Index> at_;
    std::vector<T> value_;
    Index count_ = 0;
};

} // namespace driftline
