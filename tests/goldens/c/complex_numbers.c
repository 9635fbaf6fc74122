typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#ifdef GC_LIBMVEC
typedef float gc_float_16 __attribute__((vector_size(16))), gc_float_32 __attribute__((vector_size(32)));
typedef double gc_double_16 __attribute__((vector_size(16))), gc_double_32 __attribute__((vector_size(32)));
#define GC_HIDDEN __attribute__((visibility("hidden")))
#define GC_COPY(to, from) __builtin_memcpy(&to, &from, sizeof to < sizeof from ? sizeof to : sizeof from)
/* the clone `symbol` of a function for vectors of type V, by that for the widest vectors W */
#define GC_CLONE_v(symbol, V, W, wide) GC_HIDDEN V symbol(V x) \
    { W a = (W){0} + 1; GC_COPY(a, x); a = wide(a); V r; GC_COPY(r, a); return r; }
#define GC_CLONE_vv(symbol, V, W, wide) GC_HIDDEN V symbol(V x, V y) \
    { W a = (W){0} + 1, b = a; GC_COPY(a, x); GC_COPY(b, y); a = wide(a, b); V r; GC_COPY(r, a); return r; }
/* whether all lanes hold (0: perhaps); x where they hold, else 0; x where they hold, else y */
#if defined(__AVX512DQ__)
#define GC_ALL(mask) ((unsigned short)__builtin_ia32_cvtd2mask512((gc_lanes_64)(mask)) == 0xffff)
#elif defined(__AVX512F__)
#define GC_ALL(mask) 0
#elif defined(__AVX2__)
#define GC_ALL(mask) (__builtin_ia32_movmskps256((gc_float_32)(mask)) == 255)
#else
#define GC_ALL(mask) (__builtin_ia32_movmskps((gc_float_16)(mask)) == 15)
#endif
#define GC_WHERE(mask, x) ((__typeof__(x))((__typeof__(mask))(x) & (mask)))
#define GC_EITHER(mask, x, y) ((__typeof__(x))((__typeof__(mask))(x) & (mask) | (__typeof__(mask))(y) & ~(mask)))
#if defined(__AVX512F__)
typedef float gc_float_64 __attribute__((vector_size(64)));
typedef double gc_double_64 __attribute__((vector_size(64)));
typedef int gc_lanes_64 __attribute__((vector_size(64)));
#define GC_WIDE(T) gc_##T##_64
#define GC_ROUTINE_float(v, name) _ZGVeN16##v##_##name
#define GC_ROUTINE_double(v, name) _ZGVeN8##v##_##name
#elif defined(__AVX2__)
#define GC_WIDE(T) gc_##T##_32
#define GC_ROUTINE_float(v, name) _ZGVdN8##v##_##name
#define GC_ROUTINE_double(v, name) _ZGVdN4##v##_##name
#else
#define GC_WIDE(T) gc_##T##_16
#define GC_ROUTINE_float(v, name) _ZGVbN4##v##_##name
#define GC_ROUTINE_double(v, name) _ZGVbN2##v##_##name
#endif
#if defined(__AVX512F__)
#define GC_CLONES(T, v, b, c, e, name, routine) GC_CLONE_##v(_ZGVbN##b##v##_##name, gc_##T##_16, GC_WIDE(T), routine) \
    GC_CLONE_##v(_ZGVcN##c##v##_##name, gc_##T##_32, GC_WIDE(T), routine) \
    GC_CLONE_##v(_ZGVdN##c##v##_##name, gc_##T##_32, GC_WIDE(T), routine) \
    GC_CLONE_##v(_ZGVeN##e##v##_##name, gc_##T##_64, GC_WIDE(T), routine)
#elif defined(__AVX2__)
#define GC_CLONES(T, v, b, c, e, name, routine) GC_CLONE_##v(_ZGVbN##b##v##_##name, gc_##T##_16, GC_WIDE(T), routine) \
    GC_CLONE_##v(_ZGVcN##c##v##_##name, gc_##T##_32, GC_WIDE(T), routine) \
    GC_CLONE_##v(_ZGVdN##c##v##_##name, gc_##T##_32, GC_WIDE(T), routine)
#else
#define GC_CLONES(T, v, b, c, e, name, routine) GC_CLONE_##v(_ZGVbN##b##v##_##name, gc_##T##_16, GC_WIDE(T), routine)
#endif
#endif
/* The plain formula, without the recovery of infinities that C has. GCC 12 makes fused multiply-adds of a sum beside a
   difference, -ffp-contract=off or not: those of the products times one, which change no bit. */
__attribute__((weak, visibility("hidden"))) float gc_cmul_cfloat_one = 1;
static inline cfloat gc_cmul_cfloat(cfloat x, cfloat y)
{
    const float a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y, one = gc_cmul_cfloat_one;
    return __builtin_complex((float)(a * c * one - b * d * one), (float)(a * d * one + b * c * one));
}
#ifdef GC_LIBMVEC
GC_WIDE(float) GC_ROUTINE_float(vv, hypotf)(GC_WIDE(float), GC_WIDE(float));
static inline GC_WIDE(float) gc_all_hypot_float(GC_WIDE(float) x, GC_WIDE(float) y)
{
    const GC_WIDE(float) huge = (GC_WIDE(float)){0} + __builtin_inff(), squares = x * x + y * y;
    if (GC_ALL((squares > 0) & (squares < huge))) return GC_ROUTINE_float(vv, hypotf)(x, y);
    const GC_WIDE(float) a = GC_EITHER(x < 0, -x, x), b = GC_EITHER(y < 0, -y, y);
    const __typeof__(x == x) usual = (a + b > 0) & (a < huge) & (b < huge);
    const GC_WIDE(float) other = GC_EITHER((a == huge) | (b == huge), huge, GC_WHERE(~((a == 0) & (b == 0)), a + b));
    return GC_EITHER(usual, GC_ROUTINE_float(vv, hypotf)(GC_EITHER(usual, x, (GC_WIDE(float)){0} + 1), GC_WHERE(usual, y)), other);
}

GC_HIDDEN __attribute__((simd("notinbranch"), const)) float gc_hypot_float(float, float);
GC_CLONES(float, vv, 4, 8, 16, gc_hypot_float, gc_all_hypot_float)
GC_HIDDEN float gc_one_hypot_float(float, float) __asm__("gc_hypot_float");
GC_CLONE_vv(gc_one_hypot_float, float, GC_WIDE(float), gc_all_hypot_float)
#else
float hypotf(float, float);
#define gc_hypot_float hypotf
#endif
static inline float gc_cabs_float(cfloat x) { return gc_hypot_float(__real__ x, __imag__ x); }

int64_t map_abs_4d41c43c(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
