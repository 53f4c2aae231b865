/* SPDX-License-Identifier: MIT */
/* Rules of code in a process's memory: found, kept, made anew where the memory has changed, and
 * bounded in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/runtime_code.h"

#define PID   77
#define START UINT64_C(0x7f0000010000) /* of the memory, which is larger than a piece */
#define BYTES (4 * RUNTIME_CODE_CORE)
#define HERE  (RUNTIME_CODE_CORE + 0x100) /* of the code, in the memory */

/* sub $40,%rsp; call leaf; add $40,%rsp; ret; int3 ...; leaf: ret */
static const uint8_t function[] = {0x48, 0x83, 0xec, 0x28, 0xe8, 0x07, 0,    0,	  0,
				   0x48, 0x83, 0xc4, 0x28, 0xc3, 0xcc, 0xcc, 0xc3};
#define CALL 8 /* its last byte */
#define LEAF 16

struct memory {
	struct runtime_code *code;
	uint8_t bytes[BYTES];
	unsigned reads;
	bool is_gone;			   /* the process has ended */
	uint8_t window[STACKD_CODE_BYTES]; /* as it was at a sample, */
	struct stackd_code_mark mark;	   /* what the kernel half has sent of it; */
	bool is_kept;			   /* and the bytes, too */
};

static uint64_t now_ns;

static uint64_t fake_clock(void)
{
	return now_ns;
}

static size_t read_memory(void *arg, pid_t pid, uint64_t address, uint64_t before, uint64_t after,
			  uint8_t *bytes, uint64_t *ret_start)
{
	struct memory *m = arg;
	uint64_t at = address - START, end = at + after < BYTES ? at + after : BYTES;

	m->reads++;
	if (pid != PID || at >= BYTES || m->is_gone)
		return 0;
	at = at > before ? at - before : 0;
	memcpy(bytes, m->bytes + at, end - at);
	*ret_start = START + at;
	return end - at;
}

static uint64_t start_of_memory(void *arg, pid_t pid, uint64_t address)
{
	(void)arg;
	if (pid != PID || address - START >= BYTES)
		return 0;
	return address - START < BYTES / 2 ? START : START + BYTES / 2;
}

static int make_code(struct memory *m, runtime_code_read_fn *read, runtime_code_window_fn *window)
{
	const struct runtime_code_options options = {
		.read = read,
		.start = start_of_memory,
		.window = window,
		.arg = m,
		.clock = fake_clock,
	};

	return runtime_code_new(&options, &m->code);
}

static int setup(void **state)
{
	struct memory *m = calloc(1, sizeof(*m));

	*state = m;
	assert_non_null(m);
	now_ns = 0;
	memset(m->bytes, 0xcc, sizeof(m->bytes));
	memcpy(m->bytes + HERE, function, sizeof(function));
	return make_code(m, read_memory, NULL);
}

static int teardown(void **state)
{
	struct memory *m = *state;

	runtime_code_free(m->code);
	free(m);
	return 0;
}

/* The distance of the CFA from rsp by the rule at a byte of the memory; 0: there is no rule. */
static int distance(struct memory *m, uint64_t at, bool is_return)
{
	struct stackd_rule rule;

	runtime_code_rule(m->code, PID, START + at, is_return, &rule);
	if (rule.cfa == STACKD_CFA_NONE)
		return 0;
	assert_int_equal(rule.cfa, STACKD_CFA_REG);
	assert_int_equal(rule.reg, STACKD_REG_SP);
	return rule.cfa_offset;
}

static void rules_of_functions(void **state)
{
	struct memory *m = *state;

	assert_int_equal(distance(m, HERE, false), 8);
	assert_int_equal(distance(m, HERE + CALL, true), 48);
	assert_int_equal(distance(m, HERE + 13, false), 8);
	assert_int_equal(distance(m, HERE + LEAF, false), 8);
	assert_int_equal(m->reads, 1);
	assert_int_equal(distance(m, HERE + LEAF + 64, false), 0);
	assert_int_equal(m->reads, 2); /* it could be new */
}

static void other_process(void **state)
{
	struct memory *m = *state;
	struct stackd_rule rule;

	runtime_code_rule(m->code, PID + 1, START + HERE, false, &rule);
	assert_int_equal(rule.cfa, STACKD_CFA_NONE);
	runtime_code_rule(m->code, 0, START + HERE, false, &rule);
	assert_int_equal(rule.cfa, STACKD_CFA_NONE);
	assert_int_equal(distance(m, BYTES + 4096, false), 0);
	assert_null(runtime_code_at(m->code, PID, START + BYTES));
}

static void needs_return(void **state)
{
	struct memory *m = *state;

	m->bytes[HERE + 13] = 0xcc; /* instead of its ret */
	assert_int_equal(distance(m, HERE + 4, false), 0);
	assert_int_equal(distance(m, HERE + LEAF, false), 8);
}

static void change(void **state)
{
	struct memory *m = *state;

	assert_int_equal(distance(m, HERE + CALL, true), 48);
	m->bytes[HERE + 3] = m->bytes[HERE + 12] = 0x48;
	assert_int_equal(distance(m, HERE + CALL, true), 48); /* not looked at again so soon */
	runtime_code_tick(m->code);
	assert_int_equal(distance(m, HERE + CALL, true), 80);
	runtime_code_tick(m->code);
	assert_int_equal(distance(m, HERE + CALL, true), 80);
	assert_int_equal(m->reads, 3);
}

/* Code that is added within a tick is known as soon as it is looked for. */
static void added(void **state)
{
	struct memory *m = *state;
	uint64_t other = HERE + 0x4000;

	assert_int_equal(distance(m, HERE + CALL, true), 48);
	assert_int_equal(distance(m, other + CALL, true), 0);
	memcpy(m->bytes + other, function, sizeof(function));
	assert_int_equal(distance(m, other + CALL, true), 48);
	assert_int_equal(distance(m, other + LEAF, false), 8);
	assert_int_equal(distance(m, HERE + CALL, true), 48);
}

/* So are its calls: whether a return address follows one. */
static void changed_within_tick(void **state)
{
	struct memory *m = *state;
	const struct object *object = runtime_code_at(m->code, PID, START + HERE);
	uint8_t byte;

	assert_non_null(object);
	assert_false(runtime_code_has_changed(m->code, PID, START + HERE));
	m->bytes[HERE] = 0xe8;
	assert_true(runtime_code_has_changed(m->code, PID, START + HERE));
	assert_false(runtime_code_has_changed(m->code, PID, START + HERE));
	object = runtime_code_at(m->code, PID, START + HERE);
	assert_int_equal(elf_file_read(object->elf, START + HERE, &byte, 1), 1);
	assert_int_equal(byte, 0xe8);
	assert_false(runtime_code_has_changed(m->code, PID + 1, START + HERE));
}

/* A function that is larger than what is looked at again: sub $40,%rsp; nops; call; nops; add
 * $40,%rsp; ret; int3 ...; a leaf. Another leaf is in front of it. */
#define LARGE_CALL (HERE + 0x1800)
#define LARGE_END  (HERE + 0x3000)

/* Makes the call that of a leaf. */
static void patch(struct memory *m, uint64_t leaf)
{
	uint32_t way = (uint32_t)(leaf - (LARGE_CALL + 5));

	memcpy(m->bytes + LARGE_CALL + 1, &way, sizeof(way));
}

static void put_large_function(struct memory *m)
{
	memcpy(m->bytes + HERE, function, 4);
	memset(m->bytes + HERE + 4, 0x90, LARGE_END - HERE - 4);
	m->bytes[LARGE_CALL] = 0xe8;
	patch(m, LARGE_END + LEAF);
	memcpy(m->bytes + LARGE_END, function + 9, 5);
	m->bytes[LARGE_END + LEAF] = m->bytes[HERE - LEAF] = 0xc3;
}

static void patched_in_large_function(void **state)
{
	struct memory *m = *state;
	const uint64_t call = LARGE_CALL, end = LARGE_END;

	put_large_function(m);
	assert_int_equal(distance(m, call + 4, true), 48);
	patch(m, HERE - LEAF);
	runtime_code_tick(m->code);
	assert_int_equal(distance(m, call + 4, true), 48);
	assert_int_equal(distance(m, call + 64, true), 48);
	assert_int_equal(distance(m, end, true), 48);
}

/* Where code was, there are other bytes, and their rules are gone. */
static void overwritten(void **state)
{
	struct memory *m = *state;
	uint64_t other = HERE + 0x1000;

	memcpy(m->bytes + other, function, sizeof(function));
	memcpy(m->bytes + other + 0x40, function, sizeof(function));
	assert_int_equal(distance(m, other + CALL, true), 48);
	assert_int_equal(distance(m, other + 0x40 + CALL, true), 48);
	memset(m->bytes + other, 0xcc, 0x40);
	runtime_code_tick(m->code);
	assert_int_equal(distance(m, other + CALL, true), 0);
	assert_int_equal(distance(m, other + 0x40 + CALL, true), 48);
	assert_int_equal(distance(m, HERE + CALL, true), 48);
}

/* More changes than windows. */
static void changed_everywhere(void **state)
{
	struct memory *m = *state;

	assert_int_equal(distance(m, HERE + CALL, true), 48);
	for (uint64_t at = 0; at + 0x100 <= BYTES; at += 0x100)
		memcpy(m->bytes + at, function, sizeof(function));
	runtime_code_tick(m->code);
	for (uint64_t at = 0x100; at + 0x100 <= RUNTIME_CODE_CORE; at += 0x100)
		assert_int_equal(distance(m, at + CALL, true), 48);
}

/* Samples of a process's last moment come after its end. */
static void ended(void **state)
{
	struct memory *m = *state;

	assert_int_equal(distance(m, HERE + CALL, true), 48);
	m->is_gone = true;
	runtime_code_tick(m->code);
	assert_int_equal(distance(m, HERE + CALL, true), 48);
	assert_int_equal(distance(m, HERE + RUNTIME_CODE_CORE, true), 0);
}

static void bytes(void **state)
{
	struct memory *m = *state;
	const struct object *object = runtime_code_at(m->code, PID, START + HERE);
	uint8_t byte;

	assert_non_null(object);
	assert_int_equal(elf_file_read(object->elf, START + HERE, &byte, 1), 1);
	assert_int_equal(byte, function[0]);
}

static enum runtime_code_frame frame(struct memory *m, uint64_t at, bool is_return)
{
	return runtime_code_frame(m->code, PID, START + at, is_return);
}

/* Frame pointers lead out of functions that have made their frame by push %rbp, and of others where
 * they stand at a push %rbp or a ret. */
static void bare(void **state)
{
	static const uint8_t with[] = {0x55, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc3};
	struct memory *m = *state;
	uint64_t at = HERE, other = at + 0x40;

	memcpy(m->bytes + HERE + 0x40, with, sizeof(with));
	assert_int_equal(frame(m, at + CALL, true), RUNTIME_CODE_BARE);
	assert_int_equal(frame(m, at, false), RUNTIME_CODE_BARE);
	assert_int_equal(frame(m, at + 13, false), RUNTIME_CODE_FRAMED);
	assert_int_equal(frame(m, other, false), RUNTIME_CODE_FRAMED);
	assert_int_equal(frame(m, other + 1, false), RUNTIME_CODE_FRAMED);
	assert_int_equal(frame(m, other + 4, false), RUNTIME_CODE_FRAMED);
	assert_int_equal(frame(m, other + 4, true), RUNTIME_CODE_FRAMED);
	assert_int_equal(frame(m, other + 6, false), RUNTIME_CODE_FRAMED);
	assert_int_equal(frame(m, at + 0x80, false), RUNTIME_CODE_UNTOLD);
}

/* HotSpot's methods push rbp, and leave it to be that of a caller. */
static void saved_but_not_set(void **state)
{
	static const uint8_t method[] = {0x89, 0x84, 0x24, 0,	 0xc0, 0xfe, 0xff,
					 0x55, 0x48, 0x83, 0xec, 0x10, 0x90, 0x90,
					 0x48, 0x83, 0xc4, 0x10, 0x5d, 0x90, 0xc3};
	struct memory *m = *state;

	memcpy(m->bytes + HERE, method, sizeof(method));
	assert_int_equal(frame(m, HERE, false), RUNTIME_CODE_BARE);
	assert_int_equal(frame(m, HERE + 7, false), RUNTIME_CODE_FRAMED); /* at push %rbp */
	assert_int_equal(frame(m, HERE + 8, false), RUNTIME_CODE_BARE);
	assert_int_equal(frame(m, HERE + 13, false), RUNTIME_CODE_BARE);
	assert_int_equal(frame(m, HERE + 13, true), RUNTIME_CODE_BARE);
	assert_int_equal(frame(m, HERE + 19, false), RUNTIME_CODE_BARE); /* behind pop %rbp */
	assert_int_equal(frame(m, HERE + 20, false), RUNTIME_CODE_FRAMED);
}

/* A method that takes another's place is not told by the old one's bytes, nor one that is new. */
static void written_since(void **state)
{
	static const uint8_t with[] = {0x55, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc3};
	struct memory *m = *state;

	assert_int_equal(frame(m, HERE + 0x84, false), RUNTIME_CODE_UNTOLD);
	assert_int_equal(frame(m, HERE + CALL, true), RUNTIME_CODE_BARE);
	memcpy(m->bytes + HERE + 0x80, with, sizeof(with));
	assert_int_equal(frame(m, HERE + 0x84, false), RUNTIME_CODE_FRAMED);
	m->bytes[HERE + 0x82] = 0x90;
	m->bytes[HERE + 0x81] = 0x90;
	m->bytes[HERE + 0x83] = 0x90;
	assert_int_equal(frame(m, HERE + 0x84, false), RUNTIME_CODE_BARE);
}

static void not_read(void **state)
{
	struct memory *m = *state;

	m->is_gone = true;
	assert_int_equal(frame(m, HERE + CALL, true), RUNTIME_CODE_UNREAD);
}

static size_t read_slowly(void *arg, pid_t pid, uint64_t address, uint64_t before, uint64_t after,
			  uint8_t *bytes, uint64_t *ret_start)
{
	now_ns += RUNTIME_CODE_SAVED_NS;
	return read_memory(arg, pid, address, before, after, bytes, ret_start);
}

static void time_is_bounded(void **state)
{
	struct memory *m = *state;

	runtime_code_free(m->code);
	assert_int_equal(make_code(m, read_slowly, NULL), 0);
	assert_int_equal(distance(m, HERE, false), 8);
	memcpy(m->bytes + 2 * RUNTIME_CODE_CORE, function, sizeof(function));
	assert_int_equal(distance(m, 2 * RUNTIME_CODE_CORE, false), 0);
	assert_int_equal(m->reads, 1);
	runtime_code_tick(m->code);
	assert_int_equal(distance(m, 2 * RUNTIME_CODE_CORE, false), 8);
	assert_int_equal(m->reads, 2);
}

/* What is known holds as long as its bytes are the same. */
static void known_without_time(void **state)
{
	struct memory *m = *state;

	runtime_code_free(m->code);
	assert_int_equal(make_code(m, read_slowly, NULL), 0);
	assert_int_equal(distance(m, HERE + CALL, true), 48);
	now_ns += 1;
	runtime_code_tick(m->code);
	assert_int_equal(distance(m, HERE + CALL, true),
			 48); /* takes all that the tick has brought */
	runtime_code_tick(m->code);
	m->bytes[HERE + 0x1000] = 0x90;
	assert_int_equal(distance(m, HERE + CALL, true), 48);
	m->bytes[HERE + CALL] = 1;
	assert_int_equal(distance(m, HERE + CALL, true), 0);
}

/* Code of which nothing says where it begins: what adds to rsp and returns. */
static void frame_of_exit(void **state)
{
	static const uint8_t end[] = {0xc3, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3};
	struct memory *m = *state;
	struct stackd_rule rule;
	uint64_t at = HERE + 0x101;

	memcpy(m->bytes + at - 1, end, sizeof(end));
	assert_int_equal(distance(m, at, false), 0);
	assert_true(runtime_code_exit(m->code, PID, START + at, &rule));
	assert_int_equal(rule.cfa_offset, 32);
	assert_int_equal(rule.saved[1], -16);
	assert_true(runtime_code_exit(m->code, PID, START + at, &rule));
	/* A function that has called keeps no frame pointer if rsp leads out of it. */
	assert_int_equal(frame(m, at - 1, true), RUNTIME_CODE_BARE);
	assert_int_equal(frame(m, at + 1, false), RUNTIME_CODE_BARE);
	assert_int_equal(frame(m, at + 5, false), RUNTIME_CODE_UNTOLD);
	m->bytes[at + 4] = 0x20;
	runtime_code_tick(m->code);
	assert_true(runtime_code_exit(m->code, PID, START + at, &rule));
	assert_int_equal(rule.cfa_offset, 48);
	m->bytes[at + 6] = 0xcc;
	runtime_code_tick(m->code);
	assert_false(runtime_code_exit(m->code, PID, START + at, &rule));
	assert_false(runtime_code_exit(m->code, PID + 1, START + at, &rule));
}

/* A routine of a file, right behind the memory: one that makes a frame for its caller, and one that
 * releases it, which the caller jumps to. */
static const uint8_t routines[] = {
	0x41, 0x5f, 0x55, 0x48, 0x89,
	0xe5, 0x41, 0x57, 0xc3,	      /* pop r15; push rbp; mov rsp, rbp;
					 push r15; ret */
	0x48, 0x89, 0xec, 0x5d, 0xc3, /* mov rbp, rsp; pop rbp; ret */
};
#define ENTERS	 (START + BYTES)
#define RELEASES (START + BYTES + 9)

static size_t read_routines(void *arg, uint64_t address, uint8_t *bytes, size_t size)
{
	uint64_t at = address - ENTERS;

	(void)arg;
	if (at >= sizeof(routines))
		return 0;
	size = size < sizeof(routines) - at ? size : sizeof(routines) - at;
	memcpy(bytes, routines + at, size);
	return size;
}

static bool no_rule(void *arg, uint64_t address, struct stackd_rule *ret_rule)
{
	(void)arg;
	(void)address;
	(void)ret_rule;
	return false;
}

/* Writes a near call (e8) or jump (e9) at a byte of the memory. */
static void put_near(struct memory *m, uint64_t at, uint8_t opcode, uint64_t target)
{
	const int32_t distance = (int32_t)(target - (START + at + 5));

	m->bytes[at] = opcode;
	memcpy(m->bytes + at + 1, &distance, sizeof(distance));
}

static void frame_of_routines(void **state)
{
	const struct runtime_code_outside outside = {.rule = no_rule, .read = read_routines};
	const uint64_t at = HERE + 0x201, behind = at + 5;
	struct memory *m = *state;
	struct runtime_code_taken taken;
	struct stackd_rule rule;

	put_near(m, at, 0xe8, ENTERS);
	m->bytes[behind] = 0x90;
	put_near(m, behind + 1, 0xe9, RELEASES);
	/* Without the file, nothing is known. */
	assert_false(runtime_code_exit(m->code, PID, START + behind, &rule));
	assert_false(runtime_code_taken(m->code, PID, START + behind, ENTERS, &taken));
	runtime_code_use_outside(m->code, &outside);
	assert_true(runtime_code_exit(m->code, PID, START + behind, &rule));
	assert_true(rule.reg == STACKD_REG_FP && rule.cfa_offset == 16);
	assert_true(runtime_code_exit(m->code, PID, START + at, &rule));
	assert_true(rule.reg == STACKD_REG_SP && rule.cfa_offset == 8);
	for (int i = 0; i < 2; i++) { /* found, and kept */
		assert_true(runtime_code_taken(m->code, PID, START + behind, ENTERS, &taken));
		assert_true(taken.where.reg == STACKD_REG_COUNT && !taken.where.at);
		assert_true(taken.rule.reg == STACKD_REG_SP && taken.rule.cfa_offset == 16);
		assert_true(runtime_code_taken(m->code, PID, START + behind, ENTERS + 2, &taken));
		assert_true(taken.where.reg == 15 && taken.rule.cfa_offset == 8);
	}
	/* Not where the routine has not come to, nor where its address does not lead to it. */
	assert_false(runtime_code_taken(m->code, PID, START + behind, RELEASES, &taken));
	assert_false(runtime_code_taken(m->code, PID, START + behind + 1, ENTERS, &taken));
	runtime_code_end(m->code);
}

/* sub $24,%rsp; mov %rbx,(%rsp); mov %rdi,%rbx; jmp *%rsi */
static void frame_of_entry(void **state)
{
	static const uint8_t entry[] = {0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x1c,
					0x24, 0x48, 0x89, 0xfb, 0xff, 0xe6};
	struct memory *m = *state;
	struct stackd_rule rule;

	assert_false(runtime_code_entry(m->code, PID, START + HERE, &rule));
	memcpy(m->bytes, entry, sizeof(entry));
	runtime_code_tick(m->code);
	assert_true(runtime_code_entry(m->code, PID, START + HERE, &rule));
	assert_int_equal(rule.cfa_offset, 32);
	assert_int_equal(rule.saved[1], -32);
	assert_true(runtime_code_entry(m->code, PID, START + 4, &rule));
	assert_int_equal(rule.saved[1], 0);
	assert_true(runtime_code_entry(m->code, PID, START, &rule));
	assert_int_equal(rule.cfa_offset, 8);
	assert_false(runtime_code_entry(m->code, PID, START + 5, &rule));
	assert_false(runtime_code_entry(m->code, PID, START + BYTES, &rule));
	/* Another mapping of the process. */
	assert_true(runtime_code_entry(m->code, PID, START + BYTES / 2 + HERE, &rule));
	assert_int_equal(rule.cfa_offset, 32);
	assert_false(runtime_code_entry(m->code, PID + 1, START + BYTES / 2 + HERE, &rule));
	m->bytes[11] = 0xc3; /* it returns */
	runtime_code_tick(m->code);
	assert_false(runtime_code_entry(m->code, PID, START + HERE, &rule));
}

/* A file that has the beginning of the memory as its code, behind a page of headers. */
static void make_file(const struct memory *m, size_t len, struct object *ret_object)
{
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	const Elf64_Phdr load = {.p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_offset = 4096,
				 .p_vaddr = 8192,
				 .p_filesz = len,
				 .p_memsz = len};
	uint8_t *image = calloc(1, 4096 + len + 64);

	assert_non_null(image);
	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), &load, sizeof(load));
	memcpy(image + 4096, m->bytes, len);
	memcpy(image + 4096 + len, function, sizeof(function)); /* is no code */
	*ret_object = (struct object){.kind = OBJECT_ELF, .number = 3};
	assert_int_equal(elf_file_open_memory(image, 4096 + len + 64, &ret_object->elf), 0);
	free(image);
}

/* An endless loop has no return, and is called: in a file that is enough. */
static void code_of_a_file(void **state)
{
	static const uint8_t loop[] = {0x55, 0xeb, 0xfe},
			     caller[] = {0xe8, 0xbb, 0xff, 0xff, 0xff, 0xc3};
	struct memory *m = *state;
	struct stackd_rule rule;
	struct object object;

	memcpy(m->bytes + HERE + 64, loop, sizeof(loop));
	memcpy(m->bytes + HERE + 128, caller, sizeof(caller));
	make_file(m, BYTES, &object);
	assert_true(runtime_code_file_rule(m->code, &object, 4096 + HERE + CALL, true, &rule));
	assert_int_equal(rule.cfa_offset, 48);
	assert_true(runtime_code_file_rule(m->code, &object, 4096 + HERE + 13, false, &rule));
	assert_int_equal(rule.cfa_offset, 8);
	assert_true(runtime_code_file_rule(m->code, &object, 4096 + HERE + 65, false, &rule));
	assert_int_equal(rule.cfa_offset, 16);
	assert_true(runtime_code_file_rule(m->code, &object, 4096 + HERE + 80, false, &rule));
	assert_int_equal(rule.cfa, STACKD_CFA_NONE);
	/* Without a rule, code that calls may have a frame pointer. */
	assert_false(runtime_code_file_rule(m->code, &object, 4096 + HERE + 80, true, &rule));
	assert_int_equal(rule.cfa, STACKD_CFA_NONE);
	assert_false(runtime_code_file_rule(m->code, &object, 4095, false, &rule));
	assert_false(runtime_code_file_rule(m->code, &object, 4096 + BYTES, false, &rule));
	/* add $40,%rsp; ret, which `function` ends with. */
	assert_true(runtime_code_file_exit(m->code, &object, 4096 + HERE + 9, &rule));
	assert_int_equal(rule.cfa_offset, 48);
	assert_false(runtime_code_file_exit(m->code, &object, 4096 + HERE + 65, &rule));
	assert_false(runtime_code_file_exit(m->code, &object, 4096 + BYTES, &rule));
	assert_int_equal(m->reads, 0);
	/* The code of a process with the same number. */
	assert_int_equal(distance(m, HERE + 65, false), 0);
	elf_file_free(object.elf);
}

/* As many files as there are pieces: some share a set, and are analysed again when they come back.
 */
static void many_pieces(void **state)
{
	struct memory *m = *state;
	struct stackd_rule rule;
	struct object object;

	memcpy(m->bytes + 0x100, function, sizeof(function));
	make_file(m, 4096, &object);
	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t file = 0; file < RUNTIME_CODE_PIECES; file += 1 + 7 * i) {
			object.number = file;
			assert_true(runtime_code_file_rule(m->code, &object, 4096 + 0x100 + CALL,
							   true, &rule));
			assert_int_equal(rule.cfa_offset, 48);
		}
		runtime_code_tick(m->code);
	}
	elf_file_free(object.elf);
}

/* --- bytes of samples ---------------------------------------------------------------------- */

static bool give_window(void *arg, pid_t pid, const struct stackd_code_mark *mark,
			uint8_t *ret_bytes)
{
	const struct memory *m = arg;

	if (!m->is_kept || pid != PID || memcmp(mark, &m->mark, sizeof(*mark)) != 0)
		return false;
	memcpy(ret_bytes, m->window, sizeof(m->window));
	return true;
}

/* A sample hits the memory as it is now, at an address. */
static void sample(struct memory *m, uint64_t at)
{
	uint64_t from = (at / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE) * STACKD_CODE_BLOCK;
	__u64 words[STACKD_CODE_BLOCK / 8];

	memcpy(m->window, m->bytes + from, sizeof(m->window));
	m->mark.address = START + at;
	for (size_t i = 0; i < STACKD_CODE_BLOCKS; i++) {
		memcpy(words, m->window + i * STACKD_CODE_BLOCK, sizeof(words));
		m->mark.hashes[i] = stackd_code_hash(words);
	}
	runtime_code_begin(m->code, PID, &m->mark, 1);
}

/* Gives the function a frame of other size. */
static void rewrite(struct memory *m, uint8_t size)
{
	m->bytes[HERE + 3] = m->bytes[HERE + 12] = size;
}

/* From now on, bytes of samples are kept. */
static void keep_windows(struct memory *m)
{
	runtime_code_free(m->code);
	assert_int_equal(make_code(m, read_memory, give_window), 0);
}

/* Code that was rewritten since the sample has the rules of the sample, if its bytes were kept;
 * else none. */
static void rewritten_since(void **state)
{
	struct memory *m = *state;

	keep_windows(m);
	for (int turn = 0; turn < 3; turn++) {
		runtime_code_tick(m->code);
		rewrite(m, 0x28);
		sample(m, HERE + CALL + 1);
		rewrite(m, 0x48);
		m->is_kept = false;
		assert_int_equal(runtime_code_is_sampled(m->code, PID, START + HERE + CALL + 1),
				 turn > 0);
		m->is_kept = true;
		runtime_code_begin(m->code, PID, &m->mark, 1);
		assert_true(runtime_code_is_sampled(m->code, PID, START + HERE + CALL + 1));
		assert_int_equal(distance(m, HERE + CALL, true), 48);
		assert_int_equal(distance(m, HERE + LEAF, false), 8);
		assert_false(runtime_code_is_sampled(m->code, PID, START + HERE + 64));
		assert_false(runtime_code_is_sampled(m->code, PID + 1, START + HERE + CALL + 1));
		runtime_code_end(m->code);
		assert_int_equal(distance(m, HERE + CALL, true), 80);
	}
}

/* What lies behind the last block that was read is as it is now, and so is all of it before the
 * first one: a function that begins there is known. */
static void begins_before_the_window(void **state)
{
	struct memory *m = *state;
	uint64_t call = HERE + 0x800;

	keep_windows(m);
	memcpy(m->bytes + HERE, function, 4);
	memset(m->bytes + HERE + 4, 0x90, 0x800 - 4);
	memcpy(m->bytes + call, "\xe8\x07\0\0\0\x48\x83\xc4\x28\xc3\xcc\xcc\xc3", 13);
	m->is_kept = true;
	sample(m, call + 5);
	m->bytes[call + 8] = 0x48;
	assert_int_equal(distance(m, call + 4, true), 48);
	runtime_code_end(m->code);
}

/* A call of a large function was changed before and after the sample: the start of the function and
 * its return, which are far from the sample's bytes, are as they are now. */
static void patched_around_sample(void **state)
{
	struct memory *m = *state;

	keep_windows(m);
	m->is_kept = true;
	put_large_function(m);
	assert_int_equal(distance(m, LARGE_CALL + 4, true), 48);
	patch(m, HERE - LEAF);
	sample(m, LARGE_CALL + 5);
	patch(m, HERE + LEAF);
	assert_int_equal(distance(m, LARGE_CALL + 4, true), 48);
	runtime_code_end(m->code);
}

/* A large function is new since the tick; also if a call of it was changed since the sample. */
static void new_since_tick(void **state)
{
	struct memory *m = *state;

	for (int is_patched = 0; is_patched < 2; is_patched++) {
		keep_windows(m);
		m->is_kept = true;
		memset(m->bytes, 0xcc, sizeof(m->bytes));
		assert_int_equal(distance(m, LARGE_CALL + 4, true), 0);
		put_large_function(m);
		sample(m, LARGE_CALL + 5);
		if (is_patched)
			patch(m, HERE - LEAF);
		assert_int_equal(distance(m, LARGE_CALL + 4, true), 48);
		runtime_code_end(m->code);
	}
}

/* A process that has ended leaves the bytes of its samples alone. */
static void ended_since(void **state)
{
	struct memory *m = *state;

	keep_windows(m);
	m->is_kept = true;
	sample(m, HERE + CALL + 1);
	m->mark.hashes[0] = m->mark.hashes[STACKD_CODE_BLOCKS - 1] = 0; /* of other mappings */
	runtime_code_begin(m->code, PID, &m->mark, 1);
	m->is_gone = true;
	assert_int_equal(distance(m, HERE + CALL, true), 48);
	m->mark.hashes[STACKD_CODE_BEFORE] = 0;
	runtime_code_begin(m->code, PID, &m->mark, 1);
	assert_false(runtime_code_is_sampled(m->code, PID, START + HERE + CALL + 1));
	runtime_code_end(m->code);
}

/* Other functions nearby may have changed: no rule depends on them. Where there is no rule, all
 * that was seen must be there. */
static void changed_elsewhere(void **state)
{
	struct memory *m = *state;

	memcpy(m->bytes + HERE + 128, function, sizeof(function));
	assert_int_equal(distance(m, HERE + CALL, true), 48);
	m->bytes[HERE + 128 + 3] = m->bytes[HERE + 128 + 12] = 0x48;
	sample(m, HERE + CALL + 1);
	m->bytes[HERE + 128 + 3] = m->bytes[HERE + 128 + 12] = 0x38;
	assert_true(runtime_code_is_sampled(m->code, PID, START + HERE + CALL + 1));
	assert_int_equal(distance(m, HERE + CALL, true), 48);
	runtime_code_end(m->code);
	sample(m, HERE + 128 + CALL + 1);
	m->bytes[HERE + 128 + 3] = 0x28;
	assert_false(runtime_code_is_sampled(m->code, PID, START + HERE + 128 + CALL + 1));
	runtime_code_end(m->code);
	m->bytes[HERE] = 0x90;
	sample(m, HERE + 256);
	m->bytes[HERE] = 0x48;
	assert_false(runtime_code_is_sampled(m->code, PID, START + HERE + 256));
	runtime_code_end(m->code);
}

/* There are more versions than are kept: each has the rules of its own bytes. */
static void many_versions(void **state)
{
	uint8_t other[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov $turn,%eax; ret */
	struct memory *m = *state;

	keep_windows(m);
	m->is_kept = true;
	for (int turn = 0; turn < 2 * RUNTIME_CODE_VERSIONS; turn++) {
		memcpy(other + 1, &turn, sizeof(turn));
		memcpy(m->bytes + HERE - 64, other, sizeof(other));
		rewrite(m, (uint8_t)(8 + turn % 14 * 8));
		sample(m, HERE + CALL + 1);
		rewrite(m, 8);
		m->bytes[HERE - 64] = 0x90;
		assert_int_equal(distance(m, HERE + CALL, true), 16 + turn % 14 * 8);
		runtime_code_end(m->code);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(rules_of_functions),
		TEST(other_process),
		TEST(needs_return),
		TEST(change),
		TEST(added),
		TEST(changed_within_tick),
		TEST(patched_in_large_function),
		TEST(overwritten),
		TEST(changed_everywhere),
		TEST(ended),
		TEST(bytes),
		TEST(bare),
		TEST(saved_but_not_set),
		TEST(written_since),
		TEST(not_read),
		TEST(time_is_bounded),
		TEST(known_without_time),
		TEST(frame_of_entry),
		TEST(rewritten_since),
		TEST(begins_before_the_window),
		TEST(patched_around_sample),
		TEST(new_since_tick),
		TEST(ended_since),
		TEST(changed_elsewhere),
		TEST(many_versions),
		TEST(frame_of_exit),
		TEST(frame_of_routines),
		TEST(code_of_a_file),
		TEST(many_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
