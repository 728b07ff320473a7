// SPDX-License-Identifier: Apache-2.0
/*
 * The table of processes, kept by the records of the side band.
 *
 * What is known for sure, and why. Records come in order of time, so at a sample the table holds
 * what was true then:
 *  - a fork gives the child its parent's image, user, cgroup and the comm of the thread that forked;
 *  - an exec (COMM with the exec flag) drops all of the image; the mappings that follow are all
 *    there are, the first of a file is the program;
 *  - so a process that lived 5 ms is fully known, though /proc never saw it, if its parent is, or
 *    if it has executed a program.
 * What lived before has an image only of what was mapped since; it is `known` when /proc has
 * answered (process_answer.c).
 *
 * Invariants
 *  1. At most one process is listed under a pid, one thread under a tid.
 *  2. A process is in the ring of the living or of the ended while it is listed; detached ones are
 *     in neither and exist only while samples are parked for them.
 *  3. known && !suspect: its image holds exactly the executable mappings of now, but for those
 *     that were unmapped (nobody tells; an address there is not sampled either).
 *  4. Losses make epoch grow; who was not sure since (epoch is older) is suspect. A child inherits its
 *     parent's doubt; an exec after the loss ends it.
 *  5. bytes <= max_bytes after each call, as far as there is one to evict.
 *
 * Example: 100 forks 200 at t=5, 200 execs at t=6 and maps /bin/ls at t=7, exits at t=9; 200 is
 * forked again by 300 at t=10. A sample of 200 at t=5.5 has 100's mappings and comm, one at 8 is
 * /bin/ls; the one at 11 is another process, of 300's image.
 */
#include "ingest/process_parts.h"

#include "base/index.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>

#define GRACE_NS     (300 * CAM_NS_PER_MS)
#define TICK_NS	     (10 * CAM_NS_PER_MS)
#define FORK_LAG_NS  (500 * CAM_NS_PER_MS)
#define MAX_SKIPPED  64u
#define MAX_FOREBEAR 8u

int cam_processes_new(const struct cam_process_options *o, struct cam_processes **out)
{
	struct cam_processes *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->options = *o;
	t->images = (struct cam_images){.words = o->words, .files = o->files};
	t->pid_used = calloc(o->n_pids + 1, sizeof(*t->pid_used));
	if (!t->pid_used) {
		free(t);
		return -ENOMEM;
	}
	cam_link_init(&t->living);
	cam_link_init(&t->ended);
	cam_link_init(&t->ended_threads);
	cam_link_init(&t->words);
	t->epoch = 1;
	*out = t;
	return 0;
}

static struct cam_process *first_of(const struct cam_link *list)
{
	return CAM_LINK_OWNER(list->next, struct cam_process, of_table);
}

void cam_processes_free(struct cam_processes *t)
{
	if (!t)
		return;
	struct cam_link *lists[] = {&t->living, &t->ended};
	for (size_t i = 0; i < 2; i++) {
		while (!cam_link_is_alone(lists[i])) {
			struct cam_process *p = first_of(lists[i]);
			p->parked = 0;
			cam_process_detach(t, p);
		}
	}
	free(t->pid_used);
	free(t);
}

static size_t pid_slot(int32_t pid)
{
	return ((uint32_t)pid * 0x9e3779b1u) >> 16 & (CAM_PROCESS_SLOTS - 1);
}

static size_t tid_slot(int32_t tid)
{
	return ((uint32_t)tid * 0x9e3779b1u) >> 16 & (CAM_THREAD_SLOTS - 1);
}

struct cam_process *cam_processes_find(const struct cam_processes *t, int32_t pid)
{
	struct cam_process *p = t->by_pid[pid_slot(pid)];
	while (p && p->pid != pid)
		p = p->next_hash;
	return p;
}

static struct cam_thread *find_thread(const struct cam_processes *t, int32_t tid)
{
	struct cam_thread *k = t->by_tid[tid_slot(tid)];
	while (k && k->tid != tid)
		k = k->next_hash;
	return k;
}

struct cam_thread *cam_processes_thread(const struct cam_processes *t, const struct cam_process *p,
					int32_t tid)
{
	struct cam_thread *k = find_thread(t, tid);
	return k && k->process == p ? k : NULL;
}

static void drop_thread(struct cam_processes *t, struct cam_thread *k)
{
	struct cam_thread **at = &t->by_tid[tid_slot(k->tid)];
	while (*at != k)
		at = &(*at)->next_hash;
	*at = k->next_hash;
	if (!k->ended_ns)
		k->process->living_threads--;
	cam_link_leave(&k->of_process);
	cam_link_leave(&k->of_ended);
	free(k);
	t->stats.threads--;
}

/* Whoever has something of it is to forget that. */
static void leave(struct cam_processes *t, struct cam_process *p)
{
	cam_link_leave(&p->of_due);
	if (p->given && t->options.left)
		t->options.left(t->options.left_arg, p);
	p->given = 0;
}

static void free_process(struct cam_processes *t, struct cam_process *p)
{
	cam_image_release(&t->images, p->image);
	cam_process_drop_answer(t, p);
	cam_words_release(t->options.words, p->cgroup);
	free(p);
	t->stats.processes--;
}

static void drop_threads(struct cam_processes *t, struct cam_process *p,
			 const struct cam_thread *but)
{
	struct cam_link *next;
	for (struct cam_link *l = p->threads.next; l != &p->threads; l = next) {
		struct cam_thread *k = CAM_LINK_OWNER(l, struct cam_thread, of_process);
		next = l->next;
		if (k != but)
			drop_thread(t, k);
	}
}

void cam_process_detach(struct cam_processes *t, struct cam_process *p)
{
	struct cam_process **at = &t->by_pid[pid_slot(p->pid)];
	while (*at != p)
		at = &(*at)->next_hash;
	*at = p->next_hash;
	p->listed = false;
	cam_link_leave(&p->of_table);
	leave(t, p);
	drop_threads(t, p, NULL);
	cam_process_drop_answer(t, p); /* it was asked by its pid */
	if (!p->parked)
		free_process(t, p);
}

void cam_processes_unpark(struct cam_processes *t, struct cam_process *p)
{
	if (--p->parked)
		return;
	if (!p->listed) {
		free_process(t, p);
	} else if (p->ended_ns) {
		cam_image_release(&t->images, p->image);
		p->image = NULL;
	}
}

/* Of the pids that were asked for, only the first bearer is meant. */
static enum cam_process_scope scope_of(struct cam_processes *t, int32_t pid)
{
	size_t from = 0, to = t->options.n_pids;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (t->options.pids[middle] < pid)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == t->options.n_pids || t->options.pids[from] != pid || t->pid_used[from])
		return CAM_SCOPE_OUT;
	t->pid_used[from] = true;
	return CAM_SCOPE_IN;
}

struct cam_process *cam_process_make(struct cam_processes *t, int32_t pid)
{
	struct cam_process *p = malloc(sizeof(*p));
	if (!p)
		return NULL;
	struct cam_process **slot = &t->by_pid[pid_slot(pid)];
	*p = (struct cam_process){
		.next_hash = *slot,
		.pid = pid,
		.parent_pid = CAM_PID_NONE,
		.uid = CAM_UID_NONE,
		.version = 1,
		.listed = true,
		.scope = scope_of(t, pid),
	};
	*slot = p;
	cam_link_init(&p->threads);
	cam_link_init(&p->of_due);
	cam_link_init(&p->of_words);
	cam_link_join(&t->living, &p->of_table);
	t->stats.processes++;
	return p;
}

struct cam_thread *cam_process_thread(struct cam_processes *t, struct cam_process *p, int32_t tid)
{
	struct cam_thread *k = find_thread(t, tid);
	if (k && k->process == p)
		return k;
	if (k)
		drop_thread(t, k);
	k = malloc(sizeof(*k));
	if (!k)
		return NULL;
	struct cam_thread **slot = &t->by_tid[tid_slot(tid)];
	*k = (struct cam_thread){.next_hash = *slot, .process = p, .tid = tid};
	*slot = k;
	cam_link_init(&k->of_ended);
	cam_link_join(&p->threads, &k->of_process);
	p->living_threads++;
	t->stats.threads++;
	return k;
}

void cam_thread_set_comm(struct cam_thread *k, struct cam_text comm, uint64_t time_ns)
{
	size_t n = comm.n < CAM_COMM_BYTES - 1 ? comm.n : CAM_COMM_BYTES - 1;
	memset(k->comm, 0, sizeof(k->comm));
	if (n)
		memcpy(k->comm, comm.p, n);
	k->known = true;
	k->comm_ns = time_ns;
	k->task_window = 0;
}

static size_t bytes_of(const struct cam_processes *t)
{
	return sizeof(*t) +
	       t->stats.processes * (sizeof(struct cam_process) + CAM_WORD_ALLOC_COST) +
	       t->stats.threads * (sizeof(struct cam_thread) + CAM_WORD_ALLOC_COST) +
	       t->images.bytes + t->options.words->bytes;
}

static struct cam_process *evictable(struct cam_processes *t, struct cam_link *list)
{
	unsigned skipped = 0;
	for (struct cam_link *l = list->next; l != list && skipped < MAX_SKIPPED; l = l->next) {
		struct cam_process *p = CAM_LINK_OWNER(l, struct cam_process, of_table);
		/* Membership of a scope cannot be asked for again. */
		if (!p->parked && p != t->busy &&
		    (p->ended_ns || !t->options.n_pids || p->scope == CAM_SCOPE_OUT))
			return p;
		skipped++;
	}
	return NULL;
}

void cam_processes_make_room(struct cam_processes *t, struct cam_process *p)
{
	t->busy = p;
	while (bytes_of(t) > t->options.max_bytes) {
		struct cam_process *victim = evictable(t, &t->ended);
		if (!victim && (victim = evictable(t, &t->living)))
			t->stats.evicted++;
		if (!victim)
			break;
		cam_process_detach(t, victim);
	}
	t->busy = NULL;
}

static struct cam_process *find_or_make(struct cam_processes *t, int32_t pid)
{
	struct cam_process *p = cam_processes_find(t, pid);
	return p ? p : cam_process_make(t, pid);
}

struct cam_process *cam_processes_expect(struct cam_processes *t, int32_t pid)
{
	struct cam_process *p = find_or_make(t, pid);
	/* What it is called is only noted of a thread that is there. */
	if (p && !cam_process_thread(t, p, pid))
		return NULL;
	return p;
}

bool cam_processes_is_suspect(const struct cam_processes *t, const struct cam_process *p)
{
	return p->known && p->epoch != t->epoch;
}

static void fork_thread(struct cam_processes *t, const struct cam_raw *r)
{
	struct cam_process *p = find_or_make(t, r->pid);
	struct cam_thread *k = p ? cam_process_thread(t, p, r->tid) : NULL;
	if (!k)
		return;
	const struct cam_thread *parent = cam_processes_thread(t, p, r->fork.parent_tid);
	if (k->ended_ns) {
		k->ended_ns = 0;
		p->living_threads++;
		cam_link_leave(&k->of_ended);
	}
	k->known = false;
	if (parent && parent->known)
		cam_thread_set_comm(k, cam_text_of(parent->comm), 0);
	cam_processes_make_room(t, p);
}

static void fork_process(struct cam_processes *t, const struct cam_raw *r)
{
	struct cam_process *p = cam_processes_find(t, r->pid);
	if (p)
		cam_process_detach(t, p);
	/* The parent gets a row too: only from it can a short-lived child have its cgroup. */
	struct cam_process *parent = find_or_make(t, r->fork.parent_pid);
	p = parent ? cam_process_make(t, r->pid) : NULL;
	if (!p)
		return;
	p->parent_pid = parent->pid;
	p->born_ns = r->time_ns;
	p->start_ns = r->time_ns + (uint64_t)t->boot_offset_ns;
	p->uid = parent->uid;
	p->cgroup = cam_word_hold(parent->cgroup);
	p->image = cam_image_hold(parent->image);
	p->known = parent->known;
	p->exe_due = parent->exe_due;
	p->epoch = parent->epoch;
	if (parent->scope == CAM_SCOPE_IN)
		p->scope = CAM_SCOPE_IN;
	struct cam_thread *k = cam_process_thread(t, p, r->tid);
	const struct cam_thread *forker = cam_processes_thread(t, parent, r->fork.parent_tid);
	if (k && forker && forker->known)
		cam_thread_set_comm(k, cam_text_of(forker->comm), 0);
	cam_processes_make_room(t, p);
}

/* Another program: nothing of the old one is left, but who it is. */
static void exec_process(struct cam_processes *t, struct cam_process *p, const struct cam_raw *r)
{
	leave(t, p);
	cam_image_release(&t->images, p->image);
	p->image = NULL;
	p->known = p->exe_due = true;
	p->incomplete = false;
	p->confirmed = false;
	p->failures = 0;
	p->exec_ns = r->time_ns;
	p->execs++;
	p->version++;
	if (r->time_ns >= t->lost_to_ns)
		p->epoch = t->epoch;
	drop_threads(t, p, cam_processes_thread(t, p, r->tid));
}

static void take_comm(struct cam_processes *t, const struct cam_raw *r)
{
	struct cam_process *p = find_or_make(t, r->pid);
	if (!p)
		return;
	if (r->comm.exec)
		exec_process(t, p, r);
	struct cam_thread *k = cam_process_thread(t, p, r->tid);
	if (k)
		cam_thread_set_comm(k, r->comm.comm, r->time_ns);
	cam_processes_make_room(t, p);
}

static void take_mmap(struct cam_processes *t, const struct cam_raw *r)
{
	struct cam_process *p = find_or_make(t, r->pid);
	if (!p)
		return;
	if (!p->image && !(p->image = cam_image_new(&t->images)))
		return;
	bool anew = !p->known || cam_processes_is_suspect(t, p);
	int err = cam_image_map(&t->images, &p->image, &r->mmap, r->time_ns, anew);
	/* It maps something that we could not note: as if the record were lost. */
	if (err == -ENOMEM)
		p->epoch = t->epoch - 1;
	const struct cam_image_map *m = cam_image_find(p->image, r->mmap.start, UINT64_MAX);
	if (p->exe_due && m && m->file && m->file->kind == CAM_MODULE_FILE) {
		struct cam_word *exe = cam_words_take(t->options.words, r->mmap.path);
		if (exe && !cam_image_set_exe(&t->images, &p->image, exe))
			p->version++;
		p->exe_due = false;
	}
	cam_processes_make_room(t, p);
}

static void take_exit(struct cam_processes *t, const struct cam_raw *r)
{
	struct cam_process *p = cam_processes_find(t, r->pid);
	/* The next one of this pid is not the one that was meant. */
	if (!p && r->tid == r->pid)
		scope_of(t, r->pid);
	if (!p || p->ended_ns)
		return;
	struct cam_thread *k = cam_processes_thread(t, p, r->tid);
	if (k && !k->ended_ns) {
		k->ended_ns = r->time_ns;
		p->living_threads--;
		cam_link_join(&t->ended_threads, &k->of_ended);
	}
	if (r->tid == r->pid)
		p->leader_ended = true;
	if (!p->leader_ended || p->living_threads)
		return;
	p->ended_ns = r->time_ns;
	leave(t, p);
	cam_link_leave(&p->of_table);
	cam_link_join(&t->ended, &p->of_table);
	/* It has left its memory before it says so: no sample needs the image any more. */
	if (!p->parked) {
		cam_image_release(&t->images, p->image);
		p->image = NULL;
	}
}

void cam_processes_raw(struct cam_processes *t, const struct cam_raw *r)
{
	switch (r->type) {
	case CAM_RAW_MMAP:
		take_mmap(t, r);
		break;
	case CAM_RAW_COMM:
		take_comm(t, r);
		break;
	case CAM_RAW_FORK:
		if (r->pid == r->fork.parent_pid)
			fork_thread(t, r);
		else
			fork_process(t, r);
		break;
	case CAM_RAW_EXIT:
		take_exit(t, r);
		break;
	case CAM_RAW_LOST:
		if (!r->lost.side_band)
			break;
		t->epoch++;
		t->stats.lost++;
		if (r->time_ns > t->lost_to_ns)
			t->lost_to_ns = r->time_ns;
		break;
	default:
		break;
	}
}

bool cam_process_starts_differ(const struct cam_process *p, uint64_t start_ns)
{
	/* Ours may be the time of the fork record, which comes when the child is done. */
	uint64_t early = 2 * TICK_NS + (p->born_ns ? FORK_LAG_NS : 0);
	return p->start_ns && start_ns &&
	       (start_ns > p->start_ns + 2 * TICK_NS || start_ns + early < p->start_ns);
}

/* What BPF says of itself is the kernel's own word of that moment. */
static void take_own_word(struct cam_process *p, struct cam_thread *k,
			  const struct cam_raw_sample *s)
{
	p->kernel_start_ns = s->start_ns;
	if (!p->start_ns && s->start_ns) {
		p->start_ns = s->start_ns;
		p->version++;
	}
	if (p->uid != s->uid) {
		p->uid = s->uid;
		p->version++;
	}
	if (k && (!k->known || strncmp(k->comm, s->comm, sizeof(k->comm)) != 0))
		cam_thread_set_comm(k, cam_text_of(s->comm), k->comm_ns);
}

struct cam_process *cam_processes_meet(struct cam_processes *t, const struct cam_raw *r,
				       struct cam_thread **thread)
{
	bool own_word = r->sample.flags & CAM_RAW_HAS_COMM;
	struct cam_process *p = cam_processes_find(t, r->pid);
	if (p && own_word && cam_process_starts_differ(p, r->sample.start_ns)) {
		cam_process_detach(t, p);
		p = NULL;
	}
	uint32_t had = t->stats.processes + t->stats.threads;
	if (!p && !(p = cam_process_make(t, r->pid)))
		return NULL;
	struct cam_thread *k = cam_process_thread(t, p, r->tid);
	if (own_word)
		take_own_word(p, k, &r->sample);
	p->sampled_ns = r->time_ns;
	/* The leader has ended, and a thread that we had not heard of has not. */
	if (p->ended_ns && k && !k->ended_ns) {
		p->ended_ns = 0;
		p->known = false;
	}
	if (!p->ended_ns) {
		cam_link_leave(&p->of_table);
		cam_link_join(&t->living, &p->of_table);
	}
	if (t->stats.processes + t->stats.threads != had)
		cam_processes_make_room(t, p);
	*thread = k;
	return p;
}

struct cam_process *cam_processes_heir(const struct cam_processes *t, const struct cam_process *p,
				       uint64_t time_ns)
{
	struct cam_process *heir = p->listed ? NULL : cam_processes_find(t, p->pid);
	/* /proc rounds down: only then he lived for sure. */
	bool lived = heir && heir->start_ns &&
		     heir->start_ns + 2 * TICK_NS <= time_ns + (uint64_t)t->boot_offset_ns;
	return lived ? heir : NULL;
}

void cam_processes_inherit(struct cam_processes *t, struct cam_process *p)
{
	const struct cam_process *child = p;
	for (unsigned i = 0; i < MAX_FOREBEAR && !p->cgroup && child->born_ns; i++) {
		const struct cam_process *parent = cam_processes_find(t, child->parent_pid);
		if (!parent || parent->born_ns >= child->born_ns)
			return;
		if (parent->cgroup) {
			p->cgroup = cam_word_hold(parent->cgroup);
			p->version++;
		}
		if (p->uid == CAM_UID_NONE && parent->uid != CAM_UID_NONE) {
			p->uid = parent->uid;
			p->version++;
		}
		child = parent;
	}
}

void cam_processes_tick(struct cam_processes *t, uint64_t released_ns)
{
	struct cam_link *next;
	for (struct cam_link *l = t->ended_threads.next; l != &t->ended_threads; l = next) {
		struct cam_thread *k = CAM_LINK_OWNER(l, struct cam_thread, of_ended);
		next = l->next;
		if (k->ended_ns + GRACE_NS > released_ns)
			break;
		drop_thread(t, k);
	}
	for (struct cam_link *l = t->ended.next; l != &t->ended; l = next) {
		struct cam_process *p = CAM_LINK_OWNER(l, struct cam_process, of_table);
		next = l->next;
		if (p->ended_ns + GRACE_NS > released_ns)
			break;
		cam_process_detach(t, p);
	}
}

void cam_processes_set_boot_offset(struct cam_processes *t, int64_t offset_ns)
{
	t->boot_offset_ns = offset_ns;
}

struct cam_processes_stats cam_processes_stats(const struct cam_processes *t)
{
	struct cam_processes_stats s = t->stats;
	s.bytes = bytes_of(t);
	return s;
}

struct cam_images *cam_processes_images(struct cam_processes *t)
{
	return &t->images;
}
