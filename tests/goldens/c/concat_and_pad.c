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

int64_t map_pad_639d6db6(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
    const int64_t stop = MIN(end * a9, a0);
    int64_t at = begin * a9;
    int64_t i_start = at;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, a0 - i_start);
        const int64_t i_stop = i_start + width;
        for (int64_t i = i_start; i < MIN(i_stop, a1); i++) {
            y0[i] = 0.0f;
        }
        {
            const int64_t i = MAX(i_start, a2), count = MIN(i_stop, a3) - i;
            if (count > 0)
                __builtin_memcpy(&y0[i], &x0[i + a4], count * (int64_t)sizeof y0[i]);
        }
        for (int64_t i = MAX(i_start, a5); i < MIN(i_stop, a6); i++) {
            y0[i] = gc_exp_float(x1[i + a7]);
        }
        for (int64_t i = MAX(i_start, a8); i < i_stop; i++) {
            y0[i] = 0.0f;
        }
        i_start += width;
    }
    return 0;
}
