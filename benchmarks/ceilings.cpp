// The limits of one core of this machine: fused multiply-adds in registers, and numbers read and written back.
#include <cstddef>

namespace {
template <class T> struct VectorOf {
    typedef T type __attribute__((vector_size(32)));
};

// One step of a sum, which the compiler can neither remove nor merge with the next.
template <class V> inline __attribute__((always_inline)) void step(V& total, V a, V b) {
    total = total * a + b;
    asm volatile("" : "+x"(total));
}

// Ten sums, so that the latency of one is hidden behind the others. Returns the floating-point operations done.
template <class T> double multiply_add(long rounds) {
    using Vector = typename VectorOf<T>::type;
    Vector a = Vector{} + T(0.5), b = Vector{} + T(1e-3);
    Vector s0 = b, s1 = b, s2 = b, s3 = b, s4 = b, s5 = b, s6 = b, s7 = b, s8 = b, s9 = b;
    for (long r = 0; r < rounds; ++r) {
        step(s0, a, b), step(s1, a, b), step(s2, a, b), step(s3, a, b), step(s4, a, b);
        step(s5, a, b), step(s6, a, b), step(s7, a, b), step(s8, a, b), step(s9, a, b);
    }
    return 2.0 * (32 / sizeof(T)) * 10 * static_cast<double>(rounds);
}
} // namespace

extern "C" {
double multiply_add_double(long rounds) { return multiply_add<double>(rounds); }
double multiply_add_float(long rounds) { return multiply_add<float>(rounds); }

// Reads and writes every number of the buffer, as a second-order learner does with its matrix at each row. Returns the bytes
// moved.
double read_and_write(double* buffer, long count, long rounds) {
    using Vector = VectorOf<double>::type;
    Vector a = {}, b = {};
    for (int i = 0; i < 4; ++i) {
        a[i] = 0.5;
        b[i] = 1e-3;
    }
    Vector* const at = reinterpret_cast<Vector*>(buffer);
    for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 4
        for (long i = 0; i < count / 4; ++i)
            at[i] = at[i] * a + b;
        asm volatile("" : : "r"(buffer) : "memory");
    }
    return 16.0 * static_cast<double>(count / 4 * 4) * static_cast<double>(rounds);
}
}
