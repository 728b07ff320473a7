// SPDX-License-Identifier: Apache-2.0
/*
 * Where a supplement may be: where any file of its build-id may be, with the path that refers to it for its own; and in
 * the directory of supplements by its name, since what was unpacked elsewhere keeps that.
 */
#include "base/cleanup.h"
#include "daemon/librarian_parts.h"
#include "daemon/shelf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PLACES 64u /* there are fewer */

void cam_librarian_hunt_start(struct cam_librarian_hunt *h, const struct cam_book_copy *c)
{
	struct cam_file_key key;
	*h = (struct cam_librarian_hunt){.over = c->no_supplement, .fd = -1};
	if (!c->supplement)
		return;
	snprintf(h->path, sizeof(h->path), "%s", c->supplement);
	h->fd = cam_shelf_open(h->path, &key);
}

void cam_librarian_hunt_for(struct cam_librarian_hunt *h, const struct cam_names_tidings *t)
{
	h->wanted = true;
	h->id_bytes = t->build_id.n <= sizeof(h->id) ? t->build_id.n : 0;
	h->link_bytes = t->link.n <= sizeof(h->link) ? t->link.n : 0;
	if (h->id_bytes)
		memcpy(h->id, t->build_id.p, h->id_bytes);
	if (h->link_bytes)
		memcpy(h->link, t->link.p, h->link_bytes);
}

/* From the root: what is relative counts from the directory of the file that says it. 0: it is no path. */
static size_t full_path(const struct cam_librarian_hunt *h, const char *of, char room[PATH_MAX])
{
	char *real CAM_AUTOFREE = h->link[0] == '/' ? NULL : realpath(of, NULL);
	const char *slash = real ? strrchr(real, '/') : NULL;
	if (!h->link_bytes || memchr(h->link, 0, h->link_bytes) || (h->link[0] != '/' && !slash))
		return 0;
	int n = snprintf(room, PATH_MAX, "%.*s%.*s", slash ? (int)(slash - real) + 1 : 0,
			 slash ? real : "", (int)h->link_bytes, h->link);
	return n > 0 && n < PATH_MAX ? (size_t)n : 0;
}

/* The nth place; false: that was the last. Its path is empty where there is nothing to look at. */
static bool place(const struct cam_librarian *l, const struct cam_librarian_hunt *h, const char *of,
		  struct cam_shelf_place *out)
{
	char path[PATH_MAX] = "";
	const char *name = memrchr(h->link, '/', h->link_bytes);
	name = name ? name + 1 : h->link;
	if (h->nth == 0) {
		*out = (struct cam_shelf_place){.fetched = CAM_SHELF_NOT};
		int n = snprintf(out->path, sizeof(out->path), "%s/.dwz/%.*s", l->options.debug_dir,
				 (int)(h->link + h->link_bytes - name), name);
		if (n < 0 || (size_t)n >= sizeof(out->path) || !h->link_bytes)
			out->path[0] = 0;
		return true;
	}
	const struct cam_namer_module m = {
		.kind = CAM_MODULE_FILE,
		.path = {path, full_path(h, of, path)},
		.build_id = {h->id, h->id_bytes},
	};
	bool more = cam_shelf_place(&l->options, &m, h->nth - 1, out);
	if (more && out->fetched == CAM_SHELF_EXECUTABLE)
		out->path[0] = 0;
	return more;
}

void cam_librarian_hunt_next(struct cam_librarian *l, struct cam_librarian_hunt *h, const char *of)
{
	const struct cam_librarian_fetch *f = l->options.fetch;
	struct cam_shelf_place p;
	struct cam_file_key key;
	if (h->fd >= 0)
		close(h->fd);
	if (h->fetched)
		f->refuse(f->self);
	h->fd = -1;
	h->fetched = h->wanted = false;
	for (; h->fd < 0 && h->nth < MAX_PLACES && place(l, h, of, &p); h->nth++) {
		if (!p.path[0])
			continue;
		h->fd = cam_shelf_open(p.path, &key);
		if (h->fd < 0 && p.fetched && f) {
			h->fd = f->fetch(f->self, (struct cam_text){h->id, h->id_bytes}, false);
			h->fetched = h->fd >= 0;
		}
		if (h->fd >= 0)
			memcpy(h->path, p.path, sizeof(h->path));
	}
	h->over = h->fd < 0;
}

void cam_librarian_hunt_end(struct cam_librarian *l, struct cam_librarian_hunt *h,
			    struct cam_book_copy *c)
{
	const struct cam_librarian_fetch *f = l->options.fetch;
	c->no_supplement = h->over;
	if (h->fd < 0)
		return;
	/* Nobody has looked at what a symboliser died of. */
	bool good = !h->wanted && !c->deaths;
	if (h->fetched && good)
		good = !f->keep(f->self, (struct cam_text){h->id, h->id_bytes}, false, h->fd);
	else if (h->fetched)
		f->refuse(f->self);
	if (good) {
		free(c->supplement);
		c->supplement = strdup(h->path); /* NULL: it is looked for once more */
	}
	close(h->fd);
}
