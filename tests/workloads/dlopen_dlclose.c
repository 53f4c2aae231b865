/* SPDX-License-Identifier: MIT */
/*
 * Two libraries loaded in turn, so that the second lands where the first one was: what names an
 * address depends on the time. The program fails if they do not share their addresses.
 *
 * EXPECT: main;steady;turn_one;one_entry;one_leaf
 * EXPECT: main;steady;turn_two;two_entry;two_leaf
 * EXPECT: main;steady;turn_one;@lib+
 * EXPECT: main;steady;turn_two;@lib+
 * EXPECT: main;steady;turn_one;@plt
 * EXPECT: main;steady;turn_two;@plt
 */
#include <dlfcn.h>
#include <stdio.h>

#include "workload.h"

typedef void entry_fn(void);

static entry_fn *load(const char *library, const char *function, void **ret_handle)
{
	entry_fn *entry;

	*ret_handle = dlopen(library, RTLD_NOW);
	entry = *ret_handle ? (entry_fn *)dlsym(*ret_handle, function) : NULL;
	if (!entry) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	return entry;
}

static CALLEE entry_fn *turn_one(void)
{
	void *handle;
	entry_fn *entry = load("libdl_one.so", "one_entry", &handle);

	entry();
	KEEP;
	dlclose(handle);
	KEEP;
	return entry;
}

static CALLEE entry_fn *turn_two(void)
{
	void *handle;
	entry_fn *entry = load("libdl_two.so", "two_entry", &handle);

	entry();
	KEEP;
	dlclose(handle);
	KEEP;
	return entry;
}

static CALLEE void steady(void)
{
	for (;;) {
		entry_fn *one = turn_one();
		entry_fn *two = turn_two();

		if (one != two) {
			fprintf(stderr, "the libraries do not share their addresses\n");
			_exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
