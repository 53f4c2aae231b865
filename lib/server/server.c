/* SPDX-License-Identifier: MIT */
/* Servers of profiles; see server.h. */
#include "server/server.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/text.h"
#include "http/http.h"

#define SAID_BYTES     300 /* of what the server says, in a sentence */
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
	char *host, *port, *path; /* host: with the brackets of an IPv6 address */
	char *user, *password, *authority;
	char *name;
	char *error;
	uint64_t retries;
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

static bool has_only(const char *text, const char *also)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr(also, *at))
			return false;
	return true;
}

static bool is_port(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 5 &&
	       atoi(text) > 0 && atoi(text) <= 65535;
}

/* Parts "host:port" or "[address]:port". Returns why not, or NULL. */
static const char *part_host(struct server *s, char *text)
{
	char *colon = *text == '[' ? strchr(text, ']') : text;

	colon = colon ? strchr(colon, ':') : NULL;
	if (colon)
		*colon++ = '\0';
	if (colon && !is_port(colon))
		return "the port is not a number from 1 to 65535";
	if (!*text || !has_only(text, "-._[]:"))
		return "it has no host";
	s->host = strdup(text);
	s->port = strdup(colon ? colon : s->scheme->port);
	return NULL;
}

/* Parts what is behind the scheme. A path stands before the one of the kind's interface, as where a
 * proxy has the server below a folder. Returns why not, or NULL. */
static const char *part_url(struct server *s, char *text)
{
	char *slash = strchr(text, '/'), *at;
	const char *folder = slash ? slash + 1 : "";
	const size_t len = strlen(folder);

	if (!has_only(folder, "/_-.~"))
		return "a path has letters, digits, '/', '_', '-', '.' and '~'";
	if (asprintf(&s->path, "%s%.*s%s", *folder ? "/" : "",
		     (int)(len && folder[len - 1] == '/' ? len - 1 : len), folder,
		     s->scheme->path) < 0)
		s->path = NULL;
	if (slash)
		*slash = '\0';
	at = strrchr(text, '@');
	if (!at)
		return part_host(s, text);
	*at = '\0';
	if (strchr(text, ':'))
		return "a password in it could be seen by everybody on this machine: put it into "
		       "STACKD_PUSH_PASSWORD, or a file for --credentials";
	if (!s->user)
		s->user = strdup(text);
	return part_host(s, at + 1);
}

static int parse_url(struct server *s, const char *url, char **ret_error)
{
	const char *why;
	char *copy;

	s->scheme = scheme_of(url);
	if (!s->scheme)
		return -EINVAL;
	copy = strdup(url + strlen(s->scheme->prefix));
	if (!copy)
		return -ENOMEM;
	why = part_url(s, copy);
	free(copy);
	if (why) {
		/* Before an '@' there may be a password. */
		if (asprintf(ret_error, "%s: %s; %s[USER@]HOST[:PORT][/PATH] is expected",
			     strchr(url, '@') ? "the URL" : url, why, s->scheme->prefix) < 0)
			*ret_error = NULL;
		return -EINVAL;
	}
	if (!s->host || !s->port || !s->path ||
	    asprintf(&s->name, "%s%s:%s%s", s->scheme->prefix, s->host, s->port, s->path) < 0) {
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
	s->user = options->user ? strdup(options->user) : NULL;
	s->password = options->password ? strdup(options->password) : NULL;
	s->authority = options->authority ? strdup(options->authority) : NULL;
	err = parse_url(s, options->url, ret_error);
	if (err == 0)
		err = http_new(&s->http);
	if (err == -ENOSYS)
		*ret_error = strdup("libcurl.so.4 is not installed, without which no server can be "
				    "reached: apt install libcurl4, or dnf install libcurl");
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
	free(s->host);
	free(s->port);
	free(s->path);
	free(s->user);
	if (s->password)
		explicit_bzero(s->password, strlen(s->password));
	free(s->password);
	free(s->authority);
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

/* Why there was no answer. */
static int explain_http(struct server *s, int err)
{
	const char *said = http_error(s->http);

	switch (err) {
	case -EHOSTUNREACH:
		return fail(s, err, "there is no host '%s': %s", s->host, said);
	case -ECONNREFUSED:
		return fail(s, err,
			    "nothing can be reached there: is the server running, and is %s its "
			    "port of HTTP? (%s)",
			    s->port, said);
	case -ETIMEDOUT:
		return fail(s, err, "the server does not answer in time: %s", said);
	case -ECONNRESET:
		return fail(s, err, "the connection broke off, %u times in a row: %s", SERVER_TRIES,
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
			    "the server does not let user '%s' in (%ld: %s): give the right "
			    "STACKD_PUSH_USER and STACKD_PUSH_PASSWORD, or a file for "
			    "--credentials",
			    s->user ? s->user : "", status, said);
	if (status == 404 || status == 405)
		return fail(s, -ENOENT,
			    "the server takes nothing at %s (%ld: %s): is it %s, and is the path "
			    "before that right?",
			    s->path, status, said, s->scheme->product);
	if (status == 413)
		return fail(s, -EMSGSIZE, "the server says that this is too large: %s", said);
	if (status == 429 && pause > SERVER_LONGEST_S)
		return fail(s, -EBUSY, "the server takes no more for %ld seconds: %s", pause, said);
	if (status == 429 || status == 503)
		return fail(s, -EBUSY, "the server takes no more now (%ld: %s): try again later",
			    status, said);
	if (status >= 500)
		return fail(s, -EPROTO, "the server failed with status %ld: %s", status, said);
	return fail(s, -EINVAL, "the server refuses this with status %ld: %s", status, said);
}

/* Why the answer is one of a failure: the sentence has the first line of it, escaped. */
static int explain_answer(struct server *s, long status, struct buf *answer)
{
	struct buf said = {0};
	char *text;
	int err;

	buf_put_u8(answer, '\0');
	if (answer->failed)
		return fail(s, -ENOMEM, "out of memory");
	text = (char *)answer->data;
	text[strcspn(text, "\r\n")] = '\0';
	if (strlen(text) > SAID_BYTES)
		text[SAID_BYTES] = '\0';
	text_put(&said, text, NULL);
	buf_put_u8(&said, '\0');
	err = explain_status(s, status, said.failed ? "" : (const char *)said.data);
	buf_free(&said);
	return err;
}

/* --- requests --------------------------------------------------------------------------------- */

/* Whether a request that ended so may succeed the next time. A server that refuses connections is
 * away, unless one had been there. */
static bool may_pass(const struct server *s, int err, long status, unsigned tries)
{
	if (err < 0)
		return err == -ECONNRESET || (err == -ECONNREFUSED && tries > 0);
	if (s->scheme->kind == SERVER_OTLP) /* its specification says which */
		return status == 429 || (status >= 502 && status <= 504);
	return status == 429 || (status >= 500 && status != 501 && status != 505);
}

/* Waits for a while that doubles each time, by chance up to a quarter less, so that hosts whom a
 * server has turned away do not come back together; or for as long as the server asks. */
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
			if (!may_pass(s, err, status, tries) ||
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
	if (err < 0)
		err = explain_http(s, err);
	else if (status < 200 || status >= 300)
		err = explain_answer(s, status, answer);
	return err;
}

int server_post(struct server *s, const char *query, const char *content_type,
		const struct buf *body, struct buf *ret_answer)
{
	struct http_request r = {.user = s->user,
				 .password = s->password,
				 .authority = s->authority,
				 .content_type = content_type,
				 .body = body->data,
				 .len = body->len};
	char *url;
	int err;

	free(s->error);
	s->error = NULL;
	if (!r.user && r.password)
		r.user = "";
	if (asprintf(&url, "%s://%s:%s%s%s%s", s->scheme->is_tls ? "https" : "http", s->host,
		     s->port, s->path, *query ? "?" : "", query) < 0)
		return fail(s, -ENOMEM, "out of memory");
	r.url = url;
	err = try(s, &r, ret_answer);
	free(url);
	return err;
}
