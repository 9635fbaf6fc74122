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
static inline float gc_sqrt_float(float x) { return __builtin_sqrtf(x); }
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
static inline float gc_bits_float(uint32_t word) { float x; __builtin_memcpy(&x, &word, sizeof x); return x; }
static inline uint32_t gc_bitcast_uint32_t_float(float word)
{
    uint32_t x; __builtin_memcpy(&x, &word, sizeof x); return x;
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
/* |x| < 1: x + x P(x**2); beyond: 1 - P(|x| - 2.5)**8 */
GC_UNKNOWN(float, gc_erf_float_top, 1.5f)     /* of |x| - 2.5: erf(4) rounds to 1 */
static inline float gc_erf_float(float x)
{
    const float a = __builtin_fabsf(x), s = a * a;
    const float top = gc_erf_float_top, beyond = a - 2.5f, t = top < beyond ? top : beyond;     /* NaN passes */
    float p = 7.80690316e-5f;
    p = gc_mad_float(p, s, -7.9978531e-4f);
    p = gc_mad_float(p, s, 5.1871622e-3f);
    p = gc_mad_float(p, s, -0.0268533472f);
    p = gc_mad_float(p, s, 0.112835787f);
    p = gc_mad_float(p, s, -0.37612626f);
    p = gc_mad_float(p, s, 0.128379166f);
    float root = 1.46480315e-5f;
    root = gc_mad_float(root, t, 2.2937989e-4f);
    root = gc_mad_float(root, t, -5.80492269e-5f);
    root = gc_mad_float(root, t, -3.74577288e-3f);
    root = gc_mad_float(root, t, 0.0104017155f);
    root = gc_mad_float(root, t, 0.0398823693f);
    root = gc_mad_float(root, t, -0.252159268f);
    root = gc_mad_float(root, t, 0.376871407f);
    const float square = root * root, fourth = square * square;
    const float z = a < 1 ? gc_mad_float(p, a, a) : gc_mad_float(-fourth, fourth, 1);
    return __builtin_copysignf(z, x);
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

/* a whole strip at a time */
static __attribute__((noinline)) void gc_erf_float_64(float *restrict y, const float *restrict x)
{
    for (int l = 0; l < 64; l++)
        y[l] = gc_erf_float(x[l]);
}

int64_t map_sub_efbe1dc5(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    const float *restrict x1 = buf[1];
    const float *restrict x2 = buf[2];
    float *restrict y0 = buf[3];
    const int64_t a0 = arg[0];
    const int64_t a1 = arg[1];
    const float p0 = gc_bits_float((uint32_t)arg[2]);
    const float p1 = gc_bits_float((uint32_t)arg[3]);
    const float p2 = gc_bits_float((uint32_t)arg[4]);
    const float p3 = gc_bits_float((uint32_t)arg[5]);
    const float p4 = gc_bits_float((uint32_t)arg[6]);
    const float p5 = gc_bits_float((uint32_t)arg[7]);
    const float p6 = gc_bits_float((uint32_t)arg[8]);
    const float p7 = gc_bits_float((uint32_t)arg[9]);
    const float p8 = gc_bits_float((uint32_t)arg[10]);
    const float p9 = gc_bits_float((uint32_t)arg[11]);
    const float p10 = gc_bits_float((uint32_t)arg[12]);
    const float p11 = gc_bits_float((uint32_t)arg[13]);
    const float p12 = gc_bits_float((uint32_t)arg[14]);
    const float p13 = gc_bits_float((uint32_t)arg[15]);
    const int64_t stop = MIN(end * a1, a0);
    int64_t at = begin * a1;
    int64_t i_start = at;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, a0 - i_start);
        const int64_t i_stop = i_start + width;
        {
            int64_t i_at = i_start;
            for (; i_at + 64 <= i_stop; i_at += 64) {
                float t0[64];
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    t0[l] = x0[i];
                }
                float t1[64];
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    t1[l] = x1[i];
                }
                float t2[64];
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    t2[l] = x2[i];
                }
                float t3[64];
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    t3[l] = p0 * gc_sqrt_float(t2[l]);
                }
                float f4[64];
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    f4[l] = gc_log_float(t0[l] / t1[l]);
                }
                float t4[64];
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    t4[l] = (f4[l] + (p1 * t2[l])) / t3[l];
                }
                float f6[64];
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    f6[l] = t4[l] * p2;
                }
                float f7[64];
                gc_erf_float_64(f7, f6);
                float t5[64];
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    t5[l] = t0[l] * (p3 * (1.0f + f7[l]));
                }
                float f9[64];
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    f9[l] = gc_exp_float(p4 * t2[l]);
                }
                float f10[64];
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    f10[l] = (t4[l] - t3[l]) * p5;
                }
                float f11[64];
                gc_erf_float_64(f11, f10);
                float t6[64];
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    t6[l] = (t1[l] * f9[l]) * (p6 * (1.0f + f11[l]));
                }
                for (int l = 0; l < 64; l++) {
                    const int64_t i = i_at + l;
                    y0[i] = t5[l] - t6[l];
                }
            }
            for (int64_t i = i_at; i < i_stop; i++) {
                const float t0 = x0[i];
                const float t1 = x1[i];
                const float t2 = x2[i];
                const float t3 = p7 * gc_sqrt_float(t2);
                const float t4 = (gc_log_float(t0 / t1) + (p8 * t2)) / t3;
                const float t5 = t0 * (p9 * (1.0f + gc_erf_float(t4 * p10)));
                const float t6 = (t1 * gc_exp_float(p11 * t2)) * (p12 * (1.0f + gc_erf_float((t4 - t3) * p13)));
                y0[i] = t5 - t6;
            }
        }
        i_start += width;
    }
    return 0;
}
