/* SPDX-License-Identifier: MIT */
/* Makes requests by libcurl; see http.h. */
#include "http/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define SAID_BYTES 300 /* bytes of a server's message that a sentence quotes at most */

/* X(type of the result, name, parameters): the library's functions. */
#define HTTP_FUNCTIONS(X)                                                                          \
	X(CURL *, curl_easy_init, (void))                                                          \
	X(void, curl_easy_reset, (CURL *))                                                         \
	X(CURLcode, curl_easy_setopt, (CURL *, CURLoption, ...))                                   \
	X(CURLcode, curl_easy_perform, (CURL *))                                                   \
	X(CURLcode, curl_easy_getinfo, (CURL *, CURLINFO, ...))                                    \
	X(void, curl_easy_cleanup, (CURL *))                                                       \
	X(char *, curl_easy_escape, (CURL *, const char *, int))                                   \
	X(void, curl_free, (void *))                                                               \
	X(const char *, curl_easy_strerror, (CURLcode))                                            \
	X(struct curl_slist *, curl_slist_append, (struct curl_slist *, const char *))             \
	X(void, curl_slist_free_all, (struct curl_slist *))                                        \
	X(curl_mime *, curl_mime_init, (CURL *))                                                   \
	X(curl_mimepart *, curl_mime_addpart, (curl_mime *))                                       \
	X(CURLcode, curl_mime_name, (curl_mimepart *, const char *))                               \
	X(CURLcode, curl_mime_filename, (curl_mimepart *, const char *))                           \
	X(CURLcode, curl_mime_data, (curl_mimepart *, const char *, size_t))                       \
	X(void, curl_mime_free, (curl_mime *))

/* curl.h defines some of these as macros, which check the types of arguments; here they are members
 * of a struct, so the macros must go. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

struct http {
	void *library;
	CURL *curl;
	char error[CURL_ERROR_SIZE];
	struct buf *answer; /* the buffer for the answer to the current request */
	/* who made it: http_put_said() hides the secrets */
	const struct login *login;
	const char *user;
	char *bearer;
	curl_off_t retry_after;
#define HTTP_MEMBER(result, name, parameters) result(*name) parameters;
	HTTP_FUNCTIONS(HTTP_MEMBER)
#undef HTTP_MEMBER
};

static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

/* Loads libcurl. RTLD_NODELETE because libraries that libcurl uses set up global state that
 * unloading would not remove. */
static int load(struct http *http)
{
	for (size_t i = 0; !http->library && i < sizeof(libraries) / sizeof(*libraries); i++)
		http->library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!http->library)
		return -ENOSYS;
#define HTTP_LOAD(result, name, parameters)                                                        \
	*(void **)&http->name = dlsym(http->library, #name);                                       \
	if (!http->name)                                                                           \
		return -ENOSYS;
	HTTP_FUNCTIONS(HTTP_LOAD)
#undef HTTP_LOAD
	http->curl = http->curl_easy_init();
	return http->curl ? 0 : -ENOMEM;
}

int http_new(struct http **ret_http)
{
	struct http *http = calloc(1, sizeof(*http));
	int err = http ? load(http) : -ENOMEM;

	if (err < 0)
		http_free(http);
	else
		*ret_http = http;
	return err;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	login_forget(http->bearer);
	if (http->curl)
		http->curl_easy_cleanup(http->curl);
	if (http->library)
		dlclose(http->library);
	free(http);
}

const char *http_error(const struct http *http)
{
	return http->error;
}

long http_retry_after(const struct http *http)
{
	return http->retry_after > 0 ? (long)http->retry_after : 0;
}

int http_escape(struct http *http, const char *text, struct buf *b)
{
	char *escaped = http->curl_easy_escape(http->curl, text, 0);

	if (!escaped)
		return -ENOMEM;
	text_put_raw(b, escaped);
	http->curl_free(escaped);
	return b->failed ? -ENOMEM : 0;
}

static size_t take(char *bytes, size_t size, size_t n, void *arg)
{
	struct http *http = arg;
	size_t len = size * n;

	if (http->answer->len + len > HTTP_MAX_ANSWER)
		return 0;
	buf_put(http->answer, bytes, len);
	return http->answer->failed ? 0 : len;
}

/* Returns whether the server has ended TLS by an alert about the client's certificate. With TLS 1.3
 * it does so after the handshake, so libcurl reports that data could not be received. */
static bool is_certificate_alert(const struct http *http)
{
	static const char *const alerts[] = {"certificate required", "Certificate is required",
					     "alert unknown ca",     "alert bad certificate",
					     "Unknown CA",	     "Certificate is bad"};

	for (size_t i = 0; i < sizeof(alerts) / sizeof(*alerts); i++)
		if (strstr(http->error, alerts[i]))
			return true;
	return false;
}

static int error_of(const struct http *http, CURLcode code)
{
	if (is_certificate_alert(http))
		return -EACCES;
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return -EHOSTUNREACH;
	case CURLE_COULDNT_CONNECT:
		return -ECONNREFUSED;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return -ECONNRESET;
	case CURLE_WRITE_ERROR:
		return http->answer->failed ? -ENOMEM : -EMSGSIZE;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	default:
		return -EPROTO;
	}
}

static void set_login(struct http *http, const struct http_request *r)
{
	const struct login *login = r->login;
	CURL *curl = http->curl;

	if (login->authority)
		http->curl_easy_setopt(curl, CURLOPT_CAINFO, login->authority);
	if (login->certificate)
		http->curl_easy_setopt(curl, CURLOPT_SSLCERT, login->certificate);
	if (login->key)
		http->curl_easy_setopt(curl, CURLOPT_SSLKEY, login->key);
	/* Otherwise the passphrase of a key, which may be in the certificate's file, would be asked
	 * for on the terminal. */
	if (login->certificate)
		http->curl_easy_setopt(curl, CURLOPT_KEYPASSWD, "");
	if (r->user) {
		http->curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		http->curl_easy_setopt(curl, CURLOPT_USERNAME, r->user);
		http->curl_easy_setopt(curl, CURLOPT_PASSWORD,
				       login->password ? login->password : "");
	}
}

/* Sets the options that all requests have. Only HTTP and HTTPS are allowed, and redirections are
 * not followed, so that no other host gets the login. */
static void set_up(struct http *http, const struct http_request *r)
{
	CURL *curl = http->curl;

	http->curl_easy_reset(curl);
	http->curl_easy_setopt(curl, CURLOPT_URL, r->url);
	http->curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, http->error);
	http->curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	http->curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
	http->curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
	http->curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, HTTP_CONNECT_S);
	http->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	http->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
			       (long)(r->stalled_s ? r->stalled_s : HTTP_STALLED_S));
	http->curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
	http->curl_easy_setopt(curl, CURLOPT_WRITEDATA, http);
	if (r->login)
		set_login(http, r);
}

/* Makes the body of the request a form with one file, r->content. NULL: memory is short. */
static curl_mime *set_form(struct http *http, const struct http_request *r)
{
	curl_mime *form = http->curl_mime_init(http->curl);
	curl_mimepart *part = form ? http->curl_mime_addpart(form) : NULL;

	if (!part || http->curl_mime_name(part, r->part) != CURLE_OK ||
	    http->curl_mime_filename(part, r->part) != CURLE_OK ||
	    http->curl_mime_data(part, r->content->len ? (const char *)r->content->data : "",
				 r->content->len) != CURLE_OK ||
	    http->curl_easy_setopt(http->curl, CURLOPT_MIMEPOST, form) != CURLE_OK) {
		http->curl_mime_free(form);
		return NULL;
	}
	return form;
}

/* Appends a header to the list. Returns false if memory is short. */
static bool add_header(struct http *http, struct curl_slist **headers, const char *line)
{
	struct curl_slist *more = http->curl_slist_append(*headers, line);

	if (more)
		*headers = more;
	return more;
}

/* Adds the headers of a login: its token, and those of the user's choice. */
static bool add_login(struct http *http, const struct login *login, const char *bearer,
		      struct curl_slist **headers)
{
	bool has_all = !bearer || add_header(http, headers, bearer);

	for (size_t i = 0; has_all && i < login->n_headers; i++)
		has_all = add_header(http, headers, login->headers[i]);
	return has_all;
}

/* Makes the list of a request's headers. NULL: memory is short. */
static struct curl_slist *make_headers(struct http *http, const struct http_request *r,
				       const char *bearer)
{
	struct curl_slist *headers = NULL;
	char line[128];
	/* An empty Expect header; otherwise libcurl would wait for the server's permission before
	 * it sends a large body. */
	bool has_all = add_header(http, &headers, "Expect:");

	snprintf(line, sizeof(line), "Content-Type: %s", r->content_type ? r->content_type : "");
	if (r->content_type)
		has_all = has_all && add_header(http, &headers, line);
	if (r->is_gzip)
		has_all = has_all && add_header(http, &headers, "Content-Encoding: gzip");
	if (r->login)
		has_all = has_all && add_login(http, r->login, bearer, &headers);
	if (has_all)
		return headers;
	http->curl_slist_free_all(headers);
	return NULL;
}

/* Overwrites the headers that may have secrets. */
static void forget(struct curl_slist *headers)
{
	for (; headers; headers = headers->next)
		explicit_bzero(headers->data, strlen(headers->data));
}

/* Makes the request for which all options but those of the body are set. */
static CURLcode perform(struct http *http, const struct http_request *r, struct curl_slist *headers)
{
	curl_mime *form = NULL;
	CURLcode code = CURLE_OUT_OF_MEMORY;

	http->curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, headers);
	if (r->part) {
		form = set_form(http, r);
	} else {
		http->curl_easy_setopt(http->curl, CURLOPT_POST, 1L);
		http->curl_easy_setopt(http->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->len);
		http->curl_easy_setopt(http->curl, CURLOPT_POSTFIELDS, r->len ? r->body : "");
	}
	if (headers && (form || !r->part))
		code = http->curl_easy_perform(http->curl);
	http->curl_mime_free(form);
	return code;
}

int http_post(struct http *http, const struct http_request *r, long *ret_status,
	      struct buf *ret_answer)
{
	struct curl_slist *headers;
	CURLcode code;
	int err;

	login_forget(http->bearer);
	http->bearer = NULL;
	http->login = r->login;
	http->user = r->user;
	err = r->login ? login_bearer(r->login, &http->bearer) : 0;
	http->error[0] = '\0';
	http->retry_after = 0;
	http->answer = ret_answer;
	if (err == -ENOENT) {
		snprintf(http->error, sizeof(http->error), "there is no token in %s",
			 r->login->token_file);
		return -EPROTO;
	}
	if (err < 0)
		return err;
	headers = make_headers(http, r, http->bearer);
	set_up(http, r);
	code = perform(http, r, headers);
	if (code == CURLE_OK) {
		http->curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, ret_status);
		http->curl_easy_getinfo(http->curl, CURLINFO_RETRY_AFTER, &http->retry_after);
	} else if (!http->error[0]) {
		snprintf(http->error, sizeof(http->error), "%s", http->curl_easy_strerror(code));
	}
	forget(headers);
	http->curl_slist_free_all(headers);
	return code == CURLE_OK ? 0 : error_of(http, code);
}

void http_put_said(const struct http *http, char *text, struct buf *b)
{
	/* A proxy may repeat in its answer what it refuses. */
	if (http->login &&
	    login_hide(http->login, http->user, http->bearer, text, strlen(text)) < 0) {
		b->failed = true;
		return;
	}
	text[strcspn(text, "\r\n")] = '\0';
	if (strlen(text) > SAID_BYTES)
		text[SAID_BYTES] = '\0';
	text_put(b, text, NULL);
	buf_put_u8(b, '\0');
}
