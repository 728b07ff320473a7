// SPDX-License-Identifier: Apache-2.0
/* `perfcam serve [STORE|FILE…]`: the page over stores, and over files, for which stores are made that end with it. */
#include "cli/file_store.h"
#include "cli/reading.h"
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int serve(struct cam_settings *settings, const struct cam_given *given, unsigned n)
{
	struct cam_serving s = {.status_fd = -1};
	int status = cam_serving_open(&s, settings, given, n);
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

/* What is served: stores where they are, and of each file the store that is made of it. */
struct sources {
	struct cam_given given[CAM_SERVING_GIVEN];
	char (*places)[PATH_MAX]; /* of files */
	unsigned n, n_files;
	struct cam_file_stores stores;
};

/* Of the first store, if there is one: the server gives up all groups but one. */
static gid_t group_of(const struct sources *s)
{
	struct stat st;
	for (unsigned i = 0; i < s->n; i++)
		if (s->given[i].kind == CAM_SERVER_STORE && !stat(s->given[i].path, &st))
			return st.st_gid;
	return (gid_t)-1;
}

/* A file that cannot be read ends it: who looks for three and finds two in the picker is misled. */
static int make_and_serve(struct cam_settings *settings, struct sources *s)
{
	int partial = CAM_EXIT_OK;
	gid_t group = group_of(s);
	for (unsigned i = 0; i < s->n; i++) {
		struct cam_given *g = &s->given[i];
		if (g->kind != CAM_SERVER_FILE)
			continue;
		cam_file_stores_place(&s->stores, i + 1, s->places[i]);
		int status = cam_file_store_make(s->places[i], group, g->label,
						 "they were not found here; `perfcam "
						 "import` can be told where they are");
		if (status != CAM_EXIT_OK && status != CAM_EXIT_INCOMPLETE)
			return status;
		partial = status ? status : partial;
		g->path = s->places[i];
	}
	int status = serve(settings, s->given, s->n);
	return status ? status : partial;
}

/*
 * The server gives up the right to delete anything, and an interrupt may come while files are read: so both
 * are a process of its own, and this one removes the stores behind it.
 */
static int serve_files(struct cam_settings *settings, struct sources *s)
{
	sigset_t set, before;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &before);
	int status = cam_file_stores_new(&s->stores);
	if (status)
		return status;
	pid_t parent = getpid(), server = fork();
	if (server == 0) {
		setpgid(0, 0); /* an interrupt at the terminal is passed on */
		sigprocmask(SIG_SETMASK, &before, NULL);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(getppid() == parent ? make_and_serve(settings, s) : CAM_EXIT_FAILED);
	}
	status = server < 0 ? cam_failed("cannot split: %s", strerror(errno))
			    : wait_for(server, &set);
	cam_file_stores_remove(&s->stores);
	return status;
}

/* A directory is a store, unless perf wrote it. */
static int take_argument(struct sources *s, const char *path)
{
	struct cam_given *g = &s->given[s->n];
	if (s->n == CAM_SERVING_GIVEN)
		return cam_usage("serve takes at most %u stores and files", CAM_SERVING_GIVEN);
	bool store = cam_reading_is_folder(path);
	if (store && !cam_served_is_store(path, false))
		return cam_failed("%s: no window in this directory; `perfcam import` makes a store "
				  "of recordings",
				  path);
	*g = (struct cam_given){path, path, store ? CAM_SERVER_STORE : CAM_SERVER_FILE};
	s->n++;
	s->n_files += !store;
	return CAM_EXIT_OK;
}

static int serve_given(struct cam_settings *settings, char **paths, int n)
{
	struct sources s = {.n = 0};
	int status = CAM_EXIT_OK;
	if (!n || settings->origins[CAM_SET_STORE].kind == CAM_FROM_FLAG)
		s.given[s.n++] =
			(struct cam_given){settings->store, settings->store, CAM_SERVER_STORE};
	for (int i = 0; !status && i < n; i++)
		status = take_argument(&s, paths[i]);
	if (status)
		return status;
	if (!s.n_files)
		return serve(settings, s.given, s.n);
	s.places = calloc(s.n, sizeof(*s.places));
	status = s.places ? serve_files(settings, &s) : cam_failed("out of memory");
	free(s.places);
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
		status = serve_given(settings, argv, n_files);
	free(settings);
	return status;
}
