// SPDX-License-Identifier: Apache-2.0
/*
 * The recorder: wires capture, ingest, helpers and store together, and runs until it is told to
 * stop. The one place that turns an errno into a policy and says so.
 *
 * Two threads: the drain thread (drain.h), and the caller's, which does all the rest and owns the
 * store. Signals: SIGTERM and SIGINT stop, SIGHUP reloads, SIGUSR1 seals what there is now.
 */
#pragma once
#include "daemon/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* How `helper hook` ends where it cannot keep a rule's program from the store. */
#define CAM_HOOK_REFUSED 125

struct cam_record_request {
	struct cam_settings *settings;		/* changed by a reload */
	const struct cam_settings_given *given; /* for the reload; NULL: none is possible */
	uint64_t duration_ns;			/* 0: until stopped */
	char **command; /* recorded with its children until it ends; gets a SIGTERM that the
			 * recorder got, but not its end by duration; NULL */
	bool one_off; /* a recording of its own: sealed wholly before it returns, no control socket,
		       * no retention */
	bool has_server; /* perfcam's own, which may be another one each time */
	int servers_fd; /* with has_server: a packet for each that was started, its pid (of the accounts), with a
			  * SOCK_SEQPACKET socket whose packets are questions; closed when there will be none any more */
	void (*ready)(void *arg); /* called once, when sampling has begun; NULL */
	void *ready_arg;
};

struct cam_record_result {
	int command_status;   /* as of waitpid(); -1: no command, or it outlives the recording */
	bool command_not_run; /* there is no such program, or it may not be executed (said) */
	uint64_t samples;
	uint64_t lost; /* by causes that are losses */
	int unstored;  /* there was no store at the end, for this reason (said); 0: there was */
	char last_window[512];
};

/*
 * 0: stopped as asked, everything is in the store but for what result says. -EWOULDBLOCK: another recorder has the store
 * (said). Other errors: nothing could be recorded (said).
 */
int cam_recorder_run(const struct cam_record_request *r, struct cam_record_result *result);
