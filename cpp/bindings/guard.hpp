// One thread at a time. A learner has a Guard, which its core shares. A Claim holds it for as long as the claim lives; a
// Transaction is a claim that restores the learner if its block raises. Both also release in their destructor, so that an
// interrupt between any two lines of Python cannot leave a model claimed.
#pragma once

#include <atomic>
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
    // A thread may hold several claims, unless one asks to be the only one.
    void claim(bool only) {
        const unsigned long me = PyThread_get_thread_ident();
        unsigned long owner = 0;
        if (!owner_.compare_exchange_strong(owner, me, std::memory_order_acq_rel) && (owner != me || only))
            owner == me ? refuse_nested() : refuse();
        ++depth_;
    }
    void release() {
        if (--depth_ == 0)
            owner_.store(0, std::memory_order_release);
    }
    // After a fork the parent's threads are gone, and their claims pass to the remaining thread.
    void take_over() { owner_.store(PyThread_get_thread_ident(), std::memory_order_release); }
    [[noreturn, gnu::cold, gnu::noinline]] void refuse() const {
        throw std::runtime_error(name_ + ": the model is in use by another thread; give each thread its own, or lock "
                                         "around it: see Threads and processes in the documentation");
    }

    [[noreturn, gnu::cold, gnu::noinline]] void refuse_nested() const {
        throw std::runtime_error(name_ +
                                 ": the model is in use by a call that has not ended; a function that the call uses, such "
                                 "as a loss or a schedule, cannot call the model");
    }

  private:
    std::string name_;
    std::atomic<unsigned long> owner_{0}; // the thread that holds claims, 0 if none
    long depth_ = 0;
};

// The guard of a native object. `busy` is set during a native call, by any thread.
struct Guarded {
    static const std::shared_ptr<Guard>& unclaimed() {
        static const auto guard = std::make_shared<Guard>("driftline");
        return guard;
    }
    std::shared_ptr<Guard> guard = unclaimed(); // until the learner shares its own
    std::atomic<bool> busy{false};
    std::uint64_t mark = 0; // identifies the model's class and parameters to tickets; 0: not set
};

// Held during a native call.
class InUse {
  public:
    explicit InUse(Guarded& guarded) : busy_(guarded.busy) {
        if (busy_.exchange(true, std::memory_order_acquire)) [[unlikely]]
            guarded.guard->refuse();
        if (guarded.guard->is_claimed_elsewhere()) [[unlikely]] {
            busy_.store(false, std::memory_order_release);
            guarded.guard->refuse();
        }
    }
    InUse(const InUse&) = delete;
    ~InUse() { busy_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool>& busy_;
};

} // namespace driftline::bindings
