typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t;
typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t; typedef __UINT64_TYPE__ uint64_t;
typedef _Complex float cfloat; typedef _Complex double cdouble;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

int64_t map_sum_7f0e71d8(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    const float *restrict x0 = buf[0];
    const float *restrict x1 = buf[1];
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
    const int64_t stop = MIN(end * a8, a1 * a0);
    int64_t at = begin * a8;
    int64_t i1_start = at % a0;
    int64_t i0b = at / a0;
    for (int64_t width; at < stop; at += width) {
        width = MIN(stop - at, a0 - i1_start);
        width = MIN(width, 256);
        const int64_t i1_stop = i1_start + width;
        float *restrict column0 = (float *)((char *)scratch + 0);
        float *restrict column1 = (float *)((char *)scratch + 1024);
        float *restrict column2 = (float *)((char *)scratch + 2048);
        float *restrict column3 = (float *)((char *)scratch + 3072);
        float *restrict column4 = (float *)((char *)scratch + 4096);
        float *restrict column5 = (float *)((char *)scratch + 5120);
        float *restrict column6 = (float *)((char *)scratch + 6144);
        float *restrict column7 = (float *)((char *)scratch + 7168);
        float *restrict column8 = (float *)((char *)scratch + 8192);
        float *restrict column9 = (float *)((char *)scratch + 9216);
        float *restrict column10 = (float *)((char *)scratch + 10240);
        float *restrict column11 = (float *)((char *)scratch + 11264);
        float *restrict column12 = (float *)((char *)scratch + 12288);
        float *restrict column13 = (float *)((char *)scratch + 13312);
        float *restrict column14 = (float *)((char *)scratch + 14336);
        float *restrict column15 = (float *)((char *)scratch + 15360);
        #pragma GCC ivdep
        for (int64_t i1 = i1_start; i1 < i1_stop; i1++) {
            column0[i1 - i1_start] = x1[i1 * 16 + 15];
            column1[i1 - i1_start] = x1[i1 * 16 + 7];
            column2[i1 - i1_start] = x1[i1 * 16 + 11];
            column3[i1 - i1_start] = x1[i1 * 16 + 3];
            column4[i1 - i1_start] = x1[i1 * 16 + 13];
            column5[i1 - i1_start] = x1[i1 * 16 + 5];
            column6[i1 - i1_start] = x1[i1 * 16 + 9];
            column7[i1 - i1_start] = x1[i1 * 16 + 1];
            column8[i1 - i1_start] = x1[i1 * 16 + 14];
            column9[i1 - i1_start] = x1[i1 * 16 + 6];
            column10[i1 - i1_start] = x1[i1 * 16 + 10];
            column11[i1 - i1_start] = x1[i1 * 16 + 2];
            column12[i1 - i1_start] = x1[i1 * 16 + 12];
            column13[i1 - i1_start] = x1[i1 * 16 + 4];
            column14[i1 - i1_start] = x1[i1 * 16 + 8];
            column15[i1 - i1_start] = x1[i1 * 16];
        }
        for (int64_t i0r = 0; i0r < MIN(a2, i0b * a3 + a4); i0r++) {
            const float t0 = x0[i0b * a5 + i0r * 16];
            const float t2 = x0[i0b * a5 + i0r * 16 + 8];
            const float t4 = x0[i0b * a5 + i0r * 16 + 4];
            const float t6 = x0[i0b * a5 + i0r * 16 + 12];
            const float t8 = x0[i0b * a5 + i0r * 16 + 2];
            const float t10 = x0[i0b * a5 + i0r * 16 + 10];
            const float t12 = x0[i0b * a5 + i0r * 16 + 6];
            const float t14 = x0[i0b * a5 + i0r * 16 + 14];
            const float t16 = x0[i0b * a5 + i0r * 16 + 1];
            const float t18 = x0[i0b * a5 + i0r * 16 + 9];
            const float t20 = x0[i0b * a5 + i0r * 16 + 5];
            const float t22 = x0[i0b * a5 + i0r * 16 + 13];
            const float t24 = x0[i0b * a5 + i0r * 16 + 3];
            const float t26 = x0[i0b * a5 + i0r * 16 + 11];
            const float t28 = x0[i0b * a5 + i0r * 16 + 7];
            const float t30 = x0[i0b * a5 + i0r * 16 + 15];
            #pragma GCC ivdep
            for (int64_t i1 = i1_start; i1 < i1_stop; i1++) {
                const float t1 = t0 - column15[i1 - i1_start];
                const float t3 = t2 - column14[i1 - i1_start];
                const float t5 = t4 - column13[i1 - i1_start];
                const float t7 = t6 - column12[i1 - i1_start];
                const float t9 = t8 - column11[i1 - i1_start];
                const float t11 = t10 - column10[i1 - i1_start];
                const float t13 = t12 - column9[i1 - i1_start];
                const float t15 = t14 - column8[i1 - i1_start];
                const float t17 = t16 - column7[i1 - i1_start];
                const float t19 = t18 - column6[i1 - i1_start];
                const float t21 = t20 - column5[i1 - i1_start];
                const float t23 = t22 - column4[i1 - i1_start];
                const float t25 = t24 - column3[i1 - i1_start];
                const float t27 = t26 - column2[i1 - i1_start];
                const float t29 = t28 - column1[i1 - i1_start];
                const float t31 = t30 - column0[i1 - i1_start];
                y0[i0b * a6 + i0r * a7 + i1] = ((((t1 * t1) + (t3 * t3)) + ((t5 * t5) + (t7 * t7))) + (((t9 * t9) + (t11 * t11)) + ((t13 * t13) + (t15 * t15)))) + ((((t17 * t17) + (t19 * t19)) + ((t21 * t21) + (t23 * t23))) + (((t25 * t25) + (t27 * t27)) + ((t29 * t29) + (t31 * t31))));
            }
        }
        i1_start += width;
        if (i1_start == a0)
            i1_start = 0, i0b++;
    }
    return 0;
}
