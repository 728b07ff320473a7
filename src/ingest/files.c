// SPDX-License-Identifier: Apache-2.0
/*
 * Which mapping is which file.
 *
 * MMAP2 records name device, inode and generation; /proc/PID/maps has no generation (0). A number
 * of an inode alone is not enough: file systems use it again as soon as the file is gone. So an
 * unknown generation matches a known one only while the inode cannot have been given away: a
 * mapping of it exists, or we hold it open.
 *
 * A file that is written to in place keeps its inode and generation. Daemon looks at what it holds
 * and tells (tidings that nobody asked for, with another key): the row is then taken out of the
 * table, so that later mappings get a new one with a new number, and the names of the old one are
 * not used any more. It looks every two seconds; a file that nothing maps is looked at when it is mapped again,
 * since one that is executed cannot be written to.
 *
 * Invariants
 *  1. No two rows have the same number; books grow, none is given twice.
 *  2. A row is in the list of the unused exactly while its refs are 0; the kernel, the vdso and
 *     the rows of anonymous memory are never in it.
 *  3. State HELD: key is that of the descriptor which daemon holds under this number.
 *
 * Example: /usr/bin/x is inode 7, generation 3: row A, number 2. It is replaced by rename: the new
 * one is inode 9: row B, number 3. Later x is deleted and a third file gets inode 7 with generation 4:
 * row C, number 4. A process that lives since before the start has (7, unknown): it is A if A is
 * held or still mapped, else a new row.
 */
#include "ingest/files.h"

#include "base/index.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>

#define N_SLOTS	    4096u
#define N_NUMBERS   (CAM_FILE_FIRST + CAM_FILES_MAX)
#define MAX_BOOK    0x80000000u /* above are those of the kernel's changing code */
#define UNUSED_NS   (60 * CAM_NS_PER_SEC)
#define GIVE_UP_NS  (10 * CAM_NS_PER_SEC)
#define MAX_BACKOFF 6u

/* Executable memory without a file; all else of the kind is "//anon". */
static const char *const anonymous[] = {"//anon", "[heap]", "[stack]", "[uprobes]", "[vsyscall]"};
#define N_ANONYMOUS (sizeof(anonymous) / sizeof(anonymous[0]))

struct cam_files {
	struct cam_words *words;
	cam_files_forget_fn *forget;
	cam_files_written_fn *written;
	void *arg;
	struct cam_files_row *by_key[N_SLOTS], *by_number[N_NUMBERS];
	uint32_t free_numbers[CAM_FILES_MAX]; /* a ring */
	uint32_t first_free, n_free;
	struct cam_files_row *oldest, *newest; /* unused */
	struct cam_files_row kernel, vdso, anonymous[N_ANONYMOUS];
	uint32_t next_book, n;
	uint64_t now_ns;
};

static void init_special(struct cam_files *f, struct cam_files_row *row, uint32_t number,
			 enum cam_module_kind kind, const char *path)
{
	*row = (struct cam_files_row){
		.number = number,
		.refs = 1,
		.kind = kind,
		.state = number == CAM_NONE ? CAM_FILES_NO_FILE : CAM_FILES_HELD,
		.path = cam_words_take(f->words, cam_text_of(path)),
	};
	row->book = number;
	cam_link_init(&row->table.line);
	if (number != CAM_NONE)
		f->by_number[number] = row;
}

int cam_files_new(struct cam_words *words, cam_files_forget_fn *forget, void *arg,
		  struct cam_files **out)
{
	struct cam_files *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->words = words;
	f->forget = forget;
	f->arg = arg;
	f->next_book = CAM_FILE_FIRST;
	for (uint32_t i = 0; i < CAM_FILES_MAX; i++)
		f->free_numbers[f->n_free++] = CAM_FILE_FIRST + i;
	init_special(f, &f->kernel, CAM_FILE_KERNEL, CAM_MODULE_KERNEL, "[kernel.kallsyms]");
	init_special(f, &f->vdso, CAM_FILE_VDSO, CAM_MODULE_VDSO, "[vdso]");
	for (size_t i = 0; i < N_ANONYMOUS; i++)
		init_special(f, &f->anonymous[i], CAM_NONE, CAM_MODULE_JIT, anonymous[i]);
	*out = f;
	return 0;
}

void cam_files_free(struct cam_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < N_NUMBERS; i++) {
		struct cam_files_row *row = f->by_number[i];
		if (!row)
			continue;
		cam_words_release(f->words, row->path);
		cam_words_release(f->words, row->build_id);
		if (i >= CAM_FILE_FIRST)
			free(row);
	}
	for (size_t i = 0; i < N_ANONYMOUS; i++)
		cam_words_release(f->words, f->anonymous[i].path);
	free(f);
}

void cam_files_set_written(struct cam_files *f, cam_files_written_fn *fn)
{
	f->written = fn;
}

static bool is_special(const struct cam_files_row *row)
{
	return row->number < CAM_FILE_FIRST || row->number == CAM_NONE;
}

static size_t key_slot(uint32_t major, uint32_t minor, uint64_t inode)
{
	return cam_hash_u64((uint64_t)major << 32 | minor, inode) % N_SLOTS;
}

static void unlist(struct cam_files *f, struct cam_files_row *row)
{
	*(row->older ? &row->older->newer : &f->oldest) = row->newer;
	*(row->newer ? &row->newer->older : &f->newest) = row->older;
	row->older = row->newer = NULL;
}

/* New mappings will not find it any more. */
static void hide(struct cam_files *f, struct cam_files_row *row)
{
	if (!row->found)
		return;
	struct cam_files_row **at = &f->by_key[key_slot(row->major, row->minor, row->inode)];
	while (*at != row)
		at = &(*at)->next_key;
	*at = row->next_key;
	row->found = false;
}

static void drop(struct cam_files *f, struct cam_files_row *row)
{
	hide(f, row);
	unlist(f, row);
	cam_link_leave(&row->table.line);
	f->by_number[row->number] = NULL;
	f->free_numbers[(f->first_free + f->n_free++) % CAM_FILES_MAX] = row->number;
	if (row->state == CAM_FILES_ASKED || row->state == CAM_FILES_HELD ||
	    row->table.state != CAM_TABLE_NONE)
		f->forget(f->arg, row->number);
	cam_words_release(f->words, row->path);
	cam_words_release(f->words, row->build_id);
	free(row);
	f->n--;
}

static struct cam_files_row *special_of(struct cam_files *f, const struct cam_mapping *m)
{
	static const char *const shared[] = {"//", "/dev/zero", "/SYSV", "/anon_hugepage"};
	/* A 32-bit program's vdso is another image than the symboliser's own: it stays unnamed. */
	if (cam_text_equal(m->path, CAM_TEXT("[vdso]")) && m->end > UINT32_MAX)
		return &f->vdso;
	bool is_file = m->inode && m->path.n && m->path.p[0] == '/';
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]) && is_file; i++)
		is_file = !cam_text_starts(m->path, cam_text_of(shared[i]));
	if (is_file)
		return NULL;
	for (size_t i = 1; i < N_ANONYMOUS; i++) {
		if (cam_text_equal(m->path, cam_text_of(anonymous[i])))
			return &f->anonymous[i];
	}
	return &f->anonymous[0];
}

static bool matches(const struct cam_files_row *row, const struct cam_mapping *m)
{
	if (row->inode != m->inode || row->major != m->major || row->minor != m->minor)
		return false;
	if (row->generation == m->generation)
		return row->generation || row->refs || row->state == CAM_FILES_HELD;
	if (row->generation && m->generation)
		return false;
	return row->refs || row->state == CAM_FILES_HELD;
}

/* With a number, a book and a path; held once, in no table. */
static struct cam_files_row *make_row(struct cam_files *f, struct cam_text named)
{
	if (f->n >= CAM_FILES_MAX && f->oldest)
		drop(f, f->oldest);
	if (!f->n_free || f->next_book >= MAX_BOOK)
		return NULL;
	struct cam_files_row *row = malloc(sizeof(*row));
	struct cam_word *path = row ? cam_words_take(f->words, named) : NULL;
	if (!path) {
		free(row);
		return NULL;
	}
	*row = (struct cam_files_row){
		.number = f->free_numbers[f->first_free],
		.book = f->next_book,
		.source = f->next_book,
		.kind = CAM_MODULE_FILE,
		.path = path,
		.refs = 1,
	};
	cam_link_init(&row->table.line);
	f->next_book++;
	f->by_number[row->number] = row;
	f->first_free = (f->first_free + 1) % CAM_FILES_MAX;
	f->n_free--;
	f->n++;
	return row;
}

static struct cam_files_row *make(struct cam_files *f, const struct cam_mapping *m)
{
	struct cam_files_row *row = make_row(f, m->path);
	if (!row)
		return NULL;
	row->inode = m->inode;
	row->generation = m->generation;
	row->major = m->major;
	row->minor = m->minor;
	row->found = true;
	struct cam_files_row **slot = &f->by_key[key_slot(m->major, m->minor, m->inode)];
	row->next_key = *slot;
	*slot = row;
	return row;
}

struct cam_files_row *cam_files_make_jit(struct cam_files *f, int32_t pid)
{
	struct cam_files_row *row = make_row(f, cam_word_text(f->anonymous[0].path));
	if (row) {
		row->kind = CAM_MODULE_JIT;
		row->format = CAM_FORMAT_PERF_MAP;
		row->pid = pid;
	}
	return row;
}

void cam_files_turn(struct cam_files *f, struct cam_files_row *row, uint64_t turn)
{
	if (row->turn && f->next_book < MAX_BOOK) {
		row->book = f->next_book++;
		row->modules[0].window = row->modules[1].window = 0;
	}
	row->turn = turn;
}

bool cam_files_is_anonymous(const struct cam_files *f, const struct cam_files_row *row)
{
	return row == &f->anonymous[0] || row == &f->anonymous[1];
}

void cam_files_mapped(struct cam_files_row *row, uint64_t at_ns)
{
	if (row && at_ns && (!row->mapped_ns || at_ns < row->mapped_ns))
		row->mapped_ns = at_ns;
}

struct cam_files_row *cam_files_take(struct cam_files *f, const struct cam_mapping *m,
				     uint64_t since_ns)
{
	struct cam_files_row *row = special_of(f, m);
	if (row)
		return cam_files_hold(row);
	row = f->by_key[key_slot(m->major, m->minor, m->inode)];
	while (row && !matches(row, m))
		row = row->next_key;
	/* A program that does not run can be overwritten, and started again before daemon looks; or nobody could look. */
	if (row && !row->refs &&
	    (row->state == CAM_FILES_FAILED ||
	     (row->state == CAM_FILES_HELD && f->written && f->written(f->arg, row->number)))) {
		drop(f, row);
		row = NULL;
	}
	if (!row) {
		row = make(f, m);
	} else {
		if (!row->generation)
			row->generation = m->generation;
		if (row->refs++ == 0)
			unlist(f, row);
		/* Whoever had it and is gone wants no names of it. */
		if (row->refs == 1 && !row->sampled)
			row->mapped_ns = 0;
	}
	cam_files_mapped(row, since_ns);
	return row;
}

void cam_files_release(struct cam_files *f, struct cam_files_row *row)
{
	if (!row || --row->refs || is_special(row))
		return;
	row->unused_ns = f->now_ns;
	row->older = f->newest;
	*(f->newest ? &f->newest->newer : &f->oldest) = row;
	f->newest = row;
	/* Of use to nobody: no mapping can lead here any more. */
	if (!row->found || (!row->generation && row->state != CAM_FILES_HELD))
		drop(f, row);
}

struct cam_files_row *cam_files_find(const struct cam_files *f, uint32_t number)
{
	return number < N_NUMBERS ? f->by_number[number] : NULL;
}

struct cam_files_row *cam_files_kernel(struct cam_files *f)
{
	return &f->kernel;
}

static void fail(struct cam_files_row *row, uint64_t now_ns)
{
	row->state = CAM_FILES_FAILED;
	unsigned shift = row->tries < MAX_BACKOFF ? row->tries : MAX_BACKOFF;
	row->retry_ns = now_ns + (CAM_NS_PER_SEC << shift);
	if (row->tries < UINT8_MAX)
		row->tries++;
}

bool cam_files_is_due(struct cam_files_row *row, uint64_t now_ns)
{
	if (row->state == CAM_FILES_ASKED && now_ns - row->asked_ns > GIVE_UP_NS)
		fail(row, now_ns);
	return row->state == CAM_FILES_NEW ||
	       (row->state == CAM_FILES_FAILED && now_ns >= row->retry_ns);
}

void cam_files_asked(struct cam_files_row *row, uint32_t ticket, uint64_t now_ns)
{
	row->state = CAM_FILES_ASKED;
	row->ticket = ticket;
	row->asked_ns = now_ns;
}

void cam_files_refused(struct cam_files_row *row, uint64_t now_ns)
{
	fail(row, now_ns);
}

bool cam_files_spare(struct cam_files *f)
{
	struct cam_files_row *row = f->oldest;
	while (row && row->state != CAM_FILES_HELD)
		row = row->newer;
	if (row)
		drop(f, row);
	return row != NULL;
}

static bool same_key(const struct cam_file_key *a, const struct cam_file_key *b)
{
	return a->major == b->major && a->minor == b->minor && a->inode == b->inode &&
	       a->generation == b->generation && a->ctime_ns == b->ctime_ns && a->bytes == b->bytes;
}

void cam_files_answer(struct cam_files *f, const struct cam_tidings *t, uint64_t now_ns)
{
	struct cam_files_row *row = cam_files_find(f, t->file);
	if (!row || is_special(row))
		return;
	bool asked = row->state == CAM_FILES_ASKED && row->ticket == t->ticket;
	/* Held too late: who mapped it first had other contents there. */
	bool late = asked && row->mapped_ns && t->held.written_ns > row->mapped_ns;
	bool written = row->state == CAM_FILES_HELD && !same_key(&row->key, &t->held.key);
	if (row->kind == CAM_MODULE_FILE && !t->error && (late || written)) {
		row->state = CAM_FILES_CHANGED;
		row->key = t->held.key;
		row->modules[0].window = row->modules[1].window = 0;
		hide(f, row);
		f->forget(f->arg, row->number);
		if (!row->refs)
			drop(f, row);
		return;
	}
	if (!asked)
		return;
	if (t->error) {
		fail(row, now_ns);
		return;
	}
	row->state = CAM_FILES_HELD;
	row->key = t->held.key;
	row->tries = 0;
}

void cam_files_tick(struct cam_files *f, uint64_t now_ns)
{
	f->now_ns = now_ns;
	struct cam_files_row *next;
	for (struct cam_files_row *row = f->oldest; row; row = next) {
		next = row->newer;
		if (row->unused_ns + UNUSED_NS >= now_ns)
			break;
		drop(f, row);
	}
}

uint32_t cam_files_count(const struct cam_files *f)
{
	return f->n;
}

size_t cam_files_bytes(const struct cam_files *f)
{
	return sizeof(*f) + f->n * (sizeof(struct cam_files_row) + CAM_WORD_ALLOC_COST);
}

static uint8_t *put(uint8_t *to, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*to++ = (uint8_t)(v >> (8 * i));
	return to;
}

size_t cam_files_key_bytes(const struct cam_file_key *key, uint8_t out[CAM_FILES_KEY_BYTES])
{
	uint8_t *to = put(out, key->major, 4);
	to = put(to, key->minor, 4);
	to = put(to, key->inode, 8);
	to = put(to, key->generation, 8);
	to = put(to, (uint64_t)key->ctime_ns, 8);
	to = put(to, key->bytes, 8);
	return (size_t)(to - out);
}

static uint64_t get(const uint8_t **from, unsigned bytes)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t) * (*from)++ << (8 * i);
	return v;
}

int cam_files_key_read(struct cam_text bytes, struct cam_file_key *key)
{
	const uint8_t *from = (const uint8_t *)bytes.p;
	if (bytes.n != CAM_FILES_KEY_BYTES)
		return -EBADMSG;
	key->major = (uint32_t)get(&from, 4);
	key->minor = (uint32_t)get(&from, 4);
	key->inode = get(&from, 8);
	key->generation = get(&from, 8);
	key->ctime_ns = (int64_t)get(&from, 8);
	key->bytes = get(&from, 8);
	return 0;
}
