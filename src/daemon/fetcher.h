// SPDX-License-Identifier: Apache-2.0
/*
 * The fetcher: a process of its own (`perfcam helper fetcher`) that gets files over HTTP and does nothing
 * else. It has no rights and can write to no file but the one it is given with a question.
 *
 * Asked by a packet: struct cam_fetch_question, the URL behind it, a descriptor beside it. Answered by a
 * struct cam_fetch_answer. One at a time.
 *
 * libcurl is loaded when this process starts, by no other: with all it brings along (TLS, LDAP, Kerberos,
 * 30 libraries) it would cost every other process of perfcam 6 MB and 8 ms, and a recorder has no
 * business with the network.
 */
#pragma once
#include <stdint.h>

#define CAM_FETCH_URL_BYTES 2048u

struct cam_fetch_question {
	uint64_t max_bytes;
	uint32_t timeout_s;
	uint32_t url_bytes;
};

/*
 * error: 0, or -ENOENT (the server does not have it: 404, 410), -EFBIG (larger than allowed), -ETIMEDOUT (or
 * too slow), -EREMCHG (it sends elsewhere: not followed), -ECONNREFUSED (no connection), -EPROTO (any
 * other answer, or none), -ELIBACC (no libcurl here), -EBADMSG (not a question), what writing said.
 */
struct cam_fetch_answer {
	int32_t error;
	uint32_t http_status; /* 0: none came */
	uint64_t bytes;
};

/* `confine` is called when libcurl is there and before the first question is read. Answers an exit status. */
int cam_fetcher_run(int socket, int (*confine)(void));
