/* SPDX-License-Identifier: MIT */
/* Sends recordings to profile servers; see push_server.h. */
#include "cli/servers/push_server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/servers/sent.h"
#include "cli/servers/unsent.h"

#define STALE_NS    (600 * UINT64_C(1000000000)) /* one that has not grown for so long has ended */
#define HELD_ROUNDS 20u /* rounds of a service between two tries of what the server has refused */
#define FAILURES    20u /* a server that fails so often in a row is at fault itself */

/* A recording with a part that the server has refused: it is tried again in a later round. */
struct held {
	int64_t id;
	uint64_t round;
};

struct push_server {
	struct server *server;
	const struct push_server_options *options;
	struct sent *sent;
	const struct store_recording *recording; /* the recording that is being sent */
	struct server_push push;
	struct unsent waiting;
	const struct input *input; /* the input of this round */
	bool is_service;
	int64_t last_id; /* the newest recording's number */
	struct {
		int64_t id;
		uint64_t end_ns, since_ns;
	} still; /* recording `id` has had the end `end_ns` since `since_ns` of CLOCK_MONOTONIC */
	uint64_t recordings, there, growing, grown;
	uint64_t refused; /* number of recordings with refused profiles in this round ... */
	int refusal;	  /* ... and the exit status for the first one */
	uint64_t aside;	  /* requests that were set aside in this round */
	uint64_t deleted; /* recordings that were deleted before the server had them, this round */
	uint64_t lacking; /* recordings with parts that were set aside in an earlier round */
	VEC(struct held) held;
	uint64_t round;
	size_t all, settled_aside; /* entries of this recording; those of them that are set aside */
	unsigned failures;	   /* how often the server has failed since it accepted something */
	bool has_accepted;	   /* the server has accepted a request in this round */
	bool has_taken;		   /* the server has accepted a request at some time */
};

bool push_has_ended(const struct store_recording *recording)
{
	return recording->finished ||
	       store_range_end(recording) + STALE_NS < clock_ns(CLOCK_REALTIME);
}

int push_status_of(int err)
{
	switch (err) {
	case -EACCES:
		return CMD_NO_SUPPORT;
	case -ENOENT:
	case -EINVAL:
	case -ENOSYS:
		return CMD_USAGE;
	default:
		return CMD_FAILED;
	}
}

int push_server_open(const char *url, const struct login *login,
		     const struct push_server_options *options, struct push_server **ret_push)
{
	const struct server_options server_options = {
		.url = url, .login = login, .timeout_s = options->timeout_s};
	struct push_server *p = calloc(1, sizeof(*p));
	char *error = NULL;
	int err = p ? server_new(&server_options, &p->server, &error) : -ENOMEM;

	if (err < 0) {
		message("%s", error ? error : strerror(-err));
		free(error);
		free(p);
		return push_status_of(err);
	}
	p->options = options;
	*ret_push = p;
	return CMD_DONE;
}

void push_server_free(struct push_server *p)
{
	if (!p)
		return;
	buf_free(&p->push.said);
	unsent_free(&p->waiting);
	free(p->held.items);
	sent_free(p->sent);
	server_free(p->server);
	free(p);
}

const char *push_server_name(const struct push_server *p)
{
	return server_name(p->server);
}

const struct unsent *push_server_figures(const struct push_server *p, struct push_figures *f)
{
	f->recordings += p->recordings;
	f->requests += p->push.requests;
	f->bytes += p->push.bytes;
	f->retries = server_retries(p->server);
	f->refusals += p->refused;
	f->set_aside += p->aside;
	f->deleted += p->deleted;
	return &p->waiting;
}

const char *push_server_error(const struct push_server *p)
{
	return server_error(p->server);
}

/* --- one round -------------------------------------------------------------------------------- */

static int begin(void *arg, const struct store_recording *recordings, size_t n)
{
	struct push_server *p = arg;

	const int64_t deleted = unsent_look(&p->waiting, p->input, recordings, n);

	p->deleted += deleted > 0 ? (uint64_t)deleted : 0;
	unsent_report(deleted);
	p->last_id = n ? recordings[n - 1].id : 0;
	return CMD_DONE;
}

/* Returns whether a recording has ended. If the wall clock was set forward, a recording that is
 * still running looks as if it had stopped growing. So for the newest recording, a service also
 * checks CLOCK_MONOTONIC, which is never set. */
static bool has_ended(struct push_server *p, const struct store_recording *r)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!push_has_ended(r))
		return false;
	if (r->finished || !p->is_service || r->id != p->last_id)
		return true;
	if (p->still.id != r->id || p->still.end_ns != r->end_ns) {
		p->still.id = r->id;
		p->still.end_ns = r->end_ns;
		p->still.since_ns = now;
	}
	return p->still.since_ns + STALE_NS < now;
}

static bool is_held(const struct push_server *p, int64_t id)
{
	for (size_t i = p->held.count; i-- > 0;)
		if (p->held.items[i].id == id)
			return p->held.items[i].round > p->round;
	return false;
}

static bool wants(void *arg, const struct store_recording *recording)
{
	struct push_server *p = arg;
	size_t aside = 0;
	bool is_ended;

	if (is_held(p, recording->id))
		return false;
	switch (sent_state(p->sent, server_name(p->server), recording, &aside)) {
	case SENT_ALL:
		p->there++;
		p->lacking += aside > 0;
		p->has_taken = true;
		unsent_done(&p->waiting, recording->id);
		return false;
	case SENT_GROWN:
		p->grown++;
		unsent_done(&p->waiting, recording->id);
		return false;
	default:
		is_ended = has_ended(p, recording);
		p->growing += !is_ended;
		return is_ended;
	}
}

/* --- one recording ---------------------------------------------------------------------------- */

static struct sent_profile state_of(struct push_server *p, const struct push_profile *profile)
{
	return sent_profile(p->sent, server_name(p->server), p->recording, profile);
}

static size_t settled(void *arg, const struct push_profile *profile)
{
	struct push_server *p = arg;
	const struct sent_profile state = state_of(p, profile);

	p->all += profile->count;
	p->settled_aside += state.aside;
	return state.settled;
}

static int taken(void *arg, const struct push_profile *profile, size_t upto, bool is_sent)
{
	struct push_server *p = arg;

	if (is_sent) {
		p->has_accepted = p->has_taken = true;
		p->failures = 0;
	}
	return sent_note(p->sent, server_name(p->server), p->recording, profile, upto);
}

/* Says why the server has not taken a profile, once in a round. */
static void say_refusal(struct push_server *p, const struct push_profile *profile,
			enum server_refusal why)
{
	if (p->refusal != CMD_DONE)
		return;
	message("recording %" PRId64 ", %s: %s", p->recording->id, profile->name,
		server_error(p->server));
	p->refusal = why == SERVER_FAILED ? CMD_FAILED : CMD_USAGE;
}

/* Decides about entries that the server did not take. A refusal counts as one of SENT_TRIES. A
 * failure may be the server's own fault, so it counts only if the server accepts others in this
 * round, and a server that fails again and again ends the push. */
static int refused(void *arg, const struct push_profile *profile, size_t n, enum server_refusal why)
{
	struct push_server *p = arg;
	const char *server = server_name(p->server);
	int err;

	if (why == SERVER_REJECTED) {
		p->has_accepted = p->has_taken = true;
		err = sent_set_aside(p->sent, server, p->recording, profile, n);
		err = err < 0 ? err : 1;
	} else {
		say_refusal(p, profile, why);
		if (why == SERVER_FAILED && ++p->failures >= FAILURES)
			return -EREMOTEIO;
		if (why == SERVER_FAILED && !p->has_accepted)
			return sent_doubt(p->sent, server, p->recording, profile, n);
		err = sent_refuse(p->sent, server, p->recording, profile, n);
	}
	if (err > 0) {
		p->settled_aside += n;
		p->aside++;
	}
	return err;
}

/* Notes that a part of a recording is left for a later push. */
static int hold(struct push_server *p)
{
	if (VEC_RESERVE(&p->held, 1) < 0) {
		message("out of memory");
		return CMD_FAILED;
	}
	p->held.items[p->held.count++] =
		(struct held){p->recording->id, p->round + (p->is_service ? HELD_ROUNDS : 1)};
	p->refused++;
	return CMD_DONE;
}

static int send_one(void *arg, const struct input_open *open)
{
	struct push_server *p = arg;
	const char *said;
	int err;

	p->recording = &profile_tables(open->profile)->recording;
	p->all = p->settled_aside = 0;
	err = server_push(&p->push, open->profile);
	if (err == 0)
		err = sent_add(p->sent, server_name(p->server), p->recording, p->all,
			       p->settled_aside);
	if (err == 0) {
		p->recordings++;
		p->has_taken = true;
		unsent_done(&p->waiting, p->recording->id);
		return CMD_DONE;
	}
	if (err > 0)
		return hold(p);
	if (sent_error(p->sent)) {
		message("cannot note in %s what the server has accepted, so it would be sent "
			"again: %s",
			sent_path(p->sent), strerror(-err));
		return CMD_FAILED;
	}
	said = server_error(p->server);
	if (err == -EREMOTEIO)
		message("%s: the server failed %u times in a row: it is not asked again now",
			server_name(p->server), FAILURES);
	else
		message("%s", *said ? said : strerror(-err));
	return push_status_of(err);
}

static int open_sent(struct push_server *p, const struct input *input)
{
	char *store = input_path(input), *path = NULL;
	int status = CMD_FAILED;

	if (p->options->sent)
		path = strdup(p->options->sent);
	else if (store && asprintf(&path, "%s.sent", store) < 0)
		path = NULL;
	if (path)
		status = sent_open(path, &p->sent);
	else
		message("out of memory");
	free(store);
	free(path);
	return status;
}

static void report(const struct push_server *p, uint64_t retries)
{
	const struct server_push *push = &p->push;

	message("%s: recordings sent: %" PRIu64 " (%" PRIu64 " samples, %" PRIu64
		" bytes in %" PRIu64 " requests, %" PRIu64 " made again); sent before: %" PRIu64
		"; under way, and left for later: %" PRIu64,
		server_name(p->server), p->recordings, push->samples, push->bytes, push->requests,
		server_retries(p->server) - retries, p->there, p->growing);
	if (p->grown)
		message("%" PRIu64 " recording%s grown since %s sent: the new part is "
			"not sent, since the server would count the rest twice",
			p->grown, text_plural(p->grown, " has", "s have"),
			text_plural(p->grown, "it was", "they were"));
	if (p->refused)
		message("recordings refused, in part or as a whole: %" PRIu64
			"; the next push tries them again",
			p->refused);
	if (p->aside)
		message("requests set aside for good: %" PRIu64 "; noted in %s", p->aside,
			sent_path(p->sent));
	if (p->lacking)
		message("recordings that the server has without what was set aside: %" PRIu64
			"; see %s",
			p->lacking, sent_path(p->sent));
	if (push->said.len && !push->rejected)
		message("%s: the server says: %.*s", server_name(p->server), (int)push->said.len,
			(const char *)push->said.data);
	if (push->rejected)
		message("%s: the server has rejected %" PRIu64 " profile%s of these for good: %.*s",
			server_name(p->server), push->rejected,
			text_plural(push->rejected, "", "s"), (int)push->said.len,
			push->said.data ? (const char *)push->said.data : "");
	if (push->too_large)
		message("%" PRIu64 " sample%s left out: larger than servers accept",
			push->too_large, text_plural(push->too_large, " was", "s were"));
}

/* Ends a round. Returns its exit status. */
static int end_round(struct push_server *p, int status, uint64_t retries)
{
	const int aside = sent_end_round(p->sent, p->has_accepted);

	if (aside < 0 && status == CMD_DONE) {
		message("cannot write %s: %s", sent_path(p->sent), strerror(-aside));
		status = CMD_FAILED;
	}
	p->aside += aside > 0 ? (uint64_t)aside : 0;
	if (p->push.requests || p->recordings || p->refused ||
	    (status == CMD_DONE && !p->is_service))
		report(p, retries);
	if (status != CMD_DONE || p->refusal == CMD_DONE || (p->is_service && p->has_taken))
		return status;
	return p->refusal;
}

int push_server_once(struct push_server *p, const struct input *input, bool is_service)
{
	const struct input_each each = {.begin = begin, .wants = wants, .each = send_one, .arg = p};
	const uint64_t retries = server_retries(p->server);
	int status = p->sent ? CMD_DONE : open_sent(p, input);

	if (status != CMD_DONE)
		return status;
	buf_free(&p->push.said);
	p->push = (struct server_push){.server = p->server,
				       .app = p->options->app,
				       .settled = settled,
				       .taken = taken,
				       .refused = refused,
				       .arg = p};
	p->input = input;
	p->is_service = is_service;
	p->recordings = p->there = p->growing = p->grown = p->refused = p->aside = p->lacking = 0;
	p->deleted = 0;
	p->refusal = CMD_DONE;
	p->failures = 0;
	p->has_accepted = false;
	p->round++;
	status = input_each(input, &each);
	return end_round(p, status, retries);
}
