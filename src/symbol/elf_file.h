// SPDX-License-Identifier: Apache-2.0
/*
 * The outline of an ELF file: where its code, its symbols and its stubs are, and its build id.
 *
 * 32 and 64 bits, little-endian. Reads a few KiB whatever the file's size. Every number in *f that
 * says "bytes of the file" was checked against the file's size when it was read; the file may have
 * changed since (bytes.h).
 */
#pragma once
#include "symbol/bytes.h"

#include <stdbool.h>

#define CAM_ELF_MAX_SECTIONS 65536u /* executables have some 40 */
#define CAM_ELF_MAX_HEADERS  4096u  /* program headers; usual are 13 */
#define CAM_ELF_MAX_SEGMENTS 64u    /* executable ones; usual is 1 */
#define CAM_ELF_MAX_STUBS    4u
#define CAM_ELF_MAX_BUILD_ID 64u

/* A part of the file, as a process sees it. */
struct cam_elf_segment {
	uint64_t address, offset, bytes;
};

struct cam_elf_table {
	uint64_t at, rows; /* of the file; rows is 0 where there is no such table */
	uint64_t strings_at, strings_bytes;
};

/* What is there for debuggers, by name: of several of one name the first. */
enum cam_elf_debug {
	CAM_ELF_DEBUG_INFO,
	CAM_ELF_DEBUG_ABBREV,
	CAM_ELF_DEBUG_LINE,
	CAM_ELF_DEBUG_STR,
	CAM_ELF_DEBUG_LINE_STR,
	CAM_ELF_DEBUG_RANGES,
	CAM_ELF_DEBUG_RNGLISTS,
	CAM_ELF_DEBUG_ADDR,
	CAM_ELF_DEBUG_STR_OFFSETS,
	CAM_ELF_DWARF_PARTS,			  /* those before are DWARF's */
	CAM_ELF_DEBUG_LINK = CAM_ELF_DWARF_PARTS, /* .gnu_debuglink */
	CAM_ELF_DEBUG_DATA,			  /* .gnu_debugdata */
	CAM_ELF_DEBUG_ALTLINK,			  /* .gnu_debugaltlink: what dwz -m made common */
	CAM_ELF_DEBUG_SUP,			  /* .debug_sup: the same in DWARF 5's own way */
	CAM_ELF_DEBUG_GO, /* .gopclntab: what Go's runtime knows of functions */
	CAM_ELF_DEBUG_PARTS,
};

struct cam_elf_part {
	uint64_t offset, bytes; /* of the file; bytes is 0: there is none */
	bool compressed;	/* begins with an Elf_Chdr */
};

/* A section of jumps to functions of other files: .plt, .plt.sec, .plt.got. */
struct cam_elf_stubs {
	uint64_t address, offset, bytes;
	uint32_t stub_bytes;
};

enum cam_elf_kind {
	CAM_ELF_SYMTAB,
	CAM_ELF_DYNSYM,
	CAM_ELF_KINDS,
};

struct cam_elf_file {
	bool is_64;
	uint16_t machine;
	uint64_t entry; /* where the program starts, an address */
	struct cam_elf_segment segments[CAM_ELF_MAX_SEGMENTS]; /* executable ones */
	uint32_t n_segments;
	bool has_code; /* else it has only what was said about code elsewhere: a debug file */
	struct cam_elf_table symbols[CAM_ELF_KINDS];
	struct cam_elf_table relocations[2]; /* .rela.plt, .rela.dyn */
	struct cam_elf_stubs stubs[CAM_ELF_MAX_STUBS];
	uint32_t n_stubs;
	struct cam_elf_segment eh_frame, debug_frame; /* sections; bytes is 0: there is none */
	bool debug_frame_compressed;
	struct cam_elf_segment frame_index; /* .eh_frame_hdr, as a program header says */
	struct cam_elf_part debug[CAM_ELF_DEBUG_PARTS];
	uint8_t build_id[CAM_ELF_MAX_BUILD_ID];
	uint32_t build_id_bytes;
	uint64_t sections_at; /* the headers */
	uint32_t n_sections, section_row_bytes;
};

/* A section header, of either class. */
struct cam_elf_section {
	uint32_t name, type, link;
	uint64_t flags, address, offset, bytes, row_bytes;
};

/* -EBADMSG: no ELF, another byte order, or a table that does not fit the file; -E2BIG: more
 * headers than the bounds above. */
int cam_elf_file_read(struct cam_elf_file *f, const struct cam_bytes *b);
/*
 * The same for a file that has only debug information: the code its segments tell of lies elsewhere, and
 * its offsets mean nothing (strip leaves the old ones, objcopy others). So addresses stand for them: a
 * segment's offset is its address, its bytes are those in memory, and nothing of the code is looked at.
 */
int cam_elf_file_read_debug(struct cam_elf_file *f, const struct cam_bytes *b);
void cam_elf_section_decode(const struct cam_elf_file *f, const uint8_t *row,
			    struct cam_elf_section *out);
/* The address of an offset of the code; false: it is in no executable segment. */
bool cam_elf_file_address(const struct cam_elf_file *f, uint64_t offset, uint64_t *address);
/* The file offset of an address of the code, and how many bytes of its segment follow; false: it is
 * in no executable segment. */
bool cam_elf_file_offset(const struct cam_elf_file *f, uint64_t address, uint64_t *offset,
			 uint64_t *follow);
