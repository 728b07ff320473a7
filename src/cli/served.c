// SPDX-License-Identifier: Apache-2.0
#include "cli/served.h"

#include "base/index.h"
#include "cli/capsule.h"
#include "cli/range.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int open_directory(struct cam_served *s)
{
	struct cam_io *io;
	int err = cam_io_posix_open(s->path, false, &io);
	if (err)
		return err;
	if (s->io)
		cam_io_posix_close(s->io);
	s->io = io;
	cam_store_known_free(s->known);
	s->known = cam_store_known_new();
	return stat(s->path, &s->directory) ? -errno : 0;
}

int cam_served_open(struct cam_served *s, const char *path, const char *label)
{
	size_t n = strlen(label);
	if (snprintf(s->path, sizeof(s->path), "%s", path) >= (int)sizeof(s->path))
		return -ENAMETOOLONG;
	snprintf(s->label, sizeof(s->label), "%s",
		 n < CAM_SERVED_LABEL ? label : label + n - CAM_SERVED_LABEL + 1);
	pthread_mutex_init(&s->lock, NULL);
	int err = open_directory(s);
	if (err)
		cam_served_close(s);
	return err;
}

static bool can_be_opened(struct cam_source *source, size_t i)
{
	const struct cam_tables *tables;
	struct cam_window *w;
	if (source->ops->open(source, i, &w))
		return false;
	bool can = !w->ops->tables(w, &tables);
	w->ops->close(w);
	return can;
}

bool cam_served_is_store(const char *path, bool whole)
{
	struct cam_io *io;
	struct cam_source *source;
	bool is = false;
	if (cam_io_posix_open(path, false, &io))
		return false;
	if (!cam_store_open_read(io, &source)) {
		size_t n = source->ops->count(source);
		is = n && !whole;
		for (size_t i = 0; !is && i < n; i++)
			is = can_be_opened(source, i);
		source->ops->close(source);
	}
	cam_io_posix_close(io);
	return is;
}

void cam_served_close(struct cam_served *s)
{
	if (s->io)
		cam_io_posix_close(s->io);
	s->io = NULL;
	cam_store_known_free(s->known);
	s->known = NULL;
	pthread_mutex_destroy(&s->lock);
}

/* Somebody may have deleted or moved the store: a recorder makes another one in its place. Whoever still
 * reads the old one reads on. */
int cam_served_windows(void *self, struct cam_source **out)
{
	struct cam_served *s = self;
	struct stat now;
	pthread_mutex_lock(&s->lock);
	if (!s->readers && !stat(s->path, &now) &&
	    (now.st_dev != s->directory.st_dev || now.st_ino != s->directory.st_ino))
		open_directory(s);
	int err = cam_store_open_again(s->io, s->known, out);
	s->readers += !err;
	pthread_mutex_unlock(&s->lock);
	return err;
}

void cam_served_release(void *self, struct cam_source *source)
{
	struct cam_served *s = self;
	pthread_mutex_lock(&s->lock);
	source->ops->close(source);
	s->readers--;
	pthread_mutex_unlock(&s->lock);
}

/* The time of the directory: a window comes, goes and is replaced by a name in it. Two changes within a tick of
 * its clock have the same: so one that is that new is not relied on. */
uint64_t cam_served_stamp(void *self)
{
	const struct cam_served *s = self;
	struct stat st;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (stat(s->path, &st) || st.st_mtim.tv_sec >= now.tv_sec - 1)
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec +
	       (uint64_t)st.st_ino;
}

struct pulse {
	struct cam_io *io;
	uint64_t sum;
};

static int feel(void *arg, const char *name)
{
	struct pulse *p = arg;
	size_t n = strlen(name);
	struct cam_file *f;
	/* In whatever order they come. */
	p->sum += cam_hash(name, n);
	if (n < 4 || strcmp(name + n - 4, ".pcj") != 0 ||
	    p->io->ops->open(p->io, name, CAM_IO_READ, &f))
		return 0;
	p->sum += cam_hash_u64(cam_hash(name, n), (uint64_t)f->ops->size(f));
	f->ops->close(f);
	return 0;
}

/* All names, and the sizes of what grows: journals of open windows, and the annex. */
uint64_t cam_served_pulse(void *self)
{
	struct cam_served *s = self;
	pthread_mutex_lock(&s->lock);
	struct pulse p = {s->io, 1};
	int err = s->io->ops->list(s->io, feel, &p);
	pthread_mutex_unlock(&s->lock);
	return err ? 0 : p.sum;
}

/* Users' names are not looked up: the resolver may load modules and ask servers, and this is a process
 * that faces the network. */
static struct cam_select_world world(void *self)
{
	(void)self;
	return (struct cam_select_world){.time = cam_range_world()};
}

struct cam_server_doors cam_served_doors(struct cam_served *s)
{
	return (struct cam_server_doors){
		.self = s,
		.id = s->id,
		.label = s->label,
		.kind = s->kind,
		.number = s->number,
		.windows = cam_served_windows,
		.release = cam_served_release,
		.stamp = cam_served_stamp,
		.pulse = cam_served_pulse,
		.capsule = cam_capsule_send,
		.world = world,
	};
}
