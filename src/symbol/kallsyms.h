// SPDX-License-Identifier: Apache-2.0
/*
 * Names of kernel addresses, from /proc/kallsyms.
 *
 * The descriptor was opened by one who may see the addresses (the kernel decides by the opener's
 * credentials, at open()); it is read once, here, and not kept. Modules come and go: a new
 * descriptor makes a new table.
 * A symbol names the addresses up to the next symbol of any type. Where that next one is of another
 * module, or not code, it names at most to the end of the page after (perf's rule), and a BPF
 * program at most 64 KiB: kallsyms has no sizes, and a gap must not be named. `_etext` and
 * `_einittext` end code and name nothing.
 * Of several symbols at one address the last in the file counts, as with `perf script`.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

#define CAM_KALLSYMS_MAX_SYMBOLS (1u << 20)
#define CAM_KALLSYMS_MAX_BYTES	 (64u << 20) /* of names */
#define CAM_KALLSYMS_MAX_MODULES 65535u

struct cam_kallsyms;

/* -EACCES: all addresses are hidden (kptr_restrict, or the opener lacked CAP_SYSLOG); -EBADMSG: no
 * line is a symbol; -E2BIG: past the bounds; -ENOMEM; or what read said. */
int cam_kallsyms_load(int fd, struct cam_kallsyms **out);
void cam_kallsyms_free(struct cam_kallsyms *k);
size_t cam_kallsyms_memory(const struct cam_kallsyms *k);

struct cam_kallsyms_hit {
	uint64_t start, end; /* each address in between has this name */
	struct cam_text name;
	struct cam_text module; /* with its brackets: "[ext4]", "[bpf]"; empty: the kernel itself */
};

/* false: the address has no name. The texts are borrowed from k. */
bool cam_kallsyms_find(const struct cam_kallsyms *k, uint64_t address,
		       struct cam_kallsyms_hit *hit);
