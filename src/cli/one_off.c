// SPDX-License-Identifier: Apache-2.0
#include "cli/one_off.h"

#include "base/units.h"
#include "cli/say.h"
#include "cli/verbs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n >= m && !strcmp(s + n - m, end);
}

/* "a/b.pcw" → "a"; "b.pcw" → "." */
static void parent_of(const char *path, char *room, size_t bytes)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		snprintf(room, bytes, ".");
	else if (slash == path)
		snprintf(room, bytes, "/");
	else
		snprintf(room, bytes, "%.*s", (int)(slash - path), path);
}

/* As the store's: of the group perfcam where there is one and its maker may give it. */
static void give_to_group(const char *path)
{
	const struct group *g = getgrnam("perfcam");
	if (g && chown(path, (uid_t)-1, g->gr_gid) && errno != EPERM)
		cam_note("%s: stays with its maker's group: %s", path, strerror(errno));
}

int cam_one_off_begin(struct cam_one_off *o, const char *out, struct cam_settings *settings)
{
	*o = (struct cam_one_off){0};
	if (ends_with(out, ".pcw")) {
		struct stat st;
		if (!stat(out, &st))
			return cam_failed("%s exists; perfcam does not overwrite a recording", out);
		snprintf(o->file, sizeof(o->file), "%s", out);
		parent_of(out, o->place, sizeof(o->place));
	} else {
		snprintf(o->place, sizeof(o->place), "%s", out);
		for (size_t n = strlen(o->place); n > 1 && o->place[n - 1] == '/'; n--)
			o->place[n - 1] = '\0';
		o->made_place = !mkdir(out, 0750);
		if (o->made_place)
			give_to_group(out);
		else if (errno != EEXIST)
			return cam_failed("%s: %s", out, strerror(errno));
	}
	if (snprintf(o->room, sizeof(o->room), "%s/.perfcam-XXXXXX", o->place) >=
	    (int)sizeof(o->room))
		return cam_failed("%s: the path is too long", out);
	if (!mkdtemp(o->room))
		return cam_failed("%s: %s", o->place, strerror(errno));
	snprintf(settings->store, sizeof(settings->store), "%s", o->room);
	return CAM_EXIT_OK;
}

/* Adds ".kind_what", in letters that are good in a file's name; the first without its dot. */
static void add_scope(char *room, size_t bytes, const char *kind, const char *what)
{
	size_t n = strlen(room);
	n += (size_t)snprintf(room + n, bytes - n, "%s%s", n ? "." : "", kind);
	for (; *what && n + 1 < bytes; what++) {
		bool plain = isalnum((unsigned char)*what) || strchr("._+-", *what);
		room[n++] = plain ? *what : '_';
	}
	room[n < bytes ? n : bytes - 1] = '\0';
}

/* "pid_2997", "user_git", "all": as GitLab's helpers call them; "cgroup_system.slice_cron.service", "cpu_0_1",
 * "command_make". */
static void scope_name(const struct cam_one_off *o, const struct cam_settings *s, char *room,
		       size_t bytes)
{
	char text[96];
	size_t n = 0;
	room[0] = '\0';
	for (size_t i = 0; i < s->n_pids && n < sizeof(text) - 16; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "_%d", s->pids[i]);
	if (s->n_pids)
		add_scope(room, bytes, "pid", text);
	const struct passwd *p = s->uid != CAM_UID_ANY ? getpwuid(s->uid) : NULL;
	snprintf(text, sizeof(text), "%u", s->uid);
	if (s->uid != CAM_UID_ANY)
		add_scope(room, bytes, "user_", p ? p->pw_name : text);
	if (s->cgroup[0])
		add_scope(room, bytes, "cgroup", s->cgroup);
	n = 0;
	for (size_t i = 0; i < s->n_cpus && n < sizeof(text) - 16; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "_%u", s->cpus[i]);
	if (s->n_cpus)
		add_scope(room, bytes, "cpu", text);
	if (o->command)
		add_scope(room, bytes, "command_", basename(o->command));
	if (!room[0])
		snprintf(room, bytes, "all");
}

int cam_one_off_verb(int (*run)(const struct cam_verb *, int, char **), const char *const *words)
{
	char *argv[8] = {NULL};
	int argc = 0, status = CAM_EXIT_FAILED;
	while (words[argc] && argc < 7 && (argv[argc] = strdup(words[argc])))
		argc++;
	const struct cam_verb verb = {.name = words[0], .synopsis = "", .summary = ""};
	char *owned[8];
	memcpy(owned, argv, sizeof(owned)); /* the parser moves them about */
	fflush(stdout);
	int out = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (!words[argc] && out >= 0 && nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0) {
		status = run(&verb, argc, argv);
		fflush(stdout);
		dup2(out, STDOUT_FILENO);
	}
	if (out >= 0)
		close(out);
	if (nowhere >= 0)
		close(nowhere);
	for (int i = 0; i < argc; i++)
		free(owned[i]);
	return status;
}

/* By the program's own verbs: the same files come out as by hand. */
static int draw(const char *window, const char *stem)
{
	char svg[PATH_MAX], text[PATH_MAX];
	snprintf(svg, sizeof(svg), "%.*s.flamegraph.svg", (int)sizeof(svg) - 32, stem);
	snprintf(text, sizeof(text), "%.*s.perf-script.txt", (int)sizeof(text) - 32, stem);
	const char *const flame[] = {"flame", "-i", window, "-o", svg, NULL};
	const char *const export[] = {"export", "perf-script", "-i", window, "-o", text, NULL};
	/* They tell as much as the window does: for those who may read that. */
	mode_t mask = umask(027);
	int status = cam_one_off_verb(cam_cmd_flame, flame);
	int exported = cam_one_off_verb(cam_cmd_export, export);
	umask(mask);
	/* Incomplete is drawn too; failed is not there. */
	if (status == CAM_EXIT_OK || status == CAM_EXIT_INCOMPLETE) {
		give_to_group(svg);
		printf("Flamegraph:       %s\n", svg);
	}
	if (exported == CAM_EXIT_OK || exported == CAM_EXIT_INCOMPLETE) {
		give_to_group(text);
		printf("Raw stack traces: %s\n", text);
	}
	return status ? status : exported;
}

static int place_window(struct cam_one_off *o, const struct cam_settings *settings,
			const char *name, unsigned number)
{
	char from[PATH_MAX], to[PATH_MAX], stem[PATH_MAX], host[256] = "localhost", scope[128];
	snprintf(from, sizeof(from), "%.*s/%s", PATH_MAX - 300, o->room, name);
	if (!o->file[0])
		snprintf(to, sizeof(to), "%.*s/%s", PATH_MAX - 300, o->place, name);
	else if (number == 1)
		snprintf(to, sizeof(to), "%s", o->file);
	else
		snprintf(to, sizeof(to), "%.*s.%u.pcw", (int)strlen(o->file) - 4, o->file, number);
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return cam_failed("%s: %s", to, strerror(errno));
	give_to_group(to);
	printf("Window:           %s\n", to);
	if (o->file[0])
		return CAM_EXIT_OK;
	if (o->empty && number > 1)
		return CAM_EXIT_FAILED;
	if (o->empty)
		return cam_failed(
			"nothing was sampled: nothing ran in that scope. There is no flame graph to draw");
	time_t now = time(NULL);
	struct tm utc;
	char stamp[32];
	gmtime_r(&now, &utc);
	strftime(stamp, sizeof(stamp), "%Y%m%d_%H%M%S", &utc);
	gethostname(host, sizeof(host) - 1);
	scope_name(o, settings, scope, sizeof(scope));
	snprintf(stem, sizeof(stem), "%.*s/%s.%s_UTC.%s", PATH_MAX - 600, o->place, host, stamp,
		 scope);
	if (number > 1)
		snprintf(stem + strlen(stem), sizeof(stem) - strlen(stem), ".%u", number);
	return draw(to, stem);
}

static int is_window(const struct dirent *e)
{
	return ends_with(e->d_name, ".pcw");
}

static int holds_samples(const struct dirent *e)
{
	return is_window(e) || ends_with(e->d_name, ".pcj");
}

/* What could not be sealed or moved is not thrown away. */
static bool is_spent(const struct cam_one_off *o)
{
	struct dirent **names = NULL;
	int n = scandir(o->room, &names, holds_samples, NULL);
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return n <= 0;
}

static void remove_room(const struct cam_one_off *o)
{
	DIR *dir = opendir(o->room);
	if (!dir)
		return;
	for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(dir), e->d_name, 0);
	}
	closedir(dir);
	rmdir(o->room);
}

int cam_one_off_end(struct cam_one_off *o, const struct cam_settings *settings, bool recorded)
{
	struct dirent **names = NULL;
	int n = recorded ? scandir(o->room, &names, is_window, alphasort) : 0;
	int status = CAM_EXIT_OK;
	for (int i = 0; i < n; i++) {
		int one = place_window(o, settings, names[i]->d_name, (unsigned)i + 1);
		status = status ? status : one;
		free(names[i]);
	}
	free(names);
	if (!is_spent(o))
		return cam_failed("%s: what was recorded is left in there, as a store: perfcam ls "
				  "--store %s",
				  o->room, o->room);
	if (recorded && n <= 0)
		status = cam_failed("nothing was sampled: nothing ran in that scope");
	remove_room(o);
	return status;
}

void cam_one_off_discard(const struct cam_one_off *o)
{
	remove_room(o);
	if (o->made_place)
		rmdir(o->place);
}
