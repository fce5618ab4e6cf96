// A block of rows from Python, and the arrays for its results.
#pragma once

#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"

namespace driftline::bindings {

// The arrays that a replay writes to; None for those that it does not write.
struct OutputArrays {
    nb::object predictions, lower = nb::none(), upper = nb::none(), level = nb::none(), resets = nb::none(),
                            weights = nb::none(), memory = nb::none(), quantiles = nb::none(), quantile_levels = nb::none();
    Index every = 0; // rows between two snapshots
    bool apart = false;

    // The same for some of the rows; they must begin at a multiple of `every` if there are snapshots.
    OutputArrays part(Index start, Index stop) const {
        const auto rows = [&](const nb::object& array) {
            return array.is_none() ? array : nb::object(array[nb::slice(start, stop)]);
        };
        const auto snapshots = [&](const nb::object& array) {
            return array.is_none() ? array : nb::object(array[nb::slice(start / every, stop / every)]);
        };
        return {rows(predictions), rows(lower),     rows(upper),     level, rows(resets), snapshots(weights),
                snapshots(memory), rows(quantiles), quantile_levels, every, apart};
    }
};

// A batch without its x.
inline Batch make_labels(Index rows, const std::optional<Vector>& y, const std::optional<Vector>& weight, bool skip,
                         const Limits& labels = {}, const std::optional<Vector>& times = {}) {
    const std::size_t count = static_cast<std::size_t>(rows);
    require((!y || y->shape(0) == count) && (!weight || weight->shape(0) == count) && (!times || times->shape(0) == count));
    Batch batch;
    batch.rows = rows;
    batch.y = y ? y->data() : nullptr;
    batch.weight = weight ? weight->data() : nullptr;
    batch.times = times ? times->data() : nullptr;
    batch.skip = skip;
    batch.labels = labels;
    return batch;
}

inline Batch make_batch(const Table2& x, const std::optional<Vector>& y, const std::optional<Vector>& weight, bool skip,
                        Index features, const Limits& labels = {}, const std::optional<Vector>& times = {}) {
    const bool floats = x.dtype() == nb::dtype<float>();
    if (!floats && x.dtype() != nb::dtype<double>())
        throw nb::type_error("X must be float64 or float32");
    require(static_cast<Index>(x.shape(1)) == features);
    Batch batch = make_labels(static_cast<Index>(x.shape(0)), y, weight, skip, labels, times);
    batch.x = x.data();
    batch.floats = floats;
    batch.row_stride = x.stride(0);
    batch.column_stride = x.stride(1);
    return batch;
}

// The data of an output array, which must have the given shape; null if there is no array.
template <class T, class... Lengths> T* data_of(const nb::object& array, Lengths... lengths) {
    if (array.is_none())
        return nullptr;
    ArrayOf<T, sizeof...(lengths)> found;
    require(nb::try_cast(array, found, false));
    std::size_t axis = 0;
    require(((static_cast<Index>(found.shape(axis++)) == static_cast<Index>(lengths)) && ...));
    return found.data(); // the caller's object keeps it alive
}

// All outputs except predictions and weight snapshots, whose shapes depend on the number of labels a row.
inline Outputs common_outputs(const Batch& batch, const OutputArrays& arrays, Index start) {
    const bool whole = arrays.every >= 1 || (arrays.weights.is_none() && arrays.memory.is_none());
    require(whole && start >= 0 && start <= batch.rows);
    Outputs out;
    out.lower = data_of<double>(arrays.lower, batch.rows);
    out.upper = data_of<double>(arrays.upper, batch.rows);
    require((out.lower && out.upper && !arrays.level.is_none()) || (!out.lower && !out.upper));
    if (out.lower)
        out.level = nb::cast<Level>(arrays.level);
    if (!arrays.quantiles.is_none()) {
        const auto wanted = nb::cast<Vector>(arrays.quantile_levels);
        out.quantile_levels = wanted.data(); // the caller's object keeps it alive
        out.quantile_count = static_cast<Index>(wanted.shape(0));
        out.quantiles = data_of<double>(arrays.quantiles, batch.rows, out.quantile_count);
    }
    out.resets = data_of<unsigned char>(arrays.resets, batch.rows);
    out.memory = data_of<double>(arrays.memory, arrays.every ? batch.rows / arrays.every : 0, 2);
    out.every = arrays.every;
    out.apart = arrays.apart;
    out.done = start;
    return out;
}

inline Outputs make_outputs(const Batch& batch, const OutputArrays& arrays, Index start, Index width) {
    Outputs out = common_outputs(batch, arrays, start);
    out.predictions = data_of<double>(arrays.predictions, batch.rows);
    require(out.predictions != nullptr);
    out.weights = data_of<double>(arrays.weights, arrays.every ? batch.rows / arrays.every : 0, width);
    return out;
}

// The members of Python's Status, fetched once by bind_types: a look-up takes longer than learning a short row.
inline constexpr int status_count = static_cast<int>(Status::unread) + 1;
inline PyObject* status_members[status_count] = {};
inline nb::object to_python(Status status) { return nb::borrow(status_members[static_cast<int>(status)]); }

// Runs a replay; returns its status, the rows done, and how many of them were skipped.
template <class Replay> nb::tuple replay_without_the_gil(const Batch& batch, Outputs out, Replay&& replay) {
    Status status;
    {
        nb::gil_scoped_release released;
        status = replay(batch, out);
    }
    return nb::make_tuple(to_python(status), out.done, out.skipped);
}

} // namespace driftline::bindings
