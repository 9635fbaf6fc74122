typedef struct { int64_t w[6]; } gc_words;

/* quotient and rest of numbers that are not negative: most fit 32 bits, where division is several times faster */
GC_INLINE int64_t gc_quotient(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a / n : (int64_t)((uint32_t)a / (uint32_t)n);
}
GC_INLINE int64_t gc_rest(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a % n : (int64_t)((uint32_t)a % (uint32_t)n);
}
/* x // 0 = 0, and the least integer // -1 is itself */
GC_INLINE int16_t gc_floordiv_int16_t(int16_t a, int16_t b)
{
    if (b == 0) return 0;
    if (b == -1) return (int16_t)(0 - (uint16_t)a);
    const int16_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
GC_INLINE int16_t gc_remainder_int16_t(int16_t a, int16_t b)
{
    if (b == 0 || b == -1) return 0;
    const int16_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

GC_KERNEL void map_remainder_2d0d5c94(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    const GC_GLOBAL int16_t *GC_RESTRICT x0 = (const GC_GLOBAL int16_t *)(memory0 + words.w[0]);
    const GC_GLOBAL int16_t *GC_RESTRICT x1 = (const GC_GLOBAL int16_t *)(memory1 + words.w[1]);
    GC_GLOBAL int16_t *GC_RESTRICT y0 = (GC_GLOBAL int16_t *)(memory2 + words.w[2]);
    const int64_t a0 = words.w[3];
    const int16_t p0 = (int16_t)words.w[4];
    const int64_t stop = MIN((group + 1) * 256, a0);
    for (int64_t at = group * 256 + GC_ITEM; at < stop; at += 256) {
        const int64_t i = at;
        {
            y0[i] = gc_remainder_int16_t(gc_floordiv_int16_t(x0[i], x1[i]), p0);
        }
    }
}
