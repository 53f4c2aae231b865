/* SPDX-License-Identifier: MIT */
/*
 * Finds linked addresses; see code_address.h. The locations of a function are handled in order of
 * their offset, so each function is decoded once.
 */
#include "sym/code_address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "base/vec.h"
#include "sym/reader_objects.h"

/* Calls that are further from the start of their function get no address. */
#define CODE_ADDRESS_MOST_BYTES (1u << 20)

struct code_address_search {
	const struct store_tables *t;
	struct reader_objects *objects;
	struct insn_decoder decoder;
	struct code_address *addresses; /* by location */
};

/* Returns the file offset where the location's function starts; 0: not known. */
static uint64_t code_address_start(const struct store_tables *t, uint32_t location)
{
	uint32_t first = t->line_first[location], end = t->line_first[location + 1];

	return end > first ? t->lines[end - 1].function_start : 0;
}

static int code_address_order(const void *a, const void *b, void *arg)
{
	const struct store_tables *t = arg;
	const uint32_t *x = a, *y = b;
	const struct store_location *l = &t->locations[*x], *m = &t->locations[*y];
	uint64_t start = code_address_start(t, *x), other = code_address_start(t, *y);

	if (l->object != m->object)
		return l->object < m->object ? -1 : 1;
	if (start != other)
		return start < other ? -1 : 1;
	return (l->offset > m->offset) - (l->offset < m->offset);
}

/* Finds the instruction that has the byte at `offset` of `code`. *at is where an instruction before
 * it begins, and receives where this one begins. */
static struct insn code_address_decode(const struct code_address_search *s, const uint8_t *code,
				       size_t size, size_t offset, uint64_t vaddr, size_t *at)
{
	struct insn insn = {0};

	for (;; *at += insn.length) {
		if (!insn_decode(&s->decoder, code + *at, size - *at, vaddr + *at, &insn) ||
		    !insn.length)
			insn = (struct insn){.length = 1, .flow = INSN_STOP};
		if (*at + insn.length > offset)
			return insn;
	}
}

/* Finds the call instructions of a function; its locations are in order of their offset. */
static int code_address_calls(struct code_address_search *s, const struct elf_file *elf,
			      const uint32_t *locations, size_t n)
{
	const uint64_t start = code_address_start(s->t, locations[0]);
	const uint64_t vaddr = s->addresses[locations[0]].function;
	uint64_t size = s->t->locations[locations[n - 1]].offset + 1 - start;
	uint8_t *code;
	int64_t len;
	size_t at = 0;

	size = size < CODE_ADDRESS_MOST_BYTES ? size : CODE_ADDRESS_MOST_BYTES;
	code = malloc(size);
	if (!code)
		return -ENOMEM;
	len = elf_file_read(elf, start, code, size);
	for (size_t i = 0; i < n; i++) {
		const struct store_location *l = &s->t->locations[locations[i]];
		const uint64_t offset = l->offset - start;
		struct insn insn;

		if (!l->is_return || len < 0 || offset >= (uint64_t)len)
			continue;
		insn = code_address_decode(s, code, (size_t)len, offset, vaddr, &at);
		if (at + insn.length == offset + 1 &&
		    (insn.flow == INSN_CALL || insn.flow == INSN_CALL_INDIRECT))
			s->addresses[locations[i]].instruction = vaddr + at;
	}
	free(code);
	return 0;
}

/* Finds the addresses of locations that have one object and one start of their function. */
static int code_address_function(struct code_address_search *s, const uint32_t *locations, size_t n)
{
	const struct store_location *first = &s->t->locations[locations[0]];
	const uint64_t start = code_address_start(s->t, locations[0]);
	const struct object *object;
	uint64_t function = 0;
	int err;

	if (s->t->objects[first->object].kind != OBJECT_ELF)
		return 0;
	err = reader_objects_find(s->objects, s->t, first->object, &object);
	if (err < 0 || !object->elf)
		return err == -ENOENT ? 0 : err;
	if (start && !elf_file_offset_to_vaddr(object->elf, start, &function))
		function = 0;
	for (size_t i = 0; i < n; i++) {
		const struct store_location *l = &s->t->locations[locations[i]];
		struct code_address *address = &s->addresses[locations[i]];

		address->function = function;
		if (!l->is_return &&
		    !elf_file_offset_to_vaddr(object->elf, l->offset, &address->instruction))
			address->instruction = 0;
	}
	if (!function || first->offset < start || elf_file_is_32bit(object->elf))
		return 0;
	return code_address_calls(s, object->elf, locations, n);
}

static int code_address_run(struct code_address_search *s, uint32_t *locations, size_t n)
{
	const struct store_tables *t = s->t;
	int err = 0;

	qsort_r(locations, n, sizeof(*locations), code_address_order, (void *)t);
	for (size_t i = 0, end; err == 0 && i < n; i = end) {
		const uint64_t start = code_address_start(t, locations[i]);
		const uint32_t object = t->locations[locations[i]].object;

		for (end = i + 1; end < n && t->locations[locations[end]].object == object &&
				  code_address_start(t, locations[end]) == start;)
			end++;
		err = code_address_function(s, locations + i, end - i);
	}
	return err;
}

int code_addresses_find(const struct store_tables *tables, const uint32_t *locations, size_t n,
			struct code_address **ret_addresses)
{
	struct code_address_search s = {.t = tables};
	uint32_t *sorted = vec_alloc(n + 1, sizeof(*sorted));
	int err;

	s.addresses = calloc((size_t)tables->n_locations + 1, sizeof(*s.addresses));
	err = sorted && s.addresses ? reader_objects_new("/proc", "/sys", &s.objects) : -ENOMEM;
	if (err == 0) {
		insn_decoder_init(&s.decoder);
		memcpy(sorted, locations, n * sizeof(*sorted));
		err = code_address_run(&s, sorted, n);
		reader_objects_free(s.objects);
	}
	free(sorted);
	if (err < 0)
		free(s.addresses);
	else
		*ret_addresses = s.addresses;
	return err;
}
