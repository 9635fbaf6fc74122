typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

int64_t map_mul_535d064f(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    float *restrict y0 = buf[1];
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
    const int64_t stop = MIN(end * a14, a1 * a2 * a3 * a0);
    int64_t at = begin * a14;
    int64_t i3_start = at % a0;
    int64_t i2 = at / a0 % a3;
    int64_t i1 = at / a0 / a3 % a2;
    int64_t i0 = at / a0 / a3 / a2;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, a0 - i3_start);
        const int64_t i3_stop = i3_start + width;
        for (int64_t l = i3_start; l < i3_stop; l += 16) {
            __builtin_prefetch(&x0[i0 * a10 + i1 * a11 + i2 * a12 + l + a13]);
        }
        for (int64_t from = i3_start; from < i3_stop; from += 16) {
            const int64_t i3_at = MIN(from, i3_stop - 16);
            _Pragma("omp simd")
            for (int l = 0; l < 16; l++) {
                const int64_t i3 = i3_at + l;
                y0[i0 * a4 + i1 * a5 + i2 * a6 + i3] = x0[i0 * a7 + i1 * a8 + i2 * a9 + i3] * 2.0f;
            }
        }
        i3_start += width;
        if (i3_start == a0)
            i3_start = 0, i2++;
        if (i2 == a3)
            i2 = 0, i1++;
        if (i1 == a2)
            i1 = 0, i0++;
    }
    return 0;
}
