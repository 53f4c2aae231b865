/* SPDX-License-Identifier: MIT */
/* Gets debug files from debuginfod servers, if the client library is installed and servers are
 * named. A server may be slow, or send without end, so a fetch is bounded in time and bytes, and
 * the caller can end it. */
#ifndef SYM_DEBUGINFOD_H
#define SYM_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod;

/* Returns 0; -ENOENT: DEBUGINFOD_URLS is not set, or there is no libdebuginfod; -ENOMEM. */
int debuginfod_new(struct debuginfod **ret_debuginfod);
void debuginfod_free(struct debuginfod *debuginfod); /* NULL is fine */

/* What a fetch may take. */
struct debuginfod_limits {
	uint64_t most_bytes, most_ns;
	bool (*must_stop)(void *arg); /* called at least about once a second, by the thread that
				       * fetches; returns whether to end the fetch. NULL: never */
	void *arg;
};

/* Sets the limits, which are copied; before, they are 2 GiB and two minutes. */
void debuginfod_limit(struct debuginfod *debuginfod, const struct debuginfod_limits *limits);

/* Gives the folder where the library keeps files, which need not exist. false: its name is too
 * long. */
bool debuginfod_folder(char *ret_path, size_t size);

/* Gets the debug file with that build-id. Returns a descriptor that the caller owns; -ENOENT if no
 * server has it; -ECANCELED: must_stop() said so; -EFBIG or -ETIMEDOUT: it took more than it may;
 * or another -errno. A fetch that was ended leaves nothing in the
 * folder. A file that took more is not asked for again. After any other failure but
 * -ENOENT and -ECANCELED no server is asked any more, since a network that is down must not cost
 * its timeout for every object; nor after a fetch that took too long while nearly nothing came,
 * after three in a row that took too long, and after 17 files that took more than they may. */
int debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id, size_t len);

#endif
