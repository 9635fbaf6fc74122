/* What the machine can do: bytes per second and multiply-adds per second, on a number of threads.
   Each function runs its loop on `threads` threads at once, `repeats` times, and returns the seconds of the best. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
typedef float vec __attribute__((vector_size(WIDTH)));

typedef struct {
    void (*loop)(void *part);
    const float *b, *c;
    float *a;
    int64_t count;                      /* floats of this thread, or iterations */
    int repeats;
    pthread_barrier_t *barrier;
    double *best;                       /* written by thread 0 */
    int number;
    uint64_t sink;
} part;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Eight stretches side by side: the processor asks memory for each of them ahead, and gets more than from one. */
#define STREAMS 8
#define STRETCH (16384 / WIDTH)         /* vectors: 16 KB */
typedef uint64_t words __attribute__((vector_size(WIDTH), aligned(4), may_alias));   /* integers may be reordered */

static void read_loop(void *p) {
    part *q = p;
    const words *x = (const words *)q->b;
    int64_t count = q->count * 4 / WIDTH, i = 0;
    words sums[STREAMS] = {0};
    for (; i + STREAMS * STRETCH <= count; i += STREAMS * STRETCH)
        for (int64_t k = 0; k < STRETCH; k += 64 / WIDTH)
#pragma GCC unroll 8
            for (int64_t s = 0; s < STREAMS; s++)
                for (int64_t l = 0; l < 64 / WIDTH; l++) sums[s] += x[i + s * STRETCH + k + l];
    for (; i < count; i++) sums[i % STREAMS] += x[i];
    for (int64_t s = 0; s < STREAMS; s++) q->sink += sums[s][0] + sums[s][1];
}

static void triad_loop(void *p) {
    part *q = p;
    float *restrict a = q->a;
    const float *restrict b = q->b, *restrict c = q->c;
    for (int64_t i = 0; i < q->count; i++) a[i] = b[i] + 0.5f * c[i];
}

static volatile float factor = 0.999f, term = 1e-3f;   /* unknown to the compiler: a chain that stays at 1 would go */

static void fma_loop(void *p) {
    part *q = p;
    vec x0 = {0}, x1 = x0 + 1, x2 = x0 + 2, x3 = x0 + 3, x4 = x0 + 4;      /* equal chains would become one */
    vec x5 = x0 + 5, x6 = x0 + 6, x7 = x0 + 7, x8 = x0 + 8, x9 = x0 + 9, m = x0 + factor, k = x0 + term;
    for (int64_t i = 0; i < q->count; i++) {
        x0 = x0 * m + k; x1 = x1 * m + k; x2 = x2 * m + k; x3 = x3 * m + k; x4 = x4 * m + k;
        x5 = x5 * m + k; x6 = x6 * m + k; x7 = x7 * m + k; x8 = x8 * m + k; x9 = x9 * m + k;
    }
    vec sum = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9;
    q->sink += (uint64_t)sum[0];
}

#if defined(__AMX_TILE__)
/* four chains of a matrix unit, of whatever its registers hold: 16 x 16 sums of 32 products of bfloat16 each */
static void tiles_of(part *q, int bytes) {
    static const struct { uint8_t palette, start, none[14]; uint16_t bytes[16]; uint8_t rows[16]; } shape = {
        1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16},
    };
    __asm__ volatile("ldtilecfg %0" :: "m"(shape));
    for (int64_t i = 0; i < q->count; i++)
        if (bytes)
            __asm__ volatile("tdpbssd %%tmm6, %%tmm4, %%tmm0; tdpbssd %%tmm7, %%tmm4, %%tmm1;"
                             "tdpbssd %%tmm6, %%tmm5, %%tmm2; tdpbssd %%tmm7, %%tmm5, %%tmm3" ::);
        else
            __asm__ volatile("tdpbf16ps %%tmm6, %%tmm4, %%tmm0; tdpbf16ps %%tmm7, %%tmm4, %%tmm1;"
                             "tdpbf16ps %%tmm6, %%tmm5, %%tmm2; tdpbf16ps %%tmm7, %%tmm5, %%tmm3" ::);
    __asm__ volatile("tilerelease" ::);
}
static void halves_loop(void *p) { tiles_of(p, 0); }
static void bytes_loop(void *p) { tiles_of(p, 1); }
#endif

#if defined(__AVX512F__)
typedef float sums __attribute__((vector_size(64), may_alias));
typedef uint32_t factors __attribute__((vector_size(64), may_alias));
/* ten chains of sixteen sums, of the products of a word's neighbours each: one text, or some would be in memory */
#define CHAINS(instruction, numbers) \
    part *q = p; \
    sums a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a, i = a, j = a, y = (sums)(numbers); \
    for (int64_t n = 0; n < q->count; n++) \
        __asm__ volatile(instruction " %10, %10, %0;" instruction " %10, %10, %1;" instruction " %10, %10, %2;" \
                         instruction " %10, %10, %3;" instruction " %10, %10, %4;" instruction " %10, %10, %5;" \
                         instruction " %10, %10, %6;" instruction " %10, %10, %7;" instruction " %10, %10, %8;" \
                         instruction " %10, %10, %9" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f), "+v"(g), \
                         "+v"(h), "+v"(i), "+v"(j) : "v"(y)); \
    q->sink += (uint64_t)((factors)a)[0]
#if defined(__AVX512VNNI__)
static void words_loop(void *p) { CHAINS("vpdpbusd", (factors){0} + 0x01010101); }
#endif
#if defined(__AVX512BF16__)
static void pairs_loop(void *p) { CHAINS("vdpbf16ps", (factors){0} + 0x3c003c00); }
#endif
#endif

static void *thread(void *p) {
    part *q = p;
    for (int i = 0; i < q->repeats; i++) {
        pthread_barrier_wait(q->barrier);
        double start = now();
        q->loop(q);
        pthread_barrier_wait(q->barrier);
        double seconds = now() - start;
        if (q->number == 0 && seconds < *q->best) *q->best = seconds;
    }
    return NULL;
}

static double run(void (*loop)(void *), float *a, const float *b, const float *c, int64_t count, int threads,
                  int repeats) {
    pthread_t ids[256];
    part parts[256];
    pthread_barrier_t barrier;
    double best = 1e30;
    int started = 0;
    if (threads > 256) threads = 256;
    pthread_barrier_init(&barrier, NULL, threads);
    for (int i = 0; i < threads; i++) {
        int64_t begin = a || b ? count / threads * i : 0;
        parts[i] = (part){loop, b ? b + begin : b, c ? c + begin : c, a ? a + begin : a,
                          a || b ? count / threads : count, repeats, &barrier, &best, i, 0};
        started += pthread_create(&ids[i], NULL, thread, &parts[i]) == 0;
    }
    if (started < threads) return -1;   /* the others wait for ever; the caller gives up */
    for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    volatile uint64_t sink = 0;
    for (int i = 0; i < threads; i++) sink += parts[i].sink;
    pthread_barrier_destroy(&barrier);
    return best;
}

/* Memory on huge pages, as the arrays of NumPy and of graphc are: of small ones less can be read in the same time. */
static float *allocate(int64_t bytes) {
    const size_t page = 2 << 20;
    size_t size = ((size_t)bytes + page - 1) / page * page;
    float *memory = aligned_alloc(page, size);
#ifdef MADV_HUGEPAGE
    if (memory) madvise(memory, size, MADV_HUGEPAGE);   /* refused: only slower */
#endif
    return memory;
}

/* bytes per second over a working set of so many bytes */
double read_bandwidth(int64_t bytes, int threads, int repeats) {
    int64_t count = bytes / 4 / 128 * 128;
    float *b = allocate(count * 4);
    if (!b) return -1;
    for (int64_t i = 0; i < count; i++) b[i] = 1;
    double seconds = run(read_loop, NULL, b, NULL, count, threads, repeats);
    free(b);
    return count * 4.0 / seconds;
}

double triad_bandwidth(int64_t bytes, int threads, int repeats) {
    int64_t count = bytes / 12 / 128 * 128;
    float *a = allocate(count * 12);
    if (!a) return -1;
    for (int64_t i = 0; i < 3 * count; i++) a[i] = 1;
    double seconds = run(triad_loop, a, a + count, a + 2 * count, count, threads, repeats);
    free(a);
    return count * 12.0 / seconds;
}

/* float32 operations per second; a multiply-add is two */
double fma_peak(int threads, int repeats) {
    int64_t count = 2000000;
    double seconds = run(fma_loop, NULL, NULL, NULL, count, threads, repeats);
    return count * 10.0 * (WIDTH / 4) * 2 * threads / seconds;
}

/* the same of products of bfloat16, or of bytes, where the processor has instructions for them; 0 where it has none.
   `tiles`: whether the system lets the process use those of its matrix unit */
double unit_peak(int threads, int repeats, int bytes, int tiles) {
    const int64_t count = 200000;
    (void)tiles, (void)count;
#if defined(__AMX_TILE__)
    if (tiles)
        return count * 4.0 * 16 * 16 * (bytes ? 64 : 32) * 2 * threads
            / run(bytes ? bytes_loop : halves_loop, NULL, NULL, NULL, count, threads, repeats);
#endif
#if defined(__AVX512VNNI__)
    if (bytes) return count * 10.0 * 16 * 4 * 2 * threads / run(words_loop, NULL, NULL, NULL, count, threads, repeats);
#endif
#if defined(__AVX512BF16__)
    if (!bytes) return count * 10.0 * 16 * 2 * 2 * threads / run(pairs_loop, NULL, NULL, NULL, count, threads, repeats);
#endif
    return 0;
}
