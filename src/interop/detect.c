// SPDX-License-Identifier: Apache-2.0
#include "interop/detect.h"

#include "interop/folded_in.h"
#include "interop/perf_script_in.h"
#include "interop/pprof_in.h"

static enum cam_format by_magic(struct cam_text first)
{
	static const struct {
		struct cam_text magic;
		enum cam_format format;
	} magics[] = {
		{{"PERFILE2", 8}, CAM_FORMAT_PERF_DATA},
		{{"2ELIFREP", 8}, CAM_FORMAT_PERF_DATA}, /* of the other byte order */
		{{"\0PFC", 4}, CAM_FORMAT_WINDOW},	 /* a sealed window */
		{{"PCJB", 4}, CAM_FORMAT_WINDOW},	 /* a journal */
		{{"\x1f\x8b", 2}, CAM_FORMAT_COMPRESSED},
		{{"\x28\xb5\x2f\xfd", 4}, CAM_FORMAT_COMPRESSED},
		{{"\xfd"
		  "7zXZ",
		  5},
		 CAM_FORMAT_COMPRESSED},
		{{"BZh", 3}, CAM_FORMAT_COMPRESSED},
	};
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		if (cam_text_starts(first, magics[i].magic))
			return magics[i].format;
	}
	return CAM_FORMAT_UNKNOWN;
}

/* `perf script --header` of a machine so large that its preamble fills the first bytes. */
static bool is_perf_preamble(struct cam_text first)
{
	return cam_text_starts(first, CAM_TEXT("# ========\n# captured on"));
}

static bool holds(struct cam_text s, const char *part)
{
	return memmem(s.p, s.n, part, strlen(part)) != NULL;
}

/* Which JSON, by the names of members that only that format has. */
static enum cam_format by_members(struct cam_text first)
{
	size_t i = 0;
	while (i < first.n && strchr(" \t\r\n", first.p[i]) && first.p[i])
		i++;
	if (i == first.n || (first.p[i] != '{' && first.p[i] != '['))
		return CAM_FORMAT_UNKNOWN;
	if (first.p[i] == '{' && (holds(first, "speedscope.app/file-format-schema.json") ||
				  (holds(first, "\"shared\"") && holds(first, "\"frames\""))))
		return CAM_FORMAT_SPEEDSCOPE;
	if (first.p[i] == '{' && holds(first, "\"nodes\"") &&
	    (holds(first, "\"callFrame\"") || holds(first, "\"functionName\"")))
		return CAM_FORMAT_CPUPROFILE;
	if (holds(first, "\"traceEvents\"") || (holds(first, "\"ph\"") && holds(first, "\"ts\"")))
		return CAM_FORMAT_TRACE_EVENTS;
	return CAM_FORMAT_UNKNOWN;
}

enum cam_format cam_detect(struct cam_text first)
{
	if (!first.n)
		return CAM_FORMAT_EMPTY;
	enum cam_format format = by_magic(first);
	if (format != CAM_FORMAT_UNKNOWN)
		return format;
	format = by_members(first);
	if (format != CAM_FORMAT_UNKNOWN)
		return format;
	if (cam_pprof_probe(first))
		return CAM_FORMAT_PPROF;
	if (is_perf_preamble(first) || cam_perf_script_probe(first).found)
		return CAM_FORMAT_PERF_SCRIPT;
	if (cam_folded_probe(first).found)
		return CAM_FORMAT_FOLDED;
	return memchr(first.p, '\0', first.n) ? CAM_FORMAT_BINARY : CAM_FORMAT_UNKNOWN;
}

const char *cam_format_name(enum cam_format f)
{
	switch (f) {
	case CAM_FORMAT_EMPTY:
		return "an empty file";
	case CAM_FORMAT_PERF_SCRIPT:
		return "perf script text";
	case CAM_FORMAT_FOLDED:
		return "folded stacks";
	case CAM_FORMAT_PERF_DATA:
		return "a perf.data file";
	case CAM_FORMAT_PPROF:
		return "a pprof profile";
	case CAM_FORMAT_SPEEDSCOPE:
		return "a speedscope file";
	case CAM_FORMAT_CPUPROFILE:
		return "a Chrome CPU profile";
	case CAM_FORMAT_TRACE_EVENTS:
		return "Chrome trace events";
	case CAM_FORMAT_WINDOW:
		return "a perfcam window";
	case CAM_FORMAT_COMPRESSED:
		return "a file compressed twice, or by another program than gzip or zstd";
	case CAM_FORMAT_BINARY:
		return "a binary file of no known format";
	case CAM_FORMAT_UNKNOWN:
		break;
	}
	return "a text of no known format";
}
