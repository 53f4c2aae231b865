/* SPDX-License-Identifier: MIT */
/*
 * Mends names; see mend.h.
 *
 * The locations of one file are made a recording in memory, with a path of one frame and a sample
 * for each, so that the code that names and sends locations of recordings (rows/rows.h) does it for
 * these, too. A location has rows for each day, and each day gets the better names.
 */
#include "clickhouse/mend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "clickhouse/fleet_build.h"
#include "clickhouse/layout.h"
#include "model/profile.h"
#include "proc/object_id.h"
#include "rows/rows.h"

#define MEND_BUILD_ID 256 /* size of a build-id in hexadecimal */
#define MEND_PATH     65536
#define MEND_KINDS    "kind IN ('elf', 'kernel', 'module') AND isNotNull(build_id)"

/* A location on one day. */
struct place {
	uint64_t id;
	uint32_t alt;
	uint32_t named; /* enum rows_named */
	uint16_t day;
};

/* The locations of one file, while they are mended. */
struct file {
	struct cluster *cluster;
	const struct mend_finder *finder;
	struct mended *mended;
	char build_id[MEND_BUILD_ID];
	char object[MEND_PATH];	  /* its path, as the tables have it */
	VEC(struct place) places; /* by id, alt and day */
	struct layout_rows piece; /* rows to send */
	uint64_t now_ns;
};

static int ask(struct cluster *cluster, struct buf *query, struct buf *ret_answer)
{
	int err;

	text_put_raw(query, " FORMAT RowBinary");
	buf_put_u8(query, '\0');
	err = query->failed ? -ENOMEM
			    : cluster_ask(cluster, (const char *)query->data, NULL, ret_answer);
	buf_clear(query);
	return err;
}

static int is_cut(const struct file *m, const struct buf_reader *r)
{
	return r->failed ? clickhouse_fail(cluster_asked(m->cluster), -EPROTO, "the answer is cut")
			 : 0;
}

/* --- one file --------------------------------------------------------------------------------- */

/* Asks how well the file's locations are named on each day. */
static int ask_places(struct file *m)
{
	struct buf query = {0}, answer = {0};
	struct buf_reader r;
	int err;

	m->places.count = 0;
	text_put_raw(&query, "SELECT id, alt, max(named), toUInt16(day) AS d FROM locations WHERE "
			     "build_id = '");
	text_put_raw(&query, m->build_id);
	text_put_raw(&query, "' AND " MEND_KINDS " GROUP BY id, alt, day ORDER BY id, alt, d");
	err = ask(m->cluster, &query, &answer);
	r = buf_reader(answer.data, answer.len);
	while (err == 0 && buf_left(&r)) {
		struct place place = {0};

		BUF_GET(&r, place.id);
		BUF_GET(&r, place.alt);
		BUF_GET(&r, place.named);
		BUF_GET(&r, place.day);
		err = is_cut(m, &r);
		if (err == 0)
			err = VEC_RESERVE(&m->places, 1);
		if (err == 0)
			m->places.items[m->places.count++] = place;
	}
	buf_free(&query);
	buf_free(&answer);
	return err;
}

static bool is_same(const struct place *a, const struct place *b)
{
	return a->id == b->id && a->alt == b->alt;
}

/* Returns the place after those of a location that begins at `at`; *ret_worst is the least that is
 * known of its names on any day. */
static size_t next_location(const struct file *m, size_t at, uint32_t *ret_worst)
{
	size_t end = at;

	*ret_worst = ROWS_NAMED_LINE;
	for (; end < m->places.count && is_same(&m->places.items[at], &m->places.items[end]); end++)
		if (m->places.items[end].named < *ret_worst)
			*ret_worst = m->places.items[end].named;
	return end;
}

static int compare(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->alt < b->alt ? -1 : a->alt > b->alt;
}

/* Takes a row that is better than the worst of its location, for each day that has worse ones. */
static int take_row(void *arg, enum rows_table table, const struct rows_value *values)
{
	struct file *m = arg;
	const struct place like = {.id = values[ROWS_LOCATION_ID].number,
				   .alt = (uint32_t)values[ROWS_LOCATION_ALT].number};
	const struct place *at;
	struct rows_value all[LAYOUT_MAX_COLUMNS];

	if (table != ROWS_LOCATIONS || !m->places.count)
		return 0;
	at = bsearch(&like, m->places.items, m->places.count, sizeof(like), compare);
	if (!at)
		return 0;
	while (at > m->places.items && is_same(&at[-1], &like))
		at--;
	memcpy(all, values, ROWS_LOCATION_N * sizeof(*values));
	all[ROWS_LOCATION_OBJECT].text = m->object;
	all[LAYOUT_LOCATION_NAMED_AT] = (struct rows_value){.number = m->now_ns};
	for (; at < m->places.items + m->places.count && is_same(at, &like); at++) {
		if (at->named >= values[ROWS_LOCATION_NAMED].number)
			continue;
		all[LAYOUT_LOCATION_DAY] = (struct rows_value){.number = at->day};
		layout_put_row(ROWS_LOCATIONS, all, &m->piece);
	}
	m->mended->mended_locations += values[ROWS_LOCATION_INLINED].number == 0;
	return 0;
}

/* Appends a path of one frame, and a sample of it, for each location. */
static int add_paths(struct file *m, struct fleet *f)
{
	uint32_t worst;
	int err = 0;

	for (size_t i = 0, next; err == 0 && i < m->places.count; i = next) {
		const struct fleet_path path = {.location = m->places.items[i].id,
						.location_alt = m->places.items[i].alt,
						.node = FLEET_NONE,
						.is_needed = true};
		const struct fleet_sum sum = {.tag = f->paths.count + 1, .sum = {.count = 1}};
		uint32_t at;

		next = next_location(m, i, &worst);
		if (worst == ROWS_NAMED_LINE)
			continue;
		err = VEC_RESERVE(&f->paths, 1);
		if (err == 0)
			err = VEC_RESERVE(&f->sums, 1);
		if (err == 0)
			err = int_map_enter_wide(&f->path_at, sum.tag, 0, (uint32_t)f->paths.count,
						 &at);
		if (err < 0)
			break;
		f->paths.items[f->paths.count++] = path;
		f->sums.items[f->sums.count++] = sum;
	}
	return err;
}

/* Makes a recording of the file's locations, without their names. */
static int make_recording(struct file *m, struct fleet *f)
{
	/* Older than any file: one whose layout is not known may have been rewritten since
	 * (reader_objects.h). */
	const struct store_recording recording = {.id = 1,
						  .start_unix_ns = 1,
						  .host = "",
						  .kernel = "",
						  .arch = "",
						  .command = "",
						  .target = "",
						  .event = "cpu-clock",
						  .note = ""};
	const struct store_labels labels = {.host = "", .command = ""};
	int err = store_memory_new(&recording, 1, 1, &f->reader);

	if (err == 0)
		err = store_memory_process(f->reader, &(struct store_process){.comm = ""});
	if (err == 0)
		err = store_memory_thread(f->reader,
					  &(struct store_thread){.comm = "", .labels = &labels});
	text_put_raw(&f->days, "build_id = '");
	text_put_raw(&f->days, m->build_id);
	text_put_raw(&f->days, "' AND " MEND_KINDS);
	f->is_all_days = true;
	f->is_nameless = true;
	f->file_path = m->finder->path(m->finder->arg, m->build_id);
	if (err == 0)
		err = add_paths(m, f);
	if (err == 0)
		err = fleet_fetch_locations(f);
	return err == 0 ? fleet_build(f) : err;
}

/* Tells `rows` which locations there are and how well they are named, and makes rows of better
 * names. */
static int make_rows(struct file *m, struct fleet *f)
{
	const struct rows_sink sink = {.row = take_row, .arg = m, .takes_better_names = true};
	const struct profile_filter filter = {0};
	const struct store_tables *t = store_reader_tables(f->reader);
	struct profile *profile = NULL;
	struct rows *rows = NULL;
	uint32_t worst;
	int err = rows_new(&sink, &rows);

	for (size_t i = 0, next; err == 0 && i < m->places.count; i = next) {
		const struct place *place = &m->places.items[i];
		uint32_t at = int_map_find_wide(&f->location_at, place->id, place->alt);

		next = next_location(m, i, &worst);
		if (at != INT_MAP_NONE)
			err = rows_know_location(
				rows, place->id, place->alt,
				object_kind_name(t->objects[t->locations[at].object].kind),
				t->objects[t->locations[at].object].file_id,
				t->locations[at].offset, worst);
	}
	if (err == 0)
		err = profile_new(f->reader, &filter, &profile);
	if (err == 0)
		err = rows_add(rows, profile);
	profile_free(profile);
	rows_free(rows);
	return err == -ENODATA ? 0 : err;
}

static int send(struct file *m)
{
	const struct buf *blocks = layout_end_rows(ROWS_LOCATIONS, &m->piece);
	struct buf query = {0};
	int err;

	if (!blocks || !blocks->len)
		return blocks ? 0 : -ENOMEM;
	m->mended->mended_files++;
	layout_put_insert(ROWS_LOCATIONS, &query);
	err = query.failed
		      ? -ENOMEM
		      : cluster_send(m->cluster, ROWS_LOCATIONS, (const char *)query.data, blocks);
	buf_free(&query);
	return err;
}

static int mend_file(struct file *m)
{
	struct fleet f = {.c = cluster_asked(m->cluster), .database = {.version = LAYOUT_VERSION}};
	int err = fleet_begin(&f);

	layout_clear_rows(&m->piece);
	if (err == 0)
		err = ask_places(m);
	if (err == 0)
		err = make_recording(m, &f);
	if (err == 0)
		err = m->finder->find(m->finder->arg, f.reader);
	if (err == 0)
		err = make_rows(m, &f);
	if (err == 0)
		err = send(m);
	store_reader_close(f.reader);
	fleet_end(&f);
	m->finder->find(m->finder->arg, NULL);
	return err;
}

/* --- all files -------------------------------------------------------------------------------- */

/* Asks for the build-ids of files that have locations without lines. */
static int ask_files(struct cluster *cluster, struct buf *ret_answer)
{
	struct buf query = {0};
	int err;

	text_put_raw(
		&query,
		"SELECT b, any(o), uniqExact(id, alt) FROM (SELECT id, alt, "
		"any(ifNull(build_id, '')) AS b, any(object) AS o FROM locations WHERE " MEND_KINDS
		" GROUP BY id, alt, day HAVING max(named) < 3) AS l GROUP BY b "
		"ORDER BY b");
	err = ask(cluster, &query, ret_answer);
	buf_free(&query);
	return err;
}

int mend(struct cluster *cluster, const struct mend_finder *finder, struct mended *ret_mended)
{
	struct file *m = calloc(1, sizeof(*m));
	struct buf answer = {0};
	struct buf_reader r;
	uint64_t locations;
	int err = m ? ask_files(cluster, &answer) : -ENOMEM;

	*ret_mended = (struct mended){0};
	r = buf_reader(answer.data, answer.len);
	if (m)
		*m = (struct file){.cluster = cluster,
				   .finder = finder,
				   .mended = ret_mended,
				   .now_ns = clock_ns(CLOCK_REALTIME)};
	while (err == 0 && buf_left(&r)) {
		buf_get_string(&r, m->build_id, sizeof(m->build_id));
		buf_get_string(&r, m->object, sizeof(m->object));
		BUF_GET(&r, locations);
		err = is_cut(m, &r);
		if (err < 0)
			break;
		ret_mended->files++;
		ret_mended->locations += locations;
		if (strspn(m->build_id, "0123456789abcdef") == strlen(m->build_id))
			err = mend_file(m);
	}
	if (m) {
		free(m->places.items);
		layout_free_rows(&m->piece);
	}
	free(m);
	buf_free(&answer);
	return err;
}
