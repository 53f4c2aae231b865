/* SPDX-License-Identifier: MIT */
/*
 * A machine of this process with functions of one kind: an interpreter's frame has the function and
 * the instruction in two words. Its memory comes, changes, goes, and cannot be read for a while;
 * and each frame has the name that is proven for its moment, or none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/recorder/machine.h"
#include "daemon/recorder/managed.h"

#define CONSTANTS 0x99 /* in a frame */
#define FUNCTION  0x78

#define FUNCTION_REGISTER    3
#define INSTRUCTION_REGISTER 13

static uint8_t interpreter[256]; /* its code */
#define CODE ((uint64_t)(uintptr_t)interpreter)

/* What the process has of its function. */
static struct {
	bool is_there, is_unreadable;
	bool changes;	    /* once, behind the next read of it */
	bool moves;	    /* its name, once, during the next read of it */
	bool frames_change; /* once, behind the next read of them */
	uint64_t identity, code, constants, class_number, unloads;
	uint32_t code_size;
	size_t n_lines; /* all zeros */
	enum runtime_interrupted interrupted;
	struct runtime_code_piece piece; /* in the place of the interpreter, if it has a name */
	bool is_call_stub;
	uint8_t sender;
	struct runtime_depth depth;
} has;

static struct runtime_memory memory;

static int open_it(const struct elf_file *file, uint64_t bias, const struct runtime_memory *with,
		   void **ret_machine)
{
	(void)file;
	(void)bias;
	memory = *with;
	*ret_machine = &has;
	return 0;
}

static void close_it(void *machine)
{
	(void)machine;
}

static void range(const void *machine, uint64_t *ret_low, uint64_t *ret_high)
{
	(void)machine;
	*ret_low = CODE;
	*ret_high = CODE + 0x100;
}

static bool piece(void *machine, uint64_t address, struct runtime_code_piece *ret_piece)
{
	(void)machine;
	(void)address;
	*ret_piece = (struct runtime_code_piece){.start = CODE,
						 .end = CODE + 0x100,
						 .identity = 1,
						 .kind = RUNTIME_CODE_INTERPRETER,
						 .is_permanent = true,
						 .name = "Interpreter"};
	if (*has.piece.name)
		*ret_piece = has.piece;
	return true;
}

static size_t frames(void *machine, const struct runtime_code_piece *of, uint64_t address,
		     bool is_return, struct runtime_managed_frame *ret_frames, size_t max)
{
	(void)machine;
	(void)address;
	(void)is_return;
	assert_true(max);
	ret_frames[0] = (struct runtime_managed_frame){of->function, RUNTIME_NO_INSTRUCTION};
	ret_frames[1] = ret_frames[0];
	if (!has.frames_change)
		return 1;
	has.frames_change = false;
	return 2;
}

static bool is_call_stub(const uint8_t *bytes, size_t len, size_t at)
{
	(void)bytes;
	assert_true(at < len);
	return has.is_call_stub;
}

static struct runtime_depth depth(void *machine, const struct runtime_code_piece *of,
				  uint64_t address)
{
	(void)machine;
	(void)of;
	(void)address;
	return has.depth;
}

static bool is_still(void *machine, const struct runtime_code_piece *p)
{
	(void)machine;
	(void)p;
	return true;
}

static bool interpreted(const struct walk_memory *stack, uint64_t fp,
			struct runtime_activation *ret_activation)
{
	*ret_activation = (struct runtime_activation){.constants = CONSTANTS};
	return walk_memory_read8(stack, fp, &ret_activation->function) &&
	       ret_activation->function == FUNCTION &&
	       walk_memory_read8(stack, fp + 8, &ret_activation->instruction);
}

static enum runtime_interrupted interrupted(const uint8_t *bytes, size_t len, size_t at)
{
	(void)bytes;
	(void)len;
	(void)at;
	return has.interrupted;
}

static uint8_t sender_register(const uint8_t *bytes, size_t len, size_t at)
{
	(void)bytes;
	assert_true(at < len);
	return has.sender;
}

static bool sender(const struct walk_memory *stack, uint64_t fp, uint64_t *ret_sp)
{
	(void)stack;
	*ret_sp = fp + 0x40;
	return true;
}

static bool is_readable(void)
{
	uint8_t byte;

	return memory.read(memory.arg, has.is_unreadable ? 8 : (uintptr_t)&has, &byte, 1);
}

static uint64_t identity(void *machine, uint64_t address)
{
	(void)machine;
	(void)address;
	return is_readable() && has.is_there ? has.identity : 0;
}

static int function(void *machine, uint64_t address, struct runtime_function *ret_function)
{
	(void)machine;
	(void)address;
	if (!is_readable() || !has.is_there)
		return -ENOENT;
	*ret_function = (struct runtime_function){.identity = has.identity,
						  .code = has.code,
						  .constants = has.constants,
						  .class_number = has.class_number,
						  .code_size = has.code_size};
	if (has.n_lines)
		ret_function->lines = calloc(has.n_lines, sizeof(*ret_function->lines));
	ret_function->n_lines = ret_function->lines ? has.n_lines : 0;
	strcpy(ret_function->name, has.moves ? "moved" : has.identity == 1 ? "one" : "two");
	has.moves = false;
	strcpy(ret_function->file, "file");
	has.identity += has.changes;
	has.changes = false;
	return 0;
}

static const struct runtime_machine is = {.open = open_it,
					  .close = close_it,
					  .range = range,
					  .piece = piece,
					  .is_still = is_still,
					  .interpreted = interpreted,
					  .interrupted = interrupted,
					  .frames = frames,
					  .sender_register = sender_register,
					  .sender = sender,
					  .is_call_stub = is_call_stub,
					  .depth = depth,
					  .function_register = FUNCTION_REGISTER,
					  .instruction_register = INSTRUCTION_REGISTER,
					  .function = function,
					  .identity = identity};
static const struct runtime runtime = {.name = "Test", .machine = &is};

static bool unloads(void *machine, uint64_t *ret_unloads)
{
	(void)machine;
	*ret_unloads = has.unloads;
	return true;
}

static const struct runtime_machine that_unloads = {.open = open_it,
						    .close = close_it,
						    .range = range,
						    .piece = piece,
						    .is_still = is_still,
						    .interpreted = interpreted,
						    .interrupted = interrupted,
						    .unloads = unloads,
						    .function = function,
						    .identity = identity};
static const struct runtime unloading = {.name = "Test", .machine = &that_unloads};

static const struct runtime_machine that_moves = {.open = open_it,
						  .close = close_it,
						  .range = range,
						  .moves = true,
						  .piece = piece,
						  .is_still = is_still,
						  .interpreted = interpreted,
						  .interrupted = interrupted,
						  .frames = frames,
						  .function = function,
						  .identity = identity};
static const struct runtime moving = {.name = "Test", .machine = &that_moves};

struct world {
	struct object_table *objects;
	struct managed *managed;
	struct process_reads reads;
	struct machine *machine;
	struct stackd_regs regs;
	uint64_t words[2];
};

static uint64_t begun_ns; /* before the machine was opened */

static void begin_with(struct world *w, const struct runtime *with, uint32_t code_size,
		       uint64_t instruction)
{
	int err;

	memset(w, 0, sizeof(*w));
	begun_ns = clock_ns(CLOCK_MONOTONIC);
	has.is_there = true;
	has.is_unreadable = has.changes = has.moves = has.frames_change = false;
	has.identity = 1;
	has.code = 0x5000;
	has.code_size = code_size;
	has.constants = 0;
	has.n_lines = 0;
	has.interrupted = RUNTIME_RETURNED; /* the frame has the instruction */
	has.piece = (struct runtime_code_piece){.start = CODE, .end = CODE + 0x100, .identity = 1};
	has.is_call_stub = false;
	has.sender = RUNTIME_SENDER_NONE;
	has.depth = (struct runtime_depth){0};
	assert_int_equal(object_table_new("/proc", &w->objects), 0);
	assert_int_equal(managed_new(w->objects, &w->managed), 0);
	err = machine_open(with, NULL, 0, NULL, getpid(), w->managed, &w->reads, &w->machine);
	if (err == -EACCES || err == -EPERM)
		skip();
	assert_int_equal(err, 0);
	w->regs.r[STACKD_REG_PC] = CODE + 1;
	w->words[0] = FUNCTION;
	w->words[1] = instruction;
}

static void begin(struct world *w, uint32_t code_size, uint64_t instruction)
{
	begin_with(w, &runtime, code_size, instruction);
}

static void end(struct world *w)
{
	machine_free(w->machine);
	process_reads_fini(&w->reads);
	managed_free(w->managed);
	object_table_free(w->objects);
}

static struct machine_stack stack_at(const struct world *w, uint64_t time_ns)
{
	return (struct machine_stack){.time_ns = time_ns,
				      .regs = &w->regs,
				      .memory = {.bytes = (const uint8_t *)w->words,
						 .start = 0x10000,
						 .len = sizeof(w->words)}};
}

static void note(struct world *w, uint64_t time_ns, uint64_t now_ns)
{
	struct machine_stack stack = stack_at(w, time_ns);

	assert_int_equal(machine_note(w->machine, &stack, now_ns), 0);
}

/* Returns the name of the frame at a time; NULL: it is a part of its caller's; "": it is not known.
 */
static const char *name_at(struct world *w, uint64_t time_ns)
{
	const struct machine_stack stack = stack_at(w, time_ns);
	const struct machine_frame frame = {.address = CODE + 1, .is_leaf = true, .fp = 0x10000};
	struct location found[MACHINE_MOST];
	struct managed_name name;
	int n = machine_find(w->machine, &stack, &frame, found);

	if (n == MACHINE_PART)
		return NULL;
	if (!n)
		return "";
	assert_int_equal(n, 1);
	assert_true(managed_name_of(w->managed, found, &name));
	return name.function;
}

#define AT(n) (begun_ns + UINT64_C(1000000000) * (n)) /* seconds: what a test takes counts less */

static void proof_by_instruction(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 16, 0x5004);
	note(&w, AT(10), AT(20));
	assert_string_equal(name_at(&w, AT(10)), "one"); /* its bytecode has the instruction */
	assert_string_equal(name_at(&w, AT(9)), "Interpreter");
	note(&w, AT(30), AT(40));
	assert_string_equal(name_at(&w, AT(40)), "one");
	assert_string_equal(name_at(&w, AT(41)), "Interpreter"); /* read before it alone */
	has.identity = 2;
	note(&w, AT(50), AT(60));
	assert_string_equal(name_at(&w, AT(50)), "two");
	assert_string_equal(name_at(&w, AT(45)), "Interpreter");
	assert_string_equal(name_at(&w, AT(35)), "one");
	w.words[1] = 0x5010; /* behind the bytecode */
	assert_string_equal(name_at(&w, AT(50)), "Interpreter");
	end(&w);
}

static void native_functions(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 0, 0);
	note(&w, AT(10), AT(20));
	assert_string_equal(name_at(&w, AT(10)), "Interpreter"); /* nothing of it agrees */
	note(&w, AT(30), AT(40));
	assert_string_equal(name_at(&w, AT(30)), "one"); /* there before and after */
	assert_string_equal(name_at(&w, AT(41)), "Interpreter");
	end(&w);
}

static void memory_that_cannot_be_read(void **state)
{
	struct world w;
	uint64_t bytes;

	(void)state;
	begin(&w, 16, 0x5004);
	note(&w, AT(10), AT(20));
	bytes = machine_bytes(w.machine);
	has.is_unreadable = true;
	for (uint64_t i = 0; i < 10000; i++)
		note(&w, AT(30 + i), AT(31 + i));
	assert_int_equal(machine_bytes(w.machine), bytes); /* no version was made */
	assert_string_equal(name_at(&w, AT(40)), "Interpreter");
	has.is_unreadable = false;
	note(&w, AT(20000), AT(20001)); /* the function is the same still */
	assert_string_equal(name_at(&w, AT(40)), "one");
	has.is_there = false;
	note(&w, AT(20002), AT(20003)); /* gone */
	assert_string_equal(name_at(&w, AT(20003)), "Interpreter");
	end(&w);
}

/* A machine whose functions have too many lines is full, and says so. */
static void too_many_lines(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 16, 0x5004);
	has.n_lines = 1 << 22;
	assert_false(machine_is_full(w.machine));
	note(&w, AT(10), AT(11));
	assert_true(machine_is_full(w.machine));
	end(&w);
}

/* A native function is proven by the constants of its class. */
static void native_function_by_constants(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 0, 0);
	has.constants = CONSTANTS;
	note(&w, AT(10), AT(20));
	assert_string_equal(name_at(&w, AT(10)), "one");
	end(&w);
	begin(&w, 0, 0);
	has.constants = CONSTANTS + 8;
	note(&w, AT(10), AT(20));
	note(&w, AT(30), AT(40));
	assert_string_equal(name_at(&w, AT(10)), "Interpreter");
	assert_string_equal(name_at(&w, AT(30)), "Interpreter"); /* the frame is another one's */
	end(&w);
}

/* What runs at the interrupted instruction: a register has the function, or the instruction. */
static void interrupted_frames(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 16, 0x4000); /* the frame's words are of no use */
	w.words[0] = 0;
	has.interrupted = RUNTIME_ENTERS;
	w.regs.r[FUNCTION_REGISTER] = FUNCTION;
	note(&w, AT(10), AT(20));
	assert_string_equal(name_at(&w, AT(10)), "Interpreter"); /* nothing of it agrees */
	note(&w, AT(30), AT(40));
	assert_string_equal(name_at(&w, AT(30)), "one");
	end(&w);
	begin(&w, 16, 0x4000);
	has.interrupted = RUNTIME_LEFT;
	note(&w, AT(10), AT(20));
	assert_null(name_at(&w, AT(10)));
	end(&w);
	begin(&w, 16, 0x5008);
	has.interrupted = RUNTIME_RUNS;
	w.regs.r[INSTRUCTION_REGISTER] = 0x5004;
	note(&w, AT(10), AT(20));
	assert_string_equal(name_at(&w, AT(10)), "one");
	w.regs.r[INSTRUCTION_REGISTER] = 0x4000; /* not this function's: the frame's word is */
	assert_string_equal(name_at(&w, AT(10)), "one");
	end(&w);
}

/* Notes that the code is a compiled function's, and names its frame, as that of the leaf. */
static const char *compiled_name(struct world *w, uint64_t entry, uint64_t stubs, bool is_stub)
{
	begin(w, 16, 0);
	has.piece.kind = RUNTIME_CODE_COMPILED;
	has.piece.function = FUNCTION;
	has.piece.entry = entry;
	has.piece.stubs = stubs;
	strcpy(has.piece.name, "nmethod");
	has.is_call_stub = is_stub;
	note(w, AT(10), AT(20));
	note(w, AT(30), AT(40));
	return name_at(w, AT(30));
}

/* The code of a compiled function also has instructions that run without its frame, on the way to
 * another function: the frame would be named twice, as the caller and as what it calls. */
static void code_without_a_frame(void **state)
{
	const struct machine_frame frame = {.address = CODE + 1, .is_leaf = true, .sp = 0x10000};
	struct machine_stack stack;
	struct world w;

	(void)state;
	assert_string_equal(compiled_name(&w, CODE, CODE + 0x80, true), "one");
	end(&w);
	assert_null(compiled_name(&w, CODE + 2, CODE + 0x80, false)); /* the class is checked */
	stack = stack_at(&w, AT(30));
	assert_true(machine_may_lead(w.machine, &stack, &frame, 0x10000));
	assert_false(machine_may_lead(w.machine, &stack, &frame, 0x10008));
	end(&w);
	assert_null(compiled_name(&w, CODE, CODE + 1, true));
	end(&w);
	assert_string_equal(compiled_name(&w, CODE, CODE + 1, false),
			    "one"); /* as deoptimisation */
	end(&w);
	assert_string_equal(compiled_name(&w, 0, 0, true), "one"); /* nothing is known of them */
	end(&w);
}

/* Frames of the interpreter above code that makes such frames have no words of their own yet. */
static void frames_that_are_made(void **state)
{
	struct machine_frame frame = {.address = CODE + 1, .fp = 0x10000};
	struct location found[MACHINE_MOST];
	struct managed_name name;
	struct machine_stack stack;
	struct world w;

	(void)state;
	begin(&w, 16, 0x5004);
	assert_true(machine_makes_frames(w.machine, CODE + 1, false, false)); /* not known yet */
	assert_false(machine_makes_frames(w.machine, CODE + 0x1000, false, false)); /* native */
	assert_true(machine_makes_frames(w.machine, CODE + 0x1000, false, true));
	note(&w, AT(10), AT(20));
	assert_string_equal(name_at(&w, AT(10)), "one");
	assert_false(machine_makes_frames(w.machine, CODE + 1, false, false));
	assert_true(machine_makes_frames(w.machine, CODE + 1, false, true));
	stack = stack_at(&w, AT(10));
	frame.is_leaf = frame.is_made = true;
	assert_int_equal(machine_find(w.machine, &stack, &frame, found), 1);
	assert_true(managed_name_of(w.managed, found, &name));
	assert_string_equal(name.function, "Interpreter");
	end(&w);
	begin(&w, 16, 0);
	has.piece.kind = RUNTIME_CODE_STUB;
	has.piece.makes_frames = true;
	strcpy(has.piece.name, "DeoptimizationBlob");
	note(&w, AT(10), AT(20));
	assert_true(machine_makes_frames(w.machine, CODE + 1, false, false));
	assert_true(machine_makes_frames(w.machine, CODE + 1, true, false)); /* no such address */
	end(&w);
	compiled_name(&w, CODE, 0, false);
	assert_false(machine_makes_frames(w.machine, CODE + 1, false, true));
	end(&w);
}

static uint64_t sender_of(const struct world *w, bool is_return, bool is_leaf)
{
	const struct machine_stack stack = stack_at(w, AT(10));
	uint64_t sp = 0x10010;

	machine_sender(w->machine, &stack, CODE + 1, is_return, is_leaf, 0x10008, &sp);
	return sp;
}

/* While an interpreter's frame is made or left, a register or a word has its caller's stack
 * pointer, which is not below the return address. */
static void senders_of_leaves(void **state)
{
	static const struct {
		uint8_t sender;
		uint64_t value, expected;
	} cases[] = {{RUNTIME_SENDER_NONE, 0, 0x10048},
		     {5, 0x10020, 0x10020},
		     {5, 0x10008, 0x10010},
		     {5, 0x10021, 0x10010},
		     {RUNTIME_SENDER_PUSHED, 0x10030, 0x10030},
		     {RUNTIME_SENDER_PUSHED, 0, 0x10010}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world w;

		begin(&w, 16, 0x5004);
		has.sender = cases[i].sender;
		w.regs.r[5] = w.words[0] = cases[i].value;
		note(&w, AT(10), AT(20));
		assert_int_equal(sender_of(&w, false, true), cases[i].expected);
		assert_int_equal(sender_of(&w, false, false),
				 cases[i].sender == 5 ? 0x10010 : cases[i].expected);
		assert_int_equal(sender_of(&w, true, true), 0x10010); /* it was not looked up */
		end(&w);
	}
}

#define RETURN (CODE + 0x25) /* behind a call in the code */

/* The code that was interrupted says where its caller is: there must be where a call returns to. */
static void callers_of_leaves(void **state)
{
	static const uint8_t call[] = {0xe8, 0x1b, 0, 0, 0};
	static const struct {
		struct runtime_depth depth;
		uint64_t word, other, sp, fp; /* sp 0: there is no step */
	} cases[] = {
		{{.bytes = 16, .saves_fp = true}, 0x25, 0, 0x10010, 0x7777},
		{{.bytes = 16, .keeps_fp = true}, 0x25, 0, 0x10010, 0x8888},
		{{.bytes = 16}, 0x25, 0, 0x10010, 0},
		{{.bytes = 16, .saves_fp = true}, 0x30, 0, 0, 0}, /* no call returns there */
		{{.bytes = 24, .saves_fp = true}, 0x25, 0, 0, 0}, /* that is not on the stack */
		{{.saves_fp = true}, 0x25, 0, 0, 0},
		{{.bytes = 16, .sender = 12}, 0x25, 0x10030, 0x10030, 0},
		{{.bytes = 16, .sender = 12}, 0x25, 0x10008, 0, 0}, /* below the return address */
		{{.bytes = 16, .sender = 12}, 0x25, 0x10031, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct machine_frame frame = {.address = CODE + 1, .is_leaf = true, .sp = 0x10000};
		struct machine_stack stack;
		uint64_t slot = 0;
		struct world w;

		begin(&w, 16, 0x5004);
		memcpy(interpreter + 0x20, call, sizeof(call));
		has.piece = (struct runtime_code_piece){.start = CODE,
							.end = CODE + 0x100,
							.identity = 1,
							.kind = RUNTIME_CODE_STUB,
							.name = "stub"};
		has.depth = cases[i].depth;
		w.words[0] = 0x7777;
		w.words[1] = CODE + cases[i].word;
		w.regs.r[STACKD_REG_FP] = 0x8888;
		w.regs.r[12] = cases[i].other;
		note(&w, AT(10), AT(20));
		note(&w, AT(30), AT(40));
		stack = stack_at(&w, AT(30));
		assert_int_equal(machine_is_sized(w.machine, &stack, &frame),
				 cases[i].depth.bytes != 0);
		assert_int_equal(machine_step(w.machine, &stack, &frame, false, &slot),
				 cases[i].sp != 0);
		if (cases[i].sp) {
			assert_int_equal(slot, 0x10008);
			assert_int_equal(frame.address, RETURN);
			assert_int_equal(frame.sp, cases[i].sp);
			assert_int_equal(frame.fp, cases[i].fp);
		}
		frame = (struct machine_frame){.address = CODE + 1}; /* a signal came there */
		assert_false(machine_is_sized(w.machine, &stack, &frame));
		assert_false(machine_step(w.machine, &stack, &frame, false, &slot));
		memset(interpreter, 0, sizeof(interpreter));
		end(&w);
	}
}

/* A function that changes while it is read is not shown, neither as the old nor as the new one. */
static void change_while_read(void **state)
{
	struct world w;

	(void)state;
	begin(&w, 16, 0x5004);
	has.changes = true;
	note(&w, AT(10), AT(20));
	assert_string_equal(name_at(&w, AT(10)), "Interpreter");
	assert_string_equal(name_at(&w, AT(20)), "Interpreter");
	note(&w, AT(30), AT(40));
	assert_string_equal(name_at(&w, AT(10)), "Interpreter");
	assert_string_equal(name_at(&w, AT(30)), "two");
	end(&w);
}

/* A name that is moved while it is read leaves other words in its place, and the function is the
 * same before and behind. They are not its name, and the name is read again. */
static void name_that_moves(void **state)
{
	struct world w;

	(void)state;
	begin_with(&w, &moving, 16, 0x5004);
	has.moves = true;
	note(&w, AT(10), AT(20));
	assert_false(has.moves);
	assert_string_equal(name_at(&w, AT(10)), "Interpreter");
	assert_string_equal(name_at(&w, AT(20)), "Interpreter");
	note(&w, AT(30), AT(40));
	assert_string_equal(name_at(&w, AT(20)), "Interpreter");
	assert_string_equal(name_at(&w, AT(30)), "one");
	has.is_there = false;
	note(&w, AT(50), AT(60)); /* gone: no function is proven to be there */
	assert_string_equal(name_at(&w, AT(60)), "Interpreter");
	end(&w);
}

/* The same where a compiled function's frames, or the names of their functions, are read: the
 * address has no frames until they were read twice. */
static void frames_that_move(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct world w;

		begin_with(&w, &moving, 16, 0);
		has.piece.kind = RUNTIME_CODE_COMPILED;
		has.piece.function = FUNCTION;
		strcpy(has.piece.name, "nmethod");
		w.words[0] = 0;
		has.moves = i == 0;
		has.frames_change = i == 1;
		note(&w, AT(10), AT(20));
		assert_false(has.moves || has.frames_change);
		assert_string_equal(name_at(&w, AT(20)), "");
		note(&w, AT(30), AT(40));
		assert_string_equal(name_at(&w, AT(30)), "one");
		end(&w);
	}
}

/* Where functions can be unloaded, the words of a frame prove one that is read later only if
 * nothing was unloaded meanwhile, or if its class was there before. */
static void unloaded_functions(void **state)
{
	struct world w;

	(void)state;
	has.unloads = 3;
	begin_with(&w, &unloading, 16, 0x5004);
	has.class_number = 7;
	note(&w, AT(10), AT(20));
	assert_string_equal(name_at(&w, AT(10)), "Interpreter"); /* nothing is known of before */
	has.identity = 2;
	has.class_number = 9;
	note(&w, AT(30), AT(40));
	assert_string_equal(name_at(&w, AT(30)), "two"); /* nothing was unloaded since AT(20) */
	has.identity = 3;
	has.class_number = 8; /* as before AT(40) */
	has.unloads = 4;
	note(&w, AT(50), AT(60));
	assert_string_equal(name_at(&w, AT(50)), "two");
	has.identity = 4;
	has.class_number = 10; /* it can be another one's memory */
	has.unloads = 5;
	note(&w, AT(70), AT(80));
	assert_string_equal(name_at(&w, AT(70)), "Interpreter");
	has.class_number = 0;
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proof_by_instruction),
		cmocka_unit_test(native_functions),
		cmocka_unit_test(memory_that_cannot_be_read),
		cmocka_unit_test(too_many_lines),
		cmocka_unit_test(change_while_read),
		cmocka_unit_test(name_that_moves),
		cmocka_unit_test(frames_that_move),
		cmocka_unit_test(native_function_by_constants),
		cmocka_unit_test(interrupted_frames),
		cmocka_unit_test(unloaded_functions),
		cmocka_unit_test(code_without_a_frame),
		cmocka_unit_test(senders_of_leaves),
		cmocka_unit_test(callers_of_leaves),
		cmocka_unit_test(frames_that_are_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
