// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings_parse.h"

#include "base/units.h"
#include "events/journal_entry.h"
#include "events/process_watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CPU 8191u

__attribute__((format(printf, 2, 3))) static int wrong(struct cam_why why, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(why.room, why.bytes, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* A whole decimal number at *s, at most hi; moves *s behind it. */
static bool number(const char **s, uint64_t hi, uint64_t *out)
{
	uint64_t v = 0;
	const char *p = *s;
	for (; *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (uint64_t)(*p - '0');
		if (v > hi)
			return false;
	}
	if (p == *s)
		return false;
	*s = p;
	*out = v;
	return true;
}

static void show_duration(uint64_t ns, char room[32])
{
	uint64_t sec = ns / CAM_NS_PER_SEC;
	if (sec % 86400 == 0)
		snprintf(room, 32, "%llud", (unsigned long long)(sec / 86400));
	else if (sec % 3600 == 0)
		snprintf(room, 32, "%lluh", (unsigned long long)(sec / 3600));
	else if (sec % 60 == 0)
		snprintf(room, 32, "%llum", (unsigned long long)(sec / 60));
	else
		snprintf(room, 32, "%llus", (unsigned long long)sec);
}

int cam_parse_duration(const char *s, uint64_t lo_ns, uint64_t hi_ns, uint64_t *ns,
		       struct cam_why why)
{
	char lo[32], hi[32];
	uint64_t v;
	show_duration(lo_ns, lo);
	show_duration(hi_ns, hi);
	int err = cam_duration_parse(cam_text_of(s), &v);
	if (err && err != -ERANGE)
		return wrong(why, "not a duration; try 90s, 2m, 12h or 7d");
	if (err || v < lo_ns || v > hi_ns)
		return wrong(why, "out of range; from %s to %s", lo, hi);
	*ns = v;
	return 0;
}

int cam_parse_size(const char *s, uint64_t lo_bytes, uint64_t *bytes, struct cam_why why)
{
	uint64_t v;
	int err = cam_size_parse(cam_text_of(s), &v);
	if (err && err != -ERANGE)
		return wrong(why, "not a size; try 512M or 2G");
	/* File sizes are signed. */
	if (err || v < lo_bytes || v > INT64_MAX)
		return wrong(why, "out of range; at least %lluM",
			     (unsigned long long)lo_bytes >> 20);
	*bytes = v;
	return 0;
}

int cam_parse_amount(const char *s, uint64_t lo_bytes, struct cam_amount *out, struct cam_why why)
{
	struct cam_amount v = {0};
	uint64_t percent;
	const char *p = s;
	if (strchr(s, '%')) {
		if (!number(&p, UINT32_MAX, &percent) || strcmp(p, "%") != 0 || percent < 1 ||
		    percent > 90)
			return wrong(why, "not a whole percentage from 1%% to 90%%; try 5%%");
		v.percent = (uint32_t)percent;
	} else if (cam_parse_size(s, lo_bytes, &v.bytes, why)) {
		return wrong(why,
			     "neither a percentage nor a size of at least %lluM; try 5%% or 10G",
			     (unsigned long long)lo_bytes >> 20);
	}
	*out = v;
	return 0;
}

int cam_parse_percent(const char *s, uint32_t *ppm, struct cam_why why)
{
	uint64_t whole, part = 0;
	const char *p = s;
	bool good = number(&p, 100, &whole);
	if (good && *p == '.') {
		const char *digits = ++p;
		good = number(&p, 9999, &part) && p - digits <= 4;
		for (long n = p - digits; n < 4; n++)
			part *= 10;
	}
	uint64_t v = good ? whole * 10000 + part : 0;
	if (!good || strcmp(p, "%") != 0 || v > 1000000 || v == 0)
		return wrong(why,
			     "not a percentage above 0%% and up to 100%%; try 1%% or 0.5%%, or "
			     "none for no limit");
	*ppm = (uint32_t)v;
	return 0;
}

int cam_parse_count(const char *s, uint32_t lo, uint32_t hi, uint32_t *out, struct cam_why why)
{
	uint64_t v;
	const char *p = s;
	if (!number(&p, hi, &v) || *p || v < lo)
		return wrong(why, "not a whole number from %u to %u", lo, hi);
	*out = (uint32_t)v;
	return 0;
}

int cam_parse_bool(const char *s, bool *out, struct cam_why why)
{
	static const char *const words[] = {"yes", "true", "on", "1", "no", "false", "off", "0"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(s, words[i]) == 0) {
			*out = i < 4;
			return 0;
		}
	}
	return wrong(why, "neither yes nor no");
}

int cam_parse_choice(const char *s, const char *words, int *out, struct cam_why why)
{
	size_t n = strlen(s);
	int place = 0;
	for (const char *w = words;; place++) {
		size_t length = strcspn(w, "|");
		if (length == n && memcmp(w, s, n) == 0) {
			*out = place;
			return 0;
		}
		if (!w[length])
			return wrong(why, "not one of %s", words);
		w += length + 1;
	}
}

int cam_parse_pids(const char *s, int32_t *pids, size_t max, size_t *n, struct cam_why why)
{
	size_t found = 0;
	for (const char *p = s;; p++) {
		uint64_t v;
		if (!number(&p, INT32_MAX, &v) || v == 0 || (*p && *p != ','))
			return wrong(why, "not a list of process numbers; try 2997 or 2997,3001");
		if (found == max)
			return wrong(why,
				     "more than %zu processes; --cgroup or --user may say it "
				     "shorter",
				     max);
		pids[found++] = (int32_t)v;
		if (!*p)
			break;
	}
	*n = found;
	return 0;
}

int cam_parse_cpus(const char *s, uint32_t *cpus, size_t max, size_t *n, struct cam_why why)
{
	bool wanted[MAX_CPU + 1] = {false};
	for (const char *p = s;; p++) {
		uint64_t from, to;
		if (!number(&p, MAX_CPU, &from))
			return wrong(why, "not a list of CPUs; try 0-3,7");
		to = from;
		if (*p == '-' && (p++, !number(&p, MAX_CPU, &to)))
			return wrong(why, "not a list of CPUs; try 0-3,7");
		if (to < from || (*p && *p != ','))
			return wrong(why, "not a list of CPUs; try 0-3,7");
		for (uint64_t cpu = from; cpu <= to; cpu++)
			wanted[cpu] = true;
		if (!*p)
			break;
	}
	size_t found = 0;
	for (uint32_t cpu = 0; cpu <= MAX_CPU; cpu++) {
		if (wanted[cpu] && found == max)
			return wrong(why, "more than %zu CPUs", max);
		if (wanted[cpu])
			cpus[found++] = cpu;
	}
	*n = found;
	return 0;
}

int cam_parse_user(const char *s, uint32_t *uid, struct cam_why why)
{
	uint64_t v;
	const char *p = s;
	if (number(&p, UINT32_MAX - 1, &v) && !*p) {
		*uid = (uint32_t)v;
		return 0;
	}
	const struct passwd *user = getpwnam(s);
	if (!user)
		return wrong(why, "no such user on this host; a name or a number");
	*uid = user->pw_uid;
	return 0;
}

static bool climbs(const char *path)
{
	for (const char *p = path; *p; p += strcspn(p, "/")) {
		p += strspn(p, "/");
		if (strncmp(p, "..", 2) == 0 && (!p[2] || p[2] == '/'))
			return true;
	}
	return false;
}

int cam_parse_cgroup(const char *s, char *out, size_t out_bytes, struct cam_why why)
{
	static const char mount[] = "/sys/fs/cgroup";
	size_t n = sizeof(mount) - 1;
	if (strncmp(s, mount, n) == 0 && (!s[n] || s[n] == '/'))
		s += n;
	s += strspn(s, "/");
	if (climbs(s))
		return wrong(why, "a cgroup without .. in it; try /system.slice/nginx.service");
	int length = snprintf(out, out_bytes, "/%s", s);
	if (length < 0 || (size_t)length >= out_bytes)
		return wrong(why, "longer than a path may be");
	for (; length > 1 && out[length - 1] == '/'; length--)
		out[length - 1] = '\0';
	return 0;
}

int cam_parse_names(const char *s, char *out, size_t out_bytes, struct cam_why why)
{
	struct cam_process_watch *w = malloc(sizeof(*w));
	int err = w ? cam_process_watch_set(w, cam_text_of(s)) : -ENOMEM;
	free(w);
	if (err || strlen(s) >= out_bytes)
		return wrong(
			why,
			"at most 16 names of processes, of at most 15 bytes each; try nginx or "
			"nginx,redis*");
	memcpy(out, s, strlen(s) + 1);
	return 0;
}

int cam_parse_journal(const char *s, char *out, size_t out_bytes, struct cam_why why)
{
	struct cam_journal_wish w = {.n_units = 0};
	if (cam_journal_wish_parse(&w, cam_text_of(s)) || strlen(s) >= out_bytes)
		return wrong(
			why,
			"all, or at most 16 units and one directory; try all or sshd,kube*.service");
	memcpy(out, s, strlen(s) + 1);
	return 0;
}

bool cam_next_log(const char **s, char *path, size_t path_bytes, enum cam_log_format *format)
{
	*s += strspn(*s, ", \t");
	size_t n = strcspn(*s, ",");
	struct cam_text one = {*s, n};
	if (!n)
		return false;
	*s += n;
	while (one.n && (one.p[one.n - 1] == ' ' || one.p[one.n - 1] == '\t'))
		one.n--;
	*format = CAM_LOG_AUTO;
	/* A path may hold a colon: only a name that is one is a format. */
	const char *colon = memrchr(one.p, ':', one.n);
	if (colon &&
	    cam_log_format_parse((struct cam_text){colon + 1, one.n - (size_t)(colon + 1 - one.p)},
				 format))
		one.n = (size_t)(colon - one.p);
	snprintf(path, path_bytes, "%.*s", (int)one.n, one.p);
	return true;
}

int cam_parse_logs(const char *s, char *out, size_t out_bytes, struct cam_why why)
{
	const char *rest = s;
	char path[PATH_MAX];
	enum cam_log_format format;
	unsigned n = 0;
	for (; cam_next_log(&rest, path, sizeof(path), &format); n++) {
		if (path[0] != '/')
			return wrong(why, "a log file's whole path; try /var/log/syslog, or "
					  "/var/log/app.log:klog");
		if (format == CAM_LOG_DMESG)
			return wrong(
				why,
				"dmesg's stamps are of the kernel's log, which is read anyway");
	}
	if (!n || n > CAM_SETTINGS_LOGS)
		return wrong(why, "at most 16 log files");
	if (strlen(s) >= out_bytes)
		return wrong(why, "too long a list");
	memcpy(out, s, strlen(s) + 1);
	return 0;
}

int cam_parse_host(const char *s, char *out, size_t out_bytes, struct cam_why why)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-:[]";
	size_t n = strlen(s);
	if (!n || strspn(s, letters) != n)
		return wrong(why, "not a host name; try perfcam.example.org");
	if (n >= out_bytes)
		return wrong(why, "longer than a host name may be");
	memcpy(out, s, n + 1);
	return 0;
}

int cam_parse_listen(const char *s, char *address, size_t address_bytes, uint16_t *port,
		     struct cam_why why)
{
	static const char hint[] = "not ADDRESS:PORT; try 127.0.0.1:9797 or [::1]:9797";
	const char *colon = strrchr(s, ':'), *digits = colon ? colon + 1 : NULL;
	uint64_t v;
	if (!colon || !number(&digits, 65535, &v) || *digits)
		return wrong(why, "%s", hint);
	bool six = s[0] == '[';
	if (six && (colon == s || colon[-1] != ']'))
		return wrong(why, "%s", hint);
	size_t skip = six ? 1 : 0, n = (size_t)(colon - s) - 2 * skip;
	char room[INET6_ADDRSTRLEN];
	struct in6_addr parsed;
	if (n >= sizeof(room) || n >= address_bytes)
		return wrong(why, "%s", hint);
	memcpy(room, s + skip, n);
	room[n] = '\0';
	/* A name could resolve to something else tomorrow; loopback is a promise. */
	if (strcmp(room, "localhost") == 0)
		snprintf(room, sizeof(room), "127.0.0.1");
	if (inet_pton(six ? AF_INET6 : AF_INET, room, &parsed) != 1)
		return wrong(why, "%s", hint);
	snprintf(address, address_bytes, "%s", room);
	*port = (uint16_t)v;
	return 0;
}
