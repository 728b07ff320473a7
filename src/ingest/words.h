// SPDX-License-Identifier: Apache-2.0
/*
 * Texts that many processes share (programs, cgroups, paths), each kept once and counted: the last
 * one to let go frees it. One thread.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

#define CAM_WORD_MAX_BYTES 4096u
/* What an allocation costs beyond its bytes; for those who keep accounts. */
#define CAM_WORD_ALLOC_COST 16u

struct cam_word {
	struct cam_word *next;
	uint32_t hash, refs;
	uint32_t n;
	char bytes[];
};

struct cam_words {
	struct cam_word **slots;
	size_t n_slots, n; /* n_slots: a power of two */
	size_t bytes;	   /* allocated */
};

int cam_words_init(struct cam_words *w);
/* Frees all, held or not. */
void cam_words_free(struct cam_words *w);
/* The word of a text (cut at CAM_WORD_MAX_BYTES), held once more; NULL: no memory. */
struct cam_word *cam_words_take(struct cam_words *w, struct cam_text text);
/* Lets go; NULL is fine. */
void cam_words_release(struct cam_words *w, struct cam_word *word);

static inline struct cam_word *cam_word_hold(struct cam_word *word)
{
	if (word)
		word->refs++;
	return word;
}

/* NULL is the empty text. */
static inline struct cam_text cam_word_text(const struct cam_word *word)
{
	return word ? (struct cam_text){word->bytes, word->n} : (struct cam_text){"", 0};
}
