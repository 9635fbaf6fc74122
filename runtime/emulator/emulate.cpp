/* Threads of a GPU as fibers of one thread of the host: barriers and shuffles switch between them.

   A block runs until each of its fibers waits or has ended. Then whoever may go on is set free: the lanes of a warp
   that met in one line, else all threads of the block at one barrier. If nobody may, the threads have diverged: an
   error that names the lines. Which of the ready fibers runs first is the order: what depends on it lacks a barrier. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "fibers.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

enum { FORWARD, REVERSE, RANDOM };
enum { READY, AT_BARRIER, AT_MEETING, ENDED };
enum { OK, DIVERGED, NO_MEMORY };

static const unsigned MOST = 1024;      /* threads of a block */
static const size_t STACK = 256 << 10;

struct Fiber {
    emu_thread thread;
    int state, line;
    unsigned long long mask;
    bool begun;
    ucontext_t start;
    jmp_buf at;
    char *stack;
    void *fake;                         /* what AddressSanitizer keeps for a stack that rests */
};

emu_thread *emu_self;
emu_launch emu_now;

static Fiber fibers[MOST];
static unsigned order_of[MOST], count;
static Fiber *current;
static emu_body *body_of;
static void **args_of;
static uint64_t state_of_random;

static uint64_t next_random() {
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = state_of_random;
    return (x ^ x >> 33) * 0xff51afd7ed558ccdu >> 16;
}

template <class T> static void put_in_order(T *items, T n, int order) {
    for (T k = 0; k < n; k++) items[k] = order == REVERSE ? n - 1 - k : k;
    if (order == RANDOM)
        for (T k = n; k > 1; k--) {
            const T other = (T)(next_random() % k), kept = items[k - 1];
            items[k - 1] = items[other];
            items[other] = kept;
        }
}

/* ------------------------------------------------------------------------------------------------- switching */

#ifdef __SANITIZE_ADDRESS__
static ucontext_t home;
static void *home_fake;
static const void *home_stack;
static size_t home_size;

static void arrive_in_fiber() { __sanitizer_finish_switch_fiber(current->fake, &home_stack, &home_size); }

static void resume(Fiber *f) {
    __sanitizer_start_switch_fiber(&home_fake, f->stack, STACK);
    swapcontext(&home, &f->start);
    __sanitizer_finish_switch_fiber(home_fake, nullptr, nullptr);
}

static void rest() {
    Fiber *f = current;
    __sanitizer_start_switch_fiber(f->state == ENDED ? nullptr : &f->fake, home_stack, home_size);
    swapcontext(&f->start, &home);
    arrive_in_fiber();
}
#else
static jmp_buf home;

static void arrive_in_fiber() {}

/* swapcontext asks the system for the signal mask each time; only the first switch to a fiber goes that way. */
static void resume(Fiber *f) {
    if (_setjmp(home)) return;
    if (f->begun) _longjmp(f->at, 1);
    f->begun = true;
    setcontext(&f->start);
}

static void rest() {
    if (!_setjmp(current->at)) _longjmp(home, 1);
}
#endif

static void live() {
    arrive_in_fiber();
    body_of(args_of);
    current->state = ENDED;
    rest();
    abort();
}

static bool prepare(Fiber *f, unsigned linear) {
    if (!f->stack) {
        void *memory = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return false;
        f->stack = (char *)memory;
    }
    const emu_dim3 b = emu_now.block;
    f->thread = emu_thread{{linear % b.x, linear / b.x % b.y, linear / b.x / b.y}, linear, 0, 0, 0, 0, 0};
    f->state = READY;
    f->begun = false;
    f->fake = nullptr;
    if (!f->start.uc_stack.ss_sp) getcontext(&f->start);
    f->start.uc_stack.ss_sp = f->stack;
    f->start.uc_stack.ss_size = STACK;
    f->start.uc_link = nullptr;
    makecontext(&f->start, live, 0);
    return true;
}

/* --------------------------------------------------------------------------------------------------- meeting */

static void wait_as(int state, int line, unsigned long long mask) {
    Fiber *f = current;
    f->state = state;
    f->line = line;
    f->mask = mask;
    rest();
    emu_self = &f->thread;
}

void emu_barrier(int line) { wait_as(AT_BARRIER, line, 0); }

void emu_meet(int line, unsigned long long mask) { wait_as(AT_MEETING, line, mask); }

static Fiber *warp_of(const Fiber *f) { return fibers + f->thread.linear / emu_now.warp * emu_now.warp; }

static unsigned lanes_of(const Fiber *warp) {
    const unsigned left = count - (unsigned)(warp - fibers);
    return left < emu_now.warp ? left : emu_now.warp;
}

const unsigned long long *emu_brought(unsigned lane) {
    return lane < 64 && emu_self->met >> lane & 1 ? &warp_of(current)[lane].thread.shown : nullptr;
}

/* The lanes that have come to where this fiber waits, if all whom it waits for are there, else 0. */
static unsigned long long meeting(const Fiber *f) {
    const Fiber *warp = warp_of(f);
    unsigned long long met = 0;
    for (unsigned lane = 0; lane < emu_now.warp; lane++) {
        const bool there = lane < lanes_of(warp) && warp[lane].state == AT_MEETING && warp[lane].line == f->line &&
                           warp[lane].mask == f->mask;
        const bool wanted = f->mask ? f->mask >> lane & 1 : lane < lanes_of(warp) && warp[lane].state != ENDED;
        if (wanted && !there) return 0;
        if (wanted) met |= 1ull << lane;
    }
    return met >> f->thread.linear % emu_now.warp & 1 ? met : 0;
}

static bool free_warp(Fiber *warp) {
    unsigned long long met[64];
    bool any = false;
    for (unsigned k = 0; k < lanes_of(warp); k++) met[k] = warp[k].state == AT_MEETING ? meeting(warp + k) : 0;
    for (unsigned k = 0; k < lanes_of(warp); k++)
        if (met[k]) {
            emu_thread *thread = &warp[k].thread;
            thread->shown = thread->value, thread->met = met[k];
            warp[k].state = READY;
            any = true;
        }
    return any;
}

static bool free_warps() {
    bool any = false;
    for (unsigned k = 0; k < count; k += emu_now.warp) any |= free_warp(fibers + k);
    return any;
}

static bool free_block() {
    for (unsigned k = 0; k < count; k++)
        if (fibers[k].state != AT_BARRIER || fibers[k].line != fibers[0].line) return false;
    for (unsigned k = 0; k < count; k++) fibers[k].state = READY;
    return true;
}

static void describe(char *message, long room) {
    static const char *const what[] = {"run", "wait at the barrier", "wait for their warp", "have ended"};
    long used = snprintf(message, room, "divergent barrier in block (%u, %u, %u):", emu_now.block_index.x,
                         emu_now.block_index.y, emu_now.block_index.z);
    static bool told[MOST];
    for (unsigned k = 0; k < count; k++) told[k] = false;
    for (unsigned k = 0; k < count && used < room; k++) {
        if (told[k]) continue;
        const Fiber *f = fibers + k;
        unsigned alike = 0;
        for (unsigned j = k; j < count; j++)
            if (fibers[j].state == f->state && (f->state == ENDED || fibers[j].line == f->line))
                alike++, told[j] = true;
        used += snprintf(message + used, room - used, "%s %u thread%s from %u on %s", k ? "," : "", alike,
                         alike == 1 ? "" : "s", k, what[f->state]);
        if (f->state != ENDED && used < room) used += snprintf(message + used, room - used, " of line %d", f->line);
    }
}

/* --------------------------------------------------------------------------------------------------- running */

/* By hand: the memory may hold red zones of AddressSanitizer, which a call of memset would complain of. All bits set is
   a NaN in every floating type, and -1 in the integers. */
__attribute__((no_sanitize_address, noinline)) static void spoil(char *shared, long nbytes) {
    for (volatile char *at = shared, *end = shared + nbytes; at < end; at++) *at = (char)0xff;
}

static void run_ready(unsigned from, unsigned to) {
    for (unsigned k = from; k < to; k++) {
        Fiber *f = fibers + order_of[k];
        if (f->state == READY) {
            current = f;
            emu_self = &f->thread;
            resume(f);
        }
    }
}

/* In random order all warps go on side by side; else each as far as it comes alone. */
static int run_block(int order, char *message, long room) {
    for (unsigned k = 0; k < count; k++)
        if (!prepare(fibers + k, k)) return NO_MEMORY;
    for (;;) {
        put_in_order(order_of, count, order);
        if (order == RANDOM || count % emu_now.warp) run_ready(0, count);
        else
            for (unsigned k = 0; k < count; k += emu_now.warp)
                do run_ready(k, k + emu_now.warp);
                while (free_warp(fibers + order_of[k] / emu_now.warp * emu_now.warp));
        bool alive = false;
        for (unsigned k = 0; k < count; k++) alive |= fibers[k].state != ENDED;
        if (!alive) return OK;
        if (!free_warps() && !free_block()) {
            describe(message, room);
            return DIVERGED;
        }
    }
}

/* order     FORWARD, REVERSE or RANDOM, for the threads of a block and for the blocks
   message   filled with what was wrong where the result is not OK */
int emu_run(emu_body *body, void **args, char *shared, long shared_bytes, const emu_launch *launch, long dynamic_bytes,
           int order, unsigned long long seed, char *message, long room) {
    emu_now = *launch;
    body_of = body, args_of = args, state_of_random = seed;
    count = launch->block.x * launch->block.y * launch->block.z;
    const uint64_t blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    uint64_t *order_of_blocks = (uint64_t *)malloc((blocks ? blocks : 1) * sizeof(uint64_t));
    void *dynamic = nullptr;        /* as many bytes as asked for, to see overruns, where a matrix unit may want them */
    const bool lacks = dynamic_bytes && posix_memalign(&dynamic, 1024, dynamic_bytes);
    emu_now.dynamic = (char *)dynamic;
    int result = order_of_blocks && !lacks ? OK : NO_MEMORY;
    if (result == OK) put_in_order(order_of_blocks, blocks, order);
    for (uint64_t k = 0; k < blocks && result == OK; k++) {
        const uint64_t b = order_of_blocks[k];
        emu_now.block_index = {(unsigned)(b % launch->grid.x), (unsigned)(b / launch->grid.x % launch->grid.y),
                              (unsigned)(b / launch->grid.x / launch->grid.y)};
        spoil(shared, shared_bytes);
        spoil(emu_now.dynamic, dynamic_bytes);
        result = run_block(order, message, room);
    }
    free(emu_now.dynamic);
    free(order_of_blocks);
    return result;
}
