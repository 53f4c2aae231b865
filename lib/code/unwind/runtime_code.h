/* SPDX-License-Identifier: MIT */
/*
 * Rules for JIT code, from its instructions in the process's memory.
 *
 * No file has such code, and nothing says where its functions begin. It is read in pieces, where
 * samples hit, and analysed like code of files without unwind information (analysis/analysis.h),
 * but more strictly: only functions that were seen to return get rules. Much JIT code has no
 * functions: traces of LuaJIT and the code of Guile are entered by jumps, with their caller's
 * frame.
 *
 *   (process, address) ─► piece: bytes, rows
 *                           └─ read again after each runtime_code_tick(), and analysed again if its
 *                              bytes have changed
 *
 * A sample may be older than the bytes. So between runtime_code_begin() and runtime_code_end(), the
 * code around the addresses that the kernel half saw is the sample's, or is not known. It comes
 * from the piece, if that has the same bytes, or else from a *version*: a smaller piece with the
 * bytes that the kernel half has sent. A step by such a rule is accepted only if it leads to a
 * return address after a call, and is checked as all steps by analysed rules are
 * (callflow/callflow_step.h).
 *
 * Code of files is analysed in the same way while the file's recipes are still being made (which
 * takes seconds for ten megabytes of code without unwind information). A piece is enough for the
 * samples of that time, though it lacks what symbols, pointers and calls from elsewhere add.
 *
 * Bounds: RUNTIME_CODE_PIECES, of RUNTIME_CODE_BYTES each, and CPU time: RUNTIME_CODE_EARNED_NS for
 * each tick, saved up to RUNTIME_CODE_SAVED_NS. Of that, RUNTIME_CODE_RESERVED_NS are left for
 * analysis, and the search for paths to returns does not use them. When the time is used up, there
 * are no new rules.
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
#define RUNTIME_CODE_CORE   (32u << 10) /* bytes of a piece whose rules are used; */
#define RUNTIME_CODE_MARGIN                                                                        \
	(16u << 10) /* and that are read before and behind, for functions that                     \
		     * begin or end there */
#define RUNTIME_CODE_BYTES (RUNTIME_CODE_CORE + 2 * RUNTIME_CODE_MARGIN)

#define RUNTIME_CODE_VERSIONS	    256
#define RUNTIME_CODE_VERSION_MARGIN (2u << 10) /* bytes on either side, as they are now */

#define RUNTIME_CODE_EARNED_NS	 100000000  /* with a tick each second: a tenth of a CPU */
#define RUNTIME_CODE_SAVED_NS	 1000000000 /* about 6 MB of code */
#define RUNTIME_CODE_RESERVED_NS 500000000

struct runtime_code;

/* Reads a process's executable memory, as it is now, around an address: from *ret_start, at most
 * `before` bytes ahead of it, to at most `after` bytes behind. Returns the number of bytes; 0: the
 * address cannot be read, or is not in executable memory. */
typedef size_t runtime_code_read_fn(void *arg, pid_t pid, uint64_t address, uint64_t before,
				    uint64_t after, uint8_t *bytes, uint64_t *ret_start);

/* Returns the start of the executable mapping at an address of a process; 0: there is none. */
typedef uint64_t runtime_code_start_fn(void *arg, pid_t pid, uint64_t address);

/* Gives the STACKD_CODE_BYTES bytes that a process had around a mark's address at a sample; blocks
 * without a hash are not used. false: they are not known. `arg` is that of the others. */
typedef bool runtime_code_window_fn(void *arg, pid_t pid, const struct stackd_code_mark *mark,
				    uint8_t *ret_bytes);

struct runtime_code_options {
	runtime_code_read_fn *read;
	runtime_code_start_fn *start;
	runtime_code_window_fn
		*window;	 /* versions are made of what it gives; NULL: there are none */
	void *arg;		 /* of all three */
	uint64_t (*clock)(void); /* gives CPU time in ns; NULL: the thread's */
};

/* The options are copied. Returns 0 or -ENOMEM. */
int runtime_code_new(const struct runtime_code_options *options, struct runtime_code **ret_code);
void runtime_code_free(struct runtime_code *code); /* NULL is fine */

/* To be called about once a second: pieces are compared with memory when they are next used. */
void runtime_code_tick(struct runtime_code *code);

/* Finds the code at an address of a process, as an object of its own kind whose elf has the bytes
 * around it, at offsets that are addresses. NULL: it cannot be read, or there is no time left. The
 * object lives until the next call for another address or the next tick. */
const struct object *runtime_code_at(struct runtime_code *code, pid_t pid, uint64_t address);

/* Reads the bytes around an address again, and compares them with those of the last tick. Returns
 * whether they differ: then rules from the old bytes are no longer valid. */
bool runtime_code_has_changed(struct runtime_code *code, pid_t pid, uint64_t address);

/* Until runtime_code_end(), takes the code of a process around the addresses of these marks as it
 * was when the kernel half looked. The marks, of instructions and of return addresses, are
 * borrowed; those after the first STACKD_MAX_CODE are not used. */
void runtime_code_begin(struct runtime_code *code, pid_t pid, const struct stackd_code_mark *marks,
			size_t count);
void runtime_code_end(struct runtime_code *code);

/* Code of files, to which a walk's JIT code jumps; all of the walk's process. */
struct runtime_code_outside {
	/* Gives the rule that call frame information has for an address; false: none. */
	bool (*rule)(void *arg, uint64_t address, struct stackd_rule *ret_rule);

	/* Copies up to `size` bytes of code that no call frame information covers, and returns
	 * their number; 0: there are none. */
	size_t (*read)(void *arg, uint64_t address, uint8_t *bytes, size_t size);

	void *arg; /* of both */
};

/* Lets the search for a frame follow JIT code into code of files, until runtime_code_end(): it ends
 * where `outside->rule` has a rule, with the frame by that rule, and goes on through
 * `outside->read` where there is none. `outside` is borrowed until then. */
void runtime_code_use_outside(struct runtime_code *code,
			      const struct runtime_code_outside *outside);

/* Returns whether an address, of an instruction or a return address, is that of a mark whose code
 * is known. */
bool runtime_code_is_sampled(struct runtime_code *code, pid_t pid, uint64_t address);

/* Gives the rule at an address; for a return address, pass it minus 1. STACKD_CFA_NONE: none. */
void runtime_code_rule(struct runtime_code *code, pid_t pid, uint64_t address, bool is_return,
		       struct stackd_rule *ret_rule);

/* Gives the rule at an address, of an instruction or a return address, from its paths to returns
 * (analysis/exit_frame.h): for code whose functions' starts are unknown. It holds if it leads to a
 * return address. false: there is none. */
bool runtime_code_exit(struct runtime_code *code, pid_t pid, uint64_t address,
		       struct stackd_rule *ret_rule);

/* Where the return address of a function that makes the frame of its caller is, and the rule of
 * that frame (exit_frame_is_taken(), exit_frame_find_taken()). */
struct runtime_code_taken {
	struct exit_frame_return where;
	struct stackd_rule rule;
};

/* Finds whether the JIT code before a return address calls such a function, in which the
 * instruction at `pc` is. Returns false if it does not, or nobody knows. */
bool runtime_code_taken(struct runtime_code *code, pid_t pid, uint64_t address, uint64_t pc,
			struct runtime_code_taken *ret_taken);

/* The same as runtime_code_rule() for an offset of a file; for a return address, pass it minus 1.
 * false: a step by the frame pointer can succeed: the code cannot be read, or there is no time
 * left; or it has no rule and calls others, as assembly code without frame pointers seldom does. */
bool runtime_code_file_rule(struct runtime_code *code, const struct object *object, uint64_t offset,
			    bool is_return, struct stackd_rule *ret_rule);

/* The same as runtime_code_exit() for an offset of a file. */
bool runtime_code_file_exit(struct runtime_code *code, const struct object *object, uint64_t offset,
			    struct stackd_rule *ret_rule);

/* What is known about a step by frame pointer out of code. */
enum runtime_code_frame {
	RUNTIME_CODE_UNREAD, /* nothing: the code cannot be read, or not yet */
	RUNTIME_CODE_UNTOLD, /* nothing: its instructions do not show it */
	RUNTIME_CODE_FRAMED, /* it leads to the caller */
	RUNTIME_CODE_BARE,   /* the frame pointer is not the frame's: it skips callers */
};

/* Returns that for the code at an address; for a return address, pass it minus 1. Reads the bytes
 * around it again first, since the code may be new. */
enum runtime_code_frame runtime_code_frame(struct runtime_code *code, pid_t pid, uint64_t address,
					   bool is_return);

/* Gives the rule of code that is entered by jumps: the frame that the code at the start of its
 * mapping sets up before it jumps (analysis/entry_frame.h), or that of another mapping of the
 * process for which this was found before. The rule holds if it leads to the return address of an
 * indirect call. false: there is none. */
bool runtime_code_entry(struct runtime_code *code, pid_t pid, uint64_t address,
			struct stackd_rule *ret_rule);

#endif
