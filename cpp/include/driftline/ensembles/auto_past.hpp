// The labels and rows that Auto knew when it predicted a row, in their original units. A late label is learned from
// these.
#pragma once

#include <algorithm>
#include <vector>

#include "driftline/ensembles/auto_experts.hpp"

namespace driftline {

struct Past {
    double known = 0;            // number of labels
    double delay = 0;            // rows between the newest label and this row
    double labels[all_labels]{}; // see label_place; 0 if missing
    std::vector<double> rows;    // (rows, features), newest first

    static Index size(Index rows, Index features) { return 2 + all_labels + rows * features; }

    bool has_label(Index k) const { return static_cast<double>(label_place(k, static_cast<Index>(delay))) <= known; }

    double* write(double* to) const {
        *to++ = known;
        *to++ = delay;
        to = std::copy(labels, labels + all_labels, to);
        return std::copy(rows.begin(), rows.end(), to);
    }
    // Reads what was written when there were `then` features; features added since are 0.
    const double* read(const double* from, Index count, Index then, Index features) {
        known = *from++;
        delay = *from++;
        std::copy(from, from + all_labels, labels);
        from += all_labels;
        rows.assign(static_cast<std::size_t>(count * features), 0.0);
        for (Index k = 0; k < count; ++k, from += then)
            std::copy(from, from + then, rows.begin() + k * features);
        return from;
    }
};

} // namespace driftline
