// SPDX-License-Identifier: Apache-2.0
/* `perfcam serve [FILE…]`: the page over a store, or over files, for which a store is made that ends with it. */
#include "cli/file_store.h"
#include "cli/say.h"
#include "cli/serving.h"
#include "cli/setting_options.h"
#include "cli/verbs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int serve_store(struct cam_settings *settings)
{
	struct cam_serving s = {.status_fd = -1};
	int status = cam_serving_open(&s, settings);
	if (!status)
		status = cam_serving_run(&s);
	cam_serving_close(&s);
	return status;
}

/* A signal for this process is the server's; when that has ended, so has the store. */
static int wait_for(pid_t server, const sigset_t *set)
{
	int status, signal_number;
	while (!sigwait(set, &signal_number)) {
		if (signal_number != SIGCHLD)
			kill(server, SIGTERM);
		else if (waitpid(server, &status, WNOHANG) == server)
			return WIFEXITED(status) ? WEXITSTATUS(status) : CAM_EXIT_FAILED;
	}
	return CAM_EXIT_FAILED;
}

static int fill_and_serve(struct cam_settings *settings, struct cam_file_store *store, char **files,
			  int n)
{
	int partial = cam_file_store_fill(store, files, n);
	if (partial != CAM_EXIT_OK && partial != CAM_EXIT_INCOMPLETE)
		return partial;
	snprintf(settings->store, sizeof(settings->store), "%s", store->path);
	int status = serve_store(settings);
	return status ? status : partial;
}

/*
 * The server gives up the right to delete anything, and an interrupt may come while files are read: so both
 * are a process of its own, and this one removes the store behind it.
 */
static int serve_files(struct cam_settings *settings, char **files, int n)
{
	struct cam_file_store store;
	sigset_t set, before;
	if (settings->origins[CAM_SET_STORE].kind == CAM_FROM_FLAG)
		return cam_usage("serve takes files or --store, not both");
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &before);
	int status = cam_file_store_new(&store);
	if (status)
		return status;
	pid_t parent = getpid(), server = fork();
	if (server == 0) {
		setpgid(0, 0); /* an interrupt at the terminal is passed on */
		sigprocmask(SIG_SETMASK, &before, NULL);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(getppid() == parent ? fill_and_serve(settings, &store, files, n)
					  : CAM_EXIT_FAILED);
	}
	status = server < 0 ? cam_failed("cannot split: %s", strerror(errno))
			    : wait_for(server, &set);
	cam_file_store_remove(&store);
	return status;
}

int cam_cmd_serve(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_settings_given given = {0};
	const struct cam_option own[] = {{NULL}};
	struct cam_option options[CAM_SETTING_OPTIONS];
	int n_files;
	bool done;
	cam_setting_options(options, own, CAM_FOR_SERVE, &given);
	int status = cam_options_parse(verb, options, argc, argv, &n_files, &done);
	if (status || done)
		return status;
	struct cam_settings *settings = malloc(sizeof(*settings));
	if (!settings)
		return cam_failed("out of memory");
	status = cam_setting_load(&given, settings);
	if (!status)
		status = n_files ? serve_files(settings, argv, n_files) : serve_store(settings);
	free(settings);
	return status;
}
