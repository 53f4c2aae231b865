/* SPDX-License-Identifier: MIT */
/*
 * Handles the part of the kernel half that measures waits, which is loaded only if the options ask
 * for waits. It finds programs and maps by name, so it does not depend on the skeleton.
 */
#ifndef CAPTURE_SAMPLER_PARTS_H
#define CAPTURE_SAMPLER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_map;
struct bpf_object;
struct bpf_program;

/* Loads, or leaves out, the programs and maps of waits, and the maps that they share with regions;
 * `wakers`: also the program that records who ends waits. To be called before loading, after
 * sampler_programs_choose(). */
void sampler_parts_choose(struct bpf_object *object, bool regions, bool waits, bool wakers);

/* Gives each CPU the ring by which it raises an interrupt (bpf/wait.bpf.h). To be called after
 * loading. 0 or -errno. */
int sampler_parts_make_rings(const struct bpf_object *object);

/* Adds, over all CPUs, the `n` counters in the only entry of a per-CPU map to totals[0..n). */
void sampler_parts_count(const struct bpf_map *map, size_t n, uint64_t *totals);

/* Runs a BPF iterator program (`program`: its descriptor) over all threads. 0 or -errno. */
int sampler_parts_iterate(int program);

/* The kernel half's programs and maps of waits. */
struct sampler_waits {
	int begin_fd, finish_fd; /* iterators */
	int fork_fd, exec_fd, cgroup_fd, walk_fd, clock_fd, switch_fd, waking_fd;
};

/* Finds the programs of waits; they belong to the object. */
struct sampler_waits sampler_parts_waits(const struct bpf_object *object);

/* Returns the run time of a program in ns, and gives how often it has run; both 0 if the kernel
 * does not measure it (sampler_measure_time()). */
uint64_t sampler_parts_run_ns(const struct bpf_program *program, uint64_t *ret_runs);

/* Returns the run time of the programs of waits and of events, most of which run at switches of
 * threads, if the kernel accounts it. */
uint64_t sampler_parts_switches_ns(const struct bpf_object *object);

#endif
