/* The native part of graphc's CPU runtime: a thread pool (pool.c) and the loop that runs a program (run.c).
 *
 * All of it is one translation unit, built once per machine at first use, so it includes no heavy header. */
#ifndef GRAPHC_H
#define GRAPHC_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* A kernel runs the chunks [begin, end) of its parallel nest. It returns 0, or 1 + the position of the first index
 * that lay outside its array. */
typedef int64_t (*kernel_fn)(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch);

/* What gc_run returns; a positive value is 1 + the position of a bad index. Python knows these numbers. */
enum { GC_OK = 0, GC_INTERRUPTED = -1, GC_NO_MEMORY = -2, GC_FORKED = -3 };
#define GC_DONE INT64_MIN   /* no address */

/* Neighbouring chunks. A thread begins with a part of its own, so that from run to run it finds the same memory in its
 * caches; then it helps with the others. */
#define MOST_PARTS 64
/* Chunks that lie `stride` apart, from `first` on. */
struct part {
    int64_t next;           /* atomic: how many have been taken */
    int64_t count, first, stride;
    int64_t apart[4];       /* a cache line of its own */
};

/* One launch, or some that follow one another, shared by the threads that take part in it. */
struct job {
    const struct step *step;
    int64_t steps;          /* of the job: `step`, and what follows it in the image */
    const int64_t *call;    /* the run's words: addresses and parameters */
    int64_t chunks;         /* of all members */
    size_t scratch;         /* bytes that each thread needs, its view of a member included */
    int64_t threads;        /* that may take part, the caller included */
    int64_t limit;          /* atomic: chunks from here on are left out */
    int64_t parts;
    struct part part[MOST_PARTS];
    int64_t bad;            /* atomic: the least result of a kernel that was not 0 */
};

/* What the calling thread keeps over a run: when to ask Python for signals, and how long its own chunks took. */
struct watch {
    int64_t due;        /* coarse nanoseconds; 0 before the first look at the clock */
    int64_t stop;       /* GC_OK, or why the run must end */
    int64_t spent, ran; /* nanoseconds in kernels and chunks done in the current launch */
    int64_t shared;     /* whether a launch was */
    int64_t forks;
    int64_t asked;      /* how often Python was asked, and may have run handlers */
};

static int64_t nanoseconds(clockid_t clock);
static int watch_says_stop(struct watch *w);
static void *thread_scratch(size_t bytes);

/* Take chunks of the job until none is left. w is NULL in the pool's threads. */
static void job_work(struct job *j, int64_t index, struct watch *w, void *scratch);

/* Run the job on the caller and the pool. Returns 0 if the pool was busy: then nothing ran. */
static int pool_run(struct job *j, struct watch *w, void *scratch);

/* Would some thread of a job have to be woken up or started? */
static int pool_sleeps(int64_t threads);

/* Wake those that sleep: the run that begins will share work, as it did the last time. */
static void pool_rouse(void);
static int64_t pool_forks(void);

#endif
