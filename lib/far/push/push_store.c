/* SPDX-License-Identifier: MIT */
/* Sends recordings to profile servers; see push_store.h. */
#include "push/push_store.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "export/export_otlp.h"
#include "export/pprof_parts.h"
#include "push/push_body.h"

bool server_push_is_app(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("_-./", *at))
			return false;
	return *text;
}

/* Counts the profiles that the server's answer reports as rejected; they are not sent again,
 * because it would reject them again. An answer that is not OTLP's is ignored. */
static void read_answer(struct server_push *push, const struct buf *answer)
{
	uint64_t rejected = 0;
	struct buf said = {0};

	if (server_kind(push->server) != SERVER_OTLP ||
	    export_otlp_rejected(answer, &rejected, &said) < 0) {
		buf_free(&said);
		return;
	}
	push->rejected += rejected;
	if (said.len) {
		buf_free(&push->said);
		push->said = said;
	}
}

/* Sends the `n` entries from `from` on. Returns 0; -EMSGSIZE: they are too large for the server;
 * -E2BIG: they exceed the usual limit of servers, and were not sent; or another error. */
static int send_some(struct server_push *push, const struct pprof_parts *parts, size_t from,
		     size_t n)
{
	struct server_body body;
	struct buf answer = {0};
	int err = server_body_make(push->server, parts, push->app, from, n, &body);

	if (err == 0 && body.profile_bytes > SERVER_PUSH_BYTES)
		err = -E2BIG;
	if (err == 0)
		err = server_post(push->server, (const char *)body.query.data, body.content_type,
				  body.is_packed, &body.bytes, &answer);
	if (err == 0) {
		push->requests++;
		push->bytes += body.bytes.len;
		/* only entries of a part with records count samples */
		for (size_t i = from; i < from + n; i++)
			if (pprof_parts_of(parts, i)->has_records)
				push->samples += parts->entries[i].samples;
	}
	if (err == 0)
		read_answer(push, &answer);
	buf_free(&answer);
	server_body_free(&body);
	return err;
}

/* Sends the entries, as many in each request as fit. If a request is too large, it is sent again
 * with half as many entries, and so are all later ones. Returns 0 or an error. */
static int send_all(struct server_push *push, const struct pprof_parts *parts)
{
	const size_t all = parts->n_entries;
	size_t most = SERVER_PUSH_SAMPLES, from = push->from < all ? push->from : all;
	int err = all == 0 ? push->done(push->arg, 0, 0) : 0;

	while (err == 0 && from < all) {
		const size_t n = all - from < most ? all - from : most;

		err = send_some(push, parts, from, n);
		if ((err == -EMSGSIZE || err == -E2BIG) && n > 1) {
			most = n / 2;
			err = 0;
			continue;
		}
		if (err == -E2BIG) {
			push->too_large += parts->entries[from].samples;
			err = 0;
		}
		if (err == 0) {
			from += n;
			err = push->done(push->arg, from, all);
		}
	}
	return err;
}

int server_push(struct server_push *push, struct profile *profile)
{
	struct pprof_parts parts;
	int err = pprof_parts_new(profile, &parts);

	if (err == 0)
		err = send_all(push, &parts);
	pprof_parts_free(&parts);
	return err;
}
