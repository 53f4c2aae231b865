/* SPDX-License-Identifier: MIT */
/*
 * Searches files, and writes the results; see region_service.h. ask_regions.c reads them.
 *
 *   REGION_FIND            u32 n specs: title, function, object, u8 is_glob  ─► regions, exits
 *   REGION_FIND_MARK       function, object, u8 is_glob, file, u32 line      ─► vaddrs
 *   REGION_FIND_ALLOC      u8 wants_uretprobes                               ─► offsets, cookies
 *   REGION_FIND_VARIABLES  for each counter as of a region                   ─► found_variables
 *   REGION_FIND_INLINED    title, function, object, u8 is_glob               ─► region_inlined
 *
 * An absent string is an empty one.
 */
#include "daemon/regions/region_service.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/regions/alloc_functions.h"
#include "daemon/regions/mark_find.h"
#include "daemon/regions/region_inlined.h"
#include "daemon/regions/region_find.h"
#include "daemon/regions/counter_variables.h"

#define MAX_SPECS 4096
#define MAX_TEXT  4096

/* Reads a string; *ret_text is NULL for an empty one. */
static int get_text(struct buf_reader *r, char **ret_text)
{
	char text[MAX_TEXT];

	if (!buf_get_string(r, text, sizeof(text)))
		return -EINVAL;
	*ret_text = *text ? strdup(text) : NULL;
	return *text && !*ret_text ? -ENOMEM : 0;
}

static int get_spec(struct buf_reader *r, struct region_spec *ret_spec)
{
	uint8_t is_glob;
	int err = get_text(r, &ret_spec->title);

	if (!err)
		err = get_text(r, &ret_spec->function);
	if (!err)
		err = get_text(r, &ret_spec->object);
	BUF_GET(r, is_glob);
	ret_spec->is_glob = is_glob;
	return err;
}

/* --- regions --------------------------------------------------------------------------------- */

static void put_region(const struct found_region *region, struct buf *reply)
{
	const uint32_t spec = (uint32_t)region->spec, n_exits = (uint32_t)region->exits.all.count;
	const int32_t error = region->error;
	const uint8_t flags[4] = {region->is_once, region->exits.is_loop, region->is_weak,
				  region->is_like};

	buf_put_string(reply, region->name);
	buf_put_string(reply, region->linked);
	buf_put_string(reply, region->source ? region->source : "");
	BUF_PUT(reply, region->offset);
	BUF_PUT(reply, region->mpi);
	BUF_PUT(reply, region->library);
	BUF_PUT(reply, flags);
	BUF_PUT(reply, region->exits.after);
	BUF_PUT(reply, region->exits.frame);
	BUF_PUT(reply, error);
	BUF_PUT(reply, spec);
	BUF_PUT(reply, n_exits);
	buf_put(reply, region->exits.all.items, n_exits * sizeof(*region->exits.all.items));
}

static int find(const struct service_file *file, const struct region_spec *specs, size_t n,
		uint32_t n_libraries, struct buf *reply)
{
	struct found_regions found = {.n_libraries = n_libraries};
	int err = region_find(specs, n, file->elf, file->path, file->debug, &found);
	const uint8_t flags[4] = {found.has_symbols, found.traits.is_program,
				  found.traits.is_linker, found.traits.starts_others};
	const uint32_t runtime = runtime_number_of(found.runtime);
	const uint32_t count = (uint32_t)found.found.count, libraries = found.n_libraries;

	BUF_PUT(reply, flags);
	BUF_PUT(reply, runtime);
	BUF_PUT(reply, libraries);
	BUF_PUT(reply, count);
	for (size_t i = 0; i < count; i++)
		put_region(&found.found.items[i], reply);
	found_regions_free(&found);
	return err;
}

static int find_regions(const struct service_file *file, struct buf_reader *r, struct buf *reply)
{
	struct region_spec *specs = NULL;
	uint32_t n, n_libraries;
	int err = 0;

	if (BUF_GET(r, n) && n <= MAX_SPECS)
		specs = calloc(n ? n : 1, sizeof(*specs));
	if (!specs)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++)
		err = get_spec(r, &specs[i]);
	if (!err && !BUF_GET(r, n_libraries))
		err = -EINVAL;
	if (!err)
		err = find(file, specs, n, n_libraries, reply);
	for (uint32_t i = 0; i < n; i++)
		region_spec_free(&specs[i]);
	free(specs);
	return err;
}

/* --- marks ----------------------------------------------------------------------------------- */

static int find_mark(const struct service_file *file, struct buf_reader *r, struct buf *reply)
{
	struct mark_place place = {0};
	struct mark_code code = {0};
	int err = get_spec(r, &place.spec);

	if (!err)
		err = get_text(r, &place.file);
	if (!err && !BUF_GET(r, place.line))
		err = -EINVAL;
	if (!err)
		err = mark_find(&place, file->elf, file->path, file->debug, &code);
	if (!err) {
		const uint8_t has_file = code.has_file;
		const uint32_t runtime = runtime_number_of(code.runtime);
		const uint32_t count = (uint32_t)code.vaddrs.count;

		BUF_PUT(reply, has_file);
		BUF_PUT(reply, runtime);
		BUF_PUT(reply, code.next_line);
		BUF_PUT(reply, count);
		buf_put(reply, code.vaddrs.items, count * sizeof(*code.vaddrs.items));
	}
	mark_code_free(&code);
	region_spec_free(&place.spec);
	free(place.file);
	return err;
}

/* --- allocations ----------------------------------------------------------------------------- */

static int find_alloc(const struct service_file *file, struct buf_reader *r, struct buf *reply)
{
	struct alloc_functions f;
	uint32_t counts[5];
	uint8_t wants_uretprobes;
	int err;

	if (!BUF_GET(r, wants_uretprobes))
		return -EINVAL;
	err = alloc_functions_find(file->elf, wants_uretprobes, &f);
	counts[0] = (uint32_t)f.entries.count;
	counts[1] = (uint32_t)f.returns.count;
	counts[2] = (uint32_t)f.uretprobes.count;
	counts[3] = (uint32_t)f.n_left_out;
	counts[4] = f.has_malloc;
	BUF_PUT(reply, counts);
	buf_put(reply, f.entries.items, f.entries.count * sizeof(uint64_t));
	buf_put(reply, f.cookies.items, f.entries.count * sizeof(uint64_t));
	buf_put(reply, f.returns.items, f.returns.count * sizeof(uint64_t));
	buf_put(reply, f.return_cookies.items, f.returns.count * sizeof(uint64_t));
	buf_put(reply, f.uretprobes.items, f.uretprobes.count * sizeof(uint64_t));
	alloc_functions_free(&f);
	return err;
}

/* --- variables ------------------------------------------------------------------------------- */

static int find_variables(const struct service_file *file, struct buf_reader *r, struct buf *reply)
{
	struct region_spec specs[STACKD_MOST_COUNTERS] = {0};
	struct found_variables found;
	int err = 0;

	for (size_t i = 0; i < STACKD_MOST_COUNTERS && !err; i++)
		err = get_spec(r, &specs[i]);
	if (!err)
		err = counter_variables_find(specs, file->elf, file->path, file->debug, &found);
	if (!err)
		BUF_PUT(reply, found);
	for (size_t i = 0; i < STACKD_MOST_COUNTERS; i++)
		region_spec_free(&specs[i]);
	return err;
}

/* --- inlined functions ----------------------------------------------------------------------- */

static int find_inlined(const struct service_file *file, struct buf_reader *r, struct buf *reply)
{
	struct region_spec spec = {0};
	struct region_inlined inlined;
	int err = get_spec(r, &spec);

	if (!err)
		err = region_inlined_find(&spec, file->elf, file->path, file->debug, &inlined);
	if (!err)
		BUF_PUT(reply, inlined);
	region_spec_free(&spec);
	return err;
}

int region_service(const struct service_file *file, struct buf_reader *request, struct buf *reply)
{
	uint32_t question;

	if (!BUF_GET(request, question))
		return -EINVAL;
	switch ((enum region_question)question) {
	case REGION_FIND:
		return find_regions(file, request, reply);
	case REGION_FIND_MARK:
		return find_mark(file, request, reply);
	case REGION_FIND_ALLOC:
		return find_alloc(file, request, reply);
	case REGION_FIND_VARIABLES:
		return find_variables(file, request, reply);
	case REGION_FIND_INLINED:
		return find_inlined(file, request, reply);
	}
	return -ENOSYS;
}
