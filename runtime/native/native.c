/* The one translation unit. Floating point runs in the default mode whatever the host program has set: round to
 * nearest, subnormals kept, exceptions masked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>

#if defined(__x86_64__)
typedef unsigned float_mode;
#define FLOAT_MODE 0x1F80u
#define get_float_mode() __builtin_ia32_stmxcsr()
#define set_float_mode(mode) __builtin_ia32_ldmxcsr(mode)
#elif defined(__aarch64__)
typedef unsigned long float_mode;
#define FLOAT_MODE 0ul
static inline float_mode get_float_mode(void)
{
    float_mode mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
#define set_float_mode(mode) __asm__ volatile("msr fpcr, %0" : : "r"((float_mode)(mode)))
#else
typedef int float_mode;
#define FLOAT_MODE 0
#define get_float_mode() 0
#define set_float_mode(mode) ((void)(mode))
#endif

#include "graphc.h"

#ifdef CLOCK_MONOTONIC_COARSE
#define COARSE_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define COARSE_CLOCK CLOCK_MONOTONIC
#endif

#include "pool.c"
#include "run.c"
