// SPDX-License-Identifier: Apache-2.0
/*
 * Plays recorded or made-up streams of many CPUs through the recorder's own path: order, queue, live,
 * journal; as fast as it goes, with the CPU time of each round of 200 ms noted. For make bench.
 *
 *	replay record TAPE SECONDS		every CPU of this machine, at 97 Hz, into TAPE
 *	replay play TAPE CPUS SECONDS STORE	TAPE, re-based to CPUS
 *	replay stress SECONDS STORE		192 CPUs, no stack twice, 20,000 threads, 20,000 forks/s
 *	replay seal STORE			what the two left unsealed
 *
 * Lag is what a recorder with one CPU to itself would be behind real time at the worst moment: the
 * backlog of rounds that took longer than they last. Helpers are played too: a process's mappings are
 * those that /proc gave when the tape was made, a name is made of file and offset, 256 bytes of a
 * file being a function; answers come a round later. Sealing is a process of its own, also here.
 */
#include "tape.h"

#include "base/units.h"
#include "daemon/queue.h"
#include "daemon/recorder_parts.h"
#include "ingest/order.h"
#include "store/io.h"
#include "store/store.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUND_NS	 CAM_ROUND_NS
#define DRAINS		 4u
#define WINDOW_NS	 (120 * CAM_NS_PER_SEC)
#define START_NS	 (1000 * CAM_NS_PER_SEC)
#define HZ		 97u
#define MAX_ASKED	 1024u
#define STRESS_CPUS	 192u
#define STRESS_THREADS	 20000u
#define STRESS_PROCESSES 200u
#define STRESS_FORKS	 20000u
#define STRESS_FRAMES	 24u
#define STRESS_SITES	 4096u

struct asked {
	struct cam_errand e;
	uint64_t *offsets;
};

struct stress_stream {
	struct cam_stream stream;
	struct replay *replay;
	uint32_t cpu;
	bool side_band;
	bool exits; /* the next record is the last one's end */
	uint64_t next_ns, period_ns;
	uint64_t random;
	int32_t pid;
	uint64_t user[STRESS_FRAMES], kernel[4];
};

struct replay {
	const struct tape *tape; /* NULL: stress */
	uint32_t cpus;
	struct cam_stream **streams;
	size_t n_streams;
	struct cam_order *order;
	struct cam_queue *queue;
	struct cam_live *live;
	struct cam_io *io;
	struct cam_store *store;
	struct cam_errands errands;
	struct asked asked[MAX_ASKED];
	size_t n_asked;
	uint64_t now_ns, refused, worst_ns, backlog_ns, lag_ns;
	uint64_t fired[1024];
	size_t peak_bytes;
	_Alignas(8) char scratch[2 * CAM_ERRAND_MAX_BYTES];
};

static uint64_t read_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "replay: %s: %s\n", what, strerror(-err));
	exit(1);
}

/* The helpers. */

static int send_errand(struct cam_errands *door, const struct cam_errand *e)
{
	struct replay *r = door->self;
	if (e->type == CAM_ERRAND_FORGET)
		return 0;
	if (r->n_asked == MAX_ASKED)
		return -EAGAIN;
	struct asked *a = &r->asked[r->n_asked];
	*a = (struct asked){.e = *e};
	if (e->n_offsets) {
		a->offsets = malloc(e->n_offsets * sizeof(uint64_t));
		if (!a->offsets)
			return -ENOMEM;
		memcpy(a->offsets, e->offsets, e->n_offsets * sizeof(uint64_t));
	}
	r->n_asked++;
	return 0;
}

static void answer_names(struct replay *r, const struct asked *a, struct cam_tidings *t)
{
	static struct cam_name names[CAM_ERRAND_MAX_OFFSETS];
	static char text[CAM_ERRAND_MAX_OFFSETS][40];
	for (uint32_t i = 0; i < a->e.n_offsets; i++) {
		uint64_t start = a->offsets[i] & ~(uint64_t)255;
		int n = snprintf(text[i], sizeof(text[i]), "function_%u_%llx", a->e.file,
				 (unsigned long long)start);
		names[i] = (struct cam_name){
			.offset = a->offsets[i],
			.start = start,
			.source = a->e.file ? CAM_NAME_SYMTAB : CAM_NAME_KALLSYMS,
			.name = {text[i], (size_t)n},
		};
	}
	t->names = (struct cam_names_tidings){.names = names, .n_names = a->e.n_offsets};
	check(cam_live_tidings(r->live, t), "names");
}

static void answer_process(struct replay *r, const struct asked *a, struct cam_tidings *t)
{
	struct cam_tidings said;
	struct cam_mapping text = {.start = 0x400000,
				   .end = 0x400000 + STRESS_SITES * 512,
				   .inode = 1000u + (uint32_t)a->e.pid % 4,
				   .major = 8,
				   .path = CAM_TEXT("/usr/bin/stress")};
	if (!r->tape)
		t->process = (struct cam_process_tidings){.comm = CAM_TEXT("stress"),
							  .exe = CAM_TEXT("/usr/bin/stress"),
							  .cgroup = CAM_TEXT("/stress"),
							  .mappings = &text,
							  .n_mappings = 1};
	else if (tape_process(r->tape, a->e.pid, r->scratch, sizeof(r->scratch), &said))
		t->process = said.process;
	else
		t->error = -ESRCH;
	t->process.maps_read_ns = r->now_ns;
	check(cam_live_tidings(r->live, t), "process");
}

static void answer_all(struct replay *r)
{
	size_t n = r->n_asked;
	for (size_t i = 0; i < n; i++) {
		struct asked a = r->asked[i];
		struct cam_tidings t = {.type = a.e.type,
					.ticket = a.e.ticket,
					.pid = a.e.pid,
					.tid = a.e.tid,
					.file = a.e.file};
		if (a.e.type == CAM_ERRAND_NAMES) {
			answer_names(r, &a, &t);
		} else if (a.e.type == CAM_ERRAND_PROCESS) {
			answer_process(r, &a, &t);
		} else if (a.e.type == CAM_ERRAND_FILE) {
			t.held.key = (struct cam_file_key){.major = a.e.mapping.major,
							   .minor = a.e.mapping.minor,
							   .inode = a.e.mapping.inode,
							   .bytes = 1 << 20};
			check(cam_live_tidings(r->live, &t), "file");
		} else {
			t.comm = CAM_TEXT("thread");
			check(cam_live_tidings(r->live, &t), "thread");
		}
		free(a.offsets);
	}
	memmove(r->asked, r->asked + n, (r->n_asked - n) * sizeof(r->asked[0]));
	r->n_asked -= n;
}

/* Made-up streams. */

static uint64_t draw(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static bool stress_peek(struct cam_stream *s, uint64_t *time_ns)
{
	*time_ns = ((struct stress_stream *)s)->next_ns;
	return true;
}

static void take_sample(struct stress_stream *s, struct cam_raw *out)
{
	uint32_t thread = (uint32_t)(draw(&s->random) % STRESS_THREADS);
	out->pid = 1000 + (int32_t)(thread % STRESS_PROCESSES);
	out->tid = 100000 + (int32_t)thread;
	for (uint32_t i = 0; i < STRESS_FRAMES; i++)
		s->user[i] = 0x400000 + draw(&s->random) % STRESS_SITES * 512;
	for (uint32_t i = 0; i < 4; i++)
		s->kernel[i] = 0xffffffff81000000 + draw(&s->random) % STRESS_SITES * 512;
	out->sample = (struct cam_raw_sample){.kernel = s->kernel,
					      .user = s->user,
					      .n_kernel = 4,
					      .n_user = STRESS_FRAMES,
					      .weight = 1};
	s->next_ns += s->period_ns;
}

static void take_fork(struct stress_stream *s, struct cam_raw *out)
{
	if (!s->exits)
		s->pid = 200000 + (int32_t)(draw(&s->random) % 3000000);
	out->type = s->exits ? CAM_RAW_EXIT : CAM_RAW_FORK;
	out->pid = out->tid = s->pid;
	out->fork.parent_pid = out->fork.parent_tid = 1000;
	s->next_ns += s->exits ? s->period_ns - 1000 : 1000;
	s->exits = !s->exits;
}

static void stress_take(struct cam_stream *stream, struct cam_raw *out)
{
	struct stress_stream *s = (struct stress_stream *)stream;
	*out = (struct cam_raw){.type = CAM_RAW_SAMPLE, .cpu = s->cpu, .time_ns = s->next_ns};
	if (s->side_band)
		take_fork(s, out);
	else
		take_sample(s, out);
}

static void make_stress(struct replay *r)
{
	r->cpus = STRESS_CPUS;
	r->n_streams = 2 * STRESS_CPUS;
	r->streams = calloc(r->n_streams, sizeof(void *));
	struct stress_stream *all = calloc(r->n_streams, sizeof(*all));
	check(r->streams && all ? 0 : -ENOMEM, "streams");
	for (uint32_t i = 0; i < r->n_streams; i++) {
		bool side_band = i >= STRESS_CPUS;
		uint64_t hz = side_band ? STRESS_FORKS / STRESS_CPUS + 1 : HZ;
		all[i] = (struct stress_stream){.stream = {stress_peek, stress_take},
						.replay = r,
						.cpu = i % STRESS_CPUS,
						.side_band = side_band,
						.next_ns = START_NS + i * 1000u,
						.period_ns = CAM_NS_PER_SEC / hz,
						.random = 88172645463325252u + i};
		r->streams[i] = &all[i].stream;
	}
}

static void make_copies(struct replay *r, const struct tape *t, uint32_t cpus)
{
	uint32_t of_tape = 0;
	for (size_t i = 0; i < t->n_tracks; i++)
		of_tape = t->tracks[i].cpu >= of_tape ? t->tracks[i].cpu + 1 : of_tape;
	uint32_t copies = (cpus + of_tape - 1) / of_tape;
	r->tape = t;
	r->cpus = copies * of_tape;
	r->streams = calloc(copies * t->n_tracks, sizeof(void *));
	struct tape_reel *all = calloc(copies * t->n_tracks, sizeof(*all));
	check(r->streams && all ? 0 : -ENOMEM, "streams");
	for (uint32_t copy = 0; copy < copies; copy++) {
		for (size_t k = 0; k < t->n_tracks; k++) {
			tape_reel_init(&all[r->n_streams], t, k, copy, START_NS);
			r->streams[r->n_streams] = &all[r->n_streams].stream;
			r->n_streams++;
		}
	}
}

/* The recorder's path. */

static struct cam_journal *open_door(void *self)
{
	struct replay *r = self;
	return cam_store_journal(r->store, 5 * CAM_NS_PER_SEC);
}

static void open_parts(struct replay *r, const char *store)
{
	int holder;
	check(cam_io_posix_open(store, true, &r->io), store);
	check(cam_store_open_live(r->io, &r->store, &holder), store);
	check(cam_order_new(2 * CAM_SETTINGS_CPUS + 64, &r->order), "order");
	check(cam_queue_new(CAM_QUEUE_BYTES, &r->queue), "queue");
	r->errands = (struct cam_errands){.self = r, .send = send_errand};
	const struct cam_live_options o = {
		.window_ns = WINDOW_NS,
		.hz = HZ,
		.event = CAM_TEXT("cpu-clock"),
		.host = CAM_TEXT("replay"),
		.scope = {.uid = CAM_UID_NONE},
		.due_known = true,
		.max_table_bytes = CAM_TABLE_BYTES,
		.max_process_bytes = CAM_PROCESS_BYTES,
		.max_name_bytes = CAM_NAME_BYTES_MAX,
	};
	const struct cam_live_doors doors = {r, open_door, &r->errands};
	check(cam_live_new(&o, &doors, &r->live), "live");
}

static void put(void *arg, const struct cam_raw *raw)
{
	struct replay *r = arg;
	r->fired[raw->cpu % 1024] += raw->type == CAM_RAW_SAMPLE;
	r->refused += cam_queue_put(r->queue, raw) != 0;
}

static void second(struct replay *r)
{
	const struct cam_anchor a = {.time_ns = r->now_ns,
				     .raw_ns = r->now_ns,
				     .boottime_ns = r->now_ns,
				     .sched_ns = r->now_ns,
				     .realtime_ns = 1700000000000000000 + (int64_t)r->now_ns};
	check(cam_live_anchor(r->live, &a), "anchor");
	for (uint32_t cpu = 0; cpu < r->cpus; cpu++) {
		uint64_t n = r->fired[cpu];
		struct cam_raw raw = {
			.type = CAM_RAW_COUNTS,
			.cpu = cpu,
			.time_ns = r->now_ns - ROUND_NS,
			.counts = {.fired = n, .emitted = n, .enabled_ns = r->now_ns - START_NS}};
		check(cam_live_raw(r->live, &raw), "counts");
		for (unsigned kind = CAM_COUNTER_USER; kind <= CAM_COUNTER_IDLE; kind++) {
			struct cam_counter c = {.time_ns = r->now_ns,
						.span_ns = CAM_NS_PER_SEC,
						.kind = (enum cam_counter_kind)kind,
						.subject = cpu,
						.value = kind < 2 ? 480000000u : 0};
			check(cam_live_counter(r->live, &c), "counter");
		}
	}
}

static void measure_memory(struct replay *r)
{
	unsigned long resident = 0;
	if (r->tape)
		tape_forget_pages(r->tape);
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%*u %lu", &resident) != 1)
		check(-EIO, "statm");
	fclose(f);
	size_t bytes = resident * (size_t)sysconf(_SC_PAGESIZE);
	r->peak_bytes = bytes > r->peak_bytes ? bytes : r->peak_bytes;
}

static void run_round(struct replay *r, uint64_t before_ns)
{
	struct cam_raw raw;
	uint64_t begun = read_ns(CLOCK_PROCESS_CPUTIME_ID);
	/* The two threads, in turn. */
	for (uint64_t i = 1; i <= DRAINS; i++) {
		uint64_t until = before_ns - ROUND_NS + i * ROUND_NS / DRAINS;
		cam_order_release(r->order, r->streams, r->n_streams, until, put, r);
		while (cam_queue_peek(r->queue, &raw)) {
			check(cam_live_raw(r->live, &raw), "record");
			cam_queue_drop(r->queue);
		}
	}
	answer_all(r);
	if (r->now_ns / CAM_NS_PER_SEC != (r->now_ns - ROUND_NS) / CAM_NS_PER_SEC)
		second(r);
	check(cam_live_tick(r->live, r->now_ns, before_ns), "tick");
	uint64_t took = read_ns(CLOCK_PROCESS_CPUTIME_ID) - begun;
	r->worst_ns = took > r->worst_ns ? took : r->worst_ns;
	r->backlog_ns = r->backlog_ns + took > ROUND_NS ? r->backlog_ns + took - ROUND_NS : 0;
	r->lag_ns = r->backlog_ns > r->lag_ns ? r->backlog_ns : r->lag_ns;
}

static void play(struct replay *r, double seconds, const char *store)
{
	uint64_t end = START_NS + (uint64_t)(seconds * 1e9),
		 cpu = read_ns(CLOCK_PROCESS_CPUTIME_ID);
	open_parts(r, store);
	for (r->now_ns = START_NS + ROUND_NS; r->now_ns <= end; r->now_ns += ROUND_NS) {
		run_round(r, r->now_ns - ROUND_NS);
		if (r->now_ns % CAM_NS_PER_SEC == 0)
			measure_memory(r);
	}
	check(cam_live_cut(r->live, end), "cut");
	cpu = read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	struct cam_live_stats s = cam_live_stats(r->live);
	printf("{\"cpus\": %u, \"seconds\": %.0f, \"samples\": %llu, \"idle\": %llu, "
	       "\"dropped\": %llu, \"refused\": %llu, \"unnamed\": %llu, \"windows\": %u, "
	       "\"evicted\": %llu, \"cpu_s\": %.3f, \"worst_round_ms\": %.1f, \"lag_ms\": %.1f, "
	       "\"resident_mib\": %.1f, \"queue_mib\": %.2f, \"suspect\": %llu}\n",
	       r->cpus, seconds, (unsigned long long)s.samples, (unsigned long long)s.idle,
	       (unsigned long long)s.dropped, (unsigned long long)r->refused,
	       (unsigned long long)s.unnamed, s.windows, (unsigned long long)s.evicted,
	       (double)cpu / 1e9, (double)r->worst_ns / 1e6, (double)r->lag_ns / 1e6,
	       (double)r->peak_bytes / 1048576, (double)cam_queue_peak_bytes(r->queue) / 1048576,
	       (unsigned long long)s.suspect_samples);
	cam_live_free(r->live);
	cam_store_close(r->store);
	cam_io_posix_close(r->io);
}

static void seal(const char *directory)
{
	struct cam_io *io;
	struct cam_store *store;
	int holder;
	unsigned sealed;
	check(cam_io_posix_open(directory, false, &io), directory);
	check(cam_store_open_write(io, &store, &holder), directory);
	check(cam_store_seal_pending(store, &sealed), directory);
	cam_store_close(store);
	cam_io_posix_close(io);
}

int main(int argc, char **argv)
{
	static struct replay r;
	static struct tape tape;
	const char *verb = argc > 1 ? argv[1] : "";
	/* As the recorder does. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	if (argc == 4 && !strcmp(verb, "record")) {
		check(tape_record(argv[2], atof(argv[3])), argv[2]);
	} else if (argc == 6 && !strcmp(verb, "play")) {
		check(tape_open(&tape, argv[2]), argv[2]);
		make_copies(&r, &tape, (uint32_t)atoi(argv[3]));
		play(&r, atof(argv[4]), argv[5]);
	} else if (argc == 4 && !strcmp(verb, "stress")) {
		make_stress(&r);
		play(&r, atof(argv[2]), argv[3]);
	} else if (argc == 3 && !strcmp(verb, "seal")) {
		seal(argv[2]);
	} else {
		fprintf(stderr, "replay: record, play, stress or seal: see its source\n");
		return 2;
	}
	return 0;
}
