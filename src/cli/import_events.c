// SPDX-License-Identifier: Apache-2.0
#include "cli/import_events.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/range.h"
#include "cli/say.h"
#include "daemon/bygone.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (64u << 10)

static int read_all(const char *file, struct cam_buf *out)
{
	bool standard = !strcmp(file, "-");
	CAM_AUTOCLOSE int opened = standard ? -1 : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int fd = standard ? 0 : opened;
	if (fd < 0)
		return -errno;
	for (;;) {
		uint8_t *room = cam_buf_reserve(out, PIECE_BYTES);
		ssize_t n = room ? read(fd, room, PIECE_BYTES) : 0;
		if (!room)
			return cam_buf_error(out);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		out->len += n > 0 ? (size_t)n : 0;
	}
}

static void put_json(const struct cam_bygone_counts *c, struct cam_out *out)
{
	struct cam_json j = {out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_u64(&j, "lines", c->lines);
	cam_json_u64(&j, "added", c->added);
	cam_json_u64(&j, "known", c->known);
	cam_json_u64(&j, "outside", c->outside);
	cam_json_u64(&j, "untimed", c->untimed);
	cam_json_u64(&j, "suppressed", c->suppressed);
	cam_json_close(&j, '}');
	cam_out_str(out, "\n");
}

static void put_count(struct cam_out *out, uint64_t n, const char *words)
{
	if (n)
		cam_out_printf(out, "; %llu %s", (unsigned long long)n, words);
}

static int show(const struct cam_bygone_counts *c, bool json)
{
	struct cam_out out;
	cam_out_to_fd(&out, 1);
	if (json) {
		put_json(c, &out);
	} else {
		cam_out_printf(&out, "%llu events added of %llu lines",
			       (unsigned long long)c->added, (unsigned long long)c->lines);
		put_count(&out, c->known, "were there already");
		put_count(&out, c->outside, "are of times that were not recorded");
		put_count(&out, c->untimed, "have no time that is understood");
		put_count(&out, c->suppressed, "were left out: too many at once");
		cam_out_str(&out, "\n");
	}
	int err = cam_out_finish(&out);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : CAM_EXIT_OK;
}

int cam_import_events(const struct cam_import_events *e, struct cam_io *io, struct cam_store *store,
		      const char *path)
{
	struct cam_time_world world = cam_range_world();
	struct cam_buf text = CAM_BUF(CAM_BYGONE_MAX_BYTES + PIECE_BYTES);
	struct cam_bygone_counts counts;
	int err = read_all(e->file, &text);
	int status = err == -E2BIG ? cam_failed("%s: larger than 64 MiB", e->file)
		     : err	   ? cam_failed("%s: %s", e->file, cam_errno_words(err))
				   : CAM_EXIT_OK;
	if (!status) {
		const struct cam_bygone_request q = {
			.text = {(const char *)text.data, text.len},
			.name = !strcmp(e->file, "-") ? "stdin" : e->file,
			.world = {world.now_ns, cam_range_zone, &world},
			.boot = cam_text_of(e->boot ? e->boot : ""),
			.began_ns = e->began_ns,
		};
		err = cam_bygone_import(io, store, &q, &counts);
		if (err == -ENOENT)
			status = cam_failed("store %s has no boot whose id begins with '%s'", path,
					    e->boot ? e->boot : "");
		else if (err)
			status = cam_failed("store %s: %s", path, cam_errno_words(err));
		else
			status = show(&counts, e->json);
	}
	cam_buf_free(&text);
	return status;
}
