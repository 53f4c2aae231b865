/* SPDX-License-Identifier: MIT */
/*
 * The main thread ends, and the process goes on: a thread loads a library after that, and works
 * in it.
 *
 * EXPECT: @thread;after;steady;one_entry;one_leaf
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "workload.h"

static CALLEE void steady(void (*entry)(void))
{
	for (;;) {
		entry();
		KEEP;
	}
}

static CALLEE void *after(void *main_thread)
{
	void *handle;
	void (*entry)(void);

	pthread_join(*(pthread_t *)main_thread, NULL);
	handle = dlopen("libdl_one.so", RTLD_NOW);
	entry = handle ? (void (*)(void))dlsym(handle, "one_entry") : NULL;
	if (!entry) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	steady(entry);
	return NULL;
}

int main(int argc, char **argv)
{
	static pthread_t self;
	pthread_t thread;

	workload_ready(argc, argv);
	self = pthread_self();
	if (pthread_create(&thread, NULL, after, &self))
		return 1;
	pthread_exit(NULL);
}
