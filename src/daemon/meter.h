// SPDX-License-Identifier: Apache-2.0
/*
 * What perfcam costs: CPU time of its own processes, every CAM_METER_S seconds (looking is itself a cost),
 * and whether that is within its budget. When it is not, the sampling rate is what gives way. Memory is
 * looked at when somebody asks.
 *
 * Ingest thread. Reads /proc of our own processes only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum cam_meter_role {
	CAM_METER_RECORDER,
	CAM_METER_OPENER,
	CAM_METER_SYMBOLISER,
	CAM_METER_SEALER,
	CAM_METER_SERVER,
	CAM_METER_JOURNAL,
	CAM_METER_CAPSULE, /* of a rule */
	CAM_METER_ROLES,
};

struct cam_meter_reading {
	pid_t pid;	 /* 0: does not run */
	uint64_t cpu_ns; /* since the start, of all processes that had this role */
	uint64_t minute_cpu_ns, minute_ns; /* over the last minute or so, or since the start */
};

#define CAM_METER_S	  5
#define CAM_METER_HISTORY 16

struct cam_meter {
	struct cam_meter_reading roles[CAM_METER_ROLES];
	uint64_t alive_cpu_ns[CAM_METER_ROLES]; /* of the process that has the role now */
	uint64_t total[CAM_METER_HISTORY][CAM_METER_ROLES];
	uint64_t time_ns[CAM_METER_HISTORY];
	size_t readings;
	uint64_t last_ns, last_span_ns; /* CPU of all roles in the last interval, and its length */
};

/* pids by role; 0: does not run now. A pid that changed is another process. */
void cam_meter_read(struct cam_meter *m, uint64_t now_ns, const pid_t pids[CAM_METER_ROLES]);
/* CPU of a process that came and went between two readings. */
void cam_meter_add(struct cam_meter *m, enum cam_meter_role role, uint64_t cpu_ns);
/* CPU that a process took until it ended, with what readings have of it. */
void cam_meter_end(struct cam_meter *m, enum cam_meter_role role, pid_t pid, uint64_t cpu_ns);
struct rusage;
/* Of both modes. */
uint64_t cam_meter_used_ns(const struct rusage *u);
/* CPU of a role up to this moment; pid: who has it now. */
uint64_t cam_meter_cpu_now(const struct cam_meter *m, enum cam_meter_role role, pid_t pid);
/* CPU of what sampling costs in parts per million of one CPU, over the last `seconds` or a little more; false: not
 * known yet. Without capsules and the server: fewer samples would make none of them cheaper, and who looks wants them. */
bool cam_meter_ppm(const struct cam_meter *m, unsigned seconds, uint64_t *ppm);

/* Resident memory of a process; 0: it does not run. */
uint64_t cam_meter_resident(pid_t pid);
/* Bytes this process has had written to disk; 0 where the kernel does not say. */
uint64_t cam_meter_written(void);

/* CPU time of this process so far. */
uint64_t cam_meter_own_ns(void);

/*
 * The rate that keeps the budget. Halves when the last 10 s cost more than max_ppm; goes back up, to twice at least and
 * to wanted at most, when 60 s at what that costs would have been within it. Never below 1 Hz.
 * Far above the budget 10 s are long: where this process alone took more than three times of it over 3 s, the rate goes
 * down at once by as much as it was too dear, at most to an eighth. Helpers do not count there: a program that is met
 * for the first time takes the symboliser a second, whatever the rate is.
 */
struct cam_shedder {
	uint32_t wanted_hz, hz;
	uint64_t max_ppm; /* of one CPU; 0: no limit */
	uint64_t changed_ns;
	uint64_t settled_ns; /* until then the start is under way */
	uint64_t look_ns,
		look_own_ns; /* where the 3 s began, and what had been taken by then; 0: nowhere yet */
};
/* True: s->hz has changed. */
bool cam_shedder_step(struct cam_shedder *s, const struct cam_meter *m, uint64_t now_ns);
/* The same, once a second; own_ns: cam_meter_own_ns(). */
bool cam_shedder_look(struct cam_shedder *s, uint64_t own_ns, uint64_t now_ns);
