typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define GC_INLINE static __device__ __forceinline__
#define GC_KERNEL extern "C" __global__ __launch_bounds__(256, GC_ROOM)
#define GC_GLOBAL
#define GC_SHARED
#define GC_SHARED_ARRAY(T, name, size) __shared__ T name[size]
#define GC_SCRATCH_ARGUMENT
#define GC_SCRATCH_DECLARATION extern __shared__ __align__(16) char scratch[];
#define GC_RESTRICT __restrict__
#define GC_IS_GLOBAL(pointer) __builtin_assume(__isGlobal(pointer))
#define GC_BARRIER() __syncthreads()
#define GC_GROUP ((int64_t)blockIdx.x)
#define GC_ITEM ((int)threadIdx.x)
#define GC_SHUFFLES 32
#define GC_SHUFFLE_XOR(x, n) gc_shuffle_xor(x, n)
#define GC_UNROLL _Pragma("unroll")
#define GC_UNROLL_4 _Pragma("unroll 4")
#define GC_UNROLL_16 _Pragma("unroll 16")
#define GC_ROLL _Pragma("unroll 1")
#define GC_ROTATE(word, by) ((word) << by | (word) >> (32 - by))
#define GC_ATOMIC_MAX(place, value) atomicMax(place, value)
#ifdef __CUDA_ARCH__
GC_INLINE float gc_from_half(uint16_t h) { float x; asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h)); return x; }
GC_INLINE uint16_t gc_to_half(float x) { uint16_t h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x)); return h; }
#define GC_FROM_HALF(h) gc_from_half(h)
#define GC_TO_HALF(x) gc_to_half(x)
#if __CUDA_ARCH__ >= 800
GC_INLINE uint16_t gc_to_bfloat(float x) { uint16_t h; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x)); return h; }
GC_INLINE float gc_as_bfloat(float x)       /* in the upper half of a word it is a float: one instruction */
{
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(*(uint32_t *)&x) : "f"(x), "f"(0.0f));
    return x;
}
/* max or min of floats in one instruction, for which -0 is less than 0 too */
#define GC_EXTREME(name, to, a, b) asm(name ".NaN.f32 %0, %1, %2;" : "=f"(to) : "f"(a), "f"(b))
#define GC_TO_BFLOAT(x) gc_to_bfloat(x)
#define GC_ROUND_BFLOAT(x) gc_as_bfloat(x)
#endif
#endif
template <class R> struct gc_parts { R x, y; };
typedef gc_parts<float> cfloat;
typedef gc_parts<double> cdouble;
template <class R> GC_INLINE gc_parts<R> gc_of_parts(R re, R im) { gc_parts<R> z; z.x = re; z.y = im; return z; }
template <class R> GC_INLINE gc_parts<R> operator+(gc_parts<R> a, gc_parts<R> b)
{
    return gc_of_parts<R>(a.x + b.x, a.y + b.y);
}
template <class R> GC_INLINE gc_parts<R> operator-(gc_parts<R> a, gc_parts<R> b)
{
    return gc_of_parts<R>(a.x - b.x, a.y - b.y);
}
template <class R> GC_INLINE gc_parts<R> operator-(gc_parts<R> a) { return gc_of_parts<R>(-a.x, -a.y); }
#define GC_COMPLEX(R, re, im) gc_of_parts<R>(re, im)

template <class T> GC_INLINE T gc_shuffle_xor(T x, int n)
{
    union { T value; unsigned int words[(sizeof(T) + 3) / 4]; } u;
    u.words[0] = 0;
    u.value = x;
    for (int k = 0; k < (int)((sizeof(T) + 3) / 4); k++) u.words[k] = __shfl_xor_sync(0xFFFFFFFFu, u.words[k], n);
    return u.value;
}
#define GC_ROOM 4   /* groups that registers of a multiprocessor should be enough for */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef struct { int64_t w[8]; } gc_words;

/* quotient and rest of numbers that are not negative: most fit 32 bits, where division is several times faster */
GC_INLINE int64_t gc_quotient(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a / n : (int64_t)((uint32_t)a / (uint32_t)n);
}
GC_INLINE int64_t gc_rest(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a % n : (int64_t)((uint32_t)a % (uint32_t)n);
}
GC_INLINE float gc_bits_float(uint32_t word) { union { uint32_t word; float x; } u; u.word = word; return u.x; }
GC_INLINE uint32_t gc_bitcast_uint32_t_float(float from)
{
    union { float from; uint32_t to; } u; u.from = from; return u.to;
}
GC_INLINE float gc_max_float(float a, float b)
{
#ifdef GC_EXTREME
    float most;
    GC_EXTREME("max", most, a, b);
    return most;
#else
    const float x = a > b ? a : b, y = b > a ? b : a;
    const float z = gc_bits_float(gc_bitcast_uint32_t_float(x) & gc_bitcast_uint32_t_float(y));
    return a != a || b != b ? a + b : z;
#endif
}
GC_INLINE float gc_exp_float(float x)
{
    return exp(x);
}

GC_INLINE void row_max_sum_div_16d31ba6_body(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    GC_GLOBAL char *GC_RESTRICT memory1,
    const gc_words words, GC_GLOBAL int *fault, const int64_t group GC_SCRATCH_ARGUMENT)
{
    GC_SCRATCH_DECLARATION
    GC_SHARED_ARRAY(float, fold_float, 512);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory1 + words.w[1]);
    const int64_t a0 = words.w[2];
    const int64_t a1 = words.w[3];
    const int64_t a2 = words.w[4];
    const int64_t a3 = words.w[5];
    const int64_t a4 = words.w[6];
    /* 64 items share a row */
    const int own = GC_ITEM % 64;
    const int64_t turn = group * 4 + GC_ITEM / 64;
    const bool live = turn < a0;
    const int64_t at = live ? turn : a0 - 1;
    const int64_t i = at;
    float max0 = gc_bits_float(0xff800000u);
    {
        const int64_t length = (live ? a1 : 0);
        float max0_part = gc_bits_float(0xff800000u);
        for (int64_t first = 0; first < length; first += 1024) {
            const int64_t last = MIN(first + 1024, length);
            if (last - first == 1024) {
                GC_UNROLL for (int r = 0; r < 16; r++) {
                    const int64_t j = first + own + r * 64;
                    const float t0 = __ldg(&x0[i * a2 + j]);
                    max0_part = gc_max_float(max0_part, t0);
                }
            } else {
                for (int64_t j = first + own; j < last; j += 64) {
                    const float t0 = __ldg(&x0[i * a2 + j]);
                    max0_part = gc_max_float(max0_part, t0);
                }
            }
        }
        max0 = max0_part;
        #if GC_SHUFFLES > 1
        {
            float here = max0;
            #if GC_SHUFFLES < 64
            fold_float[GC_ITEM] = here;
            GC_BARRIER();
            float all[64 / GC_SHUFFLES];
            GC_UNROLL for (int k = 0; k < 64 / GC_SHUFFLES; k++)
                all[k] = fold_float[GC_ITEM + (own % GC_SHUFFLES - own + k * GC_SHUFFLES)];
            GC_UNROLL for (int step = 64 / GC_SHUFFLES / 2; step; step >>= 1)
                GC_UNROLL for (int k = 0; k < step; k++) all[k] = gc_max_float(all[k], all[k + step]);
            here = all[0];
            #endif
            GC_UNROLL for (int step = MIN(64, GC_SHUFFLES) / 2; step; step >>= 1) {
                const float there = GC_SHUFFLE_XOR(here, step);
                here = gc_max_float(here, there);
            }
            max0 = here;
        }
        #else
        fold_float[GC_ITEM] = max0;
        GC_BARRIER();
        for (int step = 32; step; step >>= 1) {
            if (own < step)
                fold_float[GC_ITEM] = gc_max_float(fold_float[GC_ITEM], fold_float[GC_ITEM + step]);
            GC_BARRIER();
        }
        max0 = fold_float[GC_ITEM - own];
        #endif
        GC_BARRIER();
    }
    GC_SHARED float *row0 = (GC_SHARED float *)(scratch + 0)
        + GC_ITEM / 64 * a3;
    float sum1 = -0.0f;
    {
        const int64_t length = (live ? a1 : 0);
        const int64_t first = 0;
        const int64_t last = MIN(first + 1024, length);
        float sum1_part = -0.0f;
        if (last - first == 1024) {
            GC_UNROLL for (int r = 0; r < 16; r++) {
                const int64_t j = first + own + r * 64;
                const float t1 = __ldg(&x0[i * a2 + j]);
                const float t2 = gc_exp_float(t1 - max0);
                row0[j] = t2;
                sum1_part = sum1_part + t2;
            }
        } else {
            for (int64_t j = first + own; j < last; j += 64) {
                const float t1 = __ldg(&x0[i * a2 + j]);
                const float t2 = gc_exp_float(t1 - max0);
                row0[j] = t2;
                sum1_part = sum1_part + t2;
            }
        }
        #if GC_SHUFFLES > 1
        {
            float here = sum1_part;
            #if GC_SHUFFLES < 64
            fold_float[GC_ITEM] = here;
            GC_BARRIER();
            float all[64 / GC_SHUFFLES];
            GC_UNROLL for (int k = 0; k < 64 / GC_SHUFFLES; k++)
                all[k] = fold_float[GC_ITEM + (own % GC_SHUFFLES - own + k * GC_SHUFFLES)];
            GC_UNROLL for (int step = 64 / GC_SHUFFLES / 2; step; step >>= 1)
                GC_UNROLL for (int k = 0; k < step; k++) all[k] = all[k] + all[k + step];
            here = all[0];
            #endif
            GC_UNROLL for (int step = MIN(64, GC_SHUFFLES) / 2; step; step >>= 1) {
                const float there = GC_SHUFFLE_XOR(here, step);
                here = here + there;
            }
            sum1_part = here;
        }
        #else
        fold_float[GC_ITEM] = sum1_part;
        GC_BARRIER();
        for (int step = 32; step; step >>= 1) {
            if (own < step)
                fold_float[GC_ITEM] = fold_float[GC_ITEM] + fold_float[GC_ITEM + step];
            GC_BARRIER();
        }
        sum1_part = fold_float[GC_ITEM - own];
        #endif
        sum1 = sum1_part;
        GC_BARRIER();
    }
    for (int64_t j = own; j < (live ? a1 : 0); j += 64) {
        y0[i * a4 + j] = row0[j] / sum1;
    }
}

/* The table: how many members the launch has, with which group each but the first begins; then for each the addresses
   of the buffers, the words, and the address of the faults. */
GC_KERNEL void row_max_sum_div_16d31ba6(const int64_t *GC_RESTRICT table)
{
    const int64_t members = table[0];
    int64_t member = 0, behind = members;
    while (behind - member > 1) {
        const int64_t middle = (member + behind) / 2;
        if (table[middle] <= GC_GROUP) member = middle;
        else behind = middle;
    }
    const int64_t group = member ? GC_GROUP - table[member] : GC_GROUP;
    const int64_t *GC_RESTRICT own = table + members + member * 11;
    const char *const memory0 = (const char *)own[0];
    GC_IS_GLOBAL(memory0);
    char *const memory1 = (char *)own[1];
    GC_IS_GLOBAL(memory1);
    row_max_sum_div_16d31ba6_body(
        memory0,
        memory1,
        *(const gc_words *)(own + 2), (int *)own[10], group);
}
