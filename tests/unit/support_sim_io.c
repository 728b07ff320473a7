// SPDX-License-Identifier: Apache-2.0
/* The calls of the simulated disk, and what makes them fail. */
#include "support_sim_disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOLDER 4242

struct sim_file {
	struct cam_file base;
	struct sim_disk *disk;
	size_t node;
	bool writable, lock;
};

enum call {
	CALL_OPEN,
	CALL_PREAD,
	CALL_PWRITE,
	CALL_SIZE,
	CALL_FDATASYNC,
	CALL_RENAME,
	CALL_UNLINK,
	CALL_SYNC_DIR,
	CALL_LIST,
	CALL_LOCK,
	CALL_SPACE,
};

static const struct cam_io_ops sim_ops;

static void change(struct sim_disk *d, const struct op *op)
{
	sim_do(d, op);
	if (d->origin)
		ops_add(&d->recording, op);
}

static void set_name(char *to, const char *name)
{
	size_t n = strlen(name);
	if (n == 0 || n >= SIM_NAME_BYTES || name[0] == '.' || strchr(name, '/'))
		sim_fail("bad name");
	memcpy(to, name, n + 1);
}

/*
 * What every call asks first: 0 to go on, or what it answers. `cut` is set where a pwrite gets
 * only so far (it then answers the error after that).
 */
static int enter(struct sim_disk *d, enum call call, size_t *cut)
{
	if (d->crashed)
		return -ESHUTDOWN;
	d->calls++;
	bool now = d->plan.at_call && d->calls == d->plan.at_call;
	bool again = d->failing == (int)call + 1;
	if (!now && !again)
		return 0;
	d->plan_done = true;
	if (cut && now)
		*cut = d->plan.at_byte;
	if (!d->plan.fail_errno) {
		d->crashed = true;
		return -ESHUTDOWN;
	}
	if (d->plan.fail_forever)
		d->failing = (int)call + 1;
	return -d->plan.fail_errno;
}

static struct sim_disk *disk_of(struct cam_io *io)
{
	return (struct sim_disk *)io;
}

static struct node *node_of(struct cam_file *f)
{
	struct sim_file *sf = (struct sim_file *)f;
	return &sf->disk->nodes[sf->node];
}

static struct cam_file *new_file(struct sim_disk *d, size_t node, bool writable)
{
	struct sim_file *f = calloc(1, sizeof(*f));
	if (!f)
		sim_fail("no memory");
	*f = (struct sim_file){.base = {&sim_ops}, .disk = d, .node = node, .writable = writable};
	d->open_files++;
	return &f->base;
}

static int open_node(struct sim_disk *d, const char *name, enum cam_io_mode mode,
		     struct cam_file **out)
{
	const struct entry *e = names_find(&d->names[SHOWN], name);
	if (!e && mode == CAM_IO_READ)
		return -ENOENT;
	if (e && mode == CAM_IO_CREATE)
		return -EEXIST;
	if (!e) {
		struct op op = {.kind = OP_CREATE, .node = d->n_nodes};
		set_name(op.name, name);
		change(d, &op);
		e = names_find(&d->names[SHOWN], name);
	}
	*out = new_file(d, e->node, mode != CAM_IO_READ);
	return 0;
}

static int sim_open(struct cam_io *io, const char *name, enum cam_io_mode mode,
		    struct cam_file **out)
{
	int err = enter(disk_of(io), CALL_OPEN, NULL);
	return err ? err : open_node(disk_of(io), name, mode, out);
}

static ssize_t sim_pread(struct cam_file *f, void *bytes, size_t n, uint64_t at)
{
	int err = enter(((struct sim_file *)f)->disk, CALL_PREAD, NULL);
	if (err)
		return err;
	const struct content *c = node_of(f)->shown;
	if (at >= content_len(c))
		return 0;
	if (n > c->len - at)
		n = c->len - at;
	memcpy(bytes, c->data + at, n);
	return (ssize_t)n;
}

static uint64_t used_bytes(const struct sim_disk *d)
{
	uint64_t used = 0;
	for (size_t i = 0; i < d->names[SHOWN].n; i++)
		used += content_len(d->nodes[d->names[SHOWN].v[i].node].shown);
	return used;
}

static void write_bytes(struct sim_disk *d, size_t node, const void *data, size_t n, uint64_t at)
{
	if (n == 0)
		return;
	struct op op = {.kind = OP_WRITE, .node = node, .at = at, .n = n};
	op.bytes = malloc(sizeof(*op.bytes) + n);
	if (!op.bytes)
		sim_fail("no memory");
	op.bytes->refs = 1;
	op.bytes->n = n;
	memcpy(op.bytes->data, data, n);
	change(d, &op);
	bytes_drop(op.bytes);
}

static int sim_pwrite(struct cam_file *f, const void *bytes, size_t n, uint64_t at)
{
	struct sim_file *sf = (struct sim_file *)f;
	struct sim_disk *d = sf->disk;
	size_t cut = 0;
	if (!sf->writable)
		return -EBADF;
	int err = enter(d, CALL_PWRITE, &cut);
	size_t room = err ? cut : n;
	if (!err && d->capacity) {
		uint64_t len = content_len(node_of(f)->shown), used = used_bytes(d);
		uint64_t end = len + (used < d->capacity ? d->capacity - used : 0);
		if (at + n > end) {
			room = at < end ? (size_t)(end - at) : 0;
			err = -ENOSPC;
		}
	}
	write_bytes(d, sf->node, bytes, room < n ? room : n, at);
	return err;
}

static int64_t sim_size(struct cam_file *f)
{
	int err = enter(((struct sim_file *)f)->disk, CALL_SIZE, NULL);
	return err ? err : (int64_t)content_len(node_of(f)->shown);
}

static int sim_fdatasync(struct cam_file *f)
{
	struct sim_file *sf = (struct sim_file *)f;
	int err = enter(sf->disk, CALL_FDATASYNC, NULL);
	if (err == -ESHUTDOWN)
		return err;
	sf->disk->syncs += !err;
	change(sf->disk, &(struct op){.kind = err ? OP_SYNC_FAILED : OP_SYNC, .node = sf->node});
	return err;
}

static void sim_close(struct cam_file *f)
{
	struct sim_file *sf = (struct sim_file *)f;
	sf->disk->open_files--;
	if (sf->lock)
		sf->disk->locked = false;
	free(sf);
}

static int sim_rename(struct cam_io *io, const char *from, const char *to, bool replace)
{
	struct sim_disk *d = disk_of(io);
	struct op op = {.kind = OP_RENAME};
	int err = enter(d, CALL_RENAME, NULL);
	if (err)
		return err;
	set_name(op.name, from);
	set_name(op.to, to);
	const struct entry *e = names_find(&d->names[SHOWN], from);
	if (!e)
		return -ENOENT;
	op.node = e->node;
	if (!replace && names_find(&d->names[SHOWN], to))
		return -EEXIST;
	change(d, &op);
	return 0;
}

static int sim_unlink(struct cam_io *io, const char *name)
{
	struct sim_disk *d = disk_of(io);
	struct op op = {.kind = OP_UNLINK};
	int err = enter(d, CALL_UNLINK, NULL);
	if (err)
		return err;
	const struct entry *e = names_find(&d->names[SHOWN], name);
	if (!e)
		return -ENOENT;
	set_name(op.name, name);
	op.node = e->node;
	change(d, &op);
	return 0;
}

static int sim_sync_dir(struct cam_io *io)
{
	struct sim_disk *d = disk_of(io);
	int err = enter(d, CALL_SYNC_DIR, NULL);
	if (err != -ESHUTDOWN)
		change(d, &(struct op){.kind = err ? OP_SYNC_DIR_FAILED : OP_SYNC_DIR});
	return err;
}

static int sim_list(struct cam_io *io, cam_io_list_fn *fn, void *arg)
{
	struct sim_disk *d = disk_of(io);
	int err = enter(d, CALL_LIST, NULL);
	/* A copy: the callback may unlink. */
	size_t n = d->names[SHOWN].n;
	struct entry *v = n ? malloc(n * sizeof(*v)) : NULL;
	if (v)
		memcpy(v, d->names[SHOWN].v, n * sizeof(*v));
	for (size_t i = 0; i < n && !err; i++)
		err = fn(arg, v[i].name);
	free(v);
	return err;
}

static int sim_lock(struct cam_io *io, const char *name, struct cam_file **out, int *holder)
{
	struct sim_disk *d = disk_of(io);
	int err = enter(d, CALL_LOCK, NULL);
	*holder = 0;
	if (err)
		return err;
	if (d->locked) {
		*holder = HOLDER;
		return -EWOULDBLOCK;
	}
	err = open_node(d, name, CAM_IO_WRITE, out);
	if (err)
		return err;
	d->locked = ((struct sim_file *)*out)->lock = true;
	write_bytes(d, ((struct sim_file *)*out)->node, "4242\n", 5, 0);
	return 0;
}

static int sim_space(struct cam_io *io, uint64_t *total_bytes, uint64_t *free_bytes)
{
	struct sim_disk *d = disk_of(io);
	int err = enter(d, CALL_SPACE, NULL);
	if (err)
		return err;
	uint64_t used = used_bytes(d);
	*total_bytes = d->capacity ? d->capacity : UINT64_C(1) << 40;
	*free_bytes = used < *total_bytes ? *total_bytes - used : 0;
	return 0;
}

static const struct cam_io_ops sim_ops = {
	.open = sim_open,
	.pread = sim_pread,
	.pwrite = sim_pwrite,
	.size = sim_size,
	.fdatasync = sim_fdatasync,
	.close = sim_close,
	.rename = sim_rename,
	.unlink = sim_unlink,
	.sync_dir = sim_sync_dir,
	.list = sim_list,
	.lock = sim_lock,
	.space = sim_space,
};

struct sim_disk *sim_new(void)
{
	struct sim_disk *d = calloc(1, sizeof(*d));
	if (!d)
		sim_fail("no memory");
	d->io.ops = &sim_ops;
	return d;
}

void sim_free(struct sim_disk *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_nodes; i++) {
		content_drop(d->nodes[i].shown);
		content_drop(d->nodes[i].durable);
		ops_free(&d->nodes[i].pending);
	}
	free(d->nodes);
	free(d->names[SHOWN].v);
	free(d->names[DURABLE].v);
	ops_free(&d->pending_names);
	ops_free(&d->recording);
	sim_free(d->origin);
	free(d);
}

struct cam_io *sim_io(struct sim_disk *d)
{
	return &d->io;
}

void sim_set_plan(struct sim_disk *d, const struct sim_plan *plan)
{
	d->plan = *plan;
	d->calls = 0;
	d->failing = 0;
	d->plan_done = false;
}

uint64_t sim_calls(const struct sim_disk *d)
{
	return d->calls;
}

bool sim_crashed(const struct sim_disk *d)
{
	return d->crashed;
}

bool sim_plan_done(const struct sim_disk *d)
{
	return d->plan_done;
}

void sim_set_capacity(struct sim_disk *d, uint64_t bytes)
{
	d->capacity = bytes;
}

unsigned sim_open_files(const struct sim_disk *d)
{
	return d->open_files;
}

unsigned sim_syncs(const struct sim_disk *d)
{
	return d->syncs;
}

size_t sim_pending(const struct sim_disk *d)
{
	size_t n = d->pending_names.n;
	for (size_t i = 0; i < d->n_nodes; i++)
		n += d->nodes[i].pending.n;
	return n;
}

void sim_put(struct sim_disk *d, const char *name, const void *bytes, size_t n)
{
	char checked[SIM_NAME_BYTES];
	set_name(checked, name);
	size_t i = d->n_nodes;
	struct node *node = sim_node(d, i);
	content_own(&node->durable, n);
	content_write(&node->durable, 0, bytes, n);
	node->shown = content_hold(node->durable);
	names_put(&d->names[SHOWN], checked, i);
	names_put(&d->names[DURABLE], checked, i);
}

const uint8_t *sim_get(const struct sim_disk *d, const char *name, size_t *n)
{
	const struct entry *e = names_find(&d->names[SHOWN], name);
	*n = e ? content_len(d->nodes[e->node].shown) : 0;
	if (!e)
		return NULL;
	return *n ? d->nodes[e->node].shown->data : (const uint8_t *)"";
}

void sim_flip(struct sim_disk *d, const char *name, uint64_t bit)
{
	const struct entry *e = names_find(&d->names[SHOWN], name);
	if (!e || bit / 8 >= content_len(d->nodes[e->node].shown))
		sim_fail("no such bit");
	struct node *node = &d->nodes[e->node];
	content_own(&node->shown, 0)->data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	content_drop(node->durable);
	node->durable = content_hold(node->shown);
}
