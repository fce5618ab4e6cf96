// A second thread that runs one piece of work at a time.
#pragma once

#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace driftline {

class Worker {
  public:
    Worker() = default;
    Worker(const Worker&) = delete;
    ~Worker() {
        if (thread_.joinable()) {
            state_.wait(busy, std::memory_order_acquire);
            tell(leave);
            thread_.join();
        }
    }

    // False if no thread can be started.
    bool hire() {
        try {
            thread_ = std::thread([this] { serve(); });
        } catch (const std::system_error&) {
            return false;
        }
        return true;
    }

    // Calls `work`, which must live until wait() returns. Nothing else may be started before that.
    template <class Work> void start(const Work& work) {
        work_ = &work;
        call_ = [](const void* given) { (*static_cast<const Work*>(given))(); };
        tell(busy);
    }
    // Rethrows what the work threw.
    void wait() {
        state_.wait(busy, std::memory_order_acquire);
        if (failure_)
            std::rethrow_exception(std::exchange(failure_, nullptr));
    }

  private:
    enum : int { idle, busy, leave };

    void tell(int state) {
        state_.store(state, std::memory_order_release);
        state_.notify_one();
    }
    void serve() {
        for (;;) {
            state_.wait(idle, std::memory_order_acquire);
            if (state_.load(std::memory_order_acquire) == leave)
                return;
            try {
                call_(work_);
            } catch (...) {
                failure_ = std::current_exception();
            }
            tell(idle);
        }
    }

    std::atomic<int> state_{idle};
    std::exception_ptr failure_;
    const void* work_ = nullptr;
    void (*call_)(const void*) = nullptr;
    std::thread thread_;
};

} // namespace driftline
