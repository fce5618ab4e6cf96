// A second thread that does what it is given, and is waited for.
#pragma once

#include <atomic>
#include <system_error>
#include <thread>

namespace driftline {

class Companion {
  public:
    Companion() = default;
    Companion(const Companion&) = delete;
    ~Companion() {
        if (thread_.joinable()) {
            tell(leave);
            thread_.join();
        }
    }

    // False where no thread is to be had.
    bool hire() {
        try {
            thread_ = std::thread([this] { serve(); });
        } catch (const std::system_error&) {
            return false;
        }
        return true;
    }

    // `work` is called; it must not throw, and must live until it was waited for. Nothing else may be started before that.
    template <class Work> void start(const Work& work) {
        work_ = &work;
        call_ = [](const void* given) { (*static_cast<const Work*>(given))(); };
        tell(busy);
    }
    void wait() { state_.wait(busy, std::memory_order_acquire); }

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
            call_(work_);
            tell(idle);
        }
    }

    std::atomic<int> state_{idle};
    const void* work_ = nullptr;
    void (*call_)(const void*) = nullptr;
    std::thread thread_;
};

} // namespace driftline
