/* SPDX-License-Identifier: MIT */
/*
 * Where the kernel keeps a variable of each CPU, by its BTF: how far it is from another one of the
 * same CPU. The kernel half has the address of the one, and comes to the other, which it could not
 * name: kernels without CONFIG_KALLSYMS_ALL refuse programs that name variables.
 */
#ifndef CAPTURE_PERCPU_H
#define CAPTURE_PERCPU_H

#include <stdint.h>

/* Returns the bytes from `from` to `to`, of the same CPU; 0: the BTF in the file does not have both
 * of them. */
int64_t percpu_distance(const char *btf_path, const char *from, const char *to);

#endif
