/* SPDX-License-Identifier: MIT */
/* Recordings of a range, added up: store/store_range.c and store/store_join.c. */
#include "store_fixture.h"

#include <errno.h>

#define SECOND UINT64_C(1000000000)
#define START  UINT64_C(1700000000) /* of fixture_info(), seconds since 1970 */

/* --- choosing -------------------------------------------------------------------------------- */

static struct store_recording recording(int64_t id, uint64_t start_s, uint64_t seconds)
{
	struct store_recording r = fixture_info();

	r.id = id;
	r.start_unix_ns = start_s * SECOND;
	r.end_ns = r.start_ns + seconds * SECOND;
	return r;
}

/* Checks which numbers are chosen, as a string of digits, or the error. */
static void chooses(const struct store_recording *all, size_t n, struct store_range range,
		    const char *expected, size_t left_out, int expected_err)
{
	struct store_range_choice choice = {0};
	char ids[16] = "";
	int err = store_range_choose(&range, all, n, &choice);

	assert_int_equal(err, expected_err);
	for (size_t i = 0; i < choice.n; i++)
		ids[i] = (char)('0' + choice.ids[i]);
	assert_string_equal(ids, expected);
	assert_int_equal(choice.left_out, left_out);
	free(choice.ids);
}

static struct store_range times(uint64_t from_s, uint64_t to_s)
{
	return (struct store_range){.from_unix_ns = from_s * SECOND, .to_unix_ns = to_s * SECOND};
}

static void chooses_by_number_and_time(void **state)
{
	struct store_recording all[] = {recording(1, 1000, 10), recording(2, 1010, 10),
					recording(3, 1020, 10), recording(5, 1040, 10),
					recording(6, 1005, 10)}; /* the clock was set back */
	const size_t n = sizeof(all) / sizeof(*all);

	(void)state;
	chooses(all, n, (struct store_range){0}, "16235", 0, 0);
	chooses(all, n, (struct store_range){.first = 2, .last = 3}, "23", 0, 0);
	chooses(all, n, (struct store_range){.first = 4, .last = 9}, "65", 0, 0);
	chooses(all, n, (struct store_range){.first = 7, .last = 9}, "", 0, -ENODATA);
	chooses(all, n, (struct store_range){.first = 4, .last = 4}, "", 0, -ENODATA);
	chooses(all, n, times(1010, 1020), "62", 0, 0); /* ends do not count */
	chooses(all, n, times(1029, 0), "35", 0, 0);
	chooses(all, n, times(0, 1001), "1", 0, 0);
	chooses(all, n, times(1030, 1040), "", 0, -ENODATA);
	chooses(all, n, times(1050, 0), "", 0, -ENODATA);
	chooses(all, 0, times(1, 0), "", 0, -ENODATA);
	all[2].event = "cycles";
	chooses(all, n, (struct store_range){.first = 1, .last = 3}, "", 0, -EXDEV);
	chooses(all, n, (struct store_range){.first = 3, .last = 3}, "3", 0, 0);
	chooses(all, n, times(1000, 1030), "162", 1, 0);
	all[4].target = "all";
	chooses(all, n, times(1000, 1030), "6", 3, 0);
	chooses(all, n, times(1015, 1030), "3", 1, 0);
	chooses(all, n, (struct store_range){.first = 5, .last = 6}, "65", 0, 0);
}

/* --- adding up ------------------------------------------------------------------------------- */

#define WINDOWS 3

/* Sums over samples that are independent of numbers. */
struct sums {
	const struct store_tables *t;
	const uint64_t *tags;
	uint64_t samples, period, paths, threads, last_ns, first_ns;
	bool is_in_order;
};

static uint64_t hash_text(const char *s)
{
	uint64_t hash = 1;

	for (; s && *s; s++)
		hash = hash_mix64(hash + (uint8_t)*s);
	return hash;
}

/* The names of a path's leaf, and where it lies. */
static uint64_t hash_leaf(const struct store_tables *t, uint32_t node)
{
	const struct store_location *l = &t->locations[t->nodes[node].location];

	return hash_mix64(t->objects[l->object].file_id) + hash_text(t->objects[l->object].path) +
	       l->offset + l->is_return;
}

static int add(void *arg, const struct store_sample *s)
{
	struct sums *sums = arg;
	const struct store_thread *thread = &sums->t->threads[s->thread];
	const struct origin *origin = &sums->t->origins[s->origin];
	uint64_t path = sums->tags[s->node];

	path += s->node ? hash_leaf(sums->t, s->node) : 0;
	path += origin_inferred(origin) + origin_run_of(origin, 1).source;
	sums->samples++;
	sums->period += s->period;
	sums->paths += hash_mix64(path + s->end_reason + origin->height);
	sums->threads += hash_mix64(hash_text(thread->comm) + 3 * hash_text(thread->cgroup) +
				    (uint64_t)thread->tid +
				    hash_text(sums->t->processes[thread->process].comm) +
				    (uint64_t)sums->t->processes[thread->process].pid + s->cpu);
	sums->is_in_order = sums->is_in_order && s->time_ns >= sums->last_ns;
	sums->first_ns = sums->samples == 1 ? s->time_ns : sums->first_ns;
	sums->last_ns = s->time_ns;
	return 0;
}

static struct sums sum_up(struct store_reader *r)
{
	struct sums sums = {.t = store_reader_tables(r), .is_in_order = true};

	assert_int_equal(store_reader_tags(r, &sums.tags), 0);
	assert_int_equal(store_reader_samples(r, add, &sums), 0);
	return sums;
}

static struct store_reader *open_range(const char *path, struct store_range range)
{
	struct store_reader *r = NULL;
	char *error = NULL;
	int err = store_reader_open_range(path, &range, &r, &error);

	if (err < 0)
		print_error("%s\n", error ? error : "no sentence");
	free(error);
	assert_int_equal(err, 0);
	return r;
}

/* Windows of an hour, whose samples come in their first seconds; ids from 1. */
static void write_windows(const char *path, const int64_t *starts_s)
{
	struct store_recording info = fixture_info();
	struct store_writer *w;

	info.run = 1;
	for (int i = 0; i < WINDOWS; i++) {
		/* The first and the last have much in common: they are of one seed. */
		struct recording f = fixture_make(3000 + 500 * (uint32_t)i, 800, i == 1 ? 2 : 1);

		info.start_unix_ns = (START + (uint64_t)starts_s[i]) * SECOND;
		if (i == 0)
			assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
		else
			assert_int_equal(store_writer_next_window(w, &info), 0);
		fixture_put(&f, w, 100);
		assert_int_equal(store_writer_counter(w, "n", 10), 0);
		if (i == 1)
			assert_int_equal(store_writer_counter(w, "a", 5), 0);
		info.end_ns = info.start_ns + 3600 * SECOND;
		info.samples = f.n_samples;
		info.lost = 2;
		info.finished = true;
		assert_int_equal(store_writer_commit(w, &info), 0);
		free_recording(&f);
	}
	store_writer_free(w);
}

static void whole_is_sum_of_windows(void **state)
{
	static const int64_t in_a_row[] = {0, 3600, 7200}, gap[] = {0, 9000, 90000},
			     set_back[] = {0, -86400, -82800};
	static const int64_t *const starts[] = {in_a_row, gap, set_back};
	static const uint64_t spans_s[] = {10800, 93600, 90000};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
		struct sums each = {0}, whole;
		struct store_reader *r;
		uint32_t most = 0, sum = 0;

		write_windows(path, starts[k]);
		for (int64_t id = 1; id <= WINDOWS; id++) {
			struct sums one;

			r = fixture_open(path, id);
			one = sum_up(r);
			each.samples += one.samples;
			each.period += one.period;
			each.paths += one.paths;
			each.threads += one.threads;
			most = one.t->n_nodes > most ? one.t->n_nodes : most;
			sum += one.t->n_nodes;
			store_reader_close(r);
		}
		r = open_range(path, (struct store_range){.first = 1, .last = WINDOWS});
		whole = sum_up(r);
		assert_int_equal(whole.samples, each.samples);
		assert_true(whole.period == each.period);
		assert_true(whole.paths == each.paths);
		assert_true(whole.threads == each.threads);
		assert_true(whole.is_in_order);
		assert_true(whole.t->n_nodes >= most && whole.t->n_nodes < sum * 3 / 4);
		assert_int_equal(whole.t->n_recordings, WINDOWS);
		assert_int_equal(whole.t->recording.id, 1);
		assert_int_equal(whole.t->last_recording, WINDOWS);
		assert_int_equal(whole.t->recording.lost, 2 * WINDOWS);
		assert_int_equal(whole.t->recording.samples, each.samples);
		assert_true(whole.t->recording.finished);
		assert_int_equal((whole.t->recording.end_ns - whole.t->recording.start_ns) / SECOND,
				 spans_s[k]);
		assert_int_equal(whole.t->n_counters, 2);
		assert_string_equal(whole.t->counters[0].name, "a");
		assert_int_equal(whole.t->counters[0].value, 5);
		assert_int_equal(whole.t->counters[1].value, 10 * WINDOWS);
		store_reader_close(r);
		free(path);
		fixture_remove(folder);
	}
}

/* A range of one recording is that recording, with names, sizes and origins. */
static void one_is_itself(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(5000, 900, 3);
	struct store_reader *a, *b;
	const struct store_tables *x, *y;
	const uint64_t *tags_a, *tags_b;

	(void)state;
	fixture_record(path, &f);
	a = fixture_open(path, 1);
	b = open_range(path, (struct store_range){.first = 1, .last = 1});
	x = store_reader_tables(a);
	y = store_reader_tables(b);
	assert_int_equal(x->n_locations, y->n_locations);
	assert_int_equal(x->n_lines, y->n_lines);
	for (uint32_t i = 0; i < x->n_locations; i++)
		assert_int_equal(x->line_first[i + 1], y->line_first[i + 1]);
	for (uint32_t i = 0; i < x->n_lines; i++) {
		fixture_assert_string(x->lines[i].function, y->lines[i].function);
		assert_int_equal(x->lines[i].depth, y->lines[i].depth);
		assert_int_equal(x->lines[i].location, y->lines[i].location);
	}
	assert_int_equal(store_reader_tags(a, &tags_a), 0);
	assert_int_equal(store_reader_tags(b, &tags_b), 0);
	for (uint32_t i = 1; i < y->n_nodes; i++) {
		bool is_there = false;

		for (uint32_t j = 1; j < x->n_nodes && !is_there; j++)
			is_there = tags_a[j] == tags_b[i] && x->sizes[j] && y->sizes[i];
		assert_true(is_there || !y->sizes[i]);
	}
	store_reader_close(a);
	store_reader_close(b);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

struct until {
	uint64_t limit_ns, count;
};

static int count_until(void *arg, const struct store_sample *s)
{
	struct until *u = arg;

	u->count += s->time_ns < u->limit_ns;
	return 0;
}

/* Times cut within a window, to the nanosecond; the whole begins and ends with them. */
static void times_cut(void **state)
{
	static const int64_t starts[] = {0, 3600, 7200};
	const uint64_t from = (START + 1800) * SECOND, to = (START + 7200 + 5) * SECOND;
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_recording info = fixture_info();
	struct until last = {.limit_ns = info.start_ns + 5 * SECOND}, first = last;
	struct store_reader *r;
	struct sums sums, middle;

	(void)state;
	first.limit_ns = info.start_ns + 1800 * SECOND;
	write_windows(path, starts);
	r = fixture_open(path, 1);
	assert_int_equal(store_reader_samples(r, count_until, &first), 0);
	first.count = store_reader_tables(r)->recording.samples - first.count;
	store_reader_close(r);
	r = fixture_open(path, 2);
	middle = sum_up(r);
	store_reader_close(r);
	r = fixture_open(path, 3);
	assert_int_equal(store_reader_samples(r, count_until, &last), 0);
	store_reader_close(r);
	assert_true(last.count > 100);
	r = open_range(path, (struct store_range){.from_unix_ns = from, .to_unix_ns = to});
	sums = sum_up(r);
	assert_int_equal(sums.samples, first.count + middle.samples + last.count);
	assert_true(sums.t->recording.start_unix_ns == from);
	assert_true(sums.t->recording.start_ns == info.start_ns + 1800 * SECOND);
	assert_true(sums.t->recording.end_ns - sums.t->recording.start_ns == to - from);
	assert_true(sums.first_ns >= sums.t->recording.start_ns);
	assert_true(sums.last_ns < sums.t->recording.end_ns);
	store_reader_close(r);
	free(path);
	fixture_remove(folder);
}

/* --- what ends behind a range ------------------------------------------------------------------
 */

#define WINDOW_S 100

struct ends {
	uint64_t times_s[8];
	uint32_t n;
};

static int add_end(void *arg, const struct store_sample *record)
{
	struct ends *ends = arg;

	assert_true(ends->n < 8);
	ends->times_s[ends->n++] = record->time_ns / SECOND;
	return 0;
}

/* Five windows of a run; of a series that lasts, records at so many seconds of the run that stand
 * for so many seconds. */
static void write_lasting(const char *path, enum metric_series series, uint64_t frequency_hz)
{
	static const uint64_t records_s[][2] = {
		{60, 5}, {150, 30}, {250, 110}, {350, 20}, {450, 310}};
	struct store_recording info = fixture_info();
	const uint64_t start_ns = info.start_ns;
	struct recording f = fixture_make(0, 10, 7);
	struct store_writer *w = NULL;

	info.run = 1;
	info.frequency_hz = frequency_hz;
	for (uint64_t i = 0; i < 5; i++) {
		struct store_sample s = {.time_ns = start_ns + records_s[i][0] * SECOND,
					 .period = records_s[i][1] * SECOND};

		info.start_unix_ns = (START + i * WINDOW_S) * SECOND;
		info.start_ns = start_ns + i * WINDOW_S * SECOND;
		info.end_ns = info.start_ns + WINDOW_S * SECOND;
		if (i == 0)
			assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
		else
			assert_int_equal(store_writer_next_window(w, &info), 0);
		free_recording(&f);
		f = fixture_make(0, 10, 7);
		fixture_put(&f, w, 100);
		assert_int_equal(store_writer_record(w, series, &s), 0);
		info.lost = 3;
		info.finished = true;
		assert_int_equal(store_writer_commit(w, &info), 0);
	}
	free_recording(&f);
	store_writer_free(w);
}

/* A range has the records that ended in it, and all of them those of the windows behind it, too,
 * that have one which began in it; figures are those of the windows in the range. */
static void what_ends_later_is_there(void **state)
{
	static const enum metric_series series[] = {SERIES_WAIT_BLOCKED, SERIES_REGION_TIME,
						    SERIES_REGION_NESTED_TIME, SERIES_CPU_OUTSIDE};
	const struct store_range range = times(START + 110, START + 160), /* 250 - 110 < 160 */
		early = times(START + 10, START + 50),			  /* none: 450 - 310 > 50 */
		last = times(START + 410, 0);

	(void)state;
	for (size_t i = 0; i < sizeof(series) / sizeof(*series); i++) {
		char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
		const uint64_t start_s = fixture_info().start_ns / SECOND;
		const bool is_pass = i == 1 || i == 2;
		struct ends in = {0}, all = {0};
		struct store_reader *r;
		const struct store_tables *t;

		write_lasting(path, series[i], 997);
		r = open_range(path, range);
		t = store_reader_tables(r);
		assert_int_equal(store_reader_records(r, series[i], add_end, &in), 0);
		assert_int_equal(store_reader_all_records(r, series[i], add_end, &all), 0);
		assert_int_equal(in.n, 1);
		assert_int_equal(in.times_s[0], start_s + 150);
		/* What a pass has within it may be as long again. */
		assert_true(all.n == 3 || (all.n == 4 && is_pass));
		assert_int_equal(all.times_s[1], start_s + 250);
		assert_int_equal(all.times_s[all.n - 1], start_s + 450);
		assert_int_equal(t->n_recordings, 1);
		assert_int_equal(t->last_recording, 2);
		assert_int_equal(t->recording.lost, 3);
		assert_true(t->is_cut);
		assert_int_equal(t->n_selected, 1);
		assert_true(t->selected->from_ns == (start_s + 110) * SECOND);
		assert_true(t->selected->to_ns == (start_s + 160) * SECOND);
		assert_true(store_reader_selects(t, t->selected->from_ns));
		assert_false(store_reader_selects(t, t->selected->to_ns));
		store_reader_close(r);

		all.n = 0;
		r = open_range(path, early);
		assert_int_equal(store_reader_all_records(r, series[i], add_end, &all), 0);
		assert_int_equal(all.times_s[0], start_s + 60);
		assert_true(all.n == 1 || is_pass);
		store_reader_close(r);

		r = open_range(path, last); /* to the end, which is open */
		assert_true(store_reader_tables(r)->selected->to_ns == UINT64_MAX);
		store_reader_close(r);
		free(path);
		fixture_remove(folder);
	}
}

/* A thread whose wait begins 10 s after a range may have been on the CPU in it without a sample
 * since, if it has one a second. */
static void samples_that_are_far_apart(void **state)
{
	static const uint64_t frequencies[] = {997, 1}, found[] = {1, 3};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
		struct ends all = {0};
		struct store_reader *r;

		write_lasting(path, SERIES_WAIT_BLOCKED, frequencies[i]);
		r = open_range(path, times(START + 110, START + 130)); /* 250 - 110, 450 - 310 */
		assert_int_equal(store_reader_all_records(r, SERIES_WAIT_BLOCKED, add_end, &all),
				 0);
		assert_int_equal(all.n, found[i]);
		store_reader_close(r);
		free(path);
		fixture_remove(folder);
	}
}

/* --- two layouts of a build-id -----------------------------------------------------------------
 */

#define BUILD	 UINT64_C(0x0102030405060708) /* its id */
#define LAYOUT_A 21
#define LAYOUT_B 22

/* A recording of two processes' worth of code: two objects of one path and build-id, the first of
 * which the host has met first. Of each object one location, with its function's name, and so many
 * samples. A layout of 0 is not known, as in older stores. */
static void record_layouts(const char *path, const uint64_t layouts[2], const char *const names[2],
			   const uint32_t samples[2])
{
	static const uint8_t build_id[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	const struct store_recording info = fixture_info();
	struct recording r = new_recording(&info);

	add_thread(&r, add_process(&r, 1, "p"), 1, "p");
	for (uint32_t i = 0; i < 2; i++) {
		put_object(&r, &(struct store_object){
				       .file_id = i ? hash_layout_id(BUILD, layouts[i]) : BUILD,
				       .path = "/p",
				       .build_id = build_id,
				       .build_id_len = sizeof(build_id),
				       .layout = layouts[i]});
		add_node(&r, 0, add_location(&r, i, 64, false));
		add_line_of(&r, NULL, 0, names[i], 0, false);
	}
	for (uint32_t i = 0; i < samples[0] + samples[1]; i++)
		put_sample(&r, &(struct store_sample){.time_ns = info.start_ns + i,
						      .period = 1,
						      .node = 1 + (i >= samples[0])});
	fixture_record(path, &r);
	free_recording(&r);
}

struct by_name {
	const struct store_tables *t;
	uint64_t of_a, of_b;
	uint32_t locations;
};

static int add_by_name(void *arg, const struct store_sample *s)
{
	struct by_name *sums = arg;
	uint32_t location = sums->t->nodes[s->node].location;
	const struct store_line *line = &sums->t->lines[sums->t->line_first[location]];

	*(strcmp(line->function, "of_a") ? &sums->of_b : &sums->of_a) += 1;
	return 0;
}

static struct by_name sum_layouts(const char *path, int64_t last)
{
	struct store_reader *r = open_range(path, (struct store_range){.first = 1, .last = last});
	struct by_name sums = {.t = store_reader_tables(r)};
	const uint64_t *tags;

	assert_int_equal(store_reader_samples(r, add_by_name, &sums), 0);
	assert_int_equal(store_reader_tags(r, &tags), 0);
	sums.locations = sums.t->n_locations;
	for (uint32_t i = 2; i < sums.t->n_nodes; i++)
		assert_true(tags[i] != tags[1]);
	store_reader_close(r);
	return sums;
}

/* Two hosts that have met two layouts of a build-id in the one and in the other order, and one that
 * has met the second alone: each layout is one object, whatever its file ids are. */
static void layouts_are_told_apart(void **state)
{
	static const uint64_t a_first[] = {LAYOUT_A, LAYOUT_B}, b_first[] = {LAYOUT_B, LAYOUT_A};
	static const char *const a_names[] = {"of_a", "of_b"}, *const b_names[] = {"of_b", "of_a"};
	static const uint32_t few[] = {10, 3}, more[] = {200, 40};

	(void)state;
	for (int order = 0; order < 2; order++) {
		char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
		struct by_name sums;

		record_layouts(path, order ? b_first : a_first, order ? b_names : a_names, few);
		record_layouts(path, order ? a_first : b_first, order ? a_names : b_names, more);
		sums = sum_layouts(path, 2);
		assert_int_equal(sums.locations, 2);
		assert_int_equal(sums.of_a, order ? 3 + 200 : 10 + 40);
		assert_int_equal(sums.of_b, order ? 10 + 40 : 3 + 200);
		free(path);
		fixture_remove(folder);
	}
}

/* Where no layouts are known, a file id says what code it is. */
static void layouts_that_are_not_known(void **state)
{
	static const uint64_t none[] = {0, 0}, known[] = {LAYOUT_A, LAYOUT_B};
	static const char *const names[] = {"of_a", "of_b"};
	static const uint32_t samples[] = {10, 3};
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct by_name sums;

	(void)state;
	record_layouts(path, none, names, samples);
	record_layouts(path, known, names, samples);
	record_layouts(path, known, names, samples);
	sums = sum_layouts(path, 3);
	assert_int_equal(sums.locations, 3); /* the second one's id is of its layout */
	assert_int_equal(sums.of_a, 30);
	assert_int_equal(sums.of_b, 9);
	free(path);
	fixture_remove(folder);
}

/* --- failures ----------------------------------------------------------------------------------
 */

/* The sentences of failures say what there is. */
static void failures_name_remedy(void **state)
{
	static const int64_t starts[] = {0, 3600, 7200};
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db"), *error = NULL;
	struct store_range late = times(START + 20000, START + 30000);
	struct store_range none = {.first = 7, .last = 9};
	struct store_reader *r;

	(void)state;
	write_windows(path, starts);
	assert_int_equal(store_reader_open_range(path, &late, &r, &error), -ENODATA);
	assert_non_null(strstr(error, "nothing was recorded from"));
	assert_non_null(strstr(error, "stackctl list"));
	free(error);
	assert_int_equal(store_reader_open_range(path, &none, &r, &error), -ENODATA);
	assert_non_null(strstr(error, "there are 1 to 3"));
	free(error);
	assert_int_equal(store_reader_open_range(path, &none, &r, NULL), -ENODATA);
	assert_int_equal(store_reader_open_range("/nowhere/s.db", &none, &r, &error), -ENOENT);
	free(error);
	free(path);
	fixture_remove(folder);
}

static void latest_is(const char *path, int64_t id)
{
	struct store_reader *r = fixture_open(path, 0);

	assert_int_equal(store_reader_tables(r)->recording.id, id);
	store_reader_close(r);
}

/* The latest recording is a window with samples, unless no window of the run has any. */
static void begun_window_is_not_latest(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_recording info = fixture_info();
	struct store_writer *w;

	(void)state;
	info.run = 1;
	assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
	latest_is(path, 1);
	info.samples = 5;
	info.finished = true;
	assert_int_equal(store_writer_commit(w, &info), 0);
	info.samples = 0;
	info.finished = false;
	assert_int_equal(store_writer_next_window(w, &info), 0);
	latest_is(path, 1);
	info.samples = 1;
	assert_int_equal(store_writer_commit(w, &info), 0);
	latest_is(path, 2);
	info.samples = 0;
	info.finished = true;
	assert_int_equal(store_writer_commit(w, &info), 0);
	latest_is(path, 2); /* nothing happened in it, and it is over */
	store_writer_free(w);
	store_writer_free(fixture_writer(path));
	latest_is(path, 3); /* no window */
	free(path);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chooses_by_number_and_time),
		cmocka_unit_test(whole_is_sum_of_windows),
		cmocka_unit_test(one_is_itself),
		cmocka_unit_test(times_cut),
		cmocka_unit_test(what_ends_later_is_there),
		cmocka_unit_test(samples_that_are_far_apart),
		cmocka_unit_test(layouts_are_told_apart),
		cmocka_unit_test(layouts_that_are_not_known),
		cmocka_unit_test(failures_name_remedy),
		cmocka_unit_test(begun_window_is_not_latest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
