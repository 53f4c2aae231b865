/* SPDX-License-Identifier: MIT */
/*
 * The ends of walks and their reasons: stacks that were cut, start code, limits, missing files, and
 * forged stacks; and the cache, over several walks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "cfi_file.h"
#include "walk_self.h"

static struct snapshot snap;
static struct walk_frame frames[SELF_MAX_FRAMES];
static size_t n_frames;

static enum stackd_end_reason walk_with(struct dwarf_walk *walk, const struct walk_input *in)
{
	return dwarf_walk_stack(walk, in, frames, SELF_MAX_FRAMES, &n_frames);
}

static void test_cut_stack(void **state)
{
	struct self_map *map = self_map_new();
	struct walk_input in;
	struct dwarf_walk *walk;
	size_t last = 0, complete, n_complete;

	(void)state;
	recurse(&snap, 40);
	in = snapshot_input(&snap, map);
	in.stack_cut = true;
	complete = in.stack_bytes;
	n_complete = (size_t)snap.n_expected;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	for (size_t bytes = 0; bytes <= complete; bytes += bytes < 8192 ? 8 : 512) {
		enum stackd_end_reason reason;

		in.stack_bytes = bytes;
		reason = walk_with(walk, &in);
		assert_int_equal(reason,
				 n_frames == n_complete ? STACKD_END_ENTRY : STACKD_END_STACK_CUT);
		assert_true(n_frames >= last && n_frames >= 1 && n_frames <= n_complete);
		for (size_t i = 1; i < n_frames; i++)
			assert_int_equal(frames[i].address, snap.expected[i]);
		last = n_frames;
	}
	assert_int_equal(last, n_complete);
	in.stack_bytes = 64;
	in.stack_cut = false;
	assert_int_equal(walk_with(walk, &in), STACKD_END_UNREADABLE);
	/* Beyond the end of a stack that was cut is another stack; else it may be a part of the
	 * same one that has another mapping. */
	in.stack_end = in.regs.r[STACKD_REG_SP] + in.stack_bytes;
	assert_int_equal(walk_with(walk, &in), STACKD_END_UNREADABLE);
	in.stack_cut = true;
	in.stack_end = in.regs.r[STACKD_REG_SP] + complete;
	assert_int_equal(walk_with(walk, &in), STACKD_END_STACK_CUT);
	in.stack_end = in.regs.r[STACKD_REG_SP] + in.stack_bytes;
	assert_int_equal(walk_with(walk, &in), STACKD_END_STACK_SWITCH);
	dwarf_walk_free(walk);
	self_map_free(map);
	snapshot_free(&snap);
}

/* In the start code of the program and of the dynamic linker, whose entry has no CFI: the words
 * on the stack are argc, argv, ..., as the kernel leaves them. */
static void test_start_code(void **state)
{
	struct self_map *map = self_map_new();
	const uint64_t stack[] = {1, (uint64_t)environ, 0, 0};
	struct walk_input in = {.stack = (const uint8_t *)stack,
				.stack_bytes = sizeof(stack),
				.find = self_find,
				.arg = map};
	struct dwarf_walk *walk;
	unsigned tried = 0;

	(void)state;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	for (size_t i = 0; i < map->count; i++) {
		const struct self_mapping *m = &map->mappings[i];
		uint64_t offset, entry;

		if (!m->object->elf || (!strstr(m->object->path, "/ld-linux") && i))
			continue;
		entry = elf_file_entry_vaddr(m->object->elf);
		assert_true(elf_file_vaddr_to_offset(m->object->elf, entry, &offset));
		in.regs.r[STACKD_REG_SP] = (uint64_t)stack;
		in.regs.r[STACKD_REG_PC] = m->start + offset - m->offset;
		for (int k = 0; k < 30; k++, in.regs.r[STACKD_REG_PC]++) {
			assert_int_equal(walk_with(walk, &in), STACKD_END_ENTRY);
			assert_int_equal(n_frames, 1);
		}
		tried++;
	}
	assert_int_equal(tried, 2);
	dwarf_walk_free(walk);
	self_map_free(map);
}

/* The address of a local function by its name, and how far it is to the next one. */
static uint64_t own_function(const struct self_map *map, const char *name, uint64_t *ret_size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_version(EV_CURRENT) ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	uint64_t found = 0, next = UINT64_MAX;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Sym sym;

	while ((scn = elf_nextscn(elf, scn)) && gelf_getshdr(scn, &shdr)) {
		Elf_Data *data = shdr.sh_type == SHT_SYMTAB ? elf_getdata(scn, NULL) : NULL;

		for (int i = 0; data && gelf_getsym(data, i, &sym); i++)
			if (!strcmp(elf_strptr(elf, shdr.sh_link, sym.st_name), name))
				found = sym.st_value;
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++)
			if (GELF_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_value > found &&
			    sym.st_value < next)
				next = sym.st_value;
	}
	assert_true(found && next - found < 100);
	elf_end(elf);
	close(fd);
	*ret_size = next - found;
	assert_true(elf_file_vaddr_to_offset(map->mappings[0].object->elf, found, &found));
	return map->mappings[0].start + found - map->mappings[0].offset;
}

/* The compiler runtime's functions without CFI: they leave the stack alone. */
static void test_tm_clones(void **state)
{
	static const char *const names[] = {"register_tm_clones", "deregister_tm_clones"};
	struct self_map *map = self_map_new();
	uint64_t entry, offset, size, stack[] = {0, 1, (uint64_t)environ, 0, 0};
	struct walk_input in = {.stack = (const uint8_t *)stack,
				.stack_bytes = sizeof(stack),
				.find = self_find,
				.arg = map};
	struct dwarf_walk *walk;

	(void)state;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	entry = elf_file_entry_vaddr(map->mappings[0].object->elf);
	assert_true(elf_file_vaddr_to_offset(map->mappings[0].object->elf, entry, &offset));
	stack[0] = map->mappings[0].start + offset - map->mappings[0].offset + 8;
	in.regs.r[STACKD_REG_SP] = (uint64_t)stack;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t start = own_function(map, names[i], &size);
		const uint8_t *code = (const uint8_t *)start;

		while (size && code[size - 1] != 0xc3) /* filling, after the ret */
			size--;
		assert_true(size > 16);
		for (uint64_t at = 0; at < size; at++) {
			in.regs.r[STACKD_REG_PC] = start + at;
			assert_int_equal(walk_with(walk, &in), STACKD_END_ENTRY);
			assert_int_equal(n_frames, 2);
			assert_int_equal(frames[0].address, start + at);
		}
	}
	dwarf_walk_free(walk);
	self_map_free(map);
}

/* Finds the file that was made by hand, which is mapped at 0x400000. */
static bool made_find(void *arg, uint64_t address, const struct object **ret_object,
		      uint64_t *ret_offset)
{
	if (address - 0x400000 >= sizeof(struct file_image))
		return false;
	*ret_object = arg;
	*ret_offset = address - 0x400000;
	return true;
}

/* Walks from an instruction of a program's start code, which begins with so many bytes of no-ops
 * before its first call. */
static enum stackd_end_reason end_in_start(size_t nops, uint8_t first, size_t at)
{
	const uint64_t stack[] = {1, 0, 0};
	uint8_t code[256];
	struct object object = {.kind = OBJECT_ELF, .path = "made", .number = 1};
	struct walk_input in = {.stack = (const uint8_t *)stack,
				.stack_bytes = sizeof(stack),
				.find = made_find,
				.arg = &object};
	enum stackd_end_reason reason;
	struct dwarf_walk *walk;

	memset(code, 0x90, sizeof(code));
	code[0] = first;
	memcpy(code + nops, "\xe8\x20\0\0\0", 5);
	object.elf = make_file(".text", SHF_ALLOC | SHF_EXECINSTR, code, sizeof(code));
	in.regs.r[STACKD_REG_PC] = 0x400000 + FILE_DATA_OFFSET + at;
	in.regs.r[STACKD_REG_SP] = (uint64_t)stack;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	reason = walk_with(walk, &in);
	dwarf_walk_free(walk);
	elf_file_free((struct elf_file *)object.elf);
	return reason;
}

/* Start code without CFI ends behind its first call, or has 64 bytes. */
static void test_end_of_start_code(void **state)
{
	(void)state;
	assert_int_equal(end_in_start(20, 0x90, 63), STACKD_END_ENTRY);
	assert_int_not_equal(end_in_start(20, 0x90, 64), STACKD_END_ENTRY);
	assert_int_equal(end_in_start(90, 0x90, 94), STACKD_END_ENTRY);
	assert_int_not_equal(end_in_start(90, 0x90, 95), STACKD_END_ENTRY);
	/* a return, or a call too far off */
	assert_int_not_equal(end_in_start(90, 0xc3, 94), STACKD_END_ENTRY);
	assert_int_not_equal(end_in_start(126, 0x90, 100), STACKD_END_ENTRY);
}

static void test_limits(void **state)
{
	struct self_map *map = self_map_new();
	struct walk_input in;
	struct dwarf_walk *walk;
	size_t n;

	(void)state;
	recurse(&snap, 100);
	in = snapshot_input(&snap, map);
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	assert_int_equal(dwarf_walk_stack(walk, &in, frames, 50, &n), STACKD_END_TOO_DEEP);
	assert_int_equal(n, 50);
	n = (size_t)snap.n_expected;
	assert_int_equal(dwarf_walk_stack(walk, &in, frames, n, &n), STACKD_END_ENTRY);
	in.regs.r[STACKD_REG_PC] = 0x1000;
	assert_int_equal(walk_with(walk, &in), STACKD_END_NO_MAPPING);
	assert_int_equal(n_frames, 1);
	assert_null(frames[0].object);
	assert_int_equal(frames[0].offset, 0x1000);
	dwarf_walk_free(walk);
	self_map_free(map);
	snapshot_free(&snap);
}

/* An object whose file could not be read ends the walk, and says so. */
static void test_object_without_file(void **state)
{
	struct self_map *map = self_map_new();
	const struct object *object = NULL;
	struct walk_input in;
	struct dwarf_walk *walk;
	struct elf_file *elf;
	uint64_t offset;

	(void)state;
	take_snapshot_to(&snap, 0);
	in = snapshot_input(&snap, map);
	in.regs.r[STACKD_REG_FP] = 0;
	assert_true(self_find(map, in.regs.r[STACKD_REG_PC], &object, &offset));
	elf = object->elf;
	((struct object *)object)->elf = NULL;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	assert_int_equal(walk_with(walk, &in), STACKD_END_NO_OBJECT);
	((struct object *)object)->elf = elf;
	dwarf_walk_free(walk);
	self_map_free(map);
	snapshot_free(&snap);
}

/* A stack full of one repeated return address, whose frame has no size of its own, ends. */
static void test_hostile_stacks_end(void **state)
{
	struct self_map *map = self_map_new();
	struct dwarf_walk *walk;
	struct walk_input in;
	uint64_t seed = 88172645463325252u;

	(void)state;
	recurse(&snap, 20);
	in = snapshot_input(&snap, map);
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < 8; i++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			snap.stack[seed % snap.stack_bytes] ^= (uint8_t)(seed >> 32);
			in.regs.r[seed >> 40 & 15] = round & 1 ? seed : in.regs.r[seed >> 44 & 15];
		}
		in.regs.r[STACKD_REG_SP] = snap.regs.r[STACKD_REG_SP];
		assert_true((unsigned)walk_with(walk, &in) < STACKD_END_COUNT);
		in.regs = snap.regs;
	}
	dwarf_walk_free(walk);
	self_map_free(map);
	snapshot_free(&snap);
}

static void test_cache(void **state)
{
	struct self_map *map = self_map_new();
	struct dwarf_walk_stats stats;
	struct walk_input in;
	struct dwarf_walk *walk;
	uint64_t misses;

	(void)state;
	recurse(&snap, 100);
	in = snapshot_input(&snap, map);
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	assert_int_equal(walk_with(walk, &in), STACKD_END_ENTRY);
	dwarf_walk_get_stats(walk, &stats);
	misses = stats.cache_misses;
	assert_true(misses < 30);
	assert_int_equal(stats.frames, n_frames);
	assert_int_equal(walk_with(walk, &in), STACKD_END_ENTRY);
	assert_int_equal(n_frames, snap.n_expected);
	for (size_t i = 1; i < n_frames; i++)
		assert_int_equal(frames[i].address, snap.expected[i]);
	dwarf_walk_get_stats(walk, &stats);
	assert_int_equal(stats.cache_misses, misses);
	assert_int_equal(stats.cache_hits, 2 * n_frames - misses);
	dwarf_walk_free(walk);
	self_map_free(map);
	snapshot_free(&snap);
}

/* A word that is no address of code is no frame, wherever it stands in place of a return address.
 */
static void test_garbage_return(void **state)
{
	static const uint64_t words[] = {1, 0x1234567, 0xdead000000000000, UINT64_MAX};
	struct self_map *map = self_map_new();
	uint64_t slots[SELF_MAX_FRAMES], *slot;
	struct walk_input in;
	struct dwarf_walk *walk;
	size_t count;

	(void)state;
	recurse(&snap, 10);
	in = snapshot_input(&snap, map);
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	assert_int_equal(walk_with(walk, &in), STACKD_END_ENTRY);
	count = n_frames;
	for (size_t i = 0; i < count; i++)
		slots[i] = frames[i].slot;
	for (size_t i = 1; i < count; i++) {
		slot = (uint64_t *)(snap.stack + (slots[i] - in.regs.r[STACKD_REG_SP]));
		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
			const uint64_t before = *slot;

			*slot = words[k];
			assert_int_equal(walk_with(walk, &in), STACKD_END_NO_MAPPING);
			*slot = before;
			assert_int_equal(n_frames, i);
			assert_int_equal(frames[i - 1].slot, slots[i - 1]);
		}
	}
	dwarf_walk_free(walk);
	self_map_free(map);
	snapshot_free(&snap);
}

/* Code that is called nowhere in this file: with a rule of call frame information, with one from
 * its instructions, and with none, since ways to its call differ in what they push. */
__asm__(".pushsection .text\n"
	".globl behind_call_told, behind_call_bare, behind_call_odd\n"
	".balign 64\n"
	".type call_told, @function\n"
	"call_told: .cfi_startproc\n"
	"call *%rbx\n"
	"behind_call_told: ret\n"
	".cfi_endproc\n"
	".balign 64\n"
	".type call_bare, @function\n"
	"call_bare: call *%rbx\n"
	"behind_call_bare: ret\n"
	".balign 64\n"
	".type call_odd, @function\n"
	"call_odd: test %eax, %eax\n"
	"jz 1f\n"
	"lea (%rsp,%rax,8), %rsp\n"
	"1: call *%rbx\n"
	"behind_call_odd: jmp *%r12\n"
	".balign 64\n"
	".popsection\n");
extern const char behind_call_told[], behind_call_bare[], behind_call_odd[];

/* How a walk ends behind a call, at a word of 0 that is so far from the stack's end. */
static enum stackd_end_reason end_at_zero(const char *pc, size_t bytes)
{
	static const uint64_t stack[128];
	struct self_map *map = self_map_new();
	struct walk_input in = {.stack = (const uint8_t *)stack,
				.stack_bytes = sizeof(stack),
				.stack_end = (uint64_t)stack + bytes,
				.is_return = true,
				.find = self_find,
				.arg = map};
	enum stackd_end_reason reason;
	struct dwarf_walk *walk;

	in.regs.r[STACKD_REG_SP] = (uint64_t)stack;
	in.regs.r[STACKD_REG_FP] = (uint64_t)stack + 16;
	in.regs.r[STACKD_REG_PC] = (uint64_t)pc;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	reason = walk_with(walk, &in);
	assert_int_equal(n_frames, 1);
	dwarf_walk_free(walk);
	self_map_free(map);
	return reason;
}

/* Code that is entered by jumps runs in the frame of another function, where 0 is any word. */
static void test_zero_proves_nothing_in_bare_code(void **state)
{
	(void)state;
	assert_int_equal(end_at_zero(behind_call_told, 1024), STACKD_END_ENTRY);
	assert_int_equal(end_at_zero(behind_call_bare, 1024), STACKD_END_STACK_SWITCH);
	assert_int_equal(end_at_zero(behind_call_odd, 1024), STACKD_END_NO_RECIPE);
	assert_int_equal(end_at_zero(behind_call_bare, 64), STACKD_END_ENTRY);
	assert_int_equal(end_at_zero(behind_call_odd, 64), STACKD_END_ENTRY);
}

/* --- code made at run time ------------------------------------------------------------------- */

#define MADE_CODE UINT64_C(0x10000)

static bool find_made_code(void *arg, uint64_t address, const struct object **ret_object,
			   uint64_t *ret_offset)
{
	if (address - MADE_CODE >= 4096)
		return false;
	*ret_object = arg;
	*ret_offset = address;
	return true;
}

/* Outer, which has a frame, has called the leaf, which is so far in making its own. The stack has
 * `words`, from the stack pointer on; rbp points to the word `fp`. */
static void assert_outer_found(enum stackd_leaf leaf, const uint64_t *words, size_t n, size_t fp)
{
	struct object made = {.kind = OBJECT_JIT, .path = "[jit]"};
	struct walk_input in = {.stack = (const uint8_t *)words,
				.stack_bytes = n * sizeof(*words),
				.leaf = leaf,
				.find = find_made_code,
				.arg = &made};
	struct dwarf_walk *walk;

	in.regs.r[STACKD_REG_SP] = (uint64_t)words;
	in.regs.r[STACKD_REG_FP] = (uint64_t)&words[fp];
	in.regs.r[STACKD_REG_PC] = MADE_CODE + 0x100;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	assert_int_equal(walk_with(walk, &in), STACKD_END_ENTRY);
	assert_int_equal(n_frames, 2);
	assert_int_equal(frames[1].address, MADE_CODE + 0x20);
	dwarf_walk_free(walk);
}

/* The kernel half has determined from the interrupted code how much of its frame exists. */
static void test_leaf_of_jit_code(void **state)
{
	const uint64_t outer = MADE_CODE + 0x20;
	const uint64_t none[] = {outer, 7, 0, 0};
	uint64_t pushed[] = {0, outer, 7, 0, 0};

	(void)state;
	pushed[0] = (uint64_t)&pushed[3];
	assert_outer_found(STACKD_LEAF_NONE, none, 4, 2);
	assert_outer_found(STACKD_LEAF_PUSHED, pushed, 5, 3);
	assert_outer_found(STACKD_LEAF_MADE, pushed, 5, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_stack),
		cmocka_unit_test(test_garbage_return),
		cmocka_unit_test(test_zero_proves_nothing_in_bare_code),
		cmocka_unit_test(test_start_code),
		cmocka_unit_test(test_tm_clones),
		cmocka_unit_test(test_end_of_start_code),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_object_without_file),
		cmocka_unit_test(test_hostile_stacks_end),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_leaf_of_jit_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
