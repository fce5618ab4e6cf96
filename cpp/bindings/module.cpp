// The extension's index.
#define DRIFTLINE_IMPORTS_NUMPY
#include "numpy_api.hpp"

#include <iterator>

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "driftline/engine.hpp"

namespace driftline::bindings {
void bind_alarm(nanobind::module_&);
void bind_auto(nanobind::module_&);
void bind_first_order(nanobind::module_&);
void bind_fleet(nanobind::module_&);
void bind_kernel(nanobind::module_&);
void bind_multi_output(nanobind::module_&);
void bind_projected(nanobind::module_&);
void bind_second_order(nanobind::module_&);
void bind_sparse(nanobind::module_&);
void bind_transforms(nanobind::module_&);
void bind_triangles(nanobind::module_&);
} // namespace driftline::bindings

NB_MODULE(_core, m) {
    nanobind::set_leak_warnings(false); // a model that lives until the interpreter ends is no leak
    if (_import_array() < 0)
        throw nanobind::python_error();
    m.doc() = "driftline's native core.";
    nanobind::class_<driftline::Level>(m, "Level", "A level of coverage and its place among those that models follow.")
        .def(nanobind::init<driftline::Index, double, double, driftline::Index>(), nanobind::arg("at"),
             nanobind::arg("share"), nanobind::arg("factor"), nanobind::arg("enough"));
    m.attr("levels") = nanobind::cast(std::vector<double>(std::begin(driftline::levels), std::end(driftline::levels)));
    m.def("instruction_set", &driftline::instruction_set, "The instruction set in use: avx2 or baseline.");
    driftline::bindings::bind_alarm(m);
    driftline::bindings::bind_auto(m);
    driftline::bindings::bind_sparse(m);
    driftline::bindings::bind_first_order(m);
    driftline::bindings::bind_second_order(m);
    driftline::bindings::bind_multi_output(m);
    driftline::bindings::bind_projected(m);
    driftline::bindings::bind_fleet(m);
    driftline::bindings::bind_transforms(m);
    driftline::bindings::bind_kernel(m);
    driftline::bindings::bind_triangles(m);
}
