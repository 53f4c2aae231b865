/* SPDX-License-Identifier: MIT */
/*
 * Compares the name that a user writes of a function with the names that a linker has.
 *
 *   linked                          matches
 *   _ZN2ns5solveIiEET_S1_           ns::solve<int>, ns::solve<int>(int), int ns::solve<int>(int);
 *                                   ns::solve, if nothing is called so
 *   work.constprop.0, work.isra.0   work
 *   __grid_MOD_solve, solve_        solve, grid::solve (gfortran); solve, if nothing is called so
 *   _QMgridPsolve, _QPsolve         the same (flang)
 *
 * Compilers make clones of a function: with some arguments fixed (.constprop), fewer of them
 * (.isra), the rest of it where its beginning is inlined in callers (.part), for a link
 * (.lto_priv, .llvm). They are that function.
 */
#ifndef REGIONS_REGION_NAME_H
#define REGIONS_REGION_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum region_match {
	REGION_OTHER, /* it is another function */
	REGION_LIKE,  /* it is that one if no function of the program has the name itself */
	REGION_SAME,
};

/* Compares a pattern (model/pattern.h) with a linkage name. */
enum region_match region_name_match(const char *pattern, const char *linked);

/* Returns the length of a linkage name without what compilers add to those of clones. */
size_t region_name_base(const char *linked);

/* Returns whether a linkage name is that of the rest of a function. */
bool region_name_is_part(const char *linked);

/* Returns the name of a function, or of what it is a clone of, as it is in the source: malloc()ed;
 * NULL without memory. */
char *region_name_source(const char *linked);

#endif
