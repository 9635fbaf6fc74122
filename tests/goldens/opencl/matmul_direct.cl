typedef struct { int64_t w[18]; } gc_words;

/* quotient and rest of numbers that are not negative: most fit 32 bits, where division is several times faster */
GC_INLINE int64_t gc_quotient(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a / n : (int64_t)((uint32_t)a / (uint32_t)n);
}
GC_INLINE int64_t gc_rest(int64_t a, int64_t n)
{
    return ((uint64_t)a | (uint64_t)n) >> 32 ? a % n : (int64_t)((uint32_t)a % (uint32_t)n);
}
GC_INLINE float gc_fma_float(float a, float b, float c) { return fma(a, b, c); }

GC_KERNEL void contract_dot_f924b6a6(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, tile_a, 1152);
    GC_SHARED_ARRAY(float, tile_b, 1088);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    const GC_GLOBAL float *GC_RESTRICT x1 = (const GC_GLOBAL float *)(memory1 + words.w[1]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory2 + words.w[2]);
    const int64_t a0 = words.w[3];
    const int64_t a1 = words.w[4];
    const int64_t a2 = words.w[5];
    const int64_t a3 = words.w[6];
    const int64_t a4 = words.w[7];
    const int64_t a5 = words.w[8];
    const int64_t a6 = words.w[9];
    const int64_t a7 = words.w[10];
    const int64_t a8 = words.w[11];
    const int64_t a9 = words.w[12];
    const int64_t a10 = words.w[13];
    const int64_t a11 = words.w[14];
    const int64_t a12 = words.w[15];
    const int64_t a13 = words.w[16];
    /* 256 items share a block */
    const int own = GC_ITEM;
    const int64_t turn = group * 1 + 0;
    const bool live = turn < a2 * a1 * a0;
    const int64_t at = live ? turn : a2 * a1 * a0 - 1;
    const int64_t turns_mb = gc_quotient(at, a0);
    const int64_t mb = at - turns_mb * a0;
    const int64_t turns_nb = gc_quotient(turns_mb, a1);
    const int64_t nb = turns_mb - turns_nb * a1;
    const int64_t b = turns_nb;
    const int64_t m_size = a7, n_size = a11, length = a3;
    const int64_t m_first = mb * 64, n_first = nb * 64;
    const int m_left = (int)MIN(m_size - m_first, 64), n_left = (int)MIN(n_size - n_first, 64);
    /* 32 items are a block of 4 by 8, in which neighbours read the same: shared memory serves them at once */
    const int item_m = (GC_ITEM & 1) | (GC_ITEM >> 1 & 2) | (GC_ITEM >> 4 & 12);
    const int item_n = (GC_ITEM >> 1 & 1) | (GC_ITEM >> 2 & 14);
    const bool aligned_a = a6 && ((uint64_t)x0) % 16 == 0;
    const bool aligned_b = a10 && ((uint64_t)x1) % 16 == 0;
    float part[4][4];
    float next_a[2];
    float next_b[2];
    GC_UNROLL for (int i = 0; i < 4; i++) GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = 0;
    {
        const int64_t k_from = 0;
        const int k_left = (int)MIN(length, 8), place = 0;
        {
            const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 2;
            GC_UNROLL for (int e = 0; e < 2; e++) next_a[e] = 0;
            if (aligned_a && at_outer < m_left
                && at_k + 1 < k_left) {
                const int64_t m_at = m_first + at_outer, k_at = k_from + at_k;
                const int64_t m = m_at;
                const int64_t k = k_at;
                union { uint2 all[1]; float one[2]; } v0_wide;
                GC_UNROLL for (int w = 0; w < 1; w++)
                    v0_wide.all[w] = ((const GC_GLOBAL uint2 *)&x0[b * a4 + k + m * a5])[w];
                const int64_t first = k;
                GC_UNROLL for (int u = 0; u < 2; u++) {
                    const int64_t k = first + u;
                    const float v0 = v0_wide.one[u];
                    next_a[u] = v0;
                }
            } else
            {
                GC_UNROLL for (int u = 0; u < 2; u++) {
                    const int own_outer = at_outer, own_k = at_k + u;
                    if (own_outer < m_left && own_k < k_left) {
                        const int64_t m_at = m_first + own_outer, k_at = k_from + own_k;
                        const int64_t m = m_at;
                        const int64_t k = k_at;
                        const float v0 = x0[b * a4 + k + m * a5];
                        next_a[u] = v0;
                    }
                }
            }
        }
        {
            const int at_outer = GC_ITEM % 32 * 2, at_k = GC_ITEM / 32;
            GC_UNROLL for (int e = 0; e < 2; e++) next_b[e] = 0;
            if (aligned_b && at_outer + 1 < n_left
                && at_k < k_left) {
                const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                const int64_t n = n_at;
                const int64_t k = k_at;
                union { uint2 all[1]; float one[2]; } v0_wide;
                GC_UNROLL for (int w = 0; w < 1; w++)
                    v0_wide.all[w] = ((const GC_GLOBAL uint2 *)&x1[b * a8 + k * a9 + n])[w];
                const int64_t first = n;
                GC_UNROLL for (int u = 0; u < 2; u++) {
                    const int64_t n = first + u;
                    const float v0 = v0_wide.one[u];
                    next_b[u] = v0;
                }
            } else
            {
                GC_UNROLL for (int u = 0; u < 2; u++) {
                    const int own_outer = at_outer + u, own_k = at_k;
                    if (own_outer < n_left && own_k < k_left) {
                        const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                        const int64_t n = n_at;
                        const int64_t k = k_at;
                        const float v0 = x1[b * a8 + k * a9 + n];
                        next_b[u] = v0;
                    }
                }
            }
        }
        {
            const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 2;
            GC_UNROLL for (int e = 0; e < 2; e++)
                tile_a[(place * 8 + at_k) * 68 + at_outer + e * 68]
                    = (next_a[e]);
        }
        {
            const int at_outer = GC_ITEM % 32 * 2, at_k = GC_ITEM / 32;
            GC_UNROLL for (int e = 0; e < 2; e++)
                tile_b[(place * 8 + at_k) * 68 + at_outer + e]
                    = (next_b[e]);
        }
    }
    GC_BARRIER();
    int place = 0;      /* of the two for pieces, that which is multiplied; the next one goes to the other */
    for (int64_t k_first = 0; k_first < length; k_first += 8) {
        const int now = place;
        const int64_t k_from = k_first + 8;
        if (k_from < length) {
            const int k_left = (int)MIN(length - k_from, 8);
            {
                const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 2;
                GC_UNROLL for (int e = 0; e < 2; e++) next_a[e] = 0;
                if (aligned_a && at_outer < m_left
                    && at_k + 1 < k_left) {
                    const int64_t m_at = m_first + at_outer, k_at = k_from + at_k;
                    const int64_t m = m_at;
                    const int64_t k = k_at;
                    union { uint2 all[1]; float one[2]; } v0_wide;
                    GC_UNROLL for (int w = 0; w < 1; w++)
                        v0_wide.all[w] = ((const GC_GLOBAL uint2 *)&x0[b * a4 + k + m * a5])[w];
                    const int64_t first = k;
                    GC_UNROLL for (int u = 0; u < 2; u++) {
                        const int64_t k = first + u;
                        const float v0 = v0_wide.one[u];
                        next_a[u] = v0;
                    }
                } else
                {
                    GC_UNROLL for (int u = 0; u < 2; u++) {
                        const int own_outer = at_outer, own_k = at_k + u;
                        if (own_outer < m_left && own_k < k_left) {
                            const int64_t m_at = m_first + own_outer, k_at = k_from + own_k;
                            const int64_t m = m_at;
                            const int64_t k = k_at;
                            const float v0 = x0[b * a4 + k + m * a5];
                            next_a[u] = v0;
                        }
                    }
                }
            }
            {
                const int at_outer = GC_ITEM % 32 * 2, at_k = GC_ITEM / 32;
                GC_UNROLL for (int e = 0; e < 2; e++) next_b[e] = 0;
                if (aligned_b && at_outer + 1 < n_left
                    && at_k < k_left) {
                    const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                    const int64_t n = n_at;
                    const int64_t k = k_at;
                    union { uint2 all[1]; float one[2]; } v0_wide;
                    GC_UNROLL for (int w = 0; w < 1; w++)
                        v0_wide.all[w] = ((const GC_GLOBAL uint2 *)&x1[b * a8 + k * a9 + n])[w];
                    const int64_t first = n;
                    GC_UNROLL for (int u = 0; u < 2; u++) {
                        const int64_t n = first + u;
                        const float v0 = v0_wide.one[u];
                        next_b[u] = v0;
                    }
                } else
                {
                    GC_UNROLL for (int u = 0; u < 2; u++) {
                        const int own_outer = at_outer + u, own_k = at_k;
                        if (own_outer < n_left && own_k < k_left) {
                            const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                            const int64_t n = n_at;
                            const int64_t k = k_at;
                            const float v0 = x1[b * a8 + k * a9 + n];
                            next_b[u] = v0;
                        }
                    }
                }
            }
        }
        if (k_from <= length) {
            GC_UNROLL for (int k = 0; k < 8; k++) {
                float left[4], right[4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    left[i] = tile_a[(now * 8 + k) * 68 + i / 4 * 64 + item_m * 4 + i % 4];
                GC_UNROLL for (int j = 0; j < 4; j++)
                    right[j] = tile_b[(now * 8 + k) * 68 + j / 4 * 64 + item_n * 4 + j % 4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = gc_fma_float(left[i], right[j], part[i][j]);
            }
        } else {
            GC_ROLL for (int k = 0; k < (int)(length - k_first); k++) {
                float left[4], right[4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    left[i] = tile_a[(now * 8 + k) * 68 + i / 4 * 64 + item_m * 4 + i % 4];
                GC_UNROLL for (int j = 0; j < 4; j++)
                    right[j] = tile_b[(now * 8 + k) * 68 + j / 4 * 64 + item_n * 4 + j % 4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = gc_fma_float(left[i], right[j], part[i][j]);
            }
        }
        place ^= 1;
        if (k_from < length) {
            {
                const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 2;
                GC_UNROLL for (int e = 0; e < 2; e++)
                    tile_a[(place * 8 + at_k) * 68 + at_outer + e * 68]
                        = (next_a[e]);
            }
            {
                const int at_outer = GC_ITEM % 32 * 2, at_k = GC_ITEM / 32;
                GC_UNROLL for (int e = 0; e < 2; e++)
                    tile_b[(place * 8 + at_k) * 68 + at_outer + e]
                        = (next_b[e]);
            }
        }
        GC_BARRIER();
    }
    /* the results by way of shared memory, so that neighbouring items store neighbours */
    GC_UNROLL for (int i = 0; i < 4; i++) {
        GC_UNROLL for (int j = 0; j < 4; j++)
            tile_a[item_m * 72 + j / 4 * 64 + item_n * 4 + j % 4] = part[i][j];
        GC_BARRIER();
        for (uint32_t e = GC_ITEM; e < 1024; e += 256) {
            const uint32_t row = e / 64, column = e % 64;
            const int64_t m_at = m_first + i / 4 * 64 + row * 4 + i % 4, n_at = n_first + column;
            if (m_at < m_size && n_at < n_size) {
                const float dot0 = tile_a[row * 72 + column];
                const int64_t m = m_at;
                const int64_t n = n_at;
                y0[b * a12 + m * a13 + n] = dot0;
            }
        }
        GC_BARRIER();
    }
}
