// SPDX-License-Identifier: Apache-2.0
/*
 * Pins: time ranges whose windows are kept. A text file, replaced as a whole (temporary file,
 * sync, rename, sync of the directory), so that it is always the old one or the new one:
 *
 *	perfcam pins 1
 *	1776222607000000000 1776222967000000000 5f0d0a32 ena reset
 *	end 1
 *
 * A line: from, to (wall clock, nanoseconds), crc32c of the line without it, note. Each line has
 * its own checksum so that rot in one costs no other pin. If any line is bad nobody knows what it
 * kept: then everything counts as pinned, and nothing but a lack of free space deletes
 * anything. The next change writes the readable ones anew.
 */
#include "store/store_parts.h"

#include "base/crc32c.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)4 << 20)
#define MAX_PINS       16384u
#define MAX_LINE       192
#define HEADER	       "perfcam pins 1"

/* Without the newline. */
static int print_pin(const struct cam_pin *p, char line[MAX_LINE])
{
	char plain[MAX_LINE];
	int n = snprintf(plain, sizeof(plain), "%" PRId64 " %" PRId64 " %s", p->from_ns, p->to_ns,
			 p->note);
	uint32_t crc = cam_crc32c(0, plain, (size_t)n);
	return snprintf(line, MAX_LINE, "%" PRId64 " %" PRId64 " %08" PRIx32 " %s", p->from_ns,
			p->to_ns, crc, p->note);
}

/* Strict: a line is good if printing what it says gives it again. */
static bool parse_pin(struct cam_text text, struct cam_pin *p)
{
	char line[MAX_LINE], again[MAX_LINE];
	int at = 0;
	uint32_t crc;
	if (text.n >= sizeof(line))
		return false;
	memcpy(line, text.p, text.n);
	line[text.n] = '\0';
	if (sscanf(line, "%" SCNd64 " %" SCNd64 " %8" SCNx32 "%n", &p->from_ns, &p->to_ns, &crc,
		   &at) != 3 ||
	    line[at] != ' ' || strlen(line + at + 1) >= sizeof(p->note))
		return false;
	memcpy(p->note, line + at + 1, strlen(line + at + 1) + 1);
	print_pin(p, again);
	return strlen(line) == text.n && strcmp(line, again) == 0;
}

static int add_pin(struct cam_pins *pins, const struct cam_pin *p)
{
	int err = cam_vec_reserve(&pins->rows, &pins->cap, pins->n + 1, sizeof(*pins->rows),
				  MAX_PINS);
	if (!err)
		pins->rows[pins->n++] = *p;
	return err;
}

static bool next_line(struct cam_text *rest, struct cam_text *line)
{
	const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
	if (!end)
		return false;
	*line = (struct cam_text){rest->p, (size_t)(end - rest->p)};
	*rest = (struct cam_text){end + 1, rest->n - line->n - 1};
	return true;
}

static int parse_pins(struct cam_text rest, struct cam_pins *pins)
{
	struct cam_text line, header = {"", 0};
	bool ended = false, bad = !next_line(&rest, &header);
	if (!cam_text_equal(header, CAM_TEXT(HEADER))) {
		if (cam_text_starts(header, CAM_TEXT("perfcam pins ")))
			return -EPROTONOSUPPORT;
		bad = true;
	}
	while (next_line(&rest, &line)) {
		char end[32];
		struct cam_pin p;
		int err = 0;
		snprintf(end, sizeof(end), "end %zu", pins->n);
		if (parse_pin(line, &p))
			err = add_pin(pins, &p);
		else if (!ended && cam_text_equal(line, cam_text_of(end)))
			ended = true;
		else
			bad = true;
		if (err)
			return err;
	}
	return bad || !ended || rest.n ? -EBADMSG : 0;
}

int cam_pins_read(struct cam_io *io, struct cam_pins *pins)
{
	struct cam_buf bytes = CAM_BUF(MAX_FILE_BYTES);
	*pins = (struct cam_pins){0};
	int err = cam_store_read_file(io, CAM_NAME_PINS, MAX_FILE_BYTES, &bytes);
	if (!err)
		err = parse_pins((struct cam_text){(const char *)bytes.data, bytes.len}, pins);
	cam_buf_free(&bytes);
	return err == -ENOENT ? 0 : err;
}

static int write_pins(struct cam_io *io, const struct cam_pins *pins)
{
	struct cam_buf bytes = CAM_BUF(MAX_FILE_BYTES);
	cam_buf_printf(&bytes, HEADER "\n");
	for (size_t i = 0; i < pins->n; i++) {
		char line[MAX_LINE];
		print_pin(&pins->rows[i], line);
		cam_buf_printf(&bytes, "%s\n", line);
	}
	cam_buf_printf(&bytes, "end %zu\n", pins->n);
	int err = cam_buf_error(&bytes);
	if (!err)
		err = cam_store_replace_file(io, CAM_NAME_PINS, bytes.data, bytes.len);
	cam_buf_free(&bytes);
	return err;
}

static struct cam_pin *find_pin(struct cam_pins *pins, int64_t from_ns, int64_t to_ns)
{
	for (size_t i = 0; i < pins->n; i++) {
		if (pins->rows[i].from_ns == from_ns && pins->rows[i].to_ns == to_ns)
			return &pins->rows[i];
	}
	return NULL;
}

/* One line of printable text, ended where it has to be. */
static void clean_note(struct cam_pin *p)
{
	p->note[sizeof(p->note) - 1] = '\0';
	for (char *c = p->note; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	}
}

int cam_store_pin(struct cam_store *s, const struct cam_pin *p)
{
	struct cam_pins pins;
	struct cam_pin clean = *p;
	if (p->from_ns >= p->to_ns)
		return -EINVAL;
	clean_note(&clean);
	int err = cam_pins_read(s->io, &pins);
	if (!err || err == -EBADMSG) {
		struct cam_pin *same = find_pin(&pins, p->from_ns, p->to_ns);
		err = 0;
		if (same)
			*same = clean;
		else
			err = add_pin(&pins, &clean);
	}
	if (!err)
		err = write_pins(s->io, &pins);
	free(pins.rows);
	return err;
}

int cam_store_unpin(struct cam_store *s, int64_t from_ns, int64_t to_ns)
{
	struct cam_pins pins;
	int err = cam_pins_read(s->io, &pins);
	if (!err || err == -EBADMSG) {
		struct cam_pin *gone = find_pin(&pins, from_ns, to_ns);
		err = -ENOENT;
		if (gone) {
			size_t after = pins.n - 1 - (size_t)(gone - pins.rows);
			memmove(gone, gone + 1, after * sizeof(*gone));
			pins.n--;
			err = write_pins(s->io, &pins);
		}
	}
	free(pins.rows);
	return err;
}

int cam_store_pins(struct cam_io *io, cam_pin_fn *fn, void *arg)
{
	struct cam_pins pins;
	int err = cam_pins_read(io, &pins), stop = 0;
	for (size_t i = 0; i < pins.n && !stop; i++)
		stop = fn(arg, &pins.rows[i]);
	free(pins.rows);
	return stop ? stop : err;
}

bool cam_pin_covers(const struct cam_pin *pin, const struct cam_window_info *info)
{
	if (info->realtime_ns == INT64_MIN)
		return false;
	/* 128 bits: a wall clock may stand anywhere. A doubt about it keeps more. */
	__int128 doubt = info->realtime_uncertainty_ns;
	__int128 from = info->realtime_ns;
	__int128 to = from + 1;
	if (info->end_ns > info->start_ns)
		to = from + info->end_ns - info->start_ns;
	return pin->from_ns < to + doubt && from - doubt < pin->to_ns;
}

static void pin_within(struct cam_store_list *list, const struct cam_pin *pin, uint64_t max_bytes,
		       uint64_t *bytes)
{
	for (size_t i = 0; i < list->n_readable; i++) {
		struct cam_store_entry *e = &list->entries[i];
		if (e->shadowed || e->info.pinned || !cam_pin_covers(pin, &e->info))
			continue;
		if (max_bytes && (*bytes > max_bytes || e->bytes > max_bytes - *bytes))
			continue;
		e->info.pinned = true;
		*bytes += e->bytes;
	}
}

int cam_store_list_pin(struct cam_io *io, struct cam_store_list *list, uint64_t max_pinned_bytes,
		       uint64_t *pinned_bytes)
{
	struct cam_pins pins;
	uint64_t bytes = 0;
	int err = cam_pins_read(io, &pins);
	for (size_t i = 0; i < list->n; i++) {
		list->entries[i].info.pinned = err != 0;
		if (err)
			bytes += list->entries[i].bytes;
	}
	for (size_t i = 0; i < pins.n && !err; i++)
		pin_within(list, &pins.rows[i], max_pinned_bytes, &bytes);
	free(pins.rows);
	if (pinned_bytes)
		*pinned_bytes = bytes;
	return err;
}

int cam_store_pinned_bytes(struct cam_io *io, uint64_t *bytes)
{
	struct cam_store_list list;
	int err = cam_store_list_read(io, NULL, &list);
	if (err)
		return err;
	err = cam_store_list_pin(io, &list, 0, bytes);
	cam_store_list_free(&list);
	return err;
}
