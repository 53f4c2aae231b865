/* SPDX-License-Identifier: MIT */
/*
 * debuginfod through dlopen(); see debuginfod.h.
 *
 * The client library loads an HTTP stack, which a profiler that runs as root should not load unless
 * the user names servers. So this program is not linked with it, and does not require it.
 */
#include "sym/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#define LIBRARY "libdebuginfod.so.1"

struct client; /* a type of the library */

struct debuginfod {
	void *library;
	struct client *client;
	struct client *(*begin)(void);
	int (*find)(struct client *client, const unsigned char *build_id, int len, char **path);
	void (*end)(struct client *client);
	int error; /* why servers are not asked any more */
};

/* RTLD_NODELETE: the library initialises global state when it is loaded, and does not release
 * it. */
static int load(struct debuginfod *d)
{
	d->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!d->library)
		return -ENOENT;
	*(void **)&d->begin = dlsym(d->library, "debuginfod_begin");
	*(void **)&d->find = dlsym(d->library, "debuginfod_find_debuginfo");
	*(void **)&d->end = dlsym(d->library, "debuginfod_end");
	if (!d->begin || !d->find || !d->end)
		return -ENOENT;
	d->client = d->begin();
	return d->client ? 0 : -ENOENT;
}

int debuginfod_new(struct debuginfod **ret_debuginfod)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod *d;
	int err;

	if (!urls || !*urls)
		return -ENOENT;
	d = calloc(1, sizeof(*d));
	err = d ? load(d) : -ENOMEM;
	if (err) {
		debuginfod_free(d);
		return err;
	}
	*ret_debuginfod = d;
	return 0;
}

void debuginfod_free(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->end(debuginfod->client);
	if (debuginfod->library)
		dlclose(debuginfod->library);
	free(debuginfod);
}

int debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id, size_t len)
{
	int fd;

	if (debuginfod->error)
		return debuginfod->error;
	fd = debuginfod->find(debuginfod->client, build_id, (int)len, NULL);
	if (fd < 0 && fd != -ENOENT)
		debuginfod->error = fd;
	return fd;
}
