// Events: what changed in a stream, from which row on.
#pragma once

#include "driftline/base/range.hpp"

namespace driftline::events {

// In the order of the names in Python, driftline/base/events.py.
enum Kind {
    label_level,
    label_scale,
    label_spread,
    label_stuck,
    label_late,
    input_range,
    input_stuck,
    input_moved,
    input_units,
    input_missing,
    category_new,
    effect_changed,
    noise,
    outliers,
    season_shifted,
    clock_jump,
    unknown,
    kinds
};

inline constexpr Index of_label = -1;

struct Event {
    Index row = 0, found = 0; // the first row of the change; the row that gave it away
    int kind = unknown;
    Index column = of_label;
    double before = 0, after = 0, confidence = 0;
};

// A table of rows, column by column. Labels and inputs may be NaN.
struct Rows {
    const double* labels;
    const double* errors;
    const double* const* inputs;
    Index count, width;
};

} // namespace driftline::events
