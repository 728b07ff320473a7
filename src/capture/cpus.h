// SPDX-License-Identifier: Apache-2.0
/* A set of CPUs, and the kernel's way to write one: "0-3,8,10-11". */
#pragma once
#include "base/text.h"

#include <stdint.h>

/* As many as Linux can be built for. */
#define CAM_CPUS_MAX 8192u

struct cam_cpus {
	uint64_t bits[CAM_CPUS_MAX / 64];
};

static inline bool cam_cpus_has(const struct cam_cpus *s, uint32_t cpu)
{
	return cpu < CAM_CPUS_MAX && (s->bits[cpu / 64] >> (cpu % 64) & 1);
}
static inline void cam_cpus_add(struct cam_cpus *s, uint32_t cpu)
{
	if (cpu < CAM_CPUS_MAX)
		s->bits[cpu / 64] |= 1ull << (cpu % 64);
}
static inline void cam_cpus_remove(struct cam_cpus *s, uint32_t cpu)
{
	if (cpu < CAM_CPUS_MAX)
		s->bits[cpu / 64] &= ~(1ull << (cpu % 64));
}
/* The first of them from `from` on; CAM_CPUS_MAX: none. */
uint32_t cam_cpus_next(const struct cam_cpus *s, uint32_t from);
uint32_t cam_cpus_count(const struct cam_cpus *s);
/* Those of both. */
void cam_cpus_intersect(struct cam_cpus *s, const struct cam_cpus *other);

/* -EINVAL: not such a list; -ERANGE: a CPU beyond CAM_CPUS_MAX. *out is written only on success. */
int cam_cpus_parse(struct cam_text list, struct cam_cpus *out);
/* <sys_root>/devices/system/cpu/<name>, name "online", "present", … Also what open and read say. */
int cam_cpus_read(const char *sys_root, const char *name, struct cam_cpus *out);
/* The same for one that is read often: *fd, -1 at first, stays open, the caller's to close. */
int cam_cpus_reread(int *fd, const char *sys_root, const char *name, struct cam_cpus *out);
