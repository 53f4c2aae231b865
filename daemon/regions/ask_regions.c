/* SPDX-License-Identifier: MIT */
/* Writes requests, and checks the worker's replies; see ask_regions.h and region_service.c. */
#include "daemon/regions/ask_regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/regions/region_service.h"
#include "daemon/worker/ask_worker.h"
#include "daemon/worker/wire.h"

#define MAX_NAME      (64u << 10)
#define MAX_EXITS     (1u << 20)
#define MAX_ADDRESSES (1u << 20)

static void put_text(struct buf *b, const char *text)
{
	buf_put_string(b, text ? text : "");
}

static void put_spec(struct buf *b, const struct region_spec *spec)
{
	const uint8_t is_glob = spec->is_glob;

	put_text(b, spec->title);
	put_text(b, spec->function);
	put_text(b, spec->object);
	BUF_PUT(b, is_glob);
}

static struct buf begin(enum region_question question)
{
	const uint32_t number = question;
	struct buf request = {0};

	BUF_PUT(&request, number);
	return request;
}

/* Reads a string, for free(); NULL: the reply is too short, or there is no memory. */
static char *get_text(struct buf_reader *r)
{
	uint64_t len = buf_get_varint(r);
	char *text = len < MAX_NAME && len <= buf_left(r) ? malloc(len + 1) : NULL;

	if (!text || !buf_get(r, text, len)) {
		free(text);
		r->failed = true;
		return NULL;
	}
	text[len] = '\0';
	return text;
}

/* Reads `count` addresses into an array. */
static int get_addresses(struct buf_reader *r, uint32_t count, uint64_t **ret_items,
			 size_t *ret_count, size_t *ret_cap)
{
	if (count > MAX_ADDRESSES || (uint64_t)count * sizeof(uint64_t) > buf_left(r))
		return -EBADMSG;
	if (vec_reserve((void **)ret_items, ret_cap, count, sizeof(uint64_t)))
		return -ENOMEM;
	buf_get(r, *ret_items, count * sizeof(uint64_t));
	*ret_count = count;
	return 0;
}

/* --- regions --------------------------------------------------------------------------------- */

static int get_exits(struct buf_reader *r, uint32_t count, struct function_exits *exits)
{
	if (count > MAX_EXITS || (uint64_t)count * sizeof(*exits->all.items) > buf_left(r))
		return -EBADMSG;
	if (VEC_RESERVE(&exits->all, count))
		return -ENOMEM;
	buf_get(r, exits->all.items, count * sizeof(*exits->all.items));
	exits->all.count = count;
	return 0;
}

static bool are_flags(const uint8_t *flags, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (flags[i] > 1)
			return false;
	}
	return true;
}

static int get_region(struct buf_reader *r, size_t n_specs, struct found_region *region)
{
	uint32_t spec, n_exits;
	int32_t error;
	uint8_t flags[4];

	region->name = get_text(r);
	region->linked = get_text(r);
	region->source = get_text(r);
	BUF_GET(r, region->offset);
	BUF_GET(r, region->mpi);
	BUF_GET(r, region->library);
	BUF_GET(r, flags);
	BUF_GET(r, region->exits.after);
	BUF_GET(r, region->exits.frame);
	BUF_GET(r, error);
	BUF_GET(r, spec);
	BUF_GET(r, n_exits);
	if (r->failed || spec >= n_specs || region->mpi.library > STACKD_MPI_LIBRARIES ||
	    !are_flags(flags, sizeof(flags)) || error > 0 || error < -4095)
		return -EBADMSG;
	region->is_once = flags[0];
	region->exits.is_loop = flags[1];
	region->is_weak = flags[2];
	region->is_like = flags[3];
	region->error = error;
	region->spec = spec;
	return get_exits(r, n_exits, &region->exits);
}

static int get_regions(struct buf_reader *r, size_t n_specs, struct found_regions *found)
{
	uint8_t flags[4];
	uint32_t count, n_libraries, runtime;
	int err = 0;

	BUF_GET(r, flags);
	BUF_GET(r, runtime);
	BUF_GET(r, n_libraries);
	if (!BUF_GET(r, count) || n_libraries > STACKD_MPI_LIBRARIES + 1 ||
	    !are_flags(flags, sizeof(flags)) || n_libraries < found->n_libraries ||
	    n_libraries > found->n_libraries + 1)
		return -EBADMSG;
	found->n_libraries = n_libraries;
	found->runtime = runtime_of_number(runtime);
	found->has_symbols = flags[0];
	found->traits = (struct file_traits){
		.is_program = flags[1], .is_linker = flags[2], .starts_others = flags[3]};
	for (uint32_t i = 0; i < count && !err; i++) {
		if (found->found.count >= STACKD_MOST_REGIONS)
			return -E2BIG;
		if (VEC_RESERVE(&found->found, 1))
			return -ENOMEM;
		found->found.items[found->found.count] = (struct found_region){0};
		err = get_region(r, n_specs, &found->found.items[found->found.count++]);
	}
	return err;
}

/* Turns the error of a call of the worker into the result of ask_regions_find(): -ENOMEM, if stackd
 * itself has no memory; -E2BIG, if more was found than there is room for; else 0, as for a file
 * without matches. */
static int result(int err)
{
	return err == -ENOMEM || err == -E2BIG ? err : 0;
}

/* Removes the functions that an invalid reply has added, from index `before` on. */
static void take_back(struct found_regions *found, size_t before)
{
	while (found->found.count > before) {
		struct found_region *region = &found->found.items[--found->found.count];

		free(region->name);
		free(region->linked);
		free(region->source);
		function_exits_free(&region->exits);
	}
}

int ask_regions_find(struct worker *worker, const struct region_spec *specs, size_t n_specs,
		     const struct elf_file *file, const char *path, struct found_regions *found)
{
	const uint32_t n = (uint32_t)n_specs, n_libraries = found->n_libraries;
	size_t before = found->found.count;
	struct buf request = begin(REGION_FIND), reply = {0};
	struct buf_reader r;
	int err;

	found->runtime = NULL;
	found->has_symbols = false;
	found->traits = (struct file_traits){0};
	BUF_PUT(&request, n);
	for (size_t i = 0; i < n_specs; i++)
		put_spec(&request, &specs[i]);
	BUF_PUT(&request, n_libraries);
	err = ask_worker_file(worker, file, path, &request, &reply);
	r = buf_reader(reply.data, reply.len);
	if (!err)
		err = get_regions(&r, n_specs, found);
	if (err && err != -E2BIG)
		take_back(found, before);
	if (err == -EBADMSG)
		ask_worker_refuse(worker, file, path);
	buf_free(&request);
	buf_free(&reply);
	return result(err);
}

/* --- marks ----------------------------------------------------------------------------------- */

static int get_code(struct buf_reader *r, struct mark_code *code)
{
	uint8_t has_file;
	uint32_t count, runtime;

	BUF_GET(r, has_file);
	BUF_GET(r, runtime);
	BUF_GET(r, code->next_line);
	if (!BUF_GET(r, count))
		return -EBADMSG;
	code->runtime = runtime_of_number(runtime);
	code->has_file = has_file;
	return get_addresses(r, count, &code->vaddrs.items, &code->vaddrs.count, &code->vaddrs.cap);
}

int ask_regions_mark(struct worker *worker, const struct mark_place *place,
		     const struct elf_file *file, const char *path, struct mark_code *ret_code)
{
	struct buf request = begin(REGION_FIND_MARK), reply = {0};
	struct buf_reader r;
	int err;

	*ret_code = (struct mark_code){0};
	put_spec(&request, &place->spec);
	put_text(&request, place->file);
	BUF_PUT(&request, place->line);
	err = ask_worker_file(worker, file, path, &request, &reply);
	r = buf_reader(reply.data, reply.len);
	if (!err)
		err = get_code(&r, ret_code);
	if (err == -EBADMSG)
		ask_worker_refuse(worker, file, path);
	buf_free(&request);
	buf_free(&reply);
	return result(err);
}

/* --- allocations ----------------------------------------------------------------------------- */

static int get_functions(struct buf_reader *r, struct alloc_functions *f)
{
	uint32_t counts[5];
	int err;

	if (!BUF_GET(r, counts))
		return -EBADMSG;
	f->n_left_out = counts[3];
	f->has_malloc = counts[4];
	err = get_addresses(r, counts[0], &f->entries.items, &f->entries.count, &f->entries.cap);
	if (!err)
		err = get_addresses(r, counts[0], &f->cookies.items, &f->cookies.count,
				    &f->cookies.cap);
	if (!err)
		err = get_addresses(r, counts[1], &f->returns.items, &f->returns.count,
				    &f->returns.cap);
	if (!err)
		err = get_addresses(r, counts[1], &f->return_cookies.items,
				    &f->return_cookies.count, &f->return_cookies.cap);
	if (!err)
		err = get_addresses(r, counts[2], &f->uretprobes.items, &f->uretprobes.count,
				    &f->uretprobes.cap);
	return err;
}

int ask_regions_alloc(struct worker *worker, const struct elf_file *file, const char *path,
		      bool wants_uretprobes, struct alloc_functions *ret_functions)
{
	const uint8_t wants = wants_uretprobes;
	struct buf request = begin(REGION_FIND_ALLOC), reply = {0};
	struct buf_reader r;
	int err;

	*ret_functions = (struct alloc_functions){0};
	BUF_PUT(&request, wants);
	err = ask_worker_file(worker, file, path, &request, &reply);
	r = buf_reader(reply.data, reply.len);
	if (!err)
		err = get_functions(&r, ret_functions);
	if (err)
		alloc_functions_free(ret_functions);
	if (err == -EBADMSG)
		ask_worker_refuse(worker, file, path);
	buf_free(&request);
	buf_free(&reply);
	return result(err);
}

/* --- answers of fixed size -------------------------------------------------------------------- */

/* Asks for one record of `size` bytes, and frees the request. If the record is too short, or
 * `is_valid` returns false, the reply is refused (ask_worker_refuse()). *ret is all zeros on
 * failure. */
static int ask_record(struct worker *worker, const struct elf_file *file, const char *path,
		      struct buf *request, bool (*is_valid)(const void *record), void *ret,
		      size_t size)
{
	struct buf reply = {0};
	struct buf_reader r;
	int err = ask_worker_file(worker, file, path, request, &reply);

	r = buf_reader(reply.data, reply.len);
	if (!err && (!buf_get(&r, ret, size) || !is_valid(ret))) {
		ask_worker_refuse(worker, file, path);
		err = -EBADMSG;
	}
	if (err)
		memset(ret, 0, size);
	buf_free(request);
	buf_free(&reply);
	return result(err);
}

static bool are_variables(const void *record)
{
	const struct found_variables *found = record;

	for (size_t i = 0; i < STACKD_MOST_COUNTERS; i++) {
		if (found->bytes[i] > 8 || found->is_other[i] > 1)
			return false;
	}
	return true;
}

int ask_regions_variables(struct worker *worker, const struct region_spec *specs,
			  const struct elf_file *file, const char *path,
			  struct found_variables *ret_found)
{
	struct buf request = begin(REGION_FIND_VARIABLES);

	for (size_t i = 0; i < STACKD_MOST_COUNTERS; i++)
		put_spec(&request, &specs[i]);
	return ask_record(worker, file, path, &request, are_variables, ret_found,
			  sizeof(*ret_found));
}

static bool are_texts(const void *record)
{
	const struct region_inlined *inlined = record;

	for (size_t i = 0; i < REGION_INLINED_MOST; i++) {
		if (!memchr(inlined->files[i], '\0', REGION_INLINED_BYTES))
			return false;
	}
	return true;
}

int ask_regions_inlined(struct worker *worker, const struct region_spec *spec,
			const struct elf_file *file, const char *path,
			struct region_inlined *ret_inlined)
{
	struct buf request = begin(REGION_FIND_INLINED);

	put_spec(&request, spec);
	return ask_record(worker, file, path, &request, are_texts, ret_inlined,
			  sizeof(*ret_inlined));
}
