/* SPDX-License-Identifier: MIT */
/*
 * Detours: code at a function's end that calls, and jumps back.
 *
 *   T-6   jb S                in the body of a handler, where CFA = stack pointer + 80
 *   T     ...
 *         ret                 CFA = stack pointer + 64
 *   S     call collector      the information still says 64
 *   S+5   jmp T
 *
 * A compiler that writes its call frame information as it writes its code, like OCaml's, gives a
 * detour the frame of the code before it, although it runs in the frame of the code from which it
 * is reached and to which it jumps. The stack pointer is the same on both sides of a jump, so one
 * of the two rules is wrong. The instructions decide: they are followed from the function's entry,
 * and if the frame of T arrives at S, then T's rule holds in the detour. It is a rule of the
 * information, and keeps that provenance.
 *
 * Where the rules of S and T agree, which is everywhere in the code of other compilers, nothing is
 * followed.
 */
#ifndef UNWIND_DETOUR_H
#define UNWIND_DETOUR_H

#include "unwind/code_window.h"
#include "unwind/recipe_rules.h"
#include "unwind/recipe_rows.h"
#include "unwind/walk_rule.h"

/* Searches a function of a section for detours with a wrong rule, and adds rows with the right ones
 * to `layer`, and NONE behind them. The function has the rows of `reader`, and lies between the
 * file offsets `start` and `end`; functions must come in order, else their detours are left out.
 * Returns 0 or -ENOMEM. */
int detour_find(struct code_window *window, const struct recipe_rules *rules,
		struct recipe_rows_reader reader, uint32_t start, uint32_t end,
		struct recipe_rows *layer);

/* Replaces the rule of an instruction (vaddr), or with `is_return` of the call whose last byte is
 * at `vaddr`, if it belongs to a detour whose rule is wrong. `rule` is the one that `index` states.
 * Returns 0 or -ENOMEM. */
int detour_improve(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
		   bool is_return, struct walk_rule *rule);

#endif
