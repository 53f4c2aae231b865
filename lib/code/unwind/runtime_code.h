/* SPDX-License-Identifier: MIT */
/*
 * Rules for JIT code, from its instructions in the process's memory.
 *
 * No file has such code, and nothing states where its functions begin. It is read in pieces, where
 * samples hit, and analysed like code of files without unwind information (analysis/analysis.h),
 * but more strictly: only functions that were seen to return get rules. Much JIT code has no
 * functions: traces of LuaJIT and the code of Guile are entered by jumps, in their caller's frame.
 *
 *   (process, address) ─► piece: bytes, rows
 *                           └─ read again after each runtime_code_tick(), and analysed again if its
 *                              bytes have changed
 *
 * A sample may be older than the bytes. So between runtime_code_begin() and runtime_code_end(),
 * code around the addresses on the sample's stack counts as known only as it was at the sample. It
 * comes from the piece, if the piece has the same bytes as the kernel half has read, or else from a
 * *version*: a smaller piece with the bytes that the kernel half has sent. A step by such a rule is
 * accepted only if it leads to a return address after a call, and is checked as all steps by
 * analysed rules are (callflow/callflow_step.h).
 *
 * Code of files is analysed in the same way while the file's recipes are still being made (which
 * takes seconds for ten megabytes of code without unwind information). Its pieces suffice for the
 * samples of that time, though symbols, pointers and calls from elsewhere are missing.
 *
 * Limits: RUNTIME_CODE_PIECES pieces of RUNTIME_CODE_BYTES, and CPU time: RUNTIME_CODE_EARNED_NS
 * for each tick, saved up to RUNTIME_CODE_SAVED_NS. RUNTIME_CODE_RESERVED_NS of that time are
 * reserved for analysis; the search for paths to returns (analysis/exit_frame.h) does not use them.
 * When the time is used up, no new rules are made.
 */
#ifndef UNWIND_RUNTIME_CODE_H
#define UNWIND_RUNTIME_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analysis/exit_frame.h"
#include "proc/object.h"
#include "stackd_abi.h"

#define RUNTIME_CODE_PIECES 256
#define RUNTIME_CODE_CORE   (32u << 10) /* bytes of a piece whose rules are used */
#define RUNTIME_CODE_MARGIN                                                                        \
	(16u << 10) /* and that are read before and behind, for functions that                     \
		     * begin or end there */
#define RUNTIME_CODE_BYTES (RUNTIME_CODE_CORE + 2 * RUNTIME_CODE_MARGIN)

#define RUNTIME_CODE_VERSIONS	    256
#define RUNTIME_CODE_VERSION_MARGIN (2u << 10) /* bytes of memory around the sample's code */

#define RUNTIME_CODE_EARNED_NS	 100000000  /* with a tick each second: a tenth of a CPU */
#define RUNTIME_CODE_SAVED_NS	 1000000000 /* about 6 MB of code */
#define RUNTIME_CODE_RESERVED_NS 500000000

struct runtime_code;

/* Reads a process's executable memory, as it is now, around an address: from *ret_start, at most
 * `before` bytes before the address, to at most `after` bytes from it on. Returns the number of
 * bytes; 0: the address cannot be read, or is not in executable memory. */
typedef size_t runtime_code_read_fn(void *arg, pid_t pid, uint64_t address, uint64_t before,
				    uint64_t after, uint8_t *bytes, uint64_t *ret_start);

/* Returns the start of the executable mapping that contains an address of a process; 0: there is no
 * such mapping. */
typedef uint64_t runtime_code_start_fn(void *arg, pid_t pid, uint64_t address);

/* Gives the STACKD_CODE_BYTES bytes that a process had around a mark's address at the time of a
 * sample; blocks of them for which the mark has no hash are not used. Returns false if they are not
 * known. `arg` is the options' `arg`. */
typedef bool runtime_code_window_fn(void *arg, pid_t pid, const struct stackd_code_mark *mark,
				    uint8_t *ret_bytes);

struct runtime_code_options {
	runtime_code_read_fn *read;
	runtime_code_start_fn *start;
	runtime_code_window_fn
		*window;	 /* gives the bytes of versions; NULL: there are no versions */
	void *arg;		 /* argument of all three functions */
	uint64_t (*clock)(void); /* gives CPU time in ns; NULL: the thread's */
};

/* The options are copied. Returns 0 or -ENOMEM. */
int runtime_code_new(const struct runtime_code_options *options, struct runtime_code **ret_code);
void runtime_code_free(struct runtime_code *code); /* NULL is fine */

/* To be called about once a second: adds CPU time, and lets pieces be compared with memory when
 * they are next used. */
void runtime_code_tick(struct runtime_code *code);

/* Returns the code around an address of a process, as an object of its own kind, whose elf has the
 * bytes at offsets that are addresses. NULL: it cannot be read, or no CPU time is left. The object
 * lives until the next call for another address or the next tick. */
const struct object *runtime_code_at(struct runtime_code *code, pid_t pid, uint64_t address);

/* Reads the bytes around an address again, and compares them with those that were read since the
 * last tick. Returns whether they differ; then rules from the old bytes are no longer valid. */
bool runtime_code_has_changed(struct runtime_code *code, pid_t pid, uint64_t address);

/* Until runtime_code_end(), uses the code of a process around the addresses of these marks as it
 * was when the kernel half read it. A mark's address is that of an instruction or a return address.
 * The marks are borrowed; those after the first STACKD_MAX_CODE are not used. */
void runtime_code_begin(struct runtime_code *code, pid_t pid, const struct stackd_code_mark *marks,
			size_t count);
void runtime_code_end(struct runtime_code *code);

/* Gives code of files to which a walk's JIT code jumps. All addresses are of the walk's process. */
struct runtime_code_outside {
	/* Gives the rule that call frame information has for an address. Returns false if it has
	 * none. */
	bool (*rule)(void *arg, uint64_t address, struct stackd_rule *ret_rule);

	/* Copies up to `size` bytes of code that no call frame information covers. Returns their
	 * number; 0: there is no such code. */
	size_t (*read)(void *arg, uint64_t address, uint8_t *bytes, size_t size);

	void *arg; /* of both functions */
};

/* Until runtime_code_end(), lets the search for a frame follow JIT code into code of files. The
 * search ends, with the frame of the rule, where `outside->rule` has a rule, and goes on through
 * `outside->read` elsewhere. `outside` is borrowed until then. */
void runtime_code_use_outside(struct runtime_code *code,
			      const struct runtime_code_outside *outside);

/* Returns whether an address, of an instruction or a return address, is that of a mark of
 * runtime_code_begin() whose code is known. */
bool runtime_code_is_sampled(struct runtime_code *code, pid_t pid, uint64_t address);

/* Gives the rule at an address; for a return address, pass the address minus 1. Its cfa is
 * STACKD_CFA_NONE if there is none. */
void runtime_code_rule(struct runtime_code *code, pid_t pid, uint64_t address, bool is_return,
		       struct stackd_rule *ret_rule);

/* Gives the rule at an address (of an instruction, or a return address) from its paths to returns
 * (analysis/exit_frame.h), for code whose functions' starts are unknown. The caller must check that
 * the rule leads to a return address. Returns false if there is none. */
bool runtime_code_exit(struct runtime_code *code, pid_t pid, uint64_t address,
		       struct stackd_rule *ret_rule);

/* The location of the return address in a function that makes the frame of its caller, and the rule
 * of that frame (exit_frame_is_taken(), exit_frame_find_taken()). */
struct runtime_code_taken {
	struct exit_frame_return where;
	struct stackd_rule rule;
};

/* Returns whether the JIT code before a return address calls a function that makes the frame of its
 * caller, and the instruction at `pc` is in that function. false: also if it is not known. */
bool runtime_code_taken(struct runtime_code *code, pid_t pid, uint64_t address, uint64_t pc,
			struct runtime_code_taken *ret_taken);

/* Like runtime_code_rule(), for an offset of a file; for a return address, pass it minus 1. Returns
 * false if a step by the frame pointer may be tried instead: the code cannot be read, no CPU time
 * is left, or the frame is a caller's and has no rule (assembly code without frame pointers seldom
 * calls). */
bool runtime_code_file_rule(struct runtime_code *code, const struct object *object, uint64_t offset,
			    bool is_return, struct stackd_rule *ret_rule);

/* Like runtime_code_exit(), for an offset of a file. */
bool runtime_code_file_exit(struct runtime_code *code, const struct object *object, uint64_t offset,
			    struct stackd_rule *ret_rule);

/* Where a step by the frame pointer out of code would lead. */
enum runtime_code_frame {
	RUNTIME_CODE_UNREAD, /* unknown: the code cannot be read, or not yet */
	RUNTIME_CODE_UNTOLD, /* unknown: its instructions do not show it */
	RUNTIME_CODE_FRAMED, /* to the caller */
	RUNTIME_CODE_BARE,   /* past some callers: the frame pointer is not this frame's */
};

/* Returns where such a step out of the code at an address leads; for a return address, pass the
 * address minus 1. Reads the bytes around it again first, since the code may be new. */
enum runtime_code_frame runtime_code_frame(struct runtime_code *code, pid_t pid, uint64_t address,
					   bool is_return);

/* Gives the rule of code that is entered by jumps: the frame that the code at the start of its
 * mapping sets up before it jumps (analysis/entry_frame.h), or the frame that was found in this way
 * for another mapping of the process. The caller must check that the rule leads to the return
 * address of an indirect call. Returns false if there is none. */
bool runtime_code_entry(struct runtime_code *code, pid_t pid, uint64_t address,
			struct stackd_rule *ret_rule);

#endif
