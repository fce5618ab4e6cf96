// Batches of the service as tables.
#include "driftline/serve/json_table.hpp"

#include "arrays.hpp"

namespace driftline::bindings {

namespace {

nb::object read_json_table(nb::bytes body) {
    JsonTable table;
    if (!table.read({body.c_str(), body.size()}))
        return nb::none();
    const Index rows = static_cast<Index>(table.y.size());
    double* to;
    nb::object x = new_table(rows, static_cast<Index>(table.width), to);
    std::memcpy(to, table.x.data(), table.x.size() * sizeof(double));
    nb::list ids;
    for (const auto id : table.ids)
        ids.append(nb::str(id.data(), id.size()));
    const nb::object found = table.ids.empty() ? nb::none() : nb::object(ids);
    return nb::make_tuple(nb::bytes(table.first.data(), table.first.size()), x, copy_out(table.y.data(), rows), found);
}

} // namespace

void bind_json_table(nb::module_& m) {
    m.def(
        "read_json_table", &read_json_table, nb::arg("body"),
        nb::sig("def read_json_table(body: bytes) -> tuple[bytes, typing.Any, typing.Any, list[str] | None] | None"),
        "A batch of labelled rows in JSON as a table: the first row as it stands there, which is still to be checked, the\n"
        "features, the labels, and the ids if there are any. None where the rows do not have the same features in the same\n"
        "order, or some of them an id, or anything else.");
}

} // namespace driftline::bindings
