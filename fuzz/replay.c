// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a fuzz target over each file of a corpus directory and prints TAP, one case a file.
 *
 * The plan comes first, so a crash in the middle leaves it short and the test fails. The empty
 * input is always the first case. A corpus without a file is a failure: it would test nothing.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static uint8_t *read_all(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long end;

	if (!f)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (end = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0) {
		*size = (size_t)end;
		data = malloc(*size + 1);
		if (data && fread(data, 1, *size, f) != *size) {
			free(data);
			data = NULL;
		}
	}
	fclose(f);
	return data;
}

/* The target gets a block of exactly the input's size, so that ASan sees a read past its end. */
static int run_file(const char *dir, const char *name)
{
	char path[4096];
	uint8_t *data, *exact;
	size_t size = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	data = read_all(path, &size);
	if (!data)
		return -1;
	exact = size ? realloc(data, size) : data;
	if (!exact) {
		free(data);
		return -1;
	}
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent **entries = NULL;
	int count, failed = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s CORPUS-DIR\n", argv[0]);
		return 2;
	}
	count = scandir(argv[1], &entries, visible, alphasort);
	if (count <= 0) {
		printf("1..1\nnot ok 1 - %s holds no input\n", argv[1]);
		return 1;
	}
	printf("1..%d\n", count + 1);
	fflush(stdout);
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	printf("ok 1 - empty input\n");
	for (int i = 0; i < count; i++) {
		int err = run_file(argv[1], entries[i]->d_name);

		printf("%sok %d - %s\n", err ? "not " : "", i + 2, entries[i]->d_name);
		fflush(stdout);
		failed |= err;
		free(entries[i]);
	}
	free(entries);
	return failed ? 1 : 0;
}
