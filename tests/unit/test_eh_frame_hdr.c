/* SPDX-License-Identifier: MIT */
/*
 * eh_frame_hdr, and the two that read by it (cfi_single, unwind_bounds, callflow_starts): an index
 * of which every row is known, those of real files, and indexes that lie.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "callflow/callflow_starts.h"
#include "cfi/eh_frame_hdr.h"
#include "sym/unwind_bounds.h"
#include "cfi/cfi_single.h"

#define ROWS	   64
#define BASE	   UINT64_C(0x700000000) /* the index's vaddr: offsets from it are not addresses */
#define CODE	   0x10000		 /* from there on is code, 0x40 bytes a row */
#define STEP	   0x40
#define FUNCTION   0x30 /* bytes of code that an entry covers */
#define SEED	   UINT64_C(88172645463325252)
#define ROUNDS	   2000
#define LARGE_ROWS (4 * 1024 * 1024)

struct row {
	int32_t start, entry;
};

/* A file of one segment: the index, and an entry for each row with the one CIE before them. */
struct made {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[2];
	struct {
		uint8_t version, encodings[3];
		int32_t eh_frame;
		uint32_t count;
		struct row rows[ROWS];
	} index;
	struct {
		uint32_t length, mark;
		uint8_t bytes[16];
	} cie;
	struct entry {
		uint32_t length, distance;
		int32_t start;
		uint32_t bytes;
	} entries[ROWS];
	uint32_t end; /* no entry follows */
};

#define AT(member)	((int32_t)(offsetof(struct made, member) - offsetof(struct made, index)))
#define ROW_ENTRY(i)	(AT(entries) + (int32_t)((i) * sizeof(struct entry)))
#define START_OF(i)	(BASE + CODE + STEP * (uint64_t)(i))
#define ENTRY_VADDR(i)	(BASE + (uint64_t)ROW_ENTRY(i))
#define ENTRY_OFFSET(i) (offsetof(struct made, entries) + (i) * sizeof(struct entry))

static struct made make(void)
{
	struct made m = {0};

	memcpy(m.ehdr.e_ident, ELFMAG "\2\1\1", SELFMAG + 3);
	m.ehdr.e_type = ET_DYN;
	m.ehdr.e_machine = EM_X86_64;
	m.ehdr.e_version = EV_CURRENT;
	m.ehdr.e_phoff = offsetof(struct made, phdr);
	m.ehdr.e_phentsize = sizeof(Elf64_Phdr);
	m.ehdr.e_phnum = 2;
	m.phdr[0] = (Elf64_Phdr){.p_type = PT_LOAD,
				 .p_flags = PF_R,
				 .p_offset = offsetof(struct made, index),
				 .p_vaddr = BASE,
				 .p_filesz = sizeof(m) - offsetof(struct made, index),
				 .p_memsz = 0x1000000};
	m.phdr[1] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME, .p_vaddr = BASE};
	m.index.version = 1;
	memcpy(m.index.encodings, (uint8_t[]){0x1b, 0x03, 0x3b}, 3);
	m.index.eh_frame = AT(cie) - 4;
	m.index.count = ROWS;
	m.cie.length = sizeof(m.cie) - 4;
	memset(m.cie.bytes, 0xc1, sizeof(m.cie.bytes));
	for (int i = 0; i < ROWS; i++) {
		m.index.rows[i] = (struct row){CODE + i * STEP, ROW_ENTRY(i)};
		m.entries[i] = (struct entry){
			.length = sizeof(struct entry) - 4,
			.distance = (uint32_t)(ROW_ENTRY(i) + 4 - AT(cie)),
			.start = CODE + i * STEP - ROW_ENTRY(i) - 8,
			.bytes = FUNCTION,
		};
	}
	return m;
}

static struct elf_file *open_made(const struct made *m, size_t size)
{
	struct elf_file *file;

	assert_int_equal(elf_file_open_memory(m, size, &file), 0);
	return file;
}

static int new_made(const struct made *m, size_t size, struct eh_frame_hdr **ret_hdr,
		    struct elf_file **ret_file)
{
	*ret_file = open_made(m, size);
	return eh_frame_hdr_new(*ret_file, ret_hdr);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* --- an index of which every row is known ------------------------------------------------------
 */

static void check_rank(const struct eh_frame_hdr *hdr)
{
	assert_int_equal(eh_frame_hdr_rank(hdr, 0), 0);
	assert_int_equal(eh_frame_hdr_rank(hdr, START_OF(0) - 1), 0);
	assert_int_equal(eh_frame_hdr_rank(hdr, UINT64_MAX), ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		assert_int_equal(eh_frame_hdr_rank(hdr, START_OF(i)), i + 1);
		assert_int_equal(eh_frame_hdr_rank(hdr, START_OF(i) + STEP - 1), i + 1);
	}
}

static void check_rows(const struct eh_frame_hdr *hdr)
{
	struct eh_frame_hdr_row row = {7, 8};

	assert_int_equal(eh_frame_hdr_count(hdr), ROWS);
	assert_false(eh_frame_hdr_row(hdr, ROWS, &row));
	assert_false(eh_frame_hdr_row(hdr, SIZE_MAX, &row));
	assert_true(row.start == 7 && row.entry == 8);
	for (size_t i = 0; i < ROWS; i++) {
		assert_true(eh_frame_hdr_row(hdr, i, &row));
		assert_true(row.start == START_OF(i) && row.entry == ENTRY_VADDR(i));
	}
}

static void test_known_rows(void **state)
{
	struct made m = make();
	struct elf_file *file;
	struct eh_frame_hdr *hdr;

	(void)state;
	assert_int_equal(new_made(&m, sizeof(m), &hdr, &file), 0);
	check_rows(hdr);
	check_rank(hdr);
	assert_int_equal(eh_frame_hdr_load(hdr), 0);
	assert_int_equal(eh_frame_hdr_load(hdr), 0);
	check_rows(hdr);
	check_rank(hdr);
	eh_frame_hdr_free(hdr);
	elf_file_free(file);
	eh_frame_hdr_free(NULL);
}

static void test_no_index(void **state)
{
	struct eh_frame_hdr_row row;

	(void)state;
	assert_int_equal(eh_frame_hdr_count(NULL), 0);
	assert_int_equal(eh_frame_hdr_rank(NULL, UINT64_MAX), 0);
	assert_false(eh_frame_hdr_row(NULL, 0, &row));
}

/* Starts before the index, as in a file whose code comes first, and as far away as can be said. */
static void test_far_rows(void **state)
{
	struct made m = make();
	struct eh_frame_hdr_row row;
	struct elf_file *file;
	struct eh_frame_hdr *hdr;

	(void)state;
	m.index.rows[0] = (struct row){INT32_MIN, INT32_MIN};
	m.index.rows[1] = (struct row){-1, -1};
	m.index.rows[ROWS - 1] = (struct row){INT32_MAX, INT32_MAX};
	assert_int_equal(new_made(&m, sizeof(m), &hdr, &file), 0);
	assert_true(eh_frame_hdr_row(hdr, 0, &row));
	assert_true(row.start == BASE - 0x80000000 && row.entry == BASE - 0x80000000);
	assert_true(eh_frame_hdr_row(hdr, ROWS - 1, &row));
	assert_true(row.start == BASE + 0x7fffffff && row.entry == BASE + 0x7fffffff);
	assert_int_equal(eh_frame_hdr_rank(hdr, BASE - 1), 2);
	assert_int_equal(eh_frame_hdr_rank(hdr, BASE - 2), 1);
	eh_frame_hdr_free(hdr);
	elf_file_free(file);
}

/* --- real files --------------------------------------------------------------------------------
 */

static void test_own_file(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct eh_frame_hdr_row row;
	struct elf_file *file;
	struct eh_frame_hdr *hdr;
	uint64_t last = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	assert_int_equal(eh_frame_hdr_new(file, &hdr), 0);
	assert_true(eh_frame_hdr_count(hdr) > 10);
	for (size_t i = 0; i < eh_frame_hdr_count(hdr); i++) {
		assert_true(eh_frame_hdr_row(hdr, i, &row));
		assert_true(row.start > last);
		assert_int_equal(eh_frame_hdr_rank(hdr, row.start), i + 1);
		last = row.start;
	}
	eh_frame_hdr_free(hdr);
	elf_file_free(file);
}

/* A file that becomes shorter while it is read: no row beyond its end, and none made up. */
static void test_shrinking_file(void **state)
{
	int fd = memfd_create("shrinking", MFD_CLOEXEC);
	struct made m = make();
	struct eh_frame_hdr_row row;
	struct elf_file *file;
	struct eh_frame_hdr *hdr;

	(void)state;
	assert_int_equal(write(fd, &m, sizeof(m)), sizeof(m));
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_int_equal(eh_frame_hdr_new(file, &hdr), 0);
	assert_int_equal(ftruncate(fd, offsetof(struct made, index.rows[ROWS / 2]) + 4), 0);
	assert_int_equal(eh_frame_hdr_load(hdr), -ENODATA);
	assert_true(eh_frame_hdr_row(hdr, ROWS / 2 - 1, &row));
	assert_false(eh_frame_hdr_row(hdr, ROWS / 2, &row));
	assert_int_equal(eh_frame_hdr_rank(hdr, START_OF(3)), 0);
	eh_frame_hdr_free(hdr);
	elf_file_free(file);
	close(fd);
}

/* --- indexes that lie --------------------------------------------------------------------------
 */

static void assert_none(const struct made *m, size_t size)
{
	struct eh_frame_hdr *hdr = (void *)8;
	struct cfi_sections sections = {.count = 7};
	struct unwind_bounds *bounds;
	struct elf_file *file;

	assert_int_equal(new_made(m, size, &hdr, &file), -ENODATA);
	assert_ptr_equal(hdr, (void *)8);
	assert_int_equal(cfi_single_read(file, START_OF(3), &sections), -ENODATA);
	assert_int_equal(sections.count, 7);
	assert_int_equal(unwind_bounds_new(file, &bounds), 0);
	assert_int_equal(unwind_bounds_count(bounds), 0);
	assert_true(unwind_bounds_start(bounds, START_OF(3)) == 0);
	assert_true(unwind_bounds_end(bounds, START_OF(3)) == UINT64_MAX);
	unwind_bounds_free(bounds);
	elf_file_free(file);
}

static void test_forged_headers(void **state)
{
	static const uint8_t odd[] = {0x00, 0x01, 0x02, 0x0b, 0x10, 0x1c, 0x33, 0x50, 0x9b, 0xff};
	struct made good = make(), m;

	(void)state;
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		m = good;                                                                          \
		change;                                                                            \
		assert_none(&m, sizeof(m));                                                        \
	} while (0)
	REFUSED(m.phdr[1].p_type = PT_NULL);
	REFUSED(m.phdr[1].p_vaddr = BASE - 1);
	REFUSED(m.phdr[1].p_vaddr = BASE + m.phdr[0].p_filesz);	     /* in memory only */
	REFUSED(m.phdr[1].p_vaddr = BASE + m.phdr[0].p_filesz - 11); /* its end is missing */
	REFUSED(m.phdr[1].p_vaddr = UINT64_MAX);
	REFUSED(m.phdr[0].p_offset = sizeof(m));
	REFUSED(m.phdr[0].p_offset = (uint64_t)INT64_MAX - 8);
	REFUSED(m.index.version = 0);
	REFUSED(m.index.version = 2);
	for (size_t i = 0; i < sizeof(odd); i++) {
		REFUSED(m.index.encodings[0] = odd[i]);
		REFUSED(m.index.encodings[1] = odd[i]);
		REFUSED(m.index.encodings[2] = odd[i]);
	}
	REFUSED(m.index.count = 0);
	REFUSED(m.index.count = LARGE_ROWS);
	REFUSED(m.index.count = LARGE_ROWS + 1);
	REFUSED(m.index.count = UINT32_MAX);
	REFUSED(m.index.count = (sizeof(m) - offsetof(struct made, index.rows)) / 8 + 1);
#undef REFUSED
}

/* Cut anywhere in the index, it is none; cut behind it, only entries are missing. */
static void test_cut(void **state)
{
	size_t end = offsetof(struct made, cie);
	struct made m = make();
	struct elf_file *file;
	struct eh_frame_hdr *hdr;

	(void)state;
	for (size_t size = offsetof(struct made, index); size < end; size++)
		assert_none(&m, size);
	assert_int_equal(new_made(&m, end, &hdr, &file), 0);
	assert_int_equal(eh_frame_hdr_load(hdr), 0);
	check_rows(hdr);
	eh_frame_hdr_free(hdr);
	elf_file_free(file);
}

/* More rows than anybody has, and room for them in a file that is not filled: no reading of all. */
static void test_count_beyond_bound(void **state)
{
	int fd = memfd_create("sparse", MFD_CLOEXEC);
	struct made m = make();
	struct elf_file *file;
	struct eh_frame_hdr *hdr;

	(void)state;
	m.index.count = UINT32_MAX;
	assert_int_equal(write(fd, &m, sizeof(m)), sizeof(m));
	assert_int_equal(ftruncate(fd, (off_t)40 << 30), 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	assert_int_equal(eh_frame_hdr_new(file, &hdr), -ENODATA);
	elf_file_free(file);
	close(fd);
}

static void check_promise(const struct eh_frame_hdr *hdr, uint64_t vaddr)
{
	size_t rank = eh_frame_hdr_rank(hdr, vaddr);
	struct eh_frame_hdr_row row;

	assert_true(rank <= ROWS);
	if (rank)
		assert_true(eh_frame_hdr_row(hdr, rank - 1, &row) && row.start <= vaddr);
	if (rank < ROWS)
		assert_true(eh_frame_hdr_row(hdr, rank, &row) && row.start > vaddr);
}

static void test_unsorted(void **state)
{
	uint64_t seed = SEED;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct made m = make();
		struct elf_file *file;
		struct eh_frame_hdr *hdr;

		for (int i = 0; i < 1 + round % ROWS; i++)
			m.index.rows[next_random(&seed) % ROWS].start =
				(int32_t)next_random(&seed) >> (next_random(&seed) % 32);
		assert_int_equal(new_made(&m, sizeof(m), &hdr, &file), 0);
		if (round % 2)
			assert_int_equal(eh_frame_hdr_load(hdr), 0);
		for (int i = 0; i < 8; i++) {
			int32_t start = m.index.rows[next_random(&seed) % ROWS].start;

			check_promise(hdr, BASE + (uint64_t)(int64_t)start);
			check_promise(hdr, BASE + (uint64_t)(int64_t)start - 1);
		}
		eh_frame_hdr_free(hdr);
		elf_file_free(file);
	}
}

/* --- the entry that a row leads to -------------------------------------------------------------
 */

static void test_entry(void **state)
{
	struct made m = make();
	struct elf_file *file = open_made(&m, sizeof(m));
	struct cfi_sections sections;
	struct cfi_section section;

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		struct entry entry = m.entries[i];

		entry.distance = sizeof(m.cie) + 4;
		assert_int_equal(cfi_single_read(file, START_OF(i) + STEP - 1, &sections), 0);
		assert_int_equal(sections.count, 1);
		section = sections.items[0];
		assert_true(section.is_eh_frame);
		assert_int_equal(section.size, sizeof(m.cie) + sizeof(entry));
		assert_memory_equal(section.data, &m.cie, sizeof(m.cie));
		assert_memory_equal(section.data + sizeof(m.cie), &entry, sizeof(entry));
		assert_true(section.vaddr + sizeof(m.cie) == ENTRY_VADDR(i));
		cfi_section_release(&sections);
	}
	assert_int_equal(cfi_single_read(file, START_OF(0) - 1, &sections), -ENODATA);
	elf_file_free(file);
}

static void test_forged_entries(void **state)
{
	struct made good = make(), m;
	struct cfi_sections sections;
	struct elf_file *file;

	(void)state;
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		m = good;                                                                          \
		change;                                                                            \
		file = open_made(&m, sizeof(m));                                                   \
		assert_int_equal(cfi_single_read(file, START_OF(3), &sections), -ENODATA);         \
		elf_file_free(file);                                                               \
	} while (0)
	REFUSED(m.index.rows[3].entry = INT32_MIN);
	REFUSED(m.index.rows[3].entry = INT32_MAX);
	REFUSED(m.index.rows[3].entry = -1);
	REFUSED(m.index.rows[3].entry = AT(end)); /* no distance follows */
	REFUSED(m.index.rows[3].entry = AT(cie)); /* no CIE of its own */
	REFUSED(m.entries[3].length = 0);
	REFUSED(m.entries[3].length = 7);
	REFUSED(m.entries[3].length = sizeof(m));  /* beyond the file */
	REFUSED(m.entries[3].length = UINT32_MAX); /* the 64-bit form */
	REFUSED(m.entries[3].distance = 0);
	REFUSED(m.entries[3].distance = ENTRY_OFFSET(3) + 5); /* before the file */
	REFUSED(m.entries[3].distance = UINT32_MAX);
	REFUSED(m.cie.length = 0);
	REFUSED(m.cie.length = 7);
	REFUSED(m.cie.length = sizeof(m));
	REFUSED(m.cie.length = UINT32_MAX);
#undef REFUSED
}

static void test_bounds(void **state)
{
	struct made m = make();
	struct elf_file *file;
	struct unwind_bounds *bounds;
	uint64_t start = 0, end = 0;

	(void)state;
	m.entries[5].start++;	  /* not the row's */
	m.entries[6].length = 11; /* no room for what is read */
	m.entries[7].bytes = 0;
	m.index.rows[8].entry = INT32_MAX;
	file = open_made(&m, sizeof(m));
	assert_int_equal(unwind_bounds_new(file, &bounds), 0);
	assert_int_equal(unwind_bounds_count(bounds), ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		uint64_t next = i + 1 < ROWS ? START_OF(i + 1) : UINT64_MAX, at = START_OF(i);
		bool is_good = i < 5 || i > 8;

		assert_int_equal(unwind_bounds_at(bounds, i, &start, &end), is_good);
		assert_true(!is_good || (start == at && end == at + FUNCTION));
		assert_true(unwind_bounds_start(bounds, at + 1) == (is_good ? at : 0));
		assert_true(unwind_bounds_end(bounds, at + 1) == (is_good ? at + FUNCTION : next));
		assert_true(unwind_bounds_start(bounds, at + FUNCTION) == 0);
		assert_true(unwind_bounds_end(bounds, at + FUNCTION) == next);
	}
	assert_false(unwind_bounds_at(bounds, ROWS, &start, &end));
	assert_true(unwind_bounds_end(bounds, 0) == START_OF(0));
	unwind_bounds_free(bounds);
	elf_file_free(file);
}

/* Behind the last one is code without call frame information, which returns. */
__asm__(".text\n"
	".cfi_startproc\npush %rbx\nin_returns: nop\npop %rbx\nret\n.cfi_endproc\n"
	".cfi_startproc\npush %rbx\nin_passes_on: nop\npop %rbx\njmp in_stays\n.cfi_endproc\n"
	".cfi_startproc\npush %rbx\nin_stays: jmp in_stays\n.cfi_endproc\npop %rbx\nret\n");
extern const char in_returns[], in_passes_on[], in_stays[];

static uint64_t vaddr_of(const char *label)
{
	Dl_info info;

	assert_int_not_equal(dladdr(label, &info), 0);
	return (uint64_t)(uintptr_t)label - (uint64_t)(uintptr_t)info.dli_fbase;
}

/* The beginnings of functions, without waiting: in a table of which every row is known, and in this
 * program's. */
static void test_starts(void **state)
{
	struct made m = make();
	struct elf_file *file = open_made(&m, sizeof(m));
	struct callflow_starts starts = {.is_none = false};
	struct eh_frame_hdr_row row;
	struct eh_frame_hdr *hdr;
	uint64_t start;
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < ROWS; i++) {
		for (uint64_t at = START_OF(i); at < START_OF(i + 1); at += STEP - 1) {
			assert_int_equal(callflow_starts_find(&starts, file, at, &start), 0);
			assert_true(start == START_OF(i));
		}
	}
	assert_int_equal(callflow_starts_find(&starts, file, START_OF(0) - 1, &start), -ENODATA);
	assert_int_equal(callflow_starts_find(&starts, file, START_OF(0), &start), 0);
	assert_false(callflow_starts_may_return(&starts, file, START_OF(0)));
	callflow_starts_fini(&starts);
	elf_file_free(file);

	m.index.count = CALLFLOW_STARTS_MAX_ROWS + 1;
	file = open_made(&m, sizeof(m));
	assert_int_equal(callflow_starts_find(&starts, file, START_OF(0), &start), -ENODATA);
	callflow_starts_fini(&starts);
	elf_file_free(file);

	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	assert_int_equal(eh_frame_hdr_new(file, &hdr), 0);
	assert_int_equal(eh_frame_hdr_load(hdr), 0); /* now the table is in memory */
	for (i = 0; eh_frame_hdr_row(hdr, i, &row); i++) {
		assert_int_equal(callflow_starts_find(&starts, file, row.start, &start), 0);
		assert_true(start == row.start);
	}
	assert_true(callflow_starts_may_return(&starts, file, vaddr_of(in_returns)));
	assert_true(callflow_starts_may_return(&starts, file, vaddr_of(in_passes_on)));
	assert_false(callflow_starts_may_return(&starts, file, vaddr_of(in_stays)));
	eh_frame_hdr_free(hdr);
	callflow_starts_fini(&starts);
	elf_file_free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_rows),
		cmocka_unit_test(test_no_index),
		cmocka_unit_test(test_far_rows),
		cmocka_unit_test(test_own_file),
		cmocka_unit_test(test_shrinking_file),
		cmocka_unit_test(test_forged_headers),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_unsorted),
		cmocka_unit_test(test_count_beyond_bound),
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_forged_entries),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
