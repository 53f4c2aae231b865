/* SPDX-License-Identifier: MIT */
/*
 * elf_file: generated files of which every header is known, real files of the system, and files
 * that lie or were cut short.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_file.h"

/* A small file: two PT_LOADs, one PT_NOTE with an ABI note before the build-id. */
struct made {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[3];
	struct {
		Elf64_Nhdr nhdr;
		char name[4];
		uint8_t desc[16];
	} abi;
	struct {
		Elf64_Nhdr nhdr;
		char name[4];
		uint8_t desc[20];
	} id;
	uint8_t code[256];
};

static struct made make(void)
{
	struct made m = {0};

	memcpy(m.ehdr.e_ident, ELFMAG, SELFMAG);
	m.ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	m.ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	m.ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	m.ehdr.e_type = ET_DYN;
	m.ehdr.e_machine = EM_X86_64;
	m.ehdr.e_version = EV_CURRENT;
	m.ehdr.e_entry = 0x401234;
	m.ehdr.e_phoff = offsetof(struct made, phdr);
	m.ehdr.e_ehsize = sizeof(Elf64_Ehdr);
	m.ehdr.e_phentsize = sizeof(Elf64_Phdr);
	m.ehdr.e_phnum = 3;
	m.phdr[0] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x1000, .p_memsz = 0x1000};
	m.phdr[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_offset = 0x800,
				 .p_vaddr = 0x401800,
				 .p_filesz = 0x900,
				 .p_memsz = 0x2000};
	m.phdr[2] = (Elf64_Phdr){.p_type = PT_NOTE,
				 .p_offset = offsetof(struct made, abi),
				 .p_filesz = sizeof(m.abi) + sizeof(m.id)};
	m.abi.nhdr = (Elf64_Nhdr){4, 16, NT_GNU_ABI_TAG};
	memcpy(m.abi.name, "GNU", 4);
	m.id.nhdr = (Elf64_Nhdr){4, 20, NT_GNU_BUILD_ID};
	memcpy(m.id.name, "GNU", 4);
	for (int i = 0; i < 20; i++)
		m.id.desc[i] = (uint8_t)(0x10 + i);
	return m;
}

static int open_made(const struct made *m, struct elf_file **ret_file)
{
	return elf_file_open_memory(m, sizeof(*m), ret_file);
}

static void test_generated_file(void **state)
{
	struct made m = make();
	struct elf_file *file = NULL;
	const uint8_t *id;
	size_t len;

	(void)state;
	assert_int_equal(open_made(&m, &file), 0);
	id = elf_file_build_id(file, &len);
	assert_int_equal(len, 20);
	assert_memory_equal(id, m.id.desc, 20);
	assert_true(elf_file_id(file) == 0x1011121314151617);
	assert_true(elf_file_entry_vaddr(file) == 0x401234);
	assert_true(elf_file_is_position_independent(file));
	assert_non_null(elf_file_libelf(file));
	elf_file_free(file);
}

static void test_address_arithmetic(void **state)
{
	struct made m = make();
	struct elf_file *file = NULL;
	uint64_t v = 77;

	(void)state;
	assert_int_equal(open_made(&m, &file), 0);
	assert_true(elf_file_offset_to_vaddr(file, 0x10, &v) && v == 0x10);
	/* in both segments: the executable one */
	assert_true(elf_file_offset_to_vaddr(file, 0x900, &v) && v == 0x401900);
	assert_true(elf_file_offset_to_vaddr(file, 0x10ff, &v) && v == 0x4020ff);
	v = 77;
	assert_false(elf_file_offset_to_vaddr(file, 0x1100, &v));
	assert_int_equal(v, 77);
	assert_true(elf_file_vaddr_to_offset(file, 0x401800, &v) && v == 0x800);
	assert_false(elf_file_vaddr_to_offset(file, 0x402100, &v)); /* .bss: in no file */
	assert_false(elf_file_vaddr_to_offset(file, UINT64_MAX, &v));
	elf_file_free(file);
}

/* Mapped code lies in executable segments, or is the whole image, which loaders reserve with the
 * rights of the first segment. */
static void test_may_map(void **state)
{
	struct made m = make();
	struct elf_file *file = NULL;

	(void)state;
	assert_int_equal(open_made(&m, &file), 0);
	assert_true(elf_file_may_map(file, 0, 0x2000)); /* the second one's pages */
	assert_false(elf_file_may_map(file, 0, 0x3000));
	assert_false(elf_file_may_map(file, 0, 0x404000)); /* it is not executable */
	elf_file_free(file);

	m.phdr[0].p_flags = PF_R | PF_X;
	m.phdr[1].p_flags = PF_R | PF_W;
	assert_int_equal(open_made(&m, &file), 0);
	assert_true(elf_file_may_map(file, 0, 0x1000));
	assert_false(elf_file_may_map(file, 0, 0x2000));
	assert_true(elf_file_may_map(file, 0, 0x404000));
	assert_false(elf_file_may_map(file, 0, 0x405000));
	assert_false(elf_file_may_map(file, 0, 0x403000));
	assert_false(elf_file_may_map(file, 0x1000, 0x404000));
	elf_file_free(file);
}

/* As make(), of a 32-bit program. */
struct made32 {
	Elf32_Ehdr ehdr;
	Elf32_Phdr phdr[2];
	struct {
		Elf32_Nhdr nhdr;
		char name[4];
		uint8_t desc[20];
	} id;
	uint8_t code[256];
};

static int open_made32(struct made32 *m, bool is_any, struct elf_file **ret_file)
{
	int fd = memfd_create("made32", MFD_CLOEXEC), err;

	assert_int_equal(write(fd, m, sizeof(*m)), sizeof(*m));
	err = is_any ? elf_file_open_any(fd, ret_file) : elf_file_open(fd, ret_file);
	close(fd);
	return err;
}

static void test_32bit(void **state)
{
	struct made32 m = {.ehdr = {.e_type = ET_DYN,
				    .e_machine = EM_386,
				    .e_version = EV_CURRENT,
				    .e_entry = 0x1234,
				    .e_phoff = offsetof(struct made32, phdr),
				    .e_ehsize = sizeof(Elf32_Ehdr),
				    .e_phentsize = sizeof(Elf32_Phdr),
				    .e_phnum = 2},
			   .phdr = {{.p_type = PT_LOAD,
				     .p_flags = PF_R | PF_X,
				     .p_offset = 0x40,
				     .p_vaddr = 0x8040,
				     .p_filesz = 0x80,
				     .p_memsz = 0x80},
				    {.p_type = PT_NOTE,
				     .p_offset = offsetof(struct made32, id),
				     .p_filesz = sizeof(m.id)}},
			   .id = {.nhdr = {4, 20, NT_GNU_BUILD_ID}, .name = "GNU", .desc = {7}}};
	struct elf_file *file = NULL, *other = NULL;
	struct buf identity = {0};
	struct buf_reader reader;
	uint64_t v;
	int fd;

	(void)state;
	memcpy(m.ehdr.e_ident, ELFMAG, SELFMAG);
	m.ehdr.e_ident[EI_CLASS] = ELFCLASS32;
	m.ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	m.ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	assert_int_equal(open_made32(&m, false, &file), -ENOEXEC);
	assert_int_equal(open_made32(&m, true, &file), 0);
	assert_true(elf_file_is_32bit(file));
	assert_true(elf_file_id(file) == UINT64_C(7) << 56);
	assert_true(elf_file_entry_vaddr(file) == 0x1234);
	assert_true(elf_file_offset_to_vaddr(file, 0x60, &v) && v == 0x8060);
	elf_file_put_identity(file, &identity);
	fd = elf_file_duplicate(file);
	reader = buf_reader(identity.data, identity.len);
	assert_int_equal(elf_file_of_identity(fd, &reader, &other), 0);
	assert_true(elf_file_is_32bit(other));
	assert_true(elf_file_vaddr_to_offset(other, 0x8050, &v) && v == 0x50);
	close(fd);
	buf_free(&identity);
	elf_file_free(other);
	elf_file_free(file);
	m.ehdr.e_machine = EM_X86_64; /* x32 */
	assert_int_equal(open_made32(&m, true, &file), -ENOEXEC);
	m.ehdr.e_machine = EM_386;
	m.ehdr.e_phentsize = sizeof(Elf64_Phdr);
	assert_int_equal(open_made32(&m, true, &file), -ENOEXEC);
	m.ehdr.e_phentsize = sizeof(Elf32_Phdr);
	m.ehdr.e_phnum = 100; /* beyond the file */
	assert_int_equal(open_made32(&m, true, &file), -ENOEXEC);
}

static void test_file_ids(void **state)
{
	static const uint8_t zeros[20] = {0}, two[2] = {0xab, 0xcd};
	struct made m = make();
	struct elf_file *file = NULL;
	uint64_t id;
	size_t len = 9;

	(void)state;
	assert_true(elf_file_id_from_build_id(zeros, 20) == 1);
	assert_true(elf_file_id_from_build_id(two, 2) == 0xabcd000000000000);
	m.id.nhdr.n_type = NT_GNU_BUILD_ID + 100; /* no build-id: the content decides */
	assert_int_equal(open_made(&m, &file), 0);
	assert_null(elf_file_build_id(file, &len));
	assert_int_equal(len, 0);
	id = elf_file_id(file);
	assert_true(id != 0);
	elf_file_free(file);
	assert_int_equal(open_made(&m, &file), 0);
	assert_true(elf_file_id(file) == id);
	elf_file_free(file);
	m.code[200] = 1;
	assert_int_equal(open_made(&m, &file), 0);
	assert_true(elf_file_id(file) != id);
	elf_file_free(file);
}

static void test_forged_headers(void **state)
{
	struct made good = make(), m;
	struct elf_file *file = (struct elf_file *)8;

	(void)state;
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		m = good;                                                                          \
		change;                                                                            \
		assert_int_equal(open_made(&m, &file), -ENOEXEC);                                  \
		assert_ptr_equal(file, (void *)8);                                                 \
	} while (0)
	REFUSED(m.ehdr.e_ident[0] = 'E');
	REFUSED(m.ehdr.e_ident[EI_CLASS] = ELFCLASS32);
	REFUSED(m.ehdr.e_ident[EI_DATA] = ELFDATA2MSB);
	REFUSED(m.ehdr.e_machine = EM_386);
	REFUSED(m.ehdr.e_type = ET_REL);
	REFUSED(m.ehdr.e_type = ET_CORE);
	REFUSED(m.ehdr.e_phnum = 0);
	REFUSED(m.ehdr.e_phnum = 0xffff);
	REFUSED(m.ehdr.e_phentsize = 1);
	REFUSED(m.ehdr.e_phoff = UINT64_MAX - 10);
	REFUSED(m.ehdr.e_phoff = sizeof(m) - 1);
	REFUSED(m.phdr[0].p_offset = UINT64_MAX - 10);
	REFUSED(m.phdr[0].p_vaddr = UINT64_MAX - 10);
	REFUSED(m.phdr[0].p_memsz = 1);
#undef REFUSED
}

static void test_forged_notes(void **state)
{
	struct made good = make(), m;
	struct elf_file *file = NULL;
	size_t len;

	(void)state;
#define NO_ID(change)                                                                              \
	do {                                                                                       \
		m = good;                                                                          \
		change;                                                                            \
		assert_int_equal(open_made(&m, &file), 0);                                         \
		assert_null(elf_file_build_id(file, &len));                                        \
		elf_file_free(file);                                                               \
	} while (0)
	NO_ID(m.abi.nhdr.n_namesz = UINT32_MAX);
	NO_ID(m.abi.nhdr.n_descsz = UINT32_MAX);
	NO_ID(m.abi.nhdr.n_descsz = 17 + 36);
	NO_ID(m.id.nhdr.n_descsz = 0);
	NO_ID(m.id.nhdr.n_descsz = 21);
	NO_ID(m.id.name[0] = 'g');
	NO_ID(m.phdr[2].p_filesz = sizeof(m.abi) + sizeof(m.id) - 1);
	NO_ID(m.phdr[2].p_filesz = 3);
	NO_ID(m.phdr[2].p_offset = UINT64_MAX - 1);
	NO_ID(m.phdr[2].p_offset = sizeof(m) - 2);
#undef NO_ID
	m = good;
	m.phdr[2].p_filesz = UINT64_MAX; /* more than there is: what is there counts */
	assert_int_equal(open_made(&m, &file), 0);
	assert_non_null(elf_file_build_id(file, &len));
	elf_file_free(file);
}

static void test_every_prefix(void **state)
{
	struct made m = make();

	(void)state;
	for (size_t size = 0; size < sizeof(m); size++) {
		struct elf_file *file = NULL;
		int err = elf_file_open_memory(&m, size, &file);

		if (size < offsetof(struct made, abi))
			assert_int_equal(err, -ENOEXEC);
		else
			assert_int_equal(err, 0);
		elf_file_free(file);
	}
}

static void test_reads_are_bounded(void **state)
{
	struct made m = make();
	struct elf_file *file = NULL;
	uint8_t buf[64];

	(void)state;
	assert_int_equal(open_made(&m, &file), 0);
	assert_int_equal(elf_file_read(file, 1, buf, 3), 3);
	assert_memory_equal(buf, "ELF", 3);
	assert_int_equal(elf_file_read(file, sizeof(m) - 2, buf, sizeof(buf)), 2);
	assert_int_equal(elf_file_read(file, sizeof(m), buf, sizeof(buf)), 0);
	assert_int_equal(elf_file_read(file, UINT64_MAX, buf, sizeof(buf)), 0);
	elf_file_free(file);
	elf_file_free(NULL);
}

/* The file is cut under our hands: reads end, nothing crashes. */
static void test_file_is_cut_while_open(void **state)
{
	struct made m = make();
	struct elf_file *file = NULL;
	int fd = memfd_create("cut", MFD_CLOEXEC);
	size_t n;
	char c;

	(void)state;
	assert_int_equal(write(fd, &m, sizeof(m)), sizeof(m));
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_int_equal(ftruncate(fd, 10), 0);
	close(fd);
	assert_int_equal(elf_file_read(file, 1, &c, 1), 1);
	assert_int_equal(elf_file_read(file, 100, &c, 1), 0);
	assert_null(elf_nextscn(elf_file_libelf(file), NULL));
	elf_getshdrnum(elf_file_libelf(file), &n);
	elf_file_free(file);
}

static void test_not_a_file(void **state)
{
	struct elf_file *file = NULL;
	int fd, pipefd[2];

	(void)state;
	assert_int_equal(elf_file_open(-1, &file), -EBADF);
	fd = open("/", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_file_open(fd, &file), -ENOEXEC);
	close(fd);
	assert_int_equal(pipe(pipefd), 0);
	assert_int_equal(elf_file_open(pipefd[0], &file), -ENOEXEC);
	close(pipefd[0]);
	close(pipefd[1]);
	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_file_open(fd, &file), -ENOEXEC);
	close(fd);
}

/* This program itself: _start lies where the entry says, and the first bytes agree. */
static void test_real_file(void **state)
{
	struct elf_file *file = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t offset, vaddr;
	uint8_t from_file[16];
	void *entry = (void *)getauxval(AT_ENTRY);

	(void)state;
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	assert_true(elf_file_vaddr_to_offset(file, elf_file_entry_vaddr(file), &offset));
	assert_true(elf_file_offset_to_vaddr(file, offset, &vaddr));
	assert_true(vaddr == elf_file_entry_vaddr(file));
	assert_int_equal(elf_file_read(file, offset, from_file, 16), 16);
	assert_memory_equal(from_file, entry, 16);
	assert_true(elf_file_id(file) != 0);
	elf_file_free(file);
}

static void test_vdso(void **state)
{
	struct elf_file *file = NULL;
	void *image = (void *)getauxval(AT_SYSINFO_EHDR);
	size_t len;

	(void)state;
	if (!image)
		skip();
	assert_int_equal(elf_file_open_memory(image, 4096, &file), 0);
	assert_non_null(elf_file_build_id(file, &len));
	assert_int_equal(len, 20);
	elf_file_free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generated_file),
		cmocka_unit_test(test_address_arithmetic),
		cmocka_unit_test(test_may_map),
		cmocka_unit_test(test_32bit),
		cmocka_unit_test(test_file_ids),
		cmocka_unit_test(test_forged_headers),
		cmocka_unit_test(test_forged_notes),
		cmocka_unit_test(test_every_prefix),
		cmocka_unit_test(test_reads_are_bounded),
		cmocka_unit_test(test_file_is_cut_while_open),
		cmocka_unit_test(test_not_a_file),
		cmocka_unit_test(test_real_file),
		cmocka_unit_test(test_vdso),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
