/* SPDX-License-Identifier: MIT */
/*
 * Finds, by the kernel's BTF, the distance between two per-CPU variables. The kernel half has the
 * address of one and so reaches the other, which it cannot name, because kernels without
 * CONFIG_KALLSYMS_ALL refuse programs that name variables.
 */
#ifndef CAPTURE_PERCPU_DISTANCE_H
#define CAPTURE_PERCPU_DISTANCE_H

#include <stdint.h>

/* Returns the distance in bytes from per-CPU variable `from` to `to`; 0: the BTF in the file does
 * not have both. */
int64_t percpu_distance(const char *btf_path, const char *from, const char *to);

#endif
