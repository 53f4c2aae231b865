/* SPDX-License-Identifier: MIT */
/* Keeps the samples of a recording; see sample_log.h. */
#include "model/sample_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/big.h"
#include "base/int_map.h"
#include "base/vec.h"

struct sample_log {
	struct store_reader *reader;
	VEC(uint64_t) times;
	VEC(uint32_t) kind_of;
	VEC(uint64_t) periods; /* empty as long as all periods are equal */
	uint64_t period;       /* the first sample's */
	VEC(struct sample_kind) kinds;
	struct names *names; /* of `reconstruct`, or NULL */
	struct reconstruct *reconstruct;
};

/* Exists while a log is filled. */
struct log_filling {
	struct sample_log *log;
	size_t max_bytes;
	const atomic_bool *stop;
	/* By node: the number of its first kind + 1. Most nodes have one kind only. */
	uint32_t *first;
	struct int_map by_key; /* the other kinds */
};

static bool is_kind(const struct sample_kind *kind, const struct store_sample *s)
{
	return kind->thread == s->thread && kind->node == s->node && kind->origin == s->origin &&
	       kind->end_reason == s->end_reason;
}

/* Finds or makes the kind of a sample. */
static int log_kind(struct log_filling *f, const struct store_sample *s, uint32_t *ret_kind)
{
	struct sample_log *log = f->log;
	uint32_t *first = &f->first[s->node];
	const uint32_t next = (uint32_t)log->kinds.count;
	int err = 0;

	*ret_kind = *first ? *first - 1 : next;
	if (!*first)
		*first = next + 1;
	else if (!is_kind(&log->kinds.items[*first - 1], s))
		err = int_map_enter_wide(&f->by_key, (uint64_t)s->thread << 32 | s->node,
					 s->origin << 8 | s->end_reason, next, ret_kind);
	if (err || *ret_kind != next)
		return err;
	err = BIG_RESERVE(&log->kinds, 1);
	if (!err)
		log->kinds.items[log->kinds.count++] =
			(struct sample_kind){s->thread, s->node, s->origin, s->end_reason};
	return err;
}

/* Gives each sample before the current one the period that they all had. */
static int log_spread_periods(struct sample_log *log)
{
	int err = BIG_RESERVE(&log->periods, log->times.count + 1);

	for (size_t i = 0; !err && i < log->times.count; i++)
		log->periods.items[log->periods.count++] = log->period;
	return err;
}

static int log_period(struct sample_log *log, uint64_t period)
{
	int err = 0;

	if (!log->times.count)
		log->period = period;
	if (!log->periods.count && period == log->period)
		return 0;
	if (!log->periods.count)
		err = log_spread_periods(log);
	if (!err)
		err = BIG_RESERVE(&log->periods, 1);
	if (!err)
		log->periods.items[log->periods.count++] = period;
	return err;
}

static size_t log_bytes(const struct sample_log *log)
{
	return log->times.count * (sizeof(*log->times.items) + sizeof(*log->kind_of.items)) +
	       log->periods.count * sizeof(*log->periods.items) +
	       log->kinds.count * sizeof(*log->kinds.items);
}

static int log_take(void *arg, const struct store_sample *s)
{
	struct log_filling *f = arg;
	struct sample_log *log = f->log;
	const struct store_tables *t = store_reader_tables(log->reader);
	const size_t n = log->times.count;
	uint32_t kind;
	int err;

	if (s->thread >= t->n_threads || s->node >= t->n_nodes || s->origin > UINT32_MAX >> 8 ||
	    (s->origin && s->origin >= t->n_origins))
		return -EBADMSG;
	if (f->stop && atomic_load_explicit(f->stop, memory_order_relaxed))
		return -ECANCELED;
	if (log_bytes(log) > f->max_bytes || (n && s->time_ns < log->times.items[n - 1]))
		return -EFBIG;
	err = log_kind(f, s, &kind);
	if (!err)
		err = log_period(log, s->period);
	if (err || BIG_RESERVE(&log->times, 1) || BIG_RESERVE(&log->kind_of, 1))
		return err ? err : -ENOMEM;
	log->times.items[log->times.count++] = s->time_ns;
	log->kind_of.items[log->kind_of.count++] = kind;
	return 0;
}

int sample_log_new(struct store_reader *reader, size_t max_bytes, const atomic_bool *stop,
		   struct sample_log **ret_log)
{
	const struct store_tables *t = store_reader_tables(reader);
	struct sample_log *log = calloc(1, sizeof(*log));
	struct log_filling f = {.log = log, .max_bytes = max_bytes, .stop = stop};
	int err = log ? 0 : -ENOMEM;

	if (!err) {
		log->reader = reader;
		f.first = big_calloc((size_t)t->n_nodes + 1, sizeof(*f.first));
		err = f.first ? store_reader_samples(reader, log_take, &f) : -ENOMEM;
	}
	free(f.first);
	int_map_fini(&f.by_key);
	if (err) {
		sample_log_free(log);
		return err;
	}
	*ret_log = log;
	return 0;
}

void sample_log_free(struct sample_log *log)
{
	if (!log)
		return;
	reconstruct_free(log->reconstruct);
	names_free(log->names);
	free(log->times.items);
	free(log->kind_of.items);
	free(log->periods.items);
	free(log->kinds.items);
	free(log);
}

struct sample_log_view sample_log_view(const struct sample_log *log)
{
	return (struct sample_log_view){
		.times = log->times.items,
		.kind_of = log->kind_of.items,
		.periods = log->periods.count ? log->periods.items : NULL,
		.period = log->period,
		.count = log->times.count,
		.kinds = log->kinds.items,
		.n_kinds = (uint32_t)log->kinds.count,
	};
}

size_t sample_log_find(const struct sample_log *log, uint64_t time_ns)
{
	size_t from = 0, to = log->times.count;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (log->times.items[middle] < time_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

struct store_sample sample_log_at(const struct sample_log_view *view, size_t at)
{
	const struct sample_kind *kind = &view->kinds[view->kind_of[at]];

	return (struct store_sample){
		.time_ns = view->times[at],
		.period = view->periods ? view->periods[at] : view->period,
		.thread = kind->thread,
		.node = kind->node,
		.origin = kind->origin,
		.end_reason = kind->end_reason,
	};
}

/* Completes the paths of the log's samples. */
static int log_complete(struct sample_log *log, struct reconstruct *reconstruct)
{
	const struct sample_log_view view = sample_log_view(log);
	int err = 0;

	for (size_t i = 0; !err && i < view.count; i++) {
		const struct store_sample s = sample_log_at(&view, i);

		err = reconstruct_note(reconstruct, &s);
	}
	return err ? err : reconstruct_run(reconstruct);
}

int sample_log_reconstruct(struct sample_log *log, struct reconstruct **ret_reconstruct)
{
	struct reconstruct *reconstruct = NULL;
	int err = 0;

	if (!log->reconstruct && !log->names)
		err = names_new(store_reader_tables(log->reader), &log->names);
	if (!err && !log->reconstruct) {
		err = reconstruct_new(log->reader, log->names, &reconstruct);
		if (!err)
			err = log_complete(log, reconstruct);
		if (err) {
			reconstruct_free(reconstruct);
			return err;
		}
		log->reconstruct = reconstruct;
	}
	*ret_reconstruct = log->reconstruct;
	return err;
}
