int64_t contract_attention_1fac8dce(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
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
    const int64_t a7 = arg[7];
    const int64_t a8 = arg[8];
    const int64_t a9 = arg[9];
    const int64_t a10 = arg[10];
    const int64_t a11 = arg[11];
    const int64_t a12 = arg[12];
    const int64_t a13 = arg[13];
    const int64_t a14 = arg[14];
    const int64_t a15 = arg[15];
    const int64_t a16 = arg[16];
    const int64_t a17 = arg[17];
    const float p0 = gc_bits_float((uint32_t)arg[18]);
    const float p1 = gc_bits_float((uint32_t)arg[19]);
    const float p2 = gc_bits_float((uint32_t)arg[20]);
    const int64_t stop = MIN(end * 1, a1 * a0);
    int64_t at = begin * 1;
    int64_t mb = at % a0;
    int64_t b = at / a0;
    for (; at < stop; at++) {
        /* attention0[m, e] = sum over n of softmax(score)[m, n] * v[n, e] */
        {
            const int64_t m_first = mb * a6, m_last = MIN(mb * a6 + a6, a5);
            const int64_t keys = a2, depth = a3, width = a4;
            float *restrict all_lanes = (float *)((char *)scratch + 0);
            float *restrict all_sums = (float *)((char *)scratch + a13);
            float *restrict score = (float *)((char *)scratch + a15);
            float *restrict kept = (float *)((char *)scratch + a14);
            const float *k_row[64], *v_row[64];
            float all_top[96], all_total[96];
            float most[3 * GC_LANES], factor[3 * GC_LANES] __attribute__((aligned(64)));
            /* a query m sees the keys n <= m + diagonal */
            const int64_t diagonal = 0, n_last = MIN(keys, MAX(m_last + diagonal, 0));
            const int64_t columns = width;
            /* groups of three vectors are faster, those of one vector waste fewer lanes */
            const int64_t ones = (m_last - m_first + GC_LANES - 1) / GC_LANES, threes = (ones + 2) / 3;
            const int few = m_last - m_first <= GC_FEW, vectors = ones * 8 < threes * 21 ? 1 : 3;
            const int64_t group = few ? GC_FEW : vectors * GC_LANES;
            const int64_t across = few ? columns : 1, along = few ? 1 : group;      /* steps to the next query and column */
            for (int64_t m_from = m_first; m_from < m_last; m_from += group) {
                const int64_t m_to = MIN(m_from + group, m_last);
                float *restrict lanes = all_lanes + (m_from - m_first) * depth;
                float *restrict sums = all_sums + (m_from - m_first) * columns;
                float *restrict top = all_top + m_from - m_first, *restrict total = all_total + m_from - m_first;
                for (int64_t l = 0; l < group; l++) top[l] = -__builtin_inff(), total[l] = 0;
                for (int64_t i = 0; i < columns * group; i++) sums[i] = 0;
                for (int64_t i = 0; m_to - m_from < group && i < depth * group; i++) lanes[i] = 0;
                for (int64_t m = m_from; m < m_to; m++) {
                    for (int64_t c = 0; c < depth; c++) {
                        lanes[c * group + m - m_from] = x0[b * a7 + c + m * a8];
                    }
                }
            }
            for (int64_t n_from = 0; n_from < n_last; n_from += 64) {
                const int64_t n_to = MIN(n_from + 64, few ? n_last : keys);
                {
                    for (int64_t n = n_from; n < n_to; n++) {
                        k_row[n - n_from] = x1 + b * a9 + n * a10;
                    }
                }
                {
                    for (int64_t n = n_from; n < n_to; n++) {
                        v_row[n - n_from] = x2 + b * a11 + n * a12;
                    }
                }
                /* from a row to the one a block later, where there is one: there are so many rows */
                const int64_t later = n_last - n_to;
                const int64_t block = few && later > 0 && n_to - n_from > 1 ? n_to - n_from : 0;
                const int64_t next = block ? (k_row[1] - k_row[0]) * block : 0;
                if (few && !n_from) gc_few_ask(k_row, n_to, depth);
                for (int64_t m_from = m_first; m_from < m_last; m_from += group) {
                    const int64_t m_to = MIN(m_from + group, m_last);
                    float *restrict lanes = all_lanes + (m_from - m_first) * depth;
                    float *restrict sums = all_sums + (m_from - m_first) * columns;
                    float *restrict top = all_top + m_from - m_first, *restrict total = all_total + m_from - m_first;
                    const int64_t unseen = MIN(MAX(n_from - diagonal - m_from, 0), group);      /* queries before this block */
                    if (unseen >= m_to - m_from) continue;
                    if (unseen) __builtin_memcpy(kept, sums, sizeof *sums * (few ? columns : width) * group);
                    if (few) {
                        gc_few_scores(lanes, k_row, v_row, n_to - n_from, depth, score);
                        for (int64_t n = n_from; n < n_to; n++) {
                            #pragma omp simd
                            for (int64_t l = 0; l < GC_FEW; l++) {
                                const int64_t m = m_from + l;
                                score[(n - n_from) * GC_FEW + l] = ((n) <= (m)) ? (score[(n - n_from) * GC_FEW + l] * p2) : (-__builtin_inff());
                            }
                        }
                        gc_few_weights(score, n_to - n_from, unseen, top, total, factor);
                        gc_few_weighted(score, v_row, n_to - n_from, width, k_row, next, later, factor, sums, columns);
                    } else {
                        gc_scores(vectors, lanes, k_row, n_to - n_from, depth, score);
                        for (int64_t l = 0; l < group; l++) most[l] = top[l];
                        if (m_to - m_from == 3 * GC_LANES && n_to - 1 <= m_from + diagonal) {
                            for (int64_t n = n_from; n < n_to; n++) {
                                #pragma omp simd
                                for (int64_t l = 0; l < 3 * GC_LANES; l++) {
                                    const int64_t m = m_from + l;
                                    score[(n - n_from) * 3 * GC_LANES + l] = score[(n - n_from) * 3 * GC_LANES + l] * p0;
                                    most[l] = score[(n - n_from) * 3 * GC_LANES + l] > most[l] ? score[(n - n_from) * 3 * GC_LANES + l] : most[l];
                                }
                            }
                        } else {
                            for (int64_t n = n_from; n < n_to; n++) {
                                #pragma omp simd
                                for (int64_t l = 0; l < group; l++) {
                                    const int64_t m = m_from + l;
                                    score[(n - n_from) * group + l] = ((n) <= (m)) ? (score[(n - n_from) * group + l] * p1) : (-__builtin_inff());
                                    most[l] = score[(n - n_from) * group + l] > most[l] ? score[(n - n_from) * group + l] : most[l];
                                }
                            }
                        }
                        gc_weights(vectors, score, n_to - n_from, unseen, most, top, total, factor);
                        gc_weighted(vectors, score, v_row, n_to - n_from, width, factor, sums);
                    }
                    for (int64_t e = 0; unseen && e < width; e++)
                        for (int64_t l = 0; l < unseen; l++) sums[e * along + l * across] = kept[e * along + l * across];
                }
            }
            for (int64_t m_from = m_first; m_from < m_last; m_from += group) {
                const int64_t m_to = MIN(m_from + group, m_last);
                float *restrict lanes = all_lanes + (m_from - m_first) * depth;
                float *restrict sums = all_sums + (m_from - m_first) * columns;
                float *restrict top = all_top + m_from - m_first, *restrict total = all_total + m_from - m_first;
                for (int64_t l = 0; few && l < m_to - m_from; l++)
                    for (int64_t e = 0; e < width; e++) sums[l * columns + e] /= total[l];
                for (int64_t e = 0; !few && e < width; e++)
                    for (int64_t l = 0; l < group; l++) sums[e * group + l] /= total[l];
                const float *restrict attention0 = sums;
                for (int64_t m = m_from; m < m_to; m++) {
                    for (int64_t e = 0; e < width; e++) {
                        y0[b * a16 + e + m * a17] = attention0[e * along + (m - m_from) * across];
                    }
                }
            }
        }
        mb += 1;
        if (mb == a0)
            mb = 0, b++;
    }
    return 0;
}
