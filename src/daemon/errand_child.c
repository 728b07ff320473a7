// SPDX-License-Identifier: Apache-2.0
#include "daemon/errand_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

static int set_files(posix_spawn_file_actions_t *files, int out_fd)
{
	int err = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
	if (!err && out_fd >= 0)
		return posix_spawn_file_actions_adddup2(files, out_fd, 1);
	for (int fd = 1; fd <= 2 && !err; fd++)
		err = posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_RDWR, 0);
	return err;
}

int cam_errand_child_start(const char *const *argv, char *const *env, int out_fd, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	*pid = 0;
	sigemptyset(&none);
	int err = posix_spawn_file_actions_init(&files);
	if (err)
		return -err;
	err = posix_spawnattr_init(&attr);
	if (err) {
		posix_spawn_file_actions_destroy(&files);
		return -err;
	}
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &none);
	err = set_files(&files, out_fd);
	if (!err)
		err = posix_spawn(pid, "/proc/self/exe", &files, &attr, (char *const *)argv, env);
	if (err)
		*pid = 0;
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return -err;
}
