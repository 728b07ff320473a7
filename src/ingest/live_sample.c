// SPDX-License-Identifier: Apache-2.0
/*
 * A sample becomes a row: who it was, where it was, and what must be asked first.
 *
 * A sample whose process, thread or files are being asked about is parked, at most PARK_NS, then it
 * goes on with what is known: the journal must have it within a second of its time. What is not
 * known is left out, never guessed:
 *  - the user half of a process that is unknown or suspect is one frame, [unknown];
 *  - so is a leaf outside of all known mappings: the CPU was there, so a mapping is, but which?
 *  - a caller outside of all mappings is what walking frame pointers through code without them
 *    ends in. The stack ends there and hangs under one frame [unmapped].
 * A stack that its source could not walk to its root hangs under [truncated], and the mark says why
 * (enum cam_stack_end): a cut stack never hangs under the wrong root. Here a source may be corrected: what
 * was walked with mappings that have been replaced keeps its leaf only (stale); a mapping that the
 * source did not have, and that is known here, was pending.
 * Callers are return addresses: the call is the instruction before, so 1 is taken off; else a call
 * that is a function's last instruction (abort(), a tail of panic()) would be put into the function
 * behind it. The first frame of each half is where the CPU was, and stays; so does, in effect, one that a
 * signal interrupted (model/raw.h).
 *
 * Invariants
 *  1. Each sample record ends as exactly one of: idle, filtered, stored, lost to a bound, lost to
 *     the disk; the ledger hears of each once.
 *  2. A parked sample is stored with the image and comm of its own time, whatever its process has
 *     become; if the image was not known then, with the answer about the same program, or none.
 *
 * Example: kernel frames k1 k2, user frames u1 u2 g u3, g in no mapping. Stored, leaf first: k1,
 * k2-1, u1, u2-1, [unmapped].
 */
#include "ingest/live_parts.h"

#include "base/units.h"

#include <errno.h>

#define NOTED_NS (200 * CAM_NS_PER_MS)
/* As start times are stored: no pid comes again within it, and a nanosecond of each would be a third of what a task takes. */
#define START_UNIT   CAM_NS_PER_MS
#define ASK_AGAIN_NS CAM_NS_PER_SEC
#define ANSWER_NS    (5 * CAM_NS_PER_SEC)
#define MAX_PATIENCE 6u
/* From this age on a process that was born under our eyes is worth a look into /proc. */
#define SETTLED_NS (200 * CAM_NS_PER_MS)
/* So often one whose mappings seem to lack something. */
#define LOOK_AGAIN_NS (10 * CAM_NS_PER_SEC)
/* So often, while it is sampled, one that nothing is wrong with: nobody tells that it was moved to another cgroup.
 * Once a window, where that is shorter. */
#define CONFIRM_AGAIN_NS (120 * CAM_NS_PER_SEC)

/* Asks /proc about a process; false: there is nothing to wait for. */
static bool ask_process(struct cam_live *l, struct cam_process *p, int32_t tid)
{
	if (p->ticket && l->now_ns - p->asked_ns < ANSWER_NS)
		return true;
	unsigned patience = p->failures < MAX_PATIENCE ? p->failures : MAX_PATIENCE;
	if (p->asked_ns && l->now_ns - p->asked_ns < ASK_AGAIN_NS << patience)
		return false;
	struct cam_errand e = {.type = CAM_ERRAND_PROCESS, .pid = p->pid, .tid = tid};
	int err = cam_live_send(l, &e);
	if (!err)
		cam_processes_asked(p, e.ticket, l->now_ns);
	return !err || err == -EAGAIN;
}

static bool ask_thread(struct cam_live *l, struct cam_thread *k)
{
	if (k->waiting && l->now_ns - k->asked_ns < ANSWER_NS)
		return true;
	if (k->asked_ns && l->now_ns - k->asked_ns < ASK_AGAIN_NS)
		return false;
	struct cam_errand e = {.type = CAM_ERRAND_THREAD, .pid = k->process->pid, .tid = k->tid};
	int err = cam_live_send(l, &e);
	if (!err) {
		k->asked_ns = l->now_ns;
		k->waiting = true;
	}
	return !err || err == -EAGAIN;
}

bool cam_live_ask_file(struct cam_live *l, const struct cam_process *p,
		       const struct cam_image_map *m)
{
	struct cam_files_row *f = m->file;
	f->sampled = true;
	/* Only the first attempt is worth waiting for. */
	bool first = f->tries == 0;
	if (!cam_files_is_due(f, l->now_ns))
		return first && f->state == CAM_FILES_ASKED;
	struct cam_errand e = {
		.type = CAM_ERRAND_FILE,
		.pid = p->pid,
		.tid = p->pid,
		.file = f->number,
		.mapping =
			{
				.start = m->start,
				.end = m->end,
				.file_offset = m->offset,
				.inode = f->inode,
				.generation = f->generation,
				.major = f->major,
				.minor = f->minor,
				.path = cam_word_text(f->path),
			},
	};
	int err = cam_live_send(l, &e);
	/* No descriptor is left: one of a file that nothing maps any more is better used here. */
	if (err == -EMFILE && cam_files_spare(l->files))
		err = cam_live_send(l, &e);
	if (!err)
		cam_files_asked(f, e.ticket, l->now_ns);
	else if (err != -EAGAIN)
		cam_files_refused(f, l->now_ns);
	return first && (!err || err == -EAGAIN);
}

void cam_live_expect(struct cam_live *l, const int32_t *pids, size_t n, uint64_t now_ns)
{
	if (now_ns > l->now_ns)
		l->now_ns = now_ns;
	for (size_t i = 0; i < n && i < CAM_LIVE_EXPECTED; i++) {
		struct cam_process *p = cam_processes_expect(l->processes, pids[i]);
		if (p)
			p->expected = ask_process(l, p, p->pid);
	}
}

/* The answer is not believed yet; but of a file that its process has no longer the opener says so, and who it
 * was is not asked for here. */
void cam_live_expected_answer(struct cam_live *l, int32_t pid)
{
	struct cam_process *p = cam_processes_find(l->processes, pid);
	if (!p || !p->expected || !p->word)
		return;
	p->expected = false;
	for (uint32_t i = 0; i < p->draft->n && !l->errands_full; i++) {
		const struct cam_image_map *m = &p->draft->maps[i];
		if (m->file && m->file->kind == CAM_MODULE_FILE)
			cam_live_ask_file(l, p, m);
	}
}

static uint64_t confirm_again_ns(const struct cam_live *l)
{
	return l->options.window_ns < CONFIRM_AGAIN_NS ? l->options.window_ns : CONFIRM_AGAIN_NS;
}

bool cam_live_ask_who(struct cam_live *l, const struct cam_live_who *w, const struct cam_raw *r)
{
	struct cam_process *p = w->process;
	bool scope = l->options.scope.uid != CAM_UID_NONE || l->options.scope.cgroup.n;
	bool wait = false;
	if (p->pid == CAM_PID_NONE || !p->listed)
		return false;
	if (!p->cgroup)
		cam_processes_inherit(l->processes, p);
	bool no_cgroup = !p->cgroup && !p->confirmed;
	struct cam_process *parent =
		no_cgroup ? cam_processes_find(l->processes, p->parent_pid) : NULL;
	if (p->ended_ns)
		return (p->ticket && !p->known) || (parent && parent->ticket);
	if (!p->known || no_cgroup || cam_processes_is_suspect(l->processes, p) ||
	    (scope && !p->confirmed))
		wait = ask_process(l, p, r->tid);
	else if (!p->confirmed && r->time_ns > p->born_ns + SETTLED_NS &&
		 r->time_ns > p->exec_ns + SETTLED_NS)
		ask_process(l, p, r->tid);
	else if (p->confirmed && l->now_ns - p->asked_ns >= confirm_again_ns(l))
		ask_process(l, p, r->tid);
	/* A child that will be gone before /proc answers gets its parent's cgroup. */
	if (parent && !parent->ended_ns && !parent->confirmed)
		wait |= ask_process(l, parent, parent->pid);
	/* Only of one that is known to be ours: an answer about a thread cannot be checked. */
	if (!w->comm && w->thread && p->known)
		wait |= ask_thread(l, w->thread);
	return wait;
}

static bool is_below(struct cam_text path, struct cam_text top)
{
	while (top.n && top.p[top.n - 1] == '/')
		top.n--;
	return cam_text_starts(path, top) && (path.n == top.n || path.p[top.n] == '/');
}

bool cam_live_in_scope(const struct cam_live *l, const struct cam_process *p)
{
	const struct cam_scope *s = &l->options.scope;
	return (!s->n_pids || p->scope == CAM_SCOPE_IN) &&
	       (s->uid == CAM_UID_NONE || p->uid == s->uid) &&
	       (!s->cgroup.n || is_below(cam_word_text(p->cgroup), s->cgroup));
}

static bool add_frame(struct cam_live *l, size_t *n, struct cam_files_row *file, uint64_t address)
{
	/* One place is kept for [truncated]. */
	if (*n >= CAM_LIVE_MAX_FRAMES - 1)
		return false;
	l->frames[(*n)++] = (struct cam_live_frame){.file = file, .address = address};
	return true;
}

/* The frames of a sample, leaf first, in l->frames; and what became of its user half. */
struct found {
	size_t n;
	bool wait; /* a file is being asked about */
	enum cam_stack_end end;
};

static bool is_cut(enum cam_stack_end end)
{
	return end != CAM_STACK_UNKNOWN && end != CAM_STACK_COMPLETE && end != CAM_STACK_NO_USER &&
	       end != CAM_STACK_WORKER;
}

/* A frame in a mapping that is known; false: there is no room for it. */
static bool add_mapped(struct cam_live *l, const struct cam_live_who *w,
		       const struct cam_image_map *m, uint64_t address, struct found *to)
{
	struct cam_files_row *f = cam_jit_row(l, w, m);
	if (f && f->kind != CAM_MODULE_JIT)
		address += m->offset - m->start;
	if (f && f->kind == CAM_MODULE_VDSO)
		address -= m->offset;
	if (f && f->state != CAM_FILES_HELD && f->kind == CAM_MODULE_FILE)
		to->wait |= cam_live_ask_file(l, w->process, m);
	if (!add_frame(l, &to->n, f, f ? address : 0))
		return false;
	if (f && f->kind == CAM_MODULE_JIT) {
		l->frames[to->n - 1].image = w->image;
		l->frames[to->n - 1].map = m;
	}
	return true;
}

/* A frame in no mapping; false: the stack ends here. */
static bool add_unmapped(struct cam_live *l, const struct cam_live_who *w, const struct cam_raw *r,
			 uint32_t i, struct found *to)
{
	const struct cam_raw_sample *s = &r->sample;
	/* One that waits for its table came with what frame pointers gave. */
	bool by_pointers = s->end == CAM_STACK_UNKNOWN || s->end == CAM_STACK_PENDING ||
			   s->flags & CAM_RAW_GUESSED;
	/* What tables lead to is there; then something is missing here. */
	if ((!i || !by_pointers) && r->time_ns > w->process->exec_ns + SETTLED_NS &&
	    l->now_ns - w->process->asked_ns > LOOK_AGAIN_NS) {
		w->process->incomplete = true;
		ask_process(l, w->process, r->tid);
	}
	if (!i && s->end != CAM_STACK_NO_MAPPING)
		return add_frame(l, &to->n, NULL, 0);
	l->stats.cut_stacks += i > 0;
	/* What frame pointers gave while tables were awaited ends anywhere: it is still those that lacked. */
	if (!is_cut(to->end))
		to->end = CAM_STACK_NO_MAPPING;
	return false;
}

/* The user half. false: it ends before its frames do. */
static bool find_user_frames(struct cam_live *l, const struct cam_live_who *w,
			     const struct cam_raw *r, struct found *to)
{
	const struct cam_raw_sample *s = &r->sample;
	const struct cam_image_map *m = NULL;
	size_t base = to->n;
	if (!w->known || !w->image) {
		if (s->end != CAM_STACK_UNKNOWN)
			to->end = w->process->known ? CAM_STACK_SUSPECT : CAM_STACK_PENDING;
		return add_frame(l, &to->n, NULL, 0);
	}
	for (uint32_t i = 0; i < s->n_user; i++) {
		uint64_t address = s->user[i] - (i > 0);
		m = cam_image_find(w->image, address, r->time_ns);
		if (m && cam_image_is_stale(w->image, m, s->image)) {
			to->n = i ? base + 1 : base;
			to->end = CAM_STACK_STALE;
			return !i ? add_mapped(l, w, m, address, to) : true;
		}
		if (m ? !add_mapped(l, w, m, address, to) : !add_unmapped(l, w, r, i, to))
			return false;
	}
	/* The mapping came since. */
	if (m && to->end == CAM_STACK_NO_MAPPING)
		to->end = CAM_STACK_PENDING;
	if (m && m->file && to->end == CAM_STACK_PENDING)
		cam_live_table_want(l, m->file, true);
	return true;
}

static struct found find_frames(struct cam_live *l, const struct cam_live_who *w,
				const struct cam_raw *r)
{
	const struct cam_raw_sample *s = &r->sample;
	struct cam_files_row *kernel = cam_files_kernel(l->files);
	struct found to = {.end = s->end};
	bool fits = true;
	/* Not every source can tell. */
	if (s->end == CAM_STACK_NO_USER &&
	    cam_task_is_worker(r->pid, r->tid, cam_text_of(w->comm ? w->comm : "")))
		to.end = CAM_STACK_WORKER;
	for (uint32_t i = 0; i < s->n_kernel && fits; i++)
		fits = add_frame(l, &to.n, kernel, s->kernel[i] - (i > 0));
	if (s->n_user && fits)
		fits = find_user_frames(l, w, r, &to);
	if ((!fits || s->flags & CAM_RAW_TRUNCATED) && !is_cut(to.end))
		to.end = CAM_STACK_DEPTH;
	if (is_cut(to.end))
		l->frames[to.n++] = (struct cam_live_frame){.address = to.end, .mark = true};
	return to;
}

/* Whether a sample is of what its process and thread are now: others, which waited, may be of an image or a name of before. */
static bool is_current(const struct cam_live_who *who)
{
	const struct cam_thread *k = who->thread;
	return k && who->comm && who->image == who->process->image &&
	       !strncmp(who->comm, k->comm, CAM_COMM_BYTES);
}

static int make_task(struct cam_live_window *w, const struct cam_live_who *who,
		     const struct cam_raw *r, struct cam_task_id *out)
{
	const struct cam_process *p = who->process;
	struct cam_thread *k = is_current(who) ? who->thread : NULL;
	if (k && k->task_window == w->number && k->task_version == p->version) {
		out->v = k->task;
		return 0;
	}
	struct cam_tables *t = &w->w.tables;
	struct cam_task task = {.pid = r->pid,
				.tid = r->tid,
				.uid = p->uid,
				.start_ns = p->start_ns - p->start_ns % START_UNIT};
	struct cam_text comm = r->pid == CAM_PID_NONE ? CAM_TEXT("[ended]")
						      : cam_text_of(who->comm ? who->comm : "");
	int err = cam_string_intern(t, comm, &task.comm);
	if (!err && who->image && who->known)
		err = cam_string_intern(t, cam_word_text(who->image->exe), &task.exe);
	if (!err)
		err = cam_string_intern(t, cam_word_text(p->cgroup), &task.cgroup);
	if (!err)
		err = cam_task_intern(t, &task, out);
	if (!err && k) {
		k->task = out->v;
		k->task_window = w->number;
		k->task_version = p->version;
	}
	return err;
}

static int store(struct cam_live *l, struct cam_live_window *w, const struct cam_live_who *who,
		 const struct cam_raw *r, const struct found *found)
{
	struct cam_sample s = {
		.time_ns = r->time_ns - r->time_ns % CAM_LIVE_TIME_UNIT,
		.weight = w->w.tables.etypes[w->etype.v].has_weight ? r->sample.weight : 1,
		.cpu = r->cpu,
		.etype = w->etype,
	};
	int err = make_task(w, who, r, &s.task);
	l->placing_ns = r->time_ns;
	if (!err)
		err = cam_live_place(l, w, found->n, &s.place);
	/* Where frame pointers are all there is, the window's fact says so of every stack. */
	if (!err && r->sample.flags & CAM_RAW_GUESSED && r->sample.end != CAM_STACK_UNKNOWN)
		err = cam_string_intern(&w->w.tables, CAM_TEXT(CAM_DETAIL_GUESSED), &s.detail);
	return err ? err : cam_live_window_put(l, w, &s);
}

/* The frames are found; the end of every sample that is not idle or filtered. */
static void finish(struct cam_live *l, const struct cam_live_who *who, const struct cam_raw *r,
		   const struct found *found)
{
	struct cam_live_window *w;
	int err = cam_live_window_turn(l, r->time_ns);
	if (!err)
		err = cam_live_window_at(l, r->time_ns, &w);
	enum cam_ledger_fate fate = CAM_LEDGER_BUSY;
	if (!err && cam_live_window_is_stuck(l, w)) {
		cam_live_window_lose(l, r->cpu, r->time_ns);
	} else {
		if (!err)
			err = store(l, w, who, r, found);
		if (err) {
			fate = CAM_LEDGER_BOUND;
			l->stats.dropped++;
		} else if (r->time_ns < w->start_ns) {
			l->stats.late_samples++;
		}
	}
	l->stats.ends[found->end]++;
	l->stats.guessed += (r->sample.flags & CAM_RAW_GUESSED) != 0;
	cam_ledger_sample(l->ledger, r->cpu, r->time_ns, fate);
}

static void filter(struct cam_live *l, const struct cam_raw *r)
{
	l->stats.filtered++;
	cam_ledger_sample(l->ledger, r->cpu, r->time_ns, CAM_LEDGER_FILTERED);
}

/* Parks or finishes. `force`: it has waited long enough. */
static bool try_sample(struct cam_live *l, const struct cam_live_who *who, const struct cam_raw *r,
		       bool force)
{
	bool wait = cam_live_ask_who(l, who, r);
	struct found found = {0};
	if (!wait || force) {
		if (!cam_live_in_scope(l, who->process)) {
			filter(l, r);
			return true;
		}
		found = find_frames(l, who, r);
		wait |= found.wait;
	}
	if (wait && !force)
		return false;
	if (r->sample.n_user && !who->known)
		l->stats.suspect_samples++;
	finish(l, who, r, &found);
	return true;
}

bool cam_live_is_trusted(const struct cam_live *l, const struct cam_process *p)
{
	return p->known && !cam_processes_is_suspect(l->processes, p);
}

/* The answer may have told that the pid is another's, and was so already. */
static void pass_on(struct cam_live *l, struct cam_parked *q, const struct cam_raw *r)
{
	struct cam_process *heir = cam_processes_heir(l->processes, q->process, r->time_ns);
	if (!heir)
		return;
	cam_image_release(cam_processes_images(l->processes), q->image);
	cam_processes_unpark(l->processes, q->process);
	heir->parked++;
	q->process = heir;
	q->image = NULL;
	q->has_comm = false;
	q->execs = heir->execs;
}

struct cam_live_who cam_live_parked_who(struct cam_live *l, struct cam_parked *q,
					const struct cam_raw *r)
{
	pass_on(l, q, r);
	struct cam_process *p = q->process;
	struct cam_live_who who = {.process = p, .execs = q->execs};
	bool same_program = q->execs == p->execs;
	/* Unless records were lost since: then only /proc knows. */
	if (q->image && q->epoch == p->epoch && cam_live_is_trusted(l, p)) {
		who.image = q->image;
		who.known = true;
	}
	if (p->listed && same_program)
		who.thread = cam_processes_thread(l->processes, p, r->tid);
	if (!who.image && same_program) {
		who.image = p->image;
		who.known = cam_live_is_trusted(l, p);
	}
	if (q->has_comm)
		who.comm = q->comm;
	else if (who.thread && who.thread->known)
		who.comm = who.thread->comm;
	return who;
}

bool cam_live_is_overdue(const struct cam_live *l, const struct cam_parked *q, uint64_t more_ns)
{
	return l->tick_ns >= q->parked_ns + CAM_LIVE_PARK_NS + more_ns ||
	       l->tick_ns >= q->sampled_ns + CAM_LIVE_AGE_NS;
}

static bool retry(struct cam_live *l, struct cam_parked *q, const struct cam_raw *r, bool all)
{
	struct cam_live_who who = cam_live_parked_who(l, q, r);
	/* The answer is there, and waits for records: another round will do. */
	bool force = all || cam_live_is_overdue(l, q, q->process->word ? NOTED_NS : 0);
	if (!try_sample(l, &who, r, force))
		return false;
	cam_image_release(cam_processes_images(l->processes), q->image);
	cam_processes_unpark(l->processes, q->process);
	return true;
}

static bool retry_due(void *arg, struct cam_parked *q, const struct cam_raw *r)
{
	return retry(arg, q, r, false);
}

static bool retry_forced(void *arg, struct cam_parked *q, const struct cam_raw *r)
{
	return retry(arg, q, r, true);
}

void cam_live_release(struct cam_live *l, bool all)
{
	cam_parking_visit(&l->parking, all ? retry_forced : retry_due, l);
}

struct before {
	struct cam_live *l;
	uint64_t time_ns;
};

static bool retry_before(void *arg, struct cam_parked *q, const struct cam_raw *r)
{
	const struct before *b = arg;
	return r->time_ns < b->time_ns && retry(b->l, q, r, true);
}

void cam_live_release_before(struct cam_live *l, uint64_t time_ns)
{
	struct before b = {l, time_ns};
	cam_live_copies_before(l, time_ns);
	cam_parking_visit(&l->parking, retry_before, &b);
}

struct cam_parked cam_live_parked(struct cam_live *l, const struct cam_live_who *w,
				  uint64_t sampled_ns)
{
	struct cam_parked q = {
		.process = w->process,
		.image = cam_image_hold(w->known ? w->image : NULL),
		.parked_ns = l->tick_ns ? l->tick_ns : l->now_ns,
		.sampled_ns = sampled_ns,
		.execs = w->process->execs,
		.epoch = w->process->epoch,
		.has_comm = w->comm != NULL,
	};
	if (w->comm)
		memcpy(q.comm, w->comm, sizeof(q.comm));
	w->process->parked++;
	return q;
}

/* Takes the holds over. */
static void park(struct cam_live *l, struct cam_parked *q, const struct cam_raw *r)
{
	if (cam_parking_put(&l->parking, q, r) == 0)
		return;
	/* No room to wait: those that wait go on, and this one too. */
	cam_live_release(l, true);
	retry(l, q, r, true);
}

void cam_live_resume(struct cam_live *l, struct cam_parked *q, const struct cam_raw *r)
{
	if (!retry(l, q, r, false))
		park(l, q, r);
}

void cam_live_sample(struct cam_live *l, const struct cam_raw *in)
{
	struct cam_raw r = *in;
	cam_live_window_settle(l, r.time_ns);
	if (r.pid == 0 && l->options.inside_pid_ns) {
		filter(l, &r);
		return;
	}
	if (r.pid == 0) {
		l->stats.idle++;
		cam_ledger_sample(l->ledger, r.cpu, r.time_ns, CAM_LEDGER_IDLE);
		return;
	}
	struct cam_live_who who = {0};
	who.process = cam_processes_meet(l->processes, &r, &who.thread);
	if (!who.process) {
		l->stats.dropped++;
		cam_ledger_sample(l->ledger, r.cpu, r.time_ns, CAM_LEDGER_BOUND);
		return;
	}
	who.image = who.process->image;
	who.execs = who.process->execs;
	who.known = cam_live_is_trusted(l, who.process);
	if (who.thread && who.thread->known)
		who.comm = who.thread->comm;
	cam_live_unwind_sampled(l, who.process, &r);
	if (r.sample.copy.stack_bytes) {
		if (cam_live_copy_take(l, &who, &r))
			return;
		r.sample.copy = (struct cam_raw_copy){0};
		r.sample.end = CAM_STACK_PENDING;
	}
	if (try_sample(l, &who, &r, false))
		return;
	struct cam_parked q = cam_live_parked(l, &who, r.time_ns);
	park(l, &q, &r);
}
