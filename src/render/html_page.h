// SPDX-License-Identifier: Apache-2.0
/*
 * One HTML file out of texts and pictures: it loads nothing, and runs nothing but the flame graphs' own script. Every picture is
 * a document of its own inside of it, so none can reach another or the page. Texts are names and log lines: hostile.
 */
#pragma once
#include "base/out.h"

void cam_html_open(struct cam_out *out, struct cam_text title, struct cam_text subtitle);
/* A heading, and below it a line that says how to read what follows; may be empty. */
void cam_html_section(struct cam_out *out, const char *heading, struct cam_text how);
/* A sentence, with the command that shows more of it; may be empty. */
void cam_html_sentence(struct cam_out *out, struct cam_text sentence, struct cam_text command);
/* Lines as a terminal would show them. */
void cam_html_lines(struct cam_out *out, struct cam_text lines);
void cam_html_facts_open(struct cam_out *out);
void cam_html_fact(struct cam_out *out, struct cam_text key, struct cam_text value);
void cam_html_facts_close(struct cam_out *out);
/* An SVG of ours, or a page of one: whose `viewBox` stands in it. alone: a page, as high as it says and as wide as there is room. */
void cam_html_picture(struct cam_out *out, const char *name, struct cam_text picture, bool alone);
void cam_html_close(struct cam_out *out, struct cam_text foot);
