// SPDX-License-Identifier: Apache-2.0
#include "base/timens.h"

#include "base/cleanup.h"
#include "base/units.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "monotonic       100000         0\nboottime ...": seconds, nanoseconds. The file speaks of the
 * namespace of our children, which is ours unless we made another one for them. */
struct cam_timens cam_timens_read(const char *proc)
{
	struct cam_timens found = {0};
	char path[256], text[256];
	int n = snprintf(path, sizeof(path), "%s/self/timens_offsets", proc ? proc : "/proc");
	if (n < 0 || (size_t)n >= sizeof(path))
		return found;
	CAM_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? 0 : pread(fd, text, sizeof(text) - 1, 0);
	text[bytes > 0 ? bytes : 0] = '\0';
	for (char *rest, *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char name[32];
		long long s, ns;
		if (sscanf(line, "%31s %lld %lld", name, &s, &ns) != 3)
			continue;
		int64_t offset = (int64_t)s * (int64_t)CAM_NS_PER_SEC + (int64_t)ns;
		if (!strcmp(name, "monotonic") || !strcmp(name, "1"))
			found.mono_ns = offset;
		if (!strcmp(name, "boottime") || !strcmp(name, "7"))
			found.boot_ns = offset;
	}
	return found;
}
