/* SPDX-License-Identifier: MIT */
/*
 * Finds computing bursts: the time of a thread between two calls of MPI, from the end of one to the
 * begin of the next. A user need not name a region for them: a recording of `stackd --mpi` has each
 * call with its begin, its end and its path.
 *
 *   thread  ══MPI_Recv══╤──── burst ────╤══MPI_Send══╤─ burst ─╤══MPI_Allreduce══
 *
 * The time before a thread's first call, after its last, and of threads without calls is not in any
 * burst. If a call is left without a return (by an exception, say), its end is not known, so the
 * burst after it is left out and counted.
 *
 * If the recording has counters, they were read at both ends of each call, so the total of a burst
 * is the exact difference. Its CPU time is the time that the thread computed, without waits for a
 * CPU.
 *
 * The cost of reaching and leaving the probes of the two calls is subtracted from the wall and CPU
 * time of a burst, as from passes (passes.h). The run time of the probes' BPF programs stays in the
 * burst: the program at a call's end reads the clock before it walks the stack and writes the
 * record, and no record says how long that took. (In a pass, that program runs after the pass has
 * ended.)
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
	uint64_t part_ns;	   /* the part in the range that the filter selects */
	uint32_t thread;	   /* number in the store's tables */
	uint32_t before, after;	   /* calls before and after it: indices of `calls` */
	uint16_t cpu;		   /* CPU of the call after it */
	uint8_t known;		   /* counters whose total is known, as bits */
	/* bits: the counters that are lower at the burst's end than at its start */
	uint8_t falls;
	bool is_ended;	 /* It ended in the range. */
	bool is_shorter; /* the cost of the probes was subtracted */
};

struct bursts {
	VEC(struct burst) all; /* by thread, then start */
	VEC(struct burst_call) calls;
	/* MPI calls that the filter selects: their number, and their time within the range */
	uint64_t n_calls, calls_ns;
	/* bursts that are left out because the call before them did not return */
	uint64_t after_left;
	/* time that the probes cost within a burst: before its end, and after its begin; 0:
	 * unknown */
	uint64_t before_ns, after_ns;
	char *counters[METRIC_COUNTERS];  /* names; NULL: there is none */
	uint64_t *total[METRIC_COUNTERS]; /* by counter and burst */
	/* by counter and burst: the counter's value at the burst's end, apart from a constant */
	uint64_t *end[METRIC_COUNTERS];
};

/* Collects all bursts, at any time, of the threads that the profile's filter selects. A filter by
 * path selects a burst if it selects the MPI call after the burst. Returns 0, -ENOMEM, or an error
 * of store_reader_records(); the caller frees the bursts in any case. */
int bursts_make(struct profile *profile, struct bursts *ret_bursts);
void bursts_free(struct bursts *bursts);

/* Makes passes for folding, named `name`, from the bursts that ended in the range and have the
 * number `kind` in `kind_of`, an array by burst. Returns 0, -ENOMEM, or an error of
 * store_reader_records(); the caller frees the passes in any case. */
int bursts_passes(struct profile *profile, const struct bursts *bursts, const uint32_t *kind_of,
		  uint32_t kind, const char *name, struct passes *ret_passes);

#endif
