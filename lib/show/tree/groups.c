/* SPDX-License-Identifier: MIT */
/*
 * Entries in groups; see groups.h. Uses two stable counting sorts, by root mark and then by group,
 * because a recording of a large build has a million entries in ten thousand processes.
 */
#include "tree/groups.h"

#include <errno.h>
#include <stdlib.h>

/* Sorts the indexes `from` into `to` by key(index); `first` gets the n_keys + 1 bounds. */
struct groups_sort {
	const struct profile_entry *entries;
	const uint32_t *group_of_entry; /* NULL: the key is the entry's root mark */
};

static uint32_t groups_key(const struct groups_sort *sort, uint32_t entry)
{
	const struct profile_entry *e = &sort->entries[entry];

	if (sort->group_of_entry)
		return sort->group_of_entry[entry];
	return e->quality >= PROFILE_PARTIAL ? e->end_reason : 0;
}

static void groups_sort(const struct groups_sort *sort, const uint32_t *from, uint32_t *to,
			uint32_t n, uint32_t *first, uint32_t n_keys)
{
	for (uint32_t k = 0; k <= n_keys; k++)
		first[k] = 0;
	for (uint32_t i = 0; i < n; i++)
		first[groups_key(sort, from[i]) + 1]++;
	for (uint32_t k = 0; k < n_keys; k++)
		first[k + 1] += first[k];
	for (uint32_t i = 0; i < n; i++)
		to[first[groups_key(sort, from[i])]++] = from[i];
	/* Each bound has moved to the start of the next group; move it back. */
	for (uint32_t k = n_keys; k > 0; k--)
		first[k] = first[k - 1];
	first[0] = 0;
}

static int compare(const void *a, const void *b, void *arg)
{
	const uint64_t *samples = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (samples[x] != samples[y])
		return samples[x] < samples[y] ? 1 : -1;
	return x < y ? -1 : x > y;
}

static void rank(struct groups *g, const struct profile_entry *entries)
{
	for (uint32_t k = 0; k < g->n; k++) {
		g->samples[k] = 0;
		for (uint32_t i = g->first[k]; i < g->first[k + 1]; i++)
			g->samples[k] += profile_entry_amount(&entries[g->order[i]]);
		if (g->samples[k])
			g->ranking[g->n_ranking++] = k;
	}
	if (g->n_ranking)
		qsort_r(g->ranking, g->n_ranking, sizeof(*g->ranking), compare, g->samples);
}

int groups_make_by_entry(const struct profile *profile, const uint32_t *group_of_entry,
			 uint32_t n_groups, struct groups *ret_groups)
{
	uint32_t reasons[257];
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	struct groups_sort by_reason = {entries, NULL}, by_group = {entries, group_of_entry};
	struct groups g = {.n = n_groups};
	uint32_t *order = calloc(n + 1, sizeof(*order));

	g.order = calloc(n + 1, sizeof(*g.order));
	g.first = calloc((size_t)n_groups + 1, sizeof(*g.first));
	g.samples = calloc((size_t)n_groups + 1, sizeof(*g.samples));
	g.ranking = calloc((size_t)n_groups + 1, sizeof(*g.ranking));
	if (!order || !g.order || !g.first || !g.samples || !g.ranking) {
		free(order);
		groups_free(&g);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		g.order[i] = i;
	groups_sort(&by_reason, g.order, order, (uint32_t)n, reasons, 256);
	groups_sort(&by_group, order, g.order, (uint32_t)n, g.first, n_groups);
	free(order);
	rank(&g, entries);
	*ret_groups = g;
	return 0;
}

int groups_make(const struct profile *profile, const uint32_t *group_of_thread, uint32_t n_groups,
		struct groups *ret_groups)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	uint32_t *group_of_entry = calloc(n + 1, sizeof(*group_of_entry));
	int err;

	if (!group_of_entry)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		group_of_entry[i] = group_of_thread[entries[i].thread];
	err = groups_make_by_entry(profile, group_of_entry, n_groups, ret_groups);
	free(group_of_entry);
	return err;
}

int groups_by_process(const struct profile *profile, struct groups *ret_groups)
{
	const struct store_tables *t = profile_tables(profile);
	uint32_t *process = calloc((size_t)t->n_threads + 1, sizeof(*process));
	int err;

	if (!process)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_threads; i++)
		process[i] = t->threads[i].process;
	err = groups_make(profile, process, t->n_processes, ret_groups);
	free(process);
	return err;
}

void groups_free(struct groups *groups)
{
	free(groups->order);
	free(groups->first);
	free(groups->samples);
	free(groups->ranking);
	*groups = (struct groups){0};
}
