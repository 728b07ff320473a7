// SPDX-License-Identifier: Apache-2.0
/*
 * Door G: what the recorder asks of its helper processes, and what they answer.
 *
 * Sides: ingest/live asks (through struct cam_errands, which daemon implements over sockets and
 * tests over nothing); the opener (room proc) and the symboliser (room symbol) answer.
 * Handed over: an errand; later its tidings, with the same ticket. A file descriptor travels
 * beside the packet: opener → daemon with FILE, JIT, DEBUG and KALLSYMS, daemon → symboliser with NAMES
 * (and up to two more, of its debug file and of that one's supplement), TABLE and OUTLINE. ingest never sees descriptors: it knows files by number.
 * Ownership: pointers inside are borrowed for the call; packed forms are self-contained.
 * Thread: send() and the delivery of tidings on ingest's thread.
 * Refusals: send(): -EAGAIN, too much is under way (ask again later). No answer is promised: an
 * errand that is not answered in time is answered by daemon with error -ETIMEDOUT.
 * Answers are untrusted (their makers parse hostile files): unpack() checks every length and
 * range; what it accepts cannot harm, but may be wrong.
 */
#pragma once
#include "model/name.h"
#include "model/raw.h"
#include "model/unwinder.h"

enum cam_errand_type {
	CAM_ERRAND_PROCESS,  /* → opener: what is this process? */
	CAM_ERRAND_THREAD,   /* → opener: what is this thread called? */
	CAM_ERRAND_FILE,     /* → opener: take hold of the file behind this mapping */
	CAM_ERRAND_KALLSYMS, /* → opener: open the kernel's symbols (asked by daemon itself) */
	CAM_ERRAND_NAMES,    /* → symboliser: names of these offsets of that file */
	CAM_ERRAND_FORGET,   /* → daemon, symboliser: the file is not needed any more, its number
			    * may mean another; no answer */
	CAM_ERRAND_JIT,	     /* → opener: take hold of the perf map of this process */
	CAM_ERRAND_TABLE,    /* → symboliser: the unwind table of that file; it keeps it, too */
	CAM_ERRAND_UNWIND,   /* → symboliser: walk this copy of a stack, with the tables it has */
	CAM_ERRAND_OUTLINE,  /* → symboliser: what kind of file is this? */
	CAM_ERRAND_DEBUG,    /* → opener: take hold of a debug file (asked by daemon itself) */
	CAM_ERRAND_TYPES,
};

/* Numbers of files that are not files; all others are given by ingest, from CAM_FILE_FIRST. */
enum {
	CAM_FILE_KERNEL, /* offsets are absolute addresses */
	CAM_FILE_VDSO,
	CAM_FILE_FIRST,
};

#define CAM_ERRAND_MAX_OFFSETS 512u
#define CAM_ERRAND_MAX_BYTES   (128u * 1024)

/* What an element takes in a packet beside its text, and the most the rest can take: with these a
 * maker of tidings knows how many fit before it packs. */
#define CAM_ERRAND_MAX_COMM	 64u /* a kernel worker's is longer than CAM_COMM_BYTES */
#define CAM_ERRAND_MAX_BUILD_ID	 64u /* a longer one is left out */
#define CAM_ERRAND_MAX_LINK	 255u
#define CAM_ERRAND_MAPPING_BYTES 50u
#define CAM_ERRAND_NAME_BYTES	 36u
#define CAM_ERRAND_INLINED_BYTES 8u
#define CAM_ERRAND_MAX_INLINED	 4096u /* of all names of a packet */
#define CAM_ERRAND_RULE_BYTES	 8u
#define CAM_ERRAND_ROW_BYTES	 6u
#define CAM_ERRAND_HEAD_BYTES	 (256u + 2 * CAM_RAW_MAX_TEXT)

/* What is inside a held file. */
enum cam_file_format {
	CAM_FORMAT_ELF,
	CAM_FORMAT_PERF_MAP, /* offsets are absolute addresses; it grows */
	CAM_FORMAT_JITDUMP,  /* as well */
	CAM_FORMAT_DEBUG, /* an ELF file that only tells of code, which lies in another: offsets are
			    * the addresses of the code (struct cam_file_segment) */
	CAM_FORMATS,
};

struct cam_errand {
	enum cam_errand_type type;
	uint32_t ticket; /* ingest's; echoed */
	int32_t pid, tid;
	uint32_t file;
	uint64_t start_ns;	     /* JIT: of the process, boot clock; 0: not known */
	bool wake;		     /* JIT: a JVM, which is to be asked to write it */
	enum cam_file_format format; /* NAMES */
	struct cam_mapping mapping;  /* FILE: which mapping of pid; all of it must match */
	struct cam_text build_id;    /* DEBUG: of what is looked for, raw bytes; may be empty */
	struct cam_text link; /* DEBUG: what its .gnu_debuglink (or altlink) says; may be empty */
	uint32_t skip;	      /* DEBUG: how many of those that are there were none */
	bool search;	      /* NAMES: who asks can look for a debug file: see cam_names_tidings */
	bool search_supplement; /* …and for the file that several debug files share (dwz -m) */
	bool supplement;   /* NAMES: that one is the last descriptor; DEBUG: it is looked for */
	bool symbols_only; /* NAMES: without DWARF, which a symboliser has died of */
	bool names_only;   /* NAMES: without DWARF, and without starts of code that has no name */
	const uint64_t *offsets; /* NAMES: into the file (not addresses of its segments) */
	uint32_t n_offsets;
	struct cam_raw_copy copy;	       /* UNWIND */
	const struct cam_unwind_mapping *maps; /* UNWIND: ascending */
	uint32_t n_maps;		       /* at most CAM_UNWIND_MAX_MAPS */
};

/* What makes a file itself: of the descriptor that is held. */
struct cam_file_key {
	uint32_t major, minor;
	uint64_t inode;
	uint64_t generation; /* 0: the file system does not say */
	int64_t ctime_ns;
	uint64_t bytes;
};

/* PROCESS. Where a thing could not be read it is empty, or _NONE. */
struct cam_process_tidings {
	uint64_t start_ns;     /* boot clock, from ticks: good to 10 ms, only confirms */
	uint64_t maps_read_ns; /* CLOCK_MONOTONIC just before maps was read */
	uint32_t uid;
	bool more;	      /* further packets with more mappings follow */
	struct cam_text comm; /* of the thread `tid` */
	struct cam_text exe;
	struct cam_text cgroup;		    /* v2 path, else that of the deepest v1 hierarchy */
	const struct cam_mapping *mappings; /* executable ones */
	uint32_t n_mappings;
};

struct cam_file_tidings {
	struct cam_file_key key;
	uint64_t
		written_ns; /* CLOCK_MONOTONIC: not written to since then; 0: for long, or nobody knows */
};

/* TABLE. The rules of all packets make one list; rows ascend over all packets. */
struct cam_table_tidings {
	const struct cam_unwind_rule *rules;
	const struct cam_unwind_row *rows;
	uint32_t n_rules, n_rows;
	bool more; /* further packets of the same ticket follow */
};

struct cam_unwind_tidings {
	const uint64_t
		*frames; /* leaf first, at most CAM_RAW_MAX_FRAMES; callers as return addresses */
	uint32_t n_frames;
	enum cam_stack_end end;
	bool guessed;
	uint32_t lacking; /* with CAM_STACK_PENDING: the file whose table was not there; CAM_NONE */
};

/* Code of an ELF file: where it lies in it, and at which address it was linked to run. */
struct cam_file_segment {
	uint64_t address, offset, bytes;
};
#define CAM_OUTLINE_MAX_SEGMENTS 64u

struct cam_outline_tidings {
	struct cam_text build_id; /* raw bytes */
	bool has_code;		  /* else only information about it: CAM_FORMAT_DEBUG */
	bool has_symbols;	  /* all of them, not only what others may call */
	const struct cam_file_segment *segments; /* with code only */
	uint32_t n_segments;
};

struct cam_tidings {
	enum cam_errand_type type;
	uint32_t ticket;
	int32_t pid, tid;
	uint32_t file;
	int error; /* 0, or why there is nothing: -ENOENT gone, -ESTALE another file is there now,
		    * -ETIMEDOUT, -EACCES, -EBADMSG unreadable ELF, … */
	union {
		struct cam_process_tidings process;
		struct cam_text comm;	      /* THREAD */
		struct cam_file_tidings held; /* FILE, JIT */
		struct cam_names_tidings names;
		struct cam_table_tidings table;
		struct cam_unwind_tidings unwound;
		struct cam_outline_tidings outline;
	};
};

struct cam_errands {
	void *self;
	int (*send)(struct cam_errands *e, const struct cam_errand *errand);
	/* Whether the file that is held by this number was written to since it is. NULL: nobody knows. */
	bool (*is_written)(struct cam_errands *e, uint32_t file);
};

/*
 * One packet each. pack answers the bytes written, -E2BIG (does not fit `room`, or one packet), or
 * -EINVAL (what unpack would not accept); text beyond its bound is cut. unpack borrows from `from`
 * and, for the arrays, writes into `scratch` (the caller's, `scratch_bytes`, aligned to 8;
 * CAM_ERRAND_MAX_BYTES * 2 is always enough; -E2BIG: it was not). -EBADMSG: malformed.
 *
 * What unpack promises: type, source and error are of their ranges (a source is one that a
 * symboliser can have), pids are not negative, start < end, mappings ascend without overlap within
 * the packet, a function starts at or before the offset, a name is empty exactly with CAM_NAME_NONE,
 * which has nothing inlined, inlined functions have names, at most CAM_NAME_MAX_INLINED an offset, a
 * segment's ends do not wrap,
 * kinds of rules are of their ranges, rows ascend within the packet and their rules are below
 * CAM_UNWIND_MAX_RULES, tidings with an error have no body. Text may be any bytes.
 */
int cam_errand_pack(const struct cam_errand *e, void *room, size_t room_bytes);
int cam_errand_unpack(const void *from, size_t bytes, void *scratch, size_t scratch_bytes,
		      struct cam_errand *out);
int cam_tidings_pack(const struct cam_tidings *t, void *room, size_t room_bytes);
int cam_tidings_unpack(const void *from, size_t bytes, void *scratch, size_t scratch_bytes,
		       struct cam_tidings *out);
