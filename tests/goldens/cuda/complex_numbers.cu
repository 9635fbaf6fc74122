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
#define GC_ROOM 2   /* groups that registers of a multiprocessor should be enough for */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef struct { int64_t w[5]; } gc_words;

/* quotient and rest of numbers that are not negative: most fit 32 bits, where division is several times faster */
GC_INLINE int64_t gc_quotient(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a / n : (int64_t)((uint32_t)a / (uint32_t)n);
}
GC_INLINE int64_t gc_rest(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a % n : (int64_t)((uint32_t)a % (uint32_t)n);
}
GC_INLINE cfloat gc_cmul_cfloat(cfloat x, cfloat y)
{
    return GC_COMPLEX(float, x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}
GC_INLINE float gc_cabs_float(cfloat x) { return hypot(x.x, x.y); }

GC_INLINE void map_abs_ee57eb81_body(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault, const int64_t group)
{
    const GC_GLOBAL cfloat *GC_RESTRICT x0 = (const GC_GLOBAL cfloat *)(memory0 + words.w[0]);
    const GC_GLOBAL cfloat *GC_RESTRICT x1 = (const GC_GLOBAL cfloat *)(memory1 + words.w[1]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory2 + words.w[2]);
    const int64_t a0 = words.w[3];
    const int64_t stop = MIN((group + 1) * 256, a0);
    for (int64_t at = group * 256 + GC_ITEM; at < stop; at += 256) {
        const int64_t i = at;
        {
            y0[i] = gc_cabs_float(gc_cmul_cfloat(x0[i], x1[i]));
        }
    }
}

/* The table: how many members the launch has, with which group each but the first begins; then for each the addresses
   of the buffers, the words, and the address of the faults. */
GC_KERNEL void map_abs_ee57eb81(const int64_t *GC_RESTRICT table)
{
    const int64_t members = table[0];
    int64_t member = 0, behind = members;
    while (behind - member > 1) {
        const int64_t middle = (member + behind) / 2;
        if (table[middle] <= GC_GROUP) member = middle;
        else behind = middle;
    }
    const int64_t group = member ? GC_GROUP - table[member] : GC_GROUP;
    const int64_t *GC_RESTRICT own = table + members + member * 9;
    const char *const memory0 = (const char *)own[0];
    GC_IS_GLOBAL(memory0);
    const char *const memory1 = (const char *)own[1];
    GC_IS_GLOBAL(memory1);
    char *const memory2 = (char *)own[2];
    GC_IS_GLOBAL(memory2);
    map_abs_ee57eb81_body(
        memory0,
        memory1,
        memory2,
        *(const gc_words *)(own + 3), (int *)own[8], group);
}
