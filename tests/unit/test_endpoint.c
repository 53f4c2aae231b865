/* SPDX-License-Identifier: MIT */
/* What the URLs of servers have in common (http/endpoint.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

		assert_int_equal(endpoint_init(&e, &(struct login){.user = (char *)cases[i].given}),
				 0);
		assert_null(endpoint_parse(&e, cases[i].text, "80", "PASSWORD", &rest));
		assert_text(e.login.user, cases[i].user);
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

		assert_int_equal(endpoint_init(&e, NULL), 0);
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
	const struct login login = {.password = (char *)"secret", .authority = (char *)"ca.pem"};
	struct http_request request = {0};
	struct endpoint e = {0};

	(void)state;
	assert_int_equal(endpoint_init(&e, &login), 0);
	endpoint_sign(&e, "default", &request);
	assert_string_equal(request.user, "default");
	assert_string_equal(request.login->password, "secret");
	assert_string_equal(request.login->authority, "ca.pem");
	assert_string_equal(endpoint_who(&e, "default"), "user 'default'");
	endpoint_free(&e);
	endpoint_sign(&e, "default", &request);
	assert_null(request.user);
	assert_null(request.login->password);
}

/* Headers have the form that HTTP demands; a server's answer shows no secret. */
/* A token is the first line of its file; one that is too long is none, whatever follows. */
static void test_token_files(void **state)
{
	char path[] = "/tmp/test_endpoint-XXXXXX", *bearer, *text = malloc(70000);
	struct login login = {.token_file = path};
	const int fd = mkstemp(path);
	(void)state;

	assert_true(fd >= 0);
	assert_int_equal(login_bearer(&login, &bearer), -ENOENT);
	assert_int_equal(write(fd, "secret \nnot\n", 12), 12);
	assert_int_equal(login_bearer(&login, &bearer), 0);
	assert_non_null(strstr(bearer, "Bearer secret"));
	assert_null(strstr(bearer, "not"));
	login_forget(bearer);
	memset(text, 'x', 70000);
	assert_int_equal(pwrite(fd, text, 70000, 0), 70000);
	assert_int_equal(login_bearer(&login, &bearer), -ENOENT);
	assert_int_equal(ftruncate(fd, 65536), 0);
	assert_int_equal(login_bearer(&login, &bearer), 0);
	login_forget(bearer);
	assert_int_equal(pwrite(fd, text, 65537, 0), 65537);
	assert_int_equal(login_bearer(&login, &bearer), -ENOENT);
	free(text);
	close(fd);
	unlink(path);
}

/* The last word of a header's value is hidden where it stands alone, too, unless it is short. */
static void test_hidden_words(void **state)
{
	char text[] = "from Bearer of-the-header: of-the-header, a b, b";
	struct login login = {0};
	(void)state;

	assert_int_equal(login_add_header(&login, "Authorization: Bearer of-the-header"), 0);
	assert_int_equal(login_add_header(&login, "X-Key: a b"), 0);
	assert_int_equal(login_hide(&login, NULL, NULL, text, strlen(text)), 0);
	assert_string_equal(text, "from ********************: *************, ***, b");
	login_fini(&login);
}

static void test_login(void **state)
{
	static const char *const wrong[] = {"", ":", ": x", "a b: c", "name", "a: b\r\nc: d"};
	char answer[] =
		"{\"no\": \"secret, tokenized, Bearer token, value, team, ZG9lOnNlY3JldA==\"}";
	char asterisks[] = "a * and **";
	struct login only = {.password = (char *)"*"};
	struct login login = {.password = strdup("secret"), .token = strdup("token")}, other;
	char *bearer;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(login_add_header(&login, wrong[i]), -EINVAL);
	assert_int_equal(login_add_header(&login, "X-Key:  value"), 0);
	assert_int_equal(login_add_header(&login, "X-Scope-OrgID: team"), 0);
	assert_int_equal(login_copy(&login, &other), 0);
	login_fini(&login);
	assert_int_equal(other.n_headers, 2);
	assert_string_equal(other.headers[1], "X-Scope-OrgID: team");
	assert_int_equal(login_bearer(&other, &bearer), 0);
	assert_string_equal(bearer, "Authorization: Bearer token");
	assert_int_equal(login_hide(&other, "doe", bearer, answer, strlen(answer)), 0);
	assert_string_equal(
		answer,
		"{\"no\": \"******, *****ized, Bearer *****, *****, team, ****************\"}");
	assert_int_equal(login_hide(&only, NULL, NULL, asterisks, strlen(asterisks)), 0);
	assert_string_equal(asterisks, "a * and **");
	login_forget(bearer);
	login_fini(&other);
	assert_int_equal(login_bearer(&other, &bearer), 0);
	assert_null(bearer);
}

/* A token in a file is read each time, since others replace it. */
static void test_token_file(void **state)
{
	char name[] = "/tmp/test_endpoint.XXXXXX", *bearer;
	const int fd = mkstemp(name);
	struct login login = {.token_file = name};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(login_bearer(&login, &bearer), -ENOENT);
	assert_int_equal(write(fd, "one\n", 4), 4);
	assert_int_equal(login_bearer(&login, &bearer), 0);
	assert_string_equal(bearer, "Authorization: Bearer one");
	login_forget(bearer);
	assert_int_equal(pwrite(fd, "two \nx", 6, 0), 6);
	assert_int_equal(login_bearer(&login, &bearer), 0);
	assert_string_equal(bearer, "Authorization: Bearer two");
	login_forget(bearer);
	close(fd);
	unlink(name);
	assert_int_equal(login_bearer(&login, &bearer), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),	     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_signed),	     cmocka_unit_test(test_token_files),
		cmocka_unit_test(test_hidden_words), cmocka_unit_test(test_login),
		cmocka_unit_test(test_token_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
