/* SPDX-License-Identifier: MIT */
/* A counter that takes turns with another one, and increments of it in instances along known curves
 * (fold_truth.h): for the tests and the bench of lib/show/fold_math/increments.h. */
#ifndef TESTS_UNIT_FOLD_TURNS_H
#define TESTS_UNIT_FOLD_TURNS_H

#include "fold_math/increments.h"
#include "fold_truth.h"

#define TURNS_EACH 20 /* readings while an instance of length 1 takes its time */
#define TURNS_SLOT                                                                                 \
	0.2 /* of such a time: how long a counter counts, before it does not for as long */
#define TURNS_SAMPLE 1000
#define TURNS_TOTAL  1e6

/* A thread in which a counter takes turns with another one, as a processor counts. */
struct turns {
	struct truth_instance in;
	double begin, now; /* of the instance, and time */
	double counted, ran;
	double lengths[TURNS_SAMPLE]; /* of instances */
	uint32_t instance;
	struct fold_increment made[TURNS_SAMPLE];
	size_t n;
};

static inline bool turns_on(double time)
{
	return fmod(time, 2 * TURNS_SLOT) < TURNS_SLOT;
}

/* Lets the counter count until a time within the instance. */
static inline void turns_run(struct turns *t, double until)
{
	while (t->now < until) {
		double edge = (floor(t->now / TURNS_SLOT + 1e-9) + 1) * TURNS_SLOT,
		       to = fmin(edge, until);
		double x = (t->now - t->begin) / t->in.duration;
		double upto = fmin(1, (to - t->begin) / t->in.duration);

		if (turns_on((t->now + to) / 2)) {
			t->counted += TURNS_TOTAL * (truth_at(&t->in, upto) - truth_at(&t->in, x));
			t->ran += to - t->now;
		}
		t->now = to;
	}
}

static inline void turns_begin(struct turns *t, const struct truth *truth,
			       const struct truth_noise *noise, uint64_t *random)
{
	t->begin = t->now;
	t->in = truth_draw(truth, noise, random);
	t->lengths[t->instance] = t->in.duration;
}

/* NULL for lack of memory. The caller frees. */
static inline struct turns *turns_make(const struct truth *truth, const struct truth_noise *noise,
				       uint64_t seed)
{
	struct turns *t = calloc(1, sizeof(*t));
	uint64_t random = hash_mix64(seed);
	double next = truth_uniform(&random) / TURNS_EACH, time = -1, counted = 0, ran = 0, x = 0;
	uint32_t instance = 0;

	if (!t)
		return NULL;
	turns_begin(t, truth, noise, &random);
	while (t->n < TURNS_SAMPLE) {
		if (next >= t->begin + t->in.duration) {
			turns_run(t, t->begin + t->in.duration);
			t->instance++;
			turns_begin(t, truth, noise, &random);
			continue;
		}
		turns_run(t, next);
		if (turns_on(next) && time >= 0) {
			double part = fmin(1, (t->ran - ran) / (next - time));

			t->made[t->n++] =
				(struct fold_increment){.from = x,
							.to = (next - t->begin) / t->in.duration,
							.value = (t->counted - counted) / part,
							.ran = part,
							.first = instance,
							.last = t->instance,
							.follows = t->n > 0};
		}
		if (turns_on(next)) {
			time = next;
			counted = t->counted;
			ran = t->ran;
			x = (next - t->begin) / t->in.duration;
			instance = t->instance;
		}
		next += (0.5 + truth_uniform(&random)) / TURNS_EACH;
	}
	return t;
}

#endif
