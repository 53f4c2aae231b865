/* SPDX-License-Identifier: MIT */
/* Makes the body of a request with a profile, in the form that the kind of server expects. */
#ifndef PUSH_PUSH_BODY_H
#define PUSH_PUSH_BODY_H

#include "export/pprof_parts.h"
#include "push/push_profile.h"
#include "push/server.h"

struct server_body {
	struct buf query;     /* with a final NUL */
	struct buf bytes;     /* empty: there is nothing to send */
	size_t profile_bytes; /* size of the profile before compression, which the server's limit is
			       * about */
	const char *content_type;
	/* the whole body is compressed by gzip, instead of only the profile in it */
	bool is_packed;
};

/* Makes the body with the entries of a profile's slice (push_profiles_slice()), under the
 * application's name `app`. Returns 0, -ENOMEM, -EOVERFLOW or -EIO. The caller frees the body in
 * any case. */
int server_body_make(struct server *server, const struct pprof_parts *slice,
		     const struct push_profile *profile, const char *app, struct server_body *body);
void server_body_free(struct server_body *body);

#endif
