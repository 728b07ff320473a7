// SPDX-License-Identifier: Apache-2.0
#include "proc/cgroup.h"

#include <stdint.h>

/* Deeper than any path of 4 KiB can be. */
#define DEEPEST 4096u

static bool has_controller(struct cam_text list, struct cam_text name)
{
	while (list.n) {
		const char *comma = memchr(list.p, ',', list.n);
		size_t n = comma ? (size_t)(comma - list.p) : list.n;
		if (cam_text_equal((struct cam_text){list.p, n}, name))
			return true;
		n += comma != NULL;
		list.p += n;
		list.n -= n;
	}
	return false;
}

/*
 * How much a line "ID:CONTROLLERS:PATH" says about where the process belongs: the unified hierarchy
 * before any of version 1, of those perf_event, memory, cpu, before the rest by depth. The root says
 * nothing, in whichever: with version 1 in use the unified one often has no groups.
 */
static uint32_t weigh_cgroup(struct cam_text id, struct cam_text controllers, struct cam_text path)
{
	static const struct cam_text preferred[] = {CAM_TEXT("cpu"), CAM_TEXT("memory"),
						    CAM_TEXT("perf_event")};
	uint32_t weight = 0;
	if (path.n <= 1)
		return 1;
	if (cam_text_equal(id, CAM_TEXT("0")) && controllers.n == 0)
		return UINT32_MAX;
	for (size_t i = 0; i < path.n; i++)
		weight += path.p[i] == '/';
	for (uint32_t i = 0; i < 3; i++) {
		if (has_controller(controllers, preferred[i]))
			weight = DEEPEST * (i + 1);
	}
	return weight + 1;
}

struct cam_text cam_cgroup_pick(struct cam_text all)
{
	struct cam_text best = {"", 0};
	uint32_t best_weight = 0;
	while (all.n) {
		const char *nl = memchr(all.p, '\n', all.n);
		size_t n = nl ? (size_t)(nl - all.p) : all.n;
		const char *one = memchr(all.p, ':', n);
		const char *two = one ? memchr(one + 1, ':', n - (size_t)(one + 1 - all.p)) : NULL;
		if (two) {
			struct cam_text id = {all.p, (size_t)(one - all.p)};
			struct cam_text controllers = {one + 1, (size_t)(two - one - 1)};
			struct cam_text path = {two + 1, n - (size_t)(two + 1 - all.p)};
			uint32_t weight = weigh_cgroup(id, controllers, path);
			if (weight > best_weight) {
				best_weight = weight;
				best = path;
			}
		}
		n += nl != NULL;
		all.p += n;
		all.n -= n;
	}
	return best;
}
