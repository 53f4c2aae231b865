/* SPDX-License-Identifier: MIT */
/* Members of JSON texts by their place, also in texts that are cut off or no JSON
 * (base/json_find.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_find.h"

static void is(const char *value, const char *expected)
{
	size_t len = 0;
	const char *text = json_find_string(value, &len);

	if (!expected) {
		assert_null(text);
		return;
	}
	assert_non_null(text);
	assert_int_equal(len, strlen(expected));
	assert_memory_equal(text, expected, len);
}

static void test_members(void **state)
{
	static const struct {
		const char *object, *expected;
	} cases[] = {
		{"{\"a\":\"x\"}", "x"},
		{" \n{ \"b\" : 1.5e3 , \"a\"\t: \"x\" , \"c\":null}", "x"},
		{"{\"b\":{\"a\":\"no\"},\"a\":\"x\"}", "x"},
		{"{\"b\":[{\"a\":\"no\"},\"a\",[]],\"a\":\"x\"}", "x"},
		{"{\"b\":\"\\\",\\\"a\\\":\\\"no\",\"a\":\"x\"}", "x"},
		{"{\"b\":\"}\",\"c\":{\"d\":\"]}\"},\"a\":\"x\"}", "x"},
		{"{\"b\":\"a\",\"ab\":\"no\",\"a\":\"\"}", ""},
		{"{\"b\":{},\"c\":[],\"a\":\"x\"", "x"}, /* cut off behind it */
		{"{\"a\":\"x\\n\"}", NULL},
		{"{\"a\":[\"x\"]}", NULL},
		{"{\"b\":{\"a\":\"no\"}}", NULL},
		{"[{\"a\":\"no\"}]", NULL},
		{"{\"b\":{\"a\":\"no\"", NULL},
		{"{\"b\":,\"a\":\"x\"}", NULL},
		{"{\"b\":},\"a\":\"x\"}", NULL},
		{"{\"b\":1\"a\":\"x\"}", NULL},
		{"{\"a\"}", NULL},
		{"{}", NULL},
		{"\"a\":\"x\"", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is(json_find_member(cases[i].object, "a"), cases[i].expected);
	assert_null(json_find_member(NULL, "a"));
}

static void test_items(void **state)
{
	const char *item = json_find_first(" [ \"x\" , {\"a\":[1,2]} ,[\"]\"], \"y\" ] ");

	(void)state;
	is(item, "x");
	item = json_find_next(item);
	is(json_find_next(json_find_first(json_find_member(item, "a"))), NULL);
	item = json_find_next(item);
	is(json_find_first(item), "]");
	item = json_find_next(item);
	is(item, "y");
	assert_null(json_find_next(item));
	assert_null(json_find_first("[]"));
	assert_null(json_find_first("{}"));
	assert_null(json_find_first("["));
	assert_null(json_find_first(NULL));
	assert_null(json_find_next(json_find_first("[1,")));
}

/* Looks for everything in a text that ends where its memory does. */
static void look(const char *text, size_t len)
{
	char *copy = strndup(text, len);
	size_t size;

	assert_non_null(copy);
	for (const char *item = json_find_first(copy); item; item = json_find_next(item)) {
		const char *name = json_find_string(json_find_member(item, "a"), &size);

		assert_true(item < copy + len);
		assert_true(!name || name + size < copy + len);
	}
	free(copy);
}

/* Texts that end anywhere, and with any character in any place. */
static void test_damaged(void **state)
{
	static const char text[] = "[{\"b\":[{},\"\\\"}\"], \"a\":\"x\"}, -1 ,{\"a\":null}]";
	static const char others[] = "\\\"{}[],: x";
	char damaged[sizeof(text)];

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		look(text, len);
		for (size_t i = 0; i < sizeof(others) - 1 && len + 1 < sizeof(text); i++) {
			memcpy(damaged, text, sizeof(text));
			damaged[len] = others[i];
			look(damaged, sizeof(text) - 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
