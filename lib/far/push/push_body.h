/* SPDX-License-Identifier: MIT */
/* Makes the body of a request with a profile, by the kind of server. */
#ifndef PUSH_PUSH_BODY_H
#define PUSH_PUSH_BODY_H

#include "export/pprof_parts.h"
#include "push/server.h"

struct server_body {
	struct buf query; /* with a final NUL */
	struct buf bytes;
	size_t profile_bytes; /* size of the uncompressed profile, to which the server's limit
				 applies */
	const char *content_type;
	bool is_packed; /* the whole body is compressed by gzip, rather than the profile in it */
};

/* Makes the body with the entries from number `from` to `from + n - 1`, with an application's name.
 * Returns 0, -ENOMEM, -EOVERFLOW or -EIO. The caller frees the body in any case. */
int server_body_make(struct server *server, const struct pprof_parts *parts, const char *app,
		     size_t from, size_t n, struct server_body *body);
void server_body_free(struct server_body *body);

#endif
