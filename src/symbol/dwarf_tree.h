// SPDX-License-Identifier: Apache-2.0
/*
 * The functions of a unit that have code, and what is inlined in them: address → entry, and who it is inlined in.
 *
 * A unit's entries are walked once; what is kept is 24 bytes a range and 24 an entry, names are not. Everything
 * is untrusted; what is read is paid for (dwarf_unit.h).
 */
#pragma once
#include "symbol/dwarf_unit.h"

#define CAM_DWARF_MAX_UNIT_BYTES (48u << 20) /* of entries */
#define CAM_DWARF_MAX_RANGES	 (1u << 20)
#define CAM_DWARF_MAX_DEPTH	 512u

#define CAM_DWARF_NO_NODE UINT32_MAX

struct cam_dwarf_node {
	uint32_t entry;	 /* from the unit's start */
	uint32_t parent; /* CAM_DWARF_NO_NODE: it is not inlined */
	uint32_t call_file, call_line;
	uint64_t low; /* of its first range */
};

struct cam_dwarf_tree;

/* -EBADMSG, -E2BIG: larger than the bounds above; -ENOMEM, -EBUSY, or what reading met. */
int cam_dwarf_tree_read(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			const struct cam_dwarf_abbrevs *abbrevs, struct cam_dwarf_tree **out);
void cam_dwarf_tree_free(struct cam_dwarf_tree *t);
size_t cam_dwarf_tree_memory(const struct cam_dwarf_tree *t);

/* The innermost function there, a number for cam_dwarf_tree_node(); CAM_DWARF_NO_NODE: none. */
uint32_t cam_dwarf_tree_find(const struct cam_dwarf_tree *t, uint64_t address);
const struct cam_dwarf_node *cam_dwarf_tree_node(const struct cam_dwarf_tree *t, uint32_t node);
