typedef struct { int64_t w[20]; } gc_words;

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
GC_INLINE float gc_fma_float(float a, float b, float c) { return fma(a, b, c); }
GC_INLINE float gc_exp_float(float x)
{
    return exp(x);
}

GC_KERNEL void contract_attention_a059ee7b(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    const GC_GLOBAL char *GC_RESTRICT memory2,
    GC_GLOBAL char *GC_RESTRICT memory3,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, weight, 4160);
    GC_SHARED_ARRAY(float, tile_q, 544);
    GC_SHARED_ARRAY(float, tile_k, 544);
    GC_SHARED_ARRAY(float, top, 64);
    GC_SHARED_ARRAY(float, total, 64);
    GC_SHARED_ARRAY(float, factor, 64);
    GC_SHARED_ARRAY(float, shift, 64);
    GC_SHARED_ARRAY(int, seen, 64);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    const GC_GLOBAL float *GC_RESTRICT x1 = (const GC_GLOBAL float *)(memory1 + words.w[1]);
    const GC_GLOBAL float *GC_RESTRICT x2 = (const GC_GLOBAL float *)(memory2 + words.w[2]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory3 + words.w[3]);
    const int64_t a0 = words.w[4];
    const int64_t a1 = words.w[5];
    const int64_t a2 = words.w[6];
    const int64_t a3 = words.w[7];
    const int64_t a4 = words.w[8];
    const int64_t a5 = words.w[9];
    const int64_t a6 = words.w[10];
    const int64_t a7 = words.w[11];
    const int64_t a8 = words.w[12];
    const int64_t a9 = words.w[13];
    const int64_t a10 = words.w[14];
    const int64_t a11 = words.w[15];
    const int64_t a12 = words.w[16];
    const int64_t a13 = words.w[17];
    const float p0 = gc_bits_float((uint32_t)words.w[18]);
    /* 256 items share a block */
    const int own = GC_ITEM;
    const int64_t turn = group * 1 + 0;
    const bool live = turn < a1 * a0;
    const int64_t at = live ? turn : a1 * a0 - 1;
    const int64_t mb = gc_rest(at, a0);
    const int64_t b = gc_quotient(at, a0);
    const int64_t queries = a2, depth = a4, width = a5;
    const int64_t m_first = mb * 64;
    const int item_m = GC_ITEM / 16, item_n = GC_ITEM % 16;
    float sums[4][4];
    GC_UNROLL for (int i = 0; i < 4; i++)
        GC_UNROLL for (int j = 0; j < 4; j++) sums[i][j] = 0;
    if (GC_ITEM < 64) {
        top[GC_ITEM] = gc_bits_float(0xff800000u);
        total[GC_ITEM] = 0;
    }
    /* a query m sees the keys n <= m + diagonal: those behind what the last one sees are not read */
    const int64_t diagonal = 0;
    const int64_t keys = MIN(a3, MAX(MIN(m_first + 64, queries) + diagonal, 0));
    for (int64_t n_first = 0; n_first < keys; n_first += 64) {
        const int count = (int)MIN(keys - n_first, 64);
        {
            float part[4][4];
            GC_UNROLL for (int i = 0; i < 4; i++)
                GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = 0;
            for (int64_t c_first = 0; c_first < depth; c_first += 8) {
                for (int x = GC_ITEM; x < 512; x += 256) {
                    const int64_t m_at = m_first + x / 8, c_at = c_first + x % 8;
                    float value = 0;
                    if (m_at < queries && c_at < depth) {
                        const int64_t m = m_at;
                        const int64_t c = c_at;
                        value = x0[b * a6 + c + m * a7];
                    }
                    tile_q[x % 8 * 68 + x / 8] = value;
                }
                for (int x = GC_ITEM; x < 512; x += 256) {
                    const int64_t n_at = n_first + x / 8, c_at = c_first + x % 8;
                    float value = 0;
                    if (n_at < keys && c_at < depth) {
                        const int64_t n = n_at;
                        const int64_t c = c_at;
                        value = x1[b * a8 + c + n * a9];
                    }
                    tile_k[x % 8 * 68 + x / 8] = value;
                }
                GC_BARRIER();
                for (int c = 0; c < (int)MIN(depth - c_first, 8); c++) {
                    GC_UNROLL for (int i = 0; i < 4; i++)
                        GC_UNROLL for (int j = 0; j < 4; j++)
                            part[i][j] = gc_fma_float(tile_k[c * 68 + item_n * 4 + j],
                                tile_q[c * 68 + item_m * 4 + i], part[i][j]);
                }
                GC_BARRIER();
            }
            GC_UNROLL for (int i = 0; i < 4; i++)
                GC_UNROLL for (int j = 0; j < 4; j++) {
                    const int64_t m_at = m_first + item_m * 4 + i, n_at = n_first + item_n * 4 + j;
                    float value = gc_bits_float(0xff800000u);
                    if (m_at < queries && n_at < keys) {
                        const float score = part[i][j];
                        const int64_t m = m_at;
                        const int64_t n = n_at;
                        value = ((n) <= (m)) ? (score * p0) : gc_bits_float(0xff800000u);
                    }
                    weight[(item_m * 4 + i) * 65 + item_n * 4 + j] = value;
                }
        }
        GC_BARRIER();
        if (GC_ITEM < 64) {
            float most = top[GC_ITEM];
            for (int n = 0; n < count; n++) {
                const float score = weight[GC_ITEM * 65 + n];
                most = score > most ? score : most;
            }
            shift[GC_ITEM] = most == gc_bits_float(0xff800000u) ? 0 : most;
            factor[GC_ITEM] = gc_exp_float(top[GC_ITEM] - shift[GC_ITEM]);
            seen[GC_ITEM] = n_first <= m_first + GC_ITEM + diagonal;
            if (seen[GC_ITEM]) top[GC_ITEM] = most;
        }
        GC_BARRIER();
        for (int e = GC_ITEM; e < 4096; e += 256) {
            const int row = e / 64, at = row * 65 + e % 64;
            weight[at] = gc_exp_float(weight[at] - shift[row]);
        }
        GC_BARRIER();
        if (GC_ITEM < 64 && seen[GC_ITEM]) {
            float added = 0;
            for (int n = 0; n < count; n++) added = added + weight[GC_ITEM * 65 + n];
            total[GC_ITEM] = gc_fma_float(total[GC_ITEM], factor[GC_ITEM], added);
        }
        {
            float part[4][4];
            GC_UNROLL for (int i = 0; i < 4; i++)
                GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = 0;
            for (int n = 0; n < count; n++) {
                float right[4];
                GC_UNROLL for (int j = 0; j < 4; j++) {
                    const int64_t n_at = n_first + n, e_at = j / 4 * 64 + item_n * 4 + j % 4;
                    right[j] = 0;
                    if (e_at < width) {
                        const int64_t n = n_at;
                        const int64_t e = e_at;
                        right[j] = x2[b * a10 + e + n * a11];
                    }
                }
                GC_UNROLL for (int i = 0; i < 4; i++) {
                    const float left = weight[(item_m * 4 + i) * 65 + n];
                    GC_UNROLL for (int j = 0; j < 4; j++)
                        part[i][j] = gc_fma_float(right[j], left, part[i][j]);
                }
            }
            GC_UNROLL for (int i = 0; i < 4; i++) {
                const int row = item_m * 4 + i;
                GC_UNROLL for (int j = 0; j < 4; j++)
                    if (seen[row]) sums[i][j] = gc_fma_float(sums[i][j], factor[row], part[i][j]);
            }
        }
        GC_BARRIER();
    }
    GC_BARRIER();
    /* the results by way of shared memory, so that neighbouring items store neighbours */
    GC_UNROLL for (int p = 0; p < 1; p++) {
        GC_UNROLL for (int i = 0; i < 4; i++) {
            const int row = item_m * 4 + i;
            GC_UNROLL for (int j = 0; j < 4; j++)
                weight[row * 65 + item_n * 4 + j] = sums[i][4 * p + j] / total[row];
        }
        GC_BARRIER();
        for (int x = GC_ITEM; x < 4096; x += 256) {
            const int64_t m_at = m_first + x / 64, e_at = p * 64 + x % 64;
            if (m_at < queries && e_at < width) {
                const float attention0 = weight[x / 64 * 65 + x % 64];
                const int64_t m = m_at;
                const int64_t e = e_at;
                y0[b * a12 + e + m * a13] = attention0;
            }
        }
        GC_BARRIER();
    }
}
