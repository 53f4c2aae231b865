/* SPDX-License-Identifier: MIT */
/*
 * How a program makes itself known to a server: by a name and password, by a token, by a
 * certificate, or by headers of the user's choice. No function here prints any of it.
 */
#ifndef HTTP_LOGIN_H
#define HTTP_LOGIN_H

#include <stddef.h>

#define LOGIN_TENANT "X-Scope-OrgID" /* a header whose value is no secret */

/* Each member may be NULL. */
struct login {
	char *user, *password;
	char *authority;	 /* file with certificates of authorities; NULL: the system's */
	char *token;		 /* sent as "Authorization: Bearer ..." */
	char *token_file;	 /* a file with the token, which is read for each request */
	char *certificate, *key; /* files with the client's certificate and its key (PEM) */
	char **headers;		 /* "NAME: VALUE" each */
	size_t n_headers;
};

/* Copies a login. Returns 0 or -ENOMEM; the caller frees `ret_copy` in any case. */
int login_copy(const struct login *login, struct login *ret_copy);

/* Frees what it owns, and overwrites secrets. */
void login_fini(struct login *login);

/* Adds a header. Returns 0; -EINVAL: that is no "NAME: VALUE"; -ENOMEM. */
int login_add_header(struct login *login, const char *header);

/* Makes the header with the token. Returns 0, with a malloc()ed line in *ret_line, or NULL if there
 * is no token; -ENOENT: the file has none, or cannot be read; -ENOMEM. */
int login_bearer(const struct login *login, char **ret_line);

/* Overwrites each occurrence of a secret in a text of `len` bytes, such as a server's message, by
 * asterisks: the password, also as basic authentication sends it with `user` (NULL: it is not
 * sent), the token in the header `bearer` (NULL: none), and the values of headers but LOGIN_TENANT.
 * Returns 0 or -ENOMEM, after which the text may have all of them. */
int login_hide(const struct login *login, const char *user, const char *bearer, char *text,
	       size_t len);

/* Overwrites and frees a text; NULL is fine. */
void login_forget(char *text);

#endif
