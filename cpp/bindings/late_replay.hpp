// Replays rows whose labels come late, for any native core, and the methods that bind them and tickets.
#pragma once

#include <algorithm>

#include "batch.hpp"
#include "ticket.hpp"

namespace driftline::bindings {

// A queue in one block of memory. A std::deque allocates memory for each element of this size.
class AskedQueue {
  public:
    Index size() const { return count_; }
    Asked& operator[](Index i) { return ring_[static_cast<std::size_t>((first_ + i) % capacity())]; }
    Asked& front() { return (*this)[0]; }
    // Adds an element, which may be an earlier one: its memory is used again.
    Asked& push() {
        if (count_ == capacity()) {
            std::rotate(ring_.begin(), ring_.begin() + first_, ring_.end());
            first_ = 0;
            ring_.resize(2 * ring_.size() + 1);
        }
        return (*this)[count_++];
    }
    void unpush() { --count_; }
    void pop() {
        first_ = first_ + 1 == capacity() ? 0 : first_ + 1;
        --count_;
    }

  private:
    Index capacity() const { return static_cast<Index>(ring_.size()); }
    std::vector<Asked> ring_;
    Index first_ = 0, count_ = 0;
};

// The progress of rows through a model whose labels come late. Rows before `asked` were predicted, rows before `told`
// learned.
struct LateRows {
    AskedQueue said; // predictions for the rows from `told` to `asked`
    Index asked = 0, told = 0, carried = 0, skipped = 0;
};

template <class Core> class LateReplay {
  public:
    LateReplay(Core& self, const Batch& batch, const Outputs& out, Index delay, LateRows& rows)
        : self_(self), batch_(batch), out_(out), delay_(delay), rows_(rows) {}

    // Predicts row t once the labels of the rows before t - delay are known. If the status is not done, `rows` records the
    // progress, and the call can be repeated.
    Status run() {
        while (true) {
            Status status = Status::done;
            if (rows_.told < rows_.asked - delay_)
                status = tell_next();
            else if (rows_.asked < batch_.rows)
                status = ask_next();
            else
                return Status::done;
            if (status != Status::done)
                return status;
        }
    }

  private:
    Status ask_next() {
        const Index t = rows_.asked, place = t - rows_.carried;
        Asked& asked = rows_.said.push();
        asked.delay = delay_;
        const Status status = ask_row(t, asked);
        if (status != Status::done) {
            rows_.said.unpush();
            return status;
        }
        out_.predictions[place] = asked.prediction;
        if (asked.places)
            write_spread(out_, place, asked.interval_basis, *asked.places);
        else
            write_no_spread(out_, place);
        ++rows_.asked;
        return status;
    }
    Status ask_row(Index t, Asked& asked) {
        self_.at = time_of(t);
        tell_time(self_, self_.at);
        if constexpr (requires { self_.take(batch_, t); }) {
            if (self_.take(batch_, t))
                return ask(self_, asked);
            asked = Asked{};
            asked.at = self_.at;
            asked.delay = delay_;
            return batch_.skip ? Status::done : Status::bad_value;
        } else {
            asked.interval_basis = {};
            Outputs out = recorded(self_, asked);
            return self_.replay(one_row(batch_, t, false), out);
        }
    }
    Status tell_next() {
        const Index t = rows_.told;
        const Asked& asked = rows_.said.front();
        const double label = batch_.y[t], share = weight_of(batch_, t);
        const bool labelled = std::fabs(label) <= type_max<typename Core::Value>;
        const bool whole = !std::isnan(asked.prediction) && labelled;
        if ((!whole && !batch_.skip) || (labelled && !batch_.labels.contain(label)))
            return Status::bad_value;
        if (!whole)
            pass_over(t, label);
        else if (share != 0)
            if (const Status status = tell_row(t, asked, label, share); status != Status::done)
                return status;
        rows_.said.pop();
        ++rows_.told;
        return Status::done;
    }
    void pass_over(Index t, double label) {
        ++rows_.skipped;
        if constexpr (requires { self_.pass_over(true, label); })
            self_.pass_over(self_.take(batch_, t), label);
    }
    double time_of(Index t) const { return batch_.times ? batch_.times[t] : NAN; }
    Status tell_row(Index t, const Asked& asked, double label, double share) {
        tell_time(self_, asked.at);
        if constexpr (requires { self_.take(batch_, t); }) {
            self_.take(batch_, t);
            if constexpr (requires { self_.tell(asked, label, share); })
                return self_.tell(asked, label, share);
            else
                return tell(self_, asked, label, [&] { return self_.learn(label, share); });
        } else {
            return tell(self_, asked, label, [&] {
                double ignored = 0;
                Outputs out;
                out.predictions = &ignored;
                return self_.replay(one_row(batch_, t, true), out);
            });
        }
    }

    Core& self_;
    const Batch& batch_;
    const Outputs& out_;
    Index delay_;
    LateRows& rows_;
};

// The first rows of x may have been predicted by an earlier call: `rows` holds their predictions. Results cover the
// others.
template <class Core>
nb::object run_late(Core& self, Table2 x, Vector y, std::optional<Vector> weight, bool skip, const OutputArrays& arrays,
                    Index delay, LateRows& rows, std::optional<Vector> times) {
    InUse use(self);
    const Batch batch = make_batch(x, y, weight, skip, self.features(), self.limits(), times);
    require(delay >= 0 && rows.carried <= batch.rows);
    Batch fresh = batch;
    fresh.rows -= rows.carried;
    const Outputs out = make_outputs(fresh, arrays, 0, self.width());
    Status status;
    {
        nb::gil_scoped_release released;
        status = LateReplay<Core>(self, batch, out, delay, rows).run();
    }
    self.at = NAN;
    tell_time(self, NAN);
    if constexpr (requires { self.rethrow(); })
        self.rethrow();
    return to_python(status);
}

template <class Core, class... Bases> void bind_asking(nb::class_<Core, Bases...>& core) {
    using nb::arg;
    core.def("ask", &ask_row<Core>, arg("x").none(), arg("delay").none(), arg("kind"),
             nb::sig("def ask(self, x: object, delay: int | None, kind: type[Ticket]) -> typing.Any"),
             "A ticket for the row, or None where Python must read it or the model has no mark yet.")
        .def("tell", &tell_row<Core>, arg("ticket").none(), arg("y").none(), arg("weight") = nb::none(),
             nb::sig("def tell(self, ticket: typing.Any, y: object, weight: object = None) -> Status"),
             "Learns the label of a ticket; nothing has changed unless the status is `done`.")
        .def("run_late", &run_late<Core>, arg("x"), arg("y"), arg("weight").none(), arg("skip"), arg("out"), arg("delay"),
             arg("rows"), arg("times") = nb::none(),
             nb::sig("def run_late(self, x: typing.Any, y: typing.Any, weight: typing.Any, skip: bool, out: Outputs, "
                     "delay: int, rows: LateRows, times: typing.Any = None) -> Status"),
             "Predicts each row when the labels of all rows but the `delay` before it are known; LateRows holds the "
             "progress.")
        .def(
            "catch_up",
            [](Core& self) {
                InUse use(self);
                catch_up(self.coverage());
            },
            "Call it before a late row is learned: `judge` then replaces the score of that step.")
        .def(
            "judge",
            [](Core& self, const Ticket& ticket, double y) {
                InUse use(self);
                const double error = y - ticket.asked.prediction;
                if (self.coverage().noted > ticket.asked.interval_basis.labels + 1)
                    coverage_engine().judge(self.coverage(), error, ticket.asked.interval_basis);
                else
                    set_delay(self, 0);
            },
            arg("ticket"), arg("y"),
            "Scores the ticket's prediction and interval, after its row was learned; see `catch_up`.")
        .def_prop_ro("delay", [](Core& self) { return self.coverage().delay; });
}

} // namespace driftline::bindings
