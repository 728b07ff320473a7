// SPDX-License-Identifier: Apache-2.0
/* Any bytes as /proc/PID/maps and as /proc/PID/cgroup: who is profiled names files and cgroups as it likes. */
#include "proc/cgroup.h"
#include "proc/maps.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
static char place[] = "/dev/shm/perfcam-fuzz-XXXXXX";
static int dir = -1, file = -1;

static void clean_up(void)
{
	unlinkat(dir, "maps", 0);
	rmdir(place);
}

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
	if (dir < 0 && mkdtemp(place) && !atexit(clean_up)) {
		dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		file = openat(dir, "maps", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	}
	if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) < 0)
		abort();
	cam_maps_read(dir, take, &end);
	cam_cgroup_pick((struct cam_text){(const char *)data, size});
	return 0;
}
