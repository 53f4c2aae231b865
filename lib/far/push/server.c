/* SPDX-License-Identifier: MIT */
/* Talks to profile servers; see server.h. */
#include "push/server.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/text.h"
#include "http/endpoint.h"
#include "http/http.h"
#include "push/answer.h"

#define FIRST_PAUSE_MS 500

static const struct scheme {
	const char *prefix, *port, *path, *product;
	enum server_kind kind;
	bool is_tls;
} schemes[] = {
	{"pyroscope://", "4040", "/ingest", "Pyroscope", SERVER_PYROSCOPE, false},
	{"pyroscopes://", "443", "/ingest", "Pyroscope", SERVER_PYROSCOPE, true},
	{"parca://", "7070", "/profiles/writeraw", "Parca", SERVER_PARCA, false},
	{"parcas://", "443", "/profiles/writeraw", "Parca", SERVER_PARCA, true},
	{"otlp+http://", "4318", "/v1development/profiles", "a receiver of OTLP over HTTP",
	 SERVER_OTLP, false},
	{"otlp+https://", "4318", "/v1development/profiles", "a receiver of OTLP over HTTP",
	 SERVER_OTLP, true},
};

struct server {
	struct http *http;
	const struct scheme *scheme;
	struct endpoint at;
	unsigned timeout_s;
	char *path;
	char *name;
	char *error;
	uint64_t retries;
	bool is_failing; /* it failed at the last request, as often as this was repeated */
};

static const struct scheme *scheme_of(const char *name)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (strncmp(name, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
			return &schemes[i];
	return NULL;
}

bool server_is_url(const char *name)
{
	return scheme_of(name) != NULL;
}

/* --- the URL ---------------------------------------------------------------------------------- */

/* Returns the path of a request: the path in the URL (a proxy may have the server below a folder),
 * then the path of the server's interface. The caller frees it. NULL: memory is short. */
static char *make_path(const struct scheme *scheme, const char *folder)
{
	const size_t len = strlen(folder);
	char *path;

	if (asprintf(&path, "%s%.*s%s", *folder ? "/" : "",
		     (int)(len && folder[len - 1] == '/' ? len - 1 : len), folder,
		     scheme->path) < 0)
		return NULL;
	return path;
}

static int parse_url(struct server *s, const char *url, char **ret_error)
{
	const char *why;
	char *folder;

	s->scheme = scheme_of(url);
	if (!s->scheme)
		return -EINVAL;
	why = endpoint_parse(&s->at, url + strlen(s->scheme->prefix), s->scheme->port,
			     "STACKD_PUSH_PASSWORD", &folder);
	if (!why && folder && !endpoint_has_only(folder, "/_-.~"))
		why = "a path has letters, digits, '/', '_', '-', '.' and '~'";
	if (!why && folder)
		s->path = make_path(s->scheme, folder);
	free(folder);
	if (why) {
		/* Before an '@' there may be a password. */
		if (asprintf(ret_error, "%s: %s; %s[USER@]HOST[:PORT][/PATH] is expected",
			     strchr(url, '@') ? "the URL" : url, why, s->scheme->prefix) < 0)
			*ret_error = NULL;
		return -EINVAL;
	}
	if (!s->at.host || !s->at.port || !s->path ||
	    asprintf(&s->name, "%s%s:%s%s", s->scheme->prefix, s->at.host, s->at.port, s->path) <
		    0) {
		s->name = NULL;
		return -ENOMEM;
	}
	return 0;
}

int server_new(const struct server_options *options, struct server **ret_server, char **ret_error)
{
	struct server *s = calloc(1, sizeof(*s));
	int err;

	*ret_error = NULL;
	if (!s)
		return -ENOMEM;
	s->timeout_s = options->timeout_s;
	err = endpoint_init(&s->at, options->login);
	if (err == 0)
		err = parse_url(s, options->url, ret_error);
	if (err == 0)
		err = http_new(&s->http);
	if (err == -ENOSYS)
		*ret_error = strdup(HTTP_MISSING);
	if (err < 0)
		server_free(s);
	else
		*ret_server = s;
	return err;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	http_free(s->http);
	endpoint_free(&s->at);
	free(s->path);
	free(s->name);
	free(s->error);
	free(s);
}

enum server_kind server_kind(const struct server *s)
{
	return s->scheme->kind;
}

const char *server_name(const struct server *s)
{
	return s->name;
}

const char *server_error(const struct server *s)
{
	return s->error ? s->error : "";
}

uint64_t server_retries(const struct server *s)
{
	return s->retries;
}

int server_escape(struct server *s, const char *text, struct buf *b)
{
	return http_escape(s->http, text, b);
}

void server_put_said(const struct server *s, char *text, struct buf *b)
{
	http_put_said(s->http, text, b);
}

/* --- failures --------------------------------------------------------------------------------- */

static int fail(struct server *s, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct server *s, int err, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	free(s->error);
	if (!text || asprintf(&s->error, "%s: %s", s->name, text) < 0)
		s->error = NULL;
	free(text);
	return err;
}

/* Notes why no answer came, as a sentence. Returns the error. */
static int explain_http(struct server *s, int err)
{
	const char *said = http_error(s->http);

	switch (err) {
	case -EHOSTUNREACH:
		return fail(s, err, "there is no host '%s': %s", s->at.host, said);
	case -ECONNREFUSED:
		return fail(s, err,
			    "nothing can be reached there: is the server running, and is %s its "
			    "port of HTTP? (%s)",
			    s->at.port, said);
	case -ETIMEDOUT:
		return fail(s, err,
			    "the server does not answer in time: %s. If it has taken this all the "
			    "same, it counts twice when it is sent again",
			    said);
	case -ECONNRESET:
		return fail(s, err, "the connection broke off, %u times in a row: %s", SERVER_TRIES,
			    said);
	case -EACCES:
		return fail(
			s, err,
			"the server does not take the client's certificate (%s): give the right "
			"'certificate' and 'key' in a file for --credentials",
			said);
	case -ENOMEM:
		return fail(s, err, "out of memory");
	default:
		return fail(s, -EPROTO, "%s", *said ? said : strerror(-err));
	}
}

static int explain_status(struct server *s, long status, const char *said)
{
	const long pause = http_retry_after(s->http);

	if (!*said)
		said = "it does not say why";
	if (status == 401 || status == 403)
		return fail(s, -EACCES,
			    "the server does not let %s in (%ld: %s): give the right "
			    "STACKD_PUSH_USER and STACKD_PUSH_PASSWORD, or a file for "
			    "--credentials",
			    endpoint_who(&s->at, ""), status, said);
	if (status == 404 || status == 405)
		return fail(s, -ENOENT,
			    "the server takes nothing at %s (%ld: %s): is it %s, and is the path "
			    "before that right?",
			    s->path, status, said, s->scheme->product);
	if (status == 413)
		return fail(s, -EMSGSIZE, "the server says that this is too large: %s", said);
	if (status == 429 && pause > SERVER_LONGEST_S)
		return fail(s, -EBUSY, "the server takes no more for %ld s: %s", pause, said);
	if (status == 429 || status == 503)
		return fail(s, -EBUSY, "the server takes no more now (%ld: %s): try again later",
			    status, said);
	if (status >= 500)
		return fail(s, -EREMOTEIO, "the server failed with status %ld: %s", status, said);
	return fail(s, -EINVAL, "the server refuses this with status %ld: %s", status, said);
}

/* Notes a sentence about why the server's answer is a failure, which quotes the answer's first
 * line. Returns the error for it. */
static int explain_answer(struct server *s, long status, struct buf *answer)
{
	struct buf said = {0};
	char *message;
	int err;

	buf_put_u8(answer, '\0');
	message = answer->failed ? NULL : answer_message((const char *)answer->data);
	if (!message)
		return fail(s, -ENOMEM, "out of memory");
	http_put_said(s->http, message, &said);
	err = explain_status(s, status, said.failed ? "" : (const char *)said.data);
	buf_free(&said);
	free(message);
	return err;
}

/* --- requests --------------------------------------------------------------------------------- */

/* Returns gRPC's number of an error; -1: the answer has none. */
static int code_of(struct buf *answer)
{
	int code;

	buf_put_u8(answer, '\0');
	if (answer->failed)
		return -1;
	code = answer_code((const char *)answer->data);
	answer->len--;
	return code;
}

/* Returns whether a request with this result may succeed if it is repeated at once. A server that
 * refuses connections counts as down, unless it has answered before. One that failed at the request
 * before is not waited for. */
static bool may_pass(const struct server *s, int err, long status, unsigned tries,
		     struct buf *answer)
{
	if (err < 0)
		return err == -ECONNRESET || (err == -ECONNREFUSED && tries > 1);
	if (status >= 500 && status != 503 && (s->is_failing || code_of(answer) == ANSWER_UNKNOWN))
		return false;
	/* OTLP's specification says which statuses these are. */
	if (s->scheme->kind == SERVER_OTLP)
		return status == 429 || (status >= 502 && status <= 504);
	return status == 429 || (status >= 500 && status != 501 && status != 505);
}

/* Waits for a time that doubles with each try, minus a random part of up to a quarter, so that
 * hosts that a server has refused do not all come back at the same moment; or longer, if the server
 * has asked for that. */
static void wait_before(const struct server *s, unsigned tries)
{
	uint64_t ms = (uint64_t)FIRST_PAUSE_MS << tries;
	const uint64_t asked_ms = (uint64_t)http_retry_after(s->http) * 1000;
	uint16_t chance = 0;
	struct timespec time;

	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) == sizeof(chance))
		ms -= ms / 4 * chance / UINT16_MAX;
	if (ms < asked_ms)
		ms = asked_ms;
	time = (struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
	nanosleep(&time, NULL);
}

static int try(struct server *s, const struct http_request *r, struct buf *answer)
{
	long status = 0;
	int err = 0;

	for (unsigned tries = 0; tries < SERVER_TRIES; tries++) {
		if (tries > 0) {
			if (!may_pass(s, err, status, tries, answer) ||
			    http_retry_after(s->http) > SERVER_LONGEST_S)
				break;
			wait_before(s, tries - 1);
			s->retries++;
		}
		buf_clear(answer);
		status = 0;
		err = http_post(s->http, r, &status, answer);
		if (err == 0 && status >= 200 && status < 300)
			break;
	}
	s->is_failing = err == 0 && status >= 500 && status != 503;
	if (err < 0)
		err = explain_http(s, err);
	else if (status < 200 || status >= 300)
		err = explain_answer(s, status, answer);
	return err;
}

int server_post(struct server *s, const char *query, const char *content_type, bool is_packed,
		const struct buf *body, struct buf *ret_answer)
{
	struct http_request r = {.content_type = content_type,
				 .is_gzip = is_packed,
				 .body = body->data,
				 .len = body->len,
				 .stalled_s = s->timeout_s};
	char *url;
	int err;

	free(s->error);
	s->error = NULL;
	endpoint_sign(&s->at, "", &r);
	if (asprintf(&url, "%s://%s:%s%s%s%s", s->scheme->is_tls ? "https" : "http", s->at.host,
		     s->at.port, s->path, *query ? "?" : "", query) < 0)
		return fail(s, -ENOMEM, "out of memory");
	r.url = url;
	err = try(s, &r, ret_answer);
	free(url);
	return err;
}
