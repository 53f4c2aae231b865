/* SPDX-License-Identifier: MIT */
/*
 * Ties CLOCK_MONOTONIC, which the kernel half can read, to the scheduler's clock, by which it sums
 * up CPU time, and which nobody else can read (bpf/cpu_clock.bpf.h). Reading the CPU time of the
 * own thread has the scheduler set its clock, and a program that runs right afterwards sees both.
 * It comes a microsecond later; the closest of some tries counts. What the clocks drift apart until
 * the next comparison goes on as since the last one.
 */
#ifndef CAPTURE_SAMPLER_CLOCKS_H
#define CAPTURE_SAMPLER_CLOCKS_H

#include <stdint.h>

struct stackd_bpf;

/* Compares the clocks where the last comparison is a second old; at first, at once. Without it, or
 * where the kernel tells nothing, the kernel half counts all that passes. */
void sampler_clocks_tie(struct stackd_bpf *skel, uint64_t now_ns);

#endif
