// The layout of both forms of the matrix: the upper triangle, walked in panels of columns.
//
// Panel p holds `panel_width` columns; each column keeps its rows 0 .. panel_width * (p + 1) - 1, contiguous and aligned, so
// that the diagonal block is a full square and no loop has a ragged end. It is the same for every instruction set.
#pragma once

#include "driftline/base/simd.hpp"

namespace driftline {

template <class T> inline constexpr Index panel_width = 32 / static_cast<Index>(sizeof(T));

template <class T> constexpr Index padded(Index d) { return round_up(d, panel_width<T>); }
template <class T> constexpr Index panel_count(Index d) { return padded<T>(d) / panel_width<T>; }
template <class T> constexpr Index panel_rows(Index p) { return panel_width<T> * (p + 1); }
template <class T> constexpr Index panel_offset(Index p) { return panel_width<T> * panel_width<T> * (p * (p + 1) / 2); }
template <class T> constexpr Index panel_elements(Index d) { return panel_offset<T>(panel_count<T>(d)); }

// The offset of element (row, column), row <= column.
template <class T> constexpr Index panel_index(Index row, Index column) {
    const Index p = column / panel_width<T>;
    return panel_offset<T>(p) + (column - p * panel_width<T>)*panel_rows<T>(p) + row;
}

} // namespace driftline
