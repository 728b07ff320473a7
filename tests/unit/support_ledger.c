// SPDX-License-Identifier: Apache-2.0
#include "support_ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

uint64_t feed_random(uint64_t *state, uint64_t below)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (x ^ (x >> 31)) % below;
}

static uint64_t row_before(const struct cam_ledger_row *r, uint64_t t)
{
	if (t <= r->from_ns)
		return 0;
	if (t >= r->to_ns)
		return r->samples;
	return (uint64_t)((unsigned __int128)r->samples * (t - r->from_ns) /
			  (r->to_ns - r->from_ns));
}

int book_row(void *arg, const struct cam_ledger_row *r)
{
	struct book *b = arg;
	assert_true(r->samples > 0);
	assert_true(r->samples < 1u << 30);
	assert_true(r->to_ns >= r->from_ns);
	assert_true((unsigned)r->cause < CAM_CAUSE_MAX);
	assert_false(r->from_ns < b->cut_ns && b->cut_ns < r->to_ns);
	b->rows++;
	b->sum[r->cause] += r->samples;
	b->last[r->cause] = *r;
	if (r->cpu >= BOOK_CPUS)
		return b->answer;
	uint64_t first = r->from_ns / S, last = r->to_ns > r->from_ns ? (r->to_ns - 1) / S : first;
	assert_true(last < BOOK_SECONDS);
	for (uint64_t s = first; s <= last; s++)
		b->cell[r->cpu][s][r->cause] +=
			first == last ? r->samples
				      : row_before(r, (s + 1) * S) - row_before(r, s * S);
	return b->answer;
}

struct book *book_new(void)
{
	struct book *b = calloc(1, sizeof(*b));
	assert_non_null(b);
	return b;
}

struct cam_ledger *book_ledger(struct book *b, bool due_known, bool bpf)
{
	struct cam_ledger_options o = {
		.hz = HZ, .due_known = due_known, .bpf = bpf, .fn = book_row, .arg = b};
	struct cam_ledger *l;
	assert_int_equal(cam_ledger_new(&o, &l), 0);
	return l;
}

uint64_t book_cell(const struct book *b, uint32_t cpu, uint64_t second)
{
	uint64_t n = b->busy[cpu][second];
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++)
		n += b->cell[cpu][second][i];
	return n;
}

void feed_counts(struct cam_ledger *l, uint32_t cpu, uint64_t t, struct cam_raw_counts k)
{
	struct cam_raw r = {.type = CAM_RAW_COUNTS, .cpu = cpu, .time_ns = t, .counts = k};
	assert_int_equal(cam_ledger_raw(l, &r), 0);
}

void feed_counter(struct cam_ledger *l, uint32_t cpu, uint64_t t, uint64_t span,
		  enum cam_counter_kind kind, uint64_t value)
{
	struct cam_counter k = {t, span, kind, cpu, value};
	assert_int_equal(cam_ledger_counter(l, &k), 0);
}

void feed_state(struct cam_ledger *l, uint32_t cpu, uint64_t t, enum cam_raw_type type, bool online)
{
	struct cam_raw r = {.type = type, .cpu = cpu, .time_ns = t, .cpu_state = {online}};
	assert_int_equal(cam_ledger_raw(l, &r), 0);
}

void feed_lost(struct cam_ledger *l, uint32_t cpu, uint64_t from, uint64_t t, uint64_t n)
{
	struct cam_raw r = {
		.type = CAM_RAW_LOST, .cpu = cpu, .time_ns = t, .lost = {n, from, false}};
	assert_int_equal(cam_ledger_raw(l, &r), 0);
}
