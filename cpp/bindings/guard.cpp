// driftline._core.Guard, Claim, Transaction and Closure.
#include "guard.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace driftline::bindings {
namespace {

class Claim;

// The open claims of this process, in the order in which they were made.
struct OpenClaims {
    std::mutex mutex;
    std::vector<Claim*> claims;
};
OpenClaims& open_claims() {
    static OpenClaims* const open = new OpenClaims; // never destroyed: claims may outlive static objects
    return *open;
}

class Claim {
  public:
    Claim(std::shared_ptr<Guard> guard, bool only) : guard_(std::move(guard)) {
        guard_->claim(only);
        const std::lock_guard lock(open_claims().mutex);
        open_claims().claims.push_back(this);
    }
    Claim(const Claim&) = delete;
    virtual ~Claim() { close(); }

    virtual void end(bool) { close(); }
    bool is_orphaned() const { return guard_->is_claimed_elsewhere(); }
    void take_over() { guard_->take_over(); }

  protected:
    bool is_open() const { return guard_ != nullptr; }
    void close() {
        if (!is_open())
            return;
        {
            const std::lock_guard lock(open_claims().mutex);
            std::erase(open_claims().claims, this);
        }
        std::exchange(guard_, nullptr)->release();
    }

  private:
    std::shared_ptr<Guard> guard_; // null once released
};

class Transaction : public Claim {
  public:
    Transaction(std::shared_ptr<Guard> guard, nb::object learner)
        : Claim(std::move(guard), true), before_(learner.attr("__getstate__")()), learner_(std::move(learner)) {}
    ~Transaction() override {
        if (!is_open())
            return;
        nb::error_scope keep; // the error that ended the block, if any
        try {
            roll_back();
        } catch (nb::python_error& error) {
            error.discard_as_unraisable("driftline: a learner is restored");
        }
    }
    void end(bool failed) override {
        if (failed && is_open())
            roll_back();
        close();
    }
    nb::object before() const { return before_; }

  private:
    // An interrupt waits until the learner is restored.
    void roll_back() {
        constexpr int most = 100;
        bool interrupted = false;
        for (int tries = 0;; ++tries) {
            try {
                learner_.attr("_roll_back")(before_);
                break;
            } catch (nb::python_error& error) {
                interrupted = error.matches(PyExc_KeyboardInterrupt);
                if (!interrupted || tries == most) {
                    close();
                    throw;
                }
            }
        }
        close();
        if (interrupted) {
            PyErr_SetNone(PyExc_KeyboardInterrupt);
            throw nb::python_error();
        }
    }

    nb::object before_, learner_;
};

class Closure : public Claim {
  public:
    explicit Closure(std::shared_ptr<Guard> guard) : Claim(guard, false), closed_(std::move(guard)) {
        closed_->set_closed(true);
    }
    ~Closure() override { end(false); }
    void end(bool) override {
        if (is_open())
            closed_->set_closed(false);
        close();
    }

  private:
    std::shared_ptr<Guard> closed_;
};

// In the child of a fork: rolls back what other threads of the parent had begun, and ends their claims.
void end_orphans() {
    OpenClaims& open = open_claims();
    new (&open.mutex) std::mutex; // the parent may have forked while another thread held it
    std::vector<Claim*> orphans;
    std::copy_if(open.claims.begin(), open.claims.end(), std::back_inserter(orphans),
                 [](const Claim* claim) { return claim->is_orphaned(); });
    for (Claim* claim : orphans)
        claim->take_over();
    for (auto claim = orphans.rbegin(); claim != orphans.rend(); ++claim)
        (*claim)->end(true);
}

} // namespace

void bind_guard(nb::module_& m) {
    using nb::arg;
    nb::class_<Guard>(m, "Guard", "Lets one thread at a time use a model.")
        .def(nb::init<std::string>(), arg("name"))
        .def(
            "claim", [](std::shared_ptr<Guard> self, bool only) { return new Claim(std::move(self), only); },
            nb::rv_policy::take_ownership, arg("only") = false,
            "A context manager that keeps other threads out; with `only`, also other calls of this thread.")
        .def(
            "transaction",
            [](std::shared_ptr<Guard> self, nb::object learner) {
                return new Transaction(std::move(self), std::move(learner));
            },
            nb::rv_policy::take_ownership, arg("learner"),
            "A context manager that keeps every other call out, and restores the learner if its block raises.")
        .def(
            "closure", [](std::shared_ptr<Guard> self) -> Claim* { return new Closure(std::move(self)); },
            nb::rv_policy::take_ownership,
            "A context manager for running a function of the user's, which may call nothing of the model.");
    nb::class_<Claim>(m, "Claim")
        .def(
            "__enter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __enter__(self) -> typing.Self"))
        .def(
            "__exit__", [](Claim& self, nb::handle kind, nb::handle, nb::handle) { self.end(!kind.is_none()); },
            arg("kind").none(), arg("error").none(), arg("traceback").none(),
            nb::sig("def __exit__(self, kind: object, error: object, traceback: object) -> None"));
    nb::class_<Transaction, Claim>(m, "Transaction")
        .def_prop_ro("before", &Transaction::before, nb::for_getter(nb::sig("def before(self, /) -> typing.Any")),
                     "The learner's state when the block began.");
    nb::object after_fork = nb::cpp_function(&end_orphans);
    if (nb::module_ os = nb::module_::import_("os"); nb::hasattr(os, "register_at_fork"))
        os.attr("register_at_fork")(nb::arg("after_in_child") = after_fork);
}

} // namespace driftline::bindings
