/* SPDX-License-Identifier: MIT */
/*
 * debuginfod through dlopen(); see debuginfod.h.
 *
 * The client library loads an HTTP stack, which a profiler that runs as root should not load unless
 * the user names servers. So this program is not linked with it, and does not require it.
 *
 * While the library fetches, it calls on_progress() at least once a second, which ends the fetch
 * where a limit is exceeded. Libraries before elfutils 0.180 have no such call: their fetches have
 * only the limits of the environment (DEBUGINFOD_TIMEOUT).
 *
 * An empty file in the library's folder says that no server has that file. The library makes one
 * also when on_progress() has ended a fetch, for ten minutes in which nobody would ask again: it is
 * removed.
 */
#include "sym/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define LIBRARY	   "libdebuginfod.so.1"
#define MOST_BYTES (UINT64_C(2) << 30)
#define MOST_NS	   UINT64_C(120000000000)
#define LATE_MOST  3  /* slow fetches in a row after which no server is asked any more */
#define LEFT_MOST  16 /* files beyond a limit after which no server is asked any more */
#define BUILD_ID   64 /* bytes of a build id that are compared */
/* The library passes a count of its waits, which is lower, before it has chosen a server. */
#define HEARD_BYTES 65536

struct client; /* a type of the library */

struct debuginfod {
	void *library;
	struct client *client;
	struct client *(*begin)(void);
	int (*find)(struct client *client, const unsigned char *build_id, int len, char **path);
	void (*end)(struct client *client);
	int error; /* why servers are not asked any more */
	struct debuginfod_limits limits;
	uint64_t begun_ns; /* when the fetch began */
	int stopped;	   /* why on_progress() has ended the fetch; 0: it has not */
	bool has_heard;	   /* HEARD_BYTES have come */
	unsigned late;	   /* fetches in a row that took too long */
	struct left {	   /* files that exceeded a limit, which are not fetched again */
		uint8_t build_id[BUILD_ID];
		size_t len;
		int error;
	} left[LEFT_MOST];
	size_t n_left;
};

/* Returns the debuginfod that a client belongs to; NULL: none. Opens the library by its name, since
 * its functions are not among the program's global symbols. */
static struct debuginfod *owner_of(struct client *client)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
	void *(*get)(struct client *);
	struct debuginfod *d;

	if (!library)
		return NULL;
	*(void **)&get = dlsym(library, "debuginfod_get_user_data");
	d = get ? get(client) : NULL;
	dlclose(library);
	return d;
}

/* The library's progress function: returns whether to end the fetch. `done` is the number of bytes
 * that have come, or less as long as no server has been chosen. */
static int on_progress(struct client *client, long done, long all)
{
	struct debuginfod *d = owner_of(client);

	(void)all;
	if (!d)
		return 0;
	d->has_heard |= done > HEARD_BYTES;
	if (d->limits.must_stop && d->limits.must_stop(d->limits.arg))
		d->stopped = -ECANCELED;
	else if (done > 0 && (uint64_t)done > d->limits.most_bytes)
		d->stopped = -EFBIG;
	else if (clock_ns(CLOCK_MONOTONIC) - d->begun_ns > d->limits.most_ns)
		d->stopped = -ETIMEDOUT;
	return d->stopped != 0;
}

/* Makes the library call on_progress(), if it can. */
static void watch_progress(struct debuginfod *d)
{
	void (*set_data)(struct client *, void *);
	void (*set_progress)(struct client *, int (*)(struct client *, long, long));

	*(void **)&set_data = dlsym(d->library, "debuginfod_set_user_data");
	*(void **)&set_progress = dlsym(d->library, "debuginfod_set_progressfn");
	if (!set_data || !set_progress || !dlsym(d->library, "debuginfod_get_user_data"))
		return;
	set_data(d->client, d);
	set_progress(d->client, on_progress);
}

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
	if (!d->client)
		return -ENOENT;
	d->limits = (struct debuginfod_limits){.most_bytes = MOST_BYTES, .most_ns = MOST_NS};
	watch_progress(d);
	return 0;
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

void debuginfod_limit(struct debuginfod *debuginfod, const struct debuginfod_limits *limits)
{
	debuginfod->limits = *limits;
}

/* --- the library's folder -------------------------------------------------------------------- */

/* Gives the value of a variable of the environment that is set and not empty; or NULL. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool debuginfod_folder(char *ret_path, size_t size)
{
	const char *folder = variable("DEBUGINFOD_CACHE_PATH"), *cache = variable("XDG_CACHE_HOME");
	const char *home = getenv("HOME") ? getenv("HOME") : "/";
	struct stat st;
	int n;

	if (folder)
		return snprintf(ret_path, size, "%s", folder) < (int)size;
	n = snprintf(ret_path, size, "%s/.debuginfod_client_cache", home);
	if (n < (int)size && stat(ret_path, &st))
		n = cache ? snprintf(ret_path, size, "%s/debuginfod_client", cache)
			  : snprintf(ret_path, size, "%s/.cache/debuginfod_client", home);
	return n < (int)size;
}

/* Gives the path at which the library keeps a debug file. false: it is too long. */
static bool kept_path(const uint8_t *build_id, size_t len, char *ret_path, size_t size)
{
	size_t at;

	if (!debuginfod_folder(ret_path, size))
		return false;
	at = strlen(ret_path);
	if (at + 1 + 2 * len + sizeof("/debuginfo") > size)
		return false;
	ret_path[at++] = '/';
	for (size_t i = 0; i < len; i++, at += 2)
		snprintf(ret_path + at, size - at, "%02x", build_id[i]);
	snprintf(ret_path + at, size - at, "/debuginfo");
	return true;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Asks the library. Removes an empty file that it made though the fetch was ended. */
static int find(struct debuginfod *d, const uint8_t *build_id, size_t len)
{
	struct stat before = {0}, after;
	char path[PATH_MAX];
	const bool has_path = kept_path(build_id, len, path, sizeof(path));
	int fd;

	if (has_path)
		lstat(path, &before);
	fd = d->find(d->client, build_id, (int)len, NULL);
	if (d->stopped && has_path && !lstat(path, &after) && S_ISREG(after.st_mode) &&
	    !after.st_size && !is_same(&before, &after))
		unlink(path);
	return fd;
}

/* --- fetching -------------------------------------------------------------------------------- */

/* Returns the limit that a file exceeded before; 0: none. */
static int left_before(const struct debuginfod *d, const uint8_t *build_id, size_t len)
{
	for (size_t i = 0; i < d->n_left; i++)
		if (d->left[i].len == len && !memcmp(d->left[i].build_id, build_id, len))
			return d->left[i].error;
	return 0;
}

/* Returns whether a fetch failed because of its file alone: the file is too large, or was still on
 * the way when the time was over. Remembers such a file, and lets servers be asked for others. */
static bool is_of_file(struct debuginfod *d, const uint8_t *build_id, size_t len, int err)
{
	struct left *left = &d->left[d->n_left];

	d->late = err == -ETIMEDOUT ? d->late + 1 : 0;
	if ((err != -EFBIG && err != -ETIMEDOUT) || d->n_left == LEFT_MOST || len > BUILD_ID)
		return false;
	if (err == -ETIMEDOUT && (!d->has_heard || d->late >= LATE_MOST))
		return false;
	memcpy(left->build_id, build_id, len);
	left->len = len;
	left->error = err;
	d->n_left++;
	return true;
}

int debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id, size_t len)
{
	int fd = left_before(debuginfod, build_id, len);

	if (fd || debuginfod->error)
		return fd ? fd : debuginfod->error;
	debuginfod->stopped = 0;
	debuginfod->has_heard = false;
	debuginfod->begun_ns = clock_ns(CLOCK_MONOTONIC);
	fd = find(debuginfod, build_id, len);
	if (debuginfod->stopped) {
		if (fd >= 0)
			close(fd);
		fd = debuginfod->stopped;
	}
	if (fd == -ECANCELED)
		return fd;
	if (!is_of_file(debuginfod, build_id, len, fd) && fd < 0 && fd != -ENOENT)
		debuginfod->error = fd;
	return fd;
}
