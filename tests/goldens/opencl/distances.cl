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

GC_KERNEL void map_sum_a9dceb39(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    const GC_GLOBAL float *GC_RESTRICT x1 = (const GC_GLOBAL float *)(memory1 + words.w[1]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory2 + words.w[2]);
    const int64_t a0 = words.w[3];
    const int64_t a1 = words.w[4];
    const int64_t a2 = words.w[5];
    const int64_t stop = MIN((group + 1) * 256, a0 * a1);
    for (int64_t at = group * 256 + GC_ITEM; at < stop; at += 256) {
        const int64_t turns_i1 = gc_quotient(at, a1);
        const int64_t i1 = at - turns_i1 * a1;
        const int64_t i0 = turns_i1;
        const float t0 = x0[i0 * 16];
        const float t2 = x0[i0 * 16 + 8];
        const float t4 = x0[i0 * 16 + 4];
        const float t6 = x0[i0 * 16 + 12];
        const float t8 = x0[i0 * 16 + 2];
        const float t10 = x0[i0 * 16 + 10];
        const float t12 = x0[i0 * 16 + 6];
        const float t14 = x0[i0 * 16 + 14];
        const float t16 = x0[i0 * 16 + 1];
        const float t18 = x0[i0 * 16 + 9];
        const float t20 = x0[i0 * 16 + 5];
        const float t22 = x0[i0 * 16 + 13];
        const float t24 = x0[i0 * 16 + 3];
        const float t26 = x0[i0 * 16 + 11];
        const float t28 = x0[i0 * 16 + 7];
        const float t30 = x0[i0 * 16 + 15];
        {
            const float t1 = t0 - x1[i1 * 16];
            const float t3 = t2 - x1[i1 * 16 + 8];
            const float t5 = t4 - x1[i1 * 16 + 4];
            const float t7 = t6 - x1[i1 * 16 + 12];
            const float t9 = t8 - x1[i1 * 16 + 2];
            const float t11 = t10 - x1[i1 * 16 + 10];
            const float t13 = t12 - x1[i1 * 16 + 6];
            const float t15 = t14 - x1[i1 * 16 + 14];
            const float t17 = t16 - x1[i1 * 16 + 1];
            const float t19 = t18 - x1[i1 * 16 + 9];
            const float t21 = t20 - x1[i1 * 16 + 5];
            const float t23 = t22 - x1[i1 * 16 + 13];
            const float t25 = t24 - x1[i1 * 16 + 3];
            const float t27 = t26 - x1[i1 * 16 + 11];
            const float t29 = t28 - x1[i1 * 16 + 7];
            const float t31 = t30 - x1[i1 * 16 + 15];
            y0[i0 * a2 + i1] = ((((t1 * t1) + (t3 * t3)) + ((t5 * t5) + (t7 * t7))) + (((t9 * t9) + (t11 * t11)) + ((t13 * t13) + (t15 * t15)))) + ((((t17 * t17) + (t19 * t19)) + ((t21 * t21) + (t23 * t23))) + (((t25 * t25) + (t27 * t27)) + ((t29 * t29) + (t31 * t31))));
        }
    }
}
