/* SPDX-License-Identifier: MIT */
/*
 * Calls of MPI that libstackmpi counts (bpf/stackd_calls.h). The kernel half sends a call of each
 * path, with the index under which the library may know the path from then on. Until it does, calls
 * of other paths may come with the same index, and the sums may be there before the record of
 * theirs is: stackd_call_path.walked_ns says whose they are, and they wait for it. About once a
 * second the sums of all paths are read, and what has been added since the last time becomes
 * records, as one for all these calls. The sums of a thread in that time lie one after the other,
 * up to the moment of reading: together they are no longer than the time that has passed.
 *
 * The program can write to its table. So all that is taken from one is bounded by what a thread can
 * have done since it got the table, and sums that were cut are counted.
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
	struct store_sample row; /* of the last call that came with this index */
	uint64_t walked_ns;	 /* the time of its record; 0: there was none */
	struct amounts taken;	 /* the sums that were read last */
};

/* A region whose begin was walked. */
struct open_region {
	struct store_sample row;
	uint64_t number; /* of the pass; 0: none */
};

struct known_table {
	struct amounts taken; /* of all paths, in all */
	uint32_t too_deep;    /* stackd_calls.n_too_deep when it was read last */
	struct open_region open[STACKD_CALL_OPEN];
	struct known_path paths[STACKD_CALL_PATHS];
};

struct recorder_calls {
	struct known_table *tables[STACKD_CALL_TABLES]; /* NULL: no path is known */
};

int recorder_calls_new(struct recorder_calls **ret_calls)
{
	*ret_calls = calloc(1, sizeof(**ret_calls));
	return *ret_calls ? 0 : -ENOMEM;
}

static void forget_table(struct recorder_calls *calls, uint32_t number)
{
	free(calls->tables[number]);
	calls->tables[number] = NULL;
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

	/* Of a region that is open, there is time without a visit. */
	if (!err && (a->visits || a->wall_ns))
		err = recorder_keep(r, SERIES_CALL_TIME, a->wall_ns, *row);
	if (!err && (a->visits || a->wall_ns))
		err = recorder_keep(r, SERIES_CALL_CPU, a->cpu_ns, *row);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !err; i++)
		err = keep_some(r, all[i].series, all[i].value, row);
	return err ? err : keep_some(r, SERIES_MPI_UNKNOWN, a->unknown, row);
}

/* --- bounds ----------------------------------------------------------------------------------- */

#define LEAST_VISIT_NS 10u		   /* a call takes longer */
#define MOST_BYTES_NS  (16u << 10)	   /* a thread sends or receives less in a nanosecond, */
#define FIRST_BYTES    (UINT64_C(1) << 40) /* beside so much at once */
#define SLACK_NS       10000000u	   /* the clocks of CPU time and of time differ a little */

/* Takes `*value` from what is left of `most`. Returns whether it was more. */
static bool take(uint64_t *value, uint64_t *taken, uint64_t most)
{
	const uint64_t left = most > *taken ? most - *taken : 0;
	const bool is_cut = *value > left;

	if (is_cut)
		*value = left;
	*taken += *value;
	return is_cut;
}

/* Cuts amounts to what a thread can have done from since_ns, when it got its table, to now_ns;
 * `taken`: all that was taken from the table before. */
static void bound(struct recorder *r, struct amounts *a, struct amounts *taken, uint64_t since_ns,
		  uint64_t now_ns)
{
	const uint64_t life_ns = now_ns > since_ns ? now_ns - since_ns : 0;
	const uint64_t most_ns = life_ns + life_ns / 64 + SLACK_NS;
	const uint64_t visits = most_ns / LEAST_VISIT_NS;
	const uint64_t bytes = most_ns < UINT64_MAX / MOST_BYTES_NS / 2
				       ? most_ns * MOST_BYTES_NS + FIRST_BYTES
				       : UINT64_MAX / 2;
	bool is_cut = take(&a->visits, &taken->visits, visits);

	is_cut |= take(&a->wall_ns, &taken->wall_ns, most_ns);
	is_cut |= take(&a->cpu_ns, &taken->cpu_ns, most_ns);
	is_cut |= take(&a->sent, &taken->sent, bytes);
	is_cut |= take(&a->received, &taken->received, bytes);
	is_cut |= take(&a->written, &taken->written, bytes);
	is_cut |= take(&a->read, &taken->read, bytes);
	is_cut |= take(&a->at_most, &taken->at_most, bytes);
	is_cut |= take(&a->unknown, &taken->unknown, visits);
	r->taken.calls_cut += is_cut;
}

/* --- a call with its path --------------------------------------------------------------------- */

static struct amounts amounts_of(const struct stackd_call *call)
{
	struct amounts a = {
		.visits = call->visits, .wall_ns = call->wall_ns, .cpu_ns = call->cpu_ns};
	const uint64_t sent = call->sent, received = call->received;

	if (STACKD_CALL_DEPTH_OF(call->path))
		return a; /* a region has no bytes */
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

/* Returns the recorder's entry of a table, which it makes if there is none; NULL: no memory. */
static struct known_table *table_of(struct recorder *r, uint32_t number)
{
	struct known_table **table = &r->calls->tables[number];

	if (!*table)
		*table = calloc(1, sizeof(**table));
	return *table;
}

/* Keeps the path of a region that begins, and gives it to the same pass when that ends. */
static void place_region(struct known_table *table, const struct stackd_call *call,
			 struct store_sample *row)
{
	const uint32_t depth = STACKD_CALL_DEPTH_OF(call->path);
	struct open_region *open = &table->open[depth - 1];
	const uint64_t time_ns = row->time_ns;

	if (depth > STACKD_CALL_OPEN)
		return;
	if (!call->visits && !call->wall_ns) {
		*open = (struct open_region){.row = *row, .number = call->sent};
	} else if (open->number == call->sent && call->sent) {
		*row = open->row;
		row->time_ns = time_ns;
	}
}

int recorder_call(struct recorder *r, const struct event *event, struct store_sample *row)
{
	const struct stackd_call *call = &event->measured.call;
	const uint32_t index = STACKD_CALL_INDEX_OF(call->path);
	struct amounts amounts = amounts_of(call);
	struct known_table *table;

	row->time_ns =
		event->time_ns - ((event->time_ns - call->ended_ns) & STACKD_PASS_MOST_LATE_NS);
	row->cpu = STORE_CPU_OF_SUM;
	if (call->table >= STACKD_CALL_TABLES)
		return -EBADMSG;
	table = table_of(r, call->table);
	if (!table)
		return -ENOMEM;
	if (index < STACKD_CALL_PATHS) {
		table->paths[index].row = *row;
		table->paths[index].walked_ns = event->time_ns;
	}
	if (STACKD_CALL_DEPTH_OF(call->path)) {
		r->taken.named_walked++;
		place_region(table, call, row);
	}
	/* Sums that were read meanwhile are in what was taken, so the limit is that of now. */
	bound(r, &amounts, &table->taken, call_tables_since(r->with.calls, call->table),
	      clock_ns(CLOCK_MONOTONIC));
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

/* Returns the row of a path by its index + 1; NULL: it is not known, or not yet. What is added up
 * of the path is to be read before. */
static struct store_sample *row_of(struct known_table *table, const struct call_table_read *read,
				   uint32_t path)
{
	struct known_path *known =
		table && path && path <= STACKD_CALL_PATHS ? &table->paths[path - 1] : NULL;

	if (!known || !known->walked_ns)
		return NULL;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return known->walked_ns >= *(const volatile __u64 *)&read->calls->paths[path - 1].walked_ns
		       ? &known->row
		       : NULL;
}

/* Stores a call, or region, in which a thread was when it, or the recording, ended, as a pass that
 * was left. `row`: that of its path; NULL: it is not known. `left`: its time that is in no sum. */
static int keep_left(struct recorder *r, struct known_table *table,
		     const struct call_table_read *read, uint64_t end_ns,
		     const struct store_sample *row, struct amounts left)
{
	struct store_sample last;
	int err;

	if (!row) {
		r->taken.calls_unplaced++;
		return 0;
	}
	left.visits = 1;
	bound(r, &left, &table->taken, read->since_ns, end_ns);
	if (!left.visits)
		return 0;
	last = *row;
	last.time_ns = end_ns;
	last.cpu = 0;
	last.end_reason = STACKD_END_LEFT;
	r->taken.calls_open++;
	err = recorder_keep(r, SERIES_REGION_TIME, left.wall_ns, last);
	return err ? err : recorder_keep(r, SERIES_REGION_CPU, left.cpu_ns, last);
}

/* Stores the regions that are open at the end, innermost first, which has `time` since it went on.
 */
static int keep_regions(struct recorder *r, struct known_table *table,
			const struct call_table_read *read, uint64_t end_ns, struct amounts time)
{
	const volatile struct stackd_calls *c = read->calls;
	const uint32_t depth = c->n_open <= STACKD_CALL_OPEN ? c->n_open : STACKD_CALL_OPEN;
	int err = 0;

	for (uint32_t i = depth; i && !err; i--) {
		const struct open_region *open = table ? &table->open[i - 1] : NULL;
		const struct store_sample *row = row_of(table, read, c->open[i - 1].path);

		if (!row && open && open->number && open->number == c->open[i - 1].number)
			row = &open->row;
		time.wall_ns += c->open[i - 1].wall_ns;
		time.cpu_ns += c->open[i - 1].cpu_ns;
		err = keep_left(r, table, read, end_ns, row, time);
		time = (struct amounts){0};
	}
	return err;
}

/* Stores what a thread was in when it, or the recording, ended: a call of MPI, and named regions
 * around it. The innermost one has the time since it began, or went on. CPU time is known up to
 * when the thread has got or given up its CPU last. */
static int keep_open(struct recorder *r, struct known_table *table,
		     const struct call_table_read *read, uint64_t end_ns)
{
	const volatile struct stackd_calls *c = read->calls;
	const uint64_t begin_ns = c->inside_ns, began_cpu = c->inside_cpu, cpu = c->base_cpu;
	struct amounts time = {0};
	int err = 0;

	if (begin_ns >= read->since_ns && begin_ns < end_ns)
		time.wall_ns = end_ns - begin_ns;
	time.cpu_ns = cpu > began_cpu ? cpu - began_cpu : 0;
	if (time.cpu_ns > time.wall_ns)
		time.cpu_ns = time.wall_ns;
	if (c->inside) {
		err = keep_left(r, table, read, end_ns, row_of(table, read, c->inside_path), time);
		time = (struct amounts){0};
	}
	return err ? err : keep_regions(r, table, read, end_ns, time);
}

/* Stores what has been added to a path's sums. *at_ns: the end of these calls; becomes their
 * begin. */
static int read_sums(const struct reading *reading, struct known_table *table, uint32_t index,
		     const struct call_table_read *read, uint64_t *at_ns)
{
	const bool is_last = read->is_over || reading->is_last;
	struct recorder *r = reading->recorder;
	struct known_path *known = &table->paths[index];
	struct amounts now = read_path(&read->calls->paths[index], is_last);
	struct amounts more = since(&now, &known->taken);
	struct store_sample *row = row_of(table, read, index + 1);

	/* The sums of a path whose row is not known wait for the record of its walk. */
	if (!row) {
		if (is_last && more.visits) {
			bound(r, &more, &table->taken, read->since_ns, clock_ns(CLOCK_MONOTONIC));
			r->taken.calls_unplaced += more.visits;
		}
		return 0;
	}
	known->taken = now;
	row->time_ns = *at_ns;
	bound(r, &more, &table->taken, read->since_ns, clock_ns(CLOCK_MONOTONIC));
	*at_ns -= more.wall_ns < *at_ns ? more.wall_ns : 0;
	r->taken.summed_calls += more.visits;
	return keep_amounts(r, &more, row);
}

/* When the thread has ended, its last switch is its end (call.bpf.h). */
static uint64_t end_of(const struct reading *reading, const struct call_table_read *read)
{
	const uint64_t last_ns = *(const volatile __u64 *)&read->calls->base_ns;

	if (!read->ended_ns)
		return reading->now_ns;
	return last_ns > read->since_ns && last_ns < read->ended_ns ? last_ns : read->ended_ns;
}

/* Adds what a table's thread has not counted. */
static void read_too_deep(struct recorder *r, struct known_table *table,
			  const struct stackd_calls *calls)
{
	const uint32_t now = *(const volatile __u32 *)&calls->n_too_deep;

	r->taken.named_too_deep += grown(now, table->too_deep);
	table->too_deep = now;
}

static int read_table(void *arg, const struct call_table_read *read)
{
	const struct reading *reading = arg;
	struct recorder *r = reading->recorder;
	struct known_table *table = r->calls->tables[read->number];
	uint64_t at_ns = reading->now_ns;
	int err = 0;

	if (table)
		read_too_deep(r, table, read->calls);
	for (uint32_t i = 0; i < STACKD_CALL_PATHS && table && !err; i++)
		err = read_sums(reading, table, i, read, &at_ns);
	if (!err && (read->is_over || reading->is_last))
		err = keep_open(r, table, read, end_of(reading, read));
	if (read->is_over)
		forget_table(r->calls, read->number);
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
		for (uint32_t j = 0; r->calls->tables[i] && j < STACKD_CALL_PATHS; j++)
			r->calls->tables[i]->paths[j].walked_ns = 0;
		for (uint32_t j = 0; r->calls->tables[i] && j < STACKD_CALL_OPEN; j++)
			r->calls->tables[i]->open[j].number = 0;
	}
	if (r->with.calls)
		call_tables_renew(r->with.calls);
}
