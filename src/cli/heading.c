// SPDX-License-Identifier: Apache-2.0
#include "cli/heading.h"

#include "cli/place.h"
#include "cli/say.h"

#include <stdio.h>
#include <string.h>

void cam_heading_when(const struct cam_seen *seen, char *room, size_t bytes)
{
	char from[40], to[40];
	if (!seen->observed_ns || seen->realtime_from_ns == INT64_MIN ||
	    seen->realtime_to_ns == INT64_MIN)
		return;
	cam_show_realtime(seen->realtime_from_ns, from, sizeof(from));
	cam_show_realtime(seen->realtime_to_ns, to, sizeof(to));
	/* "2026-04-15 03:14:07+02:00": the date once, and the zone, where they are the same. */
	bool one_day = !strncmp(from, to, 11), one_zone = !strcmp(from + 19, to + 19);
	snprintf(room, bytes, "%.*s%s%.19s%s – %.*s %s", (int)seen->host.n, seen->host.p,
		 seen->host.n ? " · " : "", from, one_zone ? "" : from + 19, one_day ? 8 : 19,
		 one_day ? to + 11 : to, to + 19);
}

static void add_scope(char *room, size_t bytes, const char *name,
		      const struct cam_option_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		size_t n = strlen(room);
		snprintf(room + n, bytes - n, "%s%s %s", n ? ", " : "", name, list->values[i]);
	}
}

void cam_heading_scope(const struct cam_filter_options *o, char *room, size_t bytes)
{
	add_scope(room, bytes, "pid", &o->pid);
	add_scope(room, bytes, "thread", &o->tid);
	add_scope(room, bytes, "command", &o->comm);
	add_scope(room, bytes, "user", &o->user);
	add_scope(room, bytes, "user", &o->uid);
	add_scope(room, bytes, "cgroup", &o->cgroup);
	add_scope(room, bytes, "program", &o->exe);
	add_scope(room, bytes, "CPU", &o->cpu);
	add_scope(room, bytes, "with", &o->match);
	add_scope(room, bytes, "without", &o->exclude);
	size_t n = strlen(room);
	if (o->user_only || o->kernel_only)
		snprintf(room + n, bytes - n, "%s%s", n ? ", " : "",
			 o->user_only ? "user space" : "kernel");
	if (!room[0])
		snprintf(room, bytes, "everything recorded");
}

int cam_heading_judge(const struct cam_seen *seen)
{
	if (seen->unreadable)
		return cam_incomplete("%llu windows could not be read and are missing",
				      (unsigned long long)seen->unreadable);
	if (seen->damaged || seen->damaged_stacks)
		return cam_incomplete("damaged data: %llu samples are missing, %llu are under "
				      "[damaged]",
				      (unsigned long long)seen->damaged,
				      (unsigned long long)seen->damaged_stacks);
	if (seen->damaged_parts)
		return cam_incomplete(
			"damaged data: %llu parts could not be read, what they name is "
			"[damaged] or left out",
			(unsigned long long)seen->damaged_parts);
	if (seen->lost)
		return cam_incomplete(
			"%llu samples were lost before they could be kept (the ledger has "
			"them)",
			(unsigned long long)seen->lost);
	if (seen->dead_ns)
		return cam_incomplete("the recorder was not running for %.3f s of that time",
				      (double)seen->dead_ns / 1e9);
	if (seen->other_events)
		cam_note("%llu samples of other events are not in it: --event-type",
			 (unsigned long long)seen->other_events);
	return CAM_EXIT_OK;
}
