typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
/* x // 0 = 0, and the least integer // -1 is itself */
static inline int16_t gc_floordiv_int16_t(int16_t a, int16_t b)
{
    return (int16_t)((int32_t)__builtin_floorf((float)(int32_t)a / (float)(int32_t)(b + (b == 0))) & -(b != 0));
}
static inline int16_t gc_remainder_int16_t(int16_t a, int16_t b)
{
    const int16_t q = (int16_t)((int32_t)__builtin_floorf((float)(int32_t)a / (float)(int32_t)(b + (b == 0))) & -(b != 0));
    return (int16_t)((1u * (uint16_t)a - 1u * (uint16_t)q * (uint16_t)b) & -(b != 0));
}

int64_t map_remainder_94ee895c(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const int16_t *restrict x0 = buf[0];
    const int16_t *restrict x1 = buf[1];
    int16_t *restrict y0 = buf[2];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const int16_t p0 = (int16_t)arg[2];
    const int64_t stop = MIN(end * a1, a0);
    int64_t at = begin * a1;
    int64_t i_start = at;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, a0 - i_start);
        const int64_t i_stop = i_start + width;
        for (int64_t i = i_start; i < i_stop; i++) {
            y0[i] = gc_remainder_int16_t(gc_floordiv_int16_t(x0[i], x1[i]), p0);
        }
        i_start += width;
    }
    return 0;
}
