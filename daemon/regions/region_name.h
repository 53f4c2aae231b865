/* SPDX-License-Identifier: MIT */
/*
 * Compares a function's name as a user writes it with linkage names.
 *
 *   linked                          matches
 *   _ZN2ns5solveIiEET_S1_           ns::solve<int>, ns::solve<int>(int), int ns::solve<int>(int);
 *                                   ns::solve, if nothing has just that name
 *   _ZN2ns3BoxIfLi3EE3mulEf         ns::Box<float, 3>::mul, ns::Box<float,3>::mul: spaces that
 *                                   separate no words do not matter
 *   work.constprop.0, work.isra.0   work
 *   __grid_MOD_solve, solve_        solve, grid::solve (gfortran); solve, if nothing has just that
 *                                   name
 *   _QMgridPsolve, _QPsolve         the same (flang)
 *
 * A compiler's clones of a function (sym/clone_name.h) count as that function.
 */
#ifndef REGIONS_REGION_NAME_H
#define REGIONS_REGION_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum region_match {
	REGION_OTHER, /* another function */
	REGION_LIKE,  /* the pattern means this function, unless another function is REGION_SAME */
	REGION_SAME,
};

/* Compares a pattern (model/pattern.h) with a linkage name. */
enum region_match region_name_match(const char *pattern, const char *linked);

/* Returns whether a readable name, with or without the type that it returns, equals the pattern,
 * whose asterisks may be part of the name: "f(int *)". */
bool region_name_is_literal(const char *pattern, const char *name);

/* Returns the length of a linkage name without the suffixes of clones. */
size_t region_name_base(const char *linked);

/* Returns whether a linkage name is that of the rest of a function after partial inlining
 * (".part.0"). */
bool region_name_is_part(const char *linked);

/* Returns the name that a function has in the source; for a clone, the name of the function that
 * was cloned. malloc()ed; NULL without memory. */
char *region_name_source(const char *linked);

#endif
