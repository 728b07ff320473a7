// SPDX-License-Identifier: Apache-2.0
/*
 * The axis of `why`: every second that the windows looked at may hold, numbered from 0, boot after boot;
 * and what is known of each: whether it was observed, when it was, which are asked about.
 *
 * A second is one of the window's clock (time_ns / 10^9), as footers have them. One that was not observed
 * whole (a window began in it, the recorder was dead, samples were lost) is no part of any history: a
 * process that nobody watched has not stopped. Where the recorder takes fewer samples to keep to its budget, these seconds
 * are left out, too; unless that is how most of the time was recorded: then counts compare as they are.
 */
#pragma once
#include "model/cursor.h"

#define CAM_WHY_MAX_SECONDS (1u << 21) /* 24 days */
#define CAM_WHY_NOWHERE	    UINT32_MAX

enum cam_why_second {
	CAM_WHY_SEEN = 1 << 0,	    /* observed */
	CAM_WHY_FUNCTIONS = 1 << 1, /* and its stacks were read */
	CAM_WHY_ASKED = 1 << 2,	    /* part of what is asked about */
	CAM_WHY_NEAR = 1 << 3,	    /* next to that: part of no history either */
	CAM_WHY_BASELINE = 1 << 4,  /* may be part of a history */
	CAM_WHY_GONE = 1 << 5,	    /* its cells are being given up */
	CAM_WHY_PIDS =
		1
		<< 6, /* processes are known one by one, not only together with those of their name */
	CAM_WHY_PAUSES = 1 << 7, /* times of samples were read */
};

/* Imported windows have a boot id each: those whose clocks agree are one boot. */
struct cam_why_boot {
	struct cam_boot_id id; /* of the first window */
	bool imported;
	int64_t shift_ns;     /* of an import: wall clock - its own */
	uint64_t first, last; /* seconds */
	uint32_t base;
};

struct cam_why_axis {
	struct cam_why_boot *boots;
	size_t n_boots, cap_boots;
	struct cam_why_boot_name {
		struct cam_boot_id id;
		uint32_t boot;
	} * ids;
	size_t n_ids, cap_ids;
	uint32_t n;	/* seconds */
	uint32_t most;	/* that it may have; 0: CAM_WHY_MAX_SECONDS */
	size_t last_id; /* that was asked for */
	uint8_t *flags;
	int64_t *wall_ns;     /* of its begin; INT64_MIN: not known */
	uint32_t *covered_ms; /* by windows */
	uint32_t *due, *lost; /* samples, by the ledger */
	uint32_t *shed;	      /* not taken, to keep to a budget: fewer samples of everything */
};

/* One more window to look at; all of them, then cam_why_axis_make(). -E2BIG: too long an axis, -ENOMEM. */
int cam_why_axis_add(struct cam_why_axis *a, const struct cam_window_info *info);
int cam_why_axis_make(struct cam_why_axis *a);
void cam_why_axis_free(struct cam_why_axis *a);
/* CAM_WHY_NOWHERE: not on it. */
uint32_t cam_why_axis_find(struct cam_why_axis *a, const struct cam_boot_id *boot, uint64_t second);
/* The boot of a second, and the second on its clock. */
const struct cam_why_boot *cam_why_axis_boot(const struct cam_why_axis *a, uint32_t at,
					     uint64_t *second);
/* A window's own part of it: [start, end) is covered. */
void cam_why_axis_cover(struct cam_why_axis *a, const struct cam_window_info *info);
/* Whether two of its seconds are half a day apart. */
bool cam_why_axis_has_days(const struct cam_why_axis *a);
/* When all is known: which seconds were observed. */
void cam_why_axis_settle(struct cam_why_axis *a);
