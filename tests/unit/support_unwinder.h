// SPDX-License-Identifier: Apache-2.0
/* An unwinder that remembers what it was told, and checks the order in which it was. */
#pragma once
#include "model/unwinder.h"

#define FAKE_FILES     256u
#define FAKE_IMAGES    512u
#define FAKE_PROCESSES 512u

struct fake_unwinder {
	struct cam_unwinder base;
	struct fake_table {
		bool begun, there;
		size_t rows, rules;
		uint8_t cfa; /* of the last rule */
	} tables[FAKE_FILES];
	struct fake_image {
		uint32_t number; /* 0: not there */
		size_t n_maps;
		struct cam_unwind_mapping maps[4]; /* the first */
	} images[FAKE_IMAGES];
	struct cam_unwind_process processes[FAKE_PROCESSES];
	size_t n_images, n_processes;
	uint32_t highest; /* number of an image */
	/* Calls so far; by how many more of each were made in the last tick is for the test to tell. */
	size_t told, forgotten, images_told, images_forgotten, tables_ended, flushes;
	int process_error, rows_error; /* what is answered */
};

void fake_unwinder_init(struct fake_unwinder *u);
/* NULL: does not know it. */
const struct cam_unwind_process *fake_process(const struct fake_unwinder *u, int32_t pid);
const struct fake_image *fake_image(const struct fake_unwinder *u, uint32_t number);
/* As if there had been no room. */
void fake_evict_all(struct fake_unwinder *u);
