// SPDX-License-Identifier: Apache-2.0
/*
 * read() answers one whole record; EPIPE where the ring has moved on (the next read begins at the oldest
 * there is); EAGAIN where there is none; EINVAL for a record larger than our room, which is passed over then.
 *
 * A line is held until the next one begins or the turn ends, since the next may continue it.
 */
#include "events/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_LINE_BYTES 4096u

struct cam_kmsg {
	int fd;
	bool has_sequence, held;
	bool skips; /* up to the next record */
	uint64_t next_sequence;
	struct cam_kmsg_counts counts;
	struct cam_kmsg_record line; /* held; its text is in `text` */
	char text[MAX_LINE_BYTES];
	char bytes[CAM_KMSG_RECORD_BYTES], room[CAM_KMSG_RECORD_BYTES];
};

int cam_kmsg_adopt(int fd, struct cam_kmsg **out)
{
	struct cam_kmsg *k = calloc(1, sizeof(*k));
	if (!k) {
		close(fd);
		return -ENOMEM;
	}
	k->fd = fd;
	*out = k;
	return 0;
}

int cam_kmsg_open(const char *path, bool from_end, struct cam_kmsg **out)
{
	int fd = open(path ? path : "/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	/* Some sandboxes have a device that can be opened, and no log behind it. */
	if (from_end && lseek(fd, 0, SEEK_END) < 0) {
		int err = -errno;
		close(fd);
		return err;
	}
	return cam_kmsg_adopt(fd, out);
}

void cam_kmsg_close(struct cam_kmsg *k)
{
	if (!k)
		return;
	close(k->fd);
	free(k);
}

bool cam_kmsg_is_ready(const struct cam_kmsg *k)
{
	struct pollfd p = {.fd = k->fd, .events = POLLIN};
	return poll(&p, 1, 0) > 0;
}

void cam_kmsg_skip(struct cam_kmsg *k)
{
	/* A file that is no log has no end to go to: then it is read on. */
	if (lseek(k->fd, 0, SEEK_END) >= 0)
		k->skips = true;
}

static void hand_out(struct cam_kmsg *k, cam_kmsg_fn *fn, void *arg)
{
	if (!k->held)
		return;
	k->held = false;
	k->counts.lines++;
	fn(arg, &k->line);
}

static void append(struct cam_kmsg *k, struct cam_text more)
{
	size_t left = sizeof(k->text) - k->line.text.n;
	size_t n = more.n < left ? more.n : left;
	if (n)
		memcpy(k->text + k->line.text.n, more.p, n);
	k->line.text.n += n;
}

static void take_record(struct cam_kmsg *k, const struct cam_kmsg_record *r, cam_kmsg_fn *fn,
			void *arg)
{
	bool follows = k->has_sequence && r->sequence == k->next_sequence;
	if (k->has_sequence && r->sequence > k->next_sequence)
		*(k->skips ? &k->counts.skipped : &k->counts.missed) +=
			r->sequence - k->next_sequence;
	k->skips = false;
	k->has_sequence = true;
	k->next_sequence = r->sequence + 1;
	if (r->continues && follows && k->held && r->facility == k->line.facility) {
		append(k, r->text);
		return;
	}
	hand_out(k, fn, arg);
	k->line = *r;
	k->line.text = (struct cam_text){k->text, 0};
	append(k, r->text);
	k->held = true;
}

int cam_kmsg_read(struct cam_kmsg *k, unsigned max_records, cam_kmsg_fn *fn, void *arg)
{
	int answer = 1;
	for (unsigned i = 0; i < max_records && answer == 1; i++) {
		struct cam_kmsg_record r;
		ssize_t n = read(k->fd, k->bytes, sizeof(k->bytes));
		if (n > 0 &&
		    cam_kmsg_record_parse((struct cam_text){k->bytes, (size_t)n}, k->room, &r) == 0)
			take_record(k, &r, fn, arg);
		else if (n > 0)
			k->counts.bad++;
		else if (n == 0 || errno == EAGAIN)
			answer = 0;
		else if (errno != EPIPE && errno != EINTR && errno != EINVAL)
			answer = -errno;
	}
	hand_out(k, fn, arg);
	return answer;
}

struct cam_kmsg_counts cam_kmsg_counts(const struct cam_kmsg *k)
{
	return k->counts;
}
