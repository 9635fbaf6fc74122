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
GC_INLINE float gc_min_float(float a, float b)
{
#ifdef GC_EXTREME
    float most;
    GC_EXTREME("min", most, a, b);
    return most;
#else
    const float x = a < b ? a : b, y = b < a ? b : a;
    const float z = gc_bits_float(gc_bitcast_uint32_t_float(x) | gc_bitcast_uint32_t_float(y));
    return a != a || b != b ? a + b : z;
#endif
}

GC_KERNEL void row_min_cast_29f1c2dd(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, fold_float, 512);
    GC_SHARED_ARRAY(int32_t, fold_int32_t, 512);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    const GC_GLOBAL float *GC_RESTRICT x1 = (const GC_GLOBAL float *)(memory1 + words.w[1]);
    GC_GLOBAL int64_t *GC_RESTRICT y0 = (GC_GLOBAL int64_t *)(memory2 + words.w[2]);
    const int64_t a0 = words.w[3];
    const int64_t a1 = words.w[4];
    const int32_t p0 = (int32_t)words.w[5];
    /* 64 items share a row */
    const int own = GC_ITEM % 64;
    const int64_t turn = group * 4 + GC_ITEM / 64;
    const bool live = turn < a0;
    const int64_t at = live ? turn : a0 - 1;
    const int64_t i = at;
    const float t0 = x0[i * 16];
    const float t2 = x0[i * 16 + 8];
    const float t4 = x0[i * 16 + 4];
    const float t6 = x0[i * 16 + 12];
    const float t8 = x0[i * 16 + 2];
    const float t10 = x0[i * 16 + 10];
    const float t12 = x0[i * 16 + 6];
    const float t14 = x0[i * 16 + 14];
    const float t16 = x0[i * 16 + 1];
    const float t18 = x0[i * 16 + 9];
    const float t20 = x0[i * 16 + 5];
    const float t22 = x0[i * 16 + 13];
    const float t24 = x0[i * 16 + 3];
    const float t26 = x0[i * 16 + 11];
    const float t28 = x0[i * 16 + 7];
    const float t30 = x0[i * 16 + 15];
    float min0 = gc_bits_float(0x7f800000u);
    {
        const int64_t length = (live ? a1 : 0);
        float min0_part = gc_bits_float(0x7f800000u);
        for (int64_t j = own; j < length; j += 64) {
            const float t1 = t0 - x1[j * 16];
            const float t3 = t2 - x1[j * 16 + 8];
            const float t5 = t4 - x1[j * 16 + 4];
            const float t7 = t6 - x1[j * 16 + 12];
            const float t9 = t8 - x1[j * 16 + 2];
            const float t11 = t10 - x1[j * 16 + 10];
            const float t13 = t12 - x1[j * 16 + 6];
            const float t15 = t14 - x1[j * 16 + 14];
            const float t17 = t16 - x1[j * 16 + 1];
            const float t19 = t18 - x1[j * 16 + 9];
            const float t21 = t20 - x1[j * 16 + 5];
            const float t23 = t22 - x1[j * 16 + 13];
            const float t25 = t24 - x1[j * 16 + 3];
            const float t27 = t26 - x1[j * 16 + 11];
            const float t29 = t28 - x1[j * 16 + 7];
            const float t31 = t30 - x1[j * 16 + 15];
            const float t32 = ((((t1 * t1) + (t3 * t3)) + ((t5 * t5) + (t7 * t7))) + (((t9 * t9) + (t11 * t11)) + ((t13 * t13) + (t15 * t15)))) + ((((t17 * t17) + (t19 * t19)) + ((t21 * t21) + (t23 * t23))) + (((t25 * t25) + (t27 * t27)) + ((t29 * t29) + (t31 * t31))));
            min0_part = gc_min_float(min0_part, t32);
        }
        min0 = min0_part;
        #if GC_SHUFFLES > 1
        {
            float here = min0;
            #if GC_SHUFFLES < 64
            fold_float[GC_ITEM] = here;
            GC_BARRIER();
            float all[64 / GC_SHUFFLES];
            GC_UNROLL for (int k = 0; k < 64 / GC_SHUFFLES; k++)
                all[k] = fold_float[GC_ITEM + (own % GC_SHUFFLES - own + k * GC_SHUFFLES)];
            GC_UNROLL for (int step = 64 / GC_SHUFFLES / 2; step; step >>= 1)
                GC_UNROLL for (int k = 0; k < step; k++) all[k] = gc_min_float(all[k], all[k + step]);
            here = all[0];
            #endif
            GC_UNROLL for (int step = MIN(64, GC_SHUFFLES) / 2; step; step >>= 1) {
                const float there = GC_SHUFFLE_XOR(here, step);
                here = gc_min_float(here, there);
            }
            min0 = here;
        }
        #else
        fold_float[GC_ITEM] = min0;
        GC_BARRIER();
        for (int step = 32; step; step >>= 1) {
            if (own < step)
                fold_float[GC_ITEM] = gc_min_float(fold_float[GC_ITEM], fold_float[GC_ITEM + step]);
            GC_BARRIER();
        }
        min0 = fold_float[GC_ITEM - own];
        #endif
        GC_BARRIER();
    }
    int32_t min1 = 2147483647;
    {
        const int64_t length = (live ? a1 : 0);
        int32_t min1_part = 2147483647;
        for (int64_t j = own; j < length; j += 64) {
            const float t33 = t0 - x1[j * 16];
            const float t34 = t2 - x1[j * 16 + 8];
            const float t35 = t4 - x1[j * 16 + 4];
            const float t36 = t6 - x1[j * 16 + 12];
            const float t37 = t8 - x1[j * 16 + 2];
            const float t38 = t10 - x1[j * 16 + 10];
            const float t39 = t12 - x1[j * 16 + 6];
            const float t40 = t14 - x1[j * 16 + 14];
            const float t41 = t16 - x1[j * 16 + 1];
            const float t42 = t18 - x1[j * 16 + 9];
            const float t43 = t20 - x1[j * 16 + 5];
            const float t44 = t22 - x1[j * 16 + 13];
            const float t45 = t24 - x1[j * 16 + 3];
            const float t46 = t26 - x1[j * 16 + 11];
            const float t47 = t28 - x1[j * 16 + 7];
            const float t48 = t30 - x1[j * 16 + 15];
            const float t49 = ((((t33 * t33) + (t34 * t34)) + ((t35 * t35) + (t36 * t36))) + (((t37 * t37) + (t38 * t38)) + ((t39 * t39) + (t40 * t40)))) + ((((t41 * t41) + (t42 * t42)) + ((t43 * t43) + (t44 * t44))) + (((t45 * t45) + (t46 * t46)) + ((t47 * t47) + (t48 * t48))));
            min1_part = min1_part < (((uint8_t)((t49 == min0) | (t49 != t49))) ? ((int32_t)j) : p0) ? min1_part : (((uint8_t)((t49 == min0) | (t49 != t49))) ? ((int32_t)j) : p0);
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
