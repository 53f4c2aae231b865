/* SPDX-License-Identifier: MIT */
/*
 * Writes the exchange format: objects, locations, functions, tags and samples, as lines of fields
 * separated by tabs; docs/TAGS.md defines it.
 *
 * Only what the exported samples need is written, so the export of one process has nothing about
 * others. Each thing is defined before a line refers to it, so a reader needs one pass.
 *
 * A profile of samples is written with the values of all other metrics that the recording has; a
 * profile of another metric is written by itself. A metric that counts records is replaced by the
 * metric that adds up the records' values, because its lines have the number of records as well.
 *
 * Ids are hashes, so two things can have the same id. The first (lowest number) has the plain id,
 * the next one has ".1" after it, and so on. So a reader that takes the field as a word keeps
 * different things apart, and a reader that computes ids sees where two things collide.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "model/profile_ranks.h"
#include "model/profile_variance.h"
#include "proc/object_id.h"
#include "base/int_map.h"
#include "base/text.h"
#include "stack/location.h"
#include "stack/end_reason.h"

/* The variances of a metric are a metric with its name and this suffix. Their unit is
 * EXPORT_TAGS_VARIANCE_UNIT times the square of the metric's unit. */
#define EXPORT_TAGS_VARIANCE	  ".variance"
#define EXPORT_TAGS_VARIANCE_UNIT 1048576.0

/* The sums of a metric that are written besides the samples. */
struct tags_values {
	struct profile_filter filter;
	struct profile *profile;
};

struct export_tags {
	struct profile *profile;
	bool has_samples; /* `profile` is one of samples, not of another metric */
	struct tags_values values[METRIC_COUNT];
	size_t n_values;
	const struct store_tables *t;
	const uint64_t *tags; /* by node */
	FILE *out;
	struct buf line;
	bool *objects, *locations, *nodes, *processes; /* by number: an exported sample needs it */
	uint32_t *location_dup, *node_dup; /* how many earlier ones have the same id; 0: none */
};

/* Sets ret_dup[i] to the number of elements before i that have the same id as i. Only elements with
 * needed[i] count. Returns 0 or -ENOMEM. */
static int tags_number(uint64_t (*id_of)(const struct export_tags *x, uint32_t i),
		       const struct export_tags *x, const bool *needed, uint32_t n,
		       uint32_t *ret_dup)
{
	/* at the number of the first element with an id: how many elements had that id so far */
	uint32_t *seen = calloc((size_t)n + 1, sizeof(*seen));
	struct int_map first = {0};
	int err = seen ? 0 : -ENOMEM;

	for (uint32_t i = 0; err == 0 && i < n; i++) {
		uint32_t at;

		if (!needed[i])
			continue;
		err = int_map_enter(&first, id_of(x, i), i, &at);
		if (err == 0)
			ret_dup[i] = seen[at]++;
	}
	int_map_fini(&first);
	free(seen);
	return err;
}

static uint64_t tags_location_id(const struct export_tags *x, uint32_t i)
{
	const struct store_location *location = &x->t->locations[i];

	return location_id(x->t->objects[location->object].file_id, location->offset);
}

static uint64_t tags_node_id(const struct export_tags *x, uint32_t i)
{
	return x->tags[i];
}

static int tags_alloc(struct export_tags *x)
{
	const struct store_tables *t = x->t;

	x->objects = calloc((size_t)t->n_objects + 1, sizeof(*x->objects));
	x->locations = calloc((size_t)t->n_locations + 1, sizeof(*x->locations));
	x->nodes = calloc((size_t)t->n_nodes + 1, sizeof(*x->nodes));
	x->processes = calloc((size_t)t->n_processes + 1, sizeof(*x->processes));
	x->location_dup = calloc((size_t)t->n_locations + 1, sizeof(*x->location_dup));
	x->node_dup = calloc((size_t)t->n_nodes + 1, sizeof(*x->node_dup));
	if (!x->objects || !x->locations || !x->nodes || !x->processes || !x->location_dup ||
	    !x->node_dup)
		return -ENOMEM;
	return profile_tags(x->profile, &x->tags);
}

/* Sums a metric up into the next element of x->values. Its paths are nodes of the tables of
 * x->profile, too. Returns 0 or an error of profile_new(). */
static int tags_sum_up(struct export_tags *x, enum metric metric)
{
	struct tags_values *v = &x->values[x->n_values];
	int err;

	v->filter = *profile_filter(x->profile);
	v->filter.metric = metric;
	err = profile_new(profile_reader(x->profile), &v->filter, &v->profile);
	x->n_values += v->profile != NULL;
	return err == -ENODATA ? 0 : err;
}

static int tags_sum_all_up(struct export_tags *x)
{
	uint64_t series;
	int err = store_reader_series(profile_reader(x->profile), &series);

	if (!x->has_samples)
		return tags_sum_up(x, metric_summed(profile_filter(x->profile)->metric));
	for (unsigned i = METRIC_CPU + 1; i < METRIC_COUNT && err == 0; i++) {
		if (metric_summed(i) == i &&
		    metric_is_of(i, series, store_is_timed(&x->t->recording)))
			err = tags_sum_up(x, i);
	}
	return err;
}

static void tags_mark_entries(struct export_tags *x, const struct profile *profile)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);

	for (size_t i = 0; i < n; i++) {
		x->nodes[entries[i].node] = true;
		x->processes[x->t->threads[entries[i].thread].process] = true;
	}
}

/* Marks the objects, locations, nodes and processes that the entries need. A node's parent has a
 * smaller number, so one pass from the last node to the first marks all ancestors. */
static int tags_mark(struct export_tags *x)
{
	int err;

	if (x->has_samples)
		tags_mark_entries(x, x->profile);
	for (size_t i = 0; i < x->n_values; i++)
		tags_mark_entries(x, x->values[i].profile);
	for (uint32_t i = x->t->n_nodes; i-- > 1;) {
		if (!x->nodes[i])
			continue;
		x->nodes[x->t->nodes[i].parent] = true;
		x->locations[x->t->nodes[i].location] = true;
		x->objects[x->t->locations[x->t->nodes[i].location].object] = true;
	}
	x->nodes[0] = true;
	err = tags_number(tags_location_id, x, x->locations, x->t->n_locations, x->location_dup);
	if (err == 0)
		err = tags_number(tags_node_id, x, x->nodes, x->t->n_nodes, x->node_dup);
	return err;
}

static void tags_text(struct export_tags *x, const char *s)
{
	text_put_raw(&x->line, "\t");
	text_put(&x->line, s ? s : "", "\\");
}

static void tags_id(struct export_tags *x, uint64_t id, uint32_t dup)
{
	text_printf(&x->line, "\t%016" PRIx64, id);
	if (dup)
		text_printf(&x->line, ".%u", dup);
}

static int tags_end(struct export_tags *x)
{
	text_put_raw(&x->line, "\n");
	return text_flush(&x->line, x->out);
}

static int tags_recording(struct export_tags *x)
{
	const struct store_recording *recording = &x->t->recording;

	text_printf(&x->line, "stackd-tags 1\nrecording\t%" PRId64 "\t%" PRIu64, recording->id,
		    recording->start_unix_ns);
	tags_text(x, recording->host);
	tags_text(x, recording->kernel);
	tags_text(x, recording->event);
	return tags_end(x);
}

static int tags_objects(struct export_tags *x)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < x->t->n_objects; i++) {
		const struct store_object *object = &x->t->objects[i];

		if (!x->objects[i])
			continue;
		text_printf(&x->line, "object\t%u\t%s\t%016" PRIx64 "\t", i,
			    object_kind_name(object->kind), object->file_id);
		for (size_t k = 0; k < object->build_id_len; k++)
			text_printf(&x->line, "%02x", object->build_id[k]);
		tags_text(x, object->path);
		if (object->layout)
			text_printf(&x->line, "\t%016" PRIx64, object->layout);
		err = tags_end(x);
	}
	return err;
}

/* Returns the start of the function that encloses a location; 0 if it is not known. */
static uint64_t tags_start(const struct export_tags *x, uint32_t location)
{
	const struct store_tables *t = x->t;

	for (uint32_t i = t->line_first[location]; i < t->line_first[location + 1]; i++)
		if (!t->lines[i].is_inlined)
			return t->lines[i].function_start;
	return 0;
}

/* Writes a location's line, then a line for each function inlined there, outermost first. Returns 0
 * or an error. */
static int tags_location(struct export_tags *x, uint32_t number)
{
	const struct store_location *location = &x->t->locations[number];
	const uint64_t start = tags_start(x, number);
	const struct profile_frame *frames;
	size_t count;
	int err = 0;

	frames = profile_location_frames(x->profile, number, &count);
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++) {
		text_put_raw(&x->line, i ? "inlined" : "location");
		tags_id(x, tags_location_id(x, number), x->location_dup[number]);
		if (i == 0)
			text_printf(&x->line, "\t%u\t%" PRIx64 "\t%s", location->object,
				    location->offset, location->is_return ? "call" : "pc");
		tags_text(x, frames[i].symbol->is_unnamed ? ""
							  : profile_symbol_plain(frames[i].symbol));
		tags_text(x, frames[i].file);
		text_printf(&x->line, "\t%u", frames[i].line);
		if (i == 0 && start)
			text_printf(&x->line, "\t%" PRIx64, start);
		err = tags_end(x);
	}
	return err;
}

static int tags_nodes(struct export_tags *x)
{
	int err = 0;

	for (uint32_t i = 1; err == 0 && i < x->t->n_nodes; i++) {
		const struct store_node *node = &x->t->nodes[i];

		if (!x->nodes[i])
			continue;
		text_put_raw(&x->line, "tag");
		tags_id(x, x->tags[i], x->node_dup[i]);
		tags_id(x, x->tags[node->parent], x->node_dup[node->parent]);
		tags_id(x, tags_location_id(x, node->location), x->location_dup[node->location]);
		err = tags_end(x);
	}
	return err;
}

/* Reads the ranks of processes in their MPI jobs into `ranks`, which has a zeroed element for each
 * process, and writes a line for each needed process with a rank. Returns 0 or an error. */
static int tags_ranks(struct export_tags *x, uint64_t *ranks)
{
	int err = profile_ranks_read(x->profile, ranks);

	for (uint32_t i = 0; err == 0 && i < x->t->n_processes; i++) {
		if (!x->processes[i] || !(uint32_t)ranks[i])
			continue;
		text_printf(&x->line, "rank\t%u\t%" PRIu32 "\t%" PRIu64, i, (uint32_t)ranks[i] - 1,
			    ranks[i] >> 32);
		err = tags_end(x);
	}
	return err;
}

static int tags_processes(struct export_tags *x)
{
	uint64_t *ranks = calloc((size_t)x->t->n_processes + 1, sizeof(*ranks));
	int err = ranks ? 0 : -ENOMEM;

	for (uint32_t i = 0; err == 0 && i < x->t->n_processes; i++) {
		const struct store_process *process = &x->t->processes[i];

		if (!x->processes[i])
			continue;
		text_printf(&x->line, "process\t%u\t%d\t%d", i, process->pid, process->parent);
		tags_text(x, process->comm);
		tags_text(x, process->exe);
		err = tags_end(x);
	}
	if (err == 0)
		err = tags_ranks(x, ranks);
	free(ranks);
	return err;
}

/* Returns a variance in the unit of the format, rounded up, so that only an exact value gets the
 * variance 0. */
static uint64_t tags_variance(double variance)
{
	const double units = ceil(variance / EXPORT_TAGS_VARIANCE_UNIT);

	return units < 0x1p62 ? (uint64_t)units : UINT64_C(1) << 62;
}

/* Writes the entries of a profile as lines "sample", or "value" for another metric. If `variances`
 * is not NULL, writes the variances instead of the values. Returns 0 or an error. */
static int tags_amounts(struct export_tags *x, const struct profile *profile,
			const double *variances)
{
	const struct metric_info *metric = metric_info(profile_filter(profile)->metric);
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	int err = 0;

	for (size_t i = 0; err == 0 && i < n; i++) {
		const struct profile_entry *e = &entries[i];
		const struct store_thread *thread = &x->t->threads[e->thread];

		text_put_raw(&x->line, e->is_valued ? "value" : "sample");
		tags_id(x, x->tags[e->node], x->node_dup[e->node]);
		text_printf(&x->line, "\t%u", thread->process);
		tags_text(x, thread->comm);
		if (e->is_valued)
			tags_text(x, metric->name);
		if (variances)
			text_put_raw(&x->line, EXPORT_TAGS_VARIANCE);
		text_printf(&x->line, "\t%" PRIu64 "\t%" PRIu64 "\t%d\t%s", e->samples,
			    variances ? tags_variance(variances[i]) : e->weight, thread->tid,
			    end_reason_name(e->end_reason));
		text_printf(&x->line, "\t%s\t%u", profile_quality_name(e->quality),
			    origin_inferred(profile_origin(profile, e->origin)));
		err = tags_end(x);
	}
	return err;
}

/* Writes the values of a metric other than samples, and their variances if they are known. */
static int tags_values(struct export_tags *x, struct profile *profile)
{
	size_t n;
	double *variances;
	int err = tags_amounts(x, profile, NULL);

	if (err || !profile_has_variances(profile))
		return err;
	profile_entries(profile, &n);
	variances = calloc(n + 1, sizeof(*variances));
	err = variances ? profile_variances(profile, variances) : -ENOMEM;
	if (err == 0)
		err = tags_amounts(x, profile, variances);
	free(variances);
	return err;
}

static int tags_write(struct export_tags *x)
{
	int err = tags_recording(x);

	if (err == 0)
		err = tags_objects(x);
	for (uint32_t i = 0; err == 0 && i < x->t->n_locations; i++)
		if (x->locations[i])
			err = tags_location(x, i);
	if (err == 0)
		err = tags_nodes(x);
	if (err == 0)
		err = tags_processes(x);
	if (err == 0 && x->has_samples)
		err = tags_amounts(x, x->profile, NULL);
	for (size_t i = 0; err == 0 && i < x->n_values; i++)
		err = tags_values(x, x->values[i].profile);
	if (err == 0 && fputs("end\n", x->out) < 0)
		err = -EIO;
	if (err == 0 && fflush(x->out) != 0)
		err = -EIO;
	return err;
}

int export_tags(struct profile *profile, FILE *out)
{
	struct export_tags x = {
		.profile = profile,
		.t = profile_tables(profile),
		.has_samples = profile_filter(profile)->metric == METRIC_CPU,
		.out = out,
	};
	int err = tags_alloc(&x);

	if (err == 0)
		err = tags_sum_all_up(&x);
	if (err == 0)
		err = tags_mark(&x);
	if (err == 0)
		err = tags_write(&x);
	for (size_t i = 0; i < x.n_values; i++)
		profile_free(x.values[i].profile);
	free(x.objects);
	free(x.locations);
	free(x.nodes);
	free(x.processes);
	free(x.location_dup);
	free(x.node_dup);
	buf_free(&x.line);
	return err;
}
