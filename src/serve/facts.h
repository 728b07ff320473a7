// SPDX-License-Identifier: Apache-2.0
/* The store in a few numbers, from the windows' headers alone. */
#pragma once
#include "base/json.h"
#include "model/cursor.h"

struct cam_facts {
	int64_t from_ns, to_ns; /* INT64_MIN: nothing has a wall clock */
	uint64_t windows, sealed, unreadable, samples, unslotted, lost, bytes, cpus, events;
	struct cam_text host; /* of the newest; good as long as the source */
	bool several_hosts;
	size_t newest; /* a window that can be opened; SIZE_MAX: none */
};

void cam_facts_gather(struct cam_source *source, struct cam_facts *f);
/*
 * The NUMA nodes of CPUs as a list under "nodes": of n CPUs, or of 0 … n - 1 where cpus is NULL, by what the newest
 * window says of its host; null where it does not, or they are more
 * than any host has.
 */
void cam_facts_put_nodes(struct cam_json *j, struct cam_source *source, const uint32_t *cpus,
			 size_t n);
/*
 * Of the newest window's host: "nodes" of all its CPUs, "kernel" and "cpu_model" in its own words (null: not said), and "period_ns", the
 * nominal time between two samples of a busy CPU (0: not known).
 */
void cam_facts_put_host(struct cam_json *j, struct cam_source *source, const struct cam_facts *f);
