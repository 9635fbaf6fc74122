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
typedef struct { int64_t w[15]; } gc_words;

/* quotient and rest of numbers that are not negative: most fit 32 bits, where division is several times faster */
GC_INLINE int64_t gc_quotient(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a / n : (int64_t)((uint32_t)a / (uint32_t)n);
}
GC_INLINE int64_t gc_rest(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a % n : (int64_t)((uint32_t)a % (uint32_t)n);
}
GC_INLINE float gc_fma_float(float a, float b, float c) { return fma(a, b, c); }

GC_INLINE void contract_dot_where_a83f89ef_body(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    const GC_GLOBAL char *GC_RESTRICT memory2,
    GC_GLOBAL char *GC_RESTRICT memory3,
    const gc_words words, GC_GLOBAL int *fault, const int64_t group)
{
    GC_SHARED_ARRAY(float, tile_a, 2176);
    GC_SHARED_ARRAY(float, tile_b, 2176);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    const GC_GLOBAL float *GC_RESTRICT x1 = (const GC_GLOBAL float *)(memory1 + words.w[1]);
    const GC_GLOBAL float *GC_RESTRICT x2 = (const GC_GLOBAL float *)(memory2 + words.w[2]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory3 + words.w[3]);
    const int64_t a0 = words.w[4];
    const int64_t a1 = words.w[5];
    const int64_t a2 = words.w[6];
    const int64_t a3 = words.w[7];
    const int64_t a4 = words.w[8];
    const int64_t a5 = words.w[9];
    const int64_t a6 = words.w[10];
    const int64_t a7 = words.w[11];
    const int64_t a8 = words.w[12];
    const int64_t a9 = words.w[13];
    /* 256 items share a block */
    const int own = GC_ITEM;
    const int64_t turn = group * 1 + 0;
    const bool live = turn < a1 * a0;
    const int64_t at = live ? turn : a1 * a0 - 1;
    const int64_t turns_mb = gc_quotient(at, a0);
    const int64_t mb = at - turns_mb * a0;
    const int64_t nb = turns_mb;
    const int64_t m_size = a5, n_size = a8, length = a2;
    const int64_t m_first = mb * 64, n_first = nb * 64;
    const int m_left = (int)MIN(m_size - m_first, 64), n_left = (int)MIN(n_size - n_first, 64);
    /* 32 items are a block of 4 by 8, in which neighbours read the same: shared memory serves them at once */
    const int item_m = (GC_ITEM & 1) | (GC_ITEM >> 1 & 2) | (GC_ITEM >> 4 & 12);
    const int item_n = (GC_ITEM >> 1 & 1) | (GC_ITEM >> 2 & 14);
    const bool aligned_a = a4 && ((uint64_t)x0) % 16 == 0;
    const bool aligned_b = a7 && ((uint64_t)x1) % 16 == 0;
    float part[4][4];
    float next_a[4];
    float next_b[4];
    GC_UNROLL for (int i = 0; i < 4; i++) GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = 0;
    {
        const int64_t k_from = 0;
        const int k_left = (int)MIN(length, 16), place = 0;
        {
            const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 4;
            GC_UNROLL for (int e = 0; e < 4; e++) next_a[e] = 0;
            if (aligned_a && at_outer < m_left
                && at_k + 3 < k_left) {
                const int64_t m_at = m_first + at_outer, k_at = k_from + at_k;
                const int64_t m = m_at;
                const int64_t k = k_at;
                union { uint4 all[1]; float one[4]; } v0_wide;
                GC_UNROLL for (int w = 0; w < 1; w++)
                    v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x0[k + m * a3])[w];
                const int64_t first = k;
                GC_UNROLL for (int u = 0; u < 4; u++) {
                    const int64_t k = first + u;
                    const float v0 = v0_wide.one[u];
                    next_a[u] = v0;
                }
            } else
            {
                GC_UNROLL for (int u = 0; u < 4; u++) {
                    const int own_outer = at_outer, own_k = at_k + u;
                    if (own_outer < m_left && own_k < k_left) {
                        const int64_t m_at = m_first + own_outer, k_at = k_from + own_k;
                        const int64_t m = m_at;
                        const int64_t k = k_at;
                        const float v0 = x0[k + m * a3];
                        next_a[u] = v0;
                    }
                }
            }
        }
        {
            const int at_outer = GC_ITEM % 16 * 4, at_k = GC_ITEM / 16;
            GC_UNROLL for (int e = 0; e < 4; e++) next_b[e] = 0;
            if (aligned_b && at_outer + 3 < n_left
                && at_k < k_left) {
                const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                const int64_t n = n_at;
                const int64_t k = k_at;
                union { uint4 all[1]; float one[4]; } v0_wide;
                GC_UNROLL for (int w = 0; w < 1; w++)
                    v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x1[k * a6 + n])[w];
                const int64_t first = n;
                GC_UNROLL for (int u = 0; u < 4; u++) {
                    const int64_t n = first + u;
                    const float v0 = v0_wide.one[u];
                    next_b[u] = v0;
                }
            } else
            {
                GC_UNROLL for (int u = 0; u < 4; u++) {
                    const int own_outer = at_outer + u, own_k = at_k;
                    if (own_outer < n_left && own_k < k_left) {
                        const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                        const int64_t n = n_at;
                        const int64_t k = k_at;
                        const float v0 = x1[k * a6 + n];
                        next_b[u] = v0;
                    }
                }
            }
        }
        {
            const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 4;
            GC_UNROLL for (int e = 0; e < 4; e++)
                tile_a[(place * 16 + at_k) * 68 + at_outer + e * 68]
                    = (next_a[e]);
        }
        {
            const int at_outer = GC_ITEM % 16 * 4, at_k = GC_ITEM / 16;
            GC_UNROLL for (int e = 0; e < 4; e++)
                tile_b[(place * 16 + at_k) * 68 + at_outer + e]
                    = (next_b[e]);
        }
    }
    GC_BARRIER();
    int place = 0;      /* of the two for pieces, that which is multiplied; the next one goes to the other */
    for (int64_t k_first = 0; k_first < length; k_first += 16) {
        const int now = place;
        const int64_t k_from = k_first + 16;
        if (k_from < length) {
            const int k_left = (int)MIN(length - k_from, 16);
            {
                const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 4;
                GC_UNROLL for (int e = 0; e < 4; e++) next_a[e] = 0;
                if (aligned_a && at_outer < m_left
                    && at_k + 3 < k_left) {
                    const int64_t m_at = m_first + at_outer, k_at = k_from + at_k;
                    const int64_t m = m_at;
                    const int64_t k = k_at;
                    union { uint4 all[1]; float one[4]; } v0_wide;
                    GC_UNROLL for (int w = 0; w < 1; w++)
                        v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x0[k + m * a3])[w];
                    const int64_t first = k;
                    GC_UNROLL for (int u = 0; u < 4; u++) {
                        const int64_t k = first + u;
                        const float v0 = v0_wide.one[u];
                        next_a[u] = v0;
                    }
                } else
                {
                    GC_UNROLL for (int u = 0; u < 4; u++) {
                        const int own_outer = at_outer, own_k = at_k + u;
                        if (own_outer < m_left && own_k < k_left) {
                            const int64_t m_at = m_first + own_outer, k_at = k_from + own_k;
                            const int64_t m = m_at;
                            const int64_t k = k_at;
                            const float v0 = x0[k + m * a3];
                            next_a[u] = v0;
                        }
                    }
                }
            }
            {
                const int at_outer = GC_ITEM % 16 * 4, at_k = GC_ITEM / 16;
                GC_UNROLL for (int e = 0; e < 4; e++) next_b[e] = 0;
                if (aligned_b && at_outer + 3 < n_left
                    && at_k < k_left) {
                    const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                    const int64_t n = n_at;
                    const int64_t k = k_at;
                    union { uint4 all[1]; float one[4]; } v0_wide;
                    GC_UNROLL for (int w = 0; w < 1; w++)
                        v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x1[k * a6 + n])[w];
                    const int64_t first = n;
                    GC_UNROLL for (int u = 0; u < 4; u++) {
                        const int64_t n = first + u;
                        const float v0 = v0_wide.one[u];
                        next_b[u] = v0;
                    }
                } else
                {
                    GC_UNROLL for (int u = 0; u < 4; u++) {
                        const int own_outer = at_outer + u, own_k = at_k;
                        if (own_outer < n_left && own_k < k_left) {
                            const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                            const int64_t n = n_at;
                            const int64_t k = k_at;
                            const float v0 = x1[k * a6 + n];
                            next_b[u] = v0;
                        }
                    }
                }
            }
        }
        if (k_from <= length) {
            GC_UNROLL for (int k = 0; k < 16; k++) {
                float left[4], right[4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    left[i] = tile_a[(now * 16 + k) * 68 + i / 4 * 64 + item_m * 4 + i % 4];
                GC_UNROLL for (int j = 0; j < 4; j++)
                    right[j] = tile_b[(now * 16 + k) * 68 + j / 4 * 64 + item_n * 4 + j % 4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = gc_fma_float(left[i], right[j], part[i][j]);
            }
        } else {
            GC_ROLL for (int k = 0; k < (int)(length - k_first); k++) {
                float left[4], right[4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    left[i] = tile_a[(now * 16 + k) * 68 + i / 4 * 64 + item_m * 4 + i % 4];
                GC_UNROLL for (int j = 0; j < 4; j++)
                    right[j] = tile_b[(now * 16 + k) * 68 + j / 4 * 64 + item_n * 4 + j % 4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = gc_fma_float(left[i], right[j], part[i][j]);
            }
        }
        place ^= 1;
        if (k_from < length) {
            {
                const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 4;
                GC_UNROLL for (int e = 0; e < 4; e++)
                    tile_a[(place * 16 + at_k) * 68 + at_outer + e * 68]
                        = (next_a[e]);
            }
            {
                const int at_outer = GC_ITEM % 16 * 4, at_k = GC_ITEM / 16;
                GC_UNROLL for (int e = 0; e < 4; e++)
                    tile_b[(place * 16 + at_k) * 68 + at_outer + e]
                        = (next_b[e]);
            }
        }
        GC_BARRIER();
    }
    /* the results by way of shared memory, so that neighbouring items store neighbours */
    GC_UNROLL for (int i = 0; i < 4; i++) {
        GC_UNROLL for (int j = 0; j < 4; j++)
            tile_a[item_m * 72 + j / 4 * 64 + item_n * 4 + j % 4] = part[i][j];
        GC_BARRIER();
        for (uint32_t e = GC_ITEM; e < 1024; e += 256) {
            const uint32_t row = e / 64, column = e % 64;
            const int64_t m_at = m_first + i / 4 * 64 + row * 4 + i % 4, n_at = n_first + column;
            if (m_at < m_size && n_at < n_size) {
                const float dot0 = tile_a[row * 72 + column];
                const int64_t m = m_at;
                const int64_t n = n_at;
                const float t0 = dot0 + x2[n];
                y0[m * a9 + n] = (t0 <= 0.0f) ? 0.0f : t0;
            }
        }
        GC_BARRIER();
    }
}

/* The table: how many members the launch has, with which group each but the first begins; then for each the addresses
   of the buffers, the words, and the address of the faults. */
GC_KERNEL void contract_dot_where_a83f89ef(const int64_t *GC_RESTRICT table)
{
    const int64_t members = table[0];
    int64_t member = 0, behind = members;
    while (behind - member > 1) {
        const int64_t middle = (member + behind) / 2;
        if (table[middle] <= GC_GROUP) member = middle;
        else behind = middle;
    }
    const int64_t group = member ? GC_GROUP - table[member] : GC_GROUP;
    const int64_t *GC_RESTRICT own = table + members + member * 20;
    const char *const memory0 = (const char *)own[0];
    GC_IS_GLOBAL(memory0);
    const char *const memory1 = (const char *)own[1];
    GC_IS_GLOBAL(memory1);
    const char *const memory2 = (const char *)own[2];
    GC_IS_GLOBAL(memory2);
    char *const memory3 = (char *)own[3];
    GC_IS_GLOBAL(memory3);
    contract_dot_where_a83f89ef_body(
        memory0,
        memory1,
        memory2,
        memory3,
        *(const gc_words *)(own + 4), (int *)own[19], group);
}
