/* SPDX-License-Identifier: MIT */
/* Accepts and rejects inferred callers and paths; see accept.h. The numbers are round, and were
 * chosen by hand with recordings of the programs of bench/align.py. */
#include "align/accept.h"

#define ACCEPT_NEXT	       2u  /* samples: the limit of distance for a single neighbour */
#define ACCEPT_FEW_EXCEPTIONS  50u /* at most one exception in so many, at any distance */
#define ACCEPT_NEAR_EXCEPTIONS 10u /* the same between near neighbours */
#define ACCEPT_MIN_ENCLOSED    8u  /* fewer do not show how often there are exceptions */
#define ACCEPT_MIN_TOTAL       6u
#define ACCEPT_DOUBT	       8u
#define ACCEPT_MAX_LEAD	       30

/* Returns whether the caller that both observations have can be trusted, although the frame has
 * changed its caller at other times: such exceptions must be few. */
static bool is_stable(const struct accept_caller *e)
{
	if (e->distance <= ACCEPT_NEAR)
		return e->n_exceptions * ACCEPT_NEAR_EXCEPTIONS <= e->n_enclosed;
	return e->n_enclosed >= ACCEPT_MIN_ENCLOSED &&
	       e->n_exceptions * ACCEPT_FEW_EXCEPTIONS <= e->n_enclosed;
}

bool accept_caller(const struct accept_caller *e)
{
	bool is_one = !e->has_both && e->n_observed;

	if (e->is_present && e->n_present == 1)
		return true;
	if (e->n_present && !e->is_present)
		return false;
	if (e->distance <= (is_one ? ACCEPT_NEXT : ACCEPT_NEAR))
		return (is_one || e->agrees) && (!e->has_changed || is_stable(e));
	if (e->has_changed)
		return e->agrees && is_stable(e);
	return (is_one || e->agrees) && e->n_observed >= e->n_sites;
}

bool accept_majority(uint32_t count, uint32_t total)
{
	uint32_t others = total - count;

	return total >= ACCEPT_MIN_TOTAL && (others <= 1 || others * UINT64_C(10) <= total);
}

bool accept_path(const struct accept_path *e)
{
	int32_t above = e->lead_above < ACCEPT_MAX_LEAD ? e->lead_above : ACCEPT_MAX_LEAD;
	uint64_t doubt = (uint64_t)e->n_unconfirmed + e->n_missing;

	if (e->is_inferred)
		return true;
	return above > 0 && e->lead_below > 0 &&
	       doubt * ACCEPT_DOUBT <= (uint64_t)e->lead_below << above;
}
