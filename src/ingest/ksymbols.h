// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's BPF programs that came while somebody watched: where each was, from when to when, and its name, as the
 * kernel itself says in its KSYMBOL records.
 *
 * kallsyms has the same names, but is read when it is asked, by another process: a program that ran for a second
 * may be gone by then, and another one be at its address. Those that were there before have no record: they
 * are asked for. Bounded: what does not fit is asked for, too.
 */
#pragma once
#include "model/raw.h"

#define CAM_KSYMBOL_NAME_BYTES 128
#define CAM_MAX_KSYMBOLS       256u

struct cam_ksymbol {
	uint64_t start, end;
	uint64_t since_ns;
	uint64_t gone_ns; /* 0: it is there */
	uint32_t turn;	  /* of the caller: which change of the kernel's code it was */
	uint32_t name_bytes;
	char name[CAM_KSYMBOL_NAME_BYTES];
};

/* All zeros is none. */
struct cam_ksymbols {
	struct cam_ksymbol v[CAM_MAX_KSYMBOLS];
	size_t n;
};

void cam_ksymbols_note(struct cam_ksymbols *k, const struct cam_raw_ksymbol *r, uint64_t time_ns,
		       uint32_t turn);
/* Records were lost: what is known may be gone. */
void cam_ksymbols_forget(struct cam_ksymbols *k);
/* Who was at that address at that time; NULL: not known. Valid until the next note. */
const struct cam_ksymbol *cam_ksymbols_find(const struct cam_ksymbols *k, uint64_t address,
					    uint64_t time_ns);
