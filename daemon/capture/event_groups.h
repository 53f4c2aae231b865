/* SPDX-License-Identifier: MIT */
/*
 * Opens the counters that are perf events (--counter instructions; bpf/event_sum.bpf.h) on each
 * CPU, in groups that the processor can count at the same time. The groups count one after the
 * other, each for a while: its turn.
 *
 *   cycles, instructions ─┐          turn 1   turn 2   turn 3   ...
 *   cache-misses, ... ────┴─ groups    0        1        0
 *
 * A pass through a region has values for a group's counters only if it was that group's turn from
 * the pass's entry to its exit. So a turn lasts for 0.2 s, or longer if a quarter of the passes or
 * more are cut by the ends of turns. (The kernel would rotate the events each few milliseconds,
 * which can be shorter than any pass.) Groups are found by trying: a counter joins the previous
 * group if the kernel still counts the group with it; `--counter '{a,b}'` states which counters
 * belong together.
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
 * *ret_groups is NULL if none of the counters is an event. Logs its own errors, and returns the
 * status to exit with. */
enum exit_status event_groups_open(const struct counter_spec *counters, size_t n,
				   struct event_groups **ret_groups);
void event_groups_free(struct event_groups *groups); /* NULL is fine */

/* Returns the group of the counter with an index, which must be an event, and whether it is the
 * first one in the group. */
uint8_t event_groups_of(const struct event_groups *groups, size_t index);
bool event_groups_is_first(const struct event_groups *groups, size_t index);

/* Enters the descriptors of the events into the kernel half's map, and begins the first group's
 * turn. `groups` may be NULL. 0 or -errno. */
int event_groups_start(struct event_groups *groups, const struct sampler *sampler, uint64_t now_ns);

/* Ends the current group's turn, if it has lasted long enough, and begins the next group's.
 * `groups` may be NULL. */
void event_groups_look(struct event_groups *groups, const struct sampler *sampler, uint64_t now_ns);

/* Returns whether turns must become longer. Since each group last had its first turn, `known`
 * passes have got values of events, and `cut` passes have got none because a turn ended during the
 * pass. */
bool event_groups_are_cut(uint64_t known, uint64_t cut);

#endif
