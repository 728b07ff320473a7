// SPDX-License-Identifier: Apache-2.0
#include "events/journal.h"

#include "base/packet.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

#define WAIT_US	    UINT64_C(1000000)
#define BEHIND	    (4 * CAM_JOURNAL_A_SECOND)
#define BACKLOG	    (60 * CAM_JOURNAL_A_SECOND) /* of before the start: the last is of most use */
#define DIRECTORIES 2u

struct library {
	__typeof__(&sd_journal_open) open;
	__typeof__(&sd_journal_open_directory) open_directory;
	__typeof__(&sd_journal_set_data_threshold) set_threshold;
	__typeof__(&sd_journal_seek_realtime_usec) seek;
	__typeof__(&sd_journal_seek_tail) seek_tail;
	__typeof__(&sd_journal_next) next;
	__typeof__(&sd_journal_previous) previous;
	__typeof__(&sd_journal_wait) wait;
	__typeof__(&sd_journal_get_realtime_usec) realtime;
	__typeof__(&sd_journal_get_monotonic_usec) monotonic;
	__typeof__(&sd_journal_get_data) data;
	__typeof__(&sd_id128_get_boot) boot;
};

struct reader {
	struct library l;
	sd_journal *journal;
	sd_id128_t boot;
	const struct cam_journal_wish *wish;
	int socket;
	time_t second;
	unsigned looked_at, streak; /* in this second; since its end was last reached */
	unsigned most;		    /* of such a streak */
};

static bool load(struct library *l)
{
	static const char *const names[] = {
		"sd_journal_open",
		"sd_journal_open_directory",
		"sd_journal_set_data_threshold",
		"sd_journal_seek_realtime_usec",
		"sd_journal_seek_tail",
		"sd_journal_next",
		"sd_journal_previous",
		"sd_journal_wait",
		"sd_journal_get_realtime_usec",
		"sd_journal_get_monotonic_usec",
		"sd_journal_get_data",
		"sd_id128_get_boot",
	};
	_Static_assert(sizeof(*l) == sizeof(names), "a function without a name");
	/* Newer ones load these when they meet a compressed field: no file can be opened then. */
	static const char *const later[] = {"libzstd.so.1", "liblz4.so.1", "liblzma.so.5"};
	void *so = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; so && i < sizeof(later) / sizeof(later[0]); i++)
		dlopen(later[i], RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *found = so ? dlsym(so, names[i]) : NULL;
		if (!found)
			return false;
		memcpy((char *)l + i * sizeof(found), (const void *)&found, sizeof(found));
	}
	return true;
}

static int open_journal(struct reader *r, int fds[DIRECTORIES], size_t *n)
{
	const char *given = r->wish->directory;
	const char *paths[DIRECTORIES] = {given[0] ? given : "/var/log/journal",
					  given[0] ? NULL : "/run/log/journal"};
	*n = 0;
	for (size_t i = 0; i < DIRECTORIES && paths[i]; i++) {
		fds[*n] = open(paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		*n += fds[*n] >= 0;
	}
	if (!*n)
		return -ENOENT;
	int err = r->l.boot(&r->boot);
	if (err < 0)
		return err;
	err = given[0] ? r->l.open_directory(&r->journal, given, 0)
		       : r->l.open(&r->journal, SD_JOURNAL_LOCAL_ONLY);
	if (err >= 0)
		err = r->l.set_threshold(r->journal, CAM_JOURNAL_LINE_BYTES);
	if (err >= 0)
		err = r->l.seek(r->journal, (uint64_t)r->wish->since_us);
	/* The first wait makes what tells of changes, and looks for files that came since. */
	if (err >= 0)
		err = r->l.wait(r->journal, 0);
	return err < 0 ? err : 0;
}

static struct cam_text field(struct reader *r, const char *name)
{
	const void *data;
	size_t n, skip = strlen(name) + 1;
	if (r->l.data(r->journal, name, &data, &n) < 0 || n < skip)
		return (struct cam_text){"", 0};
	return (struct cam_text){(const char *)data + skip, n - skip};
}

/* What the library answers lies where the next question may put its answer: each is kept. */
struct keep {
	char bytes[11][256];
	unsigned n;
};

static struct cam_text kept(struct reader *r, struct keep *k, const char *name)
{
	struct cam_text t = field(r, name);
	char *room = k->bytes[k->n++];
	size_t n = t.n < sizeof(k->bytes[0]) ? t.n : sizeof(k->bytes[0]);
	memcpy(room, t.p, n);
	return (struct cam_text){room, n};
}

static int tell(struct reader *r, const struct cam_intake_line *l, int error)
{
	char packet[CAM_JOURNAL_PACKET_BYTES];
	struct cam_journal_packet head = {.error = error};
	if (l) {
		head.stamp_ns = l->stamp_ns;
		head.doubt_ns = l->doubt_ns;
		head.clock = l->clock;
		head.severity = l->severity;
	}
	memcpy(packet, &head, sizeof(head));
	if (l)
		memcpy(packet + sizeof(head), l->text.p, l->text.n);
	return cam_packet_send(r->socket, packet, sizeof(head) + (l ? l->text.n : 0), -1);
}

static int look_at_entry(struct reader *r)
{
	struct cam_journal_entry e = {0};
	struct cam_intake_line line;
	struct keep k = {.n = 0};
	char room[CAM_JOURNAL_LINE_BYTES];
	sd_id128_t boot;
	/* An entry that is damaged is passed over. */
	if (r->l.realtime(r->journal, &e.realtime_us) < 0 ||
	    r->l.monotonic(r->journal, &e.monotonic_us, &boot) < 0 ||
	    (int64_t)e.realtime_us < r->wish->since_us)
		return 0;
	e.this_boot = sd_id128_equal(boot, r->boot);
	e.transport = kept(r, &k, "_TRANSPORT");
	e.priority = kept(r, &k, "PRIORITY");
	e.identifier = kept(r, &k, "SYSLOG_IDENTIFIER");
	e.comm = kept(r, &k, "_COMM");
	e.pid = kept(r, &k, "_PID");
	e.units[0] = kept(r, &k, "_SYSTEMD_UNIT");
	e.units[1] = kept(r, &k, "_SYSTEMD_USER_UNIT");
	e.units[2] = kept(r, &k, "UNIT");
	e.source_realtime = kept(r, &k, "_SOURCE_REALTIME_TIMESTAMP");
	e.source_monotonic = kept(r, &k, "_SOURCE_MONOTONIC_TIMESTAMP");
	e.message = field(r, "MESSAGE");
	return cam_journal_entry_line(&e, r->wish, room, &line) ? tell(r, &line, 0) : 0;
}

/* One that grows faster than it is looked at: on from its end, and said. */
static int pass_over(struct reader *r)
{
	int err = r->l.seek_tail(r->journal);
	if (err >= 0)
		err = r->l.previous(r->journal);
	r->streak = 0;
	r->most = BEHIND;
	return err < 0 ? err : tell(r, NULL, -EOVERFLOW);
}

static void rest_of_second(struct reader *r)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != r->second) {
		r->second = now.tv_sec;
		r->looked_at = 0;
	}
	if (++r->looked_at < CAM_JOURNAL_A_SECOND)
		return;
	const struct timespec next = {now.tv_sec + 1, 0};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
}

static int follow(struct reader *r)
{
	int err = 0;
	while (err >= 0) {
		err = r->l.next(r->journal);
		if (err < 0)
			break;
		if (err == 0) {
			r->streak = 0;
			r->most = BEHIND;
			err = r->l.wait(r->journal, WAIT_US);
			continue;
		}
		err = ++r->streak > r->most ? pass_over(r) : look_at_entry(r);
		rest_of_second(r);
	}
	return err == -EPIPE ? 0 : err;
}

int cam_journal_run(int socket, const struct cam_journal_wish *w,
		    int (*confine)(const int *directories, size_t n))
{
	struct reader r = {.wish = w, .socket = socket, .most = BACKLOG};
	int fds[DIRECTORIES];
	size_t n;
	signal(SIGPIPE, SIG_IGN);
	int err = load(&r.l) ? open_journal(&r, fds, &n) : -ENOSYS;
	if (!err) {
		err = confine(fds, n);
		err = err == -EOPNOTSUPP ? 0 : err;
	}
	if (!err)
		err = follow(&r);
	if (err)
		tell(&r, NULL, err);
	return err;
}

int cam_journal_packet_read(struct cam_text packet, struct cam_intake_line *out)
{
	struct cam_journal_packet head;
	if (packet.n < sizeof(head) || packet.n > CAM_JOURNAL_PACKET_BYTES)
		return -EBADMSG;
	memcpy(&head, packet.p, sizeof(head));
	if (head.error < 0)
		return head.error;
	if (head.error || head.clock > CAM_INTAKE_WALL || head.severity >= CAM_SEVERITY_MAX)
		return -EBADMSG;
	*out = (struct cam_intake_line){
		.clock = (enum cam_intake_clock)head.clock,
		.stamp_ns = head.stamp_ns,
		.doubt_ns = head.doubt_ns,
		.severity = (enum cam_severity)head.severity,
		.text = {packet.p + sizeof(head), packet.n - sizeof(head)},
	};
	return 0;
}
