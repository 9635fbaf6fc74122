typedef struct { int64_t w[23]; } gc_words;

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

GC_KERNEL void contract_attention_b2b962f9(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    const GC_GLOBAL char *GC_RESTRICT memory2,
    GC_GLOBAL char *GC_RESTRICT memory3,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, weight, 4096);
    GC_SHARED_ARRAY(float, tile_q, 1024);
    GC_SHARED_ARRAY(float, tile_k, 1024);
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
    const int64_t a14 = words.w[18];
    const int64_t a15 = words.w[19];
    const int64_t a16 = words.w[20];
    const float p0 = gc_bits_float((uint32_t)words.w[21]);
    /* 256 items share a block */
    const int own = GC_ITEM;
    const int64_t turn = group * 1 + 0;
    const bool live = turn < a1 * a0;
    const int64_t at = live ? turn : a1 * a0 - 1;
    const int64_t turns_mb = gc_quotient(at, a0);
    const int64_t mb = at - turns_mb * a0;
    const int64_t b = turns_mb;
    const int64_t queries = a2, depth = a4, width = a5;
    const int64_t m_first = mb * 64;
    const int item = GC_ITEM, item_m = item / 16, item_n = item % 16;
    const bool aligned_q = a8 && ((uint64_t)x0) % 16 == 0;
    const bool aligned_k = a11 && ((uint64_t)x1) % 16 == 0;
    const bool aligned_v = a14 && ((uint64_t)x2) % 16 == 0;
    float sums[1][4][4];
    GC_UNROLL for (int p = 0; p < 1; p++) GC_UNROLL for (int i = 0; i < 4; i++) GC_UNROLL for (int j = 0; j < 4; j++) sums[p][i][j] = 0;
    if (item < 64) {
        top[item] = gc_bits_float(0xff800000u);
        total[item] = 0;
    }
    /* a query m sees the keys n <= m + diagonal: those behind what the last one sees are not read */
    const int64_t diagonal = 0;
    const int64_t keys = MIN(a3, MAX(MIN(m_first + 64, queries) + diagonal, 0));
    for (int64_t n_first = 0; n_first < keys; n_first += 64) {
        const int count = (int)MIN(keys - n_first, 64);
        float part[4][4];
        GC_UNROLL for (int i = 0; i < 4; i++) GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = 0;
        for (int64_t c_first = 0; c_first < depth; c_first += 16) {
            if (n_first == 0 || depth > 16) {     /* else they are there */
                {
                    const int m_left = (int)MIN(queries - m_first, 64);
                    const int k_left = (int)MIN(depth - c_first, 16);
                    const int64_t k_from = c_first;
                    if (aligned_q && m_left == 64) {
                        float all[1][4];
                        GC_UNROLL for (int r = 0; r < 1; r++) {
                            const int x = r * 256 + item, at_outer = x / 16 % 16 * 4 + x % 4, at_k = (x / 256 * 4 + x / 4 % 4) * 4;
                            GC_UNROLL for (int e = 0; e < 4; e++) all[r][e] = 0;
                            if (at_k + 3 < k_left) {
                                const int64_t m_at = m_first + at_outer, k_at = k_from + at_k;
                                const int64_t m = m_at;
                                const int64_t c = k_at;
                                union { uint4 all[1]; float one[4]; } v0_wide;
                                GC_UNROLL for (int w = 0; w < 1; w++)
                                    v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x0[b * a6 + c + m * a7])[w];
                                const int64_t first = c;
                                GC_UNROLL for (int u = 0; u < 4; u++) {
                                    const int64_t c = first + u;
                                    const float v0 = v0_wide.one[u];
                                    float next;
                                    next = v0;
                                    all[r][u] = next;
                                }
                            }
                        }
                        GC_UNROLL for (int r = 0; r < 1; r++) {
                            const int x = r * 256 + item, at_outer = x / 16 % 16 * 4 + x % 4, at_k = (x / 256 * 4 + x / 4 % 4) * 4;
                            GC_UNROLL for (int e = 0; e < 4; e++) tile_q[(at_k + e) * 64 + (at_outer / 4 ^ (at_k / 4) % 8) * 4 + at_outer % 4] = all[r][e];
                        }
                    } else
                    GC_ROLL for (int r = 0; r < 1; r++) {
                        const int x = r * 256 + item, at_outer = x / 16 % 16 * 4 + x % 4, at_k = (x / 256 * 4 + x / 4 % 4) * 4;
                        float some[4];
                        GC_UNROLL for (int e = 0; e < 4; e++) some[e] = 0;
                        if (aligned_q && at_outer < m_left
                            && at_k + 3 < k_left) {
                            const int64_t m_at = m_first + at_outer, k_at = k_from + at_k;
                            const int64_t m = m_at;
                            const int64_t c = k_at;
                            union { uint4 all[1]; float one[4]; } v0_wide;
                            GC_UNROLL for (int w = 0; w < 1; w++)
                                v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x0[b * a6 + c + m * a7])[w];
                            const int64_t first = c;
                            GC_UNROLL for (int u = 0; u < 4; u++) {
                                const int64_t c = first + u;
                                const float v0 = v0_wide.one[u];
                                float next;
                                next = v0;
                                some[u] = next;
                            }
                        } else
                        {
                            GC_UNROLL for (int u = 0; u < 4; u++) {
                                const int own_outer = at_outer, own_k = at_k + u;
                                if (own_outer < m_left && own_k < k_left) {
                                    const int64_t m_at = m_first + own_outer, k_at = k_from + own_k;
                                    const int64_t m = m_at;
                                    const int64_t c = k_at;
                                    const float v0 = x0[b * a6 + c + m * a7];
                                    float next;
                                    next = v0;
                                    some[u] = next;
                                }
                            }
                        }
                        GC_UNROLL for (int e = 0; e < 4; e++) tile_q[(at_k + e) * 64 + (at_outer / 4 ^ (at_k / 4) % 8) * 4 + at_outer % 4] = some[e];
                    }
                }
            }
            {
                const int n_left = (int)MIN(keys - n_first, 64);
                const int k_left = (int)MIN(depth - c_first, 16);
                const int64_t k_from = c_first;
                if (aligned_k && n_left == 64) {
                    float all[1][4];
                    GC_UNROLL for (int r = 0; r < 1; r++) {
                        const int x = r * 256 + item, at_outer = x / 16 % 16 * 4 + x % 4, at_k = (x / 256 * 4 + x / 4 % 4) * 4;
                        GC_UNROLL for (int e = 0; e < 4; e++) all[r][e] = 0;
                        if (at_k + 3 < k_left) {
                            const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                            const int64_t n = n_at;
                            const int64_t c = k_at;
                            union { uint4 all[1]; float one[4]; } v0_wide;
                            GC_UNROLL for (int w = 0; w < 1; w++)
                                v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x1[b * a9 + c + n * a10])[w];
                            const int64_t first = c;
                            GC_UNROLL for (int u = 0; u < 4; u++) {
                                const int64_t c = first + u;
                                const float v0 = v0_wide.one[u];
                                float next;
                                next = v0;
                                all[r][u] = next;
                            }
                        }
                    }
                    GC_UNROLL for (int r = 0; r < 1; r++) {
                        const int x = r * 256 + item, at_outer = x / 16 % 16 * 4 + x % 4, at_k = (x / 256 * 4 + x / 4 % 4) * 4;
                        GC_UNROLL for (int e = 0; e < 4; e++) tile_k[(at_k + e) * 64 + (at_outer / 4 ^ (at_k / 4) % 8) * 4 + at_outer % 4] = all[r][e];
                    }
                } else
                GC_ROLL for (int r = 0; r < 1; r++) {
                    const int x = r * 256 + item, at_outer = x / 16 % 16 * 4 + x % 4, at_k = (x / 256 * 4 + x / 4 % 4) * 4;
                    float some[4];
                    GC_UNROLL for (int e = 0; e < 4; e++) some[e] = 0;
                    if (aligned_k && at_outer < n_left
                        && at_k + 3 < k_left) {
                        const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                        const int64_t n = n_at;
                        const int64_t c = k_at;
                        union { uint4 all[1]; float one[4]; } v0_wide;
                        GC_UNROLL for (int w = 0; w < 1; w++)
                            v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x1[b * a9 + c + n * a10])[w];
                        const int64_t first = c;
                        GC_UNROLL for (int u = 0; u < 4; u++) {
                            const int64_t c = first + u;
                            const float v0 = v0_wide.one[u];
                            float next;
                            next = v0;
                            some[u] = next;
                        }
                    } else
                    {
                        GC_UNROLL for (int u = 0; u < 4; u++) {
                            const int own_outer = at_outer, own_k = at_k + u;
                            if (own_outer < n_left && own_k < k_left) {
                                const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                                const int64_t n = n_at;
                                const int64_t c = k_at;
                                const float v0 = x1[b * a9 + c + n * a10];
                                float next;
                                next = v0;
                                some[u] = next;
                            }
                        }
                    }
                    GC_UNROLL for (int e = 0; e < 4; e++) tile_k[(at_k + e) * 64 + (at_outer / 4 ^ (at_k / 4) % 8) * 4 + at_outer % 4] = some[e];
                }
            }
            GC_BARRIER();
            const int c_left = (int)MIN(depth - c_first, 16);
            GC_UNROLL_4 for (int c = 0; c < c_left; c++) {
                float left[4], right[4];
                GC_UNROLL for (int i = 0; i < 4; i += 4) {
                    const GC_SHARED float *const some = tile_q + c * 64 + ((item_m * 4 + i) / 4 ^ (c / 4) % 8) * 4 + (item_m * 4 + i) % 4;
                    GC_UNROLL for (int e = 0; e < 4; e++)
                        left[i + e] = some[e];
                }
                const GC_SHARED float *const four = tile_k + c * 64 + ((item_n * 4) / 4 ^ (c / 4) % 8) * 4 + (item_n * 4) % 4;
                GC_UNROLL for (int j = 0; j < 4; j++) right[j] = four[j];
                GC_UNROLL for (int i = 0; i < 4; i++) GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = gc_fma_float(right[j], left[i], part[i][j]);
            }
            if (depth > 16) GC_BARRIER();
        }
        /* the largest of an item's scores of each row, for the item that has the row */
        float largest[4];
        GC_UNROLL for (int i = 0; i < 4; i++) {
            float most = gc_bits_float(0xff800000u);
            GC_UNROLL for (int j = 0; j < 4; j++) {
                const int64_t m_at = m_first + (item_m * 4 + i), n_at = n_first + item_n * 4 + j;
                float value = gc_bits_float(0xff800000u);
                if (m_at < queries && n_at < keys) {
                    const float score = part[i][j];
                    const int64_t m = m_at;
                    const int64_t n = n_at;
                    value = ((n) <= (m)) ? (score * p0) : gc_bits_float(0xff800000u);
                }
                part[i][j] = value;
                most = value > most ? value : most;
            }
            largest[i] = most;
        }
        GC_UNROLL for (int i = 0; i < 4; i += 4) {
            GC_SHARED float *const some = weight + item_n * 64 + ((item_m * 4 + i) / 4 ^ item_n % 8) * 4 + (item_m * 4 + i) % 4;
            GC_UNROLL for (int e = 0; e < 4; e++)
                some[e] = largest[i + e];
        }
        GC_BARRIER();
        if (item < 64) {
            float most = top[item];
            GC_UNROLL for (int n = 0; n < 16; n++) {
                const float score = weight[n * 64 + (item / 4 ^ n % 8) * 4 + item % 4];
                most = score > most ? score : most;
            }
            shift[item] = most == gc_bits_float(0xff800000u) ? 0 : most;
            factor[item] = gc_exp_float(top[item] - shift[item]);
            seen[item] = n_first <= m_first + item + diagonal;
            if (seen[item]) top[item] = most;
        }
        GC_BARRIER();
        GC_UNROLL for (int j = 0; j < 4; j++) {
            float own[4];
            GC_UNROLL for (int i = 0; i < 4; i++) {
                own[i] = gc_exp_float(part[i][j] - shift[(item_m * 4 + i)]);
                part[i][j] = 0;
            }
            GC_UNROLL for (int i = 0; i < 4; i += 4) {
                GC_SHARED float *const some = weight + (item_n * 4 + j) * 64 + ((item_m * 4 + i) / 4 ^ item_n % 8) * 4 + (item_m * 4 + i) % 4;
                GC_UNROLL for (int e = 0; e < 4; e++)
                    some[e] = own[i + e];
            }
        }
        GC_UNROLL for (int p = 0; p < 1; p++) {
            for (int from = 0; from < count; from += 16) {
                {
                    const int64_t k_from = p * 64;
                    const int n_left = (int)MIN(keys - n_first, from + 16);
                    const int k_left = (int)MIN(width - k_from, 64);
                    if (aligned_v && n_left == from + 16) {
                        float all[1][4];
                        GC_UNROLL for (int r = 0; r < 1; r++) {
                            const int x = r * 256 + item, at_outer = from + x / 16, at_k = x % 16 * 4;
                            GC_UNROLL for (int e = 0; e < 4; e++) all[r][e] = 0;
                            if (at_k + 3 < k_left) {
                                const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                                const int64_t n = n_at;
                                const int64_t e = k_at;
                                union { uint4 all[1]; float one[4]; } v0_wide;
                                GC_UNROLL for (int w = 0; w < 1; w++)
                                    v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x2[b * a12 + e + n * a13])[w];
                                const int64_t first = e;
                                GC_UNROLL for (int u = 0; u < 4; u++) {
                                    const int64_t e = first + u;
                                    const float v0 = v0_wide.one[u];
                                    float next;
                                    next = v0;
                                    all[r][u] = next;
                                }
                            }
                        }
                        GC_UNROLL for (int r = 0; r < 1; r++) {
                            const int x = r * 256 + item, at_outer = from + x / 16, at_k = x % 16 * 4;
                            GC_UNROLL for (int e = 0; e < 4; e++) tile_k[(at_outer - from) * 64 + at_k + e] = all[r][e];
                        }
                    } else
                    GC_ROLL for (int r = 0; r < 1; r++) {
                        const int x = r * 256 + item, at_outer = from + x / 16, at_k = x % 16 * 4;
                        float some[4];
                        GC_UNROLL for (int e = 0; e < 4; e++) some[e] = 0;
                        if (aligned_v && at_outer < n_left
                            && at_k + 3 < k_left) {
                            const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                            const int64_t n = n_at;
                            const int64_t e = k_at;
                            union { uint4 all[1]; float one[4]; } v0_wide;
                            GC_UNROLL for (int w = 0; w < 1; w++)
                                v0_wide.all[w] = ((const GC_GLOBAL uint4 *)&x2[b * a12 + e + n * a13])[w];
                            const int64_t first = e;
                            GC_UNROLL for (int u = 0; u < 4; u++) {
                                const int64_t e = first + u;
                                const float v0 = v0_wide.one[u];
                                float next;
                                next = v0;
                                some[u] = next;
                            }
                        } else
                        {
                            GC_UNROLL for (int u = 0; u < 4; u++) {
                                const int own_outer = at_outer, own_k = at_k + u;
                                if (own_outer < n_left && own_k < k_left) {
                                    const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                                    const int64_t n = n_at;
                                    const int64_t e = k_at;
                                    const float v0 = x2[b * a12 + e + n * a13];
                                    float next;
                                    next = v0;
                                    some[u] = next;
                                }
                            }
                        }
                        GC_UNROLL for (int e = 0; e < 4; e++) tile_k[(at_outer - from) * 64 + at_k + e] = some[e];
                    }
                }
                GC_BARRIER();
                {
                    const int n_left = MIN(count - from, 16);
                    GC_UNROLL_4 for (int n = 0; n < n_left; n++) {
                        const int key = from + n;
                        float left[4], right[4];
                        GC_UNROLL for (int i = 0; i < 4; i += 4) {
                            const GC_SHARED float *const some = weight + key * 64 + ((item_m * 4 + i) / 4 ^ (key / 4) % 8) * 4 + (item_m * 4 + i) % 4;
                            GC_UNROLL for (int e = 0; e < 4; e++)
                                left[i + e] = some[e];
                        }
                        GC_UNROLL for (int j = 0; j < 4; j++) right[j] = tile_k[n * 64 + item_n * 4 + j];
                        GC_UNROLL for (int i = 0; i < 4; i++) GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = gc_fma_float(right[j], left[i], part[i][j]);
                    }
                }
                GC_BARRIER();
            }
            GC_UNROLL for (int i = 0; i < 4; i++)
                GC_UNROLL for (int j = 0; j < 4; j++) {
                    if (seen[(item_m * 4 + i)]) sums[p][i][j] = gc_fma_float(sums[p][i][j], factor[(item_m * 4 + i)], part[i][j]);
                    part[i][j] = 0;
                }
        }
        if (item < 64 && seen[item]) {
            float added = 0;
            GC_UNROLL_4 for (int n = 0; n < count; n++)
                added = added + weight[n * 64 + (item / 4 ^ (n / 4) % 8) * 4 + item % 4];
            total[item] = gc_fma_float(total[item], factor[item], added);
        }
    }
    GC_BARRIER();
    /* the results by way of shared memory, so that neighbouring items store neighbours */
    GC_UNROLL for (int p = 0; p < 1; p++) {
        GC_UNROLL for (int i = 0; i < 4; i++) GC_UNROLL for (int j = 0; j < 4; j++) weight[(item_m * 4 + i) * 64 + item_n * 4 + j] = sums[p][i][j] / total[(item_m * 4 + i)];
        GC_BARRIER();
        for (int x = item; x < 4096; x += 256) {
            const int64_t m_at = m_first + x / 64, e_at = p * 64 + x % 64;
            if (m_at < queries && e_at < width) {
                const float attention0 = weight[x];
                const int64_t m = m_at;
                const int64_t e = e_at;
                y0[b * a15 + e + m * a16] = attention0;
            }
        }
        GC_BARRIER();
    }
}
