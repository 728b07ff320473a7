// SPDX-License-Identifier: Apache-2.0
/*
 * Jump stubs: which function of another file does this piece of .plt lead to? x86-64.
 *
 * The stub itself is read: it jumps through a slot whose address is in the instruction, and a
 * relocation says which symbol goes into that slot. (Counting stubs, as perf 6.1 does, is wrong
 * where .plt.sec or .plt.got exist.)
 */
#pragma once
#include "symbol/elf_file.h"

/*
 * 1: the offset lies in a stub that starts at *start; *name is the place of its symbol's name in
 * .dynsym's strings. 0: it does not. *work: see elf.h.
 */
int cam_plt_find(const struct cam_elf_file *f, const struct cam_bytes *b, uint64_t offset,
		 uint64_t *work, uint64_t *start, uint32_t *name);
