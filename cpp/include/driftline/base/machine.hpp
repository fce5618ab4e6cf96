// Facts about the machine, for the code of every instruction set.
#pragma once

#include "driftline/base/simd.hpp"

namespace driftline {

// Bytes of the cache that belongs to one core.
Index core_cache();
// Threads that the replays of this process may use together: its cores, or the environment's DRIFTLINE_THREADS if that is
// less.
Index thread_limit();

// Counts the replays that could use a second thread.
class ThreadClaim {
  public:
    ThreadClaim();
    ~ThreadClaim();
    ThreadClaim(const ThreadClaim&) = delete;
    bool has_room() const; // for two threads each
};

} // namespace driftline
