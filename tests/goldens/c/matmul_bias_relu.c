typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static inline float gc_fma_float(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
/* NaN in either operand gives NaN; 0.0 is larger than -0.0, so that a maximum depends on no order */
static inline float gc_max_float(float a, float b)
{
    return (a > b) | (a != a) | ((a == b) & !__builtin_signbit(a)) ? a : b;
}

int64_t column_dot_maximum_986d315c(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
    const int64_t stop = MIN(end * a6, a1 * a0);
    for (int64_t at = begin * a6, width; at < stop; at += width) {
        const int64_t i1_start = at % a0;
        const int64_t i0 = at / a0;
        width = MIN(stop - at, a0 - i1_start);
        width = MIN(width, 64);
        const int64_t i1_stop = i1_start + width;
        float dot0[64] = {0};     /* if there is nothing to add */
        for (int64_t first = 0; first < a2; first += 512) {
            const int64_t last = MIN(first + 512, a2);
            float dot0_part[64];
            for (int l = 0; l < 64; l++) dot0_part[l] = 0;
            if (width == 64)
                for (int64_t j = first; j < last; j++) {
                    const float t0 = x0[i0 * a3 + j];

                    for (int l = 0; l < 64; l++) {
                        const int64_t i1 = i1_start + l;
                        dot0_part[l] = gc_fma_float(t0, x1[i1 + j * a4], dot0_part[l]);

                    }
                }
            else
                for (int64_t j = first; j < last; j++) {
                    const float t0 = x0[i0 * a3 + j];

                    for (int l = 0; l < width; l++) {
                        const int64_t i1 = i1_start + l;
                        dot0_part[l] = gc_fma_float(t0, x1[i1 + j * a4], dot0_part[l]);

                    }
                }
            for (int l = 0; l < width; l++)
                dot0[l] = first ? dot0[l] + dot0_part[l] : dot0_part[l];
        }
        for (int64_t i1 = i1_start; i1 < i1_stop; i1++) {
            y0[i0 * a5 + i1] = gc_max_float((dot0[i1 - i1_start] + x2[i1]), 0.0f);

        }

    }
    return 0;
}
