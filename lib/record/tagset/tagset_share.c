/* SPDX-License-Identifier: MIT */
/*
 * Writing sets as one tag export; see tagset_share.h. Here are its sections in their order,
 * recordings, processes and samples; tagset_paths.c has objects, locations and tags, and
 * tagset_totals.c the totals.
 *
 * Samples are sorted by process first, and only then by tag. Otherwise all lines of a tag that all
 * processes of a large job have would belong to one owner.
 */
#include "tagset/tagset_share.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tagset/tagset_writer.h"

/* bytes of text after which a single process writes them out */
#define SHARE_FLUSH (1 << 20)

/* --- for all sections ------------------------------------------------------------------------- */

void tagset_put_be(struct buf *b, uint64_t number, unsigned bytes)
{
	while (bytes--)
		buf_put_u8(b, (uint8_t)(number >> (8 * bytes)));
}

uint64_t tagset_get_be(const uint8_t *at, unsigned bytes)
{
	uint64_t number = 0;

	while (bytes--)
		number = number << 8 | *at++;
	return number;
}

void tagset_put_id(struct buf *b, uint64_t id, uint32_t dup)
{
	text_printf(b, "\t%016" PRIx64, id);
	if (dup)
		text_printf(b, ".%u", dup);
}

int tagset_writer_add(struct tagset_writer *w, struct router *router, uint64_t key)
{
	int err = w->id.failed || w->data.failed ? -ENOMEM
						 : router_add(router, key, w->id.data, w->id.len,
							      w->data.data, w->data.len);

	buf_clear(&w->id);
	buf_clear(&w->data);
	return err;
}

int tagset_writer_sections(struct tagset_writer *w, const uint64_t *lengths, size_t n)
{
	struct tagset_part *parts = calloc(n + 1, sizeof(*parts));
	uint64_t *before = calloc(n + 1, sizeof(*before)), *all = calloc(n + 1, sizeof(*all));
	int err = parts && before && all && !w->text.failed ? 0 : -ENOMEM;

	if (err == 0 && n)
		memcpy(all, lengths, n * sizeof(*all));
	if (err == 0)
		err = router_sum(w->comm, all, n, before);
	for (size_t i = 0; err == 0 && i < n; i++) {
		parts[i] = (struct tagset_part){w->shared.bytes + before[i], lengths[i]};
		w->shared.bytes += all[i];
	}
	if (err == 0)
		err = w->sink->put(w->sink->arg, parts, n, &w->text);
	buf_clear(&w->text);
	free(parts);
	free(before);
	free(all);
	return err;
}

int tagset_writer_section(struct tagset_writer *w)
{
	const uint64_t length = w->text.len;

	return tagset_writer_sections(w, &length, 1);
}

int tagset_writer_flush(struct tagset_writer *w)
{
	return w->comm->size == 1 && w->text.len > SHARE_FLUSH ? tagset_writer_section(w) : 0;
}

int tagset_writer_number(struct tagset_writer *w, struct router *r, uint64_t *ret_first,
			 uint64_t *ret_all)
{
	uint64_t n = router_count(r), first = 0, all = n;
	int err = router_sum(w->comm, &all, 1, &first);

	for (uint32_t i = 0; err == 0 && i < n; i++)
		router_answer(r, i, first + i);
	if (err == 0)
		err = all > UINT32_MAX ? -EOVERFLOW : router_return(r);
	*ret_first = first;
	*ret_all = all;
	return err;
}

/* --- recordings ------------------------------------------------------------------------------- */

/* Reads the number that is an item's data. */
static uint64_t number_at(const uint8_t *data)
{
	uint64_t number;

	memcpy(&number, data, sizeof(number));
	return number;
}

/* Combines recordings. The data is the number of inputs that had the recording. */
static bool add_inputs(uint8_t *into, size_t n_into, const uint8_t *from, size_t n_from)
{
	const uint64_t sum = number_at(into) + number_at(from);

	(void)n_into;
	(void)n_from;
	memcpy(into, &sum, sizeof(sum));
	return false;
}

static int add_recordings(struct tagset_writer *w, struct router *r)
{
	const struct tagset *set = w->set;
	uint64_t ends[2] = {0, 0}; /* the largest start, and the complement of the smallest */
	int err = 0;

	for (size_t i = 0; err == 0 && i < set->recordings.count; i++) {
		const struct tagset_recording *rec = &set->recordings.items[i];
		const char *fields = tagset_escaped(set, rec->fields);
		uint64_t inputs = rec->inputs, start = rec->start_unix_ns;

		ends[0] = start > ends[0] ? start : ends[0];
		ends[1] = ~start > ends[1] ? ~start : ends[1];
		buf_put(&w->id, fields, strlen(fields));
		BUF_PUT(&w->data, inputs);
		err = tagset_writer_add(w, r, start);
	}
	if (err == 0)
		err = router_largest(w->comm, ends, 2);
	return err == 0 ? router_run(r, ~ends[1], ends[0], true) : err;
}

static int put_recordings(struct tagset_writer *w, struct router *r)
{
	int err = 0;

	if (w->comm->rank == 0)
		text_printf(&w->text, "stackd-tags %d\n", TAGSET_VERSION);
	for (uint32_t i = 0; err == 0 && i < router_count(r); i++) {
		struct router_item item = router_at(r, i);

		w->shared.repeated += number_at(item.data) > 1;
		text_put_raw(&w->text, "recording\t");
		buf_put(&w->text, item.id, item.n_id);
		text_put_raw(&w->text, "\n");
		err = tagset_writer_flush(w);
	}
	if (err == 0)
		err = router_sum(w->comm, &w->shared.repeated, 1, NULL);
	return err == 0 ? tagset_writer_section(w) : err;
}

static int write_recordings(struct tagset_writer *w)
{
	struct router *r;
	uint64_t first;
	int err = router_new(w->comm, add_inputs, &r);

	if (err < 0)
		return err;
	err = add_recordings(w, r);
	if (err == 0)
		err = tagset_writer_number(w, r, &first, &w->n_recordings);
	for (size_t i = 0; err == 0 && i < w->set->recordings.count; i++)
		w->recordings[i] = (uint32_t)router_answer_to(r, (uint32_t)i);
	w->shared.recordings = w->n_recordings;
	if (err == 0)
		err = put_recordings(w, r);
	router_free(r);
	return err;
}

/* --- processes -------------------------------------------------------------------------------- */

/* Combines processes. The data is the process's rank; the largest one is kept. */
static bool keep_rank(uint8_t *into, size_t n_into, const uint8_t *from, size_t n_from)
{
	(void)n_into;
	(void)n_from;
	return number_at(from) > number_at(into);
}

static int put_processes(struct tagset_writer *w, struct router *r, uint64_t first)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < router_count(r); i++) {
		struct router_item item = router_at(r, i);
		uint64_t rank = number_at(item.data), process = first + i;

		text_printf(&w->text, "process\t%" PRIu64 "\t", process);
		buf_put(&w->text, item.id, item.n_id);
		text_printf(&w->text, "\t%" PRIu64 "\n", item.key);
		if (rank)
			text_printf(&w->text, "rank\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu64 "\n",
				    process, (uint32_t)rank - 1, rank >> 32);
		err = tagset_writer_flush(w);
	}
	return err == 0 ? tagset_writer_section(w) : err;
}

/* Gets the ranks of processes from their owners, because a process's rank may be in another set
 * than its samples. */
static int return_ranks(struct tagset_writer *w, struct router *r)
{
	int err;

	for (uint32_t i = 0; i < router_count(r); i++)
		router_answer(r, i, number_at(router_at(r, i).data));
	err = router_return(r);
	for (size_t i = 0; err == 0 && i < w->set->processes.count; i++)
		w->ranks[i] = router_answer_to(r, (uint32_t)i);
	return err;
}

static int write_processes(struct tagset_writer *w)
{
	const struct tagset *set = w->set;
	struct router *r;
	uint64_t first;
	int err = router_new(w->comm, keep_rank, &r);

	if (err < 0)
		return err;
	for (size_t i = 0; err == 0 && i < set->processes.count; i++) {
		const struct tagset_process *p = &set->processes.items[i];
		const char *fields = tagset_escaped(set, p->fields);

		buf_put(&w->id, fields, strlen(fields));
		BUF_PUT(&w->data, p->rank);
		err = tagset_writer_add(w, r, w->recordings[p->recording]);
	}
	if (err == 0)
		err = router_run(r, 0, w->n_recordings - 1, true);
	if (err == 0)
		err = tagset_writer_number(w, r, &first, &w->n_processes);
	for (size_t i = 0; err == 0 && i < set->processes.count; i++)
		w->processes[i] = (uint32_t)router_answer_to(r, (uint32_t)i);
	if (err == 0)
		err = return_ranks(w, r);
	if (err == 0)
		err = put_processes(w, r, first);
	router_free(r);
	return err;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Combines samples. The data is count and weight. begin() has checked that the sums over all sets
 * do not overflow. */
static bool add_amounts(uint8_t *into, size_t n_into, const uint8_t *from, size_t n_from)
{
	add_inputs(into, n_into, from, n_from);
	return add_inputs(into + sizeof(uint64_t), n_into, from + sizeof(uint64_t), n_from);
}

/* The id of a sample's item: whether it is a record of another metric than samples, depth, tag and
 * the number after its point; then three texts, each with a NUL: the thread's name, the fields
 * behind the amounts, and the metric. */
enum { SAMPLE_DEPTH = 1, SAMPLE_TAG = 5, SAMPLE_DUP = 13, SAMPLE_TEXTS = 17 };

static int add_sample(struct tagset_writer *w, struct router *r, const struct tagset_sample *s)
{
	const struct tagset *set = w->set;
	const struct tagset_node *node = &set->nodes.items[s->node];
	const uint32_t texts[] = {s->comm, s->remainder, s->metric};

	buf_put_u8(&w->id, s->metric != w->cpu);
	tagset_put_be(&w->id, node->depth, 4);
	tagset_put_be(&w->id, node->tag, 8);
	tagset_put_be(&w->id, w->node_dup[s->node], 4);
	for (unsigned i = 0; i < 3; i++) {
		const char *text = tagset_escaped(set, texts[i]);

		buf_put(&w->id, text, strlen(text) + 1);
	}
	BUF_PUT(&w->data, s->count);
	BUF_PUT(&w->data, s->weight);
	return tagset_writer_add(w, r, w->processes[s->process]);
}

static void put_sample(struct tagset_writer *w, const struct router_item *item)
{
	const char *comm = (const char *)item->id + SAMPLE_TEXTS;
	const char *remainder = comm + strlen(comm) + 1;
	uint64_t count, weight;

	memcpy(&count, item->data, sizeof(count));
	memcpy(&weight, item->data + sizeof(count), sizeof(weight));
	text_put_raw(&w->text, item->id[0] ? "value" : "sample");
	tagset_put_id(&w->text, tagset_get_be(item->id + SAMPLE_TAG, 8),
		      (uint32_t)tagset_get_be(item->id + SAMPLE_DUP, 4));
	text_printf(&w->text, "\t%" PRIu64 "\t", item->key);
	text_put_raw(&w->text, comm);
	if (item->id[0]) {
		text_put_raw(&w->text, "\t");
		text_put_raw(&w->text, remainder + strlen(remainder) + 1);
	}
	text_printf(&w->text, "\t%" PRIu64 "\t%" PRIu64 "\t", count, weight);
	text_put_raw(&w->text, remainder);
	text_put_raw(&w->text, "\n");
}

static int write_samples(struct tagset_writer *w)
{
	struct router *r;
	int err = router_new(w->comm, add_amounts, &r);

	if (err < 0)
		return err;
	for (size_t i = 0; err == 0 && i < w->set->samples.count; i++)
		err = add_sample(w, r, &w->set->samples.items[i]);
	if (err == 0)
		err = router_run(r, 0, w->n_processes ? w->n_processes - 1 : 0, false);
	for (uint32_t i = 0; err == 0 && i < router_count(r); i++) {
		const struct router_item item = router_at(r, i);

		put_sample(w, &item);
		err = tagset_writer_flush(w);
	}
	router_free(r);
	return err == 0 ? tagset_writer_section(w) : err;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Replaces two numbers by their sums over all processes. Returns -EOVERFLOW if a sum exceeds 64
 * bits. */
static int add_up(struct tagset_writer *w, uint64_t numbers[2])
{
	uint64_t halves[4] = {(uint32_t)numbers[0], numbers[0] >> 32, (uint32_t)numbers[1],
			      numbers[1] >> 32};
	int err = router_sum(w->comm, halves, 4, NULL);

	for (unsigned i = 0; err == 0 && i < 2; i++) {
		uint64_t upper = halves[2 * i + 1] + (halves[2 * i] >> 32);

		if (upper > UINT32_MAX)
			return -EOVERFLOW;
		numbers[i] = upper << 32 | (uint32_t)halves[2 * i];
	}
	return err;
}

/* Before anything is written: checks that the sums over all sets do not overflow, and that a set
 * has a recording. Returns 0 or an error of tagset_share(). */
static int begin(struct tagset_writer *w)
{
	const struct tagset *set = w->set;
	uint64_t totals[2] = {set->totals[0].samples, set->totals[0].weight};
	uint64_t some = set->recordings.count;
	int err = add_up(w, totals);

	w->shared.samples = totals[0];
	w->shared.weight = totals[1];
	w->shared.skipped = set->skipped;
	if (err == 0)
		err = router_sum(w->comm, &w->shared.skipped, 1, NULL);
	if (err == 0)
		err = router_largest(w->comm, &some, 1);
	if (err == 0 && !some)
		err = -ENODATA;
	return err == 0 ? strings_intern(set->strings, TAGSET_CPU, &w->cpu) : err;
}

static int share_new(struct tagset_writer *w)
{
	const struct tagset *set = w->set;

	w->recordings = calloc(set->recordings.count + 1, sizeof(*w->recordings));
	w->objects = calloc(set->objects.count + 1, sizeof(*w->objects));
	w->processes = calloc(set->processes.count + 1, sizeof(*w->processes));
	w->ranks = calloc(set->processes.count + 1, sizeof(*w->ranks));
	w->location_dup = calloc(set->locations.count + 1, sizeof(*w->location_dup));
	w->node_dup = calloc(set->nodes.count + 1, sizeof(*w->node_dup));
	return w->recordings && w->objects && w->processes && w->ranks && w->location_dup &&
			       w->node_dup
		       ? 0
		       : -ENOMEM;
}

static int write_all(struct tagset_writer *w)
{
	int err = write_recordings(w);

	if (err == 0)
		err = tagset_write_locations(w);
	if (err == 0)
		err = tagset_write_tags(w);
	if (err == 0)
		err = write_processes(w);
	if (err == 0)
		err = write_samples(w);
	if (err == 0)
		err = tagset_write_totals(w);
	if (err < 0)
		return err;
	if (w->comm->rank == 0)
		text_put_raw(&w->text, "end\n");
	return tagset_writer_section(w);
}

int tagset_share(const struct tagset *set, const struct router_comm *comm,
		 const struct tagset_sink *sink, struct tagset_shared *ret_shared)
{
	struct tagset_writer w = {.set = set, .comm = comm, .sink = sink};
	int err = share_new(&w);

	if (err == 0)
		err = begin(&w);
	if (err == 0)
		err = write_all(&w);
	if (err == 0)
		*ret_shared = w.shared;
	buf_free(&w.text);
	buf_free(&w.id);
	buf_free(&w.data);
	free(w.recordings);
	free(w.objects);
	free(w.processes);
	free(w.ranks);
	free(w.location_dup);
	free(w.node_dup);
	return err;
}

/* --- a single set ----------------------------------------------------------------------------- */

static int put_in_file(void *arg, const struct tagset_part *parts, size_t n, const struct buf *text)
{
	(void)parts; /* a single process writes its parts in order */
	(void)n;
	if (!text->len)
		return 0;
	return fwrite(text->data, 1, text->len, arg) == text->len ? 0 : -EIO;
}

int tagset_write(const struct tagset *set, FILE *out)
{
	const struct tagset_sink sink = {put_in_file, out};
	struct tagset_shared shared;
	int err = tagset_share(set, &router_alone, &sink, &shared);

	return err == 0 && fflush(out) != 0 ? -EIO : err;
}
