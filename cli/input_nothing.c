/* SPDX-License-Identifier: MIT */
/*
 * Says why nothing is left; see input_nothing.h.
 *
 * The first filter that matches nothing by itself is the one to blame. Its message has the nearest
 * name that the recording has, or if there are few, all of them. If each filter matches something,
 * it is their combination that does not.
 */
#include "input_nothing.h"

#include <limits.h>
#include <string.h>

#include "base/argp_table.h"
#include "base/text.h"
#include "message.h"
#include "model/cgroup_name.h"
#include "model/pattern.h"
#include "store/store_reader.h"

#define NOTHING_LIST 6 /* the most ids that a message lists */

/* --- names that are near -------------------------------------------------------------------- */

/* The nearest of the names that are looked at. */
struct near {
	const char *asked;
	char name[256];
	unsigned distance;
};

static struct near near_begin(const char *asked)
{
	return (struct near){.asked = asked, .distance = argp_table_near(asked) + 1};
}

static void near_look(struct near *near, const char *name)
{
	unsigned distance;

	if (!name || !*name)
		return;
	distance = strcasestr(name, near->asked) ? 0 : argp_table_distance(near->asked, name);
	if (distance < near->distance) {
		near->distance = distance;
		snprintf(near->name, sizeof(near->name), "%s", name);
	}
}

/* Appends "; did you mean 'x'?", or nothing if no name is near. */
static void put_guess(const char *guess, struct buf *b)
{
	if (!guess || !*guess)
		return;
	text_put_raw(b, "; did you mean '");
	text_put(b, guess, NULL);
	text_put_raw(b, "'?");
}

/* Returns the function whose name is closest to `name`; NULL: none is close. */
static const char *near_function(const struct profile *profile, const char *name)
{
	const char *closest = NULL;
	unsigned best = UINT_MAX;

	for (size_t i = 0; i < profile_symbol_count(profile); i++) {
		const struct profile_symbol *symbol = profile_symbol_at(profile, (uint32_t)i);
		unsigned distance = symbol ? pattern_distance(name, symbol->name) : UINT_MAX;

		if (distance < best ||
		    (distance == best && closest && strlen(symbol->name) < strlen(closest))) {
			best = distance;
			closest = symbol->name;
		}
	}
	return closest;
}

void input_no_function(const struct profile *profile, const char *name)
{
	struct buf b = {0};

	put_guess(near_function(profile, name), &b);
	message("no call path goes through '%s'%.*s", name, (int)b.len, (const char *)b.data);
	buf_free(&b);
}

/* --- the filter to blame -------------------------------------------------------------------- */

/* Appends the processes that have threads: "; its processes are 12 (foo) and 13 (bar)". */
static void list_processes(const struct store_tables *t, struct buf *b)
{
	for (uint32_t i = 0; i < t->n_processes && i < NOTHING_LIST; i++) {
		text_printf(b, "%s%d (", i ? ", " : "; its processes are ", t->processes[i].pid);
		text_put(b, t->processes[i].comm ? t->processes[i].comm : "?", NULL);
		text_put_raw(b, ")");
	}
	if (t->n_processes > NOTHING_LIST)
		text_printf(b, " and %u more", t->n_processes - NOTHING_LIST);
}

static bool has_pid(const struct store_tables *t, int32_t pid)
{
	for (uint32_t i = 0; i < t->n_processes; i++)
		if (t->processes[i].pid == pid)
			return true;
	return false;
}

static bool has_tid(const struct store_tables *t, int32_t tid)
{
	for (uint32_t i = 0; i < t->n_threads; i++)
		if (t->threads[i].tid == tid)
			return true;
	return false;
}

/* Blames --pid or --tid, if there is no such number. Returns whether it did. */
static bool blame_number(const struct profile_filter *f, const struct store_tables *t,
			 struct buf *b)
{
	if (f->n_pids == 1 && !has_pid(t, f->pids[0])) {
		text_printf(b, "no process %d", f->pids[0]);
		list_processes(t, b);
		return true;
	}
	if (f->n_tids == 1 && !has_tid(t, f->tids[0])) {
		text_printf(b, "no thread %d; 'stackctl report --by thread' shows its threads",
			    f->tids[0]);
		return true;
	}
	return false;
}

/* Blames --comm or --unit, if no thread has that name. */
static bool blame_thread(const struct profile_filter *f, const struct store_tables *t,
			 struct buf *b)
{
	const bool is_comm = f->n_comms == 1;
	struct near near;

	if (!is_comm && f->units.n != 1)
		return false;
	near = near_begin(is_comm ? f->comms[0] : f->units.items[0]);
	for (uint32_t i = 0; i < t->n_threads; i++) {
		const struct store_thread *thread = &t->threads[i];
		const char *comm = thread->comm ? thread->comm : "";
		struct buf unit = {0};

		if (thread->labels) /* of a server's database, which has no cgroups */
			return false;
		if (is_comm ? pattern_matches(near.asked, comm, strlen(comm))
			    : thread->cgroup && cgroup_name_is_in(thread->cgroup, near.asked))
			return false;
		if (!is_comm)
			cgroup_name_unit(thread->cgroup, &unit);
		buf_put(&unit, "", 1);
		if (!unit.failed)
			near_look(&near, is_comm ? comm : (const char *)unit.data);
		buf_free(&unit);
	}
	text_printf(b, "no thread %s '", is_comm ? "named" : "in the unit");
	text_put(b, near.asked, NULL);
	text_put_raw(b, "'");
	put_guess(near.name, b);
	return true;
}

/* Blames --dso, if no object has that name. */
static bool blame_object(const struct profile_filter *f, const struct store_tables *t,
			 struct buf *b)
{
	struct near near;

	if (f->dsos.n != 1)
		return false;
	near = near_begin(f->dsos.items[0]);
	for (uint32_t i = 0; i < t->n_objects; i++) {
		const char *path = t->objects[i].path;

		if (!path)
			continue;
		if (pattern_is_object(near.asked, path))
			return false;
		near_look(&near, text_basename(path));
	}
	text_put_raw(b, "no program or library '");
	text_put(b, near.asked, NULL);
	text_put_raw(b, "'");
	put_guess(near.name, b);
	return true;
}

/* Blames --symbol or --focus, if a name is near but none matches. */
static bool blame_function(const struct profile_filter *f, const struct profile *profile,
			   struct buf *b)
{
	const char *asked = f->symbols.n == 1 ? f->symbols.items[0]
			    : f->focus.n == 1 ? f->focus.items[0]
					      : NULL;
	const char *guess;

	if (!asked)
		return false;
	for (size_t i = 0; i < profile_symbol_count(profile); i++) {
		const struct profile_symbol *symbol = profile_symbol_at(profile, (uint32_t)i);

		if (symbol && profile_symbol_matches(symbol, asked))
			return false;
	}
	guess = near_function(profile, asked);
	text_put_raw(b, "no function '");
	text_put(b, asked, NULL);
	text_put_raw(b, "'");
	put_guess(guess, b);
	return true;
}

/* Prints that the filter leaves nothing of a recording that has the metric. */
static void nothing_left(const struct input *input, const char *path, const struct input_open *open)
{
	const struct profile_filter *f = &input->filter;
	const struct store_tables *t = store_reader_tables(open->reader);
	const struct metric_info *metric = metric_info(f->metric);
	const bool is_cpu = metric->series == SERIES_CPU;
	struct buf b = {0};

	if (blame_number(f, t, &b) || blame_thread(f, t, &b) || blame_object(f, t, &b) ||
	    (open->profile && blame_function(f, open->profile, &b)))
		message("recording %lld in %s has %.*s%s", (long long)t->recording.id, path,
			(int)b.len, (const char *)b.data,
			memchr(b.data, ';', b.len) ? ""
						   : "; 'stackctl report' shows which there are");
	else
		message("no %s%s of recording %lld in %s matches all the options; "
			"'stackctl report' without them shows what there is",
			is_cpu ? "sample" : "record of ", is_cpu ? "" : metric->name,
			(long long)t->recording.id, path);
	buf_free(&b);
}

/* --- what the recording lacks --------------------------------------------------------------- */

/* Returns whether the recording has a metric that the same options of stackd measure. */
static bool has_sibling(const struct metric_info *metric, uint64_t series)
{
	for (unsigned i = 0; i < METRIC_COUNT; i++)
		if (series >> metric_info(i)->series & 1 &&
		    !strcmp(metric_info(i)->options, metric->options))
			return true;
	return false;
}

/* Returns whether the recording has any record of the metric. If not, prints how to record it, and
 * which metrics there are. */
static bool has_metric(const struct input *input, const char *path, const struct input_open *open)
{
	const struct store_recording *recording = &store_reader_tables(open->reader)->recording;
	const struct metric_info *metric = metric_info(input->filter.metric);
	struct buf b = {0};
	uint64_t series;

	if (store_reader_series(open->reader, &series) < 0 || series >> metric->series & 1 ||
	    (metric->series == SERIES_CPU && (!series || recording->samples)))
		return true;
	metric_put_names(series, store_is_timed(recording), &b);
	if (metric->series == SERIES_CPU)
		message("recording %lld in %s has no samples; it has %.*s (choose one with --metric)",
			(long long)recording->id, path, (int)b.len, (const char *)b.data);
	else if (has_sibling(metric, series))
		message("recording %lld in %s has no %s: none was recorded, though 'stackd %.*s' measures it; "
			"its metrics: %.*s",
			(long long)recording->id, path, metric->name,
			(int)strcspn(metric->options, ","), metric->options, (int)b.len,
			(const char *)b.data);
	else
		message("recording %lld in %s has no %s: record with 'stackd %.*s'%s%.*s",
			(long long)recording->id, path, metric->name,
			(int)strcspn(metric->options, ","), metric->options,
			b.len ? "; its metrics: " : "", (int)b.len,
			b.len ? (const char *)b.data : "");
	buf_free(&b);
	return false;
}

void input_nothing(const struct input *input, const char *path, const struct input_open *open)
{
	const struct store_recording *recording = &store_reader_tables(open->reader)->recording;
	const struct metric_info *metric = metric_info(input->filter.metric);

	if (!has_metric(input, path, open))
		return;
	if (metric->less != SERIES_CPU)
		message("nothing of %s in recording %lld in %s matches the options", metric->name,
			(long long)recording->id, path);
	else if (recording->samples || metric->series != SERIES_CPU)
		nothing_left(input, path, open);
	else
		message("recording %lld in %s has no samples: did the target use the CPU while it "
			"was recorded?",
			(long long)recording->id, path);
}
