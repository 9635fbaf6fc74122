/* CUDA and HIP for the CPU: what the text of a kernel needs to be compiled by g++, unchanged, and run by emulate.cpp.

   Included before the text. EMU_WAVEFRONT, the lanes of a warp, is 32 or 64; EMU_HIP is defined for HIP, whose shuffles
   have no mask. No system header: kernels define the types that they use. Shared memory is a section of the library,
   so that all of it can be filled with NaN before each block. */
#ifndef EMU_GPU_H
#define EMU_GPU_H

#include "fibers.h"

#define EMU_EMULATED 1
#ifndef EMU_WAVEFRONT
#define EMU_WAVEFRONT 32
#endif

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static __attribute__((section("emu_shared"), aligned(16)))

typedef decltype(sizeof 0) size_t;
typedef emu_dim3 dim3;

#define threadIdx (emu_self->index)
#define blockIdx (emu_now.block_index)
#define blockDim (emu_now.block)
#define gridDim (emu_now.grid)
#define warpSize EMU_WAVEFRONT

static char emu_shared_begins[16] __attribute__((section("emu_shared"), used));
extern "C" char __start_emu_shared[] __attribute__((visibility("hidden")));
extern "C" char __stop_emu_shared[] __attribute__((visibility("hidden")));

/* --------------------------------------------------------------------------------------- barriers and shuffles */

#define __syncthreads() emu_barrier(__LINE__)
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_block() __atomic_thread_fence(__ATOMIC_SEQ_CST)

template <class T> static inline unsigned long long emu_bits_of(T value) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most eight bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
}

/* The value of a lane; what no lane has brought is undefined, and here all bits are set: NaN. */
template <class T> static inline T emu_from_lane(unsigned lane) {
    const unsigned long long *found = emu_brought(lane), none = ~0ull;
    T value;
    __builtin_memcpy(&value, found ? found : &none, sizeof value);
    return value;
}

enum { EMU_IDX, EMU_UP, EMU_DOWN, EMU_XOR };

template <class T>
static inline T emu_shuffle(int line, int kind, unsigned long long mask, T value, int by, int width = EMU_WAVEFRONT) {
    emu_self->value = emu_bits_of(value);
    emu_meet(line, mask);
    const int lane = emu_self->linear % EMU_WAVEFRONT, first = lane & -width, last = first + width - 1;
    int from = kind == EMU_IDX ? first + (by & (width - 1)) : kind == EMU_UP ? lane - by
             : kind == EMU_DOWN ? lane + by : lane ^ by;
    if (from < first ? kind == EMU_UP : from > last) from = lane;
    return emu_from_lane<T>(from);
}

static inline unsigned long long emu_ballot(int line, unsigned long long mask, bool vote) {
    emu_self->value = vote;
    emu_meet(line, mask);
    unsigned long long votes = 0;
    for (unsigned lane = 0; lane < EMU_WAVEFRONT; lane++) {
        const unsigned long long *found = emu_brought(lane);
        if (found && *found) votes |= 1ull << lane;
    }
    return votes;
}

#ifdef EMU_HIP
#define __shfl(...) emu_shuffle(__LINE__, EMU_IDX, 0, __VA_ARGS__)
#define __shfl_up(...) emu_shuffle(__LINE__, EMU_UP, 0, __VA_ARGS__)
#define __shfl_down(...) emu_shuffle(__LINE__, EMU_DOWN, 0, __VA_ARGS__)
#define __shfl_xor(...) emu_shuffle(__LINE__, EMU_XOR, 0, __VA_ARGS__)
#define __ballot(vote) emu_ballot(__LINE__, 0, vote)
#define __any(vote) (emu_ballot(__LINE__, 0, vote) != 0)
#define __all(vote) (emu_ballot(__LINE__, 0, !(vote)) == 0)
#else
#define __shfl_sync(mask, ...) emu_shuffle(__LINE__, EMU_IDX, (unsigned)(mask), __VA_ARGS__)
#define __shfl_up_sync(mask, ...) emu_shuffle(__LINE__, EMU_UP, (unsigned)(mask), __VA_ARGS__)
#define __shfl_down_sync(mask, ...) emu_shuffle(__LINE__, EMU_DOWN, (unsigned)(mask), __VA_ARGS__)
#define __shfl_xor_sync(mask, ...) emu_shuffle(__LINE__, EMU_XOR, (unsigned)(mask), __VA_ARGS__)
#define __ballot_sync(mask, vote) (unsigned)emu_ballot(__LINE__, (unsigned)(mask), vote)
#define __any_sync(mask, vote) (emu_ballot(__LINE__, (unsigned)(mask), vote) != 0)
#define __all_sync(mask, vote) (emu_ballot(__LINE__, (unsigned)(mask), !(vote)) == 0)
#define EMU_SYNCWARP(mask, ...) emu_meet(__LINE__, (unsigned)(mask))
#define __syncwarp(...) EMU_SYNCWARP(__VA_ARGS__ __VA_OPT__(,) 0xffffffffu)
#endif

/* -------------------------------------------------------------------------------------------------- the matrix unit

   What the preamble of CUDA says of these. A copy takes place when it is waited for, and not before. */
#if !defined(EMU_HIP)
#define GC_MMA(type, c, a, b) emu_mma(__LINE__, c, a, b, gc_load_##type)
#define GC_MATRICES(to, tile, at, turn) emu_matrices(__LINE__, to, (tile) + (at), #turn[0] != 0)
#define GC_COPY(to, from) emu_copy(to, from)
#define GC_COPIES_CLOSE() (void)emu_self->sets++
#define GC_COPIES_WAIT(n) emu_wait_for_copies(n)
#define GC_COPIES_SHOW() (void)0
#define GC_WARPGROUP_MMA(type, c, a, turn_a, b, turn_b) \
    emu_warpgroup_mma(c, a, turn_a, b, turn_b, [](unsigned short bits) { return gc_load_##type(bits); })
#define GC_WARPGROUP_OPEN() (void)0
#define GC_WARPGROUP_CLOSE() (void)0
#define GC_WARPGROUP_WAIT() (void)0

/* By the swizzle of 128 bytes, bits 4 to 6 of an address change by bits 7 to 9. */
static inline unsigned short emu_of_tile(const void *tile, bool turned, int outer, int k) {
    unsigned long long at = (unsigned long long)tile;
    at += turned ? outer / 64 * 8192 + k * 128 + outer % 64 * 2 : outer * 128 + k * 2;
    return *(const unsigned short *)(at ^ (at >> 7 & 7) << 4);
}

template <class F>
static inline void emu_warpgroup_mma(float *c, const void *a, bool turn_a, const void *b, bool turn_b, F load) {
    const int row = emu_self->linear % 128 / 32 * 16 + emu_self->linear % 32 / 4, column = emu_self->linear % 4 * 2;
    for (int e = 0; e < 64; e++)
        for (int k = 0; k < 16; k++)
            c[e] = __builtin_fmaf(load(emu_of_tile(a, turn_a, row + e / 2 % 2 * 8, k)),
                                  load(emu_of_tile(b, turn_b, e / 4 * 8 + column + e % 2, k)), c[e]);
}

template <class F>
static inline void emu_mma(int line, float *c, const unsigned *a, const unsigned *b, F load) {
    const unsigned long long brings[3] = {a[0] | (unsigned long long)a[1] << 32, a[2] | (unsigned long long)a[3] << 32,
                                          b[0] | (unsigned long long)b[1] << 32};
    const int g = emu_self->linear % 32 / 4, t = emu_self->linear % 4;
    float rows[2][16], columns[2][16];
    for (int part = 0; part < 3; part++) {
        emu_self->value = brings[part];
        emu_meet(line, 0xffffffff);
        for (int e = 0; e < 8; e++) {
            const int shift = e % 2 * 16;
            if (part < 2) {
                const unsigned long long words = *emu_brought(g * 4 + e / 2);
                rows[0][part * 8 + e] = load((unsigned short)(words >> shift));
                rows[1][part * 8 + e] = load((unsigned short)(words >> (32 + shift)));
            } else
                for (int side = 0; side < 2; side++) {
                    const unsigned long long words = *emu_brought((2 * t + side) * 4 + e / 2);
                    columns[side][e] = load((unsigned short)(words >> shift));
                    columns[side][8 + e] = load((unsigned short)(words >> (32 + shift)));
                }
        }
    }
    for (int k = 0; k < 16; k++)
        for (int e = 0; e < 4; e++) c[e] = __builtin_fmaf(rows[e / 2][k], columns[e % 2][k], c[e]);
}

static inline void emu_mma(int line, float *c, const unsigned *a, const unsigned *b, float (*load)(unsigned)) {
    const unsigned long long brings[3] = {a[0] | (unsigned long long)a[1] << 32, a[2] | (unsigned long long)a[3] << 32,
                                          b[0] | (unsigned long long)b[1] << 32};
    const int g = emu_self->linear % 32 / 4, t = emu_self->linear % 4;
    float rows[2][8], columns[2][8];
    for (int part = 0; part < 3; part++) {
        emu_self->value = brings[part];
        emu_meet(line, 0xffffffff);
        for (int e = 0; e < 4; e++)
            for (int side = 0; side < 2; side++) {
                const unsigned long long words = *emu_brought((part < 2 ? g : 2 * t + side) * 4 + e);
                if (part < 2) rows[side][part * 4 + e] = load((unsigned)(words >> side * 32));
                else columns[side][e] = load((unsigned)words), columns[side][4 + e] = load((unsigned)(words >> 32));
            }
    }
    for (int k = 0; k < 8; k++)
        for (int e = 0; e < 4; e++) c[e] = __builtin_fmaf(rows[e / 2][k], columns[e % 2][k], c[e]);
}

static inline void emu_matrices(int line, unsigned *to, const void *row, bool turned) {
    emu_self->value = (unsigned long long)row;
    emu_meet(line, 0xffffffff);
    const int g = emu_self->linear % 32 / 4, t = emu_self->linear % 4;
    for (int j = 0; j < 4; j++) {
        to[j] = 0;
        for (int e = 0; e < 2; e++) {
            const auto *found = (const unsigned short *)*emu_brought(j * 8 + (turned ? 2 * t + e : g));
            to[j] |= (unsigned)found[turned ? g : 2 * t + e] << e * 16;
        }
    }
}

struct emu_pending {
    char bytes[16];
    void *to;
    unsigned set;
};
static emu_pending emu_copies[1024][64];        /* of each thread */

static inline void emu_copy(void *to, const void *from) {
    if (emu_self->copies == 64) __builtin_trap();
    emu_pending &copy = emu_copies[emu_self->linear][emu_self->copies++];
    __builtin_memcpy(copy.bytes, from, 16);
    copy.to = to, copy.set = emu_self->sets;
}

static inline void emu_wait_for_copies(unsigned but) {
    unsigned left = 0;
    for (unsigned k = 0; k < emu_self->copies; k++) {
        emu_pending &copy = emu_copies[emu_self->linear][k];
        if (copy.set + but < emu_self->sets) __builtin_memcpy(copy.to, copy.bytes, 16);
        else emu_copies[emu_self->linear][left++] = copy;
    }
    emu_self->copies = left;
}
#endif

/* AMD's matrix instructions, by what its Matrix Instruction Calculator and ISA guides say of their registers: D = A * B
   + C of 16 rows and columns, and of K. Row i of A and column i of B lie in the lanes whose number is i modulo 16; the
   next 16 lanes go on along k where these end or, from the end of K, hold the first again, and then the same. Those for
   wavefronts of 64 are MFMA, those of 32 WMMA. */
#ifdef EMU_HIP
#define _Float16 short      /* only its bits move */
#define __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, ...) emu_mfma<4>(__LINE__, a, b, c, emu_itself)
#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, ...) emu_mfma<16>(__LINE__, a, b, c, emu_half)
#define __builtin_amdgcn_mfma_f32_16x16x8bf16(a, b, c, ...) emu_mfma<8>(__LINE__, a, b, c, emu_bfloat)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, ...) emu_mfma<16>(__LINE__, a, b, c, emu_bfloat)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c) emu_wmma(__LINE__, a, b, c, emu_half)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c) emu_wmma(__LINE__, a, b, c, emu_bfloat)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c) emu_wmma_12(__LINE__, a, b, c, emu_half)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c) emu_wmma_12(__LINE__, a, b, c, emu_bfloat)

static inline float emu_of_bits(unsigned bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
#ifdef __gfx90a__
static const bool emu_flushes = true;       /* subnormal factors, but not those of float32 */
#else
static const bool emu_flushes = false;
#endif
static inline float emu_itself(float x) { return x; }
static inline float emu_bfloat(short bits) {
    return emu_flushes && !(bits & 0x7f80) ? 0 : emu_of_bits((unsigned)bits << 16);
}
static inline float emu_half(short bits) {
    const unsigned exponent = bits >> 10 & 31, digits = bits & 0x3ff;
    const float size = exponent == 0 ? emu_flushes ? 0 : digits * 0x1p-24f
                                     : emu_of_bits((exponent == 31 ? 255 : exponent + 112) << 23 | digits << 13);
    return bits < 0 ? -size : size;
}

struct emu_factors {
    char bytes[2][32];
};
static emu_factors emu_held[1024];      /* of each thread */

/* `row`: that of a lane's sum number e, where group is lane / 16. */
template <int K, class V, class C, class E, class R>
static inline C emu_multiply(int line, V a, V b, C c, float (*widen)(E), R row) {
    const int lane = emu_self->linear % EMU_WAVEFRONT, each = sizeof(V) / sizeof(E);
    emu_factors *const wave = emu_held + emu_self->linear - lane;
    __builtin_memcpy(wave[lane].bytes[0], &a, sizeof a);
    __builtin_memcpy(wave[lane].bytes[1], &b, sizeof b);
    emu_meet(line, 0);
    const auto found = [=](int factor, int at, int k) {
        float x = __builtin_nanf("");
        for (int first = k / each * 16 + at, from = first; from < EMU_WAVEFRONT; from += K / each * 16) {
            E element;
            __builtin_memcpy(&element, wave[from].bytes[factor] + k % each * sizeof(E), sizeof(E));
            const float y = emu_self->met >> from & 1 ? widen(element) : __builtin_nanf("");
            x = from == first || __builtin_memcmp(&x, &y, sizeof x) == 0 ? y : __builtin_nanf("");
        }
        return x;
    };
    for (int k = 0; k < K; k++) {
        const float right = found(1, lane % 16, k);
        for (int e = 0; e < 256 / EMU_WAVEFRONT; e++)
            c[e] = __builtin_fmaf(found(0, row(lane / 16, e), k), right, c[e]);
    }
    emu_meet(line, 0);      /* all have read what this lane held */
    return c;
}

template <int K, class V, class C, class F> static inline C emu_mfma(int line, V a, V b, C c, F widen) {
    return emu_multiply<K>(line, a, b, c, widen, [](int group, int e) { return group * 4 + e; });
}
template <class V, class C, class F> static inline C emu_wmma(int line, V a, V b, C c, F widen) {
    return emu_multiply<16>(line, a, b, c, widen, [](int group, int e) { return e * 2 + group; });
}
template <class V, class C, class F> static inline C emu_wmma_12(int line, V a, V b, C c, F widen) {
    return emu_multiply<16>(line, a, b, c, widen, [](int group, int e) { return group * 8 + e; });
}
#endif

/* ------------------------------------------------------------------------------------------------------- atomics */

template <class T, class F> static inline T emu_atomic(T *place, F change) {
    T old = __atomic_load_n(place, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(place, &old, change(old), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    return old;
}

#define EMU_ATOMIC(name, expression) \
    template <class T, class V> static inline T name(T *place, V given) { \
        const T value = (T)given; \
        return emu_atomic(place, [value](T old) -> T { return expression; }); \
    }
EMU_ATOMIC(atomicAdd, old + value)
EMU_ATOMIC(atomicSub, old - value)
EMU_ATOMIC(atomicMin, value < old ? value : old)
EMU_ATOMIC(atomicMax, value > old ? value : old)
EMU_ATOMIC(atomicOr, old | value)
EMU_ATOMIC(atomicAnd, old & value)
EMU_ATOMIC(atomicXor, old ^ value)
EMU_ATOMIC(atomicExch, (old, value))
#undef EMU_ATOMIC

template <class T, class V, class W> static inline T atomicCAS(T *place, V expected, W desired) {
    const T from = (T)expected, to = (T)desired;
    return emu_atomic(place, [from, to](T old) -> T { return old == from ? to : old; });
}

/* ---------------------------------------------------------------------------------------------------- arithmetic */

#define EMU_MATH_1(name) \
    extern "C" double name(double) noexcept; \
    extern "C" float name##f(float) noexcept; \
    static inline float name(float x) { return name##f(x); }
#define EMU_MATH_2(name) \
    extern "C" double name(double, double) noexcept; \
    extern "C" float name##f(float, float) noexcept; \
    static inline float name(float x, float y) { return name##f(x, y); }
EMU_MATH_1(sqrt) EMU_MATH_1(cbrt) EMU_MATH_1(exp) EMU_MATH_1(exp2) EMU_MATH_1(expm1) EMU_MATH_1(log)
EMU_MATH_1(log2) EMU_MATH_1(log10) EMU_MATH_1(log1p) EMU_MATH_1(sin) EMU_MATH_1(cos) EMU_MATH_1(tan)
EMU_MATH_1(asin) EMU_MATH_1(acos) EMU_MATH_1(atan) EMU_MATH_1(sinh) EMU_MATH_1(cosh) EMU_MATH_1(tanh)
EMU_MATH_1(asinh) EMU_MATH_1(acosh) EMU_MATH_1(atanh) EMU_MATH_1(erf) EMU_MATH_1(erfc) EMU_MATH_1(lgamma)
EMU_MATH_1(tgamma) EMU_MATH_1(floor) EMU_MATH_1(ceil) EMU_MATH_1(trunc) EMU_MATH_1(rint) EMU_MATH_1(nearbyint)
EMU_MATH_1(round) EMU_MATH_1(fabs) EMU_MATH_1(logb)
EMU_MATH_2(pow) EMU_MATH_2(atan2) EMU_MATH_2(hypot) EMU_MATH_2(fmod) EMU_MATH_2(remainder)
EMU_MATH_2(copysign) EMU_MATH_2(nextafter) EMU_MATH_2(fmax) EMU_MATH_2(fmin) EMU_MATH_2(fdim)
#undef EMU_MATH_1
#undef EMU_MATH_2
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
#define EMU_ROUNDED(type, prefix, root) \
    static inline type prefix##add_rn(type x, type y) { return x + y; } \
    static inline type prefix##sub_rn(type x, type y) { return x - y; } \
    static inline type prefix##mul_rn(type x, type y) { return x * y; } \
    static inline type prefix##div_rn(type x, type y) { return x / y; } \
    static inline type prefix##sqrt_rn(type x) { return root(x); }
EMU_ROUNDED(float, __f, sqrtf)
EMU_ROUNDED(double, __d, sqrt)
#undef EMU_ROUNDED
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
#define EMU_FAST(name) static inline float __##name##f(float x) { return name##f(x); }
EMU_FAST(exp) EMU_FAST(log) EMU_FAST(log2) EMU_FAST(log10) EMU_FAST(sin) EMU_FAST(cos)
#undef EMU_FAST
static inline float __fdividef(float x, float y) { return x / y; }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

template <class T, class S> static inline T emu_reinterpret(S value) {
    static_assert(sizeof(T) == sizeof(S), "of one size");
    T result;
    __builtin_memcpy(&result, &value, sizeof value);
    return result;
}
static inline int __float_as_int(float x) { return emu_reinterpret<int>(x); }
static inline unsigned __float_as_uint(float x) { return emu_reinterpret<unsigned>(x); }
static inline float __int_as_float(int x) { return emu_reinterpret<float>(x); }
static inline float __uint_as_float(unsigned x) { return emu_reinterpret<float>(x); }
static inline long long __double_as_longlong(double x) { return emu_reinterpret<long long>(x); }
static inline double __longlong_as_double(long long x) { return emu_reinterpret<double>(x); }

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
#define __isGlobal(pointer) true
#define __builtin_assume(fact)
template <class T> static inline T __ldg(const T *place) { return *place; }

#define EMU_VECTORS(type, name) \
    struct __attribute__((aligned(2 * sizeof(type)))) name##2 { type x, y; }; \
    struct __attribute__((aligned(sizeof(type) < 8 ? 4 * sizeof(type) : 16))) name##4 { type x, y, z, w; }; \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; } \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
EMU_VECTORS(float, float)
EMU_VECTORS(double, double)
EMU_VECTORS(int, int)
EMU_VECTORS(unsigned, uint)
EMU_VECTORS(short, short)
EMU_VECTORS(unsigned short, ushort)
#undef EMU_VECTORS

/* ---------------------------------------------------------------------------------------------------- entry point */

/* The dynamic shared memory of a launch: `extern __shared__ T name[];` is given this meaning before compiling. */
#define EMU_DYNAMIC_SHARED(type, name) type *const name = (type *)emu_now.dynamic

template <unsigned... N> struct emu_numbers {};
template <unsigned N, unsigned... Rest> struct emu_count : emu_count<N - 1, N - 1, Rest...> {};
template <unsigned... Rest> struct emu_count<0, Rest...> { typedef emu_numbers<Rest...> type; };

template <class... Args, unsigned... N>
static inline void emu_call(void (*kernel)(Args...), void **args, emu_numbers<N...>) {
    kernel(*(Args *)args[N]...);
}

template <class... Args> static inline void emu_unpack(void (*kernel)(Args...), void **args) {
    emu_call(kernel, args, typename emu_count<sizeof...(Args)>::type());
}

/* Makes NAME_run of a kernel NAME: its arguments come as cuLaunchKernel takes them, the address of each. */
#define EMU_ENTRY(name) \
    static void name##_body(void **args) { emu_unpack(name, args); } \
    extern "C" int name##_run(void **args, const emu_launch *launch, long dynamic, int order, unsigned long long seed, \
                              char *message, long room) { \
        return emu_run(name##_body, args, __start_emu_shared, __stop_emu_shared - __start_emu_shared, launch, dynamic, \
                      order, seed, message, room); \
    }

#endif
