// SPDX-License-Identifier: Apache-2.0
/*
 * Errands under way, in a fixed table; two helpers; descriptors by number.
 *
 * Invariants
 *  1. An errand that send() accepted is in `under_way` until it is answered, exactly once.
 *  2. A descriptor that arrives is either put into `files` (its errand is under way) or closed.
 *  3. The symboliser works in the order of arrival. When it dies or hangs, the file of its oldest
 *     errand is asked about without DWARF from then on; if that kills, too, it is poisoned: no symboliser gets it
 *     again. One that has ended by itself (it had used much of its CPU time) blames nobody.
 *  4. The kernel's symbols go to a symboliser once in its life, and again when they changed:
 *     errands for kernel names wait in the table (`sent` false) until the opener has opened them. Old
 *     symbols name nothing once they may be wrong: a BPF program can lie where another was.
 *  5. A file that was written to while it is held is never given to a symboliser, and ingest is told
 *     within CHECK_S seconds: the names it had are those of something else. A file that is renamed or
 *     deleted stays what it was: its time of change says nothing, that of its data does. Maps of code
 *     made at run time are there to grow.
 *  6. No errand lies at under_way[top] or behind it; n_under_way of those before are used. Most of the
 *     time there is none, and nothing is looked at but once a second.
 *  7. Until a file's debug file is found, or known not to be there, errands for its names keep their offsets: the
 *     symboliser may answer that it wants one. Then they wait (`sent` false) until the opener has looked.
 *  8. What goes to the symboliser goes in the order in which it was asked: copies of stacks that were gathered leave before
 *     anything else. Their mappings name files by number, and that may mean another file after a FORGET.
 */
#include "daemon/crew_parts.h"

#include "base/units.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPENER_TIMEOUT_NS (2 * CAM_NS_PER_SEC)
#define NAMES_TIMEOUT_NS  (10 * CAM_NS_PER_SEC)
#define KERNEL_RENEW_NS	  (10 * CAM_NS_PER_SEC) /* reading them takes 45 ms */
#define KERNEL_RENEWALS	  3u			/* …but some may follow each other */
#define MAX_BACKOFF_NS	  (30 * CAM_NS_PER_SEC)
#define KALLSYMS_TICKET	  UINT32_MAX
#define KILLED		  SIGKILL		 /* as waitpid() tells it */
#define REST_NS		  (300 * CAM_NS_PER_SEC) /* a new one reads the kernel's symbols: 45 ms */
#define RECEIVE_NS	  (100 * CAM_NS_PER_MS)
#define CHECK_S		  2u /* each second a part of what is held is looked at */

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static bool is_symbolisers(enum cam_errand_type type)
{
	return type == CAM_ERRAND_NAMES || type == CAM_ERRAND_TABLE || type == CAM_ERRAND_UNWIND;
}

static struct cam_crew_worker *worker_of(struct cam_crew *c, enum cam_errand_type type)
{
	return is_symbolisers(type) ? &c->symboliser : &c->opener;
}

/* Whether its answer brings a descriptor to be held. */
static bool brings_file(enum cam_errand_type type)
{
	return type == CAM_ERRAND_FILE || type == CAM_ERRAND_JIT;
}

int cam_crew_start(struct cam_crew *c, struct cam_crew_worker *w)
{
	if (w->helper.pid)
		return 0;
	uint64_t now = now_ns();
	if (now < w->not_before_ns)
		return -EAGAIN;
	static const char *const with_java[] = {"java", NULL};
	bool java = c->java_maps && w->role == CAM_HELPER_OPENER;
	int err = cam_helper_start(&w->helper, w->role, -1, java ? with_java : NULL);
	/* Double the wait each time one dies young. */
	bool young = w->starts && now - w->started_ns < MAX_BACKOFF_NS;
	w->backoff_ns = young ? 2 * w->backoff_ns + CAM_NS_PER_SEC / 4 : 0;
	if (w->backoff_ns > MAX_BACKOFF_NS)
		w->backoff_ns = MAX_BACKOFF_NS;
	w->started_ns = now;
	w->not_before_ns = now + w->backoff_ns;
	if (err)
		return err;
	w->starts++;
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = w};
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, w->helper.socket, &ev)) {
		err = -errno;
		cam_helper_stop(&w->helper, NULL);
	}
	return err;
}

void cam_crew_forget(struct cam_crew *c, struct cam_crew_errand *e)
{
	c->n_under_way--;
	c->n_with_opener -= worker_of(c, e->type) == &c->opener;
	free(e->offsets);
	*e = (struct cam_crew_errand){0};
	while (c->top && !c->under_way[c->top - 1].used)
		c->top--;
}

/* Answers with an error what was accepted and cannot be done. */
void cam_crew_fail(struct cam_crew *c, struct cam_crew_errand *e, int error)
{
	struct cam_tidings t = {
		.type = e->type,
		.ticket = e->ticket,
		.pid = e->pid,
		.tid = e->tid,
		.file = e->file,
		.error = error,
	};
	enum cam_aid_kind aid = e->aid;
	cam_crew_forget(c, e);
	c->stats.failed++;
	if (t.type == CAM_ERRAND_KALLSYMS)
		c->kernel_asked = false;
	else if (t.type == CAM_ERRAND_DEBUG)
		cam_crew_settle_aid(c, t.file, aid, -1);
	else
		c->deliver(c->arg, &t);
}

/* Not asked for: ingest forgets the file when it hears another key. */
static void tell_written(struct cam_crew *c, uint32_t file, const struct cam_hold *h,
			 const struct stat *now)
{
	struct cam_tidings t = {.type = CAM_ERRAND_FILE, .file = file, .held.key = h->key};
	int64_t changed = cam_file_time(now->st_ctim.tv_sec, now->st_ctim.tv_nsec);
	t.held.key.ctime_ns = changed != h->key.ctime_ns ? changed : changed + 1;
	t.held.key.bytes = (uint64_t)now->st_size;
	c->stats.written_files++;
	c->deliver(c->arg, &t);
}

static void check_files(struct cam_crew *c)
{
	struct stat now;
	struct cam_holds *all = &c->holds;
	for (size_t n = (all->n + CHECK_S - 1) / CHECK_S; n; n--) {
		size_t at = all->next_check++ % all->n;
		const struct cam_hold *h = &all->rows[at];
		if (h->fd >= 0 && cam_hold_was_written(h, &now))
			tell_written(c, (uint32_t)at + CAM_FILE_FIRST, h, &now);
	}
}

/* The symboliser died on it, or hung: what it has not survived it is not given again. */
static void blame(struct cam_crew *c, const struct cam_crew_errand *e)
{
	struct cam_hold *h = cam_holds_find(&c->holds, e->file);
	if (!h || h->poisoned)
		return;
	if (e->type == CAM_ERRAND_NAMES && !e->grows && !h->symbols_only) {
		h->symbols_only = true;
		c->stats.symbols_only_files++;
		return;
	}
	h->poisoned = true;
	c->stats.poisoned_files++;
}

/* A worker is gone: what it had is answered here. status: as it has ended, where that is known already. */
static void lose_worker(struct cam_crew *c, struct cam_crew_worker *w, int error, int status)
{
	struct cam_crew_errand *oldest = NULL;
	epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, w->helper.socket, NULL);
	cam_helper_stop(&w->helper, &status);
	for (size_t i = 0; i < c->top; i++) {
		struct cam_crew_errand *e = &c->under_way[i];
		if (e->used && e->sent && worker_of(c, e->type) == w &&
		    (!oldest || e->order < oldest->order))
			oldest = e;
	}
	if (w == &c->symboliser) {
		c->bundle.bytes = 0;
		bool by_itself = WIFEXITED(status) && WEXITSTATUS(status) == 0;
		if (oldest && !by_itself)
			blame(c, oldest);
		c->kernel_sent = false;
	}
	/* Whoever is told may ask anew at once: that is not among what was lost. */
	uint64_t limit = c->order;
	for (size_t i = 0; i < c->top; i++) {
		struct cam_crew_errand *e = &c->under_way[i];
		if (e->used && e->sent && e->order < limit && worker_of(c, e->type) == w)
			cam_crew_fail(c, e, error);
	}
}

int cam_crew_pack(struct cam_crew *c, struct cam_crew_worker *w, const struct cam_errand *e, int fd)
{
	int err = w == &c->symboliser ? cam_crew_send_copies(c) : 0;
	if (err)
		return err;
	int n = cam_errand_pack(e, c->packet, sizeof(c->packet));
	if (n < 0)
		return n;
	return cam_packet_send(w->helper.socket, c->packet, (size_t)n, fd);
}

static struct cam_crew_errand *free_slot(struct cam_crew *c)
{
	for (size_t i = 0; i < CAM_CREW_UNDER_WAY; i++) {
		if (!c->under_way[i].used) {
			c->top = i < c->top ? c->top : i + 1;
			return &c->under_way[i];
		}
	}
	return NULL;
}

struct cam_crew_errand *cam_crew_note(struct cam_crew *c, const struct cam_errand *in)
{
	struct cam_crew_errand *e = free_slot(c);
	if (!e)
		return NULL;
	c->n_under_way++;
	c->n_with_opener += worker_of(c, in->type) == &c->opener;
	*e = (struct cam_crew_errand){
		.used = true,
		.grows = in->type == CAM_ERRAND_JIT || in->format != CAM_FORMAT_ELF,
		.type = in->type,
		.ticket = in->ticket,
		.file = in->file,
		.pid = in->pid,
		.tid = in->tid,
		.order = c->order++,
		.deadline_ns = now_ns() +
			       (is_symbolisers(in->type) ? NAMES_TIMEOUT_NS : OPENER_TIMEOUT_NS),
	};
	return e;
}

/* A few renewals at once, then one every KERNEL_RENEW_NS: who loads BPF programs all day must not make
 * us read kallsyms all day. */
static bool may_renew(struct cam_crew *c)
{
	uint64_t now = now_ns();
	while (c->kernel_renewals < KERNEL_RENEWALS &&
	       now - c->kernel_refilled_ns >= KERNEL_RENEW_NS) {
		c->kernel_renewals++;
		c->kernel_refilled_ns += KERNEL_RENEW_NS;
	}
	if (c->kernel_renewals == KERNEL_RENEWALS)
		c->kernel_refilled_ns = now;
	return c->kernel_renewals > 0;
}

/* 0 also where it must wait: tick() asks then. */
static int ask_kallsyms(struct cam_crew *c)
{
	if (c->kernel_asked || !may_renew(c))
		return 0;
	struct cam_errand ask = {.type = CAM_ERRAND_KALLSYMS, .ticket = KALLSYMS_TICKET};
	struct cam_crew_errand *e = cam_crew_note(c, &ask);
	if (!e)
		return -EAGAIN;
	int err = cam_crew_pack(c, &c->opener, &ask, -1);
	if (err) {
		cam_crew_forget(c, e);
		return err;
	}
	e->sent = c->kernel_asked = true;
	c->kernel_renewals--;
	return 0;
}

/* Kernel names wait until the symboliser has the kernel's symbols. */
static int queue_kernel_names(struct cam_crew *c, const struct cam_errand *in)
{
	int err = cam_crew_start(c, &c->opener);
	if (!err)
		err = ask_kallsyms(c);
	if (err)
		return err;
	uint64_t *offsets = malloc(in->n_offsets * sizeof(*offsets));
	struct cam_crew_errand *e = offsets ? cam_crew_note(c, in) : NULL;
	if (!e) {
		free(offsets);
		return -EAGAIN;
	}
	memcpy(offsets, in->offsets, in->n_offsets * sizeof(*offsets));
	e->offsets = offsets;
	e->n_offsets = in->n_offsets;
	return 0;
}

static bool is_stale(const struct cam_crew *c, uint64_t address)
{
	return address >= c->stale_from && address < c->stale_to;
}

/* Names of what has changed since the symboliser got the kernel's symbols wait for these, the others need
 * not: two errands, one ticket. */
static int send_kernel_names(struct cam_crew *c, const struct cam_errand *in)
{
	uint64_t good[CAM_ERRAND_MAX_OFFSETS], stale[CAM_ERRAND_MAX_OFFSETS];
	struct cam_errand now = *in, later = *in;
	now.offsets = good;
	later.offsets = stale;
	now.n_offsets = later.n_offsets = 0;
	for (uint32_t i = 0; i < in->n_offsets && i < CAM_ERRAND_MAX_OFFSETS; i++) {
		if (!c->kernel_sent || is_stale(c, in->offsets[i]))
			stale[later.n_offsets++] = in->offsets[i];
		else
			good[now.n_offsets++] = in->offsets[i];
	}
	if (!now.n_offsets)
		return queue_kernel_names(c, &later);
	struct cam_crew_errand *e = cam_crew_note(c, &now);
	if (!e)
		return -EAGAIN;
	int err = cam_crew_pack(c, &c->symboliser, &now, -1);
	if (err) {
		cam_crew_forget(c, e);
		return err;
	}
	e->sent = true;
	/* What cannot be queued is not answered: it will be asked for again. */
	e->part = later.n_offsets && !queue_kernel_names(c, &later);
	return 0;
}

static int send_to_symboliser(struct cam_crew *c, const struct cam_errand *in)
{
	int fd = -1;
	struct cam_hold *h = NULL;
	if (in->type != CAM_ERRAND_UNWIND && in->file >= CAM_FILE_FIRST) {
		struct stat now;
		h = cam_holds_find(&c->holds, in->file);
		if (!h || h->fd < 0 || h->poisoned)
			return -EBADF;
		if (cam_hold_was_written(h, &now))
			return -EAGAIN; /* ingest hears why from the tick */
		fd = h->fd;
	}
	int err = cam_crew_start(c, &c->symboliser);
	if (err)
		return err;
	c->symboliser_asked = true;
	if (in->type == CAM_ERRAND_NAMES && in->file == CAM_FILE_KERNEL)
		return send_kernel_names(c, in);
	if (in->type == CAM_ERRAND_NAMES && in->format == CAM_FORMAT_ELF && h)
		return cam_crew_send_names(c, in, h);
	struct cam_crew_errand *e = cam_crew_note(c, in);
	if (!e)
		return -EAGAIN;
	err = in->type == CAM_ERRAND_UNWIND ? cam_crew_gather(c, in)
					    : cam_crew_pack(c, &c->symboliser, in, fd);
	if (err)
		cam_crew_forget(c, e);
	else
		e->sent = true;
	return err;
}

static int send_to_opener(struct cam_crew *c, const struct cam_errand *in)
{
	if (brings_file(in->type) &&
	    (!cam_holds_has_room(&c->holds) || !cam_holds_make(&c->holds, in->file)))
		return -EMFILE;
	int err = cam_crew_start(c, &c->opener);
	if (err)
		return err;
	struct cam_hold *h =
		in->type == CAM_ERRAND_FILE ? cam_holds_find(&c->holds, in->file) : NULL;
	if (h) {
		h->pid = in->pid;
		free(h->path);
		h->path = strndup(in->mapping.path.p, in->mapping.path.n);
	}
	struct cam_crew_errand *e = cam_crew_note(c, in);
	if (!e)
		return -EAGAIN;
	err = cam_crew_pack(c, &c->opener, in, -1);
	if (err)
		cam_crew_forget(c, e);
	else
		e->sent = true;
	return err;
}

static int crew_send(struct cam_errands *door, const struct cam_errand *in)
{
	struct cam_crew *c = door->self;
	int err;
	switch (in->type) {
	case CAM_ERRAND_FORGET:
		cam_holds_release(&c->holds, in->file);
		/* The number will mean another file: its table must not be taken for that one's. */
		if (c->symboliser.helper.pid)
			(void)cam_crew_pack(c, &c->symboliser, in, -1);
		return 0;
	case CAM_ERRAND_NAMES:
	case CAM_ERRAND_TABLE:
	case CAM_ERRAND_UNWIND:
		err = send_to_symboliser(c, in);
		break;
	case CAM_ERRAND_PROCESS:
	case CAM_ERRAND_THREAD:
	case CAM_ERRAND_FILE:
	case CAM_ERRAND_JIT:
		err = send_to_opener(c, in);
		break;
	default:
		return -EINVAL;
	}
	if (err != -EPIPE && err != -ECONNRESET)
		return err;
	/* It died a moment ago: tick() will see to it, and it can be asked again. */
	c->look_now = true;
	return -EAGAIN;
}

static bool crew_is_written(struct cam_errands *door, uint32_t file)
{
	const struct cam_crew *c = door->self;
	struct cam_hold *h = cam_holds_find(&c->holds, file);
	struct stat now;
	if (!h || h->fd < 0 || h->look == c->look)
		return false;
	bool written = cam_hold_was_written(h, &now);
	h->look = written ? h->look : c->look;
	return written;
}

void cam_crew_records_come(struct cam_crew *c)
{
	/* 0 is of none. */
	if (++c->look == 0)
		c->look = 1;
}

/* The kernel's symbols are open: to the symboliser, with the first errand that waits for them. */
static void pass_kallsyms(struct cam_crew *c, int fd)
{
	c->kernel_asked = false;
	for (size_t i = 0; i < c->top; i++) {
		struct cam_crew_errand *e = &c->under_way[i];
		if (!cam_crew_waits(e, CAM_FILE_KERNEL))
			continue;
		struct cam_errand out = {
			.type = CAM_ERRAND_NAMES,
			.ticket = e->ticket,
			.file = CAM_FILE_KERNEL,
			.offsets = e->offsets,
			.n_offsets = e->n_offsets,
		};
		int err = cam_crew_start(c, &c->symboliser);
		if (!err)
			err = cam_crew_pack(c, &c->symboliser, &out, fd);
		if (err) {
			cam_crew_fail(c, e, err);
			continue;
		}
		e->sent = true;
		free(e->offsets);
		e->offsets = NULL;
		if (fd >= 0) {
			c->kernel_sent = true;
			c->stale_from = c->stale_to = 0;
			close(fd);
			fd = -1;
		}
	}
	if (fd >= 0)
		close(fd);
}

/* Of two parts the first: the symboliser answers in order. */
static struct cam_crew_errand *find_errand(struct cam_crew *c, const struct cam_crew_worker *w,
					   const struct cam_tidings *t)
{
	struct cam_crew_errand *found = NULL;
	for (size_t i = 0; i < c->top; i++) {
		struct cam_crew_errand *e = &c->under_way[i];
		if (e->used && e->sent && e->type == t->type && e->ticket == t->ticket &&
		    worker_of(c, e->type) == w && (!found || e->order < found->order))
			found = e;
	}
	return found;
}

/* Whether it may have been read from contents that nobody asked about: it was written to while the symboliser had it. */
static bool came_too_late(struct cam_crew *c, const struct cam_crew_errand *e)
{
	const struct cam_hold *h = cam_holds_find(&c->holds, e->file);
	struct stat now;
	if ((e->type != CAM_ERRAND_NAMES && e->type != CAM_ERRAND_TABLE) || !h || h->fd < 0 ||
	    !cam_hold_was_written(h, &now))
		return false;
	tell_written(c, e->file, h, &now);
	return true;
}

/* Takes fd over. What a helper says about who asked is not believed: that is ours to know. */
static void take_tidings(struct cam_crew *c, struct cam_crew_errand *e, struct cam_tidings *t,
			 int fd)
{
	if (e->type == CAM_ERRAND_KALLSYMS) {
		int error = t->error;
		cam_crew_forget(c, e);
		if (!error && fd >= 0) {
			pass_kallsyms(c, fd);
			return;
		}
		c->kernel_asked = false;
		uint64_t limit = c->order;
		for (size_t i = 0; i < c->top; i++) {
			struct cam_crew_errand *waiting = &c->under_way[i];
			if (cam_crew_waits(waiting, CAM_FILE_KERNEL) && waiting->order < limit)
				cam_crew_fail(c, waiting, error ? error : -EBADMSG);
		}
	} else if (e->type == CAM_ERRAND_DEBUG) {
		uint32_t file = e->file;
		enum cam_aid_kind aid = e->aid;
		cam_crew_forget(c, e);
		if (t->error && fd >= 0)
			cam_closer_close(&c->closer, fd);
		cam_crew_settle_aid(c, file, aid, t->error ? -1 : fd);
		return;
	} else if (e->type == CAM_ERRAND_NAMES && !t->error && e->offsets &&
		   (t->names.wants_debug || t->names.wants_supplement)) {
		cam_crew_want_aid(c, e, &t->names);
	} else {
		if (!t->error && came_too_late(c, e))
			t->error = -ESTALE;
		if (brings_file(e->type) && !t->error) {
			t->error = cam_holds_keep(&c->holds, e->file, &t->held.key, e->grows, fd);
			fd = t->error ? fd : -1;
		}
		bool more = !t->error && ((e->type == CAM_ERRAND_PROCESS && t->process.more) ||
					  (e->type == CAM_ERRAND_TABLE && t->table.more) ||
					  (e->type == CAM_ERRAND_NAMES && t->names.more));
		t->pid = e->pid;
		t->tid = e->tid;
		t->file = e->file;
		if (!t->error && e->type == CAM_ERRAND_NAMES)
			cam_crew_note_names(c, e, &t->names);
		if (!more && e->part && !t->error)
			t->names.more = true;
		if (!more) {
			cam_crew_forget(c, e);
			c->stats.answered++;
		}
		c->deliver(c->arg, t);
	}
	if (fd >= 0)
		cam_closer_close(&c->closer, fd);
}

/* Takes fd over. */
static void take_packet(struct cam_crew *c, struct cam_crew_worker *w, struct cam_text packet,
			int fd)
{
	struct cam_tidings t;
	struct cam_crew_errand *e = NULL;
	if (!cam_tidings_unpack(packet.p, packet.n, c->scratch, sizeof(c->scratch), &t))
		e = find_errand(c, w, &t);
	if (e)
		take_tidings(c, e, &t, fd);
	else if (fd >= 0)
		cam_closer_close(&c->closer, fd);
}

static void receive_from(struct cam_crew *c, struct cam_crew_worker *w, uint64_t until_ns)
{
	/* Bounded, so that one helper's flood cannot keep the ingest thread; in time, too: a table that needs a slab waits for
	 * the kernel, and several came at once (two stood there for a second). What is left comes with the next tick. */
	for (int i = 0; i < 256 && w->helper.pid && (!i || now_ns() < until_ns); i++) {
		int fd = -1;
		ssize_t n =
			cam_packet_receive(w->helper.socket, c->received, sizeof(c->received), &fd);
		if (n == -EAGAIN)
			return;
		struct cam_text all = {(const char *)c->received, n > 0 ? (size_t)n : 0}, one;
		if (cam_bundle_is(all)) {
			while (cam_bundle_next(&all, &one))
				take_packet(c, w, one, -1);
			if (fd >= 0)
				cam_closer_close(&c->closer, fd);
			continue;
		}
		if (n > 0) {
			take_packet(c, w, all, fd);
			continue;
		}
		if (fd >= 0)
			cam_closer_close(&c->closer, fd);
		/* It ended (0), or says what nobody asked: it is not to be trusted any more. A late
		 * answer to an errand that timed out is no crime. */
		if (n == 0 || (n < 0 && n != -EMSGSIZE)) {
			lose_worker(c, w, -EIO, KILLED);
			return;
		}
	}
}

void cam_crew_receive(struct cam_crew *c)
{
	struct epoll_event ev[4];
	cam_crew_flush(c);
	/* Who has not been asked has nothing to say; if it has died, tick() sees it. */
	int n = c->n_under_way ? epoll_wait(c->epoll_fd, ev, 4, 0) : 0;
	uint64_t until_ns = n > 0 ? now_ns() + RECEIVE_NS : 0;
	for (int i = 0; i < n; i++)
		receive_from(c, ev[i].data.ptr, until_ns);
}

static bool waits_for_kernel(const struct cam_crew *c)
{
	for (size_t i = 0; i < c->top; i++) {
		if (cam_crew_waits(&c->under_way[i], CAM_FILE_KERNEL))
			return true;
	}
	return false;
}

/* Who has nothing to do for minutes keeps no memory: the next errand starts another. */
static void let_rest(struct cam_crew *c, uint64_t now)
{
	if (c->symboliser_asked || c->n_under_way > c->n_with_opener || !c->symboliser.helper.pid) {
		c->symboliser_asked = false;
		c->symboliser_used_ns = now;
	}
	if (now - c->symboliser_used_ns < REST_NS)
		return;
	lose_worker(c, &c->symboliser, -ECANCELED, 0);
	c->symboliser_rests++;
}

static void look_after_helpers(struct cam_crew *c, uint64_t now)
{
	struct cam_crew_worker *workers[] = {&c->opener, &c->symboliser};
	for (size_t i = 0; i < 2; i++) {
		int status;
		if (workers[i]->helper.pid && cam_helper_poll(&workers[i]->helper, &status) == 1)
			lose_worker(c, workers[i], -EIO, status);
	}
	cam_crew_start(c, &c->opener);
	let_rest(c, now);
}

void cam_crew_tick(struct cam_crew *c, uint64_t now)
{
	bool hung = false;
	for (size_t i = 0; i < c->top; i++) {
		struct cam_crew_errand *e = &c->under_way[i];
		if (!e->used || now < e->deadline_ns)
			continue;
		c->stats.timed_out++;
		/* The opener has workers of its own and loses one errand; the symboliser is stuck. */
		if (e->sent && is_symbolisers(e->type))
			hung = true;
		else
			cam_crew_fail(c, e, -ETIMEDOUT);
	}
	if (hung)
		lose_worker(c, &c->symboliser, -ETIMEDOUT, KILLED);
	if (waits_for_kernel(c) && !c->kernel_asked && c->opener.helper.pid)
		ask_kallsyms(c);
	bool another_second = now / CAM_NS_PER_SEC != c->looked_s;
	if (another_second || c->look_now)
		look_after_helpers(c, now);
	if (another_second)
		check_files(c);
	c->looked_s = now / CAM_NS_PER_SEC;
	c->look_now = false;
}

static void widen(uint64_t *have_from, uint64_t *have_to, uint64_t from, uint64_t to)
{
	if (*have_from >= *have_to || from < *have_from)
		*have_from = from;
	if (to > *have_to)
		*have_to = to;
}

void cam_crew_kernel_changed(struct cam_crew *c, uint64_t from, uint64_t to)
{
	widen(&c->stale_from, &c->stale_to, from, to);
	widen(&c->changed_from, &c->changed_to, from, to);
}

void cam_crew_kernel_lost(struct cam_crew *c)
{
	c->stale_from = c->changed_from;
	c->stale_to = c->changed_to;
}

int cam_crew_new(size_t max_files, bool java_maps, cam_tidings_fn *fn, void *arg,
		 struct cam_crew **out)
{
	struct cam_crew *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->door = (struct cam_errands){.self = c, .send = crew_send, .is_written = crew_is_written};
	c->deliver = fn;
	c->arg = arg;
	c->holds.max_files = max_files;
	c->java_maps = java_maps;
	c->kernel_renewals = KERNEL_RENEWALS;
	c->look = 1;
	c->kernel_refilled_ns = now_ns();
	c->opener = (struct cam_crew_worker){.role = CAM_HELPER_OPENER, .helper = {.socket = -1}};
	c->symboliser =
		(struct cam_crew_worker){.role = CAM_HELPER_SYMBOLISER, .helper = {.socket = -1}};
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int err = c->epoll_fd < 0 ? -errno : 0;
	int no_closer = cam_closer_open(&c->closer);
	c->holds.closer = &c->closer;
	if (!err)
		err = no_closer ? no_closer : cam_crew_start(c, &c->opener);
	if (err) {
		cam_crew_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void cam_crew_free(struct cam_crew *c)
{
	if (!c)
		return;
	if (c->opener.helper.pid)
		cam_helper_stop(&c->opener.helper, NULL);
	if (c->symboliser.helper.pid)
		cam_helper_stop(&c->symboliser.helper, NULL);
	for (size_t i = 0; i < CAM_CREW_UNDER_WAY; i++)
		free(c->under_way[i].offsets);
	cam_holds_free(&c->holds);
	cam_closer_free(&c->closer);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	free(c);
}

struct cam_errands *cam_crew_errands(struct cam_crew *c)
{
	return &c->door;
}

int cam_crew_fd(const struct cam_crew *c)
{
	return c->epoll_fd;
}

struct cam_crew_stats cam_crew_stats(const struct cam_crew *c)
{
	struct cam_crew_stats s = c->stats;
	s.opener_starts = c->opener.starts;
	s.symboliser_starts = c->symboliser.starts - c->symboliser_rests;
	s.opener_pid = (int)c->opener.helper.pid;
	s.symboliser_pid = (int)c->symboliser.helper.pid;
	s.held_files = c->holds.count;
	s.under_way = (uint32_t)c->n_under_way;
	s.with_opener = (uint32_t)c->n_with_opener;
	return s;
}
