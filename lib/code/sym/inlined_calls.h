/* SPDX-License-Identifier: MIT */
/* Lists the calls whose code compilers have put into the callers, by DWARF. */
#ifndef SYM_INLINED_CALLS_H
#define SYM_INLINED_CALLS_H

#include <stdint.h>

#include "elf/elf_file.h"

struct inlined_call_site {
	const char *name; /* of the called function, as it is linked, or its name in the source if
			   * DWARF has no other; lives until `each` returns */
	const char *file; /* of the call; NULL: not known; lives until `each` returns */
	uint32_t line;	  /* 0: not known */
};

/* Calls `each` for every call that is inlined. A nonzero result of `each` stops the calls and is
 * returned, else 0 (also without DWARF), or -ENOMEM. */
int inlined_calls_each(const struct elf_file *file,
		       int (*each)(void *arg, const struct inlined_call_site *site), void *arg);

#endif
