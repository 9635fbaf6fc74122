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
/* The plain formula, without the recovery of infinities that C has. GCC 12 makes fused multiply-adds of a sum beside a
   difference, -ffp-contract=off or not: those of the products times one, which change no bit. */
GC_UNKNOWN(float, gc_cmul_cfloat_one, 1)
static inline cfloat gc_cmul_cfloat(cfloat x, cfloat y)
{
    const float a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y, one = gc_cmul_cfloat_one;
    return __builtin_complex((float)(a * c * one - b * d * one), (float)(a * d * one + b * c * one));
}
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
/* of x and y times a power of two that brings the larger one near 1: no square overflows, none that counts is lost */
static inline float gc_hypot_float(float x, float y)
{
    const float a = __builtin_fabsf(x), b = __builtin_fabsf(y), huge = __builtin_inff();
    const uint32_t high = gc_bitcast_uint32_t_float(a > b ? a : b) >> 23;
    const uint32_t power = MIN(MAX(high, 1), 254 - 1);
    const float by = gc_bits_float((uint32_t)(254 - power) << 23);
    const float s = a * by, t = b * by, root = __builtin_sqrtf(gc_mad_float(s, s, t * t));
    return a == huge | b == huge ? huge : root * gc_bits_float(power << 23);
}
static inline float gc_cabs_float(cfloat x) { return gc_hypot_float(__real__ x, __imag__ x); }

int64_t map_abs_a19ce857(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const cfloat *restrict x0 = buf[0];
    const cfloat *restrict x1 = buf[1];
    float *restrict y0 = buf[2];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const int64_t stop = MIN(end * a1, a0);
    int64_t at = begin * a1;
    int64_t i_start = at;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, a0 - i_start);
        const int64_t i_stop = i_start + width;
        for (int64_t i = i_start; i < i_stop; i++) {
            y0[i] = gc_cabs_float(gc_cmul_cfloat(x0[i], x1[i]));
        }
        i_start += width;
    }
    return 0;
}
