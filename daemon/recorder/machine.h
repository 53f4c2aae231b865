/* SPDX-License-Identifier: MIT */
/*
 * The managed frames in code that a runtime of one process has made: what code and which functions
 * were where, and when.
 *
 * A sample is read some tenths of a second after it was taken, and a walk of it comes still later.
 * In between, the runtime can have replaced the code. So each thing that was read is kept with the
 * time for which it holds: from the sample, or the read, at which it was first proven, to its last
 * read. It is proven for a sample if its time is within; or if it was read after the sample, and
 * something of the sample's moment agrees: the hash of the code around an address (stackd_code.h),
 * or words of an interpreter's frame: that for the instruction, which must lie in the bytecode, and
 * that for the constants of the method's class. The frame kept that bytecode at the sample. For
 * other bytecode to lie there at the read, the method must have returned, its class have been
 * unloaded, and another one have got the same memory, for its method and its constants as well. So
 * either nothing was unloaded between a read before the sample and the one after it, or the class
 * that is there now was loaded before the sample. A native method has no bytecode, so the constants
 * alone prove its name. A method that is just being entered has no frame yet, but is in a register:
 * its name is proven as that of a frame whose words agree. What was read before the sample alone
 * proves nothing: any time may have passed, and classes of the same shape get the same memory.
 *
 * What cannot be read is not taken for what is not there: it makes no version.
 *
 *   record ─► machine_note(), at once: each address of the runtime's code on the stack, and each
 *             word that may be a function of an interpreter's frame, is looked up in the process
 *   walk   ─► machine_find(), later: frames from what was kept
 */
#ifndef RECORDER_MACHINE_H
#define RECORDER_MACHINE_H

#include "daemon/recorder/managed.h"
#include "daemon/recorder/process_memory.h"
#include "runtime/runtime.h"
#include "stack/location.h"
#include "stackd_abi.h"

#define MACHINE_STUBS  "[stubs]"	  /* the file of code that belongs to no function */
#define MACHINE_THREAD "[virtual thread]" /* between a thread and the one that it runs */
#define MACHINE_MOST   64		  /* managed frames of one native frame */
#define MACHINE_PART   65 /* the native frame is a part of its caller's, and has none */
#define MACHINE_BIASES 32 /* latest mappings of a file: each isolate of V8 makes one */

struct machine;

/* What a record has of a thread. */
struct machine_stack {
	uint64_t time_ns;
	const struct stackd_regs *regs;
	struct walk_memory memory;
	const struct stackd_code_mark *code;
	size_t n_code;
};

/* A native frame of a walk. */
struct machine_frame {
	uint64_t address;
	bool is_return;
	bool is_leaf;
	bool has_callee; /* a managed frame is nearer to the leaf, so this one has called it */
	bool has_stub;	 /* the next frame nearer to the leaf is a stub's */
	bool is_of_file; /* it is in the runtime's file, by the mappings of the sample */
	bool is_made;  /* an interpreter's frame may be one that is just made, and have no words yet
			*/
	bool is_stale; /* the words of an interpreter's frame say which instruction it ran before */
	uint64_t sp, fp; /* 0: not known */
	uint64_t caller; /* the return address; 0: not known */
};

/* Opens the runtime of a process: that of the file `elf`, whose vaddr 0 it has at `bias`; `layout`
 * may be NULL. `managed` and `reads` are borrowed. 0, or the errors of struct runtime_machine's
 * open(). */
int machine_open(const struct runtime *runtime, const struct elf_file *elf, uint64_t bias,
		 const struct runtime_layout *layout, pid_t pid, struct managed *managed,
		 struct process_reads *reads, struct machine **ret_machine);
void machine_free(struct machine *machine); /* NULL is fine */

/* Notes that the process has mapped the file once more: V8 maps the code of its builtins near to
 * the code that it makes. */
void machine_add_mapping(struct machine *machine, uint64_t bias);

/* Returns how many bytes a machine's memory takes. */
uint64_t machine_bytes(const struct machine *machine);

/* Returns whether the machine can keep no more: nothing new will have a name. */
bool machine_is_full(const struct machine *machine);

/* Returns whether an address is in the memory that the machine has for code, or may be. */
bool machine_has(const struct machine *machine, uint64_t address);

/* Return whether an address is in code of the machine's file that runs managed functions: with a
 * frame of its own; or in the frame of such code, which does not say the instruction then. */
bool machine_is_file_code(const struct machine *machine, uint64_t address);
bool machine_is_handler(const struct machine *machine, uint64_t address);

/* Reads what the stack's managed frames will be found by. To be called as soon as a record is read;
 * `now_ns` is the time on the record's clock. 0 or -ENOMEM. */
int machine_note(struct machine *machine, const struct machine_stack *stack, uint64_t now_ns);

/* An address in the code of a walk that the kernel half has made. */
struct machine_address {
	uint64_t address;
	bool is_return;
};

/* Does the same for the addresses of such a walk. */
int machine_note_walked(struct machine *machine, const struct machine_address *addresses,
			size_t count, uint64_t time_ns, uint64_t now_ns);

/* Returns whether the kernel half walks the machine's code (runtime_machine.is_walked). */
bool machine_is_walked(const struct machine *machine);

/* Returns whether the machine knows how large a frame is. */
bool machine_is_sized(const struct machine *machine, const struct machine_stack *stack,
		      const struct machine_frame *frame);

/* Returns whether the return address of a frame can be in a slot, by the size that the machine
 * knows of frames of its code. */
bool machine_may_lead(const struct machine *machine, const struct machine_stack *stack,
		      const struct machine_frame *frame, uint64_t slot);

/* What is known of the frame of code in which a call returns to an address. */
enum machine_framing {
	MACHINE_FRAMING_UNKNOWN,
	MACHINE_FRAMED,	  /* its frame pointer is set */
	MACHINE_UNFRAMED, /* the call may be one that comes before */
};

/* Returns what the machine knows of that. Only runtimes that keep frame pointers are known. */
enum machine_framing machine_framing(const struct machine *machine,
				     const struct machine_stack *stack, uint64_t address);

/* Returns whether frames of the code at an address have saved their caller's frame pointer right
 * below their return address. */
bool machine_saves_fp(const struct machine *machine, const struct machine_stack *stack,
		      uint64_t address, bool is_return);

/* Returns whether the code at the return address `outer` is an interpreter's, and has called its
 * own code at `inner` directly: both have one frame pointer. */
bool machine_is_part(const struct machine *machine, const struct machine_stack *stack,
		     uint64_t outer, uint64_t inner, bool inner_is_return);

/* Returns whether the frame at `fp` is an interpreter's, of a function that is proven. */
bool machine_is_run(const struct machine *machine, const struct machine_stack *stack, uint64_t fp);

/* Returns the frame pointer of a leaf in an interpreter's code, if that has a frame whose words say
 * that it runs a function, which is proven, and has not called another one; else 0. */
uint64_t machine_leaf_fp(const struct machine *machine, const struct machine_stack *stack,
			 uint64_t address);

/* If the code at an address is an interpreter's, whose frame is at `fp`, sets *sp to the stack
 * pointer that the frame's caller had. Else it stays. `is_leaf`: the stack's registers are the
 * frame's; those of one that a signal has interrupted are not known. */
void machine_sender(const struct machine *machine, const struct machine_stack *stack,
		    uint64_t address, bool is_return, bool is_leaf, uint64_t fp, uint64_t *sp);

/* Steps from a frame to its caller by what the machine knows. *ret_slot is the address of the
 * return address. `is_lost`: there is no other walk that knows the caller, so steps are made, too,
 * that only the return address that they lead to confirms. Returns false if the machine does not
 * know the caller; *frame is unchanged then. */
bool machine_step(const struct machine *machine, const struct machine_stack *stack,
		  struct machine_frame *frame, bool is_lost, uint64_t *ret_slot);

/* Returns whether the frame of an interpreter that called the code at an address may be one that is
 * just made. HotSpot makes such frames of a compiled one's at once, and fills in their words later,
 * so until then the words are whatever was there. `before`: the result for the callee of that code.
 * Code of the machine of which nothing was read counts as code that makes frames. */
bool machine_makes_frames(const struct machine *machine, uint64_t address, bool is_return,
			  bool before);

/* Finds the locations of the managed frames of a native frame, innermost first. Returns their
 * number, or MACHINE_PART; 0: the frame is none of the runtime's, or they are not proven; -ENOMEM.
 */
int machine_find(struct machine *machine, const struct machine_stack *stack,
		 const struct machine_frame *frame, struct location ret_locations[MACHINE_MOST]);

#endif
