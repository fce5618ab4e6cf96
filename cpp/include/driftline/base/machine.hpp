// What the code for every instruction set asks of the machine that it runs on.
#pragma once

#include "driftline/base/simd.hpp"

namespace driftline {

// Bytes of the cache that belongs to one core.
Index core_cache();
// Threads that the replays of this process may use together: its cores, or DRIFTLINE_THREADS in the environment where that
// is less.
Index thread_limit();

// Counts the replays that would each be glad of a second thread.
class ThreadClaim {
  public:
    ThreadClaim();
    ~ThreadClaim();
    ThreadClaim(const ThreadClaim&) = delete;
    bool has_room() const; // for two threads each
};

} // namespace driftline
