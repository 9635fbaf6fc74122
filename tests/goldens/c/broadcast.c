typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

int64_t map_add_830f2ac3(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
    const int64_t stop = MIN(end * a6, a1 * a2 * a0);
    int64_t at = begin * a6;
    int64_t i2_start = at % a0;
    int64_t i1 = at / a0 % a2;
    int64_t i0 = at / a0 / a2;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, a0 - i2_start);
        const int64_t i2_stop = i2_start + width;
        const float t0 = x1[i1];
        for (int64_t from = i2_start; from < i2_stop; from += 16) {
            const int64_t i2_at = MIN(from, i2_stop - 16);
            _Pragma("omp simd")
            for (int l = 0; l < 16; l++) {
                const int64_t i2 = i2_at + l;
                y0[i0 * a3 + i1 * a4 + i2] = (x0[i0 * a5 + i2] * t0) + x2[i2];
            }
        }
        i2_start += width;
        if (i2_start == a0)
            i2_start = 0, i1++;
        if (i1 == a2)
            i1 = 0, i0++;
    }
    return 0;
}
