// driftline._core's transformations of rows, and TransformChain.
#include "batch.hpp"
#include "guard.hpp"
#include "one_row.hpp"

#include <nanobind/stl/shared_ptr.h>

#include "driftline/features/lags.hpp"
#include "driftline/features/monomials.hpp"
#include "driftline/base/murmur.hpp"
#include "driftline/features/random_fourier.hpp"
#include "driftline/features/standardize.hpp"
#include "driftline/features/transform_chain.hpp"
#include "driftline/features/unit_norm.hpp"

namespace driftline::bindings {
namespace {

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Mask = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A chain and the names by which a row's values are found.
struct HeldChain {
    TransformChain chain;
    Names names;
};

nb::dict get_state(Transform& self) {
    nb::dict out;
    for (const Part& part : self.parts())
        out[part.name] = copy_out(part.values->data(), static_cast<Index>(part.values->size()));
    return out;
}

void set_state(Transform& self, const nb::dict& from) {
    for (const Part& part : self.parts()) {
        if (part.any_length && from.contains(part.name))
            part.values->resize(nb::len(nb::handle(from[part.name])));
        copy_in(from, part.name, part.values->data(), static_cast<Index>(part.values->size()));
        for (double value : *part.values)
            if (value < 0 && !part.may_be_negative)
                throw nb::value_error((std::string("the state's ") + part.name + " is negative").c_str());
    }
    self.restore();
}

// The current row as the learner sees it; None if it has to be converted first, or if a value leaves the range.
nb::object look(HeldChain& self, nb::handle x, bool unknown_allowed, bool alone, Index delay) {
    auto& chain = self.chain;
    const RowBuffer<double> buffer{chain.inputs(), false, chain.row()};
    if (!read_row(x.ptr(), buffer, self.names, unknown_allowed))
        return nb::none();
    for (Index j = 0; j < buffer.d; ++j)
        if (!(std::fabs(buffer.x[j]) <= chain.largest()))
            return nb::none();
    double* z;
    nb::object out = new_array(chain.outputs(), z);
    return chain.look(z, alone, delay) ? out : nb::none();
}

// Transforms rows into `out`. Rows that are not `whole` become NaN. `learned` rows enter the history; after the first of
// them, rows with a missing value enter it too, with the values that they have. `started` says whether a row was learned
// before this call. Returns the first row that leaves the range, unless such rows are skipped, or else the number of rows.
Index run(HeldChain& self, Rows x, Mask whole, std::optional<Mask> learned, std::optional<Vector> y, OutTable out, bool skip,
          bool alone, bool started) {
    auto& chain = self.chain;
    const auto rows = static_cast<Index>(x.shape(0));
    const auto matches = [&](const auto& array) { return static_cast<Index>(array.shape(0)) == rows; };
    if (static_cast<Index>(x.shape(1)) != chain.inputs() || static_cast<Index>(out.shape(1)) != chain.outputs() ||
        !matches(whole) || !matches(out) || (learned && !matches(*learned)) || (y && !matches(*y)))
        throw nb::value_error("the shapes do not agree");
    nb::gil_scoped_release released;
    for (Index t = 0; t < rows; ++t) {
        double* z = out.data() + t * chain.outputs();
        bool good = whole.data()[t];
        if (good) {
            std::copy(x.data() + t * chain.inputs(), x.data() + (t + 1) * chain.inputs(), chain.row());
            good = chain.look(z, alone);
            if (!good && !skip)
                return t;
        }
        if (!good)
            std::fill(z, z + chain.outputs(), NAN);
        const bool is_learned = good && learned && learned->data()[t];
        started |= is_learned;
        if (is_learned)
            chain.learn(y ? y->data()[t] : 0);
        else if (started && y && !(good && std::fabs(y->data()[t]) <= chain.largest()))
            chain.pass_over(good, y->data()[t]);
    }
    return rows;
}

// Of the row that last left the range: the number of the transformation after which it did, and its values there.
nb::tuple left(HeldChain& self) {
    const auto& values = self.chain.left();
    return nb::make_tuple(self.chain.left_after(), copy_out(values.data(), static_cast<Index>(values.size())));
}

nb::list products(const Polynomial& self) {
    nb::list out;
    for (const auto& [earlier, feature] : self.products())
        out.append(nb::make_tuple(earlier, feature));
    return out;
}

} // namespace

void bind_transforms(nb::module_& m) {
    using nb::arg;
    m.def(
        "murmur3",
        [](const nb::bytes& text) { return murmur3(reinterpret_cast<const unsigned char*>(text.c_str()), text.size()); },
        arg("text"), "The 32 bits of MurmurHash3, as a signed number.");
    nb::class_<Transform>(m, "Transform", "A transformation of rows.")
        .def_prop_ro("inputs", &Transform::inputs)
        .def_prop_ro("outputs", &Transform::outputs)
        .def("grow", &Transform::grow, arg("more"))
        .def("get_state", &get_state)
        .def("set_state", &set_state, arg("state"));
    nb::class_<Standardize, Transform>(m, "Standardize").def(nb::init<Index, double>(), arg("inputs"), arg("forgetting"));
    nb::class_<UnitNorm, Transform>(m, "UnitNorm").def(nb::init<Index>(), arg("inputs"));
    nb::class_<Lags, Transform>(m, "Lags").def(nb::init<Index, std::vector<Index>, std::vector<Index>>(), arg("inputs"),
                                               arg("label_lags"), arg("lags"));
    nb::class_<Polynomial, Transform>(m, "Polynomial")
        .def(nb::init<Index, Index>(), arg("inputs"), arg("degree"))
        .def("products", &products,
             "For each product: the index of the product that it extends, or -1, and the feature that multiplies it.");
    nb::class_<RandomFourier, Transform>(m, "RandomFourier")
        .def(
            "__init__",
            [](RandomFourier* self, Index inputs, Index outputs, Spectrum spectrum, double gamma, std::uint64_t seed) {
                new (self) RandomFourier(inputs, outputs, spectrum, gamma, seed);
            },
            arg("inputs"), arg("outputs"), arg("spectrum"), arg("gamma"), arg("seed"));
    nb::class_<HeldChain>(m, "TransformChain", "Transformations in a row.")
        .def(
            "__init__",
            [](HeldChain* self, std::vector<std::shared_ptr<Transform>> transforms, double largest) {
                if (transforms.empty())
                    throw nb::value_error("a chain needs a transformation");
                new (self) HeldChain{TransformChain(std::move(transforms), largest), {}};
            },
            arg("transforms"), arg("largest"))
        .def_prop_ro("inputs", [](HeldChain& self) { return self.chain.inputs(); })
        .def_prop_ro("outputs", [](HeldChain& self) { return self.chain.outputs(); })
        .def("make_room", [](HeldChain& self) { self.chain.make_room(); })
        .def(
            "set_names", [](HeldChain& self, nb::object names) { self.names.set(std::move(names)); }, arg("names"))
        .def("look", &look, arg("x").none(), arg("unknown_allowed"), arg("alone") = false, arg("delay") = 0,
             nb::sig("def look(self, x: object, unknown_allowed: bool, alone: bool = False, delay: int = 0) -> typing.Any"))
        .def(
            "learn", [](HeldChain& self, double y) { self.chain.learn(y); }, arg("y"),
            "The row that was looked at last becomes one of those seen.")
        .def("run", &run, arg("x"), arg("whole"), arg("learned").none(), arg("y").none(), arg("out"), arg("skip"),
             arg("alone") = false, arg("started") = false)
        .def("left", &left, "After which transformation a row last left the range, and its values there.");
}

} // namespace driftline::bindings
