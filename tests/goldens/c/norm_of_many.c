typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
/* combine lane l with lane l + half, until one is left */
#define FOLD_BY(n, step, then) { enum { half = n }; _Pragma("omp simd") for (int l = 0; l < half; l++) step; then; }
#define FOLD(step, then) FOLD_BY(32, step, then) FOLD_BY(16, step, then) FOLD_BY(8, step, then) FOLD_BY(4, step, then) FOLD_BY(2, step, then) FOLD_BY(1, step, then)
/* the rest of a row, fewer elements than lanes, in vectors too */
#define VECTOR _Pragma("omp simd") for (int v = 0; v < 16; v++)
#define REST(n) _Pragma("GCC unroll 1") for (int from = 0, rest = n; from < rest; from += 16) VECTOR

int64_t row_sum_68591060(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    float *restrict y0 = buf[1];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const int64_t a2 = arg[2];
    const int64_t a3 = arg[3];
    const int64_t a4 = arg[4];
    const int64_t a5 = arg[5];
    const int64_t stop = MIN(end * a5, a0);
    int64_t at = begin * a5;
    int64_t i = at;
    for (; at < stop; at++) {
        float sum0 = -0.0f;
        {
            const int64_t length = MIN(a1, i * a2 + a3);
            float sum0_level[32];
            for (int64_t block = 0; block * 1024 < length; block++) {
                const int64_t first = block * 1024, count = MIN(length - first, 1024);
                float sum0_lane[64];
                for (int l = 0; l < 64; l++) sum0_lane[l] = -0.0f;
                int64_t base = first;
                for (; base + 64 <= first + count; base += 64) {
                    for (int l = 0; l < 64; l++) {
                        const int64_t j = base + l;
                        const float t0 = x0[i * a4 + j];
                        sum0_lane[l] = sum0_lane[l] + (t0 * t0);
                    }
                }
                REST(first + count - base) {
                    const int l = from + v;
                    float sum0_one = -0.0f;
                    if (v < rest - from) {
                        const int64_t j = base + l;
                        const float t0 = x0[i * a4 + j];
                        sum0_one = t0 * t0;
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
        y0[i] = sum0;
        i += 1;
    }
    return 0;
}

typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static inline float gc_sqrt_float(float x) { return __builtin_sqrtf(x); }

int64_t map_sqrt_2b145c43(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    float *restrict y0 = buf[1];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    float sum_all0 = -0.0f;
    {
        const int64_t length = a0;
        float sum_all0_level[32];
        for (int64_t block = 0; block * 1 < length; block++) {
            const int64_t first = block * 1, count = MIN(length - first, 1);
            const int64_t j = first;
                    float sum_all0_part = x0[j];
            int level = 0;
            for (int64_t b = block; b & 1; b >>= 1, level++) {
                sum_all0_part = sum_all0_level[level] + sum_all0_part;
            }
            sum_all0_level[level] = sum_all0_part;
        }
        const int64_t blocks = (length + 0) / 1;
        int64_t merged = 0;
        for (int level = 0; blocks >> level; level++)
            if (blocks >> level & 1) {
                const int64_t full = (int64_t)1 << level;
                if (merged) {
                    sum_all0 = sum_all0_level[level] + sum_all0;
                    merged += full;
                } else {
                    sum_all0 = sum_all0_level[level];
                    merged = length - ((blocks - 1) >> level << level) * 1;
                }
            }
    }
    const int64_t stop = MIN(end * a1, 1);
    int64_t at = begin * a1;
    int64_t i_start = at;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, 1 - i_start);
        const int64_t i_stop = i_start + width;
        const float t0 = gc_sqrt_float(sum_all0);
        for (int64_t i = i_start; i < i_stop; i++) {
            y0[0] = t0;
        }
        i_start += width;
    }
    return 0;
}
