/* SPDX-License-Identifier: MIT */
/* Reads how to log in at a server; see credentials.h. */
#include "cli/servers/credentials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd.h"
#include "cli/message.h"

static int copy(const char *text, char **ret_copy)
{
	login_forget(*ret_copy);
	*ret_copy = text ? strdup(text) : NULL;
	if (text && !*ret_copy) {
		message("out of memory");
		return CMD_FAILED;
	}
	return CMD_DONE;
}

static const char *variable(const char *prefix, const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", prefix, what);
	return getenv(name);
}

static int from_environment(struct login *c, const char *prefix)
{
	int status = copy(variable(prefix, "USER"), &c->user);

	return status == CMD_DONE ? copy(variable(prefix, "PASSWORD"), &c->password) : status;
}

static char *trimmed(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	len = strlen(text);
	while (len && strchr(" \t\r\n", text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* Returns the member that a key sets; NULL: it sets none. */
static char **member_of(struct login *c, const char *key)
{
	const struct {
		const char *key;
		char **member;
	} members[] = {
		{"user", &c->user},
		{"password", &c->password},
		{"ca", &c->authority},
		{"token", &c->token},
		{"token_file", &c->token_file},
		{"certificate", &c->certificate},
		{"key", &c->key},
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (strcmp(key, members[i].key) == 0)
			return members[i].member;
	return NULL;
}

static int add_header(struct login *c, const char *path, unsigned number, const char *header)
{
	const int err = login_add_header(c, header);

	if (err == -EINVAL)
		message("%s:%u: a header has the form 'header = NAME: VALUE'", path, number);
	else if (err < 0)
		message("out of memory");
	return err == -EINVAL ? CMD_USAGE : err < 0 ? CMD_FAILED : CMD_DONE;
}

static int add_tenant(struct login *c, const char *path, unsigned number, const char *name)
{
	char *header;
	int status;

	if (asprintf(&header, LOGIN_TENANT ": %s", name) < 0) {
		message("out of memory");
		return CMD_FAILED;
	}
	status = add_header(c, path, number, header);
	free(header);
	return status;
}

static int take_line(struct login *c, const char *path, unsigned number, char *line)
{
	char *key = trimmed(line), *value = strchr(key, '='), **member;

	if (!*key || *key == '#')
		return CMD_DONE;
	if (value)
		*value++ = '\0';
	key = trimmed(key);
	member = member_of(c, key);
	/* Users may have no password. */
	if (value && member && (*trimmed(value) || member == &c->user || member == &c->password))
		return copy(trimmed(value), member);
	if (value && member) {
		message("%s:%u: nothing stands behind '%s ='", path, number, key);
		return CMD_USAGE;
	}
	if (value && strcmp(key, "header") == 0)
		return add_header(c, path, number, trimmed(value));
	if (value && strcmp(key, "org") == 0)
		return add_tenant(c, path, number, trimmed(value));
	message("%s:%u: expected 'user = NAME', 'password = SECRET', 'token = SECRET', "
		"'token_file = FILE', 'certificate = FILE', 'key = FILE', 'ca = FILE', "
		"'org = NAME' or 'header = NAME: VALUE'",
		path, number);
	return CMD_USAGE;
}

/* Checks that the lines do not contradict each other. */
static int check(const struct login *c, const char *path)
{
	const char *wrong = NULL;

	if ((c->user || c->password) && (c->token || c->token_file))
		wrong = "a user's name and a token exclude each other";
	else if (c->token && c->token_file)
		wrong = "token and token_file exclude each other";
	else if (c->key && !c->certificate)
		wrong = "a key needs its certificate";
	if (wrong)
		message("%s: %s", path, wrong);
	return wrong ? CMD_USAGE : CMD_DONE;
}

static int from_file(struct login *c, const char *path, FILE *in)
{
	struct stat st;
	char *line = NULL;
	size_t cap = 0;
	int status = CMD_DONE;

	if (fstat(fileno(in), &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 077) {
		message("%s: other users can read these credentials: chmod 600 %s", path, path);
		return CMD_USAGE;
	}
	for (unsigned number = 1; status == CMD_DONE && getline(&line, &cap, in) >= 0; number++)
		status = take_line(c, path, number, line);
	if (line)
		explicit_bzero(line, cap);
	free(line);
	if (status == CMD_DONE && ferror(in)) {
		message("cannot read %s: %s", path, strerror(errno));
		status = CMD_USAGE;
	}
	return status == CMD_DONE ? check(c, path) : status;
}

int credentials_read(const char *path, const char *prefix, struct login *ret_login)
{
	struct login c = {0};
	FILE *in = path ? fopen(path, "re") : NULL;
	int status;

	if (!path) {
		status = from_environment(&c, prefix);
	} else if (!in) {
		message("cannot open %s: %s", path, strerror(errno));
		status = errno == EACCES ? CMD_NO_SUPPORT : CMD_USAGE;
	} else {
		status = from_file(&c, path, in);
	}
	if (in)
		fclose(in);
	if (status == CMD_DONE)
		*ret_login = c;
	else
		login_fini(&c);
	return status;
}
