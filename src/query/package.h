// SPDX-License-Identifier: Apache-2.0
/* What a frame's name says about where its code comes from: packages of Java and of Node.js. */
#pragma once
#include "base/text.h"

/*
 * The package of a name, as a part of it: "java/util" of java/util/HashMap::get, Ljava/util/HashMap;::get
 * and "java.util" of java.util.HashMap.get; "express" of …/node_modules/express/lib/router.js:12,
 * "@scope/name" where it has one, "node:internal" of node:internal/timers:5. Empty: it has none.
 */
struct cam_text cam_package_of(struct cam_text name);

/* The last part of a path: what people call the file. */
struct cam_text cam_package_file(struct cam_text path);

/*
 * The next part of a path of packages, class and method, and what is left behind it: "java", "util",
 * "HashMap", "get". A name of another form is one part.
 */
struct cam_text cam_package_step(struct cam_text *rest);

/* "java/util/HashMap::get" of "Ljava/util/HashMap;::get"; other names as they are. Written into room
 * where it changes (a name that does not fit there stays as it is). */
struct cam_text cam_package_tidy(struct cam_text name, char *room, size_t room_bytes);
