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
/* NaN if either is; 0.0 exceeds -0.0: a maximum depends on no order */
static inline float gc_max_float(float a, float b)
{
    const float x = a > b ? a : b, y = b > a ? b : a;
    const float z = gc_bits_float(gc_bitcast_uint32_t_float(x) & gc_bitcast_uint32_t_float(y));
    return __builtin_isunordered(a, b) ? a + b : z;
}
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_push_sum_float(
    float *restrict part, float *restrict levels, int64_t stride, int64_t columns, int64_t block);
#else
/* what `part` has of chunk `block` goes to the levels */
static __attribute__((noinline)) void gc_push_sum_float(
    float *restrict part, float *restrict levels, int64_t stride, int64_t columns, int64_t block)
{
    for (; block & 1; block >>= 1, levels += stride)
        for (int64_t i = 0; i < columns; i++) part[i] = levels[i] + part[i];
    for (int64_t i = 0; i < columns; i++) levels[i] = part[i];
}
#endif
#ifdef GC_APART
__attribute__((noinline, visibility("hidden"))) void gc_fold_sum_float(
    float *restrict all, const float *restrict levels, int64_t stride, int64_t columns, int64_t blocks);
#else
/* what the levels still hold of so many blocks, the shortest first */
static __attribute__((noinline)) void gc_fold_sum_float(
    float *restrict all, const float *restrict levels, int64_t stride, int64_t columns, int64_t blocks)
{
    for (int begun = 0; blocks; blocks >>= 1, levels += stride) {
        if (!(blocks & 1)) continue;
        if (begun) for (int64_t i = 0; i < columns; i++) all[i] = levels[i] + all[i];
        else for (int64_t i = 0; i < columns; i++) all[i] = levels[i];
        begun = 1;
    }
}
#endif
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

int64_t column_max_sum_div_dce8855c(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    float *restrict y0 = buf[1];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const int64_t a2 = arg[2];
    const int64_t a3 = arg[3];
    const int64_t a4 = arg[4];
    const int64_t stop = MIN(end * a4, a0);
    int64_t at = begin * a4;
    int64_t i_start = at;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, a0 - i_start);
        width = MIN(width, 1024);
        const int64_t i_stop = i_start + width;
        float max0[1024];
        for (int64_t i = i_start; i < i_stop; i++) max0[i - i_start] = -__builtin_inff();
        {
            float max0_part[1024];
            const int64_t length = a1;
            for (int64_t block = 0; block * 16 < length; block++) {
                const int64_t first = block * 16, count = MIN(length - first, 16);
                for (int64_t i = i_start; i < i_stop; i++) max0_part[i - i_start] = -__builtin_inff();
                int64_t next = first;
                for (int64_t rows; next < first + count; next += rows) {
                    int together = next + 8 <= first + count;
                    rows = together ? 8 : 1;
                    if (together) {
                        _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
                        for (int64_t i = i_start; i < i_stop; i++) {
                            float max0_sum = max0_part[i - i_start];
                            _Pragma("GCC unroll 8")
                            for (int64_t r = 0; r < 8; r++) {
                                const int64_t j = next + r;
                                const float t0 = x0[i + j * a2];
                                max0_sum = gc_max_float(max0_sum, t0);
                            }
                            max0_part[i - i_start] = max0_sum;
                        }
                    } else {
                        _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
                        for (int64_t i = i_start; i < i_stop; i++) {
                            float max0_sum = max0_part[i - i_start];
                            _Pragma("GCC unroll 1")
                            for (int64_t r = 0; r < 1; r++) {
                                const int64_t j = next + r;
                                const float t0 = x0[i + j * a2];
                                max0_sum = gc_max_float(max0_sum, t0);
                            }
                            max0_part[i - i_start] = max0_sum;
                        }
                    }
                }
                for (int64_t i = i_start; i < i_stop; i++) max0[i - i_start] = gc_max_float(max0[i - i_start], max0_part[i - i_start]);
            }
        }
        float sum1[1024];
        for (int64_t i = i_start; i < i_stop; i++) sum1[i - i_start] = -0.0f;
        {
            float sum1_part[1024];
            float *restrict sum1_levels = (float *)((char *)scratch + 0);
            const int64_t length = a1;
            for (int64_t block = 0; block * 16 < length; block++) {
                const int64_t first = block * 16, count = MIN(length - first, 16);
                for (int64_t i = i_start; i < i_stop; i++) sum1_part[i - i_start] = -0.0f;
                int64_t next = first;
                for (int64_t rows; next < first + count; next += rows) {
                    int together = next + 8 <= first + count;
                    rows = together ? 8 : 1;
                    if (together) {
                        _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
                        for (int64_t i = i_start; i < i_stop; i++) {
                            float sum1_sum = sum1_part[i - i_start];
                            _Pragma("GCC unroll 8")
                            for (int64_t r = 0; r < 8; r++) {
                                const int64_t j = next + r;
                                const float t1 = x0[i + j * a2];
                                const float t2 = gc_exp_float(t1 - max0[i - i_start]);
                                sum1_sum = sum1_sum + t2;
                            }
                            sum1_part[i - i_start] = sum1_sum;
                        }
                    } else {
                        _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
                        for (int64_t i = i_start; i < i_stop; i++) {
                            float sum1_sum = sum1_part[i - i_start];
                            _Pragma("GCC unroll 1")
                            for (int64_t r = 0; r < 1; r++) {
                                const int64_t j = next + r;
                                const float t1 = x0[i + j * a2];
                                const float t2 = gc_exp_float(t1 - max0[i - i_start]);
                                sum1_sum = sum1_sum + t2;
                            }
                            sum1_part[i - i_start] = sum1_sum;
                        }
                    }
                }
                gc_push_sum_float(sum1_part, sum1_levels, 1024, i_stop - i_start,
                    block);
            }
            gc_fold_sum_float(sum1, sum1_levels, 1024, i_stop - i_start,
                (length + 15) / 16);
        }
        for (int64_t j = 0; j < a1; j++) {
            #pragma GCC ivdep
            for (int64_t i = i_start; i < i_stop; i++) {
                const float t3 = x0[i + j * a2];
                const float t4 = gc_exp_float(t3 - max0[i - i_start]);
                y0[i + j * a3] = t4 / sum1[i - i_start];
            }
        }
        i_start += width;
    }
    return 0;
}
