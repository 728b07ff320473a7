// SPDX-License-Identifier: Apache-2.0
#include "support_mapped.h"

#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096 };

int test_map(const char *path, struct cam_mapping *m)
{
	struct stat s;
	int generation = 0, fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &s))
		return 1;
	void *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, PAGE);
	if (p == MAP_FAILED)
		return 2;
	if (ioctl(fd, FS_IOC_GETVERSION, &generation))
		generation = 0;
	close(fd);
	*m = (struct cam_mapping){.start = (uintptr_t)p,
				  .end = (uintptr_t)p + 2 * PAGE,
				  .file_offset = PAGE,
				  .inode = s.st_ino,
				  .generation = (uint32_t)generation,
				  .major = major(s.st_dev),
				  .minor = minor(s.st_dev)};
	return 0;
}

struct mapped mapped_start(const char *path, mapped_prepare_fn *prepare, mapped_prepare_fn *after,
			   void *arg)
{
	struct mapped p = {0};
	int up[2], down[2];
	assert_int_equal(pipe(up), 0);
	assert_int_equal(pipe(down), 0);
	p.pid = fork();
	assert_true(p.pid >= 0);
	if (p.pid == 0) {
		char c;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(up[0]);
		close(down[1]);
		if ((prepare && prepare(arg)) || test_map(path, &p.m) || (after && after(arg)))
			_exit(1);
		if (write(up[1], &p.m, sizeof(p.m)) != sizeof(p.m))
			_exit(2);
		_exit(read(down[0], &c, 1) == 1 ? 0 : 3);
	}
	close(up[1]);
	close(down[0]);
	p.go = down[1];
	assert_int_equal(read(up[0], &p.m, sizeof(p.m)), sizeof(p.m));
	close(up[0]);
	snprintf(p.path, sizeof(p.path), "%s", path);
	return p;
}

void mapped_end(struct mapped *p)
{
	int status = -1;
	assert_int_equal(write(p->go, "x", 1), 1);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	assert_int_equal(status, 0);
	close(p->go);
}

void test_mkdir(char path[32])
{
	snprintf(path, 32, "/tmp/perfcam-test-XXXXXX");
	assert_non_null(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f)
{
	(void)s, (void)type, (void)f;
	return remove(path);
}

void test_rmdir(const char *path)
{
	assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT), 0);
}

void test_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(ftruncate(fd, 3 * PAGE), 0);
	close(fd);
}

bool test_begins(int fd, const char *text)
{
	char got[64] = "";
	return pread(fd, got, sizeof(got) - 1, 0) > 0 && strcmp(got, text) == 0;
}
