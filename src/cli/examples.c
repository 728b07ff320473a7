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
	{"at", "  perfcam at 03:14:07                          what ran then\n"
	       "  perfcam at -90s --around 2s                  a minute and a half ago\n"},
	{"top", "  perfcam top --last 60s                       processes, busiest first\n"
		"  perfcam top --by function -i perf.data       of a file\n"},
	{"search", "  perfcam search tcp_sendmsg --last 12h        when did it run\n"},
	{"moments", "  perfcam moments --last 12h                    the most unusual seconds\n"},
	{"why", "  perfcam why 03:14:07                          what was different then\n"},
	{"capsule", "  perfcam capsule 03:14:07 -o incident.html     one file for the ticket\n"},
	{"report",
	 "  perfcam report --last 60s                    call chains as perf report prints them\n"
	 "  perfcam report --no-children -n -i perf.data self time, with samples\n"},
	{"flame", "  perfcam flame --last 60s -o now.svg          the last minute\n"
		  "  perfcam flame --at 03:14:07 -o event.svg     five seconds around a moment\n"
		  "  perfcam flame -i perf.data                   a file, in the terminal\n"},
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
