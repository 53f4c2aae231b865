/* SPDX-License-Identifier: MIT */
/* What a profile looks like in a request to a server, by the server's kind. */
#ifndef PUSH_PUSH_BODY_H
#define PUSH_PUSH_BODY_H

#include "export/pprof_parts.h"
#include "push/push.h"

struct server_body {
	struct buf query; /* with a final NUL */
	struct buf bytes;
	size_t profile_bytes; /* of the profile itself, unpacked, to which the server's limit
				 applies */
	const char *content_type;
	bool is_packed; /* the body as a whole is of gzip, rather than the profile in it */
};

/* Makes the body with `n` of the entries, from number `from` on, in the name of an application.
 * 0, -ENOMEM, -EOVERFLOW, -EIO. It must be freed in any case. */
int server_body_make(struct server *server, const struct pprof_parts *parts, const char *app,
		     size_t from, size_t n, struct server_body *body);
void server_body_free(struct server_body *body);

#endif
