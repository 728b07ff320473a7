// SPDX-License-Identifier: Apache-2.0
/*
 * Who ran, and what lay where: threads with their names, and the address spaces of processes and of the
 * kernel, as the records of a perf.data file tell it. Records must come in order of time.
 *
 * The rules are perf's, so that the same address gets the same file: a new mapping replaces what lay
 * under it, a fork gives the child what the parent had, a thread shares its process' space. An exec
 * clears nothing: samples that are taken in it still have the frames of the program before.
 *
 * Spaces are values: one that changes gets a new number, a forked one shares its parent's until either
 * changes. So (number of the space, address) always means the same code.
 *
 * Bounded: CAM_PERF_MAX_THREADS threads, CAM_PERF_SPACE_BYTES of mappings, CAM_PERF_MAX_OBJECTS objects,
 * CAM_PERF_TEXT_BYTES of names. Where mappings do not fit, those of processes that have exited are
 * forgotten first; what then still does not fit is counted in `refused`, and has no name.
 */
#pragma once
#include "model/tables.h"

#define CAM_PERF_MAX_THREADS (1u << 20)
#define CAM_PERF_SPACE_BYTES (48u << 20)
#define CAM_PERF_MAX_MAPS    32768u /* of one space */
#define CAM_PERF_MAX_OBJECTS (1u << 18)
#define CAM_PERF_TEXT_BYTES  (32u << 20)
#define CAM_PERF_KERNEL_PID  (-1)

/* What can be mapped: a file, the kernel, one of its modules, a BPF program, memory of none. */
struct cam_perf_object {
	struct cam_str_id path;
	struct cam_str_id name; /* of its only function (a BPF program), else empty */
	uint8_t build_id[20];
	uint8_t build_id_n;
	uint32_t major, minor; /* of the device, with … */
	uint64_t inode;	       /* … 0: not known */
	enum cam_module_kind kind;
	bool identity;		    /* its offsets are addresses: kernel, memory of no file */
	struct cam_str_id landmark; /* kernel: what landmark_address is the address of */
	uint64_t landmark_address;  /* 0: not known */
	uint32_t file; /* the namer's number + 1; 0: not asked yet; CAM_NONE: not here */
};

struct cam_perf_map {
	uint64_t start, end, offset; /* offset: in the object, of start */
	uint32_t object;
};

struct cam_perf_space {
	uint32_t number, refs;
	size_t n, cap;
	struct cam_perf_map *maps; /* ascending, apart */
};

struct cam_perf_thread {
	int32_t tid, pid;
	struct cam_str_id comm;	      /* ":TID" where nobody said */
	bool named;		      /* somebody did */
	bool exited;		      /* a leader: its space may go */
	bool listed;		      /* among those of `exited` */
	struct cam_perf_space *space; /* of the process: only in the row of its leader */
};

struct cam_perf_spaces {
	struct cam_perf_thread *threads;
	size_t n_threads, cap_threads;
	struct cam_index thread_index;
	struct cam_perf_space kernel;
	struct cam_perf_object *objects;
	size_t n_objects, cap_objects;
	struct cam_index object_index;
	struct cam_perf_known {
		struct cam_str_id path;
		uint8_t id[20];
		uint8_t id_n;
	} * known; /* build-ids by path */
	size_t n_known, cap_known;
	struct cam_index known_index;
	struct cam_tables texts; /* only its strings are used */
	uint32_t next_number;
	size_t map_bytes;
	uint32_t *exited; /* rows of threads whose space may go, the longest dead first */
	size_t first_exited, n_exited, cap_exited;
	uint64_t refused; /* mappings, threads: too many */
};

/* A mapping as a record has it. */
struct cam_perf_mapping {
	int32_t pid, tid;
	uint64_t start, bytes, offset;
	struct cam_text path;
	struct cam_text build_id; /* empty: not in the record; that has then, perhaps: */
	uint32_t major, minor;
	uint64_t inode;
	bool kernel; /* by the record's mode */
	bool executable;
};

int cam_perf_spaces_init(struct cam_perf_spaces *s);
void cam_perf_spaces_free(struct cam_perf_spaces *s);

/* All: 0, or -ENOMEM. What does not fit is counted, not an error. */
int cam_perf_spaces_map(struct cam_perf_spaces *s, const struct cam_perf_mapping *m);
int cam_perf_spaces_symbol(struct cam_perf_spaces *s, uint64_t start, uint64_t bytes,
			   struct cam_text name, bool gone);
int cam_perf_spaces_comm(struct cam_perf_spaces *s, int32_t pid, int32_t tid, struct cam_text comm);
/* `made_up`: by perf, for what ran before: the child's mappings follow one by one. */
int cam_perf_spaces_fork(struct cam_perf_spaces *s, int32_t pid, int32_t tid, int32_t ppid,
			 int32_t ptid, bool made_up);
void cam_perf_spaces_exit(struct cam_perf_spaces *s, int32_t pid, int32_t tid);
/* What the table of build-ids in the file says of a path; before the mappings come. */
int cam_perf_spaces_build_id(struct cam_perf_spaces *s, struct cam_text path, struct cam_text id);

/* The thread, made up where it is not known; NULL: no more fit. */
struct cam_perf_thread *cam_perf_spaces_thread(struct cam_perf_spaces *s, int32_t pid, int32_t tid);
/* The row of a process among the threads, which stays its own; CAM_INDEX_NONE: nothing known of it. */
uint32_t cam_perf_spaces_row(const struct cam_perf_spaces *s, int32_t pid);
/* The space of a process; NULL: nothing known of it. */
const struct cam_perf_space *cam_perf_spaces_of(struct cam_perf_spaces *s, int32_t pid);
/* Holds it as it is now, until it is let go; NULL for none. */
struct cam_perf_space *cam_perf_spaces_hold(struct cam_perf_spaces *s, int32_t pid);
void cam_perf_spaces_let_go(struct cam_perf_spaces *s, struct cam_perf_space *space);
/* The mapping with this address, or NULL. */
const struct cam_perf_map *cam_perf_space_find(const struct cam_perf_space *space,
					       uint64_t address);
