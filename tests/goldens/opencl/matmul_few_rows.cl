typedef struct { int64_t w[12]; } gc_words;

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

GC_KERNEL void contract_dot_5b583dbc(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, tile_a, 256);
    GC_SHARED_ARRAY(float, fold, 256);
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
    /* 256 items share a block */
    const int own = GC_ITEM;
    const int64_t turn = group * 1 + 0;
    const bool live = turn < a1 * a0;
    const int64_t at = live ? turn : a1 * a0 - 1;
    const int64_t turns_mb = gc_quotient(at, a0);
    const int64_t mb = at - turns_mb * a0;
    const int64_t nb = turns_mb;
    const int64_t m_size = a2, n_size = a5, length = a3;
    const int slice = GC_ITEM / 256, column = GC_ITEM % 256;
    const int64_t m_first = mb * 4, n_first = nb * 256;
    float part[4], sum[4];
    float next_a[1];
    float next_b[16];
    float now_b[16];
    GC_UNROLL for (int i = 0; i < 4; i++) part[i] = 0;
    GC_UNROLL for (int i = 0; i < 4; i++) sum[i] = 0;
    {
        const int64_t k_from = 0;
        GC_UNROLL for (int e = 0; e < 1; e++) {
            const int spot = e * 256 + GC_ITEM, place = spot / 4;
            const int64_t m_at = m_first + spot % 4;
            const int64_t k_at = k_from + place / 16 * 512 + place % 16;
            next_a[e] = 0;
            if (spot < 64 && m_at < m_size && k_at < length) {
                const int64_t m = m_at;
                const int64_t k = k_at;
                next_a[e] = x0[k + m * a4];
            }
        }
        GC_UNROLL for (int e = 0; e < 16; e++) {
            const int64_t n_at = n_first + column, k_at = k_from + slice * 512 + e;
            next_b[e] = 0;
            if (n_at < n_size && k_at < length) {
                const int64_t n = n_at;
                const int64_t k = k_at;
                next_b[e] = x1[k * a6 + n];
            }
        }
    }
    for (int64_t k_first = 0; k_first < length; k_first += 512) {
        for (int piece = 0; piece < 512 && k_first + piece < length; piece += 16) {
            GC_UNROLL for (int e = 0; e < 1; e++)
                tile_a[e * 256 + GC_ITEM] = (next_a[e]);
            GC_UNROLL for (int e = 0; e < 16; e++) {
                now_b[e] = (next_b[e]);
            }
            GC_BARRIER();
            {
                const int64_t k_from = k_first + (piece + 16 < 512 ? piece + 16
                                                  : 512);
                GC_UNROLL for (int e = 0; e < 1; e++) {
                    const int spot = e * 256 + GC_ITEM, place = spot / 4;
                    const int64_t m_at = m_first + spot % 4;
                    const int64_t k_at = k_from + place / 16 * 512 + place % 16;
                    next_a[e] = 0;
                    if (spot < 64 && m_at < m_size && k_at < length) {
                        const int64_t m = m_at;
                        const int64_t k = k_at;
                        next_a[e] = x0[k + m * a4];
                    }
                }
                GC_UNROLL for (int e = 0; e < 16; e++) {
                    const int64_t n_at = n_first + column, k_at = k_from + slice * 512 + e;
                    next_b[e] = 0;
                    if (n_at < n_size && k_at < length) {
                        const int64_t n = n_at;
                        const int64_t k = k_at;
                        next_b[e] = x1[k * a6 + n];
                    }
                }
            }
            const int64_t rest = length - (k_first + slice * 512 + piece);
            if (rest >= 16) {
                GC_UNROLL for (int k = 0; k < 16; k++) {
                    const float right = now_b[k];
                    GC_UNROLL for (int i = 0; i < 4; i++)
                        part[i] = gc_fma_float(tile_a[(slice * 16 + k) * 4 + i], right, part[i]);
                }
            } else {
                GC_UNROLL for (int k = 0; k < 16; k++)
                    if (k < rest) {
                        const float right = now_b[k];
                        GC_UNROLL for (int i = 0; i < 4; i++)
                            part[i] = gc_fma_float(tile_a[(slice * 16 + k) * 4 + i], right, part[i]);
                    }
            }
            GC_BARRIER();
        }
        /* the sums of these chunks, in their order; a row is of one slice's items */
        GC_UNROLL for (int i = 0; i < 4; i++) {
            fold[GC_ITEM] = part[i];
            part[i] = 0;
            GC_BARRIER();
            if (i % 1 == slice)
                for (int c = 0; c < 1 && k_first + c * 512 < length; c++) {
                    const float more = fold[c * 256 + column];
                    sum[i / 1] = k_first + c ? sum[i / 1] + more : more;
                }
            GC_BARRIER();
        }
    }
    GC_UNROLL for (int i = 0; i < 4; i++) {
        const int64_t m_at = m_first + i * 1 + slice, n_at = n_first + column;
        if (i * 1 + slice < 4 && m_at < m_size && n_at < n_size) {
            const float dot0 = sum[i];
            const int64_t m = m_at;
            const int64_t n = n_at;
            y0[m * a7 + n] = dot0;
        }
    }
}
