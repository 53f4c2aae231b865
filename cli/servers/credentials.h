/* SPDX-License-Identifier: MIT */
/*
 * Reads the name and password with which stackctl logs in at a server. They come from the
 * environment (CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, for other servers STACKD_PUSH_...) or from
 * a file that nobody else can read; never from the command line, which everybody on the machine can
 * see.
 */
#ifndef CLI_CREDENTIALS_H
#define CLI_CREDENTIALS_H

struct credentials {
	char *user, *password; /* NULL: not given */
	char *authority;       /* file with certificates of authorities; NULL: the system's */
};

/* Reads a file with the lines "user = NAME", "password = SECRET" and "ca = FILE", each optional; or
 * if `path` is NULL, the environment variables that begin with `prefix`. Returns a cmd_status; a
 * message has been printed if it is not CMD_DONE. */
#define CREDENTIALS_CLICKHOUSE "CLICKHOUSE"
#define CREDENTIALS_PUSH       "STACKD_PUSH"
int credentials_read(const char *path, const char *prefix, struct credentials *ret_credentials);
void credentials_free(struct credentials *credentials);

#endif
