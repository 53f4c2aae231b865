/* SPDX-License-Identifier: MIT */
/* Keeps what a program shows a server of itself; see login.h. */
#include "http/login.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/vec.h"

#define TOKEN_BYTES  65536
#define LEAST_SECRET 8 /* letters of a word that is hidden by itself */

/* The characters of a header's name (RFC 9110, "token"). */
static const char name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789!#$%&'*+-.^_`|~";

void login_forget(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

static bool copy(const char *text, char **ret_copy)
{
	*ret_copy = text ? strdup(text) : NULL;
	return !text || *ret_copy;
}

int login_copy(const struct login *from, struct login *to)
{
	bool is_done;

	*to = (struct login){0};
	is_done = copy(from->user, &to->user) && copy(from->password, &to->password) &&
		  copy(from->authority, &to->authority) && copy(from->token, &to->token) &&
		  copy(from->token_file, &to->token_file) &&
		  copy(from->certificate, &to->certificate) && copy(from->key, &to->key);
	for (size_t i = 0; is_done && i < from->n_headers; i++)
		is_done = login_add_header(to, from->headers[i]) == 0;
	return is_done ? 0 : -ENOMEM;
}

void login_fini(struct login *login)
{
	login_forget(login->password);
	login_forget(login->token);
	for (size_t i = 0; i < login->n_headers; i++)
		login_forget(login->headers[i]);
	free(login->headers);
	free(login->user);
	free(login->authority);
	free(login->token_file);
	free(login->certificate);
	free(login->key);
	*login = (struct login){0};
}

int login_add_header(struct login *login, const char *header)
{
	const size_t name = strspn(header, name_characters);
	char **grown;

	if (!name || header[name] != ':' || strpbrk(header, "\r\n"))
		return -EINVAL;
	grown = vec_resize(login->headers, login->n_headers + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	login->headers = grown;
	grown[login->n_headers] = strdup(header);
	if (!grown[login->n_headers])
		return -ENOMEM;
	login->n_headers++;
	return 0;
}

/* Reads a token, which is the first line of the file, of TOKEN_BYTES at most. */
static int read_token(const char *path, char **ret_token)
{
	FILE *in = fopen(path, "re");
	char *token = in ? malloc(TOKEN_BYTES + 2) : NULL;
	/* Without a buffer, of which a copy would stay in memory. */
	bool has_line = token && !setvbuf(in, NULL, _IONBF, 0) && fgets(token, TOKEN_BYTES + 2, in);
	size_t len = has_line ? strlen(token) : 0;
	int err = in && !token ? -ENOMEM : 0;

	if (in)
		fclose(in);
	while (len > 0 && strchr(" \t\r\n", token[len - 1]))
		token[--len] = '\0';
	if (!err && (!len || len > TOKEN_BYTES))
		err = -ENOENT;
	if (err) {
		if (has_line)
			login_forget(token);
		else
			free(token);
		return err;
	}
	*ret_token = token;
	return 0;
}

int login_bearer(const struct login *login, char **ret_line)
{
	char *token = NULL;
	int err = 0;

	*ret_line = NULL;
	if (login->token_file)
		err = read_token(login->token_file, &token);
	else if (login->token && !(token = strdup(login->token)))
		err = -ENOMEM;
	if (token && asprintf(ret_line, "Authorization: Bearer %s", token) < 0) {
		*ret_line = NULL;
		err = -ENOMEM;
	}
	login_forget(token);
	return err;
}

static void hide(const char *secret, char *text, size_t len)
{
	const size_t size = secret ? strlen(secret) : 0;
	char *at = size ? memmem(text, len, secret, size) : NULL;

	while (at) {
		memset(at, '*', size);
		at += size; /* the secret may be asterisks itself */
		at = memmem(at, (size_t)(text + len - at), secret, size);
	}
}

/* Hides the value of a header, and its last word where that alone may be the secret, as behind
 * "Bearer". Shorter words would hide parts of what is no secret. */
static void hide_value(const char *value, char *text, size_t len)
{
	const char *word = strrchr(value, ' ');

	hide(value, text, len);
	if (word && strlen(word + 1) >= LEAST_SECRET)
		hide(word + 1, text, len);
}

/* Hides what HTTP's basic authentication sends. */
static int hide_basic(const char *user, const char *password, char *text, size_t len)
{
	struct buf coded = {0};
	char *both;
	int size = asprintf(&both, "%s:%s", user, password);

	if (size < 0)
		return -ENOMEM;
	text_put_base64(&coded, both, (size_t)size);
	buf_put_u8(&coded, '\0');
	if (!coded.failed)
		hide((const char *)coded.data, text, len);
	size = coded.failed ? -ENOMEM : 0;
	login_forget(both);
	login_forget((char *)coded.data);
	return size;
}

int login_hide(const struct login *login, const char *user, const char *bearer, char *text,
	       size_t len)
{
	const char *password = login->password ? login->password : "";

	if (user && hide_basic(user, password, text, len) < 0)
		return -ENOMEM;
	hide(password, text, len);
	hide(bearer ? strrchr(bearer, ' ') + 1 : NULL, text, len);
	for (size_t i = 0; i < login->n_headers; i++) {
		const char *value = strchr(login->headers[i], ':') + 1;

		value += strspn(value, " ");
		if (strncasecmp(login->headers[i], LOGIN_TENANT ":", sizeof(LOGIN_TENANT)) != 0)
			hide_value(value, text, len);
	}
	return 0;
}
