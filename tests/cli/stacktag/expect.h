/* SPDX-License-Identifier: MIT */
/* Compares the program's tag with the path that a test expects, for the programs of
 * stacktag_functions.sh and stacktag_plugin.sh; expect.c is compiled without tags. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

/* The calling thread's tag must be that of the path: linkage names of global functions, root first,
 * parted by semicolons ("" for none). It is looked for by the in-process decoder, and, in programs
 * compiled with the plugin, computed as docs/TAGS.md says. */
void expect(const char *path);
void expect_tag(const char *path, uint64_t tag); /* the same of a tag taken before */

/* The number of expectations, and of those that failed. */
extern unsigned expected, failed;

#ifdef __cplusplus
}
#endif

#endif
