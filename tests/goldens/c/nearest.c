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
/* NaN if either is; -0.0 is below 0.0: a minimum depends on no order */
static inline float gc_min_float(float a, float b)
{
    const float x = a < b ? a : b, y = b < a ? b : a;
    const float z = gc_bits_float(gc_bitcast_uint32_t_float(x) | gc_bitcast_uint32_t_float(y));
    return __builtin_isunordered(a, b) ? a + b : z;
}
/* combine lane l with lane l + half, until one is left */
#define FOLD_BY(n, step, then) { enum { half = n }; _Pragma("omp simd") for (int l = 0; l < half; l++) step; then; }
#define FOLD(step, then) FOLD_BY(32, step, then) FOLD_BY(16, step, then) FOLD_BY(8, step, then) FOLD_BY(4, step, then) FOLD_BY(2, step, then) FOLD_BY(1, step, then)

int64_t row_min_cast_6965218e(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    const float *restrict x1 = buf[1];
    int64_t *restrict y0 = buf[2];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const int64_t a2 = arg[2];
    const int32_t p0 = (int32_t)arg[3];
    const int64_t stop = MIN(end * a2, a0);
    int64_t at = begin * a2;
    int64_t i = at;
    for (; at < stop; at++) {
        const float t0 = x0[i * 16];
        const float t2 = x0[i * 16 + 8];
        const float t4 = x0[i * 16 + 4];
        const float t6 = x0[i * 16 + 12];
        const float t8 = x0[i * 16 + 2];
        const float t10 = x0[i * 16 + 10];
        const float t12 = x0[i * 16 + 6];
        const float t14 = x0[i * 16 + 14];
        const float t16 = x0[i * 16 + 1];
        const float t18 = x0[i * 16 + 9];
        const float t20 = x0[i * 16 + 5];
        const float t22 = x0[i * 16 + 13];
        const float t24 = x0[i * 16 + 3];
        const float t26 = x0[i * 16 + 11];
        const float t28 = x0[i * 16 + 7];
        const float t30 = x0[i * 16 + 15];
        float min0 = __builtin_inff();
        {
            const int64_t length = a1;
            float min0_lane[64];
            for (int l = 0; l < 64; l++) min0_lane[l] = __builtin_inff();
            int64_t base = 0;
            for (; base + 64 <= length; base += 64) {
                for (int l = 0; l < 64; l++) {
                    const int64_t j = base + l;
                    const float t1 = t0 - x1[j * 16];
                    const float t3 = t2 - x1[j * 16 + 8];
                    const float t5 = t4 - x1[j * 16 + 4];
                    const float t7 = t6 - x1[j * 16 + 12];
                    const float t9 = t8 - x1[j * 16 + 2];
                    const float t11 = t10 - x1[j * 16 + 10];
                    const float t13 = t12 - x1[j * 16 + 6];
                    const float t15 = t14 - x1[j * 16 + 14];
                    const float t17 = t16 - x1[j * 16 + 1];
                    const float t19 = t18 - x1[j * 16 + 9];
                    const float t21 = t20 - x1[j * 16 + 5];
                    const float t23 = t22 - x1[j * 16 + 13];
                    const float t25 = t24 - x1[j * 16 + 3];
                    const float t27 = t26 - x1[j * 16 + 11];
                    const float t29 = t28 - x1[j * 16 + 7];
                    const float t31 = t30 - x1[j * 16 + 15];
                    const float t32 = ((((t1 * t1) + (t3 * t3)) + ((t5 * t5) + (t7 * t7))) + (((t9 * t9) + (t11 * t11)) + ((t13 * t13) + (t15 * t15)))) + ((((t17 * t17) + (t19 * t19)) + ((t21 * t21) + (t23 * t23))) + (((t25 * t25) + (t27 * t27)) + ((t29 * t29) + (t31 * t31))));
                    min0_lane[l] = gc_min_float(min0_lane[l], t32);
                }
            }
            _Pragma("GCC unroll 1")     /* a copy for each of the last few elements takes time to compile */
            for (int l = 0; l < length - base; l++) {
                const int64_t j = base + l;
                const float t1 = t0 - x1[j * 16];
                const float t3 = t2 - x1[j * 16 + 8];
                const float t5 = t4 - x1[j * 16 + 4];
                const float t7 = t6 - x1[j * 16 + 12];
                const float t9 = t8 - x1[j * 16 + 2];
                const float t11 = t10 - x1[j * 16 + 10];
                const float t13 = t12 - x1[j * 16 + 6];
                const float t15 = t14 - x1[j * 16 + 14];
                const float t17 = t16 - x1[j * 16 + 1];
                const float t19 = t18 - x1[j * 16 + 9];
                const float t21 = t20 - x1[j * 16 + 5];
                const float t23 = t22 - x1[j * 16 + 13];
                const float t25 = t24 - x1[j * 16 + 3];
                const float t27 = t26 - x1[j * 16 + 11];
                const float t29 = t28 - x1[j * 16 + 7];
                const float t31 = t30 - x1[j * 16 + 15];
                const float t32 = ((((t1 * t1) + (t3 * t3)) + ((t5 * t5) + (t7 * t7))) + (((t9 * t9) + (t11 * t11)) + ((t13 * t13) + (t15 * t15)))) + ((((t17 * t17) + (t19 * t19)) + ((t21 * t21) + (t23 * t23))) + (((t25 * t25) + (t27 * t27)) + ((t29 * t29) + (t31 * t31))));
                min0_lane[l] = gc_min_float(min0_lane[l], t32);
            }
            FOLD(min0_lane[l] = gc_min_float(min0_lane[l], min0_lane[l + half]), )
            min0 = min0_lane[0];
        }
        int32_t min1 = 2147483647;
        {
            const int64_t length = a1;
            int32_t min1_lane[64];
            for (int l = 0; l < 64; l++) min1_lane[l] = 2147483647;
            int64_t base = 0;
            for (; base + 64 <= length; base += 64) {
                for (int l = 0; l < 64; l++) {
                    const int64_t j = base + l;
                    const float t33 = t0 - x1[j * 16];
                    const float t34 = t2 - x1[j * 16 + 8];
                    const float t35 = t4 - x1[j * 16 + 4];
                    const float t36 = t6 - x1[j * 16 + 12];
                    const float t37 = t8 - x1[j * 16 + 2];
                    const float t38 = t10 - x1[j * 16 + 10];
                    const float t39 = t12 - x1[j * 16 + 6];
                    const float t40 = t14 - x1[j * 16 + 14];
                    const float t41 = t16 - x1[j * 16 + 1];
                    const float t42 = t18 - x1[j * 16 + 9];
                    const float t43 = t20 - x1[j * 16 + 5];
                    const float t44 = t22 - x1[j * 16 + 13];
                    const float t45 = t24 - x1[j * 16 + 3];
                    const float t46 = t26 - x1[j * 16 + 11];
                    const float t47 = t28 - x1[j * 16 + 7];
                    const float t48 = t30 - x1[j * 16 + 15];
                    const float t49 = ((((t33 * t33) + (t34 * t34)) + ((t35 * t35) + (t36 * t36))) + (((t37 * t37) + (t38 * t38)) + ((t39 * t39) + (t40 * t40)))) + ((((t41 * t41) + (t42 * t42)) + ((t43 * t43) + (t44 * t44))) + (((t45 * t45) + (t46 * t46)) + ((t47 * t47) + (t48 * t48))));
                    min1_lane[l] = min1_lane[l] < (((uint8_t)((t49 == min0) | (t49 != t49))) ? ((int32_t)j) : p0) ? min1_lane[l] : (((uint8_t)((t49 == min0) | (t49 != t49))) ? ((int32_t)j) : p0);
                }
            }
            _Pragma("GCC unroll 1")     /* a copy for each of the last few elements takes time to compile */
            for (int l = 0; l < length - base; l++) {
                const int64_t j = base + l;
                const float t33 = t0 - x1[j * 16];
                const float t34 = t2 - x1[j * 16 + 8];
                const float t35 = t4 - x1[j * 16 + 4];
                const float t36 = t6 - x1[j * 16 + 12];
                const float t37 = t8 - x1[j * 16 + 2];
                const float t38 = t10 - x1[j * 16 + 10];
                const float t39 = t12 - x1[j * 16 + 6];
                const float t40 = t14 - x1[j * 16 + 14];
                const float t41 = t16 - x1[j * 16 + 1];
                const float t42 = t18 - x1[j * 16 + 9];
                const float t43 = t20 - x1[j * 16 + 5];
                const float t44 = t22 - x1[j * 16 + 13];
                const float t45 = t24 - x1[j * 16 + 3];
                const float t46 = t26 - x1[j * 16 + 11];
                const float t47 = t28 - x1[j * 16 + 7];
                const float t48 = t30 - x1[j * 16 + 15];
                const float t49 = ((((t33 * t33) + (t34 * t34)) + ((t35 * t35) + (t36 * t36))) + (((t37 * t37) + (t38 * t38)) + ((t39 * t39) + (t40 * t40)))) + ((((t41 * t41) + (t42 * t42)) + ((t43 * t43) + (t44 * t44))) + (((t45 * t45) + (t46 * t46)) + ((t47 * t47) + (t48 * t48))));
                min1_lane[l] = min1_lane[l] < (((uint8_t)((t49 == min0) | (t49 != t49))) ? ((int32_t)j) : p0) ? min1_lane[l] : (((uint8_t)((t49 == min0) | (t49 != t49))) ? ((int32_t)j) : p0);
            }
            FOLD(min1_lane[l] = min1_lane[l] < min1_lane[l + half] ? min1_lane[l] : min1_lane[l + half], __asm__("" : "+m"(min1_lane)))
            min1 = min1_lane[0];
        }
        y0[i] = (int64_t)min1;
        i += 1;
    }
    return 0;
}
