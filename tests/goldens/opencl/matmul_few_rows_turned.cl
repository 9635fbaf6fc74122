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
GC_INLINE float gc_fma_float(float a, float b, float c) { return fma(a, b, c); }

GC_KERNEL void contract_dot_a19ac6a1(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, tile_a, 256);
    GC_SHARED_ARRAY(float, fold, 256);
    GC_SHARED_ARRAY(float, tile_b, 2304);
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
    /* 256 items share a block */
    const int own = GC_ITEM;
    const int64_t turn = group * 1 + 0;
    const bool live = turn < a1 * a0;
    const int64_t at = live ? turn : a1 * a0 - 1;
    const int64_t turns_mb = gc_quotient(at, a0);
    const int64_t mb = at - turns_mb * a0;
    const int64_t nb = turns_mb;
    const int64_t m_size = a2, n_size = a7, length = a3;
    const int slice = GC_ITEM / 128, column = GC_ITEM % 128;
    const int64_t m_first = mb * 8, n_first = nb * 128;
    const int n_left = (int)MIN(n_size - n_first, 128);
    const bool aligned_b = a6 && ((uint64_t)x1) % 16 == 0;
    float part[8], sum[4];
    float next_a[1];
    float next_b[8];
    GC_UNROLL for (int i = 0; i < 8; i++) part[i] = 0;
    GC_UNROLL for (int i = 0; i < 4; i++) sum[i] = 0;
    {
        const int64_t k_from = 0;
        GC_UNROLL for (int e = 0; e < 1; e++) {
            const int spot = e * 256 + GC_ITEM, place = spot / 8;
            const int64_t m_at = m_first + spot % 8;
            const int64_t k_at = k_from + place / 8 * 512 + place % 8;
            next_a[e] = 0;
            if (spot < 128 && m_at < m_size && k_at < length) {
                const int64_t m = m_at;
                const int64_t k = k_at;
                next_a[e] = x0[k + m * a4];
            }
        }
        GC_UNROLL for (int e = 0; e < 8; e++) next_b[e] = 0;
        {
            const int64_t k_block = k_from;
            GC_UNROLL for (int r = 0; r < 2; r++) {
                const int spot = (r * 256 + GC_ITEM) / 2, at_k = GC_ITEM % 2 * 4;
                const int at_outer = spot % 128;
                const int64_t k_from = k_block + spot / 128 * 512;
                const int k_left = (int)MIN(length - k_from, 8);
                if (aligned_b && at_outer < n_left
                    && at_k + 3 < k_left) {
                    const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                    const int64_t n = n_at;
                    const int64_t k = k_at;
                    union { uint4 all[1]; float one[4]; } v0_wide;
                    GC_UNROLL for (int w = 0; w < 1; w++)
                        v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x1[k + n * a5])[w];
                    const int64_t first = k;
                    GC_UNROLL for (int u = 0; u < 4; u++) {
                        const int64_t k = first + u;
                        const float v0 = v0_wide.one[u];
                        next_b[r * 4 + u] = v0;
                    }
                } else
                {
                    GC_UNROLL for (int u = 0; u < 4; u++) {
                        const int own_outer = at_outer, own_k = at_k + u;
                        if (own_outer < n_left && own_k < k_left) {
                            const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                            const int64_t n = n_at;
                            const int64_t k = k_at;
                            const float v0 = x1[k + n * a5];
                            next_b[r * 4 + u] = v0;
                        }
                    }
                }
            }
        }
    }
    for (int64_t k_first = 0; k_first < length; k_first += 1024) {
        for (int piece = 0; piece < 512 && k_first + piece < length; piece += 8) {
            GC_UNROLL for (int e = 0; e < 1; e++)
                tile_a[e * 256 + GC_ITEM] = (next_a[e]);
            GC_UNROLL for (int e = 0; e < 8; e++) {
                const int at = e / 4 * 256 + GC_ITEM;
                tile_b[at / 2 * 9 + at % 2 * 4 + e % 4]
                    = (next_b[e]);
            }
            GC_BARRIER();
            {
                const int64_t k_from = k_first + (piece + 8 < 512 ? piece + 8
                                                  : 1024);
                GC_UNROLL for (int e = 0; e < 1; e++) {
                    const int spot = e * 256 + GC_ITEM, place = spot / 8;
                    const int64_t m_at = m_first + spot % 8;
                    const int64_t k_at = k_from + place / 8 * 512 + place % 8;
                    next_a[e] = 0;
                    if (spot < 128 && m_at < m_size && k_at < length) {
                        const int64_t m = m_at;
                        const int64_t k = k_at;
                        next_a[e] = x0[k + m * a4];
                    }
                }
                GC_UNROLL for (int e = 0; e < 8; e++) next_b[e] = 0;
                {
                    const int64_t k_block = k_from;
                    GC_UNROLL for (int r = 0; r < 2; r++) {
                        const int spot = (r * 256 + GC_ITEM) / 2, at_k = GC_ITEM % 2 * 4;
                        const int at_outer = spot % 128;
                        const int64_t k_from = k_block + spot / 128 * 512;
                        const int k_left = (int)MIN(length - k_from, 8);
                        if (aligned_b && at_outer < n_left
                            && at_k + 3 < k_left) {
                            const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                            const int64_t n = n_at;
                            const int64_t k = k_at;
                            union { uint4 all[1]; float one[4]; } v0_wide;
                            GC_UNROLL for (int w = 0; w < 1; w++)
                                v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x1[k + n * a5])[w];
                            const int64_t first = k;
                            GC_UNROLL for (int u = 0; u < 4; u++) {
                                const int64_t k = first + u;
                                const float v0 = v0_wide.one[u];
                                next_b[r * 4 + u] = v0;
                            }
                        } else
                        {
                            GC_UNROLL for (int u = 0; u < 4; u++) {
                                const int own_outer = at_outer, own_k = at_k + u;
                                if (own_outer < n_left && own_k < k_left) {
                                    const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                                    const int64_t n = n_at;
                                    const int64_t k = k_at;
                                    const float v0 = x1[k + n * a5];
                                    next_b[r * 4 + u] = v0;
                                }
                            }
                        }
                    }
                }
            }
            const int64_t rest = length - (k_first + slice * 512 + piece);
            if (rest >= 8) {
                GC_UNROLL for (int k = 0; k < 8; k++) {
                    const float right = tile_b[GC_ITEM * 9 + k];
                    GC_UNROLL for (int i = 0; i < 8; i++)
                        part[i] = gc_fma_float(tile_a[(slice * 8 + k) * 8 + i], right, part[i]);
                }
            } else {
                GC_UNROLL for (int k = 0; k < 8; k++)
                    if (k < rest) {
                        const float right = tile_b[GC_ITEM * 9 + k];
                        GC_UNROLL for (int i = 0; i < 8; i++)
                            part[i] = gc_fma_float(tile_a[(slice * 8 + k) * 8 + i], right, part[i]);
                    }
            }
            GC_BARRIER();
        }
        /* the sums of these chunks, in their order; a row is of one slice's items */
        GC_UNROLL for (int i = 0; i < 8; i++) {
            fold[GC_ITEM] = part[i];
            part[i] = 0;
            GC_BARRIER();
            if (i % 2 == slice)
                for (int c = 0; c < 2 && k_first + c * 512 < length; c++) {
                    const float more = fold[c * 128 + column];
                    sum[i / 2] = k_first + c ? sum[i / 2] + more : more;
                }
            GC_BARRIER();
        }
    }
    GC_UNROLL for (int i = 0; i < 4; i++) {
        const int64_t m_at = m_first + i * 2 + slice, n_at = n_first + column;
        if (i * 2 + slice < 8 && m_at < m_size && n_at < n_size) {
            const float dot0 = sum[i];
            const int64_t m = m_at;
            const int64_t n = n_at;
            y0[m * a8 + n] = dot0;
        }
    }
}
