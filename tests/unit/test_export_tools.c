/* SPDX-License-Identifier: MIT */
/*
 * The formats of other tools, read back as far as C libraries can: JSON by jansson, pprof's
 * protobuf by its generated reader. tests/exports lets the tools themselves read them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "export/export.h"
#include "fake_store.h"
#include "pprof.pb-c.h"

typedef int (*exporter)(struct profile *, FILE *);

static char *exported(struct store_reader *f, exporter export, size_t *ret_size)
{
	struct profile *p;
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_size);

	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_int_equal(export(p, out), 0);
	fclose(out);
	profile_free(p);
	return text;
}

static json_t *exported_json(struct store_reader *f, exporter export)
{
	size_t size;
	char *text = exported(f, export, &size);
	json_error_t error;
	json_t *root = json_loadb(text, size, 0, &error);

	if (!root)
		fail_msg("%s at %d: %s", error.text, error.position, text);
	free(text);
	return root;
}

/* Names that try to break out, the same everywhere. */
static const char *const hostile[] = {"a;b\nc\"d\\e",
				      "</script><script>alert(1)</script>",
				      "\xff\xfe bad \xc3",
				      "\033[31mred\r",
				      "(7) x",
				      ""};

static struct store_reader *fake_hostile(void)
{
	struct recording r = fake_recording();
	uint32_t node = 0;

	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		uint32_t object = add_object(&r, OBJECT_ELF, hostile[i]);
		uint32_t at = add_function(&r, object, 0x1000, true, hostile[i]);
		uint32_t process = add_process(&r, 10 + (int32_t)i, hostile[i]);
		uint32_t thread = add_thread(&r, process, 10 + (int32_t)i, hostile[i]);

		node = add_node(&r, node, at);
		add_samples(&r, thread, node, STACKD_END_ENTRY, 3);
	}
	return fake_reader(&r);
}

/* `depth` calls of one function by itself. */
static struct store_reader *fake_deep(uint32_t depth)
{
	struct recording r = fake_recording();
	uint32_t object = add_object(&r, OBJECT_ELF, "/bin/prog");
	uint32_t at = add_function(&r, object, 0x1000, true, "again"), node = 0;
	uint32_t thread = add_thread(&r, add_process(&r, 1, "deep"), 1, "deep");

	for (uint32_t i = 0; i < depth; i++)
		node = add_node(&r, node, at);
	add_samples(&r, thread, node, STACKD_END_ENTRY, 5);
	return fake_reader(&r);
}

static void check_pprof(struct store_reader *f, uint64_t samples)
{
	size_t size;
	char *bytes = exported(f, export_pprof, &size);
	Pprof__Profile *p = pprof__profile__unpack(NULL, size, (const uint8_t *)bytes);
	uint64_t sum = 0;

	assert_non_null(p);
	assert_string_equal(p->string_table[0], "");
	for (size_t i = 0; i < p->n_sample; i++) {
		sum += (uint64_t)p->sample[i]->value[0];
		assert_int_equal(p->sample[i]->n_label, 6);
		assert_true(p->sample[i]->location_id.len > 0);
	}
	assert_int_equal(sum, samples);
	for (size_t i = 0; i < p->n_function; i++)
		assert_true((size_t)p->function[i]->name < p->n_string_table);
	for (size_t i = 1; i < p->n_string_table; i++)
		for (const char *at = p->string_table[i]; *at; at++)
			assert_true((unsigned char)*at >= 0x20);
	pprof__profile__free_unpacked(p, NULL);
	free(bytes);
}

static uint64_t sum_of(const json_t *list, const char *member)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *at = json_array_get(list, i);

		sum += (uint64_t)json_integer_value(member ? json_object_get(at, member) : at);
	}
	return sum;
}

static void check_speedscope(struct store_reader *f, uint64_t samples)
{
	json_t *root = exported_json(f, export_speedscope);
	json_t *profiles = json_object_get(root, "profiles");
	size_t n_frames =
		json_array_size(json_object_get(json_object_get(root, "shared"), "frames"));
	double seconds = 0;

	for (size_t i = 0; i < json_array_size(profiles); i++) {
		json_t *profile = json_array_get(profiles, i);
		json_t *stacks = json_object_get(profile, "samples");

		json_t *weights = json_object_get(profile, "weights");

		assert_int_equal(json_array_size(stacks), json_array_size(weights));
		for (size_t j = 0; j < json_array_size(stacks); j++) {
			json_t *stack = json_array_get(stacks, j);
			json_t *last = json_array_get(stack, json_array_size(stack) - 1);

			if (!json_array_size(stack)) /* a gap */
				continue;
			assert_true((size_t)json_integer_value(last) < n_frames);
			seconds += json_number_value(json_array_get(weights, j));
		}
	}
	assert_int_equal(llround(seconds * 997), samples);
	json_decref(root);
}

static void check_firefox(struct store_reader *f, uint64_t samples)
{
	json_t *root = exported_json(f, export_firefox);
	json_t *threads = json_object_get(root, "threads");
	uint64_t sum = 0;

	for (size_t i = 0; i < json_array_size(threads); i++) {
		json_t *s = json_object_get(json_array_get(threads, i), "samples");

		sum += json_array_size(json_object_get(s, "stack"));
		assert_int_equal(json_array_size(json_object_get(s, "stack")),
				 json_array_size(json_object_get(s, "timeDeltas")));
	}
	assert_int_equal(sum, samples);
	json_decref(root);
}

static void check_json(struct store_reader *f, uint64_t samples)
{
	json_t *root = exported_json(f, export_json);

	assert_int_equal(sum_of(json_object_get(root, "entries"), "samples"), samples);
	assert_int_equal(json_integer_value(json_object_get(root, "samples")), samples);
	json_decref(root);
}

/* Own costs and calls of "[root]" both are all samples. */
static void check_callgrind(struct store_reader *f, uint64_t samples)
{
	size_t size;
	char *text = exported(f, export_callgrind, &size), *save = NULL;
	uint64_t self = 0, roots = 0, cost;
	bool is_root = false, is_call = false;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "fn=", 3) == 0)
			is_root = strncmp(line, "fn=(0)", 6) == 0;
		if (sscanf(line, "%*u %" SCNu64, &cost) == 1 && line[0] != '(') {
			self += is_call ? 0 : cost;
			roots += is_call && is_root ? cost : 0;
		}
		is_call = strncmp(line, "calls=", 6) == 0;
	}
	assert_int_equal(self, samples);
	assert_int_equal(roots, samples);
	free(text);
}

static void check_all(struct store_reader *f, uint64_t samples)
{
	check_pprof(f, samples);
	check_speedscope(f, samples);
	check_firefox(f, samples);
	check_json(f, samples);
	check_callgrind(f, samples);
	fake_free(f);
}

static void test_small(void **state)
{
	(void)state;
	check_all(fake_small(), 100);
}

static void test_hostile_names(void **state)
{
	(void)state;
	check_all(fake_hostile(), 3 * sizeof(hostile) / sizeof(*hostile));
}

static void test_deep_recursion(void **state)
{
	(void)state;
	check_all(fake_deep(10000), 5);
}

/* Two processes with one pid; the second one has the most samples, and runs what was mapped last.
 */
static struct store_reader *fake_reused(void)
{
	struct recording r = fake_recording();
	const uint32_t lib = add_object(&r, OBJECT_ELF, "/lib/lib.so");
	const uint32_t first = add_object(&r, OBJECT_ELF, "/bin/first");
	const uint32_t second = add_object(&r, OBJECT_ELF, "/bin/second");
	const uint32_t shared = add_node(&r, 0, add_function(&r, lib, 0x1000, true, "shared"));
	const uint32_t processes[] = {
		put_process(&r,
			    &(struct store_process){
				    .pid = 7, .parent = 1, .comm = "a", .exe = "/bin/first"}),
		put_process(&r, &(struct store_process){
					.pid = 7, .parent = 1, .comm = "b", .exe = "/bin/second"})};

	for (uint32_t i = 0; i < 2; i++)
		add_samples(&r, add_thread(&r, processes[i], 7, "main"),
			    add_node(&r, shared,
				     add_function(&r, i ? second : first, 0x1000, true, "main")),
			    STACKD_END_ENTRY, 5 + i);
	return fake_reader(&r);
}

/* Firefox's profiler takes threads of one pid for one process, and pprof the first mapping for the
 * program. */
static void test_reused_pid(void **state)
{
	struct store_reader *f = fake_reused();
	json_t *root = exported_json(f, export_firefox);
	json_t *threads = json_object_get(root, "threads");
	size_t size;
	char *bytes = exported(f, export_pprof, &size);
	Pprof__Profile *p = pprof__profile__unpack(NULL, size, (const uint8_t *)bytes);

	(void)state;
	assert_int_equal(json_array_size(threads), 2);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(threads, i), "pid")),
			i ? "7.1" : "7");
	assert_non_null(p);
	assert_int_equal(p->n_mapping, 3);
	assert_int_equal(p->mapping[0]->id, 1);
	assert_string_equal(p->string_table[p->mapping[0]->filename], "/bin/second");
	pprof__profile__free_unpacked(p, NULL);
	free(bytes);
	json_decref(root);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_deep_recursion),
		cmocka_unit_test(test_reused_pid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
