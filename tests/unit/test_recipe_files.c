/* SPDX-License-Identifier: MIT */
/* Recipes of real files against libdw, and of ELF files that are odd or damaged. The files are
 * those of this machine and copies that this test makes of itself with changes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cfi_asm.h"
#include "damage.h"
#include "recipe_judge.h"

/* --- real files ---------------------------------------------------------------------------- */

static void judge_path(const char *path)
{
	struct elf_file *file;
	struct recipe_table *table;
	struct judge j;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	assert_int_equal(recipe_compile_cfi(file, &table), 0);
	judge_file(&j, file, table);
	print_message("%s: %llu addresses, %llu left to the daemon, %llu wrong\n", path,
		      (unsigned long long)judge_total(&j),
		      (unsigned long long)j.counts[JUDGE_DAEMON],
		      (unsigned long long)judge_wrong(&j));
	for (int i = JUDGE_DAEMON + 1; i < JUDGE_COUNT; i++) {
		if (j.counts[i])
			fail_msg("%s at 0x%llx", judge_kind_name(i),
				 (unsigned long long)j.first[i]);
	}
	assert_true(judge_total(&j) > 100);
	assert_true(j.counts[JUDGE_DAEMON] * 1000 < judge_total(&j));
	recipe_table_free(table);
	elf_file_free(file);
}

static int judge_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = info->dlpi_name;
	int *judged = arg;

	(void)size;
	if (name[0] == '/' && (strstr(name, "/libc.so") || strstr(name, "/ld-linux") ||
			       strstr(name, "/libelf") || strstr(name, "/libz."))) {
		judge_path(name);
		++*judged;
	}
	return 0;
}

static void test_own_libraries(void **state)
{
	int judged = 0;

	(void)state;
	judge_path("/proc/self/exe");
	dl_iterate_phdr(judge_loaded, &judged);
	assert_true(judged >= 3);
}

/* The return trampoline of signal handlers is somewhere in the C library. */
static void test_signal_trampoline(void **state)
{
	struct elf_file *file;
	struct recipe_table *table;
	const struct stackd_rule *rules;
	size_t count;
	int signal = 0, fd;
	Dl_info info;

	(void)state;
	assert_int_not_equal(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info), 0);
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	assert_int_equal(recipe_compile(file, &table), 0);
	rules = recipe_table_rules(table, &count);
	for (size_t i = 0; i < count; i++)
		signal += rules[i].cfa == STACKD_CFA_SIGNAL && rules[i].cfa_offset == 40;
	assert_int_equal(signal, 1);
	recipe_table_free(table);
	elf_file_free(file);
}

/* --- files that are made here -------------------------------------------------------------- */

static int memory_file(void)
{
	int fd = memfd_create("recipe", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static struct recipe_table *compile_fd(int fd)
{
	struct elf_file *file;
	struct recipe_table *table;

	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_int_equal(recipe_compile(file, &table), 0);
	elf_file_free(file);
	return table;
}

static struct recipe_table *compile_bytes(const uint8_t *bytes, size_t size)
{
	int fd = memory_file();
	struct recipe_table *table;

	assert_int_equal(write(fd, bytes, size), size);
	table = compile_fd(fd);
	close(fd);
	return table;
}

static struct recipe_table *compile_cfi(const uint8_t *bytes, size_t size)
{
	struct recipe_table *table;
	struct elf_file *file;

	assert_int_equal(elf_file_open_memory(bytes, size, &file), 0);
	assert_int_equal(recipe_compile_cfi(file, &table), 0);
	elf_file_free(file);
	return table;
}

/* A file without section headers has the same rows: .eh_frame is found by its segment. */
static void test_no_section_headers(void **state)
{
	size_t size, count, stripped_count;
	uint8_t *bytes = damage_load_self(&size);
	Elf64_Ehdr *header = (void *)bytes;
	struct recipe_table *table = compile_cfi(bytes, size), *stripped;
	const struct stackd_row *rows = recipe_table_rows(table, &count), *stripped_rows;

	(void)state;
	header->e_shoff = 0;
	header->e_shnum = header->e_shstrndx = 0;
	stripped = compile_cfi(bytes, size);
	stripped_rows = recipe_table_rows(stripped, &stripped_count);
	assert_true(count > 100);
	assert_int_equal(stripped_count, count);
	assert_memory_equal(stripped_rows, rows, count * sizeof(*rows));
	recipe_table_free(table);
	recipe_table_free(stripped);
	free(bytes);
}

static Elf64_Shdr *find_header(uint8_t *bytes, const char *name)
{
	Elf64_Ehdr *header = (void *)bytes;
	Elf64_Shdr *sections = (void *)(bytes + header->e_shoff);
	const char *names = (void *)(bytes + sections[header->e_shstrndx].sh_offset);

	for (int i = 0; i < header->e_shnum; i++) {
		if (!strcmp(names + sections[i].sh_name, name))
			return &sections[i];
	}
	fail_msg("no section %s", name);
	return NULL;
}

static void assert_refused(const uint8_t *bytes, size_t size, enum recipe_refusal why)
{
	struct recipe_table *table = compile_bytes(bytes, size);

	assert_int_equal(recipe_table_stats(table)->fdes, 0);
	assert_int_equal(recipe_table_stats(table)->refused[why], 1);
	recipe_table_free(table);
}

static void test_forged_section(void **state)
{
	size_t size;
	uint8_t *bytes = damage_load_self(&size);
	Elf64_Shdr *shdr = find_header(bytes, ".eh_frame");
	uint64_t true_size = shdr->sh_size;
	struct recipe_table *table;

	(void)state;
	shdr->sh_size = size;
	assert_refused(bytes, size, RECIPE_REFUSED_SECTION_READ);
	table = compile_bytes(bytes, size); /* instead, all code is analysed */
	assert_true(recipe_table_stats(table)->analysed_rows > 100);
	recipe_table_free(table);
	shdr->sh_size = UINT64_MAX - 4;
	assert_refused(bytes, size, RECIPE_REFUSED_SECTION_SIZE);
	shdr->sh_size = true_size;
	shdr->sh_offset = UINT64_MAX - 16;
	assert_refused(bytes, size, RECIPE_REFUSED_SECTION_READ);
	shdr->sh_flags |= SHF_COMPRESSED;
	shdr->sh_offset = 0; /* an ELF header is no compression header */
	assert_refused(bytes, size, RECIPE_REFUSED_SECTION_READ);
	free(bytes);
}

static void assert_headers_lie(const uint8_t *bytes, size_t size, bool do_lie)
{
	struct recipe_table *table = compile_bytes(bytes, size);

	assert_int_equal(recipe_table_stats(table)->refused[RECIPE_REFUSED_SECTION_HEADERS],
			 do_lie);
	recipe_table_free(table);
}

static void test_forged_section_headers(void **state)
{
	size_t size;
	uint8_t *bytes = damage_load_self(&size);
	Elf64_Ehdr *header = (void *)bytes;
	Elf64_Shdr *shdr = find_header(bytes, ".eh_frame");
	uint32_t name = shdr->sh_name;

	(void)state;
	assert_headers_lie(bytes, size, false);
	shdr->sh_name = UINT32_MAX;
	assert_headers_lie(bytes, size, true);
	shdr->sh_name = name;
	header->e_shoff = size - 64;
	assert_headers_lie(bytes, size, true);
	free(bytes);
}

/* Numbers that are too large for the file header are in section 0 (gABI, "Extended Section
 * Header"); a file with fewer sections may use that, too. */
static void test_extended_section_numbers(void **state)
{
	size_t size;
	uint8_t *bytes = damage_load_self(&size);
	Elf64_Ehdr *header = (void *)bytes;
	Elf64_Shdr *first = (void *)(bytes + header->e_shoff);
	struct recipe_table *table = compile_bytes(bytes, size);
	uint64_t fdes = recipe_table_stats(table)->fdes;

	(void)state;
	recipe_table_free(table);
	first->sh_size = header->e_shnum;
	first->sh_link = header->e_shstrndx;
	header->e_shnum = 0;
	header->e_shstrndx = SHN_XINDEX;
	/* Only section headers can lead to it. */
	for (int i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr *p = (Elf64_Phdr *)(bytes + header->e_phoff) + i;

		if (p->p_type == PT_GNU_EH_FRAME)
			p->p_type = PT_NULL;
	}
	table = compile_bytes(bytes, size);
	assert_int_equal(recipe_table_stats(table)->fdes, fdes);
	recipe_table_free(table);
	assert_headers_lie(bytes, size, false);
	first->sh_link = UINT32_MAX;
	assert_headers_lie(bytes, size, true);
	free(bytes);
}

/* The names of the sections of the files that are made below. */
static const char section_names[] = "\0.debug_frame\0.shstrtab";

/* A file with nothing but one executable segment and a .debug_frame, as Go's linker compresses
 * it; the caller frees. `pretend` is the size that the compression header gives. */
static uint8_t *make_compressed(const struct cfi_asm *a, uint64_t pretend, size_t *ret_size)
{
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = CFI_ASM_OFFSET,
		.p_vaddr = CFI_ASM_CODE,
		.p_filesz = CFI_ASM_BYTES,
		.p_memsz = CFI_ASM_BYTES,
	};
	Elf64_Chdr chdr = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = pretend, .ch_addralign = 8};
	Elf64_Shdr sections[3] = {
		[1] = {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_COMPRESSED},
		[2] = {.sh_name = 14, .sh_type = SHT_STRTAB, .sh_size = sizeof(section_names)},
	};
	uLongf packed = compressBound(a->b.len);
	uint8_t *bytes = calloc(1, 4096 + packed), *at = bytes + sizeof(header) + sizeof(segment);

	assert_int_equal(compress(at + sizeof(chdr), &packed, a->b.data, a->b.len), Z_OK);
	memcpy(at, &chdr, sizeof(chdr));
	sections[1].sh_offset = (uint64_t)(at - bytes);
	sections[1].sh_size = sizeof(chdr) + packed;
	at += sections[1].sh_size;
	sections[2].sh_offset = (uint64_t)(at - bytes);
	memcpy(at, section_names, sizeof(section_names));
	at = bytes + ((size_t)(at - bytes) + sizeof(section_names) + 7) / 8 * 8;
	header.e_shoff = (uint64_t)(at - bytes);
	memcpy(at, sections, sizeof(sections));
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), &segment, sizeof(segment));
	*ret_size = (size_t)(at - bytes) + sizeof(sections);
	return bytes;
}

static void test_compressed_debug_frame(void **state)
{
	struct cfi_asm a = {0};
	struct recipe_table *table;
	uint8_t *bytes;
	size_t size;

	(void)state;
	cfi_asm_usual_cie(&a);
	for (uint64_t i = 0; i < 100; i++)
		cfi_asm_fde(&a, i * 64, 48, CODE(DW_CFA_def_cfa_offset, 24));
	bytes = make_compressed(&a, a.b.len, &size);
	table = compile_bytes(bytes, size);
	assert_int_equal(recipe_table_stats(table)->fdes, 100);
	assert_int_equal(recipe_lookup(table, CFI_ASM_OFFSET)->cfa_offset, 24);
	recipe_table_free(table);
	free(bytes);
	bytes = make_compressed(&a, a.b.len + 1, &size);
	assert_refused(bytes, size, RECIPE_REFUSED_SECTION_READ);
	free(bytes);
	bytes = make_compressed(&a, a.b.len - 1, &size);
	assert_refused(bytes, size, RECIPE_REFUSED_SECTION_READ);
	free(bytes);
	bytes = make_compressed(&a, CFI_SECTION_MAX_BYTES + 1, &size);
	assert_refused(bytes, size, RECIPE_REFUSED_SECTION_SIZE);
	free(bytes);
	buf_free(&a.b);
}

/* Every entry of every list has a name of its own. */
static void test_refusals_have_names(void **state)
{
	(void)state;
	for (int i = 0; i < RECIPE_REFUSED_COUNT; i++) {
		assert_true(strlen(recipe_refusal_unit(i)) >= 3);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(recipe_refusal_name(i), recipe_refusal_name(k));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_libraries),
		cmocka_unit_test(test_signal_trampoline),
		cmocka_unit_test(test_no_section_headers),
		cmocka_unit_test(test_forged_section),
		cmocka_unit_test(test_forged_section_headers),
		cmocka_unit_test(test_extended_section_numbers),
		cmocka_unit_test(test_compressed_debug_frame),
		cmocka_unit_test(test_refusals_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
