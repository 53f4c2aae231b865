/* SPDX-License-Identifier: MIT */
/*
 * Exports: writes a profile in the formats of other tools. Each format has a file and a function,
 * which returns 0, -ENOMEM, or -EIO if the stream failed.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdio.h>

#include "model/profile.h"

/* Brendan Gregg's folded stacks: "comm;root;...;leaf count", one line per distinct path. Names
 * are escaped so that ';' and line ends in them cannot break a line (see export_folded.c). */
int export_folded(struct profile *profile, FILE *out);

/* The same, with the kinds of frames in names: "_[k]" behind the kernel's, and others. */
int export_folded_kinds(struct profile *profile, FILE *out);

/* The output of `perf script`: for each sample, in order of time, a header line, a line per frame
 * (leaf first: address, symbol+offset, object) and an empty line. */
int export_perf_script(struct profile *profile, FILE *out);

/* stackd's own exchange format, a versioned text with locations, tags and samples. See
 * docs/TAGS.md. */
int export_tags(struct profile *profile, FILE *out);

/* pprof's protobuf, not compressed: what `go tool pprof` reads. See export_pprof.c. */
int export_pprof(struct profile *profile, FILE *out);

/* JSON for https://www.speedscope.app: a timeline of samples for each thread. */
int export_speedscope(struct profile *profile, FILE *out);

/* Functions, lines and calls for KCachegrind and callgrind_annotate. */
int export_callgrind(struct profile *profile, FILE *out);

/* The processed profile of https://profiler.firefox.com. */
int export_firefox(struct profile *profile, FILE *out);

/* A trace for https://ui.perfetto.dev: samples, regions, waits, wake-ups, counters and the heap. */
int export_perfetto(struct profile *profile, FILE *out);

/* The whole profile as JSON; docs/JSON.md describes it. */
int export_json(struct profile *profile, FILE *out);

#endif
