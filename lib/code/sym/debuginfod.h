/* SPDX-License-Identifier: MIT */
/* Gets debug files from debuginfod servers, if the client library is installed and servers are
 * named. */
#ifndef SYM_DEBUGINFOD_H
#define SYM_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

struct debuginfod;

/* Returns 0; -ENOENT: DEBUGINFOD_URLS is not set, or there is no libdebuginfod; -ENOMEM. */
int debuginfod_new(struct debuginfod **ret_debuginfod);
void debuginfod_free(struct debuginfod *debuginfod); /* NULL is fine */

/* Gets the debug file with that build-id. Returns a descriptor that the caller owns; -ENOENT if no
 * server has it; or another -errno. After a failure other than -ENOENT, no server is asked any
 * more, since a network that is down must not cost its timeout for every object. */
int debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id, size_t len);

#endif
