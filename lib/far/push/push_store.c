/* SPDX-License-Identifier: MIT */
/* Sends recordings to profile servers; see push_store.h. */
#include "push/push_store.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/export_otlp.h"
#include "push/push_body.h"
#include "push/push_profile.h"

bool server_push_is_app(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("_-./", *at))
			return false;
	return *text;
}

/* Returns whether the server's answer reports the request's profile as rejected. An answer that is
 * not OTLP's is ignored. */
static bool is_rejected(struct server_push *push, const struct buf *answer)
{
	uint64_t rejected = 0;
	char *said = NULL;

	if (server_kind(push->server) != SERVER_OTLP ||
	    export_otlp_rejected(answer, &rejected, &said) < 0)
		return false;
	push->rejected += rejected > 0; /* a request has one profile */
	if (*said) {
		buf_free(&push->said);
		server_put_said(push->server, said, &push->said);
	}
	free(said);
	return rejected;
}

/* Counts a request, and the samples in it, if the server has taken them. */
static void count(struct server_push *push, const struct push_profile *profile,
		  const struct pprof_parts *slice, const struct server_body *body, bool is_taken)
{
	push->requests++;
	push->bytes += body->bytes.len;
	if (!is_taken)
		return;
	/* Only the entries of the profile of samples are samples; OTLP has two of these. */
	for (size_t i = 0; slice->parts[0].has_records && !profile->value && i < slice->n_entries;
	     i++)
		push->samples += slice->entries[i].samples;
}

/* Sends `n` entries of a profile, from `from` on. Returns 0; -EMSGSIZE: they are too large for the
 * server; -E2BIG: they exceed the usual limit of servers, and were not sent; -ECANCELED: the server
 * accepted the request, and rejected the profile in it; or another error. */
static int send_some(struct server_push *push, const struct push_profiles *profiles,
		     const struct push_profile *profile, size_t from, size_t n)
{
	struct pprof_parts slice;
	struct server_body body;
	struct buf answer = {0};
	int err;

	push_profiles_slice(profiles, profile, from, n, &slice);
	err = server_body_make(push->server, &slice, profile, push->app, &body);
	if (err == 0 && body.bytes.len) {
		if (body.profile_bytes > SERVER_PUSH_BYTES)
			err = -E2BIG;
		if (err == 0)
			err = server_post(push->server, (const char *)body.query.data,
					  body.content_type, body.is_packed, &body.bytes, &answer);
		if (err == 0 && is_rejected(push, &answer))
			err = -ECANCELED;
		if (err == 0 || err == -ECANCELED)
			count(push, profile, &slice, &body, err == 0);
	}
	buf_free(&answer);
	server_body_free(&body);
	return err;
}

/* Asks what becomes of entries that the server did not take. Returns 1: they are set aside for
 * good; 0: they are left for later; or an error. */
static int ask(struct server_push *push, const struct push_profile *profile, size_t n, int err)
{
	switch (err) {
	case -ECANCELED:
		return push->refused(push->arg, profile, n, SERVER_REJECTED);
	case -EINVAL:
	case -EMSGSIZE:
		return push->refused(push->arg, profile, n, SERVER_REFUSED);
	case -EREMOTEIO:
		return push->refused(push->arg, profile, n, SERVER_FAILED);
	default:
		return err;
	}
}

/* Sends the entries of a profile, as many in each request as fit. If a request is too large, it is
 * sent again with half as many entries, and so are all later ones. Returns 0: all is settled; 1: a
 * part is left for later; or an error. */
static int send_profile(struct server_push *push, const struct push_profiles *profiles,
			const struct push_profile *profile)
{
	size_t most = SERVER_PUSH_SAMPLES, from = push->settled(push->arg, profile);

	while (from < profile->count) {
		const size_t n = push_profiles_run(profiles, profile, from, most);
		const uint64_t requests = push->requests;
		int err = send_some(push, profiles, profile, from, n), settled;

		if ((err == -EMSGSIZE || err == -E2BIG) && n > 1) {
			most = n / 2;
			continue;
		}
		if (err == -E2BIG) {
			push->too_large += profiles->parts.entries[profile->before + from].samples;
			err = 0;
		}
		if (err == 0) {
			err = push->taken(push->arg, profile, from + n, push->requests > requests);
			if (err < 0)
				return err;
		} else {
			settled = ask(push, profile, n, err);
			if (settled < 0)
				return settled;
			if (!settled)
				return 1;
		}
		from += n;
	}
	return 0;
}

int server_push(struct server_push *push, struct profile *profile)
{
	struct push_profiles profiles;
	bool is_left = false;
	int err = push_profiles_new(profile, server_kind(push->server), &profiles);

	for (size_t i = 0; err >= 0 && i < profiles.n; i++) {
		err = send_profile(push, &profiles, &profiles.items[i]);
		is_left |= err > 0;
	}
	push_profiles_free(&profiles);
	return err < 0 ? err : is_left;
}
