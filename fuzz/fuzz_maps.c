// SPDX-License-Identifier: Apache-2.0
/* Any bytes as /proc/PID/maps and as /proc/PID/cgroup: who is profiled names files and cgroups as it likes. */
#include "proc/cgroup.h"
#include "proc/maps.h"
#include "proc_dir.h"

static int take(void *arg, const struct cam_mapping *m)
{
	uint64_t *end = arg;
	if (m->start < *end)
		abort();
	*end = m->end;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t end = 0;
	cam_maps_read(fuzz_proc_dir("maps", data, size), take, &end);
	cam_cgroup_pick((struct cam_text){(const char *)data, size});
	return 0;
}
