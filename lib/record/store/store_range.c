/* SPDX-License-Identifier: MIT */
/* Chooses recordings by number and time; see store_range.h. */
#include "store/store_range.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RANGE_SECOND_NS UINT64_C(1000000000)
#define RANGE_TIME_TEXT 40

uint64_t store_range_end(const struct store_recording *recording)
{
	return recording->end_ns > recording->start_ns
		       ? recording->start_unix_ns + (recording->end_ns - recording->start_ns)
		       : recording->start_unix_ns;
}

static bool range_has_times(const struct store_range *range)
{
	return range->from_unix_ns || range->to_unix_ns;
}

static bool range_has_number(const struct store_range *range, int64_t id)
{
	return id >= range->first && (!range->last || id <= range->last);
}

static bool range_has(const struct store_range *range, const struct store_recording *recording)
{
	return range_has_number(range, recording->id) &&
	       store_range_end(recording) > range->from_unix_ns &&
	       (!range->to_unix_ns || recording->start_unix_ns < range->to_unix_ns);
}

static bool range_same_event(const struct store_recording *a, const struct store_recording *b)
{
	return strcmp(a->event, b->event) == 0;
}

static bool range_same_subject(const struct store_recording *a, const struct store_recording *b)
{
	return range_same_event(a, b) && strcmp(a->target, b->target) == 0 &&
	       strcmp(a->host, b->host) == 0;
}

static int range_compare_starts(const void *a, const void *b)
{
	const struct store_recording *x = *(const struct store_recording *const *)a;
	const struct store_recording *y = *(const struct store_recording *const *)b;

	if (x->start_unix_ns != y->start_unix_ns)
		return x->start_unix_ns < y->start_unix_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Collects the recordings in the range, newest first. */
static int range_collect(const struct store_range *range, const struct store_recording *all,
			 size_t n, const struct store_recording **ret_chosen,
			 struct store_range_choice *choice)
{
	for (size_t i = n; i-- > 0;) {
		const struct store_recording *r = &all[i];

		if (!range_has(range, r))
			continue;
		if (choice->n && !range_has_times(range) && !range_same_event(ret_chosen[0], r))
			return -EXDEV;
		if (choice->n && range_has_times(range) && !range_same_subject(ret_chosen[0], r))
			choice->left_out++;
		else
			ret_chosen[choice->n++] = r;
	}
	return choice->n ? 0 : -ENODATA;
}

static bool range_is_chosen(const struct store_range_choice *choice, int64_t id)
{
	for (size_t i = 0; i < choice->n; i++)
		if (choice->ids[i] == id)
			return true;
	return false;
}

/* Collects the windows of a run that come after its window `last`. */
static void range_collect_later(const struct store_recording *last,
				const struct store_recording *all, size_t n,
				struct store_range_choice *choice)
{
	for (size_t i = 0; i < n && last->run; i++) {
		const struct store_recording *r = &all[i];

		if (r->id <= last->id || r->run != last->run || !range_same_subject(last, r) ||
		    range_is_chosen(choice, r->id))
			continue;
		if (choice->n_later == STORE_RANGE_LATER) {
			choice->has_more_later = true;
			return;
		}
		choice->later[choice->n_later++] = r->id;
	}
}

int store_range_choose(const struct store_range *range, const struct store_recording *all, size_t n,
		       struct store_range_choice *ret_choice)
{
	const struct store_recording **chosen = calloc(n + 1, sizeof(*chosen));
	struct store_range_choice choice = {.ids = calloc(n + 1, sizeof(*choice.ids))};
	int err = chosen && choice.ids ? range_collect(range, all, n, chosen, &choice) : -ENOMEM;

	if (err == 0) {
		qsort(chosen, choice.n, sizeof(*chosen), range_compare_starts);
		for (size_t i = 0; i < choice.n; i++)
			choice.ids[i] = chosen[i]->id;
		if (range_has_times(range))
			range_collect_later(chosen[choice.n - 1], all, n, &choice);
		*ret_choice = choice;
	} else {
		free(choice.ids);
	}
	free(chosen);
	return err;
}

/* --- sentences ------------------------------------------------------------------------------ */

static const char *range_time(uint64_t unix_ns, char text[RANGE_TIME_TEXT])
{
	time_t at = (time_t)(unix_ns / RANGE_SECOND_NS);
	struct tm tm;

	if (!localtime_r(&at, &tm) || !strftime(text, RANGE_TIME_TEXT, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, RANGE_TIME_TEXT, "?");
	return text;
}

static char *range_no_times(const struct store_range *range, const char *path,
			    const struct store_recording *all, size_t n)
{
	uint64_t first = UINT64_MAX, last = 0;
	char from[RANGE_TIME_TEXT], to[RANGE_TIME_TEXT], a[RANGE_TIME_TEXT], b[RANGE_TIME_TEXT];
	char *s = NULL;

	for (size_t i = 0; i < n; i++) {
		uint64_t end = store_range_end(&all[i]);

		first = all[i].start_unix_ns < first ? all[i].start_unix_ns : first;
		last = end > last ? end : last;
	}
	if (asprintf(&s,
		     "%s: nothing was recorded from %s to %s; there are recordings from %s to %s: "
		     "`stackctl list -v` shows them",
		     path,
		     range->from_unix_ns ? range_time(range->from_unix_ns, from) : "the start",
		     range->to_unix_ns ? range_time(range->to_unix_ns, to) : "the end",
		     range_time(first, a), range_time(last, b)) < 0)
		return NULL;
	return s;
}

static char *range_no_numbers(const struct store_range *range, const char *path,
			      const struct store_recording *all, size_t n)
{
	char *s = NULL;

	if (asprintf(&s,
		     "%s: no recording has a number from %" PRId64 " to %" PRId64
		     "; there are %" PRId64 " to %" PRId64 ": `stackctl list -v` shows them",
		     path, range->first, range->last, all[0].id, all[n - 1].id) < 0)
		return NULL;
	return s;
}

/* Returns a sentence that names the newest recording of the range, and one that counts another
 * event. */
static char *range_events(const struct store_range *range, const char *path,
			  const struct store_recording *all, size_t n)
{
	const struct store_recording *newest = NULL, *other = NULL;
	char *s = NULL;

	for (size_t i = n; i-- > 0 && !other;) {
		if (!range_has(range, &all[i]))
			continue;
		newest = newest ? newest : &all[i];
		other = range_same_event(newest, &all[i]) ? NULL : &all[i];
	}
	if (!other ||
	    asprintf(&s,
		     "%s: recordings %" PRId64 " (%s) and %" PRId64
		     " (%s) count different events, which cannot be added up; choose recordings of "
		     "one: `stackctl list -v` shows them",
		     path, other->id, other->event, newest->id, newest->event) < 0)
		return NULL;
	return s;
}

char *store_range_sentence(const struct store_range *range, const char *path,
			   const struct store_recording *all, size_t n, int err)
{
	bool has_number = false;

	if (err == -EXDEV)
		return range_events(range, path, all, n);
	if (!n)
		return NULL;
	for (size_t i = 0; i < n; i++)
		has_number = has_number || range_has_number(range, all[i].id);
	return has_number && range_has_times(range) ? range_no_times(range, path, all, n)
						    : range_no_numbers(range, path, all, n);
}
