// SPDX-License-Identifier: Apache-2.0
/* Any bytes as /proc/kallsyms; then each address of it, and those beside it, are looked up. */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_kallsyms_hit hit;
	struct cam_kallsyms *k;
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	int error = cam_kallsyms_load(fd, &k);
	close(fd);
	check(!error || error == -EBADMSG || error == -EACCES || error == -E2BIG);
	for (size_t i = 0; !error && i + 16 < size; i++) {
		uint64_t address =
			strtoull((char[]){data[i], data[i + 1], data[i + 2], 0}, NULL, 16);
		address = address << 52 | (i & 0xfff);
		if (cam_kallsyms_find(k, address, &hit))
			check(hit.start <= address && hit.name.n && hit.name.n < size);
	}
	if (!error)
		cam_kallsyms_free(k);
	return 0;
}
