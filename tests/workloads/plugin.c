/* SPDX-License-Identifier: MIT */
/*
 * A library loaded at run time, from the path in argv[2] if there is one: the tests replace, cut
 * and falsify that file while it is in use.
 *
 * EXPECT: main;steady;one_entry;one_leaf
 */
#include <dlfcn.h>
#include <stdio.h>

#include "workload.h"

static CALLEE void steady(void (*entry)(void))
{
	for (;;) {
		entry();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	void *handle = dlopen(argc > 2 ? argv[2] : "libdl_one.so", RTLD_NOW);
	void (*entry)(void) = handle ? (void (*)(void))dlsym(handle, "one_entry") : NULL;

	if (!entry) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	workload_ready(argc, argv);
	steady(entry);
	return 0;
}
