// SPDX-License-Identifier: Apache-2.0
/*
 * What the routes have in common: windows, moments and selections from what was asked, a limit of time,
 * and what an error becomes. Each says in the answer what is wrong.
 */
#pragma once
#include "query/progress.h"
#include "query/select.h"
#include "query/views.h"
#include "serve/columns.h"
#include "serve/routes.h"

/* 0, or an errno that has been answered (503). */
int cam_asked_windows(const struct cam_server_doors *doors, struct cam_answer *a,
		      struct cam_source **out);
/* What a picture of bins is of: the windows, to be released, and "from", "to" and "bins" of the question. */
struct cam_asked_bins {
	struct cam_source *source;
	int64_t from_ns, to_ns;
	uint64_t n;
};
/* false: answered, and nothing is to be released; another parameter is refused, too. */
bool cam_asked_bins(const struct cam_server_doors *doors, const struct cam_request *q,
		    struct cam_answer *a, struct cam_asked_bins *out);
/* The body as a JSON object, whose type says that it is one; no parameters. false: answered. */
struct cam_json_value;
bool cam_asked_object(const struct cam_request *q, struct cam_answer *a, struct cam_json_value *v);
/* A time of the grammar under a key, which must be there. false: answered (400). */
bool cam_asked_moment(const struct cam_server_doors *doors, struct cam_source *source,
		      const struct cam_request *q, const char *key, struct cam_answer *a,
		      int64_t *ns);
/*
 * from, to and the filters, under the names of the command line's options; keys in `own` are the route's,
 * any other one is refused. false: answered (400), and nothing is to be freed.
 */
bool cam_asked_selection(const struct cam_server_doors *doors, struct cam_source *source,
			 const struct cam_request *q, const char *const *own, struct cam_answer *a,
			 struct cam_selection *s);

/*
 * Whether who asks has this answer already: it is about sealed windows only, all the same as then. Answered
 * (304) if so; else the answer has its tag, where it is about sealed windows only.
 */
bool cam_asked_before(struct cam_source *source, const struct cam_request *q,
		      const struct cam_selection *const *selections, size_t n,
		      struct cam_answer *a);

/* A question may take this long, then it is given up (503). */
#define CAM_ASKED_SECONDS 20

struct cam_asked_deadline {
	struct cam_progress progress;
	int64_t until_ns;
	const atomic_bool *stop; /* once it is set nobody waits any more; NULL: not looked at */
};
/* Points into itself: not to be copied. */
void cam_asked_deadline_begin(struct cam_asked_deadline *d);
/* Expressions give up then, too, however long they would take on somebody's names. */
void cam_asked_deadline_bind(struct cam_asked_deadline *d, struct cam_selection *s);

/* An error of query's in words. */
void cam_asked_failed(struct cam_answer *a, int err);
/* Ends the columns, as the answer. */
void cam_asked_finish(struct cam_columns *c, struct cam_answer *a);
/* What a view looked at, and what it could not see, as "seen". */
void cam_asked_seen(struct cam_json *j, const struct cam_seen *s);
