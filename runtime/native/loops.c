/* Loops and branches: steps that run images inside their own.
 *
 * An inner image has a call of its own: the address of its arena, its inputs, its outputs, its parameters. A loop makes
 * it once and moves the addresses from turn to turn.
 *
 *     loop    struct loop, then for each carried buffer {initial, result, spare, bytes}, for each sliced and stacked
 *             one {operand, stride}, then the operands of what stays, indices of the parameters into call, the body's
 *             image, the test's image
 *     branch  struct branch, then operands of the inputs and the outputs, indices of the parameters, two images
 *
 * The inputs of a body: carried, sliced, arrays. Its outputs: carried, stacked. A spare that is the result: the body
 * works in place. */

#define NO_SPARE INT64_MIN

struct loop {
    int64_t length, kind;
    int64_t turns;          /* -1: while the test holds */
    int64_t reverse, arena, carried, sliced, stacked, arrays, params;
    int64_t body, test;     /* where their images begin, in words from here */
    int64_t words[];
};

struct branch {
    int64_t length, kind, condition, arena, inputs, outputs, params;
    int64_t images[2];
    int64_t words[];
};

struct carried { int64_t initial, result, spare, bytes; };
struct sliced { int64_t operand, stride; };

#define AS_WORD(address) ((int64_t)(intptr_t)(address))

/* Where a turn finds and leaves what it carries. */
static void first_turn(const struct loop *s, const int64_t *call, int64_t *in, int64_t *out)
{
    const struct carried *c = (const struct carried *)s->words;
    for (int64_t k = 0; k < s->carried; k++, c++) {
        in[k] = AS_WORD(address(c->initial, call));
        out[k] = AS_WORD(address(c->result, call));
        if (c->spare == NO_SPARE) {
            if (in[k] != out[k] && c->bytes) memmove((void *)(intptr_t)out[k], (void *)(intptr_t)in[k], c->bytes);
            in[k] = out[k];
        } else if (s->turns > 0 && s->turns % 2 == 0) {     /* so that the last turn writes the result */
            out[k] = AS_WORD(address(c->spare, call));
        }
    }
}

static void next_turn(const struct loop *s, const int64_t *call, int64_t *in, int64_t *out)
{
    const struct carried *c = (const struct carried *)s->words;
    for (int64_t k = 0; k < s->carried; k++, c++) {
        if (c->spare == NO_SPARE) continue;
        int64_t result = AS_WORD(address(c->result, call));
        in[k] = out[k];
        out[k] = in[k] == result ? AS_WORD(address(c->spare, call)) : result;
    }
}

static void move_slices(const struct sliced *slice, int64_t count, int64_t *at, int64_t turns)
{
    for (int64_t k = 0; k < count; k++) at[k] += slice[k].stride * turns;
}

/* What the last turn left belongs into the result. */
static void keep_results(const struct loop *s, const int64_t *call, const int64_t *in)
{
    const struct carried *c = (const struct carried *)s->words;
    for (int64_t k = 0; k < s->carried; k++, c++) {
        void *result = address(c->result, call);
        if (AS_WORD(result) != in[k] && c->bytes) memmove(result, (void *)(intptr_t)in[k], c->bytes);
    }
}

static int64_t run_turns(struct loop *s, const int64_t *call, int64_t *body, int64_t *test, int64_t threads,
                         struct watch *w)
{
    const struct sliced *slice = (const struct sliced *)(s->words + 4 * s->carried);
    int64_t inputs = s->carried + s->sliced + s->arrays, *in = body + 1, *out = in + inputs;
    int64_t *image = (int64_t *)s, inner, step = s->reverse ? -1 : 1;
    if (s->reverse) {
        move_slices(slice, s->sliced, in + s->carried, s->turns - 1);
        move_slices(slice + s->sliced, s->stacked, out + s->carried, s->turns - 1);
    }
    for (int64_t turn = 0; s->turns < 0 || turn < s->turns; turn++) {
        if (s->turns < 0) {
            char again = 0;
            memcpy(test + 1, in, (size_t)inputs * sizeof *in);
            test[1 + inputs] = AS_WORD(&again);
            int64_t result = run_steps(image + s->test, test, threads, w, &inner);
            if (result) return result;
            if (!again) break;
        }
        int64_t result = run_steps(image + s->body, body, threads, w, &inner);
        if (!result && watch_says_stop(w)) result = w->stop;
        if (result) return result;
        next_turn(s, call, in, out);
        move_slices(slice, s->sliced, in + s->carried, step);
        move_slices(slice + s->sliced, s->stacked, out + s->carried, step);
    }
    keep_results(s, call, in);
    return GC_OK;
}

static int64_t run_loop(struct loop *s, const int64_t *call, int64_t threads, struct watch *w)
{
    int64_t inputs = s->carried + s->sliced + s->arrays, outputs = s->carried + s->stacked;
    int64_t most = 2 + inputs + outputs + s->params, space[128];
    int64_t *body = 2 * most <= 128 ? space : malloc((size_t)(2 * most) * sizeof *body), *test = body + most;
    if (!body) return GC_NO_MEMORY;
    const int64_t *word = s->words + 4 * s->carried;
    body[0] = test[0] = AS_WORD(address(s->arena, call));
    first_turn(s, call, body + 1, body + 1 + inputs);
    int64_t *at = body + 1 + s->carried;
    for (int64_t k = 0; k < s->sliced; k++, word += 2) *at++ = AS_WORD(address(*word, call));
    for (int64_t k = 0; k < s->stacked; k++, word += 2)
        body[1 + inputs + s->carried + k] = AS_WORD(address(*word, call));
    for (int64_t k = 0; k < s->arrays; k++) *at++ = AS_WORD(address(*word++, call));
    for (int64_t k = 0; k < s->params; k++, word++)
        body[1 + inputs + outputs + k] = test[2 + inputs + k] = call[*word];
    int64_t result = run_turns(s, call, body, test, threads, w);
    if (body != space) free(body);
    return result;
}

static int64_t run_branch(struct branch *s, const int64_t *call, int64_t threads, struct watch *w)
{
    int64_t count = s->inputs + s->outputs, needed = 1 + count + s->params, space[64], inner;
    int64_t *own = needed <= 64 ? space : malloc((size_t)needed * sizeof *own);
    if (!own) return GC_NO_MEMORY;
    own[0] = AS_WORD(address(s->arena, call));
    for (int64_t k = 0; k < count; k++) own[1 + k] = AS_WORD(address(s->words[k], call));
    for (int64_t k = 0; k < s->params; k++) own[1 + count + k] = call[s->words[count + k]];
    int64_t which = *(const char *)address(s->condition, call) ? 0 : 1;
    int64_t result = run_steps((int64_t *)s + s->images[which], own, threads, w, &inner);
    if (own != space) free(own);
    return result;
}
