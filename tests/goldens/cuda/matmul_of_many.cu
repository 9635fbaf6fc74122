typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define GC_INLINE static __device__ __forceinline__
#define GC_KERNEL extern "C" __global__ __launch_bounds__(256, GC_ROOM)
#define GC_GLOBAL
#define GC_SHARED
#define GC_SHARED_ARRAY(T, name, size) __shared__ T name[size]
#define GC_SCRATCH_ARGUMENT
#define GC_SCRATCH_DECLARATION extern __shared__ __align__(1024) char scratch[];
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

/* The matrix unit, from compute capability 8.0 on.
   GC_MMA(type, c, a, b): c += a * b of 16 rows, 8 columns and 16 of k by a warp. With g = lane / 4 and t = lane % 4,
   a lane holds in the words of a the elements 2t and 2t + 1 of k, of the rows g and g + 8, then k + 8 of both; in those
   of b k = 2t and 2t + 1 of the column g, then k + 8; in c the columns 2t and 2t + 1 of the row g, then of g + 8.
   Of tf32 a word is one element: t of k, then k + 4, and 8 of k are all. GC_TF32(word): float32 rounded to that, halves
   away from zero.
   GC_MATRICES(to, tile, at, turn): four matrices of 8 x 8; tile + at of the lane 8j + i is row i of the matrix j. A
   lane gets the elements 2t and 2t + 1 of their rows g, or with .trans of their columns g.
   GC_COPY(to, from): 16 bytes to shared memory, which are there when GC_COPIES_WAIT(n) has waited for all sets of
   copies but the last n. GC_COPIES_CLOSE ends a set.
   Four warps together, from compute capability 9.0a on. GC_WARPGROUP_MMA(type, c, a, turn_a, b, turn_b): c += a * b of
   64 rows, 128 columns and 16 of k; a lane holds 16 times in c what it holds of GC_MMA, of the rows from 16 times its
   warp's number on. Tiles begin at multiples of 1024 bytes, and have rows of 128 bytes along k: run r of row i, of 16
   bytes, lies in the place r ^ i % 8. If turned, rows go across, and 64 of k are a piece; a and b may begin inside.
   Between OPEN and CLOSE c is the unit's, until WAIT. What items have written GC_COPIES_SHOW shows to the unit, before
   a barrier. */
#ifdef __CUDA_ARCH__
GC_INLINE uint32_t gc_tf32(uint32_t word)
{
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(__uint_as_float(word)));
    return word;
}
GC_INLINE void gc_mma_tf32(float *c, const uint32_t *a, const uint32_t *b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{ %0, %1, %2, %3 }, { %4, %5, %6, %7 }, { %8, %9 }, { %0, %1, %2, %3 };"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#define GC_TF32(word) gc_tf32(word)
#define GC_MMA_TYPE(type, name) \
    GC_INLINE void gc_mma_##type(float *c, const uint32_t *a, const uint32_t *b) \
    { \
        asm("mma.sync.aligned.m16n8k16.row.col.f32." name "." name ".f32 " \
            "{ %0, %1, %2, %3 }, { %4, %5, %6, %7 }, { %8, %9 }, { %0, %1, %2, %3 };" \
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
    }
GC_MMA_TYPE(float16, "f16")
GC_MMA_TYPE(bfloat16, "bf16")
#define GC_MMA(type, c, a, b) gc_mma_##type(c, a, b)
#define GC_MATRICES(to, tile, at, turn) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" #turn ".shared.b16 { %0, %1, %2, %3 }, [%4];" \
                 : "=r"((to)[0]), "=r"((to)[1]), "=r"((to)[2]), "=r"((to)[3]) \
                 : "r"((uint32_t)__cvta_generic_to_shared((tile) + (at))) : "memory")
#define GC_COPY(to, from) \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"((uint32_t)__cvta_generic_to_shared(to)), \
                 "l"(__cvta_generic_to_global(from)) : "memory")
#define GC_COPIES_CLOSE() asm volatile("cp.async.commit_group;" : : : "memory")
#define GC_COPIES_WAIT(n) asm volatile("cp.async.wait_group %0;" : : "n"(n) : "memory")

/* the unit's word for where a tile lies, and how its rows follow one another */
GC_INLINE uint64_t gc_tile(const uint4 *tile, int turned)
{
    const uint64_t start = (uint32_t)__cvta_generic_to_shared(tile) >> 4 & 0x3FFF;
    return start | (uint64_t)((turned ? 64 * 128 : 16) >> 4) << 16 | (uint64_t)(8 * 128 >> 4) << 32 | (uint64_t)1 << 62;
}
#define GC_WARPGROUP_TYPE(type, name) \
    template <int turn_a, int turn_b> \
    GC_INLINE void gc_warpgroup_mma_##type(float *c, uint64_t a, uint64_t b) \
    { \
        asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." name "." name " { " \
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
            "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63" \
            " }, %64, %65, 1, 1, 1, %66, %67;" \
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), \
              "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), \
              "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), \
              "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]), \
              "+f"(c[32]), "+f"(c[33]), "+f"(c[34]), "+f"(c[35]), "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39]), \
              "+f"(c[40]), "+f"(c[41]), "+f"(c[42]), "+f"(c[43]), "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47]), \
              "+f"(c[48]), "+f"(c[49]), "+f"(c[50]), "+f"(c[51]), "+f"(c[52]), "+f"(c[53]), "+f"(c[54]), "+f"(c[55]), \
              "+f"(c[56]), "+f"(c[57]), "+f"(c[58]), "+f"(c[59]), "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63]) \
            : "l"(a), "l"(b), "n"(turn_a), "n"(turn_b)); \
    }
GC_WARPGROUP_TYPE(float16, "f16")
GC_WARPGROUP_TYPE(bfloat16, "bf16")
#define GC_WARPGROUP_MMA(type, c, a, turn_a, b, turn_b) \
    gc_warpgroup_mma_##type<turn_a, turn_b>(c, gc_tile(a, turn_a), gc_tile(b, turn_b))
#define GC_WARPGROUP_OPEN() asm volatile("wgmma.fence.sync.aligned;" : : : "memory")
#define GC_WARPGROUP_CLOSE() asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory")
#define GC_WARPGROUP_WAIT() asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory")
#define GC_COPIES_SHOW() asm volatile("fence.proxy.async.shared::cta;" : : : "memory")
#else
GC_INLINE uint32_t gc_tf32(uint32_t word)
{
    return (word & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FFFFFFFu : (word + 0x1000u) & 0xFFFFE000u;
}
GC_INLINE float gc_load_tf32(uint32_t word) { return __uint_as_float(word); }
#define GC_TF32(word) gc_tf32(word)
#endif
#define GC_ROOM 2   /* groups that registers of a multiprocessor should be enough for */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef struct { int64_t w[16]; } gc_words;

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
GC_INLINE float gc_load_bfloat16(uint16_t h) { return gc_bits_float((uint32_t)h << 16); }
#ifdef GC_TO_BFLOAT
GC_INLINE uint16_t gc_store_bfloat16(float x) { return GC_TO_BFLOAT(x); }
GC_INLINE float gc_round_bfloat16(float x) { return GC_ROUND_BFLOAT(x); }
#else
/* round to nearest, ties to even; NaN stays NaN */
GC_INLINE uint16_t gc_store_bfloat16(float x)
{
    const uint32_t w = gc_bitcast_uint32_t_float(x);
    const uint32_t rounded = (w + 0x7FFF + (w >> 16 & 1)) >> 16;
    return (uint16_t)(x != x ? 0x7FC0 | (w >> 16 & 0x8000) : rounded);
}
GC_INLINE float gc_round_bfloat16(float x) { return gc_load_bfloat16(gc_store_bfloat16(x)); }
#endif
GC_INLINE float gc_nextafter_bfloat16(float x, float y)
{
    const uint16_t word = gc_store_bfloat16(x), away = (x < y) == (x > 0) ? 1 : -1;
    const float next = gc_load_bfloat16(x == 0 ? (y < 0) << 15 | 1 : word + away);
    return x != x || y != y ? x + y : x == y ? y : next;
}

GC_INLINE void contract_dot_where_cf80946e_body(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault, const int64_t group GC_SCRATCH_ARGUMENT)
{
    GC_SCRATCH_DECLARATION
    GC_SHARED uint4 *const tile_a = (GC_SHARED uint4 *)scratch;
    GC_SHARED uint4 *const tile_b = (GC_SHARED uint4 *)(scratch + 49152);
    const GC_GLOBAL uint16_t *GC_RESTRICT x0 = (const GC_GLOBAL uint16_t *)(memory0 + words.w[0]);
    const GC_GLOBAL uint16_t *GC_RESTRICT x1 = (const GC_GLOBAL uint16_t *)(memory1 + words.w[1]);
    GC_GLOBAL uint16_t *GC_RESTRICT y0 = (GC_GLOBAL uint16_t *)(memory2 + words.w[2]);
    const int64_t a0 = words.w[3];
    const int64_t a1 = words.w[4];
    const int64_t a2 = words.w[5];
    const int64_t a3 = words.w[6];
    const int64_t a4 = words.w[7];
    const int64_t a5 = words.w[8];
    const int64_t a6 = words.w[9];
    const int64_t a7 = words.w[10];
    const int64_t a8 = words.w[11];
    const int64_t a9 = words.w[12];
    const int64_t a10 = words.w[13];
    const int64_t a11 = words.w[14];
    /* 256 items share a block */
    const int own = GC_ITEM;
    const int64_t turn = group * 1 + 0;
    const bool live = turn < a1 * a0;
    const int64_t at = live ? turn : a1 * a0 - 1;
    const int64_t turns_mb = gc_quotient(at, a0);
    const int64_t mb = at - turns_mb * a0;
    const int64_t nb = turns_mb;
    const int64_t m_size = a5, n_size = a10, length = a6;
    const int64_t m_first = mb * 128, n_first = nb * 128;
    const int m_left = (int)MIN(m_size - m_first, 128), n_left = (int)MIN(n_size - n_first, 128);
    const int warp = GC_ITEM / 32, lane = GC_ITEM % 32;
    const int warp_m = warp / 1 * 16, warp_n = warp % 1 * 128;
    const bool aligned_a = a3 && ((uint64_t)x0) % 16 == 0;
    const bool aligned_b = a8 && ((uint64_t)x1) % 16 == 0;
    float part[1][16][4];
    GC_UNROLL for (int i = 0; i < 1; i++) GC_UNROLL for (int j = 0; j < 16; j++)
                GC_UNROLL for (int e = 0; e < 4; e++) part[i][j][e] = 0;
    int place = 1;      /* of the 3 places for tiles, that which is multiplied */
    /* whole tiles are copied without a look at where they end: from where, and to where in a tile */
    const bool whole = aligned_a && m_left == 128 && aligned_b && n_left == 128;
    const GC_GLOBAL uint16_t *from_a;
    int to_a;
    {
        const int r = 0;
        const uint32_t spot = r * 256 + GC_ITEM;
        const int row = spot / 8, run = spot % 8;
        const int at_outer = row;
        const int at_k = run * 8;
        const int64_t m_at = m_first + at_outer, k_at = at_k;
        const int64_t m = m_at;
        const int64_t k = k_at;
        from_a = &x0[k + m * a2];
        to_a = ((row) * 8 + ((run) ^ (row) % 8));
    }
    const GC_GLOBAL uint16_t *from_b;
    int to_b;
    {
        const int r = 0;
        const uint32_t spot = r * 256 + GC_ITEM;
        const int row = spot / 16, run = spot % 16;
        const int at_outer = run * 8;
        const int at_k = row;
        const int64_t n_at = n_first + at_outer, k_at = at_k;
        const int64_t n = n_at;
        const int64_t k = k_at;
        from_b = &x1[k * a7 + n];
        to_b = ((((run) / 8 * 64) + (row)) * 8 + ((run) % 8 ^ (row) % 8));
    }
    const int own_rows = warp / 4 * 512;      /* runs of a that lie in front of these warps' */
    for (int64_t k_first = -128; k_first < length; k_first += 64) {
        const int next = place ? place - 1 : 2;
        const int64_t k_from = k_first + 128;
        const bool quick = whole && k_first >= 0 && k_from + 64 <= length;
        if (k_first >= 0) {
            GC_COPIES_WAIT(1);
            GC_COPIES_SHOW();
            GC_BARRIER();
        }
        if (!quick && k_from < length) {
            const int k_left = (int)MIN(length - k_from, 64);
            GC_ROLL for (int r = 0; r < 4; r++) {
                const uint32_t spot = r * 256 + GC_ITEM;
                const int row = spot / 8, run = spot % 8;
                const int at_outer = row;
                const int at_k = run * 8;
                GC_SHARED uint4 *const to = tile_a + next * 1024 + ((row) * 8 + ((run) ^ (row) % 8));
                uint32_t words[4] = {0, 0, 0, 0};
                if (aligned_a && at_outer < m_left
                    && at_k + 7 < k_left) {
                    const int64_t m_at = m_first + at_outer, k_at = k_from + at_k;
                    const int64_t m = m_at;
                    const int64_t k = k_at;
                    GC_COPY(to, &x0[k + m * a2]);
                } else
                {
                    GC_UNROLL for (int u = 0; u < 8; u++) {
                        const int own_outer = at_outer, own_k = at_k + u;
                        if (own_outer < m_left && own_k < k_left) {
                            const int64_t m_at = m_first + own_outer, k_at = k_from + own_k;
                            const int64_t m = m_at;
                            const int64_t k = k_at;
                            const uint16_t v0 = x0[k + m * a2];
                            uint16_t bits;
                            bits = v0;
                            words[u / 2] |= (uint32_t)bits << u % 2 * 16;
                        }
                    }
                    *to = make_uint4(words[0], words[1], words[2], words[3]);
                }
            }
            GC_ROLL for (int r = 0; r < 4; r++) {
                const uint32_t spot = r * 256 + GC_ITEM;
                const int row = spot / 16, run = spot % 16;
                const int at_outer = run * 8;
                const int at_k = row;
                GC_SHARED uint4 *const to = tile_b + next * 1024 + ((((run) / 8 * 64) + (row)) * 8 + ((run) % 8 ^ (row) % 8));
                uint32_t words[4] = {0, 0, 0, 0};
                if (aligned_b && at_outer + 7 < n_left
                    && at_k < k_left) {
                    const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                    const int64_t n = n_at;
                    const int64_t k = k_at;
                    GC_COPY(to, &x1[k * a7 + n]);
                } else
                {
                    GC_UNROLL for (int u = 0; u < 8; u++) {
                        const int own_outer = at_outer + u, own_k = at_k;
                        if (own_outer < n_left && own_k < k_left) {
                            const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                            const int64_t n = n_at;
                            const int64_t k = k_at;
                            const uint16_t v0 = x1[k * a7 + n];
                            uint16_t bits;
                            bits = v0;
                            words[u / 2] |= (uint32_t)bits << u % 2 * 16;
                        }
                    }
                    *to = make_uint4(words[0], words[1], words[2], words[3]);
                }
            }
        }
        if (k_first < 0) {
            GC_COPIES_CLOSE();
            place = place + 1 < 3 ? place + 1 : 0;
            continue;
        }
        GC_WARPGROUP_OPEN();
        GC_UNROLL for (int step = 0; step < 4; step++)
            GC_WARPGROUP_MMA(bfloat16, part[0][0],
                             tile_a + place * 1024 + own_rows + step * 2, 0,
                             tile_b + place * 1024 + step * 128, 1);
        GC_WARPGROUP_CLOSE();
        if (quick) {
            GC_UNROLL for (int r = 0; r < 4; r++)
                GC_COPY(tile_a + next * 1024 + to_a + r * 256,
                        from_a + k_from + r * 32 * a4);
            GC_UNROLL for (int r = 0; r < 4; r++)
                GC_COPY(tile_b + next * 1024 + to_b + r * 128,
                        from_b + k_from * a9 + r * 16 * a9);
        }
        GC_COPIES_CLOSE();
        GC_WARPGROUP_WAIT();
        place = place + 1 < 3 ? place + 1 : 0;
    }
    /* the results by way of shared memory, so that neighbouring items store neighbours: of each warp 16 rows at a time */
    GC_SHARED float *const strip = (GC_SHARED float *)tile_a;
    GC_UNROLL for (int i = 0; i < 1; i++) {
        GC_BARRIER();
        GC_UNROLL for (int j = 0; j < 16; j++) GC_UNROLL for (int e = 0; e < 4; e++) {
            const int row = warp / 1 * 16 + e / 2 * 8 + lane / 4, column = j * 8 + lane % 4 * 2 + e % 2;
            strip[row * 136 + warp_n + column] = part[i][j][e];
        }
        GC_BARRIER();
        for (uint32_t e = GC_ITEM; e < 16384; e += 256) {
            const uint32_t row = e / 128, column = e % 128;
            const int line = row / 16 * 16 + i * 16 + row % 16;
            if (line < m_left && (int)column < n_left) {
                const int64_t m_at = m_first + line, n_at = n_first + column;
                const float dot0 = strip[row * 136 + column];
                const int64_t m = m_at;
                const int64_t n = n_at;
                const float t0 = gc_round_bfloat16(gc_round_bfloat16(dot0) + gc_load_bfloat16(x1[n]));
                y0[m * a11 + n] = gc_store_bfloat16((t0 <= 0.0f) ? 0.0f : t0);
            }
        }
    }
}

/* The table: how many members the launch has, with which group each but the first begins; then for each the addresses
   of the buffers, the words, and the address of the faults. */
GC_KERNEL void contract_dot_where_cf80946e(const int64_t *GC_RESTRICT table)
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
    char *const memory2 = (char *)own[2];
    GC_IS_GLOBAL(memory2);
    contract_dot_where_cf80946e_body(
        memory0,
        memory1,
        memory2,
        *(const gc_words *)(own + 3), (int *)own[19], group);
}
