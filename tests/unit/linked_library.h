/* SPDX-License-Identifier: MIT */
/* A library of code without call frame information, and the rules of its labels, for the tests of
 * the analysis that need a linked file. */
#ifndef TESTS_LINKED_LIBRARY_H
#define TESTS_LINKED_LIBRARY_H

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>

#include "analysed_code.h"

struct library {
	void *handle;
	struct rules *rules;
};

static inline uint64_t vaddr_of(const struct library *library, const char *label)
{
	void *address = dlsym(library->handle, label);
	Dl_info info;

	assert_non_null(address);
	assert_true(dladdr(address, &info));
	return (uint64_t)((const char *)address - (const char *)info.dli_fbase);
}

/* Analyses the library of a name beside the test program, from the label `first` to code_end. */
static inline int library_open(void **state, const char *name, const char *first)
{
	static struct library library;
	struct analysis_range range = {.is_first = true};
	struct analysis_stats stats;
	char program[PATH_MAX] = "", path[PATH_MAX + 32];

	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	snprintf(path, sizeof(path), "%s/%s", dirname(program), name);
	library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library.handle);
	range.start = vaddr_of(&library, first);
	range.end = vaddr_of(&library, "code_end");
	library.rules = rules_of(path, range, &stats);
	*state = &library;
	return 0;
}

static inline int library_close(void **state)
{
	struct library *library = *state;

	rules_free(library->rules);
	return dlclose(library->handle);
}

/* The rule at a label. */
static inline const struct stackd_rule *at(void **state, const char *label)
{
	struct library *library = *state;

	return rule_at(library->rules, vaddr_of(library, label));
}

/* The CFA at a label is so far above rsp. */
static inline void check(void **state, const char *label, int cfa_offset)
{
	const struct stackd_rule *rule = at(state, label);

	assert_int_equal(rule->cfa, STACKD_CFA_REG);
	assert_int_equal(rule->reg, STACKD_REG_SP);
	assert_int_equal(rule->cfa_offset, cfa_offset);
}

#endif
