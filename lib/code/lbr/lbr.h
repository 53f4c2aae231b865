/* SPDX-License-Identifier: MIT */
/*
 * Call paths from branch records: the last 8 to 32 calls that the processor remembers (last-branch
 * records in call-stack mode), checked against the stack in memory.
 *
 * In that mode a call pushes (from, to) and a return pops, so the records, newest first, are nearly
 * the sampled path from the leaf on. They differ from it by:
 *
 *   longjmp, exceptions       leave entries of frames that are gone
 *   more calls than entries   lose the entries of outer frames, until these are called again
 *   a signal handler          was not called, so its return pops another frame's entry
 *   call to the next address  pushes, and nothing ever returns
 *   tail call, stub, thunk    `from` is right, `to` is not the function that runs
 *   call within a function    a retpoline's: recipes take its return address for the frame's
 *
 * Memory is wrong in one case: before the unwinder of C++ exceptions leaves frames, it overwrites
 * its own return address with the handler's address. Then the branch record's entry is right.
 *
 * So an entry is evidence, and not yet a frame. Frames are made in this order, by:
 *
 *   1. the walk by recipes, if there are registers and stack memory. An entry with the walked
 *      frame's return address confirms the frame. An entry replaces the frame if its call led to
 *      the function below, and the call before the walked return address cannot have led there;
 *   2. where the walk cannot continue: the next entry whose return address is in the stack above
 *      the last frame's slot. The walk continues from there. Entries before it are left out;
 *   3. above the copied stack, or without a copy: entries whose target can lead to the frame below
 *      (lbr_code.fit). Entries that do not fit are left out;
 *   4. beyond the oldest entry: the outer frames of the thread's previous sample, from the frame on
 *      that has the same slot and return address; else from the entry on that is the same at the
 *      same index of the processor's ring of records. The latter is what perf's --stitch-lbr does.
 *      It is done only if no entry of the ring was left out, and if that stack reached the thread's
 *      entry: else frames that are gone would be inherited for ever.
 *
 * Above a copied stack, 3 and 4 are used only if the walk has confirmed each entry in turn and met
 * no signal: once entry and walk disagree, the rest of the ring is likely wrong.
 *
 * Every frame states its source, and whether memory or recipes confirm it, so inferred frames are
 * not shown as observed. The caller aligns paths that stay partial (lib/record/align).
 *
 * Sources: Intel SDM volume 3, 18.9 ("LBR call-stack profiling"); for stitching, perf's
 * documentation of --stitch-lbr.
 */
#ifndef LBR_LBR_H
#define LBR_LBR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "callflow/callflow_fit.h"
#include "stack/origin.h"
#include "stackd_abi.h"

#define LBR_MAX_ENTRIES 1024 /* of one sample; a sample with more is refused */
#define LBR_MAX_FRAMES	4096

struct lbr_entry {
	uint64_t from, to;
};

/* Returns whether the branch of a record was executed: some processors also record branches of
 * mispredicted paths. `flags` is the last word of the kernel's struct perf_branch_entry. */
static inline bool lbr_was_taken(uint64_t flags)
{
	return (flags >> 24 & 3) != PERF_BR_SPEC_WRONG_PATH;
}

struct lbr_frame {
	uint64_t address; /* the program counter, or the return address */
	uint64_t slot;	  /* address of the return address in the stack; 0: not known */
	uint8_t source;	  /* enum frame_source */
	bool is_return;	  /* the address is a return address, not a program counter */
	bool is_verified; /* the walk, or a return address in memory, confirms it */
};

/* A frame of a walk that the caller has made, leaf first. */
struct lbr_walked {
	uint64_t address, slot; /* as above; slot 0: not known */
	bool is_return;
	bool is_guess;	    /* found by a frame pointer, not by a rule */
	uint8_t provenance; /* enum provenance of the rule that led to its caller; NONE: not
			     * known */
};

enum lbr_kind {
	LBR_KIND_UNKNOWN,
	LBR_KIND_JUMP,
	LBR_KIND_LONG_JUMP, /* as longjmp() does: out of the function, to behind some call */
	LBR_KIND_CALL,
	LBR_KIND_RETURN,
};

/* What is known of the code, and the walk. lbr_code.h implements these functions for real
 * processes. Each may be NULL: then nothing is known. */
struct lbr_code {
	enum callflow_fit (*fit)(void *arg, uint64_t to, uint64_t pc);

	/* Returns the address behind the call instruction at `from`; 0: there is no call, or it
	 * cannot be read. */
	uint64_t (*call_end)(void *arg, uint64_t from);

	/* Returns whether a call leads into the function that contains it, but not to its start. */
	bool (*is_local)(void *arg, const struct lbr_entry *call);

	/* Returns the kind of the branch at `from`. */
	enum lbr_kind (*kind)(void *arg, uint64_t from, uint64_t to);

	/* Returns whether a call can return to this address: a call is before it, or something else
	 * is known to put the address on the stack. */
	bool (*is_return_address)(void *arg, uint64_t address);

	/* Returns fit() of the direct call that returns to `address`; CALLFLOW_FIT_UNKNOWN: there
	 * is no such call. */
	enum callflow_fit (*call_fit)(void *arg, uint64_t address, uint64_t pc);

	/* Returns whether a frame at this address begins its thread's stack. */
	bool (*is_entry)(void *arg, uint64_t address, bool is_return);

	/* Walks on from a return address whose slot is known. Gives the frames of its callers, at
	 * most `max`, and returns why the walk ended. */
	enum stackd_end_reason (*walk_on)(void *arg, uint64_t address, uint64_t slot,
					  struct lbr_walked *frames, size_t max, size_t *ret_count);
	void *arg;
};

struct lbr_memory {
	const uint8_t *bytes; /* borrowed */
	uint64_t start;	      /* address of bytes[0]: the stack pointer */
	size_t len;
	bool is_cut; /* the stack continues above */
};

struct lbr_input {
	uint64_t ip;			 /* user mode; 0: not known */
	const struct lbr_entry *entries; /* newest first; borrowed */
	size_t n_entries;
	unsigned ring; /* entries that the processor has; 0: not known */
	int64_t top;   /* index in the ring of the newest entry (HW_INDEX); -1: not known */
	struct lbr_memory memory; /* len 0: none */

	/* The frames of the walk; `n_walked` 0: no walk was made. */
	const struct lbr_walked *walked;
	size_t n_walked;
	enum stackd_end_reason walk_end;

	struct lbr_code code;
};

struct lbr_result {
	size_t n_frames;
	enum stackd_end_reason end; /* ENTRY: the path is complete */
	size_t n_stale;		    /* entries that were left out, since they belong to no frame */
};

struct lbr;

int lbr_new(struct lbr **ret_lbr); /* 0 or -ENOMEM */

/* Frees it, with the state of all threads; NULL is fine. */
void lbr_free(struct lbr *lbr);

/* Forgets the samples of a thread, which has ended or called exec. */
void lbr_forget(struct lbr *lbr, pid_t tid);

/* Writes the path of one sample into `frames`, leaf first; it has room for `max`. The samples of a
 * thread must come in the order of time. Returns 0; -ENOMEM; -E2BIG: the sample has more than
 * LBR_MAX_ENTRIES. */
int lbr_reconstruct(struct lbr *lbr, pid_t tid, const struct lbr_input *in,
		    struct lbr_frame *frames, size_t max, struct lbr_result *ret_result);

/* Like lbr_reconstruct(), for branch records of every kind (perf record -b). Replays the calls and
 * returns among them, oldest first. The calls that have not returned are the path's innermost
 * frames. If `in` has a walk (or a call chain), its outer frames are joined to them; else the path
 * is a segment (only the innermost frames). */
int lbr_replay(const struct lbr_input *in, struct lbr_frame *frames, size_t max,
	       struct lbr_result *ret_result);

/* Confidence in percent: of a frame joined by the same slot and return address, of an entry that
 * only fits the frames beside it, and of a stitched frame (4 above). Chosen by hand: they rank the
 * three, and are not measured. */
#define LBR_CONFIDENCE_PREFIX 95
#define LBR_CONFIDENCE_CHAIN  90
#define LBR_CONFIDENCE_STITCH 70

/* Writes the path's frames as runs of frames with the same source, for origin_intern(), root first.
 * `runs` has room for `n`. Returns their number. */
uint32_t lbr_runs(const struct lbr_frame *frames, size_t n, struct origin_run *runs);

#endif
