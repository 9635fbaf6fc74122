typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static inline float gc_sqrt_float(float x) { return __builtin_sqrtf(x); }
static inline float gc_bits_float(uint32_t word) { float x; __builtin_memcpy(&x, &word, sizeof x); return x; }

int64_t map_add_sub_10bd5c8f(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    const float *restrict x1 = buf[1];
    const float *restrict x2 = buf[2];
    const float *restrict x3 = buf[3];
    float *restrict y0 = buf[4];
    float *restrict y1 = buf[5];
    float *restrict y2 = buf[6];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const float p0 = gc_bits_float((uint32_t)arg[2]);
    const float p1 = gc_bits_float((uint32_t)arg[3]);
    const float p2 = gc_bits_float((uint32_t)arg[4]);
    const float p3 = gc_bits_float((uint32_t)arg[5]);
    const float p4 = gc_bits_float((uint32_t)arg[6]);
    const float p5 = gc_bits_float((uint32_t)arg[7]);
    const int64_t stop = MIN(end * a1, a0);
    int64_t at = begin * a1;
    int64_t i_start = at;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, a0 - i_start);
        const int64_t i_stop = i_start + width;
        #pragma GCC ivdep
        for (int64_t i = i_start; i < i_stop; i++) {
            const float t0 = x1[i];
            const float t1 = (p0 * x0[i]) + (p1 * t0);
            y0[i] = t1;
            const float t2 = (p2 * x2[i]) + ((p3 * t0) * t0);
            y1[i] = t2;
            y2[i] = x3[i] - ((p4 * t1) / (gc_sqrt_float(t2) + p5));
        }
        i_start += width;
    }
    return 0;
}
