// SPDX-License-Identifier: Apache-2.0
#include "interop/perf_data_header.h"

#include "base/runs.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAGIC		  0x32454c4946524550ull /* "PERFILE2" */
#define FILE_HEADER_BYTES 104u
#define PIPE_HEADER_BYTES 16u
#define MAX_ATTRS_BYTES	  (4u << 20)
#define MAX_FEATURE_BYTES (64u << 20)
#define MAX_CPUS	  65536u
#define FACT_BYTES	  256u
#define BUILD_ID_SIZE_BIT (1u << 15)
#define BUILD_ID_ROOM	  24u

/* Numbers of features, as perf counts them. */
enum {
	TRACING_DATA = 1,
	BUILD_ID = 2,
	HOSTNAME = 3,
	OSRELEASE = 4,
	VERSION = 5,
	ARCH = 6,
	NRCPUS = 7,
	CPUDESC = 8,
	CPUID = 9,
	TOTAL_MEM = 10,
	EVENT_DESC = 12,
	CPU_TOPOLOGY = 13,
	NUMA_TOPOLOGY = 14,
	SAMPLE_TIME = 21,
	COMPRESSED = 27,
	CLOCK_DATA = 29,
	FEATURE_BITS = 256,
};

struct cam_perf_header cam_perf_header_parse(struct cam_text first)
{
	struct cam_perf_header h = {0};
	const uint8_t *p = (const uint8_t *)first.p;
	if (first.n < PIPE_HEADER_BYTES)
		return h;
	/* The magic is a number: in the other byte order it reads backwards. */
	h.swap = cam_perf_load_u64(p, false) != MAGIC;
	if (cam_perf_load_u64(p, h.swap) != MAGIC)
		return h;
	h.bytes = cam_perf_load_u64(p + 8, h.swap);
	if (h.bytes == PIPE_HEADER_BYTES) {
		h.form = CAM_PERF_FORM_PIPE;
		return h;
	}
	if (h.bytes < FILE_HEADER_BYTES - 32 || h.bytes > 4096 || first.n < FILE_HEADER_BYTES)
		return h;
	h.form = CAM_PERF_FORM_FILE;
	h.attr_bytes = cam_perf_load_u64(p + 16, h.swap);
	h.attrs_at = cam_perf_load_u64(p + 24, h.swap);
	h.attrs_bytes = cam_perf_load_u64(p + 32, h.swap);
	h.data_at = cam_perf_load_u64(p + 40, h.swap);
	h.data_bytes = cam_perf_load_u64(p + 48, h.swap);
	for (unsigned i = 0; i < 4 && h.bytes >= FILE_HEADER_BYTES; i++)
		h.features[i] = cam_perf_load_u64(p + 72 + 8ul * i, h.swap);
	return h;
}

/* A piece of the file in memory of its own; -EBADMSG: it is not all there. */
static int read_piece(const struct cam_perf_file *f, uint64_t at, uint64_t n, uint64_t most,
		      uint8_t **out)
{
	if (n > most || at > f->bytes || n > f->bytes - at)
		return -EBADMSG;
	uint8_t *room = malloc(n ? n : 1);
	if (!room)
		return -ENOMEM;
	for (uint64_t done = 0; done < n;) {
		ssize_t got = f->read_at(f->arg, room + done, n - done, at + done);
		if (got <= 0) {
			free(room);
			return got ? (int)got : -EBADMSG;
		}
		done += (uint64_t)got;
	}
	*out = room;
	return 0;
}

/* The ids of one event, a list somewhere in the file. *left: of all events, since thousands may say that the same place is theirs. */
static int read_ids(const struct cam_perf_header *h, const struct cam_perf_file *f, uint64_t at,
		    uint64_t bytes, struct cam_perf_events *events, uint32_t number, uint64_t *left)
{
	uint8_t *p;
	int err = read_piece(f, at, bytes, *left * 8, &p);
	if (err)
		return err == -EBADMSG ? 0 : err;
	*left -= bytes / 8;
	for (uint64_t i = 0; i + 8 <= bytes && !err; i += 8)
		err = cam_perf_events_add_id(events, number, cam_perf_load_u64(p + i, h->swap));
	free(p);
	return err == -E2BIG ? 0 : err;
}

int cam_perf_header_events(const struct cam_perf_header *h, const struct cam_perf_file *f,
			   struct cam_perf_events *events)
{
	uint8_t *p;
	uint64_t left = CAM_PERF_MAX_IDS;
	if (h->attr_bytes < 16 + 48 || h->attr_bytes > 4096)
		return -EBADMSG;
	int err = read_piece(f, h->attrs_at, h->attrs_bytes, MAX_ATTRS_BYTES, &p);
	if (err)
		return err;
	for (uint64_t at = 0; at + h->attr_bytes <= h->attrs_bytes && !err; at += h->attr_bytes) {
		const uint8_t *ids = p + at + h->attr_bytes - 16;
		struct cam_perf_attr a;
		uint32_t number;
		if (!cam_perf_attr_decode(p + at, h->attr_bytes - 16, h->swap, &a))
			continue;
		err = cam_perf_events_add(events, &a, &number);
		if (!err)
			err = read_ids(h, f, cam_perf_load_u64(ids, h->swap),
				       cam_perf_load_u64(ids + 8, h->swap), events, number, &left);
	}
	free(p);
	if (err == -E2BIG)
		err = 0;
	return err ? err : events->n ? 0 : -EBADMSG;
}

/* A length, then so many bytes, of which the text ends with the first zero. */
static struct cam_text take_string(struct cam_perf_bytes *b)
{
	uint32_t n = cam_perf_bytes_u32(b);
	const char *p = (const char *)cam_perf_bytes_take(b, n);
	return p ? (struct cam_text){p, strnlen(p, n)} : (struct cam_text){"", 0};
}

static int say_fact(const struct cam_perf_features *to, const char *key, struct cam_text value)
{
	if (!value.n)
		return 0;
	value.n = value.n < FACT_BYTES ? value.n : FACT_BYTES;
	int err = cam_sink_fact(to->sink, cam_text_of(key), value);
	return err == -E2BIG ? 0 : err;
}

static int say_number(const struct cam_perf_features *to, const char *key, const char *format,
		      uint64_t v)
{
	char room[64];
	int n = snprintf(room, sizeof(room), "%" PRIu64 "%s", v, format);
	return say_fact(to, key, (struct cam_text){room, (size_t)n});
}

static int say_time(const struct cam_perf_features *to, const char *key, uint64_t ns)
{
	char room[64];
	int n = snprintf(room, sizeof(room), "%llu.%06llu", ns / CAM_NS_PER_SEC,
			 ns % CAM_NS_PER_SEC / CAM_NS_PER_US);
	return say_fact(to, key, (struct cam_text){room, (size_t)n});
}

static int take_release(const struct cam_perf_features *to, struct cam_text release)
{
	char *room = to->stacks->release;
	size_t n = release.n < sizeof(to->stacks->release) ? release.n : 0;
	memcpy(room, release.p, n);
	room[n] = 0;
	return say_fact(to, "os release", release);
}

/* The names as the recorder had them: an attr, its ids, its name; events are found by their place. */
static void take_event_names(const struct cam_perf_features *to, struct cam_perf_bytes *b)
{
	uint32_t n = cam_perf_bytes_u32(b), attr_bytes = cam_perf_bytes_u32(b);
	for (uint32_t i = 0; i < n && !b->bad; i++) {
		cam_perf_bytes_take(b, attr_bytes);
		uint32_t n_ids = cam_perf_bytes_u32(b);
		struct cam_text name = take_string(b);
		struct cam_perf_event *e = i < to->events->n ? &to->events->rows[i] : NULL;
		for (uint32_t k = 0; k < n_ids && !b->bad; k++) {
			struct cam_perf_event *by_id =
				cam_perf_events_find(to->events, cam_perf_bytes_u64(b));
			e = by_id ? by_id : e;
		}
		if (e && name.n && !b->bad)
			cam_perf_event_rename(e, name);
	}
}

int cam_perf_features_build_id(const struct cam_perf_features *to, uint16_t misc, const void *p,
			       size_t bytes)
{
	struct cam_perf_bytes b = cam_perf_bytes_make(p, bytes, to->swap);
	cam_perf_bytes_u32(&b); /* pid */
	const char *id = (const char *)cam_perf_bytes_take(&b, BUILD_ID_ROOM);
	if (b.bad)
		return 0;
	size_t n = misc & BUILD_ID_SIZE_BIT ? (uint8_t)id[20] : 20;
	struct cam_text path = cam_perf_bytes_text(&b);
	if (!n || n > 20 || !path.n)
		return 0;
	return cam_perf_spaces_build_id(to->stacks->spaces, path, (struct cam_text){id, n});
}

static int take_build_ids(const struct cam_perf_features *to, struct cam_perf_bytes *b)
{
	int err = 0;
	while (!err && cam_perf_bytes_left(b) >= 8) {
		uint16_t misc = cam_perf_load_u16(b->p + 4, b->swap);
		uint16_t size = cam_perf_load_u16(b->p + 6, b->swap);
		if (size < 8)
			return 0;
		cam_perf_bytes_take(b, 8);
		const uint8_t *p = cam_perf_bytes_take(b, size - 8u);
		err = p ? cam_perf_features_build_id(to, misc, p, size - 8u) : 0;
	}
	return err;
}

static int take_times(const struct cam_perf_features *to, struct cam_perf_bytes *b)
{
	uint64_t first = cam_perf_bytes_u64(b), last = cam_perf_bytes_u64(b);
	if (b->bad || !first || last < first)
		return 0;
	to->meta->first_ns = first;
	to->meta->last_ns = last;
	int err = say_time(to, "time of first sample", first);
	return err ? err : say_time(to, "time of last sample", last);
}

static void take_clock(const struct cam_perf_features *to, struct cam_perf_bytes *b)
{
	uint32_t version = cam_perf_bytes_u32(b);
	cam_perf_bytes_u32(b); /* which clock */
	uint64_t wall = cam_perf_bytes_u64(b), clock = cam_perf_bytes_u64(b);
	if (b->bad || version != 1 || wall > INT64_MAX)
		return;
	to->meta->has_clock = true;
	to->meta->wall_ns = wall;
	to->meta->clock_ns = clock;
}

static bool is_wanted(void *arg, uint64_t id)
{
	const struct cam_perf_events *events = arg;
	for (size_t i = 0; i < events->n; i++) {
		if (events->rows[i].tracepoint && events->rows[i].attr.config == id)
			return true;
	}
	return false;
}

/* The format of each tracepoint, and where nothing better is known its name. */
static int take_formats(const struct cam_perf_features *to, const void *p, size_t bytes)
{
	struct cam_perf_events *events = to->events;
	/* There is one list of them in a file: another is not read. */
	if (to->meta->formats.n)
		return 0;
	int err = cam_trace_formats_read(&to->meta->formats, p, bytes, is_wanted, events);
	for (size_t i = 0; i < events->n && !err && to->meta->formats.n; i++) {
		struct cam_perf_event *e = &events->rows[i];
		const struct cam_trace_format *f =
			cam_trace_formats_find(&to->meta->formats, e->attr.config);
		if (!e->tracepoint || !f)
			continue;
		e->format = (uint32_t)(f - to->meta->formats.rows) + 1;
		if (cam_text_starts((struct cam_text){e->name, e->name_n}, CAM_TEXT("unknown "))) {
			int n = snprintf(e->name, sizeof(e->name), "%.*s:%.*s", (int)f->system.n,
					 f->system.p, (int)f->name.n, f->name.p);
			e->name_n = (size_t)n < sizeof(e->name) ? (size_t)n : sizeof(e->name) - 1;
		}
	}
	return err;
}

/* Lists of siblings, of cores, then of threads; behind them each CPU's core and socket. */
static int take_sockets(const struct cam_perf_features *to, struct cam_perf_bytes *b)
{
	for (int list = 0; list < 2; list++) {
		uint32_t n = cam_perf_bytes_u32(b);
		while (n-- && !b->bad)
			take_string(b);
	}
	struct cam_runs *runs = calloc(1, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < to->meta->cpus; cpu++) {
		cam_perf_bytes_u32(b); /* core */
		int32_t socket = (int32_t)cam_perf_bytes_u32(b);
		if (b->bad)
			break;
		cam_runs_add(runs, socket < 0 ? CAM_RUNS_NONE : socket);
	}
	struct cam_text said = cam_runs_end(runs);
	int err = said.n ? cam_sink_fact(to->sink, CAM_TEXT("sockets"), said) : 0;
	free(runs);
	return err == -E2BIG ? 0 : err;
}

/* "0-3,8": those below n are of this node. A CPU is of the first that says so: no more are looked at in all than there are. */
static void mark_cpus(struct cam_text list, int node, int *nodes, uint32_t n, uint32_t *left)
{
	for (size_t i = 0; i < list.n;) {
		uint32_t ends[2] = {0, 0};
		int k = 0;
		for (; i < list.n && list.p[i] != ','; i++) {
			if (list.p[i] == '-' && !k)
				ends[++k] = 0;
			else if (list.p[i] < '0' || list.p[i] > '9' || ends[k] > MAX_CPUS)
				return;
			else
				ends[k] = ends[k] * 10 + (uint32_t)(list.p[i] - '0');
		}
		for (uint32_t cpu = ends[0]; cpu <= ends[k] && cpu < n && *left; cpu++, --*left)
			nodes[cpu] = nodes[cpu] == CAM_RUNS_NONE ? node : nodes[cpu];
		i++;
	}
}

/* Of each node: its number, its memory, and its CPUs as the kernel lists them. */
static int take_nodes(const struct cam_perf_features *to, struct cam_perf_bytes *b)
{
	uint32_t cpus = to->meta->cpus < MAX_CPUS ? to->meta->cpus : MAX_CPUS;
	uint32_t n = cam_perf_bytes_u32(b), left = cpus;
	struct cam_runs *runs = calloc(1, sizeof(*runs));
	int *nodes = calloc(cpus + 1, sizeof(*nodes));
	int err = runs && nodes ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < cpus; i++)
		nodes[i] = CAM_RUNS_NONE;
	for (uint32_t i = 0; !err && i < n && i < MAX_CPUS && !b->bad; i++) {
		uint32_t node = cam_perf_bytes_u32(b);
		cam_perf_bytes_u64(b); /* memory in all */
		cam_perf_bytes_u64(b); /* and free */
		struct cam_text list = take_string(b);
		if (!b->bad && node < MAX_CPUS)
			mark_cpus(list, (int)node, nodes, cpus, &left);
	}
	for (uint32_t i = 0; !err && n && i < cpus; i++)
		cam_runs_add(runs, nodes[i]);
	struct cam_text said = err ? CAM_TEXT("") : cam_runs_end(runs);
	if (said.n)
		err = cam_sink_fact(to->sink, CAM_TEXT("nodes"), said);
	free(runs);
	free(nodes);
	return err == -E2BIG ? 0 : err;
}

int cam_perf_features_take(const struct cam_perf_features *to, uint64_t number, const void *p,
			   size_t bytes)
{
	struct cam_perf_bytes b = cam_perf_bytes_make(p, bytes, to->swap);
	struct cam_text arch;
	int err;
	switch (number) {
	case TRACING_DATA:
		return take_formats(to, p, bytes);
	case BUILD_ID:
		return take_build_ids(to, &b);
	case HOSTNAME:
		return say_fact(to, "hostname", take_string(&b));
	case OSRELEASE:
		return take_release(to, take_string(&b));
	case VERSION:
		return say_fact(to, "perf version", take_string(&b));
	case ARCH:
		arch = take_string(&b);
		to->meta->foreign_arch = !cam_text_equal(arch, CAM_TEXT("x86_64"));
		return say_fact(to, "arch", arch);
	case CPUDESC:
		return say_fact(to, "cpudesc", take_string(&b));
	case CPUID:
		return say_fact(to, "cpuid", take_string(&b));
	case NRCPUS: {
		uint32_t avail = cam_perf_bytes_u32(&b), online = cam_perf_bytes_u32(&b);
		to->meta->cpus = b.bad ? 0 : avail;
		err = b.bad ? 0 : say_number(to, "nrcpus online", "", online);
		return err || b.bad ? err : say_number(to, "nrcpus avail", "", avail);
	}
	case TOTAL_MEM: {
		uint64_t kb = cam_perf_bytes_u64(&b);
		return b.bad ? 0 : say_number(to, "total memory", " kB", kb);
	}
	case CPU_TOPOLOGY:
		return take_sockets(to, &b);
	case NUMA_TOPOLOGY:
		return take_nodes(to, &b);
	case EVENT_DESC:
		take_event_names(to, &b);
		return 0;
	case SAMPLE_TIME:
		return take_times(to, &b);
	case COMPRESSED:
		cam_perf_bytes_u32(&b); /* version */
		to->meta->compressed = cam_perf_bytes_u32(&b);
		return 0;
	case CLOCK_DATA:
		take_clock(to, &b);
		return 0;
	default:
		return 0;
	}
}

static int read_feature(const struct cam_perf_features *to, const struct cam_perf_file *f,
			uint64_t number, uint64_t at, uint64_t bytes)
{
	uint8_t *p;
	int err = read_piece(f, at, bytes, MAX_FEATURE_BYTES, &p);
	if (err == -EBADMSG)
		to->meta->missing = true;
	if (err)
		return err == -EBADMSG ? 0 : err;
	err = cam_perf_features_take(to, number, p, bytes);
	free(p);
	return err;
}

int cam_perf_features_read(const struct cam_perf_features *to, const struct cam_perf_header *h,
			   const struct cam_perf_file *f)
{
	unsigned n = 0;
	uint64_t at;
	uint8_t *table;
	for (unsigned i = 0; i < 4; i++)
		n += (unsigned)__builtin_popcountll(h->features[i]);
	if (!n)
		return 0;
	/* Of a recorder that was killed the header says nothing true of what follows the records. */
	int err = -EBADMSG;
	if (h->data_bytes && !__builtin_add_overflow(h->data_at, h->data_bytes, &at))
		err = read_piece(f, at, 16ul * n, 16ul * FEATURE_BITS, &table);
	if (err == -EBADMSG)
		to->meta->missing = true;
	if (err)
		return err == -EBADMSG ? 0 : err;
	const uint8_t *row = table;
	for (unsigned bit = 0; bit < FEATURE_BITS && !err; bit++) {
		if (!(h->features[bit / 64] >> (bit % 64) & 1))
			continue;
		err = read_feature(to, f, bit, cam_perf_load_u64(row, h->swap),
				   cam_perf_load_u64(row + 8, h->swap));
		row += 16;
	}
	free(table);
	return err;
}
