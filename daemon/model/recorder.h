/* SPDX-License-Identifier: MIT */
/*
 * From records and side-band events, in the order of time, to what the store keeps: the process
 * table is brought up to date, stacks are walked, frames become locations, call paths become
 * nodes of the trie, and all that is new since the last time is collected into a batch.
 *
 * Every record ends in exactly one end reason, and every one is counted.
 */
#ifndef MODEL_RECORDER_H
#define MODEL_RECORDER_H

#include "daemon/archive/archive.h"
#include "daemon/capture/sideband.h"
#include "stackd_abi.h"
#include "daemon/capture/sampler.h"
#include "daemon/tables/tables.h"
#include "daemon/tags/tag_paths.h"

struct recorder;

/* `everyone`: side-band events of all processes matter (--all, --cgroup), not just those of
 * processes that were named and of their children. 0 or -ENOMEM. */
int recorder_new(bool everyone, uint32_t usual_period, struct recorder **ret_recorder);
void recorder_free(struct recorder *recorder);

/* Records have heights (bpf/segment.bpf.h); before the first sample. */
void recorder_use_heights(struct recorder *recorder);

/* WALKED records come with a copy of the stack, to judge them by. 0 or -ENOMEM. */
int recorder_use_judge(struct recorder *recorder);

/* Reads a process that is to be profiled as it is now. 0 or -errno. */
int recorder_load_process(struct recorder *recorder, pid_t pid);
int recorder_load_all(struct recorder *recorder); /* every process of the machine */

/* The tables that the kernel half walks by: what is missed in a record is asked for there. Also
 * makes the vDSO known. Borrowed; must outlive the recorder's last sample. */
void recorder_use_tables(struct recorder *recorder, struct tables *tables);

/* Programs that keep a tag (docs/TAGS.md) are recognised, and samples that are tags are taken.
 * `judge`: tags only check walks. 0 or -ENOMEM. */
int recorder_use_tags(struct recorder *recorder, const struct sampler_tags *maps, bool judge);

/* Now and then: what could not be found out at once is tried again. */
void recorder_poll(struct recorder *recorder);

/* Can samples wait for some tenths of a second? Not while tags are learned. */
bool recorder_may_rest(const struct recorder *recorder);

/* Samples come with branch records of that kind; `entries`: how many the processor has. 0 or
 * -ENOMEM. */
int recorder_use_branches(struct recorder *recorder, bool is_call_stack, unsigned entries);

/* As soon as an event has been read: opens files that are new while they can still be had. */
int recorder_foresee(struct recorder *recorder, const struct sideband_event *event);

/* As soon as a record has been read: asks for tables that it misses, so that the next samples can
 * be walked in the kernel. 0 or -ENOMEM. */
int recorder_foresee_sample(struct recorder *recorder, const struct stackd_header *header);

/* In the order of time. 0 or -ENOMEM. `record` NULL: one that could not be read. */
int recorder_event(struct recorder *recorder, const struct sideband_event *event);
int recorder_sample(struct recorder *recorder, const struct stackd_header *record);

/* What is new since the last call; NULL for lack of memory. The caller adds the totals. */
struct batch *recorder_take_batch(struct recorder *recorder);

/* The kernel's symbols, loaded when the first kernel frame came; NULL before. */
const struct kallsyms *recorder_kallsyms(const struct recorder *recorder);

struct recorder_counts {
	uint64_t received; /* records */
	uint64_t end_reasons[STACKD_END_COUNT];
	uint64_t complete, partial, lost; /* sums of them, by quality */
	uint64_t collisions;		  /* tags that two paths share */
	uint64_t out_of_sequence;	  /* walks that build on one that did not arrive */
	uint64_t judged_right, judged_wrong;
	uint64_t judged_cut;	/* right as far as the judge could see */
	uint64_t tag_processes; /* that kept tags */
	struct tag_paths_counts tags;
	uint64_t sideband_lost; /* events that the kernel could not deliver */
	uint64_t walked_frames, cache_hits, cache_misses, frame_pointer_steps;
};
void recorder_counts(const struct recorder *recorder, struct recorder_counts *ret_counts);

#endif
