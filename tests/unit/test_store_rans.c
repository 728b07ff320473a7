// SPDX-License-Identifier: Apache-2.0
#include "store/rans.h"
#include "store/stream.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static unsigned sum_of(const struct cam_rans_freq *f)
{
	unsigned sum = 0;
	for (int s = 0; s < 256; s++)
		sum += f->freq[s];
	return sum;
}

static void any_histogram_scales_to_the_whole(void **state)
{
	(void)state;
	uint64_t seed = 1;
	for (unsigned round = 0; round < 2000; round++) {
		uint64_t hist[256] = {0};
		unsigned n = 1 + (unsigned)(next_random(&seed) % 256);
		for (unsigned i = 0; i < n; i++)
			hist[next_random(&seed) & 255] = next_random(&seed) >> (14 + seed % 50);
		/* One huge symbol among many that occur once, and the other way round. */
		if (round % 3 == 0)
			hist[round & 255] = 1ull << 50;
		if (round % 5 == 0)
			for (unsigned i = 0; i < 256; i++)
				hist[i] += !hist[i];
		struct cam_rans_freq f;
		cam_rans_scale(hist, &f);
		bool any = false;
		for (unsigned i = 0; i < 256; i++) {
			assert_int_equal(f.freq[i] > 0, hist[i] > 0);
			any |= hist[i] > 0;
		}
		assert_int_equal(sum_of(&f), any ? CAM_RANS_SCALE : 0);
	}
}

/* Whose tables lack a token would divide by its frequency, nought: who counts must hear that one is missing. */
static void tokens_that_found_no_memory_are_not_counted_in_silence(void **state)
{
	(void)state;
	uint64_t hist[1][256] = {{0}};
	struct cam_stream_out s;
	cam_stream_out_init(&s, 4);
	cam_stream_put(&s, 0, 3);
	assert_int_equal(cam_stream_count(&s, hist), 0);
	s.error = -ENOMEM;
	assert_int_equal(cam_stream_count(&s, hist), -ENOMEM);
	cam_stream_out_free(&s);
}

/* The example of rans.c, worked by hand. */
static void the_documented_example_holds(void **state)
{
	(void)state;
	struct cam_rans_freq f = {.freq = {['a'] = 3072, ['b'] = 1024}, .start = {['b'] = 3072}};
	const uint16_t tokens[] = {'a', 'b'};
	struct cam_buf out = CAM_BUF(100);
	cam_rans_encode(&out, tokens, 2, &f);
	struct cam_rd r = cam_rd_make(out.data, out.len);
	assert_int_equal(out.len, 16);
	assert_int_equal(cam_rd_u32(&r), 87040);
	assert_int_equal(cam_rd_u32(&r), 265216);
	assert_int_equal(cam_rd_u32(&r), 65536);
	assert_int_equal(cam_rd_u32(&r), 65536);
	cam_buf_free(&out);
}

static void tables_come_back_and_bad_ones_are_refused(void **state)
{
	(void)state;
	uint64_t seed = 7;
	for (unsigned round = 0; round < 500; round++) {
		uint64_t hist[256] = {0};
		for (unsigned i = 0; i < round % 256; i++)
			hist[next_random(&seed) & 255] += 1 + (next_random(&seed) & 1023);
		struct cam_rans_freq f, back;
		struct cam_buf b = CAM_BUF(4096);
		cam_rans_scale(hist, &f);
		cam_rans_put_freq(&b, &f);
		struct cam_rd r = cam_rd_make(b.data, b.len);
		assert_int_equal(cam_rans_get_freq(&r, &back), 0);
		assert_int_equal(cam_rd_left(&r), 0);
		assert_memory_equal(&f, &back, sizeof(f));
		/* Cut anywhere, it is no table. */
		for (size_t n = 0; n < b.len; n++) {
			r = cam_rd_make(b.data, n);
			assert_int_equal(cam_rans_get_freq(&r, &back), -EBADMSG);
		}
		cam_buf_free(&b);
	}
	static const struct {
		size_t n;
		uint8_t bytes[12];
	} bad[] = {
		{2, {0x81, 0x02}},			/* 257 symbols */
		{2, {1, 0x80}},				/* cut inside the gap */
		{3, {1, 0x80, 0x02}},			/* symbol 256 */
		{5, {2, 0, 0, 0, 0}},			/* sums to 2 */
		{7, {2, 0, 0xff, 0x1f, 0, 0xff, 0x1f}}, /* sums to 8192 */
		{8, {2, 0xff, 1, 0, 0, 0xfe, 0x1f, 0}}, /* second symbol past 255 */
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cam_rd r = cam_rd_make(bad[i].bytes, bad[i].n);
		struct cam_rans_freq f;
		assert_int_equal(cam_rans_get_freq(&r, &f), -EBADMSG);
	}
}

/* Codes n symbols of an alphabet; answers the bytes it took, and the entropy in bytes. */
static size_t round_trip(uint64_t seed, size_t n, unsigned contexts, unsigned shape,
			 double *entropy)
{
	uint16_t *tokens = calloc(n + 1, sizeof(*tokens));
	uint64_t(*hist)[256] = calloc(contexts, sizeof(*hist));
	struct cam_rans_freq *freqs = calloc(contexts, sizeof(*freqs));
	struct cam_rans_table *tables = calloc(contexts, sizeof(*tables));
	for (size_t i = 0; i < n; i++) {
		unsigned ctx = (unsigned)(next_random(&seed) % contexts);
		unsigned sym = (unsigned)(next_random(&seed) & 255);
		for (unsigned k = 0; k < shape; k++)
			sym &= (unsigned)(next_random(&seed) & 255);
		tokens[i] = (uint16_t)(ctx << 8 | sym);
		hist[ctx][sym]++;
	}
	struct cam_buf out = CAM_BUF(1u << 24);
	for (unsigned c = 0; c < contexts; c++) {
		cam_rans_scale(hist[c], &freqs[c]);
		cam_rans_table_build(&freqs[c], &tables[c]);
	}
	cam_rans_encode(&out, tokens, n, freqs);
	struct cam_rans_in in;
	cam_rans_open(&in, out.data, out.len);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(cam_rans_get(&in, &tables[tokens[i] >> 8]), tokens[i] & 255);
	assert_true(cam_rans_done(&in));
	/* One more is not there. */
	if (n && !in.bad) {
		for (unsigned i = 0; i < 64; i++)
			cam_rans_get(&in, &tables[tokens[0] >> 8]);
		assert_true(!cam_rans_done(&in) ||
			    freqs[tokens[0] >> 8].freq[tokens[0] & 255] == CAM_RANS_SCALE);
	}
	size_t bytes = out.len;
	*entropy = 0;
	for (unsigned c = 0; c < contexts; c++) {
		double all = 0;
		for (unsigned i = 0; i < 256; i++)
			all += (double)hist[c][i];
		for (unsigned i = 0; i < 256; i++)
			if (hist[c][i])
				*entropy -= (double)hist[c][i] * log2((double)hist[c][i] / all) / 8;
	}
	cam_buf_free(&out);
	free(tokens);
	free(hist);
	free(freqs);
	free(tables);
	return bytes;
}

static void symbols_come_back(void **state)
{
	(void)state;
	double entropy;
	for (size_t n = 0; n < 200; n++)
		round_trip(n + 3, n, 1 + n % 5, n % 4, &entropy);
}

/* The coder itself costs next to nothing: within 0.5 % of the entropy. */
static void the_size_is_the_entropy(void **state)
{
	(void)state;
	for (unsigned shape = 0; shape < 5; shape++) {
		double entropy;
		size_t bytes = round_trip(shape + 99, 200000, 1 + shape, shape, &entropy);
		assert_true((double)bytes > entropy);
		assert_true((double)bytes < entropy * 1.005 + 16);
	}
}

static void tokens_cover_all_64_bits(void **state)
{
	(void)state;
	for (unsigned split = 2; split <= 7; split++) {
		uint32_t last = 0;
		for (unsigned bit = 0; bit < 64; bit++) {
			uint64_t edges[] = {(1ull << bit) - 1, 1ull << bit, (1ull << bit) + 1,
					    (1ull << bit) | (1ull << bit >> 1)};
			for (size_t i = 0; i < 4; i++) {
				uint32_t t = cam_token_of(edges[i], split);
				unsigned bits = cam_token_bits(t, split);
				uint64_t base = cam_token_base(t, split);
				assert_in_range(t, i < 3 ? last : 0, CAM_TOKEN_MARK - 1);
				assert_true(edges[i] >= base);
				assert_true(bits == 64 || (edges[i] - base) >> bits == 0);
			}
			last = cam_token_of(1ull << bit, split);
		}
		assert_true(cam_token_of(UINT64_MAX, split) < CAM_TOKEN_MARK);
	}
}

static void streams_come_back(void **state)
{
	(void)state;
	uint64_t seed = 42;
	for (unsigned round = 0; round < 300; round++) {
		unsigned split = 2 + round % 6, contexts = 1 + round % 7;
		size_t n = round < 100 ? round : 1 + next_random(&seed) % 3000;
		uint64_t *values = calloc(n + 1, sizeof(*values));
		struct cam_stream_out out;
		struct cam_buf b = CAM_BUF(1u << 24);
		cam_stream_out_init(&out, split);
		for (size_t i = 0; i < n; i++) {
			values[i] = next_random(&seed) >> (next_random(&seed) % 64);
			cam_stream_put(&out, (unsigned)(i % contexts), values[i]);
			cam_stream_put_raw(&out, values[i], 64);
			cam_stream_put_raw(&out, values[i], 17);
		}
		cam_buf_put_u8(&b, 0xee);
		assert_int_equal(cam_stream_write(&out, contexts, &b), 0);
		assert_true(b.len <= out.cost_bits / 8 + 40);
		cam_buf_put(&b, "12345678", 8);
		struct cam_rd r = cam_rd_make(b.data + 1, b.len - 9);
		struct cam_stream_in in;
		assert_int_equal(cam_stream_open(&in, &r, contexts, split), 0);
		assert_int_equal(cam_rd_left(&r), 0);
		for (size_t i = 0; i < n; i++) {
			assert_true(cam_stream_get(&in, (unsigned)(i % contexts)) == values[i]);
			assert_true(cam_stream_get_raw(&in, 64) == values[i]);
			assert_int_equal(cam_stream_get_raw(&in, 17), values[i] & 0x1ffff);
		}
		assert_true(cam_stream_done(&in));
		cam_stream_get(&in, 0);
		cam_stream_in_free(&in);
		cam_stream_out_free(&out);
		cam_buf_free(&b);
		free(values);
	}
}

/* Whatever the bytes: no crash, no end outside them, and no endless loop. */
static void damaged_streams_are_survived(void **state)
{
	(void)state;
	uint64_t seed = 11;
	unsigned noticed = 0, flips = 0;
	struct cam_stream_out out;
	struct cam_buf b = CAM_BUF(1u << 20);
	cam_stream_out_init(&out, 4);
	for (size_t i = 0; i < 400; i++)
		cam_stream_put(&out, i & 1, next_random(&seed) >> (40 + seed % 24));
	assert_int_equal(cam_stream_write(&out, 2, &b), 0);
	size_t n = b.len;
	cam_buf_put(&b, "\0\0\0\0\0\0\0\0", 8);
	for (size_t bit = 0; bit < n * 8; bit++, flips++) {
		b.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		struct cam_rd r = cam_rd_make(b.data, n);
		struct cam_stream_in in;
		int err = cam_stream_open(&in, &r, 2, 4);
		for (size_t i = 0; i < 400 && !err; i++)
			cam_stream_get(&in, i & 1);
		noticed += err || !cam_stream_done(&in);
		cam_stream_in_free(&in);
		b.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
	/* Flips of raw bits change values and nothing else; the words check themselves. */
	assert_true(noticed > flips / 4);
	for (size_t cut = 0; cut < n; cut++) {
		struct cam_rd r = cam_rd_make(b.data, cut);
		struct cam_stream_in in;
		assert_int_equal(cam_stream_open(&in, &r, 2, 4), -EBADMSG);
		cam_stream_in_free(&in);
	}
	cam_stream_out_free(&out);
	cam_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_histogram_scales_to_the_whole),
		cmocka_unit_test(the_documented_example_holds),
		cmocka_unit_test(tables_come_back_and_bad_ones_are_refused),
		cmocka_unit_test(symbols_come_back),
		cmocka_unit_test(the_size_is_the_entropy),
		cmocka_unit_test(tokens_cover_all_64_bits),
		cmocka_unit_test(streams_come_back),
		cmocka_unit_test(tokens_that_found_no_memory_are_not_counted_in_silence),
		cmocka_unit_test(damaged_streams_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
