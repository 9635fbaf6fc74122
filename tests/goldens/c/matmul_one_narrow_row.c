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
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_sweep(int64_t rows, const float *restrict a, int64_t a_stride,
    const float *restrict b, int64_t b_stride, int64_t columns, int64_t count, int64_t above, int64_t rest,
    float *parts, float *sums, int64_t stride, int start, int done, int more);
#else
enum { GC_ACROSS = GC_VECTOR == 64 ? 3 : 2 };   /* vectors of a strip */
enum {
    GC_DOWN = GC_VECTOR == 64 ? 8 : 6,          /* rows of a that meet it together, at most, */
    GC_MOST = GC_VECTOR == 64 ? 16 : GC_DOWN,   /* and a strip of one vector, if they are all */
};
enum {
    GC_FEW = GC_ZEN5 ? 4 : 2,                   /* that go along few rows of b, and where many bytes of it follow */
    GC_FEW_FAR = GC_AMD ? 4 : 2,
};
enum { GC_STEPS = GC_VECTOR == 64 ? 2 : 4 };    /* rows of b in each turn of a loop */
enum {      /* rows of a that go along rows of b, how many of these, and vectors side by side */
    GC_ALONG = GC_ZEN5 ? GC_DOWN : GC_AMD ? 8 : 0,
    GC_ALONG_MOST = GC_ZEN4 ? 16 : GC_ALONG,    /* of a, in two groups */
    GC_ALONG_FEW = !GC_ZEN5 && !GC_ZEN4,        /* one or two of a, too */
    GC_ALONG_STEPS = GC_ZEN5 ? 2 : 4,
    GC_ALONG_ABREAST = GC_VECTOR == 64 ? 1 : 2,
    GC_ALONG_BYTES = GC_ZEN4 ? 65536 : 32768,   /* of chains: as long as its lines are, memory gives most */
};
#define GC_STRIP (GC_ACROSS * GC_LANES)
#define GC_LINES (GC_STEPS * GC_ACROSS * GC_VECTOR / 128)       /* asked for in a turn by each of two groups of rows */
#define GC_FEW_LINES (GC_AMD && !GC_ZEN5 ? GC_STEPS * 2 * GC_VECTOR / 64 : 0)    /* and with one or two rows */

/* a row of b meets `rows` rows of a, whose factors x has side by side; `from`: 0 it is read where it lies, 1 and laid
   out, 2 it was. GC_ZEN5 leaves out some of the lines that it is asked for far ahead, so it is asked again; the next
   strip's are better in the L1 cache of older ones too. */
static inline __attribute__((always_inline)) void gc_strip_row(const int rows, const int vectors, const int from,
    gc_vector (*c)[GC_ACROSS], const float *restrict x, const float *restrict b, float *restrict panel)
{
    const int again = from == 1 ? GC_ZEN5 || (GC_AMD && GC_VECTOR == 32) : GC_ZEN5 && rows > GC_DOWN;
    gc_vector y[GC_ACROSS];
#pragma GCC unroll 3
    for (int v = 0; v < vectors; v++) {
        y[v] = from == 2 ? ((const gc_vector *)panel)[v] : ((const gc_loose *)b)[v];
        if (again && v * GC_VECTOR % 64 == 0) __builtin_prefetch(b + GC_STRIP + v * GC_LANES);
        if (rows > (GC_ZEN5 ? 2 : 1)) GC_KEEP(y[v]);        /* else loads are part of their uses: fewer instructions */
        if (from == 1) ((gc_vector *)panel)[v] = y[v];
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) {
        gc_vector factor = x[r] - (gc_vector){0};
        if (rows > 2 && rows <= GC_DOWN) GC_KEEP(factor);       /* those of one or two rows may stay in registers */
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) {
            c[r][v] = gc_fma_vector(factor, y[v], c[r][v]);
            if (rows <= GC_DOWN) GC_KEEP(c[r][v]);      /* in its register: GCC would move some to others and back */
        }
    }
}

/* `count` rows of b, as wide as a strip, meet `rows` rows of a, of which `down` are stored; the chains go on from
   `before`, or begin */
static inline __attribute__((always_inline)) void gc_strip(const int rows, const int vectors, const int from,
    const int lines, const float *restrict x, const float *restrict b, int64_t b_stride, int64_t count,
    float *restrict panel, const float *before, float *after, int64_t stride, int64_t down, int more,
    gc_ahead *ahead)
{
    gc_vector c[GC_MOST][GC_ACROSS];
    gc_ahead next = *ahead;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            c[r][v] = before ? ((const gc_vector *)(before + MIN(r, down - 1) * stride))[v] : (gc_vector){0};
    for (; (lines || vectors == 2) && count >= GC_STEPS; count -= GC_STEPS) {
        if (lines && !GC_ZEN5) gc_ask(&next, lines);
#pragma GCC unroll 4
        for (int k = 0; k < GC_STEPS; k++, x += rows, b += b_stride, panel += GC_STRIP) {
            gc_ask_in_turn(&next, lines, k, GC_STEPS);
            gc_strip_row(rows, vectors, from, c, x, b, panel);
        }
    }
    for (; count; count--, x += rows, b += b_stride, panel += GC_STRIP)
        gc_strip_row(rows, vectors, from, c, x, b, panel);
    if (lines) *ahead = next;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) {
        if (r >= down) return;
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) {
            gc_vector *to = (gc_vector *)(after + r * stride) + v;
            *to = more ? *to + c[r][v] : c[r][v];
        }
    }
}

static void __attribute__((noinline)) gc_group_1(int64_t rows, const float *restrict x,
    const float *restrict b, int64_t b_stride, int64_t count, float *restrict panel, const float *before,
    float *after, int64_t stride, int64_t down, int more, gc_ahead *ahead)
{
    if (rows == GC_DOWN)
        gc_strip(GC_DOWN, GC_ACROSS, 0, 2 * GC_LINES, x, b, b_stride, count, panel, before, after,
                 stride, down, more, ahead);
    else if (rows == 4)
        gc_strip(4, GC_ACROSS, 0, 2 * GC_LINES, x, b, b_stride, count, panel, before, after,
                 stride, down, more, ahead);
}

static void __attribute__((noinline)) gc_group_2(int64_t rows, const float *restrict x,
    const float *restrict b, int64_t b_stride, int64_t count, float *restrict panel, const float *before,
    float *after, int64_t stride, int64_t down, int more, gc_ahead *ahead)
{
    if (rows == GC_DOWN)
        gc_strip(GC_DOWN, GC_ACROSS, 1, GC_LINES, x, b, b_stride, count, panel, before, after,
                 stride, down, more, ahead);
    else if (rows == 4 && GC_DOWN < 8)
        gc_strip(4, GC_ACROSS, 1, GC_LINES, x, b, b_stride, count, panel, before, after,
                 stride, down, more, ahead);
}

static void __attribute__((noinline)) gc_group_3(int64_t rows, const float *restrict x,
    const float *restrict b, int64_t b_stride, int64_t count, float *restrict panel, const float *before,
    float *after, int64_t stride, int64_t down, int more, gc_ahead *ahead)
{
    if (rows == GC_DOWN)
        gc_strip(GC_DOWN, GC_ACROSS, 2, GC_LINES, x, b, b_stride, count, panel, before, after,
                 stride, down, more, ahead);
    else if (rows == 4)
        gc_strip(4, GC_ACROSS, 2, GC_LINES, x, b, b_stride, count, panel, before, after,
                 stride, down, more, ahead);
}

static void __attribute__((noinline)) gc_group_4(int64_t rows, const float *restrict x,
    const float *restrict b, int64_t b_stride, int64_t count, float *restrict panel, const float *before,
    float *after, int64_t stride, int64_t down, int more, gc_ahead *ahead)
{
    if (rows == GC_MOST)
        gc_strip(GC_MOST, 1, 0, GC_STEPS * GC_VECTOR / 64, x, b, b_stride, count, panel, before, after,
                 stride, down, more, ahead);
}

static void __attribute__((noinline)) gc_group_5(int64_t rows, const float *restrict x,
    const float *restrict b, int64_t b_stride, int64_t count, float *restrict panel, const float *before,
    float *after, int64_t stride, int64_t down, int more, gc_ahead *ahead)
{
    if (rows == GC_DOWN)
        gc_strip(GC_DOWN, 1, 0, 0, x, b, b_stride, count, panel, before, after,
                 stride, down, more, ahead);
    else if (rows == 4)
        gc_strip(4, 1, 0, 0, x, b, b_stride, count, panel, before, after,
                 stride, down, more, ahead);
    else if (rows == 2)
        gc_strip(2, 1, 0, 0, x, b, b_stride, count, panel, before, after,
                 stride, down, more, ahead);
    else if (rows == 1)
        gc_strip(1, 1, 0, 0, x, b, b_stride, count, panel, before, after,
                 stride, down, more, ahead);
}

/* `steps` rows of b, `columns` of them, meet `rows` rows of a, of which the last are one where they are but `down` */
static inline __attribute__((always_inline)) void gc_along_rows(const int rows, const int steps, int64_t down,
    const float *restrict a, int64_t a_stride, const float *restrict b, int64_t b_stride, int64_t columns,
    float *restrict chains, int64_t apart, gc_ahead *ahead)
{
    gc_vector x[GC_ALONG][GC_ALONG_STEPS], y[GC_ALONG_STEPS][GC_ALONG_ABREAST];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int k = 0; k < steps; k++) x[r][k] = a[MIN(r, down - 1) * a_stride + k] - (gc_vector){0};
#pragma GCC unroll 1
    for (int64_t n = 0; n < columns; n += GC_ALONG_ABREAST * GC_LANES) {
#pragma GCC unroll 4
        for (int k = 0; k < steps; k++) {
            const float *from = b + k * b_stride + n;
            if (!GC_ZEN5) __builtin_prefetch((const char *)from + 8 * b_stride * sizeof *b, 0, 2);
#pragma GCC unroll 2
            for (int v = 0; v < GC_ALONG_ABREAST; v++) {
                y[k][v] = ((const gc_loose *)from)[v];
                GC_KEEP(y[k][v]);
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            if (n * (int64_t)sizeof *b % 64 == 0) gc_ask_in_turn(ahead, steps, r, rows);
            gc_vector *to = (gc_vector *)(chains + r * apart + n), chain[GC_ALONG_ABREAST];
#pragma GCC unroll 2
            for (int v = 0; v < GC_ALONG_ABREAST; v++) chain[v] = to[v];
#pragma GCC unroll 4
            for (int k = 0; k < steps; k++) {
                gc_vector factor = x[r][k];
                if (!GC_ZEN5) GC_KEEP(factor);      /* one load, which both products use */
#pragma GCC unroll 2
                for (int v = 0; v < GC_ALONG_ABREAST; v++) chain[v] = gc_fma_vector(factor, y[k][v], chain[v]);
            }
#pragma GCC unroll 2
            for (int v = 0; v < GC_ALONG_ABREAST; v++) to[v] = chain[v];
        }
    }
}

/* The same, in the forms that there are: rows are 2, 4 or GC_ALONG, and steps GC_ALONG_STEPS or 1. */
static void __attribute__((noinline)) gc_along_some(int64_t rows, int64_t steps, int64_t down,
    const float *restrict a, int64_t a_stride, const float *restrict b, int64_t b_stride, int64_t columns,
    float *restrict chains, int64_t apart, gc_ahead *ahead)
{
    if (rows == GC_ALONG && steps == GC_ALONG_STEPS)
        gc_along_rows(GC_ALONG, GC_ALONG_STEPS, down, a, a_stride, b, b_stride, columns, chains, apart, ahead);
    if (rows == GC_ALONG && steps == 1)
        gc_along_rows(GC_ALONG, 1, down, a, a_stride, b, b_stride, columns, chains, apart, ahead);
    if (rows == 4 && steps == GC_ALONG_STEPS)
        gc_along_rows(4, GC_ALONG_STEPS, down, a, a_stride, b, b_stride, columns, chains, apart, ahead);
    if (rows == 4 && steps == 1)
        gc_along_rows(4, 1, down, a, a_stride, b, b_stride, columns, chains, apart, ahead);
    if (GC_ALONG_FEW && rows == 2 && steps == GC_ALONG_STEPS)
        gc_along_rows(2, GC_ALONG_STEPS, down, a, a_stride, b, b_stride, columns, chains, apart, ahead);
    if (GC_ALONG_FEW && rows == 2 && steps == 1)
        gc_along_rows(2, 1, down, a, a_stride, b, b_stride, columns, chains, apart, ahead);
}

/* how many of `left` rows go along rows of b together; the last one again where there are fewer */
static inline int64_t gc_along_step(int64_t left)
{
    return left > 4 ? GC_ALONG : GC_ALONG_FEW && left <= 2 ? 2 : 4;
}

/* The product with whole vectors of rows of b, along a few of these at a time. Returns how many columns. */
static int64_t gc_along(int64_t rows, const float *restrict a, int64_t a_stride, const float *restrict b,
    int64_t b_stride, int64_t columns, int64_t count, int64_t rest, float *parts, float *sums, int64_t stride,
    int start, int done, int more)
{
    float chains[(GC_ZEN4 ? 2 : 1) * (GC_ALONG_BYTES + GC_ALONG * 320) / sizeof *b]
        __attribute__((aligned(64)));
    const int64_t wide = GC_ALONG_BYTES / (gc_along_step(rows) * (int64_t)sizeof *b) / GC_PAIR * GC_PAIR;
    const int64_t apart = wide + 320 / sizeof *b;
    const int64_t held = rows > GC_ALONG ? GC_ALONG + gc_along_step(rows - GC_ALONG) : gc_along_step(rows);
    const int64_t whole = columns / (GC_ALONG_ABREAST * GC_LANES) * (GC_ALONG_ABREAST * GC_LANES);
    const int64_t run = MIN(wide, whole) * sizeof *b;
    gc_ahead ahead = {(const char *)(b + 16384 / run * b_stride) + 16384 % run, 0, run,
                      b_stride * sizeof *b, count - 16384 / run};
    ahead.end = ahead.line - 16384 % run + run;
    for (int64_t left = 0, asked = 0; left < whole; left += wide) {
        const int64_t some = MIN(wide, whole - left);
        for (int64_t r = 0; r < held; r++)
            for (int64_t n = 0; n < some; n++)
                chains[r * apart + n] = start ? 0 : parts[MIN(r, rows - 1) * stride + left + n];
        for (int64_t k = 0, steps; k < count; k += steps) {
            if (GC_ZEN5 && ahead.left <= 0 && asked < whole) {     /* then the next columns, or the next rows */
                const int below = (asked += wide) >= whole;
                const float *next = b + (below ? count * b_stride : asked);
                ahead = (gc_ahead){(const char *)next, 0, MIN(wide, below ? whole : whole - asked) * sizeof *b,
                                   b_stride * sizeof *b, below ? MIN(rest, GC_DOWN) : count};
                ahead.end = ahead.line + ahead.run;
            }
            steps = (!GC_ZEN5 || rows > 4) && k + GC_ALONG_STEPS <= count ? GC_ALONG_STEPS : 1;
            for (int64_t r = 0, step; r < rows; r += step) {
                step = gc_along_step(rows - r);
                gc_along_some(step, steps, rows - r, a + r * a_stride + k, a_stride, b + k * b_stride + left, b_stride,
                              some, chains + r * apart, apart, &ahead);
            }
        }
        for (int64_t r = 0; r < rows; r++) {
            float *to = (done ? sums : parts) + r * stride + left;
            for (int64_t n = 0; n < some; n++)
                to[n] = done && more ? to[n] + chains[r * apart + n] : chains[r * apart + n];
        }
    }
    return whole;
}

/* whether so many rows of a meet strips of one vector, all together */
static inline int gc_is_thin(int64_t rows)
{
    return GC_MOST > GC_DOWN && rows > GC_MOST - 4 && rows <= GC_MOST;
}

/* how many of `left` rows of a are taken together; the last one again where there are fewer */
static inline int64_t gc_sweep_step(int64_t left, int64_t rows)
{
    if (gc_is_thin(rows)) return GC_MOST;
    if (GC_DOWN == 8 ? left > 4 : left > 8 || left == 5 || left == 6) return GC_DOWN;
    return rows > 2 ? 4 : rows;
}

/* Adds to `parts`, or with the last rows of a chunk (`done`), to `sums` if there is `more` than this chunk. `above` and
   `rest`: how many rows of b lie before and behind these in memory. */
static __attribute__((noinline)) void gc_sweep(int64_t rows, const float *restrict a, int64_t a_stride,
    const float *restrict b, int64_t b_stride, int64_t columns, int64_t count, int64_t above, int64_t rest,
    float *parts, float *sums, int64_t stride, int start, int done, int more)
{
    float x[4096] __attribute__((aligned(64)));
    float panel[64 * GC_STRIP] __attribute__((aligned(64)));
    const int64_t widest = GC_AMD ? 8192 : 2048;    /* bytes of a row of b */
    const int64_t following = (count + rest) * columns * (int64_t)sizeof *b;
    const int64_t all = above * columns * (int64_t)sizeof *b + following;
    const int far = GC_ZEN5 ? all > 8388608 : rows > 2 || following > 1048576;
    const int half = GC_AMD && (far || !GC_ZEN5) && (GC_VECTOR == 64 || rows <= GC_DOWN);
    const int64_t deepest = half ? 32 : 64;
    const int few = rows <= (following > 8388608 ? GC_FEW_FAR : GC_FEW);
    const int64_t most = few ? 8 : deepest;
    const int64_t across = gc_is_thin(rows) ? GC_LANES : rows > 2 ? GC_STRIP : GC_PAIR;
    const int64_t pieces = rows > 2 ? MAX(columns * (int64_t)sizeof *b / widest, 1) : 1;
    const int64_t wide = (columns + pieces * across - 1) / (pieces * across) * across;
    int64_t first = 0;
    if (GC_ALONG && (rows > 2 ? far : GC_ALONG_FEW && all > 8388608) && rows <= GC_ALONG_MOST && columns >= 64)
        first = gc_along(rows, a, a_stride, b, b_stride, columns, count, rest, parts, sums, stride, start, done, more);
    if (first == columns) return;
    for (int64_t k = 0, deep; k < count; k += deep) {
        deep = MIN(count - k, most);
        for (int64_t r = 0, step; r < rows; r += step) {
            step = gc_sweep_step(rows - r, rows);
            for (int64_t l = 0; l < deep; l++)
                for (int64_t i = 0; i < step; i++)
                    x[r * deep + step * l + i] = a[MIN(r + i, rows - 1) * a_stride + k + l];
        }
        const int last = done && k + deep == count;
        for (int64_t left = first; left < columns; left += wide) {
            const int64_t right = MIN(left + wide, columns), next = right < columns ? right : first;
            const float *then = b + (next ? k : k + deep) * b_stride + next;
            gc_ahead ahead = {(const char *)then, (const char *)then, 0, b_stride * sizeof *b, 0};
            ahead.run = MIN(wide, columns - next) * sizeof *b;
            ahead.end += ahead.run;
            ahead.left = next ? deep : MIN(most, count - k - deep + rest);
            if (ahead.left <= 0 || !far) ahead = (gc_ahead){(const char *)x, (const char *)x, 0, 0, 0};
            int64_t n = left;
            if (rows == 1 && deep == 8)
                for (; n + GC_PAIR <= right; n += GC_PAIR)
                    gc_strip(1, 2, 0, GC_FEW_LINES, x, b + k * b_stride + n, b_stride, 8, panel,
                             start && !k ? 0 : parts + n, (last ? sums : parts) + n, stride, 1, last && more,
                             &ahead);
            if (rows == 2 && deep == 8)
                for (; n + GC_PAIR <= right; n += GC_PAIR)
                    gc_strip(2, 2, 0, GC_FEW_LINES, x, b + k * b_stride + n, b_stride, 8, panel,
                             start && !k ? 0 : parts + n, (last ? sums : parts) + n, stride, 2, last && more,
                             &ahead);
            for (int64_t some; n < right; n += some) {
                const float *y = b + k * b_stride + n;
                int64_t y_stride = b_stride;
                some = right - n >= across && rows > 2 ? across : MIN(right - n, GC_LANES);
                if (some < GC_LANES) {      /* the last columns of all */
                    for (int64_t l = 0; l < deep; l++)
                        for (int64_t i = 0; i < GC_LANES; i++)
                            panel[l * GC_LANES + i] = y[l * b_stride + MIN(i, some - 1)];
                    y = panel;
                    y_stride = GC_LANES;
                }
                for (int64_t r = 0, step; r < rows; r += step) {
                    const float *factors = x + r * deep, *before = start && !k ? 0 : parts + r * stride + n;
                    float *after = (last ? sums : parts) + r * stride + n;
                    const int64_t down = MIN(rows - r, step = gc_sweep_step(rows - r, rows));
                    if (rows > 2 && some == GC_STRIP && step >= rows)
                        gc_group_1(step, factors, y, y_stride, deep, panel, before, after, stride, down,
                                   last && more, &ahead);
                    else if (rows > 2 && some == GC_STRIP && !r)
                        gc_group_2(step, factors, y, y_stride, deep, panel, before, after, stride, down,
                                   last && more, &ahead);
                    else if (rows > 2 && some == GC_STRIP)
                        gc_group_3(step, factors, y, y_stride, deep, panel, before, after, stride, down,
                                   last && more, &ahead);
                    else if (gc_is_thin(rows))
                        gc_group_4(step, factors, y, y_stride, deep, panel, before, after, stride, down,
                                   last && more, &ahead);
                    else if (1)
                        gc_group_5(step, factors, y, y_stride, deep, panel, before, after, stride, down,
                                   last && more, &ahead);
                }
            }
        }
    }
}
#endif
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_narrow(const float *restrict a, const float *restrict b, int64_t b_stride,
    int64_t columns, int64_t count, int64_t all, float *restrict sums, int more);
#else
enum { GC_SIDE = 8 };       /* vectors of sums */

/* `count` rows of b, in each of some chunks, meet elements of a: vectors lie `at` elements from where rows begin. What
   chunks give is added to `sums`, if there is `more` than that. One chunk may have a `rest`: rows of a vector. */
static inline __attribute__((always_inline)) void gc_narrow_chunks(const int chunks, const int vectors,
    const float *restrict a, const float *restrict b, int64_t b_stride, int64_t count, const int64_t *restrict at,
    int64_t rest, const gc_vector *rows, float *restrict sums, int more)
{
    gc_vector c[GC_SIDE], sum[GC_SIDE];
#pragma GCC unroll 8
    for (int i = 0; i < chunks * vectors; i++) c[i] = (gc_vector){0};
    for (; count > 0; count--, a++, b += b_stride)
#pragma GCC unroll 8
        for (int s = 0; s < chunks; s++) {
            gc_vector x = a[s * 512] - (gc_vector){0};
            if (vectors > 1) GC_KEEP(x);
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) {
                const gc_vector y = *(const gc_loose *)(b + s * 512 * b_stride + at[v]);
                c[s * vectors + v] = gc_fma_vector(x, y, c[s * vectors + v]);
            }
        }
    for (; chunks == 1 && rest > 0; rest--, a++, rows++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) c[v] = gc_fma_vector(*a - (gc_vector){0}, *rows, c[v]);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) sum[v] = more ? *(const gc_loose *)(sums + at[v]) + c[v] : c[v];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {     /* where they overlap, they are the same */
#pragma GCC unroll 8
        for (int s = 1; s < chunks; s++) sum[v] += c[s * vectors + v];
        *(gc_loose *)(sums + at[v]) = sum[v];
    }
}

/* `count` rows of b, of which there are `all` in memory from here on. A vector of a row that is shorter reads on, but
   for the last rows of all, which are copied. */
static __attribute__((noinline)) void gc_narrow(const float *restrict a, const float *restrict b, int64_t b_stride,
    int64_t columns, int64_t count, int64_t all, float *restrict sums, int more)
{
    float found[64 * GC_LANES];
    gc_vector rows[GC_LANES];
    const int64_t last = MAX(columns - GC_LANES, 0), side = MAX(GC_SIDE * GC_LANES / MAX(columns, GC_LANES), 1);
    const int64_t whole = columns < GC_LANES ? all - (GC_LANES - columns + b_stride - 1) / b_stride : all;
    const int once = columns <= GC_SIDE * GC_LANES;
    for (int64_t k = 0, deep; k < count; k += deep, a += deep, b += deep * b_stride, more = 1) {
        const int64_t chunks = MIN(MIN(count, whole) - k, side * 512) / 512;
        const int64_t abreast = chunks >= 8 ? 8 : chunks >= 4 ? 4 : chunks >= 2 ? 2 : 1;
        deep = MIN(abreast * 512, count - k);
        const int64_t some = MAX(MIN(deep, whole - k), 0);
        for (int64_t l = some; l < deep; l++)
            for (int64_t i = 0; i < GC_LANES; i++) rows[l - some][i] = i < columns ? b[l * b_stride + i] : 0;
        for (int64_t n = 0; n < columns; n += GC_SIDE * GC_LANES) {
            int64_t at[GC_SIDE];
            for (int64_t v = 0; v < GC_SIDE; v++) at[v] = MIN(n + v * GC_LANES, last);
            if (abreast == 8)
                gc_narrow_chunks(8, 1, a, b, b_stride, 512, at, 0, rows, sums, more);
            else if (abreast == 4)
                gc_narrow_chunks(4, 2, a, b, b_stride, 512, at, 0, rows, sums, more);
            else if (abreast == 2)
                gc_narrow_chunks(2, 4, a, b, b_stride, 512, at, 0, rows, sums, more);
            else if (columns <= 4 * GC_LANES)
                gc_narrow_chunks(1, 4, a, b, b_stride, some, at, deep - some, rows, sums, more);
            else
                gc_narrow_chunks(1, 8, a, b, b_stride, some, at, deep - some, rows, once ? sums : found, once && more);
        }
        for (int64_t n = 0; !once && n < columns; n++) sums[n] = more ? sums[n] + found[n] : found[n];
    }
}
#endif

int64_t contract_dot_reshape_a06cdf82(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
    const int64_t stop = MIN(end * 1, a1 * a0);
    int64_t at = begin * 1;
    int64_t mb = at % a0;
    int64_t nb = at / a0;
    for (; at < stop; at++) {
        /* dot0[m, n] = sum over k of a * b, for few m */
        {
            const int64_t m_first = mb * 1, m_last = MIN(mb * 1 + 1, 1);
            const int64_t n_first = nb * a9, n_last = MIN(nb * a9 + a9, a8);
            float *restrict a_rows = (float *)((char *)scratch + 0);
            float *restrict parts = (float *)((char *)scratch + a10);
            float *restrict dot0 = (float *)((char *)scratch + a11);
            const int64_t m_from = m_first, m_to = m_last;
            const int64_t stride = (n_last - n_first + GC_PAIR - 1) / GC_PAIR * GC_PAIR;
            for (int64_t k_first = 0; k_first < a7; k_first += 4096) {
                const int64_t k_last = MIN(k_first + 4096, a7);
                {
                    const int64_t k_from = k_first, k_to = k_last;
                    {
                        for (int64_t m = m_from; m < m_to; m++) {
                            for (int64_t k = k_from; k < k_to; k++) {
                                a_rows[(m - m_from) * a2 + k - k_from] = x0[k];
                            }
                        }
                    }
                }
                if (n_last - n_first <= 64 * GC_LANES && (a5 > 0 || n_last - n_first >= GC_LANES)) {
                    const int64_t k_part = k_first;
                    gc_narrow(a_rows, &x1[k_part * a4 + n_first], a5, n_last - n_first, k_last - k_first,
                              a7 - k_first, dot0, k_first > 0);
                    continue;
                }
                for (int64_t k_from = k_first; k_from < k_last; k_from += 512) {
                    const int64_t k_to = MIN(k_from + 512, k_last);
                    const int64_t k_part = k_from;
                    gc_sweep(m_last - m_first, a_rows + k_from - k_first, a2, &x1[k_part * a4 + n_first],
                             a5, n_last - n_first, k_to - k_from, k_from, a7 - k_to,
                             parts, dot0, stride, 1, 1, k_from > 0);
                }
            }
            const int64_t n_from = n_first, n_to = n_last;
            for (int64_t m = m_from; m < m_to; m++) {
                #pragma GCC ivdep
                for (int64_t n = n_from; n < n_to; n++) {
                    y0[n] = dot0[(m - m_from) * stride + n - n_from];
                }
            }
        }
        mb += 1;
        if (mb == a0)
            mb = 0, nb++;
    }
    return 0;
}
