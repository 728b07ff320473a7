// SPDX-License-Identifier: Apache-2.0
#include "serve/tally.h"

#include <stdio.h>

/* The last stands for all others. */
static const unsigned codes[CAM_TALLY_CODES] = {200, 303, 304, 400, 401, 403, 404,
						405, 413, 415, 421, 503, 500};

static const struct {
	uint64_t ns;
	const char *le;
} buckets[CAM_TALLY_BUCKETS] = {
	{5000000, "0.005"},   {25000000, "0.025"},  {100000000, "0.1"},	  {500000000, "0.5"},
	{2500000000u, "2.5"}, {10000000000u, "10"}, {UINT64_MAX, "+Inf"},
};

void cam_tally_add(struct cam_tally *t, unsigned path, unsigned code, uint64_t ns)
{
	unsigned c = 0, b = 0;
	while (c + 1 < CAM_TALLY_CODES && codes[c] != code)
		c++;
	while (b + 1 < CAM_TALLY_BUCKETS && ns > buckets[b].ns)
		b++;
	atomic_fetch_add(&t->paths[path].codes[c], 1);
	atomic_fetch_add(&t->paths[path].buckets[b], 1);
	atomic_fetch_add(&t->paths[path].sum_ns, ns);
}

static void write_times(const struct cam_tally *t, unsigned i, const char *name,
			struct cam_out *out)
{
	unsigned long long n = 0;
	for (unsigned b = 0; b < CAM_TALLY_BUCKETS; b++)
		n += atomic_load(&t->paths[i].buckets[b]);
	if (!n)
		return;
	n = 0;
	for (unsigned b = 0; b < CAM_TALLY_BUCKETS; b++) {
		n += atomic_load(&t->paths[i].buckets[b]);
		cam_out_printf(out,
			       "perfcam_http_request_seconds_bucket{path=\"%s\",le=\"%s\"} %llu\n",
			       name, buckets[b].le, n);
	}
	cam_out_printf(out, "perfcam_http_request_seconds_sum{path=\"%s\"} %.9f\n", name,
		       (double)atomic_load(&t->paths[i].sum_ns) / 1e9);
	cam_out_printf(out, "perfcam_http_request_seconds_count{path=\"%s\"} %llu\n", name, n);
}

void cam_tally_write(const struct cam_tally *t, const char *(*name)(unsigned i),
		     struct cam_out *out)
{
	cam_out_str(out, "# HELP perfcam_http_requests_total Requests, by path and status.\n"
			 "# TYPE perfcam_http_requests_total counter\n");
	for (unsigned i = 0; i < CAM_TALLY_PATHS && name(i); i++) {
		for (unsigned c = 0; c < CAM_TALLY_CODES; c++) {
			unsigned long long n = atomic_load(&t->paths[i].codes[c]);
			if (n)
				cam_out_printf(
					out,
					"perfcam_http_requests_total{path=\"%s\",code=\"%u\"} %llu\n",
					name(i), codes[c], n);
		}
	}
	cam_out_str(out, "# HELP perfcam_http_request_seconds Until an answer was ready.\n"
			 "# TYPE perfcam_http_request_seconds histogram\n");
	for (unsigned i = 0; i < CAM_TALLY_PATHS && name(i); i++)
		write_times(t, i, name(i), out);
}
