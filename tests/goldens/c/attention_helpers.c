typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define GC_WEAK __attribute__((weak, visibility("hidden")))
#if __ELF__ && !__clang__
#define GC_UNKNOWN(T,x,n) GC_WEAK T x##_ = n; extern const T x GC_WEAK __attribute__((alias(#x "_")));
#else
#define GC_UNKNOWN(T,x,n) static const T x = n;
#endif
static inline float gc_bits_float(uint32_t word) { float x; __builtin_memcpy(&x, &word, sizeof x); return x; }
static inline uint32_t gc_bitcast_uint32_t_float(float word)
{
    uint32_t x; __builtin_memcpy(&x, &word, sizeof x); return x;
}
/* a * b + c, in one rounding where the machine has an instruction for that */
static inline float gc_mad_float(float a, float b, float c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}
/* x = m 2 ln 2 + r, |r| <= ln 2; exp(x) = exp(r) 2**m 2**m, so that only the last product overflows or underflows */
GC_UNKNOWN(float, gc_exp_float_low, -176)
GC_UNKNOWN(float, gc_exp_float_top, 89)
static inline float gc_exp_float(float x)
{
    const float half_log2e = 0.72134752f, two_ln2_high = 1.3862915f, two_ln2_low = 2.85721353e-6f;
    const float round = 0x1.8p23f + 127;    /* adding it rounds to an integer and leaves m + 127 in the low bits */
    const float low = gc_exp_float_low, top = gc_exp_float_top;
    const float above = low > x ? low : x, y = top < above ? top : above;   /* NaN passes */
    const float t = gc_mad_float(y, half_log2e, round), m = t - round;
    const float r = gc_mad_float(m, -two_ln2_low, gc_mad_float(m, -two_ln2_high, y));
    float p = 1.77254115e-4f;
    p = gc_mad_float(p, r, 1.41115219e-3f);
    p = gc_mad_float(p, r, 8.35428108e-3f);
    p = gc_mad_float(p, r, 0.0416610055f);
    p = gc_mad_float(p, r, 0.166661114f);
    p = gc_mad_float(p, r, 0.500000358f);
    p = gc_mad_float(p, r, 1.00000036f);
    p = gc_mad_float(p, r, 1.0f);
    const float scale = gc_bits_float(gc_bitcast_uint32_t_float(t) << 23);      /* 2**m */
    return p * scale * scale;
}
static inline float gc_fma_float(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
#if defined(__AVX512F__)
#define GC_VECTOR 64
#elif defined(__AVX__)
#define GC_VECTOR 32
#else
#define GC_VECTOR 16
#endif
#define GC_LANES (int64_t)(GC_VECTOR / sizeof(float))
#define GC_PAIR (2 * GC_LANES)
#define GC_ABREAST (GC_VECTOR == 64 ? 4 : 2)       /* vectors of a panel of b */
#define GC_PANEL (GC_ABREAST * GC_LANES)
#define GC_ROWS 6
enum { GC_TURNS = GC_VECTOR == 64 ? 3 : 8 };    /* k in each turn of a loop */
typedef float gc_vector __attribute__((vector_size(GC_VECTOR)));
typedef float gc_loose __attribute__((vector_size(GC_VECTOR), aligned(sizeof(float))));
#define GC_PART MIN(GC_LANES, 8)        /* what is copied into panels of a, as it may overlap the next k alone */
typedef float gc_part __attribute__((vector_size(MIN(GC_VECTOR, 8 * sizeof(float))), aligned(sizeof(float))));
static inline gc_vector gc_fma_vector(gc_vector a, gc_vector b, gc_vector c)
{
#if defined(__has_builtin) && __has_builtin(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(a, b, c);
#elif defined(__AVX512F__)
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
#elif defined(__FMA__)
    return __builtin_ia32_vfmaddps256(a, b, c);
#else
    for (int l = 0; l < GC_LANES; l++) c[l] = __builtin_fmaf(a[l], b[l], c[l]);
    return c;
#endif
}
#if defined(__x86_64__)
#define GC_KEEP(x) __asm__("" : "+v"(x))
#else
#define GC_KEEP(x)
#endif
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
#define GC_SHUFFLE(p, q, ...) __builtin_shufflevector(p, q, __VA_ARGS__)
#define GC_JOINED(p, q) __builtin_shufflevector(p, q, 0, 1, 2, 3, 4, 5, 6, 7)
#define GC_LOWER(p) __builtin_shufflevector(p, p, 0, 1, 2, 3, 4, 5, 6, 7)
#define GC_UPPER(p) __builtin_shufflevector(p, p, 8, 9, 10, 11, 12, 13, 14, 15)
#else
typedef int32_t gc_places __attribute__((vector_size(GC_VECTOR)));
#define GC_JOINED(p, q) (gc_vector){p[0], p[1], p[2], p[3], q[0], q[1], q[2], q[3]}
#define GC_LOWER(p) (gc_part){p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]}
#define GC_UPPER(p) (gc_part){p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]}
#define GC_SHUFFLE(p, q, ...) __builtin_shuffle(p, q, (gc_places){__VA_ARGS__})
#endif
/* rows of a square of vectors become its columns; of `rows` vectors, those of as many squares side by side. In a whole
   one only quarters of the widest vectors cross, by places that the instruction holds. */
static inline __attribute__((always_inline)) void gc_square(gc_vector *x, const int rows)
{
#if GC_VECTOR == 64
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (1 < rows && !(r & 1)) {
            const gc_vector p = x[r], q = x[r + 1];
            x[r] = GC_SHUFFLE(p, q, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
            x[r + 1] = GC_SHUFFLE(p, q, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (2 < rows && !(r & 2)) {
            const gc_vector p = x[r], q = x[r + 2];
            x[r] = GC_SHUFFLE(p, q, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
            x[r + 2] = GC_SHUFFLE(p, q, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (4 < rows && !(r & 4)) {
            const gc_vector p = x[r], q = x[r + 4];
            x[r] = rows == 16 ? GC_SHUFFLE(p, q, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
                : GC_SHUFFLE(p, q, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
            x[r + 4] = rows == 16 ? GC_SHUFFLE(p, q, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
                : GC_SHUFFLE(p, q, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (8 < rows && !(r & 8)) {
            const gc_vector p = x[r], q = x[r + 8];
            x[r] = rows == 16 ? GC_SHUFFLE(p, q, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
                : GC_SHUFFLE(p, q, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
            x[r + 8] = rows == 16 ? GC_SHUFFLE(p, q, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
                : GC_SHUFFLE(p, q, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        }
#elif GC_VECTOR == 32
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (1 < rows && !(r & 1)) {
            const gc_vector p = x[r], q = x[r + 1];
            x[r] = GC_SHUFFLE(p, q, 0, 8, 1, 9, 4, 12, 5, 13);
            x[r + 1] = GC_SHUFFLE(p, q, 2, 10, 3, 11, 6, 14, 7, 15);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (2 < rows && !(r & 2)) {
            const gc_vector p = x[r], q = x[r + 2];
            x[r] = GC_SHUFFLE(p, q, 0, 1, 8, 9, 4, 5, 12, 13);
            x[r + 2] = GC_SHUFFLE(p, q, 2, 3, 10, 11, 6, 7, 14, 15);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (4 < rows && !(r & 4)) {
            const gc_vector p = x[r], q = x[r + 4];
            x[r] = GC_SHUFFLE(p, q, 0, 1, 2, 3, 8, 9, 10, 11);
            x[r + 4] = GC_SHUFFLE(p, q, 4, 5, 6, 7, 12, 13, 14, 15);
        }
#elif GC_VECTOR == 16
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (1 < rows && !(r & 1)) {
            const gc_vector p = x[r], q = x[r + 1];
            x[r] = GC_SHUFFLE(p, q, 0, 4, 1, 5);
            x[r + 1] = GC_SHUFFLE(p, q, 2, 6, 3, 7);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (2 < rows && !(r & 2)) {
            const gc_vector p = x[r], q = x[r + 2];
            x[r] = GC_SHUFFLE(p, q, 0, 1, 4, 5);
            x[r + 2] = GC_SHUFFLE(p, q, 2, 3, 6, 7);
        }
#endif
#pragma GCC unroll 16
    for (int r = 0; r < rows; r += 4) {
        const gc_vector second = x[r + 2];
        x[r + 2] = x[r + 1];
        x[r + 1] = second;
    }
}
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_scores(int vectors, const float *restrict lanes, const float *const *k,
    int64_t count, int64_t depth, float *restrict score);
#else
/* score[n][lane] = sum over c of k[n][c] * lanes[c][lane], one chain of fused multiply-adds for each */
static inline __attribute__((always_inline)) void gc_score_tile(const int vectors, const int rows,
    const float *restrict lanes, const float *const *k, int64_t left, int64_t depth, float *restrict score)
{
    const float *row[8];
    gc_vector sum[8][3];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) row[r] = k[r < left ? r : left - 1];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) sum[r][v] = (gc_vector){0};
#pragma GCC unroll 4
    for (int64_t c = 0; c < depth; c++) {
        gc_vector x[3];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) {
            x[v] = ((const gc_vector *)lanes)[c * vectors + v];
            GC_KEEP(x[v]);
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const gc_vector b = row[r][c] - (gc_vector){0};
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++) sum[r][v] = gc_fma_vector(b, x[v], sum[r][v]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) ((gc_vector *)score)[r * vectors + v] = sum[r][v];
}

static __attribute__((noinline)) void gc_scores(int vectors, const float *restrict lanes, const float *const *k,
    int64_t count, int64_t depth, float *restrict score)
{
    if (vectors == 1)
        for (int64_t n = 0; n < count; n += 8)
            gc_score_tile(1, 8, lanes, k + n, count - n, depth, score + n * GC_LANES);
    else
        for (int64_t n = 0; n < count; n += 4)
            gc_score_tile(3, 4, lanes, k + n, count - n, depth, score + n * 3 * GC_LANES);
}
#endif
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_weights(int vectors, float *restrict score, int64_t count, int64_t unseen,
    const float *restrict most, float *restrict top, float *restrict total, float *restrict factor);
#else
/* score[n][lane] becomes exp(score - most), and total their sum; factor takes what was summed up with `top` to `most`.
   Queries before `unseen` stay as they are. */
static inline __attribute__((always_inline)) void gc_weights_of(const int64_t group, float *restrict score,
    int64_t count, int64_t unseen, const float *restrict most, float *restrict top, float *restrict total,
    float *restrict factor)
{
    float shift[3 * GC_LANES], added[3 * GC_LANES];
    for (int64_t l = 0; l < group; l++) {
        shift[l] = most[l] == -__builtin_inf() ? 0 : most[l];       /* -inf - -inf would be NaN */
        factor[l] = gc_exp_float(top[l] - shift[l]);
        added[l] = 0;
    }
    for (int64_t n = 0; n < count; n++)
#pragma omp simd
        for (int64_t l = 0; l < group; l++) {
            const float weight = gc_exp_float(score[n * group + l] - shift[l]);
            score[n * group + l] = weight;
            added[l] += weight;
        }
    for (int64_t l = unseen; l < group; l++) {
        total[l] = gc_fma_float(total[l], factor[l], added[l]);
        top[l] = most[l];
    }
}

static __attribute__((noinline)) void gc_weights(int vectors, float *restrict score, int64_t count, int64_t unseen,
    const float *restrict most, float *restrict top, float *restrict total, float *restrict factor)
{
    if (vectors == 1) gc_weights_of(GC_LANES, score, count, unseen, most, top, total, factor);
    else gc_weights_of(3 * GC_LANES, score, count, unseen, most, top, total, factor);
}
#endif
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_weighted(int vectors, const float *restrict weight,
    const float *const *v_row, int64_t count, int64_t width, const float *restrict factor, float *restrict sums);
#else
/* sums[e][lane] = sums[e][lane] * factor[lane] + sum over n of weight[n][lane] * v[n][e], the sum one chain */
static inline __attribute__((always_inline)) void gc_weighted_tile(const int vectors, const int columns,
    const float *restrict weight, const float *const *v_row, int64_t count, int64_t from,
    const float *restrict factor, float *restrict sums)
{
    gc_vector sum[8][3];
#pragma GCC unroll 8
    for (int r = 0; r < columns; r++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) sum[r][v] = (gc_vector){0};
#pragma GCC unroll 4
    for (int64_t n = 0; n < count; n++) {
        const float *value = v_row[n] + from;
        gc_vector x[3];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) {
            x[v] = ((const gc_vector *)weight)[n * vectors + v];
            GC_KEEP(x[v]);
        }
#pragma GCC unroll 8
        for (int r = 0; r < columns; r++) {
            const gc_vector b = value[r] - (gc_vector){0};
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++) sum[r][v] = gc_fma_vector(b, x[v], sum[r][v]);
        }
    }
    gc_vector *to = (gc_vector *)sums + from * vectors;
#pragma GCC unroll 8
    for (int r = 0; r < columns; r++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            to[r * vectors + v] = gc_fma_vector(to[r * vectors + v], ((const gc_vector *)factor)[v], sum[r][v]);
}

static __attribute__((noinline)) void gc_weighted(int vectors, const float *restrict weight,
    const float *const *v_row, int64_t count, int64_t width, const float *restrict factor, float *restrict sums)
{
    int64_t e = 0;
    if (vectors == 1) {
        for (; e + 8 <= width; e += 8) gc_weighted_tile(1, 8, weight, v_row, count, e, factor, sums);
        for (; e < width; e++) gc_weighted_tile(1, 1, weight, v_row, count, e, factor, sums);
    } else {
        for (; e + 4 <= width; e += 4) gc_weighted_tile(3, 4, weight, v_row, count, e, factor, sums);
        for (; e < width; e++) gc_weighted_tile(3, 1, weight, v_row, count, e, factor, sums);
    }
}
#endif
#define GC_FEW (GC_LANES < 4 ? GC_LANES : 4)
#define GC_LINE (int64_t)(64 / sizeof(float))
typedef float gc_some __attribute__((vector_size(GC_FEW * sizeof(float)), aligned(sizeof(float))));
/* Ask for rows before they are read. */
static inline __attribute__((always_inline)) void gc_few_ask(const float *const *row, int64_t count, int64_t width)
{
    for (int64_t n = 0; n < count; n++)
        for (int64_t e = 0; e < width; e += GC_LINE) __builtin_prefetch(row[n] + e);
}
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_few_scores(const float *restrict lanes, const float *const *k,
    const float *const *v, int64_t count, int64_t depth, float *restrict score);
#else
static __attribute__((noinline)) void gc_few_scores(const float *restrict lanes, const float *const *k,
    const float *const *v, int64_t count, int64_t depth, float *restrict score)
{
    for (int64_t n = 0; n < count; n += GC_LANES) {
        const float *row[GC_LANES];    /* in the order in which squares of GC_FEW leave one key after the other */
        for (int r = 0; r < GC_LANES; r++)
            row[r] = k[MIN(n + r % GC_FEW * (GC_LANES / GC_FEW) + r / GC_FEW, count - 1)];
        gc_vector sum[GC_FEW] = { 0 };
        for (int64_t c = 0; c < depth; c += GC_LANES) {
            const int64_t some = MIN(depth - c, GC_LANES);
            gc_vector x[GC_LANES];
#pragma GCC unroll 16
            for (int r = 0; r < GC_LANES; r++)
                if (some == GC_LANES) x[r] = *(const gc_loose *)(row[r] + c);
                else
                    for (int64_t i = 0; i < some; i++) x[i][r] = row[r][c + i];
            if (some == GC_LANES) gc_square(x, GC_LANES);
            for (int r = 0; r < MIN(GC_LANES, count - n) && c % GC_LINE == 0; r++) __builtin_prefetch(v[n + r] + c);
#pragma GCC unroll 16
            for (int i = 0; i < GC_LANES; i++)
                if (i < some)
#pragma GCC unroll 4
                    for (int q = 0; q < GC_FEW; q++)
                        sum[q] = gc_fma_vector(lanes[(c + i) * GC_FEW + q] - (gc_vector){0}, x[i], sum[q]);
        }
        gc_square(sum, GC_FEW);
#pragma GCC unroll 4
        for (int r = 0; r < GC_FEW; r++) *(gc_vector *)(score + n * GC_FEW + r * GC_LANES) = sum[r];
    }
}
#endif
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_few_weights(float *restrict score, int64_t count, int64_t unseen,
    float *restrict top, float *restrict total, float *restrict factor);
#else
static __attribute__((noinline)) void gc_few_weights(float *restrict score, int64_t count, int64_t unseen,
    float *restrict top, float *restrict total, float *restrict factor)
{
    const int64_t keys = GC_LANES / GC_FEW;     /* in a vector */
    float most[GC_LANES], shift[GC_LANES];
    for (int l = 0; l < GC_LANES; l++) most[l] = top[l % GC_FEW];
    for (int64_t n = 0; n < count / keys * GC_LANES; n += GC_LANES)
#pragma omp simd
        for (int l = 0; l < GC_LANES; l++) most[l] = score[n + l] > most[l] ? score[n + l] : most[l];
    for (int l = GC_FEW; l < GC_LANES; l++) most[l % GC_FEW] = most[l] > most[l % GC_FEW] ? most[l] : most[l % GC_FEW];
    for (int64_t n = count / keys * GC_LANES; n < count * GC_FEW; n++)
        most[n % GC_FEW] = score[n] > most[n % GC_FEW] ? score[n] : most[n % GC_FEW];
    for (int l = 0; l < GC_LANES; l++) {
        const float largest = most[l % GC_FEW];
        shift[l] = largest == -__builtin_inf() ? 0 : largest;       /* -inf - -inf would be NaN */
        factor[l] = gc_exp_float(top[l % GC_FEW] - shift[l]);
    }
    gc_some added = { 0 };
    for (int64_t n = 0; n < count; n += keys) {
        float *weight = score + n * GC_FEW;
        for (int l = 0; l < GC_LANES; l++) weight[l] = gc_exp_float(weight[l] - shift[l]);
#pragma GCC unroll 4
        for (int r = 0; r < keys; r++)
            if (n + r < count) added += *(const gc_some *)(weight + r * GC_FEW);
    }
    for (int64_t l = unseen; l < GC_FEW; l++) {
        total[l] = gc_fma_float(total[l], factor[l], added[l]);
        top[l] = most[l];
    }
}
#endif
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_few_weighted(const float *restrict weight, const float *const *v_row,
    int64_t count, int64_t width, const float *const *k_row, int64_t next, int64_t later,
    const float *restrict factor, float *restrict sums, int64_t columns);
#else
static inline __attribute__((always_inline)) void gc_few_columns(const int vectors, const float *restrict weight,
    const float *const *v_row, int64_t count, int64_t from, const float *const *k_row, int64_t next, int64_t later,
    const float *restrict factor, float *restrict sums, int64_t columns)
{
    gc_vector sum[GC_FEW][4];
#pragma GCC unroll 4
    for (int q = 0; q < GC_FEW; q++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) sum[q][v] = (gc_vector){0};
    for (int64_t n = 0; n < count; n++) {
        gc_vector x[4];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) x[v] = *(const gc_loose *)(v_row[n] + from + v * GC_LANES);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            if (v * GC_LANES % GC_LINE == 0)
                __builtin_prefetch(k_row[n] + from + v * GC_LANES + (n < later ? next : 0));
#pragma GCC unroll 4
        for (int q = 0; q < GC_FEW; q++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                sum[q][v] = gc_fma_vector(weight[n * GC_FEW + q] - (gc_vector){0}, x[v], sum[q][v]);
    }
#pragma GCC unroll 4
    for (int q = 0; q < GC_FEW; q++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            gc_loose *to = (gc_loose *)(sums + q * columns + from + v * GC_LANES);
            *to = gc_fma_vector(*to, factor[q] - (gc_vector){0}, sum[q][v]);
        }
}

static __attribute__((noinline)) void gc_few_weighted(const float *restrict weight, const float *const *v_row,
    int64_t count, int64_t width, const float *const *k_row, int64_t next, int64_t later,
    const float *restrict factor, float *restrict sums, int64_t columns)
{
    int64_t e = 0;
    for (; e + 4 * GC_LANES <= width; e += 4 * GC_LANES)
        gc_few_columns(4, weight, v_row, count, e, k_row, next, later, factor, sums, columns);
    for (; e + GC_LANES <= width; e += GC_LANES)
        gc_few_columns(1, weight, v_row, count, e, k_row, next, later, factor, sums, columns);
    for (; e < width; e++)
        for (int q = 0; q < GC_FEW; q++) {
            float sum = 0, *to = sums + q * columns + e;
            for (int64_t n = 0; n < count; n++) sum = gc_fma_float(weight[n * GC_FEW + q], v_row[n][e], sum);
            *to = gc_fma_float(*to, factor[q], sum);
        }
}
#endif

