/* SPDX-License-Identifier: MIT */
/* What the URLs of servers have in common (http/endpoint.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "http/endpoint.h"

static void assert_text(const char *text, const char *expected)
{
	if (expected)
		assert_string_equal(text, expected);
	else
		assert_null(text);
}

static void test_parts(void **state)
{
	static const struct {
		const char *text, *given, *user, *host, *port, *rest;
	} cases[] = {
		{"host", NULL, NULL, "host", "80", ""},
		{"host/", NULL, NULL, "host", "80", ""},
		{"host:1/a/b", NULL, NULL, "host", "1", "a/b"},
		{"ann@host:65535", NULL, "ann", "host", "65535", ""},
		{"ann@host", "bob", "bob", "host", "80", ""},
		{"a@b@host", NULL, "a@b", "host", "80", ""},
		{"[::1]:90/x@y", NULL, NULL, "[::1]", "90", "x@y"},
		{"[::1]", NULL, NULL, "[::1]", "80", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct endpoint e = {0};
		char *rest;

		assert_int_equal(endpoint_init(&e, cases[i].given, NULL, NULL), 0);
		assert_null(endpoint_parse(&e, cases[i].text, "80", "PASSWORD", &rest));
		assert_text(e.user, cases[i].user);
		assert_string_equal(e.host, cases[i].host);
		assert_string_equal(e.port, cases[i].port);
		assert_string_equal(rest, cases[i].rest);
		free(rest);
		endpoint_free(&e);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "no host"},
		{"/db", "no host"},
		{"ann@", "no host"},
		{"ho st", "no host"},
		{"host:", "the port"},
		{"host:0", "the port"},
		{"host:65536", "the port"},
		{"host:1x", "the port"},
		{"[::1]:", "the port"},
		{"ann:secret@host", "put it into PASSWORD"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct endpoint e = {0};
		const char *why;
		char *rest;

		assert_int_equal(endpoint_init(&e, NULL, NULL, NULL), 0);
		why = endpoint_parse(&e, cases[i].text, "80", "PASSWORD", &rest);
		assert_non_null(why);
		assert_non_null(strstr(why, cases[i].why));
		assert_null(strstr(why, "secret"));
		free(rest);
		endpoint_free(&e);
	}
}

/* A password without a user is anybody's; a request without a password has no user to make up. */
static void test_signed(void **state)
{
	struct http_request request = {0};
	struct endpoint e = {0};

	(void)state;
	assert_int_equal(endpoint_init(&e, NULL, "secret", "ca.pem"), 0);
	endpoint_sign(&e, "default", &request);
	assert_string_equal(request.user, "default");
	assert_string_equal(request.password, "secret");
	assert_string_equal(request.authority, "ca.pem");
	endpoint_free(&e);
	endpoint_sign(&e, "default", &request);
	assert_null(request.user);
	assert_null(request.password);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_signed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
