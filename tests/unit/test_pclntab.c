/* SPDX-License-Identifier: MIT */
/*
 * pclntab and go_rules: tables of each version made here, with every function, value and line
 * known; tables that lie; and the rules that stack deltas come to in a made ELF file.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/go/go_rules.h"
#include "runtime/go/go_stack.h"
#include "runtime/go/pclntab.h"
#include "sym/symbolizer.h"
#include "unwind/recipe.h"

#define TEXT	   UINT64_C(0x401000)
#define CODE_BYTES 0x100
#define TABLE_AT   0x2000 /* in the made file; its vaddr is 0x400000 more */
#define FUNCTIONS  5
#define ROUNDS	   20000

/* A table while it is written. */
struct made {
	uint8_t bytes[2048];
	size_t size;
	int version; /* 12, 116, 118 or 120 */
	size_t functions;
};

static void put(struct made *m, uint64_t word, size_t bytes)
{
	assert_true(m->size + bytes <= sizeof(m->bytes));
	memcpy(m->bytes + m->size, &word, bytes);
	m->size += bytes;
}

static void put_at(struct made *m, size_t at, uint64_t word, size_t bytes)
{
	memcpy(m->bytes + at, &word, bytes);
}

static size_t put_bytes(struct made *m, const char *bytes, size_t len)
{
	size_t at = m->size;

	assert_true(m->size + len <= sizeof(m->bytes));
	memcpy(m->bytes + m->size, bytes, len);
	m->size += len;
	return at;
}

/* Names of the functions, each of 0x20 bytes. The second has a frame of 24 bytes from its fifth
 * byte to its last but one. */
static const char *const names[FUNCTIONS] = {
	"runtime.goexit.abi0",		"main.work", "runtime.systemstack",
	"runtime.sigreturn__sigaction", "main.main",
};

/* Deltas: 0 for 4 bytes, 24 for 0x1b, 0 for 1. Zig-zag: -1 to 0 is 2. */
static const char deltas[] = "\x02\x04\x30\x1b\x2f\x01\0";
static const char files[] = "\x04\x20\0";	  /* 1 */
static const char lines[] = "\x16\x08\x02\x18\0"; /* 10, then 11 */

/* Writes the parts behind the header; offsets are from the table's start for Go 1.2. */
static void put_parts(struct made *m, size_t header)
{
	size_t base[5] = {0}, name[FUNCTIONS], value[3], first, list, record;
	int has_parts = m->version != 12;
	size_t word = m->version >= 118 ? 4 : 8;

	base[0] = m->size;
	put(m, 0, 1);
	for (int i = 0; i < FUNCTIONS; i++)
		name[i] = put_bytes(m, names[i], strlen(names[i]) + 1);
	base[1] = m->size; /* units: two files */
	put(m, UINT32_MAX, 4);
	put(m, 1, 4);
	base[2] = m->size;
	first = put_bytes(m, "\0/src/work.go", 14) + 1;
	base[3] = m->size;
	put(m, 0, 1);
	value[0] = put_bytes(m, deltas, sizeof(deltas) - 1);
	value[1] = put_bytes(m, files, sizeof(files) - 1);
	value[2] = put_bytes(m, lines, sizeof(lines) - 1);
	base[4] = list = has_parts ? m->size : 16;
	m->functions = list;
	for (int i = 0; i < 5 && has_parts; i++)
		put_at(m, header + 8 * (size_t)i, base[i], 8);
	if (has_parts)
		m->size += (2 * FUNCTIONS + 1) * word;
	for (size_t i = 0; i <= FUNCTIONS; i++)
		put_at(m, list + 2 * i * word, (word == 4 ? 0 : TEXT) + 0x20 * i, word);
	if (!has_parts) { /* files: the number, then offsets of names */
		put_at(m, list + (2 * FUNCTIONS + 1) * word, m->size, 4);
		put(m, 1, 4);
		put(m, first, 4);
	}
	for (size_t i = 0; i < FUNCTIONS; i++) {
		record = m->size;
		put_at(m, list + (2 * i + 1) * word, has_parts ? record - list : record, word);
		put(m, (word == 4 ? 0 : TEXT) + 0x20 * i, word);
		put(m, name[i] - (has_parts ? base[0] : 0), 4);
		put(m, 0, 8);
		for (int k = 0; k < 3; k++)
			put(m, i == 1 ? value[k] - (has_parts ? base[3] : 0) : 0, 4);
		put(m, 0, 4);
		if (has_parts)
			put(m, 0, 4); /* unit */
		if (m->version >= 120)
			put(m, 10, 4);
		put(m, i + 1, 4); /* id */
	}
}

static struct made make(int version)
{
	struct made m = {.version = version};
	uint32_t magic = version == 12	  ? 0xfffffffb
			 : version == 116 ? 0xfffffffa
			 : version == 118 ? 0xfffffff0
					  : 0xfffffff1;
	size_t header;

	put(&m, magic, 4);
	put(&m, 0x08010000, 4);
	put(&m, FUNCTIONS, 8);
	if (version == 12) {
		m.size += (2 * FUNCTIONS + 1) * 8 + 4;
		put_parts(&m, 0);
		return m;
	}
	put(&m, 1, 8);
	if (version >= 118)
		put(&m, TEXT, 8);
	header = m.size;
	m.size += 40;
	put_parts(&m, header);
	return m;
}

static const int versions[] = {12, 116, 118, 120};
#define VERSIONS (sizeof(versions) / sizeof(*versions))

/* --- reading --------------------------------------------------------------------------------- */

static void check_values(const struct pclntab *t, const struct pclntab_function *f)
{
	static const struct {
		uint64_t start, end;
		int32_t value;
	} expected[] = {{0x20, 0x24, 0}, {0x24, 0x3f, 24}, {0x3f, 0x40, 0}};
	struct pclntab_values v = pclntab_values_begin(t, f, f->pcsp);
	uint64_t start, end;
	int32_t value;
	size_t n = 0;

	while (pclntab_values_next(&v, &start, &end, &value)) {
		assert_true(n < 3);
		assert_int_equal(start, TEXT + expected[n].start);
		assert_int_equal(end, TEXT + expected[n].end);
		assert_int_equal(value, expected[n++].value);
	}
	assert_int_equal(n, 3);
	assert_false(v.is_broken);
}

static void reads_every_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < VERSIONS; i++) {
		struct made m = make(versions[i]);
		struct pclntab_function f;
		struct pclntab *t;
		const char *file;
		uint32_t line;

		assert_int_equal(pclntab_open(m.bytes, m.size, TEXT, &t), 0);
		assert_int_equal(pclntab_count(t), FUNCTIONS);
		for (size_t k = 0; k < FUNCTIONS; k++) {
			assert_true(pclntab_find(t, TEXT + 0x20 * k + 0x1f, &f));
			assert_string_equal(f.name, names[k]);
			assert_int_equal(f.start, TEXT + 0x20 * k);
			assert_int_equal(f.end, TEXT + 0x20 * k + 0x20);
			assert_int_equal(f.id, k + 1);
		}
		assert_false(pclntab_find(t, TEXT - 1, &f));
		assert_false(pclntab_find(t, TEXT + 0x20 * FUNCTIONS, &f));
		assert_true(pclntab_find(t, TEXT + 0x20, &f));
		check_values(t, &f);
		assert_true(pclntab_line(t, &f, TEXT + 0x27, &file, &line));
		assert_string_equal(file, "/src/work.go");
		assert_int_equal(line, 10);
		assert_true(pclntab_line(t, &f, TEXT + 0x28, &file, &line));
		assert_int_equal(line, 11);
		pclntab_free(t);
	}
}

/* --- lies ------------------------------------------------------------------------------------ */

/* Reads all that a table has. */
static void exhaust(const struct pclntab *t)
{
	for (size_t i = 0; i < pclntab_count(t); i++) {
		struct pclntab_function f;
		const char *file;
		uint32_t line;

		if (!pclntab_get(t, i, &f))
			continue;
		assert_true(f.start <= f.end);
		if (f.name)
			assert_true(strlen(f.name) < sizeof(struct made));
		pclntab_line(t, &f, f.start + 1, &file, &line);
	}
}

static void survives_damage(void **state)
{
	uint64_t random = 88172645463325252;

	(void)state;
	for (size_t round = 0; round < ROUNDS; round++) {
		struct made m = make(versions[round % VERSIONS]);
		struct pclntab *t;

		for (int i = 0; i < 3; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			m.bytes[8 + random % (m.size - 8)] = (uint8_t)(random >> 32);
		}
		if (round % 3 == 0)
			m.size = random % m.size;
		if (pclntab_open(m.bytes, m.size, TEXT, &t))
			continue;
		exhaust(t);
		pclntab_free(t);
	}
}

static void refuses_lies(void **state)
{
	struct made m = make(120);
	struct pclntab *t;

	(void)state;
	for (size_t size = 0; size < m.functions; size++)
		assert_int_equal(pclntab_open(m.bytes, size, TEXT, &t), -EINVAL);
	put_at(&m, m.functions + 8, 0x1000, 4); /* the second function behind the others */
	assert_int_equal(pclntab_open(m.bytes, m.size, TEXT, &t), -EINVAL);
	m = make(120);
	put_at(&m, 8, UINT64_MAX / 4, 8);
	assert_int_equal(pclntab_open(m.bytes, m.size, TEXT, &t), -EINVAL);
	m = make(120);
	m.bytes[7] = 4; /* the pointers of a 32-bit program */
	assert_int_equal(pclntab_open(m.bytes, m.size, TEXT, &t), -EINVAL);
}

/* A value that holds for no byte would let a function's values go on for ever. */
static void ends_values_that_do_not_lead_on(void **state)
{
	struct made m = make(118);
	struct pclntab_function f;
	struct pclntab_values v;
	uint64_t start, end;
	struct pclntab *t;
	uint8_t *at = memmem(m.bytes, m.size, deltas, sizeof(deltas) - 1);
	int32_t value;

	(void)state;
	at[3] = 0;
	assert_int_equal(pclntab_open(m.bytes, m.size, 0, &t), 0);
	assert_true(pclntab_get(t, 1, &f));
	v = pclntab_values_begin(t, &f, f.pcsp);
	assert_true(pclntab_values_next(&v, &start, &end, &value));
	assert_false(pclntab_values_next(&v, &start, &end, &value));
	assert_true(v.is_broken);
	pclntab_free(t);
}

/* --- rules ----------------------------------------------------------------------------------- */

/* A file without section headers: code at 0x1000, the table in another program header. */
static uint8_t *make_file(const struct made *m, const char *prologue, size_t *ret_size)
{
	size_t size = TABLE_AT + m->size;
	uint8_t *bytes = calloc(1, size);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)bytes;
	Elf64_Phdr *phdr = (Elf64_Phdr *)(ehdr + 1);

	assert_non_null(bytes);
	memcpy(ehdr->e_ident, ELFMAG "\2\1\1", SELFMAG + 3);
	ehdr->e_type = ET_EXEC;
	ehdr->e_machine = EM_X86_64;
	ehdr->e_version = EV_CURRENT;
	ehdr->e_ehsize = sizeof(*ehdr);
	ehdr->e_phoff = sizeof(*ehdr);
	ehdr->e_phentsize = sizeof(*phdr);
	ehdr->e_phnum = 2;
	phdr[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_offset = 0x1000,
			       .p_vaddr = TEXT,
			       .p_filesz = CODE_BYTES,
			       .p_memsz = CODE_BYTES};
	phdr[1] = (Elf64_Phdr){.p_type = PT_LOAD,
			       .p_flags = PF_R,
			       .p_offset = TABLE_AT,
			       .p_vaddr = 0x400000 + TABLE_AT,
			       .p_filesz = m->size,
			       .p_memsz = m->size};
	memset(bytes + 0x1000, 0x90, CODE_BYTES);
	memcpy(bytes + 0x1024, prologue, strlen(prologue));
	memcpy(bytes + TABLE_AT, m->bytes, m->size);
	*ret_size = size;
	return bytes;
}

static struct recipe_table *compile(int version, const char *prologue)
{
	struct made m = make(version);
	struct recipe_table *table;
	struct elf_file *file;
	size_t size;
	uint8_t *bytes = make_file(&m, prologue, &size);

	assert_int_equal(elf_file_open_memory(bytes, size, &file), 0);
	assert_int_equal(recipe_compile(file, &table), 0);
	elf_file_free(file);
	free(bytes);
	return table;
}

static void check_rule(const struct recipe_table *t, uint64_t at, int cfa, int offset, int rbp)
{
	const struct stackd_rule *rule = recipe_lookup(t, 0x1000 + at);

	assert_int_equal(rule->cfa, cfa);
	assert_int_equal(rule->cfa_offset, offset);
	assert_int_equal(rule->saved[0], rbp);
	if (cfa == STACKD_CFA_REG) {
		assert_int_equal(rule->reg, STACKD_REG_SP);
		assert_int_equal(rule->ra_offset, -8);
	}
}

static void makes_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < VERSIONS; i++) {
		/* mov %rbp,16(%rsp) where the frame has been made */
		struct recipe_table *t = compile(versions[i], "\x48\x89\x6c\x24\x10");

		check_rule(t, 0x00, STACKD_CFA_END, 0, 0);
		check_rule(t, 0x1f, STACKD_CFA_END, 0, 0);
		check_rule(t, 0x20, STACKD_CFA_REG, 8, 0);
		check_rule(t, 0x24, STACKD_CFA_REG, 32, 0);
		check_rule(t, 0x28, STACKD_CFA_REG, 32, 0);
		check_rule(t, 0x29, STACKD_CFA_REG, 32, -16);
		check_rule(t, 0x3e, STACKD_CFA_REG, 32, -16);
		check_rule(t, 0x3f, STACKD_CFA_REG, 8, 0);
		check_rule(t, 0x40, STACKD_CFA_SWITCH, 0, 0);
		check_rule(t, 0x5e, STACKD_CFA_SWITCH, 0, 0);
		check_rule(t, 0x5f, STACKD_CFA_SIGNAL, 40, 0); /* found by the byte before it */
		check_rule(t, 0x7f, STACKD_CFA_SIGNAL, 40, 0);
		check_rule(t, 0x80, STACKD_CFA_REG, 8, 0); /* no deltas: no-ops, by analysis */
		assert_int_equal(recipe_table_stats(t)->refused[RECIPE_REFUSED_RUNTIME_TABLE], 0);
		recipe_table_free(t);
	}
}

/* A function that keeps its rsp in r12 or rbx while it is on the thread's stack; a stack that it
 * may be below. Without the instruction, the walk ends there. */
static void follows_borrowed_stacks(void **state)
{
	static const char *const code[] = {"\x90\x49\x89\xe4", "\x90\x48\x89\xe3",
					   "\x90\x49\x89\xe5"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct made m = make(120);
		struct recipe_table *t;
		struct elf_file *file;
		size_t size;
		uint8_t *bytes;

		memcpy(memmem(m.bytes, m.size, "main.work", 9), "time.now\0", 9);
		bytes = make_file(&m, code[i], &size);
		assert_int_equal(elf_file_open_memory(bytes, size, &file), 0);
		assert_int_equal(recipe_compile(file, &t), 0);
		if (i < 2) {
			const struct stackd_rule *rule = recipe_lookup(t, 0x1028);

			check_rule(t, 0x22, STACKD_CFA_REG, 8, 0);
			check_rule(t, 0x27, STACKD_CFA_REG, 32, 0);
			check_rule(t, 0x28, STACKD_CFA_OTHER, 32, 0);
			check_rule(t, 0x3f, STACKD_CFA_OTHER, 32, 0);
			assert_int_equal(rule->reg, i ? 3 : 12);
		} else {
			check_rule(t, 0x22, STACKD_CFA_SWITCH, 0, 0);
			check_rule(t, 0x3f, STACKD_CFA_SWITCH, 0, 0);
		}
		recipe_table_free(t);
		elf_file_free(file);
		free(bytes);
	}
}

/* Where the code does not say that rbp is saved, no rule does. */
static void is_certain_of_rbp(void **state)
{
	struct recipe_table *t = compile(120, "\x48\x89\x6c\x24\x18");

	(void)state;
	check_rule(t, 0x30, STACKD_CFA_REG, 32, 0);
	recipe_table_free(t);
}

/* Go's table has the deltas of the stack that a function loads: its rules hold behind
 * mov 56(%rax),%rsp, too. */
static void knows_the_loaded_stack(void **state)
{
	(void)state;
	for (size_t i = 0; i < VERSIONS; i++) {
		struct recipe_table *t = compile(versions[i], "\x48\x8b\x60\x38\x90\x90\xc3");

		check_rule(t, 0x27, STACKD_CFA_REG, 32, 0);
		check_rule(t, 0x28, STACKD_CFA_REG, 32, 0);
		check_rule(t, 0x2a, STACKD_CFA_REG, 32, 0);
		recipe_table_free(t);
	}
}

/* A stripped program's functions and lines have their names. */
static void names_code(void **state)
{
	struct symbolizer_options options = {.with_lines = true};
	struct made m = make(120);
	struct symbolizer_object *object;
	struct symbolizer_frame frame;
	struct symbolizer *sym;
	struct elf_file *file;
	size_t size;
	uint8_t *bytes = make_file(&m, "", &size);

	(void)state;
	assert_int_equal(elf_file_open_memory(bytes, size, &file), 0);
	assert_ptr_equal(runtime_of_file(file), runtimes[STACKD_RUNTIME_GO]);
	assert_int_equal(symbolizer_new(&options, &sym), 0);
	assert_int_equal(symbolizer_object_new(sym, file, NULL, &object), 0);
	assert_int_equal(symbolizer_resolve(object, 0x1028, &frame, 1), 1);
	assert_string_equal(frame.function, "main.work");
	assert_string_equal(frame.file, "/src/work.go");
	assert_int_equal(frame.start, 0x1020);
	assert_int_equal(frame.line, 11);
	assert_int_equal(symbolizer_resolve(object, 0x1000 + 0x20 * FUNCTIONS, &frame, 1), 0);
	symbolizer_free(sym);
	elf_file_free(file);
	free(bytes);
}

static void knows_the_runtime(void **state)
{
	(void)state;
	assert_int_equal(go_stack_of("runtime.goexit"), GO_STACK_OUTERMOST);
	assert_int_equal(go_stack_of("runtime.mstart.abi0"), GO_STACK_OUTERMOST);
	assert_int_equal(go_stack_of("runtime.mstart1"), GO_STACK_USUAL);
	assert_int_equal(go_stack_of("_rt0_amd64_linux"), GO_STACK_OUTERMOST);
	assert_int_equal(go_stack_of("_rt0_amd64_linux_lib"), GO_STACK_USUAL);
	assert_int_equal(go_stack_of("time.now"), GO_STACK_BORROWS);
	assert_int_equal(go_stack_of("runtime.nanotime1.abi0"), GO_STACK_BORROWS);
	assert_int_equal(go_stack_of("runtime.vgetrandom1"), GO_STACK_BORROWS);
	assert_int_equal(go_stack_of("racecall"), GO_STACK_BORROWS);
	assert_int_equal(go_stack_of("runtime.mcall"), GO_STACK_MCALL);
	assert_int_equal(go_stack_of("runtime.asmcgocall.abi0"), GO_STACK_ASMCGOCALL);
	assert_int_equal(go_stack_of("runtime.systemstack"), GO_STACK_SYSTEMSTACK);
	assert_int_equal(go_stack_of("runtime.morestack"), GO_STACK_MORESTACK);
	assert_int_equal(go_stack_of("runtime.morestack_noctxt"), GO_STACK_USUAL);
	assert_int_equal(go_stack_of("gogo"), GO_STACK_GOGO);
	assert_int_equal(go_stack_of("runtime.gogo.abi0"), GO_STACK_GOGO);
	assert_int_equal(go_stack_of("runtime.cgocallback"), GO_STACK_CGOCALLBACK);
	assert_int_equal(go_stack_of("runtime.schedule"), GO_STACK_SCHEDULER);
	assert_int_equal(go_stack_of("runtime.asyncPreempt"), GO_STACK_INJECTED);
	assert_int_equal(go_stack_of("runtime.cgocallbackg"), GO_STACK_USUAL);
	assert_int_equal(go_stack_of("main.systemstack"), GO_STACK_USUAL);
	assert_int_equal(go_stack_of("runtime."), GO_STACK_USUAL);
	assert_int_equal(go_stack_of(NULL), GO_STACK_USUAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_version),
		cmocka_unit_test(survives_damage),
		cmocka_unit_test(refuses_lies),
		cmocka_unit_test(ends_values_that_do_not_lead_on),
		cmocka_unit_test(makes_rules),
		cmocka_unit_test(is_certain_of_rbp),
		cmocka_unit_test(knows_the_loaded_stack),
		cmocka_unit_test(follows_borrowed_stacks),
		cmocka_unit_test(knows_the_runtime),
		cmocka_unit_test(names_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
