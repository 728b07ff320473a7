// SPDX-License-Identifier: Apache-2.0
/*
 * debuginfod, over a server on loopback that serves what it should, or what strangers may send. This program
 * is also its own helpers: the symboliser and the fetcher, confined as in earnest.
 */
#include "base/cleanup.h"
#include "daemon/debuginfod.h"
#include "daemon/fetcher.h"
#include "helper/helper.h"
#include "support_oracle.h"
#include "symbol/symboliser.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#define SOCKET 3

static struct {
	pid_t pid;
	int in, port;
} server;

static char dir[128], cache[160], nowhere[160], program[160];
static uint64_t main_offset; /* what is asked for */
static char id_bytes[64];
static struct cam_text id;
static char urls[256];

static int confine_fetcher(void)
{
	return cam_confine(CAM_CONFINE_FETCHER);
}

static int confine_symboliser(void)
{
	return cam_confine(CAM_CONFINE_SYMBOLISER);
}

static int run_helper(const char *role)
{
	if (!strcmp(role, "fetcher"))
		_exit(cam_fetcher_run(SOCKET, confine_fetcher));
	_exit(cam_symboliser_run(SOCKET, 30000, confine_symboliser) ? 1 : 0);
}

static void run(const char *fmt, const char *a, const char *b)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	struct cam_buf out = oracle_run(fmt, a, b);
#pragma GCC diagnostic pop
	cam_buf_free(&out);
}

/* The program that is asked about from now on. */
static struct oracle_symbol build(const char *source, const char *function)
{
	struct oracle_symbol found = {0};
	snprintf(program, sizeof(program), "%s",
		 oracle_build(source, "gcc -O2 -g -fuse-ld=lld -Wl,--build-id=sha1 -o %2$s "
				      "%1$s -pthread"));
	struct oracle_symbols symbols = oracle_symbols(program);
	for (size_t i = 0; i < symbols.n; i++) {
		if (!strcmp(symbols.rows[i].name, function))
			found = symbols.rows[i];
	}
	oracle_symbols_free(&symbols);
	assert_true(found.bytes > 0);
	main_offset = found.start + found.bytes / 2;
	struct cam_buf hex =
		oracle_run("readelf -nW %s 2>/dev/null | sed -n 's/.*Build ID: //p'", program);
	for (id.n = 0; id.n < sizeof(id_bytes); id.n++) {
		unsigned v;
		if (sscanf((char *)hex.data + 2 * id.n, "%2x", &v) != 1)
			break;
		id_bytes[id.n] = (char)v;
	}
	id.p = id_bytes;
	cam_buf_free(&hex);
	return found;
}

/* The program is gone; what a server has of it, and of another one, lies in files for it. */
static void make_files(void)
{
	build("kitchen.c", "main");
	run("cd %1$s && id=$(readelf -nW %2$s 2>/dev/null | sed -n 's/.*Build ID: //p') && "
	    "mkdir $id && objcopy --only-keep-debug %2$s $id/debuginfo && strip -o $id/executable "
	    "%2$s && cp /bin/true other && rm %2$s",
	    dir, program);
}

static int set_up(void **state)
{
	(void)state;
	int to[2], from[2];
	char script[256], line[32] = "";
	snprintf(dir, sizeof(dir), "%s", oracle_dir());
	snprintf(cache, sizeof(cache), "%s/cache/of/mine", dir);
	snprintf(nowhere, sizeof(nowhere), "%s/nowhere", dir);
	snprintf(script, sizeof(script), "%s/tests/unit/debuginfod_server.py",
		 getenv("PERFCAM_SOURCE"));
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return -1;
	server.pid = fork();
	if (!server.pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execlp("python3", "python3", script, dir, NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	server.in = to[1];
	if (read(from[0], line, sizeof(line) - 1) <= 0)
		return -1;
	close(from[0]);
	server.port = atoi(line);
	make_files();
	return 0;
}

static int tear_down(void **state)
{
	close(server.in);
	waitpid(server.pid, NULL, 0);
	return oracle_clean(state);
}

struct heard {
	char name[64], innermost[64];
	enum cam_namer_origin origin;
	int error; /* of finding the module */
	double seconds;
	struct cam_debuginfod_counts counts;
};

static int hear(void *arg, size_t i, const struct cam_name *n)
{
	struct heard *h = arg;
	(void)i;
	snprintf(h->name, sizeof(h->name), "%.*s", (int)n->name.n, n->name.p);
	struct cam_text in = n->n_inlined ? n->inlined[n->n_inlined - 1].name : CAM_TEXT("");
	snprintf(h->innermost, sizeof(h->innermost), "%.*s", (int)in.n, in.p);
	return 0;
}

/* Asks a server of that manner for the name of main, or what else is asked for. */
static struct heard ask(const char *manner, struct cam_debuginfod_options o)
{
	struct heard h = {.name = ""};
	struct cam_debuginfod *d = NULL;
	struct cam_librarian *l;
	struct timespec from, to;
	uint32_t file;
	clock_gettime(CLOCK_MONOTONIC, &from);
	snprintf(urls, sizeof(urls), "http://127.0.0.1:%d/%s/", server.port, manner ? manner : "");
	o.urls = urls;
	o.cache_dir = cache;
	if (manner)
		assert_int_equal(cam_debuginfod_new(&o, &d), 0);
	const struct cam_librarian_options where = {
		.debug_dir = nowhere,
		.perf_cache = nowhere,
		.client_dir = nowhere,
		.found_dir = cache,
		.fetch = d ? cam_debuginfod_fetch(d) : NULL,
	};
	assert_int_equal(cam_librarian_new(&where, &l), 0);
	struct cam_namer *n = cam_librarian_namer(l);
	const struct cam_namer_module m = {CAM_MODULE_FILE, cam_text_of(program), id};
	h.error = n->module(n, &m, &file);
	if (!h.error) {
		struct cam_text path;
		assert_int_equal(n->names(n, file, &main_offset, 1, false, hear, &h), 0);
		h.origin = n->origin(n, file, &path);
	}
	if (d)
		h.counts = cam_debuginfod_counts(d);
	cam_librarian_free(l);
	cam_debuginfod_free(d);
	clock_gettime(CLOCK_MONOTONIC, &to);
	h.seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	return h;
}

static size_t count_files(void)
{
	struct cam_buf b = oracle_run("find %s/cache -type f 2>/dev/null | wc -l; true", dir);
	size_t n = (size_t)atoi((char *)b.data);
	cam_buf_free(&b);
	return n;
}

static void strangers_give_nothing(void **state)
{
	(void)state;
	static const struct {
		const char *manner;
		int error; /* 0: refused for what was in it */
	} bad[] = {
		{"elsewhere", -EREMCHG}, {"wrong", 0},	      {"text", 0},
		{"large", -EFBIG},	 {"endless", -EFBIG}, {"slow", -ETIMEDOUT},
		{"cut", -EPROTO},	 {"broken", -EPROTO},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct heard h = ask(bad[i].manner,
				     (struct cam_debuginfod_options){.max_file_bytes = 8 << 20,
								     .timeout_s = 2});
		if (h.error != -ENOENT || h.counts.last_error != bad[i].error)
			fail_msg("%s: %d, %d", bad[i].manner, h.error, h.counts.last_error);
		assert_true(h.seconds < 12);
		assert_int_equal(h.counts.fetched, 0);
		assert_int_equal(h.counts.refused != 0, bad[i].error == 0);
		assert_int_equal(count_files(), 0);
	}
	/* Nobody listens: said, and not tried for ever. */
	int port = server.port;
	server.port = 1;
	struct heard h = ask("good", (struct cam_debuginfod_options){0});
	server.port = port;
	assert_int_equal(h.counts.last_error, -ECONNREFUSED);
}

static void a_server_that_has_it_names_it(void **state)
{
	(void)state;
	struct heard h = ask("good", (struct cam_debuginfod_options){0});
	assert_int_equal(h.error, 0);
	assert_string_equal(h.name, "main");
	assert_int_equal(h.origin, CAM_NAMER_DEBUGINFOD);
	assert_int_equal(h.counts.fetched, 2);
	assert_int_equal(h.counts.failed + h.counts.refused + h.counts.missing, 0);
	assert_int_equal(count_files(), 2);
	/* From then on it is here, whoever asks, and nobody is asked. */
	run("rm -f %1$s/log", dir, NULL);
	h = ask("good", (struct cam_debuginfod_options){0});
	assert_string_equal(h.name, "main");
	h = ask(NULL, (struct cam_debuginfod_options){0});
	assert_string_equal(h.name, "main");
	run("test ! -e %1$s/log", dir, NULL);
}

static void what_a_server_does_not_have_is_missing(void **state)
{
	(void)state;
	char other[sizeof(id_bytes)];
	memcpy(other, id_bytes, sizeof(other));
	id_bytes[3] ^= 0x55;
	struct heard h = ask("good", (struct cam_debuginfod_options){0});
	memcpy(id_bytes, other, sizeof(other));
	assert_int_equal(h.error, -ENOENT);
	assert_int_equal(h.counts.missing, 2);
	assert_int_equal(h.counts.failed, 0);
}

/* Room for one more only: the oldest goes; and one that would not fit alone does not come. */
static void the_cache_is_bounded(void **state)
{
	(void)state;
	run("rm -rf %1$s/cache && mkdir -p %1$s/cache/of/mine/aa && "
	    "head -c 3145000 /dev/zero > %1$s/cache/of/mine/aa/debuginfo && "
	    "touch -d 2020-01-01 %1$s/cache/of/mine/aa/debuginfo",
	    dir, NULL);
	struct heard h = ask("good", (struct cam_debuginfod_options){.max_cache_bytes = 3 << 20});
	assert_string_equal(h.name, "main");
	run("test ! -e %1$s/cache/of/mine/aa", dir, NULL);
	assert_int_equal(count_files(), 2);
	run("rm -rf %1$s/cache", dir, NULL);
	h = ask("good", (struct cam_debuginfod_options){.max_cache_bytes = 4096});
	assert_int_equal(h.error, -ENOENT);
	assert_int_equal(count_files(), 0);
}

/*
 * A debug file refers to another one for what it shares with others (dwz -m): that is fetched by its build-id, too, and
 * believed only if it is that one.
 */
static void what_a_debug_file_refers_to_is_fetched_too(void **state)
{
	(void)state;
	const struct cam_debuginfod_options o = {0};
	struct oracle_symbol spin = build("inlines.c", "spin");
	struct heard h;
	main_offset = spin.start;
	while (strcmp((h = ask(NULL, o)).innermost, "turn") &&
	       ++main_offset < spin.start + spin.bytes)
		;
	assert_string_equal(h.innermost, "turn");
	run("cd %1$s && rm -rf cache && id() { readelf -nW $1 2>/dev/null | sed -n 's/.*Build ID: //p'; } &&"
	    " d=$(id %2$s) && mkdir $d && strip -o $d/executable %2$s &&"
	    " objcopy --only-keep-debug %2$s one && cp one two && dwz -m common one two &&"
	    " mv one $d/debuginfo && d=$(id common) && mkdir $d && cp other $d/debuginfo &&"
	    " ln -s $d of-common && rm %2$s",
	    dir, program);
	/* Another file under its id. */
	h = ask("good", o);
	assert_string_equal(h.name, "spin");
	assert_string_equal(h.innermost, "[inlined]");
	assert_int_equal(h.counts.fetched, 2);
	assert_int_equal(h.counts.refused, 1);
	assert_int_equal(count_files(), 2);
	/* It itself. */
	run("cd %1$s && cp common of-common/debuginfo", dir, NULL);
	h = ask("good", o);
	assert_string_equal(h.innermost, "turn");
	assert_int_equal(h.counts.fetched, 1);
	assert_int_equal(h.counts.refused + h.counts.failed + h.counts.missing, 0);
	assert_int_equal(count_files(), 3);
	/* It is here now, and nobody is asked. */
	run("rm %1$s/of-common/debuginfo %1$s/log", dir, NULL);
	assert_string_equal(ask("good", o).innermost, "turn");
	assert_string_equal(ask(NULL, o).innermost, "turn");
	run("test ! -e %1$s/log", dir, NULL);
	/* Nobody has it. */
	run("rm -r %1$s/cache", dir, NULL);
	h = ask("good", o);
	assert_string_equal(h.innermost, "[inlined]");
	assert_int_equal(h.counts.missing, 1);
}

static void only_the_web_is_asked(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "   ", "file:///etc/passwd", "ftp://host/x", "host"};
	struct cam_debuginfod *d;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
			cam_debuginfod_new(&(struct cam_debuginfod_options){.urls = bad[i],
									    .cache_dir = cache},
					   &d),
			-EINVAL);
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "helper"))
		return run_helper(argv[2]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strangers_give_nothing),
		cmocka_unit_test(a_server_that_has_it_names_it),
		cmocka_unit_test(what_a_server_does_not_have_is_missing),
		cmocka_unit_test(the_cache_is_bounded),
		cmocka_unit_test(what_a_debug_file_refers_to_is_fetched_too),
		cmocka_unit_test(only_the_web_is_asked),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
