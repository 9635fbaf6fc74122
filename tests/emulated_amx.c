/* A processor's matrix unit for one that has none: what it does not know (SIGILL) is done here, if it is an instruction
   of AMX with tiles of 16 rows of 64 bytes, and left to the handler before otherwise. By Intel's manual, volume 2. */
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum { NONE, X66, XF3, XF2 };      /* prefixes that are part of an instruction */

static __thread union { uint8_t bytes[64]; int32_t words[16]; float floats[16]; } tiles[8][16];
static struct sigaction before;

static int64_t in_register(const greg_t *registers, int number)
{
    static const int place[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return registers[place[number]];
}

static float normal(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

static float of_bits(uint32_t half)
{
    float x;
    half <<= 16;
    memcpy(&x, &half, 4);
    return normal(x);
}

static void multiply_floats(int to, int left, int right)
{
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 16; n++) {
            float sums[2] = {0, 0};
            for (int k = 0; k < 16; k++)
                for (int i = 0; i < 2; i++) {
                    uint32_t x = tiles[left][m].words[k], y = tiles[right][k].words[n];
                    sums[i] = normal(fmaf(of_bits(x >> 16 * i & 0xffff), of_bits(y >> 16 * i & 0xffff), sums[i]));
                }
            tiles[to][m].floats[n] = normal(normal(tiles[to][m].floats[n]) + normal(sums[0] + sums[1]));
        }
}

static void multiply_bytes(int to, int left, int right, int left_signed, int right_signed)
{
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 16; n++) {
            uint32_t sum = tiles[to][m].words[n];
            for (int k = 0; k < 64; k++) {
                int x = tiles[left][m].bytes[k], y = tiles[right][k / 4].bytes[4 * n + k % 4];
                sum += (uint32_t)((left_signed ? (int8_t)x : x) * (right_signed ? (int8_t)y : y));
            }
            tiles[to][m].words[n] = sum;
        }
}

/* Do the instruction, and return its length, or 0. */
static int64_t done(const uint8_t *at, const greg_t *registers)
{
    if (at[0] != 0xc4 || (at[1] & 0x1f) != 2 || at[2] & 0x84) return 0;     /* VEX.128.0F38.W0 */
    const int prefix = at[2] & 3, other = ~at[2] >> 3 & 15, code = at[3];
    const int mode = at[4] >> 6, reg = at[4] >> 3 & 7, rm = at[4] & 7;
    if (code == 0x5c && prefix == XF3 && mode == 3) return multiply_floats(reg, rm, other), 5;
    if (code == 0x5e && mode == 3)
        return multiply_bytes(reg, rm, other, prefix == XF2 || prefix == XF3, prefix == XF2 || prefix == X66), 5;
    if (code == 0x49 && mode == 3 && prefix == XF2) return memset(tiles[reg], 0, sizeof *tiles), 5;
    if (code == 0x49 && mode == 3 && prefix == NONE) return 5;              /* tilerelease */
    if (mode == 3) return 0;
    const int64_t length = 5 + (rm == 4) + (mode == 1 ? 1 : mode == 2 ? 4 : rm == 5 ? 4 : 0);
    if (code == 0x49 && prefix == NONE) return length;                      /* ldtilecfg */
    if (code != 0x4b || rm != 4 || (prefix != XF2 && prefix != XF3)) return 0;
    int64_t moved = mode == 1 ? (int8_t)at[6] : 0;
    if (mode == 2 || (mode == 0 && (at[5] & 7) == 5)) return 0;             /* a long way: not by our compilers */
    const int index = (at[5] >> 3 & 7) | (at[1] & 0x40 ? 0 : 8), base = (at[5] & 7) | (at[1] & 0x20 ? 0 : 8);
    char *row = (char *)in_register(registers, base) + moved;
    const int64_t stride = in_register(registers, index) << (at[5] >> 6);
    for (int r = 0; r < 16; r++, row += stride)
        if (prefix == XF2) memcpy(tiles[reg][r].bytes, row, 64);
        else memcpy(row, tiles[reg][r].bytes, 64);
    return length;
}

static void met(int number, siginfo_t *info, void *context)
{
    (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const int64_t length = done((const uint8_t *)registers[REG_RIP], registers);
    registers[REG_RIP] += length;
    if (!length) sigaction(number, &before, 0);     /* which meets it again */
}

int emulate(void)
{
    struct sigaction own = {.sa_sigaction = met, .sa_flags = SA_SIGINFO | SA_NODEFER};
    return sigaction(SIGILL, &own, &before);
}
