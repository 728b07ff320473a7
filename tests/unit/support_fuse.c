// SPDX-License-Identifier: Apache-2.0
#include "support_fuse.h"

#include "support_mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILE_NODE = 2, FILE_BYTES = 3 * 4096, MAX_HELD = 64 };

struct server {
	int fds[FUSE_MOUNTS];
	bool hanging;
	struct {
		int fd;
		uint64_t unique;
	} held[MAX_HELD];
	int n_held;
};

static void reply(int fd, uint64_t unique, int error, void *body, size_t bytes)
{
	struct fuse_out_header head = {(uint32_t)(sizeof(head) + bytes), error, unique};
	struct iovec v[] = {{&head, sizeof(head)}, {body, bytes}};
	if (writev(fd, v, bytes ? 2 : 1) < 0 && errno != ENOENT)
		_exit(4);
}

static struct fuse_attr attributes(uint64_t node)
{
	bool file = node == FILE_NODE;
	return (struct fuse_attr){.ino = node,
				  .size = file ? FILE_BYTES : 0,
				  .mode = file ? S_IFREG | 0755 : S_IFDIR | 0755,
				  .nlink = 1,
				  .blksize = 4096};
}

static void reply_open(int fd, uint64_t unique)
{
	struct fuse_open_out out = {.open_flags = FOPEN_KEEP_CACHE};
	reply(fd, unique, 0, &out, sizeof(out));
}

static void reply_read(int fd, uint64_t unique, const struct fuse_read_in *in)
{
	char data[FILE_BYTES] = FUSE_TEXT;
	uint64_t at = in->offset < sizeof(data) ? in->offset : sizeof(data);
	size_t n = in->size < sizeof(data) - at ? in->size : sizeof(data) - at;
	reply(fd, unique, 0, data + at, n);
}

static void reply_init(int fd, uint64_t unique)
{
	struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
				    .minor = 31,
				    .max_readahead = 65536,
				    .max_background = 64,
				    .max_write = 65536};
	reply(fd, unique, 0, &out, sizeof(out));
}

static void serve_request(struct server *s, int fd, const struct fuse_in_header *in)
{
	struct fuse_entry_out entry = {.nodeid = FILE_NODE,
				       .entry_valid = 1000,
				       .attr_valid = 1000,
				       .attr = attributes(FILE_NODE)};
	struct fuse_attr_out attr = {.attr_valid = 1000, .attr = attributes(in->nodeid)};
	switch (in->opcode) {
	case FUSE_INIT:
		reply_init(fd, in->unique);
		break;
	case FUSE_LOOKUP:
		reply(fd, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		if (s->hanging && s->n_held < MAX_HELD) {
			s->held[s->n_held].fd = fd;
			s->held[s->n_held++].unique = in->unique;
		} else {
			reply_open(fd, in->unique);
		}
		break;
	case FUSE_READ:
		reply_read(fd, in->unique, (const struct fuse_read_in *)(in + 1));
		break;
	case FUSE_RELEASE:
		reply(fd, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(fd, in->unique, -ENOSYS, NULL, 0);
	}
}

static void obey(struct server *s, int control)
{
	char order;
	if (read(control, &order, 1) != 1)
		_exit(0);
	s->hanging = order == 'h';
	while (!s->hanging && s->n_held) {
		s->n_held--;
		reply_open(s->held[s->n_held].fd, s->held[s->n_held].unique);
	}
	if (write(control, "k", 1) != 1)
		_exit(5);
}

static void serve(struct server *s, int control)
{
	static uint64_t request[(FUSE_MIN_READ_BUFFER + 65536) / 8];
	struct pollfd p[FUSE_MOUNTS + 1] = {[FUSE_MOUNTS] = {control, POLLIN, 0}};
	for (int i = 0; i < FUSE_MOUNTS; i++)
		p[i] = (struct pollfd){s->fds[i], POLLIN, 0};
	for (;;) {
		poll(p, FUSE_MOUNTS + 1, -1);
		for (int i = 0; i < FUSE_MOUNTS; i++) {
			if ((p[i].revents & POLLIN) && read(p[i].fd, request, sizeof(request)) > 0)
				serve_request(s, p[i].fd, (struct fuse_in_header *)request);
		}
		if (p[FUSE_MOUNTS].revents)
			obey(s, control);
	}
}

static void path_of(const struct fuse *f, int i, bool file, char to[64])
{
	snprintf(to, 64, "%s/%d%s", f->dir, i, file ? "/prog" : "");
}

static int mount_all(const struct fuse *f, struct server *s)
{
	char options[128], path[64];
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 1;
	for (int i = 0; i < FUSE_MOUNTS; i++) {
		path_of(f, i, false, path);
		s->fds[i] = open("/dev/fuse", O_RDWR | O_CLOEXEC);
		snprintf(options, sizeof(options),
			 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", s->fds[i]);
		if (s->fds[i] < 0 || mkdir(path, 0755) || mount("none", path, "fuse", 0, options))
			return 2;
	}
	return 0;
}

/* Forks the server, maps a file of each mount, tells where, and waits to be killed. */
static void be_client(struct fuse *f, int control, int up)
{
	struct server s = {0};
	char path[64];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mount_all(f, &s))
		_exit(1);
	pid_t server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(&s, control);
	}
	close(control);
	for (int i = 0; i < FUSE_MOUNTS; i++) {
		close(s.fds[i]);
		path_of(f, i, true, path);
		if (server < 0 || test_map(path, &f->m[i]))
			_exit(2);
	}
	if (write(up, f->m, sizeof(f->m)) != sizeof(f->m))
		_exit(3);
	waitpid(server, NULL, 0);
	_exit(0);
}

struct fuse fuse_start(void)
{
	struct fuse f = {0};
	int control[2], up[2];
	test_mkdir(f.dir);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control), 0);
	assert_int_equal(pipe(up), 0);
	f.pid = fork();
	assert_true(f.pid >= 0);
	if (f.pid == 0) {
		close(control[0]);
		close(up[0]);
		be_client(&f, control[1], up[1]);
	}
	close(control[1]);
	close(up[1]);
	f.control = control[0];
	assert_int_equal(read(up[0], f.m, sizeof(f.m)), sizeof(f.m));
	close(up[0]);
	return f;
}

static void order(struct fuse *f, char what)
{
	char done;
	assert_int_equal(write(f->control, &what, 1), 1);
	assert_int_equal(read(f->control, &done, 1), 1);
}

void fuse_hang(struct fuse *f)
{
	order(f, 'h');
}

void fuse_go_on(struct fuse *f)
{
	order(f, 'g');
}

void fuse_end(struct fuse *f)
{
	close(f->control);
	assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
	test_rmdir(f->dir);
}
