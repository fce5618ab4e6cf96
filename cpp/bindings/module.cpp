// The extension's index.
#define DRIFTLINE_IMPORTS_NUMPY
#include "numpy_api.hpp"

#include <nanobind/nanobind.h>

#include "driftline/engine.hpp"

namespace driftline::bindings {
void bind_first_order(nanobind::module_&);
void bind_second_order(nanobind::module_&);
} // namespace driftline::bindings

NB_MODULE(_core, m) {
    nanobind::set_leak_warnings(false); // a model that lives until the interpreter ends is no leak
    if (_import_array() < 0)
        throw nanobind::python_error();
    m.doc() = "driftline's native core.";
    m.def("instruction_set", &driftline::instruction_set, "The instruction set in use: avx2 or baseline.");
    driftline::bindings::bind_first_order(m);
    driftline::bindings::bind_second_order(m);
}
