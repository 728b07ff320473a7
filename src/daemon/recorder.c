// SPDX-License-Identifier: Apache-2.0
/*
 * The ingest thread's loop.
 *
 * Invariants
 *  1. The drain thread is never waited for but at the end.
 *  2. Whatever fails, sampling goes on: the store refuses (ingest counts), a helper dies (crew
 *     starts another), the control socket breaks (said). Only memory that cannot be had at the start
 *     and a kernel that allows no sampling end the recorder.
 *  3. After SIGTERM: a last round, a cut, an end mark in the journal, its sync; then sealing as far as
 *     STOP_SEAL_NS allows. What is not sealed then, the next start seals.
 */
#include "base/packet.h"
#include "base/units.h"
#include "daemon/log.h"
#include "daemon/recorder_parts.h"
#include "daemon/recorder_status.h"
#include "helper/helper.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECORDER_NICE  (-10)
#define STARTING_NICE  (-20)
#define TICK_NS	       (CAM_ROUND_NS - CAM_ROUND_NS / 10)
#define ANSWER_MS      (int)((CAM_ROUND_NS + CAM_ROUND_NS / 10) / CAM_NS_PER_MS)
#define IDLE_MS	       1000
#define COPY_MS	       25 /* between looks for walked copies of stacks */
#define STOP_SEAL_NS   (600 * CAM_NS_PER_MS)
#define ENDED_SEAL_NS  (20 * CAM_NS_PER_SEC) /* nobody asked it to stop: nobody waits */
#define ONE_OFF_NS     (600 * CAM_NS_PER_SEC)
#define RECORDS_A_TURN 65536
#define MEET_NS	       CAM_ROUND_NS
#define STARTING_NS    (30 * CAM_NS_PER_SEC)
#define SETTLED_NS     (5 * CAM_NS_PER_SEC) /* of the recorder itself, without who names and opens */
#define SAY_AGAIN_NS   (600 * CAM_NS_PER_SEC)

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

bool cam_recorder_mishap(struct cam_recorder *r, const char *fmt, ...)
{
	char text[sizeof(r->mishaps[0].text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct cam_mishap *m = NULL;
	for (size_t i = 0; i < r->n_mishaps && !m; i++)
		m = strcmp(r->mishaps[i].text, text) ? NULL : &r->mishaps[i];
	if (!m) {
		/* The newest first; the oldest makes room. */
		size_t n = r->n_mishaps < CAM_RECORDER_ERRORS ? r->n_mishaps++
							      : CAM_RECORDER_ERRORS - 1;
		memmove(&r->mishaps[1], &r->mishaps[0], n * sizeof(r->mishaps[0]));
		m = &r->mishaps[0];
		*m = (struct cam_mishap){0};
		memcpy(m->text, text, sizeof(text));
	}
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool say = !m->times || now - m->said_ns >= SAY_AGAIN_NS;
	if (say) {
		cam_log("%s", text);
		m->said_ns = now;
	}
	m->times++;
	m->realtime_ns = (int64_t)clock_ns(CLOCK_REALTIME);
	return say;
}

static void take_tidings(void *arg, const struct cam_tidings *t)
{
	struct cam_recorder *r = arg;
	struct cam_tidings in_time = *t;
	if (t->type == CAM_ERRAND_PROCESS && !t->error)
		in_time.process.maps_read_ns -= (uint64_t)r->namespace_ns;
	if (t->type == CAM_ERRAND_FILE && !t->error) {
		int64_t written_ns = (int64_t)t->held.written_ns - r->namespace_ns;
		in_time.held.written_ns =
			t->held.written_ns && written_ns > 0 ? (uint64_t)written_ns : 0;
	}
	int err = cam_live_tidings(r->live, &in_time);
	if (err)
		cam_recorder_mishap(r, "an answer of a helper was not taken: %s", strerror(-err));
}

/* Says a failing store, not each time it fails, and as often that it works again. */
static void note_journal(struct cam_recorder *r, int err)
{
	/* Nothing to write is no success: the store must be open. */
	if (err == r->journal_error || (!err && !cam_keeper_stats(r->keeper).open))
		return;
	r->journal_error = err;
	if (err)
		r->journal_said |= cam_recorder_mishap(
			r,
			"%s: cannot write: %s; recording goes on in memory as far as it "
			"fits, what does not is counted",
			r->settings->store, cam_keeper_words(err));
	else if (r->journal_said) {
		cam_log("%s: writing again", r->settings->store);
		r->journal_said = false;
	}
}

static void count_sample(struct cam_recorder *r, const struct cam_raw *raw)
{
	cam_busiest_count(&r->busiest, raw->tid);
	cam_keeping_sample(&r->events.keeping, raw->cpu, raw->time_ns, raw->pid, raw->tid);
}

/* False: there is more. */
static bool drain_queue(struct cam_recorder *r, bool all)
{
	struct cam_raw raw;
	cam_crew_records_come(r->crew);
	for (int i = 0; cam_queue_peek(r->queue, &raw); i++) {
		if (!all && i == RECORDS_A_TURN)
			return false;
		if (raw.type == CAM_RAW_LOST && raw.lost.side_band)
			cam_crew_kernel_lost(r->crew);
		if (raw.type == CAM_RAW_KSYMBOL)
			cam_crew_kernel_changed(r->crew, raw.ksymbol.address,
						raw.ksymbol.address + raw.ksymbol.bytes);
		else if (raw.type == CAM_RAW_SAMPLE)
			count_sample(r, &raw);
		else if (r->events.watch)
			cam_recorder_watch(r, &raw);
		if (raw.type == CAM_RAW_COMM)
			cam_keeping_renamed(&r->events.keeping, raw.tid);
		else if (raw.type == CAM_RAW_EXIT)
			cam_busiest_drop(&r->busiest, raw.tid);
		int err = cam_live_raw(r->live, &raw);
		cam_queue_drop(r->queue);
		if (err)
			cam_recorder_mishap(r, "a record was not taken: %s", strerror(-err));
	}
	return true;
}

static void take_records(struct cam_recorder *r)
{
	uint64_t released_ns = cam_drain_stats(r->drain).released_ns;
	/* What is still queued is older than what the drain thread released: until all is read,
	 * nobody is told that it is complete. The rest comes after whoever else waits. */
	if (drain_queue(r, false))
		r->released_ns = released_ns;
	else
		eventfd_write(r->wake_fd, 1);
}

static void write_records(struct cam_recorder *r, uint64_t now)
{
	r->written_ns = now;
	note_journal(r, cam_live_tick(r->live, now, r->released_ns));
}

/* What was done since took a round's time: what came meanwhile does not wait for what is still to be done. */
static void catch_up(struct cam_recorder *r)
{
	uint64_t now = cam_clock_now(r->clock);
	if (now - r->written_ns < CAM_ROUND_NS)
		return;
	take_records(r);
	write_records(r, now);
}

static void tick(struct cam_recorder *r)
{
	uint64_t now = cam_clock_now(r->clock);
	take_records(r);
	bool another_second = now / CAM_NS_PER_SEC != r->last_second;
	if (now - r->last_tick_ns < TICK_NS && !another_second)
		return;
	r->last_tick_ns = now;
	/* Answers are used by the tick: to wake up for each of them would only cost. */
	cam_crew_receive(r->crew);
	/* Those two keep their own time, which a time namespace may have shifted. */
	cam_crew_tick(r->crew, clock_ns(CLOCK_MONOTONIC));
	/* Before what writes, so that no line waits for another round; bounded, in a flood, too. */
	cam_recorder_poll_sources(r, now);
	write_records(r, now);
	/* Behind what writes the samples: these would only keep them in memory for longer. */
	if (another_second) {
		r->last_second = now / CAM_NS_PER_SEC;
		cam_recorder_second(r, now);
	}
	cam_recorder_poll_events(r, now, false);
	catch_up(r);
	cam_keeper_tick(r->keeper, clock_ns(CLOCK_MONOTONIC));
	cam_recorder_snapshot_poll(r);
	int unwatched = cam_drain_stats(r->drain).error;
	if (unwatched)
		cam_recorder_mishap(r, "a CPU could not be watched: %s", strerror(-unwatched));
	if (r->stop_ns && now >= r->stop_ns) {
		if (r->child)
			cam_log("the command goes on as process %d, no longer recorded", r->child);
		r->stopping = true;
	}
}

static void take_signal(struct cam_recorder *r)
{
	struct signalfd_siginfo s;
	while (read(r->signal_fd, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
		if (s.ssi_signo == SIGHUP) {
			cam_recorder_reload(r, NULL);
		} else if (s.ssi_signo == SIGUSR1) {
			cam_recorder_snapshot(r);
		} else {
			/* One from the terminal went to the command as well. */
			if (r->child && s.ssi_code == SI_USER)
				kill(r->child, (int)s.ssi_signo);
			r->stopping = r->asked_to_stop = true;
		}
	}
}

static void take_child(struct cam_recorder *r)
{
	if (waitpid(r->child, &r->child_status, WNOHANG) != r->child)
		return;
	r->child = 0;
	r->command_ended = r->stopping = true;
}

static int watch(struct cam_recorder *r, int fd)
{
	/* Of the drain thread's wake-ups only that they come matters: edges need no reading. */
	struct epoll_event ev = {.events = fd == r->wake_fd ? EPOLLIN | EPOLLET : EPOLLIN,
				 .data.fd = fd};
	return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static void part_from_server(struct cam_recorder *r)
{
	if (r->status_fd >= 0)
		close(r->status_fd);
	r->status_fd = -1;
	r->server = 0;
}

/* A server was started; or there will be none any more. */
static void take_server(struct cam_recorder *r)
{
	pid_t pid = 0;
	int fd = -1;
	ssize_t n = cam_packet_receive(r->request->servers_fd, &pid, sizeof(pid), &fd);
	if (n == -EAGAIN)
		return;
	part_from_server(r);
	if (n < 0) {
		cam_recorder_mishap(r, "the server is not heard: %s", strerror((int)-n));
		return;
	}
	if (n == 0) {
		epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, r->request->servers_fd, NULL);
		cam_recorder_mishap(r, "the server has ended; recording goes on");
		return;
	}
	r->status_fd = fd;
	r->server = pid;
	if (fd >= 0 && watch(r, fd))
		cam_recorder_mishap(r, "the server is not heard: %s", strerror(errno));
}

/* The server's question: "?", or one of door H. An answer that does not fit its socket is its loss. */
static void take_question(struct cam_recorder *r)
{
	char word[CAM_CONTROL_TEXT_MAX + 64];
	ssize_t n = recv(r->status_fd, word, sizeof(word), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		cam_recorder_mishap(r, "the server died; recording goes on");
		part_from_server(r);
	}
	if (n <= 0)
		return;
	struct cam_buf json = CAM_BUF(CAM_CONTROL_MAX_BYTES);
	if (n == 1)
		cam_recorder_status(r, &json);
	else
		cam_recorder_server_asks(r, (struct cam_text){word, (size_t)n}, &json);
	if (!cam_buf_error(&json) &&
	    send(r->status_fd, json.data, json.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		cam_recorder_mishap(r, "the server did not take its answer: %s", strerror(errno));
	cam_buf_free(&json);
}

static void take_event(struct cam_recorder *r, int fd)
{
	if (fd == r->wake_fd) {
		tick(r);
	} else if (fd == r->signal_fd) {
		take_signal(r);
	} else if (fd == r->child_fd) {
		take_child(r);
	} else if (fd == r->status_fd) {
		take_question(r);
	} else if (r->request->has_server && fd == r->request->servers_fd) {
		take_server(r);
	} else if (r->control && fd == cam_control_fd(r->control)) {
		int err = cam_control_handle(r->control);
		if (err) {
			cam_recorder_mishap(r, "%s: broken: %s", r->control_path, strerror(-err));
			cam_control_close(r->control);
			r->control = NULL;
		}
	} else if (fd == cam_clock_fd(r->clock)) {
		cam_recorder_clocks(r);
	}
}

static int open_loop(struct cam_recorder *r)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGPIPE);
	/* Before any thread: all of them inherit it. */
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	sigdelset(&set, SIGPIPE);
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->signal_fd < 0 || r->wake_fd < 0 || r->epoll_fd < 0)
		return -errno;
	int err = watch(r, r->signal_fd);
	return err ? err : watch(r, r->wake_fd);
}

static int open_parts(struct cam_recorder *r)
{
	int holder = 0;
	int err = cam_keeper_new(r->settings, &r->keeper, &holder);
	if (err == -EWOULDBLOCK && holder)
		cam_log("%s: the recorder with pid %d records into it; one recorder a store",
			r->settings->store, holder);
	else if (err == -EWOULDBLOCK)
		cam_log("%s: another recorder records into it; one recorder a store",
			r->settings->store);
	r->refusal_said = err == -EWOULDBLOCK;
	if (err)
		return err;
	struct cam_keeper_stats kept = cam_keeper_stats(r->keeper);
	if (!kept.open && r->request->one_off) {
		cam_log("%s: %s", r->settings->store, cam_keeper_words(kept.error));
		r->refusal_said = true;
		return kept.error;
	}
	note_journal(r, kept.open ? 0 : kept.error);
	cam_sched_clock_open(&r->sched_clock);
	err = cam_recorder_open_capture(r);
	r->refusal_said = err != 0;
	if (!err)
		err = cam_queue_new(CAM_QUEUE_BYTES, &r->queue);
	if (!err)
		err = cam_crew_new(cam_recorder_held_files(), r->settings->java_maps, take_tidings,
				   r, &r->crew);
	if (!err)
		err = cam_recorder_open_live(r);
	if (!err)
		err = cam_recorder_open_events(r);
	if (!err && cam_clock_fd(r->clock) >= 0)
		err = watch(r, cam_clock_fd(r->clock));
	if (!err && r->request->has_server)
		err = watch(r, r->request->servers_fd);
	if (!err && !r->request->one_off) {
		cam_recorder_open_control(r);
		err = r->control ? watch(r, cam_control_fd(r->control)) : 0;
	}
	return err;
}

static void run_loop(struct cam_recorder *r)
{
	while (!r->stopping) {
		struct epoll_event ev[16];
		/* The drain thread's rounds are the ticks. It makes longer ones where nothing new comes;
		 * samples that wait for an answer should not wait for these, and neither should the
		 * answer for the records before it. */
		bool expects =
			cam_crew_stats(r->crew).with_opener || cam_live_waits_for_records(r->live);
		/* A copy of a stack may need several answers before its sample must go on. Where tables are
		 * known it needs one, for which the next round is soon enough. */
		bool hurry = cam_live_copies_hurry(r->live);
		bool answers = expects || cam_live_has_copies(r->live);
		cam_crew_flush(r->crew);
		int n = epoll_wait(r->epoll_fd, ev, 16,
				   hurry     ? COPY_MS
				   : answers ? ANSWER_MS
					     : IDLE_MS);
		/* As after SIGCONT, where somebody stopped it, or from a debugger. */
		bool broken = n < 0 && errno != EINTR;
		if (hurry)
			cam_crew_receive(r->crew);
		if (n == 0 && expects && !hurry)
			cam_drain_nudge(r->drain);
		else if (n == 0)
			tick(r);
		for (int i = 0; i < n; i++)
			take_event(r, ev[i].data.fd);
		if (broken)
			r->stopping = true;
	}
}

/* Everything that was sampled goes into the journal; names that are still out are waited for
 * shortly, since the last window has nobody after it to wait beside. */
static void finish(struct cam_recorder *r, struct cam_record_result *result)
{
	cam_notify_stopping(&r->notify);
	/* Before the end, so that what it writes down lies within the last window. */
	cam_recorder_second(r, cam_clock_now(r->clock));
	cam_recorder_poll_sources(r, cam_clock_now(r->clock));
	cam_recorder_poll_events(r, cam_clock_now(r->clock), true);
	uint64_t released = cam_clock_now(r->clock);
	cam_drain_stop(r->drain);
	r->drain = NULL;
	drain_queue(r, true);
	cam_live_no_more(r->live);
	cam_keeper_last_try(r->keeper);
	uint64_t until =
		released + (r->request->one_off ? 5 * CAM_NS_PER_SEC : 300 * CAM_NS_PER_MS);
	do {
		note_journal(r, cam_live_tick(r->live, cam_clock_now(r->clock), released));
		cam_crew_flush(r->crew);
		struct pollfd answered = {.fd = cam_crew_fd(r->crew), .events = POLLIN};
		if (poll(&answered, 1, 50) > 0)
			cam_crew_receive(r->crew);
		/* Names of a file are asked for once a second: a short one-off must have had its turn. */
	} while (cam_clock_now(r->clock) < until &&
		 (cam_crew_stats(r->crew).under_way ||
		  (r->request->one_off &&
		   cam_clock_now(r->clock) < released + 1500 * CAM_NS_PER_MS)));
	note_journal(r, cam_live_cut(r->live, released));
	char name[CAM_NAME_BYTES] = "";
	bool ended =
		!r->asked_to_stop && (r->command_ended || (r->stop_ns && released >= r->stop_ns));
	int err = cam_keeper_seal_all(r->keeper,
				      r->request->one_off ? ONE_OFF_NS
				      : ended		  ? ENDED_SEAL_NS
							  : STOP_SEAL_NS,
				      r->signal_fd, STOP_SEAL_NS, name);
	if (err == -ETIMEDOUT)
		cam_log("%s: the last window is not sealed yet, this machine is busy. It can be read as it is%s",
			r->settings->store, r->request->one_off ? "" : "; the next start seals it");
	else if (err)
		cam_log("%s: %s%s", r->settings->store, cam_keeper_words(err),
			cam_keeper_stats(r->keeper).open ? "" : "; what was recorded last is lost");
	struct cam_live_stats s = cam_live_stats(r->live);
	result->samples = s.samples;
	result->lost = s.lost;
	result->unstored = cam_keeper_stats(r->keeper).open ? 0 : err;
	snprintf(result->last_window, sizeof(result->last_window), "%s", name);
	result->command_status = r->command_ended ? r->child_status : -1;
}

static void close_parts(struct cam_recorder *r)
{
	cam_control_close(r->control);
	if (r->drain)
		cam_drain_stop(r->drain);
	cam_live_free(r->live);
	cam_recorder_close_events(r);
	free(r->scope.pids);
	cam_keeper_free(r->keeper, 0);
	if (r->capture)
		r->capture->ops->close(r->capture);
	cam_queue_free(r->queue);
	cam_clock_close(r->clock);
	cam_host_close(r->host);
	cam_sched_clock_close(&r->sched_clock);
	cam_notify_close(&r->notify);
	int fds[] = {r->epoll_fd, r->wake_fd, r->signal_fd, r->child_fd, r->status_fd};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	/* Last: to close a file of somebody else's file system may take as long as its server likes. */
	cam_crew_free(r->crew);
}

/* Overload is what it is there to record, and its CPU time is bounded (--max-cpu): at the priority of everybody a sample waits
 * behind all that is runnable, twice, before it is on the disk. Helpers are niced, and a command was forked before. Who
 * said how nice it is to be, or may not be so, keeps what it has. Until samples are taken it has a tenth of a second of work
 * (the kernel's check of a program, above all), which beside 20 others on a CPU would take a second: that goes first. */
static bool raise_priority(void)
{
	errno = 0;
	return getpriority(PRIO_PROCESS, 0) == 0 && errno == 0 &&
	       (setpriority(PRIO_PROCESS, 0, STARTING_NICE) == 0 ||
		setpriority(PRIO_PROCESS, 0, RECORDER_NICE) == 0);
}

static int start_drain(struct cam_recorder *r)
{
	r->start_ns = cam_clock_now(r->clock);
	r->start_realtime_ns = (int64_t)clock_ns(CLOCK_REALTIME);
	r->last_second = r->start_ns / CAM_NS_PER_SEC;
	if (r->request->duration_ns)
		r->stop_ns = r->start_ns + r->request->duration_ns;
	/* Starting costs: every process and function is met for the first time. */
	r->shedder.changed_ns = r->start_ns + STARTING_NS;
	r->shedder.settled_ns = r->start_ns + SETTLED_NS;
	cam_recorder_budget(r);
	/* The first window needs a wall time, should the recorder live no longer than that. */
	cam_recorder_clocks(r);
	r->namespace_ns = (int64_t)(clock_ns(CLOCK_MONOTONIC) - cam_clock_now(r->clock)) /
			  (int64_t)CAM_NS_PER_SEC * (int64_t)CAM_NS_PER_SEC;
	const struct cam_drain_options o = {
		.capture = r->capture,
		.queue = r->queue,
		.wake_fd = r->wake_fd,
		.max_streams = 2 * CAM_SETTINGS_CPUS + 64,
		.namespace_ns = r->namespace_ns,
	};
	return cam_drain_start(&o, &r->drain);
}

/* Processes that are recorded by their pids were asked about, and may end before the first tick: what they have mapped
 * is taken hold of as soon as it is known, a few milliseconds from now. A helper that takes longer is heard by the
 * ticks. */
static void meet_scope(struct cam_recorder *r)
{
	uint64_t now = cam_clock_now(r->clock), until = now + MEET_NS;
	while (cam_crew_stats(r->crew).with_opener && now < until) {
		struct pollfd answered = {.fd = cam_crew_fd(r->crew), .events = POLLIN};
		if (poll(&answered, 1, (int)((until - now) / CAM_NS_PER_MS) + 1) > 0)
			cam_crew_receive(r->crew);
		now = cam_clock_now(r->clock);
	}
}

int cam_recorder_run(const struct cam_record_request *request, struct cam_record_result *result)
{
	struct cam_recorder *r = calloc(1, sizeof(*r));
	if (!r) {
		cam_log("cannot start: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	/* One arena, given back soon: the budget is of resident memory. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	*result = (struct cam_record_result){.command_status = -1};
	r->request = request;
	r->settings = request->settings;
	r->epoll_fd = r->wake_fd = r->signal_fd = r->child_fd = r->status_fd = -1;
	r->sched_clock.fd = -1;
	cam_notify_open(&r->notify);
	int go_fd = -1;
	int err = open_loop(r);
	if (!err && request->command)
		err = cam_recorder_fork_command(r, &go_fd);
	if (!err && request->command)
		err = watch(r, r->child_fd);
	bool raised = raise_priority();
	cam_helper_reserve();
	if (!err)
		err = open_parts(r);
	if (raised)
		setpriority(PRIO_PROCESS, 0, RECORDER_NICE);
	if (!err)
		err = start_drain(r);
	if (!err) {
		meet_scope(r);
		if (go_fd >= 0 && write(go_fd, "g", 1) != 1)
			r->stopping = true;
		cam_notify_ready(&r->notify, r->why_source);
		if (request->ready)
			request->ready(request->ready_arg);
		run_loop(r);
		finish(r, result);
		char no;
		result->command_not_run = go_fd >= 0 && recv(go_fd, &no, 1, MSG_DONTWAIT) == 1;
	} else {
		if (!r->refusal_said)
			cam_log("cannot start: %s", strerror(-err));
		if (r->child)
			kill(r->child, SIGKILL);
	}
	if (go_fd >= 0)
		close(go_fd);
	close_parts(r);
	free(r);
	/* What its process does next is as urgent as others' work is. */
	if (raised)
		setpriority(PRIO_PROCESS, 0, 0);
	return err;
}
