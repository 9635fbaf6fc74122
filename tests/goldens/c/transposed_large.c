typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#if defined(__AVX512F__)
#define GC_VECTOR 64
#elif defined(__AVX__)
#define GC_VECTOR 32
#else
#define GC_VECTOR 16
#endif
#define GC_LANES (int64_t)(GC_VECTOR / sizeof(float))
#define GC_PAIR (2 * GC_LANES)
#define GC_ABREAST (GC_VECTOR == 64 ? 4 : 2)       /* vectors of a panel of b */
#define GC_PANEL (GC_ABREAST * GC_LANES)
#define GC_ROWS 6
enum { GC_TURNS = GC_VECTOR == 64 ? 3 : 8 };    /* k in each turn of a loop */
typedef float gc_vector __attribute__((vector_size(GC_VECTOR)));
typedef float gc_loose __attribute__((vector_size(GC_VECTOR), aligned(sizeof(float))));
#define GC_PART MIN(GC_LANES, 8)        /* what is copied into panels of a, as it may overlap the next k alone */
typedef float gc_part __attribute__((vector_size(MIN(GC_VECTOR, 8 * sizeof(float))), aligned(sizeof(float))));
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
#define GC_SHUFFLE(p, q, ...) __builtin_shufflevector(p, q, __VA_ARGS__)
#define GC_JOINED(p, q) __builtin_shufflevector(p, q, 0, 1, 2, 3, 4, 5, 6, 7)
#define GC_LOWER(p) __builtin_shufflevector(p, p, 0, 1, 2, 3, 4, 5, 6, 7)
#define GC_UPPER(p) __builtin_shufflevector(p, p, 8, 9, 10, 11, 12, 13, 14, 15)
#else
typedef int32_t gc_places __attribute__((vector_size(GC_VECTOR)));
#define GC_JOINED(p, q) (gc_vector){p[0], p[1], p[2], p[3], q[0], q[1], q[2], q[3]}
#define GC_LOWER(p) (gc_part){p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]}
#define GC_UPPER(p) (gc_part){p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]}
#define GC_SHUFFLE(p, q, ...) __builtin_shuffle(p, q, (gc_places){__VA_ARGS__})
#endif
/* rows of a square of vectors become its columns; of `rows` vectors, those of as many squares side by side. In a whole
   one only quarters of the widest vectors cross, by places that the instruction holds. */
static inline __attribute__((always_inline)) void gc_square(gc_vector *x, const int rows)
{
#if GC_VECTOR == 64
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (1 < rows && !(r & 1)) {
            const gc_vector p = x[r], q = x[r + 1];
            x[r] = GC_SHUFFLE(p, q, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
            x[r + 1] = GC_SHUFFLE(p, q, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (2 < rows && !(r & 2)) {
            const gc_vector p = x[r], q = x[r + 2];
            x[r] = GC_SHUFFLE(p, q, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
            x[r + 2] = GC_SHUFFLE(p, q, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (4 < rows && !(r & 4)) {
            const gc_vector p = x[r], q = x[r + 4];
            x[r] = rows == 16 ? GC_SHUFFLE(p, q, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
                : GC_SHUFFLE(p, q, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
            x[r + 4] = rows == 16 ? GC_SHUFFLE(p, q, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
                : GC_SHUFFLE(p, q, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (8 < rows && !(r & 8)) {
            const gc_vector p = x[r], q = x[r + 8];
            x[r] = rows == 16 ? GC_SHUFFLE(p, q, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
                : GC_SHUFFLE(p, q, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
            x[r + 8] = rows == 16 ? GC_SHUFFLE(p, q, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
                : GC_SHUFFLE(p, q, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        }
#elif GC_VECTOR == 32
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (1 < rows && !(r & 1)) {
            const gc_vector p = x[r], q = x[r + 1];
            x[r] = GC_SHUFFLE(p, q, 0, 8, 1, 9, 4, 12, 5, 13);
            x[r + 1] = GC_SHUFFLE(p, q, 2, 10, 3, 11, 6, 14, 7, 15);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (2 < rows && !(r & 2)) {
            const gc_vector p = x[r], q = x[r + 2];
            x[r] = GC_SHUFFLE(p, q, 0, 1, 8, 9, 4, 5, 12, 13);
            x[r + 2] = GC_SHUFFLE(p, q, 2, 3, 10, 11, 6, 7, 14, 15);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (4 < rows && !(r & 4)) {
            const gc_vector p = x[r], q = x[r + 4];
            x[r] = GC_SHUFFLE(p, q, 0, 1, 2, 3, 8, 9, 10, 11);
            x[r + 4] = GC_SHUFFLE(p, q, 4, 5, 6, 7, 12, 13, 14, 15);
        }
#elif GC_VECTOR == 16
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (1 < rows && !(r & 1)) {
            const gc_vector p = x[r], q = x[r + 1];
            x[r] = GC_SHUFFLE(p, q, 0, 4, 1, 5);
            x[r + 1] = GC_SHUFFLE(p, q, 2, 6, 3, 7);
        }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
        if (2 < rows && !(r & 2)) {
            const gc_vector p = x[r], q = x[r + 2];
            x[r] = GC_SHUFFLE(p, q, 0, 1, 4, 5);
            x[r + 2] = GC_SHUFFLE(p, q, 2, 3, 6, 7);
        }
#endif
#pragma GCC unroll 16
    for (int r = 0; r < rows; r += 4) {
        const gc_vector second = x[r + 2];
        x[r + 2] = x[r + 1];
        x[r + 1] = second;
    }
}
static inline void gc_turn(const float *restrict in, int64_t in_stride, int64_t rows, int64_t columns,
    float *restrict out, int64_t out_stride)
{
    for (int64_t i = 0; i < rows; i += GC_LANES)
        for (int64_t j = 0; j < columns; j += GC_LANES) {
            gc_vector x[GC_LANES];
#pragma GCC unroll 16
            for (int r = 0; r < GC_LANES; r++) x[r] = *(const gc_loose *)(in + (i + r) * in_stride + j);
            gc_square(x, GC_LANES);
#pragma GCC unroll 16
            for (int r = 0; r < GC_LANES; r++) *(gc_loose *)(out + (j + r) * out_stride + i) = x[r];
        }
}
static inline void gc_turn_any(const float *restrict in, int64_t in_stride, int64_t rows, int64_t columns,
    float *restrict out, int64_t out_stride)
{
    const int64_t whole_rows = rows / GC_LANES * GC_LANES, whole = columns / GC_LANES * GC_LANES;
    gc_turn(in, in_stride, whole_rows, whole, out, out_stride);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i < whole_rows ? whole : 0; j < columns; j++)
            out[j * out_stride + i] = in[i * in_stride + j];
}

int64_t map_add_74d8679a(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
    const int64_t stop = MIN(end * a14, a1 * a0);
    int64_t at = begin * a14;
    int64_t i1_start = at % a0;
    int64_t i0b = at / a0;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, a0 - i1_start);
        width = MIN(width, 64);
        const int64_t i1_stop = i1_start + width;
        float *restrict turned0 = (float *)((char *)scratch + 0);
        gc_turn_any((const float *)&x0[i0b * a6 + i1_start * a7], a8, i1_stop - i1_start, MIN(a2, i0b * a3 + a4),
                    (float *)turned0, a5);
        for (int64_t i0r = 0; i0r < MIN(a2, i0b * a9 + a10); i0r++) {
            if (i0r < i1_stop - i1_start)     /* a row of the next square, which lies in a page of its own */
                for (int64_t i = 0; i < MIN(a2, i0b * a3 + a4); i += 16)
                    __builtin_prefetch((const float *)&x0[i0b * a6 + i1_start * a7] + (64 + i0r) * a8 + i, 0, 2);
            #pragma GCC ivdep
            for (int64_t i1 = i1_start; i1 < i1_stop; i1++) {
                y0[i0b * a11 + i0r * a12 + i1] = turned0[i0r * a13 + i1 - i1_start] + 1.0f;
            }
        }
        i1_start += width;
        if (i1_start == a0)
            i1_start = 0, i0b++;
    }
    return 0;
}
