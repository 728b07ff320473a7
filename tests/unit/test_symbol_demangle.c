// SPDX-License-Identifier: Apache-2.0
/* Readable names, against c++filt; and names made to hurt. */
#include "support_oracle.h"
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROOM 4096u

static const char *readable(const char *name)
{
	static char text[ROOM + 1];
	char room[ROOM];
	uint64_t work = 1u << 20;
	struct cam_text t = cam_demangle(cam_text_of(name), room, sizeof(room), &work);
	assert_true(t.n <= ROOM);
	memcpy(text, t.p, t.n);
	text[t.n] = 0;
	return text;
}

static void known_names(void **state)
{
	(void)state;
	static const char *const known[][2] = {
		{"main", "main"},
		{"_start", "_start"},
		{"", ""},
		{"_Z", "_Z"},
		{"_ZNK3foo3barEiPKc", "foo::bar"},
		{"_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run"},
		{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()"},
		{"_ZTv0_n24_N1A1fEv", "virtual thunk to A::f()"},
		{"_ZnwmSt11align_val_t", "operator new"},
		{"_Z3foov.cold", "foo"},
		{"_Z3foov.part.0.constprop.1", "foo"},
		{"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_string_equal(readable(known[i][0]), known[i][1]);
}

/* Every name of a large C++ library: c++filt is libiberty too, but another build of it and called
 * in another way. */
static void a_librarys_names_are_those_of_cxxfilt(void **state)
{
	(void)state;
	struct cam_buf path = oracle_run("realpath $(clang++ -print-file-name=libstdc++.so.6)");
	path.data[strcspn((char *)path.data, "\n")] = 0;
	struct oracle_symbols s = oracle_symbols((char *)path.data);
	assert_true(s.n > 2000);
	for (size_t i = 0; i < s.n; i++)
		assert_string_equal(readable(s.rows[i].name), s.rows[i].readable);
	oracle_symbols_free(&s);
	cam_buf_free(&path);
}

/* Each argument is a pair of the one before: 2^21 of them, in 200 bytes. */
static void a_name_that_grows_is_cut(void **state)
{
	(void)state;
	char name[512], room[64];
	char *p = name + sprintf(name, "_Z1fI1PIiiE");
	static const char *const seqs[] = {"S0_", "S1_", "S2_", "S3_", "S4_", "S5_", "S6_",
					   "S7_", "S8_", "S9_", "SA_", "SB_", "SC_", "SD_",
					   "SE_", "SF_", "SG_", "SH_", "SI_", "SJ_", "SK_"};
	for (size_t i = 0; i < sizeof(seqs) / sizeof(seqs[0]); i++)
		p += sprintf(p, "S_I%s%sE", seqs[i], seqs[i]);
	sprintf(p, "Ev");
	uint64_t work = 1u << 20, before = work;
	struct cam_text t = cam_demangle(cam_text_of(name), room, sizeof(room), &work);
	assert_int_equal(t.n, sizeof(room));
	assert_memory_equal(t.p, "f<P<int, int>, ", 15);
	/* The work was taken, and bounded. */
	assert_in_range(before - work, 4096, 200000);
	/* Without work nothing is looked into. */
	work = 0;
	t = cam_demangle(cam_text_of(name), room, sizeof(room), &work);
	assert_ptr_equal(t.p, name);
}

static void a_deep_name_ends(void **state)
{
	(void)state;
	char name[8192];
	static const char *const deep[] = {"P", "N", "FI", "S", "T_I", "L_Z", "Dp", "cv"};
	for (size_t i = 0; i < sizeof(deep) / sizeof(deep[0]); i++) {
		size_t n = (size_t)sprintf(name, "_Z1f");
		while (n + 4 < 4096) {
			memcpy(name + n, deep[i], strlen(deep[i]));
			n += strlen(deep[i]);
		}
		name[n] = 0;
		readable(name);
		memcpy(name, "_RNv", 4);
		readable(name);
	}
}

static void a_name_too_long_is_not_looked_into(void **state)
{
	(void)state;
	char name[CAM_DEMANGLE_MAX_BYTES + 2], room[16];
	uint64_t work = 1u << 20;
	memset(name, 'i', sizeof(name));
	memcpy(name, "_Z1fi", 5);
	name[CAM_DEMANGLE_MAX_BYTES + 1] = 0;
	assert_ptr_equal(cam_demangle(cam_text_of(name), room, sizeof(room), &work).p, name);
	assert_int_equal(work, 1u << 20);
	name[CAM_DEMANGLE_MAX_BYTES] = 0;
	cam_demangle(cam_text_of(name), room, sizeof(room), &work);
	assert_int_equal(work, (1u << 20) - CAM_DEMANGLE_MAX_BYTES);
}

/* Cut between the bytes of a character: the character goes whole. */
static void a_cut_name_ends_with_a_character(void **state)
{
	(void)state;
	char room[8];
	uint64_t work = 1u << 20;
	/* foo::gödel */
	struct cam_text t = cam_demangle(cam_text_of("_RNvC3foou8gdel_5qa"), room, 8, &work);
	assert_int_equal(t.n, 8);
	assert_memory_equal(t.p, "foo::g\xc3\xb6", 8);
	t = cam_demangle(cam_text_of("_RNvC3foou8gdel_5qa"), room, 7, &work);
	assert_int_equal(t.n, 6);
	assert_memory_equal(t.p, "foo::g", 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_names),
		cmocka_unit_test(a_librarys_names_are_those_of_cxxfilt),
		cmocka_unit_test(a_name_that_grows_is_cut),
		cmocka_unit_test(a_deep_name_ends),
		cmocka_unit_test(a_name_too_long_is_not_looked_into),
		cmocka_unit_test(a_cut_name_ends_with_a_character),
	};
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
