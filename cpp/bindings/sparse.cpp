// driftline._core.SparseRows.
#include "sparse.hpp"

namespace driftline::bindings {
namespace {

bool is_narrow(const AnyVector& vector) { return vector.dtype() == nb::dtype<std::int32_t>(); }
bool is_whole(const AnyVector& vector) { return is_narrow(vector) || vector.dtype() == nb::dtype<std::int64_t>(); }

void check_structure(const CompressedRows& rows, Index entries, Index width) {
    if (rows.start(0) < 0 || rows.start(rows.rows) > entries)
        throw nb::value_error("the rows extend past the entries");
    for (Index t = 0; t < rows.rows; ++t) {
        Index before = -1;
        if (rows.start(t + 1) < rows.start(t) || rows.start(t + 1) > entries)
            throw nb::value_error(("row " + std::to_string(t) + " ends before it starts").c_str());
        for (Index e = rows.start(t); e < rows.start(t + 1); ++e) {
            const Index column = rows.column(e);
            if (column <= before || column >= width)
                throw nb::value_error(("row " + std::to_string(t) + " has the column " + std::to_string(column) +
                                       (column >= width || column < 0 ? ", of " + std::to_string(width) : " out of order"))
                                          .c_str());
            before = column;
        }
    }
}

double value_of(const CompressedRows& rows, Index e) {
    return rows.floats ? static_cast<const float*>(rows.values)[e] : static_cast<const double*>(rows.values)[e];
}

// Row t as a dense array.
nb::object dense_row(const SparseRows& self, Index t) {
    if (t < 0 || t >= self.rows.rows)
        throw nb::index_error();
    npy_intp shape[] = {static_cast<npy_intp>(self.width)};
    PyObject* array = PyArray_ZEROS(1, shape, NPY_DOUBLE, 0);
    if (!array)
        throw nb::python_error();
    auto* row = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
    for (Index e = self.rows.start(t); e < self.rows.start(t + 1); ++e)
        row[self.rows.column(e)] = value_of(self.rows, e);
    return nb::steal(array);
}

} // namespace

SparseRows::SparseRows(AnyVector values_, AnyVector columns_, AnyVector starts_, Index width_)
    : values(std::move(values_)), columns(std::move(columns_)), starts(std::move(starts_)), width(width_) {
    const bool floats = values.dtype() == nb::dtype<float>();
    if (!floats && values.dtype() != nb::dtype<double>())
        throw nb::type_error("the values must be float64 or float32");
    if (!is_whole(columns) || !is_whole(starts) || is_narrow(columns) != is_narrow(starts))
        throw nb::type_error("the columns and starts must both be int32, or both int64");
    if (starts.shape(0) < 1 || columns.shape(0) != values.shape(0))
        throw nb::value_error("the lengths do not agree");
    rows = {
        values.data(), floats, columns.data(), starts.data(), is_narrow(columns), static_cast<Index>(starts.shape(0)) - 1};
    check_structure(rows, static_cast<Index>(values.shape(0)), width);
}

SparseRows SparseRows::slice(Index start, Index stop) const {
    if (start < 0 || stop < start || stop > rows.rows)
        throw nb::value_error("the slice extends past the rows");
    SparseRows part = *this;
    part.rows.starts = static_cast<const char*>(rows.starts) + start * (rows.narrow ? 4 : 8);
    part.rows.rows = stop - start;
    return part;
}

void bind_sparse(nb::module_& m) {
    using nb::arg;
    nb::class_<SparseRows>(m, "SparseRows", "Compressed rows with strictly ascending columns.")
        .def(nb::init<AnyVector, AnyVector, AnyVector, Index>(), arg("values"), arg("columns"), arg("starts"), arg("width"))
        .def("__len__", [](const SparseRows& self) { return self.rows.rows; })
        .def_ro("values", &SparseRows::values, nb::for_getter(nb::sig("def values(self, /) -> typing.Any")))
        .def_ro("columns", &SparseRows::columns, nb::for_getter(nb::sig("def columns(self, /) -> typing.Any")))
        .def_ro("width", &SparseRows::width, "The number of columns, including empty ones.")
        .def("__getitem__", &dense_row, arg("row"), "A row as a dense array.")
        .def(
            "__getitem__",
            [](const SparseRows& self, nb::slice rows) {
                const auto [start, stop, step, length] = rows.compute(static_cast<std::size_t>(self.rows.rows));
                if (step != 1)
                    throw nb::value_error("a slice of rows must have step 1");
                return self.slice(start, start + static_cast<Index>(length));
            },
            arg("rows"), "Some rows, without a copy.");
}

} // namespace driftline::bindings
