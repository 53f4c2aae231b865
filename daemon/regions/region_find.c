/* SPDX-License-Identifier: MIT */
/* Matches a file's symbols; see region_find.h. */
#include "daemon/regions/region_find.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/mpi_calls.h"
#include "daemon/regions/mpi_layout.h"
#include "daemon/regions/probe_move.h"
#include "daemon/regions/region_name.h"
#include "daemon/regions/ifunc_resolvers.h"
#include "daemon/regions/tail_calls.h"
#include "sym/debug_file.h"
#include "sym/demangle.h"
#include "sym/function_symbols.h"
#include "sym/mpi_name.h"

/* An indirect function that matches; its address is that of its resolver. */
struct indirect {
	struct function_symbol symbol;
	size_t spec;
	enum region_match how;
};

struct search {
	const struct region_spec *specs;
	size_t n_specs;
	const char *path;
	const struct elf_file *file;
	const struct debug_source *source;
	struct found_regions *found;
	size_t first; /* index in `found` of this file's first function */
	struct stackd_mpi_library library;
	bool has_library; /* `library` was looked up */
	VEC(struct indirect) indirect;
};

/* Returns whether the functions of MPI are asked for. */
static bool wants_mpi(const struct search *s)
{
	for (size_t i = 0; i < s->n_specs; i++) {
		if (!s->specs[i].function)
			return true;
	}
	return false;
}

/* Returns the function that was found at an offset of the file; NULL: none. */
static struct found_region *known_at(const struct search *s, uint64_t offset)
{
	for (size_t i = s->first; i < s->found->found.count; i++) {
		if (s->found->found.items[i].offset == offset)
			return &s->found->found.items[i];
	}
	return NULL;
}

static int add_part(struct found_region *region, uint64_t vaddr, uint64_t size)
{
	if (VEC_RESERVE(&region->parts, 1))
		return -ENOMEM;
	region->parts.items[region->parts.count++] =
		(struct code_part){.vaddr = vaddr, .size = size};
	return 0;
}

/* Sets the description of a function of MPI (mpi_calls.h). For the first one of a file, also finds
 * the layout of the library (mpi_layout.h). */
static void set_mpi(struct search *s, struct found_region *region,
		    const struct function_symbol *symbol)
{
	struct found_regions *found = s->found;

	if (!s->has_library) {
		s->library = mpi_layout_find(s->file);
		found->n_libraries += found->n_libraries <= STACKD_MPI_LIBRARIES;
		s->has_library = true;
	}
	region->library = s->library;
	region->mpi = mpi_calls_find(
		symbol->name, symbol->vaddr,
		found->n_libraries > STACKD_MPI_LIBRARIES ? 0 : (uint8_t)found->n_libraries,
		s->library.vendor);
}

static int add(struct search *s, size_t spec, const struct function_symbol *symbol, uint64_t offset,
	       enum region_match how)
{
	struct found_region *region = known_at(s, offset);

	if (region) { /* the function is listed already, by another name */
		region->is_weak &= symbol->is_weak;
		region->is_like &= how == REGION_LIKE;
		return 0;
	}
	if (s->found->found.count >= STACKD_MOST_REGIONS)
		return -E2BIG;
	if (VEC_RESERVE(&s->found->found, 1))
		return -ENOMEM;
	region = &s->found->found.items[s->found->found.count++];
	*region =
		(struct found_region){.name = demangle(symbol->name),
				      .linked = strdup(symbol->name),
				      .source = symbol->source ? strdup(symbol->source) : NULL,
				      .offset = offset,
				      .is_weak = symbol->is_weak,
				      .is_like = how == REGION_LIKE,
				      .is_once = wants_mpi(s) && mpi_name_is_function(symbol->name),
				      .spec = spec};
	if (region->is_once)
		set_mpi(s, region, symbol);
	if (!region->name)
		region->name = strdup(symbol->name);
	if (!region->name || !region->linked)
		return -ENOMEM;
	return add_part(region, symbol->vaddr, symbol->size);
}

/* Returns whether `name` is that of a rarely executed part of a function: "function.cold", or
 * "function.part.0.cold". */
static bool is_cold_part(const char *name, const char *function)
{
	size_t len = strlen(function), base = region_name_base(function);

	return (strncmp(name, function, len) == 0 && strncmp(name + len, ".cold", 5) == 0) ||
	       (region_name_is_part(name) && !region_name_is_part(function) &&
		base == region_name_base(name) && strncmp(name, function, base) == 0);
}

/* Returns the function, at an index from `from` up to `to`, of which `part` is the rest after
 * partial inlining; NULL: there is none. */
static struct found_region *whole_of(const struct search *s, const struct found_region *part,
				     size_t from, size_t to)
{
	size_t base = region_name_base(part->linked);

	for (size_t i = from; i < to; i++) {
		struct found_region *region = &s->found->found.items[i];

		if (region->spec == part->spec && !region_name_is_part(region->linked) &&
		    region_name_base(region->linked) == base &&
		    !strncmp(region->linked, part->linked, base))
			return region;
	}
	return NULL;
}

static void free_region(struct found_region *region)
{
	free(region->name);
	free(region->linked);
	free(region->source);
	free(region->parts.items);
	function_exits_free(&region->exits);
}

/* Merges function.part.N (the rest of a function whose beginning was inlined in callers) into the
 * function itself, if the file also has the whole function, which calls the rest or jumps to it. 0
 * or -ENOMEM. */
static int merge_rests(struct search *s)
{
	size_t kept = s->first;
	int err = 0;

	for (size_t i = s->first; i < s->found->found.count; i++) {
		struct found_region region = s->found->found.items[i], *whole = NULL;

		if (!err && region_name_is_part(region.linked))
			whole = whole_of(s, &region, s->first, kept);
		if (!err && !whole && region_name_is_part(region.linked))
			whole = whole_of(s, &region, i + 1, s->found->found.count);
		if (whole) {
			err = add_part(whole, region.parts.items[0].vaddr,
				       region.parts.items[0].size);
			free_region(&region);
		} else {
			s->found->found.items[kept++] = region;
		}
	}
	s->found->found.count = kept;
	return err;
}

/* If a symbol is the .cold part of a function that was found, adds the part to it. 0 or -ENOMEM. */
static int match_part(void *arg, const struct function_symbol *symbol)
{
	struct search *s = arg;
	int err = 0;

	if (!strstr(symbol->name, ".cold"))
		return 0;
	for (size_t i = s->first; i < s->found->found.count && !err; i++) {
		struct found_region *region = &s->found->found.items[i];

		if (is_cold_part(symbol->name, region->linked))
			err = add_part(region, symbol->vaddr, symbol->size);
	}
	return err;
}

static int find_exits(struct search *s)
{
	for (size_t i = s->first; i < s->found->found.count; i++) {
		struct found_region *region = &s->found->found.items[i];

		region->error = function_exits_find(s->file, region->parts.items,
						    region->parts.count, &region->exits);
		if (region->error == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* Moves the probes of all functions of the file to instructions where they cost less
 * (probe_move.h). 0 or -ENOMEM. The entry's probe of a function of MPI stays where the arguments
 * are still in place, since the kernel half reads them. */
static int move_probes(struct search *s)
{
	int err = 0;

	for (size_t i = s->first; i < s->found->found.count && !err; i++) {
		struct found_region *region = &s->found->found.items[i];
		bool uses_arguments = region->is_once && region->mpi.kind != STACKD_MPI_OTHER;

		if (!region->error)
			err = probe_move(s->file, region->parts.items, region->parts.count,
					 uses_arguments, &region->exits);
	}
	return err;
}

/* Adds an indirect function to s->indirect, unless it is there already, since several symbol tables
 * may list it. 0 or -ENOMEM. */
static int add_indirect(struct search *s, size_t spec, const struct function_symbol *symbol,
			enum region_match how)
{
	for (size_t i = 0; i < s->indirect.count; i++) {
		if (s->indirect.items[i].symbol.vaddr == symbol->vaddr)
			return 0;
	}
	if (VEC_RESERVE(&s->indirect, 1))
		return -ENOMEM;
	s->indirect.items[s->indirect.count++] =
		(struct indirect){.symbol = *symbol, .spec = spec, .how = how};
	return 0;
}

/* The argument of add_resolved(), which adds the functions that a resolver may return, under the
 * name of the indirect function. */
struct resolved {
	struct search *search;
	const struct indirect *indirect;
};

static int add_resolved(void *arg, const struct code_part *function)
{
	const struct resolved *r = arg;
	struct function_symbol symbol = r->indirect->symbol;
	uint64_t offset;

	symbol.vaddr = function->vaddr;
	symbol.size = function->size;
	if (!elf_file_vaddr_to_offset(r->search->file, symbol.vaddr, &offset))
		return 0;
	return add(r->search, r->indirect->spec, &symbol, offset, r->indirect->how);
}

static int resolve(struct search *s)
{
	int err = 0;

	for (size_t i = 0; i < s->indirect.count && !err; i++) {
		const struct function_symbol *symbol = &s->indirect.items[i].symbol;
		const struct code_part part = {.vaddr = symbol->vaddr, .size = symbol->size};
		struct resolved r = {s, &s->indirect.items[i]};

		err = ifunc_resolvers_each(s->file, &part, add_resolved, &r);
	}
	return err;
}

/* Adds the function of a symbol, if it matches. A resolver is not added itself, since callers call
 * the function that it returns; nor is the program's entry point, which no code calls. 0, -E2BIG or
 * -ENOMEM. */
static int match(void *arg, const struct function_symbol *symbol)
{
	struct search *s = arg;
	uint64_t offset;

	s->found->has_symbols = true;
	if (strstr(symbol->name, ".cold") || symbol->vaddr == elf_file_entry_vaddr(s->file) ||
	    !elf_file_vaddr_to_offset(s->file, symbol->vaddr, &offset))
		return 0;
	for (size_t i = 0; i < s->n_specs; i++) {
		enum region_match how =
			region_spec_match(&s->specs[i], s->path, symbol->name, symbol->source);

		if (how != REGION_OTHER && symbol->is_resolver)
			return s->specs[i].is_glob ? 0 : add_indirect(s, i, symbol, how);
		if (how != REGION_OTHER)
			return add(s, i, symbol, offset, how);
	}
	return 0;
}

bool region_find_wants(const struct region_spec *specs, size_t n_specs, const char *path)
{
	for (size_t i = 0; i < n_specs; i++) {
		if (region_spec_may_be_in(&specs[i], path))
			return true;
	}
	return false;
}

static int search(struct search *s)
{
	struct elf_file *debug = NULL;
	int err;

	if (debug_file_open(s->file, s->source, s->path, &debug) == -ENOMEM)
		return -ENOMEM;
	err = function_symbols_each(s->file, debug, match, s);
	if (!err)
		err = resolve(s);
	if (!err)
		err = merge_rests(s);
	if (!err && s->found->found.count > s->first)
		err = function_symbols_each(s->file, debug, match_part, s);
	if (!err)
		err = find_exits(s);
	if (!err)
		err = tail_calls_follow(s->file, debug, s->found, s->first);
	if (!err)
		err = move_probes(s);
	elf_file_free(debug);
	free(s->indirect.items);
	return err;
}

int region_find(const struct region_spec *specs, size_t n_specs, const struct elf_file *file,
		const char *path, const struct debug_source *debug, struct found_regions *found)
{
	struct search s = {.specs = specs,
			   .n_specs = n_specs,
			   .path = path,
			   .found = found,
			   .first = found->found.count};

	found->runtime = NULL;
	found->has_symbols = false;
	found->traits = (struct file_traits){0};
	if (!region_find_wants(specs, n_specs, path))
		return 0;
	s.file = file;
	s.source = debug;
	found->runtime = runtime_of_file(file);
	found->traits = file_traits_of(file);
	return search(&s);
}

void found_regions_free(struct found_regions *found)
{
	for (size_t i = 0; i < found->found.count; i++)
		free_region(&found->found.items[i]);
	free(found->found.items);
	*found = (struct found_regions){0};
}
