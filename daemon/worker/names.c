/* SPDX-License-Identifier: MIT */
/* Namings of a worker, and of the caller's thread; see names.h. */
#include "daemon/worker/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/ask_names.h"

/* --- a worker's ------------------------------------------------------------------------------- */

struct there {
	struct names names;
	struct workers *workers;
	struct fetcher *fetcher; /* NULL: none */
	struct ask_names *ask;
};

static int open_there(struct names *names, struct naming **ret_naming)
{
	return ask_names_naming(((struct there *)names)->ask, ret_naming);
}

static uint64_t cpu_ns_there(struct names *names)
{
	const struct there *there = (const struct there *)names;

	return worker_cpu_ns(workers_of(there->workers, WORKER_NAMES)) +
	       fetcher_cpu_ns(there->fetcher);
}

static void counts_there(struct names *names, struct workers_counts *ret_counts)
{
	workers_counts(((struct there *)names)->workers, ret_counts);
}

static void hurry_there(struct names *names)
{
	ask_names_hurry(((struct there *)names)->ask);
}

static void stop_there(struct names *names, bool stops)
{
	ask_names_stop(((struct there *)names)->ask, stops);
}

static void free_there(struct names *names)
{
	ask_names_free(((struct there *)names)->ask);
	free(names);
}

int names_there_new(struct workers *workers, struct fetcher *fetcher, struct names **ret_names)
{
	struct there *there = calloc(1, sizeof(*there));

	if (!there)
		return -ENOMEM;
	there->names = (struct names){.open = open_there,
				      .cpu_ns = cpu_ns_there,
				      .counts = counts_there,
				      .hurry = hurry_there,
				      .stop = stop_there,
				      .free = free_there};
	there->workers = workers;
	there->fetcher = fetcher;
	if (ask_names_new(workers_of(workers, WORKER_NAMES), fetcher, &there->ask)) {
		free(there);
		return -ENOMEM;
	}
	*ret_names = &there->names;
	return 0;
}

/* --- the thread's own --------------------------------------------------------------------------
 */

static int open_here(struct names *names, struct naming **ret_naming)
{
	(void)names;
	return naming_new("/proc", ret_naming);
}

static uint64_t cpu_ns_here(struct names *names)
{
	(void)names;
	return 0;
}

static void counts_here(struct names *names, struct workers_counts *ret_counts)
{
	(void)names;
	memset(ret_counts, 0, sizeof(*ret_counts));
}

static void hurry_here(struct names *names)
{
	(void)names;
}

static void stop_here(struct names *names, bool stops)
{
	(void)names;
	(void)stops;
}

static void free_here(struct names *names)
{
	free(names);
}

int names_here_new(struct names **ret_names)
{
	struct names *names = malloc(sizeof(*names));

	if (!names)
		return -ENOMEM;
	*names = (struct names){.open = open_here,
				.cpu_ns = cpu_ns_here,
				.counts = counts_here,
				.hurry = hurry_here,
				.stop = stop_here,
				.free = free_here};
	*ret_names = names;
	return 0;
}
