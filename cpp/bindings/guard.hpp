// One thread at a time. A learner has a Guard, which its core shares. A Claim holds it for as long as the claim lives. A
// Change is a claim that Ctrl-C does not stop, an Undo a change that restores the learner if its block raises, and a Closure
// a claim that refuses every call, while a function of the user's runs. They also release in their destructor, so that no
// exception between two lines of Python can leave a model claimed.
#pragma once

#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

namespace driftline::bindings {

namespace nb = nanobind;

class Guard {
  public:
    explicit Guard(std::string name) : name_(std::move(name)) {}

    bool is_claimed_elsewhere() const {
        const unsigned long owner = owner_.load(std::memory_order_acquire);
        return owner != 0 && owner != PyThread_get_thread_ident();
    }
    // Refuses a native call by thread `me`.
    void admit(unsigned long me) const {
        const unsigned long owner = owner_.load(std::memory_order_acquire);
        if (owner != 0 && (owner != me || closed_)) [[unlikely]]
            refuse_call(owner);
    }
    // A thread may hold several claims, unless one asks to be the only one.
    void claim(bool only) {
        const unsigned long me = PyThread_get_thread_ident();
        unsigned long owner = 0;
        if (!owner_.compare_exchange_strong(owner, me, std::memory_order_acq_rel) && (owner != me || only || closed_))
            refuse_call(owner);
        ++depth_;
    }
    // Set by the thread that holds a claim.
    void set_closed(bool closed) { closed_ = closed; }
    void release() {
        if (--depth_ == 0)
            owner_.store(0, std::memory_order_release);
    }
    // After a fork the parent's threads are gone, and their claims pass to the remaining thread.
    void take_over() { owner_.store(PyThread_get_thread_ident(), std::memory_order_release); }
    // Refuses a call, because thread `holder` uses the model.
    [[noreturn, gnu::cold, gnu::noinline]] void refuse_call(unsigned long holder) const {
        throw std::runtime_error(
            name_ + (holder == PyThread_get_thread_ident()
                         ? ": the model is in use by a call that has not ended; a function that the call uses, such as a "
                           "loss or a schedule, cannot call the model"
                         : ": the model is in use by another thread; give each thread its own, or lock around it: see "
                           "Threads and processes in the documentation"));
    }

  private:
    std::string name_;
    std::atomic<unsigned long> owner_{0}; // the thread that holds claims, 0 if none
    long depth_ = 0;
    bool closed_ = false;
};

// The guard of a native object, and the thread that is in a native call, 0 if none.
struct Guarded {
    static const std::shared_ptr<Guard>& unclaimed() {
        static const auto guard = std::make_shared<Guard>("driftline");
        return guard;
    }
    std::shared_ptr<Guard> guard = unclaimed(); // until the learner shares its own
    std::atomic<unsigned long> busy{0};
    double at = NAN;         // the time of the next row; NaN if it has none
    bool needs_time = false; // rows without a time are left to Python, which refuses them
    std::uint64_t mark = 0;  // identifies the model's class and parameters to tickets; 0: not set
};

// Held during a native call.
class InUse {
  public:
    explicit InUse(Guarded& guarded) : busy_(guarded.busy) {
        const unsigned long me = PyThread_get_thread_ident();
        unsigned long other = 0;
        if (!busy_.compare_exchange_strong(other, me, std::memory_order_acq_rel)) [[unlikely]]
            guarded.guard->refuse_call(other);
        try {
            guarded.guard->admit(me);
        } catch (...) {
            busy_.store(0, std::memory_order_release);
            throw;
        }
    }
    InUse(const InUse&) = delete;
    ~InUse() { busy_.store(0, std::memory_order_release); }

  private:
    std::atomic<unsigned long>& busy_;
};

} // namespace driftline::bindings
