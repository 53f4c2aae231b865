/* SPDX-License-Identifier: MIT */
/*
 * Recognises a program's text that was copied from its file to anonymous memory: onto huge pages,
 * at the addresses where it was mapped (node's --use-largepages, HHVM, MySQL, and preloaded
 * libraries that do the same for any program). To the kernel half, such memory looks like JIT code.
 *
 * The rest of the file's mappings lies around such memory, and shows by address and file offset
 * where each of the file's segments was mapped. If the memory lies where an executable segment
 * belongs, and has the segment's bytes, it is that file's text, with the same rules and names.
 * Every byte is compared first, in pieces, since one part of the memory can be text and another
 * something else. Only memory that cannot be written is taken: to write to it, a process has to
 * change its protection. The kernel reports that, and the mapping counts as JIT code again
 * (mapping.is_copy is lost) until its bytes have been compared anew.
 *
 * The kernel does not report mremap(). So if the kernel half has come to JIT code where the
 * daemon's table of mappings has a file, /proc/PID/maps decides what is there.
 */
#ifndef RECORDER_COPIED_TEXT_H
#define RECORDER_COPIED_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/recorder/locator.h"

struct copied_text;

/* The locator is borrowed; `proc_root` is "/proc" but for tests, and copied. 0 or -ENOMEM. */
int copied_text_new(struct locator *locator, const char *proc_root,
		    struct copied_text **ret_copied);
void copied_text_free(struct copied_text *copied); /* NULL is fine */

/* To be called after a sample in JIT code of a process. Searches the process for copied text,
 * unless it is too soon after the last search (backoff.h), and enters what it finds as mappings of
 * the file. `is_file`: the table of mappings has a file where the sample was. Returns 1 if it found
 * copied text that was not known; 0; or -ENOMEM. */
int copied_text_look(struct copied_text *copied, pid_t pid, uint64_t time_ns, bool is_file);

#endif
