/* SPDX-License-Identifier: MIT */
/*
 * The samples of a recording, or the records of another series, in time order.
 *
 * Chunks are sorted inside, and nearly always follow each other in time; but a sample that arrived
 * late is in a later chunk. So chunks are read in order of their first sample's time, and samples
 * that are later than the first sample of the next chunk wait to be merged with that chunk. Mostly
 * no sample waits, and the caller gets samples directly from the buffer into which they were
 * decoded.
 *
 * Decoding takes as long as processing the samples, so two threads do it (base/pipeline.h). A
 * connection to SQLite is for one thread at a time, so blobs are fetched under a lock and decoded
 * without it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/pipeline.h"
#include "stackd_abi.h"
#include "store/reader_state.h"
#include "store/sample_codec.h"
#include "store/store_join.h"

/* samples that may wait for a later chunk at the same time; they take 512 MiB */
#define SAMPLES_MAX_WAITING (1u << 24)

struct samples_chunk {
	uint64_t first_ns;
	int64_t seq, count;
};

/* A chunk that is being read: its blob, then its samples. */
struct samples_slot {
	struct buf blob;
	struct store_sample *decoded; /* room for SAMPLE_CODEC_MAX */
};

typedef VEC(struct store_sample) samples_waiting;

struct samples {
	struct store_reader *r;
	uint32_t kind;	   /* kind of the series' chunks */
	bool is_unchecked; /* the tables are not loaded, so numbers cannot be checked */
	VEC(struct samples_chunk) chunks;
	pthread_mutex_t lock; /* held while the statement or its connection is used */
	sqlite3_stmt *stmt;
	struct samples_slot slots[PIPELINE_SLOTS];
	samples_waiting waiting;
	size_t done; /* how many of `waiting` were handed out */
	int (*each)(void *arg, const struct store_sample *sample);
	void *arg;
};

static int samples_compare_chunks(const void *a, const void *b)
{
	const struct samples_chunk *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Lists the chunks of samples, in order of their first sample. */
static int samples_list_chunks(struct samples *s)
{
	const int64_t parameters[] = {s->r->tables.recording.id, s->kind};
	sqlite3_stmt *stmt;
	int err, rc;

	err = store_load_prepare(s->r->db,
				 "SELECT seq, count, first_ns FROM chunks INDEXED BY chunks_by_kind"
				 " WHERE recording=? AND kind=? ORDER BY seq",
				 parameters, 2, &stmt);
	if (err < 0)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct samples_chunk c = {.seq = sqlite3_column_int64(stmt, 0),
					  .count = sqlite3_column_int64(stmt, 1),
					  .first_ns = (uint64_t)sqlite3_column_int64(stmt, 2)};

		if (c.seq != (int64_t)s->chunks.count || c.count < 1 || c.count > SAMPLE_CODEC_MAX)
			err = -EBADMSG;
		if (err == 0)
			err = VEC_RESERVE(&s->chunks, 1);
		if (err < 0)
			break;
		s->chunks.items[s->chunks.count++] = c;
	}
	sqlite3_finalize(stmt);
	if (err == 0)
		err = store_db_errno(s->r->db, rc);
	if (err == 0 && s->chunks.count)
		qsort(s->chunks.items, s->chunks.count, sizeof(*s->chunks.items),
		      samples_compare_chunks);
	return err;
}

/* --- decoding a chunk: in either thread ----------------------------------------------------- */

/* Copies a chunk's blob. The caller holds the lock. */
static int samples_fetch(struct samples *s, const struct samples_chunk *c, struct buf *ret_blob)
{
	int rc, err = 0;

	buf_clear(ret_blob);
	sqlite3_bind_int64(s->stmt, 3, c->seq);
	rc = sqlite3_step(s->stmt);
	if (rc == SQLITE_ROW)
		buf_put(ret_blob, sqlite3_column_blob(s->stmt, 0),
			(size_t)sqlite3_column_bytes(s->stmt, 0));
	else
		err = rc == SQLITE_DONE ? -EBADMSG : store_db_errno(s->r->db, rc);
	sqlite3_reset(s->stmt);
	return ret_blob->failed ? -ENOMEM : err;
}

static int samples_check(const struct samples *s, const struct samples_chunk *c,
			 const struct store_sample *decoded)
{
	const struct store_tables *t = &s->r->tables;

	if (decoded[0].time_ns != c->first_ns)
		return -EBADMSG;
	for (int64_t i = 0; i < c->count && !s->is_unchecked; i++) {
		const struct store_sample *sample = &decoded[i];

		if (sample->thread >= t->n_threads || sample->node >= t->n_nodes ||
		    sample->origin >= t->n_origins || sample->end_reason >= STACKD_END_COUNT)
			return -EBADMSG;
	}
	return 0;
}

static int samples_make(void *arg, size_t job, unsigned slot)
{
	struct samples *s = arg;
	struct samples_slot *to = &s->slots[slot];
	const struct samples_chunk *c = &s->chunks.items[job];
	int err;

	if (!to->decoded)
		to->decoded = malloc(SAMPLE_CODEC_MAX * sizeof(*to->decoded));
	if (!to->decoded)
		return -ENOMEM;
	pthread_mutex_lock(&s->lock);
	err = samples_fetch(s, c, &to->blob);
	pthread_mutex_unlock(&s->lock);
	if (err == 0)
		err = sample_codec_decode(to->blob.data, to->blob.len, (size_t)c->count,
					  to->decoded);
	return err == 0 ? samples_check(s, c, to->decoded) : err;
}

/* --- handing out samples ------------------------------------------------------------------- */

/* Calls `each` for the samples from index *at on that are not later than `until`, and sets *at to
 * the first sample after these. */
static int samples_emit(struct samples *s, const struct store_sample *samples, size_t count,
			uint64_t until, size_t *at)
{
	int err = 0;

	while (err == 0 && *at < count && samples[*at].time_ns <= until)
		err = s->each(s->arg, &samples[(*at)++]);
	return err;
}

/* Merges samples into the waiting ones. */
static int samples_merge(struct samples *s, const struct store_sample *samples, size_t count)
{
	size_t left = s->waiting.count - s->done;
	samples_waiting merged = {0};

	if (!count)
		return 0;
	if (left + count > SAMPLES_MAX_WAITING)
		return -EBADMSG;
	if (VEC_RESERVE(&merged, left + count) < 0)
		return -ENOMEM;
	sample_codec_merge(s->waiting.items + s->done, left, samples, count, merged.items);
	merged.count = left + count;
	free(s->waiting.items);
	s->waiting = merged;
	s->done = 0;
	return 0;
}

/* Gives the caller the samples of a chunk that are not later than the first sample of the next
 * chunk; the others wait. */
static int samples_take(void *arg, size_t job, unsigned slot)
{
	struct samples *s = arg;
	const struct store_sample *decoded = s->slots[slot].decoded;
	size_t count = (size_t)s->chunks.items[job].count, at = 0;
	uint64_t until = job + 1 < s->chunks.count ? s->chunks.items[job + 1].first_ns : UINT64_MAX;
	int err = 0;

	if (s->done == s->waiting.count)
		err = samples_emit(s, decoded, count, until, &at);
	if (err == 0)
		err = samples_merge(s, decoded + at, count - at);
	return err == 0 ? samples_emit(s, s->waiting.items, s->waiting.count, until, &s->done)
			: err;
}

static int samples_run(struct samples *s)
{
	const int64_t parameters[] = {s->r->tables.recording.id, s->kind};
	const struct pipeline_work work = {
		.n = s->chunks.count, .make = samples_make, .take = samples_take, .arg = s};
	int err = store_load_prepare(
		s->r->db, "SELECT data FROM chunks WHERE recording=? AND kind=? AND seq=?",
		parameters, 2, &s->stmt);

	if (err == 0)
		err = pipeline_run(&work);
	sqlite3_finalize(s->stmt);
	return err;
}

static int samples_add_series(struct store_reader *reader, uint64_t *series)
{
	const int64_t parameters[] = {reader->tables.recording.id};
	sqlite3_stmt *stmt;
	int rc, err;

	err = store_load_prepare(reader->db,
				 "SELECT DISTINCT kind FROM chunks INDEXED BY chunks_by_kind"
				 " WHERE recording=?",
				 parameters, 1, &stmt);
	if (err < 0)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t kind = sqlite3_column_int64(stmt, 0);

		for (uint32_t i = 0; i < SERIES_COUNT; i++) {
			if (i < SERIES_READING || i > SERIES_THREAD_BEGIN)
				*series |= (uint64_t)(kind == table_series_kind(i)) << i;
		}
	}
	sqlite3_finalize(stmt);
	return store_db_errno(reader->db, rc);
}

int store_reader_series(struct store_reader *reader, uint64_t *ret_series)
{
	uint64_t series = 0;
	int err = 0;

	if (reader->is_summed)
		series = reader->series;
	else if (!reader->parts.count)
		err = samples_add_series(reader, &series);
	for (size_t i = 0; err == 0 && i < reader->parts.count; i++)
		err = samples_add_series(reader->parts.items[i].window, &series);
	*ret_series = series;
	return err;
}

const struct store_sum *store_reader_sums(const struct store_reader *reader, size_t *ret_count)
{
	*ret_count = reader->sums.count;
	return reader->sums.items;
}

int store_reader_samples(struct store_reader *reader,
			 int (*each)(void *arg, const struct store_sample *sample), void *arg)
{
	return store_reader_records(reader, SERIES_CPU, each, arg);
}

/* Reads a series of one recording. */
static int samples_read(struct samples *s)
{
	int err;

	pthread_mutex_init(&s->lock, NULL);
	err = samples_list_chunks(s);
	if (err == 0)
		err = samples_run(s);
	for (unsigned i = 0; i < PIPELINE_SLOTS; i++) {
		buf_free(&s->slots[i].blob);
		free(s->slots[i].decoded);
	}
	pthread_mutex_destroy(&s->lock);
	free(s->chunks.items);
	free(s->waiting.items);
	return err;
}

/* For store_reader_leave_out(): calls the caller's function with each sample's node replaced by the
 * nearest ancestor that is shown. */
struct samples_shown {
	const uint32_t *shown;
	int (*each)(void *arg, const struct store_sample *record);
	void *arg;
};

static int samples_show(void *arg, const struct store_sample *record)
{
	const struct samples_shown *to = arg;
	struct store_sample sample = *record;

	sample.node = to->shown[sample.node];
	return to->each(to->arg, &sample);
}

static int samples_records(struct store_reader *reader, enum metric_series series, bool all,
			   int (*each)(void *arg, const struct store_sample *record), void *arg)
{
	struct samples_shown to = {reader->shown, each, arg};
	struct samples s = {
		.r = reader, .kind = table_series_kind(series), .each = each, .arg = arg};

	if (reader->is_summed)
		return 0;
	if (reader->shown) {
		s.each = samples_show;
		s.arg = &to;
	}
	if (reader->parts.count)
		return store_join_records(reader, series, all, s.each, s.arg);
	return samples_read(&s);
}

int store_reader_records(struct store_reader *reader, enum metric_series series,
			 int (*each)(void *arg, const struct store_sample *record), void *arg)
{
	return samples_records(reader, series, false, each, arg);
}

int store_reader_all_records(struct store_reader *reader, enum metric_series series,
			     int (*each)(void *arg, const struct store_sample *record), void *arg)
{
	return samples_records(reader, series, true, each, arg);
}

/* --- records that began before a moment -------------------------------------------------- */

#define SAMPLES_REACH 1 /* result that ends the search: a record was found */
/* result that ends the search: later records cannot have begun before the time searched for */
#define SAMPLES_BEYOND 2

/* A sample stands for the CPU time before it, but never for more than this. */
#define SAMPLES_LONGEST_NS 10000000000

/* A thread on the CPU has a sample at least so often, or if STORE_UNSAMPLED periods are longer,
 * once in these. */
#define SAMPLES_APART_NS 100000000

struct samples_search {
	uint64_t before_ns;
	uint64_t apart_ns; /* longest time between two samples of a thread on the CPU */
	bool is_pass;	   /* the records are passes, whose times are in two series */
	bool has_any;	   /* the series has records with a length */
};

/* Ends the search if a record began, or may have begun, before `before_ns`. Records are at the end
 * of what they stand for. A wait lasted at most as long as the time that its record stands for. A
 * pass has two records, its own time and the time of the passes nested in it; it lasted at most
 * twice the larger of the two. And if a wait began shortly after `before_ns`, its thread was on the
 * CPU until then, possibly since before `before_ns`. */
static int samples_reach(void *arg, const struct store_sample *record)
{
	struct samples_search *search = arg;
	const uint64_t before_ns = search->before_ns + search->apart_ns;

	search->has_any = true;
	return record->time_ns < before_ns || record->period > (record->time_ns - before_ns) /
								       (search->is_pass ? 2 : 1)
		       ? SAMPLES_REACH
		       : 0;
}

static int samples_reach_cpu(void *arg, const struct store_sample *sample)
{
	const struct samples_search *search = arg;
	const uint64_t before_ns = search->before_ns;
	const uint64_t longest_ns =
		search->apart_ns > SAMPLES_LONGEST_NS ? search->apart_ns : SAMPLES_LONGEST_NS;

	if (sample->time_ns < before_ns || sample->period > sample->time_ns - before_ns)
		return SAMPLES_REACH;
	return sample->time_ns - before_ns > longest_ns ? SAMPLES_BEYOND : 0;
}

static int samples_search(struct store_reader *r, enum metric_series series,
			  int (*each)(void *arg, const struct store_sample *record),
			  struct samples_search *search)
{
	struct samples s = {.r = r,
			    .kind = table_series_kind(series),
			    .is_unchecked = true,
			    .each = each,
			    .arg = search};

	return samples_read(&s);
}

int store_samples_reach(struct store_reader *r, uint64_t before_ns, bool *ret_reach)
{
	static const enum metric_series lasting[] = {SERIES_WAIT_BLOCKED, SERIES_WAIT_RUNNABLE,
						     SERIES_REGION_TIME, SERIES_REGION_NESTED_TIME,
						     SERIES_CPU_OUTSIDE};
	const uint64_t apart_ns = STORE_UNSAMPLED * store_period_ns(&r->tables.recording);
	struct samples_search search = {.before_ns = before_ns,
					.apart_ns = apart_ns > SAMPLES_APART_NS ? apart_ns
										: SAMPLES_APART_NS};
	int err = 0;

	for (size_t i = 0; err == 0 && i < sizeof(lasting) / sizeof(*lasting); i++) {
		search.is_pass =
			lasting[i] == SERIES_REGION_TIME || lasting[i] == SERIES_REGION_NESTED_TIME;
		err = samples_search(r, lasting[i], samples_reach, &search);
	}
	if (err == 0 && search.has_any)
		err = samples_search(r, SERIES_CPU, samples_reach_cpu, &search);
	*ret_reach = err == SAMPLES_REACH;
	return err < 0 ? err : 0;
}
