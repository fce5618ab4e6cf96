// Checks for the native tests: they print each failure, and the program's exit code says whether any check failed.
#pragma once

#include <cmath>
#include <cstdio>

namespace checks {

inline int failures = 0;

inline void fail(const char* file, int line, const char* what) {
    if (++failures <= 20)
        std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
}
inline void near(const char* file, int line, const char* what, long double got, long double expected,
                 long double tolerance) {
    if (std::fabs(got - expected) <= tolerance)
        return;
    fail(file, line, what);
    if (failures <= 20)
        std::fprintf(stderr, "    got %.17Lg, expected %.17Lg, tolerance %.3Lg\n", got, expected, tolerance);
}
inline int result() {
    std::printf(failures ? "%d checks failed\n" : "passed\n", failures);
    return failures != 0;
}

} // namespace checks

#define CHECK(condition) ((condition) ? void() : checks::fail(__FILE__, __LINE__, #condition))
#define CHECK_NEAR(got, expected, tolerance) checks::near(__FILE__, __LINE__, #got, got, expected, tolerance)
