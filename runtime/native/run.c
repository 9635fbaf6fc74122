/* Runs a program: an image of int64 words that runtime/image.py writes.
 *
 *     image   whether its last run shared a launch, number of steps, then the steps; each begins with its length in
 *             words and its kind
 *     launch  struct step, then for each member the number of chunks up to its end, then `patches` places, then for
 *             each member `buffers` operands, `args` words, `patches` indices into call
 *     call    the arena's address, addresses of the buffers from outside, the bits of the parameters
 *
 * An operand v > 0 is the buffer call[v % 2^24], from its byte v / 2^24 on; v <= 0 lies at the byte -v of the arena.
 * Loops and branches: loops.c.
 *
 * The members of a launch are independent runs of one kernel. Their chunks are numbered one member after the other, so
 * that threads take them as those of one job. A launch that follows the one before is of the same job: chunk by chunk
 * all of its launches are run one after the other. They have one member each, and no kernel of theirs stops. */

#define AWAKE_NS 6000       /* less work than this is not shared, even with threads that are spinning */
#define ASLEEP_NS 40000     /* less work than this is done before a sleeping thread has woken up */
#define HUGE (2 << 20)      /* bytes of a large page of memory */
#define GRAB_NS 100000      /* threads take more chunks at once until a grab lasts this long */
#define POLL_NS 50000000    /* signals are looked for this often */

static int (*ask_python)(void);     /* not 0: a signal handler raised */
static __thread int64_t failed_step;

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static int watch_says_stop(struct watch *w)
{
    int64_t now = nanoseconds(COARSE_CLOCK);
    if (!w->due) w->due = now + POLL_NS;
    if (now < w->due || !ask_python) return 0;
    if (ask_python()) w->stop = GC_INTERRUPTED;
    w->asked++;
    if (pool_forks() != w->forks) w->stop = GC_FORKED;  /* a signal handler forked: our helpers are gone */
    w->due = nanoseconds(COARSE_CLOCK) + POLL_NS;
    return w->stop != GC_OK;
}

/* ---- scratch memory: each thread keeps the largest block it ever needed ---- */

static pthread_key_t scratch_key;   /* only for its destructor */
static __thread struct { void *memory; size_t bytes; } scratch;

static void *thread_scratch(size_t bytes)
{
    if (bytes <= scratch.bytes && scratch.memory) return scratch.memory;
    size_t page = bytes < HUGE / 4 ? 4096 : HUGE;
    size_t wanted = (bytes + page - 1) & ~(page - 1);
    if (!wanted) wanted = page;
    void *memory = aligned_alloc(page, wanted);
    if (!memory) return NULL;
#ifdef MADV_HUGEPAGE
    if (page == HUGE) madvise(memory, wanted, MADV_HUGEPAGE);   /* packed matrices: fewer pages to translate */
#endif
    free(scratch.memory);
    scratch.memory = memory;
    scratch.bytes = wanted;
    pthread_setspecific(scratch_key, memory);
    return memory;
}

/* ---- one launch ---- */

enum { LAUNCH = 0, LOOP = 1, BRANCH = 2 };

struct step {
    int64_t length, kind, follows, kernel, scratch, cost, members, buffers, args, patches;
    int64_t words[];
};

#define OFFSET_SHIFT 24

static void *address(int64_t operand, const int64_t *call)
{
    int64_t buffer = operand & (((int64_t)1 << OFFSET_SHIFT) - 1);
    return (void *)(intptr_t)(operand > 0 ? call[buffer] + (operand >> OFFSET_SHIFT) : call[0] - operand);
}

static size_t bytes_of(const struct step *s)
{
    return (size_t)(s->scratch + (s->buffers + s->args) * (int64_t)sizeof(int64_t));
}

static struct step *after(const struct step *s) { return (struct step *)((int64_t *)s + s->length); }

/* What a thread hands to the kernel, the buffers and words of one member, lies behind the kernel's scratch memory. */
struct view {
    int64_t member;     /* -1: none yet */
    void **buf;
    int64_t *arg;
};

static struct view view_in(const struct step *s, void *memory)
{
    void **buf = (void **)((char *)memory + s->scratch);
    return (struct view){.member = -1, .buf = buf, .arg = (int64_t *)(buf + s->buffers)};
}

static void show_member(struct view *v, const struct step *s, const int64_t *call, int64_t member)
{
    const int64_t *place = s->words + s->members;
    const int64_t *operand = place + s->patches + member * (s->buffers + s->args + s->patches);
    const int64_t *template = operand + s->buffers, *patch = template + s->args;
    for (int64_t i = 0; i < s->buffers; i++) v->buf[i] = address(operand[i], call);
    memcpy(v->arg, template, (size_t)s->args * sizeof *v->arg);
    for (int64_t i = 0; i < s->patches; i++) v->arg[place[i]] = call[patch[i]];
    v->member = member;
}

/* The first member whose chunks end after this one. */
static int64_t member_of(const struct step *s, int64_t chunk)
{
    int64_t low = 0, high = s->members - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (s->words[middle] > chunk) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* Run the chunks [begin, end) of a launch and of those that follow it, each chunk through all of them. */
static void run_in_turn(const struct job *j, int64_t begin, int64_t end, void *scratch)
{
    for (int64_t chunk = begin; chunk < end; chunk++) {
        const struct step *s = j->step;
        for (int64_t k = 0; k < j->steps; k++, s = after(s)) {
            struct view v = view_in(s, scratch);
            show_member(&v, s, j->call, 0);
            ((kernel_fn)(intptr_t)s->kernel)(v.buf, v.arg, chunk, chunk + 1, scratch);
        }
    }
}

#define MEMBER_SHIFT 32     /* a bad position is told with the member it is of */

/* Run the chunks [begin, end). Returns 0 or what tells of the first bad index. */
static int64_t run_chunks(const struct job *j, struct view *v, int64_t begin, int64_t end, void *scratch)
{
    const struct step *s = j->step;
    kernel_fn kernel = (kernel_fn)(intptr_t)s->kernel;
    if (j->steps > 1) {
        run_in_turn(j, begin, end, scratch);
        return 0;
    }
    while (begin < end) {
        int64_t member = s->members == 1 ? 0 : member_of(s, begin);
        if (member != v->member) show_member(v, s, j->call, member);
        int64_t first = member ? s->words[member - 1] : 0, stop = s->words[member] < end ? s->words[member] : end;
        int64_t bad = kernel(v->buf, v->arg, begin - first, stop - first, scratch);
        if (bad) return (member << MEMBER_SHIFT) + bad;
        begin = stop;
    }
    return 0;
}

static void note_bad(struct job *j, int64_t position)
{
    int64_t least = __atomic_load_n(&j->bad, __ATOMIC_RELAXED);
    while ((!least || position < least)
           && !__atomic_compare_exchange_n(&j->bad, &least, position, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static void lower_limit(struct job *j, int64_t chunk)
{
    int64_t limit = __atomic_load_n(&j->limit, __ATOMIC_RELAXED);
    while (chunk < limit
           && !__atomic_compare_exchange_n(&j->limit, &limit, chunk, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static void run_some(struct job *j, struct view *v, int64_t begin, int64_t end, void *scratch)
{
    int64_t bad = run_chunks(j, v, begin, end, scratch);
    if (!bad) return;
    note_bad(j, bad);
    lower_limit(j, begin);
}

/* Take chunks of one part until none is left. Returns 0 when the run must end. */
static int part_work(struct job *j, struct part *p, struct watch *w, void **scratch, struct view *v)
{
    int64_t grab = 1;
    for (;;) {
        int64_t begin = __atomic_fetch_add(&p->next, grab, __ATOMIC_RELAXED), first = p->first + begin * p->stride;
        if (begin >= p->count || first >= __atomic_load_n(&j->limit, __ATOMIC_RELAXED)) return 1;
        int64_t end = p->count - begin < grab ? p->count : begin + grab;
        int64_t start = nanoseconds(CLOCK_MONOTONIC);
        if (p->stride == 1) run_some(j, v, first, p->first + end, *scratch);
        else for (int64_t i = begin; i < end; i++, first += p->stride) run_some(j, v, first, first + 1, *scratch);
        int64_t spent = nanoseconds(CLOCK_MONOTONIC) - start;
        if (w) {
            w->spent += spent;
            w->ran += end - begin;
        }
        int64_t asked = w ? w->asked : 0;
        if (w && watch_says_stop(w)) {
            lower_limit(j, 0);
            return 0;
        }
        if (w && w->asked != asked) {   /* a signal handler may have run a program in this thread's scratch memory */
            *scratch = thread_scratch(j->scratch);
            if (!*scratch) {
                w->stop = GC_NO_MEMORY;
                lower_limit(j, 0);
                return 0;
            }
            *v = view_in(j->step, *scratch);
        }
        int64_t fair = (p->count - end) / (2 * j->threads);
        if (spent < GRAB_NS / 2) grab *= 2;
        else if (spent > GRAB_NS * 2) grab /= 2;
        if (grab > fair) grab = fair;
        if (grab < 1) grab = 1;
    }
}

/* Chunks of a part are handed out in rising order, and each of them is finished unless the run is interrupted.
 * When one is bad, all before it are still done; so the least bad position depends on no number of threads. */
static void job_work(struct job *j, int64_t index, struct watch *w, void *scratch)
{
    struct view v = view_in(j->step, scratch);
    for (int64_t k = 0; k < j->parts; k++)
        if (!part_work(j, &j->part[(index + k) % j->parts], w, &scratch, &v)) return;
}

/* Neighbours are of one part. But the chunks of one member may be larger than those of another: of several members
 * each part has some chunks of each. */
static void cut_into_parts(struct job *j)
{
    j->limit = j->chunks;
    j->parts = j->threads < MOST_PARTS ? j->threads : MOST_PARTS;
    if (j->parts < 1) j->parts = 1;
    int64_t each = j->chunks / j->parts, longer = j->chunks % j->parts, at = 0;
    int dealt = j->step->members > 1;
    for (int64_t k = 0; k < j->parts; k++) {
        int64_t count = each + (k < longer);
        j->part[k] = (struct part){.count = count, .first = dealt ? k : at, .stride = dealt ? j->parts : 1};
        at += count;
    }
}

/* Is it worth sharing? `cost` is what a chunk took last time, in nanoseconds, or 0 when that is not known. */
static int worth_sharing(const struct job *j, int64_t cost)
{
    if (j->threads < 2) return 0;
    return !cost || cost * j->chunks > (pool_sleeps(j->threads) ? ASLEEP_NS : AWAKE_NS);
}

static void note_cost(struct step *s, int64_t spent, int64_t chunks)
{
    __atomic_store_n(&s->cost, spent / chunks + 1, __ATOMIC_RELAXED);
}

static int64_t launch(struct step *s, int64_t steps, const int64_t *call, int64_t threads, struct watch *w)
{
    struct job j;
    j.step = s, j.steps = steps, j.call = call, j.chunks = s->words[s->members - 1], j.threads = threads, j.bad = 0;
    if (j.chunks <= 0) return GC_OK;
    j.scratch = bytes_of(s);
    for (const struct step *next = s; steps > 1; steps--) {
        next = after(next);
        if (bytes_of(next) > j.scratch) j.scratch = bytes_of(next);
    }
    void *memory = thread_scratch(j.scratch);
    if (!memory) return GC_NO_MEMORY;
    int64_t cost = __atomic_load_n(&s->cost, __ATOMIC_RELAXED);
    if (j.chunks == 1 || (cost && cost * j.chunks <= AWAKE_NS)) {   /* in one piece */
        struct view v = view_in(s, memory);
        int64_t start = j.chunks > 1 ? nanoseconds(CLOCK_MONOTONIC) : 0;
        int64_t bad = run_chunks(&j, &v, 0, j.chunks, memory);
        if (start) note_cost(s, nanoseconds(CLOCK_MONOTONIC) - start, j.chunks);
        return bad;
    }
    w->spent = w->ran = 0;
    if (j.threads > j.chunks) j.threads = j.chunks;
    cut_into_parts(&j);
    if (worth_sharing(&j, cost) && pool_run(&j, w, memory)) w->shared = 1;
    else job_work(&j, 0, w, memory);
    if (w->ran) note_cost(s, w->spent, w->ran);
    return w->stop ? w->stop : j.bad;
}

/* A copy is a launch like any other: buf = {source, target}, arg = {bytes}. */
#define COPY_CHUNK 262144
static int64_t copy_chunks(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    (void)scratch;
    int64_t from = begin * COPY_CHUNK, to = end * COPY_CHUNK;
    if (to > arg[0]) to = arg[0];
    if (buf[0] != buf[1] && to > from) memmove((char *)buf[1] + from, (const char *)buf[0] + from, to - from);
    return 0;
}

/* ---- profiling: how long each step took, in nanoseconds, for as long as somebody listens ---- */

static struct { int64_t *entries; int64_t room, used; } step_log;      /* entries: pairs (the step, nanoseconds) */

static void note_time(const struct step *s, int64_t start)
{
    int64_t spent = nanoseconds(CLOCK_MONOTONIC) - start;
    int64_t place = __atomic_fetch_add(&step_log.used, 1, __ATOMIC_RELAXED), *entries = step_log.entries;
    if (!entries || place >= step_log.room) return;
    entries[2 * place] = (int64_t)(intptr_t)s;
    entries[2 * place + 1] = spent;
}

/* Log into `entries` from now on; NULL: no more. Whoever listened keeps the memory, for another thread may be late.
 * Returns how many steps there were since the last call. */
int64_t gc_profile(int64_t *entries, int64_t room)
{
    int64_t used = __atomic_exchange_n(&step_log.used, 0, __ATOMIC_RELAXED);
    step_log.room = entries ? room : 0;
    step_log.entries = entries;
    return used;
}

/* ---- a program ---- */

static int64_t run_steps(int64_t *image, const int64_t *call, int64_t threads, struct watch *w, int64_t *failed);
#include "loops.c"

/* Steps of an image. Returns GC_OK, why the run must end, or what tells of a bad index; then *failed is its step. */
static int64_t run_steps(int64_t *image, const int64_t *call, int64_t threads, struct watch *w, int64_t *failed)
{
    int64_t steps = image[1], count;
    struct step *s = (struct step *)(image + 2), *next;
    for (int64_t i = 0; i < steps; i += count, s = next) {
        int64_t start = step_log.entries && failed == &failed_step ? nanoseconds(CLOCK_MONOTONIC) : 0;
        next = after(s), count = 1;
        for (; !start && i + count < steps && next->kind == LAUNCH && next->follows; next = after(next)) count++;
        int64_t result = s->kind == LAUNCH ? launch(s, count, call, threads, w)
                         : s->kind == LOOP ? run_loop((struct loop *)s, call, threads, w)
                                           : run_branch((struct branch *)s, call, threads, w);
        if (start) note_time(s, start);
        if (!result && i + count < steps && watch_says_stop(w)) result = w->stop;
        if (result) {
            *failed = i;
            return result;
        }
    }
    return GC_OK;
}

/* threads < 0: as many, and no signal ends the run; words[0] is GC_DONE when all has been computed. */
int64_t gc_run(int64_t *image, const char *words, int64_t threads)
{
    int whole = threads < 0;
    struct watch w = {.forks = pool_forks(), .due = whole ? INT64_MAX : 0};
    float_mode before = get_float_mode();
    set_float_mode(FLOAT_MODE);
    if (__atomic_load_n(image, __ATOMIC_RELAXED)) pool_rouse();
    int64_t result = run_steps(image, (const int64_t *)words, whole ? -threads : threads, &w, &failed_step);
    if (whole && result == GC_OK) *(int64_t *)words = GC_DONE;
    set_float_mode(before);
    __atomic_store_n(image, w.shared, __ATOMIC_RELAXED);
    return result;
}

int64_t gc_failed_step(void) { return failed_step; }
int64_t gc_copy_kernel(void) { return (int64_t)(intptr_t)copy_chunks; }
int64_t gc_pool_threads(void) { return pool.started; }

/* ---- once per process ---- */

/* Opens a compiled kernel for good: a library that may still be running is never closed. Returns the address of the
 * entry point, or 0 with the reason in `message`. */
int64_t gc_open(const char *path, const char *entry, char *message, int64_t size)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *address = library ? dlsym(library, entry) : NULL;
    if (!address && size > 0) {
        const char *why = dlerror();
        strncpy(message, why ? why : "unknown error", (size_t)size - 1);
        message[size - 1] = 0;
    }
    return (int64_t)(intptr_t)address;
}

void gc_init(int (*poll)(void))
{
    ask_python = poll;
    pthread_key_create(&scratch_key, free);
    pthread_atfork(NULL, NULL, pool_after_fork);
}
