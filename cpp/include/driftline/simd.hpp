// Short vectors on top of the compiler's vector extension: one source for every instruction set.
//
// A translation unit of kernels is compiled once for each instruction set, with DRIFTLINE_ISA naming it. Everything that it
// instantiates lives in an inline namespace of that name, so that the linker cannot mix the versions up.
#pragma once

#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#ifndef DRIFTLINE_ISA
#define DRIFTLINE_ISA portable
#endif
#define DRIFTLINE_INLINE inline __attribute__((always_inline))
#define DRIFTLINE_ONCE __attribute__((noinline))

namespace driftline {
using Index = std::int64_t;

inline constexpr Index round_up(Index n, Index multiple) { return (n + multiple - 1) / multiple * multiple; }

inline namespace DRIFTLINE_ISA {

#ifdef __AVX2__
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

template <class T, int N> struct VecOf {
    typedef T type __attribute__((vector_size(N * sizeof(T)), may_alias));
};
template <class T, int N> using Vec = typename VecOf<T, N>::type;
template <class T> inline constexpr int lanes = register_bytes / static_cast<int>(sizeof(T));
template <class T> using Wide = Vec<T, lanes<T>>;
using Doubles = Wide<double>;

// Buffers are aligned to 64 bytes and offsets are multiples of the register wherever these are used.
template <class V, class T> DRIFTLINE_INLINE V load(const T* p) { return *reinterpret_cast<const V*>(p); }
template <class V, class T> DRIFTLINE_INLINE void store(T* p, V v) { *reinterpret_cast<V*>(p) = v; }
template <class T> DRIFTLINE_INLINE Wide<T> wide(const T* p) { return load<Wide<T>>(p); }

// `lanes<double>` elements as doubles, whatever the model keeps.
template <class T> DRIFTLINE_INLINE Doubles load_doubles(const T* p) {
    return __builtin_convertvector((load<Vec<T, lanes<double>>>(p)), Doubles);
}
template <class T> DRIFTLINE_INLINE void store_doubles(T* p, Doubles v) {
    using V = Vec<T, lanes<double>>;
    store(p, __builtin_convertvector(v, V));
}
DRIFTLINE_INLINE Doubles all(double value) { return Doubles{} + value; }
// Where an element is not a number, the other argument's counts: b.
#if defined(__AVX2__)
DRIFTLINE_INLINE Doubles smaller(Doubles a, Doubles b) { return _mm256_min_pd(a, b); }
DRIFTLINE_INLINE Doubles larger(Doubles a, Doubles b) { return _mm256_max_pd(a, b); }
#elif defined(__SSE2__)
DRIFTLINE_INLINE Doubles smaller(Doubles a, Doubles b) { return _mm_min_pd(a, b); }
DRIFTLINE_INLINE Doubles larger(Doubles a, Doubles b) { return _mm_max_pd(a, b); }
#else
DRIFTLINE_INLINE Doubles smaller(Doubles a, Doubles b) { return a < b ? a : b; }
DRIFTLINE_INLINE Doubles larger(Doubles a, Doubles b) { return a > b ? a : b; }
#endif

#if defined(__clang__) || __GNUC__ >= 12
#define DRIFTLINE_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
template <class V> struct MaskOf {
    typedef decltype(V{} < V{}) type;
};
#define DRIFTLINE_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, typename MaskOf<decltype(a)>::type{__VA_ARGS__})
#endif

// The product as it is rounded on its own: no compiler may fuse it with an addition here and not there, so that every copy of
// a function gives the same bits.
DRIFTLINE_INLINE Doubles rounded(Doubles product) {
#if defined(__SSE2__)
    asm("" : "+x"(product));
#elif defined(__aarch64__)
    asm("" : "+w"(product));
#endif
    return product;
}

// The lane-wise sums of four vectors, side by side.
template <class V> DRIFTLINE_INLINE V sums_of_four(V a, V b, V c, V d) {
    const V ab = DRIFTLINE_SHUFFLE(a, b, 0, 4, 2, 6) + DRIFTLINE_SHUFFLE(a, b, 1, 5, 3, 7);
    const V cd = DRIFTLINE_SHUFFLE(c, d, 0, 4, 2, 6) + DRIFTLINE_SHUFFLE(c, d, 1, 5, 3, 7);
    return DRIFTLINE_SHUFFLE(ab, cd, 0, 1, 4, 5) + DRIFTLINE_SHUFFLE(ab, cd, 2, 3, 6, 7);
}
template <class V> DRIFTLINE_INLINE V sums_of_two(V a, V b) {
    return DRIFTLINE_SHUFFLE(a, b, 0, 2) + DRIFTLINE_SHUFFLE(a, b, 1, 3);
}
// Upper half added to lower half.
template <class T> DRIFTLINE_INLINE Vec<T, 4> fold(Vec<T, 8> v) {
    Vec<T, 4> low, high;
    std::memcpy(&low, &v, sizeof low);
    std::memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof low, sizeof high);
    return low + high;
}
template <class T> DRIFTLINE_INLINE void store_sums(T* p, Wide<T> a, Wide<T> b, Wide<T> c, Wide<T> d) {
    if constexpr (lanes<T> == 8) {
        store(p, sums_of_four(fold<T>(a), fold<T>(b), fold<T>(c), fold<T>(d)));
    } else if constexpr (lanes<T> == 4) {
        store(p, sums_of_four(a, b, c, d));
    } else {
        store(p, sums_of_two(a, b));
        store(p + 2, sums_of_two(c, d));
    }
}
template <class T> DRIFTLINE_INLINE T sum(Wide<T> v) {
    if constexpr (lanes<T> == 8) {
        const Vec<T, 4> q = fold<T>(v);
        return (q[0] + q[2]) + (q[1] + q[3]);
    } else if constexpr (lanes<T> == 4) {
        return (v[0] + v[2]) + (v[1] + v[3]);
    } else {
        return v[0] + v[1];
    }
}

// Inclusive running sums within the vector, and the vector moved up by one lane with `first` entering below.
template <class V> DRIFTLINE_INLINE V running_sums(V a) {
    const V zero = {};
    if constexpr (sizeof(V) == 4 * sizeof(double)) {
        a += DRIFTLINE_SHUFFLE(a, zero, 4, 0, 1, 2);
        return a + DRIFTLINE_SHUFFLE(a, zero, 4, 5, 0, 1);
    } else {
        return a + DRIFTLINE_SHUFFLE(a, zero, 2, 0);
    }
}
template <class V> DRIFTLINE_INLINE V shift_in(V a, double first) {
    const V below = V{} + first;
    if constexpr (sizeof(V) == 4 * sizeof(double)) {
        return DRIFTLINE_SHUFFLE(a, below, 4, 0, 1, 2);
    } else {
        return DRIFTLINE_SHUFFLE(a, below, 2, 0);
    }
}
DRIFTLINE_INLINE double last(Doubles a) { return a[lanes<double> - 1]; }

template <class T> DRIFTLINE_INLINE double dot(const T* a, const T* b, Index n) {
    Wide<T> even = {}, odd = {};
    Index i = 0;
    for (; i + 2 * lanes<T> <= n; i += 2 * lanes<T>) {
        even += wide(a + i) * wide(b + i);
        odd += wide(a + i + lanes<T>) * wide(b + i + lanes<T>);
    }
    if (i < n)
        even += wide(a + i) * wide(b + i);
    return static_cast<double>(sum<T>(even + odd));
}

// Both a.b and b.b in one walk, each summed in the order of dot.
template <class T> DRIFTLINE_INLINE void dot_and_norm(const T* a, const T* b, Index n, double& product, double& norm2) {
    Wide<T> even = {}, odd = {}, even2 = {}, odd2 = {};
    Index i = 0;
    for (; i + 2 * lanes<T> <= n; i += 2 * lanes<T>) {
        const Wide<T> b0 = wide(b + i), b1 = wide(b + i + lanes<T>);
        even += wide(a + i) * b0;
        odd += wide(a + i + lanes<T>) * b1;
        even2 += b0 * b0;
        odd2 += b1 * b1;
    }
    if (i < n) {
        const Wide<T> b0 = wide(b + i);
        even += wide(a + i) * b0;
        even2 += b0 * b0;
    }
    product = static_cast<double>(sum<T>(even + odd));
    norm2 = static_cast<double>(sum<T>(even2 + odd2));
}

// to = a + factor * b; false where an element of the result is not finite.
template <class T> DRIFTLINE_INLINE bool add_scaled(T* to, const T* a, const T* b, T factor, Index n) {
    auto bad = Wide<T>{} != Wide<T>{};
    for (Index i = 0; i < n; i += lanes<T>) {
        const Wide<T> value = wide(a + i) + factor * wide(b + i);
        store(to + i, value);
        bad |= value - value != Wide<T>{};
    }
    bool any = false;
    for (int i = 0; i < lanes<T>; ++i)
        any |= bad[i] != 0;
    return !any;
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
