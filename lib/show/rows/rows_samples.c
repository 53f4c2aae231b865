/* SPDX-License-Identifier: MIT */
/*
 * Samples as rows: the entries of a profile, added up over what rows do not have.
 *
 * A row is known by its path, its labels, and its end: why the walk ended, of which quality it is,
 * and how many frames are inferred. Labels (command, unit, container, rank) are those of a thread,
 * and interned; so a row's key is three numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "base/text.h"
#include "model/cgroup_name.h"
#include "model/profile_ranks.h"
#include "rows/rows_state.h"
#include "stack/end_reason.h"
#include "stack/origin.h"

#define SUM_MAX_INFERRED ((1u << 22) - 1)

struct sum {
	uint64_t tag;
	uint64_t weight, count;
	uint32_t node, group;
	uint32_t inferred;
	uint8_t reason, quality;
};

/* What threads have in common that have the same labels. */
struct group {
	char *command, *unit, *container; /* unit, container: NULL if there is none */
	uint64_t rank;			  /* see model/profile_ranks.h */
};

struct sums {
	struct rows_profile *p;
	uint32_t *group_of_thread;
	VEC(struct group) groups;
	struct int_map by_key;
	VEC(struct sum) rows;
};

/* --- labels ----------------------------------------------------------------------------------- */

/* Returns a copy of a text, escaped; NULL for lack of memory. */
static char *copy_of(struct buf *b, const char *text)
{
	const char *escaped = rows_text(b, text ? text : "");

	return escaped ? strdup(escaped) : NULL;
}

/* Returns a copy of a name that was appended; NULL for one in brackets, which says that there is
 * none. *ret_err is 0 or -ENOMEM. */
static char *name_of(struct buf *b, int *ret_err)
{
	char *name = NULL;

	buf_put_u8(b, '\0');
	if (!b->failed && b->data[0] == '[')
		return NULL;
	if (!b->failed)
		name = copy_of(b + 1, (const char *)b->data);
	if (!name)
		*ret_err = -ENOMEM;
	return name;
}

static int add_group(struct sums *s, const struct store_thread *thread, uint64_t rank)
{
	struct buf *b = s->p->rows->text;
	struct group *group;
	int err = VEC_RESERVE(&s->groups, 1);

	if (err < 0)
		return err;
	group = &s->groups.items[s->groups.count++];
	*group = (struct group){.rank = rank};
	group->command = copy_of(b, thread->comm);
	buf_clear(b);
	cgroup_name_unit(thread->cgroup, b);
	group->unit = name_of(b, &err);
	buf_clear(b);
	cgroup_name_container(thread->cgroup, b);
	group->container = name_of(b, &err);
	return group->command ? err : -ENOMEM;
}

static int find_groups(struct sums *s, const uint64_t *ranks)
{
	const struct store_tables *t = s->p->t;
	struct strings *labels;
	struct buf key = {0};
	int err = strings_new(&labels);

	if (err < 0)
		return err;
	for (uint32_t i = 0; err == 0 && i < t->n_threads; i++) {
		const struct store_thread *thread = &t->threads[i];
		uint32_t known = strings_count(labels);

		buf_clear(&key);
		text_put(&key, thread->comm ? thread->comm : "", "\t");
		text_printf(&key, "\t%u\t%d\t", (uint32_t)ranks[thread->process],
			    thread->cgroup != NULL);
		text_put(&key, thread->cgroup ? thread->cgroup : "", "\t");
		buf_put_u8(&key, '\0');
		err = key.failed ? -ENOMEM
				 : strings_intern(labels, (const char *)key.data,
						  &s->group_of_thread[i]);
		if (err == 0 && s->group_of_thread[i] == known)
			err = add_group(s, thread, ranks[thread->process]);
	}
	strings_free(labels);
	buf_free(&key);
	return err;
}

static int make_groups(struct sums *s)
{
	const struct store_tables *t = s->p->t;
	uint64_t *ranks = calloc((size_t)t->n_processes + 1, sizeof(*ranks));
	int err = -ENOMEM;

	s->group_of_thread = calloc((size_t)t->n_threads + 1, sizeof(*s->group_of_thread));
	if (ranks && s->group_of_thread)
		err = profile_ranks_read(s->p->profile, ranks);
	if (err == 0)
		err = find_groups(s, ranks);
	free(ranks);
	return err;
}

/* --- sums ------------------------------------------------------------------------------------- */

static int add_entry(struct sums *s, const struct profile_entry *e)
{
	uint32_t group = s->group_of_thread[e->thread];
	uint32_t inferred = origin_inferred(profile_origin(s->p->profile, e->origin));
	uint32_t at, end;
	int err;

	inferred = inferred < SUM_MAX_INFERRED ? inferred : SUM_MAX_INFERRED;
	end = (uint32_t)e->end_reason << 24 | (uint32_t)(e->quality & 3) << 22 | inferred;
	err = int_map_enter_wide(&s->by_key, (uint64_t)group << 32 | e->node, end,
				 (uint32_t)s->rows.count, &at);
	if (err == 0 && at == s->rows.count) {
		err = VEC_RESERVE(&s->rows, 1);
		if (err == 0)
			s->rows.items[s->rows.count++] = (struct sum){.tag = s->p->tags[e->node],
								      .node = e->node,
								      .group = group,
								      .inferred = inferred,
								      .reason = e->end_reason,
								      .quality = e->quality};
	}
	if (err < 0)
		return err;
	s->rows.items[at].weight += e->weight;
	s->rows.items[at].count += e->samples;
	return 0;
}

static int in_order(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->reason != b->reason)
		return a->reason < b->reason ? -1 : 1;
	return a->inferred < b->inferred ? -1 : a->inferred > b->inferred;
}

/* The part of a recording that its rows are of, as unix time: all of it, or what --from and --to
 * choose, where waits and passes are cut. */
static void part_of(const struct rows_profile *p, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct store_recording *r = &p->t->recording;
	const uint64_t begin = profile_begin(p->profile), last = profile_end(p->profile);

	*ret_start = r->start_unix_ns + (begin > r->start_ns ? begin - r->start_ns : 0);
	*ret_end = last < r->end_ns && last >= r->start_ns
			   ? r->start_unix_ns + (last + 1 - r->start_ns)
			   : store_range_end(r);
}

static int put(struct sums *s, const char *host, const char *event)
{
	const struct rows_profile *p = s->p;
	const struct store_recording *r = &p->t->recording;
	const uint64_t window = rows_window(r);
	const char *metric = metric_info(profile_filter(p->profile)->metric)->name;
	uint64_t start, end;
	int err = 0;

	part_of(p, &start, &end);
	for (size_t i = 0; err == 0 && i < s->rows.count; i++) {
		const struct sum *sum = &s->rows.items[i];
		const struct group *g = &s->groups.items[sum->group];
		uint32_t rank = (uint32_t)g->rank;

		err = rows_put(
			p->rows, ROWS_SAMPLES,
			(const struct rows_value[ROWS_SAMPLE_N]){
				[ROWS_SAMPLE_TAG] = rows_number(sum->tag),
				[ROWS_SAMPLE_ALT] = rows_number(p->node_alt[sum->node]),
				[ROWS_SAMPLE_HOST] = rows_word(host),
				[ROWS_SAMPLE_WINDOW] = rows_number(window),
				[ROWS_SAMPLE_START] = rows_number(start),
				[ROWS_SAMPLE_END] = rows_number(end),
				[ROWS_SAMPLE_EVENT] = rows_word(event),
				[ROWS_SAMPLE_METRIC] = rows_word(metric),
				[ROWS_SAMPLE_COMMAND] = rows_word(g->command),
				[ROWS_SAMPLE_UNIT] = rows_word(g->unit),
				[ROWS_SAMPLE_CONTAINER] = rows_word(g->container),
				[ROWS_SAMPLE_RANK] = {.number = rank - 1, .is_null = !rank},
				[ROWS_SAMPLE_REASON] = rows_word(end_reason_name(sum->reason)),
				[ROWS_SAMPLE_QUALITY] =
					rows_word(profile_quality_name(sum->quality)),
				[ROWS_SAMPLE_INFERRED] = rows_number(sum->inferred),
				[ROWS_SAMPLE_WEIGHT] = rows_number(sum->weight),
				[ROWS_SAMPLE_COUNT] = rows_number(sum->count),
			});
	}
	return err;
}

int rows_samples(struct rows_profile *p)
{
	const struct store_recording *r = &p->t->recording;
	struct sums s = {.p = p};
	size_t n;
	const struct profile_entry *entries = profile_entries(p->profile, &n);
	int err = make_groups(&s);

	for (size_t i = 0; err == 0 && i < n; i++)
		err = add_entry(&s, &entries[i]);
	if (err == 0 && s.rows.count)
		qsort(s.rows.items, s.rows.count, sizeof(*s.rows.items), in_order);
	if (err == 0) {
		const char *host = rows_text(&p->rows->text[0], r->host ? r->host : "");
		const char *event = rows_text(&p->rows->text[1], r->event ? r->event : "");

		err = host && event ? put(&s, host, event) : -ENOMEM;
	}
	for (size_t i = 0; i < s.groups.count; i++) {
		free(s.groups.items[i].command);
		free(s.groups.items[i].unit);
		free(s.groups.items[i].container);
	}
	free(s.groups.items);
	free(s.group_of_thread);
	free(s.rows.items);
	int_map_fini(&s.by_key);
	return err;
}
