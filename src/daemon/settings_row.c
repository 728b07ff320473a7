// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings_row.h"

#include "base/units.h"

#define MIN_BYTES  ((uint64_t)1 << 20)
#define SECONDS(n) ((n)*CAM_NS_PER_SEC)
#define DAYS(n)	   SECONDS((n)*86400ull)

#define OFFSET(m) offsetof(struct cam_settings, m)
#define SIZEOF(m) sizeof(((struct cam_settings *)0)->m)

#define SHOW(n, v, f, h) \
	.shown.name = (n), .shown.value_name = (v), .shown.fallback = (f), .shown.help = (h)
#define FOR(verbs_)	      .shown.verbs = (verbs_)
#define LETTER(c)	      .shown.letter = (c)
#define FLAG		      .shown.flag = true
#define LIVE		      .shown.live = true
#define LIMIT		      .limit = true
#define PLAIN(k, m)	      .kind = CAM_KIND_##k, .at = OFFSET(m), .bytes = SIZEOF(m)
#define RANGE(k, m, from, to) PLAIN(k, m), .lo = (from), .hi = (to)
#define BYTES(k, m)	      PLAIN(k, m), .lo = MIN_BYTES
/* An array and its length, which follows it. */
#define LIST(k, m, n) \
	.kind = CAM_KIND_##k, .at = OFFSET(m), .bytes = OFFSET(n) - OFFSET(m) + SIZEOF(n)

static const struct cam_setting_row rows[] = {
	[CAM_SET_STORE] = {SHOW("store", "DIR", NULL,
				"the store (default: /var/lib/perfcam, or ~/.local/share/perfcam)"),
			   FOR(CAM_FOR_RECORD | CAM_FOR_SERVE), PLAIN(PATH, store)},
	[CAM_SET_CONTROL] = {SHOW("control", "PATH", "",
				  "the recorder's socket (default: found from the store)"),
			     FOR(CAM_FOR_RECORD | CAM_FOR_SERVE), PLAIN(PATH, control)},
	[CAM_SET_WINDOW] = {SHOW("window", "2m", "2m", "length of a window"), FOR(CAM_FOR_RECORD),
			    RANGE(DURATION, window_ns, SECONDS(1), SECONDS(3600))},
	[CAM_SET_FREQUENCY] = {SHOW("frequency", "HZ", "97", "samples a second on each CPU"),
			       FOR(CAM_FOR_RECORD), LETTER('F'), RANGE(COUNT, hz, 1, 10000)},
	[CAM_SET_EVENT] = {SHOW("event", "auto|cpu-clock|cycles", "auto", "what makes a sample"),
			   FOR(CAM_FOR_RECORD), PLAIN(CHOICE, event)},
	[CAM_SET_SOURCE] = {SHOW("source", "auto|bpf|perf", "auto", "who takes the samples"),
			    FOR(CAM_FOR_RECORD), PLAIN(CHOICE, source)},
	[CAM_SET_UNWIND] = {SHOW("unwind", "auto|bpf|fp|dwarf", "auto",
				 "how user stacks are had: tables in the kernel, frame pointers, "
				 "copies"),
			    FOR(CAM_FOR_RECORD), PLAIN(CHOICE, unwind)},
	[CAM_SET_ADDRESSES] = {SHOW("addresses", "no", "no",
				    "also keep the address of every frame, "
				    "and with it the source lines of callers"),
			       FOR(CAM_FOR_RECORD), FLAG, PLAIN(BOOL, addresses)},
	[CAM_SET_JAVA_MAPS] = {SHOW("java-maps", "no", "no",
				    "ask JVMs with unnamed code to write their perf maps"),
			       FOR(CAM_FOR_RECORD), FLAG, PLAIN(BOOL, java_maps)},
	[CAM_SET_PID] = {SHOW("pid", "PID[,PID]", "",
			      "only these processes and what they fork from then on"),
			 FOR(CAM_FOR_RECORD), LETTER('p'), LIST(PIDS, pids, n_pids)},
	[CAM_SET_TREE] = {SHOW("tree", "no", "no",
			       "with --pid: also the children they have already"),
			  FOR(CAM_FOR_RECORD), FLAG, PLAIN(BOOL, tree)},
	[CAM_SET_USER] = {SHOW("user", "USER", "", "only processes of this user (name or number)"),
			  FOR(CAM_FOR_RECORD), LETTER('u'), PLAIN(USER, uid)},
	[CAM_SET_CPU] = {SHOW("cpu", "CPUS", "", "only these CPUs: 0-3,7"), FOR(CAM_FOR_RECORD),
			 LETTER('C'), LIST(CPUS, cpus, n_cpus)},
	[CAM_SET_CGROUP] = {SHOW("cgroup", "PATH", "", "only this cgroup and those below"),
			    FOR(CAM_FOR_RECORD), PLAIN(CGROUP, cgroup)},
	[CAM_SET_KEEP] = {SHOW("keep", "12h", "12h",
			       "delete windows older than this; none: by size alone"),
			  FOR(CAM_FOR_RECORD), LIVE,
			  RANGE(DURATION, keep_ns, SECONDS(1), DAYS(3650)), LIMIT},
	[CAM_SET_MAX_BYTES] = {SHOW("max-bytes", "2G", "2G", "largest size of what is not pinned"),
			       FOR(CAM_FOR_RECORD), LIVE, BYTES(SIZE, max_bytes), LIMIT},
	[CAM_SET_MIN_FREE] = {SHOW("min-free", "5%|SIZE", "5%",
				   "leave this much of the file system free, whatever is pinned"),
			      FOR(CAM_FOR_RECORD), LIVE, BYTES(AMOUNT, min_free), LIMIT},
	[CAM_SET_MAX_PINNED] = {SHOW("max-pinned", "1G", NULL,
				     "most that pins may keep (default: half of max-bytes)"),
				FOR(CAM_FOR_RECORD), LIVE, BYTES(SIZE, max_pinned_bytes), LIMIT},
	[CAM_SET_MAX_CPU] = {SHOW("max-cpu", "1%", "1%",
				  "of the host's CPU time, above which it sheds; none: no limit"),
			     FOR(CAM_FOR_RECORD), LIVE, PLAIN(PERCENT, max_cpu_ppm), LIMIT},
	[CAM_SET_LOG] =
		{SHOW("log", "PATH[,PATH]", "",
		      "log files whose new lines are events; PATH:FORMAT says how their times are "
		      "written (auto, iso, syslog, epoch, nginx, klog)"),
		 FOR(CAM_FOR_RECORD), PLAIN(LOGS, logs)},
	[CAM_SET_JOURNAL] = {SHOW("journal", "all|UNIT[,UNIT]", "",
				  "systemd's journal: lines of all or of these units are events; "
				  "/DIR: the journal in there"),
			     FOR(CAM_FOR_RECORD), PLAIN(JOURNAL, journal)},
	[CAM_SET_WATCH] = {SHOW("watch", "NAME[,NAME]", "",
				"processes whose starts and ends are events, by name or wildcard"),
			   FOR(CAM_FOR_RECORD), PLAIN(NAMES, watch)},
	[CAM_SET_ALLOW_RUN] = {SHOW("allow-run", "no", "no",
				    "rules may start programs (only in a file of root's)"),
			       FLAG, LIVE, PLAIN(BOOL, allow_run)},
	[CAM_SET_LISTEN] = {SHOW("listen", "ADDR:PORT", "127.0.0.1:9797",
				 "where the page and the API are served"),
			    FOR(CAM_FOR_SERVE), PLAIN(LISTEN, listen)},
	[CAM_SET_TOKEN] = {SHOW("token", "FILE", "",
				"the token to ask for (default: as root a new one at each start)"),
			   FOR(CAM_FOR_SERVE), PLAIN(PATH, token)},
	[CAM_SET_BEHIND_TLS] = {SHOW("behind-tls", "HOST", "",
				     "a proxy with TLS stands before it, under this name"),
				FOR(CAM_FOR_SERVE), PLAIN(HOST, behind_tls)},
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) == CAM_SETTINGS, "a setting without a row");
_Static_assert(CAM_SETTINGS <= 64, "sets of settings are 64 bits");

const struct cam_setting_row *cam_setting_row(enum cam_setting_id id)
{
	return &rows[id];
}
