/* SPDX-License-Identifier: MIT */
/* Reads code around return addresses; see planted_returns.h. */
#include "daemon/recorder/planted_returns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/mapping_set.h"
#include "stack/provenance.h"
#include "unwind/planted_return.h"

void planted_returns_fini(struct planted_returns *p)
{
	free(p->later.items);
	p->later.items = NULL;
	p->later.count = p->later.cap = 0;
}

uint64_t planted_returns_unchecked(const struct planted_returns *p)
{
	return p->unchecked + p->later.count;
}

void planted_returns_begin_anew(struct planted_returns *p)
{
	p->unchecked += p->later.count;
	p->later.count = 0;
}

/* Returns the address at which a process has mapped an object's file offset; 0: not known. */
static uint64_t address_of(const struct planted_returns *p, pid_t pid, const struct object *object,
			   uint64_t offset)
{
	const struct mapping_set *set = locator_mappings(p->locator, pid);

	for (uint32_t i = 0; set && i < set->count; i++) {
		const struct mapping *m = &set->maps[i];

		if (m->object == object && offset - m->offset < m->end - m->start)
			return m->start + (offset - m->offset);
	}
	return 0;
}

/* Reads the code around a return address, from the file or from the process's memory, without
 * waiting for a file system. (In memory, a breakpoint, such as the kernel's for a probe, may have
 * replaced a call.) false: the code cannot be read now. */
static bool read_code(const struct planted_returns *p, pid_t pid, const struct object *object,
		      uint64_t offset, uint8_t code[PLANTED_RETURN_BYTES])
{
	uint64_t address;

	if (elf_file_read_now(object->elf, offset - PLANTED_RETURN_BEFORE, code,
			      PLANTED_RETURN_BYTES))
		return true;
	address = address_of(p, pid, object, offset);
	return address &&
	       resident_memory_read(locator_memory(p->locator), pid,
				    address - PLANTED_RETURN_BEFORE, code, PLANTED_RETURN_BYTES) &&
	       !memchr(code, ARCH_BREAKPOINT, PLANTED_RETURN_BEFORE);
}

/* Returns whether, in the process's memory, a call instruction ends right before a return
 * address. */
static bool is_called_there(const struct memory_source *from, pid_t pid, uint64_t address,
			    const struct object *object, uint64_t offset)
{
	uint8_t code[PLANTED_RETURN_BEFORE];

	return resident_memory_read(from, pid, address - sizeof(code), code, sizeof(code)) &&
	       planted_return_is_called(code, object->elf, offset);
}

static bool is_of_beginning(const struct stackd_rule *rule)
{
	return rule->cfa == STACKD_CFA_REG && rule->reg == STACKD_REG_SP &&
	       rule->cfa_offset == ARCH_CALL_PUSHES && rule->ra_offset == ARCH_RETURN_SLOT;
}

/* Returns 1 if the table has, at the return address, the rule of a function's first instruction,
 * and another rule right before it (at `offset`, which is one byte below); 0 if not; -EAGAIN: there
 * is no table yet. */
static int begins_function(const struct planted_returns *p, const struct object *object,
			   uint64_t offset)
{
	struct stackd_rule behind, before;
	int err = tables_rule(p->tables, object, offset + 1, &behind);

	/* Most addresses are within functions: one rule tells, and reading one maps parts of the
	 * kernel half's tables. */
	if (!err && !is_of_beginning(&behind))
		return 0;
	if (!err)
		err = tables_rule(p->tables, object, offset, &before);
	if (err)
		return err == -EAGAIN ? err : 0;
	return memcmp(&behind, &before, sizeof(before)) != 0;
}

static bool is_looked_at(const struct object *object, const struct location *l)
{
	/* Go's runtime puts return addresses on stacks itself, and its own table describes them. */
	return l->is_return && object->kind == OBJECT_ELF && object->elf &&
	       l->provenance != PROVENANCE_RUNTIME_TABLE &&
	       !elf_file_is_data(object->elf, l->offset) && l->offset >= PLANTED_RETURN_BEFORE;
}

/* Examines a location, and marks it. 0; -EAGAIN: its file has no table yet; -EBUSY: the same, and
 * its code does not look like the beginning of a function; -ENODATA: its code cannot be read now.
 */
static int look(struct planted_returns *p, pid_t pid, uint32_t number)
{
	const struct location *l = location_at(p->locations, number);
	const struct object *object = object_table_at(p->objects, l->object);
	uint8_t code[PLANTED_RETURN_BYTES];
	uint64_t address;
	int begins;

	if (!is_looked_at(object, l))
		return 0;
	if (!read_code(p, pid, object, l->offset + 1, code))
		return -ENODATA;
	if (planted_return_is(code, object->elf, l->offset + 1)) {
		address = address_of(p, pid, object, l->offset + 1);
		if (!address || !is_called_there(locator_memory(p->locator), pid, address, object,
						 l->offset + 1))
			location_set_put(p->locations, number, LOCATION_PUT);
		return 0;
	}
	if (!p->tables)
		return 0;
	begins = begins_function(p, object, l->offset);
	if (begins > 0)
		location_set_put(p->locations, number, LOCATION_DOUBTED);
	if (begins < 0 && !planted_return_may_begin(code, l->offset + 1))
		return -EBUSY;
	return begins < 0 ? begins : 0;
}

static void note(struct planted_returns *p, pid_t pid, uint32_t number)
{
	int err = look(p, pid, number);

	if (!err || (err == -EBUSY && p->later.count >= PLANTED_RETURNS_LATER / 2))
		return;
	if (p->later.count < PLANTED_RETURNS_LATER && !VEC_RESERVE(&p->later, 1))
		p->later.items[p->later.count++] =
			(struct planted_return_later){number, pid, err == -ENODATA};
	else
		p->unchecked++;
}

void planted_returns_note(struct planted_returns *p, pid_t pid, uint32_t first)
{
	for (uint32_t i = first; i < location_count(p->locations); i++)
		note(p, pid, i);
}

bool planted_returns_look_again(struct planted_returns *p)
{
	size_t kept = 0;
	bool has_found = false;

	for (size_t i = 0; i < p->later.count; i++) {
		struct planted_return_later l = p->later.items[i];
		int err = look(p, l.pid, l.location);

		l.looks += err == -ENODATA;
		if (!err)
			has_found |= location_at(p->locations, l.location)->put != LOCATION_CALLED;
		else if (l.looks < PLANTED_RETURNS_LOOKS)
			p->later.items[kept++] = l;
		else
			p->unchecked++;
	}
	p->later.count = kept;
	return has_found;
}
