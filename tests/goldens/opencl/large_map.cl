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

GC_KERNEL void map_add_e78ab9f6(
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
    const int64_t start = group * 2048, stop = MIN(start + 2048, a0 * a1);
    const bool aligned = a4 && ((uint64_t)x0 | (uint64_t)y0) % 16 == 0;
    const int64_t single = aligned ? stop - (stop - start) % 4 : start;
    /* 4 neighbours at a time */
    for (int64_t at = start + GC_ITEM * 4; at < single; at += 1024) {
        const int64_t turns_i1 = gc_quotient(at, a1);
        const int64_t i1_first = at - turns_i1 * a1;
        const int64_t i0 = turns_i1;
        union { uint4 all; float one[4]; } v0_wide;
        union { uint4 all; float one[4]; } v1_wide;
        union { uint4 all; float one[4]; } w0_wide;
        v0_wide.all = *(const GC_GLOBAL uint4 *)&x0[i1_first];
        v1_wide.all = *(const GC_GLOBAL uint4 *)&x0[i0 * a2 + i1_first];
        GC_UNROLL for (int e = 0; e < 4; e++) {
            const int64_t i1 = i1_first + e;
            const float v0 = v0_wide.one[e];
            const float v1 = v1_wide.one[e];
            float w0;
            {
                w0 = (v1 * 2.0f) + v0;
            }
            w0_wide.one[e] = w0;
        }
        *(GC_GLOBAL uint4 *)&y0[i0 * a3 + i1_first] = w0_wide.all;
    }
    for (int64_t at = single + GC_ITEM; at < stop; at += 256) {
        const int64_t turns_i1 = gc_quotient(at, a1);
        const int64_t i1 = at - turns_i1 * a1;
        const int64_t i0 = turns_i1;
        const float v0 = x0[i1];
        const float v1 = x0[i0 * a2 + i1];
        float w0;
        {
            w0 = (v1 * 2.0f) + v0;
        }
        y0[i0 * a3 + i1] = w0;
    }
}
