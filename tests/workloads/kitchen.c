// SPDX-License-Identifier: Apache-2.0
/*
 * A program with a profile worth looking at: a small "server" thread and a "compactor" thread,
 * each a few calls deep, in user space and in the kernel. The bundled example was recorded from
 * it: examples/README.md.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CACHE_SLOTS 65536u
#define SEGMENT	    20000u

static uint64_t cache[CACHE_SLOTS];
static char reply[1 << 16], packed[1 << 16];
static time_t deadline;
static volatile uint64_t keep;

static uint64_t hash_key(const char *key)
{
	uint64_t h = 1469598103934665603u;
	for (; *key; key++)
		h = (h ^ (unsigned char)*key) * 1099511628211u;
	return h;
}

static int probe_slot(uint64_t hash)
{
	int steps = 0;
	for (uint64_t i = hash; cache[i % CACHE_SLOTS] != hash && steps < 400; i++)
		steps++;
	cache[(hash + (uint64_t)steps) % CACHE_SLOTS] = hash;
	return steps;
}

static int lookup_cache(const char *key)
{
	return probe_slot(hash_key(key));
}

static int next_token(const char **text, char *token)
{
	int n = 0;
	while (**text && **text != '&')
		token[n++] = *(*text)++;
	token[n] = 0;
	*text += **text == '&';
	return n;
}

static void parse_query(const char *query)
{
	char token[128];
	while (next_token(&query, token))
		keep += (uint64_t)lookup_cache(token);
}

static size_t escape_text(char *out, const char *in)
{
	size_t n = 0;
	for (; *in; in++) {
		if (*in == '<' || *in == '>' || *in == '&')
			n += (size_t)sprintf(out + n, "&#%d;", *in);
		else
			out[n++] = *in;
	}
	return n;
}

static size_t format_row(char *out, unsigned row)
{
	char text[64];
	snprintf(text, sizeof(text), "row %u <value %u> & more", row, row * 7919u);
	return escape_text(out, text);
}

static size_t render_reply(unsigned rows)
{
	size_t n = 0;
	for (unsigned i = 0; i < rows; i++)
		n += format_row(reply + n, i);
	return n;
}

static size_t longest_match(size_t at, size_t end)
{
	size_t best = 0, from = at > 256 ? at - 256 : 0;
	for (size_t i = from; i < at; i++) {
		size_t n = 0;
		while (n < 32 && at + n < end && reply[i + n] == reply[at + n])
			n++;
		best = n > best ? n : best;
	}
	return best;
}

static size_t compress_reply(size_t n)
{
	size_t out = 0;
	for (size_t at = 0; at < n;) {
		size_t match = longest_match(at, n);
		packed[out++] = reply[at];
		at += match > 3 ? match : 1;
	}
	return out;
}

static void write_log(int fd, size_t n)
{
	for (int i = 0; i < 24; i++)
		keep += (uint64_t)pwrite(fd, packed, n, 0);
}

static void handle_request(int fd, unsigned number)
{
	char query[256];
	snprintf(query, sizeof(query), "user=%u&page=%u&lang=en&session=%u", number % 977,
		 number % 13, number);
	parse_query(query);
	write_log(fd, compress_reply(render_reply(60)));
}

static void serve_requests(int fd)
{
	for (unsigned i = 0; time(NULL) < deadline; i++)
		handle_request(fd, i);
}

static int compare_keys(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static void split_run(uint32_t *keys, size_t n);

static void sort_run(uint32_t *keys, size_t n)
{
	if (n > 500)
		split_run(keys, n);
	else
		for (size_t i = 1; i < n; i++)
			for (size_t j = i; j && compare_keys(&keys[j - 1], &keys[j]) > 0; j--) {
				uint32_t t = keys[j];
				keys[j] = keys[j - 1];
				keys[j - 1] = t;
			}
}

static void merge_halves(uint32_t *keys, size_t n)
{
	uint32_t *out = malloc(n * sizeof(*out));
	size_t a = 0, b = n / 2;
	if (!out)
		return;
	for (size_t i = 0; i < n; i++)
		out[i] = b == n || (a < n / 2 && compare_keys(&keys[a], &keys[b]) <= 0) ? keys[a++]
											: keys[b++];
	memcpy(keys, out, n * sizeof(*out));
	free(out);
}

static void split_run(uint32_t *keys, size_t n)
{
	sort_run(keys, n / 2);
	sort_run(keys + n / 2, n - n / 2);
	merge_halves(keys, n);
}

static void scan_directory(void)
{
	struct stat st;
	for (int i = 0; i < 2000; i++)
		keep += (uint64_t)stat("/usr/bin/env", &st);
}

static void *compact(void *arg)
{
	uint32_t *keys = malloc(SEGMENT * sizeof(*keys));
	unsigned seed = 1;
	(void)arg;
	prctl(PR_SET_NAME, "compactor");
	while (keys && time(NULL) < deadline) {
		for (size_t i = 0; i < SEGMENT; i++)
			keys[i] = (uint32_t)rand_r(&seed);
		sort_run(keys, SEGMENT);
		scan_directory();
	}
	free(keys);
	return NULL;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/kitchen-log-XXXXXX";
	int fd = mkstemp(path);
	pthread_t thread;
	if (fd < 0)
		return 1;
	unlink(path);
	deadline = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3);
	prctl(PR_SET_NAME, "server");
	if (pthread_create(&thread, NULL, compact, NULL))
		return 1;
	serve_requests(fd);
	return pthread_join(thread, NULL);
}
