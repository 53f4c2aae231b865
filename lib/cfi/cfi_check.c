/* SPDX-License-Identifier: MIT */
/*
 * One pass over a call frame section; see cfi_check.h.
 *
 *   section := entry*            entry := u32 length, u32 id, body
 *   CIE body: version, augmentation, factors, return column, augmentation data, program
 *   FDE body: start, length, augmentation data, program
 *
 * What an instruction's or operation's operands look like is one string each, in a table:
 *   r register  u LEB128  b block holding an expression  1 2 4 8 that many bytes
 *   + remembers the state  - takes it back
 * An opcode without a string is not known, and an entry that uses it is not listed. LEB128 is
 * limited to nine bytes, since libdw stops after ten and would read on at another place.
 *
 * An FDE whose start is 0 belongs to a function that the linker threw away.
 */
#include "cfi/cfi_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEB_BYTES 9

enum { EH_PE_ABSPTR = 0x00, EH_PE_PCREL = 0x10, EH_PE_FORMAT = 0x0f, EH_PE_BASE = 0xf0 };

struct cursor {
	const uint8_t *at, *end;
	bool bad; /* ran over the end, or met what is not known */
};

struct cie {
	uint64_t at; /* offset in the section */
	uint8_t encoding;
	bool is_sized; /* FDEs have augmentation data, preceded by its size */
	bool good;
};

struct cie_list {
	struct cie *items;
	size_t count, capacity;
};

/* --- operands ------------------------------------------------------------------------------ */

static uint64_t get_bytes(struct cursor *c, size_t n)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->at) < n) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->at, n);
	c->at += n;
	return v;
}

static uint64_t get_leb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < MAX_LEB_BYTES && c->at < c->end; i++) {
		uint8_t byte = *c->at++;

		v |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (!(byte & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

static const char *const expression_shapes[256] = {
	[0x06] = "",  /* deref */
	[0x08] = "1", /* const1u */
	[0x09] = "1",	       [0x0a] = "2", [0x0b] = "2", [0x0c] = "4",
	[0x0d] = "4",	       [0x0e] = "8", [0x0f] = "8", /* const8s */
	[0x10] = "u",					   /* constu */
	[0x11] = "u",					   /* consts */
	[0x12] = "",					   /* dup */
	[0x13] = "",					   /* drop */
	[0x14] = "",					   /* over */
	[0x15] = "1",					   /* pick */
	[0x16] = "",					   /* swap */
	[0x17] = "",					   /* rot */
	[0x19 ... 0x22] = "",  /* abs and div minus mod mul neg not or plus */
	[0x23] = "u",	       /* plus_uconst */
	[0x24 ... 0x27] = "",  /* shl shr shra xor */
	[0x28] = "2",	       /* bra */
	[0x29 ... 0x2e] = "",  /* eq ge gt le lt ne */
	[0x2f] = "2",	       /* skip */
	[0x30 ... 0x4f] = "",  /* lit0 to lit31 */
	[0x50 ... 0x6f] = "",  /* reg0 to reg31 */
	[0x70 ... 0x8f] = "u", /* breg0 to breg31 */
	[0x90] = "u",	       /* regx */
	[0x92] = "uu",	       /* bregx */
	[0x94] = "1",	       /* deref_size */
	[0x96] = "",	       /* nop */
	[0x9c] = "",	       /* call_frame_cfa */
	[0x9f] = "",	       /* stack_value */
};

/* Indexed by the opcode's low six bits; only opcodes below 0x40 look here. */
static const char *const program_shapes[64] = {
	[0x00] = "",   /* nop */
	[0x02] = "1",  /* advance_loc1 */
	[0x03] = "2",  /* advance_loc2 */
	[0x04] = "4",  /* advance_loc4 */
	[0x05] = "ru", /* offset_extended */
	[0x06] = "r",  /* restore_extended */
	[0x07] = "r",  /* undefined */
	[0x08] = "r",  /* same_value */
	[0x09] = "rr", /* register */
	[0x0a] = "+",  /* remember_state */
	[0x0b] = "-",  /* restore_state */
	[0x0c] = "ru", /* def_cfa */
	[0x0d] = "r",  /* def_cfa_register */
	[0x0e] = "u",  /* def_cfa_offset */
	[0x0f] = "b",  /* def_cfa_expression */
	[0x10] = "rb", /* expression */
	[0x11] = "ru", /* offset_extended_sf */
	[0x12] = "ru", /* def_cfa_sf */
	[0x13] = "u",  /* def_cfa_offset_sf */
	[0x14] = "ru", /* val_offset */
	[0x15] = "ru", /* val_offset_sf */
	[0x16] = "rb", /* val_expression */
	[0x2e] = "u",  /* GNU_args_size */
	[0x2f] = "ru", /* GNU_negative_offset_extended */
};

static void skip_expression(struct cursor *c);

static void skip_operands(struct cursor *c, const char *shape, unsigned *depth)
{
	if (!shape)
		c->bad = true;
	for (; !c->bad && *shape; shape++) {
		if (*shape == 'r')
			c->bad |= get_leb(c) > CFI_MAX_REGISTER;
		else if (*shape == 'u')
			get_leb(c);
		else if (*shape == 'b')
			skip_expression(c);
		else if (*shape == '+')
			c->bad |= ++*depth > CFI_MAX_REMEMBERED;
		else if (*shape == '-')
			c->bad |= (*depth)-- == 0;
		else
			get_bytes(c, (size_t)(*shape - '0'));
	}
}

static void skip_expression(struct cursor *c)
{
	uint64_t len = get_leb(c);
	struct cursor inner = {c->at, c->at, false};

	if (c->bad || len > CFI_MAX_EXPRESSION_BYTES || len > (size_t)(c->end - c->at)) {
		c->bad = true;
		return;
	}
	inner.end += len;
	while (!inner.bad && inner.at < inner.end)
		skip_operands(&inner, expression_shapes[*inner.at++], &(unsigned){0});
	c->at = inner.end;
	c->bad |= inner.bad;
}

static bool program_is_good(struct cursor *c)
{
	unsigned depth = 0;

	if (c->bad || c->end - c->at > CFI_MAX_PROGRAM_BYTES)
		return false;
	while (!c->bad && c->at < c->end) {
		uint8_t opcode = *c->at++;

		if (opcode >= 0xc0 || (opcode >= 0x40 && opcode < 0x80))
			continue; /* restore, advance_loc: the operand is in the opcode */
		skip_operands(c, opcode >= 0x80 ? "u" : program_shapes[opcode & 0x3f], &depth);
	}
	return !c->bad;
}

/* Bytes of an encoded pointer; 0: an encoding that code addresses never have. */
static size_t encoded_bytes(uint8_t encoding)
{
	switch (encoding & EH_PE_FORMAT) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		return 8;
	case 0x03: /* udata4 */
	case 0x0b: /* sdata4 */
		return 4;
	case 0x02: /* udata2 */
	case 0x0a: /* sdata2 */
		return 2;
	}
	return 0;
}

static uint64_t get_encoded(struct cursor *c, uint8_t encoding)
{
	size_t n = encoded_bytes(encoding);
	uint64_t v = get_bytes(c, n);

	if ((encoding & 0x08) && n && n < 8) {
		unsigned shift = 64 - 8 * (unsigned)n;

		v = (uint64_t)((int64_t)(v << shift) >> shift);
	}
	c->bad |= !n;
	return v;
}

/* --- entries ------------------------------------------------------------------------------- */

/* The augmentation's letters, with the data that they call for. */
static void read_augmentation(struct cursor *c, const char *letters, struct cie *cie)
{
	uint64_t len = get_leb(c);
	struct cursor data = {c->at, c->at, false};

	if (c->bad || len > (size_t)(c->end - c->at)) {
		c->bad = true;
		return;
	}
	data.end += len;
	for (; !data.bad && *letters; letters++) {
		if (*letters == 'R') {
			cie->encoding = (uint8_t)get_bytes(&data, 1);
		} else if (*letters == 'L') {
			get_bytes(&data, 1);
		} else if (*letters == 'P') {
			size_t n = encoded_bytes((uint8_t)get_bytes(&data, 1));

			get_bytes(&data, n);
			data.bad |= !n;
		} else if (*letters != 'S') {
			data.bad = true;
		}
	}
	c->at = data.end;
	c->bad |= data.bad;
}

static bool encoding_is_known(uint8_t encoding)
{
	uint8_t base = encoding & EH_PE_BASE;

	return (base == EH_PE_ABSPTR || base == EH_PE_PCREL) && encoded_bytes(encoding);
}

static void check_cie(struct cursor c, struct cie *cie)
{
	uint64_t version = get_bytes(&c, 1);
	const char *letters = (const char *)c.at;
	const uint8_t *nul = memchr(c.at, 0, (size_t)(c.end - c.at));

	if (!nul || (version != 1 && version != 3 && version != 4))
		return;
	c.at = nul + 1;
	if (version == 4 && (get_bytes(&c, 1) != 8 || get_bytes(&c, 1) != 0))
		return;
	get_leb(&c); /* code alignment */
	get_leb(&c); /* data alignment */
	if ((version == 1 ? get_bytes(&c, 1) : get_leb(&c)) > CFI_MAX_REGISTER || c.bad)
		return;
	cie->is_sized = *letters == 'z';
	if (cie->is_sized)
		read_augmentation(&c, letters + 1, cie);
	else if (*letters)
		return;
	cie->good = !c.bad && encoding_is_known(cie->encoding) && program_is_good(&c);
}

/* `vaddr` is that of c.at. */
static bool check_fde(struct cursor c, uint64_t vaddr, const struct cie *cie, struct cfi_fde *fde)
{
	fde->start = get_encoded(&c, cie->encoding);
	if ((cie->encoding & EH_PE_BASE) == EH_PE_PCREL)
		fde->start += vaddr;
	fde->end = fde->start + get_encoded(&c, cie->encoding & EH_PE_FORMAT);
	if (c.bad || !fde->start || fde->end <= fde->start)
		return false;
	if (cie->is_sized) {
		uint64_t len = get_leb(&c);

		if (c.bad || len > (size_t)(c.end - c.at))
			return false;
		c.at += len;
	}
	return program_is_good(&c);
}

/* --- the pass ------------------------------------------------------------------------------ */

static void *grow(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
	size_t more = *capacity ? *capacity * 2 : 64;
	void *bigger = items;

	if (count == *capacity) {
		bigger = realloc(items, more * item_bytes);
		if (bigger)
			*capacity = more;
	}
	return bigger;
}

static const struct cie *find_cie(const struct cie_list *list, uint64_t at)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (list->items[mid].at < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < list->count && list->items[low].at == at ? &list->items[low] : NULL;
}

static int add_cie(struct cie_list *list, struct cursor body, uint64_t at)
{
	struct cie *items = grow(list->items, list->count, &list->capacity, sizeof(*items));

	if (!items)
		return -ENOMEM;
	list->items = items;
	items[list->count] = (struct cie){.at = at};
	check_cie(body, &items[list->count++]);
	return 0;
}

static int add_fde(struct cfi_fde_list *list, const struct cfi_fde *fde)
{
	struct cfi_fde *items = grow(list->items, list->count, &list->capacity, sizeof(*items));

	if (!items)
		return -ENOMEM;
	list->items = items;
	items[list->count++] = *fde;
	return 0;
}

struct pass {
	uint8_t *data;
	uint64_t vaddr, base;
	bool is_debug;
	struct cie_list cies;
	struct cfi_fde_list *fdes;
};

/* One entry with its 32-bit length before it: the id stands at `at` + 4. */
static int check_entry(struct pass *p, size_t at, size_t len)
{
	uint8_t *id_at = p->data + at + 4;
	struct cursor body = {id_at + 4, id_at + len, false};
	struct cfi_fde fde = {.at = p->base + at, .is_debug = p->is_debug};
	const struct cie *cie;
	uint32_t id;
	uint64_t cie_at;

	memcpy(&id, id_at, 4);
	if (id == (p->is_debug ? UINT32_MAX : 0)) {
		memset(id_at, 0, 4);
		return add_cie(&p->cies, body, at);
	}
	cie_at = p->is_debug ? id : at + 4 - id;
	cie = find_cie(&p->cies, cie_at);
	if (!cie || !cie->good ||
	    !check_fde(body, p->vaddr + (uint64_t)(body.at - p->data), cie, &fde))
		return 0;
	id = (uint32_t)(at + 4 - cie_at);
	memcpy(id_at, &id, 4);
	return add_fde(p->fdes, &fde);
}

int cfi_check_section(uint8_t *data, size_t len, uint64_t vaddr, bool is_debug, uint64_t base,
		      struct cfi_fde_list *list)
{
	struct pass p = {data, vaddr, base, is_debug, {0}, list};
	size_t at = 0;
	int r = 0;

	while (!r && len - at >= 4) {
		uint32_t n;

		memcpy(&n, data + at, 4);
		if (n > len - at - 4)
			break; /* also 64-bit entries, which no compiler makes below 4 GiB */
		if (n > 4)
			r = check_entry(&p, at, n);
		at += 4 + (size_t)n;
	}
	free(p.cies.items);
	return r;
}

void cfi_fde_list_free(struct cfi_fde_list *list)
{
	free(list->items);
	*list = (struct cfi_fde_list){0};
}
