// SPDX-License-Identifier: Apache-2.0
/*
 * Tables and images in the kernel, found by the program as
 *	process (pid) → image → mapping → file → table → row → rule.
 * Why everything large is in blocks: one budget, one quarantine; and a table that grows needs no map of its
 * own (to put a map into a map takes 12 ms).
 *
 * Showing a table: its blocks are written first, then its entry of cam_files with levels 0, then the
 * same with levels set. A program copies that entry while we write it; the two writes differ in one
 * aligned word only, so it sees no table or all of it. Hiding goes the other way.
 *
 * Letting go of an image: its blocks cool while processes may still lead to it; at each turn (2 s) the
 * entries of processes that lead to an image that is gone are deleted, and if there were any the turn
 * is put off by one: their last run may have begun just now. While nothing cools nobody looks for them, but for
 * every 30 s, to know how many processes there are: the kernel goes through the whole map for that.
 *
 * Invariants:
 * 1. Every block in use belongs to one table or one image.
 * 2. kernel bytes = fixed maps + slabs <= max_bytes.
 * 3. An image number leads to the mappings it was told with, or to nothing.
 *
 * Example: image 7 of 70 mappings takes two blocks: chunk 0 beside its head, chunk 1 in the second.
 */
#include "capture/bpf_unwinder.h"

#include "capture/bpf_blocks.h"
#include "model/ids.h"
#include "model/unwind_pack.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS   1000000000ull
#define TURN_NS	    (2 * SECOND_NS)
#define COUNT_NS    (30 * SECOND_NS)
#define MIN_AGE_S   10u
#define MAX_OPEN    8u /* tables that are being packed */
#define MAX_IMAGES  8192u
#define N_BUCKETS   4096u
#define RESERVE	    512u /* blocks */
#define START_SLACK 10000000ull

struct table {
	struct cam_bpf_chain blocks;
	uint32_t root;	/* 0: there is no table */
	uint32_t since; /* s */
	int error;	/* of one that was begun and came to nothing */
	struct packing *packing;
};

struct unwinder;
struct packing {
	struct unwinder *owner;
	struct table *table;
	struct cam_unwind_packer packer;
};

struct image {
	uint32_t number; /* 0: free */
	uint32_t next;	 /* in its bucket, or of the free ones: index + 1 */
	uint32_t since;	 /* s */
	uint32_t block;	 /* where its head is */
	struct cam_bpf_chain blocks;
};

struct unwinder {
	struct cam_unwinder base;
	const struct cam_bpf *bpf;
	const struct cam_kernel *kernel;
	int processes_fd, files_fd, used_fd;
	size_t fixed_bytes, max_bytes;
	uint64_t now_ns, turn_ns, counted_ns;
	uint32_t generation, n_open, n_tables, n_images, n_processes, free_image, n_slots;
	uint64_t evicted_tables, evicted_images, refused;
	struct cam_bpf_blocks blocks;
	uint32_t bucket[N_BUCKETS]; /* index + 1 */
	struct table tables[CAM_WIRE_MAX_FILES];
	struct image images[MAX_IMAGES];
};

static uint32_t seconds(const struct unwinder *u)
{
	return (uint32_t)(u->now_ns / SECOND_NS);
}

/* ---- images ---- */

static struct image *find_image(struct unwinder *u, uint32_t number)
{
	for (uint32_t i = u->bucket[number % N_BUCKETS]; i; i = u->images[i - 1].next)
		if (u->images[i - 1].number == number)
			return &u->images[i - 1];
	return NULL;
}

static void drop_image(struct unwinder *u, struct image *image)
{
	uint32_t index = (uint32_t)(image - u->images) + 1;
	uint32_t *at = &u->bucket[image->number % N_BUCKETS];
	while (*at != index)
		at = &u->images[*at - 1].next;
	*at = image->next;
	cam_bpf_blocks_cool(&u->blocks, &image->blocks);
	*image = (struct image){.next = u->free_image};
	u->free_image = index;
	u->n_images--;
}

/* ---- tables ---- */

static int show(struct unwinder *u, uint32_t file, const struct cam_unwind_file *f)
{
	return bpf_map_update_elem(u->files_fd, &file, f, BPF_ANY) ? -errno : 0;
}

static void end_packing(struct unwinder *u, struct table *t)
{
	if (t->packing)
		u->n_open--;
	free(t->packing);
	t->packing = NULL;
}

/* Nobody was shown its blocks yet. */
static void abandon(struct unwinder *u, struct table *t, int err)
{
	end_packing(u, t);
	cam_bpf_blocks_free(&u->blocks, &t->blocks);
	t->error = err;
	u->refused++;
}

static void hide(struct unwinder *u, uint32_t file)
{
	struct table *t = &u->tables[file];
	struct cam_unwind_file f;
	end_packing(u, t);
	if (t->root) {
		/* A file whose entry cannot be read has one that was never written: all 0. */
		if (bpf_map_lookup_elem(u->files_fd, &file, &f))
			memset(&f, 0, sizeof(f));
		f.levels = 0;
		show(u, file, &f);
		cam_bpf_blocks_cool(&u->blocks, &t->blocks);
		u->n_tables--;
	}
	cam_bpf_blocks_free(&u->blocks, &t->blocks);
	*t = (struct table){0};
}

/* ---- making room ---- */

struct victim {
	uint32_t used; /* s */
	uint32_t index;
	bool is_image;
};

static int by_age(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;
	return (x->used > y->used) - (x->used < y->used);
}

/* When each block was used last, as the programs noted it. The caller's to free. */
static uint32_t *read_used(const struct unwinder *u)
{
	uint32_t n = CAM_WIRE_MAX_BLOCKS, batch = 0;
	uint32_t *used = calloc(n, sizeof(*used)), *keys = calloc(n, sizeof(*keys));
	bool ok = used && keys;
	/* The end of the map is an error to the kernel, and what we want. */
	if (ok && bpf_map_lookup_batch(u->used_fd, NULL, &batch, keys, used, &n, NULL))
		ok = errno == ENOENT;
	free(keys);
	if (!ok) {
		free(used);
		return NULL;
	}
	return used;
}

static size_t list_victims(const struct unwinder *u, const uint32_t *used, struct victim *out)
{
	uint32_t now = seconds(u);
	size_t n = 0;
	for (uint32_t i = 0; i < CAM_WIRE_MAX_FILES; i++) {
		const struct table *t = &u->tables[i];
		uint32_t last = used[t->root] > t->since ? used[t->root] : t->since;
		if (t->root && last + MIN_AGE_S <= now)
			out[n++] = (struct victim){last, i, false};
	}
	for (uint32_t i = 0; i < u->n_slots; i++) {
		const struct image *m = &u->images[i];
		uint32_t last = used[m->block] > m->since ? used[m->block] : m->since;
		if (m->number && last + MIN_AGE_S <= now)
			out[n++] = (struct victim){last, i, true};
	}
	qsort(out, n, sizeof(*out), by_age);
	return n;
}

/* Until `wanted` blocks are left, or will be soon. */
static void evict(struct unwinder *u, uint32_t wanted)
{
	uint32_t *used = read_used(u);
	struct victim *v = calloc(CAM_WIRE_MAX_FILES + MAX_IMAGES, sizeof(*v));
	size_t n = used && v ? list_victims(u, used, v) : 0;
	for (size_t i = 0; i < n; i++) {
		if (cam_bpf_blocks_left(&u->blocks) + cam_bpf_blocks_cooling(&u->blocks) >= wanted)
			break;
		if (v[i].is_image)
			drop_image(u, &u->images[v[i].index]);
		else
			hide(u, v[i].index);
		*(v[i].is_image ? &u->evicted_images : &u->evicted_tables) += 1;
	}
	free(used);
	free(v);
}

/* No block was left: why, for the caller. */
static int no_room(struct unwinder *u)
{
	evict(u, RESERVE);
	return cam_bpf_blocks_cooling(&u->blocks) ? -EAGAIN : -ENOSPC;
}

static int take_block(struct unwinder *u, struct cam_bpf_chain *chain)
{
	int err = cam_bpf_blocks_take(&u->blocks, chain);
	return err == -ENOSPC ? no_room(u) : err;
}

/* ---- the table's half of the door ---- */

static int put_block(void *arg, const struct cam_unwind_block *block, uint32_t *number)
{
	struct packing *p = arg;
	int err = take_block(p->owner, &p->table->blocks);
	if (err)
		return err;
	*number = p->table->blocks.head;
	return cam_bpf_blocks_put(&p->owner->blocks, *number, block);
}

static int table_begin(struct cam_unwinder *base, uint32_t file)
{
	struct unwinder *u = base->self;
	if (file >= CAM_WIRE_MAX_FILES)
		return -E2BIG;
	hide(u, file);
	if (u->n_open >= MAX_OPEN)
		return -EAGAIN;
	struct table *t = &u->tables[file];
	t->packing = malloc(sizeof(*t->packing));
	if (!t->packing)
		return -ENOMEM;
	u->n_open++;
	t->packing->owner = u;
	t->packing->table = t;
	cam_unwind_pack_start(&t->packing->packer, put_block, t->packing);
	return 0;
}

/* The table that is being packed; NULL: there is none, *err says why. */
static struct table *open_table(struct unwinder *u, uint32_t file, int *err)
{
	struct table *t = file < CAM_WIRE_MAX_FILES ? &u->tables[file] : NULL;
	if (t && t->packing)
		return t;
	*err = t && t->error ? t->error : -EINVAL;
	return NULL;
}

static int table_rows(struct cam_unwinder *base, uint32_t file, const struct cam_unwind_rule *rules,
		      size_t n_rules, const struct cam_unwind_row *rows, size_t n_rows)
{
	struct unwinder *u = base->self;
	int err;
	struct table *t = open_table(u, file, &err);
	if (!t)
		return err;
	err = cam_unwind_pack_rules(&t->packing->packer, rules, n_rules);
	if (!err)
		err = cam_unwind_pack_rows(&t->packing->packer, rows, n_rows);
	if (err)
		abandon(u, t, err);
	return err;
}

static int table_end(struct cam_unwinder *base, uint32_t file)
{
	struct unwinder *u = base->self;
	struct cam_unwind_file f = {0};
	int err;
	struct table *t = open_table(u, file, &err);
	if (!t)
		return err;
	err = cam_unwind_pack_finish(&t->packing->packer, &f);
	if (!err)
		err = cam_bpf_blocks_write(&u->blocks);
	uint32_t levels = f.levels;
	f.generation = ++u->generation;
	f.levels = 0;
	if (!err)
		err = show(u, file, &f);
	f.levels = levels;
	if (!err)
		err = show(u, file, &f);
	if (err) {
		abandon(u, t, err);
		return err;
	}
	end_packing(u, t);
	t->root = f.root;
	t->since = seconds(u);
	u->n_tables++;
	return 0;
}

static void table_forget(struct cam_unwinder *base, uint32_t file)
{
	if (file < CAM_WIRE_MAX_FILES)
		hide(base->self, file);
}

static bool table_has(struct cam_unwinder *base, uint32_t file)
{
	struct unwinder *u = base->self;
	return file < CAM_WIRE_MAX_FILES && u->tables[file].root;
}

/* ---- the processes' half ---- */

static bool are_in_order(const struct cam_unwind_mapping *maps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (maps[i].start >= maps[i].end || maps[i].start % 2 ||
		    (i && maps[i].start < maps[i - 1].end))
			return false;
	return true;
}

static void fill_chunk(struct cam_unwind_chunk *c, const struct cam_unwind_mapping *maps, size_t n)
{
	memset(c->start, 0xff, sizeof(c->start));
	memset(c->map, 0, sizeof(c->map));
	for (size_t i = 0; i < n; i++) {
		bool file = maps[i].file < CAM_WIRE_MAX_FILES;
		c->start[i] = maps[i].start;
		c->map[i] = (struct cam_unwind_map){
			.end = maps[i].end,
			.bias = maps[i].start - maps[i].offset,
			.file = file ? maps[i].file : 0,
			.flags = file ? 0 : CAM_UNWIND_NO_FILE,
		};
	}
}

static int write_image(struct unwinder *u, struct cam_bpf_chain *blocks,
		       const struct cam_unwind_mapping *maps, size_t n_maps)
{
	struct cam_wire_image head = {0};
	struct cam_unwind_block rest = {0};
	size_t n_chunks = (n_maps + CAM_UNWIND_CHUNK_MAPS - 1) / CAM_UNWIND_CHUNK_MAPS;
	memset(head.image.first, 0xff, sizeof(head.image.first));
	head.image.n_chunks = (uint32_t)n_chunks;
	fill_chunk(&head.chunk, maps, 0);
	int err = 0;
	/* The last first: its head, which is shown, is the head of the chain. */
	for (size_t k = n_chunks; k-- > 0 && !err;) {
		size_t at = k * CAM_UNWIND_CHUNK_MAPS, n = n_maps - at;
		struct cam_unwind_chunk *c = k ? (void *)&rest : &head.chunk;
		fill_chunk(c, maps + at, n < CAM_UNWIND_CHUNK_MAPS ? n : CAM_UNWIND_CHUNK_MAPS);
		head.image.first[k] = maps[at].start;
		if (k && !(err = take_block(u, blocks))) {
			head.block[k] = blocks->head;
			err = cam_bpf_blocks_put(&u->blocks, blocks->head, &rest);
		}
	}
	if (!err)
		err = take_block(u, blocks);
	if (!err)
		err = cam_bpf_blocks_put(&u->blocks, blocks->head, &head);
	return err ? err : cam_bpf_blocks_write(&u->blocks);
}

static int add_image(struct unwinder *u, uint32_t number, const struct cam_unwind_mapping *maps,
		     size_t n_maps, struct image **out)
{
	struct cam_bpf_chain blocks = {0};
	if (n_maps > CAM_UNWIND_MAX_MAPS)
		return -E2BIG;
	if (!are_in_order(maps, n_maps))
		return -EBADMSG;
	int err = write_image(u, &blocks, maps, n_maps);
	if (!err && !u->free_image && u->n_slots < MAX_IMAGES)
		u->free_image = ++u->n_slots;
	if (!err && !u->free_image) {
		evict(u, cam_bpf_blocks_left(&u->blocks) + cam_bpf_blocks_cooling(&u->blocks) + 1);
		err = u->free_image ? 0 : -ENOSPC;
	}
	if (err) {
		cam_bpf_blocks_free(&u->blocks, &blocks);
		return err;
	}
	uint32_t index = u->free_image;
	struct image *m = &u->images[index - 1];
	u->free_image = m->next;
	*m = (struct image){.number = number,
			    .next = u->bucket[number % N_BUCKETS],
			    .block = blocks.head,
			    .blocks = blocks};
	u->bucket[number % N_BUCKETS] = index;
	u->n_images++;
	*out = m;
	return 0;
}

static int process(struct cam_unwinder *base, const struct cam_unwind_process *p,
		   const struct cam_unwind_mapping *maps, size_t n_maps)
{
	struct unwinder *u = base->self;
	if (p->pid <= 0 || !p->image)
		return -EINVAL;
	struct image *m = find_image(u, p->image);
	if (!m && !maps)
		return -ENOENT;
	int err = m ? 0 : add_image(u, p->image, maps, n_maps, &m);
	if (err) {
		u->refused++;
		return err;
	}
	m->since = seconds(u);
	uint32_t pid = (uint32_t)p->pid;
	const struct cam_wire_process entry = {
		.start_ns = p->start_ns,
		.as_of_ns = p->as_of_ns ? p->as_of_ns : u->kernel->now_ns(u->kernel),
		.image = m->number,
		.block = m->block,
		.pid = pid,
	};
	if (!bpf_map_update_elem(u->processes_fd, &pid, &entry, BPF_ANY))
		return 0;
	u->refused++;
	return errno == E2BIG ? -ENOSPC : -errno;
}

static void process_forget(struct cam_unwinder *base, int32_t pid, uint64_t start_ns)
{
	struct unwinder *u = base->self;
	struct cam_wire_process entry;
	if (bpf_map_lookup_elem(u->processes_fd, &pid, &entry))
		return;
	uint64_t apart =
		start_ns > entry.start_ns ? start_ns - entry.start_ns : entry.start_ns - start_ns;
	if (!start_ns || !entry.start_ns || apart < START_SLACK)
		bpf_map_delete_elem(u->processes_fd, &pid);
}

static void image_forget(struct cam_unwinder *base, uint32_t number)
{
	struct unwinder *u = base->self;
	struct image *m = find_image(u, number);
	if (m)
		drop_image(u, m);
}

/* ---- time ---- */

#define BATCH 256u

/* Deletes the entries of processes whose image is gone; how many there were. */
static uint32_t sweep(struct unwinder *u)
{
	uint32_t keys[BATCH], position = 0, swept = 0, seen = 0;
	struct cam_wire_process entries[BATCH];
	bool first = true, last = false;
	/* Bounded: processes come while we look. */
	for (uint32_t round = 0; !last && round < 2 * CAM_WIRE_MAX_PROCESSES / BATCH; round++) {
		uint32_t n = BATCH;
		if (bpf_map_lookup_batch(u->processes_fd, first ? NULL : &position, &position, keys,
					 entries, &n, NULL)) {
			if (errno != ENOENT)
				return swept +
				       1; /* could not look: nothing is free before we could */
			last = true;
		}
		first = false;
		seen += n;
		for (uint32_t i = 0; i < n; i++) {
			const struct image *m = find_image(u, entries[i].image);
			if (m && m->block == entries[i].block)
				continue;
			bpf_map_delete_elem(u->processes_fd, &keys[i]);
			swept++;
		}
	}
	u->n_processes = seen - (swept < seen ? swept : seen);
	u->counted_ns = u->now_ns;
	return swept;
}

static int flush(struct cam_unwinder *base, uint64_t now_ns)
{
	struct unwinder *u = base->self;
	u->now_ns = now_ns;
	__atomic_store_n(&u->bpf->state->copies, 1, __ATOMIC_RELAXED);
	int err = cam_bpf_blocks_write(&u->blocks);
	if (now_ns - u->turn_ns >= TURN_NS) {
		u->turn_ns = now_ns;
		if ((cam_bpf_blocks_cooling(&u->blocks) || now_ns - u->counted_ns >= COUNT_NS) &&
		    !sweep(u))
			cam_bpf_blocks_turn(&u->blocks);
	}
	if (cam_bpf_blocks_left(&u->blocks) + cam_bpf_blocks_cooling(&u->blocks) < RESERVE)
		evict(u, RESERVE);
	return err;
}

static struct cam_unwinder_stats stats(const struct cam_unwinder *base)
{
	const struct unwinder *u = base->self;
	size_t images = 0;
	for (uint32_t i = 0; i < u->n_slots; i++)
		images += u->images[i].blocks.n;
	struct cam_unwinder_stats s = {
		.image_bytes = images * CAM_UNWIND_BLOCK_BYTES,
		.max_bytes = u->max_bytes,
		.tables = u->n_tables,
		.images = u->n_images,
		.processes = u->n_processes,
		.evicted_tables = u->evicted_tables,
		.evicted_images = u->evicted_images,
		.refused = u->refused,
		.form = u->bpf->form == CAM_BPF_LOOP ? "bpf_loop" : "plain loop",
	};
	s.table_bytes = u->fixed_bytes + u->blocks.n_slabs * CAM_BPF_SLAB_BYTES - s.image_bytes;
	for (uint32_t cpu = 0; cpu < u->bpf->max_cpus; cpu++) {
		const struct cam_wire_ends *e = &u->bpf->ends[cpu];
		for (uint32_t i = 0; i < CAM_STACK_ENDS; i++)
			s.ends[i] += __atomic_load_n(&e->ends[i], __ATOMIC_RELAXED);
		s.guessed += __atomic_load_n(&e->guessed, __ATOMIC_RELAXED);
		s.copied += __atomic_load_n(&e->copied, __ATOMIC_RELAXED);
		s.copies_denied += __atomic_load_n(&e->copies_denied, __ATOMIC_RELAXED);
	}
	return s;
}

/* ---- */

/* What the kernel says that a map takes; what it does not say is 0. */
static size_t map_bytes(int fd)
{
	char path[64], line[256];
	size_t bytes = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "memlock:", 8) == 0)
			bytes = strtoull(line + 8, NULL, 10);
	if (f)
		fclose(f);
	return bytes;
}

static int open_maps(struct unwinder *u, const struct cam_bpf *b)
{
	const struct bpf_map *map;
	u->processes_fd = cam_bpf_map_fd(b, "cam_processes");
	u->files_fd = cam_bpf_map_fd(b, "cam_files");
	u->used_fd = cam_bpf_map_fd(b, "cam_used");
	if (u->processes_fd < 0 || u->files_fd < 0 || u->used_fd < 0)
		return -ENOENT;
	/* Also those that are not the unwinder's: the budget is of all maps but the rings, which have one of their own. */
	bpf_object__for_each_map(map, b->object)
	{
		u->fixed_bytes += map_bytes(bpf_map__fd(map));
	}
	return 0;
}

int cam_bpf_unwinder_new(const struct cam_bpf *b, const struct cam_kernel *kernel, size_t max_bytes,
			 struct cam_unwinder **out)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->bpf = b;
	u->kernel = kernel;
	u->max_bytes = max_bytes ? max_bytes : CAM_BPF_UNWINDER_BYTES;
	u->now_ns = u->turn_ns = kernel->now_ns(kernel);
	int err = open_maps(u, b);
	if (!err && u->fixed_bytes > u->max_bytes)
		err = -ENOMEM;
	if (err) {
		free(u);
		return err;
	}
	cam_bpf_blocks_init(&u->blocks, cam_bpf_map_fd(b, "cam_slabs"),
			    (uint32_t)((u->max_bytes - u->fixed_bytes) / CAM_BPF_SLAB_BYTES));
	u->base = (struct cam_unwinder){u,	   table_begin,	   table_rows,
					table_end, table_forget,   table_has,
					process,   process_forget, image_forget,
					flush,	   stats};
	*out = &u->base;
	return 0;
}

void cam_bpf_unwinder_free(struct cam_unwinder *base)
{
	if (!base)
		return;
	struct unwinder *u = base->self;
	for (uint32_t i = 0; i < CAM_WIRE_MAX_FILES && u->n_open; i++)
		end_packing(u, &u->tables[i]);
	cam_bpf_blocks_close(&u->blocks);
	free(u);
}
