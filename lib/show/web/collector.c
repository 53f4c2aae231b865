/* SPDX-License-Identifier: MIT */
/*
 * Finds garbage collection in call paths; see collector.h.
 *
 * The answer for a path is that for its caller's, or that of its own function: so each trie node is
 * looked at once, and each location once.
 */
#include "web/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum collector_answer { ANSWER_NONE, ANSWER_NO, ANSWER_YES };

/* Functions that collect, and all that they call does so; "*" at the end stands for the rest of a
 * name. */
static const char *const functions[] = {
	/* CPython 3.8 to 3.15 */
	"gc_collect_main",
	"gc_collect_region",
	"gc_collect_generations",
	"gc_collect_young",
	"gc_collect_full",
	"gc_collect_increment",
	"gc_collect_with_callback",
	"collect_generations",
	/* Go */
	"runtime.gcBgMarkWorker*",
	"runtime.gcAssistAlloc*",
	"runtime.gcStart*",
	"runtime.gcMarkTermination*",
	"runtime.gcDrain*",
	"runtime.bgsweep",
	"runtime.bgscavenge",
	/* V8 */
	"_ZN2v88internal4Heap14CollectGarbage*",
	"_ZN2v88internal4Heap24PerformGarbageCollection*",
	"_ZN2v88internal20MarkCompactCollector*",
	"_ZN2v88internal18ScavengerCollector*",
	"_ZN2v88internal9Scavenger*",
	"_ZN2v88internal17ConcurrentMarking*",
	"_ZN2v88internal7Sweeper*",
	/* BEAM */
	"erts_garbage_collect*",
	"erts_gc_after_bif_call*",
	"garbage_collect",
	"minor_collection",
	"major_collection",
	/* Ruby */
	"gc_start",
	"gc_marks*",
	"gc_sweep*",
	/* PHP */
	"zend_gc_collect_cycles",
};

/* Threads of HotSpot that only collect. */
static const char *const threads[] = {"GC Thread#*", "G1 *",	    "ZDriver*", "ZWorker*",
				      "XWorker*",    "Shenandoah*", "ParGC*",	"VM GC*"};

struct collector {
	const struct store_tables *tables;
	uint8_t *of_node, *of_location, *of_thread; /* by number: enum collector_answer */
};

int collector_new(const struct store_tables *t, struct collector **ret_collector)
{
	struct collector *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->tables = t;
	c->of_node = calloc((size_t)t->n_nodes + 1, 1);
	c->of_location = calloc((size_t)t->n_locations + 1, 1);
	c->of_thread = calloc((size_t)t->n_threads + 1, 1);
	if (!c->of_node || !c->of_location || !c->of_thread) {
		collector_free(c);
		return -ENOMEM;
	}
	*ret_collector = c;
	return 0;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	free(c->of_node);
	free(c->of_location);
	free(c->of_thread);
	free(c);
}

static bool is_listed(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; name && i < n; i++) {
		const size_t len = strlen(names[i]);

		if (names[i][len - 1] == '*' ? strncmp(names[i], name, len - 1) == 0
					     : strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static bool is_location(struct collector *c, uint32_t location)
{
	const struct store_tables *t = c->tables;
	uint8_t *answer = &c->of_location[location];

	if (*answer == ANSWER_NONE) {
		*answer = ANSWER_NO;
		for (uint32_t i = t->line_first[location]; i < t->line_first[location + 1]; i++)
			if (is_listed(functions, sizeof(functions) / sizeof(*functions),
				      t->lines[i].function))
				*answer = ANSWER_YES;
	}
	return *answer == ANSWER_YES;
}

static bool is_thread(struct collector *c, uint32_t thread)
{
	uint8_t *answer = &c->of_thread[thread];

	if (*answer == ANSWER_NONE)
		*answer = is_listed(threads, sizeof(threads) / sizeof(*threads),
				    c->tables->threads[thread].comm)
				  ? ANSWER_YES
				  : ANSWER_NO;
	return *answer == ANSWER_YES;
}

bool collector_is(struct collector *c, uint32_t thread, uint32_t node)
{
	const struct store_node *nodes = c->tables->nodes;
	uint8_t answer = ANSWER_NO;
	uint32_t at = node;

	if (is_thread(c, thread))
		return true;
	while (at && c->of_node[at] == ANSWER_NONE && !is_location(c, nodes[at].location))
		at = nodes[at].parent;
	if (at)
		answer = c->of_node[at] == ANSWER_NONE ? ANSWER_YES : c->of_node[at];
	for (; node != at; node = nodes[node].parent)
		c->of_node[node] = answer;
	if (at)
		c->of_node[at] = answer;
	return answer == ANSWER_YES;
}
