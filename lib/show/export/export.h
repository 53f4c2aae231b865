/* SPDX-License-Identifier: MIT */
/*
 * Exports: a profile in the formats of other tools. One file per format, one signature for all:
 * 0, -ENOMEM, or -EIO when the stream failed.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdio.h>

#include "model/profile.h"

/* Brendan Gregg's folded stacks: "comm;root;...;leaf count", one line per distinct path. Names
 * are escaped so that ';' and line ends in them cannot break a line (see export_folded.c). */
int export_folded(struct profile *profile, FILE *out);

/* One entry per sample in time order, as `perf script` prints them: header line, then a line per
 * frame, leaf first: address, symbol+offset, (object); then an empty line. */
int export_perf_script(struct profile *profile, FILE *out);

/* The exchange format, versioned text: locations, tags, samples. See docs/TAGS.md. */
int export_tags(struct profile *profile, FILE *out);

/* pprof's protobuf, not compressed: what `go tool pprof` reads. See export_pprof.c. */
int export_pprof(struct profile *profile, FILE *out);

/* JSON for https://www.speedscope.app: a timeline of samples for each thread. */
int export_speedscope(struct profile *profile, FILE *out);

/* Functions, lines and calls for KCachegrind and callgrind_annotate. */
int export_callgrind(struct profile *profile, FILE *out);

/* The processed profile of https://profiler.firefox.com. */
int export_firefox(struct profile *profile, FILE *out);

/* The whole profile as JSON; docs/JSON.md describes it. */
int export_json(struct profile *profile, FILE *out);

#endif
