#include "driftline/base/machine.hpp"

#include <atomic>
#include <cstdlib>
#include <thread>
#ifdef __unix__
#include <pthread.h>
#endif
#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#endif

namespace driftline {

namespace {
std::atomic<Index> claims{0};

#ifdef __unix__
// The threads that made the claims are not in a forked process.
[[maybe_unused]] const int forgotten_by_children = pthread_atfork(nullptr, nullptr, [] { claims = 0; });
#endif

Index cores() {
#ifdef __linux__
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) == 0)
        return CPU_COUNT(&mine);
#endif
    return static_cast<Index>(std::thread::hardware_concurrency());
}
} // namespace

Index core_cache() {
#ifdef _SC_LEVEL2_CACHE_SIZE
    static const Index size = static_cast<Index>(sysconf(_SC_LEVEL2_CACHE_SIZE));
    if (size > 0)
        return size;
#endif
    return Index{1} << 20;
}

Index thread_limit() {
    const Index here = cores();
    const char* const wish = std::getenv("DRIFTLINE_THREADS");
    char* end = nullptr;
    const Index most = wish ? std::strtoll(wish, &end, 10) : here;
    if (!wish || end == wish || *end != '\0') // none, or not a number
        return here;
    return most < 1 ? 1 : most < here ? most : here;
}

ThreadClaim::ThreadClaim() { claims.fetch_add(1, std::memory_order_relaxed); }
ThreadClaim::~ThreadClaim() { claims.fetch_sub(1, std::memory_order_relaxed); }
bool ThreadClaim::has_room() const { return 2 * claims.load(std::memory_order_relaxed) <= thread_limit(); }

} // namespace driftline
