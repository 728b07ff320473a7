// SPDX-License-Identifier: Apache-2.0
#include "render/palette.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void colour(enum cam_theme theme, enum cam_shade shade, const char *name, char out[32])
{
	struct cam_palette p = {.theme = theme, .shade = shade, .seed = 7};
	struct cam_rgb c;
	assert_int_equal(cam_palette_colour(&p, cam_text_of(name), &c), 0);
	snprintf(out, 32, "%u,%u,%u", c.r, c.g, c.b);
	cam_palette_free(&p);
}

/* By name: the C library's own drand48(), seeded by the sum of the characters. */
static void test_shade_by_name(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		long sum;
	} names[] = {{"main", 'm' + 'a' + 'i' + 'n'},
		     {"read_[k]", 'r' + 'e' + 'a' + 'd' + '_' + '[' + 'k' + ']'},
		     {"", 0},
		     {"\xc3\xa9", 0xe9}, /* é is one character */
		     {"\xf0\x9f\x94\xa5!", 0x1f525 + '!'}};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char got[32], want[32];
		srand48(names[i].sum);
		double v = drand48();
		snprintf(want, sizeof(want), "%d,%d,%d", 205 + (int)(50 * v), (int)(230 * v),
			 (int)(55 * v));
		colour(CAM_THEME_HOT, CAM_SHADE_BY_NAME, names[i].name, got);
		assert_string_equal(got, want);
	}
}

/*
 * By hash, worked out by hand. "a": 97 % 10 = 7, 7/9 of weight 1, of at most 2: 1 - 0.3889 = 0.6111
 * from either end. "ab": forwards 7/9 + 0.7 * (98 % 11 = 10)/10 of 2.7 = 0.4527; backwards (98 % 10 = 8)/9 +
 * 0.7 * (97 % 11 = 9)/10 of 2.7 = 0.4375.
 */
static void test_shade_by_hash(void **state)
{
	(void)state;
	char got[32], other[32];
	colour(CAM_THEME_HOT, CAM_SHADE_BY_HASH, "a", got);
	assert_string_equal(got, "235,140,33"); /* 205+30.6, 140.6, 33.6 */
	colour(CAM_THEME_HOT, CAM_SHADE_BY_HASH, "ab", got);
	assert_string_equal(got, "226,104,24"); /* 205+21.9, 104.1, 24.06 */
	colour(CAM_THEME_HOT, CAM_SHADE_BY_HASH, "libc.so`ab", other);
	/* Forwards the module does not count: the same green. */
	unsigned r, g, b;
	assert_int_equal(sscanf(other, "%u,%u,%u", &r, &g, &b), 3);
	assert_int_equal(g, 104);
	/* Like names look alike: same start, another end. */
	colour(CAM_THEME_BLUE, CAM_SHADE_BY_HASH, "compress_block", got);
	colour(CAM_THEME_BLUE, CAM_SHADE_BY_HASH, "compress_file", other);
	assert_string_equal(got, other);
}

static void test_random_differs(void **state)
{
	(void)state;
	struct cam_palette p = {.theme = CAM_THEME_HOT, .shade = CAM_SHADE_RANDOM, .seed = 12345};
	struct cam_rgb first, next;
	unsigned changes = 0;
	cam_palette_colour(&p, CAM_TEXT("x"), &first);
	for (int i = 0; i < 20; i++) {
		cam_palette_colour(&p, CAM_TEXT("x"), &next);
		changes += memcmp(&first, &next, sizeof(first)) != 0;
		assert_true(next.r >= 205 && next.b <= 55 && next.g <= 230);
	}
	assert_true(changes > 15);
}

/* Which hue a name gets: told by which channel leads. */
static char hue(enum cam_theme theme, const char *name)
{
	char text[32];
	int r, g, b;
	colour(theme, CAM_SHADE_BY_NAME, name, text);
	assert_int_equal(sscanf(text, "%d,%d,%d", &r, &g, &b), 3);
	if (g == b && g > r)
		return 'a'; /* aqua */
	if (r == g && r > b)
		return 'y';
	if (r == g && b > r)
		return 'b';
	if (r == b && g > r)
		return 'g';
	if (b == 0 && r > g)
		return 'o';
	return r > g && g == b ? 'r' : '?';
}

static void test_hue_by_name(void **state)
{
	(void)state;
	static const struct {
		enum cam_theme theme;
		const char *name;
		char hue;
	} facts[] = {
		{CAM_THEME_JAVA, "java/util/HashMap::get_[j]", 'g'},
		{CAM_THEME_JAVA, "java/util/HashMap::get_[i]", 'a'},
		{CAM_THEME_JAVA, "Lorg/apache/X;.run", 'g'},
		{CAM_THEME_JAVA, "organ_play", 'r'},
		{CAM_THEME_JAVA, "x:::y", 'g'},
		{CAM_THEME_JAVA, "JavaCalls::call", 'y'},
		{CAM_THEME_JAVA, "do_syscall_64_[k]", 'o'},
		{CAM_THEME_JAVA, "read", 'r'},
		{CAM_THEME_JS, "LazyCompile:~f /app/x.js_[j]", 'g'},
		{CAM_THEME_JS, "Builtin:ArrayMap_[j]", 'a'},
		{CAM_THEME_JS, "v8::internal::Run", 'y'},
		{CAM_THEME_JS, "f /srv/app.js:3", 'g'},
		{CAM_THEME_JS, "Stub:CEntry", 'a'},
		{CAM_THEME_JS, " ", 'g'},
		{CAM_THEME_JS, "tcp_sendmsg_[k]", 'o'},
		{CAM_THEME_JS, "malloc", 'r'},
		{CAM_THEME_PERL, "a::b", 'y'},
		{CAM_THEME_PERL, "Perl_pp_match", 'g'},
		{CAM_THEME_PERL, "x.pl", 'g'},
		{CAM_THEME_PERL, "read_[k]", 'o'},
		{CAM_THEME_PERL, "read", 'r'},
		{CAM_THEME_WAKEUP, "anything", 'a'},
		{CAM_THEME_CHAIN, "off", 'b'},
		{CAM_THEME_CHAIN, "waker_[w]", 'a'},
		{CAM_THEME_RED, "x", 'r'},
		{CAM_THEME_GREEN, "x", 'g'},
		{CAM_THEME_BLUE, "x", 'b'},
		{CAM_THEME_AQUA, "x", 'a'},
		{CAM_THEME_YELLOW, "x", 'y'},
		{CAM_THEME_ORANGE, "x", 'o'},
	};
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		char got = hue(facts[i].theme, facts[i].name);
		if (got != facts[i].hue)
			fail_msg("%s: %c, not %c", facts[i].name, got, facts[i].hue);
	}
}

static void test_names_of_themes(void **state)
{
	(void)state;
	enum cam_theme t;
	struct cam_rgb top, bottom;
	char names[256];
	snprintf(names, sizeof(names), "%s", cam_theme_names());
	unsigned n = 0;
	for (char *p = strtok(names, ", "); p; p = strtok(NULL, ", "), n++) {
		assert_true(cam_theme_find(cam_text_of(p), &t));
		assert_int_equal(t, n);
		assert_true(cam_background_find(cam_text_of(cam_background_of(t)), &top, &bottom));
	}
	assert_int_equal(n, CAM_THEME_MAX);
	assert_false(cam_theme_find(CAM_TEXT("pink"), &t));
	assert_true(cam_background_find(CAM_TEXT("#0fA9ff"), &top, &bottom));
	assert_true(top.r == 0x0f && top.g == 0xa9 && top.b == 0xff);
	static const char *const wrong[] = {"", "#12345", "#1234567", "#12345g", "red", "\"/>"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(cam_background_find(cam_text_of(wrong[i]), &top, &bottom));
}

static void write_map(const struct cam_palette *p, char *text, size_t bytes)
{
	struct cam_buf buf = CAM_BUF(1u << 20);
	struct cam_out out;
	cam_out_to_buf(&out, &buf);
	assert_int_equal(cam_palette_write(p, &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	snprintf(text, bytes, "%.*s", (int)buf.len, (char *)buf.data);
	cam_buf_free(&buf);
}

static void test_map(void **state)
{
	(void)state;
	struct cam_palette p = {.theme = CAM_THEME_RED, .shade = CAM_SHADE_BY_HASH, .keep = true};
	struct cam_rgb c;
	char text[512];
	static const char file[] =
		"zebra->rgb(1,2,3)\na->b->rgb(4,5,6)\n\nbroken\n->rgb(1,1,1)\n"
		"x->rgb(256,0,0)\ny->rgb(1,2,3)\"/><script>\nz->red\nlast->rgb(7,8,9)";
	assert_int_equal(cam_palette_read(&p, cam_text_of(file)), 5);
	assert_int_equal(cam_palette_colour(&p, CAM_TEXT("zebra"), &c), 0);
	assert_true(c.r == 1 && c.g == 2 && c.b == 3);
	assert_int_equal(cam_palette_colour(&p, CAM_TEXT("a->b"), &c), 0);
	assert_true(c.r == 4 && c.g == 5 && c.b == 6);
	/* A new one: red, 0.6111 of the way. It is kept, in order. */
	assert_int_equal(cam_palette_colour(&p, CAM_TEXT("a"), &c), 0);
	assert_true(c.r == 233 && c.g == 98 && c.b == 98);
	write_map(&p, text, sizeof(text));
	assert_string_equal(text, "a->rgb(233,98,98)\na->b->rgb(4,5,6)\nlast->rgb(7,8,9)\n"
				  "zebra->rgb(1,2,3)\n");
	struct cam_palette again = {.theme = CAM_THEME_BLUE, .keep = true};
	assert_int_equal(cam_palette_read(&again, cam_text_of(text)), 0);
	assert_int_equal(cam_palette_colour(&again, CAM_TEXT("a"), &c), 0);
	assert_true(c.r == 233 && c.g == 98 && c.b == 98);
	cam_palette_free(&again);
	cam_palette_free(&p);
	/* Nothing in it is nothing to write. */
	struct cam_palette none = {.keep = true};
	write_map(&none, text, sizeof(text));
	assert_string_equal(text, "");
	cam_palette_free(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shade_by_name),	cmocka_unit_test(test_shade_by_hash),
		cmocka_unit_test(test_random_differs),	cmocka_unit_test(test_hue_by_name),
		cmocka_unit_test(test_names_of_themes), cmocka_unit_test(test_map),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
