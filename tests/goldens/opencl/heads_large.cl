typedef struct { int64_t w[14]; } gc_words;

/* quotient and rest of numbers that are not negative: most fit 32 bits, where division is several times faster */
GC_INLINE int64_t gc_quotient(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a / n : (int64_t)((uint32_t)a / (uint32_t)n);
}
GC_INLINE int64_t gc_rest(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a % n : (int64_t)((uint32_t)a % (uint32_t)n);
}

GC_KERNEL void map_mul_1cb9be5a(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    GC_GLOBAL char *GC_RESTRICT memory1,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory1 + words.w[1]);
    const int64_t a0 = words.w[2];
    const int64_t a1 = words.w[3];
    const int64_t a2 = words.w[4];
    const int64_t a3 = words.w[5];
    const int64_t a4 = words.w[6];
    const int64_t a5 = words.w[7];
    const int64_t a6 = words.w[8];
    const int64_t a7 = words.w[9];
    const int64_t a8 = words.w[10];
    const int64_t a9 = words.w[11];
    const int64_t a10 = words.w[12];
    const int64_t start = group * 2048, stop = MIN(start + 2048, a0 * a1 * a2 * a3);
    const bool aligned = a10 && ((uint64_t)x0 | (uint64_t)y0) % 16 == 0;
    const int64_t single = aligned ? stop - (stop - start) % 4 : start;
    /* 4 neighbours at a time */
    for (int64_t at = start + GC_ITEM * 4; at < single; at += 1024) {
        const int64_t turns_i3 = gc_quotient(at, a3);
        const int64_t i3_first = at - turns_i3 * a3;
        const int64_t turns_i2 = gc_quotient(turns_i3, a2);
        const int64_t i2 = turns_i3 - turns_i2 * a2;
        const int64_t turns_i1 = gc_quotient(turns_i2, a1);
        const int64_t i1 = turns_i2 - turns_i1 * a1;
        const int64_t i0 = turns_i1;
        union { uint4 all; float one[4]; } v0_wide;
        union { uint4 all; float one[4]; } w0_wide;
        v0_wide.all = *(const GC_GLOBAL uint4 *)&x0[i0 * a4 + i1 * a5 + i2 * a6 + i3_first];
        GC_UNROLL for (int e = 0; e < 4; e++) {
            const int64_t i3 = i3_first + e;
            const float v0 = v0_wide.one[e];
            float w0;
            {
                w0 = v0 * 2.0f;
            }
            w0_wide.one[e] = w0;
        }
        *(GC_GLOBAL uint4 *)&y0[i0 * a7 + i1 * a8 + i2 * a9 + i3_first] = w0_wide.all;
    }
    for (int64_t at = single + GC_ITEM; at < stop; at += 256) {
        const int64_t turns_i3 = gc_quotient(at, a3);
        const int64_t i3 = at - turns_i3 * a3;
        const int64_t turns_i2 = gc_quotient(turns_i3, a2);
        const int64_t i2 = turns_i3 - turns_i2 * a2;
        const int64_t turns_i1 = gc_quotient(turns_i2, a1);
        const int64_t i1 = turns_i2 - turns_i1 * a1;
        const int64_t i0 = turns_i1;
        const float v0 = x0[i0 * a4 + i1 * a5 + i2 * a6 + i3];
        float w0;
        {
            w0 = v0 * 2.0f;
        }
        y0[i0 * a7 + i1 * a8 + i2 * a9 + i3] = w0;
    }
}
