/* SPDX-License-Identifier: MIT */
/*
 * Recognises text that a program has copied from its file to memory without one: onto huge pages,
 * at the addresses where it was mapped (node's --use-largepages, HHVM, MySQL, preloaded libraries
 * that do it for any program). The kernel reports such memory as code that the process has made.
 *
 * Around such memory lies what is left of the file's mappings. They say at what distance from
 * their addresses the file's segments belong. Where an executable segment of the file belongs to
 * the memory's address, and the memory has the segment's bytes, it is that file's text: the same
 * rules and names hold. Every byte is compared before, in pieces, so a part of the memory can be
 * text and another one something else. Only memory that cannot be written is taken: to write to
 * it, a process has to change its protection, which the kernel reports, and the mapping is one
 * of made code again (mapping.is_copy is lost) until its bytes have been compared anew.
 *
 * mremap() is not reported. Where the kernel half has met made code and the table of mappings has
 * a file, /proc decides.
 */
#ifndef MODEL_COPIED_TEXT_H
#define MODEL_COPIED_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/model/locator.h"

struct copied_text;

/* The locator is borrowed; `proc_root` is "/proc" but for tests, and copied. 0 or -ENOMEM. */
int copied_text_new(struct locator *locator, const char *proc_root,
		    struct copied_text **ret_copied);
void copied_text_free(struct copied_text *copied); /* NULL is fine */

/* Looks for copied text in a process in whose made code a sample has hit, unless it was looked at
 * a moment ago; what is found becomes mappings of its file. `is_file`: it was where the table of
 * mappings has a file. Returns 1 if there is any that was not known; 0; or -ENOMEM. */
int copied_text_look(struct copied_text *copied, pid_t pid, uint64_t time_ns, bool is_file);

#endif
