typedef struct { int64_t w[10]; } gc_words;

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

GC_KERNEL void map_sub_3375a193(
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
    const float p0 = gc_bits_float((uint32_t)words.w[8]);
    const int64_t stop = MIN((group + 1) * 256, a0 * a1);
    for (int64_t at = group * 256 + GC_ITEM; at < stop; at += 256) {
        const int64_t turns_i1 = gc_quotient(at, a1);
        const int64_t i1 = at - turns_i1 * a1;
        const int64_t i0 = turns_i1;
        {
            y0[i0 * a2 + i1] = (((x0[i0 * a3 + i1 + 1] + x0[i0 * a3 + i1 + a4]) + x0[i0 * a3 + i1 + a5]) + x0[i0 * a3 + i1 + a5 + 2]) - (p0 * x0[i0 * a3 + i1 + a5 + 1]);
        }
    }
}
