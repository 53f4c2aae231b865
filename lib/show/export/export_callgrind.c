/* SPDX-License-Identifier: MIT */
/*
 * The callgrind format, for KCachegrind and callgrind_annotate: functions with their own cost by
 * line, and calls with the cost of what was called. The cost is samples, or the values of another
 * metric. The metric's name is then the event's name, with '_' for '.', which callgrind does not
 * allow in names.
 *
 * callgrind_annotate adds up the calls of a function to get its inclusive cost. A sample must count
 * once for a function, however often the function is in the path. So it counts only for the call
 * that leads to the function's first occurrence from the root, and every path begins with a call
 * from "[root]":
 *
 *   main ─► f ─► g ─► f ─► h      counts for [root] ─► main, main ─► f, f ─► g, f ─► h; not g ─► f
 *
 * Own and inclusive cost are then the report's self and total for every function.
 *
 * Costs have the linked address of their instruction, by which KCachegrind puts them beside the
 * output of objdump. Address 0, which KCachegrind shows at no instruction, stands for one that is
 * not known. The code of an inlined function is at addresses of the function that it is inlined
 * into, which has a "call" of it there.
 *
 * The format does not distinguish processes; export them one by one (--pid) if that matters.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export/stack_table.h"
#include "report/report_header.h"
#include "base/strings.h"
#include "base/text.h"
#include "sym/code_address.h"

#define CALLGRIND_DRAIN 65536 /* bytes after which the buffer is written out */

#define CALLGRIND_ROOT UINT32_MAX /* stands for "[root]" instead of a symbol */

struct callgrind_position {
	uint64_t address; /* vaddr; 0: not known */
	uint32_t line;
};

/* The cost of one function at one instruction and source line: its own samples; or with a callee,
 * the samples of its calls to the callee from there. */
struct callgrind_cost {
	uint32_t symbol;
	/* the called symbol; STACK_TABLE_NONE: this is the function's own cost */
	uint32_t callee;
	/* `to` is in the callee: where it starts, and the line that it has reached */
	struct callgrind_position at, to;
	uint64_t samples;
};

struct callgrind {
	struct profile *profile;
	FILE *out;
	struct stack_table *table;
	const struct stack_table_stack *stacks;
	const struct stack_table_frame *frames;
	uint32_t n_stacks, n_symbols;
	uint64_t *self, *total; /* by stack: the samples that end there; those in it and above */
	bool *is_there;		/* by symbol: `costs` has an entry for it */
	/* by stack: samples of the call from the parent stack; 0 if that call is recursive, so that
	 * it does not count */
	uint64_t *call;
	struct callgrind_cost *costs;
	size_t n_costs;
	struct code_address *addresses; /* by location */
	bool has_addresses;		/* some address is known */
	uint32_t *file;			/* by symbol: the number of its source file */
	/* by symbol and by file: whether the name has been written beside the number */
	bool *is_named, *is_file_named;
	bool *is_object_named; /* by the object's number: its name has been written */
	struct strings *files, *objects;
	struct buf b;
};

static const struct profile_frame *callgrind_frame(const struct callgrind *c, uint32_t stack)
{
	return &c->frames[c->stacks[stack].frame].frame;
}

static void callgrind_sum(struct callgrind *c)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(c->profile, &n);

	for (size_t i = 0; i < n; i++)
		c->self[stack_table_find(c->table, entries[i].node, entries[i].end_reason,
					 entries[i].origin)] += profile_entry_amount(&entries[i]);
	for (uint32_t i = c->n_stacks; i-- > 0;) {
		c->total[i] += c->self[i];
		if (c->stacks[i].parent != STACK_TABLE_NONE)
			c->total[c->stacks[i].parent] += c->total[i];
	}
}

/* --- recursion ------------------------------------------------------------------------------- */

/* The state of a walk through the tree of paths. */
struct callgrind_walk {
	uint32_t *first_child, *next; /* STACK_TABLE_NONE ends */
	uint32_t *path;		      /* by depth: the stacks from the root to the current one */
	uint32_t *on_path;	      /* by symbol: how often it occurs in `path` */
	uint32_t depth;
};

static void callgrind_enter(struct callgrind *c, struct callgrind_walk *walk, uint32_t stack)
{
	uint32_t symbol = callgrind_frame(c, stack)->symbol->number;

	if (!walk->on_path[symbol]++)
		c->call[stack] = c->total[stack];
	walk->path[walk->depth++] = stack;
}

static void callgrind_leave(struct callgrind *c, struct callgrind_walk *walk)
{
	uint32_t stack = walk->path[--walk->depth];

	walk->on_path[callgrind_frame(c, stack)->symbol->number]--;
}

/* Walks depth first through all stacks on top of `root`, `root` included, and sets c->call of
 * each. */
static void callgrind_go(struct callgrind *c, struct callgrind_walk *walk, uint32_t root)
{
	uint32_t at = root;

	while (at != STACK_TABLE_NONE) {
		callgrind_enter(c, walk, at);
		at = walk->first_child[at];
		while (at == STACK_TABLE_NONE && walk->depth) {
			at = walk->depth > 1 ? walk->next[walk->path[walk->depth - 1]]
					     : STACK_TABLE_NONE;
			callgrind_leave(c, walk);
		}
	}
}

static int callgrind_depth(const struct callgrind *c, uint32_t *ret_max)
{
	uint32_t *depth = calloc((size_t)c->n_stacks + 1, sizeof(*depth));

	if (!depth)
		return -ENOMEM;
	*ret_max = 0;
	for (uint32_t i = 0; i < c->n_stacks; i++) {
		uint32_t parent = c->stacks[i].parent;

		depth[i] = parent == STACK_TABLE_NONE ? 1 : depth[parent] + 1;
		if (depth[i] > *ret_max)
			*ret_max = depth[i];
	}
	free(depth);
	return 0;
}

static int callgrind_fold_recursion(struct callgrind *c)
{
	struct callgrind_walk walk = {0};
	uint32_t max = 0;
	int err = callgrind_depth(c, &max);

	walk.first_child = malloc(((size_t)c->n_stacks + 1) * sizeof(uint32_t));
	walk.next = malloc(((size_t)c->n_stacks + 1) * sizeof(uint32_t));
	walk.path = calloc((size_t)max + 1, sizeof(uint32_t));
	walk.on_path = calloc((size_t)c->n_symbols + 1, sizeof(uint32_t));
	if (!walk.first_child || !walk.next || !walk.path || !walk.on_path)
		err = -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < c->n_stacks; i++)
		walk.first_child[i] = walk.next[i] = STACK_TABLE_NONE;
	for (uint32_t i = 0; err == 0 && i < c->n_stacks; i++) {
		uint32_t parent = c->stacks[i].parent;

		if (parent == STACK_TABLE_NONE)
			continue;
		walk.next[i] = walk.first_child[parent];
		walk.first_child[parent] = i;
	}
	for (uint32_t i = 0; err == 0 && i < c->n_stacks; i++)
		if (c->stacks[i].parent == STACK_TABLE_NONE)
			callgrind_go(c, &walk, i);
	free(walk.first_child);
	free(walk.next);
	free(walk.path);
	free(walk.on_path);
	return err;
}

/* --- costs by function ----------------------------------------------------------------------- */

static int callgrind_compare_positions(const struct callgrind_position *x,
				       const struct callgrind_position *y)
{
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static int callgrind_compare(const void *a, const void *b)
{
	const struct callgrind_cost *x = a, *y = b;
	int order;

	if (x->symbol != y->symbol)
		return x->symbol < y->symbol ? -1 : 1;
	if (x->callee != y->callee) /* own costs, which have none, come first */
		return x->callee + 1 < y->callee + 1 ? -1 : 1;
	order = callgrind_compare_positions(&x->at, &y->at);
	return order ? order : callgrind_compare_positions(&x->to, &y->to);
}

static uint32_t callgrind_file(struct callgrind *c, const struct profile_frame *frame, int *err)
{
	uint32_t number = 0;
	int result = strings_intern(c->files, frame->file ? frame->file : "", &number);

	if (*err == 0)
		*err = result;
	return number;
}

/* Returns the line of a frame. In this format a function has one file, so a line in another file
 * (as of a macro) becomes line 0. */
static uint32_t callgrind_line(struct callgrind *c, const struct profile_frame *frame, int *err)
{
	uint32_t file = callgrind_file(c, frame, err);

	return file == c->file[frame->symbol->number] ? frame->line : 0;
}

/* Returns where the frame's function is. */
static struct callgrind_position callgrind_at(struct callgrind *c,
					      const struct profile_frame *frame, int *err)
{
	struct callgrind_position at = {.line = callgrind_line(c, frame, err)};

	if (frame->location != UINT32_MAX)
		at.address = c->addresses[frame->location].instruction;
	return at;
}

/* Returns where a call leads: an inlined function has no start. */
static struct callgrind_position callgrind_to(const struct callgrind *c,
					      const struct profile_frame *frame, uint32_t line)
{
	struct callgrind_position to = {.line = line};

	if (frame->location != UINT32_MAX && !frame->is_inlined)
		to.address = c->addresses[frame->location].function;
	return to;
}

static int callgrind_find_addresses(struct callgrind *c)
{
	const struct store_tables *t = profile_tables(c->profile);
	uint32_t n_frames, *locations;
	size_t n = 0;
	int err;

	stack_table_frames(c->table, &n_frames);
	locations = malloc(((size_t)n_frames + 1) * sizeof(*locations));
	if (!locations)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_frames; i++)
		if (c->frames[i].frame.location != UINT32_MAX)
			locations[n++] = c->frames[i].frame.location;
	err = code_addresses_find(t, locations, n, &c->addresses);
	for (size_t i = 0; err == 0 && i < n; i++)
		c->has_addresses |= c->addresses[locations[i]].instruction != 0;
	free(locations);
	return err;
}

static int callgrind_choose_files(struct callgrind *c)
{
	uint32_t n;
	int err = 0;

	stack_table_frames(c->table, &n);
	/* file number 0 stands for an unknown file */
	callgrind_file(c, &(struct profile_frame){0}, &err);
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		const struct profile_frame *frame = &c->frames[i].frame;

		if (!c->file[frame->symbol->number])
			c->file[frame->symbol->number] = callgrind_file(c, frame, &err);
	}
	return err;
}

static int callgrind_collect(struct callgrind *c)
{
	size_t n = 0;
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < c->n_stacks; i++) {
		const struct profile_frame *frame = callgrind_frame(c, i), *caller;
		struct callgrind_position at = callgrind_at(c, frame, &err);

		/* A function that is only in recursive calls also gets a cost line, because only
		 * these tell its object. */
		if (c->self[i] || !c->is_there[frame->symbol->number])
			c->costs[n++] = (struct callgrind_cost){.symbol = frame->symbol->number,
								.callee = STACK_TABLE_NONE,
								.at = at,
								.samples = c->self[i]};
		c->is_there[frame->symbol->number] = true;
		if (!c->call[i])
			continue;
		c->costs[n] = (struct callgrind_cost){.symbol = CALLGRIND_ROOT,
						      .callee = frame->symbol->number,
						      .to = callgrind_to(c, frame, at.line),
						      .samples = c->call[i]};
		if (c->stacks[i].parent != STACK_TABLE_NONE) {
			caller = callgrind_frame(c, c->stacks[i].parent);
			c->costs[n].symbol = caller->symbol->number;
			c->costs[n].at = callgrind_at(c, caller, &err);
		}
		n++;
	}
	qsort(c->costs, n, sizeof(*c->costs), callgrind_compare);
	for (size_t i = 0; i < n; i++) {
		if (c->n_costs && !callgrind_compare(&c->costs[c->n_costs - 1], &c->costs[i]))
			c->costs[c->n_costs - 1].samples += c->costs[i].samples;
		else
			c->costs[c->n_costs++] = c->costs[i];
	}
	return err;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Writes "fn=(3) name": the number stands for the name, which follows only the first time. */
static void callgrind_name(struct callgrind *c, const char *key, uint32_t number, const char *name,
			   bool *is_named)
{
	text_printf(&c->b, "%s=(%u)", key, number + 1);
	if (!*is_named) {
		text_put_raw(&c->b, " ");
		text_put(&c->b, *name ? name : "???", NULL);
	}
	*is_named = true;
	text_put_raw(&c->b, "\n");
}

static void callgrind_function(struct callgrind *c, uint32_t number, const char *prefix, int *err)
{
	const struct profile_symbol *symbol = profile_symbol_at(c->profile, number);
	uint32_t file = c->file[number], object = 0;
	char key[8];
	int result = strings_intern(c->objects, symbol->object, &object);

	if (*err == 0)
		*err = result;
	snprintf(key, sizeof(key), "%sob", prefix);
	callgrind_name(c, key, object, symbol->object, &c->is_object_named[object]);
	snprintf(key, sizeof(key), "%sf%s", prefix, *prefix ? "i" : "l");
	callgrind_name(c, key, file, strings_at(c->files, file), &c->is_file_named[file]);
	snprintf(key, sizeof(key), "%sfn", prefix);
	callgrind_name(c, key, number, symbol->name, &c->is_named[number]);
}

static void callgrind_put(struct callgrind *c, const struct callgrind_position *position)
{
	if (c->has_addresses)
		text_printf(&c->b, "0x%" PRIx64 " ", position->address);
	text_printf(&c->b, "%u", position->line);
}

static int callgrind_body(struct callgrind *c)
{
	uint32_t at = STACK_TABLE_NONE;
	int err = 0;

	for (size_t i = 0; err == 0 && i < c->n_costs; i++) {
		const struct callgrind_cost *cost = &c->costs[i];

		if (cost->symbol != at || i == 0) {
			text_put_raw(&c->b, "\n");
			if (cost->symbol == CALLGRIND_ROOT)
				text_put_raw(&c->b, "ob=(0) ???\nfl=(0) ???\nfn=(0) [root]\n");
			else
				callgrind_function(c, cost->symbol, "", &err);
		}
		at = cost->symbol;
		if (cost->callee != STACK_TABLE_NONE) {
			callgrind_function(c, cost->callee, "c", &err);
			text_printf(&c->b, "calls=%" PRIu64 " ", cost->samples);
			callgrind_put(c, &cost->to);
			text_put_raw(&c->b, "\n");
		}
		callgrind_put(c, &cost->at);
		text_printf(&c->b, " %" PRIu64 "\n", cost->samples);
		if (err == 0 && c->b.len >= CALLGRIND_DRAIN)
			err = text_flush(&c->b, c->out);
	}
	return err;
}

/* Writes the line "event:" with the short and the long name of the event that costs count, and the
 * line "events:" with its short name. */
static void callgrind_event(struct callgrind *c)
{
	const enum metric metric = profile_filter(c->profile)->metric;
	char name[32];

	if (metric == METRIC_CPU) {
		text_put_raw(&c->b, "event: Samples\nevents: Samples\n");
		return;
	}
	snprintf(name, sizeof(name), "%s", metric_info(metric)->name);
	for (char *at = name; *at; at++)
		*at = *at == '.' ? '_' : *at;
	text_printf(&c->b, "event: %s : %s (%s)\nevents: %s\n", name, metric_info(metric)->name,
		    metric_unit_name(metric), name);
}

static void callgrind_head(struct callgrind *c)
{
	const struct store_recording *recording = &profile_tables(c->profile)->recording;
	uint64_t samples = profile_total(c->profile);

	text_put_raw(&c->b, "# callgrind format\nversion: 1\ncreator: stackd\ncmd: ");
	text_put(&c->b, recording->target, NULL);
	text_put_raw(&c->b, "\ndesc: Host: ");
	text_put(&c->b, recording->host, NULL);
	text_put_raw(&c->b, "\ndesc: Trigger: ");
	report_header_event(recording, &c->b);
	text_put_raw(&c->b, "\ndesc: Quality: ");
	report_header_quality(c->profile, &c->b);
	if (metric_is_of_regions(profile_filter(c->profile)->metric))
		report_header_off(c->profile, "\ndesc: Regions: ", &c->b);
	text_put_raw(&c->b, c->has_addresses ? "\npositions: instr line\n" : "\npositions: line\n");
	callgrind_event(c);
	text_printf(&c->b, "summary: %" PRIu64 "\n", samples);
}

static int callgrind_alloc(struct callgrind *c)
{
	uint32_t n_frames;
	int err = stack_table_new(c->profile, &c->table);

	if (err < 0)
		return err;
	c->stacks = stack_table_stacks(c->table, &c->n_stacks);
	c->frames = stack_table_frames(c->table, &n_frames);
	c->n_symbols = (uint32_t)profile_symbol_count(c->profile);
	c->self = calloc((size_t)c->n_stacks + 1, sizeof(*c->self));
	c->total = calloc((size_t)c->n_stacks + 1, sizeof(*c->total));
	c->call = calloc((size_t)c->n_stacks + 1, sizeof(*c->call));
	c->costs = calloc(2 * (size_t)c->n_stacks + 1, sizeof(*c->costs));
	c->file = calloc((size_t)c->n_symbols + 1, sizeof(*c->file));
	c->is_there = calloc((size_t)c->n_symbols + 1, sizeof(*c->is_there));
	c->is_named = calloc((size_t)c->n_symbols + 1, sizeof(*c->is_named));
	c->is_file_named = calloc((size_t)n_frames + 2, sizeof(*c->is_file_named));
	c->is_object_named = calloc((size_t)c->n_symbols + 1, sizeof(*c->is_object_named));
	if (!c->self || !c->total || !c->call || !c->costs || !c->file || !c->is_there ||
	    !c->is_named || !c->is_file_named || !c->is_object_named)
		return -ENOMEM;
	err = strings_new(&c->files);
	return err < 0 ? err : strings_new(&c->objects);
}

static int callgrind_write(struct callgrind *c)
{
	int err = callgrind_alloc(c);

	if (err < 0)
		return err;
	callgrind_sum(c);
	err = callgrind_fold_recursion(c);
	if (err == 0)
		err = callgrind_choose_files(c);
	if (err == 0)
		err = callgrind_find_addresses(c);
	if (err == 0)
		err = callgrind_collect(c);
	if (err < 0)
		return err;
	callgrind_head(c);
	err = callgrind_body(c);
	text_printf(&c->b, "\ntotals: %" PRIu64 "\n", profile_total(c->profile));
	return err < 0 ? err : text_flush(&c->b, c->out);
}

int export_callgrind(struct profile *profile, FILE *out)
{
	struct callgrind c = {.profile = profile, .out = out};
	int err = callgrind_write(&c);

	if (err == 0 && fflush(out) != 0)
		err = -EIO;
	stack_table_free(c.table);
	free(c.self);
	free(c.total);
	free(c.call);
	free(c.costs);
	free(c.addresses);
	free(c.file);
	free(c.is_there);
	free(c.is_named);
	free(c.is_file_named);
	free(c.is_object_named);
	strings_free(c.files);
	strings_free(c.objects);
	buf_free(&c.b);
	return err;
}
