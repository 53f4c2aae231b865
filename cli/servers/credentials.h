/* SPDX-License-Identifier: MIT */
/*
 * Reads how stackctl logs in at a server. Name and password come from the environment
 * (CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, for other servers STACKD_PUSH_...), or everything from
 * a file that nobody else can read; never from the command line, which everybody on the machine can
 * see.
 *
 *   user = NAME                 password = SECRET
 *   token = SECRET              or token_file = FILE, which is read for each request
 *   certificate = FILE          key = FILE: what the client shows the server (PEM)
 *   ca = FILE                   who signs the server
 *   org = NAME                  the header X-Scope-OrgID: the tenant, at Pyroscope and others
 *   header = NAME: VALUE        any other header; several lines are several headers
 */
#ifndef CLI_CREDENTIALS_H
#define CLI_CREDENTIALS_H

#include "http/login.h"

#define CREDENTIALS_CLICKHOUSE "CLICKHOUSE"
#define CREDENTIALS_PUSH       "STACKD_PUSH"

/* Reads a file with lines as above, each optional; or if `path` is NULL, the environment variables
 * that begin with `prefix`. Returns a cmd_status; a message, which names no secret, has been
 * printed if it is not CMD_DONE. The caller frees the result by login_fini(). */
int credentials_read(const char *path, const char *prefix, struct login *ret_login);

#endif
