// SPDX-License-Identifier: Apache-2.0
/*
 * The files that the page was given: how they get to the process that reads them (importer.h), and the sources they
 * become, of which the oldest are dropped when others come.
 *
 * Thread: any. Who reads a source that is dropped meanwhile reads on.
 */
#pragma once
#include "cli/importer.h"
#include "serve/server.h"

struct cam_opening;

/* Makes the directory and starts the process, as who the caller is: before it is confined, and before it has threads.
 * -errno: there is no room for temporary files, … */
int cam_opening_new(struct cam_opening **out);
/* Has the process end, whatever it reads: who waits for that gets an error soon. From any thread; NULL is nothing. */
void cam_opening_stop(struct cam_opening *o);
/* Ends the process, which removes all there was; waits for that, for 2 s at most. */
void cam_opening_free(struct cam_opening *o);
/* The directory, which the caller must still be able to read. */
const char *cam_opening_place(const struct cam_opening *o);

/* As in struct cam_server_house; of enter i counts opened sources only. */
struct cam_server_limits cam_opening_limits(const struct cam_opening *o);
int cam_opening_enter(struct cam_opening *o, unsigned i, struct cam_server_doors *out);
int cam_opening_find(struct cam_opening *o, const char *id, struct cam_server_doors *out);
void cam_opening_leave(struct cam_opening *o, const struct cam_server_doors *d);
int cam_opening_begin(struct cam_opening *o, const struct cam_server_sent *f);
int cam_opening_more(struct cam_opening *o, const void *bytes, size_t n);
int cam_opening_end(struct cam_opening *o, struct cam_server_doors *out, struct cam_buf *words);
void cam_opening_abort(struct cam_opening *o);
