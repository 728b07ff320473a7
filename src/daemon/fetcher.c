// SPDX-License-Identifier: Apache-2.0
#include "daemon/fetcher.h"

#include "base/cleanup.h"
#include "base/packet.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#define CONNECT_TIMEOUT_S 10l
#define SLOW_BYTES_S	  1024l /* less than this for SLOW_S seconds is given up */
#define SLOW_S		  20l

struct library {
	__typeof__(&curl_global_init) global_init;
	__typeof__(&curl_easy_init) init;
	__typeof__(&curl_easy_setopt) setopt;
	__typeof__(&curl_easy_perform) perform;
	__typeof__(&curl_easy_getinfo) getinfo;
	__typeof__(&curl_easy_cleanup) cleanup;
};

struct transfer {
	int fd;
	uint64_t bytes, max_bytes;
	int error; /* of our own: too large, cannot be written */
};

static bool load(struct library *l)
{
	void *so = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return false;
	*(void **)&l->global_init = dlsym(so, "curl_global_init");
	*(void **)&l->init = dlsym(so, "curl_easy_init");
	*(void **)&l->setopt = dlsym(so, "curl_easy_setopt");
	*(void **)&l->perform = dlsym(so, "curl_easy_perform");
	*(void **)&l->getinfo = dlsym(so, "curl_easy_getinfo");
	*(void **)&l->cleanup = dlsym(so, "curl_easy_cleanup");
	return l->global_init && l->init && l->setopt && l->perform && l->getinfo && l->cleanup &&
	       l->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/* An answer other than n ends the transfer. */
static size_t take_bytes(char *bytes, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	n *= size;
	if (n > t->max_bytes - t->bytes) {
		t->error = -EFBIG;
		return 0;
	}
	for (size_t done = 0; done < n;) {
		ssize_t w = pwrite(t->fd, bytes + done, n - done, (off_t)t->bytes);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0) {
			t->error = w ? -errno : -EIO;
			return 0;
		}
		done += (size_t)w;
		t->bytes += (size_t)w;
	}
	return n;
}

static int error_of(CURLcode code, long status, const struct transfer *t)
{
	if (t->error)
		return t->error;
	if (status == 404 || status == 410)
		return -ENOENT;
	if (status >= 300 && status < 400)
		return -EREMCHG;
	switch (code) {
	case CURLE_OK:
		return status == 200 ? 0 : -EPROTO;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_FILESIZE_EXCEEDED:
		return -EFBIG;
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return -ECONNREFUSED;
	default:
		return -EPROTO;
	}
}

/* Nothing but what was asked for: no redirect, no other protocol, no cookies, no passwords. */
static void set_options(const struct library *l, CURL *c, const char *url,
			const struct cam_fetch_question *q, struct transfer *t)
{
	l->setopt(c, CURLOPT_URL, url);
	l->setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	l->setopt(c, CURLOPT_FOLLOWLOCATION, 0l);
	l->setopt(c, CURLOPT_FAILONERROR, 1l);
	l->setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	l->setopt(c, CURLOPT_NOSIGNAL, 1l);
	l->setopt(c, CURLOPT_USERAGENT, "perfcam/" PERFCAM_VERSION);
	l->setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
	l->setopt(c, CURLOPT_TIMEOUT, (long)q->timeout_s);
	l->setopt(c, CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES_S);
	l->setopt(c, CURLOPT_LOW_SPEED_TIME, SLOW_S);
	l->setopt(c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)q->max_bytes);
	l->setopt(c, CURLOPT_WRITEFUNCTION, take_bytes);
	l->setopt(c, CURLOPT_WRITEDATA, t);
}

static struct cam_fetch_answer fetch(const struct library *l, const char *url,
				     const struct cam_fetch_question *q, int fd)
{
	struct transfer t = {.fd = fd, .max_bytes = q->max_bytes};
	CURL *c = l->init();
	if (!c)
		return (struct cam_fetch_answer){.error = -ENOMEM};
	set_options(l, c, url, q, &t);
	CURLcode code = l->perform(c);
	long status = 0;
	l->getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	l->cleanup(c);
	return (struct cam_fetch_answer){
		.error = error_of(code, status, &t),
		.http_status = (uint32_t)status,
		.bytes = t.bytes,
	};
}

static struct cam_fetch_answer answer(const struct library *l, const char *packet, size_t n, int fd)
{
	struct cam_fetch_question q;
	char url[CAM_FETCH_URL_BYTES + 1];
	if (!l->init)
		return (struct cam_fetch_answer){.error = -ELIBACC};
	if (n < sizeof(q) || fd < 0)
		return (struct cam_fetch_answer){.error = -EBADMSG};
	memcpy(&q, packet, sizeof(q));
	if (q.url_bytes > CAM_FETCH_URL_BYTES || q.url_bytes != n - sizeof(q))
		return (struct cam_fetch_answer){.error = -EBADMSG};
	memcpy(url, packet + sizeof(q), q.url_bytes);
	url[q.url_bytes] = 0;
	return fetch(l, url, &q, fd);
}

int cam_fetcher_run(int socket, int (*confine)(void))
{
	char packet[sizeof(struct cam_fetch_question) + CAM_FETCH_URL_BYTES];
	struct library l = {0};
	if (!load(&l))
		l.init = NULL; /* which is the answer to each question */
	/* A file that grows beyond the limit is an error of write(). */
	signal(SIGXFSZ, SIG_IGN);
	int err = confine ? confine() : 0;
	if (err && err != -EOPNOTSUPP)
		return 1;
	for (;;) {
		int fd CAM_AUTOCLOSE = -1;
		ssize_t n = cam_packet_receive(socket, packet, sizeof(packet), &fd);
		if (n <= 0)
			return 0;
		struct cam_fetch_answer a = answer(&l, packet, (size_t)n, fd);
		if (cam_packet_send(socket, &a, sizeof(a), -1))
			return 1;
	}
}
