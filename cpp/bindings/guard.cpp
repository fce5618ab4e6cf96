// driftline._core.Guard, Claim, Change, Undo and Closure.
#include "guard.hpp"

#include <algorithm>
#include <csignal>
#include <mutex>
#include <vector>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace driftline::bindings {
namespace {

// Ctrl-C during a change in the main thread, where Python handles signals: the handler below only notes it, and the handler
// from before gets it when the change is over, or at a point where it may stop the call.
class Interrupts {
  public:
    static void set_main_thread(unsigned long thread) { main_thread = thread; }
    static bool is_main_thread() { return PyThread_get_thread_ident() == main_thread; }

    static void defer() {
        if (changes++ == 0)
            replace();
    }
    static void resume() {
        if (--changes == 0)
            put_back();
    }
    // Raises what Python's handler of an interrupt so far raises.
    static void heed() {
        if (noted && changes > 0 && is_main_thread()) {
            put_back();
            const bool failed = PyErr_CheckSignals() != 0;
            replace();
            if (failed)
                throw nb::python_error();
        }
    }
    // While a function of the user's runs, which may raise an exception anyway.
    static int suspend() {
        if (!is_main_thread())
            return 0;
        const int held = std::exchange(changes, 0);
        if (held > 0)
            put_back();
        return held;
    }
    static void unsuspend(int held) {
        if (held == 0)
            return;
        changes = held;
        replace();
    }

  private:
    static void note(int) { noted = 1; }
#ifdef _WIN32
    using Handler = void (*)(int);
    static void replace() {
        before = std::signal(SIGINT, note);
        if (before == SIG_DFL || before == SIG_IGN)
            std::signal(SIGINT, before);
    }
    static bool is_replaced() { return before != SIG_DFL && before != SIG_IGN; }
    static void restore() { std::signal(SIGINT, before); }
    static inline Handler before = SIG_DFL;
#else
    static void replace() {
        struct sigaction own = {};
        own.sa_handler = note;
        sigaction(SIGINT, &own, &before);
        if (!is_replaced())
            restore();
    }
    static bool is_replaced() { return before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN; }
    static void restore() { sigaction(SIGINT, &before, nullptr); }
    static inline struct sigaction before = {};
#endif
    static void put_back() {
        if (is_replaced())
            restore();
        if (std::exchange(noted, 0))
            std::raise(SIGINT);
    }

    static inline unsigned long main_thread = 0;
    static inline int changes = 0; // under way in the main thread
    static inline volatile std::sig_atomic_t noted = 0;
};

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

class Change : public Claim {
  public:
    Change(std::shared_ptr<Guard> guard, bool only) : Claim(std::move(guard), only), defers_(Interrupts::is_main_thread()) {
        if (!defers_)
            return;
        Interrupts::defer();
        if (PyErr_CheckSignals() == 0) // of an interrupt from before
            return;
        release();
        throw nb::python_error();
    }
    ~Change() override { release(); }
    void end(bool) override {
        const bool deferred = defers_;
        release();
        if (deferred && PyErr_CheckSignals() != 0)
            throw nb::python_error();
    }

  protected:
    void release() {
        close();
        if (std::exchange(defers_, false))
            Interrupts::resume();
    }

  private:
    bool defers_;
};

class Undo : public Change {
  public:
    Undo(std::shared_ptr<Guard> guard, nb::object learner, bool only)
        : Change(std::move(guard), only), before_(learner.attr("__getstate__")()), learner_(std::move(learner)) {}
    ~Undo() override {
        if (!is_open())
            return;
        nb::error_scope keep; // the error that ended the block, if any
        try {
            learner_.attr("_roll_back")(before_);
        } catch (nb::python_error& error) {
            error.discard_as_unraisable("driftline: a learner is restored");
        }
    }
    void end(bool failed) override {
        if (failed && is_open()) {
            try {
                learner_.attr("_roll_back")(before_);
            } catch (...) {
                release();
                throw;
            }
        }
        Change::end(failed);
    }
    nb::object before() const { return before_; }

  private:
    nb::object before_, learner_;
};

class Closure : public Claim {
  public:
    explicit Closure(std::shared_ptr<Guard> guard)
        : Claim(guard, false), closed_(std::move(guard)), held_(Interrupts::suspend()) {
        closed_->set_closed(true);
    }
    ~Closure() override { end(false); }
    void end(bool) override {
        if (!is_open())
            return;
        Interrupts::unsuspend(held_);
        closed_->set_closed(false);
        close();
    }

  private:
    std::shared_ptr<Guard> closed_;
    int held_; // changes under way
};

// In the child of a fork: rolls back what other threads of the parent had begun, and ends their claims.
void end_orphans() {
    OpenClaims& open = open_claims();
    Interrupts::set_main_thread(PyThread_get_thread_ident());
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
            "change", [](std::shared_ptr<Guard> self, bool only) -> Claim* { return new Change(std::move(self), only); },
            nb::rv_policy::take_ownership, arg("only") = false,
            "A claim that Ctrl-C does not stop: it is raised when the block is over, or by ``heed_interrupt``.")
        .def(
            "undo",
            [](std::shared_ptr<Guard> self, nb::object model, bool only) {
                return new Undo(std::move(self), std::move(model), only);
            },
            nb::rv_policy::take_ownership, arg("model"), arg("only") = false,
            "A change that restores the model if its block raises an error.")
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
    nb::class_<Undo, Claim>(m, "Undo").def_prop_ro("before", &Undo::before,
                                                   nb::for_getter(nb::sig("def before(self, /) -> typing.Any")),
                                                   "The model's state when the block began.");
    m.def("heed_interrupt", &Interrupts::heed,
          "Raises the interrupt that a change has deferred, if there is one: the change is undone or leaves rows learned.");
    nb::object main = nb::module_::import_("threading").attr("main_thread")();
    Interrupts::set_main_thread(nb::cast<unsigned long>(main.attr("ident")));
    nb::object after_fork = nb::cpp_function(&end_orphans);
    if (nb::module_ os = nb::module_::import_("os"); nb::hasattr(os, "register_at_fork"))
        os.attr("register_at_fork")(nb::arg("after_in_child") = after_fork);
}

} // namespace driftline::bindings
