typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
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
/* combine lane l with lane l + half, until one is left */
#define FOLD_BY(n, step, then) { enum { half = n }; _Pragma("omp simd") for (int l = 0; l < half; l++) step; then; }
#define FOLD(step, then) FOLD_BY(32, step, then) FOLD_BY(16, step, then) FOLD_BY(8, step, then) FOLD_BY(4, step, then) FOLD_BY(2, step, then) FOLD_BY(1, step, then)

int64_t row_max_min_cast_8052a1f5(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    int64_t *restrict y0 = buf[1];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const int64_t a2 = arg[2];
    const int64_t a3 = arg[3];
    const int64_t a4 = arg[4];
    const int64_t a5 = arg[5];
    const int32_t p0 = (int32_t)arg[6];
    const int64_t stop = MIN(end * a5, a0);
    int64_t at = begin * a5;
    int64_t i = at;
    for (; at < stop; at++) {
        float max0 = -__builtin_inff();
        {
            const int64_t length = a1;
            float max0_lane[64];
            for (int l = 0; l < 64; l++) max0_lane[l] = -__builtin_inff();
            int64_t base = 0;
            for (; base + 64 <= length; base += 64) {
                for (int l = 0; l < 64; l++) {
                    const int64_t j = base + l;
                    const float t0 = x0[i * a2 + j];
                    max0_lane[l] = gc_max_float(max0_lane[l], t0);
                }
            }
            _Pragma("GCC unroll 1")     /* a copy for each of the last few elements takes time to compile */
            for (int l = 0; l < length - base; l++) {
                const int64_t j = base + l;
                const float t0 = x0[i * a2 + j];
                max0_lane[l] = gc_max_float(max0_lane[l], t0);
            }
            FOLD(max0_lane[l] = gc_max_float(max0_lane[l], max0_lane[l + half]), )
            max0 = max0_lane[0];
        }
        int32_t min1 = 2147483647;
        {
            const int64_t length = a1;
            int32_t min1_lane[64];
            for (int l = 0; l < 64; l++) min1_lane[l] = 2147483647;
            int64_t base = 0;
            for (; base + 64 <= length; base += 64) {
                for (int l = 0; l < 64; l += 16)
                    __builtin_prefetch(&x0[base + l + i * a3 + a4]);
                for (int l = 0; l < 64; l++) {
                    const int64_t j = base + l;
                    const float t1 = x0[i * a2 + j];
                    min1_lane[l] = min1_lane[l] < (((uint8_t)((t1 == max0) | (t1 != t1))) ? ((int32_t)j) : p0) ? min1_lane[l] : (((uint8_t)((t1 == max0) | (t1 != t1))) ? ((int32_t)j) : p0);
                }
            }
            _Pragma("GCC unroll 1")     /* a copy for each of the last few elements takes time to compile */
            for (int l = 0; l < length - base; l++) {
                const int64_t j = base + l;
                const float t1 = x0[i * a2 + j];
                min1_lane[l] = min1_lane[l] < (((uint8_t)((t1 == max0) | (t1 != t1))) ? ((int32_t)j) : p0) ? min1_lane[l] : (((uint8_t)((t1 == max0) | (t1 != t1))) ? ((int32_t)j) : p0);
            }
            FOLD(min1_lane[l] = min1_lane[l] < min1_lane[l + half] ? min1_lane[l] : min1_lane[l + half], __asm__("" : "+m"(min1_lane)))
            min1 = min1_lane[0];
        }
        y0[i] = (int64_t)min1;
        i += 1;
    }
    return 0;
}
