/* SPDX-License-Identifier: MIT */
/*
 * Loads a library again and again, calls each of its imports once, and unloads it: the dynamic
 * linker binds them all the time. Samples hit in the lazy halves of stubs, in the
 * first entry of the linkage table, and in the resolver.
 *
 * EXPECT: main;steady;lazy_entry;@lib+
 * EXPECT: main;steady;@plt
 * EXPECT: main;steady;@lib+
 */
#include <dlfcn.h>
#include <stdio.h>

#include "workload.h"

static CALLEE void steady(void)
{
	for (;;) {
		void *handle = dlopen(LIBRARY, RTLD_LAZY);
		void (*entry)(void) = handle ? (void (*)(void))dlsym(handle, "lazy_entry") : NULL;

		if (!entry) {
			fprintf(stderr, "%s\n", dlerror());
			_exit(1);
		}
		entry();
		KEEP;
		dlclose(handle);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
