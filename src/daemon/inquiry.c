// SPDX-License-Identifier: Apache-2.0
/*
 * One loop that writes while it can and reads while there is something: the symboliser waits when its
 * answers are not read, and would never read what is written then.
 */
#include "daemon/inquiry.h"

#include "base/units.h"
#include "helper/helper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_UNDER_WAY 16u
#define HANG_MS	      30000
#define TENURE_NS     (20 * CAM_NS_PER_SEC)

struct cam_inquiry {
	struct cam_helper helper;
	uint32_t starts, ticket;
	uint64_t worked_ns; /* with answers awaited, at most what it has used of a processor */
	uint64_t packet[CAM_ERRAND_MAX_BYTES / 8];   /* received */
	uint64_t question[CAM_ERRAND_MAX_BYTES / 8]; /* to be sent */
	uint64_t scratch[CAM_ERRAND_MAX_BYTES / 4];
};

struct run {
	struct cam_inquiry *q;
	cam_inquiry_next_fn *next;
	cam_inquiry_took_fn *took;
	void *arg;
	enum cam_errand_type types[MAX_UNDER_WAY];
	uint32_t first_ticket;
	size_t asked, answered;	 /* under way: those between */
	int waiting;		 /* bytes of `question` that could not be sent yet */
	int fds[CAM_PACKET_FDS]; /* …with them */
	bool last;
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

int cam_inquiry_new(struct cam_inquiry **out)
{
	struct cam_inquiry *q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->helper = CAM_HELPER_NONE;
	*out = q;
	return 0;
}

void cam_inquiry_free(struct cam_inquiry *q)
{
	if (q)
		cam_helper_stop(&q->helper, NULL);
	free(q);
}

uint32_t cam_inquiry_starts(const struct cam_inquiry *q)
{
	return q->starts;
}

/* One that is there, was not idle for so long that it has left, and is not near its end. */
static int have_symboliser(struct cam_inquiry *q)
{
	if (q->helper.pid && q->worked_ns < TENURE_NS && !cam_helper_poll(&q->helper, NULL))
		return 0;
	cam_helper_stop(&q->helper, NULL);
	int err = cam_helper_start(&q->helper, CAM_HELPER_SYMBOLISER, -1, NULL);
	if (err)
		return err;
	q->starts++;
	q->worked_ns = 0;
	return 0;
}

/* Makes questions and sends them, until there is no room or no question. */
static int send_some(struct run *r)
{
	struct cam_inquiry *q = r->q;
	while (r->asked - r->answered < MAX_UNDER_WAY) {
		if (!r->waiting) {
			struct cam_errand e = {0};
			memset(r->fds, 0xff, sizeof(r->fds)); /* -1 */
			int got = r->last ? 0 : r->next(r->arg, &e, r->fds);
			r->last |= got == 0;
			if (got <= 0)
				return got;
			e.ticket = r->first_ticket + (uint32_t)r->asked;
			r->types[r->asked % MAX_UNDER_WAY] = e.type;
			r->waiting = cam_errand_pack(&e, q->question, sizeof(q->question));
			if (r->waiting < 0)
				return r->waiting;
		}
		int err = cam_packet_send_all(q->helper.socket, q->question, (size_t)r->waiting,
					      r->fds);
		if (err == -EAGAIN)
			return 0;
		if (err)
			return err == -EPIPE || err == -ECONNRESET ? -EIO : err;
		r->waiting = 0;
		r->asked++;
	}
	return 0;
}

static bool is_last_part(const struct cam_tidings *t)
{
	return t->error || !((t->type == CAM_ERRAND_NAMES && t->names.more) ||
			     (t->type == CAM_ERRAND_TABLE && t->table.more));
}

/* One answer, if there is one: 1. */
static int receive_one(struct run *r)
{
	struct cam_inquiry *q = r->q;
	struct cam_tidings t;
	int fd = -1;
	ssize_t n = cam_packet_receive(q->helper.socket, q->packet, sizeof(q->packet), &fd);
	if (fd >= 0)
		close(fd);
	if (n == -EAGAIN)
		return 0;
	if (n <= 0)
		return -EIO;
	int err = cam_tidings_unpack(q->packet, (size_t)n, q->scratch, sizeof(q->scratch), &t);
	if (err || r->answered == r->asked || t.ticket != r->first_ticket + (uint32_t)r->answered ||
	    t.type != r->types[r->answered % MAX_UNDER_WAY])
		return -EBADMSG;
	size_t nth = r->answered;
	r->answered += is_last_part(&t);
	err = r->took(r->arg, nth, &t);
	return err ? err : 1;
}

/* Until it can be written to or read from. */
static int await(struct run *r)
{
	struct pollfd p = {
		.fd = r->q->helper.socket,
		.events = (short)(r->asked > r->answered ? POLLIN : 0),
	};
	if (r->waiting)
		p.events |= POLLOUT;
	uint64_t before = now_ns();
	int n = poll(&p, 1, HANG_MS);
	r->q->worked_ns += now_ns() - before;
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n ? 0 : -ETIMEDOUT;
}

int cam_inquiry_run(struct cam_inquiry *q, cam_inquiry_next_fn *next, cam_inquiry_took_fn *took,
		    void *arg)
{
	struct run r = {.q = q, .next = next, .took = took, .arg = arg, .first_ticket = q->ticket};
	int err = have_symboliser(q);
	while (!err) {
		err = send_some(&r);
		if (err || (r.last && !r.waiting && r.answered == r.asked))
			break;
		int got;
		while ((got = receive_one(&r)) > 0)
			;
		err = got;
		if (!err && (r.waiting || r.asked - r.answered == MAX_UNDER_WAY ||
			     (r.last && r.asked > r.answered)))
			err = await(&r);
	}
	q->ticket += (uint32_t)r.asked + 1;
	/* Answers that nobody awaits any more are on their way. */
	if (err)
		cam_helper_stop(&q->helper, NULL);
	return err;
}
