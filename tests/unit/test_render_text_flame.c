// SPDX-License-Identifier: Apache-2.0
#include "query/flame.h"
#include "render/label.h"
#include "render/text_flame.h"
#include "support_folded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct cam_flame flame_of(struct fake_window *w)
{
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s;
	struct cam_flame f;
	struct cam_flame_options o = {.weight = CAM_WEIGHT_PERIOD};
	cam_selection_init(&s);
	assert_int_equal(cam_flame_build(source, &s, &o, &f), 0);
	source->ops->close(source);
	return f;
}

static char *draw(const struct cam_flame *f, const struct cam_text_flame_options *o)
{
	struct cam_buf buf = CAM_BUF(1u << 26);
	struct cam_out out;
	cam_out_to_buf(&out, &buf);
	assert_int_equal(cam_text_flame_write(f, o, &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	cam_buf_put_u8(&buf, 0);
	assert_int_equal(cam_buf_error(&buf), 0);
	return (char *)buf.data;
}

static void test_without_colours(void **state)
{
	(void)state;
	struct cam_flame f = flame_of(folded_window("a;x;deep_function 5\na;y_[k] 3\nb 2\n", 1));
	struct cam_text_flame_options o = {.columns = 40, .title = CAM_TEXT("a title")};
	char *text = draw(&f, &o);
	/* 4 columns a unit: of a (8 units) x has 5, y 3. */
	assert_string_equal(text, "a title\n"
				  "|all 100.0\u202f%----------------------------\n"
				  "|a 80.0\u202f%-----------------------|b------\n"
				  "|x 50.0\u202f%-----------|y 30.0\u202f%---|\n"
				  "|deep_function------|\n"
				  "10 ns of cpu-clock\n");
	free(text);
	cam_flame_free(&f);
}

/* The text without what steers the terminal; its colours are only ever set and taken back. */
static size_t plain_columns(const char *line, size_t n)
{
	char *plain = malloc(n + 1);
	size_t used = 0;
	for (size_t i = 0; i < n; i++) {
		if (line[i] != '\033') {
			plain[used++] = line[i];
			continue;
		}
		assert_int_equal(line[++i], '[');
		do
			i++;
		while (line[i] == ';' || (line[i] >= '0' && line[i] <= '9'));
		assert_int_equal(line[i], 'm');
	}
	size_t columns = cam_label_columns((struct cam_text){plain, used});
	free(plain);
	return columns;
}

static void test_every_line_is_as_wide_as_the_terminal(void **state)
{
	(void)state;
	char *folded = read_data("oracle/nginx-997.folded.gz");
	struct cam_flame f = flame_of(folded_window(folded, 1));
	static const unsigned widths[] = {20, 41, 80, 133, 300};
	for (size_t k = 0; k < sizeof(widths) / sizeof(widths[0]) * 3; k++) {
		struct cam_text_flame_options o = {.columns = widths[k / 3],
						   .rows = k % 2 ? 24 : 0,
						   .colours = (enum cam_text_colours)(k % 3)};
		char *text = draw(&f, &o);
		unsigned lines = 0;
		bool picture = true;
		for (char *p = text, *end; (end = strchr(p, '\n')); p = end + 1, lines++) {
			size_t columns = plain_columns(p, (size_t)(end - p));
			/* What is said below the picture may be longer. */
			picture = picture && !memmem(p, (size_t)(end - p), " of cpu-clock", 13);
			if (picture && k % 3)
				assert_int_equal(columns, widths[k / 3]);
			else if (picture)
				assert_true(columns <= widths[k / 3]);
		}
		assert_false(picture);
		if (o.rows)
			assert_true(lines + 1 <= o.rows);
		else
			assert_true(lines > 40);
		free(text);
	}
	cam_flame_free(&f);
	free(folded);
}

/* Halves and quarters of a character: a third of 20 columns ends at 6 and 5/8 of one. */
static void test_edges_lie_at_eighths(void **state)
{
	(void)state;
	struct cam_flame f = flame_of(folded_window("a 1\nb 2\n", 1));
	struct cam_text_flame_options o = {.columns = 20, .colours = CAM_COLOURS_256};
	char *text = draw(&f, &o);
	assert_non_null(strstr(text, "▋"));
	free(text);
	o.columns = 30; /* 10 and 20: no edge inside a character */
	text = draw(&f, &o);
	static const char *const blocks[] = {"▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	for (size_t i = 0; i < 7; i++)
		assert_null(strstr(text, blocks[i]));
	free(text);
	cam_flame_free(&f);
}

static void test_levels_that_say_little_go_first(void **state)
{
	(void)state;
	char line[4096] = "x";
	for (int i = 0; i < 60; i++)
		sprintf(line + strlen(line), ";step%d", i);
	char two[9000];
	snprintf(two, sizeof(two), "%s;left 3\n%s;right 2\n", line, line);
	struct cam_flame f = flame_of(folded_window(two, 1));
	struct cam_text_flame_options o = {.columns = 80, .rows = 24};
	char *text = draw(&f, &o);
	assert_non_null(strstr(text, "left"));
	assert_non_null(strstr(text, "right"));
	assert_non_null(strstr(text, "levels that only call the next left out"));
	assert_null(strstr(text, "more below"));
	free(text);
	cam_flame_free(&f);
	/* Where each level is different nothing but the leaves can go. */
	char many[20000] = "";
	for (int i = 0, n = 0; i < 60; i++) {
		n += sprintf(many + n, "x");
		for (int k = 0; k < i; k++)
			n += sprintf(many + n, ";s%d", k);
		n += sprintf(many + n, " 10\n");
	}
	f = flame_of(folded_window(many, 1));
	text = draw(&f, &o);
	assert_non_null(strstr(text, "more below"));
	free(text);
	cam_flame_free(&f);
}

static void test_names_cannot_steer(void **state)
{
	(void)state;
	struct cam_flame f = flame_of(folded_window("e\033[2J;b\x01\xc2\x9b\x7f;c\xff\xfe 9\n", 1));
	for (unsigned k = 0; k < 3; k++) {
		struct cam_text_flame_options o = {.columns = 60,
						   .title = CAM_TEXT("t\033]0;x\a"),
						   .colours = (enum cam_text_colours)k};
		char *text = draw(&f, &o);
		for (char *p = text; *p; p++) {
			if (*p == '\033')
				assert_true(
					k && p[1] == '[' &&
					(p[2] == '3' || p[2] == '4' || p[2] == '0' || p[2] == '1'));
			else
				assert_true((unsigned char)*p >= 0x20 || *p == '\n');
			assert_true(*p != 0x7f);
			assert_false((unsigned char)*p == 0xc2 && (unsigned char)p[1] < 0xa0);
		}
		assert_null(strstr(text, "\033[2J"));
		free(text);
	}
	cam_flame_free(&f);
}

static void test_nothing(void **state)
{
	(void)state;
	struct cam_flame f = flame_of(fake_window_new());
	struct cam_text_flame_options o = {.columns = 80, .colours = CAM_COLOURS_TRUE};
	char *text = draw(&f, &o);
	assert_string_equal(text, "0 samples\n");
	free(text);
	cam_flame_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_colours),
		cmocka_unit_test(test_every_line_is_as_wide_as_the_terminal),
		cmocka_unit_test(test_edges_lie_at_eighths),
		cmocka_unit_test(test_levels_that_say_little_go_first),
		cmocka_unit_test(test_names_cannot_steer),
		cmocka_unit_test(test_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
