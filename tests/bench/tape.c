// SPDX-License-Identifier: Apache-2.0
/*
 * The file is a row of (kind, bytes, packed bytes): raw records as the drain thread would queue
 * them, and, at the first sample of each process, what the opener would have said of it.
 */
#include "tape.h"

#include "base/units.h"
#include "capture/capture.h"
#include "ingest/order.h"
#include "proc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum kind { KIND_RAW = 1, KIND_PROCESS };

struct recording {
	FILE *to;
	uint8_t met[TAPE_PIDS / 8];
	struct cam_process process;
	_Alignas(8) char room[2 * CAM_ERRAND_MAX_BYTES];
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static void put(struct recording *r, enum kind kind, size_t bytes)
{
	uint64_t head[2] = {kind, bytes};
	size_t padded = (bytes + 7) & ~(size_t)7;
	fwrite(head, sizeof(head), 1, r->to);
	fwrite(r->room, padded, 1, r->to);
}

static void ask_proc(struct recording *r, int32_t pid, int32_t tid)
{
	if (pid <= 0 || pid >= TAPE_PIDS || r->met[pid / 8] & (1 << pid % 8))
		return;
	r->met[pid / 8] |= (uint8_t)(1 << pid % 8);
	if (cam_process_read(&r->process, pid, tid))
		return;
	struct cam_tidings t = {
		.type = CAM_ERRAND_PROCESS,
		.pid = pid,
		.tid = tid,
		.process = r->process.tidings,
	};
	/* As many as fit one packet. */
	int n = -E2BIG;
	while (n == -E2BIG && t.process.n_mappings) {
		n = cam_tidings_pack(&t, r->room, CAM_ERRAND_MAX_BYTES);
		t.process.n_mappings /= 2;
	}
	if (n > 0)
		put(r, KIND_PROCESS, (size_t)n);
}

static void keep(void *arg, const struct cam_raw *raw)
{
	struct recording *r = arg;
	size_t bytes = cam_raw_packed_bytes(raw);
	/* Those that the capture makes itself are made anew when it is played. */
	if (raw->type > CAM_RAW_EXIT || bytes > sizeof(r->room) || raw->pid >= TAPE_PIDS)
		return;
	if (raw->type == CAM_RAW_SAMPLE)
		ask_proc(r, raw->pid, raw->tid);
	cam_raw_pack(raw, r->room);
	put(r, KIND_RAW, bytes);
}

int tape_record(const char *path, double seconds)
{
	const struct cam_capture_options o = {.hz = 97};
	struct cam_capture *c;
	struct cam_order *order;
	struct recording *r = calloc(1, sizeof(*r));
	int err = r ? cam_order_new(2048, &order) : -ENOMEM;
	if (!err)
		err = (r->to = fopen(path, "wb")) ? cam_capture_open_perf(&o, &c) : -errno;
	if (err)
		return err;
	uint64_t last = now_ns(), until = last + (uint64_t)(seconds * 1e9);
	while (last < until) {
		struct cam_stream **streams;
		size_t n;
		usleep(50000);
		uint64_t t = now_ns();
		err = c->ops->begin_round(c, t, &streams, &n);
		if (!err) {
			cam_order_release(order, streams, n, last, keep, r);
			c->ops->end_round(c);
		}
		last = t;
	}
	c->ops->close(c);
	cam_order_free(order);
	cam_process_free(&r->process);
	err = fclose(r->to) ? -errno : 0;
	free(r);
	return err;
}

static struct tape_track *track_of(struct tape *t, uint32_t cpu, bool side_band)
{
	for (size_t i = 0; i < t->n_tracks; i++) {
		if (t->tracks[i].cpu == cpu && t->tracks[i].side_band == side_band)
			return &t->tracks[i];
	}
	if (t->n_tracks == TAPE_TRACKS)
		return NULL;
	t->tracks[t->n_tracks] = (struct tape_track){.cpu = cpu, .side_band = side_band};
	return &t->tracks[t->n_tracks++];
}

static int add_record(struct tape *t, const char *packed, uint32_t bytes)
{
	struct cam_raw raw;
	if (cam_raw_unpack(packed, bytes, &raw))
		return -EBADMSG;
	struct tape_track *k = track_of(t, raw.cpu, raw.type != CAM_RAW_SAMPLE);
	if (!k)
		return -E2BIG;
	if (k->n == k->cap) {
		k->cap = k->cap ? 2 * k->cap : 1024;
		k->times = realloc(k->times, k->cap * sizeof(*k->times));
		k->records = realloc(k->records, k->cap * sizeof(*k->records));
		k->bytes = realloc(k->bytes, k->cap * sizeof(*k->bytes));
		if (!k->times || !k->records || !k->bytes)
			return -ENOMEM;
	}
	k->times[k->n] = raw.time_ns;
	k->records[k->n] = packed;
	k->bytes[k->n++] = bytes;
	t->samples += raw.type == CAM_RAW_SAMPLE;
	if (!t->from_ns || raw.time_ns < t->from_ns)
		t->from_ns = raw.time_ns;
	if (raw.time_ns >= t->to_ns)
		t->to_ns = raw.time_ns + 1;
	return 0;
}

static size_t slot_of(const struct tape *t, int32_t pid)
{
	size_t i = (uint32_t)pid * 2654435761u % TAPE_PACKETS;
	while (t->said[i].packet && t->said[i].pid != pid)
		i = (i + 1) % TAPE_PACKETS;
	return i;
}

int tape_open(struct tape *t, const char *path)
{
	static _Alignas(8) char scratch[2 * CAM_ERRAND_MAX_BYTES];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	*t = (struct tape){.bytes = (size_t)st.st_size};
	t->map = mmap(NULL, t->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (t->map == MAP_FAILED)
		return -errno;
	for (size_t at = 0; !err && at + 16 <= t->bytes;) {
		const uint64_t *head = (const uint64_t *)(t->map + at);
		const char *packed = t->map + at + 16;
		struct cam_tidings said;
		if (head[0] == KIND_RAW) {
			err = add_record(t, packed, (uint32_t)head[1]);
		} else if (!cam_tidings_unpack(packed, head[1], scratch, sizeof(scratch), &said)) {
			size_t i = slot_of(t, said.pid);
			t->said[i].pid = said.pid;
			t->said[i].bytes = (uint32_t)head[1];
			t->said[i].packet = packed;
		}
		at += 16 + ((head[1] + 7) & ~(uint64_t)7);
	}
	return err ? err : t->samples ? 0 : -ENODATA;
}

void tape_forget_pages(const struct tape *t)
{
	if (t->map)
		madvise(t->map, t->bytes, MADV_DONTNEED);
}

static bool reel_peek(struct cam_stream *s, uint64_t *time_ns)
{
	struct tape_reel *r = (struct tape_reel *)s;
	*time_ns = r->track->times[r->at] + r->shift_ns;
	return true;
}

static void reel_take(struct cam_stream *s, struct cam_raw *out)
{
	struct tape_reel *r = (struct tape_reel *)s;
	const struct tape_track *k = r->track;
	if (cam_raw_unpack(k->records[r->at], k->bytes[r->at], out))
		abort();
	out->time_ns += r->shift_ns;
	out->cpu = r->cpu;
	/* Pid 0 is idle, of every copy. */
	out->pid += out->pid ? r->pids : 0;
	out->tid += out->tid ? r->pids : 0;
	if (out->type == CAM_RAW_FORK || out->type == CAM_RAW_EXIT) {
		out->fork.parent_pid += r->pids;
		out->fork.parent_tid += r->pids;
	}
	if (++r->at == k->n) {
		r->at = 0;
		r->shift_ns += r->tape->to_ns - r->tape->from_ns;
	}
}

void tape_reel_init(struct tape_reel *r, const struct tape *t, size_t track, uint32_t copy,
		    uint64_t start_ns)
{
	uint32_t cpus = 0;
	for (size_t i = 0; i < t->n_tracks; i++)
		cpus = t->tracks[i].cpu >= cpus ? t->tracks[i].cpu + 1 : cpus;
	*r = (struct tape_reel){
		.stream = {reel_peek, reel_take},
		.tape = t,
		.track = &t->tracks[track],
		.cpu = t->tracks[track].cpu + copy * cpus,
		.pids = (int32_t)copy * TAPE_PIDS,
		/* Not all at the same moment: a little later each. */
		.shift_ns = start_ns - t->from_ns + copy * 37 * CAM_NS_PER_US,
	};
}

bool tape_process(const struct tape *t, int32_t pid, void *scratch, size_t bytes,
		  struct cam_tidings *out)
{
	size_t i = slot_of(t, pid % TAPE_PIDS);
	return t->said[i].packet &&
	       !cam_tidings_unpack(t->said[i].packet, t->said[i].bytes, scratch, bytes, out);
}
