/* SPDX-License-Identifier: MIT */
/* The model: summing up, filters, names of frames, marks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "fake_store.h"
#include "model/profile.h"
#include "base/text.h"
#include "stack/end_reason.h"

static uint64_t sum_of_entries(const struct profile *p)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(p, &n);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += entries[i].samples;
	return sum;
}

static void test_sums_up(void **state)
{
	struct store_reader *f = fake_small();
	struct profile *p;
	size_t n;

	(void)state;
	assert_int_equal(profile_new(f, NULL, &p), 0);
	profile_entries(p, &n);
	assert_int_equal(n, 6);
	assert_int_equal(sum_of_entries(p), 100);
	assert_int_equal(profile_totals(p)->samples, 100);
	assert_int_equal(profile_totals(p)->weight, 100 * 1003009);
	assert_int_equal(profile_totals(p)->complete, 99);
	assert_int_equal(profile_totals(p)->partial, 1);
	profile_free(p);
	fake_free(f);
}

static void check_filter(const struct profile_filter *filter, uint64_t samples)
{
	struct store_reader *f = fake_small();
	struct profile *p;

	assert_int_equal(profile_new(f, filter, &p), samples ? 0 : -ENODATA);
	assert_int_equal(profile_totals(p)->samples, samples);
	assert_int_equal(sum_of_entries(p), samples);
	profile_free(p);
	fake_free(f);
}

static void test_filters(void **state)
{
	const int32_t pid_12 = 12, tids[] = {13, 99}, nobody = 5;
	const char *const pool = "pool";

	(void)state;
	check_filter(&(struct profile_filter){.pids = &pid_12, .n_pids = 1}, 80);
	check_filter(&(struct profile_filter){.tids = tids, .n_tids = 2}, 30);
	check_filter(&(struct profile_filter){.comms = &pool, .n_comms = 1}, 10);
	check_filter(
		&(struct profile_filter){.pids = &pid_12, .n_pids = 1, .tids = tids, .n_tids = 2},
		10);
	check_filter(&(struct profile_filter){.pids = &nobody, .n_pids = 1}, 0);
}

static void check_path(struct profile *p, uint32_t node, uint8_t reason, const char *const *names)
{
	size_t n, i = 0;
	const struct profile_frame *frames = profile_frames(p, node, reason, 0, &n);

	assert_non_null(frames);
	for (; names[i]; i++) {
		assert_true(i < n);
		assert_string_equal(frames[i].symbol->name, names[i]);
	}
	assert_int_equal(i, n);
}

static void test_frames(void **state)
{
	struct store_reader *f = fake_small();
	struct profile *p;
	size_t n;
	const struct profile_frame *frames;

	(void)state;
	assert_int_equal(profile_new(f, NULL, &p), 0);
	check_path(p, 3, STACKD_END_ENTRY,
		   (const char *const[]){"_start", "main", "app::work()", "inl", NULL});
	frames = profile_frames(p, 3, STACKD_END_ENTRY, 0, &n);
	assert_true(frames[3].is_inlined);
	assert_false(frames[2].is_inlined);
	assert_int_equal(frames[2].location, frames[3].location);
	check_path(p, 11, STACKD_END_ENTRY,
		   (const char *const[]){"start_thread", "libx.so+0x51", NULL});
	check_path(p, 12, STACKD_END_NO_RECIPE,
		   (const char *const[]){"[incomplete: no_recipe]", "app::work()", NULL});
	frames = profile_frames(p, 12, STACKD_END_NO_RECIPE, 0, &n);
	assert_true(frames[0].symbol->is_mark);
	assert_int_equal(frames[0].location, UINT32_MAX);
	check_path(p, 0, STACKD_END_NO_USER, (const char *const[]){"[no frames]", NULL});
	check_path(p, 0, 200, (const char *const[]){"[incomplete: unknown]", NULL});
	frames = profile_frames(p, 14, STACKD_END_ENTRY, 0, &n);
	assert_true(frames[1].symbol->is_kernel);
	assert_false(frames[0].symbol->is_kernel);
	profile_free(p);
	fake_free(f);
}

static void test_symbols_are_interned(void **state)
{
	struct recording r = fake_recording();
	uint32_t a = add_object(&r, OBJECT_ELF, "/a"), again = add_object(&r, OBJECT_ELF, "/a");
	uint32_t b = add_object(&r, OBJECT_ELF, "/b"), jit = add_object(&r, OBJECT_JIT, "//anon");
	uint32_t in_a = add_function(&r, a, 0x100, false, "f");
	uint32_t in_again = add_function(&r, again, 0x100, false, "f");
	uint32_t in_b = add_function(&r, b, 0x100, false, "f");
	uint32_t in_jit = add_location(&r, jit, 0x7f0000, false);
	struct store_reader *f = fake_reader(&r);
	const struct profile_symbol *s[4];
	struct profile *p;

	(void)state;
	assert_int_equal(profile_new(f, NULL, &p), -ENODATA);
	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t at[] = {in_a, in_again, in_b, in_jit};
		size_t n;

		s[i] = profile_location_frames(p, at[i], &n)->symbol;
		assert_int_equal(n, 1);
	}
	assert_ptr_equal(s[0], s[1]);
	assert_ptr_not_equal(s[0], s[2]);
	assert_int_equal(s[0]->name_number, s[2]->name_number);
	assert_string_equal(s[2]->object, "/b");
	assert_string_equal(s[3]->object, "[jit]");
	assert_string_equal(s[3]->name, "[jit]+0x7f0000");
	assert_true(s[3]->is_unnamed);
	for (uint32_t i = 0; i < 4; i++)
		assert_ptr_equal(profile_symbol_at(p, s[i]->number), s[i]);
	profile_free(p);
	fake_free(f);
}

static void test_refuses_numbers_out_of_range(void **state)
{
	struct store_reader *f = fake_small();
	struct profile *p = NULL;

	(void)state;
	f->made.samples[50].node = f->tables.n_nodes;
	assert_int_equal(profile_new(f, NULL, &p), -EBADMSG);
	f->made.samples[50].node = 0;
	f->made.samples[50].thread = 1000;
	assert_int_equal(profile_new(f, NULL, &p), -EBADMSG);
	assert_null(p);
	fake_free(f);
}

static void test_quality_of_reasons(void **state)
{
	(void)state;
	assert_int_equal(profile_quality_of(STACKD_END_ENTRY), PROFILE_COMPLETE);
	assert_int_equal(profile_quality_of(STACKD_END_NO_USER), PROFILE_COMPLETE);
	assert_int_equal(profile_quality_of(STACKD_END_STACK_CUT), PROFILE_PARTIAL);
	assert_int_equal(profile_quality_of(STACKD_END_LOST_RING), PROFILE_LOST);
	assert_int_equal(profile_quality_of(255), PROFILE_PARTIAL);
	assert_string_equal(end_reason_name(STACKD_END_STACK_CUT), "stack_cut");
	assert_string_equal(end_reason_name(255), "unknown");
}

static void check_text(const char *in, const char *also, const char *out)
{
	struct buf b = {0};

	text_put(&b, in, also);
	assert_int_equal(b.len, strlen(out));
	assert_memory_equal(b.data, out, b.len);
	buf_free(&b);
}

static void test_text_is_safe(void **state)
{
	(void)state;
	check_text("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", NULL,
		   "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
	check_text("a\nb\t\x1b[2J\x7f", NULL, "a\\x0ab\\x09\\x1b[2J\\x7f");
	check_text("\xff|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82", NULL,
		   "\\xff|\\xc0\\xaf|\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80|\\xe2\\x82");
	check_text("\xc2\x9b|\xe2\x80\xae|\xe2\x81\xa7", NULL,
		   "\\xc2\\x9b|\\xe2\\x80\\xae|\\xe2\\x81\\xa7");
	check_text("a;b\\x3b", ";\\", "a\\x3bb\\x5cx3b");
}

static void test_shares_are_never_rounded_to_all(void **state)
{
	char s[TEXT_SHARE_MAX];

	(void)state;
	assert_string_equal(text_share(0, 10, s), "0.0");
	assert_string_equal(text_share(10, 10, s), "100.0");
	assert_string_equal(text_share(99999, 100000, s), "99.9");
	assert_string_equal(text_share(1, 100000, s), "<0.1");
	assert_string_equal(text_share(1, 8, s), "12.5");
	assert_string_equal(text_share(0, 0, s), "0.0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_up),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_symbols_are_interned),
		cmocka_unit_test(test_refuses_numbers_out_of_range),
		cmocka_unit_test(test_quality_of_reasons),
		cmocka_unit_test(test_text_is_safe),
		cmocka_unit_test(test_shares_are_never_rounded_to_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
