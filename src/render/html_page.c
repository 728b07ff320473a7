// SPDX-License-Identifier: Apache-2.0
#include "render/html_page.h"

#include "render/embedded.h"
#include "render/label.h"

#include <stdint.h>
#include <stdio.h>

/* What a browser's own limit makes of a text is no business of ours; a line of a log has 1 KiB. */
#define MOST_COLUMNS 20000u

static void put_text(struct cam_out *out, struct cam_text s)
{
	cam_label_put(out, s, MOST_COLUMNS, CAM_LABEL_XML);
}

void cam_html_open(struct cam_out *out, struct cam_text title, struct cam_text subtitle)
{
	cam_out_printf(out,
		       "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		       "style-src 'unsafe-inline'; script-src 'sha256-%s'; base-uri 'none'; "
		       "form-action 'none'\">\n"
		       "<meta name=\"viewport\" content=\"width=device-width\">\n"
		       "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
		       cam_embedded_flame_js_sha256);
	put_text(out, title);
	cam_out_str(out, "</title>\n<style>\n");
	cam_out_str(out, cam_embedded_page_css);
	cam_out_str(out, "</style>\n</head>\n<body>\n<header><h1>");
	put_text(out, title);
	cam_out_str(out, "</h1><p>");
	put_text(out, subtitle);
	cam_out_str(out, "</p></header>\n<main>\n");
}

void cam_html_section(struct cam_out *out, const char *heading, struct cam_text how)
{
	cam_out_str(out, "<h2>");
	put_text(out, cam_text_of(heading));
	cam_out_str(out, "</h2>\n");
	if (how.n) {
		cam_out_str(out, "<p class=\"how\">");
		put_text(out, how);
		cam_out_str(out, "</p>\n");
	}
}

void cam_html_sentence(struct cam_out *out, struct cam_text sentence, struct cam_text command)
{
	cam_out_str(out, "<p class=\"finding\">");
	put_text(out, sentence);
	cam_out_str(out, "</p>\n");
	if (command.n) {
		cam_out_str(out, "<p class=\"command\"><code>");
		put_text(out, command);
		cam_out_str(out, "</code></p>\n");
	}
}

void cam_html_lines(struct cam_out *out, struct cam_text lines)
{
	cam_out_str(out, "<pre>");
	for (size_t at = 0; at < lines.n;) {
		const char *end = memchr(lines.p + at, '\n', lines.n - at);
		size_t n = (end ? (size_t)(end - lines.p) : lines.n) - at;
		put_text(out, (struct cam_text){lines.p + at, n});
		cam_out_str(out, "\n");
		at += n + 1;
	}
	cam_out_str(out, "</pre>\n");
}

void cam_html_facts_open(struct cam_out *out)
{
	cam_out_str(out, "<table>\n");
}

void cam_html_fact(struct cam_out *out, struct cam_text key, struct cam_text value)
{
	cam_out_str(out, "<tr><th scope=\"row\">");
	put_text(out, key);
	cam_out_str(out, "</th><td>");
	put_text(out, value);
	cam_out_str(out, "</td></tr>\n");
}

void cam_html_facts_close(struct cam_out *out)
{
	cam_out_str(out, "</table>\n");
}

/* Inside a quoted attribute a document is as it is, but for these two. */
static void put_quoted(struct cam_out *out, struct cam_text s)
{
	size_t from = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] != '"' && s.p[i] != '&')
			continue;
		cam_out_bytes(out, s.p + from, i - from);
		cam_out_str(out, s.p[i] == '"' ? "&quot;" : "&amp;");
		from = i + 1;
	}
	cam_out_bytes(out, s.p + from, s.n - from);
}

void cam_html_picture(struct cam_out *out, const char *name, struct cam_text picture, bool alone)
{
	static const char key[] = "viewBox=\"0 0 ";
	unsigned width = 1200, height = 300;
	const char *box = memmem(picture.p, picture.n, key, sizeof(key) - 1);
	char numbers[32] = "";
	if (box) {
		size_t left = (size_t)(picture.p + picture.n - box) - (sizeof(key) - 1);
		snprintf(numbers, sizeof(numbers), "%.*s", left < 24 ? (int)left : 24,
			 box + sizeof(key) - 1);
		if (sscanf(numbers, "%u %u", &width, &height) != 2 || !width || !height)
			width = 1200, height = 300;
	}
	cam_out_printf(out, "<iframe sandbox=\"allow-scripts\" title=\"%s\" style=\"", name);
	if (alone)
		cam_out_printf(out, "height: %upx", height);
	else
		cam_out_printf(out, "aspect-ratio: %u / %u", width, height);
	cam_out_str(out, "\" srcdoc=\"");
	if (!alone)
		cam_out_str(out, "<!DOCTYPE html><meta name=&quot;color-scheme&quot; "
				 "content=&quot;light dark&quot;><style>body { margin: 0; } "
				 "svg { display: block; width: 100%; height: auto; }</style>");
	put_quoted(out, picture);
	cam_out_str(out, "\"></iframe>\n");
}

void cam_html_close(struct cam_out *out, struct cam_text foot)
{
	cam_out_str(out, "</main>\n<footer>");
	put_text(out, foot);
	cam_out_str(out, "</footer>\n</body>\n</html>\n");
}
