/* SPDX-License-Identifier: MIT */
/*
 * Curves of forms that no constant of lib/show/fold_math was chosen with, and that its pieces do
 * not have, for the bench: between phases at constant rates there is one of the form, or two of
 * exponentials.
 */
#ifndef TESTS_UNIT_FOLD_UNSEEN_H
#define TESTS_UNIT_FOLD_UNSEEN_H

#include "fold_families.h"

enum unseen {
	UNSEEN_LOGISTIC,
	UNSEEN_POWER,
	UNSEEN_SAWTOOTH,
	UNSEEN_CHIRP,
	UNSEEN_TWO, /* an exponential after another */
	UNSEEN_RELAXATION,
	N_UNSEEN
};

static const char *const unseen_names[N_UNSEEN] = {"logistic", "power law",	   "sawtooth",
						   "chirp",    "two exponentials", "relaxation"};

static inline double unseen_sign(double value, uint64_t *random)
{
	return truth_uniform(random) < .5 ? -value : value;
}

static inline void unseen_form(enum unseen form, struct truth_phase *p, uint64_t *random)
{
	static const enum truth_course courses[N_UNSEEN] = {
		[UNSEEN_LOGISTIC] = TRUTH_LOGISTIC,	[UNSEEN_POWER] = TRUTH_POWER,
		[UNSEEN_SAWTOOTH] = TRUTH_TOOTH,	[UNSEEN_CHIRP] = TRUTH_CHIRP,
		[UNSEEN_RELAXATION] = TRUTH_RELAXATION,
	};

	p->waves = courses[form];
	if (form == UNSEEN_LOGISTIC)
		p->depth = unseen_sign(family_between(8, 20, random), random);
	else if (form == UNSEEN_POWER)
		p->depth = family_between(.3, .95, random);
	else if (form == UNSEEN_SAWTOOTH)
		p->depth = family_between(.4, .9, random);
	else if (form == UNSEEN_CHIRP)
		p->depth = unseen_sign(family_between(.4, .9, random), random);
	else if (form == UNSEEN_TWO)
		p->bend = unseen_sign(family_between(1, 4, random), random);
	else
		p->depth = unseen_sign(family_between(2, 5, random), random);
}

static inline struct truth unseen_truth(enum unseen form, uint64_t *random)
{
	struct truth t = {.name = unseen_names[form]};
	uint32_t of_form = form == UNSEEN_TWO || form == UNSEEN_SAWTOOTH ? 2 : 1;
	uint32_t first = truth_uniform(random) < .7;
	double length = 0, share = 0, rate = -1;

	if (form == UNSEEN_SAWTOOTH && truth_uniform(random) < .5)
		of_form++;
	t.n = first + of_form + (truth_uniform(random) < .7);
	for (uint32_t i = 0; i < t.n; i++) {
		struct truth_phase *p = &t.phases[i];

		/* Teeth are alike. */
		if (form == UNSEEN_SAWTOOTH && i > first && i < first + of_form) {
			*p = t.phases[i - 1];
			continue;
		}
		rate = family_rate(rate, random);
		p->length = family_between(.4, 1, random);
		p->share = p->length * rate;
		if (i >= first && i < first + of_form)
			unseen_form(form, p, random);
	}
	for (uint32_t i = 0; i < t.n; i++) {
		length += t.phases[i].length;
		share += t.phases[i].share;
	}
	for (uint32_t i = 0; i < t.n; i++) {
		t.phases[i].length /= length;
		t.phases[i].share /= share;
	}
	return t;
}

/* Noise and sampling are those of families. */
static inline struct family_case unseen_make(enum unseen form, uint64_t seed)
{
	uint64_t random = hash_mix64(seed * N_UNSEEN + form + 77777);
	struct family_case c =
		family_make(FAMILY_LINEAR, 2 * FAMILY_JUDGED + seed * N_UNSEEN + form);

	c.truth = unseen_truth(form, &random);
	return c;
}

#endif
