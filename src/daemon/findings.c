// SPDX-License-Identifier: Apache-2.0
#include "daemon/findings.h"

#include "base/buf.h"
#include "base/packet.h"
#include "base/units.h"
#include "query/starve.h"
#include "store/borrowed.h"
#include "store/window.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define TIMES  3u
#define PER_NS (600 * CAM_NS_PER_SEC)

_Static_assert(CAM_FINDINGS_MAX >= CAM_STARVED_MAX, "all of a window");

static void copy(char *room, size_t bytes, struct cam_text t)
{
	size_t n = t.n < bytes - 1 ? t.n : bytes - 1;
	memcpy(room, t.p, n);
	room[n] = '\0';
}

static void describe(const struct cam_window *w, const struct cam_tables *t,
		     const struct cam_starved *s, uint64_t more, struct cam_finding *out)
{
	struct cam_buf b = CAM_BUF(16 * CAM_FINDING_BYTES);
	char room[128], name[160], path[4 * 160] = "";
	size_t at = 0;
	double seconds = (double)s->length_ns / (double)CAM_NS_PER_SEC;
	*out = (struct cam_finding){
		.boot_id = w->info.boot_id, .time_ns = s->time_ns, .length_ns = s->length_ns};
	for (size_t i = 0; i < s->n_path && at < sizeof(path); i++) {
		copy(name, sizeof(name), cam_function_label(t, s->path[i], room, sizeof(room)));
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%s%s", i ? " ← " : "", name);
	}
	if (s->task.v < t->n_tasks) {
		const struct cam_task *task = &t->tasks[s->task.v];
		copy(out->who, sizeof(out->who), cam_string(t, task->comm));
		cam_buf_printf(&b, "CPU %u was kept by %s (pid %d) for %.1f s", s->cpu, out->who,
			       (int)task->pid, seconds);
	} else {
		copy(out->who, sizeof(out->who),
		     cam_function_label(t, s->path[0], room, sizeof(room)));
		cam_buf_printf(&b, "CPU %u was kept by the kernel's %s for %.1f s", s->cpu,
			       out->who, seconds);
	}
	cam_buf_printf(&b, " while the machine was %u %% busy", s->busy_percent);
	/* With each: some of them may be no news. */
	if (more)
		cam_buf_printf(&b, " (%llu more in that window)", (unsigned long long)more);
	if (path[0])
		cam_buf_printf(&b, "; %u %% in %s", s->path_percent, path);
	copy(out->text, sizeof(out->text), (struct cam_text){(const char *)b.data, b.len});
	cam_buf_free(&b);
}

void cam_findings_send(struct cam_file *window, int socket)
{
	struct cam_file *again;
	struct cam_window *w;
	struct cam_starving found;
	const struct cam_tables *t;
	if (cam_file_borrow(window, &again) || cam_window_open(again, &w))
		return;
	if (!w->info.imported && cam_starved_find(w, &found) == 0 && w->ops->tables(w, &t) == 0) {
		for (size_t i = 0; i < found.n; i++) {
			struct cam_finding f;
			describe(w, t, &found.v[i], found.more, &f);
			if (cam_packet_send(socket, &f, sizeof(f), -1))
				break;
		}
	}
	w->ops->close(w);
}

size_t cam_findings_receive(int socket, struct cam_finding out[CAM_FINDINGS_MAX])
{
	size_t n = 0;
	int fd;
	for (unsigned i = 0; i < 2 * CAM_FINDINGS_MAX && n < CAM_FINDINGS_MAX; i++) {
		ssize_t got = cam_packet_receive(socket, &out[n], sizeof(out[n]), &fd);
		if (fd >= 0)
			close(fd);
		if (got <= 0)
			break;
		struct cam_finding *f = &out[n];
		bool whole = (size_t)got == sizeof(*f) && memchr(f->text, 0, sizeof(f->text)) &&
			     memchr(f->who, 0, sizeof(f->who)) && f->text[0];
		n += whole;
	}
	return n;
}

/* Whose place is taken rather: that of another boot, since their times do not compare, else the older one. */
static bool goes_before(const struct cam_found *a, const struct cam_found *b, uint64_t boot)
{
	if ((a->boot == boot) != (b->boot == boot))
		return a->boot != boot;
	return a->since_ns < b->since_ns;
}

bool cam_finding_is_news(struct cam_found known[CAM_FOUND], const struct cam_finding *f)
{
	uint64_t boot = XXH3_64bits(&f->boot_id, sizeof(f->boot_id)) | 1;
	uint64_t who = XXH3_64bits(f->who, strlen(f->who)) | 1;
	struct cam_found *oldest = &known[0];
	for (size_t i = 0; i < CAM_FOUND; i++) {
		struct cam_found *x = &known[i];
		if (x->boot == boot && x->who == who) {
			if (f->time_ns < x->since_ns + PER_NS)
				return ++x->times <= TIMES;
			oldest = x;
			break;
		}
		if (goes_before(x, oldest, boot))
			oldest = x;
	}
	*oldest = (struct cam_found){boot, who, f->time_ns, 1};
	return true;
}
