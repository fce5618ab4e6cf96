// Tickets: predicted rows that wait for their labels. These templates implement ask and tell for any native core.
#pragma once

#include "guard.hpp"
#include "numbers.hpp"
#include "one_row.hpp"
#include "sparse.hpp"

#include "driftline/engine.hpp"
#include "driftline/base/asked.hpp"

namespace driftline::bindings {

struct Ticket {
    nb::object x;            // a copy of the row as given; invalid if its numbers are in `row`
    std::uint64_t model = 0; // the mark of the model that made the prediction
    Asked asked;
    Numbers row = {};
    nb::object names = nb::none(); // names of the numbers in `row`, if it was a mapping
    nb::object parts = nb::none(); // tickets of the model's base estimators
    nb::object label = nb::none();
    // Intervals are those of the first part: mapped by this function, or as they are if it is True. None: they are its own.
    nb::object scale = nb::none();
    bool labelled = false; // the prediction is a class label, not a number
    bool several = false;  // a row has several labels, and their predictions are the record
    bool told = false;
};
static_assert(sizeof(Ticket) + 40 <= 512, "with its headers, a ticket must fit what Python's fast allocator serves");

// A copy of the row that its owner cannot change.
inline nb::object copy_row(nb::handle x) {
    PyObject* copy = nullptr;
    if (PyDict_CheckExact(x.ptr()))
        copy = PyDict_Copy(x.ptr());
    else if (PyArray_CheckExact(x.ptr()))
        copy = PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(x.ptr()), NPY_CORDER);
    else if (PyList_CheckExact(x.ptr()))
        copy = PyList_AsTuple(x.ptr());
    else
        return nb::borrow(x);
    if (!copy)
        throw nb::python_error();
    return nb::steal(copy);
}

// Stores a row that is not shared: an array of doubles as numbers, anything else unchanged.
inline void keep_row(Ticket& ticket, nb::object x) {
    ArrayOf<const double, 1> numbers;
    if (PyArray_CheckExact(x.ptr()) && nb::try_cast(x, numbers, false))
        ticket.row.assign(numbers.data(), numbers.shape(0));
    else
        ticket.x = std::move(x);
}
// The row as given, or in an equivalent form.
inline nb::object row_of(const Ticket& ticket) {
    if (ticket.x.is_valid())
        return ticket.x;
    if (ticket.names.is_none())
        return copy_out(ticket.row.data(), static_cast<Index>(ticket.row.size()));
    nb::dict out;
    for (std::size_t j = 0; j < ticket.row.size(); ++j)
        out[ticket.names[j]] = ticket.row[j];
    return out;
}

// Creates a ticket of the given Python class.
template <class... Parts> nb::object new_ticket(nb::handle kind, Parts&&... parts) {
    nb::object made = nb::inst_alloc(kind);
    new (nb::inst_ptr<Ticket>(made)) Ticket{std::forward<Parts>(parts)...};
    nb::inst_mark_ready(made);
    return made;
}

template <class Core> Index usual_delay(Core& self) {
    if constexpr (requires { self.coverage(); })
        return self.coverage().delay;
    else
        return 0;
}
template <class Core> void set_delay(Core& self, Index delay) {
    if constexpr (requires { self.coverage(); })
        self.coverage().delay = delay;
}

// Tells the model the time of the row that is next.
template <class Core> void tell_time(Core& self, double at) {
    if constexpr (requires { self.set_time(at); })
        self.set_time(at);
}
// For the duration of a call; the time that was set before then applies again.
template <class Core> class RowTime {
  public:
    RowTime(Core& self, double at) : self_(self) { tell_time(self, at); }
    RowTime(const RowTime&) = delete;
    ~RowTime() { tell_time(self_, self_.at); }

  private:
    Core& self_;
};

// Outputs that record the prediction of one row.
template <class Core> Outputs recorded(Core& self, Asked& asked) {
    Outputs out;
    out.predictions = &asked.prediction;
    out.interval_basis = &asked.interval_basis;
    const auto places = std::make_shared<Places>();
    asked.places = places;
    out.places = places.get();
    asked.labels = self.sums().rows;
    asked.at = self.at;
    return out;
}

// Predicts the row that was read, and records the prediction.
template <class Core> Status ask(Core& self, Asked& asked) {
    Outputs out = recorded(self, asked);
    if constexpr (requires { self.ask(asked, out); })
        return self.ask(asked, out);
    else
        return self.predict(out);
}

// Learns a label by calling `learn`, the core's own way to learn the row, and scores the recorded prediction.
template <class Core, class Learn> Status tell(Core& self, const Asked& asked, double label, Learn&& learn) {
    if (self.sums().rows == asked.labels) {
        const Status status = learn();
        if (status == Status::done)
            set_delay(self, 0);
        return status;
    }
    catch_up(self.coverage());
    const Status status = learn();
    if (status == Status::done)
        coverage_engine().judge(self.coverage(), label - asked.prediction, asked.interval_basis);
    return status;
}

// Stores the numbers of the row that was read, if the core has them.
template <class Core> void keep_numbers(const Core& self, Ticket& ticket, bool known) {
    if constexpr (requires { self.numbers(); })
        if (const auto* numbers = known ? self.numbers() : nullptr)
            ticket.row.assign(numbers, static_cast<std::size_t>(self.features()));
}

template <class Core> nb::object ask_row(Core& self, nb::handle x, nb::handle delay, nb::handle kind) {
    InUse use(self);
    if (self.mark == 0)
        return nb::none();
    const bool known = self.read(x, false); // with all its names known
    if (!known && !self.read(x, true))
        return nb::none();
    nb::object made = nb::inst_alloc(kind);
    Ticket& ticket = *new (nb::inst_ptr<Ticket>(made)) Ticket{};
    nb::inst_mark_ready(made);
    ticket.model = self.mark;
    ticket.asked.delay = delay.is_none() ? usual_delay(self) : nb::cast<Index>(delay);
    keep_numbers(self, ticket, known);
    if (ticket.row.empty())
        keep_row(ticket, copy_row(x));
    else if (PyDict_CheckExact(x.ptr()))
        ticket.names = self.names.list();
    return ask(self, ticket.asked) == Status::done ? made : nb::none();
}

// The ticket, or null if this model cannot accept it.
template <class Core> Ticket* valid_ticket(Core& self, nb::handle handle) {
    Ticket* ticket = nullptr;
    if (!nb::try_cast(handle, ticket, false) || !ticket)
        return nullptr;
    bool good = !ticket->told && self.mark != 0 && ticket->model == self.mark && ticket->asked.labels <= self.sums().rows;
    if constexpr (requires { self.coverage(); })
        good = good && ticket->asked.interval_basis.labels <= self.coverage().noted;
    return good ? ticket : nullptr;
}

// Loads a ticket's row into the core; on false, Python takes over.
template <class Core> bool take_row(Core& self, const Ticket& ticket) {
    if constexpr (requires { self.load(ticket.row); })
        if (!ticket.x.is_valid() && (ticket.names.is_none() || ticket.names.is(self.names.list()))) {
            const bool may_be_shorter = self.names.known(); // only features with names are added later
            return (may_be_shorter || static_cast<Index>(ticket.row.size()) == self.features()) && self.load(ticket.row);
        }
    return self.read(row_of(ticket), false);
}

// A label as a number; NaN if Python must convert it, or refuse it because it is outside the limits.
template <class Core> double read_label(const Core& self, nb::handle y) {
    const double label = read_number<typename Core::Value>(y.ptr());
    return self.limits().contain(label) ? label : NAN;
}

template <class Core> nb::object tell_row(Core& self, nb::handle handle, nb::handle y, nb::handle weight) {
    InUse use(self);
    Ticket* ticket = valid_ticket(self, handle);
    const double label = read_label(self, y);
    const double share = weight.is_none() ? 1 : read_number<double>(weight.ptr());
    if (!ticket || !(share > 0) || std::isnan(label))
        return to_python(Status::unread);
    if (!take_row(self, *ticket))
        return to_python(Status::unread);
    if (self.needs_time == std::isnan(ticket->asked.at)) // it lacks a time, or is the first row with one
        return to_python(Status::unread);
    const RowTime time(self, ticket->asked.at);
    Status status;
    if constexpr (requires { self.tell(ticket->asked, label, share); })
        status = self.tell(ticket->asked, label, share);
    else
        status = tell(self, ticket->asked, label, [&] { return self.learn(label, share); });
    ticket->told = status == Status::done;
    return to_python(status);
}

} // namespace driftline::bindings
