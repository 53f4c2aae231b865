/* SPDX-License-Identifier: MIT */
/*
 * Counters that are perf events (--counter instructions; bpf/event_sum.bpf.h): opens them on each
 * CPU, in groups of as many as the processor can count at a time, and has the groups take turns.
 *
 *   cycles, instructions ─┐          turn 1   turn 2   turn 3   ...
 *   cache-misses, ... ────┴─ groups    0        1        0
 *
 * A pass has values for a group if that group had its turn throughout the pass. So a turn lasts for
 * 0.2 s, or longer if a quarter of the passes or more are cut by the ends of turns. (The kernel's
 * own turns are a few milliseconds, in which no pass may fit.) Groups are found by trying: a
 * counter joins the previous group if the kernel still counts the group with it; `--counter
 * '{a,b}'` states which counters belong together.
 */
#ifndef CAPTURE_EVENT_GROUPS_H
#define CAPTURE_EVENT_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/base/counter_spec.h"
#include "daemon/base/exit_status.h"

struct event_groups;
struct sampler;

/* Opens the events among `n` counters, which must live as long, on all CPUs that are on line.
 * *ret_groups is NULL if there is none among them. Logs its own errors, and returns the status to
 * exit with. */
enum exit_status event_groups_open(const struct counter_spec *counters, size_t n,
				   struct event_groups **ret_groups);
void event_groups_free(struct event_groups *groups); /* NULL is fine */

/* Returns the group of the counter with an index, which must be an event, and whether it is the
 * first one in the group. */
uint8_t event_groups_of(const struct event_groups *groups, size_t index);
bool event_groups_is_first(const struct event_groups *groups, size_t index);

/* Enters the events into the kernel half's map, and begins the first turn. NULL is fine. 0 or
 * -errno. */
int event_groups_start(struct event_groups *groups, const struct sampler *sampler, uint64_t now_ns);

/* Ends the turn, if it has lasted long enough, and begins the next group's. NULL is fine. */
void event_groups_look(struct event_groups *groups, const struct sampler *sampler, uint64_t now_ns);

/* Returns whether turns must become longer. `known`, `cut`: how many passes of the last round had
 * values, and how many were cut by the end of a turn. */
bool event_groups_are_cut(uint64_t known, uint64_t cut);

#endif
