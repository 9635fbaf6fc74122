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
#if defined(__clang__)
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
__attribute__((noinline, visibility("hidden"))) void gc_sweep(int64_t rows, const float *restrict a, int64_t a_stride,
    const float *restrict b, int64_t b_stride, int64_t columns, int64_t count, float *restrict parts,
    int64_t stride, int start);
#else
/* `rows` rows of a, whose factors x has side by side, times `count` rows of b, two vectors of columns at a time; the
   same columns of a few rows from `later` on are asked for */
static inline __attribute__((always_inline)) void gc_sweep_some(const int rows, const int count,
    const float *restrict x, const float *restrict b, int64_t b_stride, int64_t columns, float *restrict parts,
    int64_t stride, int start, const float *later, int64_t later_rows)
{
    for (int64_t n = 0; n + 2 * GC_LANES <= columns; n += 2 * GC_LANES) {
        const float *from = b + n;
        for (int64_t k = 0; k < later_rows; k++)
            for (int64_t l = 0; l < 2 * GC_LANES; l += 64 / sizeof(float))
                __builtin_prefetch(later + k * b_stride + n + l);
        gc_vector c[4][2];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (int v = 0; v < 2; v++)
                c[r][v] = start ? (gc_vector){0} : ((const gc_vector *)(parts + r * stride + n))[v];
#pragma GCC unroll 8
        for (int k = 0; k < count; k++, from += b_stride) {
            gc_vector y[2] = {((const gc_loose *)from)[0], ((const gc_loose *)from)[1]};
            GC_KEEP(y[0]);
            GC_KEEP(y[1]);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                gc_vector factor = x[rows * k + r] - (gc_vector){0};
                if (rows > 2) GC_KEEP(factor);
                c[r][0] = gc_fma_vector(factor, y[0], c[r][0]);
                c[r][1] = gc_fma_vector(factor, y[1], c[r][1]);
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (int v = 0; v < 2; v++) ((gc_vector *)(parts + r * stride + n))[v] = c[r][v];
    }
}

/* how many of some rows of a are taken together */
static inline int64_t gc_sweep_step(int64_t rows, int64_t deep)
{
    return deep == 1 || rows < 2 ? 1 : rows < 4 ? 2 : 4;
}

/* the last few columns */
static inline void gc_sweep_rest(int64_t rows, int64_t count, const float *restrict x, const float *restrict b,
    int64_t b_stride, int64_t columns, float *restrict parts, int64_t stride, int start)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t n = 0; n < columns; n += GC_LANES) {
            gc_vector last = start ? (gc_vector){0} : *(const gc_vector *)(parts + r * stride + n), y = {0};
            for (int64_t k = 0; k < count; k++) {
                for (int64_t l = 0; l < MIN(columns - n, GC_LANES); l++) y[l] = b[k * b_stride + n + l];
                last = gc_fma_vector(x[rows * k + r] - (gc_vector){0}, y, last);
            }
            *(gc_vector *)(parts + r * stride + n) = last;
        }
}

static __attribute__((noinline)) void gc_sweep(int64_t rows, const float *restrict a, int64_t a_stride,
    const float *restrict b, int64_t b_stride, int64_t columns, int64_t count, float *restrict parts,
    int64_t stride, int start)
{
    const int64_t strip = rows > 2 ? 512 : columns;
    for (int64_t k = 0, deep; k < count; k += deep) {
        float x[128];
        deep = count - k < 8 ? 1 : 8;
        for (int64_t r = 0, step; r < rows; r += step) {
            step = gc_sweep_step(rows - r, deep);
            for (int64_t l = 0; l < deep; l++)
                for (int64_t i = 0; i < step; i++) x[r * deep + step * l + i] = a[(r + i) * a_stride + k + l];
        }
        for (int64_t n = 0; n < columns; n += strip)
            for (int64_t r = 0, step; r < rows; r += step) {
                const int64_t some = MIN(columns - n, strip), whole = some / (2 * GC_LANES) * (2 * GC_LANES);
                const int first = start && !k;
                const float *y = b + k * b_stride + n, *factors = x + r * deep;
                float *to = parts + r * stride + n;
                /* each group of rows asks for its share of the strip after this one */
                const float *next = n + strip < columns ? y + strip : b + (k + deep) * b_stride;
                const int64_t from = r * deep / rows;
                step = gc_sweep_step(rows - r, deep);
                const int64_t share = rows > 2 ? (r + step) * deep / rows - from : 0;
                next += from * b_stride;
                if (deep == 1) gc_sweep_some(1, 1, factors, y, b_stride, some, to, stride, first, next, 0);
                else if (step == 4)
                    gc_sweep_some(4, 8, factors, y, b_stride, some, to, stride, first, next, share);
                else if (step == 2)
                    gc_sweep_some(2, 8, factors, y, b_stride, some, to, stride, first, next, share);
                else gc_sweep_some(1, 8, factors, y, b_stride, some, to, stride, first, next, share);
                if (whole < some)
                    gc_sweep_rest(step, deep, factors, y + whole, b_stride, some - whole, to + whole, stride, first);
            }
    }
}
#endif

int64_t contract_dot_b3fd41aa(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
            float *restrict parts = (float *)((char *)scratch + a12);
            float *restrict dot0 = (float *)((char *)scratch + a13);
            float *restrict turned = (float *)((char *)scratch + a14);
            const int64_t m_from = m_first, m_to = m_last;
            const int64_t stride = (n_last - n_first + GC_PAIR - 1) / GC_PAIR * GC_PAIR + 80;
            for (int64_t k_first = 0; k_first < a7; k_first += 4096) {
                const int64_t k_last = MIN(k_first + 4096, a7);
                {
                    const int64_t k_from = k_first, k_to = k_last;
                    {
                        for (int64_t m = m_from; m < m_to; m++) {
                            for (int64_t k = k_from; k < k_to; k++) {
                                a_rows[(m - m_from) * a2 + k - k_from] = x0[k + m * a3];

                            }

                        }

                    }
                }
                for (int64_t k_from = k_first; k_from < k_last; k_from += 512) {
                    const int64_t k_to = MIN(k_from + 512, k_last);
                    for (int64_t k_part = k_from; k_part < k_to; k_part += 8) {
                        const int64_t k_end = MIN(k_part + 8, k_to);
                        gc_sweep(m_last - m_first, a_rows + k_part - k_first, a2, &x1[k_part * a4 + n_first],
                                 a5, n_last - n_first, k_end - k_part, parts, stride, k_part == k_from);
                    }
                    for (int64_t l = 0; l < (m_last - m_first) * stride; l++)
                        dot0[l] = k_from ? dot0[l] + parts[l] : parts[l];
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
