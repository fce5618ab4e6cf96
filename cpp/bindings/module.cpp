// The extension's index.
#define DRIFTLINE_IMPORTS_NUMPY
#include "numpy_api.hpp"

#include <nanobind/nanobind.h>

namespace driftline::bindings {
void bind_alarm(nanobind::module_&);
void bind_auto(nanobind::module_&);
void bind_first_order(nanobind::module_&);
void bind_events(nanobind::module_&);
void bind_fleet(nanobind::module_&);
void bind_guard(nanobind::module_&);
void bind_horizon(nanobind::module_&);
void bind_json_table(nanobind::module_&);
void bind_kernel(nanobind::module_&);
void bind_multi_output(nanobind::module_&);
void bind_projected(nanobind::module_&);
void bind_second_order(nanobind::module_&);
void bind_sparse(nanobind::module_&);
void bind_ticket(nanobind::module_&);
void bind_transforms(nanobind::module_&);
void bind_key_statistics(nanobind::module_&);
void bind_triangles(nanobind::module_&);
void bind_types(nanobind::module_&);
} // namespace driftline::bindings

NB_MODULE(_core, m) {
    nanobind::set_leak_warnings(false); // a model that lives until the interpreter ends is not a leak
    if (_import_array() < 0)
        throw nanobind::python_error();
    m.doc() = "driftline's native core.";
    driftline::bindings::bind_types(m);
    driftline::bindings::bind_guard(m);
    driftline::bindings::bind_ticket(m);
    driftline::bindings::bind_alarm(m);
    driftline::bindings::bind_auto(m);
    driftline::bindings::bind_events(m);
    driftline::bindings::bind_sparse(m);
    driftline::bindings::bind_first_order(m);
    driftline::bindings::bind_second_order(m);
    driftline::bindings::bind_multi_output(m);
    driftline::bindings::bind_projected(m);
    driftline::bindings::bind_fleet(m);
    driftline::bindings::bind_transforms(m);
    driftline::bindings::bind_kernel(m);
    driftline::bindings::bind_key_statistics(m);
    driftline::bindings::bind_triangles(m);
    driftline::bindings::bind_json_table(m);
    driftline::bindings::bind_horizon(m);
}
