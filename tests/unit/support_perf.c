// SPDX-License-Identifier: Apache-2.0
#include "support_perf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void perf_builder_init(struct perf_builder *b, size_t bytes, uint64_t start)
{
	b->head = aligned_alloc(4096, sizeof(*b->head));
	b->data = aligned_alloc(4096, bytes);
	assert_non_null(b->head);
	assert_non_null(b->data);
	memset(b->head, 0, sizeof(*b->head));
	memset(b->data, 0xa5, bytes);
	b->bytes = bytes;
	b->head->page.data_head = b->head->page.data_tail = start;
}

void perf_builder_free(struct perf_builder *b)
{
	free(b->head);
	free(b->data);
}

void perf_record_begin(struct perf_record *r, uint32_t type, uint16_t misc)
{
	r->header = (struct perf_event_header){.type = type, .misc = misc};
	r->n = sizeof(r->header);
}

static void append(struct perf_record *r, const void *bytes, size_t n)
{
	assert_true(r->n + n <= sizeof(r->bytes));
	memcpy(r->bytes + r->n, bytes, n);
	r->n += n;
}

void perf_record_u32(struct perf_record *r, uint32_t v)
{
	append(r, &v, sizeof(v));
}

void perf_record_u64(struct perf_record *r, uint64_t v)
{
	append(r, &v, sizeof(v));
}

void perf_record_text(struct perf_record *r, const char *text)
{
	append(r, text, strlen(text) + 1);
	while (r->n % 8)
		append(r, "", 1);
}

void perf_record_trailer(struct perf_record *r, uint32_t pid, uint32_t tid, uint64_t time,
			 uint32_t cpu)
{
	perf_record_u32(r, pid);
	perf_record_u32(r, tid);
	perf_record_u64(r, time);
	perf_record_u32(r, cpu);
	perf_record_u32(r, 0);
}

void perf_record_sample(struct perf_record *r, uint16_t misc, uint64_t time, uint32_t cpu,
			const uint64_t *ips, uint64_t n)
{
	perf_record_begin(r, PERF_RECORD_SAMPLE, misc);
	perf_record_trailer(r, 7, 8, time, cpu);
	perf_record_u64(r, n);
	append(r, ips, n * sizeof(*ips));
}

bool perf_builder_write(struct perf_builder *b, struct perf_record *r)
{
	struct perf_event_mmap_page *page = &b->head->page;

	assert_true(r->n < 65536);
	r->header.size = (uint16_t)r->n;
	if (page->data_head - page->data_tail + r->n > b->bytes)
		return false;
	for (size_t i = 0; i < r->n; i++)
		b->data[(page->data_head + i) & (b->bytes - 1)] = r->bytes[i];
	page->data_head += r->n;
	return true;
}
