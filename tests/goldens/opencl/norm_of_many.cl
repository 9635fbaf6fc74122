typedef struct { int64_t w[8]; } gc_words;

/* quotient and rest of numbers that are not negative: most fit 32 bits, where division is several times faster */
GC_INLINE int64_t gc_quotient(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a / n : (int64_t)((uint32_t)a / (uint32_t)n);
}
GC_INLINE int64_t gc_rest(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a % n : (int64_t)((uint32_t)a % (uint32_t)n);
}

GC_KERNEL void row_sum_153baf4b(
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
    const int64_t a4 = words.w[6];
    /* 64 items share a row */
    const int own = GC_ITEM % 64;
    const int64_t turn = group * 4 + GC_ITEM / 64;
    const bool live = turn < a0;
    const int64_t at = live ? turn : a0 - 1;
    const int64_t i = at;
    float sum0 = -0.0f;
    {
        const int64_t length = (live ? MIN(a1, i * a2 + a3) : 0);
        const int64_t first = 0;
        const int64_t last = MIN(first + 1024, length);
        float sum0_part = -0.0f;
        if (last - first == 1024) {
            GC_UNROLL for (int r = 0; r < 16; r++) {
                const int64_t j = first + own + r * 64;
                const float t0 = x0[i * a4 + j];
                sum0_part = sum0_part + (t0 * t0);
            }
        } else {
            for (int64_t j = first + own; j < last; j += 64) {
                const float t0 = x0[i * a4 + j];
                sum0_part = sum0_part + (t0 * t0);
            }
        }
        #if GC_SHUFFLES > 1
        {
            float here = sum0_part;
            #if GC_SHUFFLES < 64
            fold_float[GC_ITEM] = here;
            GC_BARRIER();
            float all[64 / GC_SHUFFLES];
            GC_UNROLL for (int k = 0; k < 64 / GC_SHUFFLES; k++)
                all[k] = fold_float[GC_ITEM + (own % GC_SHUFFLES - own + k * GC_SHUFFLES)];
            GC_UNROLL for (int step = 64 / GC_SHUFFLES / 2; step; step >>= 1)
                GC_UNROLL for (int k = 0; k < step; k++) all[k] = all[k] + all[k + step];
            here = all[0];
            #endif
            GC_UNROLL for (int step = MIN(64, GC_SHUFFLES) / 2; step; step >>= 1) {
                const float there = GC_SHUFFLE_XOR(here, step);
                here = here + there;
            }
            sum0_part = here;
        }
        #else
        fold_float[GC_ITEM] = sum0_part;
        GC_BARRIER();
        for (int step = 32; step; step >>= 1) {
            if (own < step)
                fold_float[GC_ITEM] = fold_float[GC_ITEM] + fold_float[GC_ITEM + step];
            GC_BARRIER();
        }
        sum0_part = fold_float[GC_ITEM - own];
        #endif
        sum0 = sum0_part;
        GC_BARRIER();
    }
    if (live && own == 0) y0[i] = sum0;
}

typedef struct { int64_t w[4]; } gc_words;

/* quotient and rest of numbers that are not negative: most fit 32 bits, where division is several times faster */
GC_INLINE int64_t gc_quotient(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a / n : (int64_t)((uint32_t)a / (uint32_t)n);
}
GC_INLINE int64_t gc_rest(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a % n : (int64_t)((uint32_t)a % (uint32_t)n);
}

GC_KERNEL void map_sqrt_bf8396ed(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    GC_GLOBAL char *GC_RESTRICT memory1,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, fold_float, 512);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory1 + words.w[1]);
    const int64_t a0 = words.w[2];
    float sum_all0 = -0.0f;
    {
        const int64_t length = a0;
        float sum_all0_level[32];
        int64_t span = 1;       /* elements of a team */
        while (span * 256 < a0) span *= 2;
        const int64_t start = GC_ITEM * span, own_length = MAX(MIN(length - start, span), 0);
        for (int64_t block = 0; block * 1 < span; block++) {
            const int64_t first = start + block * 1;
            const int64_t last = MIN(first + 1, length);
            float sum_all0_part = -0.0f;
            for (int64_t j = first; j < last; j += 1) {
                sum_all0_part = sum_all0_part + x0[j];
            }
            if (block * 1 < own_length) {
                int level = 0;
                for (int64_t b = block; b & 1; b >>= 1, level++) {
                    sum_all0_part = sum_all0_level[level] + sum_all0_part;
                }
                sum_all0_level[level] = sum_all0_part;
            }
        }
        const int64_t blocks = (own_length + 0) / 1;
        int64_t merged = 0;
        for (int level = 0; blocks >> level; level++)
            if (blocks >> level & 1) {
                const int64_t full = (int64_t)1 << level;
                if (merged) {
                    sum_all0 = sum_all0_level[level] + sum_all0;
                    merged += full;
                } else {
                    sum_all0 = sum_all0_level[level];
                    merged = own_length - ((blocks - 1) >> level << level) * 1;
                }
            }
        fold_float[GC_ITEM] = sum_all0;
        GC_BARRIER();
        for (int near = 1; near < 256; near *= 2) {
            if ((GC_ITEM & (2 * near - 1)) == 0 && start + near * span < length) {
                const int other = GC_ITEM + near * 1;
                fold_float[GC_ITEM] = fold_float[GC_ITEM] + fold_float[other];
            }
            GC_BARRIER();
        }
        sum_all0 = fold_float[GC_ITEM - GC_ITEM * 1];
        GC_BARRIER();
    }
    const int64_t stop = MIN((group + 1) * 256, 1);
    for (int64_t at = group * 256 + GC_ITEM; at < stop; at += 256) {
        const int64_t i = at;
        const float t0 = sqrt(sum_all0);
        {
            y0[0] = t0;
        }
    }
}
