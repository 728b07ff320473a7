// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "daemon/paths.h"
#include "daemon/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/perfcam-test-XXXXXX";
static char conf[64];
static char why[CAM_SETTINGS_WHY_BYTES];
static struct cam_settings s, fresh;

static void write_conf(const char *text)
{
	FILE *f = fopen(conf, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int load(const struct cam_settings_given *given, struct cam_settings *out)
{
	why[0] = '\0';
	return cam_settings_load(given, out, why);
}

static int load_conf(const char *text, struct cam_settings *out)
{
	write_conf(text);
	return load(&(struct cam_settings_given){.config = conf}, out);
}

/* What protects the host when nobody says anything: the numbers of the contract. */
static void test_defaults(void **state)
{
	(void)state;
	assert_int_equal(load_conf("", &s), 0);
	assert_string_equal(s.store, "/var/lib/perfcam");
	assert_string_equal(s.control, "");
	assert_int_equal(s.window_ns, 120 * CAM_NS_PER_SEC);
	assert_int_equal(s.hz, 97);
	assert_int_equal(s.event, CAM_EVENT_AUTO);
	assert_int_equal(s.source, CAM_SOURCE_AUTO);
	assert_int_equal(s.unwind, CAM_UNWIND_AUTO);
	assert_false(s.addresses);
	assert_false(s.tree);
	assert_int_equal(s.n_pids, 0);
	assert_int_equal(s.n_cpus, 0);
	assert_int_equal(s.uid, CAM_UID_ANY);
	assert_string_equal(s.cgroup, "");
	assert_int_equal(s.keep_ns, 12 * 3600 * CAM_NS_PER_SEC);
	assert_int_equal(s.max_bytes, 2ull << 30);
	assert_int_equal(s.min_free.percent, 5);
	assert_int_equal(s.max_pinned_bytes, 1ull << 30);
	assert_int_equal(s.max_cpu_ppm, 10000);
	assert_string_equal(s.listen.address, "127.0.0.1");
	assert_int_equal(s.listen.port, 9797);
	for (int i = 0; i < CAM_SETTINGS; i++)
		assert_int_equal(s.origins[i].kind, CAM_FROM_DEFAULT);
}

static void test_flag_beats_file_beats_default(void **state)
{
	(void)state;
	char room[128];
	struct cam_settings_given given = {.config = conf};
	write_conf("# mine\n[perfcam]\nkeep = 24h\nfrequency = 49\nstore = /srv/cam\n");
	given.flags[CAM_SET_KEEP] = "6h";
	assert_int_equal(load(&given, &s), 0);
	assert_int_equal(s.keep_ns, 6 * 3600 * CAM_NS_PER_SEC);
	assert_int_equal(s.hz, 49);
	assert_string_equal(s.store, "/srv/cam");
	cam_settings_origin(&s, CAM_SET_KEEP, room, sizeof(room));
	assert_string_equal(room, "flag");
	cam_settings_origin(&s, CAM_SET_WINDOW, room, sizeof(room));
	assert_string_equal(room, "default");
	cam_settings_origin(&s, CAM_SET_FREQUENCY, room, sizeof(room));
	char expected[128];
	snprintf(expected, sizeof(expected), "%s:4", conf);
	assert_string_equal(room, expected);
	assert_string_equal(cam_settings_text(&s, CAM_SET_KEEP), "6h");
	assert_string_equal(cam_settings_text(&s, CAM_SET_STORE), "/srv/cam");
	/* An empty flag takes the file's word back. */
	given.flags[CAM_SET_KEEP] = "";
	assert_int_equal(load(&given, &s), 0);
	assert_int_equal(s.keep_ns, 12 * 3600 * CAM_NS_PER_SEC);
}

static void test_values(void **state)
{
	(void)state;
	static const char *const flags[CAM_SETTINGS] = {
		[CAM_SET_STORE] = "here",      [CAM_SET_WINDOW] = "90s",
		[CAM_SET_FREQUENCY] = "499",   [CAM_SET_EVENT] = "cycles",
		[CAM_SET_SOURCE] = "perf",     [CAM_SET_ADDRESSES] = "",
		[CAM_SET_PID] = "17,4",	       [CAM_SET_TREE] = "yes",
		[CAM_SET_USER] = "nobody",     [CAM_SET_CPU] = "7,0-2,1",
		[CAM_SET_KEEP] = "none",       [CAM_SET_MAX_BYTES] = "0",
		[CAM_SET_MIN_FREE] = "10G",    [CAM_SET_CGROUP] = "/sys/fs/cgroup/a.slice/b/",
		[CAM_SET_MAX_CPU] = "0.25%",   [CAM_SET_LISTEN] = "[::1]:0",
		[CAM_SET_MAX_PINNED] = "512M",
	};
	struct cam_settings_given given = {.config = conf};
	memcpy(given.flags, flags, sizeof(flags));
	write_conf("");
	assert_int_equal(load(&given, &s), 0);
	assert_string_equal(s.store, "here");
	assert_int_equal(s.window_ns, 90 * CAM_NS_PER_SEC);
	assert_int_equal(s.hz, 499);
	assert_int_equal(s.event, CAM_EVENT_CYCLES);
	assert_int_equal(s.source, CAM_SOURCE_PERF);
	assert_true(s.addresses);
	assert_true(s.tree);
	assert_int_equal(s.n_pids, 2);
	assert_int_equal(s.pids[0], 17);
	assert_int_equal(s.pids[1], 4);
	assert_int_equal(s.uid, getpwnam("nobody")->pw_uid);
	assert_int_equal(s.n_cpus, 4);
	const uint32_t cpus[] = {0, 1, 2, 7};
	assert_memory_equal(s.cpus, cpus, sizeof(cpus));
	assert_string_equal(s.cgroup, "/a.slice/b");
	assert_int_equal(s.keep_ns, 0);
	assert_int_equal(s.max_bytes, 0);
	assert_int_equal(s.min_free.percent, 0);
	assert_int_equal(s.min_free.bytes, 10ull << 30);
	assert_int_equal(s.max_pinned_bytes, 512u << 20);
	assert_int_equal(s.max_cpu_ppm, 2500);
	assert_string_equal(s.listen.address, "::1");
	assert_int_equal(s.listen.port, 0);
}

/* Each with what must be said about it. */
static void test_bad_values(void **state)
{
	(void)state;
	static const struct {
		enum cam_setting_id id;
		const char *value, *says;
	} cases[] = {
		{CAM_SET_WINDOW, "2x", "--window '2x': not a duration; try 90s, 2m, 12h or 7d"},
		{CAM_SET_WINDOW, "0", "--window '0': out of range; from 1s to 1h"},
		{CAM_SET_WINDOW, "61m", "--window '61m': out of range; from 1s to 1h"},
		{CAM_SET_WINDOW, "99999999999999h", "--window '99999999999999h': out of range"},
		{CAM_SET_FREQUENCY, "97Hz", "not a whole number from 1 to 10000"},
		{CAM_SET_FREQUENCY, "0", "not a whole number"},
		{CAM_SET_FREQUENCY, "none", "not a whole number"},
		{CAM_SET_FREQUENCY, "-1", "not a whole number"},
		{CAM_SET_FREQUENCY, "10001", "not a whole number"},
		{CAM_SET_FREQUENCY, "18446744073709551713", "not a whole number"},
		{CAM_SET_EVENT, "cpu", "not one of auto|cpu-clock|cycles"},
		{CAM_SET_EVENT, "auto|cpu-clock", "not one of"},
		{CAM_SET_SOURCE, "ebpf", "not one of auto|bpf|perf"},
		{CAM_SET_ADDRESSES, "maybe", "neither yes nor no"},
		{CAM_SET_PID, "12,", "not a list of process numbers"},
		{CAM_SET_PID, "0", "not a list of process numbers"},
		{CAM_SET_PID, "1 2", "not a list of process numbers"},
		{CAM_SET_PID, "4294967297", "not a list of process numbers"},
		{CAM_SET_USER, "no-such-user-here", "no such user"},
		{CAM_SET_USER, "4294967295", "no such user"},
		{CAM_SET_CPU, "3-1", "not a list of CPUs; try 0-3,7"},
		{CAM_SET_CPU, "-3", "not a list of CPUs"},
		{CAM_SET_CPU, "0-", "not a list of CPUs"},
		{CAM_SET_CPU, "0-8192", "not a list of CPUs"},
		{CAM_SET_CPU, "0-1024", "more than 1024 CPUs"},
		{CAM_SET_CGROUP, "/a/../../b", "without .."},
		{CAM_SET_KEEP, "500ms", "out of range; from 1s to 3650d"},
		{CAM_SET_MAX_BYTES, "2GB", "not a size; try 512M or 2G"},
		{CAM_SET_MAX_BYTES, "100", "out of range; at least 1M"},
		{CAM_SET_MAX_BYTES, "99999999T", "out of range"},
		{CAM_SET_MIN_FREE, "5", "neither a percentage nor a size of at least 1M"},
		{CAM_SET_MIN_FREE, "0%", "not a whole percentage from 1% to 90%"},
		{CAM_SET_MIN_FREE, "95%", "not a whole percentage"},
		{CAM_SET_MIN_FREE, "5%%", "not a whole percentage"},
		{CAM_SET_MAX_CPU, "1", "not a percentage above 0% and up to 100%; try 1%"},
		{CAM_SET_MAX_CPU, "100.1%", "not a percentage"},
		{CAM_SET_MAX_CPU, "0.00001%", "not a percentage"},
		{CAM_SET_MAX_CPU, ".5%", "not a percentage"},
		{CAM_SET_LISTEN, "9797", "not ADDRESS:PORT; try 127.0.0.1:9797"},
		{CAM_SET_LISTEN, "127.0.0.1:65536", "not ADDRESS:PORT"},
		{CAM_SET_LISTEN, "::1:9797", "not ADDRESS:PORT"},
		{CAM_SET_LISTEN, "[127.0.0.1]:9797", "not ADDRESS:PORT"},
		{CAM_SET_LISTEN, "[:9797", "not ADDRESS:PORT"},
		{CAM_SET_LISTEN, "example.org:80", "not ADDRESS:PORT"},
		{CAM_SET_TREE, "yes", "--tree 'yes': without pid there is no tree"},
	};
	write_conf("");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cam_settings_given given = {.config = conf};
		given.flags[cases[i].id] = cases[i].value;
		memset(&s, 0x5a, sizeof(s));
		fresh = s;
		if (load(&given, &s) != -EINVAL || !strstr(why, cases[i].says))
			fail_msg("'%s' said \"%s\", not \"%s\"", cases[i].value, why,
				 cases[i].says);
		/* Nothing is half changed. */
		assert_memory_equal(&s, &fresh, sizeof(s));
	}
}

static void test_bad_files(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"keep = 12h\nfreqency = 97\n", ":2: unknown key 'freqency'; try frequency"},
		{"output = x\n", ":1: unknown key 'output'; perfcam config lists the keys"},
		{"\nkeep = soon\n", ":2: keep = 'soon': not a duration; try 90s, 2m, 12h or 7d"},
		{"keep = 1h\nkeep = 2h\n", ":2: keep is already set in line 1; remove one"},
		{"store = cam\n", ":1: store = 'cam': not an absolute path"},
		{"max-cpu: 1%\n", ":1: 'max-cpu: 1%' is not a setting; try: keep = 12h"},
		{"tree = yes\n", ":1: tree = 'yes': without pid"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(load_conf(cases[i].text, &s), -EINVAL);
		/* The file by its name, the line, the key. */
		assert_memory_equal(why, conf, strlen(conf));
		assert_memory_equal(why + strlen(conf), cases[i].says, strlen(cases[i].says));
	}
	struct cam_settings_given given = {.config = "/nonexistent/perfcam.conf"};
	assert_int_equal(load(&given, &s), -ENOENT);
	assert_non_null(strstr(why, given.config));
}

/* Only a file that somebody named must exist. As another user: whose places are elsewhere. */
static void test_no_file(void **state)
{
	(void)state;
	int status;
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
		setenv("XDG_DATA_HOME", "/some/where", 1);
		if (setresuid(65534, 65534, 65534) || load(&(struct cam_settings_given){0}, &s))
			_exit(1);
		_exit(s.file[0] || strcmp(s.store, "/some/where/perfcam") != 0 ? 2 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* As a unit starts it: the manager says where everything is. */
static void test_places_of_a_service(void **state)
{
	(void)state;
	char room[128];
	setenv("STATE_DIRECTORY", "/var/lib/a:/var/lib/b", 1);
	setenv("RUNTIME_DIRECTORY", "/run/a", 1);
	setenv("CONFIGURATION_DIRECTORY", dir, 1);
	write_conf("keep = 3h\n");
	assert_int_equal(load(&(struct cam_settings_given){0}, &s), 0);
	assert_string_equal(s.store, "/var/lib/a");
	assert_string_equal(s.file, conf);
	assert_int_equal(s.keep_ns, 3 * 3600 * CAM_NS_PER_SEC);
	assert_int_equal(cam_paths_run(room, sizeof(room)), 0);
	assert_string_equal(room, "/run/a");
	assert_int_equal(cam_paths_run(room, 6), -ERANGE);
	unsetenv("STATE_DIRECTORY");
	unsetenv("RUNTIME_DIRECTORY");
	unsetenv("CONFIGURATION_DIRECTORY");
}

static uint64_t bit(enum cam_setting_id id)
{
	return (uint64_t)1 << id;
}

static void test_reload(void **state)
{
	(void)state;
	uint64_t applied, held;
	char names[128];
	assert_int_equal(load_conf("keep = 24h\nwindow = 2m\nfrequency = 97\n", &s), 0);
	/* The same in other words changes nothing. */
	assert_int_equal(load_conf("frequency = 097\nkeep = 1440m\n", &fresh), 0);
	cam_settings_apply(&s, &fresh, &applied, &held);
	assert_int_equal(applied, 0);
	assert_int_equal(held, 0);
	assert_string_equal(cam_settings_text(&s, CAM_SET_KEEP), "1440m");
	/* max-pinned follows max-bytes. */
	assert_int_equal(load_conf("max-bytes = 4G\nwindow = 1m\npid = 7\nstore = /else\n", &fresh),
			 0);
	cam_settings_apply(&s, &fresh, &applied, &held);
	assert_int_equal(applied,
			 bit(CAM_SET_MAX_BYTES) | bit(CAM_SET_MAX_PINNED) | bit(CAM_SET_KEEP));
	assert_int_equal(held, bit(CAM_SET_WINDOW) | bit(CAM_SET_PID) | bit(CAM_SET_STORE));
	assert_int_equal(s.max_bytes, 4ull << 30);
	assert_int_equal(s.max_pinned_bytes, 2ull << 30);
	assert_int_equal(s.keep_ns, 12 * 3600 * CAM_NS_PER_SEC);
	assert_int_equal(s.window_ns, 120 * CAM_NS_PER_SEC);
	assert_int_equal(s.n_pids, 0);
	assert_string_equal(s.store, "/var/lib/perfcam");
	assert_string_equal(cam_settings_text(&s, CAM_SET_WINDOW), "2m");
	cam_settings_names(held, names, sizeof(names));
	assert_string_equal(names, "store, window, pid");
	cam_settings_names(0, names, sizeof(names));
	assert_string_equal(names, "");
}

/* texts[] must parse to the value again: that is what `config` promises. */
static void test_texts_give_the_value_again(void **state)
{
	(void)state;
	assert_int_equal(
		load_conf("max-bytes = 1536M\nuser = nobody\ncpu = 0-3\nkeep = none\n", &s), 0);
	assert_string_equal(cam_settings_text(&s, CAM_SET_MAX_PINNED), "768M");
	struct cam_settings_given given = {.config = conf};
	uint64_t applied, held;
	for (int i = 0; i < CAM_SETTINGS; i++) {
		given.flags[i] = cam_settings_text(&s, (enum cam_setting_id)i);
		/* An empty flag of a yes-or-no setting is a yes. */
		if (!*given.flags[i] && cam_setting_of((enum cam_setting_id)i)->flag)
			given.flags[i] = "no";
	}
	write_conf("");
	assert_int_equal(load(&given, &fresh), 0);
	cam_settings_apply(&s, &fresh, &applied, &held);
	assert_int_equal(applied | held, 0);
}

static void test_retention(void **state)
{
	(void)state;
	assert_int_equal(load_conf("", &s), 0);
	struct cam_retention r = cam_settings_retention(&s, 1000ull << 30);
	assert_int_equal(r.keep_ns, s.keep_ns);
	assert_int_equal(r.max_bytes, 2ull << 30);
	assert_int_equal(r.min_free_bytes, 50ull << 30);
	assert_int_equal(r.max_pinned_bytes, 1ull << 30);
	assert_int_equal(load_conf("min-free = 3G\n", &s), 0);
	assert_int_equal(cam_settings_retention(&s, 1000ull << 30).min_free_bytes, 3ull << 30);
	assert_int_equal(load_conf("min-free = none\n", &s), 0);
	assert_int_equal(cam_settings_retention(&s, 1000ull << 30).min_free_bytes, 0);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(conf, sizeof(conf), "%s/perfcam.conf", dir);
	umask(022);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(conf);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_flag_beats_file_beats_default),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_places_of_a_service),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_texts_give_the_value_again),
		cmocka_unit_test(test_retention),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
