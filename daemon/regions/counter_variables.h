/* SPDX-License-Identifier: MIT */
/*
 * Finds the variables of --counter var:SYMBOL in the files of regions and marks. For each probe,
 * enters into the kernel half's map by how much the address of a variable differs from the probe's
 * (bpf/reading.bpf.h).
 */
#ifndef REGIONS_COUNTER_VARIABLES_H
#define REGIONS_COUNTER_VARIABLES_H

#include <stdbool.h>

#include "daemon/base/exit_status.h"
#include "daemon/base/options.h"
#include "daemon/regions/region_spec.h"
#include "daemon/worker/worker.h"
#include "elf/elf_file.h"
#include "sym/debug_file.h"

struct counter_variables;

/* The variables that a file has, by the counter's index. */
struct found_variables {
	uint64_t vaddr[STACKD_MOST_COUNTERS];
	uint8_t bytes[STACKD_MOST_COUNTERS];	/* the variable's size; 0: the file has no usable
						 * variable of that name */
	uint8_t is_other[STACKD_MOST_COUNTERS]; /* 1: the variable of this name has another size
						 * than 1, 2, 4 or 8 bytes, or several variables
						 * have the name */
};

/* Makes the list of variables from the options. Options and worker are borrowed. *ret_variables is
 * NULL if no counter is a variable. Logs what fails; returns the status to exit with. */
enum exit_status counter_variables_new(const struct options *options, struct worker *worker,
				       struct counter_variables **ret_variables);
void counter_variables_free(struct counter_variables *variables); /* NULL is fine */

/* Enters the probe at a file offset, with the variables of its file, into the kernel half's map
 * `places_fd`. *ret_bits: the bits by which the probe's cookie names the entry (STACKD_PLACE); 0:
 * the file has none of the variables. `variables` may be NULL. 0 or -ENOMEM. */
int counter_variables_place(struct counter_variables *variables, int places_fd,
			    const struct elf_file *elf, const char *path, uint64_t offset,
			    uint64_t *ret_bits);

/* Logs which variables are in none of the files with probes. Returns the status to exit with. */
enum exit_status counter_variables_check(const struct counter_variables *variables);

/* Finds the variables in a file; called in a worker. specs[i].function is NULL if the counter with
 * this index is no variable. 0 or -ENOMEM. */
int counter_variables_find(const struct region_spec *specs, const struct elf_file *file,
			   const char *path, const struct debug_source *debug,
			   struct found_variables *ret_found);

#endif
