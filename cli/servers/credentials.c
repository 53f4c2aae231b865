/* SPDX-License-Identifier: MIT */
/* Reads names and passwords; see credentials.h. */
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
	free(*ret_copy);
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

static int from_environment(struct credentials *c, const char *prefix)
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

static int take_line(struct credentials *c, const char *path, unsigned number, char *line)
{
	char *key = trimmed(line), *value = strchr(key, '=');

	if (!*key || *key == '#')
		return CMD_DONE;
	if (value)
		*value++ = '\0';
	key = trimmed(key);
	if (value && strcmp(key, "user") == 0)
		return copy(trimmed(value), &c->user);
	if (value && strcmp(key, "password") == 0)
		return copy(trimmed(value), &c->password);
	if (value && strcmp(key, "ca") == 0)
		return copy(trimmed(value), &c->authority);
	message("%s:%u: expected 'user = NAME', 'password = SECRET' or 'ca = FILE'", path, number);
	return CMD_USAGE;
}

static int from_file(struct credentials *c, const char *path, FILE *in)
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
	return status;
}

int credentials_read(const char *path, const char *prefix, struct credentials *ret_credentials)
{
	struct credentials c = {0};
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
		*ret_credentials = c;
	else
		credentials_free(&c);
	return status;
}

void credentials_free(struct credentials *c)
{
	if (c->password)
		explicit_bzero(c->password, strlen(c->password));
	free(c->user);
	free(c->password);
	free(c->authority);
	*c = (struct credentials){0};
}
