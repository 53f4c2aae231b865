/* SPDX-License-Identifier: MIT */
/*
 * Computing bursts: what a thread computes between two calls of MPI, from the end of one to the
 * beginning of the next. Nobody has to name a region for them: a recording of `stackd --mpi` has
 * each call with its beginning, its end and its path.
 *
 *   thread  ══MPI_Recv══╤──── burst ────╤══MPI_Send══╤─ burst ─╤══MPI_Allreduce══
 *
 * The time before a thread's first call and after its last is no burst, nor is that of threads that
 * make no calls. A call that is left without a return (by an exception, say) ends where its thread
 * was next seen, so the burst after it is left out, and counted.
 *
 * Where the recording has counters, they were read at both ends of each call: the total of a burst
 * is the exact difference. CPU time is how long the thread computed, without waits for a CPU.
 *
 * The way to and from the probes of the two calls is taken off the wall and the CPU time of a
 * burst, as it is off passes (passes.h). The time that the probes' programs take stays in the
 * burst: the exit's program reads the clock and then walks the stack and writes the record, and no
 * record says how long that took. (In a pass, the exit's program runs after the pass has ended.)
 */
#ifndef FOLDING_BURSTS_H
#define FOLDING_BURSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "folding/passes.h"
#include "model/profile.h"

/* A call's path, whose leaf is the function of MPI. */
struct burst_call {
	uint32_t node, origin;
	uint8_t end_reason;
};

struct burst {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t part_ns;	   /* of these, in the range that the filter selects */
	uint32_t thread;	   /* number in the store's tables */
	uint32_t before, after;	   /* the calls around it: indexes of `calls` */
	uint16_t cpu;		   /* that the next call was on */
	uint8_t known;		   /* bits: counters whose total is known */
	uint8_t falls;		   /* bits: counters that are less at its end than at its start */
	bool is_ended;		   /* in the range */
	bool is_shorter;	   /* what the probes of the two calls cost was taken off */
};

struct bursts {
	VEC(struct burst) all; /* by thread, then start */
	VEC(struct burst_call) calls;
	uint64_t n_calls, calls_ns;	 /* calls of MPI; the time of those that the filter selects,
					  * in the range */
	uint64_t after_left;		 /* bursts that are left out */
	uint64_t before_ns, after_ns;	 /* of the burst between them, what the probes of the calls
					  * cost: at its end, and at its beginning; 0: not known */
	char *counters[METRIC_COUNTERS]; /* names; NULL: there is none */
	uint64_t *total[METRIC_COUNTERS]; /* of each counter, by burst */
	uint64_t *end[METRIC_COUNTERS];	  /* its reading there, but for a constant */
};

/* Collects the bursts of the threads that the profile's filter selects, at any time; its options of
 * paths are for the call after a burst. 0, -ENOMEM, or an error of store_reader_records(); the
 * caller frees in any case. */
int bursts_make(struct profile *profile, struct bursts *ret_bursts);
void bursts_free(struct bursts *bursts);

/* Makes passes, to be folded, of the bursts whose number in `kind_of`, an array by burst, is
 * `kind`, and that ended in the range, under a name. 0, -ENOMEM, or an error of
 * store_reader_records(); the caller frees in any case. */
int bursts_passes(struct profile *profile, const struct bursts *bursts, const uint32_t *kind_of,
		  uint32_t kind, const char *name, struct passes *ret_passes);

#endif
