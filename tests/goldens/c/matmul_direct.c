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
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_direct(int64_t rows, int64_t columns, int64_t count, const float *a,
    int64_t a_stride, int64_t a_step, const float *b, int64_t b_stride, float *sums, int64_t stride);
#else
static inline __attribute__((always_inline)) void gc_tile_direct(const int rows, const int vectors,
    const float *const *a, int64_t a_step, const float *restrict b, int64_t b_stride, int64_t last, int64_t count, float *restrict sums, int64_t stride,
    int64_t down, int more)
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
#pragma GCC unroll GC_TURNS
    for (; k < count; k++) {
        gc_vector y[GC_ABREAST];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            y[v] = *(const gc_loose *)(b + k * b_stride + MIN(v * GC_LANES, last));
            GC_KEEP(y[v]);
        }
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const gc_vector x = a[r][k * a_step] - (gc_vector){0};
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) c[r][v] = gc_fma_vector(x, y[v], c[r][v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        if (r >= down) return;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            gc_loose *to = (gc_loose *)(sums + r * stride + MIN(v * GC_LANES, last));
            *to = more ? *to + c[r][v] : c[r][v];
        }
    }
}

static __attribute__((noinline)) void gc_direct(int64_t rows, int64_t columns, int64_t count, const float *a,
    int64_t a_stride, int64_t a_step, const float *b, int64_t b_stride, float *sums, int64_t stride)
{
    float laid[512 * GC_LANES], edge[GC_ROWS * GC_LANES];
    const int64_t down = MIN(rows, GC_ROWS);
    for (int64_t n = 0; n < columns; n += GC_PANEL) {
        const int64_t across = MIN(columns - n, GC_PANEL), vectors = (across + GC_LANES - 1) / GC_LANES;
        const int narrow = across < GC_LANES;
        const float *from = narrow ? laid : b + n;
        const int64_t apart = narrow ? GC_LANES : b_stride, last = MAX(across - GC_LANES, 0);
        const int64_t whole = narrow && b_stride > 0 ? count - (GC_LANES - across + b_stride - 1) / b_stride : 0;
        for (int64_t k = 0; k < whole; k++)     /* behind these lie others */
            *(gc_loose *)(laid + k * GC_LANES) = *(const gc_loose *)(b + k * b_stride + n);
        for (int64_t k = MAX(whole, 0); narrow && k < count; k++)
            for (int64_t l = 0; l < GC_LANES; l++) laid[k * GC_LANES + l] = l < across ? b[k * b_stride + n + l] : 0;
        for (int64_t m = 0; m < rows; m += GC_ROWS) {
            const int64_t first = MIN(m, rows - down), row = narrow ? GC_LANES : stride;
            const float *lines[GC_ROWS];
            for (int64_t r = 0; r < GC_ROWS; r++) lines[r] = a + MIN(first + r, rows - 1) * a_stride;
            float *to = narrow ? edge : sums + first * stride + n;
            if (vectors == 1)
                gc_tile_direct(GC_ROWS, 1, lines, a_step, from, apart, last, count, to, row, down, 0);
            else if (vectors == 2)
                gc_tile_direct(GC_ROWS, 2, lines, a_step, from, apart, last, count, to, row, down, 0);
            else if (vectors == 3 && GC_ABREAST > 2)
                gc_tile_direct(GC_ROWS, 3, lines, a_step, from, apart, last, count, to, row, down, 0);
            else if (vectors == 4 && GC_ABREAST > 2)
                gc_tile_direct(GC_ROWS, 4, lines, a_step, from, apart, last, count, to, row, down, 0);
            for (int64_t r = 0; narrow && r < down; r++)
                for (int64_t l = 0; l < across; l++) sums[(first + r) * stride + n + l] = edge[r * GC_LANES + l];
        }
    }
}
#endif

int64_t contract_dot_87e2d411(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
    const int64_t a16 = arg[16];
    const int64_t a17 = arg[17];
    const int64_t a18 = arg[18];
    const int64_t a19 = arg[19];
    const int64_t stop = MIN(end * 1, a2 * a1 * a0);
    int64_t at = begin * 1;
    int64_t mb = at % a0;
    int64_t nb = at / a0 % a1;
    int64_t b = at / a0 / a1;
    for (; at < stop; at++) {
        /* dot0[m, n] = sum over k of a * b, which are not packed */
        {
            const int64_t m_first = mb * a11, m_last = MIN(mb * a11 + a11, a10);
            const int64_t n_first = nb * a13, n_last = MIN(nb * a13 + a13, a12);
            for (int64_t n_from = n_first; n_from < n_last; n_from += 64) {
                const int64_t n_to = MIN(n_from + 64, n_last);
                for (int64_t m_from = m_first; m_from < m_last; m_from += 96) {
                    const int64_t m_to = MIN(m_from + 96, m_last);
                    float *sums = &y0[b * a3 + m_from * a4 + n_from];
                    const int64_t stride = a5;
                    const int64_t k_from = 0, k_to = a9;
                    gc_direct(m_to - m_from, n_to - n_from, k_to - k_from, &x0[b * a14 + k_from + m_from * a15], a16, 1,
                              &x1[b * a17 + k_from * a18 + n_from], a19, sums, stride);
                }
            }
        }
        mb += 1;
        if (mb == a0)
            mb = 0, nb++;
        if (nb == a1)
            nb = 0, b++;
    }
    return 0;
}
