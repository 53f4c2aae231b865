/* SPDX-License-Identifier: MIT */
/* Finds the functions of a file that keep a tag, and the code in them where the tag is not theirs,
 * in small libraries that are assembled while this runs, and in damaged copies of them. */
#include "sym_program.h"

#include <errno.h>

#include "base/hash.h"
#include "callgraph/tagged_functions.h"

/* `kept` sets its tag, calls, and gives it back; its cold part stands elsewhere. `left` is left
 * out, `root` begins chains, `other` is in no list. */
static const char code[] = "	.text\n"
			   "kept:	.cfi_startproc\n"
			   "	push	%rbx\n"
			   "	mov	%fs:0, %rbx\n"
			   "	mov	%rax, %fs:0\n"
			   "kept_in:	nop\n"
			   "	call	root\n"
			   "kept_back:	mov	%rbx, %fs:0\n"
			   "	pop	%rbx\n"
			   "kept_end:	ret\n"
			   "	.cfi_endproc\n"
			   "left:	.cfi_startproc\n	nop\n	ret\n	.cfi_endproc\n"
			   "root:	.cfi_startproc\n	nop\n	ret\n	.cfi_endproc\n"
			   "other:	.cfi_startproc\n	nop\n	ret\n	.cfi_endproc\n"
			   "	.type kept.cold, @function\n"
			   "kept.cold:	.cfi_startproc\n"
			   "kept_cold_in:	nop\n	ud2\n	.cfi_endproc\n"
			   "	.size kept.cold, . - kept.cold\n"
			   "	.type kept, @function\n	.type left, @function\n"
			   "	.type root, @function\n	.type other, @function\n"
			   "	.globl	left, root, other\n"
			   "	.data\n	.balign 8\n"
			   "word:	.quad 0\n";

static const char note[] = "	.section .note.stacktag, \"a\", @note\n	.balign 4\n"
			   "	.long 9, 16, 1\n	.asciz \"stacktag\"\n	.balign 4\n"
			   "1:	.long %u, 0\n	.quad word - 1b\n";

static const char list[] =
	"	.macro record name, id, flags\n"
	"	.long 56\n	.value 1, \\flags\n	.quad \\id, \\name, 0\n"
	"	.asciz \"\\name\"\n	.asciz \"src/a.c\"\n	.balign 8\n"
	"	.zero 56 - (40 + 8)\n"
	"	.endm\n"
	"	.section .btloc, \"\", @progbits\n"
	"	record root, 33, 4\n	record kept, 11, 1\n	record left, 22, 2\n";

static struct elf_file *assemble(const char *name, const char *more, const char *options)
{
	char text[4096], source[64];

	snprintf(text, sizeof(text), "%s%s", code, more);
	snprintf(source, sizeof(source), "%s.s", name);
	program_write(source, text);
	assert_int_equal(program_shell("gcc -nostdlib -shared %s -Wl,-Bsymbolic -o %s %s", options,
				       name, source),
			 0);
	return program_open(name);
}

static uint64_t vaddr_of(const struct elf_file *file, const char *symbol)
{
	uint64_t vaddr = 0;

	assert_true(elf_file_offset_to_vaddr(file, program_offset(file, symbol), &vaddr));
	return vaddr;
}

static void listed_functions_are_found(void **state)
{
	struct elf_file *file = assemble("listed.so", list, "");
	struct tagged_functions *functions = NULL;
	struct tagged_code code = {0};

	(void)state;
	assert_int_equal(tagged_functions_new(file, &functions), 0);
	assert_true(tagged_functions_find(functions, vaddr_of(file, "kept_in"), &code));
	assert_int_equal(code.id, 11);
	assert_int_equal(code.entry, vaddr_of(file, "kept"));
	assert_int_equal(code.start, code.entry);
	assert_int_equal(code.end, vaddr_of(file, "left"));
	assert_false(code.is_root);
	assert_true(tagged_functions_find(functions, vaddr_of(file, "root"), &code));
	assert_int_equal(code.id, 33);
	assert_true(code.is_root);
	assert_true(tagged_functions_find(functions, vaddr_of(file, "kept_cold_in"), &code));
	assert_int_equal(code.id, 11);
	assert_int_equal(code.entry, vaddr_of(file, "kept"));
	assert_int_equal(code.start, vaddr_of(file, "kept.cold"));
	assert_false(tagged_functions_find(functions, vaddr_of(file, "left"), &code));
	assert_false(tagged_functions_find(functions, vaddr_of(file, "other"), &code));
	assert_false(tagged_functions_find(functions, 0, &code));
	assert_false(tagged_functions_find(functions, UINT64_MAX, &code));
	tagged_functions_free(functions);
	elf_file_free(file);
}

static void windows_cover_tag_changes(void **state)
{
	struct elf_file *file = assemble("windows.so", list, "");
	struct tagged_functions *functions = NULL;

	(void)state;
	assert_int_equal(tagged_functions_new(file, &functions), 0);
	assert_true(tagged_functions_is_window(functions, vaddr_of(file, "kept")));
	assert_false(tagged_functions_is_window(functions, vaddr_of(file, "kept_in")));
	assert_true(tagged_functions_is_window(functions, vaddr_of(file, "kept_back")));
	assert_true(tagged_functions_is_window(functions, vaddr_of(file, "kept_end")));
	assert_false(tagged_functions_is_window(functions, 0));
	tagged_functions_free(functions);
	elf_file_free(file);
}

static void check_hooked(const struct elf_file *file)
{
	struct tagged_functions *functions = NULL;
	struct tagged_code code;
	uint64_t at = program_offset(file, "other");

	assert_int_equal(tagged_functions_new(file, &functions), 0);
	assert_true(tagged_functions_find(functions, vaddr_of(file, "other") + 1, &code));
	assert_int_equal(code.entry, vaddr_of(file, "other"));
	assert_int_equal(tagged_functions_file_id(file), elf_file_id(file));
	assert_int_equal(code.id, hash_mix64(hash_mix64(elf_file_id(file)) + at));
	assert_false(tagged_functions_find(functions, vaddr_of(file, "left"), &code));
	assert_false(tagged_functions_is_runtime(functions, vaddr_of(file, "other")));
	tagged_functions_free(functions);
}

/* Without a list, all functions count of a file that calls the runtime, but for where it starts. */
static void hooked_files_have_no_list(void **state)
{
	struct elf_file *file = assemble("hooked.so", "	.text\n	jmp __cyg_profile_func_exit\n",
					 "-Wl,--build-id,-e,left");

	(void)state;
	check_hooked(file);
	elf_file_free(file);
}

/* A static program holds the runtime, whose functions keep no tag. */
static void runtime_is_not_hooked(void **state)
{
	static const char hooks[] = "	.text\n	.globl __cyg_profile_func_enter\n"
				    "	.type __cyg_profile_func_enter, @function\n"
				    "__cyg_profile_func_enter:	.cfi_startproc\n"
				    "	ret\n	.cfi_endproc\n";
	struct tagged_functions *functions = NULL;
	struct tagged_code code;
	struct elf_file *file;
	char text[1024];
	uint64_t at;

	(void)state;
	snprintf(text, sizeof(text), note, 1);
	strcat(text, hooks);
	file = assemble("static.so", text, "-Wl,--build-id,-e,left");
	check_hooked(file);
	assert_int_equal(tagged_functions_new(file, &functions), 0);
	at = vaddr_of(file, "__cyg_profile_func_enter");
	assert_true(tagged_functions_is_runtime(functions, at));
	assert_false(tagged_functions_find(functions, at, &code));
	tagged_functions_free(functions);
	elf_file_free(file);
}

/* ...whose id is then that of its program headers. */
static void files_without_build_id_have_an_id(void **state)
{
	struct elf_file *one = assemble("one.so", "", "-Wl,--build-id=none");
	struct elf_file *two =
		assemble("two.so", "	.text\n	.zero 5000\n", "-Wl,--build-id=none");
	uint8_t bytes[sizeof(Elf64_Phdr) * 32];
	uint64_t hash = 0;
	Elf64_Ehdr header;

	(void)state;
	assert_int_equal(elf_file_read(one, 0, &header, sizeof(header)), sizeof(header));
	assert_true(header.e_phnum >= 1 && header.e_phnum <= 32);
	assert_int_equal(
		elf_file_read(one, header.e_phoff, bytes, header.e_phnum * sizeof(Elf64_Phdr)),
		header.e_phnum * sizeof(Elf64_Phdr));
	for (size_t i = 0; i < header.e_phnum * sizeof(Elf64_Phdr); i++)
		hash = hash_mix64(hash + bytes[i] + 1);
	assert_int_equal(tagged_functions_file_id(one), hash);
	assert_int_not_equal(tagged_functions_file_id(two), hash);
	elf_file_free(one);
	elf_file_free(two);
}

static void ordinary_files_keep_none(void **state)
{
	struct elf_file *file = assemble("ordinary.so", "", "");
	struct tagged_functions *functions = NULL;
	uint64_t word;

	(void)state;
	assert_int_equal(tagged_functions_new(file, &functions), -ENODATA);
	assert_null(functions);
	assert_false(tagged_functions_note(file, &word));
	tagged_functions_free(NULL);
	elf_file_free(file);
}

static void note_gives_address(void **state)
{
	struct elf_file *file;
	char text[512];
	uint64_t word = 0;

	(void)state;
	snprintf(text, sizeof(text), note, 1);
	file = assemble("noted.so", text, "");
	assert_true(tagged_functions_note(file, &word));
	assert_int_equal(word, vaddr_of(file, "word"));
	elf_file_free(file);
	snprintf(text, sizeof(text), note, 2); /* of a later version */
	file = assemble("later.so", text, "");
	assert_false(tagged_functions_note(file, &word));
	elf_file_free(file);
}

/* Reads everything of a damaged file. */
static void ask(const struct elf_file *file)
{
	struct tagged_functions *functions = NULL;
	struct tagged_code code;
	uint64_t word;

	tagged_functions_note(file, &word);
	tagged_functions_file_id(file);
	if (tagged_functions_new(file, &functions))
		return;
	for (uint64_t vaddr = 0; vaddr < 0x3000; vaddr += 61) {
		if (tagged_functions_find(functions, vaddr, &code))
			assert_true(code.start <= vaddr && vaddr < code.end);
		tagged_functions_is_window(functions, vaddr);
		tagged_functions_is_runtime(functions, vaddr);
	}
	tagged_functions_free(functions);
}

static void damaged_files_are_harmless(void **state)
{
	struct elf_file *file, *damaged;
	char text[2048], path[256];
	uint8_t *image, *copy;
	uint64_t random = 1;
	size_t len;
	FILE *f;

	(void)state;
	snprintf(text, sizeof(text), note, 1);
	strcat(text, list);
	file = assemble("damaged.so", text, "");
	elf_file_free(file);
	snprintf(path, sizeof(path), "%s/damaged.so", program_dir);
	f = fopen(path, "rb");
	assert_non_null(f);
	image = malloc(1 << 20);
	copy = malloc(1 << 20);
	assert_true(image && copy);
	len = fread(image, 1, 1 << 20, f);
	fclose(f);
	for (int round = 0; round < 400; round++) {
		size_t left = round % 4 ? len : hash_mix64(random) % len;

		memcpy(copy, image, len);
		for (int i = 0; i < 1 + round % 12; i++) {
			random = hash_mix64(random + 1);
			copy[random % len] = (uint8_t)(random >> 40);
		}
		if (elf_file_open_memory(copy, left, &damaged))
			continue;
		ask(damaged);
		elf_file_free(damaged);
	}
	free(image);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listed_functions_are_found),
		cmocka_unit_test(windows_cover_tag_changes),
		cmocka_unit_test(hooked_files_have_no_list),
		cmocka_unit_test(runtime_is_not_hooked),
		cmocka_unit_test(files_without_build_id_have_an_id),
		cmocka_unit_test(ordinary_files_keep_none),
		cmocka_unit_test(note_gives_address),
		cmocka_unit_test(damaged_files_are_harmless),
	};

	return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
