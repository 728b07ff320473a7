// SPDX-License-Identifier: Apache-2.0
/*
 * The files that code is mapped from: known by device, inode and generation, numbered for the
 * helpers, and held (by a descriptor of daemon's) while they are of use.
 *
 * Each has two numbers. `number` is what the helpers know it by: small, and given again (longest
 * unused first) when daemon was told to forget it. `book` is what names are noted under, and never
 * given again, so that a name of one file can never come out at another. A file that nothing maps
 * any more is kept for a minute: a held descriptor also keeps a deleted file's space on the disk.
 * One thread.
 */
#pragma once
#include "ingest/link.h"
#include "ingest/words.h"
#include "model/errand.h"

#define CAM_FILES_MAX 4096u

enum cam_files_state {
	CAM_FILES_NEW,	   /* nobody has asked for it */
	CAM_FILES_ASKED,   /* the opener is to take hold of it */
	CAM_FILES_HELD,	   /* key is set, names may be asked for */
	CAM_FILES_FAILED,  /* could not be taken hold of; may be tried again at retry_ns */
	CAM_FILES_CHANGED, /* was overwritten in place: its names are not to be trusted */
	CAM_FILES_NO_FILE, /* anonymous memory: there is nothing to hold */
};

/* How far its unwind table is (live_tables.c). */
enum cam_table_state {
	CAM_TABLE_NONE,	  /* nobody has needed it, or it may be tried again at retry_ns */
	CAM_TABLE_WANTED, /* stands in line */
	CAM_TABLE_ASKED,
	CAM_TABLE_THERE,  /* was handed over; may have been evicted since */
	CAM_TABLE_NO_CFI, /* there is none to be had */
};

struct cam_files_table {
	struct cam_link line; /* of those to be asked for; alone: stands in none */
	enum cam_table_state state;
	bool when_held; /* is wanted as soon as the file is held */
	uint8_t tries;	/* that failed, one after the other */
	uint64_t retry_ns;
};

struct cam_files_row {
	struct cam_files_row *next_key;
	struct cam_files_row *older, *newer; /* of the unused */
	uint64_t unused_ns;		     /* since when; while refs is 0 */
	uint64_t inode, generation;
	uint32_t major, minor;
	uint32_t number; /* CAM_NONE: CAM_FILES_NO_FILE */
	uint32_t book;
	uint32_t refs;
	enum cam_module_kind kind;
	enum cam_files_state state;
	uint8_t tries;
	bool found;   /* is in the table by key: new mappings may find it */
	bool sampled; /* somebody wants names of it */
	uint32_t ticket;
	uint64_t asked_ns, retry_ns;
	uint64_t mapped_ns; /* by the first of whom that is known; 0: of nobody */
	struct cam_file_key key;
	struct cam_word *path;
	struct cam_word *build_id;
	uint64_t names_asked_ns; /* 0: never */
	uint8_t name_errors; /* one after the other: how often the symboliser could not read it */
	struct cam_files_table table;
	/* Of a process's code made at run time (jit.c): */
	enum cam_file_format format;
	int32_t pid;
	uint32_t source;  /* its first book: what it is, whatever its book has become */
	uint64_t turn;	  /* of its names; 0: none was told yet */
	bool behind;	  /* the symboliser has not read all of it */
	bool lacks_names; /* some were asked for and not found */
	bool last_call;	  /* the process has ended: each name is asked for once more */
	/* Its row in the tables of each open window, if window is that window's number. */
	struct {
		uint32_t window;
		bool with_key, with_id;
		struct cam_module_id module;
	} modules[2];
};

/* Told of each number that is not of use any more. */
typedef void cam_files_forget_fn(void *arg, uint32_t number);

/* Whether the one that is held by this number was written to since. */
typedef bool cam_files_written_fn(void *arg, uint32_t number);

struct cam_files;

int cam_files_new(struct cam_words *words, cam_files_forget_fn *forget, void *arg,
		  struct cam_files **out);
void cam_files_free(struct cam_files *f);
/* Asked, with new()'s arg, about a file that nothing mapped for a while; without it nobody is. */
void cam_files_set_written(struct cam_files *f, cam_files_written_fn *fn);

/* The file behind a mapping, which is there since then (0: nobody knows), held once more; NULL: no memory, or CAM_FILES_MAX are in use. */
struct cam_files_row *cam_files_take(struct cam_files *f, const struct cam_mapping *m,
				     uint64_t since_ns);
static inline struct cam_files_row *cam_files_hold(struct cam_files_row *row)
{
	if (row)
		row->refs++;
	return row;
}
/* It was mapped at that time, if not before; row may be NULL. */
void cam_files_mapped(struct cam_files_row *row, uint64_t at_ns);
void cam_files_release(struct cam_files *f, struct cam_files_row *row);
struct cam_files_row *cam_files_find(const struct cam_files *f, uint32_t number);
/* Of a process's code made at run time: nobody else finds it. */
struct cam_files_row *cam_files_make_jit(struct cam_files *f, int32_t pid);
/* Its names from now on are others. */
void cam_files_turn(struct cam_files *f, struct cam_files_row *row, uint64_t turn);
/* Whether a mapping's row is that of anonymous memory, where such code may be. */
bool cam_files_is_anonymous(const struct cam_files *f, const struct cam_files_row *row);
/* Never released: the kernel. */
struct cam_files_row *cam_files_kernel(struct cam_files *f);

/* Whether it is time to ask for it (again); and that it has been done. */
bool cam_files_is_due(struct cam_files_row *row, uint64_t now_ns);
void cam_files_asked(struct cam_files_row *row, uint32_t ticket, uint64_t now_ns);
/* That it was refused. */
void cam_files_refused(struct cam_files_row *row, uint64_t now_ns);
/* Forgets the one that is held and was unused for longest; false: there is none. */
bool cam_files_spare(struct cam_files *f);
/* An answer to CAM_ERRAND_FILE. Unasked-for ones tell that a held file has changed since. */
void cam_files_answer(struct cam_files *f, const struct cam_tidings *t, uint64_t now_ns);
/* Forgets what has been unused for a minute. */
void cam_files_tick(struct cam_files *f, uint64_t now_ns);
uint32_t cam_files_count(const struct cam_files *f);
size_t cam_files_bytes(const struct cam_files *f);

/* The key as bytes for a module's row: all fields, little-endian; answers how many. */
#define CAM_FILES_KEY_BYTES 40u
size_t cam_files_key_bytes(const struct cam_file_key *key, uint8_t out[CAM_FILES_KEY_BYTES]);
/* And back. -EBADMSG: it is no key, or one of a mapping whose file nobody took hold of. */
int cam_files_key_read(struct cam_text bytes, struct cam_file_key *key);
