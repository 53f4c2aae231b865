/* SPDX-License-Identifier: MIT */
/* Draws distances and computes weights; see sample.h. */
#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__thread int64_t sample_left;
__thread uint64_t sample_taken;

/* State of the generator; 0: the thread has not drawn a distance yet. */
static __thread uint64_t sample_state;

static double sample_mean = SAMPLE_DISTANCE;
static bool sample_is_set;

/* --- the distance ----------------------------------------------------------------------------- */

/* glibc's dynamic linker sets this to the address of the arguments, behind which is the
 * environment. */
extern long *__libc_stack_end __attribute__((weak));

/* Returns the environment, even before the C library has been initialised. */
static char **sample_environment(void)
{
	long count;

	if (environ || !&__libc_stack_end || !__libc_stack_end)
		return environ;
	count = __libc_stack_end[0];
	return (char **)&__libc_stack_end[count + 2];
}

/* Reads the mean distance from the environment when the first block is counted. A constructor would
 * be too late: those of other libraries allocate before it, and so does the dynamic linker. */
static void sample_configure(void)
{
	static const char name[] = "STACKALLOC_BYTES=";

	for (char **e = sample_environment(); e && *e; e++) {
		if (!strncmp(*e, name, sizeof(name) - 1)) {
			sample_set_distance(strtoull(*e + sizeof(name) - 1, NULL, 10));
			break;
		}
	}
	sample_is_set = true;
}

/* --- chance ----------------------------------------------------------------------------------- */

/* SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t sample_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t sample_random(void)
{
	return sample_mix(sample_state += 0x9e3779b97f4a7c15u);
}

static void sample_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sample_state = sample_mix((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) ^
		       sample_mix((uintptr_t)&sample_state) ^ (uint64_t)getpid() << 40;
	sample_state |= 1;
}

/* Returns a random number in (0, 1]. */
static double sample_uniform(void)
{
	return (double)((sample_random() >> 11) + 1) * 0x1p-53;
}

/* Returns the number of bytes before the next byte that is hit. */
static int64_t sample_draw(void)
{
	return (int64_t)(-log(sample_uniform()) * sample_mean);
}

uint64_t sample_take(size_t size, bool is_made)
{
	double bytes = (double)(size + !size);

	if (!sample_state) {
		if (!sample_is_set)
			sample_configure();
		sample_seed();
		sample_left += sample_draw();
		sample_taken++;
		if (sample_left >= 0)
			return 0;
	}
	sample_left = sample_draw();
	sample_taken++;
	if (!is_made)
		return 0;
	/* Rounds at random to a neighbouring whole number, so that sums have no bias. */
	return (uint64_t)(bytes / -expm1(-bytes / sample_mean) + 1 - sample_uniform());
}

void sample_set_distance(uint64_t bytes)
{
	sample_mean = bytes ? (double)bytes : SAMPLE_DISTANCE;
	sample_is_set = true;
}

void sample_begin_anew(void)
{
	sample_state = 0;
	sample_left = 0;
}
