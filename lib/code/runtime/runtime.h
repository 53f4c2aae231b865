/* SPDX-License-Identifier: MIT */
/*
 * The runtimes of languages: what a walk has to know of Go's, of Erlang's virtual machine, of
 * HotSpot, beyond call frame information and instructions.
 *
 * A runtime is a folder lib/code/runtime/NAME/, whose file NAME.c defines a `struct runtime`. Each
 * answers the same four questions, as far as it has anything to say:
 *
 *   is it here?  by a file that code was mapped from (runtime_files.is_file), or by code that a
 *                process has made (runtime_processes.find)
 *   kernel half  rules in the file's table (runtime_files.each_rule), some of kinds that only this
 *                runtime has; facts about the process (runtime_processes.find), by which
 *                bpf/runtime_NAME.bpf.h steps
 *   user space   the same rules one by one (runtime_files.rule_at); frames in the copy of a stack
 *                that no rule describes (runtime_frames)
 *   names        of code in a file (runtime_files.name_at)
 *
 * The list is STACKD_RUNTIMES (bpf/stackd_runtimes.h). Code outside of lib/code/runtime names no
 * runtime: it calls the functions below, which go through the list, or goes through it itself.
 *
 * All that is read is hostile: files, code and stacks are those of the process that is profiled. A
 * runtime takes time linear in what it is given, and believes nothing that it has not checked.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "stack/walk_memory.h"
#include "stackd_abi.h"

/* --- files ----------------------------------------------------------------------------------- */

/* A rule that holds from an offset in a file up to the next row. */
struct runtime_rule {
	uint64_t offset;
	struct stackd_rule rule;
	bool is_special; /* holds even where call frame information says otherwise */
};

/* Called with each row, in order of offset; anything but 0 ends the reading. */
typedef int runtime_take_rule(void *arg, const struct runtime_rule *row);

struct runtime_name {
	const char *function; /* these live as long as the tables */
	uint64_t start;	      /* vaddr of the function */
	const char *file;     /* NULL: not known, or not wanted */
	uint32_t line;
};

/* A runtime whose code is in files, with tables of its own. `tables` is what read() has given. */
struct runtime_files {
	/* Whether a file is a program of this runtime. */
	bool (*is_file)(const struct elf_file *file);

	/* Reads a file's tables; the file is borrowed for the call. Returns 0, -ENOENT (it is not
	 * of this runtime), -EINVAL (the tables lie), -ENOMEM, or what elf_file_read() says. */
	int (*read)(const struct elf_file *file, void **ret_tables);
	void (*free)(void *tables);

	/* The bytes of memory that the tables take. */
	size_t (*bytes)(const void *tables);

	/* Hands out the rules of all functions. Returns 0, -ENOMEM, or what `take` says. */
	int (*each_rule)(const void *tables, const struct elf_file *file, runtime_take_rule *take,
			 void *arg);

	/* Finds the rule at a vaddr; its kind is STACKD_CFA_NONE if there is none. 0 or -ENOMEM. */
	int (*rule_at)(const void *tables, const struct elf_file *file, uint64_t vaddr,
		       struct runtime_rule *ret_row);

	/* Finds the function at a vaddr, by which callers are looked up: a byte before the return
	 * address. false: none is known. */
	bool (*name_at)(const void *tables, uint64_t vaddr, bool with_line,
			struct runtime_name *ret_name);
};

/* --- processes ------------------------------------------------------------------------------- */

#define RUNTIME_SEARCHED 16384 /* bytes from a mapping's start in which find() looks */

/* A runtime that makes code, out of which the kernel half steps by facts about the process. */
struct runtime_processes {
	/* Finds these facts in the `len` bytes of code with which a mapping begins, which ends at
	 * `end`. false: it is not this runtime's code, or not yet. */
	bool (*find)(const uint8_t *code, size_t len, uint64_t start, uint64_t end,
		     union stackd_runtime_facts *ret_facts);

	/* Returns whether an address is in code whose pieces are called and then jump to each
	 * other. The return address is still that of the first call, so the caller's call need not
	 * lead to the piece that runs. */
	bool (*is_shared)(const union stackd_runtime_facts *facts, uint64_t address);
};

/* --- frames ---------------------------------------------------------------------------------- */

#define RUNTIME_ENTRY_BEFORE 192 /* bytes of code that enter() is given: ahead of the address, */
#define RUNTIME_ENTRY_AFTER  128 /* and from it on */

/* The caller that a step has come to. */
struct runtime_caller {
	uint64_t pc, slot; /* the return address, and where it stood */
	uint64_t sp, fp;   /* the caller's registers */
};

/* A runtime with frames, in code that a process has made, which instructions do not describe, since
 * the code is entered by jumps: an interpreter's. `fp` is the frame pointer of the frame asked for.
 */
struct runtime_frames {
	/* Whether a frame waits for the return address in `slot`, which need not follow a call.
	 * Then gives what a frame of the same kind that it called has a copy of. */
	bool (*waits)(const struct walk_memory *memory, uint64_t fp, uint64_t slot,
		      uint64_t *ret_link);

	/* Whether a frame can be called by one of that link. `waits`: it has made such a call, too.
	 */
	bool (*is_called)(const struct walk_memory *memory, uint64_t fp, uint64_t link, bool waits);

	/* Whether a frame is this runtime's, by all that is known of it. Then gives the caller's
	 * stack pointer. */
	bool (*sender)(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sp);

	/* Whether a frame is this runtime's, and that of the code that was interrupted. */
	bool (*runs)(const struct walk_memory *memory, uint64_t fp, uint64_t sp);

	/* Steps out of code that was interrupted while it makes such a frame: code[at] is where, r
	 * are the registers. The caller has to check the return address. false: it is no such code.
	 */
	bool (*enter)(const struct walk_memory *memory, const uint8_t *code, size_t len, size_t at,
		      const uint64_t *r, struct runtime_caller *ret_caller);

	/* Finds where functions begin in the `len` bytes of code at `address`: at most `max` of
	 * them; their number. */
	size_t (*starts)(const uint8_t *code, size_t len, uint64_t address, uint64_t *ret_starts,
			 size_t max);
};

/* --- the list -------------------------------------------------------------------------------- */

struct runtime {
	enum stackd_runtime number;
	const char *name; /* as users know it */

	/* Why its functions, and its places, cannot be measured from one probe to another: the end
	 * of "PATH is a NAME program, ..."; NULL: they can. */
	const char *unfit_regions, *unfit_marks;

	const struct runtime_files *files;	   /* NULL: it has none that matter */
	const struct runtime_processes *processes; /* NULL: the kernel half needs no facts */
	const struct runtime_frames *frames;	   /* NULL: rules describe all its frames */
};

/* All runtimes, by number. */
extern const struct runtime *const runtimes[STACKD_RUNTIME_COUNT];

/* A number for another process, and the runtime of a number that one has sent. NULL is none, which
 * has a number, too. */
uint32_t runtime_number_of(const struct runtime *runtime);
const struct runtime *runtime_of_number(uint32_t number);

/* --- over all -------------------------------------------------------------------------------- */

/* The tables of a file. Zeroed is none. */
struct runtime_tables {
	const struct runtime_files *files; /* NULL: none */
	void *tables;			   /* owned */
};

/* The runtime that a file is a program of; NULL: of none. */
const struct runtime *runtime_of_file(const struct elf_file *file);

/* Reads the tables of a file, by the first runtime that has any there. Returns 0, -ENOENT (no
 * runtime has), or as runtime_files.read(); *ret_tables is untouched then. */
int runtime_tables_read(const struct elf_file *file, struct runtime_tables *ret_tables);

/* Frees tables, and leaves none. */
void runtime_tables_free(struct runtime_tables *tables);

/* Finds the facts about a process in code with which a mapping begins (runtime_processes.find), and
 * the runtime; NULL: it is of none. */
const struct runtime *runtime_find_process(const uint8_t *code, size_t len, uint64_t start,
					   uint64_t end, union stackd_runtime_facts *ret_facts);

/* The runtime of a frame that waits for a return address (runtime_frames.waits); NULL: of none. */
const struct runtime *runtime_frame_waits(const struct walk_memory *memory, uint64_t fp,
					  uint64_t slot, uint64_t *ret_link);

/* As runtime_frames.sender(), runs(), enter() and starts(), of any runtime. */
bool runtime_frame_sender(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sp);
bool runtime_frame_runs(const struct walk_memory *memory, uint64_t fp, uint64_t sp);
bool runtime_frame_enter(const struct walk_memory *memory, const uint8_t *code, size_t len,
			 size_t at, const uint64_t *r, struct runtime_caller *ret_caller);
size_t runtime_frame_starts(const uint8_t *code, size_t len, uint64_t address, uint64_t *ret_starts,
			    size_t max);

#endif
