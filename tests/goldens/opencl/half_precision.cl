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
GC_INLINE uint32_t gc_bitcast_uint32_t_float(float from)
{
    union { float from; uint32_t to; } u; u.from = from; return u.to;
}
GC_INLINE float gc_bits_float(uint32_t word) { union { uint32_t word; float x; } u; u.word = word; return u.x; }
#ifdef GC_FROM_HALF
GC_INLINE float gc_load_float16(uint16_t h) { return GC_FROM_HALF(h); }
GC_INLINE uint16_t gc_store_float16(float x) { return GC_TO_HALF(x); }
#else       /* by integer arithmetic: the same on devices without half-precision numbers */
GC_INLINE float gc_load_float16(uint16_t h)
{
    const uint32_t magnitude = (uint32_t)(h & 0x7FFF) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    const float scaled = (float)(h & 0x3FF) * 0x1p-24f;         /* subnormal numbers */
    uint32_t w = magnitude + 0x38000000;                        /* moves the exponent */
    w = magnitude < 0x00800000 ? gc_bitcast_uint32_t_float(scaled) : w;
    w = magnitude >= 0x0F800000 ? magnitude | 0x7F800000 : w;   /* infinity and NaN */
    return gc_bits_float(w | sign);
}
GC_INLINE uint16_t gc_store_float16(float x)
{
    const uint32_t w = gc_bitcast_uint32_t_float(x);
    const uint32_t sign = w >> 16 & 0x8000, magnitude = w & 0x7FFFFFFF;
    const uint32_t normal = (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    const float tiny = gc_bits_float(magnitude) + 0.5f;         /* rounds to the subnormal grid of float16 */
    const uint32_t subnormal = gc_bitcast_uint32_t_float(tiny) - 0x3F000000;
    uint32_t h = magnitude < 0x38800000 ? subnormal : normal;
    h = magnitude >= 0x477FF000 ? 0x7C00 : h;                   /* 65520 and above round to infinity */
    h = magnitude > 0x7F800000 ? 0x7E00 : h;
    return (uint16_t)(sign | h);
}
#endif
GC_INLINE float gc_round_float16(float x) { return gc_load_float16(gc_store_float16(x)); }
GC_INLINE float gc_nextafter_float16(float x, float y)
{
    const uint16_t word = gc_store_float16(x), away = (x < y) == (x > 0) ? 1 : -1;
    const float next = gc_load_float16(x == 0 ? (y < 0) << 15 | 1 : word + away);
    return x != x || y != y ? x + y : x == y ? y : next;
}

GC_KERNEL void row_sum_9363405f(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, fold_float, 512);
    const GC_GLOBAL uint16_t *GC_RESTRICT x0 = (const GC_GLOBAL uint16_t *)(memory0 + words.w[0]);
    const GC_GLOBAL uint16_t *GC_RESTRICT x1 = (const GC_GLOBAL uint16_t *)(memory1 + words.w[1]);
    GC_GLOBAL uint16_t *GC_RESTRICT y0 = (GC_GLOBAL uint16_t *)(memory2 + words.w[2]);
    const int64_t a0 = words.w[3];
    const int64_t a1 = words.w[4];
    const int64_t a2 = words.w[5];
    /* 64 items share a row */
    const int own = GC_ITEM % 64;
    const int64_t turn = group * 4 + GC_ITEM / 64;
    const bool live = turn < a0;
    const int64_t at = live ? turn : a0 - 1;
    const int64_t i = at;
    float sum0 = -0.0f;
    {
        const int64_t length = (live ? a1 : 0);
        const int64_t first = 0;
        const int64_t last = MIN(first + 1024, length);
        float sum0_part = -0.0f;
        if (last - first == 1024) {
            GC_UNROLL for (int r = 0; r < 16; r++) {
                const int64_t j = first + own + r * 64;
                sum0_part = sum0_part + ((float)gc_round_float16(gc_load_float16(x0[i * a2 + j]) * gc_load_float16(x1[j])));
            }
        } else {
            for (int64_t j = first + own; j < last; j += 64) {
                sum0_part = sum0_part + ((float)gc_round_float16(gc_load_float16(x0[i * a2 + j]) * gc_load_float16(x1[j])));
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
    if (live && own == 0) y0[i] = gc_store_float16(sum0);
}
