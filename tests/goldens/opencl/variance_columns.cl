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

GC_KERNEL void column_m2_div_7e82362c(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    GC_GLOBAL char *GC_RESTRICT memory1,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, fold_float, 512);
    GC_SHARED_ARRAY(float, mean_float, 512);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory1 + words.w[1]);
    const int64_t a0 = words.w[2];
    const int64_t a1 = words.w[3];
    const int64_t a2 = words.w[4];
    const float p0 = gc_bits_float((uint32_t)words.w[5]);
    /* 8 items share a column */
    const int own = GC_ITEM / 32;
    const int64_t turn = group * 32 + GC_ITEM % 32;
    const bool live = turn < a0;
    const int64_t at = live ? turn : a0 - 1;
    const int64_t i = at;
    float m20 = -0.0f, m20_mean = 0;
    {
        const int64_t length = (live ? a1 : 0);
        float m20_level[32], m20_mean_level[32];
        int64_t span = 16;       /* elements of a team */
        while (span * 8 < a1) span *= 2;
        const int64_t start = own * span, own_length = MAX(MIN(length - start, span), 0);
        for (int64_t block = 0; block * 16 < span; block++) {
            const int64_t first = start + block * 16;
            const int64_t last = MIN(first + 16, length);
            float m20_part = -0.0f, m20_mean_part = 0;
            if (last - first == 16) {
                GC_UNROLL for (int64_t j = first; j < first + 16; j++) {
                    {
                        m20_part = m20_part + (x0[i + j * a2]);
                    }
                }
                m20_mean_part = m20_part / (float)16;
                {
                    float squares = 0;
                    GC_UNROLL for (int64_t j = first; j < first + 16; j += 1) {
                        const float d = (x0[i + j * a2]) - m20_mean_part; squares = squares + d * d;
                    }
                    m20_part = squares;
                }
            } else if (first < last) {
                for (int64_t j = first; j < last; j++) {
                    {
                        m20_part = m20_part + (x0[i + j * a2]);
                    }
                }
                m20_mean_part = m20_part / (float)(last - first);
                {
                    float squares = 0;
                    for (int64_t j = first; j < last; j += 1) {
                        const float d = (x0[i + j * a2]) - m20_mean_part; squares = squares + d * d;
                    }
                    m20_part = squares;
                }
            }
            if (block * 16 < own_length) {
                int level = 0;
                int64_t merged = MIN(own_length - block * 16, 16);
                for (int64_t b = block; b & 1; b >>= 1, level++) {
                    const int64_t full = (int64_t)16 << level;
                    {
                        const float na = (float)full, nb = (float)merged, n = na + nb;
                        const float delta = m20_mean_part - m20_mean_level[level];
                        const bool even = merged == full;       /* the usual case, without a division */
                        m20_part = m20_level[level] + m20_part + delta * delta * (even ? na / 2 : na * nb / n);
                        m20_mean_part = m20_mean_level[level] + delta * (even ? (float)0.5 : nb / n);
                    }
                    merged += full;
                }
                m20_level[level] = m20_part;
                m20_mean_level[level] = m20_mean_part;
            }
        }
        const int64_t blocks = (own_length + 15) / 16;
        int64_t merged = 0;
        for (int level = 0; blocks >> level; level++)
            if (blocks >> level & 1) {
                const int64_t full = (int64_t)16 << level;
                if (merged) {
                    {
                        const float na = (float)full, nb = (float)merged, n = na + nb;
                        const float delta = m20_mean - m20_mean_level[level];
                        const bool even = merged == full;       /* the usual case, without a division */
                        m20 = m20_level[level] + m20 + delta * delta * (even ? na / 2 : na * nb / n);
                        m20_mean = m20_mean_level[level] + delta * (even ? (float)0.5 : nb / n);
                    }
                    merged += full;
                } else {
                    m20 = m20_level[level];
                    m20_mean = m20_mean_level[level];
                    merged = own_length - ((blocks - 1) >> level << level) * 16;
                }
            }
        fold_float[GC_ITEM] = m20;
        mean_float[GC_ITEM] = m20_mean;
        GC_BARRIER();
        {
            float all[8], mean[8];
            GC_UNROLL for (int t = 0; t < 8; t++) {
                const int place = GC_ITEM + (t - own) * 32;
                all[t] = fold_float[place];
                mean[t] = mean_float[place];
            }
            GC_UNROLL for (int near = 1; near < 8; near *= 2)
                GC_UNROLL for (int t = 0; t + near < 8; t += 2 * near)
                    if ((t + near) * span < length) {
                        const float na = (float)(near * span);
                        const float nb = (float)MIN(near * span, length - ((t + near) * span));
                        const float n = na + nb;
                        const float delta = mean[t + near] - mean[t];
                        all[t] = all[t] + all[t + near] + delta * delta * (na * nb / n);
                        mean[t] = mean[t] + delta * (nb / n);
                    }
            m20 = all[0];
        }
        GC_BARRIER();
    }
    {
        if (live && own == 0) y0[i] = m20 / p0;
    }
}
