// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of crew share; private to them.
 *	crew.c		helpers, errands under way, the kernel's symbols
 *	crew_debug.c	names of files, and the debug files and supplements that they want
 *	crew_copies.c	copies of stacks
 */
#pragma once
#include "base/bundle.h"
#include "daemon/crew.h"
#include "daemon/holds.h"
#include "helper/helper.h"

#define CAM_CREW_UNDER_WAY 1024u
_Static_assert(CAM_BUNDLE_BYTES <= CAM_ERRAND_MAX_BYTES, "a helper receives it");

struct cam_crew_errand {
	bool used, sent;
	bool grows; /* what it brings is written to while it is held */
	bool part;  /* another one has the rest of what was asked for, under the same ticket */
	enum cam_errand_type type;
	uint32_t ticket, file;
	int32_t pid, tid;
	uint64_t order; /* of arrival */
	uint64_t deadline_ns;
	struct {
		bool went;	  /* along */
		uint32_t skipped; /* candidates before that one */
	} aids[CAM_AIDS];
	enum cam_aid_kind aid; /* DEBUG: which is looked for */
	uint64_t *offsets;     /* only while it may have to be sent again */
	uint32_t n_offsets;
};

struct cam_crew_worker {
	struct cam_helper helper;
	enum cam_helper_role role;
	uint32_t starts;
	uint64_t started_ns, backoff_ns, not_before_ns;
};

struct cam_crew {
	struct cam_errands door;
	cam_tidings_fn *deliver;
	void *arg;
	int epoll_fd;
	struct cam_crew_worker opener, symboliser;
	bool symboliser_asked; /* since helpers were looked at */
	uint64_t symboliser_used_ns;
	uint32_t symboliser_rests; /* how often it was sent away, having nothing to do */
	struct cam_crew_errand under_way[CAM_CREW_UNDER_WAY];
	size_t top, n_under_way, n_with_opener;
	uint64_t order;
	uint64_t looked_s; /* when helpers and held files were looked at */
	bool look_now;	   /* a helper seems to be gone */
	uint32_t look;	   /* at files of records: a number for all that is read at once */
	struct cam_holds holds;
	struct cam_closer closer; /* of all descriptors that the opener brought */
	bool java_maps;
	/* The kernel's symbols. */
	bool kernel_asked, kernel_sent;
	uint64_t stale_from, stale_to;	   /* what changed since; none: from >= to */
	uint64_t changed_from, changed_to; /* what ever did */
	unsigned kernel_renewals;	   /* that may still follow at once */
	uint64_t kernel_refilled_ns;
	struct cam_crew_stats stats;
	struct cam_bundle bundle; /* copies of stacks that go to the symboliser, next */
	uint64_t packet[CAM_ERRAND_MAX_BYTES / 8];
	uint64_t received[CAM_ERRAND_MAX_BYTES / 8];
	uint64_t scratch[CAM_ERRAND_MAX_BYTES / 4];
};

/* crew.c */
/* Starts it if it does not run; -EAGAIN: it died too often to be started now. */
int cam_crew_start(struct cam_crew *c, struct cam_crew_worker *w);
/* A row for an errand; NULL: too many are under way. */
struct cam_crew_errand *cam_crew_note(struct cam_crew *c, const struct cam_errand *in);
void cam_crew_forget(struct cam_crew *c, struct cam_crew_errand *e);
/* Answers it with an error, and forgets it. */
void cam_crew_fail(struct cam_crew *c, struct cam_crew_errand *e, int error);
int cam_crew_pack(struct cam_crew *c, struct cam_crew_worker *w, const struct cam_errand *e,
		  int fd);

/* crew_debug.c */
/* Names of a file that is held: sent, or kept until its debug file is there. */
int cam_crew_send_names(struct cam_crew *c, const struct cam_errand *in, const struct cam_hold *h);
/* The symboliser wants a debug file or a supplement, or another than it was given. */
void cam_crew_want_aid(struct cam_crew *c, struct cam_crew_errand *e,
		       const struct cam_names_tidings *t);
/* The opener has looked for it: fd (taken over), or -1. What waited goes on. */
void cam_crew_settle_aid(struct cam_crew *c, uint32_t file, enum cam_aid_kind kind, int fd);
/* What an answer says of its file. */
void cam_crew_note_names(struct cam_crew *c, const struct cam_crew_errand *e,
			 const struct cam_names_tidings *t);
/* Whether this errand for names waits for something: the kernel's symbols, a debug file. */
bool cam_crew_waits(const struct cam_crew_errand *e, uint32_t file);

/* crew_copies.c */
/* A copy of a stack (UNWIND): it goes out with others. -EAGAIN: there is no room for it now. */
int cam_crew_gather(struct cam_crew *c, const struct cam_errand *e);
/* Sends those that were gathered. -EAGAIN: they stay. */
int cam_crew_send_copies(struct cam_crew *c);
