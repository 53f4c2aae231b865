/* SPDX-License-Identifier: MIT */
/*
 * Chooses which of several names of one function is shown. Symbol tables of files and of the kernel
 * use the same rules, for all callers. Preferred is:
 *
 *   1. a function before a label
 *   2. MPI's functions by the name that programs call, not MPI_ with another prefix
 *   3. a name that other files can use (exported), then a global or weak one, then a local one
 *   4. a plain name before one with a compiler's suffix (write.localalias)
 *   5. the fewest leading underscores; the C library's internal __GI_ names last
 *   6. a global name before a weak one
 *   7. the larger size
 *   8. of exported names the shortest (free, cfree), of others the longest
 *      (__memmove_avx_unaligned_erms, __memcpy_...), as in perf; then the first by strcmp()
 */
#ifndef SYM_ALIAS_RANK_H
#define SYM_ALIAS_RANK_H

#include <stdbool.h>
#include <stdint.h>

struct alias {
	unsigned char binding; /* STB_LOCAL, ... */
	bool is_label;	       /* STT_NOTYPE */
	bool is_exported;      /* it is in the dynamic symbol table */
};

/* Returns the rank of a name by rules 1 to 6. A better name has a higher rank; it is never 0. */
uint16_t alias_rank(const char *name, const struct alias *alias);

/* Compares two names of the same rank by rule 8: negative if `a` is better. */
int alias_compare(const char *a, const char *b, uint16_t rank);

#endif
