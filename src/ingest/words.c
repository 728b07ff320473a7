// SPDX-License-Identifier: Apache-2.0
#include "ingest/words.h"

#include "base/index.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOTS 256u

int cam_words_init(struct cam_words *w)
{
	*w = (struct cam_words){.n_slots = FIRST_SLOTS, .bytes = FIRST_SLOTS * sizeof(void *)};
	w->slots = calloc(FIRST_SLOTS, sizeof(*w->slots));
	return w->slots ? 0 : -ENOMEM;
}

void cam_words_free(struct cam_words *w)
{
	for (size_t i = 0; w->slots && i < w->n_slots; i++) {
		while (w->slots[i]) {
			struct cam_word *word = w->slots[i];
			w->slots[i] = word->next;
			free(word);
		}
	}
	free(w->slots);
	*w = (struct cam_words){0};
}

/* Longer chains are no error: where memory is short the table stays as it is. */
static void grow(struct cam_words *w)
{
	size_t n_slots = w->n_slots * 2;
	struct cam_word **slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return;
	for (size_t i = 0; i < w->n_slots; i++) {
		while (w->slots[i]) {
			struct cam_word *word = w->slots[i];
			w->slots[i] = word->next;
			word->next = slots[word->hash & (n_slots - 1)];
			slots[word->hash & (n_slots - 1)] = word;
		}
	}
	free(w->slots);
	w->bytes += (n_slots - w->n_slots) * sizeof(*slots);
	w->slots = slots;
	w->n_slots = n_slots;
}

static size_t cost(size_t n)
{
	return sizeof(struct cam_word) + n + CAM_WORD_ALLOC_COST;
}

struct cam_word *cam_words_take(struct cam_words *w, struct cam_text text)
{
	if (text.n > CAM_WORD_MAX_BYTES)
		text.n = CAM_WORD_MAX_BYTES;
	uint32_t hash = (uint32_t)cam_hash(text.p, text.n);
	for (struct cam_word *word = w->slots[hash & (w->n_slots - 1)]; word; word = word->next) {
		if (word->hash == hash && cam_text_equal(cam_word_text(word), text))
			return cam_word_hold(word);
	}
	if (w->n >= w->n_slots)
		grow(w);
	struct cam_word *word = malloc(sizeof(*word) + text.n);
	if (!word)
		return NULL;
	struct cam_word **slot = &w->slots[hash & (w->n_slots - 1)];
	*word = (struct cam_word){.next = *slot, .hash = hash, .refs = 1, .n = (uint32_t)text.n};
	if (text.n)
		memcpy(word->bytes, text.p, text.n);
	*slot = word;
	w->n++;
	w->bytes += cost(text.n);
	return word;
}

void cam_words_release(struct cam_words *w, struct cam_word *word)
{
	if (!word || --word->refs)
		return;
	struct cam_word **at = &w->slots[word->hash & (w->n_slots - 1)];
	while (*at != word)
		at = &(*at)->next;
	*at = word->next;
	w->n--;
	w->bytes -= cost(word->n);
	free(word);
}
