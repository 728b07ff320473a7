// SPDX-License-Identifier: Apache-2.0
/*
 * libiberty, asked the way perf asks it (cplus_demangle() with DMGL_NO_OPTS and the style `auto`:
 * first Rust, then the C++ ABI), but through its callbacks: so no memory is allocated for the
 * output, and what outgrows its room can be stopped.
 *
 * Invariants
 *  1. DMGL_NO_RECURSE_LIMIT is never set.
 *  2. What does not fit the room is dropped; past OVERRUN_BYTES, or when the work is used up,
 *     the demangler is left by a jump. It works on the stack, but for one identifier's punycode in
 *     Rust v0 names: that buffer (a few KiB) is what a name with 64 KiB of readable form can make
 *     us lose.
 *  3. What was cut is still a prefix of the whole answer, and ends with a whole UTF-8 character.
 *
 * Example: "_ZNK3foo3barEiPKc" → "foo::bar"; "_ZN4core3fmt5write17h0123456789abcdefE" →
 * "core::fmt::write"; "_Zoo" → "_Zoo".
 */
#include "symbol/demangle.h"

#include "base/utf8.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

#define OVERRUN_BYTES (64u << 10)

struct output {
	char *room;
	size_t used, room_bytes, dropped;
	uint64_t *work;
	jmp_buf stop;
};

static void append(const char *text, size_t n, void *arg)
{
	struct output *o = arg;
	size_t left = o->room_bytes - o->used;
	size_t fits = n < left ? n : left;
	if (fits) /* an empty piece may come as NULL */
		memcpy(o->room + o->used, text, fits);
	o->used += fits;
	o->dropped += n - fits;
	*o->work -= n < *o->work ? n : *o->work;
	if (o->dropped > OVERRUN_BYTES || !*o->work)
		_longjmp(o->stop, 1);
}

/* Steps back over a character that the end of the room has cut. */
static size_t whole_characters(const char *p, size_t n)
{
	size_t k = n;
	while (k && n - k < 4 && ((unsigned char)p[k - 1] & 0xc0) == 0x80)
		k--;
	if (!k || (unsigned char)p[k - 1] < 0xc0)
		return n;
	struct cam_text last = {p + k - 1, n - k + 1};
	return cam_utf8_length(last) == last.n ? n : k - 1;
}

/* Older names of Rust are C++'s with a hash at the end; most have none, and need not be looked at twice. */
static bool may_be_rust(const char *name)
{
	return !strncmp(name, "_R", 2) || (!strncmp(name, "_ZN", 3) && strstr(name, "17h"));
}

/* Kept apart, so that no local variable lives across the jump. */
static __attribute__((noinline)) bool run(const char *name, struct output *o)
{
	if (_setjmp(o->stop))
		return true;
	if (may_be_rust(name) && rust_demangle_callback(name, DMGL_NO_OPTS, append, o))
		return true;
	o->used = o->dropped = 0;
	return cplus_demangle_v3_callback(name, DMGL_NO_OPTS, append, o) != 0;
}

struct cam_text cam_demangle(struct cam_text name, char *room, size_t room_bytes, uint64_t *work)
{
	/* All that libiberty would accept begins so; this spares plain C names the visit. */
	bool mangled = cam_text_starts(name, CAM_TEXT("_Z")) ||
		       cam_text_starts(name, CAM_TEXT("_R")) ||
		       cam_text_starts(name, CAM_TEXT("_GLOBAL_"));
	if (!mangled || name.n > CAM_DEMANGLE_MAX_BYTES || *work <= name.n)
		return name;
	*work -= name.n;
	struct output o = {.room = room, .room_bytes = room_bytes, .work = work};
	if (!run(name.p, &o))
		return name;
	if (o.dropped)
		o.used = whole_characters(room, o.used);
	return o.used ? (struct cam_text){room, o.used} : name;
}
