/* SPDX-License-Identifier: MIT */
/*
 * Walks of the test's own threads, compared with libgcc's unwinder, which shares no code with
 * lib/code/unwind, and with code that is written here for its call chain.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <alloca.h>
#include <libelf.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "walk_self.h"

static struct snapshot snap;
static struct walk_frame frames[SELF_MAX_FRAMES];
static size_t n_frames;

static enum stackd_end_reason walk_with(struct dwarf_walk *walk, const struct walk_input *in)
{
	return dwarf_walk_stack(walk, in, frames, SELF_MAX_FRAMES, &n_frames);
}

/* Walks `snap` with a walker of its own. */
static enum stackd_end_reason walk_snapshot(bool is_cut)
{
	struct self_map *map = self_map_new();
	struct walk_input in = snapshot_input(&snap, map);
	enum stackd_end_reason reason;
	struct dwarf_walk *walk;

	in.stack_cut = is_cut;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	reason = walk_with(walk, &in);
	dwarf_walk_free(walk);
	self_map_free(map);
	for (size_t i = 0; i < n_frames; i++)
		frames[i].object = NULL; /* gone with the map */
	return reason;
}

static void assert_frames_are(const struct snapshot *s)
{
	assert_int_equal(n_frames, s->n_expected);
	for (size_t i = 1; i < n_frames; i++) {
		assert_int_equal(frames[i].address, s->expected[i]);
		assert_false(frames[i].is_guess);
	}
	for (size_t i = 1; i + 1 < n_frames; i++) {
		uint64_t word, at = frames[i].slot - s->regs.r[STACKD_REG_SP];

		assert_true(at + 8 <= s->stack_bytes);
		memcpy(&word, s->stack + at, 8);
		assert_int_equal(word, frames[i].address);
	}
}

/* The snapshot's walk is complete and is libgcc's. */
static void assert_walk_is_right(void)
{
	assert_int_equal(walk_snapshot(false), STACKD_END_ENTRY);
	assert_frames_are(&snap);
	assert_false(frames[0].is_return);
	assert_int_equal(frames[0].slot, 0);
	assert_int_equal(frames[0].address, snap.regs.r[STACKD_REG_PC]);
	snapshot_free(&snap);
}

/* --- shapes of functions ------------------------------------------------------------------- */

static void test_plain(void **state)
{
	(void)state;
	take_snapshot_to(&snap, 0);
	assert_walk_is_right();
}

static void test_recursion(void **state)
{
	(void)state;
	assert_int_equal(recurse(&snap, 2000), 2000);
	assert_true(snap.n_expected > 2000);
	assert_walk_is_right();
}

static __attribute__((noinline)) int with_alloca(size_t bytes)
{
	volatile char *p = alloca((size_t)opaque((int)bytes));

	p[0] = 1;
	if (bytes > 16)
		opaque(with_alloca(bytes / 2));
	else
		take_snapshot_to(&snap, 0);
	return opaque(p[0]);
}

static void test_alloca(void **state)
{
	(void)state;
	with_alloca(4000);
	assert_walk_is_right();
}

/* A frame that is aligned more than its caller's, with a dynamic size: compilers describe it by
 * expressions over rbp. */
static __attribute__((noinline)) int realigned(int depth, int a, int b, int c, int d, int e, int f)
{
	_Alignas(64) volatile char p[64];
	volatile char *q = alloca((size_t)opaque(depth + 8));

	p[depth] = (char)f;
	q[0] = (char)e;
	if (depth)
		opaque(realigned(depth - 1, b, c, d, e, f, a));
	else
		take_snapshot_to(&snap, 0);
	return opaque(p[depth] + q[0]);
}

static void test_realigned(void **state)
{
	(void)state;
	realigned(5, 1, 2, 3, 4, 5, 6);
	assert_walk_is_right();
}

static int compare_and_take(const void *a, const void *b)
{
	if (!snap.stack)
		take_snapshot_to(&snap, 0);
	return *(const int *)a - *(const int *)b;
}

static void test_through_shared_library(void **state)
{
	int numbers[] = {3, 1, 2, 5, 4};

	(void)state;
	qsort(numbers, 5, sizeof(numbers[0]), compare_and_take);
	assert_walk_is_right();
}

static void *thread_main(void *arg)
{
	recurse(&snap, 10);
	return arg;
}

static void test_thread_ends_at_clone(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
	pthread_join(thread, NULL);
	assert_walk_is_right();
}

/* Where the stack is said to end, above or below a thread's outermost frame, says how that frame
 * was found, also if a walk goes on from a caller's frame. */
static void test_root_of_thread(void **state)
{
	static const struct {
		int64_t above;
		enum stackd_root root;
	} ends[] = {{64, STACKD_ROOT_PROVEN}, {8192, STACKD_ROOT_AWAY}, {-64, STACKD_ROOT_CROSSED}};
	struct self_map *map = self_map_new();
	struct dwarf_walk *walk;
	struct walk_input in;
	pthread_t thread;
	uint64_t sp;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
	pthread_join(thread, NULL);
	in = snapshot_input(&snap, map);
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	assert_int_equal(walk_with(walk, &in), STACKD_END_ENTRY);
	sp = frames[n_frames - 1].slot + 8;
	for (int i = 0; i < 2; i++) {
		in.stack_end = (sp + (uint64_t)ends[i].above) | 8; /* at no page's end */
		assert_int_equal(walk_with(walk, &in), STACKD_END_ENTRY);
		assert_int_equal(frames[n_frames - 1].root, ends[i].root);
	}
	in.stack_start = in.regs.r[STACKD_REG_SP];
	in.regs.r[STACKD_REG_SP] = sp;
	in.regs.r[STACKD_REG_PC] = frames[n_frames - 1].address;
	in.known = 1u << STACKD_REG_SP;
	in.is_return = true;
	for (int i = 0; i < 3; i++) {
		in.stack_end = (sp + (uint64_t)ends[i].above) | 8;
		assert_int_equal(walk_with(walk, &in), STACKD_END_ENTRY);
		assert_int_equal(n_frames, 1);
		assert_int_equal(frames[0].root, ends[i].root);
	}
	dwarf_walk_free(walk);
	self_map_free(map);
	snapshot_free(&snap);
}

static ucontext_t main_context, other_context;

static void context_main(void)
{
	take_snapshot_to(&snap,
			 (uint64_t)other_context.uc_stack.ss_sp + other_context.uc_stack.ss_size);
}

static void test_context_ends_at_its_start(void **state)
{
	(void)state;
	getcontext(&other_context);
	other_context.uc_stack.ss_size = 1 << 16;
	other_context.uc_stack.ss_sp = calloc(1, other_context.uc_stack.ss_size);
	other_context.uc_link = &main_context;
	makecontext(&other_context, context_main, 0);
	assert_int_equal(swapcontext(&main_context, &other_context), 0);
	/* libgcc takes uc_link for a return address. */
	if (snap.expected[snap.n_expected - 1] == (uint64_t)&main_context)
		snap.n_expected--;
	assert_walk_is_right();
	free(other_context.uc_stack.ss_sp);
}

/* --- signals ------------------------------------------------------------------------------- */

static uint64_t snapshot_end;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)info;
	take_snapshot_to(&snap, snapshot_end);
	if (number == SIGILL)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* over the ud2 */
}

static void handle(int number, int flags)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

	assert_int_equal(sigaction(number, &action, NULL), 0);
}

static size_t count_interrupted(void)
{
	size_t n = 0;

	for (size_t i = 1; i < n_frames; i++)
		n += !frames[i].is_return;
	return n;
}

static void test_signal(void **state)
{
	(void)state;
	snapshot_end = 0;
	handle(SIGUSR1, 0);
	raise(SIGUSR1);
	assert_walk_is_right();
	assert_int_equal(count_interrupted(), 1);
}

/* A function interrupted at its first instruction, behind one that ends with a call and has
 * another CFA there: looked up at pc - 1, the walk would go wrong. */
__asm__(".text\n"
	".type other_frame, @function\n"
	"other_frame:\n"
	".cfi_startproc\n"
	"subq $1000, %rsp\n"
	".cfi_adjust_cfa_offset 1000\n"
	"call *%rax\n"
	".cfi_endproc\n"
	".globl trap_first\n"
	".type trap_first, @function\n"
	"trap_first:\n"
	".cfi_startproc\n"
	"ud2\n"
	"ret\n"
	".cfi_endproc\n"
	".size trap_first, .-trap_first\n");
void trap_first(void);

static void test_signal_at_first_instruction(void **state)
{
	bool seen = false;

	(void)state;
	snapshot_end = 0;
	handle(SIGILL, 0);
	trap_first();
	assert_walk_is_right();
	for (size_t i = 0; i < n_frames; i++)
		seen |= frames[i].address == (uint64_t)trap_first && !frames[i].is_return;
	assert_true(seen);
}

/* From an alternate stack: what was interrupted is named, but its stack is not in the copy. */
static void test_signal_on_alternate_stack(void **state)
{
	stack_t stack = {.ss_size = 1 << 16}, old;
	bool seen = false;

	(void)state;
	stack.ss_sp = malloc(stack.ss_size);
	assert_int_equal(sigaltstack(&stack, &old), 0);
	snapshot_end = (uint64_t)stack.ss_sp + stack.ss_size;
	handle(SIGILL, SA_ONSTACK);
	trap_first();
	assert_int_equal(walk_snapshot(false), STACKD_END_UNREADABLE);
	assert_true(n_frames >= 3);
	for (size_t i = 0; i < n_frames; i++)
		seen |= frames[i].address == (uint64_t)trap_first && !frames[i].is_return;
	assert_true(seen);
	assert_int_equal(frames[n_frames - 1].address, (uint64_t)trap_first);
	snapshot_free(&snap);
	sigaltstack(&old, NULL);
	free(stack.ss_sp);
}

/* --- code without CFI ---------------------------------------------------------------------- */

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret, without a word of CFI. Before the call two
 * ways meet with different frames, of which one is never taken: so the instructions do not tell the
 * frame. */
__asm__(".text\n"
	".globl without_cfi\n"
	".type without_cfi, @function\n"
	"without_cfi:\n"
	"push %rbp\n"
	"mov %rsp, %rbp\n"
	"test %rsp, %rsp\n"
	"jnz 1f\n"
	"lea 64(%rbp), %rbp\n"
	"lea 64(%rsp), %rsp\n"
	"1: call *%rdi\n"
	"pop %rbp\n"
	"ret\n"
	".size without_cfi, .-without_cfi\n");
void without_cfi(void (*callee)(void));
#define WITHOUT_CFI_BYTES 22

static void take(void)
{
	take_snapshot_to(&snap, 0);
	opaque(0);
}

/* A frame pointer that the step can find, whatever the compiler does with rbp: the alloca of a
 * size that it does not know needs one. */
static __attribute__((noinline)) uint64_t call_through(void (*through)(void (*)(void)))
{
	volatile char *p = alloca((size_t)opaque(16));

	p[0] = 1;
	through(take);
	return opaque(p[0]) ? (uint64_t)__builtin_return_address(0) : 0;
}

/* The frames are take_snapshot, take, `through` at `code`, call_through (guessed), this test. */
static void assert_guessed(uint64_t code, uint64_t caller)
{
	assert_true(n_frames > 6);
	assert_true(frames[2].address - code <= WITHOUT_CFI_BYTES);
	assert_false(frames[2].is_guess);
	assert_true(frames[3].address - (uint64_t)call_through <= 512);
	assert_true(frames[3].is_guess);
	assert_int_equal(frames[4].address, caller);
	assert_false(frames[4].is_guess);
	assert_int_equal(frames[1].provenance, PROVENANCE_CFI);
	assert_int_equal(frames[2].provenance, PROVENANCE_FRAME_POINTER);
	assert_int_equal(frames[3].provenance, PROVENANCE_CFI);
	snapshot_free(&snap);
}

static void test_frame_pointer_step(void **state)
{
	uint64_t caller = call_through(without_cfi);

	(void)state;
	assert_int_equal(walk_snapshot(false), STACKD_END_ENTRY);
	assert_guessed((uint64_t)without_cfi, caller);
}

static void test_frame_pointer_step_from_jit(void **state)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t caller;

	(void)state;
	assert_ptr_not_equal(code, MAP_FAILED);
	memcpy(code, (const void *)without_cfi, WITHOUT_CFI_BYTES);
	caller = call_through((void (*)(void (*)(void)))code);
	assert_int_equal(walk_snapshot(false), STACKD_END_ENTRY);
	munmap(code, 4096);
	assert_guessed((uint64_t)code, caller);
}

/* The same code with a wrong rbp: no step, and the reason is the missing recipe. */
static void test_frame_pointer_is_checked(void **state)
{
	uint64_t slot;

	(void)state;
	call_through(without_cfi);
	assert_int_equal(walk_snapshot(false), STACKD_END_ENTRY);
	slot = frames[3].slot - snap.regs.r[STACKD_REG_SP];
	for (int delta = -1; delta <= 2; delta++) {
		uint64_t word = frames[3].address + (uint64_t)delta;

		memcpy(snap.stack + slot, &word, 8);
		assert_int_equal(walk_snapshot(false),
				 delta ? STACKD_END_NO_RECIPE : STACKD_END_ENTRY);
		assert_int_equal(frames[2].provenance,
				 delta ? PROVENANCE_NONE : PROVENANCE_FRAME_POINTER);
	}
	snapshot_free(&snap);
}

/* The same code when its frame is not made yet, at its first instruction: rbp is its caller's. */
static void test_frame_pointer_at_entry(void **state)
{
	struct self_map *map = self_map_new();
	struct dwarf_walk *walk;
	struct walk_input in;
	uint64_t caller = call_through(without_cfi), slot, word;

	(void)state;
	assert_int_equal(walk_snapshot(false), STACKD_END_ENTRY);
	slot = frames[3].slot - snap.regs.r[STACKD_REG_SP];
	memcpy(&word, snap.stack + slot - 8, 8);
	in = snapshot_input(&snap, map);
	in.regs.r[STACKD_REG_PC] = (uint64_t)without_cfi;
	in.regs.r[STACKD_REG_SP] += slot;
	in.regs.r[STACKD_REG_FP] = word;
	in.stack += slot;
	in.stack_bytes -= slot;
	in.leaf = STACKD_LEAF_NONE;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	assert_int_equal(walk_with(walk, &in), STACKD_END_ENTRY);
	dwarf_walk_free(walk);
	self_map_free(map);
	assert_true(frames[1].address - (uint64_t)call_through <= 512);
	assert_int_equal(frames[2].address, caller);
	snapshot_free(&snap);
}

/* --- procedure linkage table --------------------------------------------------------------- */

/* A sample in a lazy PLT entry, before and after its push: the section's expression decides. */
static void test_plt(void **state)
{
	static uint64_t stack[64];
	struct self_map *map = self_map_new();
	struct walk_input in = {.stack = (uint8_t *)stack, .find = self_find, .arg = map};
	uint64_t plt = 0, size = 0, caller = (uint64_t)test_plt + 8;
	const struct object *object = NULL;
	struct dwarf_walk *walk;
	uint64_t offset = 0, base = 0;
	Elf_Scn *scn = NULL;
	size_t names;

	(void)state;
	assert_true(self_find(map, (uint64_t)test_plt, &object, &offset));
	assert_int_equal(elf_getshdrstrndx(elf_file_libelf(object->elf), &names), 0);
	while ((scn = elf_nextscn(elf_file_libelf(object->elf), scn))) {
		Elf64_Shdr *shdr = elf64_getshdr(scn);
		const char *name = elf_strptr(elf_file_libelf(object->elf), names, shdr->sh_name);

		if (!strcmp(name, ".plt"))
			plt = shdr->sh_addr, size = shdr->sh_size;
	}
	if (size < 32)
		skip(); /* linked without lazy binding */
	assert_true(elf_file_offset_to_vaddr(object->elf, offset, &base));
	plt += (uint64_t)test_plt - base;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	for (unsigned at = 0; at < 16; at++) {
		unsigned pushed = at >= 11;

		if (at != 0 && at != 6 && at != 11)
			continue; /* jmp, push, jmp */
		memset(stack, 0, sizeof(stack));
		stack[pushed] = caller;
		in.stack_bytes = sizeof(stack);
		in.regs.r[STACKD_REG_SP] = (uint64_t)stack;
		in.regs.r[STACKD_REG_PC] = plt + 16 + at;
		walk_with(walk, &in);
		assert_true(n_frames >= 2);
		assert_int_equal(frames[1].address, caller);
		assert_int_equal(frames[1].slot, (uint64_t)&stack[pushed]);
	}
	dwarf_walk_free(walk);
	self_map_free(map);
}

/* Unused call frame information that was trimmed is read again, with the same result. */
static void test_trim(void **state)
{
	struct self_map *map = self_map_new();
	uint64_t offset = 0, start[2], end[2];
	const struct object *object = NULL;
	struct dwarf_walk *walk;

	(void)state;
	assert_true(self_find(map, (uint64_t)test_trim, &object, &offset));
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(dwarf_walk_function(walk, object, offset, &start[i], &end[i]));
		assert_true(start[i] <= offset && offset < end[i]);
		for (int trims = 0; trims < 3; trims++)
			dwarf_walk_trim(walk);
	}
	assert_int_equal(start[0], start[1]);
	assert_int_equal(end[0], end[1]);
	dwarf_walk_free(walk);
	self_map_free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_alloca),
		cmocka_unit_test(test_realigned),
		cmocka_unit_test(test_through_shared_library),
		cmocka_unit_test(test_thread_ends_at_clone),
		cmocka_unit_test(test_root_of_thread),
		cmocka_unit_test(test_context_ends_at_its_start),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_signal_at_first_instruction),
		cmocka_unit_test(test_signal_on_alternate_stack),
		cmocka_unit_test(test_frame_pointer_step),
		cmocka_unit_test(test_frame_pointer_step_from_jit),
		cmocka_unit_test(test_frame_pointer_is_checked),
		cmocka_unit_test(test_frame_pointer_at_entry),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_trim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
