/* SPDX-License-Identifier: MIT */
/*
 * Ties CLOCK_MONOTONIC, which the kernel half can read, to the scheduler's clock, which sums up CPU
 * time and which the kernel half cannot read (bpf/cpu_clock.bpf.h). When the daemon reads the CPU
 * time of its own thread, the scheduler sets its clock, and a BPF program that runs right
 * afterwards reads both clocks. The program runs some microsecond later, so of several tries the
 * one with the smallest distance counts. Between two comparisons, the clocks are taken to drift as
 * they did between the last two.
 */
#ifndef CAPTURE_SAMPLER_CLOCKS_H
#define CAPTURE_SAMPLER_CLOCKS_H

#include <stdint.h>

struct stackd_bpf;

/* Compares the clocks, unless the last comparison is less than a second old. Without a comparison,
 * or if the kernel does not set its clock, the kernel half counts all time that passes. */
void sampler_clocks_tie(struct stackd_bpf *skel, uint64_t now_ns);

#endif
