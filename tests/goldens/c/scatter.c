typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

int64_t scatter_bdc9e66d(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const int64_t *restrict x0 = buf[0];
    const float *restrict x1 = buf[1];
    float *restrict y0 = buf[2];
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
        const int64_t i_stop = i_start + width;
        for (int64_t j = 0; j < a1; j++) {
            const int64_t t0 = x0[j];
            for (int64_t i = i_start; i < i_stop; i++) {
                y0[i + (int64_t)t0 * a2] = y0[i + (int64_t)t0 * a2] + x1[i + j * a3];
            }
        }
        i_start += width;
    }
    return 0;
}
