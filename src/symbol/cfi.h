// SPDX-License-Identifier: Apache-2.0
/*
 * Call frame information as DWARF and .eh_frame have it: entries, and what their instructions say.
 *
 * x86-64. Knows bytes only: no file, no program headers; ehframe.c makes tables of it.
 * Everything is untrusted. No allocation, no recursion; an entry takes time in proportion to its bytes.
 */
#pragma once
#include "model/unwind_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cam_cfi_section {
	const uint8_t *bytes;
	uint32_t size;
	uint64_t address;  /* of the first byte */
	bool eh;	   /* .eh_frame; else .debug_frame */
	bool ends_at_zero; /* its size is not known: an empty entry is the last */
};

enum cam_cfi_kind {
	CAM_CFI_END,
	CAM_CFI_CIE,
	CAM_CFI_FDE,
};

/* An entry: where it is, and what is in it beyond its length and id. */
struct cam_cfi_entry {
	enum cam_cfi_kind kind;
	uint32_t at, body, end, next;
	uint32_t cie_at; /* of an FDE; UINT32_MAX: outside of the section */
};

/* What is said about the registers that we follow. */
enum cam_cfi_place {
	CAM_CFI_SAME, /* also where nothing is said */
	CAM_CFI_AT_CFA,
	CAM_CFI_AT_RBP,
	CAM_CFI_UNDEFINED,
	CAM_CFI_ELSEWHERE,
};

enum cam_cfi_cfa {
	CAM_CFI_CFA_UNKNOWN, /* not said, or by an expression that we do not know */
	CAM_CFI_CFA_REGISTER,
	CAM_CFI_CFA_PLT,
	CAM_CFI_CFA_DEREF_RBP,
	CAM_CFI_CFA_SIGNAL, /* the stack pointer among the registers that the kernel saved */
};

struct cam_cfi_state {
	enum cam_cfi_cfa cfa;
	enum cam_cfi_place rbp, ra;
	uint64_t cfa_register;
	int64_t cfa_offset, rbp_offset, ra_offset;
};

struct cam_cfi_cie {
	uint32_t at;
	bool usable; /* else nothing is known of its FDEs */
	bool has_augmentation, signal;
	uint8_t encoding; /* of addresses */
	uint64_t code_align;
	int64_t data_align;
	struct cam_cfi_state initial;
};

struct cam_cfi_fde {
	uint64_t start, bytes;
	uint32_t instructions, end;
};

/* The entry at e->next (0 at first). False: there is none, or what is there is none. */
bool cam_cfi_next(const struct cam_cfi_section *s, struct cam_cfi_entry *e);
/* Reads it and runs its instructions. What it cannot make sense of is not usable. */
void cam_cfi_read_cie(const struct cam_cfi_section *s, const struct cam_cfi_entry *e,
		      struct cam_cfi_cie *cie);
/* False: malformed, or an encoding that does not occur. */
bool cam_cfi_read_fde(const struct cam_cfi_section *s, const struct cam_cfi_entry *e,
		      const struct cam_cfi_cie *cie, struct cam_cfi_fde *fde);

/* From this address on; addresses ascend within an FDE. */
typedef void cam_cfi_row_fn(void *arg, uint64_t address, struct cam_unwind_rule rule);
/* The rows of [start, start + bytes), by a usable CIE. From where the instructions make no sense: UNSUPPORTED. */
void cam_cfi_run(const struct cam_cfi_section *s, const struct cam_cfi_cie *cie,
		 const struct cam_cfi_fde *fde, cam_cfi_row_fn *row, void *arg);

/* A pointer by its DW_EH_PE_ encoding, at s->bytes + *at, which moves on; data: what a data-relative
 * one is relative to. False: not inside, or an encoding that is not known. */
bool cam_cfi_pointer(const struct cam_cfi_section *s, uint32_t *at, uint32_t end, uint8_t encoding,
		     uint64_t data, uint64_t *value);
