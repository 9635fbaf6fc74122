typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#ifndef GC_WAVE     /* items of a wavefront: 32 or 64, by the device */
#define GC_WAVE 64
#endif
#define GC_INLINE static __device__ __forceinline__
#define GC_KERNEL extern "C" __global__ __launch_bounds__(256, 2)
#define GC_GLOBAL
#define GC_SHARED
#define GC_SHARED_ARRAY(T, name, size) __shared__ T name[size]
#define GC_SCRATCH_ARGUMENT
#define GC_SCRATCH_DECLARATION extern __shared__ __attribute__((aligned(16))) char scratch[];
#define GC_RESTRICT __restrict__
#define GC_IS_GLOBAL(pointer)
#define GC_BARRIER() __syncthreads()
#define GC_GROUP ((int64_t)blockIdx.x)
#define GC_ITEM ((int)threadIdx.x)
#define GC_SHUFFLES GC_WAVE
#define GC_SHUFFLE_XOR(x, n) gc_shuffle_xor(x, n)
#define GC_UNROLL _Pragma("unroll")
#define GC_UNROLL_4 _Pragma("unroll 4")
#define GC_UNROLL_16 _Pragma("unroll 16")
#define GC_ROLL _Pragma("unroll 1")
#define GC_ROTATE(word, by) ((word) << by | (word) >> (32 - by))
#define GC_ATOMIC_MAX(place, value) atomicMax(place, value)
#ifdef __AMDGCN__
#define GC_FROM_HALF(h) ((float)__builtin_bit_cast(_Float16, (uint16_t)(h)))
#define GC_TO_HALF(x) __builtin_bit_cast(uint16_t, (_Float16)(x))
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
    for (int k = 0; k < (int)((sizeof(T) + 3) / 4); k++) u.words[k] = __shfl_xor(u.words[k], n);
    return u.value;
}

/* The matrix unit. GC_MMA(type, c, a, b): c += a * b of 16 rows, 16 columns and 16 of k by a wavefront. A lane holds in
   the words of a 4 neighbours along k of the row lane % 16, in those of b of that column, from lane / 16 * 4 on; in c, as
   number e, the row lane / 16 * 4 + e of that column. */
typedef float gc_sums __attribute__((vector_size(16)));
typedef _Float16 gc_halves __attribute__((vector_size(8)));
typedef short gc_shorts __attribute__((vector_size(8)));     /* bits of bfloat16 */
template <class T> GC_INLINE T gc_taken(const void *words)
{
    T all;
    __builtin_memcpy(&all, words, sizeof all);
    return all;
}
GC_INLINE void gc_put(float *c, gc_sums sums) { __builtin_memcpy(c, &sums, sizeof sums); }
#define GC_STEP(type) \
    template <float load(uint16_t)> GC_INLINE gc_sums gc_step_##type(const uint32_t *a, const uint32_t *b, gc_sums c)
#define GC_MMA(type, c, a, b) gc_put(c, gc_step_##type<gc_load_##type>(a, b, gc_taken<gc_sums>(c)))
#ifdef __gfx90a__       /* to its unit subnormal float16 are 0; as float32 they are numbers */
GC_STEP(float16)
{
    GC_UNROLL for (int e = 0; e < 4; e++) {
        const int shift = e % 2 * 16;
        c = __builtin_amdgcn_mfma_f32_16x16x4f32(load((uint16_t)(a[e / 2] >> shift)),
                                                 load((uint16_t)(b[e / 2] >> shift)), c, 0, 0, 0);
    }
    return c;
}
#else
GC_STEP(float16)
{
    return __builtin_amdgcn_mfma_f32_16x16x16f16(gc_taken<gc_halves>(a), gc_taken<gc_halves>(b), c, 0, 0, 0);
}
#endif
#ifdef __gfx908__       /* 8 of k at once */
typedef short gc_pair __attribute__((vector_size(4)));
GC_STEP(bfloat16)
{
    GC_UNROLL for (int e = 0; e < 2; e++)
        c = __builtin_amdgcn_mfma_f32_16x16x8bf16(gc_taken<gc_pair>(a + e), gc_taken<gc_pair>(b + e), c, 0, 0, 0);
    return c;
}
#else
GC_STEP(bfloat16)
{
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(gc_taken<gc_shorts>(a), gc_taken<gc_shorts>(b), c, 0, 0, 0);
}
#endif
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef struct { int64_t w[19]; } gc_words;

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
GC_INLINE float gc_erf_float(float x)
{
    return erf(x);
}

GC_INLINE void contract_dot_cast_cb0e8de6_body(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    const GC_GLOBAL char *GC_RESTRICT memory2,
    GC_GLOBAL char *GC_RESTRICT memory3,
    const gc_words words, GC_GLOBAL int *fault, const int64_t group GC_SCRATCH_ARGUMENT)
{
    GC_SCRATCH_DECLARATION
    GC_SHARED uint4 *const tile_a = (GC_SHARED uint4 *)scratch;
    GC_SHARED uint4 *const tile_b = (GC_SHARED uint4 *)(scratch + 16384);
    const GC_GLOBAL uint16_t *GC_RESTRICT x0 = (const GC_GLOBAL uint16_t *)(memory0 + words.w[0]);
    const GC_GLOBAL uint16_t *GC_RESTRICT x1 = (const GC_GLOBAL uint16_t *)(memory1 + words.w[1]);
    const GC_GLOBAL uint16_t *GC_RESTRICT x2 = (const GC_GLOBAL uint16_t *)(memory2 + words.w[2]);
    GC_GLOBAL uint16_t *GC_RESTRICT y0 = (GC_GLOBAL uint16_t *)(memory3 + words.w[3]);
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
    const int64_t a10 = words.w[14];
    const int64_t a11 = words.w[15];
    const float p0 = gc_bits_float((uint32_t)words.w[16]);
    const float p1 = gc_bits_float((uint32_t)words.w[17]);
    /* 256 items share a block */
    const int own = GC_ITEM;
    const int64_t turn = group * 1 + 0;
    const bool live = turn < a1 * a0;
    const int64_t at = live ? turn : a1 * a0 - 1;
    const int64_t turns_mb = gc_quotient(at, a0);
    const int64_t mb = at - turns_mb * a0;
    const int64_t nb = turns_mb;
    const int64_t m_size = a5, n_size = a10, length = a6;
    const int64_t m_first = mb * 64, n_first = nb * 64;
    const int m_left = (int)MIN(m_size - m_first, 64), n_left = (int)MIN(n_size - n_first, 64);
    const int warp = GC_ITEM / 64, lane = GC_ITEM % 64;
    const int warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;
    const bool aligned_a = a3 && ((uint64_t)x0) % 16 == 0;
    const bool aligned_b = a8 && ((uint64_t)x1) % 16 == 0;
    float part[2][2][4];
    GC_UNROLL for (int i = 0; i < 2; i++) GC_UNROLL for (int j = 0; j < 2; j++)
                GC_UNROLL for (int e = 0; e < 4; e++) part[i][j][e] = 0;
    /* the factors of this step of k and, on their way out of shared memory, of the next */
    uint32_t left[2][2][2], right[2][2][2];
    int place = 1;      /* of the 2 places for tiles, that which is multiplied */
    uint4 next_a[2];
    uint4 next_b[2];
    for (int64_t k_first = -64; k_first < length; k_first += 64) {
        const int next = place ? place - 1 : 1;
        if (k_first + 64 < length) {
            const int64_t k_from = k_first + 64;
            const int k_left = (int)MIN(length - k_from, 64);
            GC_UNROLL for (int r = 0; r < 2; r++) {
                const uint32_t spot = r * 256 + GC_ITEM;
                const int row = spot / 8, run = spot % 8;
                const int at_outer = row;
                const int at_k = run * 8;
                uint32_t words[4] = {0, 0, 0, 0};
                if (aligned_a && at_outer < m_left
                    && at_k + 7 < k_left) {
                    const int64_t m_at = m_first + at_outer, k_at = k_from + at_k;
                    const int64_t m = m_at;
                    const int64_t k = k_at;
                    next_a[r] = *(const GC_GLOBAL uint4 *)&x0[k + m * a2];
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
                    next_a[r] = make_uint4(words[0], words[1], words[2], words[3]);
                }
            }
            GC_UNROLL for (int r = 0; r < 2; r++) {
                const uint32_t spot = r * 256 + GC_ITEM;
                const int row = spot / 8, run = spot % 8;
                const int at_outer = run * 8;
                const int at_k = row;
                uint32_t words[4] = {0, 0, 0, 0};
                if (aligned_b && at_outer + 7 < n_left
                    && at_k < k_left) {
                    const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                    const int64_t n = n_at;
                    const int64_t k = k_at;
                    next_b[r] = *(const GC_GLOBAL uint4 *)&x1[k * a7 + n];
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
                    next_b[r] = make_uint4(words[0], words[1], words[2], words[3]);
                }
            }
        }
        if (k_first >= 0) {
            GC_UNROLL for (int step = 0; step < 3; step++) {
                const int k = (step + 1) * 16;
                GC_UNROLL for (int j = 0; j < 2; j++) {
                    GC_UNROLL for (int e = 0; e < 4; e++) {
                        const int row = k + lane / 16 * 4 + e, column = warp_n + j * 16 + lane % 16;
                        const GC_SHARED uint4 *const run = tile_b + place * 512 + ((row) * 8 + ((column / 8) ^ (row) / 4 % 4 * 2));
                        const uint32_t bits = ((const GC_SHARED uint16_t *)run)[column % 8];
                        right[(step + 1) % 2][j][e / 2] = e % 2 ? right[(step + 1) % 2][j][e / 2] | bits << 16 : bits;
                    }
                }
                GC_UNROLL for (int i = 0; i < 2; i++) {
                    GC_UNROLL for (int e = 0; e < 2; e++) {
                        const int row = warp_m + i * 16 + lane % 16, column = k + lane / 16 * 4 + e * 2;
                        const GC_SHARED uint4 *const run = tile_a + place * 512 + ((row) * 8 + ((column / 8) ^ (row) % 8));
                        left[(step + 1) % 2][i][e] = ((const GC_SHARED uint32_t *)run)[column % 8 / 2];
                    }
                }
                GC_UNROLL for (int i = 0; i < 2; i++)
                    GC_UNROLL for (int j = 0; j < 2; j++)
                        GC_MMA(bfloat16, part[i][j], left[step % 2][i], right[step % 2][j]);
            }
        }
        place = place + 1 < 2 ? place + 1 : 0;
        if (k_first >= -64) {
            if (k_first + 64 < length) {
                GC_UNROLL for (int r = 0; r < 2; r++) {
                    const uint32_t spot = r * 256 + GC_ITEM;
                    const int row = spot / 8, run = spot % 8;
                    const int at_outer = row;
                    const int at_k = run * 8;
                    tile_a[next * 512 + ((row) * 8 + ((run) ^ (row) % 8))] = next_a[r];
                }
                GC_UNROLL for (int r = 0; r < 2; r++) {
                    const uint32_t spot = r * 256 + GC_ITEM;
                    const int row = spot / 8, run = spot % 8;
                    const int at_outer = run * 8;
                    const int at_k = row;
                    tile_b[next * 512 + ((row) * 8 + ((run) ^ (row) / 4 % 4 * 2))] = next_b[r];
                }
            }
            GC_BARRIER();
            if (k_first + 64 < length) {
                const int k = 0;
                GC_UNROLL for (int j = 0; j < 2; j++) {
                    GC_UNROLL for (int e = 0; e < 4; e++) {
                        const int row = k + lane / 16 * 4 + e, column = warp_n + j * 16 + lane % 16;
                        const GC_SHARED uint4 *const run = tile_b + place * 512 + ((row) * 8 + ((column / 8) ^ (row) / 4 % 4 * 2));
                        const uint32_t bits = ((const GC_SHARED uint16_t *)run)[column % 8];
                        right[0][j][e / 2] = e % 2 ? right[0][j][e / 2] | bits << 16 : bits;
                    }
                }
                GC_UNROLL for (int i = 0; i < 2; i++) {
                    GC_UNROLL for (int e = 0; e < 2; e++) {
                        const int row = warp_m + i * 16 + lane % 16, column = k + lane / 16 * 4 + e * 2;
                        const GC_SHARED uint4 *const run = tile_a + place * 512 + ((row) * 8 + ((column / 8) ^ (row) % 8));
                        left[0][i][e] = ((const GC_SHARED uint32_t *)run)[column % 8 / 2];
                    }
                }
            }
        }
        if (k_first >= 0) {
            GC_UNROLL for (int i = 0; i < 2; i++)
                GC_UNROLL for (int j = 0; j < 2; j++)
                    GC_MMA(bfloat16, part[i][j], left[1][i], right[1][j]);
        }
    }
    /* the results by way of shared memory, so that neighbouring items store neighbours: of each warp 16 rows at a time */
    GC_SHARED float *const strip = (GC_SHARED float *)tile_a;
    GC_UNROLL for (int i = 0; i < 2; i++) {
        GC_BARRIER();
        GC_UNROLL for (int j = 0; j < 2; j++) GC_UNROLL for (int e = 0; e < 4; e++) {
            const int row = warp / 2 * 16 + lane / 16 * 4 + e, column = j * 16 + lane % 16;
            strip[row * 72 + warp_n + column] = part[i][j][e];
        }
        GC_BARRIER();
        for (uint32_t e = GC_ITEM; e < 2048; e += 256) {
            const uint32_t row = e / 64, column = e % 64;
            const int line = row / 16 * 32 + i * 16 + row % 16;
            if (line < m_left && (int)column < n_left) {
                const int64_t m_at = m_first + line, n_at = n_first + column;
                const float dot0 = strip[row * 72 + column];
                const int64_t m = m_at;
                const int64_t n = n_at;
                const float t0 = (float)gc_round_bfloat16(gc_round_bfloat16(dot0) + gc_load_bfloat16(x2[n]));
                const float t1 = gc_round_bfloat16(((t0 * p0) * (gc_erf_float(t0 * p1) + 1.0f)));
                y0[m * a11 + n] = gc_store_bfloat16(t1);
            }
        }
    }
}

/* The table: how many members the launch has, with which group each but the first begins; then for each the addresses
   of the buffers, the words, and the address of the faults. */
GC_KERNEL void contract_dot_cast_cb0e8de6(const int64_t *GC_RESTRICT table)
{
    const int64_t members = table[0];
    int64_t member = 0, behind = members;
    while (behind - member > 1) {
        const int64_t middle = (member + behind) / 2;
        if (table[middle] <= GC_GROUP) member = middle;
        else behind = middle;
    }
    const int64_t group = member ? GC_GROUP - table[member] : GC_GROUP;
    const int64_t *GC_RESTRICT own = table + members + member * 24;
    const char *const memory0 = (const char *)own[0];
    GC_IS_GLOBAL(memory0);
    const char *const memory1 = (const char *)own[1];
    GC_IS_GLOBAL(memory1);
    const char *const memory2 = (const char *)own[2];
    GC_IS_GLOBAL(memory2);
    char *const memory3 = (char *)own[3];
    GC_IS_GLOBAL(memory3);
    contract_dot_cast_cb0e8de6_body(
        memory0,
        memory1,
        memory2,
        memory3,
        *(const gc_words *)(own + 4), (int *)own[23], group);
}
