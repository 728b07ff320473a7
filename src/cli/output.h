// SPDX-License-Identifier: Apache-2.0
/*
 * Where a verb's result goes: standard output, or the file of `-o`, which appears under its name
 * only when it is whole. A name that ends in .gz or .zst is compressed.
 */
#pragma once
#include "base/out.h"

struct cam_output;

/* NULL or "-": standard output. Says what is wrong and answers NULL. */
struct cam_output *cam_output_open(const char *path);
/* Whether its name says a kind of picture that nobody here draws: .pdf, .jpg, … */
bool cam_output_is_foreign(const char *path);
/* The same, always gzip whatever its name. */
struct cam_output *cam_output_open_gzip(const char *path);
struct cam_out *cam_output_stream(struct cam_output *o);
/* Finishes the file and gives it its name; frees o. Exit status, after saying what failed. */
int cam_output_commit(struct cam_output *o);
/* Leaves nothing behind; frees o. */
void cam_output_abandon(struct cam_output *o);
