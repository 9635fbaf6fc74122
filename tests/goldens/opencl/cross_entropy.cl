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
/* One outside 0..n-1 sets a bit of *bad and becomes 0. */
GC_INLINE int64_t gc_check_unsigned(uint64_t i, int64_t n, int number, uint64_t *bad)
{
    const uint64_t at = i;
    const uint64_t outside = (uint64_t)at >= (uint64_t)n;
    *bad |= outside << number;
    return outside ? 0 : at;
}
GC_INLINE float gc_log_float(float x)
{
    return log(x);
}
/* Wraps a negative index; one outside 0..n-1 sets a bit of *bad and becomes 0. */
GC_INLINE int64_t gc_check_index(int64_t i, int64_t n, int number, uint64_t *bad)
{
    const int64_t at = i < 0 ? i + n : i;
    const uint64_t outside = (uint64_t)at >= (uint64_t)n;
    *bad |= outside << number;
    return outside ? 0 : at;
}
/* the number of the lowest bit that is set */
GC_INLINE int gc_first(uint64_t bits)
{
    int k = 0;
    while (!(bits >> k & 1)) k++;
    return k;
}

GC_KERNEL void row_max_sum_3fe870ba(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, fold_float, 512);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    const GC_GLOBAL int64_t *GC_RESTRICT x1 = (const GC_GLOBAL int64_t *)(memory1 + words.w[1]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory2 + words.w[2]);
    const int64_t a0 = words.w[3];
    const int64_t a1 = words.w[4];
    const int64_t a2 = words.w[5];
    const int64_t a3 = words.w[6];
    uint64_t bad = 0;    /* one bit for each bounds check */
    /* 64 items share a row */
    const int own = GC_ITEM % 64;
    const int64_t turn = group * 4 + GC_ITEM / 64;
    const bool live = turn < a0;
    const int64_t at = live ? turn : a0 - 1;
    const int64_t i = at;
    float max0 = gc_bits_float(0xff800000u);
    {
        const int64_t length = (live ? a1 : 0);
        float max0_part = gc_bits_float(0xff800000u);
        for (int64_t first = 0; first < length; first += 1024) {
            const int64_t last = MIN(first + 1024, length);
            if (last - first == 1024) {
                GC_UNROLL for (int r = 0; r < 16; r++) {
                    const int64_t j = first + own + r * 64;
                    const float t0 = x0[i * a2 + j];
                    max0_part = gc_max_float(max0_part, t0);
                }
            } else {
                for (int64_t j = first + own; j < last; j += 64) {
                    const float t0 = x0[i * a2 + j];
                    max0_part = gc_max_float(max0_part, t0);
                }
            }
        }
        max0 = max0_part;
        #if GC_SHUFFLES > 1
        {
            float here = max0;
            #if GC_SHUFFLES < 64
            fold_float[GC_ITEM] = here;
            GC_BARRIER();
            float all[64 / GC_SHUFFLES];
            GC_UNROLL for (int k = 0; k < 64 / GC_SHUFFLES; k++)
                all[k] = fold_float[GC_ITEM + (own % GC_SHUFFLES - own + k * GC_SHUFFLES)];
            GC_UNROLL for (int step = 64 / GC_SHUFFLES / 2; step; step >>= 1)
                GC_UNROLL for (int k = 0; k < step; k++) all[k] = gc_max_float(all[k], all[k + step]);
            here = all[0];
            #endif
            GC_UNROLL for (int step = MIN(64, GC_SHUFFLES) / 2; step; step >>= 1) {
                const float there = GC_SHUFFLE_XOR(here, step);
                here = gc_max_float(here, there);
            }
            max0 = here;
        }
        #else
        fold_float[GC_ITEM] = max0;
        GC_BARRIER();
        for (int step = 32; step; step >>= 1) {
            if (own < step)
                fold_float[GC_ITEM] = gc_max_float(fold_float[GC_ITEM], fold_float[GC_ITEM + step]);
            GC_BARRIER();
        }
        max0 = fold_float[GC_ITEM - own];
        #endif
        GC_BARRIER();
    }
    float sum1 = -0.0f;
    {
        const int64_t length = (live ? a1 : 0);
        const int64_t first = 0;
        const int64_t last = MIN(first + 1024, length);
        float sum1_part = -0.0f;
        if (last - first == 1024) {
            GC_UNROLL for (int r = 0; r < 16; r++) {
                const int64_t j = first + own + r * 64;
                const float t1 = x0[i * a2 + j];
                const float t2 = t1 - max0;
                sum1_part = sum1_part + gc_exp_float(t2);
            }
        } else {
            for (int64_t j = first + own; j < last; j += 64) {
                const float t1 = x0[i * a2 + j];
                const float t2 = t1 - max0;
                sum1_part = sum1_part + gc_exp_float(t2);
            }
        }
        #if GC_SHUFFLES > 1
        {
            float here = sum1_part;
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
            sum1_part = here;
        }
        #else
        fold_float[GC_ITEM] = sum1_part;
        GC_BARRIER();
        for (int step = 32; step; step >>= 1) {
            if (own < step)
                fold_float[GC_ITEM] = fold_float[GC_ITEM] + fold_float[GC_ITEM + step];
            GC_BARRIER();
        }
        sum1_part = fold_float[GC_ITEM - own];
        #endif
        sum1 = sum1_part;
        GC_BARRIER();
    }
    const int64_t t3 = gc_check_unsigned(x1[i], a3, 0, &bad);
    const float t6 = gc_log_float(sum1);
    float sum2 = -0.0f;
    {
        const int64_t length = (live ? a1 : 0);
        const int64_t first = 0;
        const int64_t last = MIN(first + 1024, length);
        float sum2_part = -0.0f;
        if (last - first == 1024) {
            GC_UNROLL for (int r = 0; r < 16; r++) {
                const int64_t j = first + own + r * 64;
                const float t4 = x0[i * a2 + j];
                const float t5 = t4 - max0;
                sum2_part = sum2_part + ((t3 == (j)) ? (t5 - t6) : 0.0f);
            }
        } else {
            for (int64_t j = first + own; j < last; j += 64) {
                const float t4 = x0[i * a2 + j];
                const float t5 = t4 - max0;
                sum2_part = sum2_part + ((t3 == (j)) ? (t5 - t6) : 0.0f);
            }
        }
        #if GC_SHUFFLES > 1
        {
            float here = sum2_part;
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
            sum2_part = here;
        }
        #else
        fold_float[GC_ITEM] = sum2_part;
        GC_BARRIER();
        for (int step = 32; step; step >>= 1) {
            if (own < step)
                fold_float[GC_ITEM] = fold_float[GC_ITEM] + fold_float[GC_ITEM + step];
            GC_BARRIER();
        }
        sum2_part = fold_float[GC_ITEM - own];
        #endif
        sum2 = sum2_part;
        GC_BARRIER();
    }
    if (live && own == 0) y0[i] = sum2;
    if (live && bad) GC_ATOMIC_MAX(fault + words.w[7], 64 - gc_first(bad));
}

typedef struct { int64_t w[5]; } gc_words;

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

GC_KERNEL void row_sum_div_0d2ea088(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    GC_GLOBAL char *GC_RESTRICT memory1,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, fold_float, 512);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory1 + words.w[1]);
    const int64_t a0 = words.w[2];
    const float p0 = gc_bits_float((uint32_t)words.w[3]);
    /* 64 items share a row */
    const int own = GC_ITEM % 64;
    const int64_t turn = group * 4 + GC_ITEM / 64;
    const bool live = turn < 1;
    float sum0 = -0.0f;
    {
        const int64_t length = (live ? a0 : 0);
        const int64_t first = 0;
        const int64_t last = MIN(first + 1024, length);
        float sum0_part = -0.0f;
        if (last - first == 1024) {
            GC_UNROLL for (int r = 0; r < 16; r++) {
                const int64_t j = first + own + r * 64;
                sum0_part = sum0_part + (-x0[j]);
            }
        } else {
            for (int64_t j = first + own; j < last; j += 64) {
                sum0_part = sum0_part + (-x0[j]);
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
    if (live && own == 0) y0[0] = sum0 / p0;
}
