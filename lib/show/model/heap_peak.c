/* SPDX-License-Identifier: MIT */
/* Estimates the peak of a heap by choosers; see heap_peak.h. */
#include "model/heap_peak.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define LEAST_CHANCE 1e-9 /* least chance to be sampled that a block is assumed to have */
#define ROUNDING     1e-2 /* bytes: sums that differ by less are equal, but for rounding */

static double uniform(uint64_t key, unsigned number)
{
	return (double)(hash_mix64(key + hash_mix64(number + 1)) >> 11) * 0x1p-53;
}

/* Draws which folds have the sampling points that hit a block; at least one has. `missed` is the
 * probability that no point of any fold hits the block. Returns these folds as bits. */
static uint32_t deal(double missed, uint64_t key, unsigned number)
{
	const double in_fold = 1 - pow(missed, 1.0 / HEAP_FOLDS);
	const double first =
		floor(HEAP_FOLDS * log1p(-uniform(key, number) * (1 - missed)) / log(missed));
	unsigned fold = first < HEAP_FOLDS - 1 ? (unsigned)first : HEAP_FOLDS - 1;
	uint32_t hit = 1u << fold;

	while (++fold < HEAP_FOLDS)
		if (uniform(key, number + 1 + fold) < in_fold)
			hit |= 1u << fold;
	return hit;
}

/* Returns the choosers that contain a block, as bits, from the folds that have hit it: a chooser
 * consists of all folds but one. */
static uint32_t choosers_of(uint32_t hit)
{
	uint32_t has = 0;

	for (unsigned fold = 0; fold < HEAP_FOLDS; fold++)
		if (hit & ~(1u << fold))
			has |= 1u << fold;
	return has;
}

struct heap_member heap_member_of(uint64_t bytes, uint64_t error, uint64_t key)
{
	const double stands_for = (double)bytes, off = bytes ? (double)error / stands_for : 0;
	double missed = off * off, chance;
	struct heap_member m = {
		.bytes = stands_for, .in_choosers = UINT32_MAX, .weight = stands_for};
	unsigned having;

	m.estimate_if_in = stands_for / HEAP_CHOOSERS;
	if (!error)
		return m;
	if (missed > 1 - LEAST_CHANCE)
		missed = 1 - LEAST_CHANCE;
	m.in_choosers = 0;
	for (unsigned i = 0; i < HEAP_DEALS; i++)
		m.in_choosers |= choosers_of(deal(missed, key, i * (HEAP_FOLDS + 1)))
				 << (i * HEAP_FOLDS);
	chance = 1 - pow(missed, (HEAP_FOLDS - 1.0) / HEAP_FOLDS);
	m.weight = stands_for * (1 - missed) / chance;
	having = (unsigned)__builtin_popcount(m.in_choosers);
	if (having == HEAP_CHOOSERS)
		return m;
	m.estimate_if_in = stands_for * chance / having;
	m.estimate_if_out = stands_for * (1 - chance) / (HEAP_CHOOSERS - having);
	return m;
}

void heap_live_change(struct heap_live *live, const struct heap_member *member, int sign)
{
	for (unsigned i = 0; i < HEAP_CHOOSERS; i++) {
		const bool has = member->in_choosers >> i & 1;

		live->chosen[i] += has ? sign * member->weight : 0;
		live->estimate[i] +=
			sign * (has ? member->estimate_if_in : member->estimate_if_out);
	}
}

void heap_peak_begin(struct heap_peak *moment, const struct heap_live *live, uint64_t time_ns)
{
	moment->still = UINT32_MAX;
	for (unsigned i = 0; i < HEAP_CHOOSERS; i++) {
		moment->most[i] = live->chosen[i];
		moment->estimate[i] = live->estimate[i];
		moment->first[i] = moment->last[i] = time_ns;
	}
}

void heap_peak_look(struct heap_peak *moment, const struct heap_live *live, uint64_t time_ns)
{
	for (unsigned i = 0; i < HEAP_CHOOSERS; i++) {
		const double more = live->chosen[i] - moment->most[i];

		if (more > ROUNDING) {
			moment->most[i] = live->chosen[i];
			moment->first[i] = time_ns;
			moment->still |= 1u << i;
		} else if (more < -ROUNDING) {
			moment->still &= ~(1u << i);
		}
		if (moment->still >> i & 1) {
			moment->estimate[i] = live->estimate[i];
			moment->last[i] = time_ns;
		}
	}
}

double heap_peak_bytes(const struct heap_peak *moment)
{
	double sum = 0;

	for (unsigned i = 0; i < HEAP_CHOOSERS; i++)
		sum += moment->estimate[i];
	return sum;
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t heap_peak_time(const struct heap_peak *moment)
{
	uint64_t times[HEAP_CHOOSERS];

	memcpy(times, moment->first, sizeof(times));
	qsort(times, HEAP_CHOOSERS, sizeof(*times), compare_times);
	return times[HEAP_CHOOSERS / 2];
}

double heap_peak_share(const struct heap_peak *moment, const struct heap_member *member,
		       uint64_t time_ns)
{
	unsigned missing = 0;
	double estimate = 0;

	for (unsigned i = 0; i < HEAP_CHOOSERS; i++) {
		if (time_ns > moment->last[i])
			missing++;
		else
			estimate += member->in_choosers >> i & 1 ? member->estimate_if_in
								 : member->estimate_if_out;
	}
	return !missing ? 1 : member->bytes > 0 ? estimate / member->bytes : 0;
}
