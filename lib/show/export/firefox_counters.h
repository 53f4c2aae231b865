/* SPDX-License-Identifier: MIT */
/* The counters of a profile for Firefox's profiler: the live heap of each process over time, which
 * the profiler draws as a track of memory. */
#ifndef EXPORT_FIREFOX_COUNTERS_H
#define EXPORT_FIREFOX_COUNTERS_H

#include <stdint.h>

#include "base/json_put.h"
#include "model/profile.h"

/* Writes the member "counters". `place`: by thread, 1 + its place among the profile's threads; 0:
 * it is not there. A process without such a thread has no counter. `reuse`: by process, how many
 * earlier ones had its pid. Returns 0, -ENOMEM, or an error of store_reader_records(). */
int firefox_counters_put(struct profile *profile, const uint32_t *place, const uint32_t *reuse,
			 struct json *j);

/* Appends the name by which the profiler tells processes apart: the pid, and ".N" behind it for one
 * that reused it. */
void firefox_pid(const struct store_process *process, uint32_t reuse, struct buf *b);

#endif
