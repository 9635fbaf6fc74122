typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static inline float gc_bits_float(uint32_t word) { float x; __builtin_memcpy(&x, &word, sizeof x); return x; }

int64_t column_m2_div_797b4ca1(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    float *restrict y0 = buf[1];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const int64_t a2 = arg[2];
    const int64_t a3 = arg[3];
    const float p0 = gc_bits_float((uint32_t)arg[4]);
    const int64_t stop = MIN(end * a3, a0);
    int64_t at = begin * a3;
    int64_t i_start = at;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, a0 - i_start);
        width = MIN(width, 1024);
        const int64_t i_stop = i_start + width;
        float m20[1024], m20_mean[1024];
        for (int64_t i = i_start; i < i_stop; i++) m20[i - i_start] = -0.0f;
        {
            float m20_part[1024];
            float m20_mean_part[1024];
            float (*restrict m20_level)[1024] = (void *)((char *)scratch + 0);
            float (*restrict m20_mean_level)[1024] = (void *)((char *)scratch + 131072);
            const int64_t length = a1;
            for (int64_t block = 0; block * 16 < length; block++) {
                const int64_t first = block * 16, count = MIN(length - first, 16);
                int whole = count == 16;
                if (whole) {
                    for (int64_t i = i_start; i < i_stop; i++) {
                        float m20_sum = -0.0f, m20_row[16];
                        _Pragma("GCC unroll 16")
                        for (int64_t r = 0; r < 16; r++) {
                            const int64_t j = first + r;
                            m20_row[r] = x0[i + j * a2]; m20_sum = m20_sum + m20_row[r];
                        }
                        const float m20_m = m20_sum / 16;
                        float m20_squares = 0;
                        _Pragma("GCC unroll 16")
                        for (int64_t r = 0; r < 16; r++) {
                            const float d = m20_row[r] - m20_m;
                            m20_squares = m20_squares + d * d;
                        }
                        m20_mean_part[i - i_start] = m20_m;
                        m20_part[i - i_start] = m20_squares;
                    }
                } else {
                    for (int64_t i = i_start; i < i_stop; i++) {
                        float m20_sum = -0.0f, m20_row[16];
                        for (int64_t r = 0; r < count; r++) {
                            const int64_t j = first + r;
                            m20_row[r] = x0[i + j * a2]; m20_sum = m20_sum + m20_row[r];
                        }
                        const float m20_m = m20_sum / count;
                        float m20_squares = 0;
                        for (int64_t r = 0; r < count; r++) {
                            const float d = m20_row[r] - m20_m;
                            m20_squares = m20_squares + d * d;
                        }
                        m20_mean_part[i - i_start] = m20_m;
                        m20_part[i - i_start] = m20_squares;
                    }
                }
                int level = 0;
                int64_t merged = count;
                for (int64_t b = block; b & 1; b >>= 1, level++) {
                    const int64_t full = (int64_t)16 << level;
                    for (int64_t i = i_start; i < i_stop; i++) {
                        const float na = (float)full, nb = (float)merged, n = na + nb;
                        const float delta = m20_mean_part[i - i_start] - m20_mean_level[level][i - i_start];
                        m20_part[i - i_start] = m20_level[level][i - i_start] + m20_part[i - i_start] + delta * delta * (na * nb / n);
                        m20_mean_part[i - i_start] = m20_mean_level[level][i - i_start] + delta * (nb / n);
                    }
                    merged += full;
                }
                for (int64_t i = i_start; i < i_stop; i++) m20_level[level][i - i_start] = m20_part[i - i_start];
                for (int64_t i = i_start; i < i_stop; i++) m20_mean_level[level][i - i_start] = m20_mean_part[i - i_start];
            }
            const int64_t blocks = (length + 15) / 16;
            int64_t merged = 0;
            for (int level = 0; blocks >> level; level++)
                if (blocks >> level & 1) {
                    const int64_t full = (int64_t)16 << level;
                    if (merged) {
                        for (int64_t i = i_start; i < i_stop; i++) {
                            const float na = (float)full, nb = (float)merged, n = na + nb;
                            const float delta = m20_mean[i - i_start] - m20_mean_level[level][i - i_start];
                            m20[i - i_start] = m20_level[level][i - i_start] + m20[i - i_start] + delta * delta * (na * nb / n);
                            m20_mean[i - i_start] = m20_mean_level[level][i - i_start] + delta * (nb / n);
                        }
                        merged += full;
                    } else {
                        for (int64_t i = i_start; i < i_stop; i++) m20[i - i_start] = m20_level[level][i - i_start];
                        for (int64_t i = i_start; i < i_stop; i++) m20_mean[i - i_start] = m20_mean_level[level][i - i_start];
                        merged = length - ((blocks - 1) >> level << level) * 16;
                    }
                }
        }
        #pragma GCC ivdep
        for (int64_t i = i_start; i < i_stop; i++) {
            y0[i] = m20[i - i_start] / p0;
        }
        i_start += width;
    }
    return 0;
}
