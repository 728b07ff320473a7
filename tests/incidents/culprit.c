// SPDX-License-Identifier: Apache-2.0
/*
 * One program for many kinds of trouble; tests/incidents runs it under other names, which become the names of
 * its processes.
 *
 *	culprit KIND SECONDS CPU	once; CPU -1: any
 *	culprit KIND serve		little of the same work for ever, and for each line "SECONDS CPU" of its
 *					input a burst
 *
 * For each burst it prints when it began and ended (seconds since 1970) and the CPU time that it got: on a busy
 * machine that is less. KIND: proc, cgroup, walk (kernel work), spin, steady and stream (user code, all the time: an
 * eighth and a third of a core), lock (eight threads, one mutex), fork, fault (new pages), reclaim (reads $CULPRIT_FILE; to be run in a small memory cgroup).
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEEP	    __attribute__((noinline, used))
#define THREADS	    8
#define PAGES_BYTES (32u << 20)

static double clock_s(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double now(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

static void read_whole(const char *path, double until)
{
	static char bytes[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while (now() < until && read(fd, bytes, sizeof(bytes)) > 0)
		;
	close(fd);
}

KEEP void scrape_processes(double until);
KEEP void scrape_cgroups(double until);
KEEP void walk_tree(const char *path, int depth, double until);
KEEP void hash_rows(double until);
KEEP void fight_for_lock(double until);
KEEP void spawn_many(double until);
KEEP void touch_pages(double until);
KEEP void read_cold_file(double until);

KEEP void scrape_processes(double until)
{
	while (now() < until) {
		DIR *dir = opendir("/proc");
		struct dirent *entry;
		while (dir && now() < until && (entry = readdir(dir))) {
			char path[300];
			snprintf(path, sizeof(path), "/proc/%s/smaps", entry->d_name);
			if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
				read_whole(path, until);
		}
		if (!dir)
			return;
		closedir(dir);
	}
}

KEEP void scrape_cgroups(double until)
{
	static const char *const paths[] = {"/sys/fs/cgroup/memory/memory.stat",
					    "/sys/fs/cgroup/memory/memory.numa_stat",
					    "/sys/fs/cgroup/cpuacct/cpuacct.usage_all",
					    "/sys/fs/cgroup/memory.stat",
					    "/sys/fs/cgroup/memory.numa_stat",
					    "/proc/vmallocinfo"};
	while (now() < until)
		for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
			read_whole(paths[i], until);
}

KEEP void walk_tree(const char *path, int depth, double until)
{
	DIR *dir = depth < 8 ? opendir(path) : NULL;
	struct dirent *entry;
	if (!dir)
		return;
	while (now() < until && (entry = readdir(dir))) {
		char next[1024];
		struct stat about;
		int n = snprintf(next, sizeof(next), "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.' && n < (int)sizeof(next) && !lstat(next, &about) &&
		    S_ISDIR(about.st_mode))
			walk_tree(next, depth + 1, until);
	}
	closedir(dir);
}

KEEP void hash_rows(double until)
{
	static volatile uint64_t kept;
	uint64_t hash = kept;
	while (now() < until)
		for (int i = 0; i < 20000; i++)
			hash = hash * 6364136223846793005u + (uint64_t)i;
	kept = hash;
}

static pthread_mutex_t disputed = PTHREAD_MUTEX_INITIALIZER;

static void *fighter(void *until)
{
	while (now() < *(double *)until) {
		pthread_mutex_lock(&disputed);
		for (volatile int i = 0; i < 40; i++)
			;
		pthread_mutex_unlock(&disputed);
	}
	return NULL;
}

KEEP void fight_for_lock(double until)
{
	pthread_t threads[THREADS];
	int n = 0;
	while (n < THREADS && !pthread_create(&threads[n], NULL, fighter, &until))
		n++;
	while (n > 0)
		pthread_join(threads[--n], NULL);
}

KEEP void spawn_many(double until)
{
	char name[] = "true";
	char *argv[] = {name, NULL};
	while (now() < until) {
		pid_t pid;
		if (!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, NULL))
			waitpid(pid, NULL, 0);
	}
}

KEEP void touch_pages(double until)
{
	while (now() < until) {
		char *pages = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages == MAP_FAILED)
			return;
		madvise(pages, PAGES_BYTES, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < PAGES_BYTES && (i % (1 << 19) || now() < until); i += 4096)
			pages[i] = 1;
		munmap(pages, PAGES_BYTES);
	}
}

KEEP void read_cold_file(double until)
{
	const char *path = getenv("CULPRIT_FILE");
	while (path && now() < until)
		read_whole(path, until);
}

static bool work(const char *kind, double seconds)
{
	double until = now() + seconds;
	if (!strcmp(kind, "proc"))
		scrape_processes(until);
	else if (!strcmp(kind, "cgroup"))
		scrape_cgroups(until);
	else if (!strcmp(kind, "walk"))
		while (now() < until)
			walk_tree("/usr", 0, until);
	else if (!strcmp(kind, "spin") || !strcmp(kind, "steady") || !strcmp(kind, "stream"))
		hash_rows(until);
	else if (!strcmp(kind, "lock"))
		fight_for_lock(until);
	else if (!strcmp(kind, "fork"))
		spawn_many(until);
	else if (!strcmp(kind, "fault"))
		touch_pages(until);
	else if (!strcmp(kind, "reclaim"))
		read_cold_file(until);
	else
		return false;
	return true;
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/* Of all threads, and of children that were waited for. */
static double cpu_time(void)
{
	struct rusage own, children;
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return seconds_of(own.ru_utime) + seconds_of(own.ru_stime) + seconds_of(children.ru_utime) +
	       seconds_of(children.ru_stime);
}

static bool burst(const char *kind, double seconds, int cpu)
{
	cpu_set_t all, one;
	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof(all), &all);
	if (cpu >= 0) {
		CPU_SET((size_t)cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	double began = clock_s(CLOCK_REALTIME), used = cpu_time();
	bool known = work(kind, seconds);
	printf("%.6f %.6f %.3f\n", began, clock_s(CLOCK_REALTIME), cpu_time() - used);
	fflush(stdout);
	sched_setaffinity(0, sizeof(all), &all);
	return known;
}

/* Until its input ends: a little work, a pause, and what it is told to do. */
static void serve(const char *kind)
{
	bool steady = !strcmp(kind, "steady"), stream = !strcmp(kind, "stream");
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	srand((unsigned)getpid());
	for (;;) {
		int pause_ms = steady ? 30 : stream ? 16 : 300 + rand() % 700;
		if (poll(&in, 1, pause_ms) > 0) {
			double seconds = 0;
			int cpu = -1;
			if (scanf("%lf %d", &seconds, &cpu) != 2)
				return;
			burst(kind, seconds, cpu);
		}
		work(kind, steady ? 0.004 : stream ? 0.008 : 0.002 + 0.00001 * (rand() % 1000));
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[2], "serve")) {
		/* What poll() says must be true of scanf() too. */
		setvbuf(stdin, NULL, _IONBF, 0);
		serve(argv[1]);
		return 0;
	}
	return argc == 4 && burst(argv[1], atof(argv[2]), atoi(argv[3])) ? 0 : 2;
}
