/* SPDX-License-Identifier: MIT */
/* The data of a flame graph's page, read back by jansson. tests/exports looks at the page itself.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "export/export_flamegraph.h"
#include "fake_store.h"

#define DATA "<script type=\"application/json\" id=\"data\">"

static char *page_of(struct store_reader *before, struct store_reader *f,
		     const struct flamegraph_options *options)
{
	struct profile *profiles[2] = {NULL, NULL};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(profile_new(before ? before : f, NULL, &profiles[0]), 0);
	if (before)
		assert_int_equal(profile_new(f, NULL, &profiles[1]), 0);
	assert_int_equal(export_flamegraph(profiles, options, out), 0);
	fclose(out);
	profile_free(profiles[0]);
	profile_free(profiles[1]);
	return text;
}

/* The page's data; the page itself, with its data cut off, is left in `text`. */
static json_t *data_of(char *text)
{
	char *data = strstr(text, DATA), *end;
	json_error_t error;
	json_t *root;

	assert_non_null(data);
	data += strlen(DATA);
	end = strstr(data, "</script>");
	assert_non_null(end);
	assert_null(memchr(data, '<', (size_t)(end - data)));
	root = json_loadb(data, (size_t)(end - data), 0, &error);
	if (!root)
		fail_msg("%s at %d", error.text, error.position);
	return root;
}

static int64_t at(const json_t *root, const char *member, size_t side, size_t i)
{
	return json_integer_value(
		json_array_get(json_array_get(json_object_get(root, member), side), i));
}

/* A node has at least its self samples and those of its children. Returns how many nodes. */
static size_t check_sums(const json_t *root, size_t side)
{
	size_t n = json_array_size(json_object_get(root, "symbol"));
	int64_t *rest = calloc(n, sizeof(*rest)), depth = 0;
	size_t *line = calloc(n + 1, sizeof(*line));

	assert_int_equal(json_array_size(json_object_get(root, "step")), n);
	for (size_t i = 0; i < n; i++) {
		depth += json_integer_value(json_array_get(json_object_get(root, "step"), i));
		assert_true(depth >= (i > 0));
		line[depth] = i;
		rest[i] = at(root, "total", side, i) - at(root, "self", side, i);
		if (i)
			rest[line[depth - 1]] -= at(root, "total", side, i);
	}
	for (size_t i = 0; i < n; i++)
		assert_true(rest[i] >= 0);
	if (!json_integer_value(json_object_get(root, "left_out")))
		for (size_t i = 0; i < n; i++)
			assert_int_equal(rest[i], 0);
	free(rest);
	free(line);
	return n;
}

static const char *symbol_name(const json_t *root, size_t node)
{
	int64_t symbol =
		json_integer_value(json_array_get(json_object_get(root, "symbol"), node)) / 2;

	return json_string_value(json_array_get(
		json_array_get(json_object_get(root, "symbols"), (size_t)symbol), 0));
}

static void test_sums(void **state)
{
	static const enum partition_by bys[] = {PARTITION_BY_COMMAND, PARTITION_BY_PROCESS,
						PARTITION_BY_THREAD, PARTITION_BY_ALL};

	(void)state;
	for (size_t i = 0; i < sizeof(bys) / sizeof(*bys); i++) {
		struct flamegraph_options options = {.by = bys[i]};
		struct store_reader *f = fake_small();
		char *text = page_of(NULL, f, &options);
		json_t *root = data_of(text);

		assert_int_equal(at(root, "total", 0, 0), 100);
		assert_int_equal(json_integer_value(json_object_get(root, "left_out")), 0);
		assert_true(check_sums(root, 0) > 5);
		json_decref(root);
		free(text);
		fake_free(f);
	}
}

/* `width` functions below one, of 1, 2, 3, ... samples. */
static struct store_reader *fake_wide(uint32_t width, uint32_t more)
{
	struct recording r = fake_recording();
	uint32_t object = add_object(&r, OBJECT_ELF, "/bin/prog");
	uint32_t thread = add_thread(&r, add_process(&r, 1, "wide"), 1, "wide");
	uint32_t top = add_node(&r, 0, add_function(&r, object, 0x1000, true, "top"));

	for (uint32_t i = 0; i < width; i++) {
		char name[32];

		snprintf(name, sizeof(name), "function<%u>", i);
		add_samples(
			&r, thread,
			add_node(&r, top, add_function(&r, object, 0x2000 + 0x100 * i, true, name)),
			STACKD_END_ENTRY, i + 1 + (i ? 0 : more));
	}
	return fake_reader(&r);
}

/* A limit of size leaves out the smallest nodes first, and changes nothing else. */
static void test_room(void **state)
{
	struct flamegraph_options options = {.by = PARTITION_BY_COMMAND};
	struct store_reader *f = fake_wide(300, 0);
	char *text = page_of(NULL, f, &options);
	size_t unlimited = strlen(text), n;
	json_t *root;

	(void)state;
	free(text);
	options.max_bytes = unlimited - 3000;
	text = page_of(NULL, f, &options);
	assert_true(strlen(text) <= options.max_bytes);
	root = data_of(text);
	n = check_sums(root, 0);
	assert_true(n > 3 && n < 303);
	assert_int_equal(json_integer_value(json_object_get(root, "left_out")), 303 - n);
	assert_int_equal(at(root, "total", 0, 2), 300 * 301 / 2);
	assert_int_equal(at(root, "total", 0, 3), 300);
	assert_int_equal(at(root, "total", 0, n - 1),
			 json_integer_value(json_object_get(root, "least")));
	assert_string_equal(symbol_name(root, 3), "function<299>");
	json_decref(root);
	free(text);
	options.max_bytes = 1;
	text = page_of(NULL, f, &options);
	root = data_of(text);
	assert_int_equal(check_sums(root, 0), 1);
	json_decref(root);
	free(text);
	options = (struct flamegraph_options){.by = PARTITION_BY_ALL, .percent_limit = 50};
	text = page_of(NULL, f, &options);
	root = data_of(text);
	assert_int_equal(check_sums(root, 0), 2);
	json_decref(root);
	free(text);
	fake_free(f);
}

/* Two recordings number what they share differently. */
static void test_diff(void **state)
{
	struct flamegraph_options options = {.by = PARTITION_BY_COMMAND, .names = {"a", "b"}};
	struct store_reader *before = fake_wide(3, 0), *f = fake_wide(4, 10);
	char *text = page_of(before, f, &options);
	json_t *root = data_of(text);
	size_t n = check_sums(root, 0);

	(void)state;
	assert_int_equal(check_sums(root, 1), n);
	assert_int_equal(n, 3 + 4);
	assert_int_equal(at(root, "total", 0, 0), 6);
	assert_int_equal(at(root, "total", 1, 0), 20);
	assert_string_equal(symbol_name(root, 3), "function<0>");
	assert_int_equal(at(root, "total", 0, 3), 1);
	assert_int_equal(at(root, "total", 1, 3), 11);
	assert_string_equal(symbol_name(root, 4), "function<3>");
	assert_int_equal(at(root, "total", 0, 4), 0);
	json_decref(root);
	free(text);
	fake_free(before);
	fake_free(f);
}

static void test_hostile_names(void **state)
{
	struct flamegraph_options options = {.by = PARTITION_BY_PROCESS};
	static const char *const names[] = {"</script><script>alert(1)</script>", "<!--",
					    "a\nb\"\\", "\xff\xc3", "\033[31m"};
	struct recording r = fake_recording();
	struct store_reader *f;
	uint32_t node = 0;
	json_t *root;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint32_t object = add_object(&r, OBJECT_ELF, names[i]);
		uint32_t process = add_process(&r, (int32_t)i + 1, names[i]);

		node = add_node(&r, node, add_function(&r, object, 0x1000, true, names[i]));
		add_samples(&r, add_thread(&r, process, (int32_t)i + 1, names[i]), node,
			    STACKD_END_ENTRY, 1);
	}
	r.info.target = "</title></script>";
	f = fake_reader(&r);
	text = page_of(NULL, f, &options);
	root = data_of(text);
	check_sums(root, 0);
	for (size_t i = 0; i < json_array_size(json_object_get(root, "symbols")); i++) {
		const char *name = json_string_value(
			json_array_get(json_array_get(json_object_get(root, "symbols"), i), 0));

		for (const char *c = name; *c; c++)
			assert_true((unsigned char)*c >= 0x20);
	}
	json_decref(root);
	free(text);
	fake_free(f);
}

static void test_failing_output(void **state)
{
	struct flamegraph_options options = {.by = PARTITION_BY_ALL};
	struct store_reader *f = fake_small();
	struct profile *profiles[2] = {NULL, NULL};
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_int_equal(profile_new(f, NULL, &profiles[0]), 0);
	assert_int_equal(export_flamegraph(profiles, &options, full), -EIO);
	fclose(full);
	profile_free(profiles[0]);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),	       cmocka_unit_test(test_room),
		cmocka_unit_test(test_diff),	       cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_failing_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
