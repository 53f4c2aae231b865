/* SPDX-License-Identifier: MIT */
/*
 * The runtimes of languages: what a walk must know about Go's runtime, Erlang's virtual machine and
 * HotSpot beyond call frame information and instructions.
 *
 * A runtime is a folder lib/code/runtime/NAME/, whose file NAME.c defines a `struct runtime`. Each
 * provides some of the following:
 *
 *   recognition  by a file that code was mapped from (runtime_files.is_file), or by code that a
 *                process has made (runtime_processes.find)
 *   kernel half  rules in the file's table (runtime_files.each_rule), some of kinds that only this
 *                runtime has; facts about the process (runtime_processes.find), with which
 *                bpf/runtime_NAME.bpf.h finds a caller
 *   user space   the same rules one by one (runtime_files.rule_at); frames in the copy of a stack
 *                that no rule describes (runtime_frames)
 *   names        of code in a file (runtime_files.name_at)
 *
 * The list is STACKD_RUNTIMES (bpf/stackd_runtimes.h). Code outside of lib/code/runtime names no
 * runtime: it calls the functions below, which try all runtimes, or goes through the list itself.
 *
 * All input is hostile: files, code and stacks are those of the profiled process. A runtime takes
 * time linear in its input, and trusts only what it has checked.
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
	bool is_special; /* holds even against call frame information */
};

/* Called with each row, in order of offset; any result but 0 ends the calls. */
typedef int runtime_take_rule(void *arg, const struct runtime_rule *row);

struct runtime_name {
	const char *function; /* these live as long as the tables */
	uint64_t start;	      /* vaddr of the function */
	const char *file;     /* NULL: not known, or not wanted */
	uint32_t line;
};

/* A runtime whose code is in files, with its own tables. `tables` is the result of read(). */
struct runtime_files {
	/* Returns whether a file is a program of this runtime. */
	bool (*is_file)(const struct elf_file *file);

	/* Reads a file's tables; the file is borrowed for the call. Returns 0, -ENOENT (it is not
	 * of this runtime), -EINVAL (the tables are inconsistent), -ENOMEM, or an error of
	 * elf_file_read(). */
	int (*read)(const struct elf_file *file, void **ret_tables);
	void (*free)(void *tables);

	/* Returns the bytes of memory that the tables take. */
	size_t (*bytes)(const void *tables);

	/* Calls `take` with the rules of all functions. Returns 0, -ENOMEM, or the result of
	 * `take`. */
	int (*each_rule)(const void *tables, const struct elf_file *file, runtime_take_rule *take,
			 void *arg);

	/* Finds the rule at a vaddr; its cfa is STACKD_CFA_NONE if there is none. Returns 0 or
	 * -ENOMEM. */
	int (*rule_at)(const void *tables, const struct elf_file *file, uint64_t vaddr,
		       struct runtime_rule *ret_row);

	/* Finds the function at a vaddr; for a caller, the vaddr is that of the byte before the
	 * return address. Returns false if it is not known. */
	bool (*name_at)(const void *tables, uint64_t vaddr, bool with_line,
			struct runtime_name *ret_name);
};

/* --- processes ------------------------------------------------------------------------------- */

#define RUNTIME_SEARCHED 16384 /* bytes from a mapping's start in which find() looks */

/* A runtime that makes code at run time. The kernel half finds the caller of such code with facts
 * about the process. */
struct runtime_processes {
	/* Finds these facts in the `len` bytes of code with which the mapping [start, end) begins.
	 * Returns false if they are not this runtime's code, or not all of it is there yet. */
	bool (*find)(const uint8_t *code, size_t len, uint64_t start, uint64_t end,
		     union stackd_runtime_facts *ret_facts);

	/* Returns whether an address is in code of which a piece is called and then jumps to other
	 * pieces. The return address stays that of the first call, so the caller's call need not
	 * lead to the piece that runs. */
	bool (*is_shared)(const union stackd_runtime_facts *facts, uint64_t address);
};

/* --- frames ---------------------------------------------------------------------------------- */

#define RUNTIME_ENTRY_BEFORE 192 /* bytes of code before the address, for enter() */
#define RUNTIME_ENTRY_AFTER  192 /* and from it on */

/* The caller that a step has found. */
struct runtime_caller {
	uint64_t pc, slot; /* the return address, and its address in the stack */
	uint64_t sp, fp;   /* the caller's registers */
};

/* A runtime that makes code with frames that the code's instructions do not describe, since jumps
 * enter the code: those of an interpreter. `fp` is the frame pointer of the frame that a function
 * examines. */
struct runtime_frames {
	/* Returns whether the frame has called the function whose return address is in `slot`; that
	 * address need not follow a call. Then gives the link: a value that an interpreted callee's
	 * frame has, too. */
	bool (*waits)(const struct walk_memory *memory, uint64_t fp, uint64_t slot,
		      uint64_t *ret_link);

	/* Returns whether a frame can have been called by a frame with that link. `waits`: it has
	 * itself called a function. */
	bool (*is_called)(const struct walk_memory *memory, uint64_t fp, uint64_t link, bool waits);

	/* Returns whether a frame is this runtime's, by all known properties. Then gives the
	 * caller's stack pointer. */
	bool (*sender)(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sp);

	/* Returns whether a frame is this runtime's, and belongs to the code that was
	 * interrupted. */
	bool (*runs)(const struct walk_memory *memory, uint64_t fp, uint64_t sp);

	/* Finds the caller of code that was interrupted, at code[at], while it sets up such a
	 * frame, or chooses the function that it jumps to; `r` has the registers. The caller of
	 * enter() must check the return address. Returns false if it is other code. */
	bool (*enter)(const struct walk_memory *memory, const uint8_t *code, size_t len, size_t at,
		      const uint64_t *r, struct runtime_caller *ret_caller);

	/* Finds the starts of functions in the `len` bytes of code at `address`, at most `max`.
	 * Returns their number. */
	size_t (*starts)(const uint8_t *code, size_t len, uint64_t address, uint64_t *ret_starts,
			 size_t max);
};

/* --- interpreters ---------------------------------------------------------------------------- */

#define RUNTIME_EVALS	     8
#define RUNTIME_LAYOUT_BYTES 1024

/* What a runtime's machine needs of its file, and takes long to read: in a form of its own. */
struct runtime_layout {
	uint32_t len; /* 0: nothing is needed */
	uint32_t padding;
	uint8_t bytes[RUNTIME_LAYOUT_BYTES];
};

/* The interpreter that a file has: of a language whose functions have frames of their own. */
struct runtime_interpreter {
	struct stackd_interpreter facts; /* the facts by which the kernel half reads these frames */
	struct {
		uint64_t start, end; /* file offsets of a function that runs bytecode, or a part */
		/* Where that saves registers, as in struct stackd_rule, besides those of which call
		 * frame information tells. */
		int16_t saved[STACKD_SAVED_COUNT];
	} evals[RUNTIME_EVALS];
	size_t n_evals;
	bool is_copied; /* `facts` has nothing: the words of these functions' frames say what they
			 * run, and the daemon reads them in the copy of the stack */
	struct runtime_layout layout;
};

/* --- managed code ---------------------------------------------------------------------------- */

#define RUNTIME_POP_BYTES 16  /* of code from a return address on, for pushed() */
#define RUNTIME_NAME_ROOM 512 /* bytes of a name, which ends in "..." if it was cut */

/* The memory of a process, as it is now. read() returns false if not all of the `len` bytes, at
 * most 4096, can be read without waiting. */
struct runtime_memory {
	bool (*read)(void *arg, uint64_t address, void *buf, size_t len);

	/* Returns 1 if the byte at an address can be read; 0: it is not there; -EAGAIN: too much
	 * was read to tell. NULL: nothing that asks is opened. */
	int (*has)(void *arg, uint64_t address);
	void *arg;
	const struct runtime_layout *layout; /* of the runtime's file; NULL: there is none */
};

enum runtime_code_kind {
	RUNTIME_CODE_COMPILED,	  /* of a managed function, with those that were inlined */
	RUNTIME_CODE_INTERPRETER, /* runs managed functions that are not compiled */
	RUNTIME_CODE_STUB	  /* any other code of the runtime */
};

/* A piece of code that the runtime has made. */
struct runtime_code_piece {
	uint64_t start, end; /* addresses */
	uint64_t identity;   /* differs from that of all other pieces that were ever at `start` */
	enum runtime_code_kind kind;
	bool is_permanent; /* it is made once, before any managed function runs, and stays */
	uint64_t function; /* COMPILED: its address in the runtime */
	bool is_framed;	   /* COMPILED: it makes its frame, with a frame pointer, before any call
			    */
	bool is_native;	   /* COMPILED: it calls a native function, and nothing was inlined */
	uint64_t entry;	   /* COMPILED: where the function begins. Code before it only looks
			    * whether this is the function that is called; 0: not known */
	uint64_t stubs;	   /* COMPILED: from here on are no instructions of the function, but pieces
			    * that these call or jump to; 0: not known */
	bool makes_frames; /* STUB: it, or what it calls, makes frames of the interpreter, which
			    * have no words yet */
	uint32_t frame_bytes; /* COMPILED, STUB: from a frame's stack pointer to its caller's, where
			       * the frame has called; 0: not known, or of no fixed size */
	uint64_t replaced[2]; /* COMPILED: return addresses with which the runtime replaces those
			       * into this piece whose frames are to be left; 0: none */
	uint32_t replaced_at; /* and the distance of the original one from the frame's stack
			       * pointer */
	uint64_t from_native; /* STUB: return address of the call by which native code enters
			       * managed code, from a frame with a frame pointer; 0: it has none */
	char name[64];	      /* STUB: as the runtime calls it */
};

/* Where the caller of a frame is, at an instruction of its code. */
struct runtime_depth {
	uint32_t bytes; /* from the stack pointer up to above the return address; 0: not known */
	bool saves_fp;	/* the caller's frame pointer is right below the return address, */
	bool keeps_fp;	/* or in its register; neither: it is not known */
	uint8_t sender; /* DWARF's number of the register with the caller's stack pointer; 0: that
			 * is right above the return address */
};

#define RUNTIME_NO_INSTRUCTION (-1)

/* A managed frame: a function, by its address in the runtime, and an index of its bytecode. */
struct runtime_managed_frame {
	uint64_t function;
	int32_t instruction;
};

/* What the words of an interpreter's frame say. */
struct runtime_activation {
	uint64_t function;    /* its address in the runtime */
	uint64_t instruction; /* address of the one at which it has called; 0: it is native */
	uint64_t constants;   /* a word that frames of all functions of one class have in common */
	bool waits;	      /* it has called a managed function */
};

/* What an interpreter was doing when it was interrupted. */
enum runtime_interrupted {
	RUNTIME_RUNS,	  /* there is a frame, and a register has the instruction */
	RUNTIME_ENTERS,	  /* the frame is being made: a register has the function */
	RUNTIME_RETURNED, /* a function has returned to the frame: the frame has the instruction */
	RUNTIME_LEFT, /* there is no frame: it was left, or is not begun; the caller's is next */
};

#define RUNTIME_SENDER_NONE   0xff
#define RUNTIME_SENDER_PUSHED 0xfe /* the word below the frame pointer has it */

struct runtime_line {
	uint32_t instruction, line;
};

/* A managed function. All texts are those of the source, and have nothing that differs from run to
 * run. */
struct runtime_function {
	uint64_t identity;     /* differs from that of a later function at the same address */
	uint64_t class_number; /* rises with each class that is loaded, and is not used again; 0:
				* not known */
	uint64_t code;	       /* address of its bytecode */
	uint64_t constants;    /* as its frames have it (runtime_activation); 0: not known */
	uint32_t code_size;
	uint32_t first_line; /* 0: not known */
	bool begins_thread;  /* it runs another thread of the language on this thread's stack */
	struct runtime_line *lines; /* by rising instruction; of one's lines, the first counts */
	size_t n_lines;
	char name[RUNTIME_NAME_ROOM], file[RUNTIME_NAME_ROOM];
};

/* A runtime that says in its process's memory which managed functions its code belongs to. All
 * functions take bounded time whatever that memory holds, and trust nothing in it. */
struct runtime_machine {
	/* Returns whether a file has the runtime. */
	bool (*is_file)(const struct elf_file *file);

	/* open() needs the layout that find_interpreter() gives, and fails for good with -EINVAL.
	 */
	bool has_layout;

	/* Begins to read the runtime of a process, if `file`, whose vaddr 0 is at the address
	 * `bias`, has one. The memory is borrowed. Returns 0; -ENOENT: the file has none; -EAGAIN:
	 * it has not started yet; -EINVAL: its version or build is not read; -ENOMEM. */
	int (*open)(const struct elf_file *file, uint64_t bias, const struct runtime_memory *memory,
		    void **ret_machine);
	void (*close)(void *machine);

	/* Gives the addresses between which all its code is; or if it is_anywhere, the vaddrs of
	 * the code that is in its file and runs managed functions. */
	void (*range)(const void *machine, uint64_t *ret_low, uint64_t *ret_high);

	/* Other code may be at any address at which the process has made code, and the file may be
	 * mapped several times. */
	bool is_anywhere;

	/* The kernel half walks its code. So addresses of such walks are looked up, and the daemon
	 * walks no frames of it. The line of a frame is known if that has called a managed function
	 * (calls_function()), and else not. */
	bool is_walked;

	/* Code stays as it is until something is unloaded. So as long as unloads() has the same
	 * number, what is at an address now was there whenever the address was executed. */
	bool stays;

	/* Returns whether a vaddr of the file is in code that has no frame of its own, and runs in
	 * one of the interpreter. Then the words of that frame do not say which instruction it is
	 * of. NULL: there is no such code. */
	bool (*is_handler)(const void *machine, uint64_t vaddr);

	/* What is read of functions may be moved while they live, and other words come in its
	 * place. So an identity proves none of it: all is read again, and must be the same. */
	bool moves;

	/* Code that is COMPILED keeps a frame pointer where frames() knows the call. */
	bool keeps_fp;

	/* Finds the piece of code with an address. Returns false if there is none. */
	bool (*piece)(void *machine, uint64_t address, struct runtime_code_piece *ret_piece);

	/* Returns whether a piece is still there. */
	bool (*is_still)(void *machine, const struct runtime_code_piece *piece);

	/* Finds the managed frames at an address in a COMPILED piece, innermost first. At an
	 * address for which the runtime has no frames, since no call returns there, there is one:
	 * the function that was compiled, without an instruction. `is_return`: a call returns
	 * there, or else that address was interrupted. Returns how many of `max` there are; 0: they
	 * are not known. */
	size_t (*frames)(void *machine, const struct runtime_code_piece *piece, uint64_t address,
			 bool is_return, struct runtime_managed_frame *ret_frames, size_t max);

	/* Returns whether the call in a COMPILED piece that returns to an address is one of a
	 * managed function, and not of a STUB or of native code. NULL: that is not asked. */
	bool (*calls_function)(void *machine, const struct runtime_code_piece *piece,
			       uint64_t address);

	/* Finds the depth at an instruction of a COMPILED piece or of a STUB, by all of the piece's
	 * code; .bytes is 0 if it is not known. NULL: the runtime's code has no such depths. */
	struct runtime_depth (*depth)(void *machine, const struct runtime_code_piece *piece,
				      uint64_t address);

	/* Reads which function has the bytecode that the words of a frame at `fp` may name, for
	 * function(), which is called with the bytecode's address. NULL: nothing is to be read. */
	void (*learn)(void *machine, const struct walk_memory *memory, uint64_t fp);

	/* Reads the words of an interpreter's frame. Returns false if they are not those of a
	 * frame. NULL: there are no such frames. */
	bool (*interpreted)(const struct walk_memory *memory, uint64_t fp,
			    struct runtime_activation *ret_activation);

	/* Returns what the interpreter does at code[at], where it was interrupted. */
	enum runtime_interrupted (*interrupted)(const uint8_t *code, size_t len, size_t at);

	/* Returns DWARF's number of the register that has the stack pointer of the caller, which
	 * may be above the return address, where the interpreter was interrupted at code[at];
	 * RUNTIME_SENDER_PUSHED; RUNTIME_SENDER_NONE: none has, so the frame's words have it, or it
	 * is right above the return address. NULL: there are no such registers. */
	uint8_t (*sender_register)(const uint8_t *code, size_t len, size_t at);

	/* DWARF's numbers of the registers with the function while it is ENTERED, and with the
	 * address of the instruction while it RUNS. */
	uint8_t function_register, instruction_register;

	/* Returns how many bytes of arguments were pushed for the call that returns to
	 * RUNTIME_POP_BYTES bytes of code in a COMPILED piece. */
	uint32_t (*pushed)(const uint8_t *code);

	/* Returns whether code[at], which is among the stubs of a COMPILED piece, is in one by
	 * which its function calls another: it has the return address on top of the stack, and no
	 * frame. NULL: there are none. */
	bool (*is_call_stub)(const uint8_t *code, size_t len, size_t at);

	/* Returns whether the RUNTIME_POP_BYTES bytes of code in a STUB, to which a function
	 * returns, are where one returns to whose callers are not on the stack. */
	bool (*parts)(const uint8_t *code);

	/* Gives the stack pointer that the caller of an interpreter's frame had. Returns false if
	 * the words at `fp` are not those of a frame. */
	bool (*sender)(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sp);

	/* Gives a number: while it is the same, nothing that was in use is unloaded. Returns false
	 * if it cannot be read. NULL: the runtime unloads no functions. */
	bool (*unloads)(void *machine, uint64_t *ret_unloads);

	/* Reads a function. ret_function->lines is the caller's to free. Returns 0; -ENOENT: there
	 * is no such function; -EAGAIN: it takes more calls, each of a bounded part; -ENOMEM. */
	int (*function)(void *machine, uint64_t address, struct runtime_function *ret_function);

	/* Returns the identity of the function at an address; 0: there is none. */
	uint64_t (*identity)(void *machine, uint64_t address);

	/* Returns how many bytes of memory the machine takes. NULL: few. */
	uint64_t (*bytes)(const void *machine);
};

/* --- the list -------------------------------------------------------------------------------- */

struct runtime {
	enum stackd_runtime number;
	const char *name; /* as users know it */

	/* Why its functions, and its locations, cannot be measured from one probe to another: the
	 * end of the message "PATH is a NAME program, ..."; NULL: they can. */
	const char *unfit_regions, *unfit_marks;

	const struct runtime_files *files;	   /* NULL: its files have no tables */
	const struct runtime_processes *processes; /* NULL: the kernel half needs no facts */
	const struct runtime_frames *frames;	   /* NULL: rules describe all its frames */
	const struct runtime_machine *machine; /* NULL: its code has no managed functions that can
						* be read */

	/* Returns whether a file has the interpreter, by a few small reads, so that the daemon may
	 * ask it of files that others have written. NULL with find_interpreter. */
	bool (*has_interpreter)(const struct elf_file *file);

	/* Returns whether the words at a frame pointer are those of a frame in which code that this
	 * runtime has made waits for a call: the saved frame pointer, with the return address above
	 * it. NULL: its frames have no such words. */
	bool (*is_pointed)(const struct walk_memory *memory, uint64_t fp);

	/* Finds the interpreter in a file. Returns false if there is none. If its frames are not
	 * read, its form is STACKD_INTERPRETER_NONE, and it has no evals. NULL: the runtime has no
	 * interpreter with frames of its own. */
	bool (*find_interpreter)(const struct elf_file *file,
				 struct runtime_interpreter *ret_interpreter);

	/* Returns the line of an instruction of managed code (stackd_managed.h); -1: before the
	 * first. 0: none is known. `lines`: code->line_bytes of its table. */
	uint32_t (*line)(const struct stackd_managed_code *code, const uint8_t *lines,
			 int64_t instruction);
};

/* All runtimes, by number. */
extern const struct runtime *const runtimes[STACKD_RUNTIME_COUNT];

/* Return a number that can be sent to another process, and the runtime that has such a number. NULL
 * (no runtime) has a number, too. */
uint32_t runtime_number_of(const struct runtime *runtime);
const struct runtime *runtime_of_number(uint32_t number);

/* --- all runtimes ---------------------------------------------------------------------------- */

/* The tables of a file; all zero: none. */
struct runtime_tables {
	const struct runtime_files *files; /* NULL: none */
	void *tables;			   /* owned */
};

/* Returns the runtime of a program; NULL: none. */
const struct runtime *runtime_of_file(const struct elf_file *file);

/* Returns whether a file has an interpreter of any runtime, as runtime.has_interpreter does. */
bool runtime_has_interpreter(const struct elf_file *file);

/* Finds a file's interpreter, of any runtime, as runtime.find_interpreter does. Returns false if it
 * has none. */
bool runtime_find_interpreter(const struct elf_file *file,
			      struct runtime_interpreter *ret_interpreter);

/* Reads the tables of a file, by the first runtime that has tables for it. Returns 0, -ENOENT (no
 * runtime has), or an error of runtime_files.read(); *ret_tables is unchanged on failure. */
int runtime_tables_read(const struct elf_file *file, struct runtime_tables *ret_tables);

/* Frees the tables, and zeroes the struct. */
void runtime_tables_free(struct runtime_tables *tables);

/* Finds the facts about a process in the code with which a mapping begins (runtime_processes.find).
 * Returns the runtime that has made the code; NULL: none of them. */
const struct runtime *runtime_find_process(const uint8_t *code, size_t len, uint64_t start,
					   uint64_t end, union stackd_runtime_facts *ret_facts);

/* Returns the runtime of a frame that has called the function with the return address in `slot`
 * (runtime_frames.waits); NULL: none. */
const struct runtime *runtime_frame_waits(const struct walk_memory *memory, uint64_t fp,
					  uint64_t slot, uint64_t *ret_link);

/* Call runtime_frames.sender(), runs(), enter() and starts() of each runtime, until one
 * succeeds. */
bool runtime_frame_sender(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sp);
bool runtime_frame_runs(const struct walk_memory *memory, uint64_t fp, uint64_t sp);
bool runtime_frame_enter(const struct walk_memory *memory, const uint8_t *code, size_t len,
			 size_t at, const uint64_t *r, struct runtime_caller *ret_caller);
size_t runtime_frame_starts(const uint8_t *code, size_t len, uint64_t address, uint64_t *ret_starts,
			    size_t max);

/* Returns whether the words at a frame pointer are those of a runtime's frame (runtime.is_pointed).
 */
bool runtime_frame_is_pointed(const struct walk_memory *memory, uint64_t fp);

#endif
