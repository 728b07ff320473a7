// SPDX-License-Identifier: Apache-2.0
/* For the fuzzer of routes: a house with one source, of one window whose bytes are anybody's. */
#pragma once
#include "peek.h"
#include "serve/routes.h"
#include "serve/stream.h"
#include "store/single.h"

#include <errno.h>
#include <stdio.h>

struct fuzz_house {
	const uint8_t *bytes; /* of the window, behind a byte that says whether it is as it is */
	size_t n;
};

static int fuzz_windows(void *self, struct cam_source **out)
{
	const struct fuzz_house *h = self;
	struct fuzz_file *f = fuzz_file_new(h->bytes, h->n);
	if (h->n && h->bytes[0] != 'r')
		fuzz_repair(f->bytes, f->n);
	return cam_single_open(&f->file, "a window", 16u << 20, out);
}

static void fuzz_release(void *self, struct cam_source *source)
{
	(void)self;
	source->ops->close(source);
}

static struct cam_select_world fuzz_world(void *self)
{
	(void)self;
	return (struct cam_select_world){.time = {.now_ns = 1776222860000000000}};
}

static int fuzz_change(void *self, const struct cam_server_change *c, struct cam_buf *words)
{
	(void)self;
	fuzz_check(c->what <= CAM_SERVER_ALERT && c->text.n <= 1u << 20);
	cam_buf_put(words, "done", 4);
	return 0;
}

static int fuzz_enter(void *self, unsigned i, struct cam_server_doors *out)
{
	*out = (struct cam_server_doors){.self = self,
					 .id = "s1",
					 .label = "a test",
					 .windows = fuzz_windows,
					 .release = fuzz_release,
					 .change = fuzz_change,
					 .world = fuzz_world};
	return i ? -ENOENT : 0;
}

static int fuzz_find(void *self, const char *id, struct cam_server_doors *out)
{
	return fuzz_enter(self, strcmp(id, "s1") != 0, out);
}

static void fuzz_leave(void *self, const struct cam_server_doors *d)
{
	(void)self;
	(void)d;
}

static struct cam_server_limits fuzz_limits(void *self)
{
	(void)self;
	return (struct cam_server_limits){.why = "it is a test"};
}

/* Reads an answer that comes bit by bit to its end. */
static void fuzz_drain(struct cam_stream *s)
{
	char room[4096];
	ssize_t n = 1;
	for (size_t all = 0; n > 0 && all < 8u << 20; all += (size_t)n) {
		n = s->read(s, room, sizeof(room));
		fuzz_check(n <= (ssize_t)sizeof(room));
	}
	s->close(s);
}

/* "key=value&key=value", taken apart in place; decoded already, as the server hands it over. */
static void fuzz_params(char *s, struct cam_request *q)
{
	char *rest = s;
	while (rest && q->n_params < CAM_PARAMS_MAX) {
		char *key = strsep(&rest, "&"), *value = key;
		strsep(&value, "=");
		q->params[q->n_params++] = (struct cam_param){key, value ? value : ""};
	}
}
