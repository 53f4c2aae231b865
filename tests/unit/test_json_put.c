/* SPDX-License-Identifier: MIT */
/* The writers of JSON and CSV: what they write is read back by jansson, and field by field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/json_put.h"
#include "base/text.h"

/* Ends a writer without a stream; the text, which the caller frees. */
static char *text_of(struct json *j)
{
	while (j->depth)
		json_put_end(j);
	assert_int_equal(j->err, 0);
	assert_false(j->text.failed);
	buf_put_u8(&j->text, 0);
	return (char *)j->text.data;
}

static json_t *parse(const char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);

	if (!root)
		fail_msg("%s: %s", error.text, text);
	return root;
}

static void test_form(void **state)
{
	struct json j = {0};
	char *text;

	(void)state;
	json_put_object(&j, NULL);
	json_put_uint(&j, "n", 5);
	json_put_array(&j, "list");
	json_put_string(&j, NULL, "a");
	json_put_line(&j);
	json_put_null(&j, NULL);
	json_put_array(&j, NULL);
	json_put_end(&j);
	json_put_object(&j, NULL);
	json_put_end(&j);
	json_put_line(&j);
	json_put_end(&j);
	json_put_bool(&j, "yes", true);
	json_put_hex(&j, "tag", 0xabc);
	text = text_of(&j);
	assert_string_equal(text, "{\"n\":5,\"list\":[\"a\",\nnull,[],{}\n],\"yes\":true,"
				  "\"tag\":\"0000000000000abc\"}");
	free(text);
}

static void test_numbers(void **state)
{
	struct json j = {0};
	char *text;

	(void)state;
	json_put_array(&j, NULL);
	json_put_uint(&j, NULL, 0);
	json_put_uint(&j, NULL, UINT64_MAX);
	json_put_int(&j, NULL, INT64_MIN);
	json_put_int(&j, NULL, INT64_MAX);
	json_put_fixed(&j, NULL, 1.25, 1);
	json_put_fixed(&j, NULL, -0.5, 0);
	json_put_fixed(&j, NULL, 1e12 + 0.5, 3);
	json_put_double(&j, NULL, 1.0 / 3, 7);
	json_put_double(&j, NULL, 1e30, 6);
	text = text_of(&j);
	assert_string_equal(text, "[0,18446744073709551615,-9223372036854775808,"
				  "9223372036854775807,1.2,-0,1000000000000.500,0.3333333,1e+30]");
	free(text);
}

/* What is no number of JSON is null, and no number is cut. */
static void test_extremes(void **state)
{
	static const double values[] = {NAN,	 -NAN, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX,
					DBL_MIN, 1e99, 1e100,	 1e254,	    1e255};
	struct json j = {0};
	json_t *root;
	char *text;

	(void)state;
	json_put_array(&j, NULL);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		json_put_fixed(&j, NULL, values[i], 9);
		json_put_double(&j, NULL, values[i], 17);
	}
	text = text_of(&j);
	root = parse(text);
	assert_int_equal(json_array_size(root), 2 * sizeof(values) / sizeof(*values));
	for (size_t i = 0; i < json_array_size(root); i++) {
		const json_t *at = json_array_get(root, i);
		const double value = values[i / 2];

		assert_int_equal(json_is_null(at), !isfinite(value));
		if (isfinite(value) && (i % 2 || value > 1))
			assert_true(json_number_value(at) == value);
	}
	json_decref(root);
	free(text);
}

/* Names that try to get out of their string, as values and as keys. */
static void test_names(void **state)
{
	static const struct {
		const char *name, *read;
	} names[] = {
		{"", ""},
		{"\"},{\"a\":1", "\"},{\"a\":1"},
		{"back\\slash\\", "back\\slash\\"},
		{"\n\r\t\x01\x1f\x7f", "\n\r\t\x01\x1f\x7f"},
		{"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
		 "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
		{"\xff", "\\xff"},
		{"cut \xe2\x82", "cut \\xe2\\x82"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* a surrogate */
		{"\xc0\xaf", "\\xc0\\xaf"},	     /* not the shortest form */
		{"\xc2\x9b", "\xc2\x9b"},
	};
	struct json j = {0};
	json_t *root;
	char *text;

	(void)state;
	json_put_object(&j, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		json_put_string(&j, names[i].name, names[i].name);
	text = text_of(&j);
	assert_null(strpbrk(text, "\n\r\x01\x1f\x7f"));
	root = parse(text);
	assert_int_equal(json_object_size(root), sizeof(names) / sizeof(*names));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_string_equal(json_string_value(json_object_get(root, names[i].read)),
				    names[i].read);
	json_decref(root);
	free(text);
}

static void test_text(void **state)
{
	struct json j = {0};
	struct buf name = {0}, empty = {0};
	char *text;

	(void)state;
	json_put_array(&j, NULL);
	text_printf(&name, "say \"%d\"", 5);
	json_put_text(&j, NULL, &name);
	json_put_text(&j, NULL, &empty);
	json_put_string(&j, NULL, NULL);
	assert_null(name.data);
	text = text_of(&j);
	assert_string_equal(text, "[\"say \\\"5\\\"\",\"\",\"\"]");
	free(text);
}

/* Writes a document of a random shape, and returns the same as jansson has it. */
static json_t *grow(struct json *j, const char *key, unsigned depth)
{
	const long shape = random() % (depth < 6 ? 5 : 3);
	json_t *root;

	if (shape < 3) {
		const int64_t number = random() - RAND_MAX / 2;

		json_put_int(j, key, number);
		return json_integer(number);
	}
	root = shape == 3 ? json_object() : json_array();
	if (shape == 3)
		json_put_object(j, key);
	else
		json_put_array(j, key);
	for (long i = random() % 6; i > 0; i--) {
		char name[32];

		snprintf(name, sizeof(name), "k%ld", i);
		if (random() % 2)
			json_put_line(j);
		if (shape == 3)
			json_object_set_new(root, name, grow(j, name, depth + 1));
		else
			json_array_append_new(root, grow(j, NULL, depth + 1));
	}
	json_put_end(j);
	return root;
}

static void test_random(void **state)
{
	(void)state;
	srandom(1);
	for (int i = 0; i < 300; i++) {
		struct json j = {0};
		json_t *wanted = grow(&j, NULL, 0), *read;
		char *text = text_of(&j);

		read = parse(text);
		assert_true(json_equal(wanted, read));
		json_decref(read);
		json_decref(wanted);
		free(text);
	}
}

/* A list of any length needs no more memory than a part of it. */
static void test_stream(void **state)
{
	FILE *out = tmpfile();
	struct json j = {.out = out};
	size_t most = 0;

	(void)state;
	assert_non_null(out);
	json_put_array(&j, NULL);
	for (uint64_t i = 0; i < 500000; i++) {
		json_put_uint(&j, NULL, i);
		most = j.text.cap > most ? j.text.cap : most;
	}
	assert_int_equal(json_put_finish(&j, 0), 0);
	assert_in_range(most, 1, 4 * 65536);
	rewind(out);
	for (uint64_t i = 0; i < 500000; i++) {
		unsigned long long read;

		assert_int_equal(fgetc(out), i ? ',' : '[');
		assert_int_equal(fscanf(out, "%llu", &read), 1);
		assert_int_equal(read, i);
	}
	assert_int_equal(fgetc(out), ']');
	assert_int_equal(fgetc(out), '\n');
	assert_int_equal(fgetc(out), EOF);
	fclose(out);
}

/* Errors of the stream, of the caller, and of depth; all memory is freed. */
static void test_errors(void **state)
{
	FILE *full = fopen("/dev/full", "w"), *out = tmpfile();
	struct json j = {.out = full};

	(void)state;
	assert_non_null(full);
	setbuf(full, NULL);
	json_put_array(&j, NULL);
	for (int i = 0; i < 100000; i++)
		json_put_uint(&j, NULL, 1000000);
	assert_int_equal(j.err, -EIO);
	assert_int_equal(json_put_finish(&j, 0), -EIO);
	fclose(full);

	j = (struct json){.out = out};
	json_put_object(&j, NULL);
	assert_int_equal(json_put_finish(&j, -ENOENT), -ENOENT);
	assert_int_equal(ftell(out), 0);

	j = (struct json){.out = out};
	for (int i = 0; i < 100; i++)
		json_put_array(&j, NULL);
	for (int i = 0; i < 100; i++)
		json_put_end(&j);
	assert_int_equal(json_put_finish(&j, 0), -ENOMEM);
	fclose(out);
}

static void test_csv(void **state)
{
	char *data = NULL;
	size_t len;
	FILE *out = open_memstream(&data, &len);
	struct csv c = {.out = out};
	struct buf text = {0};

	(void)state;
	csv_head(&c, "word,name,text,u,i,f,d,n");
	csv_word(&c, "curve");
	csv_name(&c, "a \"b\", \n\xff");
	text_put_raw(&text, "x;\"y\"");
	csv_text(&c, &text);
	assert_null(text.data);
	csv_uint(&c, UINT64_MAX);
	csv_int(&c, -5);
	csv_fixed(&c, 1.5, 3);
	csv_double(&c, 1.0 / 3, 9);
	csv_double(&c, NAN, 9);
	assert_int_equal(csv_end_row(&c), 0);
	csv_fixed(&c, INFINITY, 1);
	csv_name(&c, "");
	assert_int_equal(csv_end_row(&c), 0);
	assert_int_equal(csv_finish(&c, 0), 0);
	fclose(out);
	assert_string_equal(data, "word,name,text,u,i,f,d,n\n"
				  "curve,\"a \"\"b\"\", \\x0a\\xff\",\"x;\"\"y\"\"\","
				  "18446744073709551615,-5,1.500,0.333333333,\n"
				  ",\"\"\n");
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_form),	 cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_extremes), cmocka_unit_test(test_names),
		cmocka_unit_test(test_text),	 cmocka_unit_test(test_random),
		cmocka_unit_test(test_stream),	 cmocka_unit_test(test_errors),
		cmocka_unit_test(test_csv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
