// SPDX-License-Identifier: Apache-2.0
/* Rings in plain memory, filled as the kernel fills them. */
#pragma once
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_builder {
	union {
		struct perf_event_mmap_page page;
		uint8_t page_bytes[4096];
	} * head; /* the kernel's page */
	uint8_t *data;
	size_t bytes;
};

/* data_head and data_tail begin at `start`. */
void perf_builder_init(struct perf_builder *b, size_t bytes, uint64_t start);
void perf_builder_free(struct perf_builder *b);

/* A record under construction; its header's size is set by write(). */
struct perf_record {
	union {
		struct perf_event_header header;
		uint8_t bytes[65536];
	};
	size_t n;
};

void perf_record_begin(struct perf_record *r, uint32_t type, uint16_t misc);
void perf_record_u32(struct perf_record *r, uint32_t v);
void perf_record_u64(struct perf_record *r, uint64_t v);
/* With its NUL, padded to 8 as the kernel does. */
void perf_record_text(struct perf_record *r, const char *text);
/* What sample_id_all puts behind everything but samples. */
void perf_record_trailer(struct perf_record *r, uint32_t pid, uint32_t tid, uint64_t time,
			 uint32_t cpu);
/* A whole sample; pid and tid 7 and 8. */
void perf_record_sample(struct perf_record *r, uint16_t misc, uint64_t time, uint32_t cpu,
			const uint64_t *ips, uint64_t n);

/* Copies it to data_head, as far as it fits; false: lost. */
bool perf_builder_write(struct perf_builder *b, struct perf_record *r);
