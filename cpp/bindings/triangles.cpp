// Triangles of QR factorisations, for models in hindsight.
#include "driftline/report/triangles.hpp"

#include "batch.hpp"

namespace driftline::bindings {

namespace {

using Stack = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using OutStack = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void fold_rows(OutStack triangles, Stack rows) {
    const std::size_t n = triangles.shape(0), k = triangles.shape(2), m = rows.shape(1);
    if (triangles.shape(1) != k || rows.shape(0) != n || rows.shape(2) != k)
        throw nb::value_error("the shapes do not agree");
    double* to = triangles.data();
    const double* from = rows.data();
    nb::gil_scoped_release released;
    for (std::size_t i = 0; i < n; ++i)
        fold(to + i * k * k, from + i * m * k, static_cast<Index>(m), static_cast<Index>(k));
}

} // namespace

void bind_triangles(nb::module_& m) {
    m.def("fold_rows", &fold_rows, nb::arg("triangles").noconvert(), nb::arg("rows").noconvert(),
          "Folds rows, (n, m, k), into n triangles of k x k numbers: R'R becomes R'R + X'X.");
}

} // namespace driftline::bindings
