/* SPDX-License-Identifier: MIT */
/*
 * Implements the functions of struct lbr_code; see lbr_code.h.
 *
 * A call to `to` led to `pc` if both are in one function. Else it may have led there by jumps: a
 * stub of the PLT leads into other files, a thunk (retpoline) anywhere. The direct jumps that leave
 * a function (tail calls, and jumps to the parts that compilers split off) are followed from
 * function to function. An indirect jump may lead anywhere, too, but most are those of a switch,
 * which stay in the function. A switch's jump goes through a register to which the instruction
 * before has added a base, or through a table with a scaled index; those are not counted.
 *
 *   function ──► struct leads {direct jumps out of it, has it an indirect one} ──► cached
 */
#include "lbr/lbr_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "arch/code_form.h"
#include "base/vec.h"
#include "callflow/callflow_site.h"
#include "callflow/callflow_stub.h"
#include "unwind/sigreturn.h"

/* limit of the jumps out of a function; a function with more may lead anywhere */
#define MAX_JUMPS 64
#define MAX_HOPS  16 /* limit of the functions that one call of follow() examines */

struct leads_key {
	uint64_t start; /* file offset */
	uint32_t object;
	uint32_t pad;
};

/* The targets of the direct jumps out of a function. */
struct leads {
	struct leads_key key;
	bool anywhere;	   /* the function has an indirect jump, or too many jumps */
	uint64_t *targets; /* file offsets; owned */
	size_t n, cap;
	UT_hash_handle hh;
};

struct stub_key {
	uint64_t offset;
	uint32_t object;
	uint32_t pad;
};

struct stub {
	struct stub_key key;
	enum callflow_stub kind;
	UT_hash_handle hh;
};

struct lbr_code_files {
	struct dwarf_walk *walk;
	struct insn_decoder decoder;
	struct leads *leads;
	struct stub *stubs;
	struct callflow_sites *sites;
	struct walk_frame frames[DWARF_WALK_MAX_FRAMES];
};

int lbr_code_new(struct dwarf_walk *walk, struct lbr_code_files **ret_files)
{
	struct lbr_code_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	if (callflow_sites_new(&files->sites)) {
		free(files);
		return -ENOMEM;
	}
	files->walk = walk;
	insn_decoder_init(&files->decoder);
	*ret_files = files;
	return 0;
}

static void forget_leads(struct lbr_code_files *files)
{
	struct leads *leads, *next;

	HASH_ITER (hh, files->leads, leads, next) {
		HASH_DEL(files->leads, leads);
		free(leads->targets);
		free(leads);
	}
}

static void forget_stubs(struct lbr_code_files *files)
{
	struct stub *stub, *next;

	HASH_ITER (hh, files->stubs, stub, next) {
		HASH_DEL(files->stubs, stub);
		free(stub);
	}
}

void lbr_code_free(struct lbr_code_files *files)
{
	if (!files)
		return;
	forget_leads(files);
	forget_stubs(files);
	callflow_sites_free(files->sites);
	free(files);
}

/* --- reading code ---------------------------------------------------------------------------- */

static bool find(const struct lbr_code_view *view, uint64_t address,
		 struct callflow_location *ret_location)
{
	return view->in->find(view->in->arg, address, &ret_location->object,
			      &ret_location->offset) &&
	       ret_location->object->elf;
}

static bool is_jump(const struct flow_insn *i)
{
	return i->kind == FLOW_JUMP || i->kind == FLOW_BRANCH;
}

static const struct callflow_site *site_at(const struct lbr_code_view *view,
					   const struct callflow_location *location)
{
	return callflow_site_at(view->files->sites, &view->files->decoder, location);
}

static uint64_t call_end(void *arg, uint64_t from)
{
	const struct lbr_code_view *view = arg;
	const struct callflow_site *site;
	struct callflow_location location;

	if (!find(view, from, &location))
		return 0;
	site = site_at(view, &location);
	return site->kind == CALLFLOW_SITE_CALL ? from + site->length : 0;
}

/* --- functions ------------------------------------------------------------------------------- */

static bool function_of(const struct lbr_code_view *view, const struct callflow_location *location,
			uint64_t *ret_start, uint64_t *ret_end)
{
	return dwarf_walk_function(view->files->walk, location->object, location->offset, ret_start,
				   ret_end);
}

/* Returns the kind of the stub at a location. Stubs are few, and cached like functions. */
static enum callflow_stub stub_at(struct lbr_code_files *files,
				  const struct callflow_location *location)
{
	struct stub_key key = {.offset = location->offset, .object = location->object->number};
	struct stub *stub;

	HASH_FIND(hh, files->stubs, &key, sizeof(key), stub);
	if (stub)
		return stub->kind;
	if (HASH_COUNT(files->stubs) >= LBR_CODE_MAX_FUNCTIONS)
		forget_stubs(files);
	stub = calloc(1, sizeof(*stub));
	if (!stub)
		return CALLFLOW_STUB_ANYWHERE;
	stub->key = key;
	stub->kind = callflow_stub_at(&files->decoder, location);
	HASH_ADD(hh, files->stubs, key, sizeof(key), stub);
	return stub->kind;
}

/* Returns whether a stub at a location can lead to code of the file `goal`. */
static bool stub_leads_to(struct lbr_code_files *files, const struct callflow_location *location,
			  const struct object *goal)
{
	enum callflow_stub kind = stub_at(files, location);

	return kind == CALLFLOW_STUB_ANYWHERE ||
	       (kind == CALLFLOW_STUB_OUTSIDE && goal != location->object);
}

/* Returns whether an indirect jump looks like that of a switch. */
static bool is_switch(const struct flow_insn *jump, const struct flow_insn *before)
{
	return jump->reg == INSN_NO_REG ? jump->scale == sizeof(uint64_t)
					: jump->reg == before->sum;
}

static void note_jump(struct leads *leads, const struct flow_insn *i,
		      const struct flow_insn *before, uint64_t offset, uint64_t end)
{
	uint64_t target;

	if (!i->is_direct) {
		leads->anywhere |= !is_switch(i, before);
		return;
	}
	target = flow_insn_target(i, offset);
	if (target >= leads->key.start && target < end)
		return;
	for (size_t n = 0; n < leads->n; n++) {
		if (leads->targets[n] == target)
			return;
	}
	if (leads->n == MAX_JUMPS || VEC_GROW(leads->targets, leads->cap, leads->n + 1) < 0) {
		leads->anywhere = true;
		return;
	}
	leads->targets[leads->n++] = target;
}

static void scan(const struct lbr_code_files *files, struct leads *leads, const uint8_t *code,
		 size_t len, uint64_t end)
{
	struct flow_insn i, before = {.sum = INSN_NO_REG};
	size_t at = 0;

	while (at < len && flow_insn_decode(&files->decoder, code + at, len - at, &i)) {
		if (is_jump(&i))
			note_jump(leads, &i, &before, leads->key.start + at, end);
		at += i.length;
		before = i;
	}
	/* Not all of the function was decoded, so it may lead anywhere. */
	leads->anywhere |= at < end - leads->key.start;
}

/* Returns the jumps out of a function, from the cache or by decoding it; NULL: no memory. */
static struct leads *leads_of(struct lbr_code_files *files, const struct object *object,
			      uint64_t start, uint64_t end)
{
	struct leads_key key = {.start = start, .object = object->number};
	size_t size = end - start < LBR_CODE_MAX_BYTES ? end - start : LBR_CODE_MAX_BYTES;
	struct leads *leads;
	uint8_t *code;
	int64_t got;

	HASH_FIND(hh, files->leads, &key, sizeof(key), leads);
	if (leads)
		return leads;
	if (HASH_COUNT(files->leads) >= LBR_CODE_MAX_FUNCTIONS)
		forget_leads(files);
	leads = calloc(1, sizeof(*leads));
	code = malloc(size + 1);
	if (!leads || !code) {
		free(leads);
		free(code);
		return NULL;
	}
	leads->key = key;
	got = elf_file_read(object->elf, start, code, size);
	scan(files, leads, code, got > 0 ? (size_t)got : 0, end);
	free(code);
	HASH_ADD(hh, files->leads, key, sizeof(key), leads);
	return leads;
}

/* Follows direct jumps from function to function, up to the function that begins at `goal`. Returns
 * whether they lead there. */
static enum callflow_fit follow(const struct lbr_code_view *view, struct callflow_location at,
				const struct object *goal_object, uint64_t goal)
{
	uint64_t seen[MAX_HOPS], start, end;
	enum callflow_fit fit = CALLFLOW_FIT_NO;
	size_t n = 0;

	if (!function_of(view, &at, &seen[n++], &end))
		return CALLFLOW_FIT_UNKNOWN;
	for (size_t i = 0; i < n; i++) {
		const struct leads *leads;

		at.offset = seen[i];
		if (!function_of(view, &at, &start, &end))
			continue;
		leads = leads_of(view->files, at.object, start, end);
		if (!leads || leads->anywhere)
			fit = CALLFLOW_FIT_MAYBE;
		for (uint32_t j = 0; leads && j < leads->n; j++) {
			size_t k = 0;

			at.offset = leads->targets[j];
			if (stub_leads_to(view->files, &at, goal_object))
				return CALLFLOW_FIT_JUMP;
			if (!function_of(view, &at, &start, &end))
				continue;
			if (at.object == goal_object && start == goal)
				return CALLFLOW_FIT_JUMP;
			while (k < n && seen[k] != start)
				k++;
			if (k == n && n < MAX_HOPS)
				seen[n++] = start;
		}
	}
	return fit;
}

static enum callflow_fit fit(void *arg, uint64_t to, uint64_t pc)
{
	const struct lbr_code_view *view = arg;
	struct callflow_location target, location;
	uint64_t start, end, pc_start, pc_end;

	if (!find(view, to, &target) || !find(view, pc, &location))
		return CALLFLOW_FIT_UNKNOWN;
	if (function_of(view, &target, &start, &end) && target.object == location.object &&
	    location.offset >= start && location.offset < end)
		return CALLFLOW_FIT_SAME;
	switch (stub_at(view->files, &target)) {
	case CALLFLOW_STUB_ANYWHERE:
		return CALLFLOW_FIT_JUMP;
	case CALLFLOW_STUB_OUTSIDE:
		return target.object == location.object ? CALLFLOW_FIT_NO : CALLFLOW_FIT_JUMP;
	case CALLFLOW_STUB_NONE:
		break;
	}
	if (!function_of(view, &location, &pc_start, &pc_end))
		return CALLFLOW_FIT_UNKNOWN;
	return follow(view, target, location.object, pc_start);
}

/* --- return addresses ------------------------------------------------------------------------ */

/* Returns whether a function begins at a location; makecontext() puts such an address in place of a
 * return address. */
static bool is_function_start(const struct lbr_code_view *view,
			      const struct callflow_location *location)
{
	uint64_t start, end;

	return function_of(view, location, &start, &end) && start == location->offset;
}

static bool is_local(void *arg, const struct lbr_entry *call)
{
	const struct lbr_code_view *view = arg;
	struct callflow_location from, to;
	uint64_t start, end;

	return find(view, call->from, &from) && find(view, call->to, &to) &&
	       from.object == to.object && function_of(view, &from, &start, &end) &&
	       to.offset > start && to.offset < end;
}

static enum callflow_fit call_fit(void *arg, uint64_t address, uint64_t pc)
{
	const struct lbr_code_view *view = arg;
	const struct callflow_site *site;
	struct callflow_location location;

	if (!find(view, address - CODE_FORM_CALL, &location))
		return CALLFLOW_FIT_UNKNOWN;
	site = site_at(view, &location);
	if (site->kind != CALLFLOW_SITE_CALL || site->length != CODE_FORM_CALL || !site->distance)
		return CALLFLOW_FIT_UNKNOWN;
	return fit(arg, address + (uint64_t)(int64_t)site->distance, pc);
}

static bool is_return_address(void *arg, uint64_t address)
{
	const struct lbr_code_view *view = arg;
	struct callflow_location location;

	if (!view->in->find(view->in->arg, address - 1, &location.object, &location.offset))
		return false;
	if (!location.object->elf)
		return true;
	location.offset++;
	return site_at(view, &location)->follows_call ||
	       sigreturn_is_at(location.object->elf, location.offset) ||
	       is_function_start(view, &location);
}

static bool is_entry(void *arg, uint64_t address, bool is_return)
{
	const struct lbr_code_view *view = arg;
	struct callflow_location location;

	return find(view, address - is_return, &location) &&
	       dwarf_walk_is_entry(view->files->walk, location.object, location.offset, is_return);
}

/* --- kinds of branch ------------------------------------------------------------------------- */

/* Returns whether a jump leads to behind a call in the middle of another function, as longjmp's
 * does. */
static bool is_long_jump(void *arg, uint64_t from, uint64_t to)
{
	const struct lbr_code_view *view = arg;
	struct callflow_location source, target;
	uint64_t start, end;

	if (!find(view, from, &source) || !find(view, to, &target) ||
	    !function_of(view, &source, &start, &end))
		return false;
	if (target.object == source.object && target.offset >= start && target.offset < end)
		return false;
	return site_at(view, &target)->follows_call && !is_function_start(view, &target);
}

static enum lbr_kind kind(void *arg, uint64_t from, uint64_t to)
{
	const struct lbr_code_view *view = arg;
	struct callflow_location location;

	if (!find(view, from, &location))
		return LBR_KIND_UNKNOWN;
	switch (site_at(view, &location)->kind) {
	case CALLFLOW_SITE_NONE:
		return LBR_KIND_UNKNOWN;
	case CALLFLOW_SITE_CALL:
		return LBR_KIND_CALL;
	case CALLFLOW_SITE_RETURN:
		return LBR_KIND_RETURN;
	case CALLFLOW_SITE_INDIRECT:
		return is_long_jump(arg, from, to) ? LBR_KIND_LONG_JUMP : LBR_KIND_JUMP;
	default:
		return LBR_KIND_JUMP;
	}
}

/* --- walks ----------------------------------------------------------------------------------- */

static size_t convert(const struct walk_frame *from, size_t n, struct lbr_walked *to)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (struct lbr_walked){.address = from[i].address,
					    .slot = from[i].slot,
					    .is_return = from[i].is_return,
					    .is_guess = from[i].is_guess,
					    .provenance = from[i].provenance};
	return n;
}

enum stackd_end_reason lbr_code_walk(struct lbr_code_view *view, struct lbr_walked *frames,
				     size_t max, size_t *ret_count)
{
	struct lbr_code_files *files = view->files;
	enum stackd_end_reason end;
	size_t n;

	if (max > DWARF_WALK_MAX_FRAMES)
		max = DWARF_WALK_MAX_FRAMES;
	end = dwarf_walk_stack(files->walk, view->in, files->frames, max, &n);
	*ret_count = convert(files->frames, n, frames);
	return end;
}

/* Walks from the frame itself, and leaves the frame out, since the path has it already. */
static enum stackd_end_reason walk_on(void *arg, uint64_t address, uint64_t slot,
				      struct lbr_walked *frames, size_t max, size_t *ret_count)
{
	const struct lbr_code_view *view = arg;
	struct lbr_code_files *files = view->files;
	struct walk_input in = *view->in;
	enum stackd_end_reason end;
	size_t n;

	in.stack_start = in.stack_start ? in.stack_start : in.regs.r[STACKD_REG_SP];
	in.known = 1u << STACKD_REG_SP;
	in.is_return = true;
	in.regs.r[STACKD_REG_SP] = slot + 8;
	in.regs.r[STACKD_REG_PC] = address;
	if (max > DWARF_WALK_MAX_FRAMES - 1)
		max = DWARF_WALK_MAX_FRAMES - 1;
	end = dwarf_walk_stack(files->walk, &in, files->frames, max + 1, &n);
	*ret_count = n ? convert(files->frames + 1, n - 1, frames) : 0;
	return end;
}

struct lbr_code lbr_code_of(struct lbr_code_view *view)
{
	return (struct lbr_code){.fit = fit,
				 .call_end = call_end,
				 .is_local = is_local,
				 .kind = kind,
				 .is_return_address = is_return_address,
				 .call_fit = call_fit,
				 .is_entry = is_entry,
				 .walk_on = walk_on,
				 .arg = view};
}
