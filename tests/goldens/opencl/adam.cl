typedef struct { int64_t w[15]; } gc_words;

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

GC_KERNEL void map_add_sub_ceafa552(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    const GC_GLOBAL char *GC_RESTRICT memory2,
    const GC_GLOBAL char *GC_RESTRICT memory3,
    GC_GLOBAL char *GC_RESTRICT memory4,
    GC_GLOBAL char *GC_RESTRICT memory5,
    GC_GLOBAL char *GC_RESTRICT memory6,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    const GC_GLOBAL float *GC_RESTRICT x1 = (const GC_GLOBAL float *)(memory1 + words.w[1]);
    const GC_GLOBAL float *GC_RESTRICT x2 = (const GC_GLOBAL float *)(memory2 + words.w[2]);
    const GC_GLOBAL float *GC_RESTRICT x3 = (const GC_GLOBAL float *)(memory3 + words.w[3]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory4 + words.w[4]);
    GC_GLOBAL float *GC_RESTRICT y1 = (GC_GLOBAL float *)(memory5 + words.w[5]);
    GC_GLOBAL float *GC_RESTRICT y2 = (GC_GLOBAL float *)(memory6 + words.w[6]);
    const int64_t a0 = words.w[7];
    const float p0 = gc_bits_float((uint32_t)words.w[8]);
    const float p1 = gc_bits_float((uint32_t)words.w[9]);
    const float p2 = gc_bits_float((uint32_t)words.w[10]);
    const float p3 = gc_bits_float((uint32_t)words.w[11]);
    const float p4 = gc_bits_float((uint32_t)words.w[12]);
    const float p5 = gc_bits_float((uint32_t)words.w[13]);
    const int64_t stop = MIN((group + 1) * 256, a0);
    for (int64_t at = group * 256 + GC_ITEM; at < stop; at += 256) {
        const int64_t i = at;
        {
            const float t0 = x1[i];
            const float t1 = (p0 * x0[i]) + (p1 * t0);
            y0[i] = t1;
            const float t2 = (p2 * x2[i]) + ((p3 * t0) * t0);
            y1[i] = t2;
            y2[i] = x3[i] - ((p4 * t1) / (sqrt(t2) + p5));
        }
    }
}
