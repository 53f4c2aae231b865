/* SPDX-License-Identifier: MIT */
/*
 * The name and password by which a server knows stackctl. They come from the environment
 * (CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, or of other servers STACKD_PUSH_...) or from a file
 * that nobody else can read, never from the command line, which everybody on the machine can see.
 */
#ifndef CLI_CREDENTIALS_H
#define CLI_CREDENTIALS_H

struct credentials {
	char *user, *password; /* NULL: not given */
	char *authority;       /* file with the authorities that sign servers; NULL: the system's */
};

/* Reads a file of lines "user = NAME", "password = SECRET" and "ca = FILE", of which each may be
 * missing; NULL: the environment's variables that begin with `prefix`. A cmd_status; a message has
 * been given if it is not CMD_DONE. */
#define CREDENTIALS_CLICKHOUSE "CLICKHOUSE"
#define CREDENTIALS_PUSH       "STACKD_PUSH"
int credentials_read(const char *path, const char *prefix, struct credentials *ret_credentials);
void credentials_free(struct credentials *credentials);

#endif
