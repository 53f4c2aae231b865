/* SPDX-License-Identifier: MIT */
/*
 * Threads over time: for each lane and each column of the picture, how much of the time was on the
 * CPU, and in which state the thread was most of it.
 *
 * A sample of a clock stands for CPU time before it. A wait covers the time until its thread ran
 * again (model/lasting.h). If the picture would take more bytes than an answer may have,
 * neighbouring columns are joined, and the answer says how many are left.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/lasting.h"
#include "model/profile.h"
#include "proc/object.h"
#include "sym/demangle.h"
#include "web/answers.h"
#include "web/collector.h"
#include "web/lane_list.h"
#include "web/lines.h"
#include "web/opened.h"
#include "web/words.h"

#define LANES_WIDTH    800
#define LANES_LEAST    16
#define LANES_MOST     4000
#define LANES_STATES   64 /* reasons of waits beyond these share the last one */
#define LANES_ON_CPU   1
#define LANES_RUNNABLE 2
#define LANES_FULL     63 /* the letter of a column that was on the CPU all the time */

/* What a lane did, by column. */
struct lanes_lane {
	float *ns[LANES_STATES];      /* by state: time; NULL: none */
	float *regions[LANES_STATES]; /* by region likewise; [0] is not used */
	float *marks[LANES_STATES];   /* by region, for marks: how many passes begin */
	float *gc;		      /* time of collecting garbage, a part of that on the CPU */
};

struct lanes {
	struct ask *ask;
	struct opened *opened;
	const struct store_tables *tables;
	uint64_t from_ns, to_ns; /* since the recording's begin */
	uint64_t begin_ns;	 /* CLOCK_MONOTONIC of from_ns */
	uint32_t columns;
	double column_ns;
	bool is_timed;
	struct lane_list list;
	struct lanes_lane *lanes; /* as list.lanes */
	const char *states[LANES_STATES];
	unsigned n_states;
	uint8_t *state_of_object;    /* by object: its state + 1; 0: not looked up */
	char *regions[LANES_STATES]; /* names; [0] is not used; owned */
	unsigned n_regions;
	uint8_t *region_of_location; /* by location: its region; 0: not looked up */
	struct collector *collector;
	struct lines lines;
};

/* --- adding up ------------------------------------------------------------------------------- */

/* Adds a span of time to the columns *ns, which are made if there are none. */
static int add_span(const struct lanes *l, float **ns, uint64_t begin_ns, uint64_t end_ns)
{
	const uint64_t last = l->begin_ns + (l->to_ns - l->from_ns);
	double from, to;

	if (end_ns <= l->begin_ns || begin_ns >= last)
		return 0;
	if (!*ns)
		*ns = calloc(l->columns, sizeof(**ns));
	if (!*ns)
		return -ENOMEM;
	from = begin_ns > l->begin_ns ? (double)(begin_ns - l->begin_ns) / l->column_ns : 0;
	to = (double)((end_ns < last ? end_ns : last) - l->begin_ns) / l->column_ns;
	for (uint32_t c = (uint32_t)from; c < l->columns && (double)c < to; c++) {
		const double a = from > c ? from : c, b = to < c + 1.0 ? to : c + 1.0;

		(*ns)[c] += (float)((b - a) * l->column_ns);
	}
	return 0;
}

/* Adds a span of time to a state, or to a region, of both lanes of a thread. */
static int add_thread(struct lanes *l, uint32_t thread, bool is_region, unsigned number,
		      const struct span *span)
{
	const uint32_t lanes[] = {l->list.process_lane[thread], l->list.own_lane[thread]};
	int err = 0;

	for (unsigned i = 0; err == 0 && i < 2; i++) {
		struct lanes_lane *lane;

		if (lanes[i] == LANE_NONE)
			continue;
		lane = &l->lanes[lanes[i]];
		err = add_span(l, is_region ? &lane->regions[number] : &lane->ns[number],
			       span->begin_ns, span->end_ns);
	}
	return err;
}

/* Adds a span of collecting garbage to both lanes of a thread. */
static int add_gc(struct lanes *l, uint32_t thread, const struct span *span)
{
	const uint32_t lanes[] = {l->list.process_lane[thread], l->list.own_lane[thread]};
	int err = 0;

	for (unsigned i = 0; err == 0 && i < 2; i++)
		if (lanes[i] != LANE_NONE)
			err = add_span(l, &l->lanes[lanes[i]].gc, span->begin_ns, span->end_ns);
	return err;
}

static int take_sample(void *arg, const struct store_sample *sample)
{
	struct lanes *l = arg;
	const uint64_t ns = l->is_timed ? sample->period : (uint64_t)l->column_ns;
	const struct span span = {sample->time_ns > ns ? sample->time_ns - ns : 0, sample->time_ns};
	int err;

	if (ask_is_stopped(l->ask))
		return -ECANCELED;
	lines_cpu(&l->lines, span.begin_ns, span.end_ns);
	err = add_thread(l, sample->thread, false, LANES_ON_CPU, &span);
	if (err == 0 && collector_is(l->collector, sample->thread, sample->node))
		err = add_gc(l, sample->thread, &span);
	return err;
}

/* Returns the state of waits for a reason, which is the name of an object. */
static unsigned state_of(struct lanes *l, uint32_t object)
{
	const char *name = l->tables->objects[object].path;

	if (l->state_of_object[object])
		return l->state_of_object[object] - 1u;
	name = name ? name : "";
	for (unsigned i = 0; i < l->n_states; i++)
		if (strcmp(l->states[i], name) == 0) {
			l->state_of_object[object] = (uint8_t)(i + 1);
			return i;
		}
	if (l->n_states < LANES_STATES)
		l->states[l->n_states++] = name;
	l->state_of_object[object] = (uint8_t)l->n_states;
	return l->n_states - 1;
}

/* Returns the state in which a wait's thread was: the reason is the mark nearest to the path's
 * leaf, below which there is what the thread waited for. */
static unsigned wait_state(struct lanes *l, uint32_t node)
{
	const struct store_tables *t = l->tables;

	for (; node; node = t->nodes[node].parent) {
		const uint32_t object = t->locations[t->nodes[node].location].object;

		if (t->objects[object].kind == OBJECT_MARK)
			return state_of(l, object);
		if (t->objects[object].kind != OBJECT_AWAITED)
			break;
	}
	return 0;
}

static int take_wait(struct lanes *l, const struct store_sample *record,
		     const struct lasting *lasting, bool is_runnable)
{
	const unsigned state = is_runnable ? LANES_RUNNABLE : wait_state(l, record->node);
	int err = ask_is_stopped(l->ask) ? -ECANCELED : 0;

	for (size_t i = 0; err == 0 && i < lasting->n; i++)
		err = add_thread(l, record->thread, false, state, &lasting->spans[i]);
	return err;
}

static int take_blocked(void *arg, const struct store_sample *record, const struct lasting *lasting)
{
	return take_wait(arg, record, lasting, false);
}

static int take_runnable(void *arg, const struct store_sample *record,
			 const struct lasting *lasting)
{
	return take_wait(arg, record, lasting, true);
}

/* Finds or adds a region by its name, which it takes over. Returns its number; 0: memory is short.
 */
static unsigned enter_region(struct lanes *l, char *name)
{
	for (unsigned i = 1; name && i < l->n_regions; i++)
		if (strcmp(l->regions[i], name) == 0) {
			free(name);
			return i;
		}
	if (!name || l->n_regions == LANES_STATES) {
		free(name);
		return name ? LANES_STATES - 1 : 0;
	}
	l->regions[l->n_regions] = name;
	return l->n_regions++;
}

/* Returns the region of passes that end at a location: the function there, or a mark. */
static unsigned region_of(struct lanes *l, uint32_t location)
{
	const struct store_tables *t = l->tables;
	const struct store_object *object = &t->objects[t->locations[location].object];
	const uint32_t end = t->line_first[location + 1];
	const char *name = end > t->line_first[location] ? t->lines[end - 1].function : NULL;
	char *readable;

	if (l->region_of_location[location])
		return l->region_of_location[location];
	if (!name)
		name = object->path ? object->path : "";
	readable = demangle(name);
	l->region_of_location[location] =
		(uint8_t)enter_region(l, readable ? readable : strdup(name));
	return l->region_of_location[location];
}

/* Counts the begin of a mark's pass in both lanes of its thread. */
static int add_mark(struct lanes *l, uint32_t thread, unsigned region, uint64_t time_ns)
{
	const uint32_t lanes[] = {l->list.process_lane[thread], l->list.own_lane[thread]};
	const double column = ((double)time_ns - (double)l->begin_ns) / l->column_ns;

	for (unsigned i = 0; column >= 0 && column < l->columns && i < 2; i++) {
		float **marks;

		if (lanes[i] == LANE_NONE)
			continue;
		marks = &l->lanes[lanes[i]].marks[region];
		if (!*marks)
			*marks = calloc(l->columns, sizeof(**marks));
		if (!*marks)
			return -ENOMEM;
		(*marks)[(uint32_t)column] += 1;
	}
	return 0;
}

/* Returns whether passes that end at a location are those of a mark. */
static bool is_mark(const struct lanes *l, uint32_t location)
{
	return l->tables->objects[l->tables->locations[location].object].kind == OBJECT_MARK;
}

static int take_pass(void *arg, const struct store_sample *record, const struct lasting *lasting)
{
	struct lanes *l = arg;
	unsigned region;
	int err = ask_is_stopped(l->ask) ? -ECANCELED : 0;

	if (!record->node)
		return err;
	region = region_of(l, l->tables->nodes[record->node].location);
	if (!region)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < lasting->n; i++)
		err = add_thread(l, record->thread, true, region, &lasting->spans[i]);
	if (err == 0 && lasting->n && is_mark(l, l->tables->nodes[record->node].location))
		err = add_mark(l, record->thread, region, lasting->spans[0].begin_ns);
	return err;
}

static int add_all(struct lanes *l)
{
	uint64_t series;
	int err = store_reader_series(l->opened->reader, &series);

	if (err == 0)
		err = opened_samples(l->ask, l->opened, take_sample, l);
	if (err == 0 && series >> SERIES_WAIT_BLOCKED & 1)
		err = lasting_records(l->opened->reader, METRIC_WAIT_BLOCKED, take_blocked, l);
	if (err == 0 && series >> SERIES_WAIT_RUNNABLE & 1)
		err = lasting_records(l->opened->reader, METRIC_WAIT_RUNNABLE, take_runnable, l);
	if (err == 0 && series >> SERIES_REGION_TIME & 1)
		err = lasting_records(l->opened->reader, METRIC_REGION_TIME, take_pass, l);
	return err ? err : lines_records(l->ask, l->opened->reader, &l->lines);
}

/* --- fewer columns --------------------------------------------------------------------------- */

static void join_columns(const struct lanes *l, float *const lists[static LANES_STATES])
{
	for (unsigned i = 0; i < LANES_STATES; i++)
		for (uint32_t c = 0; lists[i] && c < l->columns / 2; c++)
			lists[i][c] = lists[i][2 * c] + lists[i][2 * c + 1];
}

static void join(struct lanes *l)
{
	for (size_t i = 0; i < l->list.lanes.count; i++) {
		join_columns(l, l->lanes[i].ns);
		join_columns(l, l->lanes[i].regions);
		join_columns(l, l->lanes[i].marks);
		for (uint32_t c = 0; l->lanes[i].gc && c < l->columns / 2; c++)
			l->lanes[i].gc[c] = l->lanes[i].gc[2 * c] + l->lanes[i].gc[2 * c + 1];
	}
	lines_join(&l->lines);
	l->columns /= 2;
	l->column_ns *= 2;
}

/* --- the answer ------------------------------------------------------------------------------ */

static char letter(unsigned value)
{
	return "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"[value];
}

/* Writes a letter for each column: the share of `most` columns. */
static void put_letters(struct json *j, const char *key, const struct lanes *l, const float *ns,
			double most)
{
	struct buf text = {0};

	for (uint32_t c = 0; c < l->columns; c++) {
		const double share = ns ? ns[c] / l->column_ns / most : 0;
		const double value = ceil(share * LANES_FULL - 0.5);

		buf_put_u8(&text, (uint8_t)letter(value > LANES_FULL	   ? LANES_FULL
						  : value < 1 && share > 0 ? 1
									   : (unsigned)value));
	}
	json_put_text(j, key, &text);
}

/* Writes the share of each column that was on the CPU. The full letter stands for the most CPUs
 * that the lane used at once, rounded up; where the event is no clock, for the most samples. */
static void put_cpu(struct json *j, const struct lanes *l, const struct lanes_lane *lane)
{
	const float *ns = lane->ns[LANES_ON_CPU];
	double most = 1;

	for (uint32_t c = 0; ns && c < l->columns; c++)
		most = fmax(most, ns[c] / l->column_ns);
	/* Samples of a clock can come a little late, so a column has a little more than all of its
	 * time now and then. */
	most = most < 1.5 ? 1 : ceil(most - 0.25);
	if (l->is_timed)
		json_put_uint(j, "cpus", (uint64_t)most);
	else
		json_put_null(j, "cpus");
	put_letters(j, "cpu", l, ns, most);
	if (lane->gc)
		put_letters(j, "gc", l, lane->gc, most);
}

/* Returns the list that has most time in a column, of [1, n); 0: none has any. */
static unsigned most_of(float *const lists[static LANES_STATES], unsigned n, uint32_t column)
{
	unsigned found = 0;

	for (unsigned i = 1; i < n; i++)
		if (lists[i] && lists[i][column] > 0 &&
		    (!found || lists[i][column] > lists[found][column]))
			found = i;
	return found;
}

/* Writes the list with most time of each column, as runs of equal ones. */
static void put_runs(struct json *j, const char *key, const struct lanes *l,
		     float *const lists[static LANES_STATES], unsigned n)
{
	struct buf text = {0};
	uint32_t from = 0;

	for (uint32_t c = 1; c <= l->columns; c++) {
		const unsigned most = most_of(lists, n, from);

		if (c < l->columns && most_of(lists, n, c) == most)
			continue;
		text_printf(&text, "%s%u*%u", from ? " " : "", most, c - from);
		from = c;
	}
	json_put_text(j, key, &text);
}

static void put_lane(struct json *j, const struct lanes *l, size_t number, struct words *words)
{
	const struct lane *lane = &l->list.lanes.items[number];
	const struct store_thread *thread = &l->tables->threads[lane->thread];
	uint32_t name = 0;

	json_put_object(j, NULL);
	json_put_string(j, "id", lane->id);
	json_put_string(j, "kind", lane_kind_name(lane->kind));
	if (words_string(words, lane_name(l->tables, lane), &name) < 0)
		j->err = -ENOMEM;
	json_put_string(j, "name", strings_at(words->strings, name));
	json_put_int(j, "pid", l->tables->processes[lane->process].pid);
	if (lane->kind == LANE_THREAD)
		json_put_int(j, "tid", thread->tid);
	if (lane->parent == LANE_NONE)
		json_put_null(j, "parent");
	else
		json_put_string(j, "parent", l->list.lanes.items[lane->parent].id);
	json_put_uint(j, "threads", lane->n_threads);
	json_put_uint(j, "samples", lane->totals.samples);
	json_put_uint(j, "cpu_ns", l->is_timed ? lane->totals.cpu_ns : 0);
	json_put_uint(j, "off_ns", lane->totals.off_ns);
	if (lane->kind == LANE_POOL)
		json_put_bool(j, "folded", l->list.own_lane[lane->thread] == number);
	put_cpu(j, l, &l->lanes[number]);
	put_runs(j, "state", l, l->lanes[number].ns, l->n_states);
	if (l->n_regions > 1)
		put_runs(j, "region", l, l->lanes[number].regions, l->n_regions);
	for (unsigned i = 1; i < l->n_regions; i++)
		if (l->lanes[number].marks[i]) {
			put_runs(j, "marks", l, l->lanes[number].marks, l->n_regions);
			break;
		}
	json_put_end(j);
}

static void put_names(struct json *j, const char *key, const char *const *names, unsigned n,
		      struct words *words)
{
	uint32_t number;

	json_put_array(j, key);
	for (unsigned i = 0; i < n; i++) {
		if (words_string(words, names[i], &number) < 0)
			j->err = -ENOMEM;
		else
			json_put_string(j, NULL, strings_at(words->strings, number));
	}
	json_put_end(j);
}

static void put_lanes(struct json *j, const struct lanes *l, struct words *words)
{
	const struct store_recording *r = &l->tables->recording;

	json_put_int(j, "recording", r->id);
	json_put_uint(j, "begin_ns", 0);
	json_put_uint(j, "end_ns", r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0);
	json_put_uint(j, "from", l->from_ns);
	json_put_uint(j, "to", l->to_ns);
	json_put_uint(j, "columns", l->columns);
	json_put_bool(j, "live", l->opened->is_live);
	lines_put(&l->lines, j);
	put_names(j, "states", l->states, l->n_states, words);
	put_names(j, "regions", (const char *const *)l->regions, l->n_regions, words);
	json_put_array(j, "lanes");
	for (size_t i = 0; i < l->list.lanes.count; i++)
		put_lane(j, l, i, words);
	json_put_end(j);
	json_put_object(j, "left_out");
	json_put_uint(j, "lanes", l->list.left_out);
	json_put_uint(j, "cpu_ns", l->list.left_cpu_ns);
	json_put_end(j);
}

/* Writes the answer with as many columns as fit. */
static int lanes_put(struct lanes *l)
{
	struct json *j = &l->ask->json;
	const struct json before = *j;
	const size_t len = j->text.len;
	int err = 0;

	for (;;) {
		struct words words;

		err = words_begin(&words);
		if (err == 0)
			put_lanes(j, l, &words);
		words_end(&words);
		if (err || j->err || j->text.len <= WEB_ANSWER_MAX - 2000 ||
		    l->columns < 2 * LANES_LEAST)
			return err;
		j->text.len = len;
		*j = (struct json){.text = j->text,
				   .depth = before.depth,
				   .lists = before.lists,
				   .filled = before.filled};
		join(l);
	}
}

/* --- the question ---------------------------------------------------------------------------- */

static int read_time(struct lanes *l)
{
	const struct store_recording *r = &l->tables->recording;
	const uint64_t end = r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 1;
	uint64_t width = LANES_WIDTH;
	int err;

	l->to_ns = end;
	err = ask_number(l->ask, "from", 0, INT64_MAX, &l->from_ns);
	if (err == 0)
		err = ask_number(l->ask, "to", 1, INT64_MAX, &l->to_ns);
	if (err == 0)
		err = ask_number(l->ask, "width", LANES_LEAST, LANES_MOST, &width);
	if (err == 0 && l->to_ns <= l->from_ns)
		return ask_fail(l->ask, 400, "choose a longer time", "'to' is not behind 'from'");
	l->columns = (uint32_t)width;
	l->column_ns = (double)(l->to_ns - l->from_ns) / (double)l->columns;
	l->begin_ns = r->start_ns + l->from_ns;
	return err;
}

static int lanes_begin(struct lanes *l)
{
	int err = read_time(l);

	l->is_timed = store_is_timed(&l->tables->recording);
	l->states[0] = "";
	l->states[LANES_ON_CPU] = "on the CPU";
	l->states[LANES_RUNNABLE] = "runnable";
	l->n_states = LANES_RUNNABLE + 1;
	l->n_regions = 1;
	if (err == 0 && !l->opened->totals)
		err = thread_totals_make(l->ask, l->opened, &l->opened->totals);
	if (err == 0)
		err = collector_new(l->tables, &l->collector);
	if (err == 0)
		err = lane_list_make(l->ask, l->tables, l->opened->totals, &l->list);
	if (err)
		return err;
	l->lanes = calloc(l->list.lanes.count + 1, sizeof(*l->lanes));
	l->state_of_object = calloc((size_t)l->tables->n_objects + 1, sizeof(*l->state_of_object));
	l->region_of_location =
		calloc((size_t)l->tables->n_locations + 1, sizeof(*l->region_of_location));
	return l->lanes && l->state_of_object && l->region_of_location
		       ? lines_begin(&l->lines, l->tables, l->begin_ns,
				     l->begin_ns + (l->to_ns - l->from_ns), l->columns)
		       : -ENOMEM;
}

static void lanes_end(struct lanes *l)
{
	for (size_t i = 0; l->lanes && i < l->list.lanes.count; i++) {
		free(l->lanes[i].gc);
		for (unsigned s = 0; s < LANES_STATES; s++) {
			free(l->lanes[i].ns[s]);
			free(l->lanes[i].regions[s]);
			free(l->lanes[i].marks[s]);
		}
	}
	collector_free(l->collector);
	for (unsigned i = 1; i < l->n_regions; i++)
		free(l->regions[i]);
	free(l->lanes);
	free(l->state_of_object);
	free(l->region_of_location);
	lane_list_free(&l->list);
	lines_end(&l->lines);
}

int answer_lanes(struct ask *ask)
{
	struct lanes l = {.ask = ask};
	int64_t first, last;
	int err = opened_numbers(ask, "recording", &first, &last);

	if (err == 0 && opened_is_sums(ask))
		err = ask_fail(ask, 404, "look at the store of one of the hosts",
			       "sums of samples have no times");
	if (err == 0)
		err = opened_get(ask, first, last, &l.opened);
	if (err)
		return err;
	l.tables = store_reader_tables(l.opened->reader);
	err = lanes_begin(&l);
	if (err == 0)
		err = add_all(&l);
	if (err == 0)
		err = lanes_put(&l);
	lanes_end(&l);
	return err;
}
