/* SPDX-License-Identifier: MIT */
/* Compares the targets of calls with the beginnings of functions; see noreturn_check.h. */
#include "daemon/recorder/noreturn_check.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/call_site.h"
#include "base/vec.h"

#define NONE	    UINT32_MAX
#define MOST_OBJECT (1u << 20) /* number of an object beyond which nothing is kept */

void noreturn_check_fini(struct noreturn_check *n)
{
	for (size_t i = 0; i < n->starts_cap; i++)
		callflow_starts_fini(&n->starts[i]);
	free(n->starts);
	free(n->known);
	int_map_fini(&n->functions);
	*n = (struct noreturn_check){.objects = n->objects, .locations = n->locations};
}

static const struct object *object_of(const struct noreturn_check *n, const struct location *l)
{
	return object_table_at(n->objects, l->object);
}

/* Returns the number by which a file offset is kept. */
static uint32_t offset_of(const struct elf_file *elf, uint64_t vaddr)
{
	uint64_t offset;

	return elf_file_vaddr_to_offset(elf, vaddr, &offset) && offset && offset < NONE
		       ? (uint32_t)offset
		       : NONE;
}

/* --- locations ------------------------------------------------------------------------------- */

/* Gives what is kept of a location; it lives until the next call. 0 or -ENOMEM. */
static int find_known(struct noreturn_check *n, uint32_t number, struct noreturn_location **ret)
{
	if (VEC_GROW_ZEROED(n->known, n->known_cap, (size_t)number + 1))
		return -ENOMEM;
	*ret = &n->known[number];
	return 0;
}

/* Gives the beginnings of an object's functions. 0; -ENODATA: there is no room for them; -ENOMEM.
 */
static int find_starts(struct noreturn_check *n, uint32_t number, struct callflow_starts **ret)
{
	if (number >= MOST_OBJECT)
		return -ENODATA;
	if (VEC_GROW_ZEROED(n->starts, n->starts_cap, (size_t)number + 1))
		return -ENOMEM;
	*ret = &n->starts[number];
	return 0;
}

/* Gives the vaddr of the beginning of an object's function. As callflow_starts_find(). */
static int find_start(struct noreturn_check *n, const struct location *l, uint64_t *ret_start)
{
	const struct elf_file *elf = object_of(n, l)->elf;
	struct callflow_starts *starts;
	uint64_t vaddr;
	size_t before;
	int err = elf_file_offset_to_vaddr(elf, l->offset, &vaddr)
			  ? find_starts(n, l->object, &starts)
			  : -ENODATA;

	if (err || (!starts->kept.count && n->kept > NORETURN_CHECK_KEPT))
		return err ? err : -ENODATA;
	before = starts->kept.count;
	err = callflow_starts_find(starts, elf, vaddr, ret_start);
	n->kept += starts->kept.count - before;
	return err;
}

/* Gives where a location's function begins; 0: that cannot be read now. 0 or -ENOMEM. */
static int find_function(struct noreturn_check *n, uint32_t number, uint32_t *ret_function)
{
	const struct location *l = location_at(n->locations, number);
	struct noreturn_location *known;
	uint64_t start;
	int err = find_known(n, number, &known);

	if (!err && !known->function) {
		err = find_start(n, l, &start);
		if (!err)
			known->function = offset_of(object_of(n, l)->elf, start);
		else if (err == -ENODATA)
			known->function = NONE;
	}
	if (err == -ENOMEM)
		return err;
	*ret_function = known->function;
	return 0;
}

/* Gives the target of the direct call before a location; 0: that cannot be read now. 0 or -ENOMEM.
 */
static int find_target(struct noreturn_check *n, uint32_t number, uint32_t *ret_target)
{
	const struct location *l = location_at(n->locations, number);
	const struct elf_file *elf = object_of(n, l)->elf;
	const uint64_t end = l->offset + 1;
	uint8_t code[CALL_SITE_BYTES];
	struct noreturn_location *known;
	uint64_t vaddr;
	int err = find_known(n, number, &known);

	if (err)
		return err;
	if (!known->target && end >= sizeof(code) &&
	    elf_file_read_now(elf, end - sizeof(code), code, sizeof(code)))
		known->target =
			call_site_kinds(code, sizeof(code)) & CALL_SITE_DIRECT &&
					elf_file_offset_to_vaddr(elf, l->offset, &vaddr)
				? offset_of(elf, call_site_target(code + sizeof(code), vaddr + 1))
				: NONE;
	*ret_target = known->target;
	return 0;
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool is_file(const struct object *object)
{
	return object->kind == OBJECT_ELF && object->elf && !elf_file_is_32bit(object->elf);
}

static uint64_t key_of(uint32_t object, uint32_t function)
{
	return (uint64_t)object << 32 | function;
}

/* Gives whether a direct call of the caller goes to the beginning of the callee's function, or
 * cannot be read now. 0 or -ENOMEM. */
static int is_called(struct noreturn_check *n, uint32_t caller, uint32_t callee, uint32_t function,
		     bool *ret_is_called)
{
	uint32_t target;
	int err;

	*ret_is_called = false;
	if (location_at(n->locations, caller)->object != location_at(n->locations, callee)->object)
		return 0;
	err = find_target(n, caller, &target);
	*ret_is_called = target == function || !target;
	return err;
}

/* Gives whether the callee's function seems to return, and notes it then. 0 or -ENOMEM. */
static int may_return(struct noreturn_check *n, uint32_t callee, bool *ret_may)
{
	const struct location *l = location_at(n->locations, callee);
	const struct elf_file *elf = object_of(n, l)->elf;
	uint64_t vaddr;

	*ret_may = elf_file_offset_to_vaddr(elf, l->offset, &vaddr) &&
		   callflow_starts_may_return(&n->starts[l->object], elf, vaddr);
	return *ret_may ? noreturn_check_answer(n, callee, false) : 0;
}

int noreturn_check_step(struct noreturn_check *n, uint32_t caller, uint32_t callee,
			enum noreturn_step *ret_step)
{
	const struct location *from = location_at(n->locations, caller);
	const struct location *to = location_at(n->locations, callee);
	uint32_t function = 0, stays = 0;
	bool is = true;
	int err;

	*ret_step = NORETURN_STEP_PROVEN;
	if (!is_file(object_of(n, from)) || !is_file(object_of(n, to)))
		return 0;
	err = find_function(n, callee, &function);
	if (err || !function || function == NONE)
		return err;
	stays = int_map_find(&n->functions, key_of(to->object, function));
	if (stays)
		err = is_called(n, caller, callee, function, &is);
	if (!err && !is && stays == INT_MAP_NONE)
		err = may_return(n, callee, &is);
	if (!err && !is)
		*ret_step = stays == INT_MAP_NONE ? NORETURN_STEP_ASK : NORETURN_STEP_DOUBTED;
	return err;
}

int noreturn_check_answer(struct noreturn_check *n, uint32_t callee, bool is_noreturn)
{
	const uint32_t object = location_at(n->locations, callee)->object;

	return int_map_set(&n->functions, key_of(object, n->known[callee].function), is_noreturn);
}
