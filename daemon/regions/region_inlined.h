/* SPDX-License-Identifier: MIT */
/* Finds where a function is inlined, for messages about regions that were never entered. */
#ifndef REGIONS_REGION_INLINED_H
#define REGIONS_REGION_INLINED_H

#include "daemon/regions/region_spec.h"
#include "elf/elf_file.h"
#include "sym/debug_file.h"

#define REGION_INLINED_MOST  8	 /* call sites that are kept */
#define REGION_INLINED_BYTES 128 /* bytes of a source file's name, with the NUL */

struct region_inlined {
	uint32_t count; /* number of all call sites */
	uint32_t lines[REGION_INLINED_MOST];
	char files[REGION_INLINED_MOST][REGION_INLINED_BYTES];
};

/* Finds the calls of a function in a file, each line once. `debug` finds its debug file. 0 or
 * -ENOMEM. */
int region_inlined_find(const struct region_spec *spec, const struct elf_file *file,
			const char *path, const struct debug_source *debug,
			struct region_inlined *ret_inlined);

#endif
