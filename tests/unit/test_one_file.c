/* SPDX-License-Identifier: MIT */
/* Files of the page, with their data read back by jansson: what they show, how large they are,
 * names that try to break out. tests/exports looks at them in a browser. */
#include "store_fixture.h"

#include <errno.h>
#include <jansson.h>

#include "model/profile.h"
#include "stackd_abi.h"
#include "store/store_writer.h"
#include "web/one_file.h"

#define DATA "<script type=\"application/json\" id=\"data\">"

/* Writes a recording, which it frees, to a store of its own, and opens it. */
static struct store_reader *opened(struct recording *r)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db"), *error = NULL;
	struct store_writer *w;
	struct store_reader *reader;

	assert_int_equal(store_writer_new(path, &r->info, &w, &error), 0);
	assert_int_equal(write_recording(r, w), 0);
	assert_int_equal(store_writer_commit(w, &r->info), 0);
	store_writer_free(w);
	free_recording(r);
	assert_int_equal(store_reader_open(path, 1, &reader, &error), 0);
	fixture_remove(folder); /* It is open. */
	free(path);
	return reader;
}

/* 100 samples of two processes. */
static struct store_reader *small(void)
{
	const struct store_recording info = usual_recording();
	struct recording r = new_recording(&info);
	const uint32_t object = add_object(&r, OBJECT_ELF, "/bin/prog");
	const uint32_t a = add_thread(&r, add_process(&r, 1, "a"), 1, "a");
	const uint32_t b = add_thread(&r, add_process(&r, 2, "b"), 2, "b");
	const uint32_t top = add_node(&r, 0, add_function(&r, object, 0x1000, true, "top"));
	const uint32_t leaf = add_function(&r, object, 0x2000, true, "leaf");

	add_samples(&r, a, add_node(&r, top, leaf), STACKD_END_ENTRY, 40);
	add_samples(&r, a, top, STACKD_END_ENTRY, 10);
	add_samples(&r, b, add_node(&r, 0, leaf), STACKD_END_ENTRY, 50);
	return opened(&r);
}

/* Writes a file about a recording that is open, or about its difference from another one. Returns
 * what one_file_write() does. */
static int write_file(struct store_reader *before, struct store_reader *f, struct one_file *file,
		      size_t most_bytes, FILE *out)
{
	const struct profile_filter filter = {0};
	const struct web_given base_given = {.reader = before, .filter = &filter},
			       given = {.reader = f, .filter = &filter};
	const struct web_source base = {.path = "b", .label = "b", .given = &base_given};
	const struct web_source source = {.path = "a",
					  .label = "a",
					  .given = &given,
					  .base = before ? &base : NULL,
					  .base_name = "b",
					  .most_bytes = most_bytes};

	file->source = &source;
	return one_file_write(file, out);
}

static char *page_of(struct store_reader *before, struct store_reader *f, struct one_file *file,
		     size_t most_bytes)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(write_file(before, f, file, most_bytes, out), 0);
	fclose(out);
	return text;
}

/* The page's data. */
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

/* The answer to the first question that begins so. */
static json_t *answer(json_t *root, const char *question)
{
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(root, "answers"), key,
			    value) if (strncmp(key, question, strlen(question)) == 0) return value;
	fail_msg("no answer to %s", question);
	return NULL;
}

static int64_t at(const json_t *tree, const char *column, size_t i)
{
	return json_integer_value(
		json_array_get(json_object_get(json_object_get(tree, "nodes"), column), i));
}

static size_t count(const json_t *tree)
{
	return json_array_size(json_object_get(json_object_get(tree, "nodes"), "parent"));
}

static const char *name_of(const json_t *tree, size_t i)
{
	const json_t *names = json_object_get(json_object_get(tree, "frames"), "name");
	const json_int_t name =
		json_integer_value(json_array_get(names, (size_t)at(tree, "frame", i)));

	return json_string_value(json_array_get(json_object_get(tree, "strings"), (size_t)name));
}

/* A node has its self amount and those of its children. */
static void check_sums(const json_t *tree, const char *total, const char *self)
{
	const size_t n = count(tree);
	int64_t *rest = calloc(n, sizeof(*rest));

	for (size_t i = 0; i < n; i++) {
		rest[i] = at(tree, total, i) - at(tree, self, i);
		if (i)
			rest[at(tree, "parent", i)] -= at(tree, total, i);
	}
	for (size_t i = 0; i < n; i++)
		assert_int_equal(rest[i], 0);
	free(rest);
}

static void test_parts(void **state)
{
	static const char *const parts[] = {"command", "process", "thread", NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct one_file file = {.tab = "flame", .by = parts[i]};
		struct store_reader *f = small();
		char *text = page_of(NULL, f, &file, 0);
		json_t *root = data_of(text), *tree = answer(root, "tree");
		const char *opens = json_string_value(json_object_get(root, "state"));

		assert_int_equal(at(tree, "total", 0), 100);
		assert_int_equal(json_integer_value(json_object_get(tree, "left_out")), 0);
		assert_true(count(tree) > 3);
		check_sums(tree, "total", "self");
		assert_int_equal(strncmp(opens, "#tab=flame&recording=", 21), 0);
		assert_true(!parts[i] == !strstr(opens, "&by="));
		json_decref(root);
		free(text);
		store_reader_close(f);
	}
}

/* `width` functions below one, of 1, 2, 3, ... samples; of more than 1,000, each has one. */
static struct store_reader *wide(uint32_t width, uint32_t more)
{
	const struct store_recording info = usual_recording();
	struct recording r = new_recording(&info);
	uint32_t object = add_object(&r, OBJECT_ELF, "/bin/prog");
	uint32_t thread = add_thread(&r, add_process(&r, 1, "wide"), 1, "wide");
	uint32_t top = add_node(&r, 0, add_function(&r, object, 0x1000, true, "top"));

	for (uint32_t i = 0; i < width; i++) {
		char name[32];

		snprintf(name, sizeof(name), "function<%u>", i);
		add_samples(
			&r, thread,
			add_node(&r, top, add_function(&r, object, 0x2000 + 0x100 * i, true, name)),
			STACKD_END_ENTRY, width > 1000 ? 1 : i + 1 + (i ? 0 : more));
	}
	return opened(&r);
}

/* What does not fit is summed up as "other", smallest first; with no limit all is there. */
static void test_room(void **state)
{
	struct one_file file = {.tab = "flame"};
	struct store_reader *f = wide(300, 0);
	char *text = page_of(NULL, f, &file, 12000);
	json_t *root = data_of(text), *tree = answer(root, "tree");
	const size_t n = count(tree);

	(void)state;
	assert_true(n > 3 && n < 303);
	assert_int_equal(at(tree, "total", 0), 300 * 301 / 2);
	check_sums(tree, "total", "self");
	for (size_t i = 2; i < n; i++)
		assert_true(at(tree, "total", i) >= 300 - (int64_t)n ||
			    strcmp(name_of(tree, i), "other") == 0);
	json_decref(root);
	free(text);
	file.minimum = 0.5;
	text = page_of(NULL, f, &file, 0);
	root = data_of(text);
	assert_int_equal(count(answer(root, "tree")), 3); /* all, top, other */
	json_decref(root);
	free(text);
	file = (struct one_file){.tab = "flame", .is_unlimited = true};
	text = page_of(NULL, f, &file, SIZE_MAX / 2);
	root = data_of(text);
	assert_int_equal(count(answer(root, "tree")), 302);
	json_decref(root);
	free(text);
	store_reader_close(f);
}

/* However many names there are, a file has at most so many bytes. */
static void test_size(void **state)
{
	struct one_file file = {.tab = "flame", .by = "command"};
	struct store_reader *f = wide(20000, 0);
	char *text = page_of(NULL, f, &file, 0);

	(void)state;
	assert_true(strlen(text) <= ONE_FILE_BYTES);
	free(text);
	store_reader_close(f);
}

/* Two recordings number what they share differently. */
static void test_base(void **state)
{
	struct one_file file = {.tab = "difference", .by = "command"};
	struct store_reader *before = wide(3, 0), *f = wide(4, 10);
	char *text = page_of(before, f, &file, 0);
	json_t *root = data_of(text), *tree = answer(root, "difference");

	(void)state;
	assert_string_equal(json_string_value(json_object_get(answer(root, "recordings"), "base")),
			    "b");
	assert_int_equal(count(tree), 2 + 4);
	check_sums(tree, "before", "before_self");
	check_sums(tree, "total", "self");
	assert_int_equal(at(tree, "before", 0), 6);
	assert_int_equal(at(tree, "total", 0), 20);
	assert_string_equal(name_of(tree, 2), "function<0>");
	assert_int_equal(at(tree, "before", 2), 1);
	assert_int_equal(at(tree, "total", 2), 11);
	assert_string_equal(name_of(tree, 5), "function<3>");
	assert_int_equal(at(tree, "before", 5), 0);
	/* The flame graph that the state names, and the one without parts. */
	assert_int_equal(count(answer(root, "tree?by=command")), 2 + 1 + 4);
	assert_int_equal(count(answer(root, "tree?m")), 2 + 4);
	json_decref(root);
	free(text);
	store_reader_close(before);
	store_reader_close(f);
}

static void test_hostile_names(void **state)
{
	struct one_file file = {.tab = "flame", .by = "process", .region = "<!--"};
	static const char *const names[] = {"</script><script>alert(1)</script>", "<!--",
					    "a\nb\"\\", "\xff\xc3", "\033[31m"};
	const struct store_recording info = usual_recording();
	struct recording r = new_recording(&info);
	struct store_reader *f;
	uint32_t node = 0;
	json_t *root, *tree;
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
	f = opened(&r);
	text = page_of(NULL, f, &file, 0);
	root = data_of(text);
	tree = answer(root, "tree");
	for (size_t i = 0; i < json_array_size(json_object_get(tree, "strings")); i++)
		for (const char *c =
			     json_string_value(json_array_get(json_object_get(tree, "strings"), i));
		     *c; c++)
			assert_true((unsigned char)*c >= 0x20);
	json_decref(root);
	free(text);
	store_reader_close(f);
}

static void test_failing_output(void **state)
{
	struct one_file file = {.tab = "flame"};
	struct store_reader *f = small();
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_int_equal(write_file(NULL, f, &file, 0, full), -EIO);
	fclose(full);
	store_reader_close(f);
}

/* Nothing is written of a question that is none, and memory is not blamed. */
static void test_refused(void **state)
{
	struct one_file file = {.tab = "flame", .by = "nothing"};
	struct store_reader *f = small();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(write_file(NULL, f, &file, 0, out), -EINVAL);
	fclose(out);
	assert_int_equal(size, 0);
	free(text);
	store_reader_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),	      cmocka_unit_test(test_room),
		cmocka_unit_test(test_size),	      cmocka_unit_test(test_base),
		cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_failing_output),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
