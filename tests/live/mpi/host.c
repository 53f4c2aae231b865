/* SPDX-License-Identifier: MIT */
/*
 * Loads a plugin (plugin.c) by its path and lets it call MPI, while two threads load and unload
 * other libraries all the time.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *load(void *name)
{
	for (;;) {
		void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

		if (library)
			dlclose(library);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *plugin = argc > 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*asks)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin_asks") : NULL;
	pthread_t thread;

	if (!asks)
		return 1;
	pthread_create(&thread, NULL, load, argv[2]);
	pthread_create(&thread, NULL, load, argv[3]);
	usleep(20000);
	printf("%d\n", asks() > 0);
	fflush(stdout);
	_exit(0);
}
