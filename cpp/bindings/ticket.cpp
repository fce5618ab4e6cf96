// driftline._core.Ticket and LateRows.
#include "late_replay.hpp"

namespace driftline::bindings {
namespace {

// A ticket as numbers: eight of its own, the bounds and debts of all levels, and the model's record.
constexpr Index own_numbers = 8, said_numbers = own_numbers + 2 * level_count;

nb::object numbers_of(const Ticket& self) {
    const Asked& asked = self.asked;
    const IntervalBasis& basis = asked.interval_basis;
    const double own[own_numbers] = {
        asked.prediction, asked.labels,       static_cast<double>(asked.delay), basis.limits.low, basis.limits.high,
        basis.variance,   basis.largest_loss, static_cast<double>(basis.labels)};
    double* to;
    nb::object out = new_array(said_numbers + static_cast<Index>(asked.record.size()), to);
    to = std::copy(std::begin(own), std::end(own), to);
    to = std::copy(std::begin(basis.bound), std::end(basis.bound), to);
    to = std::copy(std::begin(basis.debt), std::end(basis.debt), to);
    std::copy(asked.record.begin(), asked.record.end(), to);
    return out;
}

bool is_count(double value) { return value >= 0 && value < 9e15 && value == std::floor(value); }

Asked asked_of(Vector numbers) {
    const double* from = numbers.data();
    const auto size = static_cast<Index>(numbers.shape(0));
    bool good = size >= said_numbers && is_count(from[1]) && is_count(from[2]) && is_count(from[7]) && from[7] <= from[1] &&
                from[3] < from[4];
    for (Index i = 5; good && i < own_numbers + level_count; ++i)
        good = !(from[i] < 0); // large inputs make variances infinite
    for (Index i = own_numbers + level_count; good && i < said_numbers; ++i)
        good = from[i] >= most_urgency * least_debt && from[i] <= most_urgency * most_debt;
    for (Index i = said_numbers; good && i < size; ++i)
        good = std::isfinite(from[i]);
    if (!good)
        throw nb::value_error("the ticket's numbers are out of range");
    Asked asked;
    asked.prediction = from[0];
    asked.labels = from[1];
    asked.delay = static_cast<Index>(from[2]);
    asked.interval_basis.limits = {from[3], from[4]};
    asked.interval_basis.variance = from[5];
    asked.interval_basis.largest_loss = from[6];
    asked.interval_basis.labels = static_cast<Index>(from[7]);
    std::copy_n(from + own_numbers, level_count, asked.interval_basis.bound);
    std::copy_n(from + own_numbers + level_count, level_count, asked.interval_basis.debt);
    asked.record.assign(from + said_numbers, from + size);
    return asked;
}

// Where labels had lain, as numbers; empty if nothing was asked.
nb::object places_of(const Ticket& self) {
    const Places* const places = self.asked.places.get();
    float* to;
    nb::object out = new_array(places ? place_count : 0, to);
    if (places)
        std::copy(std::begin(places->weight), std::end(places->weight), to);
    return out;
}
std::shared_ptr<const Places> places_in(const ArrayOf<const float, 1>& given) {
    const auto size = static_cast<Index>(given.shape(0));
    if (size == 0)
        return nullptr;
    const auto places = std::make_shared<Places>();
    double total = 0;
    bool good = size == place_count;
    for (Index i = 0; good && i < size; ++i) {
        const float weight = given.data()[i];
        good = weight >= 0 && weight <= static_cast<float>(most_weight) && weight == std::floor(weight);
        total += static_cast<double>(weight);
        places->weight[i] = good ? static_cast<std::uint32_t>(weight) : 0;
    }
    if (!good || total > most_weight)
        throw nb::value_error("the ticket's places are out of range");
    return places;
}

// Of several labels; otherwise empty.
nb::object predictions_of(const Ticket& self) {
    return copy_out(self.asked.record.data(), self.several ? static_cast<Index>(self.asked.record.size()) : 0);
}
nb::object prediction_of(const Ticket& self) {
    if (self.labelled)
        return self.label;
    return self.several ? predictions_of(self) : nb::float_(self.asked.prediction);
}

nb::tuple ends(const Ticket& self, const Level& level) {
    if (!self.scale.is_none()) {
        const nb::tuple inner = ends(nb::cast<const Ticket&>(self.parts[0]), level);
        return nb::bool_(true).is(self.scale) ? inner : nb::make_tuple(self.scale(inner[0]), self.scale(inner[1]));
    }
    double lower, upper;
    write_ends(self.asked.interval_basis, level, self.asked.prediction, lower, upper);
    return nb::make_tuple(lower, upper);
}

nb::object quantiles_of(const Ticket& self, Vector levels) {
    const Asked& asked = self.asked;
    double* to;
    nb::object out = new_array(static_cast<Index>(levels.shape(0)), to);
    write_quantiles(asked.interval_basis, asked.places ? *asked.places : Places{}, asked.prediction, levels.data(),
                    static_cast<Index>(levels.shape(0)), to);
    return out;
}

nb::object copy_of(nb::handle self) {
    nb::object made = new_ticket(self.type(), nb::cast<const Ticket&>(self));
    Ticket& ticket = *nb::inst_ptr<Ticket>(made);
    if (!ticket.parts.is_none()) {
        nb::list copies;
        for (nb::handle part : ticket.parts)
            copies.append(copy_of(part));
        ticket.parts = copies;
    }
    return made;
}

// The tickets of the rows that wait for their labels. x also has the rows that were told.
nb::list tickets_of(LateRows& self, nb::object x, std::uint64_t mark, nb::handle kind) {
    nb::list out;
    for (Index t = self.told; t < self.asked; ++t) {
        nb::object made = new_ticket(kind, nb::object(), mark, self.said[t - self.told]);
        keep_row(*nb::inst_ptr<Ticket>(made), copy_row(x[t]));
        out.append(made);
    }
    return out;
}

} // namespace

void bind_ticket(nb::module_& m) {
    using nb::arg;
    nb::class_<Ticket>(m, "Ticket", "A row that was predicted and waits for its label.")
        .def(
            "__init__",
            [](Ticket* self, nb::object x, std::uint64_t model, std::optional<Vector> numbers,
               std::optional<Vector> predictions, nb::object parts, std::optional<ArrayOf<const float, 1>> places) {
                new (self) Ticket{nb::object(), model, numbers ? asked_of(*numbers) : Asked{}};
                keep_row(*self, std::move(x));
                self->parts = std::move(parts);
                if (places)
                    self->asked.places = places_in(*places);
                self->several = predictions && predictions->shape(0) > 0;
                if (self->several)
                    self->asked.record.assign(predictions->data(), predictions->data() + predictions->shape(0));
            },
            arg("x"), arg("model"), arg("numbers") = nb::none(), arg("predictions") = nb::none(), arg("parts") = nb::none(),
            arg("places") = nb::none())
        .def_prop_ro("prediction", &prediction_of, nb::sig("def prediction(self, /) -> typing.Any"),
                     "The prediction; an array where a row has several labels.")
        .def_prop_ro("x", &row_of, nb::sig("def x(self, /) -> typing.Any"), "The row as it was given.")
        .def_ro("parts", &Ticket::parts, nb::sig("def parts(self, /) -> typing.Any"))
        .def_rw("scale", &Ticket::scale, nb::arg().none(), nb::for_getter(nb::sig("def scale(self, /) -> typing.Any")),
                nb::for_setter(nb::sig("def scale(self, arg: typing.Any, /) -> None")),
                "How intervals follow from those of the first part: a function, or True if they are the same.")
        .def_ro("model", &Ticket::model, "The mark of the model that was asked.")
        .def_prop_ro(
            "labelled", [](const Ticket& self) { return self.labelled; }, "Whether the prediction is a label.")
        .def(
            "set_label",
            [](Ticket& self, nb::object label) {
                self.label = std::move(label);
                self.labelled = true;
            },
            arg("label").none(), "Puts a label in the place of the prediction.")
        .def_rw("told", &Ticket::told, "Whether the label was told.")
        .def_prop_rw(
            "at", [](const Ticket& self) { return self.asked.at; }, [](Ticket& self, double at) { self.asked.at = at; },
            "The time of the row as the model keeps it; NaN if it has none.")
        .def_prop_ro(
            "delay", [](const Ticket& self) { return self.asked.delay; },
            "How many rows late the label was expected: rows before the predicted one whose labels were not known.")
        .def_prop_ro(
            "labels", [](const Ticket& self) { return static_cast<Index>(self.asked.labels); },
            "How many labels the model had learned.")
        .def_prop_ro("numbers", &numbers_of, nb::sig("def numbers(self, /) -> typing.Any"))
        .def_prop_ro("places", &places_of, nb::sig("def places(self, /) -> typing.Any"),
                     "The weights of the places where labels had lain; empty if the row was not predicted.")
        .def_prop_ro("predictions", &predictions_of, nb::sig("def predictions(self, /) -> typing.Any"))
        .def_prop_ro(
            "width", [](const Ticket& self) { return static_cast<Index>(self.row.size()); }, "Numbers of the row.")
        .def(
            "extend", [](Ticket& self, Vector more) { self.row.append({more.data(), more.shape(0)}); }, arg("more"),
            "Adds features that the model had not met when it was asked.")
        .def("__copy__", &copy_of, "With copies of its parts: either can be told.")
        .def(
            "around",
            [](nb::handle self, nb::handle x, std::uint64_t model, nb::object parts) {
                const Asked& said = nb::cast<const Ticket&>(self).asked;
                nb::object made = new_ticket(
                    self.type(), nb::object(), model,
                    Asked{said.prediction + 0.0, said.interval_basis, said.places, said.labels, said.at, said.delay, {}});
                Ticket& ticket = *nb::inst_ptr<Ticket>(made);
                keep_row(ticket, copy_row(x));
                ticket.parts = std::move(parts);
                if (!nb::cast<const Ticket&>(self).scale.is_none())
                    ticket.scale = nb::bool_(true);
                return made;
            },
            arg("x").none(), arg("model"), arg("parts"),
            nb::sig("def around(self, x: object, model: int, parts: object) -> typing.Any"),
            "The same prediction as a ticket of the enclosing model.")
        .def("quantiles_at", &quantiles_of, arg("levels"),
             nb::sig("def quantiles_at(self, levels: typing.Any) -> typing.Any"))
        .def("ends", &ends, arg("level"), nb::sig("def ends(self, level: Level) -> tuple[float, float]"));
    nb::class_<LateRows>(m, "LateRows", "The progress of a replay with late labels.")
        .def(
            "__init__",
            [](LateRows* self, const std::vector<const Ticket*>& tickets) {
                new (self) LateRows{};
                for (const Ticket* ticket : tickets)
                    self->said.push() = ticket->asked;
                self->asked = self->carried = static_cast<Index>(tickets.size());
            },
            arg("tickets"))
        .def_ro("asked", &LateRows::asked, "Rows that were predicted.")
        .def_ro("told", &LateRows::told, "Rows whose labels were learned, or skipped.")
        .def_ro("skipped", &LateRows::skipped)
        .def("tickets", &tickets_of, arg("x"), arg("mark"), arg("kind"),
             nb::sig("def tickets(self, x: typing.Any, mark: int, kind: type[Ticket]) -> list[typing.Any]"),
             "Tickets of the rows that wait for their labels.");
}

} // namespace driftline::bindings
