/* SPDX-License-Identifier: MIT */
/* Call graphs of code: of this program itself, which knows what it calls, and of damaged copies. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/strings.h"
#include "stack/location.h"
#include "callgraph/code_graph.h"
#include "callgraph/code_scan.h"

#ifdef __clang__ /* it makes no clones */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

/* The compiler must not inline these calls. */
NOINLINE int code_callee(int n);
NOINLINE int code_by_pointer(int n);
NOINLINE int code_caller(int n);
NOINLINE int code_alone(int n);

int code_callee(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

int code_by_pointer(int n)
{
	__asm__ volatile("" : "+r"(n));
	return code_callee(n) + 2;
}

int (*volatile code_pointer)(int) = code_by_pointer;

int code_caller(int n)
{
	char *copy = strdup(n > 1000000 ? "a" : "b");
	int sum = code_callee(n) + code_pointer(n) + copy[0];

	free(copy);
	return sum;
}

int code_alone(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3;
}

static struct elf_file *open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *file;

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	return file;
}

static uint32_t function_named(const struct code_scan *scan, const char *name)
{
	for (uint32_t i = 0; i < scan->n_functions; i++)
		if (strcmp(strings_at(scan->names, scan->functions[i].name), name) == 0)
			return i;
	fail_msg("there is no function %s", name);
	return 0;
}

/* The number of calls of a kind from `from` to a target (any: CODE_SCAN_NONE). */
static unsigned calls(const struct code_scan *scan, uint32_t from, enum code_call_kind kind,
		      uint32_t target)
{
	uint32_t end = from + 1 < scan->n_functions ? scan->functions[from + 1].first_call
						    : (uint32_t)scan->n_calls;
	unsigned n = 0;

	for (uint32_t c = scan->functions[from].first_call; c < end; c++)
		n += scan->calls[c].kind == kind &&
		     (target == CODE_SCAN_NONE || scan->calls[c].target == target);
	return n;
}

static unsigned imports(const struct code_scan *scan, uint32_t from, const char *name)
{
	uint32_t end = scan->functions[from + 1].first_call;
	unsigned n = 0;

	for (uint32_t c = scan->functions[from].first_call; c < end; c++)
		if (scan->calls[c].kind == CODE_CALL_IMPORT)
			n += strstr(strings_at(scan->names, scan->calls[c].target), name) != NULL;
	return n;
}

static void scan_finds_calls(void **state)
{
	struct elf_file *file = open_self();
	struct code_scan scan;
	uint32_t caller, callee, by_pointer;

	(void)state;
	assert_int_equal(code_scan_read(file, &scan), 0);
	caller = function_named(&scan, "code_caller");
	callee = function_named(&scan, "code_callee");
	by_pointer = function_named(&scan, "code_by_pointer");
	assert_int_equal(calls(&scan, caller, CODE_CALL_FUNCTION, callee), 1);
	assert_int_equal(calls(&scan, caller, CODE_CALL_FUNCTION, by_pointer), 0);
	assert_true(calls(&scan, caller, CODE_CALL_POINTER, CODE_SCAN_NONE) >= 1);
	assert_true(imports(&scan, caller, "strdup") >= 1);
	assert_int_equal(calls(&scan, by_pointer, CODE_CALL_FUNCTION, callee), 1);
	assert_true(scan.functions[by_pointer].flags & CODE_TAKEN);
	assert_false(scan.functions[callee].flags & CODE_TAKEN);
	assert_true(scan.functions[callee].flags & CODE_CALLED);
	assert_true(scan.functions[function_named(&scan, "main")].flags & CODE_MAIN);
	assert_true(scan.functions[function_named(&scan, "_start")].flags & CODE_FIRST);
	assert_int_equal(code_scan_find(&scan, scan.functions[callee].start + 1), callee);
	assert_int_equal(code_scan_find(&scan, 1), CODE_SCAN_NONE);
	code_scan_release(&scan);
	elf_file_free(file);
}

static struct code_model *model_of_self(void)
{
	struct code_model *model;

	assert_int_equal(code_model_new(&model), 0);
	assert_int_equal(code_model_take(model, open_self(), "/x/self"), 0);
	assert_false(code_model_has_hooks(model));
	return model;
}

static void functions_call_each_other(void **state)
{
	struct code_model *model = model_of_self();
	struct callgraph *graph;
	uint32_t caller, callee, by_pointer, alone;

	(void)state;
	assert_int_equal(callgraph_new(&graph), 0);
	assert_int_equal(code_graph_functions(model, graph), 0);
	assert_int_equal(callgraph_seal(graph), 0);
	caller = callgraph_find_name(graph, "code_caller");
	callee = callgraph_find_name(graph, "code_callee");
	by_pointer = callgraph_find_name(graph, "code_by_pointer");
	alone = callgraph_find_name(graph, "code_alone");
	assert_true(callgraph_can_call(graph, caller, callee));
	assert_true(callgraph_can_call(graph, caller, by_pointer));
	assert_true(callgraph_can_call(graph, by_pointer, callee));
	assert_false(callgraph_can_call(graph, callee, caller));
	assert_false(callgraph_can_call(graph, caller, alone));
	assert_true(callgraph_at(graph, callgraph_find_name(graph, "main"))->is_root);
	callgraph_free(graph);
	code_model_free(model);
}

static uint32_t node_at(const struct callgraph *graph, const struct elf_file *file, uint64_t vaddr)
{
	uint64_t offset;

	assert_true(elf_file_vaddr_to_offset(file, vaddr, &offset));
	return callgraph_find(graph, location_id(elf_file_id(file), offset));
}

static void nodes_are_call_sites_and_instructions(void **state)
{
	struct code_model *model = model_of_self();
	struct elf_file *file = open_self();
	struct callgraph *graph;
	struct code_scan scan;
	uint32_t callee, caller, by_pointer, leaf, sites = 0;

	(void)state;
	assert_int_equal(callgraph_new(&graph), 0);
	assert_int_equal(code_graph_locations(model, graph), 0);
	assert_int_equal(callgraph_seal(graph), 0);
	assert_int_equal(code_scan_read(file, &scan), 0);
	callee = function_named(&scan, "code_callee");
	caller = function_named(&scan, "code_caller");
	by_pointer = function_named(&scan, "code_by_pointer");
	leaf = node_at(graph, file, scan.functions[callee].start);
	assert_true(leaf != CALLGRAPH_NONE && callgraph_at(graph, leaf)->is_leaf);
	assert_non_null(strstr(callgraph_at(graph, leaf)->name, "code_callee (self+0x"));
	for (uint32_t c = scan.functions[caller].first_call;
	     c < scan.functions[caller + 1].first_call; c++) {
		uint32_t site = node_at(graph, file, scan.calls[c].last);
		uint32_t at_pointer = node_at(graph, file, scan.functions[by_pointer].start);

		assert_true(site != CALLGRAPH_NONE);
		if (scan.calls[c].kind == CODE_CALL_FUNCTION && scan.calls[c].target == callee)
			sites += callgraph_can_call(graph, site, leaf);
		if (scan.calls[c].kind == CODE_CALL_POINTER)
			sites += 2 * callgraph_can_call(graph, site, at_pointer);
		if (scan.calls[c].kind == CODE_CALL_IMPORT)
			assert_false(callgraph_can_call(graph, site, leaf));
	}
	assert_true(sites >= 3);
	code_scan_release(&scan);
	callgraph_free(graph);
	elf_file_free(file);
	code_model_free(model);
}

/* --- damaged files ------------------------------------------------------------------------- */

static uint8_t *read_self(size_t *ret_len)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	*ret_len = (size_t)st.st_size < 4000000 ? (size_t)st.st_size : 4000000;
	bytes = malloc(*ret_len);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, *ret_len, 0), *ret_len);
	close(fd);
	return bytes;
}

/* Headers, tables and code with nonsense in them: an error or a graph, within bounds. */
static void damaged_files_are_survived(void **state)
{
	size_t len;
	uint8_t *good = read_self(&len), *bad = malloc(len);
	uint64_t random = 1;

	(void)state;
	assert_non_null(bad);
	for (unsigned n = 0; n < 30; n++) {
		struct elf_file *file;
		struct code_scan scan;

		memcpy(bad, good, len);
		for (unsigned k = 0; k < 200; k++) {
			random = hash_mix64(random + 1);
			bad[64 + random % (k % 2 ? len - 64 : 4096)] = (uint8_t)(random >> 56);
		}
		if (elf_file_open_memory(bad, n % 3 ? len : len / (n + 1), &file) < 0)
			continue;
		if (code_scan_read(file, &scan) == 0)
			code_scan_release(&scan);
		elf_file_free(file);
	}
	free(bad);
	free(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scan_finds_calls),
		cmocka_unit_test(functions_call_each_other),
		cmocka_unit_test(nodes_are_call_sites_and_instructions),
		cmocka_unit_test(damaged_files_are_survived),
	};

	if (code_caller(code_alone(1)) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
