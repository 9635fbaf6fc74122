typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_push_m2_float(
    float *restrict part, float *restrict means, float *restrict levels, float *restrict mean_levels,
    int64_t stride, int64_t columns, int64_t block, int64_t chunk, int64_t count);
#else
/* what `part` has of chunk `block` goes to the levels */
static __attribute__((noinline)) void gc_push_m2_float(
    float *restrict part, float *restrict means, float *restrict levels, float *restrict mean_levels,
    int64_t stride, int64_t columns, int64_t block, int64_t chunk, int64_t count)
{
    int64_t merged = count, full = chunk;
    for (; block & 1; block >>= 1, levels += stride, mean_levels += stride) {
        for (int64_t i = 0; i < columns; i++) {
            const float na = (float)full, nb = (float)merged, n = na + nb;
            const float delta = means[i] - mean_levels[i];
            part[i] = levels[i] + part[i] + delta * delta * (na * nb / n);
            means[i] = mean_levels[i] + delta * (nb / n);
        }
        merged += full;
        full *= 2;
    }
    for (int64_t i = 0; i < columns; i++) levels[i] = part[i];
    for (int64_t i = 0; i < columns; i++) mean_levels[i] = means[i];
}
#endif
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_fold_m2_float(
    float *restrict all, float *restrict means, const float *restrict levels,
    const float *restrict mean_levels, int64_t stride, int64_t columns, int64_t length, int64_t chunk);
#else
/* what the levels still hold of `length` elements, the shortest first */
static __attribute__((noinline)) void gc_fold_m2_float(
    float *restrict all, float *restrict means, const float *restrict levels,
    const float *restrict mean_levels, int64_t stride, int64_t columns, int64_t length, int64_t chunk)
{
    const int64_t last = (length - 1) / chunk;
    int64_t merged = 0, blocks = length ? last + 1 : 0;
    for (int level = 0; blocks >> level; level++, levels += stride, mean_levels += stride) {
        if (!(blocks >> level & 1)) continue;
        const int64_t full = chunk << level;
        if (!merged) {
            for (int64_t i = 0; i < columns; i++) all[i] = levels[i];
            for (int64_t i = 0; i < columns; i++) means[i] = mean_levels[i];
            merged = length - (last >> level << level) * chunk;
            continue;
        }
        for (int64_t i = 0; i < columns; i++) {
            const float na = (float)full, nb = (float)merged, n = na + nb;
            const float delta = means[i] - mean_levels[i];
            all[i] = levels[i] + all[i] + delta * delta * (na * nb / n);
            means[i] = mean_levels[i] + delta * (nb / n);
        }
        merged += full;
    }
}
#endif
static inline float gc_bits_float(uint32_t word) { float x; __builtin_memcpy(&x, &word, sizeof x); return x; }

int64_t column_m2_div_44ddc683(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
            float *restrict m20_levels = (float *)((char *)scratch + 0);
            float *restrict m20_mean_levels = (float *)((char *)scratch + 131072);
            const int64_t length = a1;
            for (int64_t block = 0; block * 16 < length; block++) {
                const int64_t first = block * 16, count = MIN(length - first, 16);
                int whole = count == 16;
                if (whole) {
                    _Pragma("GCC ivdep")
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
                    _Pragma("GCC ivdep")
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
                gc_push_m2_float(m20_part, m20_mean_part, m20_levels,
                    m20_mean_levels, 1024, i_stop - i_start, block, 16, count);
            }
            gc_fold_m2_float(m20, m20_mean, m20_levels, m20_mean_levels,
                1024, i_stop - i_start, length, 16);
        }
        #pragma GCC ivdep
        for (int64_t i = i_start; i < i_stop; i++) {
            y0[i] = m20[i - i_start] / p0;
        }
        i_start += width;
    }
    return 0;
}
