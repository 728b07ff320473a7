// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks and names by process, of the last minutes of the store: a table of those that ran most, and
 * for those that could be better what would make them so.
 */
#include "cli/doctor.h"
#include "cli/picking.h"
#include "cli/reading.h"
#include "cli/say.h"
#include "model/container.h"
#include "query/account.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN	     12u
#define FEW_SAMPLES  50u  /* of a process: too few to say anything */
#define WORTH_A_WORD 10u  /* per mille of all samples */
#define MUCH	     100u /* per mille: incomplete stacks, unnamed run-time code */
#define MUCH_UNNAMED 200u /* …unnamed frames of files */
#define DPKG_LISTS   "/var/lib/dpkg/info"

enum runtime { NATIVE, NODE, JAVA };

static struct cam_text last_part(struct cam_text path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	if (!slash)
		return path;
	return (struct cam_text){slash + 1, path.n - (size_t)(slash + 1 - path.p)};
}

static enum runtime runtime_of(const struct cam_quality_row *r)
{
	struct cam_text name = last_part(r->exe.n ? r->exe : r->comm);
	if (cam_text_equal(name, CAM_TEXT("node")) || cam_text_equal(name, CAM_TEXT("nodejs")))
		return NODE;
	return cam_text_equal(name, CAM_TEXT("java")) ? JAVA : NATIVE;
}

/* Names are any bytes: what a terminal could take for a command is left out. */
static const char *printable(struct cam_text t, char *room, size_t bytes)
{
	size_t n = 0;
	for (size_t i = 0; i < t.n && n + 1 < bytes; i++)
		room[n++] = t.p[i] >= ' ' && t.p[i] < 0x7f ? t.p[i] : '?';
	room[n] = '\0';
	return room;
}

/* "node 4711"; of a recording that has no pid, "node". */
static const char *who_is(const struct cam_quality_row *r, int width, char *room, size_t bytes)
{
	char name[64];
	printable(r->comm, name, sizeof(name));
	if (r->pid < 0)
		snprintf(room, bytes, "%.*s", width, name);
	else
		snprintf(room, bytes, "%.*s %d", width, name, r->pid);
	return room;
}

static uint32_t share(uint64_t part, uint64_t whole)
{
	return cam_account_share(part, whole);
}

static struct cam_finding *about(struct cam_doctor *d, const struct cam_quality_row *r,
				 const char *what, uint64_t part, uint64_t whole)
{
	char who[80];
	struct cam_finding *f = cam_findings_add(&d->found);
	snprintf(f->missing, sizeof(f->missing), "%s: %u %% of its %s.",
		 who_is(r, 63, who, sizeof(who)), (share(part, whole) + 5) / 10, what);
	return f;
}

static bool list_has(const char *list, const char *path)
{
	char line[4096];
	bool found = false;
	FILE *in = fopen(list, "re");
	while (in && !found && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		found = strcmp(line, path) == 0;
	}
	if (in)
		fclose(in);
	return found;
}

/* The Debian package that a file is of; false: none, or not a Debian system. */
static bool find_package(const char *path, char *package, size_t bytes)
{
	DIR *dir = opendir(DPKG_LISTS);
	bool found = false;
	const struct dirent *e;
	while (dir && !found && (e = readdir(dir))) {
		char list[512];
		const char *dot = strrchr(e->d_name, '.');
		if (!dot || strcmp(dot, ".list") != 0)
			continue;
		snprintf(list, sizeof(list), DPKG_LISTS "/%s", e->d_name);
		/* Libraries are listed under /lib or /usr/lib, whichever the package was built for. */
		found = list_has(list, path) ||
			(strncmp(path, "/usr/", 5) == 0 && list_has(list, path + 4));
		if (found)
			snprintf(package, bytes, "%.*s", (int)strcspn(e->d_name, ".:"), e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static void judge_file_names(struct cam_doctor *d, const struct cam_quality_row *r)
{
	char path[1024], package[128];
	bool contained = cam_container_of(r->cgroup).id.n > 0;
	if (share(r->user_unnamed, r->user_frames) < MUCH_UNNAMED || !r->worst.n)
		return;
	struct cam_finding *f =
		about(d, r, "frames in files are unnamed", r->user_unnamed, r->user_frames);
	printable(r->worst, path, sizeof(path));
	snprintf(f->cost, sizeof(f->cost), "They are shown as [file+offset]; most are of %.160s.",
		 path);
	/* The path is that of its own mount namespace: packages of this host have nothing to do with it. */
	if (contained)
		snprintf(
			f->remedy, sizeof(f->remedy),
			"It lies in its container: install debug symbols in that image, or record "
			"with --debuginfod; perfcam resymbolise then names what is recorded already.");
	else if (find_package(path, package, sizeof(package)))
		snprintf(f->remedy, sizeof(f->remedy),
			 "Install %s-dbgsym (debug symbols of the package that owns it); perfcam "
			 "resymbolise then names what is recorded already.",
			 package);
	else
		snprintf(
			f->remedy, sizeof(f->remedy),
			"Do not strip it, or install its debug file: it has names for the functions it "
			"exports only.");
}

static void judge_jit_names(struct cam_doctor *d, const struct cam_quality_row *r)
{
	static const char *const remedies[] = {
		[NATIVE] =
			"Let it write /tmp/perf-PID.map or a jitdump file: in its own /tmp, as its own PID.",
		[NODE] = "Start it with --perf-basic-prof-only-functions.",
		[JAVA] = "Record with --java-maps, or run: jcmd PID Compiler.perfmap",
	};
	uint64_t frames = r->user_frames + r->jit_frames;
	if (share(r->jit_unnamed, frames) < MUCH)
		return;
	struct cam_finding *f =
		about(d, r, "frames are unnamed run-time code", r->jit_unnamed, frames);
	snprintf(f->cost, sizeof(f->cost), "They are shown as [jit].");
	snprintf(f->remedy, sizeof(f->remedy), "%s", remedies[runtime_of(r)]);
}

static const char *remedy_of(const struct cam_quality_row *r, enum cam_stack_end why)
{
	if (runtime_of(r) == JAVA)
		return "Start it with -XX:+PreserveFramePointer; to see methods that were inlined, also with "
		       "-XX:-Inline or a smaller -XX:MaxInlineSize.";
	switch (why) {
	case CAM_STACK_UNKNOWN:
		return "Record with --source bpf or --unwind dwarf, which need no frame pointers; or "
		       "build it with -fno-omit-frame-pointer.";
	case CAM_STACK_PENDING:
		return "Nothing to do if it runs for moments only; else see perfcam status: errands.";
	case CAM_STACK_UNREADABLE:
		return "With --unwind dwarf, and of the first stacks of a program, 16 KiB are copied: record with --source bpf, which "
		       "reads the rest where it is. Else its memory is swapped out (vmstat: si).";
	case CAM_STACK_STALE:
		return "Nothing to do: its mappings were changing just then (exec, dlopen).";
	case CAM_STACK_DEPTH:
		return "It is deeper than what is kept: the innermost frames are there.";
	case CAM_STACK_COMPAT:
		return "32-bit programs are not unwound: build it for 64 bits.";
	case CAM_STACK_SUSPECT:
		return "Records about processes were lost: see perfcam status.";
	default:
		return "Build it with -fasynchronous-unwind-tables, or with -fno-omit-frame-pointer.";
	}
}

static void judge_stacks(struct cam_doctor *d, const struct cam_quality_row *r)
{
	enum cam_stack_end why = cam_quality_why(r);
	if (share(r->user - r->complete, r->user) < MUCH)
		return;
	struct cam_finding *f =
		about(d, r, "user stacks are incomplete", r->user - r->complete, r->user);
	snprintf(f->cost, sizeof(f->cost), "Callers are missing: %s, mostly.",
		 cam_stack_end_words(why));
	snprintf(f->remedy, sizeof(f->remedy), "%s", remedy_of(r, why));
}

static void judge_kernel(struct cam_doctor *d, const struct cam_quality_row *all)
{
	if (share(all->kernel_unnamed, all->kernel_frames) < MUCH)
		return;
	struct cam_finding *f = cam_findings_add(&d->found);
	snprintf(f->missing, sizeof(f->missing), "%u %% of the kernel's frames are unnamed.",
		 (share(all->kernel_unnamed, all->kernel_frames) + 5) / 10);
	snprintf(f->cost, sizeof(f->cost), "They are shown as [kernel].");
	snprintf(f->remedy, sizeof(f->remedy),
		 "The recorder needs CAP_SYSLOG, and kernel.kptr_restrict must not be 2.");
}

static void show_row_json(struct cam_json *j, const struct cam_quality_row *r)
{
	cam_json_u64(j, "samples", r->samples);
	cam_json_u64(j, "user", r->user);
	cam_json_u64(j, "complete", r->complete);
	cam_json_u64(j, "guessed", r->guessed);
	cam_json_open(j, "incomplete", '{');
	for (unsigned i = 0; i < CAM_STACK_ENDS; i++) {
		if (r->ends[i] && cam_stack_end_is_incomplete((enum cam_stack_end)i))
			cam_json_u64(j, cam_stack_end_key((enum cam_stack_end)i), r->ends[i]);
	}
	cam_json_close(j, '}');
	cam_json_u64(j, cam_stack_end_key(CAM_STACK_NO_USER), r->ends[CAM_STACK_NO_USER]);
	cam_json_u64(j, cam_stack_end_key(CAM_STACK_WORKER), r->ends[CAM_STACK_WORKER]);
	cam_json_u64(j, "user_frames", r->user_frames);
	cam_json_u64(j, "user_unnamed", r->user_unnamed);
	cam_json_u64(j, "jit_frames", r->jit_frames);
	cam_json_u64(j, "jit_unnamed", r->jit_unnamed);
	cam_json_u64(j, "kernel_frames", r->kernel_frames);
	cam_json_u64(j, "kernel_unnamed", r->kernel_unnamed);
}

static void show_place_json(struct cam_json *j, struct cam_text cgroup)
{
	struct cam_container c = cam_container_of(cgroup);
	if (cgroup.n)
		cam_json_text(j, "cgroup", cgroup);
	if (c.id.n)
		cam_json_text(j, "container", c.id);
	if (c.pod[0])
		cam_json_text(j, "pod", cam_text_of(c.pod));
}

static void show_json(struct cam_json *j, const struct cam_quality *q)
{
	cam_json_open(j, "stacks", '{');
	show_row_json(j, &q->all);
	cam_json_open(j, "processes", '[');
	for (size_t i = 0; i < q->n_rows; i++) {
		const struct cam_quality_row *r = &q->rows[i];
		cam_json_open(j, NULL, '{');
		cam_json_i64(j, "pid", r->pid);
		cam_json_text(j, "comm", r->comm);
		cam_json_text(j, "exe", r->exe);
		show_place_json(j, r->cgroup);
		show_row_json(j, r);
		if (r->worst_unnamed)
			cam_json_text(j, "worst_file", r->worst);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
	cam_json_close(j, '}');
}

static void show_percent(struct cam_out *out, uint64_t part, uint64_t whole)
{
	if (whole)
		cam_out_printf(out, " %7.1f %%", (double)share(part, whole) / 10);
	else
		cam_out_printf(out, " %9s", "-");
}

static void show_row(struct cam_out *out, const struct cam_quality_row *r, const char *who)
{
	enum cam_stack_end why = cam_quality_why(r);
	uint64_t frames = r->user_frames + r->jit_frames + r->kernel_frames;
	cam_out_printf(out, "  %-24s %9llu", who, (unsigned long long)r->samples);
	show_percent(out, r->complete, r->user);
	show_percent(out, frames - r->user_unnamed - r->jit_unnamed - r->kernel_unnamed, frames);
	/* Where nobody has a user stack, who that is. */
	if (!r->user)
		why = r->ends[CAM_STACK_WORKER] > r->ends[CAM_STACK_NO_USER] ? CAM_STACK_WORKER
									     : CAM_STACK_NO_USER;
	if (r->ends[why])
		cam_out_printf(out, "  %s", cam_stack_end_words(why));
	if (r->guessed)
		cam_out_printf(out, "  (%u %% guessed)", (share(r->guessed, r->samples) + 5) / 10);
	struct cam_container c = cam_container_of(r->cgroup);
	if (c.id.n) {
		cam_out_str(out, "  container ");
		cam_out_printable(out, (struct cam_text){c.id.p, c.id.n < 12 ? c.id.n : 12});
	}
	cam_out_str(out, "\n");
}

static void show_text(struct cam_out *out, const struct cam_quality *q, const char *last)
{
	cam_out_printf(out, "\nStacks and names of the last %s\n", last);
	cam_out_printf(out, "  %-24s %9s %9s %9s  %s\n", "process", "samples", "complete", "named",
		       "most of the incomplete");
	for (size_t i = 0; i < q->n_rows && i < SHOWN; i++) {
		char who[80];
		show_row(out, &q->rows[i], who_is(&q->rows[i], 16, who, sizeof(who)));
	}
	char who[32];
	snprintf(who, sizeof(who), "all %zu", q->n_rows);
	show_row(out, &q->all, who);
}

/* Of several processes of one name the busiest is judged: a build has hundreds of compilers. */
static bool is_busiest(const struct cam_quality *q, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (cam_text_equal(q->rows[k].comm, q->rows[i].comm))
			return false;
	}
	return true;
}

static void judge(struct cam_doctor *d, const struct cam_quality *q)
{
	judge_kernel(d, &q->all);
	for (size_t i = 0; i < q->n_rows; i++) {
		const struct cam_quality_row *r = &q->rows[i];
		if (r->samples < FEW_SAMPLES || share(r->samples, q->all.samples) < WORTH_A_WORD ||
		    !is_busiest(q, i))
			continue;
		judge_stacks(d, r);
		judge_jit_names(d, r);
		judge_file_names(d, r);
	}
}

int cam_doctor_stacks(struct cam_doctor *d, struct cam_asking *a, const char *last)
{
	struct cam_reading in;
	struct cam_selection s;
	struct cam_quality q;
	int status = cam_picking_select(&(struct cam_range_options){.last = last},
					&(struct cam_filter_options){0}, &s);
	if (!status)
		status = cam_reading_open(&(struct cam_reading_options){.store = a->settings.store},
					  &in);
	if (status) {
		cam_selection_free(&s);
		return status;
	}
	int err = cam_quality_build(in.source, &s, NULL, &q);
	if (err) {
		status = cam_failed("%s: %s", in.name, cam_errno_words(err));
	} else {
		if (d->json)
			show_json(d->json, &q);
		else if (q.all.samples)
			show_text(d->out, &q, last);
		judge(d, &q);
		cam_quality_free(&q);
	}
	cam_reading_close(&in);
	cam_selection_free(&s);
	return status;
}
