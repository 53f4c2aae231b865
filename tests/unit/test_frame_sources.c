/* SPDX-License-Identifier: MIT */
/* report --lbr: where the frames of a row come from, in the tree as text and as JSON. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>

#include "fake_store.h"
#include "report/report.h"
#include "tree/frame_sources.h"

typedef int (*writer)(struct profile *, const struct report_options *, FILE *);

/* main -> work: 60 samples of which both frames are branch records' and verified, 30 with work
 * unverified and main stitched, 10 as walked. */
static struct store_reader *three_origins(void)
{
	static const struct origin_run verified[] = {{2, FRAME_SOURCE_BRANCH, 100}};
	static const struct origin_run stitched[] = {{1, FRAME_SOURCE_STITCHED, 70},
						     {1, FRAME_SOURCE_BRANCH, 90}};
	struct recording r = fake_recording();
	uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = add_function(&r, prog, 0x1110, true, "main");
	uint32_t in_work = add_function(&r, prog, 0x1220, false, "work");
	uint32_t thread = add_thread(&r, add_process(&r, 12, "prog"), 12, "prog");
	uint32_t node = add_node(&r, add_node(&r, 0, in_main), in_work);

	add_inferred(&r, thread, node, STACKD_END_ENTRY, add_origin(&r, verified, 1, true), 60);
	add_inferred(&r, thread, node, STACKD_END_ENTRY, add_origin(&r, stitched, 2, true), 30);
	add_samples(&r, thread, node, STACKD_END_ENTRY, 10);
	return fake_reader(&r);
}

static char *written(struct store_reader *f, writer write, bool with_sources)
{
	const struct report_options options = {.utf8 = true, .with_sources = with_sources};
	struct profile *p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_int_equal(write(p, &options, out), 0);
	fclose(out);
	profile_free(p);
	return text;
}

static void test_text(void **state)
{
	struct store_reader *f = three_origins();
	char *text = written(f, report_write_text, true);

	(void)state;
	assert_non_null(strstr(text, "# frames from: br branch (75.0%), st stitched (15.0%), wa "
				     "walked (10.0%); ? not verified by walk or memory (30.0%)\n"));
	assert_non_null(strstr(text, "  100.0%    0.0%  br 60 st 30?    main "));
	assert_non_null(strstr(text, "  100.0%  100.0%  br 90 wa 10?    work"));
	free(text);
	text = written(f, report_write_text, false);
	assert_null(strstr(text, "br "));
	free(text);
	fake_free(f);
}

static void check_node(const json_t *node, int branch, int stitched, int walked, int unverified)
{
	const json_t *sources = json_object_get(node, "sources");

	assert_int_equal(json_integer_value(json_object_get(sources, "branch")), branch);
	assert_int_equal(json_integer_value(json_object_get(sources, "stitched")), stitched);
	assert_int_equal(json_integer_value(json_object_get(sources, "walked")), walked);
	assert_int_equal(json_integer_value(json_object_get(sources, "unverified")), unverified);
}

static void test_json(void **state)
{
	struct store_reader *f = three_origins();
	char *text = written(f, report_write_json, true);
	json_t *root = json_loads(text, 0, NULL);
	const json_t *nodes =
		json_object_get(json_array_get(json_object_get(root, "processes"), 0), "nodes");

	(void)state;
	assert_int_equal(json_array_size(nodes), 2);
	check_node(json_array_get(nodes, 0), 60, 30, 10, 30);
	check_node(json_array_get(nodes, 1), 90, 0, 10, 30);
	json_decref(root);
	free(text);
	fake_free(f);
}

static void test_has_branches(void **state)
{
	struct store_reader *with = three_origins(), *without = fake_small();
	struct profile *p;

	(void)state;
	assert_int_equal(profile_new(with, NULL, &p), 0);
	assert_true(frame_sources_has_branches(p));
	profile_free(p);
	assert_int_equal(profile_new(without, NULL, &p), 0);
	assert_false(frame_sources_has_branches(p));
	profile_free(p);
	fake_free(with);
	fake_free(without);
}

/* main by unwind information; work, in 9 of 10 samples, by a frame pointer and an analysed rule. */
static struct store_reader *weak_rules(void)
{
	struct recording r = fake_recording();
	uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/prog");
	uint32_t in_main = add_function(&r, prog, 0x1110, true, "main");
	uint32_t work = add_function(&r, prog, 0x1220, false, "work");
	uint32_t work_2 = add_function(&r, prog, 0x1230, false, "work");
	uint32_t work_3 = add_function(&r, prog, 0x1240, false, "work");
	uint32_t thread = add_thread(&r, add_process(&r, 12, "prog"), 12, "prog");
	uint32_t root = add_node(&r, 0, in_main);

	r.locations[in_main].provenance = PROVENANCE_CFI;
	r.locations[work].provenance = PROVENANCE_FRAME_POINTER;
	r.locations[work_2].provenance = PROVENANCE_ANALYSED;
	add_samples(&r, thread, add_node(&r, root, work), STACKD_END_ENTRY, 70);
	add_samples(&r, thread, add_node(&r, root, work_2), STACKD_END_ENTRY, 20);
	add_samples(&r, thread, add_node(&r, root, work_3), STACKD_END_ENTRY, 10);
	return fake_reader(&r);
}

static int provenance_of(const json_t *node, const char *name)
{
	return (int)json_integer_value(json_object_get(json_object_get(node, "provenances"), name));
}

static void test_weak_rules(void **state)
{
	struct store_reader *f = weak_rules();
	char *text = written(f, report_write_text, true);
	const json_t *nodes;
	struct profile *p;
	json_t *root;

	(void)state;
	assert_non_null(strstr(text, "# frames from: wa walked (55.0%), fp frame_pointer (35.0%), "
				     "an analysed (10.0%);"));
	assert_non_null(strstr(text, "  100.0%  100.0%  fp 70 an 20     work"));
	assert_non_null(strstr(text, "  100.0%    0.0%  wa 100          main"));
	free(text);
	text = written(f, report_write_json, true);
	root = json_loads(text, 0, NULL);
	nodes = json_object_get(json_array_get(json_object_get(root, "processes"), 0), "nodes");
	check_node(json_array_get(nodes, 1), 0, 0, 100, 0);
	assert_int_equal(provenance_of(json_array_get(nodes, 0), "cfi"), 100);
	assert_int_equal(provenance_of(json_array_get(nodes, 1), "cfi"), 0);
	assert_int_equal(provenance_of(json_array_get(nodes, 1), "none"), 10);
	assert_int_equal(provenance_of(json_array_get(nodes, 1), "frame_pointer"), 70);
	assert_int_equal(provenance_of(json_array_get(nodes, 1), "analysed"), 20);
	assert_int_equal(provenance_of(json_array_get(nodes, 1), "runtime_table"), 0);
	json_decref(root);
	free(text);
	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_true(frame_sources_has_weak_rules(p));
	assert_false(frame_sources_has_branches(p));
	profile_free(p);
	fake_free(f);
}

/* Sources that do not fit into the column are left out; a share is never rounded to all or nothing.
 */
static void test_column(void **state)
{
	const struct frame_source_counts all = {.by = {5, 4, 3, 2, 1}};
	const struct frame_source_counts nearly = {
		.by = {[FRAME_SOURCE_WALKED] = 9999, [FRAME_SOURCE_BRANCH] = 1}};
	const struct frame_source_counts none = {.unsure = 0};
	struct buf b = {0};

	(void)state;
	frame_sources_put(&all, &b);
	frame_sources_put(&nearly, &b);
	frame_sources_put(&none, &b);
	buf_put(&b, "", 1);
	assert_string_equal((const char *)b.data, "wa 33 pr 27     "
						  "wa 99 br 1      "
						  "                ");
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	     cmocka_unit_test(test_json),
		cmocka_unit_test(test_has_branches), cmocka_unit_test(test_column),
		cmocka_unit_test(test_weak_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
