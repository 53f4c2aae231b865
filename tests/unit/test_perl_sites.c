/* SPDX-License-Identifier: MIT */
/* How much of a file is read to find the calls of Perl's loop: entries of a file that lies may
 * overlap, so that they have any number of bytes together. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "../../lib/code/runtime/perl/perl_sites.c"

#define NO_LOOP UINT16_C(0xfffe) /* an offset that no code here has */

static struct elf_file *file;
static struct eh_frame_hdr *entries;
static uint8_t code[FUNCTION_BYTES];

static int set_up(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	if (elf_file_open(fd, &file) || eh_frame_hdr_new(file, &entries))
		return -1;
	return close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	eh_frame_hdr_free(entries);
	elf_file_free(file);
	return 0;
}

/* Returns the bytes of the functions of this program that are looked at. */
static uint64_t all_bytes(void)
{
	struct eh_frame_hdr_row row;
	uint64_t sum = 0, offset;

	for (size_t i = 0; eh_frame_hdr_row(entries, i, &row); i++) {
		uint32_t bytes = eh_frame_hdr_code_bytes(entries, &row);

		if (bytes <= FUNCTION_BYTES && elf_file_vaddr_to_offset(file, row.start, &offset))
			sum += bytes;
	}
	return sum;
}

/* Looks at all functions `times` times, as if so many entries had each of them. Returns how much
 * of the limit is left; *ret_is_full: it was reached. */
static uint64_t look(uint64_t limit, int times, bool *ret_is_full)
{
	struct search s = {.file = file,
			   .entries = entries,
			   .loop = NO_LOOP,
			   .code = code,
			   .bytes_left = MOST_BYTES,
			   .read_left = limit};
	struct eh_frame_hdr_row row;

	insn_decoder_init(&s.decoder);
	for (int turn = 0; turn < times; turn++)
		for (size_t i = 0; eh_frame_hdr_row(entries, i, &row) && !s.is_full; i++)
			search_function(&s, &row);
	*ret_is_full = s.is_full;
	assert_true(s.read_left <= limit);
	return s.read_left;
}

static void test_limit(void **state)
{
	const uint64_t all = all_bytes();
	bool is_full;

	(void)state;
	assert_true(all > 1000);
	assert_int_equal(look(all, 1, &is_full), 0);
	assert_false(is_full);
	look(all - 1, 1, &is_full);
	assert_true(is_full);
	assert_int_equal(look(3 * all, 3, &is_full), 0);
	assert_false(is_full);
	look(3 * all - 1, 3, &is_full);
	assert_true(is_full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
