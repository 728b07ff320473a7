// SPDX-License-Identifier: Apache-2.0
#include "events/kmsg_record.h"

#include <errno.h>

#define NS_PER_US  1000u
#define LEVEL_BITS 3
#define MAX_PRIO   0xffffffffu
#define MAX_STAMP  (UINT64_MAX / NS_PER_US - 1)

/* Digits up to `end`, which is passed over. */
static bool get_number(struct cam_text *s, char end, uint64_t most, uint64_t *out)
{
	uint64_t n = 0;
	size_t i = 0;
	for (; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++) {
		uint64_t digit = (uint64_t)(s->p[i] - '0');
		if (n > (most - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	if (!i || i == s->n || s->p[i] != end)
		return false;
	s->p += i + 1;
	s->n -= i + 1;
	*out = n;
	return true;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static size_t unescape(struct cam_text s, char *room)
{
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (c == '\\' && s.n - i > 3 && s.p[i + 1] == 'x' && hex(s.p[i + 2]) >= 0 &&
		    hex(s.p[i + 3]) >= 0) {
			c = (char)(hex(s.p[i + 2]) << 4 | hex(s.p[i + 3]));
			i += 3;
		}
		room[n++] = c;
	}
	return n;
}

int cam_kmsg_record_parse(struct cam_text s, char *room, struct cam_kmsg_record *out)
{
	uint64_t priority, stamp_us;
	if (!get_number(&s, ',', MAX_PRIO, &priority) ||
	    !get_number(&s, ',', UINT64_MAX, &out->sequence) ||
	    !get_number(&s, ',', MAX_STAMP, &stamp_us))
		return -EBADMSG;
	const char *text = s.n ? memchr(s.p, ';', s.n) : NULL;
	if (!text)
		return -EBADMSG;
	size_t flags = strcspn(s.p, ",;");
	out->continues = memchr(s.p, 'c', flags) || memchr(s.p, '+', flags);
	out->severity = (enum cam_severity)(priority & ((1u << LEVEL_BITS) - 1));
	out->facility = (uint32_t)(priority >> LEVEL_BITS);
	out->sched_ns = stamp_us * NS_PER_US;
	s.n -= (size_t)(text + 1 - s.p);
	s.p = text + 1;
	const char *end = s.n ? memchr(s.p, '\n', s.n) : NULL;
	if (end)
		s.n = (size_t)(end - s.p);
	out->text = (struct cam_text){room, unescape(s, room)};
	return 0;
}
