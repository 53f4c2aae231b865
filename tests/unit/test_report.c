/* SPDX-License-Identifier: MIT */
/* The reports: golden text of a small recording, sums over random ones, deep recursion, hostile
 * names, output that fails. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <time.h>

#include "fake_store.h"
#include "report/report.h"
#include "report/report_header.h"
#include "stack/provenance.h"

typedef int (*writer)(struct profile *, const struct report_options *, FILE *);

static char *written(struct store_reader *f, writer write, const struct report_options *options)
{
	struct profile *p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_int_equal(write(p, options, out), 0);
	fclose(out);
	profile_free(p);
	return text;
}

#define HEADER                                                                                     \
	"# host: box\n# kernel: 6.1.0 x86_64, 2 CPUs\n# event: cpu-clock at 997 Hz\n"              \
	"# command: stackd --pid 12\n# target: pid 12\n"                                           \
	"# recording: 7, 2023-11-14 22:13:20 +0000, for 2.5 s\n# samples: 100\n# lost: 0\n"        \
	"# quality: 99.0% complete, 0.0% reconstructed, 1.0% partial (no_recipe 1)\n"

static void check_golden(const struct report_options *options, const char *golden)
{
	struct store_reader *f = fake_small();
	char *text = written(f, report_write_text, options);

	assert_string_equal(text, golden);
	free(text);
	fake_free(f);
}

static void test_golden_tree(void **state)
{
	(void)state;
	check_golden(
		&(struct report_options){.percent_limit = 5, .utf8 = true}, HEADER
		"\n"
		"# process 12 prog (/bin/prog): 80 samples, 80.0% of all\n"
		"#  total    self  call path from the root down, in % of this process's samples\n"
		"   87.5%    0.0%  _start  [prog]\n"
		"   87.5%    0.0%  main\n"
		"   75.0%    0.0%  ├─ app::work\n"
		"   50.0%   50.0%  │  ├─ inl (inlined)\n"
		"   25.0%   25.0%  │  └─ memcpy  [libc.so.6]\n"
		"   12.5%   12.5%  └─ fact (x4)\n"
		"\n"
		"   11.2%    0.0%  start_thread  [libc.so.6]\n"
		"   11.2%   11.2%  libx.so+0x51\n"
		"\n"
		"                   (1 more, 1.2%)\n"
		"\n"
		"# process 99 other (/bin/prog): 20 samples, 20.0% of all\n"
		"#  total    self  call path from the root down, in % of this process's samples\n"
		"  100.0%    0.0%  main  [prog]\n"
		"  100.0%  100.0%  do_sys  [kernel.kallsyms]\n");
}

static void test_golden_flat(void **state)
{
	(void)state;
	check_golden(
		&(struct report_options){.view = REPORT_FLAT, .percent_limit = 30, .utf8 = true},
		HEADER
		"\n"
		"# process 12 prog (/bin/prog): 80 samples, 80.0% of all\n"
		"#   self   total      self  function; % of this process's samples, and samples\n"
		"   50.0%   50.0%        40  inl  [/bin/prog]\n"
		"    1.2%   76.2%         1  app::work  [/bin/prog]\n"
		"    0.0%   87.5%         0  _start  [/bin/prog]\n"
		"    0.0%   87.5%         0  main  [/bin/prog]\n"
		"   48.8%                39  (5 more, 48.8%)\n"
		"\n"
		"# 1 more processes: 20 samples, 20.0% of all\n");
}

static void test_golden_callers(void **state)
{
	(void)state;
	check_golden(&(struct report_options){.view = REPORT_CALLERS, .percent_limit = 24}, HEADER
		     "\n"
		     "# process 12 prog (/bin/prog): 80 samples, 80.0% of all\n"
		     "#   self  functions by self, with those that called them below, in % of this "
		     "process's samples\n"
		     "   50.0%  inl  [prog]\n"
		     "   50.0%  <- app::work\n"
		     "   50.0%  <- main\n"
		     "   50.0%  <- _start\n"
		     "\n"
		     "   25.0%  memcpy  [libc.so.6]\n"
		     "   25.0%  <- app::work  [prog]\n"
		     "   25.0%  <- main\n"
		     "   25.0%  <- _start\n"
		     "\n"
		     "          (3 more, 25.0%)\n"
		     "\n"
		     "# 1 more processes: 20 samples, 20.0% of all\n");
}

/* A random recording: 20 functions in 3 objects, some inlined, 200 nodes, 3 processes. */
static struct store_reader *random_store(unsigned seed)
{
	static char names[20][16];
	struct recording r = fake_recording();
	uint32_t locations[60], n_nodes = 1;

	srandom(seed);
	for (int i = 0; i < 3; i++)
		add_object(&r, OBJECT_ELF, i == 0 ? "/bin/a" : i == 1 ? "/lib/b" : "/lib/c");
	for (int i = 0; i < 60; i++) {
		int function = (int)(random() % 20);

		snprintf(names[function], sizeof(names[function]), "f%d", function);
		locations[i] =
			add_location(&r, (uint32_t)function % 3, 0x1000u + 16u * (unsigned)i, 1);
		if (random() % 4 == 0)
			add_line(&r, "inl", 0, true);
		if (random() % 8)
			add_line(&r, names[function], 0x1000, false);
	}
	for (; n_nodes < 200; n_nodes++)
		add_node(&r, (uint32_t)random() % n_nodes, locations[random() % 60]);
	for (int i = 0; i < 3; i++)
		add_process(&r, 100 + i, "p");
	for (uint32_t i = 0; i < 6; i++)
		add_thread(&r, i / 2, 100 + (int)i, i & 1 ? "odd" : "even");
	for (int i = 0; i < 300; i++)
		add_samples(&r, (uint32_t)random() % 6, (uint32_t)random() % n_nodes,
			    (uint8_t)(random() % STACKD_END_COUNT), 1 + (uint32_t)random() % 5);
	return fake_reader(&r);
}

static uint64_t member(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	assert_true(json_is_integer(value));
	return (uint64_t)json_integer_value(value);
}

static json_t *json_of(struct store_reader *f, enum report_view view)
{
	struct report_options options = {.view = view};
	char *text = written(f, report_write_json, &options);
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	free(text);
	return json;
}

/* In a tree, the samples of the roots, and the sum of all self samples, are the process's samples;
 * a node's samples are its self samples and its children's. */
static void check_nodes(const json_t *process)
{
	const json_t *nodes = json_object_get(process, "nodes"), *node;
	uint64_t top = 0, self = 0, *below = calloc(json_array_size(nodes) + 1, sizeof(*below));
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		int64_t parent = json_integer_value(json_object_get(node, "parent"));

		assert_true(parent < (int64_t)i);
		self += member(node, "self");
		*(parent < 0 ? &top : &below[parent]) += member(node, "total");
	}
	json_array_foreach(nodes, i, node)
		assert_int_equal(member(node, "total"), member(node, "self") + below[i]);
	assert_int_equal(top, member(process, "samples"));
	assert_int_equal(self, member(process, "samples"));
	free(below);
}

static void check_functions(const json_t *process)
{
	const json_t *functions = json_object_get(process, "functions"), *function;
	uint64_t self = 0;
	size_t i;

	json_array_foreach(functions, i, function)
	{
		self += member(function, "self");
		assert_true(member(function, "total") <= member(process, "samples"));
		assert_true(member(function, "self") <= member(function, "total"));
	}
	assert_int_equal(self, member(process, "samples"));
}

static void test_sums(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct store_reader *f = random_store(seed);

		for (enum report_view view = REPORT_TREE; view <= REPORT_CALLERS; view++) {
			json_t *json = json_of(f, view), *process;
			uint64_t samples = 0;
			size_t i;

			json_array_foreach(json_object_get(json, "processes"), i, process)
			{
				samples += member(process, "samples");
				if (view == REPORT_FLAT)
					check_functions(process);
				else
					check_nodes(process);
			}
			assert_int_equal(samples, f->made.n_samples);
			assert_int_equal(member(json, "samples"), f->made.n_samples);
			json_decref(json);
		}
		fake_free(f);
	}
}

/* The totals of the flat view, against counting each path's distinct functions. */
static void test_totals_count_a_path_once(void **state)
{
	struct store_reader *f = random_store(99);
	struct profile *p;
	json_t *json = json_of(f, REPORT_FLAT), *process;
	const struct profile_entry *entries;
	uint64_t expected[64] = {0}, got[64] = {0};
	size_t i, n;

	(void)state;
	assert_int_equal(profile_new(f, NULL, &p), 0);
	entries = profile_entries(p, &n);
	for (i = 0; i < n; i++) {
		size_t n_frames;
		const struct profile_frame *frames =
			profile_frames(p, entries[i].node, entries[i].end_reason, 0, &n_frames);
		uint64_t seen = 0;

		for (size_t k = 0; k < n_frames; k++) {
			const char *name = frames[k].symbol->name;

			if (name[0] == 'f')
				seen |= UINT64_C(1) << atoi(name + 1);
		}
		for (int k = 0; k < 64; k++)
			expected[k] += seen >> k & 1 ? entries[i].samples : 0;
	}
	json_array_foreach(json_object_get(json, "processes"), i, process)
	{
		const json_t *function;
		size_t k;

		json_array_foreach(json_object_get(process, "functions"), k, function)
		{
			const json_t *symbol = json_array_get(json_object_get(json, "symbols"),
							      member(function, "symbol"));
			const char *name = json_string_value(json_object_get(symbol, "name"));

			if (name[0] == 'f')
				got[atoi(name + 1)] += member(function, "total");
		}
	}
	assert_memory_equal(expected, got, sizeof(got));
	assert_true(expected[3] > 0);
	json_decref(json);
	profile_free(p);
	fake_free(f);
}

static struct store_reader *deep_store(uint32_t depth, uint32_t n_functions)
{
	static const char *const names[] = {"even", "odd", "third"};
	struct recording r = fake_recording();
	uint32_t object = add_object(&r, OBJECT_ELF, "/bin/deep"), at = 0;
	uint32_t thread = add_thread(&r, add_process(&r, 1, "deep"), 1, "deep");

	for (uint32_t i = 0; i < n_functions; i++)
		add_function(&r, object, 0x1000 + 0x100 * i, true, names[i]);
	for (uint32_t i = 0; i < depth; i++) {
		at = add_node(&r, at, i % n_functions);
		if (i % 10 == 9)
			add_samples(&r, thread, at, STACKD_END_ENTRY, 1);
	}
	return fake_reader(&r);
}

static void test_deep_recursion(void **state)
{
	(void)state;
	for (uint32_t n_functions = 1; n_functions <= 3; n_functions++) {
		struct store_reader *f = deep_store(10000, n_functions);

		for (enum report_view view = REPORT_TREE; view <= REPORT_CALLERS; view++) {
			struct report_options options = {.view = view};
			char *text = written(f, report_write_text, &options);

			assert_non_null(strstr(text, "even"));
			free(text);
			options.percent_limit = 0.5;
			text = written(f, report_write_json, &options);
			free(text);
		}
		fake_free(f);
	}
}

static void test_self_call_is_one_row(void **state)
{
	struct store_reader *f = deep_store(10000, 1);
	struct report_options options = {0};
	char *text = written(f, report_write_text, &options);

	(void)state;
	assert_non_null(strstr(text, "  100.0%  100.0%  even (x10000)  [deep]\n"));
	free(text);
	fake_free(f);
}

/* Branches at each of many levels: the width of rows is bounded. */
static void test_deep_branches(void **state)
{
	struct recording r = fake_recording();
	struct report_options options = {0};
	uint32_t object = add_object(&r, OBJECT_ELF, "/bin/deep"), at = 0, a, b;
	uint32_t thread = add_thread(&r, add_process(&r, 1, "deep"), 1, "deep");
	struct store_reader *f;
	char *text, *line, *rest;

	(void)state;
	a = add_function(&r, object, 0x1000, true, "go_on");
	b = add_function(&r, object, 0x1100, true, "branch");
	for (int i = 0; i < 3000; i++) {
		add_samples(&r, thread, add_node(&r, at, b), STACKD_END_ENTRY, 1);
		at = add_node(&r, at, a);
	}
	add_samples(&r, thread, at, STACKD_END_ENTRY, 1);
	f = fake_reader(&r);
	text = written(f, report_write_text, &options);
	assert_non_null(strstr(text, "[2999] "));
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		assert_true(strlen(line) < 200);
	free(text);
	fake_free(f);
}

static void test_hostile_names(void **state)
{
	struct recording r = fake_recording();
	uint32_t object = add_object(&r, OBJECT_ELF, "/tmp/\x1b[31mevil\n# lost: 0");
	uint32_t thread = add_thread(&r, add_process(&r, 1, "\xff\n"), 1, "a\nb");
	uint32_t node =
		add_node(&r, 0, add_function(&r, object, 0x10, false, "\x1b]0;x\a\xff\"\\"));
	struct store_reader *f;

	(void)state;
	node = add_node(&r, node, add_location(&r, object, 0x20, false));
	add_samples(&r, thread, node, STACKD_END_ENTRY, 3);
	r.info.host = "host\r\n# samples: 9";
	f = fake_reader(&r);
	for (enum report_view view = REPORT_TREE; view <= REPORT_CALLERS; view++) {
		for (int utf8 = 0; utf8 < 2; utf8++) {
			struct report_options options = {.view = view, .utf8 = utf8};
			char *text = written(f, report_write_text, &options);

			for (const char *at = text; *at; at++)
				assert_true(*at == '\n' || (*at >= ' ' && *at != 0x7f) ||
					    (utf8 && (unsigned char)*at >= 0x80));
			assert_null(strstr(text, "\n# lost: 0\n# lost"));
			assert_null(strstr(text, "\n# samples: 9"));
			free(text);
		}
		json_decref(json_of(f, view));
	}
	fake_free(f);
}

static void test_width(void **state)
{
	struct store_reader *f = fake_small();
	struct report_options options = {.width = 30, .color = true};
	char *text = written(f, report_write_text, &options), *rest, *line;
	bool is_row = false;

	(void)state;
	assert_non_null(strstr(text, "\033[1m   50.0%   50.0%"));
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		is_row |= strstr(line, "# process") != NULL;
		if (is_row)
			assert_true(strlen(line) <= 30 + (*line == '\033' ? 8 : 0));
	}
	free(text);
	fake_free(f);
}

static void test_stats(void **state)
{
	struct recording r = small_recording();
	struct store_reader *f;
	struct profile *p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *json, *quality;

	(void)state;
	add_counter(&r, "end.lost_ring", 5);
	add_counter(&r, "ring_bytes", 4000);
	r.info.lost = 5;
	r.info.kernel_ns = 1000;
	r.info.kernel_runs = 4;
	f = fake_reader(&r);
	f->tags[5] = f->tags[3];
	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_int_equal(report_write_stats_json(p, out), 0);
	fclose(out);
	json = json_loads(text, 0, NULL);
	assert_int_equal(member(json, "schema"), 1);
	assert_int_equal(member(json, "recording"), 7);
	assert_int_equal(member(json, "samples"), 100);
	assert_int_equal(member(json, "lost"), 5);
	assert_int_equal(member(json, "idle"), 0); /* as in recordings without that counter */
	quality = json_object_get(json, "quality");
	assert_int_equal(member(quality, "complete"), 99);
	assert_int_equal(member(quality, "reconstructed"), 0);
	assert_int_equal(member(quality, "partial"), 1);
	assert_int_equal(member(json_object_get(json, "end_reasons"), "entry"), 99);
	assert_int_equal(member(json_object_get(json, "end_reasons"), "no_recipe"), 1);
	assert_int_equal(member(json_object_get(json, "end_reasons"), "lost_ring"), 5);
	assert_int_equal(member(json, "store_bytes"), 4096);
	assert_true(json_real_value(json_object_get(json, "kernel_ns_per_sample")) == 250.0);
	assert_true(json_real_value(json_object_get(json, "ring_bytes_per_sample")) == 40.0);
	assert_int_equal(member(json, "collisions"), 1);
	assert_true(json_is_null(json_object_get(json, "steps"))); /* not checked */
	assert_int_equal(member(json_object_get(json, "provenances"), "none"),
			 f->tables.n_locations);
	json_decref(json);
	free(text);
	profile_free(p);
	fake_free(f);
}

static char *stats_of(struct store_reader *f, int (*write)(struct profile *, FILE *))
{
	struct profile *p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_int_equal(write(p, out), 0);
	fclose(out);
	profile_free(p);
	return text;
}

/* What a recording says of so much CPU time by the scheduler's count and by its 2,500 samples of 1
 * ms; `stolen` is what the host took, `waking` what CPUs needed to get to woken tasks (UINT64_MAX:
 * it is not known), and `preempted` what the scheduler counts as other tasks'. NULL: nothing is
 * compared. */
static char *head_of_times(const char *scheduler, uint64_t ns, uint64_t sampled, uint64_t stolen,
			   uint64_t waking, uint64_t preempted, json_t **ret_time)
{
	struct recording r = small_recording();
	struct store_reader *f;
	struct report_options options = {.utf8 = true};
	struct profile *p;
	char *head = NULL, *stats;
	json_t *root;
	size_t size;
	FILE *out;

	add_counter(&r, scheduler, ns);
	add_counter(&r, "periods_ns", sampled);
	add_counter(&r, "stolen_ns", stolen);
	if (waking != UINT64_MAX)
		add_counter(&r, "waking_ns", waking);
	add_counter(&r, "preempted_ns", preempted);
	r.info.samples = sampled / 1000000;
	r.info.frequency_hz = 1000;
	r.info.finished = true;
	r.info.kernel_ns = 0;
	r.info.cpus = 1;
	f = fake_reader(&r);
	stats = stats_of(f, report_write_stats_json);
	root = json_loads(stats, 0, NULL);
	*ret_time = json_incref(json_object_get(root, "cpu_time"));
	json_decref(root);
	free(stats);
	out = open_memstream(&head, &size);
	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_int_equal(report_header_text(p, &options, out), 0);
	fclose(out);
	profile_free(p);
	fake_free(f);
	return head;
}

/* 2,500 samples may differ from the scheduler's count by 5 x 50 of chance, and 20 ms at the ends;
 * and by what the host took. The scheduler may count 10 us more for each, of stackd's own time, and
 * the time in which CPUs woke up. */
static void test_conservation(void **state)
{
	const uint64_t sampled = 2500000000, allowed = 250000000 + 20000000;
	const struct {
		uint64_t ns, stolen, waking, preempted;
		bool is_conserved;
	} cases[] = {
		{sampled, 0, 0, 0, true},
		{sampled - allowed + 1000000, 0, 0, 0, true},
		{sampled - allowed - 1000000, 0, 0, 0, false},
		{sampled - allowed - 1000000, 2000000, 0, 0, true},
		{sampled - allowed - 1000000, 0, sampled, 0, false},
		{sampled + 300000000, 0, 0, 0, true},
		{sampled + 320000000, 0, 0, 0, false},
		{sampled + 320000000, 0, 20000000, 0, true},
		{sampled / 2, 0, 0, 0, false},
		{2 * sampled, 0, 0, 0, false},
		{2 * sampled, 0, sampled, 0, true},
		{sampled, 0, sampled, 0, true},
		{3 * sampled, 0, sampled, 0, false},
		{sampled / 2, 0, sampled, 0, false},
		{sampled - allowed - 1000000, 0, 0, 2000000, true},
		{sampled + 320000000, 0, 0, 20000000, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *time;
		char *head = head_of_times("cpu_ns", cases[i].ns, sampled, cases[i].stolen,
					   cases[i].waking, cases[i].preempted, &time);

		assert_true(member(time, "scheduler_ns") == cases[i].ns);
		assert_true(member(time, "sampled_ns") == sampled);
		assert_true(json_is_true(json_object_get(time, "is_conserved")) ==
			    cases[i].is_conserved);
		assert_true(!strstr(head, "# cpu time: 2.500 s by the samples, ") ==
			    cases[i].is_conserved);
		json_decref(time);
		free(head);
	}
}

/* Where it is not known how long CPUs were on their way to woken tasks, samples may fall short. */
static void test_conservation_without_waking(void **state)
{
	const uint64_t sampled = 2500000000;
	json_t *time;
	char *head = head_of_times("cpu_ns", 2 * sampled, sampled, 0, UINT64_MAX, 0, &time);

	(void)state;
	assert_true(json_is_null(json_object_get(time, "waking_ns")));
	assert_true(json_is_null(json_object_get(time, "is_conserved")));
	assert_null(strstr(head, "# cpu time"));
	json_decref(time);
	free(head);
	head = head_of_times("cpu_ns", sampled, sampled, 0, UINT64_MAX, 0, &time);
	assert_true(json_is_true(json_object_get(time, "is_conserved")));
	json_decref(time);
	free(head);
	head = head_of_times("cpu_ns", sampled / 2, sampled, 0, UINT64_MAX, 0, &time);
	assert_true(json_is_false(json_object_get(time, "is_conserved")));
	assert_non_null(strstr(head, "# cpu time"));
	json_decref(time);
	free(head);
}

/* Without one of the two, nothing is compared. */
static void test_no_conservation(void **state)
{
	json_t *time;
	char *head = head_of_times("other_ns", 1, 2500000000, 0, 0, 0, &time);

	(void)state;
	assert_true(json_is_null(time));
	assert_null(strstr(head, "# cpu time"));
	json_decref(time);
	free(head);
}

/* Where rules come from, and the verdicts on steps by those that are not unwind information. */
static void test_stats_of_rules(void **state)
{
	struct recording r = small_recording();
	struct store_reader *f;
	json_t *json, *steps, *provenances;
	char *text;

	(void)state;
	add_counter(&r, "steps_confirmed", 7);
	add_counter(&r, "steps_probable", 5);
	add_counter(&r, "steps_wrong", 3);
	add_counter(&r, "steps_unchecked", 1);
	r.locations[0].provenance = PROVENANCE_CFI;
	r.locations[1].provenance = r.locations[2].provenance = PROVENANCE_ANALYSED;
	f = fake_reader(&r);
	text = stats_of(f, report_write_stats_json);
	json = json_loads(text, 0, NULL);
	steps = json_object_get(json, "steps");
	provenances = json_object_get(json, "provenances");
	assert_int_equal(member(steps, "confirmed"), 7);
	assert_int_equal(member(steps, "probable"), 5);
	assert_int_equal(member(steps, "wrong"), 3);
	assert_int_equal(member(steps, "unchecked"), 1);
	assert_int_equal(member(provenances, "cfi"), 1);
	assert_int_equal(member(provenances, "analysed"), 2);
	assert_int_equal(member(provenances, "frame_pointer"), 0);
	json_decref(json);
	free(text);
	text = stats_of(f, report_write_stats_text);
	assert_non_null(strstr(text, "\nrules of locations: cfi 1 analysed 2\n"));
	assert_non_null(strstr(text,
			       "\nsteps by other rules than cfi: 16, 7 confirmed, 5 probable, "
			       "3 wrong, 1 unchecked\n"));
	free(text);
	text = stats_of(f, report_write_stats_short);
	assert_non_null(strstr(text, "\n! 3 steps were contradicted by the caller's code"));
	assert_null(strstr(text, "\n! 0"));
	free(text);
	fake_free(f);
}

/* Idle time is reported once: as measured, or else estimated by samples. */
static void test_idle(void **state)
{
	static const struct {
		const char *event, *line;
		uint64_t idle_ns; /* of 2000; 0: not measured */
	} cases[] = {
		{"cpu-clock", "\n# idle: 75.0% of the CPUs' time (70 samples left out)\n", 1500},
		{"cycles", "\n# idle: 25.0% of the CPUs' time (70 samples left out)\n", 500},
		{"cpu-clock", "\n# idle: 40.0% of the CPUs' time (70 samples left out)\n", 0},
		{"perf::CPU-CLOCK", "\n# idle: 40.0% of the CPUs' time (70 samples left out)\n", 0},
		{"cycles", "\n# idle: 40.0% of all samples (70 samples left out)\n", 0}};
	struct report_options options = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct recording r = small_recording();
		struct store_reader *f;
		char *text, *json_text;
		json_t *json;

		add_counter(&r, "idle", 70);
		if (cases[i].idle_ns) {
			add_counter(&r, "idle_ns", cases[i].idle_ns);
			add_counter(&r, "cpus_ns", 2000);
		}
		r.info.lost = 5;
		r.info.samples = 100;
		r.info.event = cases[i].event;
		f = fake_reader(&r);
		text = written(f, report_write_text, &options);
		assert_non_null(strstr(text, cases[i].line));
		json_text = written(f, report_write_json, &options);
		json = json_loads(json_text, 0, NULL);
		assert_int_equal(member(json, "idle"), 70);
		json_decref(json);
		free(json_text);
		free(text);
		fake_free(f);
	}
}

/* Where an interpreter has no functions, the report says why: nobody asked for them, or they are
 * not read. */
static void test_hint_of_interpreter(void **state)
{
	struct report_options options = {0};

	(void)state;
	for (uint64_t unread = 0; unread < 2; unread++) {
		struct recording r = fake_recording();
		uint32_t object = add_object(&r, OBJECT_ELF, "/bin/python3");
		uint32_t thread = add_thread(&r, add_process(&r, 1, "python3"), 1, "python3");
		uint32_t eval = add_function(&r, object, 0x10, true, "_PyEval_EvalFrameDefault");
		struct store_reader *f;
		char *text;

		add_samples(&r, thread, add_node(&r, 0, eval), STACKD_END_ENTRY, 100);
		add_counter(&r, "interpreters_unread", unread);
		f = fake_reader(&r);
		text = written(f, report_write_text, &options);
		assert_int_equal(strstr(text, "\n# hint: 'stackd' without --no-managed") != NULL,
				 !unread);
		assert_int_equal(strstr(text, "of Python: see docs/PYTHON.md\n") != NULL, unread);
		free(text);
		fake_free(f);
	}
}

static void test_failing_output(void **state)
{
	struct store_reader *f = fake_small();
	struct report_options options = {0};
	struct profile *p;

	(void)state;
	assert_int_equal(profile_new(f, NULL, &p), 0);
	for (int i = 0; i < 5; i++) {
		FILE *full = fopen("/dev/full", "w");
		int err = i == 0   ? report_write_text(p, &options, full)
			  : i == 1 ? report_write_json(p, &options, full)
			  : i == 2 ? report_write_stats_json(p, full)
			  : i == 3 ? report_write_stats_short(p, full)
				   : report_write_stats_text(p, full);

		assert_int_equal(err, -EIO);
		fclose(full);
	}
	profile_free(p);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_tree),
		cmocka_unit_test(test_golden_flat),
		cmocka_unit_test(test_golden_callers),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_totals_count_a_path_once),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_self_call_is_one_row),
		cmocka_unit_test(test_deep_branches),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_stats),
		cmocka_unit_test(test_stats_of_rules),
		cmocka_unit_test(test_conservation),
		cmocka_unit_test(test_conservation_without_waking),
		cmocka_unit_test(test_no_conservation),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_hint_of_interpreter),
		cmocka_unit_test(test_failing_output),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
