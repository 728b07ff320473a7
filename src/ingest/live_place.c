// SPDX-License-Identifier: Apache-2.0
/*
 * From frames to a place: the stack's node in the window's tree.
 *
 * The slow way is a lookup of each frame's location and another of each node: five cache misses a
 * frame, 4 us a sample at 97 Hz, where nothing is in the cache any more when the next samples come.
 * But most stacks are as the ones before but for their last frames. So each path from the root
 * gets a hash, from what the frames are, without a look at any table; a cache has the nodes of
 * paths by their hash. The longest path that it knows is looked for from the leaf on, what is left
 * goes the slow way. The places in the cache are known beforehand and fetched all at once.
 *
 * Invariants
 *  1. A path's hash covers the window and, of each frame, the module's row and the address; so what
 *     changes (a file that gets its key, kernel code of another turn) is another path.
 *  2. A hit means that 96 bits of two seeded hashes are equal; nobody can aim at that, and by chance
 *     it happens once in 10^24 lookups.
 *  3. The cache is of use for the open window only: another number, other hashes.
 *
 * Example: a;b;c is known, a;b;d comes. Hashes of a, a;b, a;b;d. The last is not in the cache, a;b
 * is: node 2. d is looked up, its node made below 2, and a;b;d entered.
 */
#include "ingest/live_parts.h"

#include "base/index.h"

#define MARK_MODULE    (CAM_NONE - 1)
#define UNKNOWN_MODULE (CAM_NONE - 2)

static int intern_module(struct cam_live_window *w, const struct cam_files_row *f,
			 struct cam_text key, struct cam_module_id *out)
{
	struct cam_tables *t = &w->w.tables;
	struct cam_module m = {.kind = f->kind};
	int err = cam_string_intern(t, cam_word_text(f->path), &m.path);
	if (!err)
		err = cam_string_intern(t, key, &m.key);
	if (!err)
		err = cam_string_intern(t, cam_word_text(f->build_id), &m.build_id);
	return err ? err : cam_module_intern(t, &m, out);
}

/*
 * What tells this file from others of its path. Until (or unless) somebody has taken hold of it that is
 * what its mapping said, and its book: two of one path, in two roots, must not share locations, or one
 * would get the other's names.
 */
static size_t key_of(const struct cam_files_row *f, bool has_key,
		     uint8_t key[CAM_FILES_KEY_BYTES + 4])
{
	if (has_key)
		return cam_files_key_bytes(&f->key, key);
	/* Two processes' code made at run time, and what was there before, are not the same. */
	bool is_source = f->kind == CAM_MODULE_JIT && f->state != CAM_FILES_NO_FILE;
	if (f->kind != CAM_MODULE_FILE && !is_source)
		return 0;
	const struct cam_file_key mapped = {
		.major = f->major,
		.minor = f->minor,
		.inode = f->inode,
		.generation = f->generation,
	};
	size_t n = cam_files_key_bytes(&mapped, key);
	for (unsigned i = 0; i < 4; i++)
		key[n++] = (uint8_t)(f->book >> 8 * i);
	return n;
}

static int module_of(struct cam_live_window *w, struct cam_files_row *f, struct cam_module_id *out)
{
	bool has_key = f->kind == CAM_MODULE_FILE &&
		       (f->state == CAM_FILES_HELD || f->state == CAM_FILES_CHANGED);
	/* The build-id comes with the first names. By it debug files are found when the file is gone. */
	bool has_id = f->kind == CAM_MODULE_FILE && f->build_id;
	if (f->modules[w->slot].window == w->number && f->modules[w->slot].with_key == has_key &&
	    f->modules[w->slot].with_id == has_id) {
		*out = f->modules[w->slot].module;
		return 0;
	}
	uint8_t key[CAM_FILES_KEY_BYTES + 4];
	size_t n = key_of(f, has_key, key);
	int err = intern_module(w, f, (struct cam_text){(const char *)key, n}, out);
	if (err)
		return err;
	f->modules[w->slot].window = w->number;
	f->modules[w->slot].with_key = has_key;
	f->modules[w->slot].with_id = has_id;
	f->modules[w->slot].module = *out;
	return 0;
}

/* The kernel's row with the turn as its key. */
static int dynamic_module(struct cam_live *l, struct cam_live_window *w, uint64_t address,
			  struct cam_module_id *out)
{
	/* What is known to have been there then is of its own turn, though others came since. */
	const struct cam_ksymbol *s = cam_ksymbols_find(&l->ksymbols, address, l->placing_ns);
	uint32_t turn = s ? s->turn : l->turn;
	if (w->dynamic_turn != turn) {
		char key[16];
		size_t n = 0;
		for (uint32_t rest = turn; rest; rest >>= 8)
			key[n++] = (char)(rest & 255);
		int err = intern_module(w, cam_files_kernel(l->files), (struct cam_text){key, n},
					&w->dynamic);
		if (err)
			return err;
		w->dynamic_turn = turn;
	}
	*out = w->dynamic;
	return 0;
}

static int make_unknown(struct cam_live_window *w)
{
	struct cam_location loc = {
		.func.v = CAM_NONE, .func_offset = CAM_OFFSET_NONE, .late = true};
	return cam_location_intern(&w->w.tables, &loc, &w->unknown);
}

/* Where a stack is cut; the function's start says why, so that readers can tell. */
static int make_mark(struct cam_live_window *w, uint64_t end)
{
	struct cam_location loc = {.func_offset = CAM_OFFSET_NONE};
	struct cam_function func = {.kind = CAM_FUNC_MARK, .source = CAM_NAME_OWN, .start = end};
	struct cam_text name =
		end == CAM_STACK_NO_MAPPING ? CAM_TEXT("[unmapped]") : CAM_TEXT("[truncated]");
	int err = cam_string_intern(&w->w.tables, name, &func.name);
	if (!err)
		err = cam_function_intern(&w->w.tables, &func, &loc.func);
	return err ? err : cam_location_intern(&w->w.tables, &loc, &w->marks[end]);
}

/* Where a frame is, as far as paths are concerned. */
static int module_of_frame(struct cam_live *l, struct cam_live_window *w,
			   const struct cam_live_frame *f, struct cam_module_id *out)
{
	out->v = f->mark ? MARK_MODULE : UNKNOWN_MODULE;
	if (!f->file)
		return 0;
	return cam_live_is_dynamic(l, f->file, f->address) ? dynamic_module(l, w, f->address, out)
							   : module_of(w, f->file, out);
}

static int make_location(struct cam_live *l, struct cam_live_window *w,
			 const struct cam_live_frame *f, struct cam_module_id module,
			 struct cam_loc_id *out)
{
	if (!f->file) {
		struct cam_loc_id *loc = f->mark ? &w->marks[f->address] : &w->unknown;
		int err = loc->v != CAM_NONE ? 0
			  : f->mark	     ? make_mark(w, f->address)
					     : make_unknown(w);
		*out = *loc;
		return err;
	}
	struct cam_location loc = {
		.address = f->address,
		.module = module,
		.func.v = CAM_NONE,
		/* Without a name it is its mapping's. */
		.func_offset =
			f->map ? f->address - cam_image_run(f->image, f->map) : CAM_OFFSET_NONE,
		.late = true,
	};
	size_t had = w->w.tables.n_locations;
	int err = cam_location_intern(&w->w.tables, &loc, out);
	if (!err && out->v == had)
		cam_live_names_find(l, w, f->file, *out, f->address);
	return err;
}

/* The hash of each path, by its leaf; path i is frames n-1 … i. */
static int hash_paths(struct cam_live *l, struct cam_live_window *w, size_t n)
{
	uint64_t tag = w->number, check = cam_hash_seed;
	for (size_t i = n; i-- > 0;) {
		struct cam_live_path *p = &l->paths[i];
		int err = module_of_frame(l, w, &l->frames[i], &p->module);
		if (err)
			return err;
		uint64_t address = l->frames[i].address;
		tag = cam_hash_u64(tag ^ address, p->module.v);
		check = (check + address + ((uint64_t)p->module.v << 40)) * 0xd6e8feb86659fd93u;
		check ^= check >> 32;
		p->tag = tag;
		p->check = (uint32_t)check;
		__builtin_prefetch(&l->nodes[tag & (CAM_LIVE_NODES - 1)]);
	}
	return 0;
}

int cam_live_place(struct cam_live *l, struct cam_live_window *w, size_t n,
		   struct cam_place_id *out)
{
	struct cam_tables *t = &w->w.tables;
	size_t known = 0;
	int err = hash_paths(l, w, n);
	out->v = 0;
	for (; known < n && !err; known++) {
		const struct cam_live_path *p = &l->paths[known];
		const struct cam_live_node *at = &l->nodes[p->tag & (CAM_LIVE_NODES - 1)];
		if (at->tag == p->tag && at->check == p->check) {
			out->v = at->node;
			break;
		}
	}
	for (size_t i = known; i-- > 0 && !err;) {
		const struct cam_live_path *p = &l->paths[i];
		struct cam_loc_id loc;
		err = make_location(l, w, &l->frames[i], p->module, &loc);
		if (!err)
			err = cam_tree_intern(t, &t->places, out->v, loc.v, &out->v);
		if (!err)
			l->nodes[p->tag & (CAM_LIVE_NODES - 1)] =
				(struct cam_live_node){p->tag, p->check, out->v};
	}
	return err;
}
