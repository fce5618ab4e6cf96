// Short vectors on top of the compiler's vector extension: one source for every instruction set.
//
// A translation unit of kernels is compiled once for each instruction set, with DRIFTLINE_ISA naming it. Everything that it
// instantiates lives in an inline namespace of that name, so that the linker cannot mix up the versions.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
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

template <class T> using Lane = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
template <class T> DRIFTLINE_INLINE Vec<Lane<T>, lanes<T>> lane_numbers() {
    Vec<Lane<T>, lanes<T>> numbers = {};
    for (int i = 0; i < lanes<T>; ++i)
        numbers[i] = i;
    return numbers;
}

// Buffers are aligned to 64 bytes and offsets are multiples of the register wherever these are used.
template <class V, class T> DRIFTLINE_INLINE V load(const T* p) { return *reinterpret_cast<const V*>(p); }
template <class V, class T> DRIFTLINE_INLINE void store(T* p, V v) { *reinterpret_cast<V*>(p) = v; }
template <class T> DRIFTLINE_INLINE Wide<T> wide(const T* p) { return load<Wide<T>>(p); }
// Without any alignment.
template <class V> DRIFTLINE_INLINE V load_anywhere(const void* from) {
    V value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
template <class V> DRIFTLINE_INLINE void store_anywhere(void* to, V value) { std::memcpy(to, &value, sizeof value); }

// `lanes<double>` elements as doubles, whatever the model's type.
template <class T> DRIFTLINE_INLINE Doubles load_doubles(const T* p) {
#ifdef __AVX2__
    if constexpr (sizeof(T) == 4) // one instruction; the general form takes four
        return _mm256_cvtps_pd(load<Vec<float, 4>>(p));
#endif
    return __builtin_convertvector((load<Vec<T, lanes<double>>>(p)), Doubles);
}
template <class T> using Few = Vec<T, lanes<double>>;
template <class T> DRIFTLINE_INLINE Few<T> narrowed(Doubles v) { return __builtin_convertvector(v, Few<T>); }
template <class T> DRIFTLINE_INLINE void store_doubles(T* p, Doubles v) { store(p, narrowed<T>(v)); }
template <class T> DRIFTLINE_INLINE Wide<T> all(T value) {
    if constexpr (lanes<T> == 8)
        return Wide<T>{value, value, value, value, value, value, value, value};
    else if constexpr (lanes<T> == 4)
        return Wide<T>{value, value, value, value};
    else
        return Wide<T>{value, value};
}
// If an element is NaN, the result is b's.
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

// The value, rounded by itself. The compiler chooses which product of a sum to fuse with which addition, and may choose
// differently in copies of one function; this forces the same bits.
template <class V> DRIFTLINE_INLINE V rounded(V value) {
#if defined(__SSE2__)
    asm("" : "+x"(value));
#elif defined(__aarch64__)
    asm("" : "+w"(value));
#else
    asm("" : "+m"(value));
#endif
    return value;
}

// Sums of neighbours, first of a and then of b, within each half of the register.
template <class T> DRIFTLINE_INLINE Wide<T> pair_sums(Wide<T> a, Wide<T> b) {
    if constexpr (lanes<T> == 8)
        return DRIFTLINE_SHUFFLE(a, b, 0, 2, 8, 10, 4, 6, 12, 14) + DRIFTLINE_SHUFFLE(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
    else if constexpr (lanes<T> == 4 && sizeof(T) == 4)
        return DRIFTLINE_SHUFFLE(a, b, 0, 2, 4, 6) + DRIFTLINE_SHUFFLE(a, b, 1, 3, 5, 7);
    else if constexpr (lanes<T> == 4)
        return DRIFTLINE_SHUFFLE(a, b, 0, 4, 2, 6) + DRIFTLINE_SHUFFLE(a, b, 1, 5, 3, 7);
    else
        return DRIFTLINE_SHUFFLE(a, b, 0, 2) + DRIFTLINE_SHUFFLE(a, b, 1, 3);
}
template <class T> DRIFTLINE_INLINE Vec<T, 8> join(Vec<T, 4> low, Vec<T, 4> high) {
    Vec<T, 8> both;
    std::memcpy(&both, &low, sizeof low);
    std::memcpy(reinterpret_cast<char*>(&both) + sizeof low, &high, sizeof high);
    return both;
}
// Upper half added to lower half.
template <class T> DRIFTLINE_INLINE Vec<T, 4> fold(Vec<T, 8> v) {
    Vec<T, 4> low, high;
    std::memcpy(&low, &v, sizeof low);
    std::memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof low, sizeof high);
    return low + high;
}
// The sums of four vectors, side by side.
template <class T> DRIFTLINE_INLINE void store_sums(T* p, Wide<T> a, Wide<T> b, Wide<T> c, Wide<T> d) {
    const Wide<T> ab = pair_sums<T>(a, b), cd = pair_sums<T>(c, d);
    if constexpr (lanes<T> == 8) {
        store(p, fold<T>(pair_sums<T>(ab, cd)));
    } else if constexpr (lanes<T> == 4 && sizeof(T) == 4) {
        store(p, pair_sums<T>(ab, cd));
    } else if constexpr (lanes<T> == 4) {
        store(p, DRIFTLINE_SHUFFLE(ab, cd, 0, 1, 4, 5) + DRIFTLINE_SHUFFLE(ab, cd, 2, 3, 6, 7));
    } else {
        store(p, ab);
        store(p + 2, cd);
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

// Inclusive running sums within the vector; for positive numbers they never decrease, despite rounding.
template <class V> DRIFTLINE_INLINE V running_sums(V a) {
    const V zero = {};
    if constexpr (sizeof(V) == 4 * sizeof(double)) {
        a += DRIFTLINE_SHUFFLE(zero, a, 0, 4, 2, 6);
        return a + DRIFTLINE_SHUFFLE(a, zero, 4, 5, 1, 1);
    } else {
        return a + DRIFTLINE_SHUFFLE(zero, a, 0, 2);
    }
}
// The vector shifted up by one lane, with the last lane of `before` entering at the bottom.
template <class V> DRIFTLINE_INLINE V shift_in(V a, V before) {
    if constexpr (sizeof(V) == 4 * sizeof(double)) {
        return DRIFTLINE_SHUFFLE(before, a, 3, 4, 5, 6);
    } else {
        return DRIFTLINE_SHUFFLE(before, a, 1, 2);
    }
}
template <class V> DRIFTLINE_INLINE V all_last(V a) {
    if constexpr (sizeof(V) == 4 * sizeof(double)) {
        return DRIFTLINE_SHUFFLE(a, a, 3, 3, 3, 3);
    } else {
        return DRIFTLINE_SHUFFLE(a, a, 1, 1);
    }
}
// One of four neighbours in every lane, from a register or from memory.
template <int N, bool InRegister, class T> DRIFTLINE_INLINE Wide<T> spread(const T* four) {
#ifdef __AVX2__
    if constexpr (!InRegister)
        return all<T>(four[N]);
    else if constexpr (sizeof(T) == 8)
        return _mm256_permute4x64_pd(wide(four), N * 0x55);
    else
        return _mm256_broadcastss_ps(_mm_permute_ps(load<Vec<T, 4>>(four), N * 0x55));
#else
    return all<T>(four[N]);
#endif
}
// Whether an element of a comparison is true.
template <class M> DRIFTLINE_INLINE bool any(M mask) {
#if defined(__AVX2__)
    return _mm256_movemask_epi8(reinterpret_cast<__m256i>(mask)) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_epi8(reinterpret_cast<__m128i>(mask)) != 0;
#else
    bool found = false;
    for (std::size_t i = 0; i < sizeof mask / sizeof mask[0]; ++i)
        found |= mask[i] != 0;
    return found;
#endif
}

// One bit for each element of a comparison of doubles, lowest bit first.
DRIFTLINE_INLINE unsigned bits_of(Vec<std::int64_t, lanes<double>> mask) {
#if defined(__AVX2__)
    return static_cast<unsigned>(_mm256_movemask_pd(reinterpret_cast<__m256d>(mask)));
#elif defined(__SSE2__)
    return static_cast<unsigned>(_mm_movemask_pd(reinterpret_cast<__m128d>(mask)));
#else
    unsigned bits = 0;
    for (int i = 0; i < lanes<double>; ++i)
        bits |= static_cast<unsigned>(mask[i] != 0) << i;
    return bits;
#endif
}

// total + a * b, always rounded in the same way.
template <class V> DRIFTLINE_INLINE void accumulate(V& total, V a, V b) { total = rounded(total + a * b); }

template <class T> DRIFTLINE_INLINE double dot(const T* a, const T* b, Index n) {
    Wide<T> even = {}, odd = {};
    Index i = 0;
    for (; i + 2 * lanes<T> <= n; i += 2 * lanes<T>) {
        accumulate(even, wide(a + i), wide(b + i));
        accumulate(odd, wide(a + i + lanes<T>), wide(b + i + lanes<T>));
    }
    if (i < n)
        accumulate(even, wide(a + i), wide(b + i));
    return static_cast<double>(sum<T>(even + odd));
}

// The sums of two vectors.
template <class T> DRIFTLINE_INLINE void sum_both(Wide<T> a, Wide<T> b, double& first, double& second) {
    const Wide<T> pairs = pair_sums<T>(a, b);
    if constexpr (lanes<T> == 8) {
        const Vec<T, 4> sums = fold<T>(pairs);
        first = static_cast<double>(sums[0] + sums[1]);
        second = static_cast<double>(sums[2] + sums[3]);
    } else if constexpr (lanes<T> == 4 && sizeof(T) == 4) {
        first = static_cast<double>(pairs[0] + pairs[1]);
        second = static_cast<double>(pairs[2] + pairs[3]);
    } else if constexpr (lanes<T> == 4) {
        first = pairs[0] + pairs[2];
        second = pairs[1] + pairs[3];
    } else {
        first = pairs[0];
        second = pairs[1];
    }
}
// The sum of |a_i b_i|.
template <class T> DRIFTLINE_INLINE double absolute_terms(const T* a, const T* b, Index n) {
    Wide<T> total = {};
    for (Index i = 0; i < n; i += lanes<T>) {
        const Wide<T> term = wide(a + i) * wide(b + i);
        total += term > 0 ? term : -term;
    }
    return static_cast<double>(sum<T>(total));
}

// Both a.b and b.b in one walk.
template <class T> DRIFTLINE_INLINE void dot_and_norm(const T* a, const T* b, Index n, double& product, double& norm2) {
    Wide<T> even = {}, odd = {}, even2 = {}, odd2 = {};
    Index i = 0;
    for (; i + 2 * lanes<T> <= n; i += 2 * lanes<T>) {
        const Wide<T> b0 = wide(b + i), b1 = wide(b + i + lanes<T>);
        accumulate(even, wide(a + i), b0);
        accumulate(odd, wide(a + i + lanes<T>), b1);
        accumulate(even2, b0, b0);
        accumulate(odd2, b1, b1);
    }
    if (i < n) {
        const Wide<T> b0 = wide(b + i);
        accumulate(even, wide(a + i), b0);
        accumulate(even2, b0, b0);
    }
    sum_both<T>(even + odd, even2 + odd2, product, norm2);
}

// A zero hidden from the compiler. Some compilers fold 0 * x to 0 for a visible zero, as if x were always finite.
template <class T> DRIFTLINE_INLINE Wide<T> opaque_zero() { return rounded(Wide<T>{}); }

template <class T> DRIFTLINE_INLINE bool all_finite(const T* a, Index n) {
    const Wide<T> zero = opaque_zero<T>();
    Wide<T> check = {};
    for (Index i = 0; i < n; i += lanes<T>)
        check += wide(a + i) * zero;
    return !any(check != check);
}

// to = a + factor * b; false if an element of the result is not finite.
template <class T> DRIFTLINE_INLINE bool add_scaled(T* to, const T* a, const T* b, T factor, Index n) {
    const Wide<T> zero = opaque_zero<T>();
    Wide<T> check = {};
    for (Index i = 0; i < n; i += lanes<T>) {
        const Wide<T> value = wide(a + i) + factor * wide(b + i);
        store(to + i, value);
        check += value * zero;
    }
    return !any(check != check);
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
