// driftline._core's types other than learners: levels, outputs and enumerations.
#include "batch.hpp"

#include "driftline/engine.hpp"
#include "driftline/kernels/function.hpp"
#include "driftline/linear/first_order.hpp"
#include "driftline/linear/random_matrix.hpp"
#include "driftline/linear/second_order_state.hpp"
#include "driftline/features/random_fourier.hpp"

namespace driftline::bindings {

void bind_types(nb::module_& m) {
    using nb::arg;
    nb::class_<Level>(m, "Level", "A level of coverage and its place among the levels that models track.")
        .def(nb::init<Index, double, double, Index>(), arg("at"), arg("share"), arg("factor"), arg("enough"));
    nb::class_<Limits>(m, "Limits", "The range of a label: predictions and intervals stay inside.")
        .def(
            "__init__",
            [](Limits* self, std::optional<double> low, std::optional<double> high) {
                new (self) Limits{low.value_or(-HUGE_VAL), high.value_or(HUGE_VAL)};
            },
            arg("low").none(), arg("high").none())
        .def_prop_ro("exist", &Limits::exist, "Whether there is one.")
        .def_ro("low", &Limits::low)
        .def_ro("high", &Limits::high)
        .def("hold", &Limits::hold, arg("value"), "The value, moved to the nearest end if it is outside.")
        .def("contain", &Limits::contain, arg("value"));
    m.attr("levels") = nb::cast(std::vector<double>(std::begin(levels), std::end(levels)));
    nb::object statuses =
        nb::enum_<Status>(m, "Status", "The result of a step.")
            .value("DONE", Status::done)
            .value("NEEDS_FORGETTING", Status::needs_forgetting, "The table of forgetting factors ends before this row.")
            .value("NEEDS_THRESHOLD", Status::needs_threshold, "The table of reset thresholds ends before this segment.")
            .value("OUTSIDE_NOISE", Status::outside_noise, "The noise 1 - x'Sx is not positive on this row.")
            .value("DIVERGED", Status::diverged, "The weights would leave the range of their type.")
            .value("BAD_VALUE", Status::bad_value, "A value is missing, or beyond the range of the type.")
            .value("OUTSIDE_KERNEL", Status::outside_kernel, "The row's kernel is not finite, or not positive definite.")
            .value("UNREAD", Status::unread, "The row, its label or its weight must be converted first.");
    for (nb::handle member : statuses)
        status_members[nb::cast<int>(member.attr("value"))] = nb::borrow(member).release().ptr(); // kept forever
    nb::enum_<Time>(m, "Time", "The effect of time on S.")
        .value("NONE", Time::none)
        .value("DIVIDE", Time::divide)
        .value("ADD", Time::add);
    nb::enum_<Reset>(m, "Reset", "When S is reset.")
        .value("NEVER", Reset::none)
        .value("EVERY", Reset::every)
        .value("BELOW", Reset::below);
    nb::enum_<Likelihood>(m, "Likelihood", "The loss of a generalised linear model.")
        .value("NONE", Likelihood::none)
        .value("POISSON", Likelihood::poisson)
        .value("GAMMA", Likelihood::gamma)
        .value("LOGISTIC", Likelihood::logistic)
        .value("PINBALL", Likelihood::pinball)
        .value("HUBER", Likelihood::huber);
    nb::enum_<Rate>(m, "Rate", "How a first-order step's rate is computed.")
        .value("PLAIN", Rate::plain)
        .value("IMPLICIT", Rate::implicit)
        .value("NORMALISED", Rate::normalised);
    nb::enum_<Space>(m, "Space", "The space of a first-order learner's weights.")
        .value("FREE", Space::free)
        .value("SIMPLEX", Space::simplex)
        .value("SIGNED", Space::signed_);
    nb::enum_<Loss>(m, "Loss", "The loss whose gradient a first-order learner follows.")
        .value("SQUARED", Loss::squared)
        .value("HALF_SQUARED", Loss::half_squared)
        .value("ABSOLUTE", Loss::absolute)
        .value("HUBER", Loss::huber)
        .value("PINBALL", Loss::pinball)
        .value("LOGISTIC", Loss::logistic)
        .value("HINGE", Loss::hinge)
        .value("PERCEPTRON", Loss::perceptron)
        .value("CUSTOM", Loss::custom);
    nb::enum_<KernelKind>(m, "KernelKind")
        .value("LINEAR", KernelKind::linear)
        .value("POLYNOMIAL", KernelKind::polynomial)
        .value("GAUSSIAN", KernelKind::gaussian)
        .value("LAPLACE", KernelKind::laplace)
        .value("CUSTOM", KernelKind::custom);
    nb::enum_<Filling>(m, "Filling", "How a random matrix is filled.")
        .value("GAUSSIAN", Filling::gaussian)
        .value("BERNOULLI", Filling::bernoulli)
        .value("SPARSE", Filling::sparse);
    nb::enum_<Spectrum>(m, "Spectrum", "The kernel that random Fourier features approximate.")
        .value("RBF", Spectrum::rbf)
        .value("LAPLACE", Spectrum::laplace);
    nb::class_<OutputArrays>(m, "Outputs", "The arrays that a replay writes to; None for those that it does not write.")
        .def(
            "__init__",
            [](OutputArrays* self, nb::object predictions, nb::object lower, nb::object upper, nb::object level,
               nb::object resets, nb::object weights, nb::object memory, nb::object quantiles, nb::object quantile_levels,
               Index every, bool apart) {
                new (self) OutputArrays{predictions, lower,     upper,           level, resets, weights,
                                        memory,      quantiles, quantile_levels, every, apart};
            },
            arg("predictions"), nb::kw_only(), arg("lower") = nb::none(), arg("upper") = nb::none(),
            arg("level") = nb::none(), arg("resets") = nb::none(), arg("weights") = nb::none(), arg("memory") = nb::none(),
            arg("quantiles") = nb::none(), arg("quantile_levels") = nb::none(), arg("every") = 0, arg("apart") = false)
        .def_ro("predictions", &OutputArrays::predictions, nb::for_getter(nb::sig("def predictions(self, /) -> typing.Any")),
                "(rows,), or (rows, outputs)")
        .def_ro("lower", &OutputArrays::lower, nb::for_getter(nb::sig("def lower(self, /) -> typing.Any")),
                "(rows,): lower ends of the intervals")
        .def_ro("upper", &OutputArrays::upper, nb::for_getter(nb::sig("def upper(self, /) -> typing.Any")),
                "(rows,): upper ends of the intervals")
        .def_ro("level", &OutputArrays::level, nb::for_getter(nb::sig("def level(self, /) -> typing.Any")),
                "the intervals' level")
        .def_ro("resets", &OutputArrays::resets, nb::for_getter(nb::sig("def resets(self, /) -> typing.Any")),
                "(rows,) uint8: 1 at each row after which S was reset; zeros before")
        .def_ro("weights", &OutputArrays::weights, nb::for_getter(nb::sig("def weights(self, /) -> typing.Any")),
                "(rows // every, width): snapshots of the weights")
        .def_ro("memory", &OutputArrays::memory, nb::for_getter(nb::sig("def memory(self, /) -> typing.Any")),
                "(rows // every, 2): memory statistics at each snapshot")
        .def_ro("quantiles", &OutputArrays::quantiles, nb::for_getter(nb::sig("def quantiles(self, /) -> typing.Any")),
                "(rows, levels): quantiles of the labels")
        .def_ro("quantile_levels", &OutputArrays::quantile_levels,
                nb::for_getter(nb::sig("def quantile_levels(self, /) -> typing.Any")), "the quantiles' levels, ascending")
        .def_ro("every", &OutputArrays::every, "rows between two snapshots")
        .def_ro("apart", &OutputArrays::apart,
                "whether rows without labels are predicted as if no label came before their own, however late it comes")
        .def("part", &OutputArrays::part, arg("start"), arg("stop"), "The same for rows start to stop.");
    m.def("instruction_set", &instruction_set, "The instruction set in use: avx2 or baseline.");
}

} // namespace driftline::bindings
