// SPDX-License-Identifier: Apache-2.0
#include "store/name.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>

#define WINDOW_START  CAM_TEXT("perfcam-")
#define WINDOW_END    CAM_TEXT(".pcw")
#define JOURNAL_START CAM_TEXT("open-")
#define JOURNAL_END   CAM_TEXT(".pcj")
#define TEMPORARY_END CAM_TEXT(".tmp")

/* Numbers past this are no sequence of ours: counting on from them could overflow. */
#define MAX_SEQUENCE (UINT64_MAX >> 2)

static bool is_ours(struct cam_text t)
{
	return cam_text_equal(t, CAM_TEXT(CAM_NAME_ANNEX)) ||
	       cam_text_equal(t, CAM_TEXT(CAM_NAME_PINS)) ||
	       (cam_text_starts(t, WINDOW_START) && cam_text_ends(t, WINDOW_END)) ||
	       (cam_text_starts(t, JOURNAL_START) && cam_text_ends(t, JOURNAL_END));
}

enum cam_file_kind cam_name_kind(const char *name)
{
	struct cam_text t = cam_text_of(name);
	/* Only what we may have begun: a stranger's file that ends in .tmp is not ours to remove. */
	if (cam_text_ends(t, TEMPORARY_END)) {
		t.n -= TEMPORARY_END.n;
		return is_ours(t) ? CAM_FILE_TEMPORARY : CAM_FILE_FOREIGN;
	}
	if (cam_text_equal(t, CAM_TEXT(CAM_NAME_ANNEX)))
		return CAM_FILE_ANNEX;
	if (cam_text_equal(t, CAM_TEXT(CAM_NAME_PINS)))
		return CAM_FILE_PINS;
	if (cam_text_equal(t, CAM_TEXT(CAM_NAME_LOCK)))
		return CAM_FILE_LOCK;
	if (cam_text_ends(t, WINDOW_END))
		return CAM_FILE_WINDOW;
	if (cam_name_journal_sequence(name))
		return CAM_FILE_JOURNAL;
	if (cam_text_starts(t, JOURNAL_START) && cam_text_ends(t, CAM_TEXT(".pcj.bad")))
		return CAM_FILE_BAD_JOURNAL;
	return CAM_FILE_FOREIGN;
}

static bool fits_into_a_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_';
}

static void clean_host(struct cam_text host, char out[CAM_NAME_HOST_BYTES])
{
	if (!host.n)
		host = CAM_TEXT("unknown");
	size_t n = host.n < CAM_NAME_HOST_BYTES ? host.n : CAM_NAME_HOST_BYTES - 1;
	for (size_t i = 0; i < n; i++)
		out[i] = fits_into_a_name(host.p[i]) ? host.p[i] : '_';
	out[n] = '\0';
}

static int64_t start_of(const struct cam_window_info *info)
{
	if (info->realtime_ns != INT64_MIN)
		return info->realtime_ns;
	return info->start_ns <= INT64_MAX ? (int64_t)info->start_ns : 0;
}

void cam_name_window(const struct cam_window_info *info, unsigned copy, char out[CAM_NAME_BYTES])
{
	char host[CAM_NAME_HOST_BYTES];
	char number[16] = "";
	struct cam_utc utc = cam_utc_from_ns(start_of(info));
	uint64_t length_ns = info->end_ns > info->start_ns ? info->end_ns - info->start_ns : 0;
	uint64_t seconds = length_ns / CAM_NS_PER_SEC + (length_ns % CAM_NS_PER_SEC != 0);

	clean_host(info->host, host);
	if (copy > 1)
		snprintf(number, sizeof(number), ".%u", copy);
	snprintf(out, CAM_NAME_BYTES, "perfcam-%s-%04d%02d%02d-%02d-%02d-%02d-%" PRIu64 "s%s.pcw",
		 host, (int)utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, seconds,
		 number);
}

/* Takes the last `digits` digits (0: as many as there are, up to 19) off the end of *t. */
static bool take_number(struct cam_text *t, size_t digits, uint64_t *out)
{
	uint64_t value = 0, scale = 1;
	size_t n = 0, most = digits ? digits : 19;
	while (n < most && n < t->n && t->p[t->n - 1 - n] >= '0' && t->p[t->n - 1 - n] <= '9') {
		value += scale * (uint64_t)(t->p[t->n - 1 - n] - '0');
		scale *= 10;
		n++;
	}
	if (n == 0 || (digits && n != digits))
		return false;
	t->n -= n;
	*out = value;
	return true;
}

static bool take(struct cam_text *t, struct cam_text end)
{
	if (!cam_text_ends(*t, end))
		return false;
	t->n -= end.n;
	return true;
}

static bool take_copy(struct cam_text *t, unsigned *copy)
{
	uint64_t number;
	struct cam_text rest = *t;
	*copy = 1;
	if (take(&rest, CAM_TEXT("s")))
		return true;
	if (!take_number(&rest, 0, &number) || !take(&rest, CAM_TEXT(".")) || number < 2 ||
	    number > CAM_NAME_MAX_COPIES)
		return false;
	*copy = (unsigned)number;
	*t = rest;
	return true;
}

static bool take_start(struct cam_text *t, int64_t *start_ns)
{
	uint64_t second, minute, hour, date;
	if (!take_number(t, 2, &second) || !take(t, CAM_TEXT("-")) || !take_number(t, 2, &minute) ||
	    !take(t, CAM_TEXT("-")) || !take_number(t, 2, &hour) || !take(t, CAM_TEXT("-")) ||
	    !take_number(t, 8, &date) || !take(t, CAM_TEXT("-")))
		return false;
	struct cam_utc utc = {
		.year = (int64_t)(date / 10000),
		.month = (int)(date / 100 % 100),
		.day = (int)(date % 100),
		.hour = (int)hour,
		.minute = (int)minute,
		.second = (int)second,
	};
	return cam_utc_to_ns(&utc, start_ns) == 0;
}

bool cam_name_parse(const char *name, struct cam_name_parts *out)
{
	struct cam_text t = cam_text_of(name);
	if (!cam_text_starts(t, WINDOW_START) || !take(&t, WINDOW_END) ||
	    !take_copy(&t, &out->copy) || !take(&t, CAM_TEXT("s")) ||
	    !take_number(&t, 0, &out->seconds) || !take(&t, CAM_TEXT("-")) ||
	    !take_start(&t, &out->start_ns))
		return false;
	if (t.n <= WINDOW_START.n || t.n - WINDOW_START.n >= sizeof(out->host))
		return false;
	size_t n = t.n - WINDOW_START.n;
	memcpy(out->host, t.p + WINDOW_START.n, n);
	out->host[n] = '\0';
	return true;
}

void cam_name_journal(uint64_t sequence, char out[CAM_NAME_BYTES])
{
	snprintf(out, CAM_NAME_BYTES, "open-%08" PRIu64 ".pcj", sequence);
}

uint64_t cam_name_journal_sequence(const char *name)
{
	struct cam_text t = cam_text_of(name);
	uint64_t sequence;
	if (!take(&t, JOURNAL_END) || !take_number(&t, 0, &sequence) ||
	    !cam_text_equal(t, JOURNAL_START) || sequence > MAX_SEQUENCE)
		return 0;
	return sequence;
}
