/* SPDX-License-Identifier: MIT */
/* The rules for inferred callers and paths; see accept.h. */
#include "align/accept.h"

#define ACCEPT_FEW_EXCEPTIONS  50u /* one in so many, at any distance */
#define ACCEPT_NEAR_EXCEPTIONS 10u /* one in so many, between near neighbours */
#define ACCEPT_MIN_ENCLOSED    8u  /* fewer do not show how often there are exceptions */
#define ACCEPT_MIN_TOTAL       12u
#define ACCEPT_MAX_LEAD	       30

/* Whether the caller of a frame that has changed it still is what both neighbours have. */
static bool accept_is_stable(const struct accept_caller *e)
{
	if (e->distance <= ACCEPT_NEAR)
		return e->n_exceptions * ACCEPT_NEAR_EXCEPTIONS <= e->n_enclosed;
	return e->n_enclosed >= ACCEPT_MIN_ENCLOSED &&
	       e->n_exceptions * ACCEPT_FEW_EXCEPTIONS <= e->n_enclosed;
}

bool accept_caller(const struct accept_caller *e)
{
	if (e->is_present && e->n_present == 1)
		return true;
	if (e->n_present && !e->is_present)
		return false;
	if (e->has_changed)
		return e->agrees && accept_is_stable(e);
	if (e->agrees && e->distance <= ACCEPT_NEAR)
		return true;
	return (e->agrees || !e->has_both) && e->n_observed && e->n_observed >= e->n_sites;
}

bool accept_majority(uint32_t count, uint32_t total)
{
	return total >= ACCEPT_MIN_TOTAL && count >= (uint64_t)total * 9 / 10;
}

bool accept_path(const struct accept_path *e)
{
	int32_t lead = e->lead_above < e->lead_below ? e->lead_above : e->lead_below;

	if (!e->n_unconfirmed || e->is_inferred)
		return true;
	if (lead > ACCEPT_MAX_LEAD)
		lead = ACCEPT_MAX_LEAD;
	return lead > 0 && (uint64_t)e->n_unconfirmed + e->n_missing < UINT64_C(2) << lead;
}
