// SPDX-License-Identifier: Apache-2.0
#include "capture/sysctl.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int cam_sysctl_reread(int *fd, const char *proc_root, const char *name, int64_t *out)
{
	char path[512], text[64], *end;

	if (*fd < 0 &&
	    snprintf(path, sizeof(path), "%s/sys/%s", proc_root, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (*fd < 0)
		*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return -errno;
	ssize_t n = pread(*fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	errno = 0;
	long long v = strtoll(text, &end, 10);
	if (end == text || errno)
		return -EINVAL;
	*out = v;
	return 0;
}

int cam_sysctl_read(const char *proc_root, const char *name, int64_t *out)
{
	CAM_AUTOCLOSE int fd = -1;
	return cam_sysctl_reread(&fd, proc_root, name, out);
}
