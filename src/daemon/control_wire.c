// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_wire.h"

#include <errno.h>
#include <string.h>

#define VERSION	   1
#define REQUEST	   "PCQ"
#define REPLY	   "PCA"
#define MAX_STATUS 4095u /* the kernel's own bound of error numbers */

static void put_head(struct cam_buf *b, const char magic[4])
{
	cam_buf_put(b, magic, 3);
	cam_buf_put_u8(b, VERSION);
}

static int get_head(struct cam_rd *r, const char magic[4])
{
	const uint8_t *m = cam_rd_bytes(r, 3);
	uint8_t version = cam_rd_u8(r);
	if (cam_rd_error(r) || memcmp(m, magic, 3) != 0)
		return -EBADMSG;
	return version == VERSION ? 0 : -EPROTONOSUPPORT;
}

/* A text of at most max bytes, and nothing behind it. */
static int get_last_text(struct cam_rd *r, size_t max, struct cam_text *out)
{
	size_t n;
	const uint8_t *p = cam_rd_string(r, &n);
	if (cam_rd_error(r) || cam_rd_left(r) || n > max)
		return -EBADMSG;
	*out = (struct cam_text){(const char *)p, n};
	return 0;
}

void cam_control_put_request(struct cam_buf *b, enum cam_control_verb verb,
			     const struct cam_control_request *r)
{
	put_head(b, REQUEST);
	cam_buf_put_u8(b, (uint8_t)verb);
	cam_buf_put_u64(b, (uint64_t)r->from_ns);
	cam_buf_put_u64(b, (uint64_t)r->to_ns);
	cam_buf_put_string(b, r->text.p, r->text.n);
}

int cam_control_get_request(struct cam_text bytes, enum cam_control_verb *verb,
			    struct cam_control_request *r)
{
	struct cam_rd rd = cam_rd_make(bytes.p, bytes.n);
	int err = get_head(&rd, REQUEST);
	if (err)
		return err;
	uint8_t v = cam_rd_u8(&rd);
	r->from_ns = (int64_t)cam_rd_u64(&rd);
	r->to_ns = (int64_t)cam_rd_u64(&rd);
	err = get_last_text(&rd, CAM_CONTROL_TEXT_MAX, &r->text);
	if (err || v < CAM_CONTROL_MARK || v > CAM_CONTROL_ALERT)
		return -EBADMSG;
	bool ranged = v == CAM_CONTROL_PIN || v == CAM_CONTROL_UNPIN;
	if (ranged && r->from_ns >= r->to_ns)
		return -EBADMSG;
	if ((v == CAM_CONTROL_MARK || v == CAM_CONTROL_ALERT) && !r->text.n)
		return -EBADMSG;
	*verb = (enum cam_control_verb)v;
	return 0;
}

void cam_control_put_reply(struct cam_buf *b, int status, struct cam_text text)
{
	put_head(b, REPLY);
	cam_buf_put_u32(b, (uint32_t)-status);
	cam_buf_put_string(b, text.p, text.n);
}

int cam_control_get_reply(struct cam_text bytes, int *status, struct cam_text *text)
{
	struct cam_rd rd = cam_rd_make(bytes.p, bytes.n);
	int err = get_head(&rd, REPLY);
	if (err)
		return err;
	uint32_t code = cam_rd_u32(&rd);
	err = get_last_text(&rd, CAM_CONTROL_REPLY_MAX, text);
	if (err || code > MAX_STATUS)
		return -EBADMSG;
	*status = -(int)code;
	return 0;
}
