typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
/* Conversions by integer arithmetic, so that loops over them become SIMD on every machine. */
static inline float gc_load_float16(uint16_t h)
{
    const uint32_t magnitude = (uint32_t)(h & 0x7FFF) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    float scaled; __builtin_memcpy(&scaled, &magnitude, 4);
    scaled *= 0x1p112f;                                 /* exact: moves the exponent, subnormals included */
    uint32_t w; __builtin_memcpy(&w, &scaled, 4);
    w = magnitude >= 0x0F800000 ? magnitude | 0x7F800000 : w;   /* infinity and NaN */
    w |= sign;
    float x; __builtin_memcpy(&x, &w, 4); return x;
}
static inline uint16_t gc_store_float16(float x)
{
    uint32_t w; __builtin_memcpy(&w, &x, 4);
    const uint32_t sign = w >> 16 & 0x8000, magnitude = w & 0x7FFFFFFF;
    const uint32_t normal = (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    float tiny; __builtin_memcpy(&tiny, &magnitude, 4);
    tiny += 0.5f;                                       /* the addition rounds to the subnormal grid of float16 */
    uint32_t subnormal; __builtin_memcpy(&subnormal, &tiny, 4);
    subnormal -= 0x3F000000;
    uint32_t h = magnitude < 0x38800000 ? subnormal : normal;
    h = magnitude >= 0x477FF000 ? 0x7C00 : h;           /* 65520 and above round to infinity */
    h = magnitude > 0x7F800000 ? 0x7E00 : h;
    return (uint16_t)(sign | h);
}
/* Adding 2**13 times the highest digit leaves 11 digits, or what a subnormal number has; and takes it off again. */
static inline float gc_round_float16(float x)
{
    uint32_t w; __builtin_memcpy(&w, &x, 4);
    const uint32_t highest = w & 0x7F800000;
    const uint32_t far = (highest > 0x38800000 ? highest : 0x38800000) + (13 << 23);
    float high; __builtin_memcpy(&high, &far, 4);
    const float size = __builtin_fabsf(x), near = (size + high) - high;
    return __builtin_copysignf(size >= 65520 ? __builtin_inff() : near, x);
}
static inline float gc_nextafter_float16(float x, float y)
{
    const uint16_t word = gc_store_float16(x), away = (x < y) == (x > 0) ? 1 : -1;
    const float next = gc_load_float16(x == 0 ? (y < 0) << 15 | 1 : word + away);
    return x != x || y != y ? x + y : x == y ? y : next;
}
#if defined(__F16C__) && !defined(__clang__)
typedef short gc_halves __attribute__((vector_size(16)));
typedef float gc_floats __attribute__((vector_size(32)));
#endif
static inline void gc_widen_float16(float *restrict to, const uint16_t *restrict from, int64_t count)
{
    int64_t k = 0;
#if defined(__F16C__) && !defined(__clang__)
    for (; k + 8 <= count; k += 8) {
        gc_halves x;
        __builtin_memcpy(&x, from + k, sizeof x);
        const gc_floats y = __builtin_ia32_vcvtph2ps256(x);
        __builtin_memcpy(to + k, &y, sizeof y);
    }
#endif
    _Pragma("GCC unroll 1")
    for (; k < count; k++) to[k] = gc_load_float16(from[k]);
}
static inline void gc_narrow_float16(uint16_t *restrict to, const float *restrict from, int64_t count)
{
    int64_t k = 0;
#if defined(__F16C__) && !defined(__clang__)
    for (; k + 8 <= count; k += 8) {
        gc_floats x;
        __builtin_memcpy(&x, from + k, sizeof x);
        const gc_halves y = __builtin_ia32_vcvtps2ph256(x, 0);
        __builtin_memcpy(to + k, &y, sizeof y);
    }
#endif
    _Pragma("GCC unroll 1")
    for (; k < count; k++) to[k] = gc_store_float16(from[k]);
}
/* combine lane l with lane l + half, until one is left */
#define FOLD_BY(n, step, then) { enum { half = n }; _Pragma("omp simd") for (int l = 0; l < half; l++) step; then; }
#define FOLD(step, then) FOLD_BY(32, step, then) FOLD_BY(16, step, then) FOLD_BY(8, step, then) FOLD_BY(4, step, then) FOLD_BY(2, step, then) FOLD_BY(1, step, then)
/* the rest of a row, fewer elements than lanes, in vectors too */
#define VECTOR _Pragma("omp simd") for (int v = 0; v < 16; v++)
#define REST(n) _Pragma("GCC unroll 1") for (int from = 0, rest = n; from < rest; from += 16) VECTOR

int64_t row_sum_92053064(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const uint16_t *restrict x0 = buf[0];
    const uint16_t *restrict x1 = buf[1];
    uint16_t *restrict y0 = buf[2];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const int64_t a2 = arg[2];
    const int64_t a3 = arg[3];
    const int64_t stop = MIN(end * a3, a0);
    int64_t at = begin * a3;
    int64_t i = at;
    for (; at < stop; at++) {
        float sum0 = -0.0f;
        {
            const int64_t length = a1;
            float sum0_level[32];
            for (int64_t block = 0; block * 1024 < length; block++) {
                const int64_t first = block * 1024, count = MIN(length - first, 1024);
                float sum0_lane[64];
                for (int l = 0; l < 64; l++) sum0_lane[l] = -0.0f;
                float wide0[64];
                float wide1[64];
                int64_t base = first;
                for (; base + 64 <= first + count; base += 64) {
                    gc_widen_float16(wide0, &x1[base], 64);
                    gc_widen_float16(wide1, &x0[base + i * a2], 64);
                    for (int l = 0; l < 64; l++) {
                        const int64_t j = base + l;
                        sum0_lane[l] = sum0_lane[l] + ((float)gc_round_float16(wide1[l] * wide0[l]));
                    }
                }
                gc_widen_float16(wide0, &x1[base], first + count - base);
                gc_widen_float16(wide1, &x0[base + i * a2], first + count - base);
                REST(first + count - base) {
                    const int l = from + v;
                    float sum0_one = -0.0f;
                    if (v < rest - from) {
                        const int64_t j = base + l;
                        sum0_one = (float)gc_round_float16(wide1[l] * wide0[l]);
                    }
                    sum0_lane[l] = sum0_lane[l] + sum0_one;
                }
                FOLD(sum0_lane[l] = sum0_lane[l] + sum0_lane[l + half], )
                float sum0_part = sum0_lane[0];
                int level = 0;
                for (int64_t b = block; b & 1; b >>= 1, level++) {
                    sum0_part = sum0_level[level] + sum0_part;
                }
                sum0_level[level] = sum0_part;
            }
            const int64_t blocks = (length + 1023) / 1024;
            int64_t merged = 0;
            for (int level = 0; blocks >> level; level++)
                if (blocks >> level & 1) {
                    const int64_t full = (int64_t)1024 << level;
                    if (merged) {
                        sum0 = sum0_level[level] + sum0;
                        merged += full;
                    } else {
                        sum0 = sum0_level[level];
                        merged = length - ((blocks - 1) >> level << level) * 1024;
                    }
                }
        }
        y0[i] = gc_store_float16(sum0);
        i += 1;
    }
    return 0;
}
