/* SPDX-License-Identifier: MIT */
/* The markers of a profile for Firefox's profiler: waits, and passes through regions, as intervals
 * of threads. */
#ifndef EXPORT_FIREFOX_MARKERS_H
#define EXPORT_FIREFOX_MARKERS_H

#include "base/json_put.h"
#include "base/strings.h"
#include "model/profile.h"

struct firefox_markers;

/* Collects the markers of what the profile's filter selects. The profile is borrowed, and
 * must outlive them. Returns 0, -ENOMEM, or an error of store_reader_records();
 * the caller frees *ret_markers. */
int firefox_markers_new(struct profile *profile, struct firefox_markers **ret_markers);
void firefox_markers_free(struct firefox_markers *markers); /* NULL is allowed */

/* Enters the names of the markers in a table of strings. Returns 0 or an error. */
int firefox_markers_intern(struct firefox_markers *markers, struct strings *strings);

/* Returns whether a thread has markers. */
bool firefox_markers_has(const struct firefox_markers *markers, uint32_t thread);

/* Writes a thread's table of markers, as the member "markers". */
void firefox_markers_put(const struct firefox_markers *markers, uint32_t thread, struct json *j);

/* Writes what the profiler shows of each kind of marker, as the member "markerSchema". */
void firefox_markers_schema(struct json *j);

#endif
