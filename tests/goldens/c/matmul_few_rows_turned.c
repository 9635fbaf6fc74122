typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
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
#if defined(__x86_64__)
#define GC_KEEP(x) __asm__("" : "+v"(x))
#else
#define GC_KEEP(x)
#endif
#if !(defined(__znver1__) || defined(__znver2__) || defined(__znver3__) || defined(__znver4__) || defined(__znver5__))
enum { GC_AMD = 0, GC_ZEN4 = 0, GC_ZEN5 = 0 };
#elif defined(__AVXVNNI__)
enum { GC_AMD = 1, GC_ZEN4 = 0, GC_ZEN5 = 1 };
#elif defined(__AVX512F__)
enum { GC_AMD = 1, GC_ZEN4 = 1, GC_ZEN5 = 0 };
#else
enum { GC_AMD = 1, GC_ZEN4 = 0, GC_ZEN5 = 0 };
#endif
enum { GC_SOON = GC_AMD && !GC_ZEN5 ? 2 : 3, GC_NEAR = GC_ZEN5 ? 1 << 24 : GC_ZEN4 ? 1 << 25 : GC_AMD ? 1 << 23 : 0 };
/* Lines that will be needed: `line` in some rows, up to `end`, and so on in the rows below, `left` of them. */
typedef struct { const char *line, *end; int64_t run, apart, left; } gc_ahead;

/* asks for so many lines, in order or each in a row of its own */
static inline __attribute__((always_inline)) void gc_ask(gc_ahead *ahead, const int lines)
{
    const int rows = GC_AMD ? 1 : lines;
    if (GC_AMD && ahead->left <= 0) return;
#pragma GCC unroll 16
    for (int l = 0; l < lines; l++)
        __builtin_prefetch(ahead->line + l * (GC_AMD ? 64 : ahead->apart), 0, GC_ZEN5 ? 3 : 2);
    ahead->line += 64 * (lines / rows);
    if (ahead->line < ahead->end) return;
    ahead->left -= rows;
    if (ahead->left <= 0) ahead->apart = 0;     /* the same row again */
    ahead->end += rows * ahead->apart;
    ahead->line = ahead->end - ahead->run;
}

/* on GC_ZEN5, turn `at` of asking for what others ask for at once: its memory gives less for many lines at once */
static inline __attribute__((always_inline)) void gc_ask_in_turn(gc_ahead *ahead, int lines, int64_t at, int64_t turns)
{
    for (int64_t l = lines * at / turns; GC_ZEN5 && l < lines * (at + 1) / turns; l++) gc_ask(ahead, 1);
}
#define GC_DEEP (GC_VECTOR == 32 ? 4 : GC_LANES)
/* `deep` elements of each of GC_LANES columns, turned: a vector for each k */
static inline __attribute__((always_inline)) void gc_some_columns(gc_vector *x, const int deep,
    const float *const *column, int64_t k)
{
#if GC_VECTOR == 32
    typedef float half __attribute__((vector_size(16), aligned(4)));
#pragma GCC unroll 2
    for (int l = 0; l < deep; l += 4) {         /* halves of columns joined: fewer shuffles than of whole ones */
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            const half low = *(const half *)(column[r] + k + l), high = *(const half *)(column[r + 4] + k + l);
            gc_vector both = GC_JOINED(low, high);
            GC_KEEP(both);      /* of an element of x, GCC would keep a copy in memory */
            x[l + r] = both;
        }
        gc_square(x + l, 4);
    }
    return;
#endif
#pragma GCC unroll 16
    for (int r = 0; r < GC_LANES; r++) {
        gc_vector row = *(const gc_loose *)(column[r] + k);
        GC_KEEP(row);       /* GCC would read it twice */
        x[r] = row;
    }
    gc_square(x, deep);
}

static inline __attribute__((always_inline)) gc_vector gc_each_column(const float *const *column, int64_t k)
{
    gc_vector x;
    for (int r = 0; r < GC_LANES; r++) x[r] = column[r][k];
    return x;
}
#define GC_SQUARE_LINES MAX(GC_LANES * GC_VECTOR / 64, 1)
/* at most so many columns behind the first n; behind the last one, the first ones where `rest` of k follow */
static inline gc_ahead gc_columns_ahead(const float *b, int64_t b_stride, int64_t columns, int64_t count,
    int64_t rest, int64_t n, int64_t most)
{
    const int64_t next = n < columns ? n : 0, run = (next ? count : MIN(rest, count)) * sizeof *b;
    const char *line = (const char *)(next ? b + next * b_stride : b + count);
    return (gc_ahead){line, line + run, run, b_stride * sizeof *b, run ? MIN(columns - next, most) : 0};
}

static inline int gc_fill_cache(int64_t columns, int64_t count) { return columns * count * sizeof(float) > 1048576; }

/* the same where they come from memory, and not from a cache */
static inline gc_ahead gc_far_columns_ahead(const float *b, int64_t b_stride, int64_t columns, int64_t count,
    int64_t n, int64_t most)
{
    return gc_columns_ahead(b, b_stride, columns, count, 0, n, gc_fill_cache(columns, count) ? most : 0);
}

static inline gc_part gc_fma_part(gc_part a, gc_part b, gc_part c)
{
#if defined(__has_builtin) && __has_builtin(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(a, b, c);
#elif defined(__FMA__)
    return __builtin_ia32_vfmaddps256(a, b, c);
#else
    for (int l = 0; l < GC_PART; l++) c[l] = __builtin_fmaf(a[l], b[l], c[l]);
    return c;
#endif
}
#if GC_VECTOR == 64
typedef int64_t gc_two __attribute__((may_alias, aligned(4))), gc_twos __attribute__((vector_size(64)));

static inline __attribute__((always_inline)) int64_t gc_two_chunks(const int most, const int near, int64_t rows,
    const float *restrict a, int64_t a_stride, const float *restrict b, int64_t b_stride, int64_t columns,
    int64_t count, float *restrict sums, int64_t stride, int more)
{
    const int abreast = near && most == 1 ? 2 : 1;
    count = GC_AMD ? count / 1024 * 1024 : 0;
    if (!count || rows > most) return 0;
    float both[rows * count];
    for (int64_t k = 0; k < rows * count; k += 1024)
        for (int64_t l = 0; l < 512; l++) {
            const float *from = a + k / count * a_stride + k % count + l;
            both[k + 2 * l] = from[0], both[k + 2 * l + 1] = from[512];
        }
    for (int64_t n = 0; n < columns; n += 8 * abreast) {
        const float *column[16];    /* where they begin; the last one again where there are fewer */
        for (int64_t r = 0; r < 8 * abreast; r++) column[r] = b + MIN(n + r, columns - 1) * b_stride;
        gc_ahead next = gc_far_columns_ahead(b, b_stride, columns, count, n + 8, 8);
        for (int64_t k = 0; k < count; k += 1024) {
            gc_vector c[8] = {0};
            for (int64_t l = 0; l < 512; l += 16)
#pragma GCC unroll 2
                for (int g = 0; g < abreast; g++) {
                    gc_vector x[16];
                    if (!GC_ZEN5) gc_ask(&next, GC_SQUARE_LINES);
#pragma GCC unroll 16
                    for (int i = 0; i < 16; i++) {
                        gc_vector some = *(const gc_loose *)(column[8 * g + i / 2] + k + l + i % 2 * 512);
                        GC_KEEP(some);
                        x[i] = some;
                    }
                    gc_square(x, 16);
                    for (int64_t r = 0; r < rows; r++) {
                        if (!near) gc_ask_in_turn(&next, GC_SQUARE_LINES, r, rows);
                        const gc_two *y = (const gc_two *)(both + r * count + k + 2 * l);
                        gc_vector sum = c[g + r];
#pragma GCC unroll 16
                        for (int i = 0; i < 16; i++) sum = gc_fma_vector((gc_vector)(y[i] + (gc_twos){0}), x[i], sum);
                        c[g + r] = sum;
                    }
                }
            for (int64_t r = 0; r < rows * abreast; r++) {
                const gc_vector two = GC_SHUFFLE(c[r], c[r], 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
                gc_part *to = (gc_part *)(sums + r * stride + n);
                *to = (k || more ? *to + GC_LOWER(two) : GC_LOWER(two)) + GC_UPPER(two);
            }
        }
    }
    return count;
}
#else
#define gc_two_chunks(...) 0
#endif
enum { GC_TAKING_TURNS = GC_ZEN5 && GC_VECTOR == 64 ? 8 : 4 };
/* so many rows of a at most, whose chains take turns */
static inline __attribute__((always_inline)) void gc_some_rows(int64_t rows, const float *restrict a,
    int64_t a_stride, const float *const *column, int64_t count, float *restrict sums, int64_t stride, int more,
    gc_ahead *next)
{
    for (int64_t k = 0; k < count; more = 1) {
        const int64_t k_to = MIN(k + 512, count);
        gc_vector c[GC_TAKING_TURNS];
        for (int64_t r = 0; r < rows; r++) c[r] = (gc_vector){0};
        for (; k + GC_LANES <= k_to; k += GC_LANES) {
            gc_vector x[GC_LANES];
            if (GC_ZEN4) gc_ask(next, GC_SQUARE_LINES);
            gc_some_columns(x, GC_LANES, column, k);
            for (int64_t r = 0; r < rows; r++) {
                gc_ask_in_turn(next, GC_SQUARE_LINES, r, rows);
                gc_vector sum = c[r];
#pragma GCC unroll 16
                for (int l = 0; l < GC_LANES; l++)
                    sum = gc_fma_vector(a[r * a_stride + k + l] - (gc_vector){0}, x[l], sum);
                c[r] = sum;
            }
        }
        for (; k < k_to; k++) {
            const gc_vector x = gc_each_column(column, k);
            for (int64_t r = 0; r < rows; r++) c[r] = gc_fma_vector(a[r * a_stride + k] - (gc_vector){0}, x, c[r]);
        }
        for (int64_t r = 0; r < rows; r++) {
            gc_vector *to = (gc_vector *)(sums + r * stride);
            *to = more ? *to + c[r] : c[r];
        }
    }
}
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_columns(int64_t rows, const float *restrict a, int64_t a_stride,
    const float *restrict b, int64_t b_stride, int64_t columns, int64_t count, int near, float *restrict sums,
    int64_t stride, int more);
#else
#if GC_VECTOR == 64
/* eight columns meet rows of a that lie in lanes: x has a vector for each k */
static inline __attribute__((always_inline)) void gc_lanes_vector(const gc_vector *restrict x,
    const float *const *column, int64_t count, float (*sums)[GC_LANES], int more, gc_ahead *ahead)
{
    for (int64_t k = 0; k < count; more = 1) {
        const int64_t k_to = MIN(k + 512, count);
        gc_vector c[8] = {0};
        while (k + 16 <= k_to) {
            if (!GC_ZEN5) gc_ask(ahead, 8);
            for (const int64_t stop = k + 16; k < stop; k += 4) {
                     if (GC_ZEN5) gc_ask(ahead, 2);
#pragma GCC unroll 4
                for (int l = 0; l < 4; l++)
#pragma GCC unroll 8
                    for (int i = 0; i < 8; i++)
                        c[i] = gc_fma_vector(column[i][k + l] - (gc_vector){0}, x[k + l], c[i]);
            }
        }
        for (; k < k_to; k++)
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++) c[i] = gc_fma_vector(column[i][k] - (gc_vector){0}, x[k], c[i]);
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) *(gc_vector *)sums[i] = more ? *(gc_vector *)sums[i] + c[i] : c[i];
    }
}

static inline __attribute__((always_inline)) void gc_lanes_part(const gc_part *restrict x,
    const float *const *column, int64_t count, float (*sums)[GC_LANES], int more, gc_ahead *ahead)
{
    for (int64_t k = 0; k < count; more = 1) {
        const int64_t k_to = MIN(k + 512, count);
        gc_part c[8] = {0};
        while (k + 16 <= k_to) {
            if (!GC_ZEN5) gc_ask(ahead, 8);
            for (const int64_t stop = k + 16; k < stop; k += 4) {
                     if (GC_ZEN5) gc_ask(ahead, 2);
#pragma GCC unroll 4
                for (int l = 0; l < 4; l++)
#pragma GCC unroll 8
                    for (int i = 0; i < 8; i++)
                        c[i] = gc_fma_part(column[i][k + l] - (gc_part){0}, x[k + l], c[i]);
            }
        }
        for (; k < k_to; k++)
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++) c[i] = gc_fma_part(column[i][k] - (gc_part){0}, x[k], c[i]);
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) *(gc_part *)sums[i] = more ? *(gc_part *)sums[i] + c[i] : c[i];
    }
}

/* more rows of a; what lies in lanes is 256 KB at most: a vector of rows of 8 chunks of k, or 64 rows of one */
static inline void gc_more_rows(int64_t rows, const float *restrict a, int64_t a_stride, const float *restrict b,
    int64_t b_stride, int64_t columns, int64_t count, int64_t rest, int near, float *restrict sums, int64_t stride,
    int more)
{
    (void)near;
    float lanes[(rows + GC_LANES - 1) / GC_LANES * GC_LANES * count] __attribute__((aligned(64)));
    float parts[8][GC_LANES] __attribute__((aligned(64)));
    for (int64_t r = 0; r < rows; r += GC_LANES) {
        const int64_t wide = rows - r > GC_PART ? GC_LANES : GC_PART;
        const float *row[GC_LANES];     /* the last one again where there are fewer */
        for (int64_t i = 0; i < GC_LANES; i++) row[i] = a + MIN(r + i, rows - 1) * a_stride;
        for (int64_t k = 0; k < count; k += GC_LANES) {
            gc_vector x[GC_LANES];
            const int64_t deep = MIN(count - k, GC_LANES);
            if (deep == GC_LANES) gc_some_columns(x, GC_LANES, row, k);
            else for (int64_t l = 0; l < deep; l++) x[l] = gc_each_column(row, k + l);
            float *filled = lanes + r * count + k * wide;
            for (int64_t l = 0; l < deep; l++) __builtin_memcpy(filled + l * wide, &x[l], wide * sizeof *a);
        }
    }
    for (int64_t n = 0; n < columns; n += 8) {
        const float *column[8];     /* where they begin; the last one again where there are fewer */
        for (int64_t i = 0; i < 8; i++) column[i] = b + MIN(n + i, columns - 1) * b_stride;
        gc_ahead ahead = gc_columns_ahead(b, b_stride, columns, count, rest, n + 8, 8);
        for (int64_t r = 0; r < rows; r += GC_LANES) {
            const int64_t down = MIN(rows - r, GC_LANES), some = MIN(columns - n, 8);
            const void *x = lanes + r * count;
            float *sum = sums + r * stride + n;
            for (int64_t i = 0; more && i < down; i++)
                for (int64_t l = 0; l < some; l++) parts[l][i] = sum[i * stride + l];
            if (rows - r <= GC_PART) gc_lanes_part(x, column, count, parts, more, &ahead);
            else gc_lanes_vector(x, column, count, parts, more, &ahead);
            for (int64_t i = 0; i < down; i++)
                for (int64_t l = 0; l < some; l++) sum[i * stride + l] = parts[l][i];
        }
    }
}
#else
#define GC_PANEL_LINES MAX(2 * GC_PAIR * (int)sizeof(float) / 64, 2)  /* of two of k */

/* `rows` rows of a, or one less (`down`), times a panel of two vectors of columns, `count` of k deep: the chains of a
   chunk grow in `parts`. For each two of k, so many lines are asked for. */
static inline __attribute__((always_inline)) void gc_row_tile(const int rows, int64_t down, const int lines,
    const float *a, int64_t a_stride, const float *restrict panel, int64_t count, float *restrict parts,
    int start, gc_ahead *ahead)
{
    const float *const last = a + (MIN(down, rows) - 1) * a_stride;
    gc_vector c[6][2];
    gc_ahead next = *ahead;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) c[r][v] = start ? (gc_vector){0} : ((const gc_vector *)(parts + r * GC_PAIR))[v];
#pragma GCC unroll 2
    for (int64_t k = 0; k < count; k++) {
        if (lines && (k & 1)) gc_ask(&next, lines);
        gc_vector y[2] = {((const gc_vector *)panel)[2 * k], ((const gc_vector *)panel)[2 * k + 1]};
        GC_KEEP(y[0]);
        GC_KEEP(y[1]);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const gc_vector factor = (r < rows - 1 ? a + r * a_stride : last)[k] - (gc_vector){0};
            c[r][0] = gc_fma_vector(factor, y[0], c[r][0]);
            c[r][1] = gc_fma_vector(factor, y[1], c[r][1]);
        }
    }
    *ahead = next;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) ((gc_vector *)(parts + r * GC_PAIR))[v] = c[r][v];
}

/* how many of `left` rows of a meet a panel together; the last one again where there are fewer */
static inline int64_t gc_row_step(int64_t left)
{
    return left > 8 || left == 5 || left == 6 ? 6 : 4;
}

/* more rows of a, for a chunk of k: what is turned of two vectors of columns lies in the L1 cache while all rows of a
   meet it, the last one twice where a tile is for one more */
static inline void gc_more_rows(int64_t rows, const float *restrict a, int64_t a_stride, const float *restrict b,
    int64_t b_stride, int64_t columns, int64_t count, int64_t rest, int near, float *restrict sums, int64_t stride,
    int more)
{
    const int asks = !GC_AMD || !near;
    float panel[64 * GC_PAIR] __attribute__((aligned(64)));
    float parts[64 * GC_PAIR] __attribute__((aligned(64)));
    for (int64_t n = 0; n < columns; n += GC_PAIR) {
        const float *column[2 * GC_LANES];
        for (int64_t r = 0; r < 2 * GC_LANES; r++) column[r] = b + MIN(n + r, columns - 1) * b_stride;
        gc_ahead ahead = gc_columns_ahead(b, b_stride, columns, count, rest, n + GC_PAIR, GC_PAIR);
        for (int64_t k = 0; k < count; k += 64) {
            const int64_t some = MIN(count - k, 64), whole = some / GC_LANES * GC_LANES;
            for (int64_t v = 0; v < 2; v++) {
                gc_vector *to = (gc_vector *)panel + v;
                for (int64_t l = 0; l < whole; l += GC_LANES) {
                    gc_vector x[GC_LANES];
                    gc_some_columns(x, GC_LANES, column + v * GC_LANES, k + l);
#pragma GCC unroll 16
                    for (int i = 0; i < GC_LANES; i++) to[2 * (l + i)] = x[i];
                }
                for (int64_t l = whole; l < some; l++) to[2 * l] = gc_each_column(column + v * GC_LANES, k + l);
            }
            for (int64_t r = 0, step; r < rows; r += step) {
                step = gc_row_step(rows - r);
                const float *from = a + r * a_stride + k;
                float *to = parts + r * GC_PAIR;
                if (!asks && step < 6)
                    gc_row_tile(4, rows - r, 0, from, a_stride, panel, some, to, !k, &ahead);
                else if (!asks)
                    gc_row_tile(6, rows - r, 0, from, a_stride, panel, some, to, !k, &ahead);
                else if (step < 6)
                    gc_row_tile(4, rows - r, GC_PANEL_LINES / 2, from, a_stride, panel, some, to, !k, &ahead);
                else if (rows > 6)
                    gc_row_tile(6, rows - r, GC_PANEL_LINES / 2, from, a_stride, panel, some, to, !k, &ahead);
                else if (1)
                    gc_row_tile(6, rows - r, GC_PANEL_LINES, from, a_stride, panel, some, to, !k, &ahead);
            }
        }
        for (int64_t r = 0; r < rows; r++)
            for (int v = 0; v < 2; v++) {
                gc_vector *to = (gc_vector *)(sums + r * stride + n) + v;
                const gc_vector part = ((const gc_vector *)(parts + r * GC_PAIR))[v];
                *to = more ? *to + part : part;
            }
    }
}
#endif

static __attribute__((noinline)) void gc_columns(int64_t rows, const float *restrict a, int64_t a_stride,
    const float *restrict b, int64_t b_stride, int64_t columns, int64_t count, int near, float *restrict sums,
    int64_t stride, int more)
{
    if (rows > GC_TAKING_TURNS) {
        const int64_t most = GC_VECTOR == 64 && rows <= GC_LANES ? count : 512;
        for (int64_t k = 0; k < count; k += most, more = 1)
            gc_more_rows(rows, a + k, a_stride, b + k, b_stride, columns, MIN(count - k, most),
                         MAX(count - k - most, 0), near, sums, stride, more);
        return;
    }
    const int64_t done =
        gc_two_chunks(GC_TAKING_TURNS, 0, rows, a, a_stride, b, b_stride, columns, count, sums, stride, more);
    if (done == count) return;
    a += done, b += done, count -= done, more |= done > 0;
    for (int64_t n = 0; n < columns; n += GC_LANES) {
        const float *column[GC_LANES];      /* where they begin; the last one again where there are fewer */
        for (int64_t r = 0; r < GC_LANES; r++) column[r] = b + MIN(n + r, columns - 1) * b_stride;
        gc_ahead next = gc_far_columns_ahead(b, b_stride, columns, count, n + GC_LANES, GC_LANES);
        gc_some_rows(rows, a, a_stride, column, count, sums + n, stride, more, &next);
    }
}
#endif

int64_t contract_dot_61fe876a(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    const float *restrict x1 = buf[1];
    float *restrict y0 = buf[2];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const int64_t a2 = arg[2];
    const int64_t a3 = arg[3];
    const int64_t a4 = arg[4];
    const int64_t a5 = arg[5];
    const int64_t a6 = arg[6];
    const int64_t a7 = arg[7];
    const int64_t a8 = arg[8];
    const int64_t a9 = arg[9];
    const int64_t a10 = arg[10];
    const int64_t a11 = arg[11];
    const int64_t a12 = arg[12];
    const int64_t a13 = arg[13];
    const int64_t a14 = arg[14];
    const int64_t a15 = arg[15];
    const int64_t stop = MIN(end * 1, a1 * a0);
    int64_t at = begin * 1;
    int64_t mb = at % a0;
    int64_t nb = at / a0;
    for (; at < stop; at++) {
        /* dot0[m, n] = sum over k of a * b, for few m */
        {
            const int64_t m_first = mb * a9, m_last = MIN(mb * a9 + a9, a8);
            const int64_t n_first = nb * a11, n_last = MIN(nb * a11 + a11, a10);
            float *restrict a_rows = (float *)((char *)scratch + 0);
            float *restrict dot0 = (float *)((char *)scratch + a12);
            const int64_t m_from = m_first, m_to = m_last;
            const int64_t stride = (n_last - n_first + GC_PAIR - 1) / GC_PAIR * GC_PAIR + 80;
            for (int64_t k_first = 0; k_first < a7; k_first += 4096) {
                const int64_t k_last = MIN(k_first + 4096, a7);
                {
                    const int64_t k_from = k_first, k_to = k_last;
                    {
                        for (int64_t m = m_from; m < m_to; m++) {
                            for (int64_t k = k_from; k < k_to; k++) {
                                a_rows[(m - m_from) * a2 + k - k_from] = x0[k + m * a4];
                            }
                        }
                    }
                }
                {
                    const int64_t n_part = n_first, k_part = k_first, bytes = a10 * a7 * sizeof *a_rows;
                    gc_columns(m_last - m_first, a_rows, a2, &x1[k_part + n_part * a5], a6,
                               n_last - n_first, k_last - k_first, bytes <= GC_NEAR, dot0, stride, k_first > 0);
                }
            }
            const int64_t n_from = n_first, n_to = n_last;
            for (int64_t m = m_from; m < m_to; m++) {
                #pragma GCC ivdep
                for (int64_t n = n_from; n < n_to; n++) {
                    y0[m * a15 + n] = dot0[(m - m_from) * stride + n - n_from];
                }
            }
        }
        mb += 1;
        if (mb == a0)
            mb = 0, nb++;
    }
    return 0;
}
