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

GC_KERNEL void row_max_min_cast_c18e52b6(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    GC_GLOBAL char *GC_RESTRICT memory1,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, fold_float, 512);
    GC_SHARED_ARRAY(int32_t, fold_int32_t, 512);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    GC_GLOBAL int64_t *GC_RESTRICT y0 = (GC_GLOBAL int64_t *)(memory1 + words.w[1]);
    const int64_t a0 = words.w[2];
    const int64_t a1 = words.w[3];
    const int64_t a2 = words.w[4];
    const int32_t p0 = (int32_t)words.w[5];
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
    int32_t min1 = 2147483647;
    {
        const int64_t length = (live ? a1 : 0);
        int32_t min1_part = 2147483647;
        for (int64_t first = 0; first < length; first += 1024) {
            const int64_t last = MIN(first + 1024, length);
            if (last - first == 1024) {
                GC_UNROLL for (int r = 0; r < 16; r++) {
                    const int64_t j = first + own + r * 64;
                    const float t1 = x0[i * a2 + j];
                    min1_part = min1_part < (((uint8_t)((t1 == max0) | (t1 != t1))) ? ((int32_t)j) : p0) ? min1_part : (((uint8_t)((t1 == max0) | (t1 != t1))) ? ((int32_t)j) : p0);
                }
            } else {
                for (int64_t j = first + own; j < last; j += 64) {
                    const float t1 = x0[i * a2 + j];
                    min1_part = min1_part < (((uint8_t)((t1 == max0) | (t1 != t1))) ? ((int32_t)j) : p0) ? min1_part : (((uint8_t)((t1 == max0) | (t1 != t1))) ? ((int32_t)j) : p0);
                }
            }
        }
        min1 = min1_part;
        #if GC_SHUFFLES > 1
        {
            int32_t here = min1;
            #if GC_SHUFFLES < 64
            fold_int32_t[GC_ITEM] = here;
            GC_BARRIER();
            int32_t all[64 / GC_SHUFFLES];
            GC_UNROLL for (int k = 0; k < 64 / GC_SHUFFLES; k++)
                all[k] = fold_int32_t[GC_ITEM + (own % GC_SHUFFLES - own + k * GC_SHUFFLES)];
            GC_UNROLL for (int step = 64 / GC_SHUFFLES / 2; step; step >>= 1)
                GC_UNROLL for (int k = 0; k < step; k++) all[k] = all[k] < all[k + step] ? all[k] : all[k + step];
            here = all[0];
            #endif
            GC_UNROLL for (int step = MIN(64, GC_SHUFFLES) / 2; step; step >>= 1) {
                const int32_t there = GC_SHUFFLE_XOR(here, step);
                here = here < there ? here : there;
            }
            min1 = here;
        }
        #else
        fold_int32_t[GC_ITEM] = min1;
        GC_BARRIER();
        for (int step = 32; step; step >>= 1) {
            if (own < step)
                fold_int32_t[GC_ITEM] = fold_int32_t[GC_ITEM] < fold_int32_t[GC_ITEM + step] ? fold_int32_t[GC_ITEM] : fold_int32_t[GC_ITEM + step];
            GC_BARRIER();
        }
        min1 = fold_int32_t[GC_ITEM - own];
        #endif
        GC_BARRIER();
    }
    if (live && own == 0) y0[i] = (int64_t)min1;
}
