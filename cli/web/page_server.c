/* SPDX-License-Identifier: MIT */
/*
 * Serves the page; see page_server.h.
 *
 * libmicrohttpd has one thread, which never waits: a question suspends its connection until a job
 * (jobs.h) has the answer. What one client can take is limited: the size of a request, the time in
 * which nothing is sent or read, the number of connections, and the answers that wait for a slow
 * reader.
 */
#include "page_server.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_put.h"
#include "base/text.h"
#include "jobs.h"
#include "web/one_file.h"
#include "web_files.h"

#define PAGE_SERVER_CONNECTIONS 2000
#define PAGE_SERVER_IDLE_S	20    /* a connection that does nothing is closed after this time */
#define PAGE_SERVER_REQUEST	65536 /* bytes of a request with its headers, and for their list */
#define PAGE_SERVER_ANSWERS	100   /* answers that wait or are being sent */
#define PAGE_SERVER_FILE	(4 << 20) /* the largest file of a folder */
#define PAGE_SERVER_DATA	"@DATA@"

#define PAGE_SERVER_POLICY                                                                         \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "            \
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct page_server {
	struct MHD_Daemon *daemon;
	struct jobs *jobs;
	int fd; /* that listens; -1: libmicrohttpd has it */
	char *files;
	uint16_t port;
	char token[PAGE_SERVER_TOKEN];
	atomic_uint n_answers;
	atomic_bool is_ending;
};

/* A request: its job is queued at the second call for it, and done at the third. */
struct page_server_request {
	struct page_server *server;
	struct MHD_Connection *connection;
	struct job job;
	bool is_counted; /* in n_answers */
	bool is_queued;
	bool is_foreign; /* the host's name is another one */
};

/* --- responses ------------------------------------------------------------------------------- */

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, const char *type,
			       struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "Content-Security-Policy", PAGE_SERVER_POLICY);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* Responds with a constant text. */
static enum MHD_Result respond_text(struct MHD_Connection *connection, unsigned status,
				    const char *type, const char *text)
{
	return respond(connection, status, type,
		       MHD_create_response_from_buffer(strlen(text), (void *)text,
						       MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result refuse(struct MHD_Connection *connection)
{
	return respond_text(connection, MHD_HTTP_FORBIDDEN, "text/plain", "forbidden\n");
}

/* An error that the server itself sends, without asking web/web.h. */
struct trouble {
	unsigned status;
	const char *error, *remedy;
};

static const struct trouble busy = {MHD_HTTP_SERVICE_UNAVAILABLE,
				    "too many requests are waiting for an answer",
				    "close some of the pages, or ask again"};
static const struct trouble many_parameters = {MHD_HTTP_BAD_REQUEST,
					       "there are too many parameters", "choose fewer"};
static const struct trouble not_read = {MHD_HTTP_METHOD_NOT_ALLOWED, "the page only reads",
					"use GET"};

/* Appends the object that says what is wrong; nothing if memory is short. */
static void put_trouble(const struct trouble *trouble, struct buf *b)
{
	struct json j = {0};

	json_put_object(&j, NULL);
	json_put_string(&j, "error", trouble->error);
	json_put_string(&j, "remedy", trouble->remedy);
	json_put_end(&j);
	if (!j.err && !j.text.failed)
		buf_put(b, j.text.data, j.text.len);
	buf_free(&j.text);
}

static enum MHD_Result respond_trouble(struct MHD_Connection *connection,
				       const struct trouble *trouble)
{
	struct buf b = {0};

	put_trouble(trouble, &b);
	return respond(connection, trouble->status, "application/json",
		       MHD_create_response_from_buffer(b.len, b.data, MHD_RESPMEM_MUST_FREE));
}

/* --- files ----------------------------------------------------------------------------------- */

/* Returns whether a file's name has no folder that begins with a dot. */
static bool is_plain(const char *name)
{
	return *name != '.' && *name != '/' && !strstr(name, "/.") && !strstr(name, "//");
}

/* Reads a file of a folder. Returns 0, -ENOENT, -EFBIG or -ENOMEM. */
static int read_file(const char *folder, const char *name, struct buf *b)
{
	char chunk[16384], *path;
	FILE *in;
	size_t n;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	in = fopen(path, "re");
	free(path);
	if (!in)
		return -ENOENT;
	while ((n = fread(chunk, 1, sizeof(chunk), in)) > 0 && b->len < PAGE_SERVER_FILE)
		buf_put(b, chunk, n);
	fclose(in);
	return b->failed ? -ENOMEM : n ? -EFBIG : 0;
}

/* Appends a page in which there is no data, so that it asks for it. */
static void put_page(const uint8_t *bytes, size_t len, struct buf *b)
{
	const uint8_t *mark = memmem(bytes, len, PAGE_SERVER_DATA, strlen(PAGE_SERVER_DATA));

	if (!mark) {
		buf_put(b, bytes, len);
		return;
	}
	buf_put(b, bytes, (size_t)(mark - bytes));
	buf_put(b, "null", 4);
	mark += strlen(PAGE_SERVER_DATA);
	buf_put(b, mark, (size_t)(bytes + len - mark));
}

/* Finds a file's bytes. Returns 0 or an error. */
static int find_file(const struct page_server *server, const char *name, struct buf *ret_bytes)
{
	const struct web_file *file;

	if (!is_plain(name) || !web_files_type(name))
		return -ENOENT;
	if (strcmp(name, "one-file.html") == 0) {
		buf_put(ret_bytes, one_file_page(), strlen(one_file_page()));
		return ret_bytes->failed ? -ENOMEM : 0;
	}
	if (server->files)
		return read_file(server->files, name, ret_bytes);
	file = web_files_find(name);
	if (!file)
		return -ENOENT;
	buf_put(ret_bytes, file->bytes, file->len);
	return ret_bytes->failed ? -ENOMEM : 0;
}

static enum MHD_Result respond_file(const struct page_server *server,
				    struct MHD_Connection *connection, const char *name)
{
	struct buf bytes = {0}, page = {0};
	int err;

	if (!*name)
		name = "index.html";
	err = find_file(server, name, &bytes);
	if (err == 0 && strcmp(name, "index.html") == 0) {
		put_page(bytes.data, bytes.len, &page);
		buf_free(&bytes);
		bytes = page;
	}
	if (err || bytes.failed) {
		buf_free(&bytes);
		return respond_text(connection, MHD_HTTP_NOT_FOUND, "text/plain",
				    "there is no such file\n");
	}
	return respond(
		connection, MHD_HTTP_OK, web_files_type(name),
		MHD_create_response_from_buffer(bytes.len, bytes.data, MHD_RESPMEM_MUST_FREE));
}

/* --- questions ------------------------------------------------------------------------------- */

static void done(struct job *job)
{
	struct page_server_request *request = job->arg;

	MHD_resume_connection(request->connection);
}

static enum MHD_Result take_parameter(void *arg, enum MHD_ValueKind kind, const char *name,
				      const char *value)
{
	struct job *job = arg;

	(void)kind;
	if (job->n_parameters == JOBS_PARAMETERS) {
		job->status = MHD_HTTP_BAD_REQUEST;
		return MHD_NO;
	}
	job->parameters[job->n_parameters++] =
		(struct web_parameter){strdup(name), strdup(value ? value : "")};
	return MHD_YES;
}

/* Returns whether all parameters were copied. */
static bool has_all(const struct job *job)
{
	for (size_t i = 0; i < job->n_parameters; i++)
		if (!job->parameters[i].name || !job->parameters[i].value)
			return false;
	return job->name;
}

static bool is_viewer(const char *id)
{
	const size_t n = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return n && n < JOBS_VIEWER && !id[n];
}

/* Copies the page's id and the number of its state. */
static void read_viewer(struct MHD_Connection *connection, struct job *job)
{
	const char *id = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Stackd-Viewer");
	const char *generation =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Stackd-Generation");

	if (!id || !generation || !is_viewer(id))
		return;
	strcpy(job->viewer, id);
	job->generation = strtoull(generation, NULL, 10);
}

static enum MHD_Result queue(struct page_server_request *request, const char *name)
{
	struct page_server *server = request->server;
	struct job *job = &request->job;

	if (atomic_fetch_add(&server->n_answers, 1) >= PAGE_SERVER_ANSWERS ||
	    atomic_load(&server->is_ending)) {
		atomic_fetch_sub(&server->n_answers, 1);
		return respond_trouble(request->connection, &busy);
	}
	request->is_counted = true;
	job->name = strdup(name);
	MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, take_parameter, job);
	read_viewer(request->connection, job);
	if (job->status)
		return respond_trouble(request->connection, &many_parameters);
	if (!has_all(job))
		return MHD_NO;
	job->done = done;
	job->arg = request;
	request->is_queued = true;
	MHD_suspend_connection(request->connection);
	if (jobs_put(server->jobs, job) == 0)
		return MHD_YES;
	put_trouble(&busy, &job->answer);
	job->status = MHD_HTTP_SERVICE_UNAVAILABLE;
	MHD_resume_connection(request->connection);
	return MHD_YES;
}

static enum MHD_Result respond_answer(struct page_server_request *request)
{
	struct buf *answer = &request->job.answer;
	struct MHD_Response *response =
		MHD_create_response_from_buffer(answer->len, answer->data, MHD_RESPMEM_MUST_FREE);

	if (!response)
		return MHD_NO;
	*answer = (struct buf){0};
	return respond(request->connection, (unsigned)request->job.status, "application/json",
		       response);
}

/* Decodes %41 in a part of an address, in place. Leaves "%00" as it is: a text with a zero would
 * end there, and so be another file's name or another parameter than the client sent. Returns the
 * length. */
static size_t unescape(void *arg, struct MHD_Connection *connection, char *text)
{
	const char *from = text;
	char *to = text;
	unsigned byte;

	(void)arg, (void)connection;
	while (*from) {
		if (from[0] == '%' && isxdigit((unsigned char)from[1]) &&
		    isxdigit((unsigned char)from[2]) && sscanf(from + 1, "%2x", &byte) == 1 &&
		    byte) {
			*to++ = (char)byte;
			from += 3;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return (size_t)(to - text);
}

/* --- requests -------------------------------------------------------------------------------- */

/* Returns whether a host's name is one of this machine's own. Any port is allowed, since ssh can
 * forward one. If another site lets its name resolve to 127.0.0.1 (DNS rebinding), the requests of
 * its pages have that name as their host. */
static bool is_own_host(const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

	for (size_t i = 0; host && i < sizeof(names) / sizeof(*names); i++) {
		const size_t len = strlen(names[i]);

		if (strncasecmp(host, names[i], len) == 0 &&
		    (!host[len] ||
		     (host[len] == ':' && !host[len + 1 + strspn(host + len + 1, "0123456789")])))
			return true;
	}
	return false;
}

/* Returns the part of an address behind "/TOKEN/"; NULL: it does not begin so. Takes the same time
 * wherever a wrong token differs. */
static const char *behind_token(const struct page_server *server, const char *url)
{
	const size_t len = PAGE_SERVER_TOKEN - 1;
	unsigned char difference = 0;

	if (url[0] != '/' || strnlen(url + 1, len + 1) < len + 1 || url[len + 1] != '/')
		return NULL;
	for (size_t i = 0; i < len; i++)
		difference |= (unsigned char)(url[1 + i] ^ server->token[i]);
	return difference ? NULL : url + len + 2;
}

struct hosts {
	unsigned n;
	bool is_foreign; /* one of them is not this machine */
};

static enum MHD_Result look_at_header(void *arg, enum MHD_ValueKind kind, const char *name,
				      const char *value)
{
	struct hosts *hosts = arg;

	(void)kind;
	if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
		hosts->n++;
		hosts->is_foreign |= !is_own_host(value);
	}
	return MHD_YES;
}

static enum MHD_Result begin_request(struct page_server *server, struct MHD_Connection *connection,
				     void **ret_request)
{
	struct page_server_request *request = calloc(1, sizeof(*request));
	struct hosts hosts = {0};

	if (!request)
		return MHD_NO;
	request->server = server;
	request->connection = connection;
	MHD_get_connection_values(connection, MHD_HEADER_KIND, look_at_header, &hosts);
	request->is_foreign = hosts.n != 1 || hosts.is_foreign;
	*ret_request = request;
	return MHD_YES;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *body_len, void **con_cls)
{
	struct page_server *server = arg;
	struct page_server_request *request = *con_cls;
	const char *name;

	(void)version, (void)body;
	if (!request)
		return begin_request(server, connection, con_cls);
	if (*body_len) { /* A body is read to its end, and ignored. */
		*body_len = 0;
		return MHD_YES;
	}
	if (request->is_queued)
		return respond_answer(request);
	name = behind_token(server, url);
	if (request->is_foreign || !name)
		return refuse(connection);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return respond_trouble(connection, &not_read);
	if (strncmp(name, "api/", 4) == 0)
		return queue(request, name + 4);
	return respond_file(server, connection, name);
}

static void completed(void *arg, struct MHD_Connection *connection, void **con_cls,
		      enum MHD_RequestTerminationCode code)
{
	struct page_server *server = arg;
	struct page_server_request *request = *con_cls;

	(void)connection, (void)code;
	if (!request)
		return;
	if (request->is_counted)
		atomic_fetch_sub(&server->n_answers, 1);
	for (size_t i = 0; i < request->job.n_parameters; i++) {
		free((char *)request->job.parameters[i].name);
		free((char *)request->job.parameters[i].value);
	}
	free(request->job.name);
	buf_free(&request->job.answer);
	free(request);
	*con_cls = NULL;
}

/* --- start and end --------------------------------------------------------------------------- */

static int make_token(char ret_token[static PAGE_SERVER_TOKEN])
{
	uint8_t bytes[(PAGE_SERVER_TOKEN - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret_token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Opens a socket on 127.0.0.1 alone. Returns it or a negative errno. */
static int listen_on(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 1024) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int page_server_new(uint16_t port, struct page_server **ret_server)
{
	struct page_server *server = calloc(1, sizeof(*server));
	struct sockaddr_in address = {0};
	socklen_t len = sizeof(address);
	int err = server ? 0 : -ENOMEM;

	if (err)
		return err;
	err = make_token(server->token);
	server->fd = err ? err : listen_on(port);
	if (server->fd < 0)
		err = server->fd;
	else if (getsockname(server->fd, (struct sockaddr *)&address, &len) < 0)
		err = -errno;
	server->port = ntohs(address.sin_port);
	if (err)
		page_server_free(server);
	else
		*ret_server = server;
	return err;
}

/* Allows the process as many files as twice the connections. Returns how many connections it may
 * have, so that they leave as many files for stores. */
static unsigned connections(void)
{
	const rlim_t wanted = 2 * PAGE_SERVER_CONNECTIONS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return PAGE_SERVER_CONNECTIONS / 10;
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	return limit.rlim_cur < wanted ? (unsigned)limit.rlim_cur / 2 : PAGE_SERVER_CONNECTIONS;
}

int page_server_start(struct page_server *server, struct web *web, const char *files)
{
	int err = jobs_new(web, &server->jobs);

	if (err == 0 && files) {
		server->files = strdup(files);
		err = server->files ? 0 : -ENOMEM;
	}
	if (err)
		return err;
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle,
		server, MHD_OPTION_LISTEN_SOCKET, server->fd, MHD_OPTION_UNESCAPE_CALLBACK,
		unescape, NULL, MHD_OPTION_NOTIFY_COMPLETED, completed, server,
		MHD_OPTION_CONNECTION_LIMIT, connections(), MHD_OPTION_CONNECTION_TIMEOUT,
		PAGE_SERVER_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)PAGE_SERVER_REQUEST,
		MHD_OPTION_END);
	if (!server->daemon)
		return -ENOMEM;
	server->fd = -1; /* libmicrohttpd closes it. */
	return 0;
}

void page_server_free(struct page_server *server)
{
	if (!server)
		return;
	/* Jobs end first, so that no connection is suspended when the daemon ends. */
	atomic_store(&server->is_ending, true);
	if (server->jobs)
		jobs_end(server->jobs);
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	jobs_free(server->jobs);
	if (server->fd >= 0)
		close(server->fd);
	free(server->files);
	free(server);
}

uint16_t page_server_port(const struct page_server *server)
{
	return server->port;
}

const char *page_server_token(const struct page_server *server)
{
	return server->token;
}
