/* SPDX-License-Identifier: MIT */
/*
 * Ranks the names of one function; see alias_rank.h. A rank consists of bit fields, the first rule
 * in the highest bits:
 *
 *   9        function
 *   8 7      reach
 *   6        no suffix
 *   5 to 2   15 less the number of underscores
 *   1        not weak
 *   0        set
 */
#include "sym/alias_rank.h"

#include <elf.h>
#include <string.h>

#define MAX_UNDERSCORES 15
#define COMPARED_BYTES	1024 /* of names that are equal in all else */

enum reach { REACH_SECOND, REACH_LOCAL, REACH_GLOBAL, REACH_EXPORTED };

#define REACH_SHIFT 7

/*
 * MPI's functions have second names, which programs do not call: those for tools (MPI 4.0, 15.2),
 * and those of Open MPI for Fortran.
 */
static bool is_second_name(const char *name)
{
	return !strncmp(name, "PMPI_", 5) || !strncmp(name, "pmpi_", 5) ||
	       !strncmp(name, "ompi_", 5);
}

static enum reach reach_of(const char *name, const struct alias *alias)
{
	if (is_second_name(name))
		return REACH_SECOND;
	if (alias->binding == STB_LOCAL)
		return REACH_LOCAL;
	return alias->is_exported ? REACH_EXPORTED : REACH_GLOBAL;
}

uint16_t alias_rank(const char *name, const struct alias *alias)
{
	bool is_own = !strncmp(name, "__GI_", 5);
	size_t underscores = is_own ? MAX_UNDERSCORES : strspn(name, "_");
	unsigned rank = !alias->is_label;

	if (underscores > MAX_UNDERSCORES)
		underscores = MAX_UNDERSCORES;
	rank = rank << 2 | reach_of(name, alias);
	rank = rank << 1 | !strchr(name + (*name == '.'), '.');
	rank = rank << 4 | (unsigned)(MAX_UNDERSCORES - underscores);
	rank = rank << 1 | (alias->binding != STB_WEAK);
	return (uint16_t)(rank << 1 | 1);
}

int alias_compare(const char *a, const char *b, uint16_t rank)
{
	size_t a_len = strnlen(a, COMPARED_BYTES), b_len = strnlen(b, COMPARED_BYTES);
	bool is_exported = (rank >> REACH_SHIFT & 3) == REACH_EXPORTED;

	if (a_len != b_len)
		return (a_len < b_len) == is_exported ? -1 : 1;
	return strncmp(a, b, COMPARED_BYTES);
}
