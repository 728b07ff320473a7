// SPDX-License-Identifier: Apache-2.0
/*
 * What was sampled: the events of a perf.data file, each with its attr (the kernel's
 * perf_event_attr, as far as it says how records look), its ids, and the name that perf prints.
 *
 * Bounded: CAM_PERF_MAX_EVENTS events, CAM_PERF_MAX_IDS ids of all of them; names of
 * CAM_PERF_NAME_BYTES. What is more is left out: its samples are then of no known event, and counted.
 */
#pragma once
#include "base/index.h"
#include "interop/perf_data_bytes.h"

#define CAM_PERF_MAX_EVENTS 4096u
#define CAM_PERF_MAX_IDS    (1u << 20)
#define CAM_PERF_NAME_BYTES 256u

/* Bits of cam_perf_attr.flags that are looked at; as in the kernel's header, from 0. */
enum {
	CAM_PERF_FLAG_EXCLUDE_USER = 4,
	CAM_PERF_FLAG_EXCLUDE_KERNEL = 5,
	CAM_PERF_FLAG_EXCLUDE_HV = 6,
	CAM_PERF_FLAG_FREQ = 10,
	CAM_PERF_FLAG_PRECISE = 15, /* two bits */
	CAM_PERF_FLAG_SAMPLE_ID_ALL = 18,
	CAM_PERF_FLAG_EXCLUDE_HOST = 19,
	CAM_PERF_FLAG_EXCLUDE_GUEST = 20,
	CAM_PERF_FLAG_USE_CLOCKID = 25,
};

struct cam_perf_attr {
	uint32_t type;
	uint32_t size; /* in the file */
	uint64_t config, config1;
	uint64_t period; /* or frequency: CAM_PERF_FLAG_FREQ */
	uint64_t sample_type, read_format;
	uint64_t flags; /* bit i is the i-th flag of the kernel's header, whatever the byte order */
	uint64_t branch_type, regs_user, regs_intr;
	uint32_t bp_type;
	int32_t clockid;
};

struct cam_perf_event {
	struct cam_perf_attr attr;
	char name[CAM_PERF_NAME_BYTES];
	size_t name_n;
	/* Where a record of this event has its time: bytes from its start (a sample) or from its end
	 * (any other); 0: nowhere. */
	uint16_t time_at, time_before_end;
	uint16_t id_at, id_before_end;
	/* A sample's chain, if that is the last of its fields and all are at fixed places: these, 0: it has it not. All are
	 * 0 if it is not. */
	uint16_t last_chain_at, ip_at, pid_at, cpu_at, period_at;
	uint64_t period_ns;  /* nominal time between two samples; 0: not known */
	bool tracepoint;     /* its samples carry fields */
	uint32_t sink_id;    /* for who delivers samples */
	uint32_t generation; /* of sink_id */
	uint32_t format;     /* the number of its format + 1; 0: not known */
};

struct cam_perf_events {
	struct cam_perf_event *rows;
	size_t n, cap;
	struct cam_perf_id {
		uint64_t id;
		uint32_t event;
		uint64_t counted; /* what it was last said to have */
	} * ids;
	size_t n_ids, cap_ids;
	struct cam_index index;
	uint32_t last; /* the row of ids that was found last */
};

void cam_perf_events_free(struct cam_perf_events *e);

/* Decodes an attr of `n` bytes at p. False: too short to be one. */
bool cam_perf_attr_decode(const void *p, size_t n, bool swap, struct cam_perf_attr *out);
/* The name that perf makes of an attr, "cycles:u"; how many bytes. */
size_t cam_perf_attr_name(const struct cam_perf_attr *a, char *room, size_t bytes);

/* -E2BIG: no more fit; -ENOMEM. *number: for cam_perf_events_add_id(). */
int cam_perf_events_add(struct cam_perf_events *e, const struct cam_perf_attr *a, uint32_t *number);
int cam_perf_events_add_id(struct cam_perf_events *e, uint32_t number, uint64_t id);
void cam_perf_event_rename(struct cam_perf_event *event, struct cam_text name);
/* The event with this id, or NULL. */
struct cam_perf_event *cam_perf_events_find(struct cam_perf_events *e, uint64_t id);
/* The same; *more: by how much `count` is above what was said before. */
struct cam_perf_event *cam_perf_events_count(struct cam_perf_events *e, uint64_t id, uint64_t count,
					     uint64_t *more);
/*
 * The event that a record is of: by the id it carries, or the only one there is; NULL: not known.
 * `record` is a whole record, its size checked to be at least 8 and a multiple of 8.
 */
struct cam_perf_event *cam_perf_events_of(struct cam_perf_events *e, const uint8_t *record,
					  size_t bytes, bool is_sample, bool swap);

/*
 * How many bytes of a record are its own. Kernels write some (KSYMBOL, BPF_EVENT, TEXT_POKE) longer than they are, by what
 * was added for the rings that they wrote it to before; the time and the id are not at the end of those, but where they belong.
 */
size_t cam_perf_events_trim(const struct cam_perf_events *e, const uint8_t *record, size_t bytes,
			    bool swap);
/* Bytes at the end of a record that is no sample: who it is about, when, and of which event. */
size_t cam_perf_event_trailer(const struct cam_perf_event *event);

static inline bool cam_perf_attr_flag(const struct cam_perf_attr *a, unsigned bit)
{
	return a->flags >> bit & 1;
}
