/* SPDX-License-Identifier: MIT */
/*
 * Estimates of regions by samples; see region_rest.h.
 *
 * Functions are numbered by their name in the source and their file, so all clones of a function
 * are one region. The regions on a path are looked up once for each node, because paths repeat.
 */
#include "model/region_rest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/vec.h"
#include "sym/clone_name.h"

/* A function in the path of a sample, or one that has passes. */
struct region_rest_function {
	bool is_region; /* It has passes, or its probes were taken off. */
	bool is_off;
	/* when its probes were taken off; 0: they were not, or the time is not known
	 * (region_rest_off_ns()) */
	uint64_t off_ns;
	uint64_t last_ns; /* when its last pass ended; 0: it has none */
};

/* A region on a path, and the next one towards the root. */
struct region_rest_frame {
	uint32_t node, function;
	uint32_t next; /* index of the next one + 1; 0: there is none */
};

struct region_rest {
	struct store_reader *reader;
	const struct store_tables *tables;
	struct names *names;
	/* FUNC@FILE: the number of a text is the number of the function */
	struct strings *texts;
	struct int_map by_symbol; /* number of a symbol -> number of its function */
	struct int_map by_thread; /* (function, thread) -> index in `last` */
	struct int_map first;	  /* node -> index of its innermost frame + 1; 0: none */
	VEC(struct region_rest_function) functions;
	VEC(struct region_rest_frame) frames;
	/* for each (function, thread): when the thread's last pass through the function ended */
	VEC(uint64_t) last;
	bool has_passes; /* All passes have been read. */
};

size_t region_rest_source_name(const char *name)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";
	size_t base = clone_name_base(name), len = strspn(name, plain);

	if (!name[base] && len && name[len] == '.' && name[len + 1] &&
	    !name[len + 1 + strspn(name + len + 1, "0123456789")])
		return len;
	return base;
}

/* --- functions ------------------------------------------------------------------------------- */

/* Returns whether the FUNC@FILE in a counter's name is this function and object. */
static bool is_off_name(const char *off, const char *function, size_t len, const char *object)
{
	char name[STORE_REGION_OFF_NAME + 1];

	snprintf(name, sizeof(name), "%.*s@%s", (int)(len < INT32_MAX ? len : INT32_MAX), function,
		 text_basename(object));
	return !strcmp(off, name);
}

/* Returns whether a counter of the recording says that the probes of this function were taken off.
 * The counter has the name by which stackd found the function: the name of a clone, or the name in
 * the source. If several functions of the object have that name, the counter is about those that
 * have passes, but none after the counter's time. */
static bool is_of(const struct store_counter *of, const struct profile_symbol *symbol,
		  uint64_t last_ns)
{
	const size_t len = strlen(STORE_REGION_OFF);
	const char *off = of->name + len, *plain = profile_symbol_plain(symbol);

	if (strncmp(of->name, STORE_REGION_OFF, len) != 0)
		return false;
	return is_off_name(off, symbol->name, strlen(symbol->name), symbol->object) ||
	       is_off_name(off, symbol->name, region_rest_source_name(symbol->name),
			   symbol->object) ||
	       (last_ns && last_ns <= of->value &&
		is_off_name(off, plain, strlen(plain), symbol->object));
}

/* Finds out whether and when a function's probes were taken off. `last_ns` of the function must be
 * set. */
static void look(struct region_rest *rest, const struct profile_symbol *symbol,
		 struct region_rest_function *function)
{
	const struct store_tables *t = rest->tables;

	for (uint32_t i = 0; i < t->n_counters && !function->is_off; i++) {
		function->is_off = is_of(&t->counters[i], symbol, function->last_ns);
		/* The value is a time only if there is one recording, because the counters of
		 * several are added up. */
		if (function->is_off && t->n_recordings <= 1)
			function->off_ns = t->counters[i].value;
	}
	function->is_region |= function->is_off;
}

/* Gives the number of a function by its name in the source and its file. Returns 0 or an error. */
static int number(struct region_rest *rest, const struct profile_symbol *symbol,
		  uint32_t *ret_function)
{
	struct buf text = {0};
	int err;

	buf_put(&text, symbol->name, region_rest_source_name(symbol->name));
	text_put_raw(&text, "@");
	text_put_raw(&text, symbol->object);
	buf_put_u8(&text, '\0');
	err = text.failed ? -ENOMEM
			  : strings_intern(rest->texts, (const char *)text.data, ret_function);
	buf_free(&text);
	if (!err && *ret_function == rest->functions.count) {
		if (VEC_RESERVE(&rest->functions, 1))
			return -ENOMEM;
		rest->functions.items[rest->functions.count++] = (struct region_rest_function){0};
	}
	return err;
}

static int function_of(struct region_rest *rest, const struct profile_symbol *symbol,
		       uint32_t *ret_function)
{
	uint32_t known = int_map_find(&rest->by_symbol, symbol->number);
	int err;

	if (known != INT_MAP_NONE) {
		*ret_function = known;
		return 0;
	}
	err = number(rest, symbol, ret_function);
	if (!err)
		err = int_map_enter(&rest->by_symbol, symbol->number, *ret_function, ret_function);
	if (!err && rest->has_passes)
		look(rest, symbol, &rest->functions.items[*ret_function]);
	return err;
}

/* Finds the function whose code a node is in, not those inlined there. Returns 0 or -ENOMEM. */
static int function_at(struct region_rest *rest, uint32_t node, uint32_t *ret_function)
{
	const struct profile_frame *frames;
	uint32_t n;
	int err = names_location(rest->names, rest->tables->nodes[node].location, &frames, &n);

	return err ? err : function_of(rest, frames[0].symbol, ret_function);
}

/* --- passes ---------------------------------------------------------------------------------- */

static int take_pass(void *arg, const struct store_sample *record)
{
	struct region_rest *rest = arg;
	struct region_rest_function *function;
	uint32_t of, at;
	int err;

	if (record->node >= rest->tables->n_nodes)
		return -EBADMSG;
	if (!record->node)
		return 0;
	err = function_at(rest, record->node, &of);
	if (!err)
		err = int_map_enter_wide(&rest->by_thread, of, record->thread,
					 (uint32_t)rest->last.count, &at);
	if (err || VEC_RESERVE(&rest->last, 1))
		return err ? err : -ENOMEM;
	if (at == rest->last.count)
		rest->last.items[rest->last.count++] = 0;
	if (record->time_ns > rest->last.items[at])
		rest->last.items[at] = record->time_ns;
	function = &rest->functions.items[of];
	function->is_region = true;
	if (record->time_ns > function->last_ns)
		function->last_ns = record->time_ns;
	return 0;
}

/* Finds out, for all functions with passes, whether their probes were taken off. */
static void look_at_all(struct region_rest *rest)
{
	for (uint32_t i = 0; i < names_symbol_count(rest->names); i++) {
		uint32_t of = int_map_find(&rest->by_symbol, i);

		if (of != INT_MAP_NONE)
			look(rest, names_symbol_at(rest->names, i), &rest->functions.items[of]);
	}
	rest->has_passes = true;
}

static bool has_counter(const struct store_tables *tables)
{
	for (uint32_t i = 0; i < tables->n_counters; i++) {
		if (!strncmp(tables->counters[i].name, STORE_REGION_OFF, strlen(STORE_REGION_OFF)))
			return true;
	}
	return false;
}

int region_rest_new(struct store_reader *reader, const struct store_tables *tables,
		    struct names *names, struct region_rest **ret_rest)
{
	struct region_rest *rest;
	int err;

	*ret_rest = NULL;
	if (!has_counter(tables))
		return 0;
	rest = calloc(1, sizeof(*rest));
	if (!rest)
		return -ENOMEM;
	rest->reader = reader;
	rest->tables = tables;
	rest->names = names;
	err = strings_new(&rest->texts);
	if (!err)
		err = store_reader_all_records(reader, SERIES_REGION_TIME, take_pass, rest);
	if (err) {
		region_rest_free(rest);
		return err;
	}
	look_at_all(rest);
	*ret_rest = rest;
	return 0;
}

void region_rest_free(struct region_rest *rest)
{
	if (!rest)
		return;
	strings_free(rest->texts);
	int_map_fini(&rest->by_symbol);
	int_map_fini(&rest->by_thread);
	int_map_fini(&rest->first);
	free(rest->functions.items);
	free(rest->frames.items);
	free(rest->last.items);
	free(rest);
}

bool region_rest_is_estimated(const struct region_rest *rest)
{
	return rest && store_is_timed(&rest->tables->recording);
}

uint64_t region_rest_off_ns(const struct region_rest *rest, const struct profile_symbol *symbol)
{
	uint32_t of = rest ? int_map_find(&rest->by_symbol, symbol->number) : INT_MAP_NONE;

	if (of == INT_MAP_NONE || !rest->functions.items[of].is_off)
		return UINT64_MAX;
	return rest->functions.items[of].off_ns;
}

/* --- samples --------------------------------------------------------------------------------- */

/* The search for samples in regions that were taken off. */
struct region_rest_pass {
	struct region_rest *rest;
	region_rest_each each;
	void *arg;
	uint64_t *last_ns; /* by thread: time of the previous sample */
};

/* Lists the regions on a node's path. */
static int list_frames(struct region_rest *rest, uint32_t node, uint32_t *ret_first)
{
	uint32_t of, last = 0;

	*ret_first = 0;
	for (; node; node = rest->tables->nodes[node].parent) {
		int err = function_at(rest, node, &of);

		if (err)
			return err;
		if (!rest->functions.items[of].is_region)
			continue;
		if (VEC_RESERVE(&rest->frames, 1))
			return -ENOMEM;
		rest->frames.items[rest->frames.count++] =
			(struct region_rest_frame){.node = node, .function = of};
		if (last)
			rest->frames.items[last - 1].next = (uint32_t)rest->frames.count;
		else
			*ret_first = (uint32_t)rest->frames.count;
		last = (uint32_t)rest->frames.count;
	}
	return 0;
}

/* Returns whether the thread's passes through a region are no longer recorded at `time_ns`: that is
 * so after the thread's last pass, or if it has none, after the last pass of any thread. */
static bool is_uncounted(const struct region_rest *rest, uint32_t function, uint32_t thread,
			 uint64_t time_ns)
{
	const struct region_rest_function *f = &rest->functions.items[function];
	uint32_t at = int_map_find_wide(&rest->by_thread, function, thread);

	return f->is_off && time_ns > (at == INT_MAP_NONE ? f->last_ns : rest->last.items[at]);
}

/* Gives the index + 1 in `frames` of the innermost region on a sample's path; 0: there is none.
 * Returns 0 or an error. */
static int first_frame(struct region_rest *rest, uint32_t node, uint32_t *ret_first)
{
	int err;

	*ret_first = int_map_find(&rest->first, node);
	if (*ret_first != INT_MAP_NONE)
		return 0;
	err = list_frames(rest, node, ret_first);
	return err ? err : int_map_enter(&rest->first, node, *ret_first, ret_first);
}

/* Calls `each` with a sample for all regions on its path whose passes are not recorded at its
 * time. */
static int give(struct region_rest_pass *pass, const struct store_sample *sample, uint32_t first,
		const struct lasting *lasting)
{
	const struct region_rest *rest = pass->rest;
	bool is_counted = false;
	int err = 0;

	for (uint32_t at = first; at; at = rest->frames.items[at - 1].next)
		is_counted |= !is_uncounted(rest, rest->frames.items[at - 1].function,
					    sample->thread, sample->time_ns);
	for (uint32_t at = first; at && !err; at = rest->frames.items[at - 1].next) {
		const struct region_rest_frame *frame = &rest->frames.items[at - 1];
		struct store_sample record = *sample;

		record.node = frame->node;
		if (is_uncounted(rest, frame->function, sample->thread, sample->time_ns))
			err = pass->each(pass->arg, &record, lasting, at == first && !is_counted);
	}
	return err;
}

static int take_sample(void *arg, const struct store_sample *sample)
{
	struct region_rest_pass *pass = arg;
	const struct store_tables *t = pass->rest->tables;
	struct span span = {.end_ns = sample->time_ns};
	struct lasting lasting = {.spans = &span, .n = 1, .is_estimate = true, .tables = t};
	uint64_t before;
	uint32_t first;
	int err;

	if (sample->thread >= t->n_threads || sample->node >= t->n_nodes)
		return -EBADMSG;
	before = pass->last_ns[sample->thread];
	pass->last_ns[sample->thread] = sample->time_ns;
	err = first_frame(pass->rest, sample->node, &first);
	if (err || !first)
		return err;
	span.begin_ns = sample->period < span.end_ns ? span.end_ns - sample->period : 0;
	if (before > span.begin_ns && before <= span.end_ns)
		span.begin_ns = before;
	lasting.ns = span.end_ns - span.begin_ns;
	lasting.variance = (double)sample->period * (double)sample->period;
	return give(pass, sample, first, &lasting);
}

int region_rest_records(struct region_rest *rest, region_rest_each each, void *arg)
{
	struct region_rest_pass pass = {.rest = rest, .each = each, .arg = arg};
	int err;

	if (!region_rest_is_estimated(rest))
		return 0;
	pass.last_ns = calloc((size_t)rest->tables->n_threads + 1, sizeof(*pass.last_ns));
	err = pass.last_ns ? store_reader_all_records(rest->reader, SERIES_CPU, take_sample, &pass)
			   : -ENOMEM;
	free(pass.last_ns);
	return err;
}
