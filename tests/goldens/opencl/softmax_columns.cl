typedef struct { int64_t w[7]; } gc_words;

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

GC_KERNEL void column_max_sum_div_32046d9c(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    GC_GLOBAL char *GC_RESTRICT memory1,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, fold_float, 512);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory1 + words.w[1]);
    const int64_t a0 = words.w[2];
    const int64_t a1 = words.w[3];
    const int64_t a2 = words.w[4];
    const int64_t a3 = words.w[5];
    /* 8 items share a column */
    const int own = GC_ITEM / 32;
    const int64_t turn = group * 32 + GC_ITEM % 32;
    const bool live = turn < a0;
    const int64_t at = live ? turn : a0 - 1;
    const int64_t i = at;
    float max0 = gc_bits_float(0xff800000u);
    {
        const int64_t length = (live ? a1 : 0);
        float max0_part = gc_bits_float(0xff800000u);
        for (int64_t j = own; j < length; j += 8) {
            {
                const float t0 = x0[i + j * a2];
                max0_part = gc_max_float(max0_part, t0);
            }
        }
        max0 = max0_part;
        #if (GC_SHUFFLES / 32) > 1
        {
            float here = max0;
            #if (GC_SHUFFLES / 32) < 8
            fold_float[GC_ITEM] = here;
            GC_BARRIER();
            float all[8 / (GC_SHUFFLES / 32)];
            GC_UNROLL for (int k = 0; k < 8 / (GC_SHUFFLES / 32); k++)
                all[k] = fold_float[GC_ITEM + (own % (GC_SHUFFLES / 32) - own + k * (GC_SHUFFLES / 32)) * 32];
            GC_UNROLL for (int step = 8 / (GC_SHUFFLES / 32) / 2; step; step >>= 1)
                GC_UNROLL for (int k = 0; k < step; k++) all[k] = gc_max_float(all[k], all[k + step]);
            here = all[0];
            #endif
            GC_UNROLL for (int step = MIN(8, (GC_SHUFFLES / 32)) / 2; step; step >>= 1) {
                const float there = GC_SHUFFLE_XOR(here, step * 32);
                here = gc_max_float(here, there);
            }
            max0 = here;
        }
        #else
        fold_float[GC_ITEM] = max0;
        GC_BARRIER();
        for (int step = 4; step; step >>= 1) {
            if (own < step)
                fold_float[GC_ITEM] = gc_max_float(fold_float[GC_ITEM], fold_float[GC_ITEM + step * 32]);
            GC_BARRIER();
        }
        max0 = fold_float[GC_ITEM - own * 32];
        #endif
        GC_BARRIER();
    }
    float sum1 = -0.0f;
    {
        const int64_t length = (live ? a1 : 0);
        float sum1_level[32];
        int64_t span = 16;       /* elements of a team */
        while (span * 8 < a1) span *= 2;
        const int64_t start = own * span, own_length = MAX(MIN(length - start, span), 0);
        for (int64_t block = 0; block * 16 < span; block++) {
            const int64_t first = start + block * 16;
            const int64_t last = MIN(first + 16, length);
            float sum1_part = -0.0f;
            GC_UNROLL_16
            for (int64_t j = first; j < last; j += 1) {
                {
                    const float t1 = x0[i + j * a2];
                    const float t2 = gc_exp_float(t1 - max0);
                    sum1_part = sum1_part + t2;
                }
            }
            if (block * 16 < own_length) {
                int level = 0;
                for (int64_t b = block; b & 1; b >>= 1, level++) {
                    sum1_part = sum1_level[level] + sum1_part;
                }
                sum1_level[level] = sum1_part;
            }
        }
        const int64_t blocks = (own_length + 15) / 16;
        int64_t merged = 0;
        for (int level = 0; blocks >> level; level++)
            if (blocks >> level & 1) {
                const int64_t full = (int64_t)16 << level;
                if (merged) {
                    sum1 = sum1_level[level] + sum1;
                    merged += full;
                } else {
                    sum1 = sum1_level[level];
                    merged = own_length - ((blocks - 1) >> level << level) * 16;
                }
            }
        fold_float[GC_ITEM] = sum1;
        GC_BARRIER();
        {
            float all[8];
            GC_UNROLL for (int t = 0; t < 8; t++) {
                const int place = GC_ITEM + (t - own) * 32;
                all[t] = fold_float[place];
            }
            GC_UNROLL for (int near = 1; near < 8; near *= 2)
                GC_UNROLL for (int t = 0; t + near < 8; t += 2 * near)
                    if ((t + near) * span < length) {
                        all[t] = all[t] + all[t + near];
                    }
            sum1 = all[0];
        }
        GC_BARRIER();
    }
    for (int64_t j = own; j < (live ? a1 : 0); j += 8) {
        {
            const float t3 = x0[i + j * a2];
            const float t4 = gc_exp_float(t3 - max0);
            y0[i + j * a3] = t4 / sum1;
        }
    }
}
