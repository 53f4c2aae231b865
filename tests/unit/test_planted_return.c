/* SPDX-License-Identifier: MIT */
/* Return addresses that no call has made (unwind/planted_return.h), by the code around them; and
 * reads that wait for nothing (elf_file_read_now()). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "unwind/planted_return.h"
#include "unwind/sigreturn.h"

static const uint8_t *code_of(const char *before, size_t before_len, const char *behind,
			      size_t behind_len)
{
	static uint8_t code[PLANTED_RETURN_BYTES];

	memset(code, 0x90, sizeof(code));
	memcpy(code + PLANTED_RETURN_BEFORE - before_len, before, before_len);
	memcpy(code + PLANTED_RETURN_BEFORE, behind, behind_len);
	return code;
}
#define CODE(before, behind) code_of(before, sizeof(before) - 1, behind, sizeof(behind) - 1)

#define CALL	       "\xe8\x10\0\0\0"
#define CALL_RAX       "\xff\xd0"
#define CALL_MEMORY    "\xff\x15\1\2\3\4"
#define RET	       "\xc3"
#define JMP	       "\xe9\1\2\3\4"
#define PROLOGUE       "\x55\x48\x89\xe5"
#define SIGRETURN      "\x48\xc7\xc0\x0f\0\0\0\x0f\x05"
#define SIGRETURN_32   "\xb8\x0f\0\0\0\x0f\x05"
#define SIGRETURN_PUSH "\x6a\x0f\x58\x0f\x05"
#define LEAVES	       "\x48\x89\xdc"
#define ENDBR64	       "\xf3\x0f\x1e\xfa"

static struct elf_file *self;

/* The address is this far into the program's code. */
static uint64_t offset_of_code(void)
{
	uint64_t offset;

	assert_true(elf_file_vaddr_to_offset(self, elf_file_entry_vaddr(self), &offset));
	return offset;
}

static bool is_put(const uint8_t *code)
{
	return planted_return_is(code, self, offset_of_code());
}

static bool is_called(const uint8_t *code)
{
	return planted_return_is_called(code, self, offset_of_code());
}

static void behind_a_call(void **state)
{
	(void)state;
	assert_false(is_put(CODE(CALL, PROLOGUE)));
	assert_false(is_put(CODE(CALL_RAX, PROLOGUE)));
	assert_false(is_put(CODE(CALL_MEMORY, PROLOGUE)));
	assert_true(is_called(CODE(CALL, PROLOGUE)));
}

static void behind_something_else(void **state)
{
	(void)state;
	assert_true(is_put(CODE(RET, PROLOGUE)));
	assert_true(is_put(CODE(JMP, PROLOGUE)));
	assert_true(is_put(CODE("", PROLOGUE)));
	assert_false(is_called(CODE(RET, PROLOGUE)));
}

/* sub $1,%eax; jne; ret: what looks like a call leads out of the file. So does another distance. */
static void behind_bytes_like_a_call(void **state)
{
	(void)state;
	assert_true(is_put(CODE("\x83\xe8\x01\x75\xfb\xc3", PROLOGUE)));
	assert_false(is_called(CODE("\xe8\0\0\0\x7f", PROLOGUE)));
	assert_true(is_called(CODE("\xe8\xff\xff\xff\xff", PROLOGUE)));
}

/* Signal handlers return there. */
static void of_signal_handlers(void **state)
{
	(void)state;
	assert_false(is_put(CODE("", SIGRETURN)));
	assert_false(is_put(CODE("", SIGRETURN_32)));
	assert_false(is_put(CODE("", SIGRETURN_PUSH)));
	assert_true(is_put(CODE("", "\xb8\x10\0\0\0\x0f\x05"))); /* another system call */
}

/* Each instruction of the code that handlers return to is known as its own, and its end. */
static void instructions_of_sigreturn(void **state)
{
	static const struct {
		const char *code;
		size_t len;
		uint32_t at; /* a bit for each offset that is one */
	} forms[] = {
		{SIGRETURN, sizeof(SIGRETURN) - 1, 1 | 1 << 7 | 1 << 9},
		{SIGRETURN_32, sizeof(SIGRETURN_32) - 1, 1 | 1 << 5 | 1 << 7},
		{SIGRETURN_PUSH, sizeof(SIGRETURN_PUSH) - 1, 1 | 1 << 2 | 1 << 3 | 1 << 5},
	};
	static uint8_t image[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		const size_t last = sizeof(image) - forms[i].len, places[] = {256, last};

		for (size_t p = 0; p < 2; p++) {
			struct elf_file *elf;

			assert_int_equal(elf_file_read(self, 0, image, sizeof(image)),
					 sizeof(image));
			memset(image + 256, 0x90, sizeof(image) - 256);
			memcpy(image + places[p], forms[i].code, forms[i].len);
			assert_int_equal(elf_file_open_memory(image, sizeof(image), &elf), 0);
			for (size_t at = 0; at <= forms[i].len; at++)
				assert_int_equal(sigreturn_is_at(elf, places[p] + at),
						 forms[i].at >> at & 1);
			assert_false(sigreturn_is_at(elf, places[p] - 1));
			assert_true(sigreturn_begins_at(elf, places[p]));
			assert_false(sigreturn_begins_at(elf, places[p] + 1));
			elf_file_free(elf);
		}
	}
}

/* Code that leaves the stack at once, or ends the process, begins a stack (stack_start.h). */
static void starts_of_stacks(void **state)
{
	(void)state;
	assert_false(is_put(CODE("", LEAVES)));
	assert_false(is_put(CODE("", ENDBR64 LEAVES)));
	assert_false(is_put(CODE(JMP, "\x31\xff" CALL "\xf4")));
	assert_false(is_put(CODE(JMP, "\x31\xff" CALL_MEMORY "\xf4")));
	assert_true(is_put(CODE(JMP, "\x31\xff" CALL "\x90")));
}

static void functions_may_begin(void **state)
{
	(void)state;
	assert_true(planted_return_may_begin(CODE(CALL, "\x31\xff"), 0x120));
	assert_false(planted_return_may_begin(CODE(CALL, "\x31\xff"), 0x121));
	assert_true(planted_return_may_begin(CODE(CALL, ENDBR64), 0x121));
	assert_true(planted_return_may_begin(CODE(CALL, "\x41\x54"), 0x121)); /* push %r12 */
	assert_true(planted_return_may_begin(CODE(CALL, "\x48\x83\xec\x08"), 0x121));  /* sub */
	assert_false(planted_return_may_begin(CODE(CALL, "\x48\x83\xc4\x08"), 0x121)); /* add */
}

/* On the file systems of this program and of memory, and beyond the end of a file. */
static void reads_at_once(void **state)
{
	char path[] = "/dev/shm/test_planted_return_XXXXXX";
	const char *const sources[] = {"/proc/self/exe", path};
	int copy = mkstemp(path), from = open(sources[0], O_RDONLY | O_CLOEXEC);
	char bytes[4096], expected[4096];

	(void)state;
	assert_true(copy >= 0 && from >= 0);
	for (ssize_t n; (n = read(from, bytes, sizeof(bytes))) > 0;)
		assert_int_equal(write(copy, bytes, (size_t)n), n);
	close(from);
	close(copy);
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		int fd = open(sources[i], O_RDONLY | O_CLOEXEC);
		struct elf_file *file;

		assert_int_equal(elf_file_open(fd, &file), 0);
		close(fd);
		assert_true(
			elf_file_read_whole(file, 4000, expected, 200)); /* and into the cache */
		assert_true(elf_file_read_now(file, 4000, bytes, 200));
		assert_memory_equal(bytes, expected, 200);
		assert_false(elf_file_read_now(file, UINT64_C(1) << 40, bytes, 8));
		assert_false(elf_file_read_now(file, UINT64_MAX - 4, bytes, 8));
		elf_file_free(file);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_a_call),
		cmocka_unit_test(behind_bytes_like_a_call),
		cmocka_unit_test(behind_something_else),
		cmocka_unit_test(of_signal_handlers),
		cmocka_unit_test(starts_of_stacks),
		cmocka_unit_test(functions_may_begin),
		cmocka_unit_test(reads_at_once),
		cmocka_unit_test(instructions_of_sigreturn),
	};

	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), failed;

	if (fd < 0 || elf_file_open(fd, &self))
		return 1;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	elf_file_free(self);
	return failed;
}
