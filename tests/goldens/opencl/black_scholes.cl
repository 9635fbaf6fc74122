typedef struct { int64_t w[13]; } gc_words;

/* quotient and rest of numbers that are not negative: most fit 32 bits, where division is several times faster */
GC_INLINE int64_t gc_quotient(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a / n : (int64_t)((uint32_t)a / (uint32_t)n);
}
GC_INLINE int64_t gc_rest(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a % n : (int64_t)((uint32_t)a % (uint32_t)n);
}
GC_INLINE float gc_log_float(float x)
{
    return log(x);
}
GC_INLINE float gc_erf_float(float x)
{
    return erf(x);
}
GC_INLINE float gc_exp_float(float x)
{
    return exp(x);
}
GC_INLINE float gc_bits_float(uint32_t word) { union { uint32_t word; float x; } u; u.word = word; return u.x; }

GC_KERNEL void map_sub_354ab6b3(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    const GC_GLOBAL char *GC_RESTRICT memory2,
    GC_GLOBAL char *GC_RESTRICT memory3,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    const GC_GLOBAL float *GC_RESTRICT x1 = (const GC_GLOBAL float *)(memory1 + words.w[1]);
    const GC_GLOBAL float *GC_RESTRICT x2 = (const GC_GLOBAL float *)(memory2 + words.w[2]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory3 + words.w[3]);
    const int64_t a0 = words.w[4];
    const float p0 = gc_bits_float((uint32_t)words.w[5]);
    const float p1 = gc_bits_float((uint32_t)words.w[6]);
    const float p2 = gc_bits_float((uint32_t)words.w[7]);
    const float p3 = gc_bits_float((uint32_t)words.w[8]);
    const float p4 = gc_bits_float((uint32_t)words.w[9]);
    const float p5 = gc_bits_float((uint32_t)words.w[10]);
    const float p6 = gc_bits_float((uint32_t)words.w[11]);
    const int64_t stop = MIN((group + 1) * 256, a0);
    for (int64_t at = group * 256 + GC_ITEM; at < stop; at += 256) {
        const int64_t i = at;
        {
            const float t0 = x0[i];
            const float t1 = x1[i];
            const float t2 = x2[i];
            const float t3 = p0 * sqrt(t2);
            const float t4 = (gc_log_float(t0 / t1) + (p1 * t2)) / t3;
            const float t5 = t0 * (p2 * (1.0f + gc_erf_float(t4 * p3)));
            const float t6 = (t1 * gc_exp_float(p4 * t2)) * (p5 * (1.0f + gc_erf_float((t4 - t3) * p6)));
            y0[i] = t5 - t6;
        }
    }
}
