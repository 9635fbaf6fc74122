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

GC_KERNEL void contract_dot_4303503d(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, tile_a, 1024);
    GC_SHARED_ARRAY(float, tile_b, 544);
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
    const int64_t mb = gc_rest(at, a0);
    const int64_t nb = gc_rest(gc_quotient(at, a0), a1);
    const int64_t b = gc_quotient(gc_quotient(at, a0), a1);
    const int64_t m_size = a7, n_size = a11, length = a3;
    const int64_t m_first = mb * 64, n_first = nb * 64;
    const int m_left = (int)MIN(m_size - m_first, 64), n_left = (int)MIN(n_size - n_first, 64);
    const int item_m = GC_ITEM / 16, item_n = GC_ITEM % 16;
    const bool aligned_a = a6 && ((uint64_t)x0) % 16 == 0;
    const bool aligned_b = a10 && ((uint64_t)x1) % 16 == 0;
    float part[4][4];
    float next_a[2], next_b[2];
    GC_UNROLL for (int i = 0; i < 4; i++)
        GC_UNROLL for (int j = 0; j < 4; j++)
            part[i][j] = 0;
    {
        const int64_t k_from = 0;
        const int k_left = (int)MIN(length, 8);
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
                GC_UNROLL for (int e = 0; e < 2; e++) {
                    const int64_t k = first + e;
                    const float v0 = v0_wide.one[e];
                    next_a[e] = v0;
                }
            } else
            {
                GC_UNROLL for (int e = 0; e < 2; e++) {
                    const int own_outer = at_outer, own_k = at_k + e;
                    if (own_outer < m_left && own_k < k_left) {
                        const int64_t m_at = m_first + own_outer, k_at = k_from + own_k;
                        const int64_t m = m_at;
                        const int64_t k = k_at;
                        const float v0 = x0[b * a4 + k + m * a5];
                        next_a[e] = v0;
                    }
                }
            }
        }
        {
            const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 2;
            GC_UNROLL for (int e = 0; e < 2; e++) next_b[e] = 0;
            if (aligned_b && at_outer < n_left
                && at_k + 1 < k_left) {
                const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                const int64_t n = n_at;
                const int64_t k = k_at;
                union { uint2 all[1]; float one[2]; } v0_wide;
                GC_UNROLL for (int w = 0; w < 1; w++)
                    v0_wide.all[w] = ((const GC_GLOBAL uint2 *)&x1[b * a8 + k + n * a9])[w];
                const int64_t first = k;
                GC_UNROLL for (int e = 0; e < 2; e++) {
                    const int64_t k = first + e;
                    const float v0 = v0_wide.one[e];
                    next_b[e] = v0;
                }
            } else
            {
                GC_UNROLL for (int e = 0; e < 2; e++) {
                    const int own_outer = at_outer, own_k = at_k + e;
                    if (own_outer < n_left && own_k < k_left) {
                        const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                        const int64_t n = n_at;
                        const int64_t k = k_at;
                        const float v0 = x1[b * a8 + k + n * a9];
                        next_b[e] = v0;
                    }
                }
            }
        }
    }
    for (int64_t k_first = 0; k_first < length; k_first += 8) {
        {
            const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 2;
            GC_UNROLL for (int e = 0; e < 2; e++)
                tile_a[at_k * 68 + at_outer + e * 68]
                    = next_a[e];
        }
        {
            const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 2;
            GC_UNROLL for (int e = 0; e < 2; e++)
                tile_b[at_k * 68 + at_outer + e * 68]
                    = next_b[e];
        }
        GC_BARRIER();
        {
            const int64_t k_from = k_first + 8;
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
                    GC_UNROLL for (int e = 0; e < 2; e++) {
                        const int64_t k = first + e;
                        const float v0 = v0_wide.one[e];
                        next_a[e] = v0;
                    }
                } else
                {
                    GC_UNROLL for (int e = 0; e < 2; e++) {
                        const int own_outer = at_outer, own_k = at_k + e;
                        if (own_outer < m_left && own_k < k_left) {
                            const int64_t m_at = m_first + own_outer, k_at = k_from + own_k;
                            const int64_t m = m_at;
                            const int64_t k = k_at;
                            const float v0 = x0[b * a4 + k + m * a5];
                            next_a[e] = v0;
                        }
                    }
                }
            }
            {
                const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 2;
                GC_UNROLL for (int e = 0; e < 2; e++) next_b[e] = 0;
                if (aligned_b && at_outer < n_left
                    && at_k + 1 < k_left) {
                    const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                    const int64_t n = n_at;
                    const int64_t k = k_at;
                    union { uint2 all[1]; float one[2]; } v0_wide;
                    GC_UNROLL for (int w = 0; w < 1; w++)
                        v0_wide.all[w] = ((const GC_GLOBAL uint2 *)&x1[b * a8 + k + n * a9])[w];
                    const int64_t first = k;
                    GC_UNROLL for (int e = 0; e < 2; e++) {
                        const int64_t k = first + e;
                        const float v0 = v0_wide.one[e];
                        next_b[e] = v0;
                    }
                } else
                {
                    GC_UNROLL for (int e = 0; e < 2; e++) {
                        const int own_outer = at_outer, own_k = at_k + e;
                        if (own_outer < n_left && own_k < k_left) {
                            const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                            const int64_t n = n_at;
                            const int64_t k = k_at;
                            const float v0 = x1[b * a8 + k + n * a9];
                            next_b[e] = v0;
                        }
                    }
                }
            }
        }
        if (k_first + 8 <= length) {
            GC_UNROLL for (int k = 0; k < 8; k++) {
                float left[4], right[4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    left[i] = tile_a[k * 68 + i / 4 * 64 + item_m * 4 + i % 4];
                GC_UNROLL for (int j = 0; j < 4; j++)
                    right[j] = tile_b[k * 68 + j / 4 * 64 + item_n * 4 + j % 4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = gc_fma_float(left[i], right[j], part[i][j]);
            }
        } else {
            for (int k = 0; k < (int)(length - k_first); k++) {
                float left[4], right[4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    left[i] = tile_a[k * 68 + i / 4 * 64 + item_m * 4 + i % 4];
                GC_UNROLL for (int j = 0; j < 4; j++)
                    right[j] = tile_b[k * 68 + j / 4 * 64 + item_n * 4 + j % 4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = gc_fma_float(left[i], right[j], part[i][j]);
            }
        }
        GC_BARRIER();
    }
    /* the results by way of shared memory, so that neighbouring items store neighbours */
    GC_UNROLL for (int i = 0; i < 4; i++) {
        GC_UNROLL for (int j = 0; j < 4; j++)
            tile_a[item_m * 64 + j / 4 * 64 + item_n * 4 + j % 4] = part[i][j];
        GC_BARRIER();
        for (int e = GC_ITEM; e < 1024; e += 256) {
            const int row = e / 64;
            const int64_t m_at = m_first + i / 4 * 64 + row * 4 + i % 4, n_at = n_first + e % 64;
            if (m_at < m_size && n_at < n_size) {
                const float dot0 = tile_a[e];
                const int64_t m = m_at;
                const int64_t n = n_at;
                y0[b * a12 + m * a13 + n] = dot0;
            }
        }
        GC_BARRIER();
    }
}

typedef struct { int64_t w[21]; } gc_words;

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
GC_INLINE uint32_t gc_bitcast_uint32_t_float(float from)
{
    union { float from; uint32_t to; } u; u.from = from; return u.to;
}
GC_INLINE float gc_max_float(float a, float b)
{
    const float x = a > b ? a : b, y = b > a ? b : a;
    const float z = gc_bits_float(gc_bitcast_uint32_t_float(x) & gc_bitcast_uint32_t_float(y));
    return a != a || b != b ? a + b : z;
}
GC_INLINE float gc_exp_float(float x)
{
    return exp(x);
}

GC_KERNEL void row_max_sum_38bf430f(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    GC_GLOBAL char *GC_RESTRICT memory2,
    GC_GLOBAL char *GC_RESTRICT memory3,
    GC_GLOBAL char *GC_RESTRICT memory4,
    const gc_words words, GC_GLOBAL int *fault GC_SCRATCH_ARGUMENT)
{
    const int64_t group = GC_GROUP;
    GC_SCRATCH_DECLARATION
    GC_SHARED_ARRAY(float, fold_float, 256);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    const GC_GLOBAL float *GC_RESTRICT x1 = (const GC_GLOBAL float *)(memory1 + words.w[1]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory2 + words.w[2]);
    GC_GLOBAL float *GC_RESTRICT y1 = (GC_GLOBAL float *)(memory3 + words.w[3]);
    GC_GLOBAL float *GC_RESTRICT y2 = (GC_GLOBAL float *)(memory4 + words.w[4]);
    const int64_t a0 = words.w[5];
    const int64_t a1 = words.w[6];
    const int64_t a2 = words.w[7];
    const int64_t a3 = words.w[8];
    const int64_t a4 = words.w[9];
    const int64_t a5 = words.w[10];
    const int64_t a6 = words.w[11];
    const int64_t a7 = words.w[12];
    const int64_t a8 = words.w[13];
    const int64_t a9 = words.w[14];
    const int64_t a10 = words.w[15];
    const int64_t a11 = words.w[16];
    const int64_t a12 = words.w[17];
    const float p0 = gc_bits_float((uint32_t)words.w[18]);
    const float p1 = gc_bits_float((uint32_t)words.w[19]);
    /* 64 items share a row */
    const int own = GC_ITEM % 64;
    const int64_t turn = group * 4 + GC_ITEM / 64;
    const bool live = turn < a0 * a1;
    const int64_t at = live ? turn : a0 * a1 - 1;
    const int64_t i1 = gc_rest(at, a1);
    const int64_t i0 = gc_quotient(at, a1);
    float max0 = gc_bits_float(0xff800000u);
    {
        const int64_t length = (live ? a2 : 0);
        float max0_part = gc_bits_float(0xff800000u);
        for (int64_t j = own; j < length; j += 64) {
            const float t0 = ((j) <= (i1)) ? (x0[i0 * a3 + i1 * a4 + j] * p0) : gc_bits_float(0xff800000u);
            max0_part = gc_max_float(max0_part, (t0));
        }
        max0 = max0_part;
        fold_float[GC_ITEM] = max0;
        GC_BARRIER();
        #if GC_SHUFFLES > 1
        for (int step = 32; step * 1 >= GC_SHUFFLES; step >>= 1) {
            if (own < step) fold_float[GC_ITEM] = gc_max_float(fold_float[GC_ITEM], fold_float[GC_ITEM + step * 1]);
            GC_BARRIER();
        }
        {
            float here = fold_float[GC_ITEM];
            for (int step = MIN(64, GC_SHUFFLES / 1) / 2; step; step >>= 1) {
                const float there = GC_SHUFFLE_DOWN(here, step * 1);
                here = gc_max_float(here, there);
            }
            if (own == 0) fold_float[GC_ITEM] = here;
            GC_BARRIER();
        }
        #else
        for (int step = 32; step; step >>= 1) {
            if (own < step) fold_float[GC_ITEM] = gc_max_float(fold_float[GC_ITEM], fold_float[GC_ITEM + step * 1]);
            GC_BARRIER();
        }
        #endif
        max0 = fold_float[GC_ITEM - own * 1];
        GC_BARRIER();
    }
    GC_SHARED float *row0 = (GC_SHARED float *)(scratch + 0)
        + GC_ITEM / 64 * a5;
    float sum1 = -0.0f;
    {
        const int64_t length = (live ? a2 : 0);
        const int64_t first = 0;
        const int64_t last = MIN(first + 1024, length);
        float sum1_part = -0.0f;
        for (int64_t j = first + own; j < last; j += 64) {
            const float t1 = ((j) <= (i1)) ? (x0[i0 * a6 + i1 * a7 + j] * p1) : gc_bits_float(0xff800000u);
            const float t2 = gc_exp_float((t1 - max0));
            row0[j] = t2;
            sum1_part = sum1_part + (t2);
        }
        fold_float[GC_ITEM] = sum1_part;
        GC_BARRIER();
        #if GC_SHUFFLES > 1
        for (int step = 32; step * 1 >= GC_SHUFFLES; step >>= 1) {
            if (own < step) fold_float[GC_ITEM] = fold_float[GC_ITEM] + fold_float[GC_ITEM + step * 1];
            GC_BARRIER();
        }
        {
            float here = fold_float[GC_ITEM];
            for (int step = MIN(64, GC_SHUFFLES / 1) / 2; step; step >>= 1) {
                const float there = GC_SHUFFLE_DOWN(here, step * 1);
                here = here + there;
            }
            if (own == 0) fold_float[GC_ITEM] = here;
            GC_BARRIER();
        }
        #else
        for (int step = 32; step; step >>= 1) {
            if (own < step) fold_float[GC_ITEM] = fold_float[GC_ITEM] + fold_float[GC_ITEM + step * 1];
            GC_BARRIER();
        }
        #endif
        sum1_part = fold_float[GC_ITEM - own * 1];
        GC_BARRIER();
        sum1 = sum1_part;
    }
    if (live && own == 0) y0[i0 * a8 + i1] = max0;
    float sum2 = -0.0f;
    {
        const int64_t length = (live ? a2 : 0);
        const int64_t first = 0;
        const int64_t last = MIN(first + 1024, length);
        float sum2_part = -0.0f;
        for (int64_t j = first + own; j < last; j += 64) {
            sum2_part = sum2_part + ((-(x1[i0 * a9 + i1 * a10 + j] / sum1)) * (row0[j] / sum1));
        }
        fold_float[GC_ITEM] = sum2_part;
        GC_BARRIER();
        #if GC_SHUFFLES > 1
        for (int step = 32; step * 1 >= GC_SHUFFLES; step >>= 1) {
            if (own < step) fold_float[GC_ITEM] = fold_float[GC_ITEM] + fold_float[GC_ITEM + step * 1];
            GC_BARRIER();
        }
        {
            float here = fold_float[GC_ITEM];
            for (int step = MIN(64, GC_SHUFFLES / 1) / 2; step; step >>= 1) {
                const float there = GC_SHUFFLE_DOWN(here, step * 1);
                here = here + there;
            }
            if (own == 0) fold_float[GC_ITEM] = here;
            GC_BARRIER();
        }
        #else
        for (int step = 32; step; step >>= 1) {
            if (own < step) fold_float[GC_ITEM] = fold_float[GC_ITEM] + fold_float[GC_ITEM + step * 1];
            GC_BARRIER();
        }
        #endif
        sum2_part = fold_float[GC_ITEM - own * 1];
        GC_BARRIER();
        sum2 = sum2_part;
    }
    if (live && own == 0) y1[i0 * a11 + i1] = sum1;
    if (live && own == 0) y2[i0 * a12 + i1] = sum2;
}

typedef struct { int64_t w[29]; } gc_words;

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
GC_INLINE float gc_exp_float(float x)
{
    return exp(x);
}
GC_INLINE float gc_fma_float(float a, float b, float c) { return fma(a, b, c); }

GC_KERNEL void contract_dot_permute_c0f9f4e5(
    const GC_GLOBAL char *GC_RESTRICT memory0,
    const GC_GLOBAL char *GC_RESTRICT memory1,
    const GC_GLOBAL char *GC_RESTRICT memory2,
    const GC_GLOBAL char *GC_RESTRICT memory3,
    const GC_GLOBAL char *GC_RESTRICT memory4,
    const GC_GLOBAL char *GC_RESTRICT memory5,
    GC_GLOBAL char *GC_RESTRICT memory6,
    const gc_words words, GC_GLOBAL int *fault)
{
    const int64_t group = GC_GROUP;
    GC_SHARED_ARRAY(float, tile_a, 1024);
    GC_SHARED_ARRAY(float, tile_b, 544);
    const GC_GLOBAL float *GC_RESTRICT x0 = (const GC_GLOBAL float *)(memory0 + words.w[0]);
    const GC_GLOBAL float *GC_RESTRICT x1 = (const GC_GLOBAL float *)(memory1 + words.w[1]);
    const GC_GLOBAL float *GC_RESTRICT x2 = (const GC_GLOBAL float *)(memory2 + words.w[2]);
    const GC_GLOBAL float *GC_RESTRICT x3 = (const GC_GLOBAL float *)(memory3 + words.w[3]);
    const GC_GLOBAL float *GC_RESTRICT x4 = (const GC_GLOBAL float *)(memory4 + words.w[4]);
    const GC_GLOBAL float *GC_RESTRICT x5 = (const GC_GLOBAL float *)(memory5 + words.w[5]);
    GC_GLOBAL float *GC_RESTRICT y0 = (GC_GLOBAL float *)(memory6 + words.w[6]);
    const int64_t a0 = words.w[7];
    const int64_t a1 = words.w[8];
    const int64_t a2 = words.w[9];
    const int64_t a3 = words.w[10];
    const int64_t a4 = words.w[11];
    const int64_t a5 = words.w[12];
    const int64_t a6 = words.w[13];
    const int64_t a7 = words.w[14];
    const int64_t a8 = words.w[15];
    const int64_t a9 = words.w[16];
    const int64_t a10 = words.w[17];
    const int64_t a11 = words.w[18];
    const int64_t a12 = words.w[19];
    const int64_t a13 = words.w[20];
    const int64_t a14 = words.w[21];
    const int64_t a15 = words.w[22];
    const int64_t a16 = words.w[23];
    const int64_t a17 = words.w[24];
    const int64_t a18 = words.w[25];
    const float p0 = gc_bits_float((uint32_t)words.w[26]);
    const float p1 = gc_bits_float((uint32_t)words.w[27]);
    /* 256 items share a block */
    const int own = GC_ITEM;
    const int64_t turn = group * 1 + 0;
    const bool live = turn < a2 * a1 * a0;
    const int64_t at = live ? turn : a2 * a1 * a0 - 1;
    const int64_t mb = gc_rest(at, a0);
    const int64_t nb = gc_rest(gc_quotient(at, a0), a1);
    const int64_t b = gc_quotient(gc_quotient(at, a0), a1);
    const int64_t m_size = a7, n_size = a16, length = a3;
    const int64_t m_first = mb * 64, n_first = nb * 64;
    const int m_left = (int)MIN(m_size - m_first, 64), n_left = (int)MIN(n_size - n_first, 64);
    const int item_m = GC_ITEM / 16, item_n = GC_ITEM % 16;
    const bool aligned_a = a6 && ((uint64_t)x0) % 16 == 0;
    const bool aligned_b = a15 && ((uint64_t)x5 | (uint64_t)x3 | (uint64_t)x2) % 16 == 0;
    float part[4][4];
    float next_a[2], next_b[2];
    GC_UNROLL for (int i = 0; i < 4; i++)
        GC_UNROLL for (int j = 0; j < 4; j++)
            part[i][j] = 0;
    {
        const int64_t k_from = 0;
        const int k_left = (int)MIN(length, 8);
        {
            const int at_outer = GC_ITEM % 32 * 2, at_k = GC_ITEM / 32;
            GC_UNROLL for (int e = 0; e < 2; e++) next_a[e] = 0;
            if (aligned_a && at_outer + 1 < m_left
                && at_k < k_left) {
                const int64_t m_at = m_first + at_outer, k_at = k_from + at_k;
                const int64_t m = m_at;
                const int64_t k = k_at;
                union { uint2 all[1]; float one[2]; } v0_wide;
                GC_UNROLL for (int w = 0; w < 1; w++)
                    v0_wide.all[w] = ((const GC_GLOBAL uint2 *)&x0[b * a4 + k * a5 + m])[w];
                const int64_t first = m;
                GC_UNROLL for (int e = 0; e < 2; e++) {
                    const int64_t m = first + e;
                    const float v0 = v0_wide.one[e];
                    next_a[e] = v0;
                }
            } else
            {
                GC_UNROLL for (int e = 0; e < 2; e++) {
                    const int own_outer = at_outer + e, own_k = at_k;
                    if (own_outer < m_left && own_k < k_left) {
                        const int64_t m_at = m_first + own_outer, k_at = k_from + own_k;
                        const int64_t m = m_at;
                        const int64_t k = k_at;
                        const float v0 = x0[b * a4 + k * a5 + m];
                        next_a[e] = v0;
                    }
                }
            }
        }
        {
            const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 2;
            GC_UNROLL for (int e = 0; e < 2; e++) next_b[e] = 0;
            if (aligned_b && at_outer < n_left
                && at_k + 1 < k_left) {
                const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                const int64_t n = n_at;
                const int64_t k = k_at;
                union { uint2 all[1]; float one[2]; } v0_wide;
                GC_UNROLL for (int w = 0; w < 1; w++)
                    v0_wide.all[w] = ((const GC_GLOBAL uint2 *)&x5[b * a8 + k])[w];
                union { uint2 all[1]; float one[2]; } v1_wide;
                GC_UNROLL for (int w = 0; w < 1; w++)
                    v1_wide.all[w] = ((const GC_GLOBAL uint2 *)&x3[b * a9 + k])[w];
                union { uint2 all[1]; float one[2]; } v2_wide;
                GC_UNROLL for (int w = 0; w < 1; w++)
                    v2_wide.all[w] = ((const GC_GLOBAL uint2 *)&x2[b * a10 + k])[w];
                const int64_t first = k;
                GC_UNROLL for (int e = 0; e < 2; e++) {
                    const int64_t k = first + e;
                    const float v0 = v0_wide.one[e];
                    const float v1 = v1_wide.one[e];
                    const float v2 = v2_wide.one[e];
                    const uint8_t t0 = (n) <= (k);
                    const float t1 = ((x1[b * a11 + k * a12 + n] / v2) + v1) * gc_exp_float(((t0 ? (x4[b * a13 + k * a14 + n] * p0) : gc_bits_float(0xff800000u)) - v0));
                    next_b[e] = (t0 ? t1 : 0.0f) * p1;
                }
            } else
            {
                GC_UNROLL for (int e = 0; e < 2; e++) {
                    const int own_outer = at_outer, own_k = at_k + e;
                    if (own_outer < n_left && own_k < k_left) {
                        const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                        const int64_t n = n_at;
                        const int64_t k = k_at;
                        const float v0 = x5[b * a8 + k];
                        const float v1 = x3[b * a9 + k];
                        const float v2 = x2[b * a10 + k];
                        const uint8_t t0 = (n) <= (k);
                        const float t1 = ((x1[b * a11 + k * a12 + n] / v2) + v1) * gc_exp_float(((t0 ? (x4[b * a13 + k * a14 + n] * p0) : gc_bits_float(0xff800000u)) - v0));
                        next_b[e] = (t0 ? t1 : 0.0f) * p1;
                    }
                }
            }
        }
    }
    for (int64_t k_first = 0; k_first < length; k_first += 8) {
        {
            const int at_outer = GC_ITEM % 32 * 2, at_k = GC_ITEM / 32;
            GC_UNROLL for (int e = 0; e < 2; e++)
                tile_a[at_k * 68 + at_outer + e]
                    = next_a[e];
        }
        {
            const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 2;
            GC_UNROLL for (int e = 0; e < 2; e++)
                tile_b[at_k * 68 + at_outer + e * 68]
                    = next_b[e];
        }
        GC_BARRIER();
        {
            const int64_t k_from = k_first + 8;
            const int k_left = (int)MIN(length - k_from, 8);
            {
                const int at_outer = GC_ITEM % 32 * 2, at_k = GC_ITEM / 32;
                GC_UNROLL for (int e = 0; e < 2; e++) next_a[e] = 0;
                if (aligned_a && at_outer + 1 < m_left
                    && at_k < k_left) {
                    const int64_t m_at = m_first + at_outer, k_at = k_from + at_k;
                    const int64_t m = m_at;
                    const int64_t k = k_at;
                    union { uint2 all[1]; float one[2]; } v0_wide;
                    GC_UNROLL for (int w = 0; w < 1; w++)
                        v0_wide.all[w] = ((const GC_GLOBAL uint2 *)&x0[b * a4 + k * a5 + m])[w];
                    const int64_t first = m;
                    GC_UNROLL for (int e = 0; e < 2; e++) {
                        const int64_t m = first + e;
                        const float v0 = v0_wide.one[e];
                        next_a[e] = v0;
                    }
                } else
                {
                    GC_UNROLL for (int e = 0; e < 2; e++) {
                        const int own_outer = at_outer + e, own_k = at_k;
                        if (own_outer < m_left && own_k < k_left) {
                            const int64_t m_at = m_first + own_outer, k_at = k_from + own_k;
                            const int64_t m = m_at;
                            const int64_t k = k_at;
                            const float v0 = x0[b * a4 + k * a5 + m];
                            next_a[e] = v0;
                        }
                    }
                }
            }
            {
                const int at_outer = GC_ITEM / 4, at_k = GC_ITEM % 4 * 2;
                GC_UNROLL for (int e = 0; e < 2; e++) next_b[e] = 0;
                if (aligned_b && at_outer < n_left
                    && at_k + 1 < k_left) {
                    const int64_t n_at = n_first + at_outer, k_at = k_from + at_k;
                    const int64_t n = n_at;
                    const int64_t k = k_at;
                    union { uint2 all[1]; float one[2]; } v0_wide;
                    GC_UNROLL for (int w = 0; w < 1; w++)
                        v0_wide.all[w] = ((const GC_GLOBAL uint2 *)&x5[b * a8 + k])[w];
                    union { uint2 all[1]; float one[2]; } v1_wide;
                    GC_UNROLL for (int w = 0; w < 1; w++)
                        v1_wide.all[w] = ((const GC_GLOBAL uint2 *)&x3[b * a9 + k])[w];
                    union { uint2 all[1]; float one[2]; } v2_wide;
                    GC_UNROLL for (int w = 0; w < 1; w++)
                        v2_wide.all[w] = ((const GC_GLOBAL uint2 *)&x2[b * a10 + k])[w];
                    const int64_t first = k;
                    GC_UNROLL for (int e = 0; e < 2; e++) {
                        const int64_t k = first + e;
                        const float v0 = v0_wide.one[e];
                        const float v1 = v1_wide.one[e];
                        const float v2 = v2_wide.one[e];
                        const uint8_t t0 = (n) <= (k);
                        const float t1 = ((x1[b * a11 + k * a12 + n] / v2) + v1) * gc_exp_float(((t0 ? (x4[b * a13 + k * a14 + n] * p0) : gc_bits_float(0xff800000u)) - v0));
                        next_b[e] = (t0 ? t1 : 0.0f) * p1;
                    }
                } else
                {
                    GC_UNROLL for (int e = 0; e < 2; e++) {
                        const int own_outer = at_outer, own_k = at_k + e;
                        if (own_outer < n_left && own_k < k_left) {
                            const int64_t n_at = n_first + own_outer, k_at = k_from + own_k;
                            const int64_t n = n_at;
                            const int64_t k = k_at;
                            const float v0 = x5[b * a8 + k];
                            const float v1 = x3[b * a9 + k];
                            const float v2 = x2[b * a10 + k];
                            const uint8_t t0 = (n) <= (k);
                            const float t1 = ((x1[b * a11 + k * a12 + n] / v2) + v1) * gc_exp_float(((t0 ? (x4[b * a13 + k * a14 + n] * p0) : gc_bits_float(0xff800000u)) - v0));
                            next_b[e] = (t0 ? t1 : 0.0f) * p1;
                        }
                    }
                }
            }
        }
        if (k_first + 8 <= length) {
            GC_UNROLL for (int k = 0; k < 8; k++) {
                float left[4], right[4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    left[i] = tile_a[k * 68 + i / 4 * 64 + item_m * 4 + i % 4];
                GC_UNROLL for (int j = 0; j < 4; j++)
                    right[j] = tile_b[k * 68 + j / 4 * 64 + item_n * 4 + j % 4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = gc_fma_float(left[i], right[j], part[i][j]);
            }
        } else {
            for (int k = 0; k < (int)(length - k_first); k++) {
                float left[4], right[4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    left[i] = tile_a[k * 68 + i / 4 * 64 + item_m * 4 + i % 4];
                GC_UNROLL for (int j = 0; j < 4; j++)
                    right[j] = tile_b[k * 68 + j / 4 * 64 + item_n * 4 + j % 4];
                GC_UNROLL for (int i = 0; i < 4; i++)
                    GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = gc_fma_float(left[i], right[j], part[i][j]);
            }
        }
        GC_BARRIER();
    }
    /* the results by way of shared memory, so that neighbouring items store neighbours */
    GC_UNROLL for (int i = 0; i < 4; i++) {
        GC_UNROLL for (int j = 0; j < 4; j++)
            tile_a[item_m * 64 + j / 4 * 64 + item_n * 4 + j % 4] = part[i][j];
        GC_BARRIER();
        for (int e = GC_ITEM; e < 1024; e += 256) {
            const int row = e / 64;
            const int64_t m_at = m_first + i / 4 * 64 + row * 4 + i % 4, n_at = n_first + e % 64;
            if (m_at < m_size && n_at < n_size) {
                const float dot0 = tile_a[e];
                const int64_t m = m_at;
                const int64_t n = n_at;
                y0[b * a17 + m + n * a18] = dot0;
            }
        }
        GC_BARRIER();
    }
}
