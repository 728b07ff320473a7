// SPDX-License-Identifier: Apache-2.0
/*
 * The reading side of the directory; window_dir.c has the layout. Nothing is believed: a count is
 * checked against a cap, and against the size of the file, before anything is allocated by it.
 */
#include "store/window_dir.h"

#include <errno.h>
#include <string.h>

struct reading {
	struct cam_dir *d;
	const uint8_t *bytes;
	struct cam_rd r;
	uint64_t rows_max;
};

static uint64_t get(struct reading *in)
{
	return cam_rd_varint(&in->r);
}

/* A number of rows to follow, each at least one byte of what is left. */
static int get_count(struct reading *in, size_t *n, void *rows, size_t size)
{
	uint64_t v = get(in);
	if (cam_rd_error(&in->r) || v > cam_rd_left(&in->r))
		return -EBADMSG;
	void *p = calloc(v + 1, size);
	if (!p)
		return -ENOMEM;
	*(void **)rows = p;
	*n = (size_t)v;
	return 0;
}

static int read_features(struct reading *in)
{
	struct cam_dir *d = in->d;
	uint64_t compat = get(in), ro_compat = get(in), incompat = get(in);
	if (cam_rd_error(&in->r) || (compat | ro_compat | incompat) > UINT32_MAX)
		return -EBADMSG;
	d->compat = (uint32_t)compat;
	d->info.has_slots = compat & CAM_FEATURE_SLOTS;
	d->ro_compat = (uint32_t)ro_compat;
	d->incompat = (uint32_t)incompat;
	return d->incompat & ~CAM_FEATURES_INCOMPAT ? -EPROTONOSUPPORT : 0;
}

static int read_facts(struct reading *in)
{
	struct cam_dir *d = in->d;
	struct cam_window_info *info = &d->info;
	const uint8_t *boot = cam_rd_bytes(&in->r, sizeof(info->boot_id.bytes));
	if (!boot)
		return -EBADMSG;
	memcpy(info->boot_id.bytes, boot, sizeof(info->boot_id.bytes));
	uint64_t clock = get(in), flags = get(in);
	info->time_unit_ns = get(in);
	info->start_ns = get(in);
	info->end_ns = info->start_ns + get(in);
	info->sequence = get(in);
	info->realtime_ns = (int64_t)cam_rd_u64(&in->r);
	info->realtime_uncertainty_ns = get(in);
	info->lost = get(in);
	uint64_t events = get(in), cpus = get(in);
	const uint8_t *host = cam_rd_string(&in->r, &info->host.n);
	info->samples = get(in);
	d->period = get(in);
	d->text_bytes = get(in);
	uint64_t divisor = get(in);
	if (cam_rd_error(&in->r) || clock >= CAM_CLOCK_KIND_MAX || flags > 7 ||
	    !info->time_unit_ns || 1000000000 % info->time_unit_ns || !d->period ||
	    info->samples > CAM_WINDOW_SAMPLES_MAX || events > UINT32_MAX || cpus > UINT32_MAX ||
	    d->text_bytes > CAM_MAX_STRING_BYTES)
		return -EBADMSG;
	if (!divisor || divisor > UINT32_MAX)
		return -EBADMSG;
	d->small_divisor = (uint32_t)divisor;
	d->host = malloc(info->host.n + 1);
	if (!d->host)
		return -ENOMEM;
	memcpy(d->host, host, info->host.n);
	info->host.p = d->host;
	info->clock = (enum cam_clock_kind)clock;
	info->events = (uint32_t)events;
	info->cpus = (uint32_t)cpus;
	info->clean_end = flags & 1;
	info->has_places = flags & 2;
	info->imported = flags & 4;
	info->sealed = true;
	return 0;
}

static int read_numbers(struct reading *in)
{
	struct cam_dir *d = in->d;
	uint32_t *const counts[] = {&d->n_strings, &d->n_modules,   &d->n_functions,
				    &d->n_tasks,   &d->n_processes, &d->n_nodes,
				    &d->n_pairs,   &d->n_locations, &d->n_places};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t v = get(in);
		if (v > in->rows_max)
			return -EBADMSG;
		*counts[i] = (uint32_t)v;
	}
	bool places = d->info.has_places && d->info.samples;
	if (!d->n_strings || !d->n_modules || !d->n_nodes || d->n_pairs > d->info.samples ||
	    (d->n_places > 0) != places || (d->n_locations && !places))
		return -EBADMSG;
	return cam_rd_error(&in->r) ? -EBADMSG : 0;
}

static int read_small_tables(struct reading *in)
{
	struct cam_dir *d = in->d;
	int err = get_count(in, &d->n_cpus, &d->cpus, sizeof(*d->cpus));
	uint64_t next = 0;
	for (size_t i = 0; i < d->n_cpus && !err; i++) {
		uint64_t gap = get(in);
		if (gap > UINT32_MAX || next + gap > UINT32_MAX)
			return -EBADMSG;
		d->cpus[i] = (uint32_t)(next + gap);
		next += gap + 1;
	}
	if (!err)
		err = get_count(in, &d->n_etypes, &d->etypes, sizeof(*d->etypes));
	for (size_t i = 0; i < d->n_etypes && !err; i++) {
		uint64_t name = get(in);
		d->etypes[i].period_ns = get(in);
		uint64_t flags = get(in);
		d->etypes[i].weight = get(in);
		if (name >= d->n_strings || flags > 7)
			return -EBADMSG;
		d->etypes[i].name = (uint32_t)name;
		d->etypes[i].has_weight = flags & 1;
		d->etypes[i].varies = flags & 2;
		d->etypes[i].flat = flags & 4;
	}
	if (!err)
		err = get_count(in, &d->n_groups, &d->groups, sizeof(*d->groups));
	if (d->n_groups > CAM_WINDOW_GROUPS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < d->n_groups && !err; i++) {
		uint64_t etype = get(in), comm = get(in), sole = get(in);
		if (etype >= d->n_etypes || comm >= d->n_strings || sole > d->n_tasks)
			return -EBADMSG;
		d->groups[i] = (struct cam_dir_group){(uint32_t)etype, (uint32_t)comm,
						      sole ? (uint32_t)sole - 1 : CAM_NONE};
	}
	return err ? err : cam_rd_error(&in->r) ? -EBADMSG : 0;
}

static int read_modules(struct reading *in)
{
	struct cam_dir *d = in->d;
	uint64_t start = 0;
	if (d->n_modules > cam_rd_left(&in->r))
		return -EBADMSG;
	d->module_start = calloc((size_t)d->n_modules + 1, sizeof(uint32_t));
	if (!d->module_start)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->n_modules; i++) {
		uint64_t n = get(in);
		if (n > d->n_functions - start)
			return -EBADMSG;
		start += n;
		d->module_start[i + 1] = (uint32_t)start;
	}
	return start == d->n_functions && !cam_rd_error(&in->r) ? 0 : -EBADMSG;
}

struct class_streams {
	struct cam_stream_in number, count, pairs;
};

static int read_class(struct reading *in, struct class_streams *s, bool first, uint32_t group,
		      uint32_t *last)
{
	struct cam_dir *d = in->d;
	uint64_t delta = cam_stream_get(&s->count, !first), some = 0;
	if (delta >= UINT32_MAX - *last || d->n_classes >= d->n_pairs ||
	    (d->n_classes + 1) * d->n_trees > in->rows_max)
		return -EBADMSG;
	*last += (uint32_t)delta + 1;
	int err = cam_dir_add_class(d, group, *last);
	if (err)
		return err;
	for (size_t k = 0; k < d->n_trees; k++) {
		uint64_t n = cam_stream_get(&s->pairs, k > 0);
		if (n > d->n_pairs)
			return -EBADMSG;
		d->class_pairs[(d->n_classes - 1) * d->n_trees + k] = (uint32_t)n;
		some |= n;
	}
	return some && !s->count.bad && !s->pairs.bad ? 0 : -EBADMSG;
}

static int read_class_rows(struct reading *in, struct class_streams *s)
{
	struct cam_dir *d = in->d;
	int err = 0;
	for (uint32_t g = 0; g < d->n_groups && !err; g++) {
		uint64_t n = cam_stream_get(&s->number, 0);
		uint32_t last = 0;
		if (n > d->n_pairs)
			return -EBADMSG;
		for (uint64_t i = 0; i < n && !err; i++)
			err = read_class(in, s, i == 0, g, &last);
	}
	if (!err && !(cam_stream_done(&s->number) && cam_stream_done(&s->count) &&
		      cam_stream_done(&s->pairs)))
		err = -EBADMSG;
	return err;
}

static int read_trees(struct reading *in)
{
	struct cam_dir *d = in->d;
	uint64_t trees = get(in);
	/* A tree chunk has at least one node. */
	if (trees > d->n_nodes || (trees == 0) != (d->info.samples == 0))
		return -EBADMSG;
	d->n_trees = (size_t)trees;
	return 0;
}

#define NUMBER_CONTEXTS 1u
#define COUNT_CONTEXTS	2u
#define PAIRS_CONTEXTS	2u

static int read_classes(struct reading *in)
{
	struct cam_dir *d = in->d;
	struct class_streams s = {0};
	int err = cam_stream_open(&s.number, &in->r, NUMBER_CONTEXTS, 5);
	if (!err)
		err = cam_stream_open(&s.count, &in->r, COUNT_CONTEXTS, 5);
	if (!err)
		err = cam_stream_open(&s.pairs, &in->r, PAIRS_CONTEXTS, 5);
	if (!err)
		err = read_class_rows(in, &s);
	cam_stream_in_free(&s.number);
	cam_stream_in_free(&s.count);
	cam_stream_in_free(&s.pairs);
	return err ? err : cam_dir_derive_ranks(d);
}

static int read_leaf_sizes(struct reading *in)
{
	struct cam_dir *d = in->d;
	struct cam_stream_in s;
	uint64_t present = get(in);
	if (present != 1)
		return present ? -EBADMSG : 0;
	d->has_leaves = true;
	d->leaf_sizes = calloc((size_t)d->n_functions + 1, sizeof(uint32_t));
	if (!d->leaf_sizes)
		return -ENOMEM;
	int err = cam_stream_open(&s, &in->r, 1, 4);
	uint64_t sum = 0;
	for (uint32_t f = 0; f < d->n_functions && !err; f++) {
		uint64_t v = cam_stream_get(&s, 0);
		sum += v;
		if (v > d->info.samples || sum > in->rows_max)
			err = -EBADMSG;
		else
			d->leaf_sizes[f] = (uint32_t)v;
	}
	if (!err && !cam_stream_done(&s))
		err = -EBADMSG;
	cam_stream_in_free(&s);
	return err;
}

/* Past the two before; in->bytes: where the directory begins. */
static int pass_stacks(struct reading *in)
{
	struct cam_dir *d = in->d;
	d->stacks_at = (size_t)(in->r.p - in->bytes);
	int err = cam_stream_pass(&in->r, NUMBER_CONTEXTS);
	if (!err)
		err = cam_stream_pass(&in->r, COUNT_CONTEXTS);
	if (!err)
		err = cam_stream_pass(&in->r, PAIRS_CONTEXTS);
	uint64_t present = err ? 0 : get(in);
	if (err || present > 1)
		return -EBADMSG;
	d->has_leaves = present;
	return present ? cam_stream_pass(&in->r, 1) : 0;
}

static int read_tables(struct reading *in)
{
	in->d->tables = calloc(CAM_COLUMN_TABLES, sizeof(*in->d->tables));
	if (!in->d->tables)
		return -ENOMEM;
	for (unsigned t = 0; t < CAM_COLUMN_TABLES; t++)
		for (unsigned c = 0; c < cam_column_contexts[t]; c++)
			if (cam_rans_get_freq(&in->r, &in->d->tables[t][c]))
				return -EBADMSG;
	return 0;
}

/* A kind this reader does not know comes behind those it knows, and is left alone. */
static int read_sections(struct reading *in)
{
	struct cam_dir *d = in->d;
	uint64_t sections = get(in), next = 0;
	for (uint64_t i = 0; i < sections; i++) {
		uint64_t kind = get(in), n = get(in);
		if (cam_rd_error(&in->r) || kind < next || n > cam_rd_left(&in->r))
			return -EBADMSG;
		for (uint64_t c = 0; c < n; c++) {
			uint64_t bytes = get(in);
			bool has_rows = kind < CAM_CHUNK_FIRST_COLUMN || kind == CAM_CHUNK_DETAIL;
			uint64_t rows = has_rows ? get(in) : 0;
			uint64_t places = kind == CAM_CHUNK_PLACES ? get(in) : 0;
			if (cam_rd_error(&in->r) || bytes > CAM_CHUNK_BYTES_MAX ||
			    (bytes && bytes <= CAM_CHUNK_HEAD_BYTES) || rows > in->rows_max ||
			    places > in->rows_max)
				return -EBADMSG;
			int err = kind < CAM_CHUNK_KINDS
					  ? cam_dir_add_chunk(d, (enum cam_chunk_kind)kind,
							      (uint32_t)bytes, (uint32_t)rows)
					  : 0;
			if (err)
				return err;
			if (kind >= CAM_CHUNK_KINDS)
				d->unknown_bytes += bytes;
			if (kind == CAM_CHUNK_PLACES)
				d->sections[kind].chunks[c].places = (uint32_t)places;
		}
		next = kind + 1;
	}
	return cam_rd_error(&in->r) ? -EBADMSG : 0;
}

static int read_spans(struct reading *in)
{
	struct cam_dir *d = in->d;
	uint64_t n = get(in), end = 0, task = 0, sample = 0, detail = 0;
	if (cam_rd_error(&in->r) || n > cam_rd_left(&in->r))
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t second = get(in), seconds = get(in), samples = get(in);
		task += get(in);
		uint64_t details = get(in);
		bool timeless = second & 1;
		second = end + (second >> 1) - 1;
		if (cam_rd_error(&in->r) || second > UINT64_MAX / 1000000000 || seconds == 0 ||
		    seconds > CAM_SPAN_SECONDS || second + seconds - 1 > UINT64_MAX / 1000000000 ||
		    samples == 0 || samples > CAM_SPAN_SAMPLES || task > d->n_tasks ||
		    details > samples || (timeless && second != CAM_TIME_NONE / 1000000000))
			return -EBADMSG;
		struct cam_dir_span s = {.second = second,
					 .seconds = (uint32_t)seconds,
					 .samples = (uint32_t)samples,
					 .first_task = (uint32_t)task,
					 .details = (uint32_t)details,
					 .timeless = timeless,
					 .first_detail = (uint32_t)detail,
					 .first_sample = sample};
		int err = cam_dir_add_span(d, &s);
		if (err)
			return err;
		end = second + seconds;
		sample += samples;
		detail += details;
	}
	return sample == d->info.samples && detail == d->sections[CAM_CHUNK_DETAIL].n ? 0
										      : -EBADMSG;
}

/* The chunks of each kind must hold exactly the rows, or cover the spans, they are for. */
static int check_sections(const struct cam_dir *d)
{
	const struct {
		enum cam_chunk_kind kind;
		uint64_t rows;
	} tables[] = {
		{CAM_CHUNK_STRINGS, d->n_strings},
		{CAM_CHUNK_MODULES, d->n_modules},
		{CAM_CHUNK_FUNCTIONS, d->n_functions},
		{CAM_CHUNK_TASKS, d->n_tasks},
		{CAM_CHUNK_TREE, d->n_trees ? d->n_nodes : 0},
		{CAM_CHUNK_LEAVES, d->has_leaves ? d->n_functions : 0},
		{CAM_CHUNK_LOCATIONS, d->n_locations},
		{CAM_CHUNK_PLACES, d->n_places ? d->n_nodes : 0},
		{CAM_CHUNK_EVENTS, d->info.events},
		{CAM_CHUNK_PROCESSES, d->n_processes},
	};
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct cam_dir_section *s = &d->sections[tables[i].kind];
		uint64_t rows = 0;
		for (size_t c = 0; c < s->n; c++)
			rows += s->chunks[c].rows;
		if (rows != tables[i].rows)
			return -EBADMSG;
	}
	bool weights = false;
	for (size_t i = 0; i < d->n_etypes; i++)
		weights |= d->etypes[i].varies;
	size_t n = d->n_spans, n_place_chunks = d->sections[CAM_CHUNK_PLACES].n;
	uint64_t places = 0;
	for (size_t i = 0; i < n_place_chunks; i++)
		places += d->sections[CAM_CHUNK_PLACES].chunks[i].places;
	const size_t columns[] = {n,
				  n,
				  n,
				  n,
				  weights ? n : 0,
				  d->has_leaves ? n * d->n_trees : 0,
				  n * n_place_chunks};
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (d->sections[CAM_CHUNK_COUNTS + i].n != columns[i])
			return -EBADMSG;
	return d->sections[CAM_CHUNK_TREE].n == d->n_trees && places == d->n_places ? 0 : -EBADMSG;
}

typedef int step_fn(struct reading *in);
static step_fn *const head[] = {read_features, read_facts, read_numbers, read_small_tables, NULL};
static step_fn *const stacks[] = {read_classes, read_leaf_sizes, NULL};
static step_fn *const whole[] = {read_features, read_facts,    read_numbers, read_small_tables,
				 read_modules,	read_trees,    read_classes, read_leaf_sizes,
				 read_tables,	read_sections, read_spans,   NULL};
static step_fn *const plain[] = {read_features, read_facts, read_numbers, read_small_tables,
				 read_modules,	read_trees, pass_stacks,  read_tables,
				 read_sections, read_spans, NULL};

static uint64_t most_rows(uint64_t file_bytes)
{
	return file_bytes < CAM_WINDOW_ROWS_MAX / CAM_ROWS_PER_BYTE ? file_bytes * CAM_ROWS_PER_BYTE
								    : CAM_WINDOW_ROWS_MAX;
}

static int read_steps(struct cam_dir *d, const uint8_t *bytes, size_t n, uint64_t file_bytes,
		      step_fn *const *step)
{
	struct reading in = {.d = d,
			     .bytes = bytes,
			     .r = cam_rd_make(bytes, n),
			     .rows_max = most_rows(file_bytes)};
	*d = (struct cam_dir){0};
	int err = 0;
	for (; *step && !err; step++)
		err = (*step)(&in);
	d->info.file_bytes = file_bytes;
	d->info.etypes = (uint32_t)d->n_etypes;
	return err;
}

int cam_dir_read_head(struct cam_dir *d, const uint8_t *bytes, size_t n, uint64_t file_bytes)
{
	return read_steps(d, bytes, n, file_bytes, head);
}

static int check(const struct cam_dir *d)
{
	return cam_dir_least_bytes(d) > d->info.file_bytes ? -EBADMSG : check_sections(d);
}

int cam_dir_read(struct cam_dir *d, const uint8_t *bytes, size_t n, uint64_t file_bytes)
{
	int err = read_steps(d, bytes, n, file_bytes, whole);
	return err ? err : check(d);
}

int cam_dir_read_plain(struct cam_dir *d, const uint8_t *bytes, size_t n, uint64_t file_bytes)
{
	int err = read_steps(d, bytes, n, file_bytes, plain);
	return err ? err : check(d);
}

int cam_dir_read_stacks(struct cam_dir *d, const uint8_t *bytes, size_t n)
{
	struct reading in = {.d = d,
			     .bytes = bytes,
			     .r = cam_rd_make(bytes + d->stacks_at, n - d->stacks_at),
			     .rows_max = most_rows(d->info.file_bytes)};
	int err = 0;
	/* Of a try that memory was wanting for. */
	free(d->leaf_sizes);
	d->leaf_sizes = NULL;
	d->n_classes = 0;
	for (step_fn *const *step = stacks; *step && !err; step++)
		err = (*step)(&in);
	return err ? err : check(d);
}

uint64_t cam_dir_most_cells(const struct cam_dir *d, enum cam_chunk_kind kind)
{
	const struct cam_dir_section *s = &d->sections[kind];
	uint64_t bytes = 0, most = CAM_FREE_CELLS;
	for (size_t i = 0; i < s->n; i++)
		bytes += s->chunks[i].bytes;
	if (bytes > most / CAM_ROWS_PER_BYTE)
		most = bytes * CAM_ROWS_PER_BYTE;
	return most < d->info.samples ? most : d->info.samples;
}
