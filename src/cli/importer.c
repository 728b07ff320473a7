// SPDX-License-Identifier: Apache-2.0
#include "cli/importer.h"

#include "base/cleanup.h"
#include "base/packet.h"
#include "cli/file_store.h"
#include "cli/say.h"
#include "cli/served.h"
#include "helper/helper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 200
#define SOCKET	3
#define DIGITS	12

struct importer {
	char place[DIGITS], name[CAM_IMPORTER_NAME];
	int64_t modified_s;
	int file;  /* that is being written; -1: none */
	int error; /* that came while it was */
	char words[CAM_IMPORTER_WORDS];
	size_t n_words;
};

/* What people call a file is a name here only if it is harmless as one; its times are still in it. */
static void make_name(const char *given, size_t n, char name[CAM_IMPORTER_NAME])
{
	size_t from = 0, k = 0;
	for (size_t i = 0; i < n; i++)
		from = given[i] == '/' || given[i] == '\\' ? i + 1 : from;
	for (size_t i = from; i < n && k < CAM_IMPORTER_NAME - 1; i++) {
		char c = given[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || (c && strchr("._-+:@= ", c));
		bool first = !k && (c == '.' || c == '-');
		name[k++] = plain && !first ? c : '_';
	}
	name[k] = '\0';
	if (!k || !strcmp(name, "store"))
		snprintf(name, CAM_IMPORTER_NAME, "file");
}

/* Of a directory with nothing but files in it that counts. */
static uint64_t bytes_in(const char *path)
{
	uint64_t sum = 0;
	struct stat st;
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		if (!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_blocks * 512;
	if (d)
		closedir(d);
	return sum;
}

/* As recorders do by default: a twentieth of the file system stays free, whatever is sent. */
static bool has_room(void)
{
	struct statvfs s;
	return statvfs(".", &s) || s.f_bavail * 20 >= s.f_blocks;
}

static void remove_place(const char *place)
{
	char path[DIGITS + 8];
	snprintf(path, sizeof(path), "%.*s/store", DIGITS - 1, place);
	cam_file_store_remove(path);
	cam_file_store_remove(place);
}

static void begin(struct importer *m, const struct cam_importer_head *h, const char *name, size_t n)
{
	char path[DIGITS + CAM_IMPORTER_NAME + 1];
	if (m->file >= 0)
		close(m->file);
	m->n_words = 0;
	m->modified_s = h->modified_s;
	snprintf(m->place, sizeof(m->place), "%u", h->number);
	make_name(name, n, m->name);
	snprintf(path, sizeof(path), "%s/%s", m->place, m->name);
	m->error = mkdir(m->place, 0700) ? -errno : 0;
	m->file = m->error ? -1 : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (!m->error && m->file < 0)
		m->error = -errno;
}

static void take(struct importer *m, const char *bytes, size_t n)
{
	if (!m->error && !has_room())
		m->error = -ENOSPC;
	while (n && !m->error) {
		ssize_t done = write(m->file, bytes, n);
		if (done <= 0) {
			m->error = done < 0 ? -errno : -EIO;
			break;
		}
		bytes += done;
		n -= (size_t)done;
	}
}

/* The child: from here on nothing is trusted. What it says goes to who asked. */
_Noreturn static void read_file(const struct importer *m, int words)
{
	const char *name = m->name;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	prctl(PR_SET_NAME, "perfcam-import");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(words, 2) < 0 ||
	    close_range(SOCKET, ~0u, 0) || chdir(m->place) || setenv("TMPDIR", ".", 1))
		_exit(CAM_EXIT_USAGE);
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = here < 0 ? -errno : cam_confine_importer(here);
	if (err && err != -EOPNOTSUPP)
		_exit(CAM_EXIT_USAGE);
	int status = cam_file_store_make("store", (gid_t)-1, name,
					 "a file that was sent is read by itself; `perfcam serve "
					 "FILE` looks for names on its own machine");
	if ((status == CAM_EXIT_OK || status == CAM_EXIT_INCOMPLETE) &&
	    !cam_served_is_store("store", true))
		status = cam_failed("%s: a window of perfcam's, but damaged beyond reading", name);
	_exit(status);
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void hear(struct importer *m, int words)
{
	char rest[512];
	size_t room = sizeof(m->words) - m->n_words;
	ssize_t n = read(words, room ? m->words + m->n_words : rest, room ? room : sizeof(rest));
	if (n > 0 && room)
		m->n_words += (size_t)n;
}

/* 0: it has ended by itself; why it was ended. */
static int watch(struct importer *m, int child, int words)
{
	char store[DIGITS + 8];
	int64_t until = now_ms() + CAM_IMPORTER_SECONDS * 1000ll;
	snprintf(store, sizeof(store), "%s/store", m->place);
	for (;;) {
		struct pollfd p[3] = {{.fd = child, .events = POLLIN},
				      {.fd = words, .events = POLLIN},
				      {.fd = SOCKET, .events = POLLRDHUP}};
		poll(p, 3, TICK_MS);
		if (p[1].revents & POLLIN)
			hear(m, words);
		else if (p[0].revents)
			return 0;
		if (p[2].revents & (POLLRDHUP | POLLHUP))
			return -EPIPE;
		if (now_ms() > until)
			return -ETIMEDOUT;
		if (bytes_in(store) + bytes_in(m->place) >
		    CAM_IMPORTER_STORE_BYTES + CAM_IMPORTER_FILE_BYTES)
			return -EFBIG;
		if (!has_room())
			return -ENOSPC;
	}
}

static int judge(int how)
{
	if (WIFEXITED(how))
		return WEXITSTATUS(how) == CAM_EXIT_OK		 ? 0
		       : WEXITSTATUS(how) == CAM_EXIT_INCOMPLETE ? 1
		       : WEXITSTATUS(how) == CAM_EXIT_FAILED	 ? -EBADMSG
								 : -EIO;
	return WTERMSIG(how) == SIGXCPU ? -ETIMEDOUT : WTERMSIG(how) == SIGXFSZ ? -EFBIG : -ENOEXEC;
}

static int import(struct importer *m)
{
	int words[2], how = 0;
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = m->modified_s}};
	if (m->error)
		return m->error;
	/* Where nobody says when it was written it is not now: then its times are not known. */
	if (futimens(m->file, times))
		return -errno;
	if (pipe2(words, O_CLOEXEC))
		return -errno;
	pid_t child = fork();
	if (child == 0)
		read_file(m, words[1]);
	close(words[1]);
	CAM_AUTOCLOSE int told = words[0];
	if (child < 0)
		return -errno;
	CAM_AUTOCLOSE int handle = pidfd_open(child, 0);
	int err = handle < 0 ? -errno : watch(m, handle, told);
	if (err)
		kill(child, SIGKILL);
	while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
	}
	return err ? err : judge(how);
}

static void end(struct importer *m)
{
	union {
		struct cam_importer_reply head;
		char bytes[sizeof(struct cam_importer_reply) + CAM_IMPORTER_WORDS];
	} reply = {.head = {.status = import(m)}};
	char path[DIGITS + CAM_IMPORTER_NAME + 8];
	if (m->file >= 0)
		close(m->file);
	m->file = -1;
	snprintf(path, sizeof(path), "%s/%s", m->place, m->name);
	unlink(path);
	snprintf(path, sizeof(path), "%s/store", m->place);
	if (reply.head.status < 0)
		remove_place(m->place);
	else
		reply.head.bytes = bytes_in(path);
	reply.head.words = (uint32_t)m->n_words;
	memcpy(reply.bytes + sizeof(reply.head), m->words, m->n_words);
	cam_packet_send(SOCKET, reply.bytes, sizeof(reply.head) + m->n_words, -1);
}

static void obey(struct importer *m, const struct cam_importer_head *h, const char *rest, size_t n)
{
	char place[DIGITS];
	snprintf(place, sizeof(place), "%u", h->number);
	switch (h->what) {
	case CAM_IMPORTER_BEGIN:
		begin(m, h, rest, n);
		break;
	case CAM_IMPORTER_MORE:
		take(m, rest, n);
		break;
	case CAM_IMPORTER_END:
		end(m);
		break;
	default:
		if (m->file >= 0 && !strcmp(place, m->place)) {
			close(m->file);
			m->file = -1;
		}
		remove_place(place);
	}
}

/* Its working directory is the one that is its own to empty. */
static void remove_all(const char *directory)
{
	DIR *d = opendir(".");
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
			remove_place(e->d_name);
	if (d)
		closedir(d);
	rmdir(directory);
}

/* A signal for the server and all of its group is the server's: this ends when that has. */
static int settle(int socket, const char *directory)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	setsid();
	prctl(PR_SET_NAME, "perfcam-opened");
	int high = fcntl(socket, F_DUPFD_CLOEXEC, SOCKET + 1);
	return high < 0 || dup2(high, SOCKET) < 0 || chdir(directory) ||
			       close_range(SOCKET + 1, ~0u, 0)
		       ? -errno
		       : 0;
}

_Noreturn void cam_importer_run(int socket, const char *directory)
{
	static struct importer m = {.file = -1};
	static union {
		struct cam_importer_head head;
		char bytes[CAM_IMPORTER_PACKET];
	} packet;
	int fd, err = settle(socket, directory);
	while (!err) {
		ssize_t n = cam_packet_receive(SOCKET, packet.bytes, sizeof(packet.bytes), &fd);
		if (fd >= 0)
			close(fd);
		if (n == -EINTR)
			continue;
		if (n < (ssize_t)sizeof(packet.head))
			break;
		obey(&m, &packet.head, packet.bytes + sizeof(packet.head),
		     (size_t)n - sizeof(packet.head));
	}
	if (!err)
		remove_all(directory);
	_exit(0);
}
