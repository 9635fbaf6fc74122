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
#define GC_PANEL (2 * GC_LANES)
#define GC_ROWS (GC_VECTOR == 64 ? 12 : 6)
typedef float gc_vector __attribute__((vector_size(GC_VECTOR)));
typedef float gc_loose __attribute__((vector_size(GC_VECTOR), aligned(sizeof(float))));
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
static inline __attribute__((always_inline)) void gc_tile(const int rows, const float *restrict a,
    const gc_vector *restrict b, int64_t count, float *restrict sums, int64_t stride, int more)
{
    gc_vector c[GC_ROWS][2];
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) {
        c[r][0] = c[r][1] = (gc_vector){0};
        __builtin_prefetch(sums + r * stride);
    }
#pragma GCC unroll 2
    for (int64_t k = 0; k < count; k++) {
        gc_vector b0 = b[2 * k], b1 = b[2 * k + 1];
        GC_KEEP(b0);
        GC_KEEP(b1);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            const gc_vector x = a[r * 528 + k] - (gc_vector){0};
            c[r][0] = gc_fma_vector(x, b0, c[r][0]);
            c[r][1] = gc_fma_vector(x, b1, c[r][1]);
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < 2; v++) {
            gc_vector *to = (gc_vector *)(sums + r * stride) + v;
            *to = more ? *to + c[r][v] : c[r][v];
        }
}

/* some panels of b, each of which meets all rows of a */
static __attribute__((noinline)) void gc_tiles(int64_t rows, int64_t columns, int64_t count, const float *restrict a,
    const float *restrict b, float *restrict sums, int64_t stride, int more)
{
    for (int64_t n = 0; n < columns; n += GC_PANEL) {
        const gc_vector *panel = (const gc_vector *)(b + n * 513);
        for (int64_t m = 0, step; m < rows; m += step) {
            const float *from = a + m * 528;
            float *to = sums + m * stride + n;
            step = rows - m;
            step = step >= GC_ROWS ? GC_ROWS : step >= 4 ? 4 : step >= 2 ? 2 : 1;
            if (step == GC_ROWS) gc_tile(GC_ROWS, from, panel, count, to, stride, more);
            else if (step == 4) gc_tile(4, from, panel, count, to, stride, more);
            else if (step == 2) gc_tile(2, from, panel, count, to, stride, more);
            else gc_tile(1, from, panel, count, to, stride, more);
        }
    }
}
static inline float gc_bits_float(uint32_t word) { float x; __builtin_memcpy(&x, &word, sizeof x); return x; }
static inline uint32_t gc_bitcast_uint32_t_float(float word)
{
    uint32_t x; __builtin_memcpy(&x, &word, sizeof x); return x;
}
/* NaN in either operand gives NaN; 0.0 is larger than -0.0, so that a maximum depends on no order */
static inline float gc_max_float(float a, float b)
{
    const float x = a > b ? a : b, y = b > a ? b : a;
    const float z = gc_bits_float(gc_bitcast_uint32_t_float(x) & gc_bitcast_uint32_t_float(y));
    return __builtin_isunordered(a, b) ? a + b : z;
}

int64_t contract_dot_maximum_1a61a00e(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
    const int64_t stop = MIN(end * 1, a1 * a0);
    for (int64_t at = begin * 1; at < stop; at++) {
        const int64_t mb = at % a0;
        const int64_t nb = at / a0;
        /* dot0[m, n] = sum over k of a * b */
        {
            const int64_t m_first = mb * a11, m_last = MIN(mb * a11 + a11, a10);
            const int64_t n_first = nb * a13, n_last = MIN(nb * a13 + a13, a12);
            float *restrict a_rows = (float *)((char *)scratch + 0);
            float *restrict b_panels = (float *)((char *)scratch + a6);
            float *restrict sums = (float *)((char *)scratch + a14);
            /* the row length of the sums: of all columns if k has several chunks */
            const int64_t several = a9 > 512;
            const int64_t width = (n_last - n_first + GC_PANEL - 1) / GC_PANEL * GC_PANEL;
            const int64_t stride = several ? width + 16 : 64;
            for (int64_t k_from = 0; k_from < a9; k_from += 512) {
                const int64_t k_to = MIN(k_from + 512, a9);
                for (int64_t n_left = n_first; n_left < n_last; n_left += a8) {
                    const int64_t n_right = MIN(n_left + a8, n_last);
                    {
                        for (int64_t k = k_from; k < k_to; k++) {
                            for (int64_t n_panel = n_left; n_panel < n_right; n_panel += GC_PANEL) {
                                __builtin_prefetch(&x1[k * a4 + n_panel + a5]);
                                if (n_right - n_panel >= GC_PANEL)
                                    for (int64_t l = 0; l < GC_PANEL; l++) {
                                        const int64_t n = n_panel + l;
                                        b_panels[(n_panel - n_left) * 513 + (k - k_from) * GC_PANEL + n - n_panel] = x1[k * a3 + n];

                                    }
                                else if (n_right - n_panel == GC_LANES)
                                    for (int64_t l = 0; l < GC_LANES; l++) {
                                        const int64_t n = n_panel + l;
                                        b_panels[(n_panel - n_left) * 513 + (k - k_from) * GC_PANEL + n - n_panel] = x1[k * a3 + n];

                                    }
                                else
                                    for (int64_t l = 0; l < n_right - n_panel; l++) {
                                        const int64_t n = n_panel + l;
                                        b_panels[(n_panel - n_left) * 513 + (k - k_from) * GC_PANEL + n - n_panel] = x1[k * a3 + n];

                                    }

                            }

                        }

                    }
                    for (int64_t m_from = m_first; m_from < m_last; m_from += a7) {
                        const int64_t m_to = MIN(m_from + a7, m_last);
                        if (n_left == n_first || m_last - m_first > a7) {
                            {
                                for (int64_t m = m_from; m < m_to; m++) {
                                    for (int64_t k = k_from; k < k_to; k++) {
                                        a_rows[(m - m_from) * 528 + k - k_from] = x0[k + m * a2];

                                    }

                                }

                            }
                        }
                        for (int64_t n_from = n_left; n_from < n_right; n_from += 64) {
                            const int64_t n_to = MIN(n_from + 64, n_right);
                            float *restrict dot0 = sums;
                            if (several) dot0 += (m_from - m_first) * stride + n_from - n_first;
                            gc_tiles(m_to - m_from, n_to - n_from, k_to - k_from, a_rows,
                                     b_panels + (n_from - n_left) * 513, dot0, stride, k_from > 0);
                            if (k_to < a9) continue;
                            for (int64_t m = m_from; m < m_to; m++) {
                                for (int64_t n = n_from; n < n_to; n++) {
                                    y0[m * a15 + n] = gc_max_float((dot0[(m - m_from) * stride + n - n_from] + x2[n]), 0.0f);

                                }

                            }

                        }
                    }
                }
            }
        }

    }
    return 0;
}
