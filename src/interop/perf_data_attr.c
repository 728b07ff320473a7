// SPDX-License-Identifier: Apache-2.0
#include "interop/perf_data_attr.h"

#include "base/units.h"
#include "base/vec.h"

#include <linux/perf_event.h>
#include <stdio.h>

#define MIN_ATTR_BYTES 48u /* up to and with the flags */
#define HEADER_BYTES   8u
#define FIXED_BYTES    24u /* of the records that cam_perf_events_trim() knows, at least */

/* Bit fields fill a byte from its low end, or in the other byte order from its high one. */
static uint64_t decode_flags(const uint8_t *p, bool big)
{
	uint64_t flags = 0;
	for (unsigned i = 0; i < 64; i++) {
		unsigned bit = big ? 7 - i % 8 : i % 8;
		flags |= (uint64_t)(p[i / 8] >> bit & 1) << i;
	}
	return flags;
}

static bool host_is_big(void)
{
	const uint16_t one = 1;
	uint8_t first;
	memcpy(&first, &one, 1);
	return first == 0;
}

bool cam_perf_attr_decode(const void *p, size_t n, bool swap, struct cam_perf_attr *out)
{
	const uint8_t *b = p;
	uint8_t whole[112] = {0};
	*out = (struct cam_perf_attr){0};
	if (n < MIN_ATTR_BYTES)
		return false;
	/* Older attrs are shorter: what they do not have is 0. */
	memcpy(whole, b, n < sizeof(whole) ? n : sizeof(whole));
	b = whole;
	out->type = cam_perf_load_u32(b, swap);
	out->size = cam_perf_load_u32(b + 4, swap);
	out->config = cam_perf_load_u64(b + 8, swap);
	out->period = cam_perf_load_u64(b + 16, swap);
	out->sample_type = cam_perf_load_u64(b + 24, swap);
	out->read_format = cam_perf_load_u64(b + 32, swap);
	out->flags = decode_flags(b + 40, swap != host_is_big());
	out->bp_type = cam_perf_load_u32(b + 52, swap);
	out->config1 = cam_perf_load_u64(b + 56, swap);
	out->branch_type = cam_perf_load_u64(b + 72, swap);
	out->regs_user = cam_perf_load_u64(b + 80, swap);
	out->clockid = (int32_t)cam_perf_load_u32(b + 92, swap);
	out->regs_intr = cam_perf_load_u64(b + 96, swap);
	return true;
}

static int cache_name(uint64_t config, char *room, size_t bytes)
{
	static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
					     "iTLB",	  "branch",    "node"};
	static const char *const ops[][2] = {
		{"load", "loads"}, {"store", "stores"}, {"prefetch", "prefetches"}};
	unsigned cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;
	if (cache >= 7 || op >= 3 || result >= 2)
		return snprintf(room, bytes, "unknown-ext-hardware-cache-type");
	if (result)
		return snprintf(room, bytes, "%s-%s-misses", caches[cache], ops[op][0]);
	return snprintf(room, bytes, "%s-%s", caches[cache], ops[op][1]);
}

static int base_name(const struct cam_perf_attr *a, char *room, size_t bytes)
{
	static const char *const hardware[] = {
		"cycles",
		"instructions",
		"cache-references",
		"cache-misses",
		"branches",
		"branch-misses",
		"bus-cycles",
		"stalled-cycles-frontend",
		"stalled-cycles-backend",
		"ref-cycles",
	};
	static const char *const software[] = {
		"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
	};
	switch (a->type) {
	case PERF_TYPE_HARDWARE:
		if (a->config < sizeof(hardware) / sizeof(hardware[0]))
			return snprintf(room, bytes, "%s", hardware[a->config]);
		return snprintf(room, bytes, "unknown-hardware");
	case PERF_TYPE_SOFTWARE:
		if (a->config < sizeof(software) / sizeof(software[0]))
			return snprintf(room, bytes, "%s", software[a->config]);
		return snprintf(room, bytes, "unknown-software");
	case PERF_TYPE_HW_CACHE:
		return cache_name(a->config, room, bytes);
	case PERF_TYPE_BREAKPOINT:
		return snprintf(room, bytes, "mem:0x%llx:%s%s%s", (unsigned long long)a->config1,
				a->bp_type & 1 ? "r" : "", a->bp_type & 2 ? "w" : "",
				a->bp_type & 4 ? "x" : "");
	case PERF_TYPE_TRACEPOINT:
		return snprintf(room, bytes, "unknown tracepoint");
	case PERF_TYPE_RAW:
		return snprintf(room, bytes, "raw 0x%llx", (unsigned long long)a->config);
	default:
		return snprintf(room, bytes, "unknown attr type: %u", a->type);
	}
}

/* ":u", ":kppp": what was not excluded, where something was. */
static int modifiers(const struct cam_perf_attr *a, char *room, size_t bytes)
{
	bool user = cam_perf_attr_flag(a, CAM_PERF_FLAG_EXCLUDE_USER);
	bool kernel = cam_perf_attr_flag(a, CAM_PERF_FLAG_EXCLUDE_KERNEL);
	bool hv = cam_perf_attr_flag(a, CAM_PERF_FLAG_EXCLUDE_HV);
	bool host = cam_perf_attr_flag(a, CAM_PERF_FLAG_EXCLUDE_HOST);
	bool guest = cam_perf_attr_flag(a, CAM_PERF_FLAG_EXCLUDE_GUEST);
	unsigned precise = a->flags >> CAM_PERF_FLAG_PRECISE & 3;
	bool part = user || kernel || hv, side = host != guest;
	if (!part && !precise && !side)
		return snprintf(room, bytes, "%s", "");
	return snprintf(room, bytes, ":%s%s%s%.*s%s%s", part && !kernel ? "k" : "",
			part && !user ? "u" : "", part && !hv ? "h" : "", (int)precise, "ppp",
			side && !host ? "H" : "", side && !guest ? "G" : "");
}

size_t cam_perf_attr_name(const struct cam_perf_attr *a, char *room, size_t bytes)
{
	int n = base_name(a, room, bytes);
	if (n > 0 && (size_t)n < bytes &&
	    (a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_SOFTWARE ||
	     a->type == PERF_TYPE_HW_CACHE || a->type == PERF_TYPE_RAW))
		modifiers(a, room + n, bytes - (size_t)n);
	return strlen(room);
}

/* The fields of eight bytes that stand before `field` in a sample, if it has it. */
static uint16_t sample_at(uint64_t type, uint64_t field)
{
	static const uint64_t order[] = {
		PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,	  PERF_SAMPLE_TID,	 PERF_SAMPLE_TIME,
		PERF_SAMPLE_ADDR,	PERF_SAMPLE_ID,	  PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
		PERF_SAMPLE_PERIOD,	PERF_SAMPLE_READ, PERF_SAMPLE_CALLCHAIN,
	};
	uint16_t at = HEADER_BYTES;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (order[i] == field)
			return type & field ? at : 0;
		at = (uint16_t)(at + (type & order[i] ? 8 : 0));
	}
	return 0;
}

/* And from the end of any other record, which carries some of them behind its own fields. */
static uint16_t before_end(uint64_t type, uint64_t field)
{
	static const uint64_t order[] = {
		PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_CPU,  PERF_SAMPLE_STREAM_ID,
		PERF_SAMPLE_ID,		PERF_SAMPLE_TIME, PERF_SAMPLE_TID,
	};
	uint16_t at = 0;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		at = (uint16_t)(at + (type & order[i] ? 8 : 0));
		if (order[i] == field)
			return type & field ? at : 0;
	}
	return 0;
}

/* Values that are read along (PERF_SAMPLE_READ) stand before a chain and have no fixed size. */
static void find_chain(struct cam_perf_event *e, uint64_t type)
{
	uint64_t behind = (type & ~(uint64_t)PERF_SAMPLE_IDENTIFIER) >> 10;
	if (behind || type & PERF_SAMPLE_READ || !(type & PERF_SAMPLE_TID))
		return;
	e->last_chain_at = sample_at(type, PERF_SAMPLE_CALLCHAIN);
	e->ip_at = sample_at(type, PERF_SAMPLE_IP);
	e->pid_at = sample_at(type, PERF_SAMPLE_TID);
	e->cpu_at = sample_at(type, PERF_SAMPLE_CPU);
	e->period_at = sample_at(type, PERF_SAMPLE_PERIOD);
}

static void place_fields(struct cam_perf_event *e)
{
	uint64_t type = e->attr.sample_type;
	bool identifier = type & PERF_SAMPLE_IDENTIFIER;
	uint64_t id = identifier ? PERF_SAMPLE_IDENTIFIER : PERF_SAMPLE_ID;
	e->time_at = sample_at(type, PERF_SAMPLE_TIME);
	e->id_at = sample_at(type, id);
	find_chain(e, type);
	if (cam_perf_attr_flag(&e->attr, CAM_PERF_FLAG_SAMPLE_ID_ALL)) {
		e->time_before_end = before_end(type, PERF_SAMPLE_TIME);
		e->id_before_end = before_end(type, id);
	}
}

static uint64_t nominal_period(const struct cam_perf_attr *a)
{
	bool clock = a->type == PERF_TYPE_SOFTWARE && (a->config == PERF_COUNT_SW_CPU_CLOCK ||
						       a->config == PERF_COUNT_SW_TASK_CLOCK);
	if (!a->period)
		return 0;
	if (cam_perf_attr_flag(a, CAM_PERF_FLAG_FREQ))
		return CAM_NS_PER_SEC / a->period;
	return clock ? a->period : 0;
}

int cam_perf_events_add(struct cam_perf_events *e, const struct cam_perf_attr *a, uint32_t *number)
{
	int err =
		cam_vec_reserve(&e->rows, &e->cap, e->n + 1, sizeof(*e->rows), CAM_PERF_MAX_EVENTS);
	if (err)
		return err;
	struct cam_perf_event *row = &e->rows[e->n];
	*row = (struct cam_perf_event){.attr = *a};
	row->name_n = cam_perf_attr_name(a, row->name, sizeof(row->name));
	row->period_ns = nominal_period(a);
	row->tracepoint = a->type == PERF_TYPE_TRACEPOINT;
	place_fields(row);
	*number = (uint32_t)e->n++;
	return 0;
}

static bool same_id(const void *rows, uint32_t row, const void *key)
{
	return ((const struct cam_perf_id *)rows)[row].id == *(const uint64_t *)key;
}

int cam_perf_events_add_id(struct cam_perf_events *e, uint32_t number, uint64_t id)
{
	uint64_t hash = cam_hash_u64(id, 1);
	uint32_t row = cam_index_find(&e->index, hash, same_id, e->ids, &id);
	if (row != CAM_INDEX_NONE) {
		e->ids[row].event = number;
		return 0;
	}
	int err = cam_vec_reserve(&e->ids, &e->cap_ids, e->n_ids + 1, sizeof(*e->ids),
				  CAM_PERF_MAX_IDS);
	if (!err)
		err = cam_index_reserve(&e->index);
	if (err)
		return err;
	e->ids[e->n_ids] = (struct cam_perf_id){id, number, 0};
	cam_index_add(&e->index, hash, (uint32_t)e->n_ids++);
	return 0;
}

void cam_perf_event_rename(struct cam_perf_event *event, struct cam_text name)
{
	event->name_n = name.n < sizeof(event->name) ? name.n : sizeof(event->name);
	memcpy(event->name, name.p, event->name_n);
}

struct cam_perf_event *cam_perf_events_find(struct cam_perf_events *e, uint64_t id)
{
	if (e->last < e->n_ids && e->ids[e->last].id == id)
		return &e->rows[e->ids[e->last].event];
	uint32_t row = cam_index_find(&e->index, cam_hash_u64(id, 1), same_id, e->ids, &id);
	if (row == CAM_INDEX_NONE)
		return NULL;
	e->last = row;
	return &e->rows[e->ids[row].event];
}

struct cam_perf_event *cam_perf_events_count(struct cam_perf_events *e, uint64_t id, uint64_t count,
					     uint64_t *more)
{
	struct cam_perf_event *found = cam_perf_events_find(e, id);
	if (!found)
		return NULL;
	*more = count - e->ids[e->last].counted;
	e->ids[e->last].counted = count;
	return found;
}

struct cam_perf_event *cam_perf_events_of(struct cam_perf_events *e, const uint8_t *record,
					  size_t bytes, bool is_sample, bool swap)
{
	if (!e->n)
		return NULL;
	struct cam_perf_event *first = &e->rows[0];
	if (e->n == 1)
		return first;
	/* perf lets only such events into one file whose ids stand at the same place. */
	size_t at = is_sample ? first->id_at : first->id_before_end;
	if (!at || at + 8u > bytes)
		return is_sample ? NULL : first;
	const uint8_t *p = is_sample ? record + at : record + bytes - at;
	struct cam_perf_event *found = cam_perf_events_find(e, cam_perf_load_u64(p, swap));
	/* What perf itself made up (mappings of before) has the id 0. */
	return found || is_sample ? found : first;
}

size_t cam_perf_event_trailer(const struct cam_perf_event *event)
{
	static const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
				       PERF_SAMPLE_IDENTIFIER;
	if (!cam_perf_attr_flag(&event->attr, CAM_PERF_FLAG_SAMPLE_ID_ALL))
		return 0;
	return 8u * (unsigned)__builtin_popcountll(event->attr.sample_type & fields);
}

size_t cam_perf_events_trim(const struct cam_perf_events *e, const uint8_t *record, size_t bytes,
			    bool swap)
{
	size_t own = FIXED_BYTES;
	if (!e->n || bytes < own)
		return bytes;
	switch (cam_perf_load_u32(record, swap)) {
	case PERF_RECORD_KSYMBOL: /* address, length, type, flags; a name that ends with a zero */
		own += strnlen((const char *)record + own, bytes - own) + 1;
		break;
	case PERF_RECORD_BPF_EVENT: /* type, flags, id, tag */
		break;
	case PERF_RECORD_TEXT_POKE: /* address, two lengths; as many bytes */
		own = 20u + cam_perf_load_u16(record + 16, swap) +
		      cam_perf_load_u16(record + 18, swap);
		break;
	default:
		return bytes;
	}
	own = ((own + 7) & ~(size_t)7) + cam_perf_event_trailer(&e->rows[0]);
	return own < bytes ? own : bytes;
}

void cam_perf_events_free(struct cam_perf_events *e)
{
	free(e->rows);
	free(e->ids);
	cam_index_free(&e->index);
	*e = (struct cam_perf_events){0};
}
