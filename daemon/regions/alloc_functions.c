/* SPDX-License-Identifier: MIT */
/* Finds an allocator's functions by name; see alloc_functions.h. */
#include "daemon/regions/alloc_functions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "daemon/regions/function_exits.h"
#include "daemon/regions/probe_move.h"
#include "sym/function_symbols.h"
#include "sym/unwind_bounds.h"

#define MOST_PARTS 32 /* parts of a function, including code that it jumps to */

struct known_name {
	const char *name;
	enum stackd_alloc_kind kind;
};

/* Allocators also export their functions under names with a prefix, some only under such names.
 * Programs then call these names through macros or, as Rust programs do, through a library. */
static const char *const prefixes[] = {"", "tc_", "mi_", "je_", "_rjem_"};

/* Names without the prefix. A trailing '*' stands for any ending. */
static const struct known_name known_names[] = {
	{"malloc", STACKD_ALLOC_SIZE},
	{"free", STACKD_ALLOC_FREE},
	{"calloc", STACKD_ALLOC_PRODUCT},
	{"realloc", STACKD_ALLOC_RESIZE},
	{"reallocarray", STACKD_ALLOC_RESIZE_PRODUCT},
	{"posix_memalign", STACKD_ALLOC_INTO},
	{"aligned_alloc", STACKD_ALLOC_SECOND},
	{"memalign", STACKD_ALLOC_SECOND},
	{"valloc", STACKD_ALLOC_SIZE},
	{"pvalloc", STACKD_ALLOC_SIZE},
	{"cfree", STACKD_ALLOC_FREE},
	{"_Znwm*", STACKD_ALLOC_SIZE},
	{"_Znam*", STACKD_ALLOC_SIZE},
	{"_ZdlPv*", STACKD_ALLOC_FREE},
	{"_ZdaPv*", STACKD_ALLOC_FREE},
	{"mallocx", STACKD_ALLOC_SIZE},
	{"rallocx", STACKD_ALLOC_RESIZE},
	{"dallocx", STACKD_ALLOC_FREE},
	{"sdallocx", STACKD_ALLOC_FREE},
	{"zalloc", STACKD_ALLOC_SIZE},
	{"mallocn", STACKD_ALLOC_PRODUCT},
	{"malloc_small", STACKD_ALLOC_SIZE},
	{"zalloc_small", STACKD_ALLOC_SIZE},
	{"malloc_aligned", STACKD_ALLOC_SIZE},
	{"zalloc_aligned", STACKD_ALLOC_SIZE},
	{"calloc_aligned", STACKD_ALLOC_PRODUCT},
	{"realloc_aligned", STACKD_ALLOC_RESIZE},
	{"new", STACKD_ALLOC_SIZE},
	{"free_size", STACKD_ALLOC_FREE},
	{"free_aligned", STACKD_ALLOC_FREE},
	{"free_size_aligned", STACKD_ALLOC_FREE},
};

#define FIRST_OWN_NAME "zalloc" /* this name and the following ones occur only with a prefix */

/* A function with the findings from all its names, because allocators give one address to free(),
 * cfree() and operator delete, and symbol tables list these in any order. */
struct found {
	uint64_t vaddr, size;
	enum stackd_alloc_kind kind;
	bool is_malloc; /* one of its names is malloc() */
	bool can_throw; /* one of its names is a C++ operator's */
};

struct search {
	const struct elf_file *file;
	struct unwind_bounds *bounds;
	struct alloc_functions *functions;
	VEC(struct found) found;
	bool has_malloc, has_free; /* under any prefix */
	bool wants_uretprobes;
};

static const struct known_name *find_rest(const char *name, bool has_prefix)
{
	bool is_own = false;

	for (size_t i = 0; i < sizeof(known_names) / sizeof(*known_names); i++) {
		const char *known = known_names[i].name;
		size_t len = strlen(known);

		is_own |= !strcmp(known, FIRST_OWN_NAME);
		if (is_own && !has_prefix)
			return NULL;
		if (known[len - 1] == '*' ? !strncmp(name, known, len - 1) : !strcmp(name, known))
			return &known_names[i];
	}
	return NULL;
}

/* Returns the entry of `known_names` for a symbol; NULL: it is no function of an allocator. */
static const struct known_name *find_name(const char *name)
{
	const struct known_name *known = NULL;

	for (size_t i = 0; !known && i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t len = strlen(prefixes[i]);

		if (!strncmp(name, prefixes[i], len))
			known = find_rest(name + len, len > 0);
	}
	return known;
}

static struct found *at_vaddr(const struct search *s, uint64_t vaddr)
{
	for (size_t i = 0; i < s->found.count; i++) {
		if (s->found.items[i].vaddr == vaddr)
			return &s->found.items[i];
	}
	return NULL;
}

static int match(void *arg, const struct function_symbol *symbol)
{
	struct search *s = arg;
	const struct known_name *name = find_name(symbol->name);
	struct found *found;

	if (!name || symbol->is_resolver || !symbol->size)
		return 0;
	found = at_vaddr(s, symbol->vaddr);
	if (!found) {
		if (VEC_RESERVE(&s->found, 1))
			return -ENOMEM;
		found = &s->found.items[s->found.count++];
		*found = (struct found){
			.vaddr = symbol->vaddr, .size = symbol->size, .kind = name->kind};
	}
	found->is_malloc |= !strcmp(symbol->name, "malloc");
	found->can_throw |= !strncmp(name->name, "_Z", 2) || !strcmp(name->name, "new");
	s->has_malloc |= !strcmp(name->name, "malloc");
	s->has_free |= !strcmp(name->name, "free");
	s->functions->has_malloc |= found->is_malloc;
	return 0;
}

/* Returns whether the code at `vaddr` is a PLT entry: a jump to another file's function, or to a
 * function that is chosen at run time. */
static bool is_linkage(const struct elf_file *file, uint64_t vaddr)
{
	uint8_t code[2 * INSN_MAX_BYTES];
	struct insn_decoder decoder;
	struct insn i = {0};
	uint64_t offset;

	if (!elf_file_vaddr_to_offset(file, vaddr, &offset) ||
	    !elf_file_read_whole(file, offset, code, sizeof(code)))
		return false;
	insn_decoder_init(&decoder);
	/* The jump is the first instruction; or the second one, if the first marks a target of
	 * indirect calls. */
	for (size_t at = 0, n = 0; n < 2; n++, at += i.length) {
		if (!insn_decode(&decoder, code + at, sizeof(code) - at, vaddr + at, &i))
			return false;
		if (i.flow == INSN_JUMP_INDIRECT)
			return true;
	}
	return false;
}

/* --- a function ------------------------------------------------------------------------------- */

/* Adds the function at the target of a jump that ends a function, since the call returns from
 * there, as a part. Returns whether it was added. */
static bool add_target(const struct search *s, uint64_t target, struct code_part *parts, size_t *n)
{
	uint64_t start = unwind_bounds_start(s->bounds, target);
	uint64_t end = unwind_bounds_end(s->bounds, target);

	if (*n >= MOST_PARTS || !start || end == UINT64_MAX || at_vaddr(s, target) ||
	    is_linkage(s->file, target))
		return false;
	for (size_t i = 0; i < *n; i++) {
		if (start - parts[i].vaddr < parts[i].size)
			return false;
	}
	parts[(*n)++] = (struct code_part){.vaddr = start, .size = end - start};
	return true;
}

/* Finds the exits of a function, and those of the code that it jumps to at its end. Errors as of
 * function_exits_find(). */
static int find_exits(const struct search *s, const struct found *f, struct function_exits *exits)
{
	struct code_part parts[MOST_PARTS] = {{.vaddr = f->vaddr, .size = f->size}};
	size_t n = 1;
	bool has_more;
	int err;

	do {
		has_more = false;
		function_exits_free(exits);
		err = function_exits_find(s->file, parts, n, exits);
		for (size_t i = 0; !err && i < exits->all.count; i++) {
			uint64_t target = exits->all.items[i].target;

			has_more |= target && add_target(s, target, parts, &n);
		}
	} while (!err && has_more);
	return err;
}

static int add_return(struct alloc_functions *functions, uint64_t offset, uint64_t cookie)
{
	for (size_t i = 0; i < functions->returns.count; i++) {
		if (functions->returns.items[i] == offset)
			return 0;
	}
	if (VEC_RESERVE(&functions->returns, 1) || VEC_RESERVE(&functions->return_cookies, 1))
		return -ENOMEM;
	functions->returns.items[functions->returns.count++] = offset;
	functions->return_cookies.items[functions->return_cookies.count++] = cookie;
	return 0;
}

/* Adds the probe for a function's entry: there, or at a later instruction where a probe costs less
 * and the arguments are still in place (probe_move.h). `may_tail`: the function may end with a jump
 * to another file's function. 0; -ENOEXEC: the entry has no file offset; -ENOMEM. */
static int add_entry(struct search *s, const struct found *f, bool may_tail)
{
	const struct code_part part = {.vaddr = f->vaddr, .size = f->size};
	struct alloc_functions *to = s->functions;
	struct function_exits moved = {0};
	uint64_t offset;

	if (!elf_file_vaddr_to_offset(s->file, f->vaddr, &offset))
		return -ENOEXEC;
	if (probe_move(s->file, &part, 1, true, &moved))
		return -ENOMEM;
	offset += moved.after;
	if (VEC_RESERVE(&to->entries, 1) || VEC_RESERVE(&to->cookies, 1))
		return -ENOMEM;
	to->entries.items[to->entries.count++] = offset;
	to->cookies.items[to->cookies.count++] =
		(uint64_t)f->kind | (may_tail ? STACKD_ALLOC_TAIL : 0);
	return 0;
}

/* Adds the probes at the entry and the exits of a function. 0 or -ENOMEM. */
static int take_exits(struct search *s, const struct found *f, const struct function_exits *exits)
{
	bool may_tail = false;
	int err = 0;

	for (size_t i = 0; !err && i < exits->all.count; i++) {
		const struct function_exit *exit = &exits->all.items[i];

		if (exit->kind == STACKD_EXIT_RETURN)
			err = add_return(s->functions, exit->offset, 0);
		else if (exit->target && at_vaddr(s, exit->target))
			may_tail = true;
		else if (exit->target && exit->kind == STACKD_EXIT_JUMP &&
			 f->kind == STACKD_ALLOC_PRODUCT)
			err = add_return(s->functions, exit->offset, STACKD_ALLOC_CLEARED);
	}
	return err ? err : add_entry(s, f, may_tail);
}

/* Adds the probe at a function's entry and, unless it is free(), a uretprobe at the same
 * instruction. Errors as of add_entry(). That works even where the entry's probe was moved, since
 * the return address is still on top of the stack there. */
static int take_entry(struct search *s, const struct found *f)
{
	struct alloc_functions *to = s->functions;
	int err = add_entry(s, f, false);

	if (err || f->kind == STACKD_ALLOC_FREE)
		return err;
	if (VEC_RESERVE(&to->uretprobes, 1))
		return -ENOMEM;
	to->uretprobes.items[to->uretprobes.count++] = to->entries.items[to->entries.count - 1];
	return 0;
}

/* Adds the probes of a function. 0; -ENOEXEC: its code cannot be decoded; -ENOMEM. */
static int take(struct search *s, const struct found *f)
{
	struct function_exits exits = {0};
	int err = 0;

	if (f->kind == STACKD_ALLOC_FREE || (s->wants_uretprobes && !f->can_throw))
		return take_entry(s, f);
	err = find_exits(s, f, &exits);
	if (!err)
		err = take_exits(s, f, &exits);
	function_exits_free(&exits);
	return err;
}

static int take_all(struct search *s)
{
	int err = 0;

	for (size_t i = 0; i < s->found.count && err != -ENOMEM; i++) {
		const struct found *f = &s->found.items[i];

		err = take(s, f);
		if (err != -ENOEXEC)
			continue;
		s->functions->n_left_out++;
		if (f->is_malloc)
			s->has_malloc = false;
	}
	return err == -ENOMEM ? err : 0;
}

int alloc_functions_find(const struct elf_file *file, bool wants_uretprobes,
			 struct alloc_functions *ret_functions)
{
	struct search s = {
		.file = file, .functions = ret_functions, .wants_uretprobes = wants_uretprobes};
	bool has_malloc;
	int err;

	*ret_functions = (struct alloc_functions){0};
	err = unwind_bounds_new(file, &s.bounds);
	if (!err)
		err = function_symbols_each(file, NULL, match, &s);
	has_malloc = ret_functions->has_malloc;
	if (!err && s.has_malloc && s.has_free)
		err = take_all(&s);
	if (!err && (!s.has_malloc || !s.has_free))
		alloc_functions_free(ret_functions);
	ret_functions->has_malloc = has_malloc;
	unwind_bounds_free(s.bounds);
	free(s.found.items);
	return err;
}

void alloc_functions_free(struct alloc_functions *functions)
{
	free(functions->entries.items);
	free(functions->cookies.items);
	free(functions->returns.items);
	free(functions->return_cookies.items);
	free(functions->uretprobes.items);
	*functions = (struct alloc_functions){0};
}
