/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: Go's table of functions: all functions, names, values and lines, and the search by
 * address. The first 8 bytes are the address of the text. And the runtime's code that switches
 * stacks, which is all of them.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/go/go_rules.h"
#include "runtime/go/go_stack.h"
#include "arch/go_switch.h"
#include "runtime/go/pclntab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Values are in order, do not overlap, and stay within the function. */
static void read_values(const struct pclntab *t, const struct pclntab_function *f, uint32_t where)
{
	struct pclntab_values v = pclntab_values_begin(t, f, where);
	uint64_t start, end, last = f->start;
	int32_t value;

	/* Huge functions in a small table have no more values than the table has bytes. */
	while (pclntab_values_next(&v, &start, &end, &value)) {
		check(start == last && end > start && end <= f->end);
		last = end;
	}
}

static void read_function(const struct pclntab *t, const struct pclntab_function *f)
{
	struct pclntab_function found;
	const char *file;
	uint32_t line;

	check(f->start <= f->end);
	go_stack_of(f->name);
	read_values(t, f, f->pcsp);
	if (f->start == f->end)
		return;
	check(pclntab_find(t, f->start, &found));
	check(found.start == f->start && found.end == f->end);
	if (pclntab_line(t, f, f->end - 1, &file, &line))
		check(strlen(file) < SIZE_MAX && line);
}

/* Any bytes may be code. What is found of it lies in it. */
static void read_code(const uint8_t *code, size_t size)
{
	struct go_goroutine goroutine = {.sp = 0x38};
	struct go_cgo_frame frame;
	struct go_switch found = {0};
	struct go_gogo gogo;

	check(go_switch_sets_sp(code, size) <= size);
	go_switch_morestack(code, size, &goroutine);
	if (go_switch_gogo(code, size, &gogo))
		check(gogo.from < gogo.loaded && gogo.loaded < gogo.end && gogo.end < size);
	if (go_switch_systemstack(code, size, &found, &goroutine)) {
		check(found.call < found.back && found.back <= size);
		check(goroutine.m >= 0 && goroutine.curg >= 0 && goroutine.sp >= 0);
	}
	for (size_t from = 0; go_switch_asmcgocall(code, size, from, &found, &frame);) {
		check(found.call > from && found.call < found.back && found.back <= size);
		from = found.call;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pclntab_function f;
	struct pclntab *t;
	uint64_t text;

	if (size < sizeof(text))
		return -1;
	read_code(data, size);
	memcpy(&text, data, sizeof(text));
	if (pclntab_open(data + sizeof(text), size - sizeof(text), text, &t))
		return 0;
	for (size_t i = 0; i < pclntab_count(t) && i < 4096; i++) {
		if (pclntab_get(t, i, &f))
			read_function(t, &f);
	}
	pclntab_free(t);
	return 0;
}
