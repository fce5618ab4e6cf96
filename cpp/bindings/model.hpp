// What the bindings of both orders of learner share.
#pragma once

#include "one_row.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

namespace driftline::bindings {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table2 = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using OutVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutIndices = nb::ndarray<Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutTable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Model> struct Holder {
    std::unique_ptr<Model> model;
    Names names;
    std::atomic<bool> busy{false};
    unsigned long owner = 0; // the thread that claimed the model for several calls; guarded by `busy`
};

// A model is used by one thread at a time; a second one is told so.
template <class Model> class InUse {
  public:
    explicit InUse(Holder<Model>& holder) : busy_(holder.busy) {
        const bool taken = busy_.exchange(true, std::memory_order_acquire);
        const bool claimed = !taken && holder.owner != 0 && holder.owner != PyThread_get_thread_ident();
        if (claimed)
            busy_.store(false, std::memory_order_release);
        if (taken || claimed)
            throw std::runtime_error("the model is in use by another thread; give each thread its own, or lock around it");
    }
    ~InUse() { busy_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool>& busy_;
};

// All of a batch but x.
inline Batch make_labels(Index rows, const std::optional<Vector>& y, const std::optional<Vector>& weight, bool skip) {
    const std::size_t count = static_cast<std::size_t>(rows);
    if ((y && y->shape(0) != count) || (weight && weight->shape(0) != count))
        throw nb::value_error("the shapes do not agree");
    Batch batch;
    batch.rows = rows;
    batch.y = y ? y->data() : nullptr;
    batch.weight = weight ? weight->data() : nullptr;
    batch.skip = skip;
    return batch;
}

inline Batch make_batch(const Table2& x, const std::optional<Vector>& y, const std::optional<Vector>& weight, bool skip,
                        Index features) {
    const bool floats = x.dtype() == nb::dtype<float>();
    if (!floats && x.dtype() != nb::dtype<double>())
        throw nb::type_error("X must be float64 or float32");
    if (static_cast<Index>(x.shape(1)) != features)
        throw nb::value_error("the shapes do not agree");
    Batch batch = make_labels(static_cast<Index>(x.shape(0)), y, weight, skip);
    batch.x = x.data();
    batch.floats = floats;
    batch.row_stride = x.stride(0);
    batch.column_stride = x.stride(1);
    return batch;
}

inline Outputs make_outputs(const Batch& batch, OutVector& predictions, std::optional<OutIndices>& resets,
                            std::optional<OutTable>& weights, Index every, Index start, Index d) {
    const std::size_t rows = static_cast<std::size_t>(batch.rows);
    if (predictions.shape(0) != rows || (resets && resets->shape(0) != rows) || start < 0 || start > batch.rows)
        throw nb::value_error("the shapes do not agree");
    if (weights && (every < 1 || static_cast<Index>(weights->shape(0)) != batch.rows / every ||
                    static_cast<Index>(weights->shape(1)) != d))
        throw nb::value_error("the shapes do not agree");
    Outputs out;
    out.predictions = predictions.data();
    out.resets = resets ? resets->data() : nullptr;
    out.weights = weights ? weights->data() : nullptr;
    out.every = every;
    out.done = start;
    return out;
}

inline void add_pace(Outputs& out, const Batch& batch, std::optional<OutTable>& pace) {
    if (!pace)
        return;
    if (out.every < 1 || static_cast<Index>(pace->shape(0)) != batch.rows / out.every || pace->shape(1) != 2)
        throw nb::value_error("the shapes do not agree");
    out.pace = pace->data();
}

inline void add_intervals(Outputs& out, const Batch& batch, OutVector& lower, OutVector& upper, const Level& level) {
    if (static_cast<Index>(lower.shape(0)) != batch.rows || static_cast<Index>(upper.shape(0)) != batch.rows)
        throw nb::value_error("the shapes do not agree");
    out.lower = lower.data();
    out.upper = upper.data();
    out.level = level;
}

template <class T> nb::object new_array(Index n, T*& elements) {
    npy_intp shape[] = {static_cast<npy_intp>(n)};
    PyObject* array = PyArray_SimpleNew(1, shape, sizeof(T) == 8 ? NPY_DOUBLE : NPY_FLOAT);
    if (!array)
        throw nb::python_error();
    elements = static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
    return nb::steal(array);
}

template <class T> nb::object copy_out(const T* from, Index n) {
    T* to;
    nb::object array = new_array(n, to);
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
    return array;
}

// Copies an array of a saved state back in after checking its shape and that it is finite.
template <class T> void copy_in(const nb::dict& state, const char* name, T* to, Index n) {
    if (!state.contains(name))
        throw nb::value_error((std::string("the state lacks ") + name).c_str());
    using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    Array array;
    if (!nb::try_cast(state[name], array, false) || static_cast<Index>(array.shape(0)) != n)
        throw nb::value_error((std::string("the state's ") + name + " has another shape or type").c_str());
    for (Index i = 0; i < n; ++i)
        if (!std::isfinite(array.data()[i]))
            throw nb::value_error((std::string("the state's ") + name + " is not finite").c_str());
    std::memcpy(to, array.data(), static_cast<std::size_t>(n) * sizeof(T));
}

} // namespace driftline::bindings
