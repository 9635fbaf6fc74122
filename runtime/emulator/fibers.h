/* What emulated kernels and the scheduler of their threads share. No system header: kernels define their own types. */
#ifndef EMU_FIBERS_H
#define EMU_FIBERS_H

struct emu_dim3 {
    unsigned x, y, z;
};

/* One thread of a block. While it runs, `emu_self` points to it. */
struct emu_thread {
    emu_dim3 index;
    unsigned linear;            /* in its block; the lane is linear % warp */
    unsigned long long value;   /* what it brings to a meeting of its warp */
    unsigned long long shown;   /* what it brought to the last one that took place */
    unsigned long long met;     /* the lanes that were there */
    unsigned copies, sets;      /* asynchronous copies that wait, and sets of them that are closed */
};

/* The launch that runs. */
struct emu_launch {
    emu_dim3 grid, block;
    emu_dim3 block_index;
    unsigned warp;              /* threads of a warp or wavefront */
    char *dynamic;              /* shared memory whose size the launch says */
};

extern "C" {
extern emu_thread *emu_self;
extern emu_launch emu_now;

/* Wait for all threads of the block. */
void emu_barrier(int line);
/* Wait for the lanes in `mask` of this warp, who must come to the same line with the same mask; 0: for all lanes. */
void emu_meet(int line, unsigned long long mask);
/* What a lane of this warp brought to the last meeting; null if it was not there. */
const unsigned long long *emu_brought(unsigned lane);

typedef void emu_body(void **args);
/* Run a kernel: see emulate.cpp. Generated for each kernel by EMU_ENTRY. */
int emu_run(emu_body *body, void **args, char *shared, long shared_bytes, const emu_launch *launch, long dynamic_bytes,
           int order, unsigned long long seed, char *message, long room);
}

#endif
