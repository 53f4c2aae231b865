/* SPDX-License-Identifier: MIT */
/*
 * Steps of walks are judged by the code: assembled shapes of calls, callees, tail calls and stubs.
 * None of this code ever runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>

#include "callflow/callflow_step.h"
#include "sym_program.h"
#include "walk_self.h"

/* clang-format off */
__asm__(".pushsection .text\n"
	/* Calls, each with a label behind it: the return address. */
	"call plain\nto_plain: ret; int3\n"
	"call branchy\nto_branchy: ret; int3\n"
	"call tail\nto_tail: ret; int3\n"
	"call *%rax\nto_pointer: ret; int3\n"
	"call *8(%r12,%rax,8)\nto_table: ret; int3\n"
	"call getpid@PLT\nto_import: ret; int3\n"
	"call *getpid@GOTPCREL(%rip)\nto_linked: ret; int3\n"
	"call *constant(%rip)\nto_constant: ret; int3\n"
	"call *variable(%rip)\nto_variable: ret; int3\n"
	"call tail_import\nto_tail_import: ret; int3\n"
	"call dispatch\nto_dispatch: ret; int3\n"
	"call switcher\nto_switch: ret; int3\n"
	"call thunk\nto_thunk: ret; int3\n"
	"call endless\nto_long: ret; int3\n"
	"call middle\nto_middle: ret; int3\n"
	"call trap\nto_trap: ret; int3\n"
	"nop\nno_call: ret\n"
	/* call *0x44332211(%rax,%rbp,8), whose last bytes look like a direct call. */
	".byte 0xff, 0x94, 0xe8, 0x11, 0x22, 0x33, 0x44\nambiguous: ret\n"
	/* What they call. */
	"plain: push %rbx\nplain_in: pop %rbx; ret\n"
	"behind_plain: nop; ret\n"
	"branchy: test %edi, %edi; je 2f; 1: dec %edi; jne 1b\n"
	"call plain\nin_branchy: ret\n"
	"2: jmp branchy_far; .zero 64, 0xcc\n"
	"branchy_far: nop; ret\n"
	"tail: test %edi, %edi; jne tail_2; ret; int3\n"
	"tail_2: add $8, %rsp; jmp plain\n"
	"tail_import: xor %edi, %edi; jmp getpid@PLT\n"
	"dispatch: jmp *%rax\n"
	"switcher: lea 1f(%rip), %rdx; movslq (%rdx,%rdi,4), %rax; add %rdx, %rax; jmp *%rax\n"
	"1: .long 0, 0\nswitch_case: nop; ret\n"
	"thunk: call 2f; 1: pause; lfence; jmp 1b; 2: mov %rax, (%rsp); ret\n"
	"endless: .zero 20000, 0x90; ret\n"
	"middle: sub $8, %rsp; call plain\nin_middle: add $8, %rsp; ret\n"
	"trap: ud2\nbehind_trap: nop; hlt\nbehind_hlt: nop; ret\n"
	".popsection\n"
	".pushsection .data.rel.ro, \"aw\"\nconstant: .quad plain\n.popsection\n"
	".pushsection .data\nvariable: .quad plain\n.popsection\n");
/* clang-format on */
extern const char to_constant[], to_variable[];
extern const char to_plain[], to_branchy[], to_tail[], to_pointer[], to_table[], to_import[],
	to_linked[], to_tail_import[], to_dispatch[], to_switch[], to_thunk[], to_long[],
	to_middle[], to_trap[], no_call[], ambiguous[], plain[], plain_in[], behind_plain[],
	in_branchy[], branchy_far[], tail_2[], switch_case[], in_middle[], behind_trap[],
	behind_hlt[];

static struct self_map *map;
static struct callflow_reach *reach;
static struct object libraries[4]; /* each test its own: answers are kept for an object */
static size_t library_count;

static int set_up(void **state)
{
	(void)state;
	map = self_map_new();
	return map && !callflow_reach_new(&reach) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	callflow_reach_free(reach);
	self_map_free(map);
	return 0;
}

/* The byte that is `back` bytes before a label. */
static struct callflow_location location_of(const char *label, uint64_t back)
{
	struct callflow_location location = {0};

	assert_true(self_find(map, (uint64_t)label - back, &location.object, &location.offset));
	return location;
}

/* The verdict on a frame at a program counter, or before a return address, whose caller returns to
 * `to`. */
static enum callflow_step step_of(const char *to, const char *callee, bool is_return)
{
	return callflow_step_check(
		reach, &(struct callflow_step_pair){.caller = location_of(to, 1),
						    .callee = location_of(callee, is_return)});
}

static enum callflow_step step(const char *to, const char *callee)
{
	return step_of(to, callee, false);
}

/* Code of the C library. */
static const char *libc_code(void)
{
	return (const char *)(uintptr_t)dlsym(RTLD_DEFAULT, "getpid");
}

static void direct_calls(void **state)
{
	(void)state;
	assert_int_equal(step(to_plain, plain), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step(to_plain, plain_in), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step(to_plain, behind_plain), CALLFLOW_STEP_WRONG);
	assert_int_equal(step(to_plain, tail_2), CALLFLOW_STEP_WRONG);
	assert_int_equal(step(to_plain, libc_code()), CALLFLOW_STEP_WRONG);
}

static void flow_within_the_callee(void **state)
{
	(void)state;
	assert_int_equal(step_of(to_branchy, in_branchy, true), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step(to_branchy, branchy_far), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step_of(to_branchy, branchy_far, true), CALLFLOW_STEP_WRONG);
}

/* to_middle calls middle, which calls plain: a step that misses middle's frame is wrong. */
static void skipped_frame(void **state)
{
	(void)state;
	assert_int_equal(step_of(to_middle, in_middle, true), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step(in_middle, plain_in), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step(to_middle, plain_in), CALLFLOW_STEP_WRONG);
}

static void tail_calls(void **state)
{
	(void)state;
	assert_int_equal(step(to_tail, tail_2), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step(to_tail, plain_in), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step(to_tail, branchy_far), CALLFLOW_STEP_WRONG);
}

static void indirect_calls(void **state)
{
	(void)state;
	assert_int_equal(step(to_pointer, plain), CALLFLOW_STEP_PROBABLE);
	assert_int_equal(step(to_table, libc_code()), CALLFLOW_STEP_PROBABLE);
	assert_int_equal(step(ambiguous, plain), CALLFLOW_STEP_PROBABLE);
}

/* Another function begins at the return address. */
static enum callflow_step doubted_step(const char *to, const char *callee)
{
	return callflow_step_check(reach,
				   &(struct callflow_step_pair){.caller = location_of(to, 1),
								.callee = location_of(callee, 0),
								.is_doubted = true});
}

static void calls_in_doubt(void **state)
{
	(void)state;
	assert_int_equal(doubted_step(to_plain, plain_in), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(doubted_step(to_dispatch, plain), CALLFLOW_STEP_PROBABLE);
	assert_int_equal(doubted_step(to_import, libc_code()), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(doubted_step(to_pointer, plain), CALLFLOW_STEP_WRONG);
	assert_int_equal(doubted_step(to_linked, libc_code()), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(doubted_step(to_linked, plain), CALLFLOW_STEP_WRONG);
	assert_int_equal(step(to_linked, plain), CALLFLOW_STEP_PROBABLE);
	/* a word that the program cannot change holds what its relocation says */
	assert_int_equal(doubted_step(to_constant, plain_in), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(doubted_step(to_constant, tail_2), CALLFLOW_STEP_WRONG);
	assert_int_equal(doubted_step(to_variable, plain_in), CALLFLOW_STEP_WRONG);
}

static void indirect_jumps(void **state)
{
	(void)state;
	assert_int_equal(step(to_dispatch, plain), CALLFLOW_STEP_PROBABLE);
	assert_int_equal(step(to_dispatch, libc_code()), CALLFLOW_STEP_PROBABLE);
	assert_int_equal(step(to_switch, switch_case), CALLFLOW_STEP_PROBABLE);
	assert_int_equal(step(to_thunk, plain), CALLFLOW_STEP_PROBABLE);
}

static void linkage_stubs(void **state)
{
	(void)state;
	assert_int_equal(step(to_import, libc_code()), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step(to_tail_import, libc_code()), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step(to_import, plain), CALLFLOW_STEP_WRONG);
	assert_int_equal(step(to_tail_import, plain), CALLFLOW_STEP_WRONG);
}

/* Links a library, which the caller frees, that calls functions of its own and of others through
 * its linkage table. */
static struct object *link_library(const char *options)
{
	struct object *library = &libraries[library_count++];
	char folder[] = "/tmp/stackd-step-XXXXXX", command[640];
	int fd;

	assert_non_null(mkdtemp(folder));
	snprintf(command, sizeof(command),
		 "cd %s && printf '%%s\\n' '.text' '.globl leaf, other' '.type leaf,@function' "
		 "'.type other,@function' 'call leaf@PLT' 'to_leaf: ret' 'call far@PLT' "
		 "'to_far: ret' 'leaf: nop' 'ret' 'other: nop' 'ret' '.size leaf, 2' "
		 "'.size other, 2' > own.s && gcc -shared -nostdlib %s -o own.so own.s",
		 folder, options);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "%s/own.so", folder);
	fd = open(command, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	library->number = 1000 + (uint32_t)library_count;
	library->path = (char *)"own.so";
	assert_int_equal(elf_file_open(fd, &library->elf), 0);
	close(fd);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
	return library;
}

/* The verdict on a frame in a library whose caller is in it, too, and returns to `to`. */
static enum callflow_step step_in(const struct object *library, const char *to, uint64_t callee)
{
	const struct callflow_step_pair pair = {
		.caller = {library, program_offset(library->elf, to) - 1},
		.callee = {library, callee},
	};

	return callflow_step_check(reach, &pair);
}

/* A library's calls of its own functions go through its linkage table, too. */
static void own_linkage_stubs(void **state)
{
	struct object *library = link_library("");

	(void)state;
	assert_int_equal(step_in(library, "to_leaf", program_offset(library->elf, "leaf")),
			 CALLFLOW_STEP_CONFIRMED);
	/* Another file may have a function of that name. */
	assert_int_equal(step_in(library, "to_leaf", program_offset(library->elf, "other")),
			 CALLFLOW_STEP_PROBABLE);
	elf_file_free(library->elf);
}

static uint64_t offset_of_section(const struct elf_file *file, const char *name)
{
	Elf *elf = elf_file_libelf(file);
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		assert_non_null(gelf_getshdr(scn, &header));
		if (!strcmp(elf_strptr(elf, names, header.sh_name), name))
			return header.sh_offset;
	}
	fail_msg("no section %s", name);
	return 0;
}

/* Byte `at` of an entry, of 16 bytes, of a section of the linkage table. */
static uint64_t in_entry(const struct elf_file *file, const char *section, size_t entry,
			 uint64_t at)
{
	return offset_of_section(file, section) + 16 * entry + at;
}

/* Until a symbol is bound, the call leads through the stub's lazy half and the table's first entry
 * to the resolver, which is in another file, as the function is to which it jumps. `push_at` is
 * where the lazy half pushes, and `jump_at` where it jumps on. */
static void check_unbound(const struct object *library, const char *stubs, uint64_t push_at,
			  uint64_t jump_at)
{
	const struct callflow_step_pair to_resolver = {
		.caller = {library, program_offset(library->elf, "to_far") - 1},
		.callee = location_of(libc_code(), 0),
	};
	bool is_second = strcmp(stubs, ".plt") != 0;
	size_t confirmed = 0;

	assert_int_equal(callflow_step_check(reach, &to_resolver), CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step_in(library, "to_far", in_entry(library->elf, ".plt", 0, 0)),
			 CALLFLOW_STEP_CONFIRMED);
	assert_int_equal(step_in(library, "to_far", in_entry(library->elf, ".plt", 0, 6)),
			 CALLFLOW_STEP_CONFIRMED);
	/* The linker chooses which entry is that of which function: one is the call's. */
	for (size_t entry = 1; entry <= 2; entry++) {
		uint64_t push = in_entry(library->elf, ".plt", entry, push_at);
		uint64_t jump = in_entry(library->elf, ".plt", entry, jump_at);
		uint64_t stub = in_entry(library->elf, stubs, entry - is_second, 0);
		enum callflow_step verdict = step_in(library, "to_far", stub);

		assert_int_equal(step_in(library, "to_far", push), verdict);
		assert_int_equal(step_in(library, "to_far", jump), verdict);
		assert_true(verdict == CALLFLOW_STEP_CONFIRMED || verdict == CALLFLOW_STEP_WRONG);
		confirmed += verdict == CALLFLOW_STEP_CONFIRMED;
	}
	assert_int_equal(confirmed, 1);
	assert_int_equal(step_in(library, "to_far", program_offset(library->elf, "other")),
			 CALLFLOW_STEP_WRONG);
}

static void unbound_stubs(void **state)
{
	struct object *library = link_library("-Wl,-z,lazy");

	(void)state;
	check_unbound(library, ".plt", 6, 11);
	elf_file_free(library->elf);
	library = link_library("-Wl,-z,lazy,-z,ibtplt");
	check_unbound(library, ".plt.sec", 4, 9);
	elf_file_free(library->elf);
}

/* Symbols are bound before the library runs: the table has no lazy halves. */
static void bound_stubs(void **state)
{
	struct object *library = link_library("-Wl,-z,now");

	(void)state;
	assert_int_equal(step_in(library, "to_far", program_offset(library->elf, "other")),
			 CALLFLOW_STEP_WRONG);
	elf_file_free(library->elf);
}

static void flow_ends(void **state)
{
	(void)state;
	assert_int_equal(step(to_trap, behind_trap), CALLFLOW_STEP_WRONG);
	assert_int_equal(step(to_trap, behind_hlt), CALLFLOW_STEP_WRONG);
}

static void search_is_bounded(void **state)
{
	(void)state;
	assert_int_equal(step(to_long, branchy_far), CALLFLOW_STEP_PROBABLE);
	assert_int_equal(step(to_plain, plain_in), CALLFLOW_STEP_CONFIRMED); /* nothing is left */
	assert_int_equal(step(to_plain, behind_plain), CALLFLOW_STEP_WRONG);
}

/* Only the start of a stack may be put there by hand, as makecontext() does. */
static void no_call_before(void **state)
{
	struct callflow_step_pair pair = {.caller = location_of(no_call, 1),
					  .callee = location_of(plain, 0)};

	(void)state;
	assert_int_equal(callflow_step_check(reach, &pair), CALLFLOW_STEP_WRONG);
	pair.is_entry = true;
	assert_int_equal(callflow_step_check(reach, &pair), CALLFLOW_STEP_PROBABLE);
}

/* JIT code, and files that could not be opened; and a file that ends there. */
static void unreadable_code(void **state)
{
	const struct object jit = {.number = 99, .kind = OBJECT_JIT};
	struct callflow_step_pair pair = {.caller = {&jit, 0x1000},
					  .callee = location_of(plain, 0)};

	(void)state;
	assert_int_equal(callflow_step_check(reach, &pair), CALLFLOW_STEP_UNCHECKED);
	pair.caller = location_of(to_plain, 1);
	pair.caller.offset = UINT32_MAX;
	assert_int_equal(callflow_step_check(reach, &pair), CALLFLOW_STEP_UNCHECKED);
	pair.caller = location_of(to_pointer, 1);
	pair.callee = (struct callflow_location){&jit, 0x1000};
	assert_int_equal(callflow_step_check(reach, &pair), CALLFLOW_STEP_PROBABLE);
	pair.caller = location_of(to_plain, 1);
	assert_int_equal(callflow_step_check(reach, &pair), CALLFLOW_STEP_WRONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(direct_calls),	     cmocka_unit_test(flow_within_the_callee),
		cmocka_unit_test(skipped_frame),     cmocka_unit_test(tail_calls),
		cmocka_unit_test(indirect_calls),    cmocka_unit_test(calls_in_doubt),
		cmocka_unit_test(indirect_jumps),    cmocka_unit_test(linkage_stubs),
		cmocka_unit_test(own_linkage_stubs), cmocka_unit_test(unbound_stubs),
		cmocka_unit_test(bound_stubs),	     cmocka_unit_test(flow_ends),
		cmocka_unit_test(search_is_bounded), cmocka_unit_test(no_call_before),
		cmocka_unit_test(unreadable_code),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
