// SPDX-License-Identifier: Apache-2.0
#include "cli/examples.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *verb, *lines;
} examples[] = {
	{"record",
	 "  perfcam record -d 60s                        this host, for a minute\n"
	 "  perfcam record -o app.pcw -- ./app           one command, into a file of its own\n"
	 "  perfcam record -o out/ -p 2997 -d 60s        with flame graph and perf script text\n"},
	{"run",
	 "  perfcam run --keep 12h --max-bytes 2G        records, keeps 12 hours, serves the page\n"},
	{"serve", "  perfcam serve --listen 127.0.0.1:7117        the store's page and API\n"},
	{"import",
	 "  perfcam import perf.data                     into the store\n"
	 "  perfcam import --store ./s perf-web1-*.data  a series of the bash loop\n"
	 "  perfcam import --events dmesg.txt            the kernel's log, saved afterwards\n"},
	{"ls", "  perfcam ls --last 1h                         windows, what was lost and why\n"},
	{"at", "  perfcam at 03:14:07                            the latest such moment\n"
	       "  perfcam at 2026-04-15T03:14:07Z --around 2s\n"
	       "  perfcam at boot+12345.678                      the stamp of a line of dmesg\n"
	       "  perfcam at --event ev-3f9a01c2d4e5 --json\n"
	       "  perfcam at -90s --pid 2997\n"},
	{"top", "  perfcam top --follow                           the last 10 s, again and again\n"
		"  perfcam top 03:14:07 --around 2s --by function what was hot then\n"
		"  perfcam top --last 1h --by cgroup -n 50\n"
		"  perfcam top --last 10m --sort cpu,comm         who was on which core\n"
		"  perfcam top --last 60s --sort time --time-quantum 1s --comm nginx\n"
		"  perfcam top -i perf.data --sort comm,dso,symbol,overhead_children\n"},
	{"search", "  perfcam search mem_cgroup_nr_lru_pages         when, in all that is stored\n"
		   "  perfcam search '^shrink_' --last 12h --comm kubelet\n"
		   "  perfcam search compact_zone --json -n 100\n"},
	{"moments",
	 "  perfcam moments                                of all that is kept\n"
	 "  perfcam moments --last 12h -n 5 --json\n"
	 "  perfcam moments 'last=12h cpu=0-3'\n"
	 "  perfcam moments --comm kubelet                 of one process, against itself\n"},
	{"why",
	 "  perfcam why 03:14:07                           what was different then?\n"
	 "  perfcam why ev-3f9a01c2d4e5                    around an event\n"
	 "  perfcam why --event-match 'Tx timeout' --last 12h    what comes before all of them\n"
	 "  perfcam why -90s --around 10s --json\n"
	 "  perfcam why 'from=03:14 to=03:15 cgroup=/system.slice'\n"
	 "  perfcam why 03:14:07 --baseline 'from=02:00 to=03:00'\n"},
	{"capsule", "  perfcam capsule 03:14:07 -o incident.html     one file for the ticket\n"},
	{"report",
	 "  perfcam report --last 60s                      as perf report --stdio\n"
	 "  perfcam report --at 03:14:07 --no-children -n  only what was sampled, with counts\n"
	 "  perfcam report -i perf.data -g callee,2 --percent-limit 1\n"
	 "  perfcam report --last 10m -s pid,dso,symbol --comm java\n"},
	{"flame",
	 "  perfcam flame                                  here, in the terminal: all there is\n"
	 "  perfcam flame --at 03:14:07 -o spike.svg       5 s around that time\n"
	 "  perfcam flame --last 60s --pid 2997 -o x.html  one process, as a page\n"
	 "  perfcam flame --last 60s --reverse --text      who calls what is hot\n"
	 "  perfcam flame --by cgroup --hide '^\\[unknown' -o x.svg\n"
	 "  perfcam flame --last 10m --every 30s -o x.svg  x-20260415-031400.svg, …\n"
	 "  perfcam flame -i out.folded --colors java --cp -o x.svg\n"
	 "  perfcam flame -i perf.data                     a file, in the terminal\n"},
	{"script",
	 "  perfcam script --last 5s                     samples as perf script prints them\n"
	 "  perfcam script -F comm,tid,time,ip,sym -i perf.data\n"},
	{"heatmap", "  perfcam heatmap --last 10m                   when were CPUs busy\n"
		    "  perfcam heatmap --mode cores -i perf.data -o cores.svg\n"},
	{"diff", "  perfcam diff before.data after.data          what changed\n"
		 "  perfcam diff '--from -2h --to -1h' '--last 1h' -o diff.svg\n"},
	{"export", "  perfcam export folded --last 60s             for FlameGraph\n"
		   "  perfcam export pprof -i perf.data -o x.pb.gz for go tool pprof\n"
		   "  perfcam export speedscope --at 03:14:07 -o x.json\n"},
	{"verify", "  perfcam verify                               every byte of the store\n"
		   "  perfcam verify --dump X.pcw                  the parts of one file\n"},
	{"resymbolise",
	 "  perfcam resymbolise --last 1h                better names, where they are now\n"},
	{"doctor", "  perfcam doctor                               what could be better here\n"},
	{"config",
	 "  perfcam config                               effective settings\n"
	 "  perfcam config --reload                      the recorder reads perfcam.conf again\n"},
	{"status", "  perfcam status                               how the recorder goes\n"},
	{"snapshot", "  perfcam snapshot                             seal what there is now\n"},
	{"events", "  perfcam events --last 12h --severity warning what happened, and mattered\n"
		   "  perfcam events --match 'reset|Tx timeout'    each with the id for --event\n"},
	{"mark", "  perfcam mark 'deployed v42'                  an event, now\n"
		 "  perfcam mark --at 03:14:07 'alert'           or then\n"},
	{"pin", "  perfcam pin --at 03:14:07 --note incident    keep that window\n"},
	{"unpin", "  perfcam unpin --at 03:14:07                  release it\n"},
};

const char *cam_examples(const char *verb)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		if (!strcmp(examples[i].verb, verb))
			return examples[i].lines;
	}
	return "";
}
