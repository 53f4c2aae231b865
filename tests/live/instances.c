/* SPDX-License-Identifier: MIT */
/*
 * instances STORE: the instances of regions in a recording, a line each, as they were recorded:
 *
 *   TID END_NS WALL_NS NESTED_NS CPU_NS TAG
 *
 * the thread, the moment of the record, which is no later than when the thread goes on, the
 * instance's wall time, how much of that was in instances within it, its CPU time without theirs,
 * and the tag of its path, as `export --interpreter=show --json` has it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/store_reader.h"

struct instances {
	const struct store_tables *tables;
	const uint64_t *tags; /* by node */
	VEC(struct store_sample) own, nested, cpu;
};

#define TAKE(name)                                                                                 \
	static int take_##name(void *arg, const struct store_sample *record)                       \
	{                                                                                          \
		struct instances *x = arg;                                                         \
                                                                                                   \
		if (VEC_RESERVE(&x->name, 1))                                                      \
			return -1;                                                                 \
		x->name.items[x->name.count++] = *record;                                          \
		return 0;                                                                          \
	}

TAKE(own)
TAKE(nested)
TAKE(cpu)

static int compare(const void *a, const void *b)
{
	const struct store_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* The lists are sorted: what is nested has the time of its instance, as its CPU time has. */
static void print_all(const struct instances *x)
{
	size_t at = 0;

	for (size_t i = 0; i < x->own.count; i++) {
		const struct store_sample *own = &x->own.items[i];
		uint64_t nested = 0;

		if (at < x->nested.count && compare(&x->nested.items[at], own) == 0)
			nested = x->nested.items[at++].period;
		printf("%d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		       x->tables->threads[own->thread].tid, own->time_ns, own->period + nested,
		       nested, x->cpu.items[i].period, x->tags[own->node]);
	}
	if (at < x->nested.count) {
		fprintf(stderr, "%zu nested times are of no instance\n", x->nested.count - at);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct instances x = {0};
	struct store_reader *reader;
	char *error = NULL;

	if (argc < 2 || store_reader_open(argv[1], 0, &reader, &error)) {
		fprintf(stderr, "%s\n", error ? error : "instances STORE");
		return 1;
	}
	x.tables = store_reader_tables(reader);
	if (store_reader_tags(reader, &x.tags) ||
	    store_reader_records(reader, SERIES_REGION_TIME, take_own, &x) ||
	    store_reader_records(reader, SERIES_REGION_NESTED_TIME, take_nested, &x) ||
	    store_reader_records(reader, SERIES_REGION_CPU, take_cpu, &x) ||
	    x.cpu.count != x.own.count)
		return 1;
	if (x.own.count)
		qsort(x.own.items, x.own.count, sizeof(*x.own.items), compare);
	if (x.cpu.count)
		qsort(x.cpu.items, x.cpu.count, sizeof(*x.cpu.items), compare);
	if (x.nested.count)
		qsort(x.nested.items, x.nested.count, sizeof(*x.nested.items), compare);
	print_all(&x);
	store_reader_close(reader);
	free(x.own.items);
	free(x.nested.items);
	free(x.cpu.items);
	return 0;
}
