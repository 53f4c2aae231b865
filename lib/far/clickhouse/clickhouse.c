/* SPDX-License-Identifier: MIT */
/* Talks to a ClickHouse server; see clickhouse.h. */
#include "clickhouse/clickhouse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "http/endpoint.h"
#include "http/gzip.h"
#include "http/http.h"

/* Error numbers of the server for which there are sentences here. For other errors, the user sees
 * the server's message. */
enum {
	CODE_TABLE_ALREADY_EXISTS = 57,
	CODE_UNKNOWN_TABLE = 60,
	CODE_FILE_DOESNT_EXIST = 107, /* that of a table which is being dropped */
	CODE_UNKNOWN_DATABASE = 81,
	CODE_READONLY = 164,
	CODE_SOCKET_TIMEOUT = 209,
	CODE_NETWORK_ERROR = 210,
	CODE_NOT_ENOUGH_SPACE = 243,
	CODE_UNKNOWN_USER = 192,
	CODE_WRONG_PASSWORD = 193,
	CODE_REQUIRED_PASSWORD = 194,
	CODE_IP_NOT_ALLOWED = 195,
	CODE_ALL_CONNECTION_TRIES_FAILED = 279,
	CODE_DATABASE_ACCESS_DENIED = 291,
	CODE_NOT_ENOUGH_PRIVILEGES = 497,
	CODE_AUTHENTICATION_FAILED = 516,
};

struct clickhouse {
	struct http *http;
	struct endpoint at;
	char *database, *cluster; /* cluster: NULL for none */
	bool is_tls;
	unsigned timeout_s, wait_s; /* wait_s: 0, or in place of timeout_s */
	const char *settings;	    /* of requests; NULL: none */
	char *name;
	char *error;
};

bool clickhouse_is_url(const char *name)
{
	return strncmp(name, CLICKHOUSE_SCHEME, strlen(CLICKHOUSE_SCHEME)) == 0 ||
	       strncmp(name, CLICKHOUSE_SCHEME_TLS, strlen(CLICKHOUSE_SCHEME_TLS)) == 0;
}

/* --- the URL ---------------------------------------------------------------------------------- */

/* Returns the reason why a database cannot have this name; NULL: it can. */
static const char *refuse_database(const char *name)
{
	if (!*name)
		return "it names no database";
	if (!endpoint_has_only(name, "_-."))
		return "a database's name has letters, digits, '_', '-' and '.'";
	return NULL;
}

/* Cuts "?cluster=name" off the database's name, and keeps the cluster's name. Returns NULL, also if
 * there is none; or the reason why it is invalid. */
static const char *cut_cluster(struct clickhouse *c)
{
	static const char key[] = "cluster=";
	char *at = strchr(c->database, '?');

	if (!at)
		return NULL;
	*at++ = '\0';
	if (strncmp(at, key, strlen(key)) != 0 || !at[strlen(key)] ||
	    !endpoint_has_only(at + strlen(key), "_-."))
		return "behind the database only ?cluster=NAME can stand, a name of letters, digits, "
		       "'_', '-' and '.'";
	c->cluster = strdup(at + strlen(key));
	return c->cluster ? NULL : "there is no memory for it";
}

static const char *scheme_of(const struct clickhouse *c)
{
	return c->is_tls ? CLICKHOUSE_SCHEME_TLS : CLICKHOUSE_SCHEME;
}

/* Makes the name for messages. Returns 0 or -ENOMEM. */
static int make_name(struct clickhouse *c)
{
	if (c->at.host && c->at.port && c->database &&
	    asprintf(&c->name, "%s%s:%s/%s", scheme_of(c), c->at.host, c->at.port, c->database) >=
		    0)
		return 0;
	c->name = NULL;
	return -ENOMEM;
}

static int parse_url(struct clickhouse *c, const char *url, char **ret_error)
{
	const char *why = "it does not begin with " CLICKHOUSE_SCHEME " or " CLICKHOUSE_SCHEME_TLS;

	c->is_tls = strncmp(url, CLICKHOUSE_SCHEME_TLS, strlen(CLICKHOUSE_SCHEME_TLS)) == 0;
	if (clickhouse_is_url(url))
		why = endpoint_parse(&c->at, url + strlen(scheme_of(c)),
				     c->is_tls ? "8443" : "8123", "CLICKHOUSE_PASSWORD",
				     &c->database);
	if (!why && c->database)
		why = cut_cluster(c);
	if (!why && c->database)
		why = refuse_database(c->database);
	if (why) {
		/* Before an '@' there may be a password. */
		if (asprintf(ret_error,
			     "%s: %s; clickhouse://[USER@]HOST[:PORT]/DATABASE[?cluster=NAME] is "
			     "expected",
			     strchr(url, '@') ? "the URL" : url, why) < 0)
			*ret_error = NULL;
		return -EINVAL;
	}
	return make_name(c);
}

int clickhouse_new(const struct clickhouse_options *options, struct clickhouse **ret_clickhouse,
		   char **ret_error)
{
	struct clickhouse *c = calloc(1, sizeof(*c));
	int err;

	*ret_error = NULL;
	if (!c)
		return -ENOMEM;
	c->timeout_s = options->timeout_s;
	err = endpoint_init(&c->at, options->login);
	if (err == 0)
		err = parse_url(c, options->url, ret_error);
	if (err == 0)
		err = http_new(&c->http);
	if (err == -ENOSYS)
		*ret_error = strdup(HTTP_MISSING);
	if (err < 0)
		clickhouse_free(c);
	else
		*ret_clickhouse = c;
	return err;
}

int clickhouse_new_beside(const struct clickhouse *c, const char *host,
			  struct clickhouse **ret_clickhouse)
{
	struct clickhouse *other = calloc(1, sizeof(*other));
	const bool is_bare = strchr(host, ':') != NULL; /* an IPv6 address, without its brackets */
	int err;

	if (!other)
		return -ENOMEM;
	other->is_tls = c->is_tls;
	other->timeout_s = c->timeout_s;
	other->database = strdup(c->database);
	err = endpoint_init(&other->at, &c->at.login);
	other->at.port = strdup(c->at.port);
	if (asprintf(&other->at.host, is_bare ? "[%s]" : "%s", host) < 0)
		other->at.host = NULL;
	if (err == 0)
		err = make_name(other);
	if (err == 0)
		err = http_new(&other->http);
	if (err < 0)
		clickhouse_free(other);
	else
		*ret_clickhouse = other;
	return err;
}

void clickhouse_free(struct clickhouse *c)
{
	if (!c)
		return;
	http_free(c->http);
	endpoint_free(&c->at);
	free(c->database);
	free(c->cluster);
	free(c->name);
	free(c->error);
	free(c);
}

const char *clickhouse_name(const struct clickhouse *c)
{
	return c->name;
}

const char *clickhouse_database(const struct clickhouse *c)
{
	return c->database;
}

const char *clickhouse_cluster(const struct clickhouse *c)
{
	return c->cluster;
}

void clickhouse_set(struct clickhouse *c, const char *settings)
{
	c->settings = settings;
}

void clickhouse_wait(struct clickhouse *c, unsigned seconds)
{
	c->wait_s = seconds;
}

/* --- failures --------------------------------------------------------------------------------- */

const char *clickhouse_error(const struct clickhouse *c)
{
	return c->error ? c->error : "";
}

int clickhouse_fail(struct clickhouse *c, int err, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	free(c->error);
	c->error = NULL;
	if (text && asprintf(&c->error, "%s: %s", c->name, text) < 0)
		c->error = NULL;
	free(text);
	return err;
}

int clickhouse_fail_as(struct clickhouse *c, int err, const struct clickhouse *other)
{
	if (other == c)
		return err;
	free(c->error);
	c->error = other->error ? strdup(other->error) : NULL;
	return err;
}

/* Notes a sentence about why there is no answer. Returns `err`, which is the error of
 * http_post(). */
static int explain_http(struct clickhouse *c, int err)
{
	const char *said = http_error(c->http);

	switch (err) {
	case -EHOSTUNREACH:
		return clickhouse_fail(c, err, "there is no host '%s': %s", c->at.host, said);
	case -ECONNREFUSED:
		return clickhouse_fail(
			c, err,
			"nothing can be reached there: is the server running, and is "
			"%s the port of its HTTP interface? (%s)",
			c->at.port, said);
	case -ETIMEDOUT:
		return clickhouse_fail(c, err,
				       "the server does not answer in time: %s. What had been sent "
				       "of a recording does not count",
				       said);
	case -ECONNRESET:
		return clickhouse_fail(c, err,
				       "the connection broke off: %s. What had been sent of the "
				       "recording does not count; run the same again",
				       said);
	case -EMSGSIZE:
		return clickhouse_fail(c, err, "the answer is too long");
	case -EACCES:
		return clickhouse_fail(
			c, err,
			"the server does not take the client's certificate (%s): give the "
			"right 'certificate' and 'key' in a file for --credentials",
			said);
	case -ENOMEM:
		return clickhouse_fail(c, err, "out of memory");
	default:
		return clickhouse_fail(c, err, "%s", *said ? said : strerror(-err));
	}
}

/* Returns the number in "Code: 81, e.displayText() = ..." of an error answer; 0 if there is none.
 */
static long code_of(const char *text)
{
	return strncmp(text, "Code: ", 6) == 0 ? strtol(text + 6, NULL, 10) : 0;
}

static int explain_code(struct clickhouse *c, long status, long code, const char *said)
{
	switch (code) {
	case CODE_TABLE_ALREADY_EXISTS:
		return clickhouse_fail(c, -EEXIST, "there is such a table already (%s)", said);
	case CODE_UNKNOWN_DATABASE:
		return clickhouse_fail(c, -ENOENT,
				       "the server has no database '%s': make it first, by CREATE "
				       "DATABASE %s",
				       c->database, c->database);
	case CODE_UNKNOWN_USER:
	case CODE_WRONG_PASSWORD:
	case CODE_REQUIRED_PASSWORD:
	case CODE_IP_NOT_ALLOWED:
	case CODE_AUTHENTICATION_FAILED:
		return clickhouse_fail(c, -EACCES,
				       "the server does not let %s in: give the right "
				       "CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, or a file for "
				       "--credentials (%s)",
				       endpoint_who(&c->at, "default"), said);
	case CODE_READONLY:
	case CODE_DATABASE_ACCESS_DENIED:
	case CODE_NOT_ENOUGH_PRIVILEGES:
		return clickhouse_fail(c, -EACCES,
				       "%s may not do that: grant INSERT, SELECT and CREATE "
				       "TABLE in '%s'; ALTER and DROP TABLE, too, for tables of an "
				       "older version, and ALTER for --keep-age (%s)",
				       endpoint_who(&c->at, "default"), c->database, said);
	case CODE_SOCKET_TIMEOUT:
	case CODE_NETWORK_ERROR:
	case CODE_ALL_CONNECTION_TRIES_FAILED:
		return clickhouse_fail(c, -ENETDOWN, "a server of its cluster does not answer (%s)",
				       said);
	default:
		break;
	}
	if (code == CODE_NOT_ENOUGH_SPACE || strstr(said, strerror(ENOSPC)))
		return clickhouse_fail(c, -ENOSPC,
				       "the server's disk is full. What had been sent of a "
				       "recording does not count; make room there, and run the "
				       "same again (%s)",
				       said);
	if (status == 401 || status == 403)
		return clickhouse_fail(c, -EACCES, "the server does not let %s in (%s)",
				       endpoint_who(&c->at, "default"), said);
	return clickhouse_fail(
		c, code == CODE_UNKNOWN_TABLE || code == CODE_FILE_DOESNT_EXIST ? -ESTALE : -EPROTO,
		"the server failed with status %ld: %s", status,
		*said ? said : "it does not say why");
}

/* Returns the part of an answer that states the reason. After "All connection tries failed" there
 * is a line for each try, of which the last one names the server that does not answer. */
static char *reason_in(char *text)
{
	static const char next[] = "\nCode: ";
	char *at = text;

	if (code_of(text) != CODE_ALL_CONNECTION_TRIES_FAILED)
		return text;
	while (strstr(at, next))
		at = strstr(at, next) + 1;
	return at;
}

/* Notes a sentence about why the server's answer is a failure. Returns the error for it. */
static int explain_answer(struct clickhouse *c, long status, struct buf *answer)
{
	struct buf said = {0};
	long code;
	int err;

	buf_put_u8(answer, '\0');
	if (answer->failed)
		return clickhouse_fail(c, -ENOMEM, "out of memory");
	code = code_of((char *)answer->data);
	http_put_said(c->http, reason_in((char *)answer->data), &said);
	err = explain_code(c, status, code, said.failed ? "" : (const char *)said.data);
	buf_free(&said);
	return err;
}

/* --- requests --------------------------------------------------------------------------------- */

/* The length of a statement that is parsed, in bytes, and the threads that execute it. */
#define STATEMENT_SETTINGS "&max_query_size=67108864&max_threads=1"

/* Makes the URL of a query. It has a setting by which the server answers only when the query has
 * ended, so that the status tells whether the query succeeded. `query` NULL: it is the body. */
static int make_url(struct clickhouse *c, const char *query, bool has_ids, struct buf *b)
{
	int err;

	text_put_raw(b, c->is_tls ? "https://" : "http://");
	text_put_raw(b, c->at.host);
	text_put_raw(b, ":");
	text_put_raw(b, c->at.port);
	text_put_raw(b, "/?wait_end_of_query=1&database=");
	err = http_escape(c->http, c->database, b);
	if (has_ids)
		text_put_raw(b, "&ids_format=RowBinary&ids_structure=id%20UInt64");
	if (c->settings) {
		text_put_raw(b, "&");
		text_put_raw(b, c->settings);
	}
	text_put_raw(b, query ? "&query=" : STATEMENT_SETTINGS);
	if (err == 0 && query)
		err = http_escape(c->http, query, b);
	buf_put_u8(b, '\0');
	return b->failed ? -ENOMEM : err;
}

static int request(struct clickhouse *c, const char *query, struct http_request *r,
		   struct buf *ret_answer)
{
	struct buf url = {0};
	long status = 0;
	int err = make_url(c, query, r->part != NULL, &url);

	free(c->error);
	c->error = NULL;
	r->url = (const char *)url.data;
	r->stalled_s = c->wait_s ? c->wait_s : c->timeout_s;
	endpoint_sign(&c->at, "default", r);
	buf_clear(ret_answer);
	if (err == 0)
		err = http_post(c->http, r, &status, ret_answer);
	buf_free(&url);
	if (err < 0)
		return explain_http(c, err);
	return status == 200 ? 0 : explain_answer(c, status, ret_answer);
}

int clickhouse_ask(struct clickhouse *c, const char *query, const struct buf *ids,
		   struct buf *ret_answer)
{
	struct http_request r = {.part = ids ? "ids" : NULL, .content = ids};

	return request(c, query, &r, ret_answer);
}

/* Sends a body compressed. */
static int send_body(struct clickhouse *c, const char *query, const struct buf *body, size_t len)
{
	struct buf packed = {0}, answer = {0};
	int err = body ? gzip_put(body->data, len, &packed) : 0;
	struct http_request r = {.body = packed.data, .len = packed.len, .is_gzip = packed.len > 0};

	err = err == 0 ? request(c, query, &r, &answer) : explain_http(c, err);
	buf_free(&packed);
	buf_free(&answer);
	return err;
}

int clickhouse_execute(struct clickhouse *c, const struct buf *statement)
{
	return send_body(c, NULL, statement, strlen((const char *)statement->data));
}

/* The data is compressed, which saves three quarters of the bytes, because many texts in the rows
 * recur. */
int clickhouse_send(struct clickhouse *c, const char *query, const struct buf *data)
{
	return send_body(c, query, data, data ? data->len : 0);
}

void clickhouse_send_after(struct clickhouse *c, const char *query)
{
	char *error = c->error;

	c->error = NULL;
	clickhouse_send(c, query, NULL);
	free(c->error);
	c->error = error;
}
