/* SPDX-License-Identifier: MIT */
/*
 * What the code of PHP's execute_ex() shows. Compilers give it two registers for good, which have
 * the addresses of the frame and of the instruction that it runs. It saves what its caller had in
 * them, of which call frame information does not tell, and takes its own:
 *
 *   saved[0] = REGISTER;   REGISTER = argument;            the frame
 *   saved[1] = REGISTER;   REGISTER = argument->opline;    the instruction
 *
 * An interpreter without such registers, as some compilers make it, is not read.
 */
#ifndef PHP_PHP_CODE_H
#define PHP_PHP_CODE_H

#include <stdbool.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

/* Reads the code of evals[0]: finds the registers, where they are saved and restored, and where the
 * instruction's may be another frame's. Divides evals[0] where the function has saved them. Returns
 * false if some of it is not known. */
bool php_code_read(const struct elf_file *file, struct runtime_interpreter *is);

#endif
