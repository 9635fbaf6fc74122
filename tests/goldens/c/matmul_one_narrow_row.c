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

int64_t contract_dot_reshape_6e4d0550(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
                const int64_t k_part = k_first;
                gc_narrow(a_rows, &x1[k_part * a4 + n_first], a5, n_last - n_first, k_last - k_first,
                          a7 - k_first, dot0, k_first > 0);
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
