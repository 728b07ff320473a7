// SPDX-License-Identifier: Apache-2.0
/*
 * An open table: a process lies at pid modulo its size, or in one of the places behind that. What is removed leaves
 * a gap, so those behind it are put in again.
 */
#include "events/process_watch.h"

#include <errno.h>
#include <fnmatch.h>

int cam_process_watch_set(struct cam_process_watch *w, struct cam_text rest)
{
	*w = (struct cam_process_watch){0};
	while (rest.n) {
		const char *comma = memchr(rest.p, ',', rest.n);
		struct cam_text name = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};
		size_t used = name.n + (comma != NULL);
		rest.p += used;
		rest.n -= used;
		while (name.n && name.p[0] == ' ')
			name = (struct cam_text){name.p + 1, name.n - 1};
		while (name.n && name.p[name.n - 1] == ' ')
			name.n--;
		if (!name.n || name.n >= CAM_WATCH_NAME || w->n_names == CAM_WATCH_NAMES)
			return -EINVAL;
		memcpy(w->names[w->n_names++], name.p, name.n);
	}
	return 0;
}

static size_t find(const struct cam_process_watch *w, int32_t pid)
{
	size_t at = (uint32_t)pid % CAM_WATCH_PROCESSES;
	for (size_t i = 0; i < CAM_WATCH_PROCESSES; i++, at = (at + 1) % CAM_WATCH_PROCESSES) {
		if (w->processes[at].pid == pid || !w->processes[at].pid)
			return at;
	}
	return CAM_WATCH_PROCESSES;
}

bool cam_process_watch_begin(struct cam_process_watch *w, int32_t pid, struct cam_text name)
{
	struct cam_watched p = {.pid = pid};
	bool wanted = false;
	memcpy(p.name, name.p, name.n < CAM_WATCH_NAME - 1 ? name.n : CAM_WATCH_NAME - 1);
	for (unsigned i = 0; i < w->n_names && !wanted; i++)
		wanted = fnmatch(w->names[i], p.name, 0) == 0;
	if (!wanted || pid <= 0)
		return false;
	size_t at = find(w, pid);
	if (at < CAM_WATCH_PROCESSES && w->processes[at].pid == pid)
		return false;
	/* One place stays free, so that a search ends. */
	if (w->n_processes >= CAM_WATCH_PROCESSES - 1) {
		w->unfollowed++;
		return true;
	}
	w->processes[at] = p;
	w->n_processes++;
	return true;
}

bool cam_process_watch_end(struct cam_process_watch *w, int32_t pid, char room[CAM_WATCH_NAME])
{
	size_t at = pid > 0 && w->n_processes ? find(w, pid) : CAM_WATCH_PROCESSES;
	if (at == CAM_WATCH_PROCESSES || w->processes[at].pid != pid)
		return false;
	memcpy(room, w->processes[at].name, CAM_WATCH_NAME);
	w->processes[at] = (struct cam_watched){0};
	w->n_processes--;
	for (size_t i = (at + 1) % CAM_WATCH_PROCESSES; w->processes[i].pid;
	     i = (i + 1) % CAM_WATCH_PROCESSES) {
		struct cam_watched moved = w->processes[i];
		w->processes[i] = (struct cam_watched){0};
		w->processes[find(w, moved.pid)] = moved;
	}
	return true;
}

const char *cam_process_watch_name(const struct cam_process_watch *w, int32_t pid)
{
	size_t at = pid > 0 && w->n_processes ? find(w, pid) : CAM_WATCH_PROCESSES;
	return at < CAM_WATCH_PROCESSES && w->processes[at].pid == pid ? w->processes[at].name
								       : NULL;
}
