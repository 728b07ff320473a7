// SPDX-License-Identifier: Apache-2.0
/*
 * One value each, from its text. 0, or -EINVAL after saying in `why` what is wrong with the value
 * and what would be right, as a phrase that fits behind "--keep '12x': ".
 */
#pragma once
#include "daemon/settings.h"
#include "events/log_time.h"

struct cam_why {
	char *room;
	size_t bytes;
};

int cam_parse_duration(const char *s, uint64_t lo_ns, uint64_t hi_ns, uint64_t *ns,
		       struct cam_why why);
int cam_parse_size(const char *s, uint64_t lo_bytes, uint64_t *bytes, struct cam_why why);
int cam_parse_amount(const char *s, uint64_t lo_bytes, struct cam_amount *out, struct cam_why why);
/* "0.5%" → 5000 */
int cam_parse_percent(const char *s, uint32_t *ppm, struct cam_why why);
int cam_parse_count(const char *s, uint32_t lo, uint32_t hi, uint32_t *out, struct cam_why why);
int cam_parse_bool(const char *s, bool *out, struct cam_why why);
/* words: "auto|bpf|perf"; *out is the place of the word. */
int cam_parse_choice(const char *s, const char *words, int *out, struct cam_why why);
int cam_parse_pids(const char *s, int32_t *pids, size_t max, size_t *n, struct cam_why why);
/* "0-3,7" → ascending, each once */
int cam_parse_cpus(const char *s, uint32_t *cpus, size_t max, size_t *n, struct cam_why why);
int cam_parse_user(const char *s, uint32_t *uid, struct cam_why why);
/* A path below the root of cgroups; also the one of its directory, /sys/fs/cgroup/… */
int cam_parse_cgroup(const char *s, char *out, size_t out_bytes, struct cam_why why);
/* "perfcam.example.org", with a port or not: as browsers send it. */
/* "nginx,redis*": checked, and as it is. */
int cam_parse_names(const char *s, char *out, size_t out_bytes, struct cam_why why);
/* "all", "sshd,kube*.service,/var/log/journal": checked, and as it is. */
int cam_parse_journal(const char *s, char *out, size_t out_bytes, struct cam_why why);
/* "/var/log/syslog,/var/log/x:klog": checked, and as it is. */
int cam_parse_logs(const char *s, char *out, size_t out_bytes, struct cam_why why);
/* The next of such a list: its path, terminated, and its format; *s is moved on. False: there is none. */
bool cam_next_log(const char **s, char *path, size_t path_bytes, enum cam_log_format *format);
int cam_parse_host(const char *s, char *out, size_t out_bytes, struct cam_why why);
int cam_parse_listen(const char *s, char *address, size_t address_bytes, uint16_t *port,
		     struct cam_why why);
