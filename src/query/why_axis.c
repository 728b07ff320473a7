// SPDX-License-Identifier: Apache-2.0
#include "query/why_axis.h"

#include "base/units.h"
#include "base/vec.h"

#include <string.h>

#define MAX_BOOTS      1024u
#define MAX_IDS	       (1u << 20)
#define WHOLE_MS       990u /* of a second that counts as covered */
#define SLACK_NS       (CAM_NS_PER_SEC / 20)
#define HALF_A_DAY     43200u
#define LOST_OF_TENTHS 1u /* samples lost in a second that counts as observed */

static struct cam_why_boot *find_boot(struct cam_why_axis *a, const struct cam_boot_id *id)
{
	if (a->last_id < a->n_ids && !memcmp(&a->ids[a->last_id].id, id, sizeof(*id)))
		return &a->boots[a->ids[a->last_id].boot];
	for (size_t i = 0; i < a->n_ids; i++) {
		if (memcmp(&a->ids[i].id, id, sizeof(*id)) != 0)
			continue;
		a->last_id = i;
		return &a->boots[a->ids[i].boot];
	}
	return NULL;
}

/* The boot of a window that is not known by its id. */
static struct cam_why_boot *find_clock(struct cam_why_axis *a, const struct cam_window_info *info,
				       int64_t shift_ns)
{
	for (size_t i = 0; i < a->n_boots && info->imported && shift_ns != INT64_MIN; i++) {
		struct cam_why_boot *b = &a->boots[i];
		if (b->imported && b->shift_ns != INT64_MIN &&
		    llabs(b->shift_ns - shift_ns) < (int64_t)CAM_NS_PER_SEC)
			return b;
	}
	return NULL;
}

static int add_id(struct cam_why_axis *a, const struct cam_boot_id *id, uint32_t boot)
{
	int err = cam_vec_reserve(&a->ids, &a->cap_ids, a->n_ids + 1, sizeof(*a->ids), MAX_IDS);
	if (!err)
		a->ids[a->n_ids++] = (struct cam_why_boot_name){*id, boot};
	return err;
}

int cam_why_axis_add(struct cam_why_axis *a, const struct cam_window_info *info)
{
	uint64_t first = info->start_ns / CAM_NS_PER_SEC, last = info->end_ns / CAM_NS_PER_SEC;
	uint64_t all = 0, longer = last - first + 2;
	int64_t shift = info->realtime_ns == INT64_MIN || info->start_ns > INT64_MAX
				? INT64_MIN
				: info->realtime_ns - (int64_t)info->start_ns;
	struct cam_why_boot *known = find_boot(a, &info->boot_id);
	struct cam_why_boot *b = known ? known : find_clock(a, info, shift);
	for (size_t i = 0; i < a->n_boots; i++)
		all += a->boots[i].last - a->boots[i].first + 2;
	if (b) {
		first = first < b->first ? first : b->first;
		last = last > b->last ? last : b->last;
		longer = last - first - (b->last - b->first);
	}
	uint64_t most = a->most ? a->most : CAM_WHY_MAX_SECONDS;
	if (longer > most || all + longer > most)
		return -E2BIG;
	int err = cam_vec_reserve(&a->boots, &a->cap_boots, a->n_boots + 1, sizeof(*a->boots),
				  MAX_BOOTS);
	if (err)
		return err;
	uint32_t at = b ? (uint32_t)(b - a->boots) : (uint32_t)a->n_boots;
	if (!b)
		a->boots[a->n_boots++] = (struct cam_why_boot){
			.id = info->boot_id, .imported = info->imported, .shift_ns = shift};
	a->boots[at].first = first;
	a->boots[at].last = last;
	return known ? 0 : add_id(a, &info->boot_id, at);
}

int cam_why_axis_make(struct cam_why_axis *a)
{
	uint64_t n = 0;
	for (size_t i = 0; i < a->n_boots; i++) {
		struct cam_why_boot *b = &a->boots[i];
		b->base = (uint32_t)n;
		/* A second between boots, so that no sum reaches from one into the next. */
		n += b->last - b->first + 2;
	}
	a->n = (uint32_t)n;
	a->flags = calloc(n + 1, sizeof(*a->flags));
	a->wall_ns = calloc(n + 1, sizeof(*a->wall_ns));
	a->covered_ms = calloc(n + 1, sizeof(*a->covered_ms));
	a->due = calloc(n + 1, sizeof(*a->due));
	a->lost = calloc(n + 1, sizeof(*a->lost));
	a->shed = calloc(n + 1, sizeof(*a->shed));
	if (!a->flags || !a->wall_ns || !a->covered_ms || !a->due || !a->lost || !a->shed)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n; i++)
		a->wall_ns[i] = INT64_MIN;
	return 0;
}

void cam_why_axis_free(struct cam_why_axis *a)
{
	free(a->boots);
	free(a->ids);
	free(a->flags);
	free(a->wall_ns);
	free(a->covered_ms);
	free(a->due);
	free(a->lost);
	free(a->shed);
	*a = (struct cam_why_axis){0};
}

uint32_t cam_why_axis_find(struct cam_why_axis *a, const struct cam_boot_id *boot, uint64_t second)
{
	const struct cam_why_boot *b = find_boot(a, boot);
	if (!b || second < b->first || second > b->last)
		return CAM_WHY_NOWHERE;
	return b->base + (uint32_t)(second - b->first);
}

const struct cam_why_boot *cam_why_axis_boot(const struct cam_why_axis *a, uint32_t at,
					     uint64_t *second)
{
	const struct cam_why_boot *b = &a->boots[0];
	for (size_t i = 1; i < a->n_boots && a->boots[i].base <= at; i++)
		b = &a->boots[i];
	*second = b->first + (at - b->base);
	return b;
}

void cam_why_axis_cover(struct cam_why_axis *a, const struct cam_window_info *info)
{
	/* Other tools' files end with a sample: what is between that and the next one was observed. */
	uint64_t slack = info->imported ? SLACK_NS : 0;
	uint64_t from = info->start_ns > slack ? info->start_ns - slack : 0;
	uint64_t end = info->end_ns + slack;
	for (uint64_t ns = from; ns < end;) {
		uint64_t next = (ns / CAM_NS_PER_SEC + 1) * CAM_NS_PER_SEC;
		uint64_t to = next < end ? next : end;
		uint32_t at = cam_why_axis_find(a, &info->boot_id, ns / CAM_NS_PER_SEC);
		if (at != CAM_WHY_NOWHERE)
			a->covered_ms[at] +=
				(uint32_t)((to - ns + CAM_NS_PER_MS / 2) / CAM_NS_PER_MS);
		ns = next;
	}
}

/* More than a tenth of what was due. */
static bool much(const struct cam_why_axis *a, uint32_t at, uint64_t missing)
{
	return missing * 10 > a->due[at] * (uint64_t)LOST_OF_TENTHS;
}

void cam_why_axis_settle(struct cam_why_axis *a)
{
	uint32_t covered = 0, shed = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		covered += a->covered_ms[i] >= WHOLE_MS;
		shed += a->covered_ms[i] >= WHOLE_MS && much(a, i, a->shed[i]);
	}
	bool usual = shed > covered / 2;
	for (uint32_t i = 0; i < a->n; i++) {
		uint64_t missing = (uint64_t)a->lost[i] + (usual ? 0 : a->shed[i]);
		/* Without a single sample, idle ones included, nobody looked: files of other tools do not say. */
		if (a->covered_ms[i] >= WHOLE_MS && a->due[i] && !much(a, i, missing))
			a->flags[i] |= CAM_WHY_SEEN;
		else
			a->flags[i] &= (uint8_t)~CAM_WHY_FUNCTIONS;
	}
}

bool cam_why_axis_has_days(const struct cam_why_axis *a)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	for (uint32_t t = 0; t < a->n; t++) {
		if (a->wall_ns[t] == INT64_MIN)
			continue;
		first = a->wall_ns[t] < first ? a->wall_ns[t] : first;
		last = a->wall_ns[t] > last ? a->wall_ns[t] : last;
	}
	return first <= last && ((uint64_t)last - (uint64_t)first) / CAM_NS_PER_SEC >= HALF_A_DAY;
}
