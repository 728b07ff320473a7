// SPDX-License-Identifier: Apache-2.0
/*
 * The crew, with helpers that misbehave: this program is also its own helper (cam_helper_start()
 * executes /proc/self/exe), which dies, hangs and lies where the errand tells it to.
 */
#include "base/bundle.h"
#include "base/packet.h"
#include "base/units.h"
#include "daemon/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define DIE    0xdeadu
#define HANG   0xbeefu
#define LIE    0x11e5u
#define LEAVE  0x1eafu		    /* ends by itself, without an answer */
#define WRITE  0x317eu		    /* writes to the file, as its owner might, while it is read */
#define OWN    (CAM_FILE_FIRST + 4) /* a file that can be written to */
#define SOCKET 3
#define HELD   6u /* descriptors */

/* Offsets whose file's debug file is there; is not; is there, but only the third is it; belongs to another user. */
enum { WANT = 0x1000, WANT_NONE, WANT_THIRD, WANT_OTHERS };
static const char *const links[] = {"there", "nowhere", "third", "others"};
/* …whose own DWARF has a supplement, whose debug file's has, and for which there is none. */
enum { SHARED_OWN = 0x2000, SHARED_BOTH, SHARED_NONE };

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static void misbehave(uint64_t how)
{
	if (how == DIE)
		_exit(9);
	if (how == LEAVE)
		_exit(0);
	while (how == HANG)
		pause();
	/* Not an answer at all, and one that nobody asked for. */
	struct cam_tidings t = {.type = CAM_ERRAND_THREAD, .ticket = 424242, .comm = CAM_TEXT("x")};
	char room[512];
	int n = cam_tidings_pack(&t, room, sizeof(room));
	if (how == LIE && (cam_packet_send(SOCKET, "rubbish", 7, -1) ||
			   cam_packet_send(SOCKET, room, (size_t)n, -1)))
		_exit(8);
}

/* The symboliser's part; false: it has no names to give yet. */
static bool has_debug_file(const struct cam_errand *e, int second, struct cam_names_tidings *t)
{
	uint64_t at = e->offsets[0];
	off_t bytes = second >= 0 ? lseek(second, 0, SEEK_END) : 0;
	if (at < WANT || at > WANT_OTHERS || !e->search ||
	    (second >= 0 && (at != WANT_THIRD || !bytes)))
		return true;
	t->wants_debug = true;
	t->build_id = CAM_TEXT("\1\2\3");
	t->link = cam_text_of(links[at - WANT]);
	return false;
}

/* The same; a supplement is the last that came, and an empty file. */
static bool has_supplement(const struct cam_errand *e, const int fds[CAM_PACKET_FDS],
			   struct cam_names_tidings *t)
{
	uint64_t at = e->offsets[0];
	bool debug = at == SHARED_BOTH;
	if (at < SHARED_OWN || at > SHARED_NONE)
		return true;
	if (debug && e->search && fds[1] < 0) {
		t->wants_debug = true;
		t->build_id = CAM_TEXT("\1\2\3");
		t->link = CAM_TEXT("there");
		return false;
	}
	int last = e->supplement ? fds[1 + debug] : -1;
	if (!e->search_supplement || (last >= 0 && !lseek(last, 0, SEEK_END)))
		return true;
	t->wants_supplement = true;
	t->build_id = CAM_TEXT("\4\5");
	t->link = at == SHARED_NONE ? CAM_TEXT("none") : CAM_TEXT("/x/shared");
	return false;
}

/* Of two the second is it. */
static int find_supplement(const struct cam_errand *e, struct cam_tidings *t)
{
	t->error = !cam_text_equal(e->build_id, CAM_TEXT("\4\5")) ||
				   !cam_text_equal(e->link, CAM_TEXT("/x/shared")) || e->skip > 1
			   ? -ENOENT
			   : 0;
	if (t->error)
		return -1;
	return e->skip ? open("/dev/shm", O_TMPFILE | O_RDWR, 0600)
		       : open("/proc/self/exe", O_RDONLY);
}

/* The opener's part: an empty file is the one. */
static int find_debug_file(const struct cam_errand *e, struct cam_tidings *t)
{
	if (e->supplement)
		return find_supplement(e, t);
	bool other = cam_text_equal(e->link, CAM_TEXT("others"));
	t->error = !cam_text_equal(e->build_id, CAM_TEXT("\1\2\3")) ||
				   !cam_text_equal(e->mapping.path, CAM_TEXT("/bin/a"))
			   ? -EINVAL
		   : cam_text_equal(e->link, CAM_TEXT("nowhere")) || (other && e->skip) ? -ENOENT
											: 0;
	if (t->error)
		return -1;
	if (!other)
		return open(e->skip == 2 ? "/dev/shm" : "/proc/self/exe",
			    e->skip == 2 ? O_TMPFILE | O_RDWR : O_RDONLY, 0600);
	int fd = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
	if (fd < 0 || fchmod(fd, 0666))
		_exit(7);
	return fd;
}

static int answer(const struct cam_errand *e, const int fds[CAM_PACKET_FDS], struct cam_tidings *t,
		  struct cam_name *names)
{
	int give = -1, fd = fds[0];
	*t = (struct cam_tidings){.type = e->type, .ticket = e->ticket};
	switch (e->type) {
	case CAM_ERRAND_THREAD:
		misbehave((uint64_t)e->tid);
		t->comm = CAM_TEXT("worker");
		break;
	case CAM_ERRAND_FILE:
		t->held.key.inode = e->mapping.inode;
		give = e->file == OWN ? open("/dev/shm", O_TMPFILE | O_RDWR, 0600)
				      : open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		break;
	case CAM_ERRAND_KALLSYMS:
		give = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
		break;
	case CAM_ERRAND_DEBUG:
		give = find_debug_file(e, t);
		break;
	case CAM_ERRAND_NAMES:
		misbehave(e->offsets[0]);
		if (e->offsets[0] == WRITE && write(fd, "x", 1) != 1)
			_exit(6);
		if (!has_debug_file(e, fds[1], &t->names) || !has_supplement(e, fds, &t->names))
			break;
		for (uint32_t i = 0; i < e->n_offsets; i++)
			names[i] = (struct cam_name){
				.offset = e->offsets[i],
				.start = e->offsets[i],
				.source = CAM_NAME_SYMTAB,
				.name = e->symbols_only ? CAM_TEXT("symbols only")
					: fds[2] >= 0	? CAM_TEXT("with three files")
					: fds[1] >= 0	? CAM_TEXT("with two files")
					: fd >= 0	? CAM_TEXT("with a file")
							: CAM_TEXT("without"),
			};
		t->names.names = names;
		t->names.n_names = e->n_offsets;
		break;
	case CAM_ERRAND_UNWIND:
		misbehave(e->copy.ip);
		t->unwound = (struct cam_unwind_tidings){
			.frames = &e->copy.ip, .n_frames = 1, .lacking = CAM_NONE};
		break;
	default:
		t->error = -EINVAL;
	}
	return give;
}

static int answer_bundle(struct cam_text all)
{
	static uint64_t scratch[CAM_ERRAND_MAX_BYTES / 4];
	static struct cam_bundle out;
	static const int none[CAM_PACKET_FDS] = {-1, -1, -1};
	struct cam_text packet;
	out.bytes = 0;
	while (cam_bundle_next(&all, &packet)) {
		struct cam_errand e;
		struct cam_tidings t;
		size_t left;
		if (cam_errand_unpack(packet.p, packet.n, scratch, sizeof(scratch), &e))
			return 3;
		answer(&e, none, &t, NULL);
		void *place = cam_bundle_place(&out, &left);
		int n = cam_tidings_pack(&t, place, left);
		if (n < 0)
			return 4;
		cam_bundle_add(&out, (size_t)n);
	}
	return cam_packet_send(SOCKET, out.room, out.bytes, -1) ? 5 : 0;
}

static int run_helper(void)
{
	static uint64_t packet[CAM_ERRAND_MAX_BYTES / 8], scratch[CAM_ERRAND_MAX_BYTES / 4];
	static struct cam_name names[CAM_ERRAND_MAX_OFFSETS];
	for (;;) {
		int fds[CAM_PACKET_FDS];
		ssize_t n = cam_packet_receive_all(SOCKET, packet, sizeof(packet), fds);
		struct cam_errand e;
		struct cam_tidings t;
		struct cam_text all = {(const char *)packet, n > 0 ? (size_t)n : 0};
		if (cam_bundle_is(all)) {
			int failed = answer_bundle(all);
			if (failed)
				return failed;
			continue;
		}
		if (n <= 0 || cam_errand_unpack(packet, (size_t)n, scratch, sizeof(scratch), &e))
			return 1;
		int give = answer(&e, fds, &t, names);
		int bytes = cam_tidings_pack(&t, packet, sizeof(packet));
		if (bytes < 0 || cam_packet_send(SOCKET, packet, (size_t)bytes, give))
			return 2;
		for (int i = 0; i < 2; i++) {
			if (fds[i] >= 0)
				close(fds[i]);
		}
		if (give >= 0)
			close(give);
	}
}

struct heard {
	uint32_t ticket, file;
	enum cam_errand_type type;
	int error;
	bool more;
	uint64_t offset;
	char text[32];
};

struct fixture {
	struct cam_crew *crew;
	struct cam_errands *door;
	struct heard heard[256];
	size_t n;
	useconds_t pause_us; /* that each answer takes */
};

static void hear(void *arg, const struct cam_tidings *t)
{
	struct fixture *f = arg;
	struct heard *h = &f->heard[f->n++ % 256];
	usleep(f->pause_us);
	*h = (struct heard){
		.ticket = t->ticket, .file = t->file, .type = t->type, .error = t->error};
	struct cam_text text = {"", 0};
	if (!t->error && t->type == CAM_ERRAND_THREAD)
		text = t->comm;
	if (!t->error && t->type == CAM_ERRAND_NAMES) {
		text = t->names.names[0].name;
		h->offset = t->names.names[0].offset;
		h->more = t->names.more;
	}
	if (!t->error && t->type == CAM_ERRAND_UNWIND && t->unwound.n_frames)
		h->offset = t->unwound.frames[0];
	snprintf(h->text, sizeof(h->text), "%.*s", (int)text.n, text.p);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	if (!f || cam_crew_new(HELD, false, hear, f, &f->crew))
		return -1;
	f->door = cam_crew_errands(f->crew);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	cam_crew_free(f->crew);
	free(f);
	return 0;
}

static struct heard *wait_for(struct fixture *f, size_t n)
{
	uint64_t until = now_ns() + 20 * CAM_NS_PER_SEC;
	while (f->n < n && now_ns() < until) {
		struct pollfd p = {.fd = cam_crew_fd(f->crew), .events = POLLIN};
		poll(&p, 1, 50);
		cam_crew_receive(f->crew);
		cam_crew_tick(f->crew, now_ns());
	}
	assert_int_equal(f->n, n);
	return &f->heard[n - 1];
}

/* As ingest does it: asked again while there is nobody to ask. */
static int ask(struct fixture *f, const struct cam_errand *e)
{
	uint64_t until = now_ns() + 20 * CAM_NS_PER_SEC;
	int err;
	while ((err = f->door->send(f->door, e)) == -EAGAIN && now_ns() < until) {
		usleep(20000);
		cam_crew_tick(f->crew, now_ns());
	}
	return err;
}

static int ask_thread(struct fixture *f, uint32_t ticket, int32_t tid)
{
	return ask(f, &(struct cam_errand){
			      .type = CAM_ERRAND_THREAD, .ticket = ticket, .pid = 1, .tid = tid});
}

static int ask_file(struct fixture *f, uint32_t ticket, uint32_t file)
{
	return ask(f, &(struct cam_errand){.type = CAM_ERRAND_FILE,
					   .ticket = ticket,
					   .file = file,
					   .pid = 1,
					   .mapping = {.start = 4096,
						       .end = 8192,
						       .inode = 77,
						       .path = CAM_TEXT("/bin/a")}});
}

static int ask_names(struct fixture *f, uint32_t ticket, uint32_t file, uint64_t offset)
{
	return ask(f, &(struct cam_errand){.type = CAM_ERRAND_NAMES,
					   .ticket = ticket,
					   .file = file,
					   .offsets = &offset,
					   .n_offsets = 1});
}

static void names_a_file_by_its_number(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask_names(f, 1, CAM_FILE_FIRST, 16), -EBADF);
	assert_int_equal(ask_file(f, 2, CAM_FILE_FIRST), 0);
	assert_int_equal(wait_for(f, 1)->error, 0);
	assert_int_equal(cam_crew_stats(f->crew).held_files, 1);
	assert_int_equal(ask_names(f, 3, CAM_FILE_FIRST, 16), 0);
	struct heard *h = wait_for(f, 2);
	assert_string_equal(h->text, "with a file");
	assert_int_equal(h->file, CAM_FILE_FIRST);
	f->door->send(f->door,
		      &(struct cam_errand){.type = CAM_ERRAND_FORGET, .file = CAM_FILE_FIRST});
	assert_int_equal(cam_crew_stats(f->crew).held_files, 0);
	assert_int_equal(ask_names(f, 4, CAM_FILE_FIRST, 16), -EBADF);
}

/* Whose the names are that were read then, nobody knows. */
static void what_was_written_to_while_it_was_read_has_no_names(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask_file(f, 1, OWN), 0);
	assert_int_equal(wait_for(f, 1)->error, 0);
	assert_int_equal(ask_names(f, 2, OWN, 16), 0);
	assert_string_equal(wait_for(f, 2)->text, "with a file");
	assert_int_equal(ask_names(f, 3, OWN, WRITE), 0);
	wait_for(f, 4);
	/* First that it is another file now, then that there is nothing of the old one. */
	assert_int_equal(f->heard[2].type, CAM_ERRAND_FILE);
	assert_int_equal(f->heard[2].file, OWN);
	assert_int_equal(f->heard[3].ticket, 3);
	assert_int_equal(f->heard[3].error, -ESTALE);
	assert_int_equal(cam_crew_stats(f->crew).written_files, 1);
}

/* Of many records that map it, all read at once, one look tells. */
static void a_file_is_looked_at_once_for_all_records(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask_file(f, 1, OWN), 0);
	assert_int_equal(wait_for(f, 1)->error, 0);
	assert_false(f->door->is_written(f->door, OWN));
	assert_int_equal(ask_names(f, 2, OWN, WRITE), 0);
	wait_for(f, 3);
	assert_false(f->door->is_written(f->door, OWN));
	cam_crew_records_come(f->crew);
	assert_true(f->door->is_written(f->door, OWN));
	/* Bad news is no news that would be old. */
	assert_true(f->door->is_written(f->door, OWN));
}

/* What somebody does with an answer may take long: other work must not wait for all of them. */
static void many_answers_that_take_long_are_taken_in_parts(void **state)
{
	struct fixture *f = *state;
	enum { ANSWERS = 8 };
	for (uint32_t i = 1; i <= ANSWERS; i++)
		assert_int_equal(ask_thread(f, i, (int32_t)i), 0);
	f->pause_us = 60000;
	usleep(300000);
	cam_crew_receive(f->crew);
	assert_in_range(f->n, 1, ANSWERS / 2);
	wait_for(f, ANSWERS);
}

static void the_kernel_s_symbols_go_along_once(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask_names(f, 1, CAM_FILE_KERNEL, 16), 0);
	assert_int_equal(ask_names(f, 2, CAM_FILE_KERNEL, 17), 0);
	wait_for(f, 2);
	assert_int_equal(f->heard[0].ticket, 1);
	assert_string_equal(f->heard[0].text, "with a file");
	assert_string_equal(f->heard[1].text, "without");
	assert_int_equal(ask_names(f, 3, CAM_FILE_KERNEL, 18), 0);
	assert_string_equal(wait_for(f, 3)->text, "without");
}

/* Once they may be wrong, old symbols name nothing; and reading them is not done all day. */
static void changed_symbols_of_the_kernel_are_read_anew(void **state)
{
	struct fixture *f = *state;
	for (uint32_t i = 0; i < 3; i++) {
		cam_crew_kernel_changed(f->crew, 16, 32);
		assert_int_equal(ask_names(f, i, CAM_FILE_KERNEL, 16 + i), 0);
		assert_string_equal(wait_for(f, i + 1)->text, "with a file");
	}
	cam_crew_kernel_changed(f->crew, 90, 100);
	assert_int_equal(ask_names(f, 7, CAM_FILE_KERNEL, 99), 0);
	for (int i = 0; i < 10; i++) {
		usleep(20000);
		cam_crew_receive(f->crew);
		cam_crew_tick(f->crew, now_ns());
	}
	assert_int_equal(f->n, 3);
	assert_int_equal(cam_crew_stats(f->crew).under_way, 1);
}

/* What came or went elsewhere is no reason to read them all again. */
static void symbols_that_have_not_changed_are_good(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask_names(f, 1, CAM_FILE_KERNEL, 16), 0);
	assert_string_equal(wait_for(f, 1)->text, "with a file");
	cam_crew_kernel_changed(f->crew, 1000, 1010);
	cam_crew_kernel_changed(f->crew, 2000, 2010);
	assert_int_equal(ask_names(f, 2, CAM_FILE_KERNEL, 999), 0);
	assert_string_equal(wait_for(f, 2)->text, "without");
	assert_int_equal(ask_names(f, 3, CAM_FILE_KERNEL, 2010), 0);
	assert_string_equal(wait_for(f, 3)->text, "without");
	assert_int_equal(ask_names(f, 4, CAM_FILE_KERNEL, 2009), 0);
	assert_string_equal(wait_for(f, 4)->text, "with a file");
	assert_int_equal(ask_names(f, 5, CAM_FILE_KERNEL, 1000), 0);
	assert_string_equal(wait_for(f, 5)->text, "without");
}

/* Of a batch with both, those that have not changed do not wait for the reading. */
static void unchanged_symbols_do_not_wait_for_changed_ones(void **state)
{
	struct fixture *f = *state;
	const uint64_t both[] = {1005, 16, 1006, 17};
	const struct cam_errand e = {.type = CAM_ERRAND_NAMES,
				     .ticket = 9,
				     .file = CAM_FILE_KERNEL,
				     .offsets = both,
				     .n_offsets = 4};
	assert_int_equal(ask_names(f, 1, CAM_FILE_KERNEL, 16), 0);
	assert_string_equal(wait_for(f, 1)->text, "with a file");
	cam_crew_kernel_changed(f->crew, 1000, 1010);
	assert_int_equal(ask(f, &e), 0);
	wait_for(f, 3);
	const struct heard *first = &f->heard[1], *second = &f->heard[2];
	assert_int_equal(first->ticket, 9);
	assert_int_equal(first->offset, 16);
	assert_string_equal(first->text, "without");
	assert_true(first->more);
	assert_int_equal(second->ticket, 9);
	assert_int_equal(second->offset, 1005);
	assert_string_equal(second->text, "with a file");
	assert_false(second->more);
	assert_int_equal(cam_crew_stats(f->crew).under_way, 0);
}

/* First without DWARF, then not at all. */
static void a_file_that_kills_is_given_to_nobody_again(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask_file(f, 1, CAM_FILE_FIRST), 0);
	assert_int_equal(ask_file(f, 2, CAM_FILE_FIRST + 1), 0);
	wait_for(f, 2);
	assert_int_equal(ask_names(f, 3, CAM_FILE_FIRST, DIE), 0);
	assert_true(wait_for(f, 3)->error < 0);
	assert_int_equal(ask_names(f, 4, CAM_FILE_FIRST, 16), 0);
	assert_string_equal(wait_for(f, 4)->text, "symbols only");
	assert_int_equal(cam_crew_stats(f->crew).symbols_only_files, 1);
	assert_int_equal(cam_crew_stats(f->crew).poisoned_files, 0);
	assert_int_equal(ask_names(f, 5, CAM_FILE_FIRST, DIE), 0);
	assert_true(wait_for(f, 5)->error < 0);
	assert_int_equal(ask_names(f, 6, CAM_FILE_FIRST, 16), -EBADF);
	assert_int_equal(ask_names(f, 7, CAM_FILE_FIRST + 1, 16), 0);
	assert_string_equal(wait_for(f, 6)->text, "with a file");
	assert_int_equal(cam_crew_stats(f->crew).poisoned_files, 1);
	assert_int_equal(cam_crew_stats(f->crew).symboliser_starts, 3);
}

/* One that ends because it has worked enough is nobody's fault. */
static void a_symboliser_that_leaves_blames_no_file(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask_file(f, 1, CAM_FILE_FIRST), 0);
	wait_for(f, 1);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(ask_names(f, 2, CAM_FILE_FIRST, LEAVE), 0);
		assert_true(wait_for(f, 2 + i)->error < 0);
	}
	assert_int_equal(ask_names(f, 3, CAM_FILE_FIRST, 16), 0);
	assert_string_equal(wait_for(f, 4)->text, "with a file");
	assert_int_equal(cam_crew_stats(f->crew).poisoned_files, 0);
	assert_int_equal(cam_crew_stats(f->crew).symbols_only_files, 0);
}

static void a_symboliser_without_work_is_sent_away(void **state)
{
	struct fixture *f = *state;
	const uint64_t minute = 60 * CAM_NS_PER_SEC;
	assert_int_equal(ask_file(f, 1, CAM_FILE_FIRST), 0);
	wait_for(f, 1);
	assert_int_equal(ask_names(f, 2, CAM_FILE_FIRST, 16), 0);
	wait_for(f, 2);
	uint64_t now = now_ns() + CAM_NS_PER_SEC;
	cam_crew_tick(f->crew, now);
	cam_crew_tick(f->crew, now + 4 * minute);
	assert_int_not_equal(cam_crew_stats(f->crew).symboliser_pid, 0);
	/* The opener's work does not keep it. */
	assert_int_equal(ask_thread(f, 3, 7), 0);
	wait_for(f, 3);
	cam_crew_tick(f->crew, now + 6 * minute);
	assert_int_equal(cam_crew_stats(f->crew).symboliser_pid, 0);
	assert_int_not_equal(cam_crew_stats(f->crew).opener_pid, 0);
	/* Nobody died, nobody is blamed; and the next one does the work. */
	assert_int_equal(ask_names(f, 4, CAM_FILE_FIRST, 16), 0);
	assert_string_equal(wait_for(f, 4)->text, "with a file");
	struct cam_crew_stats s = cam_crew_stats(f->crew);
	assert_int_equal(s.symboliser_starts, 1);
	assert_int_equal(s.failed + s.poisoned_files + s.symbols_only_files, 0);
}

/* Names wait until it was looked for, and come once, with it or without. */
static void a_debug_file_is_looked_for_and_goes_along(void **state)
{
	struct fixture *f = *state;
	static const char *const expected[] = {"with two files", "with a file", "with two files",
					       "with a file"};
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t file = CAM_FILE_FIRST + i;
		size_t before = f->n;
		assert_int_equal(ask_file(f, 1, file), 0);
		wait_for(f, before + 1);
		/* Two at a time: the second waits, too. */
		assert_int_equal(ask_names(f, 2, file, WANT + i), 0);
		assert_int_equal(ask_names(f, 3, file, WANT + i), 0);
		wait_for(f, before + 3);
		assert_string_equal(f->heard[before + 1].text, expected[i]);
		assert_string_equal(f->heard[before + 2].text, expected[i]);
		assert_int_equal(f->heard[before + 1].error, 0);
		assert_int_equal(ask_names(f, 4, file, WANT + i), 0);
		assert_string_equal(wait_for(f, before + 4)->text, expected[i]);
		assert_int_equal(cam_crew_stats(f->crew).under_way, 0);
	}
	assert_int_equal(cam_crew_stats(f->crew).debug_files, 2);
	/* Forgotten while it is looked for: answered all the same. */
	size_t before = f->n;
	f->door->send(f->door,
		      &(struct cam_errand){.type = CAM_ERRAND_FORGET, .file = CAM_FILE_FIRST});
	assert_int_equal(ask_file(f, 5, CAM_FILE_FIRST), 0);
	wait_for(f, before + 1);
	assert_int_equal(ask_names(f, 6, CAM_FILE_FIRST, WANT), 0);
	f->door->send(f->door,
		      &(struct cam_errand){.type = CAM_ERRAND_FORGET, .file = CAM_FILE_FIRST});
	assert_int_equal(wait_for(f, before + 2)->ticket, 6);
	assert_int_equal(cam_crew_stats(f->crew).under_way, 0);
}

/* One that debug files share is looked for as they are, and nothing waits for one that is not there. */
static void a_supplement_is_looked_for_and_goes_along(void **state)
{
	struct fixture *f = *state;
	static const char *const expected[] = {"with two files", "with three files", "with a file"};
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t file = CAM_FILE_FIRST + i;
		size_t before = f->n;
		assert_int_equal(ask_file(f, 1, file), 0);
		wait_for(f, before + 1);
		assert_int_equal(ask_names(f, 2, file, SHARED_OWN + i), 0);
		assert_int_equal(ask_names(f, 3, file, SHARED_OWN + i), 0);
		wait_for(f, before + 3);
		assert_string_equal(f->heard[before + 1].text, expected[i]);
		assert_string_equal(f->heard[before + 2].text, expected[i]);
		assert_int_equal(ask_names(f, 4, file, SHARED_OWN + i), 0);
		assert_string_equal(wait_for(f, before + 4)->text, expected[i]);
		assert_int_equal(cam_crew_stats(f->crew).under_way, 0);
	}
	assert_int_equal(cam_crew_stats(f->crew).debug_files, 1);
	/* Three files and three of theirs: that is all it may hold. */
	assert_int_equal(ask_file(f, 9, CAM_FILE_FIRST + 9), -EMFILE);
	f->door->send(f->door,
		      &(struct cam_errand){.type = CAM_ERRAND_FORGET, .file = CAM_FILE_FIRST});
	assert_int_equal(ask_file(f, 9, CAM_FILE_FIRST + 9), 0);
	wait_for(f, f->n + 1);
}

static void a_helper_that_hangs_is_replaced(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask_file(f, 1, CAM_FILE_FIRST), 0);
	wait_for(f, 1);
	assert_int_equal(ask_names(f, 2, CAM_FILE_FIRST, HANG), 0);
	usleep(50000);
	cam_crew_tick(f->crew, now_ns() + 13 * CAM_NS_PER_SEC);
	assert_int_equal(f->n, 2);
	assert_int_equal(f->heard[1].error, -ETIMEDOUT);
	assert_int_equal(ask_names(f, 3, CAM_FILE_VDSO, 16), 0);
	assert_string_equal(wait_for(f, 3)->text, "without");
}

static void every_errand_is_answered_when_the_opener_dies(void **state)
{
	struct fixture *f = *state;
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(ask_thread(f, i, i == 20 ? (int32_t)DIE : 5), 0);
	wait_for(f, 50);
	bool seen[50] = {false};
	for (size_t i = 0; i < 50; i++) {
		assert_true(f->heard[i].ticket < 50);
		assert_false(seen[f->heard[i].ticket]);
		seen[f->heard[i].ticket] = true;
	}
	assert_int_equal(ask_thread(f, 99, 5), 0);
	assert_string_equal(wait_for(f, 51)->text, "worker");
	assert_int_equal(cam_crew_stats(f->crew).under_way, 0);
}

static int ask_unwind(struct fixture *f, uint32_t ticket, uint64_t ip, uint32_t stack_bytes)
{
	static const uint8_t stack[CAM_RAW_MAX_STACK];
	return ask(f, &(struct cam_errand){
			      .type = CAM_ERRAND_UNWIND,
			      .ticket = ticket,
			      .pid = 1,
			      .tid = 1,
			      .copy = {.ip = ip, .stack = stack, .stack_bytes = stack_bytes}});
}

/* More than one packet holds; and what is asked between them is asked in its place. */
static void copies_of_stacks_travel_together(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask_file(f, 1, CAM_FILE_FIRST), 0);
	wait_for(f, 1);
	assert_int_equal(ask_unwind(f, 2, 20, 64), 0);
	assert_int_equal(ask_names(f, 3, CAM_FILE_FIRST, 16), 0);
	for (uint32_t i = 4; i < 20; i++)
		assert_int_equal(ask_unwind(f, i, 10 * (uint64_t)i, CAM_RAW_MAX_STACK / 2), 0);
	wait_for(f, 19);
	for (uint32_t i = 1; i < 19; i++) {
		assert_int_equal(f->heard[i].ticket, i + 1);
		assert_int_equal(f->heard[i].error, 0);
		assert_int_equal(f->heard[i].offset, i == 2 ? 16 : 10 * (i + 1));
	}
	assert_int_equal(cam_crew_stats(f->crew).under_way, 0);
}

static void copies_are_answered_when_the_symboliser_dies(void **state)
{
	struct fixture *f = *state;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(ask_unwind(f, i, i == 1 ? DIE : 5, 64), 0);
	wait_for(f, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(f->heard[i].error, -EIO);
	assert_int_equal(ask_unwind(f, 3, 30, 64), 0);
	assert_int_equal(wait_for(f, 4)->offset, 30);
	assert_int_equal(cam_crew_stats(f->crew).under_way, 0);
}

static void lies_are_not_delivered(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(ask_thread(f, 7, LIE), 0);
	struct heard *h = wait_for(f, 1);
	assert_int_equal(h->ticket, 7);
	assert_string_equal(h->text, "worker");
	assert_int_equal(f->n, 1);
}

static void holds_no_more_files_than_it_may(void **state)
{
	struct fixture *f = *state;
	for (uint32_t i = 0; i < HELD; i++)
		assert_int_equal(ask_file(f, i, CAM_FILE_FIRST + i), 0);
	wait_for(f, HELD);
	assert_int_equal(ask_file(f, 9, CAM_FILE_FIRST + 9), -EMFILE);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "helper"))
		return run_helper();
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(names_a_file_by_its_number),
		TEST(what_was_written_to_while_it_was_read_has_no_names),
		TEST(a_file_is_looked_at_once_for_all_records),
		TEST(many_answers_that_take_long_are_taken_in_parts),
		TEST(the_kernel_s_symbols_go_along_once),
		TEST(changed_symbols_of_the_kernel_are_read_anew),
		TEST(symbols_that_have_not_changed_are_good),
		TEST(unchanged_symbols_do_not_wait_for_changed_ones),
		TEST(a_file_that_kills_is_given_to_nobody_again),
		TEST(a_symboliser_that_leaves_blames_no_file),
		TEST(a_symboliser_without_work_is_sent_away),
		TEST(a_debug_file_is_looked_for_and_goes_along),
		TEST(a_supplement_is_looked_for_and_goes_along),
		TEST(a_helper_that_hangs_is_replaced),
		TEST(every_errand_is_answered_when_the_opener_dies),
		TEST(copies_of_stacks_travel_together),
		TEST(copies_are_answered_when_the_symboliser_dies),
		TEST(lies_are_not_delivered),
		TEST(holds_no_more_files_than_it_may),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
