/* SPDX-License-Identifier: MIT */
/* Sums up what threads did; see thread_totals.h. */
#include "web/thread_totals.h"

#include <errno.h>
#include <stdlib.h>

struct totals_sum {
	const struct ask *ask;
	struct thread_totals *totals;
	bool is_timed;
};

static int take_sample(void *arg, const struct store_sample *sample)
{
	struct totals_sum *sum = arg;
	struct thread_totals *totals = &sum->totals[sample->thread];

	totals->samples++;
	totals->cpu_ns += sum->is_timed ? sample->period : 1;
	return ask_is_stopped(sum->ask) ? -ECANCELED : 0;
}

static int take_wait(void *arg, const struct store_sample *record)
{
	struct totals_sum *sum = arg;

	sum->totals[record->thread].off_ns += record->period;
	return ask_is_stopped(sum->ask) ? -ECANCELED : 0;
}

int thread_totals_make(const struct ask *ask, struct opened *opened,
		       struct thread_totals **ret_totals)
{
	struct store_reader *reader = opened->reader;
	const struct store_tables *t = store_reader_tables(reader);
	struct totals_sum sum = {.ask = ask, .is_timed = store_is_timed(&t->recording)};
	int err;

	sum.totals = calloc((size_t)t->n_threads + 1, sizeof(*sum.totals));
	if (!sum.totals)
		return -ENOMEM;
	err = opened_samples(ask, opened, take_sample, &sum);
	if (err == 0)
		err = store_reader_records(reader, SERIES_WAIT_BLOCKED, take_wait, &sum);
	if (err == 0)
		err = store_reader_records(reader, SERIES_WAIT_RUNNABLE, take_wait, &sum);
	if (err)
		free(sum.totals);
	else
		*ret_totals = sum.totals;
	return err;
}
