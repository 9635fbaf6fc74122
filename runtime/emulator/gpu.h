/* CUDA and HIP for the CPU: what the text of a kernel needs to be compiled by g++, unchanged, and run by emulate.cpp.

   Included before the text. GC_WAVEFRONT, the lanes of a warp, is 32 or 64; GC_HIP is defined for HIP, whose shuffles
   have no mask. No system header: kernels define the types that they use. Shared memory is a section of the library,
   so that all of it can be filled with NaN before each block. */
#ifndef GC_GPU_H
#define GC_GPU_H

#include "fibers.h"

#define GC_EMULATED 1
#ifndef GC_WAVEFRONT
#define GC_WAVEFRONT 32
#endif

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static __attribute__((section("gc_shared"), aligned(16)))

typedef decltype(sizeof 0) size_t;
typedef gc_dim3 dim3;

#define threadIdx (gc_self->index)
#define blockIdx (gc_now.block_index)
#define blockDim (gc_now.block)
#define gridDim (gc_now.grid)
#define warpSize GC_WAVEFRONT

static char gc_shared_begins[16] __attribute__((section("gc_shared"), used));
extern "C" char __start_gc_shared[] __attribute__((visibility("hidden")));
extern "C" char __stop_gc_shared[] __attribute__((visibility("hidden")));

/* --------------------------------------------------------------------------------------- barriers and shuffles */

#define __syncthreads() gc_barrier(__LINE__)
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_block() __atomic_thread_fence(__ATOMIC_SEQ_CST)

template <class T> static inline unsigned long long gc_bits_of(T value) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most eight bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
}

/* The value of a lane; what no lane has brought is undefined, and here all bits are set: NaN. */
template <class T> static inline T gc_from_lane(unsigned lane) {
    const unsigned long long *found = gc_brought(lane), none = ~0ull;
    T value;
    __builtin_memcpy(&value, found ? found : &none, sizeof value);
    return value;
}

enum { GC_IDX, GC_UP, GC_DOWN, GC_XOR };

template <class T>
static inline T gc_shuffle(int line, int kind, unsigned long long mask, T value, int by, int width = GC_WAVEFRONT) {
    gc_self->value = gc_bits_of(value);
    gc_meet(line, mask);
    const int lane = gc_self->linear % GC_WAVEFRONT, first = lane & -width, last = first + width - 1;
    int from = kind == GC_IDX ? first + (by & (width - 1)) : kind == GC_UP ? lane - by
             : kind == GC_DOWN ? lane + by : lane ^ by;
    if (from < first ? kind == GC_UP : from > last) from = lane;
    return gc_from_lane<T>(from);
}

static inline unsigned long long gc_ballot(int line, unsigned long long mask, bool vote) {
    gc_self->value = vote;
    gc_meet(line, mask);
    unsigned long long votes = 0;
    for (unsigned lane = 0; lane < GC_WAVEFRONT; lane++) {
        const unsigned long long *found = gc_brought(lane);
        if (found && *found) votes |= 1ull << lane;
    }
    return votes;
}

#ifdef GC_HIP
#define __shfl(...) gc_shuffle(__LINE__, GC_IDX, 0, __VA_ARGS__)
#define __shfl_up(...) gc_shuffle(__LINE__, GC_UP, 0, __VA_ARGS__)
#define __shfl_down(...) gc_shuffle(__LINE__, GC_DOWN, 0, __VA_ARGS__)
#define __shfl_xor(...) gc_shuffle(__LINE__, GC_XOR, 0, __VA_ARGS__)
#define __ballot(vote) gc_ballot(__LINE__, 0, vote)
#define __any(vote) (gc_ballot(__LINE__, 0, vote) != 0)
#define __all(vote) (gc_ballot(__LINE__, 0, !(vote)) == 0)
#else
#define __shfl_sync(mask, ...) gc_shuffle(__LINE__, GC_IDX, (unsigned)(mask), __VA_ARGS__)
#define __shfl_up_sync(mask, ...) gc_shuffle(__LINE__, GC_UP, (unsigned)(mask), __VA_ARGS__)
#define __shfl_down_sync(mask, ...) gc_shuffle(__LINE__, GC_DOWN, (unsigned)(mask), __VA_ARGS__)
#define __shfl_xor_sync(mask, ...) gc_shuffle(__LINE__, GC_XOR, (unsigned)(mask), __VA_ARGS__)
#define __ballot_sync(mask, vote) (unsigned)gc_ballot(__LINE__, (unsigned)(mask), vote)
#define __any_sync(mask, vote) (gc_ballot(__LINE__, (unsigned)(mask), vote) != 0)
#define __all_sync(mask, vote) (gc_ballot(__LINE__, (unsigned)(mask), !(vote)) == 0)
#define GC_SYNCWARP(mask, ...) gc_meet(__LINE__, (unsigned)(mask))
#define __syncwarp(...) GC_SYNCWARP(__VA_ARGS__ __VA_OPT__(,) 0xffffffffu)
#endif

/* ------------------------------------------------------------------------------------------------------- atomics */

template <class T, class F> static inline T gc_atomic(T *place, F change) {
    T old = __atomic_load_n(place, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(place, &old, change(old), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    return old;
}

#define GC_ATOMIC(name, expression) \
    template <class T, class V> static inline T name(T *place, V given) { \
        const T value = (T)given; \
        return gc_atomic(place, [value](T old) -> T { return expression; }); \
    }
GC_ATOMIC(atomicAdd, old + value)
GC_ATOMIC(atomicSub, old - value)
GC_ATOMIC(atomicMin, value < old ? value : old)
GC_ATOMIC(atomicMax, value > old ? value : old)
GC_ATOMIC(atomicOr, old | value)
GC_ATOMIC(atomicAnd, old & value)
GC_ATOMIC(atomicXor, old ^ value)
GC_ATOMIC(atomicExch, (old, value))
#undef GC_ATOMIC

template <class T, class V, class W> static inline T atomicCAS(T *place, V expected, W desired) {
    const T from = (T)expected, to = (T)desired;
    return gc_atomic(place, [from, to](T old) -> T { return old == from ? to : old; });
}

/* ---------------------------------------------------------------------------------------------------- arithmetic */

#define GC_MATH_1(name) \
    extern "C" double name(double) noexcept; \
    extern "C" float name##f(float) noexcept; \
    static inline float name(float x) { return name##f(x); }
#define GC_MATH_2(name) \
    extern "C" double name(double, double) noexcept; \
    extern "C" float name##f(float, float) noexcept; \
    static inline float name(float x, float y) { return name##f(x, y); }
GC_MATH_1(sqrt) GC_MATH_1(cbrt) GC_MATH_1(exp) GC_MATH_1(exp2) GC_MATH_1(expm1) GC_MATH_1(log) GC_MATH_1(log2)
GC_MATH_1(log10) GC_MATH_1(log1p) GC_MATH_1(sin) GC_MATH_1(cos) GC_MATH_1(tan) GC_MATH_1(asin) GC_MATH_1(acos)
GC_MATH_1(atan) GC_MATH_1(sinh) GC_MATH_1(cosh) GC_MATH_1(tanh) GC_MATH_1(asinh) GC_MATH_1(acosh) GC_MATH_1(atanh)
GC_MATH_1(erf) GC_MATH_1(erfc) GC_MATH_1(lgamma) GC_MATH_1(tgamma) GC_MATH_1(floor) GC_MATH_1(ceil) GC_MATH_1(trunc)
GC_MATH_1(rint) GC_MATH_1(nearbyint) GC_MATH_1(round) GC_MATH_1(fabs) GC_MATH_1(logb)
GC_MATH_2(pow) GC_MATH_2(atan2) GC_MATH_2(hypot) GC_MATH_2(fmod) GC_MATH_2(remainder) GC_MATH_2(copysign)
GC_MATH_2(nextafter) GC_MATH_2(fmax) GC_MATH_2(fmin) GC_MATH_2(fdim)
#undef GC_MATH_1
#undef GC_MATH_2
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;
extern "C" double frexp(double, int *) noexcept;
extern "C" float frexpf(float, int *) noexcept;
extern "C" int abs(int) noexcept;
extern "C" long long llabs(long long) noexcept;
static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
extern "C" void *memcpy(void *, const void *, size_t) noexcept;
extern "C" void *memset(void *, int, size_t) noexcept;

template <class T> static inline bool isnan(T x) { return __builtin_isnan(x); }
template <class T> static inline bool isinf(T x) { return __builtin_isinf(x); }
template <class T> static inline bool isfinite(T x) { return __builtin_isfinite(x); }
template <class T> static inline bool signbit(T x) { return __builtin_signbit(x); }
template <class T> static inline T min(T x, T y) { return y < x ? y : x; }
template <class T> static inline T max(T x, T y) { return x < y ? y : x; }

/* Rounded to nearest and never contracted, which is what g++ does with -ffp-contract=off. */
#define GC_ROUNDED(type, prefix, root) \
    static inline type prefix##add_rn(type x, type y) { return x + y; } \
    static inline type prefix##sub_rn(type x, type y) { return x - y; } \
    static inline type prefix##mul_rn(type x, type y) { return x * y; } \
    static inline type prefix##div_rn(type x, type y) { return x / y; } \
    static inline type prefix##sqrt_rn(type x) { return root(x); }
GC_ROUNDED(float, __f, sqrtf)
GC_ROUNDED(double, __d, sqrt)
#undef GC_ROUNDED
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

template <class T, class S> static inline T gc_reinterpret(S value) {
    static_assert(sizeof(T) == sizeof(S), "of one size");
    T result;
    __builtin_memcpy(&result, &value, sizeof value);
    return result;
}
static inline int __float_as_int(float x) { return gc_reinterpret<int>(x); }
static inline unsigned __float_as_uint(float x) { return gc_reinterpret<unsigned>(x); }
static inline float __int_as_float(int x) { return gc_reinterpret<float>(x); }
static inline float __uint_as_float(unsigned x) { return gc_reinterpret<float>(x); }
static inline long long __double_as_longlong(double x) { return gc_reinterpret<long long>(x); }
static inline double __longlong_as_double(long long x) { return gc_reinterpret<double>(x); }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
static inline int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
static inline long long __mul64hi(long long x, long long y) { return (long long)((__int128)x * y >> 64); }
template <class T> static inline T __ldg(const T *place) { return *place; }

#define GC_VECTORS(type, name) \
    struct __attribute__((aligned(2 * sizeof(type)))) name##2 { type x, y; }; \
    struct __attribute__((aligned(sizeof(type) < 8 ? 4 * sizeof(type) : 16))) name##4 { type x, y, z, w; }; \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; } \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
GC_VECTORS(float, float)
GC_VECTORS(double, double)
GC_VECTORS(int, int)
GC_VECTORS(unsigned, uint)
GC_VECTORS(short, short)
GC_VECTORS(unsigned short, ushort)
#undef GC_VECTORS

/* ---------------------------------------------------------------------------------------------------- entry point */

/* The dynamic shared memory of a launch: `extern __shared__ T name[];` is given this meaning before compiling. */
#define GC_DYNAMIC_SHARED(type, name) type *const name = (type *)gc_now.dynamic

template <unsigned... N> struct gc_numbers {};
template <unsigned N, unsigned... Rest> struct gc_count : gc_count<N - 1, N - 1, Rest...> {};
template <unsigned... Rest> struct gc_count<0, Rest...> { typedef gc_numbers<Rest...> type; };

template <class... Args, unsigned... N>
static inline void gc_call(void (*kernel)(Args...), void **args, gc_numbers<N...>) {
    kernel(*(Args *)args[N]...);
}

template <class... Args> static inline void gc_unpack(void (*kernel)(Args...), void **args) {
    gc_call(kernel, args, typename gc_count<sizeof...(Args)>::type());
}

/* Makes NAME_run of a kernel NAME: its arguments come as cuLaunchKernel takes them, the address of each. */
#define GC_ENTRY(name) \
    static void name##_body(void **args) { gc_unpack(name, args); } \
    extern "C" int name##_run(void **args, const gc_launch *launch, long dynamic, int order, unsigned long long seed, \
                              char *message, long room) { \
        return gc_run(name##_body, args, __start_gc_shared, __stop_gc_shared - __start_gc_shared, launch, dynamic, \
                      order, seed, message, room); \
    }

#endif
