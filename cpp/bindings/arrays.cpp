// Checks of whole arrays, without a temporary of their size.
#include "model.hpp"

namespace driftline::bindings {
namespace {

template <class Source>
Index first_bad(const Source* data, Index rows, Index columns, Index row_stride, Index column_stride, double most) {
    for (Index t = 0; t < rows; ++t) {
        const Source* row = data + t * row_stride;
        bool good = true;
        for (Index j = 0; j < columns; ++j)
            good &= std::fabs(static_cast<double>(row[j * column_stride])) <= most;
        if (good)
            continue;
        for (Index j = 0; j < columns; ++j)
            if (!(std::fabs(static_cast<double>(row[j * column_stride])) <= most))
                return t * columns + j;
    }
    return -1;
}

} // namespace

void bind_arrays(nb::module_& m) {
    m.def(
        "first_bad",
        [](Table2 x, double most, Index start) -> Index {
            const Index rows = static_cast<Index>(x.shape(0)), columns = static_cast<Index>(x.shape(1));
            const Index left = rows - start;
            Index at;
            nb::gil_scoped_release released;
            if (x.dtype() == nb::dtype<float>())
                at = first_bad(static_cast<const float*>(x.data()) + start * x.stride(0), left, columns, x.stride(0),
                               x.stride(1), most);
            else
                at = first_bad(static_cast<const double*>(x.data()) + start * x.stride(0), left, columns, x.stride(0),
                               x.stride(1), most);
            return at < 0 ? at : at + start * columns;
        },
        nb::arg("x"), nb::arg("most"), nb::arg("start") = 0,
        "Position, row by row, of the first element that is not finite or larger than `most`; -1 where there is none.");
}

} // namespace driftline::bindings
