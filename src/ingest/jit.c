// SPDX-License-Identifier: Apache-2.0
/*
 * A source is NEW → ASKED → HELD, or FAILED and asked again (the states of its row). When its process has
 * ended, or executes another program, it gets a last call: what is still unnamed is asked for once more,
 * and LINGER_NS later it is let go.
 *
 * Invariants
 *  1. At most CAM_JIT_MAX_SOURCES; the one that was sampled longest ago goes first.
 *  2. A source is of (pid, start, program): a sample of another of these does not find it.
 *  3. Its row is held once, by the source alone, and is in no table of mappings.
 *  4. Addresses are absolute. When the symboliser says another turn (an address has another function
 *     now), the row gets another book: locations from then on are others, and are asked for anew.
 *
 * Example: node starts with --perf-basic-prof, first JIT sample at t=1: JIT asked, ENOENT (it writes
 * late). Asked at t=2, held. The names of 300 addresses are asked for; 280 come. The other 20 wait 2, 4,
 * 8 … s. At t=60 the code of one function is thrown away and its place used again: turn, new book. At
 * t=90 it exits: the last unnamed addresses are asked for once more; at 93 the descriptor goes.
 */
#include "ingest/jit.h"

#include "base/units.h"
#include "ingest/live_parts.h"

#include <errno.h>
#include <stdlib.h>

#define LINGER_NS     (3 * CAM_NS_PER_SEC)
#define FIRST_WAKE_NS (3 * CAM_NS_PER_SEC) /* a JVM that has just begun has little to tell */
#define REOPEN_NS     (10 * CAM_NS_PER_SEC)
#define MAX_REOPEN_NS (160 * CAM_NS_PER_SEC)
#define N_SLOTS	      256u

struct source {
	struct source *next; /* of its slot */
	int32_t pid;
	uint32_t execs;
	uint64_t start_ns, born_ns;
	uint64_t sampled_ns, ended_ns;
	uint64_t reopen_ns, reopen_pause_ns; /* when the path is to be looked at again */
	bool no_dump;			     /* the jitdump could not be had */
	bool is_jvm;
	uint64_t wake_ns; /* when a JVM may be asked to write its map */
	struct cam_files_row *row;
};

struct cam_jits {
	struct source *slots[N_SLOTS];
	size_t n;
};

int cam_jits_new(struct cam_jits **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static size_t slot_of(int32_t pid)
{
	return ((uint32_t)pid * 0x9e3779b1u) >> 24;
}

static void drop(struct cam_jits *j, struct cam_files *files, struct source **at)
{
	struct source *s = *at;
	*at = s->next;
	cam_files_release(files, s->row);
	free(s);
	j->n--;
}

void cam_jits_free(struct cam_jits *j, struct cam_files *files)
{
	for (size_t i = 0; j && i < N_SLOTS; i++) {
		while (j->slots[i])
			drop(j, files, &j->slots[i]);
	}
	free(j);
}

static bool is_of(const struct source *s, const struct cam_process *p, uint32_t execs)
{
	return s->pid == p->pid && s->execs == execs && s->born_ns == p->born_ns &&
	       (!s->start_ns || !p->start_ns || s->start_ns == p->start_ns);
}

static struct source **oldest(struct cam_jits *j)
{
	struct source **least = NULL;
	for (size_t i = 0; i < N_SLOTS; i++) {
		for (struct source **at = &j->slots[i]; *at; at = &(*at)->next) {
			if (!least || (*at)->sampled_ns < (*least)->sampled_ns)
				least = at;
		}
	}
	return least;
}

static struct source *find(struct cam_live *l, const struct cam_process *p, uint32_t execs)
{
	struct source *s = l->jits->slots[slot_of(p->pid)];
	while (s && !is_of(s, p, execs))
		s = s->next;
	return s;
}

static bool is_jvm(const struct cam_image *image)
{
	for (uint32_t i = 0; i < image->n; i++) {
		const struct cam_files_row *f = image->maps[i].file;
		if (f && f->kind == CAM_MODULE_FILE &&
		    cam_text_ends(cam_word_text(f->path), CAM_TEXT("/libjvm.so")))
			return true;
	}
	return false;
}

static struct source *make(struct cam_live *l, const struct cam_process *p,
			   const struct cam_image *image)
{
	struct cam_jits *j = l->jits;
	if (j->n >= CAM_JIT_MAX_SOURCES)
		drop(j, l->files, oldest(j));
	struct source *s = malloc(sizeof(*s));
	struct cam_files_row *row = s ? cam_files_make_jit(l->files, p->pid) : NULL;
	if (!row) {
		free(s);
		return NULL;
	}
	struct source **slot = &j->slots[slot_of(p->pid)];
	*s = (struct source){
		.next = *slot,
		.pid = p->pid,
		.execs = p->execs,
		.born_ns = p->born_ns,
		.start_ns = p->start_ns,
		.row = row,
		.is_jvm = l->options.java_maps && is_jvm(image),
		.wake_ns = l->now_ns + FIRST_WAKE_NS,
	};
	*slot = s;
	j->n++;
	return s;
}

/* jit-PID.dump, whatever its pid: it may be another namespace's. */
static bool is_dump(const struct cam_files_row *f)
{
	static const struct cam_text start = CAM_TEXT("jit-"), end = CAM_TEXT(".dump");
	if (!f || f->kind != CAM_MODULE_FILE)
		return false;
	struct cam_text path = cam_word_text(f->path);
	const char *slash = memrchr(path.p, '/', path.n);
	if (slash)
		path = (struct cam_text){slash + 1, path.n - (size_t)(slash + 1 - path.p)};
	if (!cam_text_starts(path, start) || !cam_text_ends(path, end) || path.n <= start.n + end.n)
		return false;
	for (size_t i = start.n; i < path.n - end.n; i++) {
		if (path.p[i] < '0' || path.p[i] > '9')
			return false;
	}
	return true;
}

static const struct cam_image_map *find_dump(const struct cam_image *image)
{
	for (uint32_t i = 0; i < image->n; i++) {
		if (is_dump(image->maps[i].file))
			return &image->maps[i];
	}
	return NULL;
}

/* What to ask for: the jitdump that is mapped, else the perf map. */
static struct cam_errand question(const struct source *s, const struct cam_image *image)
{
	struct cam_errand e = {
		.type = CAM_ERRAND_JIT,
		.pid = s->pid,
		.tid = s->pid,
		.file = s->row->number,
		.start_ns = s->start_ns,
		.format = CAM_FORMAT_PERF_MAP,
	};
	const struct cam_image_map *m = s->no_dump ? NULL : find_dump(image);
	if (!m)
		return e;
	e.type = CAM_ERRAND_FILE;
	e.format = CAM_FORMAT_JITDUMP;
	e.mapping = (struct cam_mapping){
		.start = m->start,
		.end = m->end,
		.file_offset = m->offset,
		.inode = m->file->inode,
		.generation = m->file->generation,
		.major = m->file->major,
		.minor = m->file->minor,
		.path = cam_word_text(m->file->path),
	};
	return e;
}

/* Whether it is to be asked to write its map; at most once a window. */
static bool may_wake(const struct cam_live *l, const struct source *s)
{
	return s->is_jvm && l->now_ns >= s->wake_ns;
}

static int ask(struct cam_live *l, struct source *s, const struct cam_image *image)
{
	struct cam_errand e = question(s, image);
	e.wake = e.type == CAM_ERRAND_JIT && may_wake(l, s);
	int err = cam_live_send(l, &e);
	if (err == -EMFILE && cam_files_spare(l->files))
		err = cam_live_send(l, &e);
	if (err)
		return err;
	if (e.wake) {
		s->wake_ns = l->now_ns + l->options.window_ns;
		s->row->tries = 0; /* it will be there in a moment */
	}
	s->row->format = e.format;
	cam_files_asked(s->row, e.ticket, l->now_ns);
	return 0;
}

/* Its path may lead to another file by now, and then that has what this one lacks. */
static void reopen(struct cam_live *l, struct source *s)
{
	struct cam_errand e = {
		.type = CAM_ERRAND_JIT,
		.pid = s->pid,
		.tid = s->pid,
		.file = s->row->number,
		.start_ns = s->start_ns,
		.format = CAM_FORMAT_PERF_MAP,
		.wake = may_wake(l, s),
	};
	if (cam_live_send(l, &e))
		return;
	if (e.wake)
		s->wake_ns = l->now_ns + l->options.window_ns;
	s->row->ticket = e.ticket;
	s->row->lacks_names = false;
	s->reopen_ns = l->now_ns + s->reopen_pause_ns;
	if (s->reopen_pause_ns < MAX_REOPEN_NS)
		s->reopen_pause_ns *= 2;
}

/* Whether what it has is no use: no names will come of it. */
static bool is_useless(const struct cam_files_row *f)
{
	return f->format == CAM_FORMAT_JITDUMP && (f->state == CAM_FILES_FAILED || f->name_errors);
}

static void see_to(struct cam_live *l, struct source *s, const struct cam_image *image)
{
	struct cam_files_row *f = s->row;
	if (!s->no_dump && is_useless(f)) {
		s->no_dump = true;
		f->state = CAM_FILES_NEW;
		f->name_errors = 0;
	}
	if (cam_files_is_due(f, l->now_ns) || (f->state == CAM_FILES_FAILED && may_wake(l, s))) {
		int err = ask(l, s, image);
		if (err && err != -EAGAIN)
			cam_files_refused(f, l->now_ns);
		s->reopen_pause_ns = REOPEN_NS;
		s->reopen_ns = l->now_ns + s->reopen_pause_ns;
	} else if (f->state == CAM_FILES_HELD && f->format == CAM_FORMAT_PERF_MAP &&
		   f->lacks_names && l->now_ns >= s->reopen_ns) {
		reopen(l, s);
	}
}

/* Whether the code there is made at run time. Of a memfd only if it is no ELF file, or changes. */
static bool is_code(struct cam_live *l, const struct cam_files_row *f)
{
	if (cam_files_is_anonymous(l->files, f))
		return true;
	return f->kind == CAM_MODULE_FILE && (f->state == CAM_FILES_CHANGED || f->name_errors) &&
	       cam_text_starts(cam_word_text(f->path), CAM_TEXT("/memfd:"));
}

struct cam_files_row *cam_jit_row(struct cam_live *l, const struct cam_live_who *w,
				  const struct cam_image_map *m)
{
	struct cam_process *p = w->process;
	if (!m->file || !is_code(l, m->file))
		return m->file;
	struct source *s = find(l, p, w->execs);
	bool lives = p->listed && !p->ended_ns && w->execs == p->execs;
	if (!s && lives)
		s = make(l, p, w->image);
	if (!s)
		return m->file;
	s->sampled_ns = l->now_ns;
	if (!s->start_ns)
		s->start_ns = p->start_ns;
	if (lives)
		see_to(l, s, w->image);
	return s->row;
}

void cam_jit_answer(struct cam_live *l, const struct cam_tidings *t)
{
	struct cam_files_row *f = cam_files_find(l->files, t->file);
	if (!f || f->kind != CAM_MODULE_JIT || f->ticket != t->ticket)
		return;
	/* Opened again: if there is nothing now, what is held is as good as ever. */
	if (f->state == CAM_FILES_HELD && !t->error)
		f->key = t->held.key;
	else if (f->state != CAM_FILES_HELD)
		cam_files_answer(l->files, t, l->now_ns);
}

/* false: it is to be let go. */
static bool tend(struct cam_live *l, struct source *s)
{
	struct cam_files_row *f = s->row;
	const struct cam_process *p = cam_processes_find(l->processes, s->pid);
	bool lives = p && is_of(s, p, p->execs) && !p->ended_ns;
	if (!lives && !s->ended_ns) {
		s->ended_ns = l->now_ns;
		f->last_call = true;
	}
	if (f->state == CAM_FILES_HELD && s->sampled_ns >= f->names_asked_ns &&
	    l->now_ns - f->names_asked_ns >= CAM_JIT_REFRESH_NS)
		cam_live_names_refresh(l, f);
	return !s->ended_ns || l->now_ns < s->ended_ns + LINGER_NS;
}

void cam_jit_tick(struct cam_live *l)
{
	struct cam_jits *j = l->jits;
	for (size_t i = 0; j->n && i < N_SLOTS; i++) {
		for (struct source **at = &j->slots[i]; *at;) {
			if (tend(l, *at))
				at = &(*at)->next;
			else
				drop(j, l->files, at);
		}
	}
}
