// SPDX-License-Identifier: Apache-2.0
#include "cli/serving.h"

#include "base/cleanup.h"
#include "cli/opening.h"
#include "cli/say.h"
#include "daemon/control_wire.h"
#include "daemon/privilege.h"
#include "helper/helper.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STATUS_MS   5000
#define FORGIVEN_MS (4ll * STATUS_MS)

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The next answer, if it comes in time. */
static int take_answer(struct cam_serving *s, int64_t until_ms, uint8_t *room, size_t bytes,
		       size_t *n)
{
	struct pollfd p = {.fd = s->status_fd, .events = POLLIN};
	int64_t left = until_ms - now_ms();
	if (poll(&p, 1, left > 0 ? (int)left : 0) != 1)
		return -ETIMEDOUT;
	ssize_t got = recv(s->status_fd, room, bytes, MSG_DONTWAIT);
	if (got <= 0)
		return -EPIPE;
	s->owed -= s->owed > 0;
	*n = (size_t)got;
	return 0;
}

/*
 * One question, one answer, over the socket that `run` made before it split. An answer that nobody waited for
 * comes before the one to this question, and is dropped: so none is about an earlier one. What is owed for
 * long will not come: a recorder that could not send one does not try again.
 */
static int ask_recorder(struct cam_serving *s, struct cam_text question, struct cam_buf *json)
{
	size_t n = 0;
	int64_t until = now_ms() + STATUS_MS;
	uint8_t *room = cam_buf_reserve(json, CAM_CONTROL_MAX_BYTES);
	if (!room)
		return cam_buf_error(json);
	while (recv(s->status_fd, room, CAM_CONTROL_MAX_BYTES, MSG_DONTWAIT) > 0)
		s->owed -= s->owed > 0;
	if (send(s->status_fd, question.p, question.n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	if (now_ms() - s->asked_ms > FORGIVEN_MS)
		s->owed = 0;
	s->asked_ms = now_ms();
	s->owed++;
	int err = 0;
	while (!err && s->owed)
		err = take_answer(s, until, room, CAM_CONTROL_MAX_BYTES, &n);
	if (!err)
		json->len += n;
	return err;
}

/* Whoever comes while another one asks waits no longer than for an answer. */
static int ask_in_turn(struct cam_serving *s, struct cam_text question, struct cam_buf *json)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += STATUS_MS / 1000;
	int err = -pthread_mutex_clocklock(&s->asking, CLOCK_MONOTONIC, &until);
	if (err)
		return err;
	err = ask_recorder(s, question, json);
	pthread_mutex_unlock(&s->asking);
	return err;
}

/* The same words as at door H, through the socket of `run`. */
static int change_by_pair(struct cam_serving *s, enum cam_control_verb verb,
			  const struct cam_control_request *q, struct cam_buf *words)
{
	struct cam_buf packet = CAM_BUF(CAM_CONTROL_MAX_BYTES), reply = packet;
	struct cam_text text;
	int status = 0;
	cam_control_put_request(&packet, verb, q);
	int err = cam_buf_error(&packet);
	if (!err)
		err = ask_in_turn(s, (struct cam_text){(const char *)packet.data, packet.len},
				  &reply);
	if (!err)
		err = cam_control_get_reply((struct cam_text){(const char *)reply.data, reply.len},
					    &status, &text);
	if (err)
		err = -ENOTCONN;
	else if (status)
		cam_buf_put(words, text.p, text.n);
	cam_buf_free(&packet);
	cam_buf_free(&reply);
	return err ? err : status;
}

/* The socket and the setting are about the first store. */
static bool has_pair(const struct cam_served *of)
{
	const struct cam_serving *s = of->owner;
	return of->number == 0 && s->status_fd >= 0;
}

static const char *control_of(const struct cam_served *of)
{
	const struct cam_serving *s = of->owner;
	return of->number == 0 ? s->settings->control : "";
}

static int change(void *self, const struct cam_server_change *c, struct cam_buf *words)
{
	static const enum cam_control_verb verbs[] = {[CAM_SERVER_MARK] = CAM_CONTROL_MARK,
						      [CAM_SERVER_PIN] = CAM_CONTROL_PIN,
						      [CAM_SERVER_UNPIN] = CAM_CONTROL_UNPIN,
						      [CAM_SERVER_ALERT] = CAM_CONTROL_ALERT};
	struct cam_served *of = self;
	struct cam_serving *s = of->owner;
	const struct cam_control_request q = {
		.from_ns = c->from_ns == INT64_MIN ? CAM_CONTROL_NOW : c->from_ns,
		.to_ns = c->to_ns,
		.text = c->text,
	};
	char path[512];
	if (has_pair(of))
		return change_by_pair(s, verbs[c->what], &q, words);
	int err = cam_control_ask(of->path, control_of(of), verbs[c->what], &q, words, path,
				  sizeof(path));
	if (err == -EACCES)
		cam_buf_printf(words, "it does not listen to this server's user");
	return err > 0 ? -err : err && err != -EACCES ? -ENOTCONN : err;
}

static int get_status(void *self, struct cam_buf *json)
{
	struct cam_served *of = self;
	if (has_pair(of))
		return ask_in_turn(of->owner, CAM_TEXT("?"), json);
	char path[512];
	const struct cam_control_request q = {.from_ns = CAM_CONTROL_NOW};
	int err = cam_control_ask(of->path, control_of(of), CAM_CONTROL_STATUS, &q, json, path,
				  sizeof(path));
	return err > 0 ? -err : err;
}

static bool is_loopback(const char *address)
{
	struct in_addr v4;
	return (inet_pton(AF_INET, address, &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127) ||
	       !strcmp(address, "::1");
}

static int make_token(char token[CAM_TOKEN_BYTES])
{
	unsigned char bytes[16];
	_Static_assert(2 * sizeof(bytes) < CAM_TOKEN_BYTES, "a token fits");
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Of a file that nobody else reads: 16 to 64 letters, digits, - and _. An exit status. */
static int read_token(const char *path, char token[CAM_TOKEN_BYTES])
{
	char text[CAM_TOKEN_BYTES + 1] = "";
	struct stat st;
	CAM_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		return cam_failed("--token %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || (st.st_mode & 07) || (st.st_uid && st.st_uid != geteuid()))
		return cam_failed("--token %s: others may read or write it; chmod 600 helps", path);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return cam_failed("--token %s: %s", path, strerror(errno));
	while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		text[--n] = '\0';
	if (n < 16 || n >= CAM_TOKEN_BYTES ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
		    (size_t)n)
		return cam_failed("--token %s: not 16 to 64 letters, digits, - or _", path);
	snprintf(token, CAM_TOKEN_BYTES, "%s", text);
	return CAM_EXIT_OK;
}

/*
 * Started as root there are others who must not read what it serves; beyond this machine there always
 * are, and what goes there is read on the way: somebody must have thought of that.
 */
static int choose_token(struct cam_serving *s)
{
	const struct cam_settings *set = s->settings;
	if (set->token[0])
		return read_token(set->token, s->token);
	if (!is_loopback(set->listen.address) && !set->behind_tls[0])
		return cam_failed(
			"--listen %s reaches beyond this machine: give --token FILE, or put a "
			"proxy with TLS before it and say --behind-tls HOST",
			set->listen.address);
	if (geteuid() == 0 && make_token(s->token))
		return cam_failed("no randomness for a token");
	return CAM_EXIT_OK;
}

void cam_serving_url(const struct cam_serving *s, char *room, size_t bytes)
{
	const char *a = s->settings->listen.address;
	bool v6 = strchr(a, ':') != NULL;
	snprintf(room, bytes, "http://%s%s%s:%u/%s%s", v6 ? "[" : "", a, v6 ? "]" : "",
		 cam_server_port(s->server), s->token[0] ? "?token=" : "", s->token);
}

static void say_url(const struct cam_serving *s)
{
	char url[256];
	cam_serving_url(s, url, sizeof(url));
	printf("%s\n", url);
	fflush(stdout);
}

static int enter(void *self, unsigned i, struct cam_server_doors *out)
{
	struct cam_serving *s = self;
	if (i >= s->n_given)
		return s->opening ? cam_opening_enter(s->opening, i - s->n_given, out) : -ENOENT;
	*out = cam_served_doors(&s->given[i]);
	if (out->kind == CAM_SERVER_STORE) {
		out->status = get_status;
		out->change = change;
	}
	return 0;
}

static int find(void *self, const char *id, struct cam_server_doors *out)
{
	struct cam_serving *s = self;
	for (unsigned i = 0; i < s->n_given; i++)
		if (!strcmp(s->given[i].id, id))
			return enter(self, i, out);
	return s->opening ? cam_opening_find(s->opening, id, out) : -ENOENT;
}

static void leave(void *self, const struct cam_server_doors *d)
{
	struct cam_serving *s = self;
	if (d->kind == CAM_SERVER_OPENED)
		cam_opening_leave(s->opening, d);
}

static struct cam_server_limits limits(void *self)
{
	const struct cam_serving *s = self;
	return s->opening ? cam_opening_limits(s->opening)
			  : (struct cam_server_limits){.why = s->why_closed};
}

static int open_begin(void *self, const struct cam_server_sent *f)
{
	struct cam_serving *s = self;
	return s->opening ? cam_opening_begin(s->opening, f) : -ENOSYS;
}

static int open_more(void *self, const void *bytes, size_t n)
{
	struct cam_serving *s = self;
	return cam_opening_more(s->opening, bytes, n);
}

static int open_end(void *self, struct cam_server_doors *out, struct cam_buf *words)
{
	struct cam_serving *s = self;
	return cam_opening_end(s->opening, out, words);
}

static void open_abort(void *self)
{
	struct cam_serving *s = self;
	cam_opening_abort(s->opening);
}

static int open_given(struct cam_serving *s, const struct cam_given *given, unsigned n)
{
	s->given = calloc(n, sizeof(*s->given));
	if (!s->given)
		return cam_failed("out of memory");
	for (unsigned i = 0; i < n; i++) {
		struct cam_served *of = &s->given[i];
		of->kind = given[i].kind;
		of->number = i;
		of->owner = s;
		snprintf(of->id, sizeof(of->id), "s%u", i + 1);
		int err = cam_served_open(of, given[i].path, given[i].label);
		if (err)
			return cam_failed("%s: %s; `perfcam record` makes a store", given[i].path,
					  cam_errno_words(err));
		s->n_given++;
	}
	return CAM_EXIT_OK;
}

int cam_serving_open(struct cam_serving *s, struct cam_settings *settings,
		     const struct cam_given *given, unsigned n_given)
{
	*s = (struct cam_serving){.settings = settings, .status_fd = -1, .ready = say_url};
	pthread_mutex_init(&s->asking, NULL);
	int status = open_given(s, given, n_given);
	if (!status)
		status = choose_token(s);
	if (status)
		return status;
	const struct cam_server_options o = {
		.address = settings->listen.address,
		.port = settings->listen.port,
		.token = s->token[0] ? s->token : NULL,
		.proxy = settings->behind_tls,
		.house = {.self = s,
			  .given = s->n_given,
			  .enter = enter,
			  .find = find,
			  .leave = leave,
			  .limits = limits,
			  .open_begin = open_begin,
			  .open_more = open_more,
			  .open_end = open_end,
			  .open_abort = open_abort},
	};
	int err = cam_server_listen(&o, &s->server);
	if (err)
		return cam_failed(
			"cannot listen on %s port %u: %s; --listen ADDR:PORT chooses another",
			settings->listen.address, settings->listen.port, cam_errno_words(err));
	return CAM_EXIT_OK;
}

/*
 * Becoming another user makes the kernel forget which signal the end of the parent was to be. The server of
 * `run` ends with its recorder, and that of files with the process that removes their store, also if those
 * are killed. -ESRCH: that has happened already.
 */
static int drop_privileges(gid_t keep, char *who, size_t who_bytes)
{
	int at_death = 0;
	pid_t parent = getppid();
	if (prctl(PR_GET_PDEATHSIG, &at_death))
		return -errno;
	int err = cam_privilege_drop(keep, who, who_bytes);
	if (err || !at_death)
		return err;
	if (prctl(PR_SET_PDEATHSIG, at_death))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

/*
 * What may still be read: below the directory that the store is in, since a store that was deleted is made
 * anew beside the old one; in the root directory the store alone.
 */
static int open_readable(const char *store)
{
	char parent[PATH_MAX];
	snprintf(parent, sizeof(parent), "%s", store);
	char *slash = strrchr(parent, '/');
	while (slash && slash > parent && !slash[1]) {
		*slash = '\0';
		slash = strrchr(parent, '/');
	}
	const char *path = store;
	if (slash && slash > parent) {
		*slash = '\0';
		path = parent;
	}
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Who reads the files that are sent is the server's user, and not confined as that is. */
static int start_opening(struct cam_serving *s)
{
	if (!cam_confine_has_landlock()) {
		snprintf(
			s->why_closed, sizeof(s->why_closed),
			"this kernel has no Landlock, without which nobody reads what is sent here; "
			"`perfcam serve FILE` reads files");
		return -1;
	}
	int err = cam_opening_new(&s->opening);
	if (err) {
		snprintf(s->why_closed, sizeof(s->why_closed),
			 "there is no place for files that are opened (TMPDIR): %s",
			 cam_errno_words(err));
		return -1;
	}
	return open(cam_opening_place(s->opening), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Of `readable` n are used, and there is room for one more. */
static int drop_and_confine(struct cam_serving *s, int *readable, size_t n, char *who,
			    size_t who_bytes)
{
	int err = drop_privileges(s->given[0].directory.st_gid, who, who_bytes);
	if (err)
		return cam_failed("cannot give privileges up: %s", cam_errno_words(err));
	tzset(); /* later there is no /etc/localtime */
	CAM_AUTOCLOSE int opened = start_opening(s);
	readable[n] = opened;
	err = cam_confine_server(readable, n + (opened >= 0));
	if (err && err != -EOPNOTSUPP)
		return cam_failed("cannot confine the server: %s", cam_errno_words(err));
	if (err)
		cam_note("this kernel has no seccomp: the server is confined by its user alone");
	return CAM_EXIT_OK;
}

/* Another user, no capability, no file but the recordings', no call but those that serving takes. */
static int give_up_all(struct cam_serving *s, char *who, size_t who_bytes)
{
	int readable[CAM_SERVING_GIVEN + 1];
	unsigned n = 0;
	int status = CAM_EXIT_OK;
	for (; n < s->n_given; n++) {
		readable[n] = open_readable(s->given[n].path);
		if (readable[n] < 0)
			break;
	}
	if (n < s->n_given)
		status = cam_failed("%s: %s", s->given[n].path, strerror(errno));
	if (!status)
		status = drop_and_confine(s, readable, n, who, who_bytes);
	while (n)
		close(readable[--n]);
	return status;
}

int cam_serving_run(struct cam_serving *s)
{
	char who[128];
	sigset_t set;
	int signal_number;
	/* Each thread its own pool, as libc would have it, holds memory that others then lack. */
	mallopt(M_ARENA_MAX, 4);
	int status = give_up_all(s, who, sizeof(who));
	if (status)
		return status;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int err = cam_server_start(s->server);
	if (err)
		return cam_failed("cannot serve: %s", cam_errno_words(err));
	cam_note("serving as %s", who);
	s->ready(s);
	sigwait(&set, &signal_number);
	return CAM_EXIT_OK;
}

void cam_serving_close(struct cam_serving *s)
{
	cam_opening_stop(s->opening);
	cam_server_stop(s->server);
	cam_opening_free(s->opening);
	while (s->n_given)
		cam_served_close(&s->given[--s->n_given]);
	free(s->given);
	s->given = NULL;
	if (s->status_fd >= 0)
		close(s->status_fd);
}
