/* SPDX-License-Identifier: MIT */
/*
 * Frames that were not observed: every view and export shows them as such, and leaves them out
 * when asked to.
 *
 *   _start > main > work              40 walked, 20 whose _start and main are aligned
 *            main > work              10 whose main is aligned, and whose root is not known
 *   _start > main > work > memcpy     30: one stitched frame (main) below a walked one
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>

#include "export/export.h"
#include "fake_store.h"
#include "report/report.h"

static const struct origin_run two_aligned[] = {{2, FRAME_SOURCE_ALIGNED, 99}};
static const struct origin_run one_aligned[] = {{1, FRAME_SOURCE_ALIGNED, 90}};
static const struct origin_run stitched[] = {{1, FRAME_SOURCE_BRANCH, 100},
					     {1, FRAME_SOURCE_STITCHED, 80}};

static struct store_reader *store_with_origins(void)
{
	struct recording r = fake_recording();
	uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/prog");
	uint32_t start = add_function(&r, prog, 0x1020, true, "_start");
	uint32_t in_main = add_function(&r, prog, 0x1110, true, "main");
	uint32_t work = add_function(&r, prog, 0x1210, false, "work");
	uint32_t memcpy_at = add_function(&r, prog, 0x1310, false, "memcpy");
	uint32_t process = add_process(&r, 12, "prog"),
		 thread = add_thread(&r, process, 12, "prog");
	uint32_t top = add_node(&r, 0, start), path, cut;

	path = add_node(&r, add_node(&r, top, in_main), work);
	cut = add_node(&r, add_node(&r, 0, in_main), work);
	add_samples(&r, thread, path, STACKD_END_ENTRY, 40);
	add_inferred(&r, thread, path, STACKD_END_STACK_CUT, add_origin(&r, two_aligned, 1, true),
		     20);
	add_inferred(&r, thread, cut, STACKD_END_NO_RECIPE, add_origin(&r, one_aligned, 1, false),
		     10);
	add_inferred(&r, thread, add_node(&r, path, memcpy_at), STACKD_END_TOO_DEEP,
		     add_origin(&r, stitched, 2, true), 30);
	return fake_reader(&r);
}

static void test_totals_and_frames(void **state)
{
	struct store_reader *f = store_with_origins();
	const struct profile_frame *frames;
	struct profile *p;
	size_t n;

	(void)state;
	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_int_equal(profile_totals(p)->complete, 40);
	assert_int_equal(profile_totals(p)->reconstructed, 50);
	assert_int_equal(profile_totals(p)->partial, 10);
	profile_entries(p, &n);
	assert_int_equal(n, 4);
	frames = profile_frames(p, 3, STACKD_END_STACK_CUT, 1, &n);
	assert_int_equal(n, 3);
	assert_true(frames[0].is_inferred && frames[1].is_inferred && !frames[2].is_inferred);
	assert_int_equal(frames[1].source, FRAME_SOURCE_ALIGNED);
	assert_int_equal(frames[1].confidence, 99);
	assert_int_equal(frames[2].source, FRAME_SOURCE_WALKED);
	assert_int_equal(frames[2].confidence, 100);
	frames = profile_frames(p, 3, STACKD_END_ENTRY, 0, &n);
	assert_false(frames[0].is_inferred);
	frames = profile_frames(p, 6, STACKD_END_TOO_DEEP, 3, &n);
	assert_int_equal(frames[0].source, FRAME_SOURCE_BRANCH);
	assert_true(frames[0].is_inferred);
	assert_false(frames[2].is_inferred);
	profile_free(p);
	fake_free(f);
}

typedef int (*writer)(struct profile *, const struct report_options *, FILE *);

/* An output in memory of a recording, with or without the reconstructed frames. */
struct output {
	struct store_reader *store;
	struct profile_filter filter; /* which the profile borrows */
	struct profile *profile;
	FILE *file;
	char *text;
	size_t size;
};

static void open_output(struct output *o, bool no_reconstructed)
{
	o->filter = (struct profile_filter){.no_reconstructed = no_reconstructed};
	o->store = store_with_origins();
	o->file = open_memstream(&o->text, &o->size);
	assert_int_equal(profile_new(o->store, &o->filter, &o->profile), 0);
}

/* The text, which the caller frees. */
static char *close_output(struct output *o)
{
	fclose(o->file);
	profile_free(o->profile);
	fake_free(o->store);
	return o->text;
}

static char *written(bool no_reconstructed, writer write, enum report_view view)
{
	struct report_options options = {.view = view, .utf8 = true};
	struct output o;

	open_output(&o, no_reconstructed);
	assert_int_equal(write(o.profile, &options, o.file), 0);
	return close_output(&o);
}

static void check_text(bool no_reconstructed, enum report_view view, const char *golden)
{
	char *text = written(no_reconstructed, report_write_text, view);

	if (!strstr(text, golden))
		print_error("%s\n-- lacks --\n%s\n", text, golden);
	assert_non_null(strstr(text, golden));
	free(text);
}

static void test_text(void **state)
{
	(void)state;
	check_text(
		false, REPORT_TREE,
		"# quality: 40.0% complete, 50.0% reconstructed, 10.0% partial (no_recipe 10)\n");
	check_text(false, REPORT_TREE,
		   "   90.0%    0.0%  _start (55.6% reconstructed)  [prog]\n"
		   "   90.0%    0.0%  main (55.6% reconstructed)\n"
		   "   90.0%   60.0%  work\n"
		   "   30.0%   30.0%  memcpy\n"
		   "\n"
		   "   10.0%    0.0%  [incomplete: no_recipe]\n"
		   "   10.0%    0.0%  main (reconstructed)  [prog]\n"
		   "   10.0%   10.0%  work\n");
	check_text(false, REPORT_CALLERS,
		   "   70.0%  work  [prog]\n"
		   "   70.0%  ← main (42.9% reconstructed)\n"
		   "   60.0%  ├─ ← _start (33.3% reconstructed)\n"
		   "   10.0%  └─ ← [incomplete: no_recipe]\n"
		   "\n"
		   "   30.0%  memcpy  [prog]\n"
		   "   30.0%  ← work\n"
		   "   30.0%  ← main (reconstructed)\n"
		   "   30.0%  ← _start (reconstructed)\n");
}

static void test_text_without(void **state)
{
	(void)state;
	check_text(true, REPORT_TREE,
		   "# quality: 40.0% complete, 0.0% reconstructed, 60.0% partial "
		   "(too_deep 30, stack_cut 20, no_recipe 10)\n");
	check_text(true, REPORT_TREE,
		   "   40.0%    0.0%  _start  [prog]\n"
		   "   40.0%    0.0%  main\n"
		   "   40.0%   40.0%  work\n"
		   "\n"
		   "   30.0%    0.0%  [incomplete: too_deep]\n"
		   "   30.0%    0.0%  work  [prog]\n"
		   "   30.0%   30.0%  memcpy\n"
		   "\n"
		   "   20.0%    0.0%  [incomplete: stack_cut]\n"
		   "   20.0%   20.0%  work  [prog]\n"
		   "\n"
		   "   10.0%    0.0%  [incomplete: no_recipe]\n"
		   "   10.0%   10.0%  work  [prog]\n");
}

static json_int_t reconstructed(const json_t *json, const char *list, const char *name)
{
	const json_t *process = json_array_get(json_object_get(json, "processes"), 0), *row;
	json_int_t sum = 0;
	size_t i;

	json_array_foreach(json_object_get(process, list), i, row)
	{
		size_t symbol = (size_t)json_integer_value(json_object_get(row, "symbol"));
		const json_t *named = json_array_get(json_object_get(json, "symbols"), symbol);

		if (strcmp(json_string_value(json_object_get(named, "name")), name) == 0)
			sum += json_integer_value(json_object_get(row, "reconstructed"));
	}
	return sum;
}

static void test_json(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char *tree = written(i, report_write_json, REPORT_TREE);
		char *flat = written(i, report_write_json, REPORT_FLAT);
		json_t *t = json_loads(tree, 0, NULL), *f = json_loads(flat, 0, NULL);

		assert_non_null(t);
		assert_non_null(f);
		assert_int_equal(reconstructed(t, "nodes", "main"), i ? 0 : 60);
		assert_int_equal(reconstructed(t, "nodes", "work"), 0);
		assert_int_equal(reconstructed(f, "functions", "main"), i ? 0 : 60);
		assert_int_equal(reconstructed(f, "functions", "_start"), i ? 0 : 50);
		json_decref(t);
		json_decref(f);
		free(tree);
		free(flat);
	}
}

static char *exported(int (*export)(struct profile *, FILE *), bool no_reconstructed)
{
	struct output o;

	open_output(&o, no_reconstructed);
	assert_int_equal(export(o.profile, o.file), 0);
	return close_output(&o);
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	while ((text = strstr(text, what))) {
		text++;
		n++;
	}
	return n;
}

static void test_perf_script(void **state)
{
	char *with = exported(export_perf_script, false);
	char *without = exported(export_perf_script, true);

	(void)state;
	assert_int_equal(count(with, "cpu-clock: \n"), 100);
	assert_int_equal(count(with, "_start+0x21 (/bin/prog)\n"), 40);
	assert_int_equal(count(with, "_start+0x21 (/bin/prog) [reconstructed]\n"), 50);
	assert_int_equal(count(with, "main+0x11 (/bin/prog) [reconstructed]\n"), 60);
	assert_int_equal(count(with, "work+0x10 (/bin/prog)\n"), 100);
	assert_int_equal(count(with, "[incomplete: "), 10);
	assert_int_equal(count(without, "reconstructed"), 0);
	assert_int_equal(count(without, "cpu-clock: \n"), 100);
	assert_int_equal(count(without, "_start+0x21 (/bin/prog)\n"), 40);
	assert_int_equal(count(without, "[incomplete: too_deep] "), 30);
	free(with);
	free(without);
}

static void test_folded_and_tags(void **state)
{
	char *folded = exported(export_folded, true), *tags = exported(export_tags, false);
	char *cut = exported(export_tags, true);

	(void)state;
	assert_non_null(strstr(folded, "prog;_start;main;work 40\n"));
	assert_non_null(strstr(folded, "prog;[incomplete: stack_cut];work 20\n"));
	assert_non_null(strstr(tags, "\t20\t20060180\t12\tstack_cut\treconstructed\t2\n"));
	assert_non_null(strstr(tags, "\t10\t10030090\t12\tno_recipe\tpartial\t1\n"));
	assert_non_null(strstr(tags, "\t40\t40120360\t12\tentry\tcomplete\t0\n"));
	assert_non_null(strstr(cut, "\t20\t20060180\t12\tstack_cut\tpartial\t0\n"));
	free(folded);
	free(tags);
	free(cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_totals_and_frames), cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_without),	  cmocka_unit_test(test_json),
		cmocka_unit_test(test_perf_script),	  cmocka_unit_test(test_folded_and_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
