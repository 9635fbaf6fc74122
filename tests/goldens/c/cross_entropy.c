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
#define GC_WEAK __attribute__((weak, visibility("hidden")))
#if __ELF__ && !__clang__
#define GC_UNKNOWN(T,x,n) GC_WEAK T x##_ = n; extern const T x GC_WEAK __attribute__((alias(#x "_")));
#else
#define GC_UNKNOWN(T,x,n) static const T x = n;
#endif
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
/* a * b + c, in one rounding where the machine has an instruction for that */
static inline float gc_mad_float(float a, float b, float c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}
/* x = m 2 ln 2 + r, |r| <= ln 2; exp(x) = exp(r) 2**m 2**m, so that only the last product overflows or underflows */
GC_UNKNOWN(float, gc_exp_float_low, -176)
GC_UNKNOWN(float, gc_exp_float_top, 89)
static inline float gc_exp_float(float x)
{
    const float half_log2e = 0.72134752f, two_ln2_high = 1.3862915f, two_ln2_low = 2.85721353e-6f;
    const float round = 0x1.8p23f + 127;    /* adding it rounds to an integer and leaves m + 127 in the low bits */
    const float low = gc_exp_float_low, top = gc_exp_float_top;
    const float above = low > x ? low : x, y = top < above ? top : above;   /* NaN passes */
    const float t = gc_mad_float(y, half_log2e, round), m = t - round;
    const float r = gc_mad_float(m, -two_ln2_low, gc_mad_float(m, -two_ln2_high, y));
    float p = 1.77254115e-4f;
    p = gc_mad_float(p, r, 1.41115219e-3f);
    p = gc_mad_float(p, r, 8.35428108e-3f);
    p = gc_mad_float(p, r, 0.0416610055f);
    p = gc_mad_float(p, r, 0.166661114f);
    p = gc_mad_float(p, r, 0.500000358f);
    p = gc_mad_float(p, r, 1.00000036f);
    p = gc_mad_float(p, r, 1.0f);
    const float scale = gc_bits_float(gc_bitcast_uint32_t_float(t) << 23);      /* 2**m */
    return p * scale * scale;
}
/* One outside 0..n-1 sets a bit of *bad and becomes 0. */
static inline int64_t gc_check_unsigned(uint64_t i, int64_t n, int number, uint64_t *bad)
{
    const uint64_t at = i;
    const uint64_t outside = (uint64_t)at >= (uint64_t)n;
    *bad |= outside << number;
    return outside ? 0 : at;
}
#ifdef GC_LIBMVEC
GC_WIDE(float) GC_ROUTINE_float(v, logf)(GC_WIDE(float));
static inline GC_WIDE(float) gc_all_log_float(GC_WIDE(float) x)
{
    const GC_WIDE(float) huge = (GC_WIDE(float)){0} + __builtin_inff();
    const __typeof__(x == x) above = x > 0, usual = above & (x < huge);
    if (GC_ALL(usual)) return GC_ROUTINE_float(v, logf)(x);
    const GC_WIDE(float) other = GC_EITHER(above, x, GC_EITHER(x == 0, -huge, (GC_WIDE(float)){0} + __builtin_nanf("")));
    return GC_EITHER(usual, GC_ROUTINE_float(v, logf)(GC_EITHER(usual, x, (GC_WIDE(float)){0} + 1)), other);
}

GC_HIDDEN __attribute__((simd("notinbranch"), const)) float gc_log_float(float);
GC_CLONES(float, v, 4, 8, 16, gc_log_float, gc_all_log_float)
GC_HIDDEN float gc_one_log_float(float) __asm__("gc_log_float");
GC_CLONE_v(gc_one_log_float, float, GC_WIDE(float), gc_all_log_float)
#else
float logf(float);
#define gc_log_float logf
#endif
/* combine lane l with lane l + half, until one is left */
#define FOLD_BY(n, step, then) { enum { half = n }; _Pragma("omp simd") for (int l = 0; l < half; l++) step; then; }
#define FOLD(step, then) FOLD_BY(32, step, then) FOLD_BY(16, step, then) FOLD_BY(8, step, then) FOLD_BY(4, step, then) FOLD_BY(2, step, then) FOLD_BY(1, step, then)
/* the rest of a row, fewer elements than lanes, in vectors too */
#define VECTOR _Pragma("omp simd") for (int v = 0; v < 16; v++)
#define REST(n) _Pragma("GCC unroll 1") for (int from = 0, rest = n; from < rest; from += 16) VECTOR

int64_t row_max_sum_92ad1a7e(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    const int64_t *restrict x1 = buf[1];
    float *restrict y0 = buf[2];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const int64_t a2 = arg[2];
    const int64_t a3 = arg[3];
    const int64_t a4 = arg[4];
    const int64_t a5 = arg[5];
    const int64_t a6 = arg[6];
    const int64_t a7 = arg[7];
    const int64_t a8 = arg[8];
    uint64_t bad = 0;    /* one bit for each bounds check */
    const int64_t stop = MIN(end * a8, a0);
    int64_t at = begin * a8;
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
        float sum1 = -0.0f;
        {
            const int64_t length = a1;
            float sum1_level[32];
            for (int64_t block = 0; block * 1024 < length; block++) {
                const int64_t first = block * 1024, count = MIN(length - first, 1024);
                float sum1_lane[64];
                for (int l = 0; l < 64; l++) sum1_lane[l] = -0.0f;
                int64_t base = first;
                for (; base + 64 <= first + count; base += 64) {
                    for (int l = 0; l < 64; l += 16)
                        __builtin_prefetch(&x0[base + l + i * a3 + a4]);
                    for (int l = 0; l < 64; l++) {
                        const int64_t j = base + l;
                        const float t1 = x0[i * a2 + j];
                        const float t2 = t1 - max0;
                        sum1_lane[l] = sum1_lane[l] + gc_exp_float(t2);
                    }
                }
                REST(first + count - base) {
                    const int l = from + v;
                    float sum1_one = -0.0f;
                    if (v < rest - from) {
                        const int64_t j = base + l;
                        const float t1 = x0[i * a2 + j];
                        const float t2 = t1 - max0;
                        sum1_one = gc_exp_float(t2);
                    }
                    sum1_lane[l] = sum1_lane[l] + sum1_one;
                }
                FOLD(sum1_lane[l] = sum1_lane[l] + sum1_lane[l + half], )
                float sum1_part = sum1_lane[0];
                int level = 0;
                for (int64_t b = block; b & 1; b >>= 1, level++) {
                    sum1_part = sum1_level[level] + sum1_part;
                }
                sum1_level[level] = sum1_part;
            }
            const int64_t blocks = (length + 1023) / 1024;
            int64_t merged = 0;
            for (int level = 0; blocks >> level; level++)
                if (blocks >> level & 1) {
                    const int64_t full = (int64_t)1024 << level;
                    if (merged) {
                        sum1 = sum1_level[level] + sum1;
                        merged += full;
                    } else {
                        sum1 = sum1_level[level];
                        merged = length - ((blocks - 1) >> level << level) * 1024;
                    }
                }
        }
        const int64_t t3 = gc_check_unsigned(x1[i], a5, 0, &bad);
        const float t6 = gc_log_float(sum1);
        float sum2 = -0.0f;
        {
            const int64_t length = a1;
            float sum2_level[32];
            for (int64_t block = 0; block * 1024 < length; block++) {
                const int64_t first = block * 1024, count = MIN(length - first, 1024);
                float sum2_lane[64];
                for (int l = 0; l < 64; l++) sum2_lane[l] = -0.0f;
                int64_t base = first;
                for (; base + 64 <= first + count; base += 64) {
                    for (int l = 0; l < 64; l += 16)
                        __builtin_prefetch(&x0[base + l + i * a6 + a7]);
                    for (int l = 0; l < 64; l++) {
                        const int64_t j = base + l;
                        const float t4 = x0[i * a2 + j];
                        const float t5 = t4 - max0;
                        sum2_lane[l] = sum2_lane[l] + ((t3 == (j)) ? (t5 - t6) : 0.0f);
                    }
                }
                REST(first + count - base) {
                    const int l = from + v;
                    float sum2_one = -0.0f;
                    if (v < rest - from) {
                        const int64_t j = base + l;
                        const float t4 = x0[i * a2 + j];
                        const float t5 = t4 - max0;
                        sum2_one = (t3 == (j)) ? (t5 - t6) : 0.0f;
                    }
                    sum2_lane[l] = sum2_lane[l] + sum2_one;
                }
                FOLD(sum2_lane[l] = sum2_lane[l] + sum2_lane[l + half], )
                float sum2_part = sum2_lane[0];
                int level = 0;
                for (int64_t b = block; b & 1; b >>= 1, level++) {
                    sum2_part = sum2_level[level] + sum2_part;
                }
                sum2_level[level] = sum2_part;
            }
            const int64_t blocks = (length + 1023) / 1024;
            int64_t merged = 0;
            for (int level = 0; blocks >> level; level++)
                if (blocks >> level & 1) {
                    const int64_t full = (int64_t)1024 << level;
                    if (merged) {
                        sum2 = sum2_level[level] + sum2;
                        merged += full;
                    } else {
                        sum2 = sum2_level[level];
                        merged = length - ((blocks - 1) >> level << level) * 1024;
                    }
                }
        }
        y0[i] = sum2;
        i += 1;
    }
    return bad ? 1 + __builtin_ctzll(bad) : 0;
}

typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static inline float gc_bits_float(uint32_t word) { float x; __builtin_memcpy(&x, &word, sizeof x); return x; }
/* combine lane l with lane l + half, until one is left */
#define FOLD_BY(n, step, then) { enum { half = n }; _Pragma("omp simd") for (int l = 0; l < half; l++) step; then; }
#define FOLD(step, then) FOLD_BY(32, step, then) FOLD_BY(16, step, then) FOLD_BY(8, step, then) FOLD_BY(4, step, then) FOLD_BY(2, step, then) FOLD_BY(1, step, then)
/* the rest of a row, fewer elements than lanes, in vectors too */
#define VECTOR _Pragma("omp simd") for (int v = 0; v < 16; v++)
#define REST(n) _Pragma("GCC unroll 1") for (int from = 0, rest = n; from < rest; from += 16) VECTOR

int64_t row_sum_div_7d8cdce7(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    float *restrict y0 = buf[1];
    const int64_t a0 = arg[0];
    const float p0 = gc_bits_float((uint32_t)arg[1]);
    if (begin < end) {
        float sum0 = -0.0f;
        {
            const int64_t length = a0;
            float sum0_level[32];
            for (int64_t block = 0; block * 1024 < length; block++) {
                const int64_t first = block * 1024, count = MIN(length - first, 1024);
                float sum0_lane[64];
                for (int l = 0; l < 64; l++) sum0_lane[l] = -0.0f;
                int64_t base = first;
                for (; base + 64 <= first + count; base += 64) {
                    for (int l = 0; l < 64; l++) {
                        const int64_t j = base + l;
                        sum0_lane[l] = sum0_lane[l] + (-x0[j]);
                    }
                }
                REST(first + count - base) {
                    const int l = from + v;
                    float sum0_one = -0.0f;
                    if (v < rest - from) {
                        const int64_t j = base + l;
                        sum0_one = -x0[j];
                    }
                    sum0_lane[l] = sum0_lane[l] + sum0_one;
                }
                FOLD(sum0_lane[l] = sum0_lane[l] + sum0_lane[l + half], )
                float sum0_part = sum0_lane[0];
                int level = 0;
                for (int64_t b = block; b & 1; b >>= 1, level++) {
                    sum0_part = sum0_level[level] + sum0_part;
                }
                sum0_level[level] = sum0_part;
            }
            const int64_t blocks = (length + 1023) / 1024;
            int64_t merged = 0;
            for (int level = 0; blocks >> level; level++)
                if (blocks >> level & 1) {
                    const int64_t full = (int64_t)1024 << level;
                    if (merged) {
                        sum0 = sum0_level[level] + sum0;
                        merged += full;
                    } else {
                        sum0 = sum0_level[level];
                        merged = length - ((blocks - 1) >> level << level) * 1024;
                    }
                }
        }
        y0[0] = sum0 / p0;
    }
    return 0;
}
