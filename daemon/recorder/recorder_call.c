/* SPDX-License-Identifier: MIT */
/*
 * Calls of MPI that libstackmpi counts (bpf/stackd_calls.h). The kernel half sends a call of each
 * path, with the index under which the library knows the path from then on. About once a second the
 * sums of all paths are read, and what has been added since the last time becomes records, as one
 * for all these calls. The sums of a thread in that time lie one after the other, up to the moment
 * of reading: together they are no longer than the time that has passed.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "daemon/capture/call_tables.h"
#include "daemon/capture/event.h"
#include "daemon/recorder/recorder_internal.h"

/* Amounts of calls, as in struct stackd_call_path. */
struct amounts {
	uint64_t visits, wall_ns, cpu_ns, sent, received, written, read, at_most, unknown;
};

struct known_path {
	struct store_sample row; /* of the path */
	uint32_t generation;	 /* 0: no row is known */
	struct amounts taken;	 /* the sums that were read last */
};

struct recorder_calls {
	struct known_path *paths[STACKD_CALL_TABLES]; /* STACKD_CALL_PATHS of each table; NULL */
};

int recorder_calls_new(struct recorder_calls **ret_calls)
{
	*ret_calls = calloc(1, sizeof(**ret_calls));
	return *ret_calls ? 0 : -ENOMEM;
}

static void forget_table(struct recorder_calls *calls, uint32_t number)
{
	free(calls->paths[number]);
	calls->paths[number] = NULL;
}

void recorder_calls_free(struct recorder_calls *calls)
{
	for (uint32_t i = 0; calls && i < STACKD_CALL_TABLES; i++)
		forget_table(calls, i);
	free(calls);
}

/* --- records ---------------------------------------------------------------------------------- */

static int keep_some(struct recorder *r, enum metric_series series, uint64_t value,
		     const struct store_sample *row)
{
	return value ? recorder_keep(r, series, value, *row) : 0;
}

static int keep_amounts(struct recorder *r, const struct amounts *a, const struct store_sample *row)
{
	const struct {
		enum metric_series series;
		uint64_t value;
	} all[] = {{SERIES_MPI_SENT, a->sent},
		   {SERIES_MPI_RECEIVED, a->received},
		   {SERIES_MPI_WRITTEN, a->written},
		   {SERIES_MPI_READ, a->read},
		   {SERIES_MPI_AT_MOST, a->at_most}};
	int err = keep_some(r, SERIES_CALL_VISITS, a->visits, row);

	if (!err && a->visits)
		err = recorder_keep(r, SERIES_CALL_TIME, a->wall_ns, *row);
	if (!err && a->visits)
		err = recorder_keep(r, SERIES_CALL_CPU, a->cpu_ns, *row);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !err; i++)
		err = keep_some(r, all[i].series, all[i].value, row);
	for (uint64_t i = 0; i < a->unknown && i < 1000000 && !err; i++)
		err = recorder_keep(r, SERIES_MPI_UNKNOWN, 1, *row);
	return err;
}

/* --- a call with its path --------------------------------------------------------------------- */

static struct amounts amounts_of(const struct stackd_call *call)
{
	struct amounts a = {
		.visits = call->visits, .wall_ns = call->wall_ns, .cpu_ns = call->cpu_ns};
	const uint64_t sent = call->sent, received = call->received;

	a.unknown = sent == STACKD_MPI_NOT_KNOWN || received == STACKD_MPI_NOT_KNOWN;
	if (sent != STACKD_MPI_NOT_KNOWN)
		*(sent & STACKD_MPI_OF_FILE ? &a.written : &a.sent) = STACKD_MPI_BYTES_OF(sent);
	if (received == STACKD_MPI_NOT_KNOWN)
		return a;
	*(received & STACKD_MPI_OF_FILE ? &a.read : &a.received) = STACKD_MPI_BYTES_OF(received);
	if (received & STACKD_MPI_AT_MOST)
		a.at_most = STACKD_MPI_BYTES_OF(received);
	return a;
}

int recorder_call(struct recorder *r, const struct event *event, struct store_sample *row)
{
	const struct stackd_call *call = &event->measured.call;
	const struct amounts amounts = amounts_of(call);
	struct known_path **paths;

	row->time_ns =
		event->time_ns - ((event->time_ns - call->ended_ns) & STACKD_PASS_MOST_LATE_NS);
	row->cpu = STORE_CPU_OF_SUM;
	if (call->table < STACKD_CALL_TABLES && call->path < STACKD_CALL_PATHS) {
		paths = &r->calls->paths[call->table];
		if (!*paths)
			*paths = calloc(STACKD_CALL_PATHS, sizeof(**paths));
		if (!*paths)
			return -ENOMEM;
		(*paths)[call->path].row = *row;
		(*paths)[call->path].generation = call->generation;
	}
	return keep_amounts(r, &amounts, row);
}

/* --- sums ------------------------------------------------------------------------------------- */

struct reading {
	struct recorder *recorder;
	uint64_t now_ns;
	bool is_last;
};

/* Reads a path's sums. Receives that are never completed count as the size of their buffers. */
static struct amounts read_path(const struct stackd_call_path *path, bool is_last)
{
	const volatile struct stackd_call_path *p = path;
	const uint64_t awaited = is_last ? p->awaited : 0;

	return (struct amounts){.visits = p->visits,
				.wall_ns = p->wall_ns,
				.cpu_ns = p->cpu_ns,
				.sent = p->sent,
				.received = p->received + awaited,
				.written = p->written,
				.read = p->read,
				.at_most = p->at_most + awaited,
				.unknown = p->unknown};
}

/* Returns the difference of two sums; 0 if the program has made them smaller. */
static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static struct amounts since(const struct amounts *now, const struct amounts *before)
{
	return (struct amounts){.visits = grown(now->visits, before->visits),
				.wall_ns = grown(now->wall_ns, before->wall_ns),
				.cpu_ns = grown(now->cpu_ns, before->cpu_ns),
				.sent = grown(now->sent, before->sent),
				.received = grown(now->received, before->received),
				.written = grown(now->written, before->written),
				.read = grown(now->read, before->read),
				.at_most = grown(now->at_most, before->at_most),
				.unknown = grown(now->unknown, before->unknown)};
}

static int read_table(void *arg, uint32_t number, const struct stackd_calls *calls, bool is_over)
{
	const struct reading *reading = arg;
	struct recorder *r = reading->recorder;
	struct known_path *paths = r->calls->paths[number];
	uint64_t at_ns = reading->now_ns;
	int err = 0;

	for (uint32_t i = 0; i < STACKD_CALL_PATHS && paths && !err; i++) {
		struct known_path *known = &paths[i];
		struct amounts now, more;

		if (!known->generation)
			continue;
		now = read_path(&calls->paths[i], is_over || reading->is_last);
		more = since(&now, &known->taken);
		known->taken = now;
		known->row.time_ns = at_ns;
		at_ns -= more.wall_ns < at_ns ? more.wall_ns : 0;
		r->taken.summed_calls += more.visits;
		err = keep_amounts(r, &more, &known->row);
	}
	if (is_over)
		forget_table(r->calls, number);
	return err;
}

int recorder_read_calls(struct recorder *r, uint64_t now_ns, bool is_last)
{
	struct reading reading = {.recorder = r, .now_ns = now_ns, .is_last = is_last};

	return r->with.calls ? call_tables_visit(r->with.calls, read_table, &reading) : 0;
}

void recorder_calls_begin_anew(struct recorder *r)
{
	for (uint32_t i = 0; i < STACKD_CALL_TABLES; i++) {
		for (uint32_t j = 0; r->calls->paths[i] && j < STACKD_CALL_PATHS; j++)
			r->calls->paths[i][j].generation = 0;
	}
	if (r->with.calls)
		call_tables_renew(r->with.calls);
}
