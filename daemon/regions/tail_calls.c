/* SPDX-License-Identifier: MIT */
/* Finds the functions to which tail calls lead, and takes their exits; see tail_calls.h. */
#include "daemon/regions/tail_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/function_symbols.h"
#include "sym/mpi_name.h"
#include "sym/plt.h"
#include "sym/symtab.h"
#include "sym/unwind_bounds.h"

#define STUB_END "@plt"

/* A function that a region jumps to. */
struct tail_call {
	struct found_region *region;
	uint64_t vaddr;	  /* where the jump leads */
	const char *stub; /* the name of the PLT stub there, "function@plt"; NULL: there is no
			   * stub */
	bool is_found;
};

struct follower {
	const struct elf_file *file;
	const struct plt *plt;
	VEC(struct tail_call) calls;
};

/* Returns whether all exits of a function of MPI are jumps with known targets. */
static bool is_left_by_jumps(const struct found_region *region)
{
	const struct function_exits *exits = &region->exits;

	for (size_t i = 0; i < exits->all.count; i++) {
		if (exits->all.items[i].kind != STACKD_EXIT_JUMP || !exits->all.items[i].target)
			return false;
	}
	return region->is_once && !region->error && exits->all.count;
}

static bool is_known(const struct follower *f, const struct found_region *region, uint64_t vaddr)
{
	for (size_t i = 0; i < f->calls.count; i++) {
		if (f->calls.items[i].region == region && f->calls.items[i].vaddr == vaddr)
			return true;
	}
	return false;
}

static int add_calls(struct follower *f, struct found_region *region)
{
	for (size_t i = 0; i < region->exits.all.count; i++) {
		struct tail_call call = {.region = region,
					 .vaddr = region->exits.all.items[i].target};
		uint64_t start;

		if (is_known(f, region, call.vaddr))
			continue;
		if (!plt_find(f->plt, call.vaddr, &call.stub, &start) || start != call.vaddr)
			call.stub = NULL;
		if (VEC_RESERVE(&f->calls, 1))
			return -ENOMEM;
		f->calls.items[f->calls.count++] = call;
	}
	return 0;
}

static bool is_target(const struct tail_call *call, const struct function_symbol *symbol)
{
	const size_t len = strlen(symbol->name);

	return call->stub ? strncmp(call->stub, symbol->name, len) == 0 &&
				    strcmp(call->stub + len, STUB_END) == 0
			  : call->vaddr == symbol->vaddr;
}

/* Adds the exits of a function to those of a region that jumps to it. If a thread comes to these
 * exits from another call, it has no open pass at that stack pointer, so the kernel half ignores
 * the hit (bpf/region.bpf.h). 0 or -ENOMEM. */
static int take_exits(struct found_region *region, const struct function_exits *exits)
{
	if (VEC_RESERVE(&region->exits.all, exits->all.count))
		return -ENOMEM;
	for (size_t i = 0; i < exits->all.count; i++) {
		struct function_exit exit = exits->all.items[i];

		exit.target = exit.slot = 0;
		region->exits.all.items[region->exits.all.count++] = exit;
	}
	return 0;
}

/* Removes the jumps to `target` from a region's exits, since the exits of the function there were
 * added. */
static void drop_jumps(struct found_region *region, uint64_t target)
{
	size_t kept = 0;

	for (size_t i = 0; i < region->exits.all.count; i++) {
		if (region->exits.all.items[i].target != target)
			region->exits.all.items[kept++] = region->exits.all.items[i];
	}
	region->exits.all.count = kept;
}

/* --- jumps to functions of MPI --------------------------------------------------------------- */

/* Returns whether a stub is that of a function of MPI, by either of its names. */
static bool is_stub_of_mpi(const char *stub)
{
	const size_t len = strlen(stub) - strlen(STUB_END);
	char name[256];

	if (len >= sizeof(name))
		return false;
	memcpy(name, stub, len);
	name[len] = '\0';
	return mpi_name_is_function(name) ||
	       ((*name == 'P' || *name == 'p') && mpi_name_is_function(name + 1));
}

/* Returns whether an exit is a jump to a function of MPI: through the PLT to one in another file,
 * or to one that was found in this file. */
static bool leads_to_mpi(const struct follower *f, const struct found_regions *found, size_t first,
			 const struct function_exit *exit)
{
	const uint64_t at = exit->slot ? exit->slot : exit->target;
	uint64_t start, offset;
	const char *stub;

	if (!at)
		return false;
	if (plt_find(f->plt, at, &stub, &start))
		return start == at && is_stub_of_mpi(stub);
	if (!exit->target || !elf_file_vaddr_to_offset(f->file, at, &offset))
		return false;
	for (size_t i = first; i < found->found.count; i++) {
		const struct found_region *region = &found->found.items[i];

		if (region->offset == offset)
			return region->is_once && !region->error;
	}
	return false;
}

static void go_on(const struct follower *f, struct found_regions *found, size_t first)
{
	for (size_t i = first; i < found->found.count; i++) {
		struct found_region *region = &found->found.items[i];
		struct function_exits *exits = &region->exits;
		size_t kept = 0;

		if (!region->is_once || region->error)
			continue;
		for (size_t e = 0; e < exits->all.count; e++) {
			if (!leads_to_mpi(f, found, first, &exits->all.items[e]))
				exits->all.items[kept++] = exits->all.items[e];
		}
		region->mpi.goes_on = kept < exits->all.count;
		exits->all.count = kept;
	}
}

/* Returns whether a region is a function of MPI that has a jump among its exits. */
static bool has_jumps(const struct found_region *region)
{
	bool has = false;

	for (size_t i = 0; i < region->exits.all.count; i++)
		has |= region->exits.all.items[i].target || region->exits.all.items[i].slot;
	return region->is_once && !region->error && has;
}

/* --- all of them ----------------------------------------------------------------------------- */

/* Replaces a region's jump, among its exits, by the exits of the function to which it leads. If
 * that function cannot be decoded, the jump stays an exit. 0 or -ENOMEM. */
static int take_function(const struct follower *f, struct tail_call *call,
			 const struct code_part *function)
{
	struct function_exits exits;
	int err = function_exits_find(f->file, function, 1, &exits);

	if (!err && exits.all.count) {
		drop_jumps(call->region, call->vaddr);
		err = take_exits(call->region, &exits);
		call->is_found = true;
	}
	function_exits_free(&exits);
	return err == -ENOEXEC ? 0 : err;
}

static int match(void *arg, const struct function_symbol *symbol)
{
	struct follower *f = arg;
	const struct code_part part = {.vaddr = symbol->vaddr, .size = symbol->size};
	int err = 0;

	for (size_t i = 0; i < f->calls.count && !err; i++) {
		struct tail_call *call = &f->calls.items[i];

		if (!call->is_found && is_target(call, symbol))
			err = take_function(f, call, &part);
	}
	return err;
}

/* Calls take_function() for the targets of jumps that have no symbol, with bounds from the unwind
 * information. 0 or -ENOMEM. */
static int match_nameless(struct follower *f)
{
	struct unwind_bounds *bounds = NULL;
	int err = unwind_bounds_new(f->file, &bounds);

	for (size_t i = 0; i < f->calls.count && !err; i++) {
		struct tail_call *call = &f->calls.items[i];
		const struct code_part part = {.vaddr = call->vaddr,
					       .size = unwind_bounds_end(bounds, call->vaddr) -
						       call->vaddr};

		if (!call->is_found && !call->stub &&
		    unwind_bounds_start(bounds, call->vaddr) == call->vaddr)
			err = take_function(f, call, &part);
	}
	unwind_bounds_free(bounds);
	return err;
}

static int follow(struct follower *f, const struct elf_file *debug, struct found_regions *found,
		  size_t first)
{
	int err = 0;

	for (size_t i = first; i < found->found.count && !err; i++) {
		if (is_left_by_jumps(&found->found.items[i]))
			err = add_calls(f, &found->found.items[i]);
	}
	if (!err && f->calls.count)
		err = function_symbols_each(f->file, debug, match, f);
	return err || !f->calls.count ? err : match_nameless(f);
}

int tail_calls_follow(const struct elf_file *file, const struct elf_file *debug,
		      struct found_regions *found, size_t first)
{
	struct follower f = {.file = file};
	struct symtab *symtab = NULL;
	struct plt *plt = NULL;
	bool is_wanted = false;
	int err;

	for (size_t i = first; i < found->found.count; i++)
		is_wanted |= has_jumps(&found->found.items[i]);
	if (!is_wanted)
		return 0;
	err = symtab_new(file, debug, &symtab);
	if (!err)
		err = plt_new(file, symtab, true, &plt);
	f.plt = plt;
	if (!err)
		go_on(&f, found, first);
	if (!err)
		err = follow(&f, debug, found, first);
	free(f.calls.items);
	plt_free(plt);
	symtab_free(symtab);
	return err;
}
