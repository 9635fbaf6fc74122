typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
/* The plain formula, without the recovery of infinities that C has. GCC 12 makes fused multiply-adds of a sum beside a
   difference, -ffp-contract=off or not: those of the products times one, which change no bit. */
__attribute__((weak, visibility("hidden"))) float gc_cmul_cfloat_one = 1;
static inline cfloat gc_cmul_cfloat(cfloat x, cfloat y)
{
    const float a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y, one = gc_cmul_cfloat_one;
    return __builtin_complex((float)(a * c * one - b * d * one), (float)(a * d * one + b * c * one));
}
/* in double, where neither square nor their sum overflows, as hypotf of glibc */
static inline float gc_cabs_float(cfloat x)
{
    const float a = __builtin_fabsf(__real__ x), b = __builtin_fabsf(__imag__ x);
    const float size = (float)__builtin_sqrt((double)a * a + (double)b * b);
    return (a == __builtin_inff()) | (b == __builtin_inff()) ? __builtin_inff() : size;
}

int64_t map_abs_7b08e2b6(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
