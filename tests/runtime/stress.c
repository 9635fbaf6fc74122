/* Many callers, one pool: runs of two launches that are checked chunk by chunk, index faults, and forks. Built with a
 * sanitizer by test_native.py; prints what is wrong, then "done". Arguments: callers, rounds, and whether to fork. */
#include "native.c"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 3000, VALUE = 5 };
static int rounds, forks;

/* Adds to element c; reports the first element at or after arg[1]. */
static int64_t kernel(void *const *buf, const int64_t *arg, int64_t begin, int64_t end, void *scratch)
{
    int64_t *y = buf[0], *row = scratch;
    for (int64_t c = begin; c < end; c++) {
        for (int i = 0; i < 64; i++) row[i] = c;
        y[c] += row[63] + arg[0];
        if (arg[1] >= 0 && c >= arg[1]) return 1 + c;
    }
    return 0;
}

static int poll_nothing(void) { return 0; }

static void check(const int64_t *y, int64_t chunks, int64_t bad, int64_t result)
{
    if (result != (bad < 0 ? 0 : 1 + bad)) printf("result %ld, not for %ld\n", (long)result, (long)bad);
    for (int64_t c = 0; bad < 0 && c < chunks; c++)
        if (y[c] != 2 * (c + VALUE)) printf("element %ld is %ld\n", (long)c, (long)y[c]);
}

static void check_child(int64_t *image, const int64_t *call, int64_t expected)
{
    pid_t child = fork();
    if (!child) _exit(gc_run(image, (const char *)call, 3) == expected ? 0 : 9);
    int status;
    waitpid(child, &status, 0);
    if (status) printf("a child ended with %d\n", status);
}

static void *caller(void *first)
{
    int64_t *y = calloc(MOST, sizeof *y);
    int64_t call[2] = {0, (int64_t)(intptr_t)y};
    for (int round = 0; round < rounds; round++) {
        int64_t chunks = 1 + round * 37 % MOST, bad = round % 10 == 9 ? chunks / 2 : -1;
        const int64_t entry = (int64_t)(intptr_t)kernel, follows = bad < 0;    /* what follows must not stop */
        int64_t image[] = {0, 2, 14, 0, 0, entry, 512, 0, 1, 1, 2, 0, chunks, 1, VALUE, bad,
                           14, 0, follows, entry, 512 + 512 * (round & 1), 0, 1, 1, 2, 0, chunks, 1, VALUE, -1};
        memset(y, 0, MOST * sizeof *y);
        check(y, chunks, bad, gc_run(image, (const char *)call, 1 + round % 4));
        if (first && forks && round % 50 == 0) check_child(image, call, bad < 0 ? 0 : 1 + bad);
    }
    free(y);
    return NULL;
}

int main(int count, char **words)
{
    pthread_t threads[16];
    int callers = count > 1 ? atoi(words[1]) : 1;
    rounds = count > 2 ? atoi(words[2]) : 100;
    forks = count > 3;
    gc_init(poll_nothing);
    for (int i = 1; i < callers; i++) pthread_create(threads + i, NULL, caller, NULL);
    caller(words);
    for (int i = 1; i < callers; i++) pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
