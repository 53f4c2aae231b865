/* SPDX-License-Identifier: MIT */
/*
 * Ties CLOCK_MONOTONIC, which the kernel half can read, to the scheduler's clock, which sums up CPU
 * time and which the kernel half cannot read (bpf/cpu_clock.bpf.h). Reading the CPU time of the own
 * thread makes the scheduler set its clock, and a program that runs right afterwards sees both. The
 * program runs a microsecond later, so of several tries the one with the smallest distance counts.
 * Until the next comparison the drift is assumed to be that between the last two.
 */
#ifndef CAPTURE_SAMPLER_CLOCKS_H
#define CAPTURE_SAMPLER_CLOCKS_H

#include <stdint.h>

struct stackd_bpf;

/* Compares the clocks if the last comparison is a second old; at first, at once. Without a
 * comparison, or if the kernel does not set its clock, the kernel half counts all time that
 * passes. */
void sampler_clocks_tie(struct stackd_bpf *skel, uint64_t now_ns);

#endif
