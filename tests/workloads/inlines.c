// SPDX-License-Identifier: Apache-2.0
/*
 * Functions inlined in functions, several deep, in loops and branches and more than once: what DWARF has to say
 * about each address is compared with what others read there. Runs for the seconds it is given.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INLINED static inline __attribute__((always_inline))
#define ALONE	__attribute__((noinline))

struct node {
	struct node *left, *right;
	uint32_t key, value;
};

static struct node nodes[1024];
static uint32_t used;

INLINED uint32_t turn(uint32_t v, unsigned by)
{
	return v << by | v >> (32 - by);
}

INLINED uint32_t mix(uint32_t a, uint32_t b)
{
	a ^= turn(b, 7) * 0x9e3779b9u;
	if (a & 1)
		a += turn(a, 13);
	return a;
}

INLINED uint32_t hash(const char *text, size_t n)
{
	uint32_t h = 17;
	for (size_t i = 0; i < n; i++)
		h = mix(h, (uint8_t)text[i]);
	return mix(h, (uint32_t)n);
}

INLINED struct node **place(struct node **at, uint32_t key)
{
	while (*at && (*at)->key != key)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	return at;
}

static inline struct node *make(uint32_t key)
{
	struct node *n = &nodes[used++ % 1024];
	memset(n, 0, sizeof(*n));
	n->key = key;
	return n;
}

static inline void count(struct node **root, const char *text)
{
	struct node **at = place(root, hash(text, strlen(text)) % 997);
	if (!*at && used < 1024)
		*at = make(hash(text, strlen(text)) % 997);
	if (*at)
		(*at)->value += mix((*at)->value, 3) & 1;
}

ALONE static uint32_t sum(const struct node *n)
{
	if (!n)
		return 0;
	return mix(sum(n->left), n->value) + sum(n->right);
}

ALONE uint32_t spin(uint32_t seed, uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++)
		seed = mix(seed, i) ^ turn(seed, 5);
	return seed;
}

ALONE uint32_t fill(struct node **root, uint32_t seed)
{
	char text[32];
	for (int i = 0; i < 200; i++) {
		int n = snprintf(text, sizeof(text), "word %u",
				 turn(seed, (unsigned)i % 31 + 1) % 5000);
		if (n > 0)
			count(root, text);
		seed = mix(seed, (uint32_t)i);
	}
	return seed;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	struct node *root = NULL;
	uint32_t seed = 1;
	struct timespec start, now;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		seed = fill(&root, seed);
		seed = spin(seed, 2000000) + sum(root);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
		 seconds);
	printf("%u\n", seed);
	return 0;
}
