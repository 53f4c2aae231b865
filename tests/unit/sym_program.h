/* SPDX-License-Identifier: MIT */
/* Small programs that the tests of lib/code/sym compile while they run, and offsets of their
 * symbols. */
#ifndef SYM_PROGRAM_H
#define SYM_PROGRAM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "sym/symbolizer.h"

static char program_dir[] = "/tmp/stackd-sym-XXXXXX";

/* What a cache of compilers has is of another folder, in which the files that it names were. */
static inline int program_setup(void **state)
{
	(void)state;
	return mkdtemp(program_dir) ? setenv("CCACHE_DISABLE", "1", true) : -1;
}

__attribute__((format(printf, 1, 2))) static inline int program_shell(const char *format, ...)
{
	char command[2048];
	int at = snprintf(command, sizeof(command), "cd %s && exec 2>>log && ", program_dir);
	va_list args;

	va_start(args, format);
	vsnprintf(command + at, sizeof(command) - (size_t)at, format, args);
	va_end(args);
	return system(command);
}

static inline int program_teardown(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", program_dir);
	return system(command);
}

static inline void program_write(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline struct elf_file *program_open(const char *name)
{
	struct elf_file *file = NULL;
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	return file;
}

/* The file offset of a symbol, read from .symtab independently of what is tested. */
static inline uint64_t program_offset(const struct elf_file *file, const char *symbol)
{
	Elf *elf = elf_file_libelf(file);
	Elf_Scn *scn = NULL;
	uint64_t offset;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;
		GElf_Shdr shdr;
		GElf_Sym sym;

		gelf_getshdr(scn, &shdr);
		if (shdr.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; gelf_getsym(data, i, &sym); i++) {
			if (strcmp(elf_strptr(elf, shdr.sh_link, sym.st_name), symbol))
				continue;
			assert_true(elf_file_vaddr_to_offset(file, sym.st_value, &offset));
			return offset;
		}
	}
	fail_msg("no symbol %s", symbol);
	return 0;
}

/* inner() and middle() are inlined into outer(); "mark" is a label in inner's code. */
static const char program_inlined[] =
	/* 1 */ "#define INLINE static inline __attribute__((always_inline))\n"
		/* 2 */ "INLINE int inner(int x) {\n"
		/* 3 */ "	__asm__ volatile(\".globl mark; mark: nop\");\n"
		/* 4 */ "	return x + 1;\n"
		/* 5 */ "}\n"
		/* 6 */ "INLINE int middle(int x) {\n"
		/* 7 */ "	{ int y = x * 3; x = inner(y) * 2; }\n"
		/* 8 */ "	return x;\n"
		/* 9 */ "}\n"
		/* 10 */ "__attribute__((noinline)) int outer(int x) {\n"
		/* 11 */ "	return middle(x) + 3;\n"
		/* 12 */ "}\n"
		/* 13 */ "int main(int argc, char **argv) { (void)argv; return outer(argc); }\n";

#endif
