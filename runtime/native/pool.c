/* The thread pool. One job at a time; a caller that finds it busy works alone.
 *
 * `gate` holds the OPEN bit and the number of threads inside the current job. A thread enters only while the gate is
 * open; the caller closes it when no chunk is left and waits until nobody is inside. So the job can live on the
 * caller's stack, and a small job never waits for a thread that is still waking up. */

#define OPEN ((int64_t)1 << 32)
#define SPINS 4000          /* some 50 us: longer than the gap between the launches of a program */
#define STACK (1 << 20)     /* bytes; kernels keep large rows in scratch memory */

static struct {
    struct job *job;
    int64_t gate;           /* atomic */
    int64_t epoch;          /* atomic: jobs so far, so that a thread knows a new one */
    int64_t roused;         /* atomic: calls of pool_rouse so far */
    int64_t sleepers;       /* atomic: threads in pthread_cond_wait */
    char busy;              /* atomic: a caller owns the pool */
    int64_t started;        /* threads, written by the owner only */
    int64_t forks;          /* forks so far on the way to this process */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

#if defined(__x86_64__)
#define RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define RELAX() __asm__ volatile("yield")
#else
#define RELAX() ((void)0)
#endif

#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)

/* Returns when there is an epoch other than `seen`, or the thread was roused: then it is to look again. */
static int64_t pool_await(int64_t seen)
{
    int64_t roused = LOAD(pool.roused);
    for (int i = 0; i < SPINS; i++) {
        if (LOAD(pool.epoch) != seen) return LOAD(pool.epoch);
        RELAX();
    }
    pthread_mutex_lock(&pool.mutex);
    __atomic_add_fetch(&pool.sleepers, 1, __ATOMIC_SEQ_CST);
    while (LOAD(pool.epoch) == seen && LOAD(pool.roused) == roused) pthread_cond_wait(&pool.wake, &pool.mutex);
    __atomic_sub_fetch(&pool.sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&pool.mutex);
    return LOAD(pool.epoch);
}

static int pool_enter(void)
{
    int64_t gate = LOAD(pool.gate);
    while (gate & OPEN)
        if (__atomic_compare_exchange_n(&pool.gate, &gate, gate + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return 1;
    return 0;
}

static void *pool_thread(void *argument)
{
    int64_t index = (int64_t)(intptr_t)argument, seen = 0;
    set_float_mode(FLOAT_MODE);
    for (;;) {
        int64_t before = seen;
        seen = pool_await(seen);
        if (seen == before || !pool_enter()) continue;
        struct job *j = pool.job;
        if (index < j->threads) {   /* the limit may be lower than when this thread was started */
            void *scratch = thread_scratch(j->scratch);
            if (scratch) job_work(j, index, NULL, scratch);    /* else the others do it */
        }
        __atomic_sub_fetch(&pool.gate, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

/* Start threads until there are enough for the job. Signals stay with Python's threads, but for those of a thread's own
   faults: with them blocked, `python -X faulthandler` would say nothing of a crash. */
static void pool_grow(int64_t threads)
{
    sigset_t all, before;
    pthread_attr_t attr;
    sigfillset(&all);
    for (int i = 0; i < 4; i++) sigdelset(&all, (const int[]){SIGSEGV, SIGBUS, SIGILL, SIGFPE}[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    while (pool.started < threads - 1) {
        pthread_t thread;
        if (pthread_create(&thread, &attr, pool_thread, (void *)(intptr_t)(pool.started + 1))) break;
        pool.started++;
    }
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int pool_run(struct job *j, struct watch *w, void *scratch)
{
    if (__atomic_test_and_set(&pool.busy, __ATOMIC_ACQUIRE)) return 0;
    if (pool.started < j->threads - 1) pool_grow(j->threads);
    pool.job = j;
    __atomic_store_n(&pool.gate, OPEN, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&pool.epoch, 1, __ATOMIC_SEQ_CST);
    if (LOAD(pool.sleepers)) {
        pthread_mutex_lock(&pool.mutex);
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.mutex);
    }
    job_work(j, 0, w, scratch);
    if (w->stop == GC_FORKED) return 1;     /* the pool was made anew, and nobody is in it */
    __atomic_and_fetch(&pool.gate, ~OPEN, __ATOMIC_SEQ_CST);
    for (int64_t i = 0; LOAD(pool.gate); i++) {
        struct timespec nap = {0, 20000};
        if (i < SPINS) RELAX();
        else nanosleep(&nap, NULL);
    }
    __atomic_clear(&pool.busy, __ATOMIC_RELEASE);
    return 1;
}

static void pool_rouse(void)
{
    if (!LOAD(pool.sleepers)) return;
    pthread_mutex_lock(&pool.mutex);
    __atomic_add_fetch(&pool.roused, 1, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.mutex);
}

static int pool_sleeps(int64_t threads) { return LOAD(pool.sleepers) || pool.started < threads - 1; }

static int64_t pool_forks(void) { return pool.forks; }

/* In a forked child none of the threads exists, and the mutex may be held by one of them. */
static void pool_after_fork(void)
{
    pool.job = NULL;
    pool.gate = pool.sleepers = pool.started = 0;
    pool.busy = 0;
    pool.forks++;
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.wake, NULL);
}
