// SPDX-License-Identifier: Apache-2.0
#include "cli/asking.h"

#include "cli/say.h"
#include "cli/setting_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cam_asking *cam_asking_new(const struct cam_settings_given *given, int *status)
{
	struct cam_asking *a = calloc(1, sizeof(*a));
	if (!a) {
		*status = cam_failed("%s", strerror(ENOMEM));
		return NULL;
	}
	*status = cam_setting_load(given, &a->settings);
	if (*status) {
		free(a);
		return NULL;
	}
	a->reply = CAM_BUF(CAM_CONTROL_MAX_BYTES + 1);
	return a;
}

struct cam_asking *cam_asking_parse(const struct cam_verb *verb, int argc, char **argv, bool *json,
				    int *status)
{
	struct cam_settings_given given = {0};
	const struct cam_option options[] = {
		{"json", 0, CAM_OPTION_FLAG, json, NULL, "as JSON"},
		CAM_ASK_OPTIONS(given),
		{0},
	};
	int n_rest;
	bool done;
	*status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return NULL;
	if (n_rest) {
		*status = cam_usage("%s takes no argument '%s'", verb->name, argv[0]);
		return NULL;
	}
	return cam_asking_new(&given, status);
}

int cam_asking_run(const struct cam_verb *verb, int argc, char **argv, enum cam_control_verb ask,
		   cam_asking_show_fn *show)
{
	bool json = false;
	int status;
	struct cam_asking *a = cam_asking_parse(verb, argc, argv, &json, &status);
	if (!a)
		return status;
	status = cam_asking_ask(a, ask, &(struct cam_control_request){0});
	if (a->nobody)
		status = cam_asking_say_nobody(a);
	else if (!status)
		status = show(a, json);
	cam_asking_free(a);
	return status;
}

void cam_asking_free(struct cam_asking *a)
{
	if (!a)
		return;
	cam_store_close(a->store);
	cam_io_posix_close(a->io);
	cam_buf_free(&a->reply);
	free(a);
}

static int say_unasked(const struct cam_asking *a, int err, const char *path)
{
	const char *store = a->settings.store;
	switch (err) {
	case -EACCES:
	case -EPERM:
		return cam_failed("store %s: not allowed to ask its recorder (%s): only root, the "
				  "recorder's own user and members of group perfcam are",
				  store, *path ? path : "no socket found");
	case -ETIMEDOUT:
		return cam_failed("store %s: its recorder (%s) did not answer in time", store,
				  path);
	case -ECONNRESET:
		return cam_failed("store %s: its recorder (%s) ended before it answered", store,
				  path);
	case -EPROTOTYPE:
	case -EBADMSG:
	case -EPROTONOSUPPORT:
		return cam_failed("store %s: what listens at %s is not a recorder of this version",
				  store, path);
	default:
		return cam_failed("store %s: %s: %s", store, path, strerror(-err));
	}
}

int cam_asking_ask(struct cam_asking *a, enum cam_control_verb verb,
		   const struct cam_control_request *r)
{
	char path[PATH_MAX];
	cam_buf_clear(&a->reply);
	int err = cam_control_ask(a->settings.store, a->settings.control, verb, r, &a->reply, path,
				  sizeof(path));
	a->nobody = err == -ENOENT || err == -ECONNREFUSED || err == -ENOTDIR;
	if (a->nobody)
		return CAM_EXIT_FAILED;
	if (err < 0)
		return say_unasked(a, err, path);
	cam_buf_put_u8(&a->reply, '\0');
	if (cam_buf_error(&a->reply))
		return cam_failed("%s", strerror(-cam_buf_error(&a->reply)));
	if (err)
		return cam_failed("the recorder refused: %s",
				  a->reply.data[0] ? (char *)a->reply.data : strerror(err));
	return CAM_EXIT_OK;
}

int cam_asking_say_nobody(const struct cam_asking *a)
{
	return cam_failed("no recorder runs on store %s; perfcam record (or run) starts one",
			  a->settings.store);
}

int cam_asking_open(struct cam_asking *a)
{
	if (a->io)
		return CAM_EXIT_OK;
	int err = cam_io_posix_open(a->settings.store, false, &a->io);
	if (err == -ENOENT)
		return cam_failed("store %s does not exist; perfcam record makes one",
				  a->settings.store);
	return err ? cam_failed("store %s: %s", a->settings.store, cam_errno_words(err))
		   : CAM_EXIT_OK;
}

int cam_asking_lock(struct cam_asking *a)
{
	int holder, status = cam_asking_open(a);
	if (status || a->store)
		return status;
	int err = cam_store_open_write(a->io, &a->store, &holder);
	if (err == -EWOULDBLOCK)
		return cam_failed("store %s: process %d is writing to it and cannot be asked; try "
				  "again when it has finished",
				  a->settings.store, holder);
	return err ? cam_failed("store %s: %s", a->settings.store, cam_errno_words(err))
		   : CAM_EXIT_OK;
}
