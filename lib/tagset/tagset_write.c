/* SPDX-License-Identifier: MIT */
/*
 * Writing a set as a tag export; see tagset.h.
 *
 * The order of the file, and with it every number in it, follows from the content alone: each kind
 * of thing is sorted by what it is, in terms of things that were sorted before it. Paths are sorted
 * by depth first, so a parent is named before its children.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tagset/tagset_state.h"
#include "base/text.h"

/* The numbers of one kind of thing in the file's order, and the other way round. */
struct tagset_order {
	uint32_t *items, *position;
};

struct tagset_writer {
	const struct tagset *set;
	FILE *out;
	struct buf line;
	struct tagset_order recordings, objects, locations, nodes, processes, samples;
	uint32_t *location_dup, *node_dup; /* by number */
	uint32_t cpu;			   /* TAGSET_CPU as text */
};

static int compare_text(const struct tagset_writer *w, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(tagset_escaped(w->set, a), tagset_escaped(w->set, b));
}

#define TAGSET_COMPARE(a, b)                                                                       \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

static int compare_recordings(const void *x, const void *y, void *arg)
{
	const struct tagset_writer *w = arg;
	const struct tagset_recording *a = &w->set->recordings.items[*(const uint32_t *)x];
	const struct tagset_recording *b = &w->set->recordings.items[*(const uint32_t *)y];

	TAGSET_COMPARE(a->start_unix_ns, b->start_unix_ns);
	return compare_text(w, a->fields, b->fields);
}

static int compare_objects(const void *x, const void *y, void *arg)
{
	const struct tagset_writer *w = arg;

	return compare_text(w, w->set->objects.items[*(const uint32_t *)x].identity,
			    w->set->objects.items[*(const uint32_t *)y].identity);
}

static int compare_locations(const void *x, const void *y, void *arg)
{
	const struct tagset_writer *w = arg;
	const struct tagset_location *a = &w->set->locations.items[*(const uint32_t *)x];
	const struct tagset_location *b = &w->set->locations.items[*(const uint32_t *)y];

	TAGSET_COMPARE(a->id, b->id);
	TAGSET_COMPARE(w->objects.position[a->object], w->objects.position[b->object]);
	return compare_text(w, a->offset, b->offset);
}

/* Of one depth: their parents are in order. */
static int compare_nodes(const void *x, const void *y, void *arg)
{
	const struct tagset_writer *w = arg;
	const struct tagset_node *a = &w->set->nodes.items[*(const uint32_t *)x];
	const struct tagset_node *b = &w->set->nodes.items[*(const uint32_t *)y];

	TAGSET_COMPARE(a->tag, b->tag);
	TAGSET_COMPARE(w->nodes.position[a->parent], w->nodes.position[b->parent]);
	TAGSET_COMPARE(w->locations.position[a->location], w->locations.position[b->location]);
	return 0;
}

static int compare_processes(const void *x, const void *y, void *arg)
{
	const struct tagset_writer *w = arg;
	const struct tagset_process *a = &w->set->processes.items[*(const uint32_t *)x];
	const struct tagset_process *b = &w->set->processes.items[*(const uint32_t *)y];

	TAGSET_COMPARE(w->recordings.position[a->recording], w->recordings.position[b->recording]);
	return compare_text(w, a->fields, b->fields);
}

static int compare_samples(const void *x, const void *y, void *arg)
{
	const struct tagset_writer *w = arg;
	const struct tagset_sample *a = &w->set->samples.items[*(const uint32_t *)x];
	const struct tagset_sample *b = &w->set->samples.items[*(const uint32_t *)y];
	int order = (a->metric != w->cpu) - (b->metric != w->cpu);

	if (order)
		return order;
	TAGSET_COMPARE(w->nodes.position[a->node], w->nodes.position[b->node]);
	TAGSET_COMPARE(w->processes.position[a->process], w->processes.position[b->process]);
	order = compare_text(w, a->comm, b->comm);
	if (!order)
		order = compare_text(w, a->remainder, b->remainder);
	return order ? order : compare_text(w, a->metric, b->metric);
}

static int order_new(struct tagset_order *order, size_t n)
{
	order->items = calloc(n + 1, sizeof(*order->items));
	order->position = calloc(n + 1, sizeof(*order->position));
	if (!order->items || !order->position)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order->items[i] = (uint32_t)i;
	return 0;
}

static void order_part(struct tagset_writer *w, struct tagset_order *order, size_t first,
		       size_t end, int (*compare)(const void *, const void *, void *))
{
	qsort_r(order->items + first, end - first, sizeof(*order->items), compare, w);
	for (size_t i = first; i < end; i++)
		order->position[order->items[i]] = (uint32_t)i;
}

static int sort(struct tagset_writer *w, struct tagset_order *order, size_t n,
		int (*compare)(const void *, const void *, void *))
{
	int err = order_new(order, n);

	if (err == 0)
		order_part(w, order, 0, n, compare);
	return err;
}

/* By depth (counting sort), then each depth by itself. */
static int sort_nodes(struct tagset_writer *w)
{
	const struct tagset_node *nodes = w->set->nodes.items;
	size_t n = w->set->nodes.count, deepest = 0, *first;
	int err = order_new(&w->nodes, n);

	if (err < 0)
		return err;
	for (size_t i = 0; i < n; i++)
		deepest = nodes[i].depth > deepest ? nodes[i].depth : deepest;
	first = calloc(deepest + 2, sizeof(*first));
	if (!first)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		first[nodes[i].depth + 1]++;
	for (size_t d = 0; d <= deepest; d++)
		first[d + 1] += first[d];
	for (size_t i = 0; i < n; i++)
		w->nodes.items[first[nodes[i].depth]++] = (uint32_t)i;
	for (size_t d = 0; d <= deepest; d++)
		order_part(w, &w->nodes, d ? first[d - 1] : 0, first[d], compare_nodes);
	free(first);
	return 0;
}

/* Numbers the items of equal ids, in the file's order. */
static int duplicates(const struct tagset_order *order, size_t n,
		      uint64_t (*id_of)(const struct tagset *set, uint32_t number),
		      const struct tagset *set, uint32_t *ret_dup)
{
	struct int_map first = {0};
	uint32_t *seen = calloc(n + 1, sizeof(*seen));
	int err = seen ? 0 : -ENOMEM;

	for (size_t i = 0; err == 0 && i < n; i++) {
		uint32_t at;

		err = int_map_enter(&first, id_of(set, order->items[i]), (uint32_t)i, &at);
		if (err == 0)
			ret_dup[order->items[i]] = seen[at]++;
	}
	int_map_fini(&first);
	free(seen);
	return err;
}

static uint64_t tagset_location_id(const struct tagset *set, uint32_t number)
{
	return set->locations.items[number].id;
}

static uint64_t node_tag(const struct tagset *set, uint32_t number)
{
	return set->nodes.items[number].tag;
}

static int sort_all(struct tagset_writer *w)
{
	const struct tagset *set = w->set;
	int err = sort(w, &w->recordings, set->recordings.count, compare_recordings);

	if (err == 0)
		err = sort(w, &w->objects, set->objects.count, compare_objects);
	if (err == 0)
		err = sort(w, &w->locations, set->locations.count, compare_locations);
	if (err == 0)
		err = sort_nodes(w);
	if (err == 0)
		err = sort(w, &w->processes, set->processes.count, compare_processes);
	if (err == 0)
		err = sort(w, &w->samples, set->samples.count, compare_samples);
	w->location_dup = calloc(set->locations.count + 1, sizeof(*w->location_dup));
	w->node_dup = calloc(set->nodes.count + 1, sizeof(*w->node_dup));
	if (!w->location_dup || !w->node_dup)
		return -ENOMEM;
	if (err == 0)
		err = duplicates(&w->locations, set->locations.count, tagset_location_id, set,
				 w->location_dup);
	if (err == 0)
		err = duplicates(&w->nodes, set->nodes.count, node_tag, set, w->node_dup);
	return err;
}

/* --- lines --------------------------------------------------------------------------------- */

static void tagset_put(struct tagset_writer *w, uint32_t text)
{
	text_put_raw(&w->line, "\t");
	text_put_raw(&w->line, tagset_escaped(w->set, text));
}

static void put_id(struct tagset_writer *w, uint64_t id, uint32_t dup)
{
	text_printf(&w->line, "\t%016" PRIx64, id);
	if (dup)
		text_printf(&w->line, ".%u", dup);
}

static void put_node(struct tagset_writer *w, uint32_t node)
{
	put_id(w, w->set->nodes.items[node].tag, w->node_dup[node]);
}

static void put_recording(struct tagset_writer *w, uint32_t number)
{
	text_put_raw(&w->line, "recording");
	tagset_put(w, w->set->recordings.items[number].fields);
}

static void put_object(struct tagset_writer *w, uint32_t number)
{
	text_printf(&w->line, "object\t%u", w->objects.position[number]);
	tagset_put(w, w->set->objects.items[number].identity);
	tagset_put(w, w->set->objects.items[number].path);
}

/* The names are four fields, then three for each inlined function. */
static void put_location(struct tagset_writer *w, uint32_t number)
{
	const struct tagset_location *l = &w->set->locations.items[number];
	const char *names = tagset_escaped(w->set, l->names);

	text_put_raw(&w->line, "location");
	put_id(w, l->id, w->location_dup[number]);
	text_printf(&w->line, "\t%u", w->objects.position[l->object]);
	tagset_put(w, l->offset);
	for (unsigned i = 0;; i++) {
		size_t len = strcspn(names, "\t");

		if (i > 3 && i % 3 == 1) {
			text_put_raw(&w->line, "\ninlined");
			put_id(w, l->id, w->location_dup[number]);
		}
		text_put_raw(&w->line, "\t");
		buf_put(&w->line, names, len);
		if (!names[len])
			break;
		names += len + 1;
	}
}

static void put_tag(struct tagset_writer *w, uint32_t number)
{
	const struct tagset_node *n = &w->set->nodes.items[number];

	if (!number)
		return;
	text_put_raw(&w->line, "tag");
	put_node(w, number);
	put_node(w, n->parent);
	put_id(w, w->set->locations.items[n->location].id, w->location_dup[n->location]);
}

static void put_process(struct tagset_writer *w, uint32_t number)
{
	const struct tagset_process *p = &w->set->processes.items[number];

	text_printf(&w->line, "process\t%u", w->processes.position[number]);
	tagset_put(w, p->fields);
	text_printf(&w->line, "\t%u", w->recordings.position[p->recording]);
}

static void put_sample(struct tagset_writer *w, uint32_t number)
{
	const struct tagset_sample *s = &w->set->samples.items[number];

	text_put_raw(&w->line, s->metric == w->cpu ? "sample" : "value");
	put_node(w, s->node);
	text_printf(&w->line, "\t%u", w->processes.position[s->process]);
	tagset_put(w, s->comm);
	if (s->metric != w->cpu)
		tagset_put(w, s->metric);
	text_printf(&w->line, "\t%" PRIu64 "\t%" PRIu64, s->count, s->weight);
	tagset_put(w, s->remainder);
}

static int put_all(struct tagset_writer *w, const struct tagset_order *order, size_t n,
		   void (*put)(struct tagset_writer *w, uint32_t number))
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < n; i++) {
		put(w, order->items[i]);
		if (!w->line.len)
			continue;
		text_put_raw(&w->line, "\n");
		err = text_flush(&w->line, w->out);
	}
	return err;
}

static int tagset_write_lines(struct tagset_writer *w)
{
	const struct tagset *set = w->set;
	int err;

	text_printf(&w->line, "stackd-tags %d\n", TAGSET_VERSION);
	err = text_flush(&w->line, w->out);
	if (err == 0)
		err = put_all(w, &w->recordings, set->recordings.count, put_recording);
	if (err == 0)
		err = put_all(w, &w->objects, set->objects.count, put_object);
	if (err == 0)
		err = put_all(w, &w->locations, set->locations.count, put_location);
	if (err == 0)
		err = put_all(w, &w->nodes, set->nodes.count, put_tag);
	if (err == 0)
		err = put_all(w, &w->processes, set->processes.count, put_process);
	if (err == 0)
		err = put_all(w, &w->samples, set->samples.count, put_sample);
	if (err == 0 && (fputs("end\n", w->out) < 0 || fflush(w->out) != 0))
		err = -EIO;
	return err;
}

static void order_release(struct tagset_order *order)
{
	free(order->items);
	free(order->position);
}

int tagset_write(const struct tagset *set, FILE *out)
{
	struct tagset_writer w = {.set = set, .out = out};
	int err = strings_intern(set->strings, TAGSET_CPU, &w.cpu);

	if (err == 0)
		err = sort_all(&w);
	if (err == 0)
		err = tagset_write_lines(&w);
	order_release(&w.recordings);
	order_release(&w.objects);
	order_release(&w.locations);
	order_release(&w.nodes);
	order_release(&w.processes);
	order_release(&w.samples);
	free(w.location_dup);
	free(w.node_dup);
	buf_free(&w.line);
	return err;
}
