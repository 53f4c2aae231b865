/* SPDX-License-Identifier: MIT */
/*
 * Makes the kernel half (bpf/region.bpf.h) begin and end instances (passes, as through a region)
 * where a thread comes to the entry of a function or to a source line: a mark. A span is measured
 * from one source line to another.
 *
 * A mark has one number for all of its locations. Its probes must be attached after those of
 * regions, because the kernel runs the program that was attached last first. Then, if a mark and a
 * region are at the same function's entry, the mark's instance encloses the region's.
 */
#ifndef REGIONS_MARKS_H
#define REGIONS_MARKS_H

#include "daemon/base/exit_status.h"
#include "daemon/base/options.h"
#include "daemon/capture/sampler.h"
#include "daemon/regions/counter_variables.h"
#include "daemon/worker/worker.h"
#include "elf/elf_file.h"

struct marks;

/* Parses the options' marks and spans; *ret_marks is NULL if there are none. `options` is borrowed.
 * Logs what fails; returns the status to exit with. */
enum exit_status marks_new(const struct options *options, struct marks **ret_marks);
void marks_free(struct marks *marks); /* detaches and frees; NULL is fine */

/* Returns the name of a mark by its index, from 0 on; NULL: there are no more. NULL is fine. */
const char *marks_name(const struct marks *marks, size_t index);

/* Returns how many marks were hit too often and switched off. NULL is fine. */
size_t marks_taken_off(const struct marks *marks);

/* Returns the name of a mark that was switched off, by its index among such marks, and gives the
 * time at which that was (CLOCK_MONOTONIC). NULL: there are no more. */
const char *marks_off(const struct marks *marks, size_t index, uint64_t *ret_ns);

/* Finds the locations of all marks in a file, which must live as long as `marks`. `variables`
 * (NULL: none) and the kernel half's map of places (`places_fd`) are for counters that are
 * variables: counter_variables_place(). 0 or -ENOMEM. */
int marks_look_at(struct marks *marks, struct worker *worker, const struct elf_file *elf,
		  const char *path, struct counter_variables *variables, int places_fd);

/* Logs which marks have no location in any file, or match several functions. Returns the status to
 * exit with. */
enum exit_status marks_check(const struct marks *marks);

/* Attaches probes to the locations that were found since the last call. 0, or the first error,
 * which is logged. */
int marks_attach(struct marks *marks, const struct sampler_regions *kernel);

/* Detaches from the marks that the kernel half reports as hit too often. */
void marks_look_at_rates(struct marks *marks, const struct sampler_regions *kernel);

/* Detaches from all marks. */
void marks_stop(struct marks *marks);

#endif
