/* SPDX-License-Identifier: MIT */
/* Notes what servers have accepted; see sent.h. */
#include "cli/servers/sent.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/vec.h"
#include "cli/cmd.h"
#include "cli/message.h"

struct taken {
	char *key; /* the line's fields SERVER, HOST and START, with the tabs between them */
	uint64_t end;
	size_t taken, all;
};

struct sent {
	char *path;
	FILE *file;
	VEC(struct taken) lines;
	int err;
};

static char *key_of(const char *server, const struct store_recording *r)
{
	char *host = strdup(r->host ? r->host : ""), *key;

	for (char *at = host; at && *at; at++) /* a name with a tab or newline would break the
						* file's lines */
		if (iscntrl((unsigned char)*at))
			*at = '?';
	if (!host || asprintf(&key, "%s\t%s\t%" PRIu64, server, host, r->start_unix_ns) < 0)
		key = NULL;
	free(host);
	return key;
}

static uint64_t end_of(const struct store_recording *r)
{
	return r->start_unix_ns + (r->end_ns - r->start_ns);
}

static struct taken *find(const struct sent *s, const char *key)
{
	for (size_t i = s->lines.count; key && i-- > 0;)
		if (strcmp(s->lines.items[i].key, key) == 0)
			return &s->lines.items[i];
	return NULL;
}

/* Stores what a line says about a recording, in place of what an earlier line said. Owns `key` from
 * now on. Returns 0 or -ENOMEM. */
static int remember(struct sent *s, char *key, uint64_t end, size_t taken, size_t all)
{
	struct taken *known = find(s, key);

	if (known) {
		known->end = end;
		known->taken = taken;
		known->all = all;
		free(key);
		return 0;
	}
	if (!key || VEC_RESERVE(&s->lines, 1) < 0) {
		free(key);
		return -ENOMEM;
	}
	s->lines.items[s->lines.count++] = (struct taken){key, end, taken, all};
	return 0;
}

static int take_line(struct sent *s, const char *line, unsigned number)
{
	const char *at = line;
	size_t taken, all;
	uint64_t end;
	char *key;
	int used = -1;

	for (unsigned i = 0; at && i < 3; i++)
		at = strchr(at + (i > 0), '\t');
	if (!at || sscanf(at, "\t%" SCNu64 "\t%zu\t%zu%n", &end, &taken, &all, &used) != 3 ||
	    used < 0 || at[used] != '\n') {
		message("%s:%u: this line names no recording that a server accepted: correct it, "
			"or give another file by --sent",
			s->path, number);
		return CMD_USAGE;
	}
	key = strndup(line, (size_t)(at - line));
	if (remember(s, key, end, taken, all) < 0) {
		message("out of memory");
		return CMD_FAILED;
	}
	return CMD_DONE;
}

/* Reads the lines; removes a last line that was cut off. */
static int read_lines(struct sent *s)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	off_t whole = 0;
	int status = CMD_DONE;

	for (unsigned number = 1; status == CMD_DONE; number++) {
		len = getline(&line, &cap, s->file);
		if (len <= 0 || line[len - 1] != '\n')
			break;
		whole += len;
		status = take_line(s, line, number);
	}
	free(line);
	if (status == CMD_DONE && (ferror(s->file) || ftruncate(fileno(s->file), whole) != 0 ||
				   fseek(s->file, 0, SEEK_END) != 0)) {
		message("cannot read and write %s: %s", s->path, strerror(errno));
		status = CMD_USAGE;
	}
	return status;
}

static int open_file(struct sent *s)
{
	const int fd = open(s->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (fd < 0 || !(s->file = fdopen(fd, "a+"))) {
		message("cannot open %s, where stackctl notes what the server has taken: %s; give "
			"another file by --sent",
			s->path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return CMD_USAGE;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		message("%s: another stackctl is pushing with this file: wait for it, or give "
			"another file by --sent",
			s->path);
		return CMD_FAILED;
	}
	return CMD_DONE;
}

int sent_open(const char *path, struct sent **ret_sent)
{
	struct sent *s = calloc(1, sizeof(*s));
	int status;

	if (s)
		s->path = strdup(path);
	if (!s || !s->path) {
		message("out of memory");
		free(s);
		return CMD_FAILED;
	}
	status = open_file(s);
	if (status == CMD_DONE)
		status = read_lines(s);
	if (status == CMD_DONE)
		*ret_sent = s;
	else
		sent_free(s);
	return status;
}

void sent_free(struct sent *s)
{
	if (!s)
		return;
	if (s->file)
		fclose(s->file);
	for (size_t i = 0; i < s->lines.count; i++)
		free(s->lines.items[i].key);
	free(s->lines.items);
	free(s->path);
	free(s);
}

const char *sent_path(const struct sent *s)
{
	return s->path;
}

int sent_error(const struct sent *s)
{
	return s->err;
}

enum sent_state sent_state(const struct sent *s, const char *server,
			   const struct store_recording *r, size_t *ret_entries)
{
	char *key = key_of(server, r);
	const struct taken *known = find(s, key);

	free(key);
	if (!known)
		return SENT_NOT;
	if (known->end != end_of(r))
		return SENT_GROWN;
	*ret_entries = known->taken;
	return known->taken == known->all ? SENT_ALL : SENT_PART;
}

int sent_add(struct sent *s, const char *server, const struct store_recording *r, size_t taken,
	     size_t all)
{
	char *key = key_of(server, r);

	s->err = 0;
	if (!key)
		s->err = -ENOMEM;
	else if (fprintf(s->file, "%s\t%" PRIu64 "\t%zu\t%zu\n", key, end_of(r), taken, all) < 0 ||
		 fflush(s->file) != 0 || fdatasync(fileno(s->file)) != 0)
		s->err = errno ? -errno : -EIO;
	if (s->err == 0)
		s->err = remember(s, key, end_of(r), taken, all);
	else
		free(key);
	return s->err;
}
