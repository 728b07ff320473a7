// SPDX-License-Identifier: Apache-2.0
/* What fail_nth (which runs a program and makes its system calls fail) and fail_alloc.so (in that program, and in each
 * that it starts: makes its allocations fail) share: a file that both map. Every call that may fail has a kind and a
 * number, counted by kind over all processes; the order of `kind`, `from` and `to` says which of them do. */
#ifndef TORTURE_H
#define TORTURE_H

#include <stdatomic.h>
#include <stdint.h>

#define TORTURE_KINDS	12
#define TORTURE_ALLOC	0
#define TORTURE_CALLERS 4
#define TORTURE_CALLS	(1u << 19)
/* getpgid() of this says that a program has begun: what the loader does before it is not tried. */
#define TORTURE_BEGUN (-0x70636d)

struct torture_call {
	uint8_t kind, pad[3];
	/* The system call; 0 for an allocation. */
	uint32_t number;
	/* Return addresses inside of the program, innermost first: words of the stack that look like one. */
	uint64_t callers[TORTURE_CALLERS];
};

struct torture {
	/* What fails: calls of this kind from number `from` to `to`, the first is 1. */
	uint32_t kind;
	uint64_t from, to;
	/* The program's own code. */
	_Atomic uint64_t text_begin, text_end;
	_Atomic uint64_t counted[TORTURE_KINDS];
	_Atomic uint64_t failed;
	/* What failed first. */
	struct torture_call first;
	_Atomic uint64_t n_calls;
	struct torture_call calls[TORTURE_CALLS];
};

/* Counts a call; whether it is to fail. words: its stack, from the innermost on. */
static inline int torture_fails(struct torture *t, uint8_t kind, uint32_t number,
				const uint64_t *words, unsigned n)
{
	struct torture_call call = {.kind = kind, .number = number};
	unsigned found = 0;
	for (unsigned i = 0; i < n && found < TORTURE_CALLERS; i++)
		if (words[i] > t->text_begin && words[i] < t->text_end)
			call.callers[found++] = words[i];
	uint64_t order = t->counted[kind]++ + 1, at = t->n_calls++;
	int fails = t->kind == kind && order >= t->from && order <= t->to;
	if (at < TORTURE_CALLS)
		t->calls[at] = call;
	if (fails && t->failed++ == 0)
		t->first = call;
	return fails;
}

#endif
