// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/place.h"
#include "cli/reading.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "store/dump.h"
#include "store/store.h"
#include "store/window.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct tally {
	struct cam_out *out;
	struct cam_json *json; /* NULL: text */
	uint64_t files, bad, torn, samples, lost;
};

static void put_json(struct cam_json *j, const struct cam_verify_report *r)
{
	cam_json_open(j, NULL, '{');
	cam_json_text(j, "name", cam_text_of(r->name));
	cam_json_text(j, "kind", cam_text_of(r->kind));
	cam_json_text(j, "verdict", cam_text_of(r->verdict));
	cam_json_u64(j, "bytes", r->bytes);
	cam_json_u64(j, "samples", r->samples);
	cam_json_u64(j, "damaged_chunks", r->damaged_chunks);
	cam_json_u64(j, "damaged_bytes", r->damaged_bytes);
	cam_json_u64(j, "damaged_samples", r->damaged_samples);
	cam_json_u64(j, "torn_bytes", r->torn_bytes);
	if (r->to_ns) {
		cam_json_u64(j, "from_ns", r->from_ns);
		cam_json_u64(j, "to_ns", r->to_ns);
	}
	cam_json_close(j, '}');
}

static int count_file(void *arg, const struct cam_verify_report *r)
{
	struct tally *t = arg;
	t->files++;
	t->samples += r->samples;
	t->lost += r->damaged_samples;
	bool torn = strcmp(r->verdict, "torn tail") == 0;
	bool ok = strcmp(r->verdict, "ok") == 0;
	t->torn += torn;
	t->bad += !ok && !torn;
	if (t->json) {
		put_json(t->json, r);
		return 0;
	}
	if (ok)
		return 0;
	cam_out_printf(t->out, "%s: %s %s", r->name, r->kind, r->verdict);
	if (r->damaged_chunks)
		cam_out_printf(t->out, ", %llu chunks (%llu bytes, %llu samples)",
			       (unsigned long long)r->damaged_chunks,
			       (unsigned long long)r->damaged_bytes,
			       (unsigned long long)r->damaged_samples);
	if (r->torn_bytes)
		cam_out_printf(t->out, ", %llu bytes after the last whole block",
			       (unsigned long long)r->torn_bytes);
	if (r->to_ns)
		cam_out_printf(t->out, ", between %.3f s and %.3f s of its clock",
			       (double)r->from_ns / 1e9, (double)r->to_ns / 1e9);
	cam_out_str(t->out, "\n");
	return 0;
}

/* One window by itself. */
static int verify_file(const char *file, struct tally *t)
{
	struct cam_reading_options from = {.file = file};
	struct cam_reading in;
	int status = cam_reading_open(&from, &in);
	if (status != CAM_EXIT_OK)
		return status;
	struct cam_window *w;
	int err = in.foreign ? -EPROTOTYPE : in.source->ops->open(in.source, 0, &w);
	if (err) {
		cam_reading_close(&in);
		return err == -EPROTOTYPE
			       ? cam_failed("%s: not a window; verify checks perfcam's own files",
					    file)
			       : cam_failed("%s: %s", file, cam_errno_words(err));
	}
	bool sealed = w->info.sealed;
	err = sealed ? cam_window_verify(w) : 0;
	struct cam_verify_report r = {
		.name = file,
		.kind = sealed ? "window" : "journal",
		.verdict = err || w->damage.chunks	 ? "damaged"
			   : sealed || w->info.clean_end ? "ok"
							 : "torn tail",
		.bytes = w->info.file_bytes,
		.samples = w->info.samples,
		.damaged_chunks = w->damage.chunks,
		.damaged_bytes = w->damage.bytes,
		.damaged_samples = w->damage.samples,
	};
	count_file(t, &r);
	w->ops->close(w);
	cam_reading_close(&in);
	return CAM_EXIT_OK;
}

static int verify_store(const char *given, struct tally *t)
{
	char path[PATH_MAX];
	if (cam_store_path(given, path, sizeof(path)))
		return cam_failed("no store: say --store DIR or -i FILE");
	struct cam_io *io;
	int err = cam_io_posix_open(path, false, &io);
	if (!err) {
		err = cam_store_verify(io, count_file, t);
		cam_io_posix_close(io);
	}
	return err ? cam_failed("store %s: %s", path, cam_errno_words(err)) : CAM_EXIT_OK;
}

static int print_sum(const struct tally *t)
{
	if (t->json) {
		cam_json_close(t->json, ']');
		cam_json_u64(t->json, "damaged_files", t->bad);
		cam_json_u64(t->json, "torn_tails", t->torn);
		cam_json_u64(t->json, "samples", t->samples);
		cam_json_u64(t->json, "sealed_lost", t->lost);
		cam_json_close(t->json, '}');
		cam_out_str(t->out, "\n");
	} else {
		cam_out_printf(t->out,
			       "%llu files, %llu samples: %llu damaged, %llu with a torn tail\n",
			       (unsigned long long)t->files, (unsigned long long)t->samples,
			       (unsigned long long)t->bad, (unsigned long long)t->torn);
	}
	int err = cam_out_finish(t->out);
	if (err)
		return cam_failed("standard output: %s", cam_errno_words(err));
	return t->bad ? CAM_EXIT_INCOMPLETE : CAM_EXIT_OK;
}

struct dumping {
	struct cam_out *out;
	struct cam_json *json;
	uint64_t bad;
};

static int dump_row(void *arg, const struct cam_dump_row *r)
{
	struct dumping *d = arg;
	d->bad += !r->good;
	if (d->json) {
		cam_json_open(d->json, NULL, '{');
		cam_json_u64(d->json, "at", r->at);
		cam_json_u64(d->json, "bytes", r->bytes);
		cam_json_text(d->json, "part", cam_text_of(r->part));
		cam_json_u64(d->json, "number", r->number);
		cam_json_bool(d->json, "good", r->good);
		cam_json_text(d->json, "holds", cam_text_of(r->words));
		cam_json_close(d->json, '}');
	} else {
		cam_out_printf(d->out, "%12llu %10llu  %-13s %6u  %-4s %s\n",
			       (unsigned long long)r->at, (unsigned long long)r->bytes, r->part,
			       r->number, r->good ? "ok" : "BAD", r->words);
	}
	return d->out->error;
}

/* The parts of one file, in its order. */
static int dump_file(const char *path, bool as_json)
{
	struct cam_out out;
	struct cam_file *file = NULL;
	cam_out_to_fd(&out, STDOUT_FILENO);
	struct cam_json j = {&out, false};
	struct dumping d = {.out = &out, .json = as_json ? &j : NULL};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int err = fd < 0 ? -errno : cam_file_from_fd(fd, &file);
	if (err)
		return cam_failed("%s: %s", path, cam_errno_words(err));
	if (as_json)
		cam_json_open(&j, NULL, '[');
	else
		cam_out_printf(&out, "%12s %10s  %-13s %6s  %-4s %s\n", "AT", "BYTES", "PART",
			       "NUMBER", "CRC", "HOLDS");
	err = cam_dump(file, dump_row, &d);
	if (err == -EPROTOTYPE)
		return cam_failed("%s: not a window; verify checks perfcam's own files", path);
	if (as_json) {
		cam_json_close(&j, ']');
		cam_out_str(&out, "\n");
	}
	int written = cam_out_finish(&out);
	if (written)
		return cam_failed("standard output: %s", cam_errno_words(written));
	if (err)
		return cam_failed("%s: %s", path, cam_errno_words(err));
	return d.bad ? CAM_EXIT_INCOMPLETE : CAM_EXIT_OK;
}

int cam_cmd_verify(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_reading_options from = {0};
	const char *dump = NULL;
	bool json = false;
	const struct cam_option options[] = {
		CAM_READING_OPTIONS(from),
		{"dump", 0, CAM_OPTION_TEXT, &dump, "FILE",
		 "the parts of a window or journal: where, how long, whether its checksum is right"},
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "as JSON"},
		{0},
	};
	int n_rest;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (dump && (n_rest || from.store || from.file))
		return cam_usage("--dump looks at one file and nothing else");
	if (dump)
		return dump_file(dump, json);
	/* `perfcam verify DIR` is what a tired hand types. */
	if (n_rest == 1 && !from.store && !from.file)
		from.store = argv[0];
	else if (n_rest || (from.store && from.file))
		return cam_usage("verify takes one store or file: --store DIR or -i FILE");
	struct cam_out out;
	cam_out_to_fd(&out, STDOUT_FILENO);
	struct cam_json j = {&out, false};
	struct tally t = {.out = &out, .json = json ? &j : NULL};
	if (json) {
		cam_json_open(&j, NULL, '{');
		cam_json_open(&j, "files", '[');
	}
	status = from.file ? verify_file(from.file, &t) : verify_store(from.store, &t);
	return status ? status : print_sum(&t);
}
