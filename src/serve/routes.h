// SPDX-License-Identifier: Apache-2.0
/* What each path answers: pure but for the doors of the source that is asked for. The guards have been passed. */
#pragma once
#include "base/json.h"
#include "serve/server.h"
#include "serve/tally.h"

#include <stdatomic.h>

#define CAM_PARAMS_MAX	 64u
#define CAM_ANSWER_BYTES (32u << 20)

/* What follows the '?', decoded; a key without a value has "". */
struct cam_param {
	const char *key, *value;
};

/* What requests share. */
struct cam_news;
struct cam_shared {
	struct cam_news **news; /* of each source that was there at the start */
	unsigned n_news;
	atomic_uint listeners; /* of all of these */
	struct cam_tally tally;
	atomic_uint exports;  /* that are being written */
	atomic_uint capsules; /* of these */
	atomic_bool stopping; /* nobody is to be waited for any more */
};

struct cam_request {
	const char *path;
	const struct cam_server_house *house;
	struct cam_shared *shared;
	bool head;	  /* the body is not wanted */
	const char *type; /* of the body; NULL: not said */
	struct cam_text body;
	const char *has_tag; /* If-None-Match; NULL: not sent */
	struct cam_param params[CAM_PARAMS_MAX];
	size_t n_params;
};

struct cam_answer {
	unsigned status;
	const char *type;
	struct cam_buf body;
	const struct cam_asset *asset; /* instead of a body: a file of the page */
	struct cam_stream *stream;     /* instead of a body: it comes bit by bit */
	bool open_ended;	       /* of a HEAD: how long the body would be is not known */
	uint64_t stamp;		       /* the store's, before its windows were listed */
	char tag[24];		       /* not "": an ETag, of an answer that may be kept */
	bool in_vain;		       /* of a 503: asking again would not help */
	char file[64];		       /* not "": to be saved under this name */
};

/* The body is the caller's to free, and the stream to close. */
void cam_route(const struct cam_request *q, struct cam_answer *a);

/* The number of a path, for the tally: 0: there is no such path. NULL: no such number. */
unsigned cam_route_number(const char *path);
const char *cam_route_name(unsigned number);
/* Whether a path takes POST, and nothing else; whether what it is sent changes what is kept; or is a file to open. */
bool cam_route_posts(const char *path);
bool cam_route_changes(const char *path);
bool cam_route_opens(const char *path);
/* Whether speedscope was built in; whether a path is of it. */
bool cam_route_has_speedscope(void);
bool cam_route_is_speedscope(const char *path);
/* Who sends a file (/api/open): 0, and it is to come; or the status with which it is refused, and why. */
unsigned cam_open_begin(const struct cam_request *q, const char *length, char *why,
			size_t why_bytes);
/* All of it came, or `err` is what went wrong with that: the answer. */
void cam_open_end(const struct cam_server_house *h, int err, struct cam_answer *a);
/* The most that its body may have. */
size_t cam_route_body_bytes(const char *path);
/* Whether a path has places of its own: it takes none of those that questions have, and may take long. */
bool cam_route_is_apart(const char *path);
/* Whether a question there may take long: not all places are for such. */
bool cam_route_is_long(const char *path);
/* Whether it takes no work to speak of: the page's own files, whether the server is well. It waits for nobody. */
bool cam_route_is_light(const char *path);

/* For the routes: the value of a key, NULL if it is not there. */
const char *cam_request_value(const struct cam_request *q, const char *key);
/* A whole number of it in least … most, `usual` where it is not given; false: it is something else. */
bool cam_request_number(const struct cam_request *q, const char *key, uint64_t least, uint64_t most,
			uint64_t usual, uint64_t *out);
/* Whether whoever asks has the answer with this tag already. */
bool cam_request_has(const struct cam_request *q, const char *tag);
/* Whether a parameter is none of the path's own: the guard's token, and which source is asked. */
bool cam_request_is_common(const char *key);
/* Whether there is no parameter but these (NULL-terminated). false: answered (400). */
bool cam_request_only(const struct cam_request *q, const char *const *known, struct cam_answer *a);
/* {"error": words}; instead of whatever is there. No memory for it: the status alone. */
void cam_answer_error(struct cam_answer *a, unsigned status, const char *words);
/* "1776222847.254000000", as a string: a double holds no nanoseconds of our times. */
void cam_answer_seconds(struct cam_json *j, const char *key, int64_t ns);
