/* SPDX-License-Identifier: MIT */
/* The exports: golden text of a small recording, sums over it, hostile names, colliding ids. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "export/export.h"
#include "fake_store.h"

typedef int (*exporter)(struct profile *, FILE *);

static char *exported(struct store_reader *f, exporter export, const struct profile_filter *filter)
{
	struct profile *p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(profile_new(f, filter, &p), 0);
	assert_int_equal(export(p, out), 0);
	fclose(out);
	profile_free(p);
	return text;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of `text`, which is cut up, in order of their content. */
static size_t sorted_lines(char *text, char **lines, size_t max)
{
	size_t n = 0;
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		assert_true(n < max);
		lines[n++] = line;
	}
	qsort(lines, n, sizeof(*lines), compare_lines);
	return n;
}

static void test_folded(void **state)
{
	static const char *const golden[] = {
		"other;main;do_sys 20",
		"pool;[incomplete: no_recipe];app::work() 1",
		"pool;start_thread;libx.so+0x51 9",
		"prog;_start;main;app::work();inl 40",
		"prog;_start;main;app::work();memcpy 20",
		"prog;_start;main;fact;fact;fact;fact 10",
	};
	struct store_reader *f = fake_small();
	char *text = exported(f, export_folded, NULL), *lines[6];

	(void)state;
	assert_int_equal(sorted_lines(text, lines, 6), 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(lines[i], golden[i]);
	free(text);
	fake_free(f);
}

/* Threads of one name are one, and functions of one name too: no path comes twice. Names are
 * escaped so that the line can be taken apart again. */
static void test_folded_lines_are_distinct(void **state)
{
	struct recording r = fake_recording();
	uint32_t a = add_object(&r, OBJECT_ELF, "/a"), b = add_object(&r, OBJECT_ELF, "/b");
	uint32_t in_a = add_node(&r, 0, add_function(&r, a, 0x10, true, "f;g\n"));
	uint32_t in_b = add_node(&r, 0, add_function(&r, b, 0x10, true, "f;g\n"));
	uint32_t other = add_node(&r, 0, add_function(&r, b, 0x20, true, "f\\x3bg\\x0a"));
	uint32_t p1 = add_process(&r, 1, "x"), p2 = add_process(&r, 2, "x");
	uint32_t t1 = add_thread(&r, p1, 1, "x y"), t2 = add_thread(&r, p2, 2, "x y");
	uint32_t t3 = add_thread(&r, p2, 3, "");
	struct store_reader *f;
	char *text, *lines[4];

	(void)state;
	add_samples(&r, t1, in_a, STACKD_END_ENTRY, 1);
	add_samples(&r, t2, in_b, STACKD_END_ENTRY, 2);
	add_samples(&r, t1, other, STACKD_END_ENTRY, 4);
	add_samples(&r, t3, 0, STACKD_END_NO_USER, 8);
	f = fake_reader(&r);
	text = exported(f, export_folded, NULL);
	assert_int_equal(sorted_lines(text, lines, 4), 3);
	assert_string_equal(lines[0], "[unnamed];[no frames] 8");
	assert_string_equal(lines[1], "x y;f\\x3bg\\x0a 3");
	assert_string_equal(lines[2], "x y;f\\x5cx3bg\\x5cx0a 4");
	free(text);
	fake_free(f);
}

static void test_perf_script_entries(void **state)
{
	static const char first[] = "prog    12/12    [000]     1.000000:    1003009 cpu-clock: \n"
				    "\t            1220 inl+0x8 (inlined)\n"
				    "\t            1220 app::work()+0x20 (/bin/prog)\n"
				    "\t            1111 main+0x11 (/bin/prog)\n"
				    "\t            1021 _start+0x21 (/bin/prog)\n"
				    "\n";
	struct store_reader *f = fake_small();
	char *text = exported(f, export_perf_script, NULL);
	size_t n = 0;

	(void)state;
	for (const char *at = text; (at = strstr(at, " cpu-clock: \n")); at++)
		n++;
	assert_int_equal(n, 100);
	assert_memory_equal(text, first, sizeof(first) - 1);
	assert_non_null(strstr(text,
			       "\npool    12/13    [001]     1.079237:    1003009 cpu-clock: \n"
			       "\t            1231 app::work()+0x31 (/bin/prog)\n"
			       "\t               0 [incomplete: no_recipe] ([unknown])\n"
			       "\n"));
	assert_non_null(strstr(text, "\t              51 [unknown] (/opt/libx.so)\n"
				     "\t            6021 start_thread+0x21 (/lib/libc.so.6)\n\n"));
	assert_non_null(strstr(text, "\t            7010 do_sys+0x10 ([kernel.kallsyms])\n"));
	free(text);
	fake_free(f);
}

static void test_perf_script_keeps_to_the_filter(void **state)
{
	const int32_t pid = 99;
	struct profile_filter filter = {.pids = &pid, .n_pids = 1};
	struct store_reader *f = fake_small();
	char *text = exported(f, export_perf_script, &filter);

	(void)state;
	assert_non_null(strstr(text, "other    99/99"));
	assert_null(strstr(text, "prog    12/"));
	free(text);
	fake_free(f);
}

static void test_perf_script_names_stay_in_their_line(void **state)
{
	struct recording r = fake_recording();
	uint32_t a = add_object(&r, OBJECT_ELF, "/a\nb");
	uint32_t node = add_node(&r, 0, add_function(&r, a, 0x10, false, "f\ng"));
	struct store_reader *f;
	char *text;

	(void)state;
	add_samples(&r, add_thread(&r, add_process(&r, 1, "x"), 1, "#\nc"), node, STACKD_END_ENTRY,
		    1);
	f = fake_reader(&r);
	text = exported(f, export_perf_script, NULL);
	assert_string_equal(text,
			    "\\x23\\x0ac     1/1     [000]     1.000000:    1003009 cpu-clock: \n"
			    "\t              10 f\\x0ag (/a\\x0ab)\n\n");
	free(text);
	fake_free(f);
}

/* Reads a tags export back and checks that it is consistent: every id is defined before it is used,
 * every tag is the chain of its parent and its location, and the counts add up. */
struct tags_reader {
	uint64_t locations[64], tags[64];
	size_t n_locations, n_tags, n_objects, n_processes;
	uint64_t samples;
	bool has_end;
};

static bool among(const uint64_t *list, size_t n, uint64_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

static void read_tags_line(struct tags_reader *t, const char *line)
{
	uint64_t a, b, c;

	if (sscanf(line, "location\t%" SCNx64 "\t%" SCNu64, &a, &b) == 2) {
		assert_true(b < t->n_objects);
		t->locations[t->n_locations++] = a;
	} else if (sscanf(line, "inlined\t%" SCNx64, &a) == 1) {
		assert_int_equal(a, t->locations[t->n_locations - 1]);
	} else if (sscanf(line, "tag\t%" SCNx64 "\t%" SCNx64 "\t%" SCNx64, &a, &b, &c) == 3) {
		assert_true(b == 0 || among(t->tags, t->n_tags, b));
		assert_true(among(t->locations, t->n_locations, c));
		assert_true(a == hash_chain(b, c));
		t->tags[t->n_tags++] = a;
	} else if (sscanf(line, "sample\t%" SCNx64 "\t%" SCNu64 "\t%*[^\t]\t%" SCNu64, &a, &b,
			  &c) == 3) {
		assert_true(among(t->tags, t->n_tags, a));
		assert_true(b < t->n_processes);
		t->samples += c;
	} else if (strncmp(line, "object\t", 7) == 0) {
		t->n_objects++;
	} else if (strncmp(line, "process\t", 8) == 0) {
		t->n_processes++;
	} else {
		assert_true(strcmp(line, "end") == 0 || strncmp(line, "recording\t", 10) == 0);
		t->has_end |= line[0] == 'e';
	}
}

static void test_tags(void **state)
{
	struct store_reader *f = fake_small();
	char *text = exported(f, export_tags, NULL), *rest, *line;
	struct tags_reader t = {0};

	(void)state;
	line = strtok_r(text, "\n", &rest);
	assert_string_equal(line, "stackd-tags 1");
	while ((line = strtok_r(NULL, "\n", &rest)))
		read_tags_line(&t, line);
	assert_true(t.has_end);
	assert_int_equal(t.samples, 100);
	assert_int_equal(t.n_tags, f->tables.n_nodes - 1);
	assert_int_equal(t.n_locations, f->tables.n_locations);
	free(text);
	fake_free(f);
}

static void test_tags_of_a_part(void **state)
{
	const int32_t tid = 13;
	struct profile_filter filter = {.tids = &tid, .n_tids = 1};
	struct store_reader *f = fake_small();
	char *text = exported(f, export_tags, &filter);

	(void)state;
	assert_non_null(strstr(text, "start_thread"));
	assert_null(strstr(text, "memcpy"));
	assert_null(strstr(text, "other"));
	free(text);
	fake_free(f);
}

static void test_colliding_tags_get_suffixes(void **state)
{
	struct store_reader *f = fake_small();
	char *text, expected[80];

	(void)state;
	f->tags[5] = f->tags[3];
	text = exported(f, export_tags, NULL);
	snprintf(expected, sizeof(expected), "\ntag\t%016" PRIx64 "\t", f->tags[3]);
	assert_non_null(strstr(text, expected));
	snprintf(expected, sizeof(expected), "\ntag\t%016" PRIx64 ".1\t", f->tags[3]);
	assert_non_null(strstr(text, expected));
	snprintf(expected, sizeof(expected), "\nsample\t%016" PRIx64 ".1\t0\tprog\t20\t",
		 f->tags[3]);
	assert_non_null(strstr(text, expected));
	free(text);
	fake_free(f);
}

static void test_failing_output(void **state)
{
	static const exporter exporters[] = {export_folded,    export_perf_script, export_tags,
					     export_pprof,     export_speedscope,  export_firefox,
					     export_callgrind, export_json,	   export_perfetto};
	struct store_reader *f = fake_small();
	struct profile *p;

	(void)state;
	assert_int_equal(profile_new(f, NULL, &p), 0);
	for (size_t i = 0; i < sizeof(exporters) / sizeof(*exporters); i++) {
		FILE *full = fopen("/dev/full", "w");

		assert_int_equal(exporters[i](p, full), -EIO);
		fclose(full);
	}
	profile_free(p);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folded),
		cmocka_unit_test(test_folded_lines_are_distinct),
		cmocka_unit_test(test_perf_script_entries),
		cmocka_unit_test(test_perf_script_keeps_to_the_filter),
		cmocka_unit_test(test_perf_script_names_stay_in_their_line),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_tags_of_a_part),
		cmocka_unit_test(test_colliding_tags_get_suffixes),
		cmocka_unit_test(test_failing_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
