/* SPDX-License-Identifier: MIT */
/*
 * Families of random curves, with random noise and sampling, for the bench of lib/show/fold_math:
 * what a constant was chosen with (tuning seeds) and what it is judged by (judging seeds) never
 * meet.
 */
#ifndef TESTS_UNIT_FOLD_FAMILIES_H
#define TESTS_UNIT_FOLD_FAMILIES_H

#include "fold_truth.h"

enum family {
	FAMILY_LINEAR,
	FAMILY_EXPONENTIAL,
	FAMILY_WAVES,
	FAMILY_STEPS,
	FAMILY_BURSTS,
	FAMILY_MIXED,
	N_FAMILIES
};

static const char *const family_names[N_FAMILIES] = {"linear", "exponential", "waves",
						     "steps",  "bursts",      "mixed"};

#define FAMILY_JUDGED UINT64_C(1000000) /* seeds from here on are for judging */

struct family_case {
	struct truth truth;
	struct truth_noise noise;
	double each; /* samples in a pass */
	size_t n;
};

static inline double family_between(double low, double high, uint64_t *random)
{
	return low + (high - low) * truth_uniform(random);
}

/* Draws a rate that differs from `before` by at least a third of `before`, and by at least a third
 * of the average rate. */
static inline double family_rate(double before, uint64_t *random)
{
	double rate;

	do
		rate = exp(family_between(-1.6, 1.2, random));
	while (fabs(rate - before) < fmax(.33, .33 * before));
	return rate;
}

/* Phase i of n; lengths and shares are scaled afterwards. */
static inline struct truth_phase family_phase(enum family family, uint32_t i, double before,
					      uint64_t *random)
{
	struct truth_phase p = {.length = family_between(.4, 1, random)};
	double rate = family_rate(before, random);

	if (family == FAMILY_MIXED)
		family = (enum family)(truth_uniform(random) * FAMILY_MIXED);
	if (family == FAMILY_EXPONENTIAL && (i % 2 || truth_uniform(random) < .5)) {
		p.bend = family_between(1, 3, random) * (truth_uniform(random) < .5 ? -1 : 1);
	} else if (family == FAMILY_STEPS && i % 2) {
		rate = 0;
	} else if (family == FAMILY_BURSTS && i % 2) {
		p.length *= .1;
		rate = family_between(4, 8, random);
	} else if (family == FAMILY_WAVES) {
		p.waves = 1 + floor(2 * truth_uniform(random));
		p.depth = family_between(-.8, .8, random);
	}
	p.share = p.length * rate;
	return p;
}

static inline struct truth family_truth(enum family family, uint64_t *random)
{
	struct truth t = {.name = family_names[family]};
	double length = 0, share = 0, before = -1;

	t.n = family == FAMILY_WAVES ? 1 + (truth_uniform(random) < .5)
				     : 2 + (uint32_t)(4 * truth_uniform(random));
	if (family == FAMILY_BURSTS)
		t.n = 3 + 2 * (truth_uniform(random) < .3);
	for (uint32_t i = 0; i < t.n; i++) {
		t.phases[i] = family_phase(family, i, before, random);
		before = t.phases[i].share / t.phases[i].length;
		length += t.phases[i].length;
		share += t.phases[i].share;
	}
	for (uint32_t i = 0; i < t.n; i++) {
		t.phases[i].length /= length;
		t.phases[i].share /= share;
	}
	return t;
}

static inline struct family_case family_make(enum family family, uint64_t seed)
{
	uint64_t random = hash_mix64(seed * N_FAMILIES + family + 1);
	struct family_case c = {.truth = family_truth(family, &random)};

	c.noise = (struct truth_noise){.name = "",
				       .duration = family_between(.02, .2, &random),
				       .length = family_between(0, .015, &random),
				       .share = family_between(0, .015, &random),
				       .reading = .0005};
	c.each = exp(family_between(-.7, 1.6, &random));
	c.n = (size_t)exp(family_between(log(1500), log(6000), &random));
	return c;
}

#endif
