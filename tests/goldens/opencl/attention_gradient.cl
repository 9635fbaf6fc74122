typedef struct { int64_t w[32]; } gc_words;

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
GC_INLINE float gc_exp_float(float x)
{
    return exp(x);
}
GC_INLINE float gc_bits_float(uint32_t word) { union { uint32_t word; float x; } u; u.word = word; return u.x; }

GC_KERNEL void contract_weighted_b01b84e2(
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
    GC_SHARED_ARRAY(float, weight0, 2080);
    GC_SHARED_ARRAY(float, weight1, 2080);
    GC_SHARED_ARRAY(float, tile_r, 288);
    GC_SHARED_ARRAY(float, tile_s, 544);
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
    const int64_t a19 = words.w[26];
    const int64_t a20 = words.w[27];
    const int64_t a21 = words.w[28];
    const float p0 = gc_bits_float((uint32_t)words.w[29]);
    const float p1 = gc_bits_float((uint32_t)words.w[30]);
    /* 256 items share a block */
    const int own = GC_ITEM;
    const int64_t turn = group * 1 + 0;
    const bool live = turn < a1 * a0;
    const int64_t at = live ? turn : a1 * a0 - 1;
    const int64_t turns_rb = gc_quotient(at, a0);
    const int64_t rb = at - turns_rb * a0;
    const int64_t b = turns_rb;
    const int64_t r_size = a3, s_size = a6;
    const int64_t r_first = rb * 32;
    const int item_r = GC_ITEM / 16, item_s = GC_ITEM % 16;
    float sums[2][12];
    GC_UNROLL for (int i = 0; i < 2; i++)
        GC_UNROLL for (int j = 0; j < 12; j++) sums[i][j] = 0;
    const int64_t diagonal = 0;
    /* a row r has weights of s >= r - diagonal */
    const int64_t s_start = MAX(r_first - diagonal, 0) / 64 * 64, s_last = s_size;
    for (int64_t s_first = s_start; s_first < s_last; s_first += 64) {
        const int count = (int)MIN(s_size - s_first, 64);
        {
            const int64_t depth = a2;
            float part[2][4];
            GC_UNROLL for (int i = 0; i < 2; i++)
                GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = 0;
            for (int64_t c_first = 0; c_first < depth; c_first += 8) {
                GC_ROLL for (int x = GC_ITEM; x < 256; x += 256) {
                    const int64_t r_at = r_first + x / 8, c_at = c_first + x % 8;
                    float value = 0;
                    if (r_at < r_size && c_at < depth) {
                        const int64_t r = r_at;
                        const int64_t c0 = c_at;
                        value = x3[b * a4 + c0 + r * a5];
                    }
                    tile_r[x % 8 * 36 + x / 8] = value;
                }
                GC_ROLL for (int x = GC_ITEM; x < 512; x += 256) {
                    const int64_t s_at = s_first + x / 8, c_at = c_first + x % 8;
                    float value = 0;
                    if (s_at < s_size && c_at < depth) {
                        const int64_t s = s_at;
                        const int64_t c0 = c_at;
                        value = x2[b * a7 + c0 + s * a8];
                    }
                    tile_s[x % 8 * 68 + x / 8] = value;
                }
                GC_BARRIER();
                for (int c = 0; c < (int)MIN(depth - c_first, 8); c++) {
                    GC_UNROLL for (int i = 0; i < 2; i++)
                        GC_UNROLL for (int j = 0; j < 4; j++)
                            part[i][j] = gc_fma_float(tile_s[c * 68 + item_s * 4 + j],
                                tile_r[c * 36 + item_r * 2 + i], part[i][j]);
                }
                GC_BARRIER();
            }
            GC_UNROLL for (int i = 0; i < 2; i++)
                GC_UNROLL for (int j = 0; j < 4; j++)
                    weight0[(item_r * 2 + i) * 65 + item_s * 4 + j] = part[i][j];
        }
        {
            const int64_t depth = a9;
            float part[2][4];
            GC_UNROLL for (int i = 0; i < 2; i++)
                GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = 0;
            for (int64_t c_first = 0; c_first < depth; c_first += 8) {
                GC_ROLL for (int x = GC_ITEM; x < 256; x += 256) {
                    const int64_t r_at = r_first + x / 8, c_at = c_first + x % 8;
                    float value = 0;
                    if (r_at < r_size && c_at < depth) {
                        const int64_t r = r_at;
                        const int64_t c1 = c_at;
                        value = x5[b * a10 + c1 + r * a11];
                    }
                    tile_r[x % 8 * 36 + x / 8] = value;
                }
                GC_ROLL for (int x = GC_ITEM; x < 512; x += 256) {
                    const int64_t s_at = s_first + x / 8, c_at = c_first + x % 8;
                    float value = 0;
                    if (s_at < s_size && c_at < depth) {
                        const int64_t s = s_at;
                        const int64_t c1 = c_at;
                        value = x4[b * a12 + c1 + s * a13];
                    }
                    tile_s[x % 8 * 68 + x / 8] = value;
                }
                GC_BARRIER();
                for (int c = 0; c < (int)MIN(depth - c_first, 8); c++) {
                    GC_UNROLL for (int i = 0; i < 2; i++)
                        GC_UNROLL for (int j = 0; j < 4; j++)
                            part[i][j] = gc_fma_float(tile_s[c * 68 + item_s * 4 + j],
                                tile_r[c * 36 + item_r * 2 + i], part[i][j]);
                }
                GC_BARRIER();
            }
            GC_UNROLL for (int i = 0; i < 2; i++)
                GC_UNROLL for (int j = 0; j < 4; j++)
                    weight1[(item_r * 2 + i) * 65 + item_s * 4 + j] = part[i][j];
        }
        /* in the places of the products: an item reads and writes its own, the others do after the next barrier */
        GC_ROLL for (int i = 0; i < 2; i++)
            GC_UNROLL for (int j = 0; j < 4; j++) {
                const int row = item_r * 2 + i, at = row * 65 + item_s * 4 + j;
                const int64_t r_at = r_first + row, s_at = s_first + item_s * 4 + j;
                float value0 = 0;
                float value1 = 0;
                if (r_at < r_size && s_at < s_size && r_at <= s_at + diagonal) {
                    const float score = weight0[at];
                    const float score1 = weight1[at];
                    const int64_t r = r_at;
                    const int64_t s = s_at;
                    const float t0 = x0[b * a14 + s * a15 + a16];
                    const float t1 = x1[b * a17 + s];
                    const float t2 = x0[b * a14 + s * a15 + a18];
                    const float t3 = gc_exp_float((score1 * p0) - t2);
                    value0 = (((score / t0) + t1) * t3) * p1;
                    value1 = t3 / t0;
                }
                weight0[at] = value0;
                weight1[at] = value1;
            }
        {
            const int64_t width = a9;
            GC_UNROLL for (int p = 0; p < 1; p++) {
                float part[2][4];
                GC_UNROLL for (int i = 0; i < 2; i++)
                    GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = 0;
                for (int n_first = 0; n_first < count; n_first += 8) {
                    GC_ROLL for (int x = GC_ITEM; x < 512; x += 256) {
                        const int64_t s_at = s_first + n_first + x / 64;
                        const int64_t e_at = p * 64 + x % 64;
                        float value = 0;
                        if (s_at < s_size && e_at < width) {
                            const int64_t s = s_at;
                            const int64_t c1 = e_at;
                            value = x4[b * a12 + c1 + s * a13];
                        }
                        tile_s[x / 64 * 68 + x % 64] = value;
                    }
                    GC_BARRIER();
                    for (int n = 0; n < MIN(count - n_first, 8); n++) {
                        GC_UNROLL for (int i = 0; i < 2; i++)
                            GC_UNROLL for (int j = 0; j < 4; j++)
                                part[i][j] = gc_fma_float(tile_s[n * 68 + item_s * 4 + j],
                                    weight0[(item_r * 2 + i) * 65 + n_first + n], part[i][j]);
                    }
                    GC_BARRIER();
                }
                GC_UNROLL for (int i = 0; i < 2; i++) {
                    const int64_t r_at = r_first + item_r * 2 + i;
                    if (r_at < s_first + count + diagonal)
                        GC_UNROLL for (int j = 0; j < 4; j++) sums[i][0 + 4 * p + j] += part[i][j];
                }
            }
        }
        {
            const int64_t width = a2;
            GC_UNROLL for (int p = 0; p < 2; p++) {
                float part[2][4];
                GC_UNROLL for (int i = 0; i < 2; i++)
                    GC_UNROLL for (int j = 0; j < 4; j++) part[i][j] = 0;
                for (int n_first = 0; n_first < count; n_first += 8) {
                    GC_ROLL for (int x = GC_ITEM; x < 512; x += 256) {
                        const int64_t s_at = s_first + n_first + x / 64;
                        const int64_t e_at = p * 64 + x % 64;
                        float value = 0;
                        if (s_at < s_size && e_at < width) {
                            const int64_t s = s_at;
                            const int64_t c0 = e_at;
                            value = x2[b * a7 + c0 + s * a8];
                        }
                        tile_s[x / 64 * 68 + x % 64] = value;
                    }
                    GC_BARRIER();
                    for (int n = 0; n < MIN(count - n_first, 8); n++) {
                        GC_UNROLL for (int i = 0; i < 2; i++)
                            GC_UNROLL for (int j = 0; j < 4; j++)
                                part[i][j] = gc_fma_float(tile_s[n * 68 + item_s * 4 + j],
                                    weight1[(item_r * 2 + i) * 65 + n_first + n], part[i][j]);
                    }
                    GC_BARRIER();
                }
                GC_UNROLL for (int i = 0; i < 2; i++) {
                    const int64_t r_at = r_first + item_r * 2 + i;
                    if (r_at < s_first + count + diagonal)
                        GC_UNROLL for (int j = 0; j < 4; j++) sums[i][4 + 4 * p + j] += part[i][j];
                }
            }
        }
    }
    /* the results by way of shared memory, so that neighbouring items store neighbours */
    GC_UNROLL for (int p = 0; p < 1; p++) {
        GC_UNROLL for (int i = 0; i < 2; i++)
            GC_UNROLL for (int j = 0; j < 4; j++)
                weight0[(item_r * 2 + i) * 65 + item_s * 4 + j] = sums[i][0 + 4 * p + j];
        GC_BARRIER();
        for (int x = GC_ITEM; x < 2048; x += 256) {
            const int64_t r_at = r_first + x / 64, column = p * 64 + x % 64;
            if (r_at < r_size && column < a9) {
                const int64_t e_at = 0 + column;
                const float weighted0 = weight0[x / 64 * 65 + x % 64];
                const int64_t r = r_at;
                const int64_t e = e_at;
                y0[b * a20 + e + r * a21] = weighted0;
            }
        }
        GC_BARRIER();
    }
    GC_UNROLL for (int p = 0; p < 2; p++) {
        GC_UNROLL for (int i = 0; i < 2; i++)
            GC_UNROLL for (int j = 0; j < 4; j++)
                weight0[(item_r * 2 + i) * 65 + item_s * 4 + j] = sums[i][4 + 4 * p + j];
        GC_BARRIER();
        for (int x = GC_ITEM; x < 2048; x += 256) {
            const int64_t r_at = r_first + x / 64, column = p * 64 + x % 64;
            if (r_at < r_size && column < a2) {
                const int64_t e_at = a9 + column;
                const float weighted0 = weight0[x / 64 * 65 + x % 64];
                const int64_t r = r_at;
                const int64_t e = e_at;
                y0[b * a20 + e + r * a21] = weighted0;
            }
        }
        GC_BARRIER();
    }
}
