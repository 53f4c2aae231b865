/* SPDX-License-Identifier: MIT */
/*
 * Writes, for each tag, its totals over the ranks of an MPI job: the sum, the smallest and the
 * largest amount of a rank, which rank has the largest, and how many ranks have any.
 *
 * A rank may be in several processes, recordings and sets. So its samples are first brought to one
 * owner per rank (router.h), where the sums of the rank become complete; then these are combined by
 * tag.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "tagset/tagset_writer.h"

/* The totals of a tag over some ranks. */
struct totals {
	uint64_t count, weight;
	/* number of ranks with any amount; least and most amount of a rank (samples, or the
	 * metric's value); rank with the most */
	uint64_t ranks, least, most, rank;
};

static bool add_totals(uint8_t *into, size_t n_into, const uint8_t *from, size_t n_from)
{
	struct totals a, b;

	(void)n_into;
	(void)n_from;
	memcpy(&a, into, sizeof(a));
	memcpy(&b, from, sizeof(b));
	a.count += b.count;
	a.weight += b.weight;
	a.ranks += b.ranks;
	a.least = b.least < a.least ? b.least : a.least;
	if (b.most > a.most || (b.most == a.most && b.rank < a.rank)) {
		a.most = b.most;
		a.rank = b.rank;
	}
	memcpy(into, &a, sizeof(a));
	return false;
}

static bool add_counts(uint8_t *into, size_t n_into, const uint8_t *from, size_t n_from)
{
	uint64_t a[2], b[2];

	(void)n_into;
	(void)n_from;
	memcpy(a, into, sizeof(a));
	memcpy(b, from, sizeof(b));
	a[0] += b[0];
	a[1] += b[1];
	memcpy(into, a, sizeof(a));
	return false;
}

/* The id of a rank's sum: number of ranks of the job, tag, then the id of the total, which is:
 * whether it is of another metric than samples, the number after the tag's point, the metric. The
 * keys of rank sums are ranks; those of totals are tags. */
enum { RANK_TAG = 4, RANK_TOTAL = 12, TOTAL_DUP = 1, TOTAL_METRIC = 5 };

static int add_ranks(struct tagset_writer *w, struct router *r)
{
	const struct tagset *set = w->set;
	int err = 0;

	for (size_t i = 0; err == 0 && i < set->samples.count; i++) {
		const struct tagset_sample *s = &set->samples.items[i];
		uint64_t rank = w->ranks[s->process];
		const char *metric = tagset_escaped(set, s->metric);

		if (!rank)
			continue;
		tagset_put_be(&w->id, rank >> 32, 4);
		tagset_put_be(&w->id, set->nodes.items[s->node].tag, 8);
		buf_put_u8(&w->id, s->metric != w->cpu);
		tagset_put_be(&w->id, w->node_dup[s->node], 4);
		buf_put(&w->id, metric, strlen(metric));
		BUF_PUT(&w->data, s->count);
		BUF_PUT(&w->data, s->weight);
		err = tagset_writer_add(w, r, (uint32_t)rank - 1);
	}
	return err;
}

/* Makes totals of the sums of ranks, which are complete. */
static int add_sums(struct tagset_writer *w, const struct router *ranks, struct router *r)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < router_count(ranks); i++) {
		const struct router_item item = router_at(ranks, i);
		uint64_t amounts[2];
		struct totals totals;

		memcpy(amounts, item.data, sizeof(amounts));
		totals = (struct totals){amounts[0], amounts[1], .ranks = 1, .rank = item.key};
		totals.least = totals.most = amounts[item.id[RANK_TOTAL] != 0];
		buf_put(&w->id, item.id + RANK_TOTAL, item.n_id - RANK_TOTAL);
		BUF_PUT(&w->data, totals);
		err = tagset_writer_add(w, r, tagset_get_be(item.id + RANK_TAG, 8));
	}
	return err;
}

static int put_totals(struct tagset_writer *w, const struct router *r)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < router_count(r); i++) {
		const struct router_item item = router_at(r, i);
		struct totals t;

		memcpy(&t, item.data, sizeof(t));
		text_put_raw(&w->text, "total");
		tagset_put_id(&w->text, item.key, (uint32_t)tagset_get_be(item.id + TOTAL_DUP, 4));
		text_put_raw(&w->text, "\t");
		buf_put(&w->text, item.id + TOTAL_METRIC, item.n_id - TOTAL_METRIC);
		text_printf(&w->text,
			    "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			    "\t%" PRIu64 "\n",
			    t.count, t.weight, t.ranks, t.least, t.most, t.rank);
		err = tagset_writer_flush(w);
	}
	return err == 0 ? tagset_writer_section(w) : err;
}

/* Writes the totals over the ranks up to `last`. */
static int write_of_ranks(struct tagset_writer *w, uint64_t last)
{
	struct router *ranks, *r = NULL;
	int err = router_new(w->comm, add_counts, &ranks);

	if (err < 0)
		return err;
	err = add_ranks(w, ranks);
	if (err == 0)
		err = router_run(ranks, 0, last, false);
	if (err == 0)
		err = router_new(w->comm, add_totals, &r);
	if (err == 0)
		err = add_sums(w, ranks, r);
	router_free(ranks);
	if (err == 0)
		err = router_run(r, 0, UINT64_MAX, false);
	if (err == 0)
		err = put_totals(w, r);
	router_free(r);
	return err;
}

int tagset_write_totals(struct tagset_writer *w)
{
	uint64_t last = 0; /* the largest rank + 1 */
	int err;

	for (size_t i = 0; i < w->set->processes.count; i++) {
		uint32_t rank = (uint32_t)w->ranks[i];

		last = rank > last ? rank : last;
	}
	err = router_largest(w->comm, &last, 1);
	return err == 0 && last ? write_of_ranks(w, last - 1) : err;
}
