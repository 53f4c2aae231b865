/* SPDX-License-Identifier: MIT */
/*
 * Measures what a probe costs the thread that hits it, outside of the probe's BPF program.
 *
 * A pass through a region begins when the entry's program reads the clock, and ends when the exit's
 * does. So the return from the first probe and the trap into the second are in the pass, though the
 * program does not advance in them: a microsecond or more, by the machine. `stackctl fold`
 * subtracts them (lib/show/folding/passes.h). What is measured does not include the time of the
 * probes' own BPF programs: the exit's program runs after the pass, and so its time is in the burst
 * that follows (lib/show/folding/bursts.h).
 *
 * stackd measures them before it records anything: it hits a probe of its own, whose program notes
 * the time, and reads the clock right before and right after the hit. Before each hit it touches
 * more memory than a CPU's first caches hold, because with warm caches the way into the kernel took
 * half as long as in a real program. The cost is the median of a hundred hits, as interrupts and
 * preemption only make single hits longer. The probe is on an instruction that the kernel emulates,
 * as the probes of regions are if their functions have one (daemon/regions/probe_move.h). An
 * instruction that the kernel has to step over costs more, and the difference stays in the pass.
 */
#ifndef CAPTURE_PROBE_COST_H
#define CAPTURE_PROBE_COST_H

#include <stdint.h>

struct bpf_program;

struct probe_cost {
	uint64_t before_ns; /* from the probed instruction to the BPF program */
	uint64_t after_ns;  /* from the BPF program to the next instruction */
};

/* Measures the cost with a BPF program that sets *seen_ns to CLOCK_MONOTONIC. 0; -errno if the
 * probe cannot be attached; -ENODATA if it is not hit. On failure *ret stays as it was. */
int probe_cost_measure(const struct bpf_program *program, const volatile uint64_t *seen_ns,
		       struct probe_cost *ret);

#endif
