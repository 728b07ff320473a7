// SPDX-License-Identifier: Apache-2.0
#include "model/nouns.h"

static const struct {
	const char *words, *key;
	bool loss;
} causes[] = {
	[CAM_CAUSE_IDLE] = {"idle", "idle", false},
	[CAM_CAUSE_LOST_RING] = {"ring full", "lost_ring", true},
	[CAM_CAUSE_LOST_QUEUE] = {"queue full", "lost_queue", true},
	[CAM_CAUSE_THROTTLED] = {"throttled by the kernel", "throttled", true},
	[CAM_CAUSE_OFFLINE] = {"CPU offline", "offline", false},
	[CAM_CAUSE_SUSPENDED] = {"suspended", "suspended", false},
	[CAM_CAUSE_DISK_FULL] = {"disk full", "disk_full", true},
	[CAM_CAUSE_RECORDER_DEAD] = {"recorder not running", "recorder_dead", true},
	[CAM_CAUSE_NOT_RECORDING] = {"recording stopped", "not_recording", false},
	[CAM_CAUSE_DAMAGED] = {"damaged", "damaged", true},
	[CAM_CAUSE_MALFORMED] = {"malformed", "malformed", true},
	[CAM_CAUSE_BOUND] = {"tables full", "bound", true},
	[CAM_CAUSE_STOLEN] = {"stolen by the hypervisor", "stolen", false},
	[CAM_CAUSE_BLOCKED] = {"blocked by other BPF code", "blocked", true},
	[CAM_CAUSE_FILTERED] = {"outside the scope", "filtered", false},
	[CAM_CAUSE_SHED] = {"shed to keep the CPU budget", "shed", true},
	[CAM_CAUSE_UNEXPLAINED] = {"unexplained", "unexplained", false},
};
_Static_assert(sizeof(causes) / sizeof(causes[0]) == CAM_CAUSE_MAX, "a cause without words");

bool cam_cause_is_loss(enum cam_cause cause)
{
	return (unsigned)cause < CAM_CAUSE_MAX && causes[cause].loss;
}

const char *cam_cause_words(enum cam_cause cause)
{
	return (unsigned)cause < CAM_CAUSE_MAX ? causes[cause].words : "unknown";
}

const char *cam_cause_key(enum cam_cause cause)
{
	return (unsigned)cause < CAM_CAUSE_MAX ? causes[cause].key : "unknown";
}
