typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static inline float gc_sqrt_float(float x) { return __builtin_sqrtf(x); }
static inline float gc_bits_float(uint32_t word) { float x; __builtin_memcpy(&x, &word, sizeof x); return x; }
/* combine lane l with lane l + half, until one is left */
#define FOLD_BY(n, step, then) { enum { half = n }; _Pragma("omp simd") for (int l = 0; l < half; l++) step; then; }
#define FOLD(step, then) FOLD_BY(32, step, then) FOLD_BY(16, step, then) FOLD_BY(8, step, then) FOLD_BY(4, step, then) FOLD_BY(2, step, then) FOLD_BY(1, step, then)
/* the rest of a row, fewer elements than lanes, in vectors too */
#define VECTOR _Pragma("omp simd") for (int v = 0; v < 16; v++)
#define REST(n) _Pragma("GCC unroll 1") for (int from = 0, rest = n; from < rest; from += 16) VECTOR

int64_t row_sum_m2_mul_81fcb36f(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    const float *restrict x1 = buf[1];
    float *restrict y0 = buf[2];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const int64_t a2 = arg[2];
    const int64_t a3 = arg[3];
    const int64_t a4 = arg[4];
    const int64_t a5 = arg[5];
    const int64_t a6 = arg[6];
    const float p0 = gc_bits_float((uint32_t)arg[7]);
    const float p1 = gc_bits_float((uint32_t)arg[8]);
    const float p2 = gc_bits_float((uint32_t)arg[9]);
    const int64_t stop = MIN(end * a6, a0);
    int64_t at = begin * a6;
    int64_t i = at;
    for (; at < stop; at++) {
        float sum0 = -0.0f;
        float m21 = -0.0f, m21_mean = 0;
        {
            const int64_t length = a1;
            float sum0_level[32];
            float m21_level[32], m21_mean_level[32];
            for (int64_t block = 0; block * 1024 < length; block++) {
                const int64_t first = block * 1024, count = MIN(length - first, 1024);
                float sum0_lane[64];
                for (int l = 0; l < 64; l++) sum0_lane[l] = -0.0f;
                int64_t base = first;
                for (; base + 64 <= first + count; base += 64) {
                    for (int l = 0; l < 64; l++) {
                        const int64_t j = base + l;
                        const float t0 = x0[i * a4 + j];
                        sum0_lane[l] = sum0_lane[l] + t0;
                    }
                }
                REST(first + count - base) {
                    const int l = from + v;
                    float sum0_one = -0.0f;
                    if (v < rest - from) {
                        const int64_t j = base + l;
                        const float t0 = x0[i * a4 + j];
                        sum0_one = t0;
                    }
                    sum0_lane[l] = sum0_lane[l] + sum0_one;
                }
                FOLD(sum0_lane[l] = sum0_lane[l] + sum0_lane[l + half], )
                float sum0_part = sum0_lane[0];
                float m21_part = sum0_lane[0];
                /* deviations from the chunk's mean */
                float m21_mean_part = m21_part / (float)count;
                {
                    float m21_lane[64];
                    for (int l = 0; l < 64; l++) m21_lane[l] = 0;
                    int64_t base = first;
                    for (; base + 64 <= first + count; base += 64) {
                        for (int l = 0; l < 64; l += 16)
                            __builtin_prefetch(&x0[base + l + i * a2 + a3]);
                        for (int l = 0; l < 64; l++) {
                            const int64_t j = base + l;
                            const float t0 = x0[i * a4 + j];
                            const float d = (t0) - m21_mean_part; m21_lane[l] = m21_lane[l] + d * d;
                        }
                    }
                    REST(first + count - base) {
                        const int l = from + v;
                        float m21_one = 0;
                        if (v < rest - from) {
                            const int64_t j = base + l;
                            const float t0 = x0[i * a4 + j];
                            m21_one = (t0) - m21_mean_part;
                        }
                        m21_lane[l] = m21_lane[l] + m21_one * m21_one;
                    }
                    FOLD(m21_lane[l] = m21_lane[l] + m21_lane[l + half], )
                    m21_part = m21_lane[0];
                }
                int level = 0;
                int64_t merged = count;
                for (int64_t b = block; b & 1; b >>= 1, level++) {
                    const int64_t full = (int64_t)1024 << level;
                    sum0_part = sum0_level[level] + sum0_part;
                    {
                        const float na = (float)full, nb = (float)merged, n = na + nb;
                        const float delta = m21_mean_part - m21_mean_level[level];
                        m21_part = m21_level[level] + m21_part + delta * delta * (na * nb / n);
                        m21_mean_part = m21_mean_level[level] + delta * (nb / n);
                    }
                    merged += full;
                }
                sum0_level[level] = sum0_part;
                m21_level[level] = m21_part;
                m21_mean_level[level] = m21_mean_part;
            }
            const int64_t blocks = (length + 1023) / 1024;
            int64_t merged = 0;
            for (int level = 0; blocks >> level; level++)
                if (blocks >> level & 1) {
                    const int64_t full = (int64_t)1024 << level;
                    if (merged) {
                        sum0 = sum0_level[level] + sum0;
                        {
                            const float na = (float)full, nb = (float)merged, n = na + nb;
                            const float delta = m21_mean - m21_mean_level[level];
                            m21 = m21_level[level] + m21 + delta * delta * (na * nb / n);
                            m21_mean = m21_mean_level[level] + delta * (nb / n);
                        }
                        merged += full;
                    } else {
                        sum0 = sum0_level[level];
                        m21 = m21_level[level];
                        m21_mean = m21_mean_level[level];
                        merged = length - ((blocks - 1) >> level << level) * 1024;
                    }
                }
        }
        const float t2 = sum0 / p0;
        const float t3 = gc_sqrt_float((m21 / p1) + p2);
        for (int64_t j = 0; j < a1; j++) {
            const float t1 = x0[i * a4 + j];
            y0[i * a5 + j] = ((t1 - t2) / t3) * x1[j];
        }
        i += 1;
    }
    return 0;
}
