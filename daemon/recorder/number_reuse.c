/* SPDX-License-Identifier: MIT */
/* See number_reuse.h. */
#include "daemon/recorder/number_reuse.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/tables/numbers.h"
#include "proc/mapping_set.h"

/* Of 16,384 numbers: how long a file is not used before its number is taken back, and the time
 * between two looks. Fewer numbers are used up sooner. */
#define IDLE_NS	    UINT64_C(60000000000)
#define PAUSE_NS    UINT64_C(10000000000)
#define USUAL_FILES 16384
#define PART	    2 /* so large a part of all numbers is taken back at once, at most: half */

struct seen {
	uint64_t used_ns; /* the last look at which the file was used; 0: it was not looked at */
	uint32_t uses;	  /* the kernel half's count then */
};

struct number_reuse {
	struct tables *tables;
	const struct object_table *objects;
	const struct process_table *processes;
	struct seen *seen; /* owned, as the next; by number */
	uint32_t *chosen;
	uint32_t n; /* numbers are below this */
	uint64_t looked_ns;
};

int number_reuse_new(struct tables *tables, const struct object_table *objects,
		     const struct process_table *processes, struct number_reuse **ret_reuse)
{
	struct number_reuse *r = calloc(1, sizeof(*r));
	struct tables_counts counts;

	if (!r)
		return -ENOMEM;
	tables_counts(tables, &counts);
	*r = (struct number_reuse){.tables = tables,
				   .objects = objects,
				   .processes = processes,
				   .n = (uint32_t)counts.most_files};
	r->seen = calloc(r->n, sizeof(*r->seen));
	r->chosen = calloc(r->n, sizeof(*r->chosen));
	if (!r->seen || !r->chosen) {
		number_reuse_free(r);
		return -ENOMEM;
	}
	*ret_reuse = r;
	return 0;
}

void number_reuse_free(struct number_reuse *r)
{
	if (!r)
		return;
	free(r->seen);
	free(r->chosen);
	free(r);
}

/* Notes which files processes have mapped. */
static void note_mapped(struct number_reuse *r, uint64_t now_ns)
{
	struct instance *instance, *next;

	HASH_ITER (hh, r->processes->instances, instance, next) {
		const struct mapping_set *maps = instance->maps;

		for (uint32_t i = 0; maps && i < maps->count; i++)
			r->seen[tables_number(r->tables, maps->maps[i].object)].used_ns = now_ns;
	}
}

/* Notes which tables walks have looked something up in. */
static void note_uses(struct number_reuse *r, uint64_t now_ns)
{
	for (uint32_t i = 1; i < r->n; i++) {
		const uint32_t uses = tables_uses(r->tables, i);

		if (uses != r->seen[i].uses || !r->seen[i].used_ns)
			r->seen[i] = (struct seen){.used_ns = now_ns, .uses = uses};
	}
}

static int compare_used(const void *a, const void *b, void *arg)
{
	const struct seen *seen = arg;
	const uint64_t a_ns = seen[*(const uint32_t *)a].used_ns;
	const uint64_t b_ns = seen[*(const uint32_t *)b].used_ns;

	return a_ns < b_ns ? -1 : a_ns > b_ns;
}

/* Gives the files that were not used for a while, the one that was used last at the end. Returns
 * how many there are. */
static size_t choose(struct number_reuse *r, uint64_t idle_ns, uint64_t now_ns)
{
	size_t count = 0;

	for (uint32_t i = 1; i < r->n; i++) {
		uint32_t object;

		if (now_ns - r->seen[i].used_ns >= idle_ns &&
		    tables_object(r->tables, i, &object) &&
		    tables_number(r->tables, object_table_at(r->objects, object)) == i)
			r->chosen[count++] = i;
	}
	qsort_r(r->chosen, count, sizeof(*r->chosen), compare_used, r->seen);
	return count < r->n / PART ? count : r->n / PART;
}

void number_reuse_look(struct number_reuse *r, uint64_t done_ns, uint64_t now_ns)
{
	struct tables_counts counts;
	size_t count;

	tables_free_numbers(r->tables, done_ns);
	tables_counts(r->tables, &counts);
	if (!numbers_are_few(&counts) || now_ns - r->looked_ns < PAUSE_NS * r->n / USUAL_FILES)
		return;
	r->looked_ns = now_ns;
	note_uses(r, now_ns);
	note_mapped(r, now_ns);
	count = choose(r, IDLE_NS * r->n / USUAL_FILES, now_ns);
	if (count || counts.inodes > counts.files + r->n / PART)
		tables_end_numbers(r->tables, r->chosen, count);
	for (size_t i = 0; i < count; i++)
		r->seen[r->chosen[i]].used_ns = 0;
}
