// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that work, one that receives, one that looks at the clock.
 *
 * Threads, not processes: one that is stuck in the kernel costs 9 KiB (measured: twelve of them added
 * 108 KiB to the 2 MiB of the opener), and a process more would not make it die any sooner.
 *
 * An errand is a job: received, queued, taken by a worker, answered. A worker is
 *	IDLE → WORKING → SENDING → IDLE		or	WORKING → STUCK → (ends, if it ever can)
 * The receiver only queues; the watcher makes STUCK of WORKING and answers in its place.
 *
 * Invariants
 *  1. A job is answered exactly once: by the worker that turned WORKING into SENDING, or by who took it
 *     from the queue or made its worker STUCK; all of that under the lock.
 *  2. Nothing that may hang is done under the lock, nor by receiver or watcher, but sending: if the
 *     recorder does not read there is nothing to be on time for.
 *  3. Live workers are at most WORKERS, stuck ones at most MAX_STUCK + WORKERS.
 *  4. A job whose subject (device or process) a stuck worker is at is refused; so is one for a perf map
 *     while two are stuck at perf maps, for many processes may share a dead /tmp. One whose subject a
 *     worker has been at for longer than SLOW waits: otherwise a dead device would take all workers.
 *  5. With nothing to do nobody wakes up.
 *
 * Worked example: ten files of a dead FUSE mount are asked for, then one of the root device. Four
 * workers hang. After 50 ms the eleventh has waited too long: the oldest worker is made STUCK, its job
 * answered, a new worker takes the eleventh; the six are refused, since someone is stuck at their
 * device. At 1.5 s the other three are given up too.
 */
#include "proc/opener.h"

#include "base/cleanup.h"
#include "base/packet.h"
#include "base/units.h"
#include "proc/debugfile.h"
#include "proc/file.h"
#include "proc/java.h"
#include "proc/perfmap.h"
#include "proc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES	(256 * 1024)
#define RECEIVE_BYTES	(8 * 1024) /* more than a mapping with the longest path */
#define KEEP_TEXT_BYTES (256 * 1024)
#define SLOW_NS		(CAM_OPENER_SLOW_MS * CAM_NS_PER_MS)
#define GIVE_UP_NS	(CAM_OPENER_GIVE_UP_MS * CAM_NS_PER_MS)
#define MAX_STUCK_MAPS	2u
#define FAREWELL_NS	(200 * CAM_NS_PER_MS)

enum state { IDLE, WORKING, SENDING, STUCK };

struct job {
	struct job *next;
	struct cam_errand errand;
	uint64_t arrived_ns;
	char text[]; /* what the errand's texts borrow */
};

struct worker {
	struct cam_opener *opener;
	struct worker *next;
	enum state state;
	struct job *job;
	uint64_t since_ns;
	atomic_int stage;
	pid_t tid;
	struct cam_process process;
	char packet[CAM_ERRAND_MAX_BYTES];
};

struct cam_opener {
	int socket, java;
	pthread_mutex_t lock;
	pthread_cond_t work;  /* for workers: a job may be ready */
	pthread_cond_t watch; /* for the watcher: something began */
	pthread_cond_t room;  /* for the receiver: the queue is shorter, a worker ended */
	struct job *queue, **tail;
	unsigned n_queued;
	struct worker *workers; /* all that have a thread */
	unsigned n_live, n_stuck, n_idle;
	bool has_watcher;
	bool watching; /* it sleeps with a time-out */
	bool closing;
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static struct cam_tidings reply_to(const struct cam_errand *e, int error)
{
	return (struct cam_tidings){.type = e->type,
				    .ticket = e->ticket,
				    .pid = e->pid,
				    .tid = e->tid,
				    .file = e->file,
				    .error = error};
}

static int send_tidings(int socket, char *packet, size_t room, const struct cam_tidings *t, int fd)
{
	int n = cam_tidings_pack(t, packet, room);
	return n < 0 ? n : cam_packet_send(socket, packet, (size_t)n, fd);
}

static void refuse(struct cam_opener *o, const struct cam_errand *e, int error)
{
	char packet[64];
	struct cam_tidings t = reply_to(e, error);
	send_tidings(o->socket, packet, sizeof(packet), &t, -1);
}

/* ---- the work ---- */

/* As many mappings a packet as fit; the rest of what is known stands in each. */
static void send_process(struct worker *w, struct cam_tidings *t)
{
	const struct cam_process_tidings *all = &w->process.tidings;
	uint32_t from = 0;
	t->process = *all;
	do {
		size_t bytes = CAM_ERRAND_HEAD_BYTES;
		uint32_t to = from;
		while (to < all->n_mappings) {
			bytes += CAM_ERRAND_MAPPING_BYTES + all->mappings[to].path.n;
			if (bytes > sizeof(w->packet))
				break;
			to++;
		}
		t->process.mappings = all->n_mappings ? all->mappings + from : NULL;
		t->process.n_mappings = to - from;
		t->process.more = to < all->n_mappings;
		send_tidings(w->opener->socket, w->packet, sizeof(w->packet), t, -1);
		from = to;
	} while (from < all->n_mappings);
}

struct result {
	struct cam_tidings tidings;
	int fd;
	char comm[CAM_ERRAND_MAX_COMM];
};

/* It does not answer: the map is there when it is there. */
static void wake_java(const struct cam_opener *o, const struct cam_errand *e)
{
	struct cam_java_request r;
	memset(&r, 0, sizeof(r));
	r.pid = e->pid;
	r.start_ns = e->start_ns;
	if (o->java >= 0)
		cam_packet_send(o->java, &r, sizeof(r), -1);
}

/* May hang. */
static void work(struct worker *w, const struct cam_errand *e, struct result *r)
{
	struct cam_tidings *t = &r->tidings;
	*t = reply_to(e, 0);
	r->fd = -1;
	switch (e->type) {
	case CAM_ERRAND_PROCESS:
		t->error = cam_process_read(&w->process, e->pid, e->tid);
		break;
	case CAM_ERRAND_THREAD:
		t->error = cam_process_comm(e->pid, e->tid, r->comm);
		if (t->error > 0) {
			t->comm = (struct cam_text){r->comm, (size_t)t->error};
			t->error = 0;
		}
		break;
	case CAM_ERRAND_FILE:
		t->error = cam_file_hold(e->pid, &e->mapping, &w->stage, &t->held, &r->fd);
		break;
	case CAM_ERRAND_JIT:
		if (e->wake)
			wake_java(w->opener, e);
		t->error = cam_perfmap_hold(e->pid, e->start_ns, &t->held.key, &r->fd);
		break;
	case CAM_ERRAND_DEBUG:
		t->error = cam_debugfile_hold(e, &w->stage, &r->fd);
		break;
	case CAM_ERRAND_KALLSYMS:
		t->error = cam_file_kallsyms(&r->fd);
		break;
	default:
		t->error = -EINVAL;
	}
}

static void deliver(struct worker *w, struct result *r)
{
	int err = 0;
	if (r->tidings.type == CAM_ERRAND_PROCESS && !r->tidings.error)
		send_process(w, &r->tidings);
	else
		err = send_tidings(w->opener->socket, w->packet, sizeof(w->packet), &r->tidings,
				   r->fd);
	if (err && r->fd >= 0) /* too many descriptors are under way: without this one, then */
		refuse(w->opener, &w->job->errand, err);
	/* One process with very many mappings must not be paid for ever. */
	if (w->process.text.cap > KEEP_TEXT_BYTES)
		cam_process_free(&w->process);
}

/* ---- what hangs; all under the lock ---- */

/* Would this errand meet what that worker is at? */
static bool same_subject(const struct worker *w, const struct cam_errand *e)
{
	const struct cam_errand *busy = &w->job->errand;
	bool at_device =
		busy->type == CAM_ERRAND_FILE && atomic_load(&w->stage) == CAM_FILE_ASKS_DEVICE;
	if (at_device)
		return e->type == CAM_ERRAND_FILE && e->mapping.major == busy->mapping.major &&
		       e->mapping.minor == busy->mapping.minor;
	return e->pid && e->pid == busy->pid;
}

static bool is_refused(const struct cam_opener *o, const struct cam_errand *e)
{
	unsigned maps = 0;
	for (const struct worker *w = o->workers; w; w = w->next) {
		if (w->state == STUCK && same_subject(w, e))
			return true;
		maps += w->state == STUCK && w->job->errand.type == CAM_ERRAND_JIT;
	}
	return o->n_live == 0 || (e->type == CAM_ERRAND_JIT && maps >= MAX_STUCK_MAPS);
}

static bool must_wait(const struct cam_opener *o, const struct cam_errand *e, uint64_t now)
{
	for (const struct worker *w = o->workers; w; w = w->next) {
		if (w->state == WORKING && now - w->since_ns > SLOW_NS && same_subject(w, e))
			return true;
	}
	return false;
}

static struct job *unlink_job(struct cam_opener *o, struct job **at)
{
	struct job *j = *at;
	*at = j->next;
	if (!j->next)
		o->tail = at;
	o->n_queued--;
	pthread_cond_signal(&o->room);
	return j;
}

static struct job *next_job(struct cam_opener *o)
{
	uint64_t now = o->queue ? now_ns() : 0;
	for (struct job **at = &o->queue; *at; at = &(*at)->next) {
		if (!must_wait(o, &(*at)->errand, now))
			return unlink_job(o, at);
	}
	return NULL;
}

/* ---- workers ---- */

static struct job *await_job(struct worker *w)
{
	struct cam_opener *o = w->opener;
	struct job *j;
	o->n_idle++;
	while (!(j = next_job(o)) && !o->closing)
		pthread_cond_wait(&o->work, &o->lock);
	o->n_idle--;
	return j;
}

/* Returns locked; false: it was given up meanwhile. */
static bool run_job(struct worker *w)
{
	struct cam_opener *o = w->opener;
	struct result r;
	work(w, &w->job->errand, &r);
	pthread_mutex_lock(&o->lock);
	bool wanted = w->state == WORKING;
	if (wanted) {
		w->state = SENDING;
		pthread_mutex_unlock(&o->lock);
		deliver(w, &r);
		pthread_mutex_lock(&o->lock);
		w->state = IDLE;
	}
	if (r.fd >= 0)
		close(r.fd);
	free(w->job);
	w->job = NULL;
	return wanted;
}

static void end_worker(struct worker *w)
{
	struct cam_opener *o = w->opener;
	struct worker **at = &o->workers;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	if (w->state == STUCK)
		o->n_stuck--;
	else
		o->n_live--;
	cam_process_free(&w->process);
	free(w);
	pthread_cond_signal(&o->room);
}

/* It was stuck and came back: perhaps nobody has taken its place. */
static bool rejoin(struct worker *w)
{
	struct cam_opener *o = w->opener;
	if (o->n_live >= CAM_OPENER_WORKERS)
		return false;
	w->state = IDLE;
	o->n_stuck--;
	o->n_live++;
	return true;
}

static void *be_worker(void *arg)
{
	struct worker *w = arg;
	struct cam_opener *o = w->opener;
	bool wanted = true;
	w->tid = gettid();
	pthread_mutex_lock(&o->lock);
	while (wanted && (w->job = await_job(w))) {
		w->state = WORKING;
		w->since_ns = now_ns();
		atomic_store(&w->stage, CAM_FILE_ASKS_PROCESS);
		pthread_mutex_unlock(&o->lock);
		wanted = run_job(w) || rejoin(w);
		if (o->queue) /* one may have waited for this subject */
			pthread_cond_signal(&o->work);
	}
	end_worker(w);
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

static int start_thread(void *(*fn)(void *), void *arg)
{
	pthread_attr_t a;
	pthread_t t;
	int err = pthread_attr_init(&a);
	if (err)
		return -err;
	err = pthread_attr_setstacksize(&a, STACK_BYTES);
	if (!err)
		err = pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	if (!err)
		err = pthread_create(&t, &a, fn, arg);
	pthread_attr_destroy(&a);
	return -err;
}

/* Locked. */
static int add_worker(struct cam_opener *o)
{
	struct worker *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->opener = o;
	w->next = o->workers;
	o->workers = w;
	o->n_live++;
	int err = start_thread(be_worker, w);
	if (err) {
		o->workers = w->next;
		o->n_live--;
		free(w);
	}
	return err;
}

/* ---- the watcher ---- */

static void give_up(struct cam_opener *o, struct worker *w)
{
	w->state = STUCK;
	o->n_live--;
	o->n_stuck++;
	refuse(o, &w->job->errand, -ETIMEDOUT);
	if (o->n_stuck <= CAM_OPENER_MAX_STUCK)
		add_worker(o); /* where that fails there is one less, until one comes back */
}

static void answer_queue(struct cam_opener *o, uint64_t now)
{
	for (struct job **at = &o->queue; *at;) {
		struct job *j = *at;
		if (is_refused(o, &j->errand) || now - j->arrived_ns > GIVE_UP_NS) {
			refuse(o, &j->errand, -ETIMEDOUT);
			free(unlink_job(o, at));
		} else {
			at = &j->next;
		}
	}
}

/* Does one wait that only a worker is missing for? */
static bool is_starving(const struct cam_opener *o, uint64_t now)
{
	if (o->n_idle)
		return false;
	for (const struct job *j = o->queue; j; j = j->next) {
		if (now - j->arrived_ns > SLOW_NS && !must_wait(o, &j->errand, now))
			return true;
	}
	return false;
}

/* On a busy host a thread may wait long for a CPU: that is no hanging. */
static bool is_runnable(const struct worker *w)
{
	char name[64], stat[512];
	snprintf(name, sizeof(name), "/proc/self/task/%d/stat", w->tid);
	CAM_AUTOCLOSE int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, stat, sizeof(stat));
	const char *after_name = n > 0 ? memrchr(stat, ')', (size_t)n) : NULL;
	return after_name && after_name + 2 < stat + n && after_name[2] == 'R';
}

static struct worker *oldest_working(const struct cam_opener *o)
{
	struct worker *oldest = NULL;
	for (struct worker *w = o->workers; w; w = w->next) {
		if (w->state == WORKING && (!oldest || w->since_ns < oldest->since_ns))
			oldest = w;
	}
	return oldest;
}

static void look_around(struct cam_opener *o)
{
	uint64_t now = now_ns();
	struct worker *w;
	answer_queue(o, now);
	while ((w = oldest_working(o)) && now > w->since_ns && now - w->since_ns > GIVE_UP_NS)
		give_up(o, w);
	/* One at a time: the next look tells whether one more worker was enough. */
	if (w && now > w->since_ns && now - w->since_ns > SLOW_NS && is_starving(o, now) &&
	    !is_runnable(w))
		give_up(o, w);
	answer_queue(o, now);
	if (o->queue)
		pthread_cond_broadcast(&o->work);
}

static void wait_until(struct cam_opener *o, pthread_cond_t *c, uint64_t then_ns)
{
	struct timespec t = {(time_t)(then_ns / CAM_NS_PER_SEC), (long)(then_ns % CAM_NS_PER_SEC)};
	pthread_cond_timedwait(c, &o->lock, &t);
}

static void *be_watcher(void *arg)
{
	struct cam_opener *o = arg;
	pthread_mutex_lock(&o->lock);
	while (!o->closing) {
		o->watching = o->queue || oldest_working(o);
		if (o->watching)
			wait_until(o, &o->watch, now_ns() + SLOW_NS / 2);
		else
			pthread_cond_wait(&o->watch, &o->lock);
		look_around(o);
	}
	o->has_watcher = false;
	pthread_cond_signal(&o->room);
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* ---- the receiver ---- */

static char *move_text(struct cam_text *t, char *to)
{
	if (t->n)
		memcpy(to, t->p, t->n);
	t->p = to;
	return to + t->n;
}

static struct job *make_job(const struct cam_errand *e)
{
	struct job *j = malloc(sizeof(*j) + e->mapping.path.n + e->build_id.n + e->link.n);
	if (!j)
		return NULL;
	*j = (struct job){.errand = *e, .arrived_ns = now_ns()};
	char *to = move_text(&j->errand.mapping.path, j->text);
	move_text(&j->errand.link, move_text(&j->errand.build_id, to));
	j->errand.offsets = NULL;
	return j;
}

static void take_errand(struct cam_opener *o, const struct cam_errand *e)
{
	struct job *j = e->type == CAM_ERRAND_FORGET ? NULL : make_job(e);
	if (!j)
		return; /* not answered: the recorder waits no longer than its own time-out */
	pthread_mutex_lock(&o->lock);
	while (o->n_queued >= CAM_OPENER_MAX_QUEUE)
		pthread_cond_wait(&o->room, &o->lock);
	bool refused = is_refused(o, e);
	if (!refused) {
		*o->tail = j;
		o->tail = &j->next;
		o->n_queued++;
		pthread_cond_signal(&o->work);
		if (!o->watching) {
			o->watching = true;
			pthread_cond_signal(&o->watch);
		}
	}
	pthread_mutex_unlock(&o->lock);
	if (refused) {
		refuse(o, e, -ETIMEDOUT);
		free(j);
	}
}

static void receive(struct cam_opener *o)
{
	char packet[RECEIVE_BYTES];
	uint64_t scratch[CAM_ERRAND_MAX_OFFSETS];
	for (;;) {
		struct cam_errand e;
		int fd;
		ssize_t n = cam_packet_receive(o->socket, packet, sizeof(packet), &fd);
		if (fd >= 0)
			close(fd);
		if (n == -EMSGSIZE)
			continue;
		if (n <= 0)
			return;
		if (cam_errand_unpack(packet, (size_t)n, scratch, sizeof(scratch), &e) == 0)
			take_errand(o, &e);
	}
}

static int init_opener(struct cam_opener *o, int socket)
{
	pthread_condattr_t a;
	o->socket = socket;
	o->tail = &o->queue;
	int err = pthread_mutex_init(&o->lock, NULL);
	if (err || (err = pthread_condattr_init(&a)))
		return -err;
	err = pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	if (!err)
		err = pthread_cond_init(&o->work, &a);
	if (!err)
		err = pthread_cond_init(&o->watch, &a);
	if (!err)
		err = pthread_cond_init(&o->room, &a);
	pthread_condattr_destroy(&a);
	return -err;
}

/* All threads, or none. */
static int start_threads(struct cam_opener *o)
{
	pthread_mutex_lock(&o->lock);
	int err = start_thread(be_watcher, o);
	o->has_watcher = !err;
	for (int i = 0; !err && i < CAM_OPENER_WORKERS; i++)
		err = add_worker(o);
	pthread_mutex_unlock(&o->lock);
	return err;
}

/* Lets the threads end. -EBUSY: some do not. */
static int end_threads(struct cam_opener *o)
{
	uint64_t until = now_ns() + FAREWELL_NS;
	pthread_mutex_lock(&o->lock);
	o->closing = true;
	while (o->queue)
		free(unlink_job(o, &o->queue));
	pthread_cond_broadcast(&o->work);
	pthread_cond_signal(&o->watch);
	while ((o->workers || o->has_watcher) && now_ns() < until)
		wait_until(o, &o->room, until);
	bool left = o->workers || o->has_watcher;
	pthread_mutex_unlock(&o->lock);
	return left ? -EBUSY : 0;
}

int cam_opener_run(int socket, int java)
{
	struct cam_opener *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	int err = init_opener(o, socket);
	o->java = java;
	if (err) {
		free(o);
		return err;
	}
	err = start_threads(o);
	if (!err)
		receive(o);
	int left = end_threads(o);
	if (!left)
		free(o);
	return err ? err : left;
}
