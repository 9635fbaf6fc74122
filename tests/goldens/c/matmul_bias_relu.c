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
#if defined(__x86_64__)
#define GC_KEEP(x) __asm__("" : "+v"(x))
#else
#define GC_KEEP(x)
#endif
/* asks for the lines that will be stored when a tile is done */
static inline void gc_prefetch_rows(const float *there, int64_t stride, int64_t rows)
{
    for (; rows > 0; rows--, there += stride)
        for (int64_t l = 0; l < GC_PANEL; l += 64 / sizeof *there) __builtin_prefetch(there + l, 1);
}
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
static inline void gc_clear_rest(float *panels, int64_t some, int64_t width, int64_t count)
{
    const int64_t across = some % width, last = GC_ABREAST == 2 ? GC_PANEL : across;
    float *panel = panels + (some - across) * 513;
    if (across && width == GC_ROWS) __builtin_memset(panel, 0, count * width * sizeof *panel);
    for (int64_t k = 0; across && width == GC_PANEL && k < count; k++)
        for (int64_t l = across / GC_LANES * GC_LANES; l < last; l += GC_LANES)
            *(gc_loose *)(panel + k * width + l) = (gc_vector){0};
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
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_turn_a(const float *restrict in, int64_t in_stride, int64_t some,
    int64_t count, float *restrict out);
#else
static __attribute__((noinline)) void gc_turn_a(const float *restrict in, int64_t in_stride, int64_t some,
    int64_t count, float *restrict out)
{
    const int64_t last = MAX(GC_ROWS - GC_LANES, 0);    /* the first element of the last vectors */
    const int64_t whole = count / GC_LANES * GC_LANES;
    for (int64_t i = 0; i < some; i += GC_ROWS) {
        const float *row[GC_ROWS];
        float *to = out + i * 513;
        for (int r = 0; r < GC_ROWS; r++) row[r] = in + MIN(i + r, some - 1) * in_stride;
        const int64_t wide = GC_ABREAST > 2 ? MIN(GC_ROWS, some - i) : GC_ROWS;   /* what is read */
        for (int64_t j = 0; j < whole; j += GC_LANES)
#if GC_VECTOR == 64
        {   /* squares of eight, side by side */
            gc_vector x[8];
#pragma GCC unroll 8
            for (int r = 0; r < 8; r++) x[r] = *(const gc_loose *)(row[MIN(r, GC_ROWS - 1)] + j);
            gc_square(x, 8);
#pragma GCC unroll 8
            for (int r = 0; r < 8; r++) *(gc_part *)(to + (j + r) * GC_ROWS) = GC_LOWER(x[r]);
#pragma GCC unroll 8
            for (int r = 0; r < 8; r++) *(gc_part *)(to + (j + 8 + r) * GC_ROWS) = GC_UPPER(x[r]);
        }
#else
            for (int64_t part = 0; part < wide; part += GC_LANES) {
                const int64_t first = MIN(part, last);
                gc_vector x[GC_LANES];
#pragma GCC unroll 16
                for (int r = 0; r < GC_LANES; r++)
                    x[r] = *(const gc_loose *)(row[MIN(first + r, GC_ROWS - 1)] + j);
                gc_square(x, GC_LANES);
#pragma GCC unroll 16
                for (int r = 0; r < GC_LANES; r++) *(gc_loose *)(to + (j + r) * GC_ROWS + first) = x[r];
            }
#endif
        for (int64_t j = whole; j < count; j++)
            for (int r = 0; r < GC_ROWS; r++) {
                to[j * GC_ROWS + r] = row[r][j];
                __asm__("" ::: "memory");   /* so few turns are no vector loop */
            }
    }
}
#endif
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_copy_b(const float *restrict in, int64_t in_stride, int64_t some,
    int64_t count, float *restrict out);
#else
static __attribute__((noinline)) void gc_copy_b(const float *restrict in, int64_t in_stride, int64_t some,
    int64_t count, float *restrict out)
{
    const int64_t last = MAX(GC_PANEL - GC_LANES, 0);
    for (int64_t left = 0; left < some; left += 8 * GC_PANEL)
        for (int64_t k = 0; k < count; k++)
            for (int64_t i = left; i < MIN(left + 8 * GC_PANEL, some); i += GC_PANEL) {
                const float *from = in + k * in_stride + i;
                float *to = out + i * 513 + k * GC_PANEL;
                __builtin_prefetch(from + 8 * in_stride);
                if (some - i >= MAX(GC_PANEL, GC_LANES))
#pragma GCC unroll 4
                    for (int64_t part = 0; part < GC_PANEL; part += GC_LANES)
                        *(gc_loose *)(to + MIN(part, last)) = *(const gc_loose *)(from + MIN(part, last));
                else {
                    const int64_t across = MIN(GC_PANEL, some - i);
                    int64_t l = 0;
                    for (; l + GC_LANES <= across; l += GC_LANES)
                        *(gc_loose *)(to + l) = *(const gc_loose *)(from + l);
                    for (; l < across; l++) {
                        to[l] = from[l];
                        __asm__("" ::: "memory");   /* so few turns are neither a vector loop nor worth a call */
                    }
                }
            }
}
#endif
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_tiles(int64_t rows, int64_t columns, int64_t count, const float *restrict a,
    const float *restrict b, int64_t apart, float *restrict sums, int64_t stride, int more, const float *there,
    int64_t there_stride, gc_ahead ahead);
#else
static inline __attribute__((always_inline)) void gc_tile(const int rows, const int vectors,
    const float *restrict a, const gc_loose *restrict b, int64_t count, float *restrict sums, int64_t stride,
    int64_t down, int more, gc_ahead *ahead, int64_t asks)
{
    gc_vector c[GC_ROWS][GC_ABREAST];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            c[r][v] = (gc_vector){0};
            if (v * GC_VECTOR % 64 == 0) __builtin_prefetch(sums + r * stride + v * GC_LANES);
        }
    int64_t k = 0;
    for (int64_t turns = asks ? count / GC_TURNS : 0; turns > 0; turns--) {
        for (int64_t i = 0; i < asks; i++) gc_ask(ahead, 1);
#pragma GCC unroll GC_TURNS
        for (int i = 0; i < GC_TURNS; i++, k++) {
            gc_vector y[GC_ABREAST];
    #pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                y[v] = b[GC_ABREAST * k + v];
                GC_KEEP(y[v]);
            }
    #pragma GCC unroll 6
            for (int r = 0; r < rows; r++) {
                const gc_vector x = a[k * GC_ROWS + r] - (gc_vector){0};
    #pragma GCC unroll 4
                for (int v = 0; v < vectors; v++) c[r][v] = gc_fma_vector(x, y[v], c[r][v]);
            }
        }
    }
#pragma GCC unroll GC_TURNS
    for (; k < count; k++) {
        gc_vector y[GC_ABREAST];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            y[v] = b[GC_ABREAST * k + v];
            GC_KEEP(y[v]);
        }
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const gc_vector x = a[k * GC_ROWS + r] - (gc_vector){0};
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) c[r][v] = gc_fma_vector(x, y[v], c[r][v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        if (r >= down) return;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            gc_loose *to = (gc_loose *)(sums + r * stride + v * GC_LANES);
            *to = more ? *to + c[r][v] : c[r][v];
        }
    }
}
/* some panels of b, `apart` from one another, each of which meets all rows of a; `there`: where what becomes of the
   sums will be stored, if known. Each turn of a tile asks for some of the lines `ahead`; not of 16 registers. */
static __attribute__((noinline)) void gc_tiles(int64_t rows, int64_t columns, int64_t count, const float *restrict a,
    const float *restrict b, int64_t apart, float *restrict sums, int64_t stride, int more, const float *there,
    int64_t there_stride, gc_ahead ahead)
{
    const int64_t panels = (columns + GC_PANEL - 1) / GC_PANEL, tiles = panels * ((rows + 1) / GC_ROWS);
    const int64_t turns = tiles * (count / GC_TURNS), lines = ahead.left * (ahead.run / 64);
    const int64_t asks = GC_VECTOR == 64 && turns ? (lines + turns - 1) / turns : 0;
    float edge[GC_ROWS * GC_PANEL];       /* a tile of which some columns are too many */
    for (int64_t n = 0; n < columns; n += GC_PANEL, b += apart) {
        const gc_loose *panel = (const gc_loose *)b;
        const int64_t across = MIN(columns - n, GC_PANEL);
        const int vectors = GC_ABREAST == 2 ? 2 : (across + GC_LANES - 1) / GC_LANES;
        const int whole = across == vectors * GC_LANES;
        for (int64_t m = 0; m < rows; m += GC_ROWS) {
            const float *from = a + m * 513;
            float *to = sums + m * stride + n, *tile = whole ? to : edge;
            const int64_t down = MIN(rows - m, GC_ROWS), row = whole ? stride : GC_PANEL;
            if (there) gc_prefetch_rows(there + m * there_stride + n, there_stride, down);
            if (vectors == GC_ABREAST && down > 4)
                gc_tile(GC_ROWS, GC_ABREAST, from, panel, count, tile, row, down, more & whole, &ahead,
                    ahead.left > 0 ? asks : 0);
            else if (vectors == GC_ABREAST)
                gc_tile(4, GC_ABREAST, from, panel, count, tile, row, down, more & whole, &ahead,
                    0);
            else if (vectors == 3)
                gc_tile(GC_ROWS, 3, from, panel, count, tile, row, down, more & whole, &ahead,
                    0);
            else if (vectors == 2)
                gc_tile(GC_ROWS, 2, from, panel, count, tile, row, down, more & whole, &ahead,
                    0);
            else
                gc_tile(GC_ROWS, 1, from, panel, count, tile, row, down, more & whole, &ahead,
                    0);
            if (!whole)
                for (int64_t r = 0; r < down; r++, to += stride)
                    for (int64_t l = 0; l < across; l++) {
                        const float sum = edge[r * GC_PANEL + l];
                        to[l] = more ? to[l] + sum : sum;
                    }
        }
    }
}
#endif

int64_t contract_dot_where_09234ddb(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    const float *restrict x1 = buf[1];
    const float *restrict x2 = buf[2];
    float *restrict y0 = buf[3];
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
    const int64_t a16 = arg[16];
    const int64_t a17 = arg[17];
    const int64_t a18 = arg[18];
    const int64_t a19 = arg[19];
    const int64_t a20 = arg[20];
    const int64_t stop = MIN(end * 1, a1 * a0);
    int64_t at = begin * 1;
    int64_t mb = at % a0;
    int64_t nb = at / a0;
    for (; at < stop; at++) {
        /* dot0[m, n] = sum over k of a * b */
        {
            const int64_t m_first = mb * a14, m_last = MIN(mb * a14 + a14, a13);
            const int64_t n_first = nb * a16, n_last = MIN(nb * a16 + a16, a15);
            float *restrict a_chunks = (float *)((char *)scratch + 0);
            float *restrict b_panels = (float *)((char *)scratch + a6);
            float *restrict sums = (float *)((char *)scratch + a17);
            /* a strip of columns goes through all of k: all of them, or fewer if packed rows of all chunks are kept */
            const int64_t several = a12 > 512;
            const int64_t strip = MIN((n_last - n_first + GC_PANEL - 1) / GC_PANEL * GC_PANEL, a10);
            const int64_t stride = several ? strip + 16 : 64;
            for (int64_t n_strip = n_first; n_strip < n_last; n_strip += strip) {
                for (int64_t k_from = 0; k_from < a12; k_from += 512) {
                    const int64_t k_to = MIN(k_from + 512, a12);
                    float *restrict a_panels = a_chunks + k_from / 512 * a11;
                    for (int64_t n_left = n_strip; n_left < MIN(n_strip + strip, n_last);) {
                        int64_t n_right = MIN(MIN(n_left + a9, n_strip + strip), n_last);
                        gc_clear_rest(b_panels, n_right - n_left, GC_PANEL, k_to - k_from);
                        /* all of them, or, if they are far, each when many rows meet it, whose tiles ask for the next */
                        const float *b_lies = &x1[k_from * a4 + n_left];
                        const int64_t across = n_right - n_left, deep = k_to - k_from;
                        const int met = GC_VECTOR == 64 && m_last - m_first >= 96 && across * deep >= a7;
                        if (!met) gc_copy_b(b_lies, a5, across, deep, b_panels);
                        for (int64_t m_from = m_first; m_from < m_last; m_from += a8) {
                            const int64_t m_to = MIN(m_from + a8, m_last);
                            if (n_left == n_first || m_last - m_first > a8) {
                                gc_turn_a(&x0[k_from + m_from * a2], a3, m_to - m_from, k_to - k_from, a_panels);
                            }
                            for (int64_t n_from = n_left; n_from < n_right; n_from += 64) {
                                const int64_t n_to = MIN(n_from + 64, n_right);
                                float *restrict dot0 = sums;
                                if (several) dot0 += (m_from - m_first) * stride + n_from - n_strip;
                                const float *there = k_to < a12 ? 0 : (const void *)&y0[m_from * a18 + n_from];
                                if (met && m_from == m_first)
                                    gc_copy_b(b_lies + n_from - n_left, a5, n_to - n_from, k_to - k_from,
                                        b_panels + (n_from - n_left) * 513);
                                {
                                    const int again = n_to == n_right && m_to < m_last;
                                    const int below = !again && n_to == MIN(n_strip + strip, n_last);
                                    const int packed = again || (n_to < n_right && !(met && m_from == m_first));
                                    const int64_t n_next = again ? n_left : below ? n_strip : n_to;
                                    const int64_t k_next = below ? k_to : k_from, deep = MIN(512, a12 - k_next);
                                    const float *next = packed ? b_panels + (n_next - n_left) * 513
                                        : b_lies + (k_next - k_from) * a5 + n_next - n_left;
                                    const int64_t run = 64 * (int64_t)sizeof *next;
                                    const int64_t apart = packed ? run : a5 * (int64_t)sizeof *next;
                                    const char *line = (const char *)next;
                                    const gc_ahead ahead = {line, line + run, run, apart, deep};
                                    gc_tiles(m_to - m_from, n_to - n_from, k_to - k_from, a_panels,
                                             b_panels + (n_from - n_left) / GC_PANEL * GC_PANEL * 513, GC_PANEL * 513,
                                             dot0, stride, k_from > 0, there, a19, ahead);
                                }
                                if (k_to < a12) continue;
                                for (int64_t m = m_from; m < m_to; m++) {
                                    #pragma GCC ivdep
                                    for (int64_t n = n_from; n < n_to; n++) {
                                        const float t0 = dot0[(m - m_from) * stride + n - n_from] + x2[n];
                                        y0[m * a20 + n] = (t0 <= 0.0f) ? 0.0f : t0;
                                    }
                                }
                            }
                        }
                        n_left = n_right;
                    }
                }
            }
        }
        mb += 1;
        if (mb == a0)
            mb = 0, nb++;
    }
    return 0;
}
