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

#include "base/strings.h"
#include "base/vec.h"
#include "cli/cmd.h"
#include "cli/message.h"

#define BY_PLACE "@place"

struct line {
	uint64_t end; /* 0: there is no line, or only one about a profile */
	size_t settled, all, aside;
	unsigned tries;
};

/* The next `n` entries of a profile, at which a server failed. */
struct doubt {
	uint32_t key;
	size_t n;
};

struct sent {
	char *path;
	FILE *file;
	/* SERVER, HOST, START and, of a profile, PROFILE, with tabs between them */
	struct strings *keys;
	VEC(struct line) lines; /* by number of the key */
	VEC(struct doubt) doubts;
	int err;
};

/* Returns the key of a recording, or of one of its profiles: `order` follows the profile's name,
 * and says which order the entries have that its line counts. */
static char *key_of(const char *server, const struct store_recording *r, const char *profile,
		    const char *order)
{
	char *host = strdup(r->host ? r->host : ""), *key;

	for (char *at = host; at && *at; at++) /* a name with a tab or newline would break the
						* file's lines */
		if (iscntrl((unsigned char)*at))
			*at = '?';
	if (!host || asprintf(&key, "%s\t%s\t%" PRIu64 "%s%s%s", server, host, r->start_unix_ns,
			      profile ? "\t" : "", profile ? profile : "", order) < 0)
		key = NULL;
	free(host);
	return key;
}

static uint64_t end_of(const struct store_recording *r)
{
	return r->start_unix_ns + (r->end_ns - r->start_ns);
}

/* Returns the line of a key, which is empty at first. NULL: memory is short. */
static struct line *line_of(struct sent *s, const char *key, uint32_t *ret_number)
{
	uint32_t number = 0;

	if (!key || strings_intern(s->keys, key, &number) < 0 ||
	    VEC_RESERVE(&s->lines, number + 1 - s->lines.count) < 0)
		return NULL;
	while (s->lines.count <= number)
		s->lines.items[s->lines.count++] = (struct line){0};
	if (ret_number)
		*ret_number = number;
	return &s->lines.items[number];
}

static struct line *find(struct sent *s, const char *server, const struct store_recording *r,
			 const char *profile, uint32_t *ret_number)
{
	char *key = key_of(server, r, profile, "");
	struct line *line = line_of(s, key, ret_number);

	free(key);
	return line;
}

/* Returns the line of a profile, as find() does. */
static struct line *find_profile(struct sent *s, const char *server,
				 const struct store_recording *r,
				 const struct push_profile *profile, uint32_t *ret_number)
{
	char *key = key_of(server, r, profile->name, profile->is_by_place ? BY_PLACE : "");
	struct line *line = line_of(s, key, ret_number);

	free(key);
	return line;
}

/* Returns the end of SERVER, HOST and START in a text that begins with these; NULL: it does not. */
static const char *after_start(const char *text)
{
	for (unsigned i = 0; text && i < 2; i++)
		text = strchr(text + (i > 0), '\t');
	return text ? text + 1 + strspn(text + 1, "0123456789") : NULL;
}

/* Stores what a line says about a key, which is the first `len` characters of a text and, of a
 * profile, its name. Returns 0 or -ENOMEM. */
static int take(struct sent *s, const char *text, size_t len, const char *profile,
		const struct line *read)
{
	char *whole = strndup(text, len), *key = NULL;
	struct line *line = line_of(s, whole, NULL);
	int err = line ? 0 : -ENOMEM;

	if (line && !profile)
		*line = *read;
	else if (line && !line->end) /* the recording is not settled as a whole */
		*line = (struct line){.end = read->end, .all = 1};
	if (line && profile) {
		if (asprintf(&key, "%s\t%s", whole, profile) < 0)
			key = NULL;
		line = line_of(s, key, NULL);
		if (line)
			*line = *read;
		else
			err = -ENOMEM;
	}
	free(whole);
	free(key);
	return err;
}

static int take_line(struct sent *s, const char *text, unsigned number)
{
	const char *at = after_start(text);
	char profile[80] = "-";
	struct line read = {0};
	int used = -1, more = -1;

	if (at &&
	    sscanf(at, "\t%" SCNu64 "\t%zu\t%zu%n", &read.end, &read.settled, &read.all, &used) ==
		    3 &&
	    used >= 0 && at[used] == '\t' &&
	    sscanf(at + used, "\t%79[^\t\n]\t%u\t%zu%n", profile, &read.tries, &read.aside,
		   &more) == 3 &&
	    more >= 0)
		used += more;
	if (!at || used < 0 || at[used] != '\n') {
		message("%s:%u: this line names no recording that a server accepted: correct it, "
			"or give another file by --sent",
			s->path, number);
		return CMD_USAGE;
	}
	if (take(s, text, (size_t)(at - text), strcmp(profile, "-") == 0 ? NULL : profile, &read) <
	    0) {
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
	if (!s || !s->path || strings_new(&s->keys) < 0) {
		message("out of memory");
		sent_free(s);
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
	strings_free(s->keys);
	free(s->lines.items);
	free(s->doubts.items);
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

enum sent_state sent_state(struct sent *s, const char *server, const struct store_recording *r,
			   size_t *ret_aside)
{
	const struct line *line = find(s, server, r, NULL, NULL);

	if (!line || !line->end)
		return SENT_NOT;
	if (line->end != end_of(r))
		return SENT_GROWN;
	*ret_aside = line->aside;
	return line->settled == line->all ? SENT_ALL : SENT_NOT;
}

struct sent_profile sent_profile(struct sent *s, const char *server,
				 const struct store_recording *r,
				 const struct push_profile *profile)
{
	const struct line *line = find_profile(s, server, r, profile, NULL);
	size_t settled;

	/* In lines of earlier versions the entries had another order, so these are good only if
	 * they count them all. */
	if (profile->is_by_place && (!line || !line->end)) {
		line = find(s, server, r, profile->name, NULL);
		if (line && line->end && line->settled < profile->count)
			return (struct sent_profile){0};
	}
	if (line && line->end)
		return (struct sent_profile){line->settled, line->aside, line->tries};
	/* A line of an earlier version counts the entries of all profiles together. */
	line = find(s, server, r, NULL, NULL);
	settled = line && line->settled > profile->before ? line->settled - profile->before : 0;
	if (settled < profile->count)
		return (struct sent_profile){.settled = profile->is_by_place ? 0 : settled};
	return (struct sent_profile){.settled = profile->count};
}

/* Appends the line of a key to the file. */
static int write_line(struct sent *s, uint32_t number)
{
	const struct line *line = &s->lines.items[number];
	const char *key = strings_at(s->keys, number), *end = after_start(key);
	const bool is_profile = *end == '\t';

	s->err = 0;
	if (fprintf(s->file, "%.*s\t%" PRIu64 "\t%zu\t%zu", (int)(end - key), key, line->end,
		    line->settled, line->all) < 0 ||
	    ((is_profile || line->aside) &&
	     fprintf(s->file, "\t%s\t%u\t%zu", is_profile ? end + 1 : "-", line->tries,
		     line->aside) < 0) ||
	    fputc('\n', s->file) < 0 || fflush(s->file) != 0 || fdatasync(fileno(s->file)) != 0)
		s->err = errno ? -errno : -EIO;
	return s->err;
}

/* Makes the line of a whole recording that is not settled, if there is none, so that its end is
 * known. Returns 0 or -ENOMEM. */
static int begin(struct sent *s, const char *server, const struct store_recording *r)
{
	struct line *line = find(s, server, r, NULL, NULL);

	if (line && !line->end)
		*line = (struct line){.end = end_of(r), .all = 1};
	return line ? 0 : -ENOMEM;
}

/* Returns the line of a profile, filled from the file if the file has one. NULL: memory is short.
 */
static struct line *profile_line(struct sent *s, const char *server,
				 const struct store_recording *r,
				 const struct push_profile *profile, uint32_t *ret_number)
{
	const struct sent_profile state = sent_profile(s, server, r, profile);
	struct line *line = NULL;

	if (begin(s, server, r) == 0)
		line = find_profile(s, server, r, profile, ret_number);
	if (line)
		*line = (struct line){end_of(r), state.settled, profile->count, state.aside,
				      state.tries};
	return line;
}

int sent_note(struct sent *s, const char *server, const struct store_recording *r,
	      const struct push_profile *profile, size_t settled)
{
	uint32_t number;
	struct line *line = profile_line(s, server, r, profile, &number);

	if (!line)
		return s->err = -ENOMEM;
	line->settled = settled;
	line->tries = 0;
	return write_line(s, number);
}

int sent_set_aside(struct sent *s, const char *server, const struct store_recording *r,
		   const struct push_profile *profile, size_t n)
{
	uint32_t number;
	struct line *line = profile_line(s, server, r, profile, &number);

	if (!line)
		return s->err = -ENOMEM;
	line->settled += n;
	line->aside += n;
	return write_line(s, number);
}

/* Counts a refusal of the next entries of a key. Returns as sent_refuse() does. */
static int refuse(struct sent *s, uint32_t number, size_t n)
{
	struct line *line = &s->lines.items[number];
	const bool is_aside = line->tries + 1 >= SENT_TRIES;
	int err;

	if (is_aside) {
		line->settled += n;
		line->aside += n;
	} else {
		line->tries++;
	}
	err = write_line(s, number);
	return err < 0 ? err : is_aside;
}

int sent_refuse(struct sent *s, const char *server, const struct store_recording *r,
		const struct push_profile *profile, size_t n)
{
	uint32_t number;

	if (!profile_line(s, server, r, profile, &number))
		return s->err = -ENOMEM;
	return refuse(s, number, n);
}

int sent_doubt(struct sent *s, const char *server, const struct store_recording *r,
	       const struct push_profile *profile, size_t n)
{
	uint32_t number;

	if (!profile_line(s, server, r, profile, &number) || VEC_RESERVE(&s->doubts, 1) < 0)
		return -ENOMEM;
	s->doubts.items[s->doubts.count++] = (struct doubt){number, n};
	return 0;
}

int sent_end_round(struct sent *s, bool has_accepted)
{
	int aside = 0, err = 0;

	for (size_t i = 0; has_accepted && err >= 0 && i < s->doubts.count; i++) {
		err = refuse(s, s->doubts.items[i].key, s->doubts.items[i].n);
		aside += err > 0;
	}
	s->doubts.count = 0;
	return err < 0 ? err : aside;
}

int sent_add(struct sent *s, const char *server, const struct store_recording *r, size_t all,
	     size_t aside)
{
	uint32_t number;
	struct line *line = find(s, server, r, NULL, &number);

	if (!line)
		return s->err = -ENOMEM;
	*line = (struct line){end_of(r), all, all, aside, 0};
	return write_line(s, number);
}
