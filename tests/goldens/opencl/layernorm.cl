typedef struct { int64_t w[11]; } gc_words;

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

GC_KERNEL void row_sum_m2_mul_4d4eab5b(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, fold_float, 512);
    GC_SHARED_ARRAY(float, mean_float, 512);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    const GC_GLOBAL float *GC_RESTRICT x1 = (const GC_GLOBAL float *)(memory1 + words.w[1]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory2 + words.w[2]);
    const int64_t a0 = words.w[3];
    const int64_t a1 = words.w[4];
    const int64_t a2 = words.w[5];
    const int64_t a3 = words.w[6];
    const float p0 = gc_bits_float((uint32_t)words.w[7]);
    const float p1 = gc_bits_float((uint32_t)words.w[8]);
    const float p2 = gc_bits_float((uint32_t)words.w[9]);
    /* 64 items share a row */
    const int own = GC_ITEM % 64;
    const int64_t turn = group * 4 + GC_ITEM / 64;
    const bool live = turn < a0;
    const int64_t at = live ? turn : a0 - 1;
    const int64_t i = at;
    float sum0 = -0.0f;
    float m21 = -0.0f, m21_mean = 0;
    {
        const int64_t length = (live ? a1 : 0);
        const int64_t first = 0;
        const int64_t last = MIN(first + 1024, length);
        float sum0_part = -0.0f;
        float m21_part = -0.0f, m21_kept[16];
        if (last - first == 1024) {
            GC_UNROLL for (int r = 0; r < 16; r++) {
                const int64_t j = first + own + r * 64;
                const float t0 = x0[i * a2 + j];
                sum0_part = sum0_part + t0;
                m21_kept[r] = t0;
            }
        } else {
            for (int64_t j = first + own; j < last; j += 64) {
                const float t0 = x0[i * a2 + j];
                sum0_part = sum0_part + t0;
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
        float m21_mean_part = first < last ? sum0_part / (float)(last - first) : 0;
        {
            float squares = 0;
            if (last - first == 1024) {
                GC_UNROLL for (int r = 0; r < 16; r++) {
                    const float d = m21_kept[r] - m21_mean_part; squares = squares + d * d;
                }
            } else {
                for (int64_t j = first + own; j < last; j += 64) {
                    const float t0 = x0[i * a2 + j];
                    const float d = (t0) - m21_mean_part; squares = squares + d * d;
                }
            }
            m21_part = squares;
        }
        #if GC_SHUFFLES > 1
        {
            float here = m21_part;
            #if GC_SHUFFLES < 64
            fold_float[256 + GC_ITEM] = here;
            GC_BARRIER();
            float all[64 / GC_SHUFFLES];
            GC_UNROLL for (int k = 0; k < 64 / GC_SHUFFLES; k++)
                all[k] = fold_float[256 + GC_ITEM + (own % GC_SHUFFLES - own + k * GC_SHUFFLES)];
            GC_UNROLL for (int step = 64 / GC_SHUFFLES / 2; step; step >>= 1)
                GC_UNROLL for (int k = 0; k < step; k++) all[k] = all[k] + all[k + step];
            here = all[0];
            #endif
            GC_UNROLL for (int step = MIN(64, GC_SHUFFLES) / 2; step; step >>= 1) {
                const float there = GC_SHUFFLE_XOR(here, step);
                here = here + there;
            }
            m21_part = here;
        }
        #else
        fold_float[256 + GC_ITEM] = m21_part;
        GC_BARRIER();
        for (int step = 32; step; step >>= 1) {
            if (own < step)
                fold_float[256 + GC_ITEM] = fold_float[256 + GC_ITEM] + fold_float[256 + GC_ITEM + step];
            GC_BARRIER();
        }
        m21_part = fold_float[256 + GC_ITEM - own];
        #endif
        sum0 = sum0_part;
        m21_mean = m21_mean_part;
        m21 = m21_part;
        GC_BARRIER();
    }
    const float t2 = sum0 / p0;
    const float t3 = sqrt((m21 / p1) + p2);
    for (int64_t j = own; j < (live ? a1 : 0); j += 64) {
        const float t1 = x0[i * a2 + j];
        y0[i * a3 + j] = ((t1 - t2) / t3) * x1[j];
    }
}
