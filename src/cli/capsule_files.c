// SPDX-License-Identifier: Apache-2.0
#include "cli/capsule_files.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "cli/place.h"
#include "cli/say.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE  "capsules"
#define SUFFIX ".html"

struct capsule {
	int64_t realtime_ns;
	char source[64];
	uint64_t bytes;
};

/* "20261115T031407Z-kmsg.html", as the recorder calls them; anything else is none. */
static bool parse_name(const char *name, struct capsule *c)
{
	struct cam_utc u = {0};
	int year, n = 0;
	size_t length = strlen(name);
	if (length < strlen(SUFFIX) || strcmp(name + length - strlen(SUFFIX), SUFFIX) ||
	    sscanf(name, "%4d%2d%2dT%2d%2d%2dZ-%n", &year, &u.month, &u.day, &u.hour, &u.minute,
		   &u.second, &n) != 6 ||
	    !n)
		return false;
	u.year = year;
	snprintf(c->source, sizeof(c->source), "%.*s", (int)(length - strlen(SUFFIX)) - n,
		 name + n);
	return cam_utc_to_ns(&u, &c->realtime_ns) == 0;
}

static int is_named_so(const struct dirent *d)
{
	struct capsule c;
	return parse_name(d->d_name, &c);
}

/* A name has whole seconds. */
static bool is_selected(const struct cam_selection *s, const struct capsule *c)
{
	return s->clock != CAM_SELECT_WALL ||
	       (c->realtime_ns + (int64_t)CAM_NS_PER_SEC > s->from_ns && c->realtime_ns < s->to_ns);
}

/* Calls fn for each, oldest first. How many there were; -ENOENT and -ENOTDIR: no such directory, that is none. */
static int each(const char *store, const struct cam_selection *s,
		void (*fn)(void *arg, const char *name, const struct capsule *c), void *arg)
{
	struct dirent **names;
	int n_found = 0;
	CAM_AUTOCLOSE int at = open(store, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CAM_AUTOCLOSE int place =
		at < 0 ? -1 : openat(at, PLACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (place < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	int n = scandirat(place, ".", &names, is_named_so, alphasort);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		struct capsule c = {0};
		struct stat st;
		if (parse_name(names[i]->d_name, &c) && is_selected(s, &c) &&
		    fstatat(place, names[i]->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode)) {
			c.bytes = (uint64_t)st.st_size;
			n_found++;
			fn(arg, names[i]->d_name, &c);
		}
		free(names[i]);
	}
	free(names);
	return n_found;
}

struct list {
	const char *store;
	struct cam_out *out;
	struct cam_json *json;
	char newest[NAME_MAX + 1];
};

static void put(void *arg, const char *name, const struct capsule *c)
{
	struct list *l = arg;
	char when[40], size[32];
	if (l->json) {
		char path[PATH_MAX + NAME_MAX + 16];
		snprintf(path, sizeof(path), "%s/" PLACE "/%s", l->store, name);
		cam_json_open(l->json, NULL, '{');
		cam_json_i64(l->json, "realtime_ns", c->realtime_ns);
		cam_json_text(l->json, "source", cam_text_of(c->source));
		cam_json_u64(l->json, "bytes", c->bytes);
		cam_json_text(l->json, "path", cam_text_of(path));
		cam_json_close(l->json, '}');
		return;
	}
	cam_show_realtime(c->realtime_ns, when, sizeof(when));
	cam_show_bytes(c->bytes, size, sizeof(size));
	cam_out_printf(l->out, "%-25s %8s ", when, size);
	cam_out_printable(l->out, cam_text_of(l->store));
	cam_out_str(l->out, "/" PLACE "/");
	cam_out_printable(l->out, cam_text_of(name));
	cam_out_str(l->out, "\n");
}

int cam_capsule_files_list(const char *store, const struct cam_selection *s, struct cam_out *out,
			   struct cam_json *json)
{
	struct list l = {.store = store, .out = out, .json = json};
	if (json)
		cam_json_open(json, NULL, '[');
	else
		cam_out_printf(out, "%-25s %8s %s\n", "EVENT", "SIZE", "FILE");
	int n = each(store, s, put, &l);
	if (json)
		cam_json_close(json, ']');
	else if (!n)
		cam_out_str(out, "none: a rule writes them (on kmsg /…/ capsule), or perfcam "
				 "capsule TIME -o FILE anywhere\n");
	return n < 0 ? cam_failed("%s/" PLACE ": %s", store, cam_errno_words(n)) : CAM_EXIT_OK;
}

static void note_newest(void *arg, const char *name, const struct capsule *c)
{
	struct list *l = arg;
	(void)c;
	snprintf(l->newest, sizeof(l->newest), "%s", name);
}

void cam_capsule_files_mention(const char *store, const struct cam_selection *s,
			       struct cam_out *out)
{
	struct list l = {.store = store};
	int n = each(store, s, note_newest, &l);
	if (n <= 0)
		return;
	cam_out_printf(out, "\n%d capsule%s (perfcam ls --capsules), the newest: ", n,
		       n > 1 ? "s" : "");
	cam_out_printable(out, cam_text_of(store));
	cam_out_str(out, "/" PLACE "/");
	cam_out_printable(out, cam_text_of(l.newest));
	cam_out_str(out, "\n");
}
