/* SPDX-License-Identifier: MIT */
/* Sets of labels (stack/label_set.h), and what the environments of processes say of these. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stack/label_set.h"

static void is(struct label_list *list, const char *expected)
{
	char *text = label_list_text(list);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
	label_list_fini(list);
}

/* The first label of a key counts, and the order is that of the keys. */
static void test_order(void **state)
{
	struct label_list list = {0};

	(void)state;
	is(&list, "");
	assert_int_equal(label_list_add_text(&list, "env=prod"), 0);
	assert_int_equal(label_list_add_text(&list, "app.kubernetes.io/name=a=b"), 0);
	assert_int_equal(label_list_add_text(&list, "env=test"), 0);
	assert_int_equal(label_list_add_text(&list, "c=two\nlines\t"), 0);
	is(&list, "app.kubernetes.io/name=a=b\nc=two?lines?\nenv=prod");
}

static void test_refused(void **state)
{
	static const char *const wrong[] = {"",	  "=",	   "=x",    "a",
					    "a=", "a b=c", "a,b=c", "\xc3\xa4=c"};
	struct label_list list = {0};
	char key[LABEL_KEY_BYTES + 2], value[2 * LABEL_VALUE_BYTES], number[16];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(label_list_add_text(&list, wrong[i]), -EINVAL);
	memset(key, 'k', sizeof(key));
	memset(value, 'v', sizeof(value));
	assert_int_equal(label_list_add(&list, key, LABEL_KEY_BYTES, "x", 1), -EINVAL);
	assert_int_equal(label_list_add(&list, key, LABEL_KEY_BYTES - 1, value, sizeof(value)), 0);
	assert_int_equal(strlen(list.items.items[0].value), LABEL_VALUE_BYTES - 1);
	for (int i = 0; i < 2 * (int)LABEL_COUNT; i++) {
		snprintf(number, sizeof(number), "n%d", i);
		assert_int_equal(label_list_add(&list, number, strlen(number), "x", 1), 0);
	}
	assert_int_equal(list.items.count, LABEL_COUNT);
	label_list_fini(&list);
}

#define ENVIRONMENT(strings, expected)                                                             \
	do {                                                                                       \
		struct label_list list = {0};                                                      \
                                                                                                   \
		assert_int_equal(label_list_add_environment(&list, strings, sizeof(strings) - 1),  \
				 0);                                                               \
		is(&list, expected);                                                               \
	} while (0)

static void test_environment(void **state)
{
	(void)state;
	ENVIRONMENT("", "");
	ENVIRONMENT("A=1\0B=2\0", "");
	ENVIRONMENT(
		"OTEL_RESOURCE_ATTRIBUTES=service.name=a,service.version=1\0OTEL_SERVICE_NAME=b\0",
		"service.name=b\nservice.version=1");
	ENVIRONMENT("OTEL_RESOURCE_ATTRIBUTES= a = x%20y ,b=%zz%4,,c,=d,e=%0a\0",
		    "a=x y\nb=%zz%4\ne=?");
	ENVIRONMENT("XOTEL_SERVICE_NAME=a\0OTEL_SERVICE_NAMES=b\0OTEL_SERVICE_NAME=\0", "");
	ENVIRONMENT("OTEL_RESOURCE_ATTRIBUTES=", ""); /* cut off */
}

static void test_read(void **state)
{
	static const char set[] = "a=1\nab=2=3\nc=";
	const char *at = "damaged\nx=y\n\n", *key, *value;
	size_t key_len, len;

	(void)state;
	assert_memory_equal(label_set_value(set, "a", &len), "1", 1);
	assert_int_equal(len, 1);
	assert_memory_equal(label_set_value(set, "ab", &len), "2=3", 3);
	assert_int_equal(len, 3);
	assert_non_null(label_set_value(set, "c", &len));
	assert_int_equal(len, 0);
	assert_null(label_set_value(set, "b", &len));
	assert_null(label_set_value(NULL, "a", &len));
	assert_true(label_set_next(&at, &key, &key_len, &value, &len));
	assert_int_equal(key_len, 1);
	assert_memory_equal(key, "x", 1);
	assert_false(label_set_next(&at, &key, &key_len, &value, &len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
