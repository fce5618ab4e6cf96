// Tells when errors have become larger than they were.
//
// Each error is ranked by its size among those before it: p is the share that is larger, half of those of its own size and
// of itself counted, whose distribution does not depend on that of the errors while nothing changes. The bet power p^(power
// - 1) has a mean below 1 then, so the largest product of the bets up to now, over all rows to begin at, exceeds a limit
// once in so many rows or less.
#pragma once

#include <cfloat>
#include <cmath>

#include "driftline/base/range.hpp"

namespace driftline {

inline constexpr Index alarm_memory = 512, alarm_warm_up = 64;

struct Alarm {
    double limit = 0;    // of the logarithm of the product
    double evidence = 0; // that logarithm
    Index count = 0;     // sizes since the last alarm
    double sizes[alarm_memory] = {};
};

// Whether this error raises the alarm, after which all begins anew. NaN says nothing.
inline bool raises(Alarm& alarm, double error) {
    constexpr double power = 0.6, log_power = -0.5108256237659907;
    const double size = at_most(std::fabs(error), DBL_MAX);
    if (std::isnan(error))
        return false;
    if (alarm.count >= alarm_warm_up) {
        const Index known = alarm.count < alarm_memory ? alarm.count : alarm_memory;
        Index larger = 0, least = 1;
        for (Index i = 0; i < known; ++i) {
            larger += alarm.sizes[i] > size;
            least += alarm.sizes[i] >= size;
        }
        const double p = 0.5 * static_cast<double>(larger + least) / static_cast<double>(known + 1);
        alarm.evidence = std::fmax(0, alarm.evidence + log_power + (power - 1) * std::log(p));
        if (alarm.evidence > alarm.limit) {
            alarm.evidence = 0;
            alarm.count = 0;
            return true;
        }
    }
    alarm.sizes[alarm.count % alarm_memory] = size;
    alarm.count += 1;
    return false;
}

} // namespace driftline
