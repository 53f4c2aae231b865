/* SPDX-License-Identifier: MIT */
/* Asks a worker to search files for regions, marks, allocators and counters; region_service.h is
 * the worker's side. Each function has the worker call the function that its comment names, and
 * gives the result; stackd itself reads only the headers of such files. If the worker fails, the
 * result is empty. `worker` is borrowed. */
#ifndef REGIONS_ASK_REGIONS_H
#define REGIONS_ASK_REGIONS_H

#include "daemon/regions/alloc_functions.h"
#include "daemon/regions/mark_find.h"
#include "daemon/regions/region_find.h"
#include "daemon/regions/region_inlined.h"
#include "daemon/regions/counter_variables.h"
#include "daemon/worker/worker.h"

/* Calls region_find(). Adds to `found`. */
int ask_regions_find(struct worker *worker, const struct region_spec *specs, size_t n_specs,
		     const struct elf_file *file, const char *path, struct found_regions *found);

/* Calls mark_find(). */
int ask_regions_mark(struct worker *worker, const struct mark_place *place,
		     const struct elf_file *file, const char *path, struct mark_code *ret_code);

/* Calls alloc_functions_find(). */
int ask_regions_alloc(struct worker *worker, const struct elf_file *file, const char *path,
		      bool wants_uretprobes, struct alloc_functions *ret_functions);

/* Calls counter_variables_find(), with STACKD_MOST_COUNTERS specs. */
int ask_regions_variables(struct worker *worker, const struct region_spec *specs,
			  const struct elf_file *file, const char *path,
			  struct found_variables *ret_found);

/* Calls region_inlined_find(). */
int ask_regions_inlined(struct worker *worker, const struct region_spec *spec,
			const struct elf_file *file, const char *path,
			struct region_inlined *ret_inlined);

#endif
