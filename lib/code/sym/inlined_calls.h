/* SPDX-License-Identifier: MIT */
/* Lists the inlined calls in DWARF. */
#ifndef SYM_INLINED_CALLS_H
#define SYM_INLINED_CALLS_H

#include <stdint.h>

#include "elf/elf_file.h"

struct inlined_call_site {
	const char *name; /* linkage name of the called function, or its name in the source if DWARF
			   * has no other; valid until `each` returns */
	const char *file; /* file of the call; NULL: not known; valid until `each` returns */
	uint32_t line;	  /* 0: not known */
};

/* Calls `each` for every inlined call in the file's DWARF. If `each` returns a value other than 0,
 * the calls stop and it is returned. Else returns 0 (also without DWARF) or -ENOMEM. */
int inlined_calls_each(const struct elf_file *file,
		       int (*each)(void *arg, const struct inlined_call_site *site), void *arg);

#endif
