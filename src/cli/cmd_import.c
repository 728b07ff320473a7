// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/units.h"
#include "cli/import_events.h"
#include "cli/perf_name.h"
#include "cli/place.h"
#include "cli/range.h"
#include "cli/reading.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "daemon/paths.h"
#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define WINDOW_NS (120 * CAM_NS_PER_SEC)

static void worse(int *status, int other)
{
	/* Failed (1) beats incomplete (3) beats ok (0). */
	if (other == CAM_EXIT_FAILED || *status == CAM_EXIT_OK)
		*status = other;
}

static int import_all(struct cam_store *store, int n, char **files, const struct cam_told *told,
		      struct cam_imported *sum)
{
	const struct cam_wanted all = {true, true};
	int status = CAM_EXIT_OK;
	for (int i = 0; i < n; i++) {
		struct cam_imported done = {0};
		worse(&status, cam_reading_import(files[i], cam_store_journal(store, 0), WINDOW_NS,
						  &all, told, &done));
		sum->samples += done.samples;
		sum->windows += done.windows;
		unsigned sealed = 0;
		int err = cam_store_seal_pending(store, &sealed);
		if (err && sealed < done.windows)
			worse(&status,
			      cam_failed("%s: sealing: %s; what was read is kept as a journal, and "
					 "sealed by the next import",
					 files[i], cam_errno_words(err)));
	}
	return status;
}

/* What stands on the command line, and in the directories among it. */
static int import_given(struct cam_store *store, int n, char **files, const struct cam_told *told,
			struct cam_imported *sum)
{
	int status = CAM_EXIT_OK;
	for (int i = 0; i < n; i++) {
		char **names;
		size_t n_names;
		if (!cam_reading_is_folder(files[i])) {
			worse(&status, import_all(store, 1, files + i, told, sum));
			continue;
		}
		worse(&status, cam_reading_list(files[i], &names, &n_names));
		if (!names)
			continue;
		worse(&status,
		      n_names ? import_all(store, (int)n_names, names, told, sum)
			      : cam_failed("%s: no recording in this directory", files[i]));
		for (size_t k = 0; k < n_names; k++)
			free(names[k]);
		free(names);
	}
	return status;
}

static int check_told(const char *at, int n_files, struct cam_told *told)
{
	const struct cam_utc day = {.year = 2026, .month = 1, .day = 1};
	int64_t ns;
	if (told->zone && !cam_perf_name_realtime(&day, told->zone, &ns))
		return cam_usage("--tz: there is no zone '%s'; try Europe/Berlin, +02:00 or UTC",
				 told->zone);
	if (at && n_files != 1)
		return cam_usage("--at is the time of one file; %d are given", n_files);
	return at ? cam_range_moment("--at", at, &told->began_ns) : CAM_EXIT_OK;
}

static int show(const struct cam_imported *sum, const char *path, bool json, int status)
{
	struct cam_out out;
	cam_out_to_fd(&out, 1);
	if (json) {
		struct cam_json j = {&out, false};
		cam_json_open(&j, NULL, '{');
		cam_json_u64(&j, "samples", sum->samples);
		cam_json_u64(&j, "windows", sum->windows);
		cam_json_close(&j, '}');
		cam_out_str(&out, "\n");
	} else {
		cam_out_printf(&out, "%llu samples in %u windows, in ",
			       (unsigned long long)sum->samples, sum->windows);
		cam_out_printable(&out, cam_text_of(path));
		cam_out_str(&out, "\n");
	}
	int err = cam_out_finish(&out);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : status;
}

int cam_cmd_import(const struct cam_verb *verb, int argc, char **argv)
{
	const char *given = NULL, *at = NULL;
	struct cam_import_events events = {0};
	bool json = false;
	struct cam_told told = {
		.where_names_are = "they were not found here (--symfs, --kallsyms, --vmlinux)"};
	const struct cam_option options[] = {
		{"store", 0, CAM_OPTION_TEXT, &given, "DIR",
		 "the store (default: /var/lib/perfcam, or ~/.local/share/perfcam)"},
		CAM_TOLD_OPTIONS(told),
		{"events", 0, CAM_OPTION_TEXT, &events.file, "FILE",
		 "a saved log (dmesg, syslog, …): its lines become events of the windows of that time"},
		{"boot", 0, CAM_OPTION_TEXT, &events.boot, "ID",
		 "with --events and a dmesg: the boot it is of (default: the newest one of the store)"},
		{"at", 0, CAM_OPTION_TEXT, &at, "T",
		 "files without a wall clock: when the first sample was taken; a dmesg: when that boot began"},
		{"tz", 0, CAM_OPTION_TEXT, &told.zone, "ZONE",
		 "the zone of times in files' names and of \"captured on\": Europe/Berlin, +02:00 (default: this one)"},
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "say what was imported as JSON"},
		{0},
	};
	int n_files;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_files, &done);
	if (done)
		return status;
	if (!n_files && !events.file)
		return cam_usage("import needs a file; see perfcam import --help");
	if (n_files && events.file)
		return cam_usage("--events adds to what is stored: import '%s' first", argv[0]);
	if (events.boot && !events.file)
		return cam_usage("--boot is for --events");
	status = check_told(at, events.file ? 1 : n_files, &told);
	if (status)
		return status;
	events.began_ns = at ? told.began_ns : INT64_MIN;
	events.json = json;
	char path[PATH_MAX];
	struct cam_io *io = NULL;
	struct cam_store *store = NULL;
	int holder = 0;
	int err = cam_store_path(given, path, sizeof(path));
	if (err)
		return cam_failed("no store: say --store DIR");
	if (!given)
		cam_paths_make_store_parents();
	err = cam_io_posix_open(path, true, &io);
	if (!err)
		err = cam_store_open_write(io, &store, &holder);
	if (err) {
		cam_io_posix_close(io);
		if (err == -EWOULDBLOCK)
			return cam_failed(
				"store %s: process %d is writing to it; stop it, or import "
				"into another one: --store DIR",
				path, holder);
		return cam_failed("store %s: %s", path, cam_errno_words(err));
	}
	if (events.file) {
		status = cam_import_events(&events, io, store, path);
		cam_store_close(store);
		cam_io_posix_close(io);
		return status;
	}
	struct cam_imported sum = {0};
	status = import_given(store, n_files, argv, &told, &sum);
	unsigned waiting = cam_store_counts(store)->unsealed;
	if (waiting && status != CAM_EXIT_FAILED)
		cam_note("store %s: %u journals of earlier imports cannot be sealed; see verify",
			 path, waiting);
	cam_store_close(store);
	cam_io_posix_close(io);
	return show(&sum, path, json, status);
}
