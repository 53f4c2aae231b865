/* SPDX-License-Identifier: MIT */
/*
 * Queries a fleet's database; see fleet.h.
 *
 * The first query gets the windows in the range of time, their event and their pushes; the second
 * gets the sums of these pushes' samples, which the server computes; the others get the paths and
 * locations of the sums.
 * Paths are fetched generation by generation, from the leaves up, because the engine has no
 * recursion. All paths are fetched at once if the sums need a large part of them, since then each
 * generation reads the whole table again, for tags are hashes; or once as many generations were
 * fetched as cost about as much, since a path can have thousands. The limits (an eighth of the
 * paths; a generation for each 4,096 paths, at least 48) were chosen by hand.
 *
 * Paths and locations are first looked for among those of the windows' days, which nearly always
 * have all of them. Only if some are missing, as after an upgrade of the tables, the other days are
 * read, too.
 */
#include "clickhouse/fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "clickhouse/fleet_build.h"
#include "clickhouse/fleet_sql.h"
#include "clickhouse/database.h"
#include "stack/end_reason.h"
#include "stackd_abi.h"

#define FLEET_GENERATIONS 48   /* so many generations are fetched one by one, or more */
#define FLEET_GENERATION  4096 /* paths that cost as much to fetch as a generation of a few */
/* if the sums need one path in so many, all paths are fetched */
#define FLEET_PART 8
#define FLEET_TEXT 4096 /* bytes of a label, with its NUL */

void fleet_unescape(char *text)
{
	char *to = text, *from = text;

	for (; *from; from++, to++) {
		char digits[3] = {0};

		*to = *from;
		if (from[0] != '\\' || from[1] != 'x' || !from[2] || !from[3])
			continue;
		memcpy(digits, from + 2, 2);
		*to = (char)strtol(digits, NULL, 16);
		from += 3;
	}
	*to = '\0';
}

/* --- requests --------------------------------------------------------------------------------- */

/* Runs a query that is in a buffer. */
static int ask(struct fleet *f, struct buf *query, const struct buf *ids, struct buf *ret_answer)
{
	int err;

	text_put_raw(query, " FORMAT RowBinary");
	buf_put_u8(query, '\0');
	err = query->failed || (ids && ids->failed)
		      ? -ENOMEM
		      : clickhouse_ask(f->c, (const char *)query->data, ids, ret_answer);
	buf_free(query);
	return err;
}

static int is_cut(const struct fleet *f, const struct buf_reader *r)
{
	return r->failed ? clickhouse_fail(f->c, -EPROTO, "the answer is cut") : 0;
}

static void get_text(struct buf_reader *r, char text[FLEET_TEXT])
{
	if (buf_get_string(r, text, FLEET_TEXT))
		fleet_unescape(text);
}

/* --- windows ---------------------------------------------------------------------------------- */

/* Sums over the windows of one event. */
struct event {
	char name[FLEET_TEXT], host[FLEET_TEXT];
	uint64_t windows, hosts, start_ns, last_start_ns, end_ns, samples, lost;
	const uint8_t *pushes; /* 8 bytes for each window, in the answer */
};

static int get_event(const struct fleet *f, struct buf_reader *r, struct event *e)
{
	get_text(r, e->name);
	get_text(r, e->host);
	BUF_GET(r, e->windows);
	BUF_GET(r, e->hosts);
	BUF_GET(r, e->start_ns);
	BUF_GET(r, e->last_start_ns);
	BUF_GET(r, e->end_ns);
	BUF_GET(r, e->samples);
	BUF_GET(r, e->lost);
	if (buf_get_varint(r) != e->windows || buf_left(r) / sizeof(uint64_t) < e->windows)
		r->failed = true;
	e->pushes = r->at;
	if (!r->failed)
		r->at += e->windows * sizeof(uint64_t);
	return is_cut(f, r);
}

static int make_reader(struct fleet *f, const struct event *e)
{
	char hosts[32];
	const struct store_recording recording = {.id = 1,
						  .start_unix_ns = e->start_ns,
						  .start_ns = e->start_ns,
						  .end_ns = e->end_ns,
						  .host = e->hosts == 1 ? e->host : hosts,
						  .kernel = "",
						  .arch = "",
						  .command = "",
						  .target = clickhouse_name(f->c),
						  .event = e->name,
						  .note = "",
						  .finished = true,
						  .samples = e->samples,
						  .lost = e->lost};

	snprintf(hosts, sizeof(hosts), "%" PRIu64 " hosts", e->hosts);
	return store_memory_new(&recording, (uint32_t)e->windows,
				(uint64_t)1 << metric_info(f->query->metric)->series, &f->reader);
}

/* Notes that windows of an event are left out. */
static void leave_out(struct fleet_found *found, const struct event *e)
{
	const size_t used = strlen(found->events);

	found->left_out += e->windows;
	snprintf(found->events + used, sizeof(found->events) - used, "%s%s", used ? ", " : "",
		 *e->name ? e->name : "?");
}

/* Makes the reader and the conditions for the windows of an event, and keeps their pushes. */
static int choose_event(struct fleet *f, const struct event *e)
{
	if (metric_info(f->query->metric)->has_samples && !strstr(e->name, "clock"))
		return clickhouse_fail(f->c, -ENODATA,
				       "%s adds up times, and the samples count %s: --event NAME "
				       "chooses recordings of a clock, if there are any",
				       metric_info(f->query->metric)->name, e->name);
	f->found.windows = e->windows;
	f->found.hosts = e->hosts;
	fleet_sql_choose(f, e->start_ns, e->last_start_ns);
	buf_put(&f->push_ids, e->pushes, e->windows * sizeof(uint64_t));
	return make_reader(f, e);
}

/* Reads the events, of which the newest comes first, and chooses one. */
static int take_events(struct fleet *f, const struct buf *answer)
{
	struct buf_reader r = buf_reader(answer->data, answer->len);
	const char *wanted = fleet_sql_is_of_samples(f) ? f->query->event : NULL;
	struct event *chosen = calloc(2, sizeof(*chosen)), *other = chosen + 1;
	int err = chosen ? 0 : -ENOMEM;

	if (err == 0 && !buf_left(&r))
		err = clickhouse_fail(f->c, -ENODATA,
				      "it has nothing of that time and these hosts");
	while (err == 0 && buf_left(&r)) {
		err = get_event(f, &r, other);
		if (!chosen->windows && (!wanted || strcmp(wanted, other->name) == 0))
			*chosen = *other;
		else
			leave_out(&f->found, other);
	}
	if (err == 0 && !chosen->windows)
		err = clickhouse_fail(f->c, -ENODATA,
				      "it has no recordings of the event '%s' there, but of: %s",
				      wanted, f->found.events);
	if (err == 0)
		err = choose_event(f, chosen);
	free(chosen);
	return err;
}

/* Chooses the windows, and makes the reader with their recording. Errors as fleet_open(). */
static int choose_windows(struct fleet *f)
{
	struct buf query = {0}, answer = {0};
	int err;

	text_put_raw(&query,
		     fleet_sql_is_of_samples(f)
			     ? "SELECT event AS name"
			     : "SELECT if(uniqExact(event) = 1, any(event), 'several events') "
			       "AS name");
	text_put_raw(&query, ", any(host), count(), uniqExact(host), min(start_ns), max(start_ns), "
			     "max(end_ns), sum(samples), sum(lost), groupArray(push) FROM ");
	fleet_sql_windows(f, &query);
	/* Without windows, a query without groups would answer with a row of zeros. */
	text_put_raw(&query, fleet_sql_is_of_samples(f)
				     ? " GROUP BY event ORDER BY max(end_ns) DESC, name"
				     : " HAVING count() > 0");
	err = ask(f, &query, NULL, &answer);
	if (err == 0)
		err = take_events(f, &answer);
	buf_free(&answer);
	return err;
}

/* --- sums ------------------------------------------------------------------------------------- */

static uint8_t reason_number(const char *name)
{
	for (unsigned i = 0; i < STACKD_END_COUNT; i++)
		if (strcmp(end_reason_name((uint8_t)i), name) == 0)
			return (uint8_t)i;
	return UINT8_MAX;
}

/* Gives the reader's thread for these labels, and adds it, and its process, if it is new. Returns 0
 * or an error. */
static int thread_of(struct fleet *f, const struct store_labels *labels, const char *label_set,
		     uint32_t *ret_thread)
{
	uint32_t known = strings_count(f->threads), processes = strings_count(f->processes);
	struct store_thread thread = {
		.comm = labels->command, .labels = labels, .label_set = label_set};
	struct store_process process = {.comm = labels->host};
	struct buf key = {0};
	int err;

	text_put(&key, labels->host, "\t");
	text_put_raw(&key, "\t");
	text_put(&key, labels->command, "\t");
	text_put_raw(&key, "\t");
	text_put(&key, labels->unit ? labels->unit : "", "\t");
	text_put_raw(&key, "\t");
	text_put(&key, labels->container ? labels->container : "", "\t");
	text_printf(&key, "\t%" PRIu64 "\t", labels->rank);
	text_put(&key, label_set ? label_set : "", "\t");
	buf_put_u8(&key, '\0');
	err = key.failed ? -ENOMEM : strings_intern(f->threads, (const char *)key.data, ret_thread);
	buf_free(&key);
	if (err < 0 || *ret_thread < known)
		return err;
	err = strings_intern(f->processes, labels->host, &thread.process);
	if (err == 0 && thread.process == processes)
		err = store_memory_process(f->reader, &process);
	return err == 0 ? store_memory_thread(f->reader, &thread) : err;
}

static int origin_of(struct fleet *f, uint32_t inferred, bool is_complete, uint32_t *ret_origin)
{
	uint32_t next = (uint32_t)f->origin_at.used + 1; /* origin 0 has no inferred frames */
	int err;

	*ret_origin = ORIGIN_WALKED;
	if (!inferred)
		return 0;
	err = int_map_enter_wide(&f->origin_at, inferred, is_complete, next, ret_origin);
	return err == 0 && *ret_origin == next
		       ? store_memory_origin(f->reader, inferred, is_complete)
		       : err;
}

/* The texts of one row of the sums query's answer. */
struct sum_texts {
	char reason[64], quality[64];
	char host[FLEET_TEXT], command[FLEET_TEXT], unit[FLEET_TEXT], container[FLEET_TEXT];
	char value[FLEET_TEXT];	  /* of the label by which sums are kept apart */
	char set[2 * FLEET_TEXT]; /* the same as a thread's labels: NAME=VALUE */
};

static int take_sum(struct fleet *f, struct buf_reader *r, struct sum_texts *t)
{
	struct store_labels labels = {.host = t->host, .command = t->command, .is_chosen = true};
	struct fleet_sum sum = {0};
	uint32_t inferred, rank;
	int err;

	BUF_GET(r, sum.tag);
	BUF_GET(r, sum.alt);
	buf_get_string(r, t->reason, sizeof(t->reason));
	buf_get_string(r, t->quality, sizeof(t->quality));
	BUF_GET(r, inferred);
	get_text(r, t->host);
	get_text(r, t->command);
	get_text(r, t->unit);
	get_text(r, t->container);
	BUF_GET(r, rank);
	get_text(r, t->value);
	if (f->query->by_label)
		snprintf(t->set, sizeof(t->set), "%.*s=%s", FLEET_TEXT - 1, f->query->by_label,
			 t->value);
	BUF_GET(r, sum.sum.count);
	BUF_GET(r, sum.sum.weight);
	labels.rank = rank;
	labels.unit = *t->unit ? t->unit : NULL;
	labels.container = *t->container ? t->container : NULL;
	err = is_cut(f, r);
	if (err == 0)
		err = VEC_RESERVE(&f->sums, 1);
	if (err == 0)
		err = thread_of(f, &labels, *t->value ? t->set : NULL, &sum.sum.thread);
	if (err == 0)
		err = origin_of(f, inferred, strcmp(t->quality, "reconstructed") == 0,
				&sum.sum.origin);
	sum.sum.end_reason = reason_number(t->reason);
	if (err == 0)
		f->sums.items[f->sums.count++] = sum;
	return err;
}

/* Runs a query about samples or totals of the chosen pushes. Of a cluster, it leaves out servers
 * that do not answer, if ask_sums() has found one. */
static int ask_of_pushes(struct fleet *f, struct buf *query, struct buf *ret_answer)
{
	int err;

	if (*f->found.why)
		clickhouse_set(f->c, CLICKHOUSE_LEAVE_OUT);
	err = ask(f, query, &f->push_ids, ret_answer);
	clickhouse_set(f->c, NULL);
	return err;
}

/* Queries the sums of all servers of a cluster. If one of them does not answer, notes that and
 * queries only the others. Returns 0 or an error. */
static int ask_sums(struct fleet *f, struct buf *ret_answer)
{
	struct buf query = {0};
	int err;

	fleet_sql_sums(f, &query);
	err = ask_of_pushes(f, &query, ret_answer);
	if (err != -ENETDOWN)
		return err;
	snprintf(f->found.why, sizeof(f->found.why), "%s", clickhouse_error(f->c));
	fleet_sql_sums(f, &query);
	err = ask_of_pushes(f, &query, ret_answer);
	if (err == -EACCES)
		return clickhouse_fail(
			f->c, err,
			"a server of its cluster does not answer, and this user may "
			"not ask for what the others have: readonly = 2 in its profile "
			"lets it");
	return err;
}

/* Queries how many records of the metric the chosen windows have, from the table of totals, or how
 * many there are, from that of samples. */
static int ask_total(struct fleet *f, const char *table, uint64_t *ret_records)
{
	struct buf query = {0}, answer = {0};
	struct buf_reader r;
	int err;

	text_printf(&query, "SELECT sum(count) FROM %s WHERE ", table);
	fleet_sql_metric(f, &query);
	text_put_raw(&query, " AND ");
	text_put_raw(&query, f->pushes.failed ? "" : (const char *)f->pushes.data);
	err = ask_of_pushes(f, &query, &answer);
	r = buf_reader(answer.data, answer.len);
	*ret_records = 0;
	if (err == 0 && buf_left(&r)) {
		BUF_GET(&r, *ret_records);
		err = is_cut(f, &r);
	}
	buf_free(&answer);
	return err;
}

/* Makes the sums of all paths, which are from `first` on, those of the paths that the query did not
 * give: takes off what it gave, by thread. */
static int take_off(struct fleet *f, size_t first)
{
	size_t kept = first;
	uint64_t *off = calloc((size_t)strings_count(f->threads) + 1, 2 * sizeof(*off));

	if (!off)
		return -ENOMEM;
	for (size_t i = 0; i < first; i++) {
		off[2 * f->sums.items[i].sum.thread] += f->sums.items[i].sum.count;
		off[2 * f->sums.items[i].sum.thread + 1] += f->sums.items[i].sum.weight;
	}
	for (size_t i = first; i < f->sums.count; i++) {
		struct fleet_sum rare = f->sums.items[i];
		const uint64_t *of = &off[2 * rare.sum.thread];

		if (rare.sum.count <= of[0])
			continue;
		rare.is_rare = true;
		rare.sum.count -= of[0];
		rare.sum.weight -= rare.sum.weight > of[1] ? of[1] : rare.sum.weight;
		f->found.rare += rare.sum.count;
		f->sums.items[kept++] = rare;
	}
	f->sums.count = kept;
	free(off);
	return 0;
}

/* If the query gave only the paths with the most records, adds the sums of the others. */
static int add_rare(struct fleet *f, struct sum_texts *texts)
{
	const size_t first = f->sums.count;
	struct buf query = {0}, answer = {0};
	struct buf_reader r;
	int err;

	if (!fleet_sql_most(f) || first < fleet_sql_most(f))
		return 0;
	fleet_sql_whole(f, &query);
	err = ask_of_pushes(f, &query, &answer);
	r = buf_reader(answer.data, answer.len);
	while (err == 0 && buf_left(&r))
		err = take_sum(f, &r, texts);
	buf_free(&answer);
	return err == 0 ? take_off(f, first) : err;
}

/* Computes how many records no server delivered, for whatever reason: one of a cluster does not
 * answer, or a server has lost rows. With a filter, all samples are counted once more. Totals come
 * last: what grows old meanwhile is deleted from them before it is from the samples. */
static int count_missing(struct fleet *f)
{
	const char *filter = (const char *)f->filter.data;
	uint64_t chosen = 0, there;
	int err = 0;

	for (size_t i = 0; i < f->sums.count; i++)
		chosen += f->sums.items[i].sum.count;
	there = chosen;
	if (filter[strspn(filter, " ")]) {
		err = ask_total(f, "samples", &there);
		store_memory_unchosen(f->reader, there > chosen ? there - chosen : 0);
	}
	if (err == 0)
		err = ask_total(f, "totals", &f->found.records);
	if (err == 0 && there < f->found.records)
		f->found.missing = f->found.records - there;
	return err;
}

static int no_sums(struct fleet *f)
{
	const char *records = metric_info(f->query->metric)->records;

	if (f->found.missing)
		return clickhouse_fail(
			f->c, -ENODATA,
			"all %" PRIu64 " %s of that time and these hosts are missing: "
			"%s",
			f->found.missing, records,
			f->database.is_cluster
				? "they are on servers of its cluster that do not answer"
				: "the server has lost them");
	return clickhouse_fail(f->c, -ENODATA, "it has no %s of that time and these hosts%s",
			       records, f->found.records ? " that the options choose" : "");
}

/* Notes in the recording what is missing, so that all views and exports say it. */
static int note_missing(struct fleet *f)
{
	char share[TEXT_SHARE_MAX];
	struct buf note = {0};
	int err;

	text_printf(&note,
		    "%" PRIu64 " of %" PRIu64 " records (%s %%) are missing: ", f->found.missing,
		    f->found.records, text_share(f->found.missing, f->found.records, share));
	text_put_raw(&note, *f->found.why ? f->found.why : "no server that answers has them");
	buf_put_u8(&note, '\0');
	err = note.failed
		      ? -ENOMEM
		      : store_memory_missing(f->reader, f->found.missing, (const char *)note.data);
	buf_free(&note);
	return err;
}

/* Fetches the sums of the windows' samples, with threads and origins. */
static int fetch_sums(struct fleet *f)
{
	struct sum_texts *texts = calloc(1, sizeof(*texts));
	struct buf answer = {0};
	struct buf_reader r;
	int err = texts ? ask_sums(f, &answer) : -ENOMEM;

	r = buf_reader(answer.data, answer.len);
	while (err == 0 && buf_left(&r))
		err = take_sum(f, &r, texts);
	buf_free(&answer);
	if (err == 0)
		err = add_rare(f, texts);
	free(texts);
	if (err == 0)
		err = count_missing(f);
	if (err == 0 && f->found.missing)
		err = note_missing(f);
	return err == 0 && !f->sums.count ? no_sums(f) : err;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* Reads the paths of an answer, and appends to `next` the ids of their parents that have not been
 * fetched yet. Returns 0 or an error. */
static int take_paths(struct fleet *f, const struct buf *answer, struct buf *next)
{
	struct buf_reader r = buf_reader(answer->data, answer->len);
	int err = 0;

	while (err == 0 && buf_left(&r)) {
		struct fleet_path path = {.node = FLEET_NONE};
		uint64_t tag;
		uint32_t alt, at;

		BUF_GET(&r, tag);
		BUF_GET(&r, alt);
		BUF_GET(&r, path.parent);
		BUF_GET(&r, path.parent_alt);
		BUF_GET(&r, path.location);
		BUF_GET(&r, path.location_alt);
		err = is_cut(f, &r);
		if (err == 0)
			err = VEC_RESERVE(&f->paths, 1);
		if (err == 0)
			err = int_map_enter_wide(&f->path_at, tag, alt, (uint32_t)f->paths.count,
						 &at);
		if (err < 0)
			return err;
		if (at == f->paths.count)
			f->paths.items[f->paths.count++] = path;
		else if (f->paths.items[at].parent != path.parent ||
			 f->paths.items[at].location != path.location)
			f->found.ambiguous++;
		if (path.parent &&
		    int_map_find_wide(&f->path_at, path.parent, path.parent_alt) == INT_MAP_NONE)
			BUF_PUT(next, path.parent);
	}
	return err;
}

/* Sets *ret_generations to how many generations are fetched one by one before all paths are: none
 * if so many are needed. Returns 0 or an error. */
static int ask_for_all(struct fleet *f, size_t needed, uint64_t *ret_generations)
{
	struct buf query = {0}, answer = {0};
	struct buf_reader r;
	uint64_t count = 0;
	int err;

	text_put_raw(&query, "SELECT count() FROM paths WHERE ");
	buf_put(&query, f->days.data, f->days.len);
	err = ask(f, &query, NULL, &answer);
	r = buf_reader(answer.data, answer.len);
	if (err == 0) {
		BUF_GET(&r, count);
		err = is_cut(f, &r);
	}
	*ret_generations = count / FLEET_PART <= needed			  ? 0
			   : count / FLEET_GENERATION > FLEET_GENERATIONS ? count / FLEET_GENERATION
									  : FLEET_GENERATIONS;
	buf_free(&answer);
	return err;
}

/* Fetches the paths with these ids, or with `is_all` all paths. On return, `ids` has the ids of
 * their parents that have not been fetched yet. Returns 0 or an error. */
static int fetch_generation(struct fleet *f, bool is_all, struct buf *ids)
{
	struct buf query = {0}, next = {0}, answer = {0};
	int err;

	text_put_raw(&query, "SELECT DISTINCT tag, alt, parent, parent_alt, location, "
			     "location_alt FROM paths WHERE ");
	buf_put(&query, f->days.data, f->days.len);
	if (!is_all)
		text_put_raw(&query, " AND tag IN (SELECT id FROM ids)");
	err = ask(f, &query, is_all ? NULL : ids, &answer);
	if (err == 0)
		err = take_paths(f, &answer, &next);
	if (err == 0 && next.failed)
		err = -ENOMEM;
	buf_free(&answer);
	buf_free(ids);
	*ids = next;
	return err;
}

/* Marks the paths of the sums and all their ancestors as needed. */
static void mark(struct fleet *f)
{
	for (size_t i = 0; i < f->sums.count; i++) {
		uint64_t tag = f->sums.items[i].tag;
		uint32_t alt = f->sums.items[i].alt;

		for (;;) {
			uint32_t at = int_map_find_wide(&f->path_at, tag, alt);

			if (at == INT_MAP_NONE || f->paths.items[at].is_needed)
				break;
			f->paths.items[at].is_needed = true;
			tag = f->paths.items[at].parent;
			alt = f->paths.items[at].parent_alt;
		}
	}
}

/* Appends the ids of the sums' paths and of their ancestors that have not been fetched. */
static void put_missing(const struct fleet *f, struct buf *ids)
{
	for (size_t i = 0; i < f->sums.count; i++) {
		const struct fleet_sum *sum = &f->sums.items[i];

		if (sum->tag && int_map_find_wide(&f->path_at, sum->tag, sum->alt) == INT_MAP_NONE)
			BUF_PUT(ids, sum->tag);
	}
	for (size_t i = 0; i < f->paths.count; i++) {
		const struct fleet_path *path = &f->paths.items[i];

		if (path->parent &&
		    int_map_find_wide(&f->path_at, path->parent, path->parent_alt) == INT_MAP_NONE)
			BUF_PUT(ids, path->parent);
	}
}

/* Fetches the paths of the sums, up to their roots, that have not been fetched. */
static int fetch_paths(struct fleet *f)
{
	struct buf ids = {0};
	uint64_t generations = 0;
	int err;

	put_missing(f, &ids);
	err = ids.failed ? -ENOMEM : 0;
	if (err == 0 && ids.len)
		err = ask_for_all(f, ids.len / sizeof(uint64_t), &generations);
	for (uint64_t i = 0; err == 0 && ids.len && i <= generations; i++)
		err = fetch_generation(f, i == generations, &ids);
	buf_free(&ids);
	if (err == 0)
		put_missing(f, &ids);
	if (err == 0 && ids.len && !f->is_all_days) {
		fleet_sql_all_days(f);
		err = fetch_paths(f);
	}
	buf_free(&ids);
	return err;
}

/* --- all of it -------------------------------------------------------------------------------- */

int fleet_begin(struct fleet *f)
{
	int err = strings_new(&f->threads);

	if (err == 0)
		err = strings_new(&f->processes);
	if (err == 0)
		err = strings_new(&f->objects);
	return err == 0 ? strings_new(&f->texts) : err;
}

void fleet_end(struct fleet *f)
{
	buf_free(&f->push_ids);
	buf_free(&f->pushes);
	buf_free(&f->filter);
	buf_free(&f->days);
	free(f->sums.items);
	free(f->paths.items);
	int_map_fini(&f->path_at);
	int_map_fini(&f->location_at);
	free(f->named.items);
	int_map_fini(&f->origin_at);
	strings_free(f->threads);
	strings_free(f->processes);
	strings_free(f->objects);
	strings_free(f->texts);
	free(f->lines.items);
}

int fleet_open(struct clickhouse *c, const struct fleet_query *query,
	       struct store_reader **ret_reader, struct fleet_found *ret_found)
{
	struct fleet f = {.c = c, .query = query};
	int err = database_check(c, &f.database);

	if (err == 0 && f.database.version < 2 && (query->by_label || query->with.n))
		err = clickhouse_fail(
			c, -EINVAL,
			"its tables are of an older version and have no labels: a push "
			"by this stackctl upgrades them");
	if (err == 0)
		err = fleet_begin(&f);
	if (err == 0)
		err = choose_windows(&f);
	if (err == 0)
		err = fetch_sums(&f);
	if (err == 0)
		err = fetch_paths(&f);
	if (err == 0) {
		mark(&f);
		err = fleet_fetch_locations(&f);
	}
	if (err == 0)
		err = fleet_build(&f);
	if (err == 0) {
		*ret_reader = f.reader;
		*ret_found = f.found;
	} else {
		store_reader_close(f.reader);
		if (!*clickhouse_error(c))
			clickhouse_fail(c, err, "%s",
					err == -ENOMEM ? "out of memory"
						       : "what the server has is not possible");
	}
	fleet_end(&f);
	return err;
}
