/* SPDX-License-Identifier: MIT */
/* Follows values through the code of three functions of MPI; see mpi_layout.h. */
#include "daemon/regions/mpi_layout.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/data_insn.h"

#define MOST_BYTES 8192 /* bytes of a function that are decoded */
#define TYPE_BYTES 128	/* bytes of an Open MPI datatype in which its size is searched */
#define SIZE_IN_MPICH                                                                              \
	8 /* of a datatype's size in its structure: behind its handle and its uses                 \
	   */

/* --- following values ------------------------------------------------------------------------ */

enum source {
	NOTHING,
	HANDLE,	 /* the first argument */
	RESULT,	 /* the second argument: the address for the result */
	ADDRESS, /* a fixed address, `vaddr` */
	LOADED,	 /* loaded from the handle's object, at `offsets` */
};

struct value {
	enum source source;
	uint64_t vaddr;
	uint16_t offsets[2];
	unsigned n_offsets;
};

/* What the code of a function shows. */
struct findings {
	struct value answer; /* the value that was stored through the second argument */
	uint32_t entry_bytes;
	uint64_t slots[2];
	unsigned n_slots;
	uint64_t tables;
	uint16_t entry_offset;
};

struct follower {
	struct value values[INSN_REG_COUNT];
	struct value compared; /* the loaded value that was last compared with 1; source NOTHING:
				* there is none */
	unsigned multiplied;   /* the register that was last multiplied by a number, or INSN_NO_REG
				*/
	struct findings *found;
};

/* Returns the register of an operand; INSN_NO_REG: the operand is no register. */
static unsigned register_of(const struct data_operand *o)
{
	return o->kind == DATA_REGISTER ? o->reg : INSN_NO_REG;
}

/* Returns the base register of a memory operand with a small displacement; INSN_NO_REG: the operand
 * is not such a one. */
static unsigned base_of(const struct data_operand *o)
{
	return o->kind == DATA_BASED && o->number >= 0 && o->number <= UINT16_MAX ? o->reg
										  : INSN_NO_REG;
}

static struct value load(const struct follower *f, const struct data_operand *from)
{
	unsigned base = base_of(from);
	struct value value = {.source = LOADED};

	if (base == INSN_NO_REG)
		return (struct value){0};
	if (f->values[base].source == LOADED && f->values[base].n_offsets == 1)
		value = f->values[base];
	value.offsets[value.n_offsets++] = (uint16_t)from->number;
	return value;
}

static void take_move(struct follower *f, const struct data_operand *to,
		      const struct data_operand *from)
{
	unsigned base = base_of(to), src = register_of(from), dst = register_of(to);

	if (dst != INSN_NO_REG) {
		f->values[dst] = src != INSN_NO_REG ? f->values[src] : load(f, from);
	} else if (base != INSN_NO_REG && src != INSN_NO_REG && f->values[base].source == RESULT &&
		   !to->number && f->values[src].source == LOADED && !f->found->answer.source) {
		f->found->answer = f->values[src];
	}
}

/* Takes a multiplication. It may multiply an index by the size of a table's entries, which is a
 * constant or a word in MPICH's list of tables. */
static void take_product(struct follower *f, const struct data_insn *i)
{
	const struct data_operand *o = i->operands;
	unsigned base = base_of(&o[1]);

	f->multiplied = INSN_NO_REG;
	if (i->count >= 3 && o[2].kind == DATA_NUMBER) {
		f->multiplied = register_of(&o[0]);
		f->found->entry_bytes = (uint32_t)o[2].number;
	} else if (base != INSN_NO_REG && f->values[base].source == ADDRESS && !f->found->tables) {
		f->found->tables = f->values[base].vaddr;
		f->found->entry_offset = (uint16_t)o[1].number;
	}
}

static void take_sum(struct follower *f, const struct data_operand *o)
{
	if (f->multiplied == INSN_NO_REG || register_of(&o[0]) != f->multiplied ||
	    o[1].kind != DATA_FIXED || f->found->n_slots == 2)
		return;
	f->found->slots[f->found->n_slots++] = (uint64_t)o[1].number;
	f->multiplied = INSN_NO_REG;
}

/* Forgets the values of registers that an instruction writes. A DATA_RESTORE writes none of
 * interest, since preserved registers are restored only where a function is left. */
static void forget(struct follower *f, const struct data_insn *i)
{
	uint32_t gone = i->written;

	if (i->operation == DATA_RESTORE)
		return;
	if (i->operation == DATA_CALL)
		gone |= INSN_VOLATILE;
	for (unsigned reg = 0; reg < INSN_REG_COUNT; reg++) {
		if (gone >> reg & 1)
			f->values[reg] = (struct value){0};
	}
}

static bool is_one(const struct data_operand *o)
{
	return o->kind == DATA_NUMBER && o->number == 1;
}

/* MPI_Comm_test_inter() stores whether a loaded word is 1, or odd. Returns whether an instruction
 * tests a loaded word in one of these ways, or sets a register by such a test; if it does, follows
 * its effect on the values. */
static bool take_test(struct follower *f, const struct data_insn *i)
{
	const struct data_operand *o = i->operands;
	unsigned reg = register_of(&o[0]);

	if (i->operation == DATA_AND)
		return reg != INSN_NO_REG && f->values[reg].source == LOADED && is_one(&o[1]);
	if (i->operation == DATA_COMPARE) {
		f->compared = is_one(&o[1]) ? load(f, &o[0]) : (struct value){0};
		return true;
	}
	if (i->operation != DATA_SET_IF_EQUAL || reg == INSN_NO_REG)
		return false;
	f->values[reg] = f->compared;
	return true;
}

/* Forgets the loaded values in registers. To be called behind a jump or a return, because other
 * code jumps there, with other values in the registers. */
static void forget_loads(struct follower *f)
{
	for (unsigned reg = 0; reg < INSN_REG_COUNT; reg++) {
		if (f->values[reg].source == LOADED)
			f->values[reg] = (struct value){0};
	}
}

static void follow(struct follower *f, const struct data_insn *i)
{
	const struct data_operand *o = i->operands;

	if (take_test(f, i))
		return;
	switch (i->operation) {
	case DATA_MOVE:
		take_move(f, &o[0], &o[1]);
		return;
	case DATA_MULTIPLY:
		take_product(f, i);
		break;
	case DATA_ADD:
		take_sum(f, o);
		break;
	case DATA_LEAVE:
		forget_loads(f);
		return;
	default:
		break;
	}
	forget(f, i);
	if (i->operation == DATA_ADDRESS && o[1].kind == DATA_FIXED && o[0].reg != INSN_NO_REG)
		f->values[o[0].reg] =
			(struct value){.source = ADDRESS, .vaddr = (uint64_t)o[1].number};
}

/* Follows a function's instructions in the order of their addresses, and does not follow jumps,
 * because the loads and stores of interest stand in a straight line. */
static void follow_all(const uint8_t *code, size_t size, uint64_t vaddr, struct findings *found)
{
	struct follower f = {.multiplied = INSN_NO_REG, .found = found};
	struct insn_decoder decoder;
	struct data_insn i;

	insn_decoder_init(&decoder);
	f.values[INSN_ARGUMENT].source = HANDLE;
	f.values[INSN_ARGUMENT_2].source = RESULT;
	for (size_t at = 0; at < size; at += i.length) {
		if (!data_insn_decode(&decoder, code + at, size - at, vaddr + at, &i))
			return;
		follow(&f, &i);
	}
}

/* --- symbols --------------------------------------------------------------------------------- */

enum { CHAR, SHORT, INT, DOUBLE, TYPES };

enum { COMM_RANK, COMM_SIZE, COMM_TEST_INTER, TYPE_COMMIT, FUNCTIONS };

struct search {
	const struct elf_file *file;
	uint8_t types[TYPES][TYPE_BYTES];
	bool has_type[TYPES], has_function[FUNCTIONS];
	struct findings found[FUNCTIONS];
	bool is_mpich;
};

static bool read_at(const struct elf_file *file, uint64_t vaddr, void *ret_bytes, size_t size)
{
	uint64_t offset;

	return elf_file_vaddr_to_offset(file, vaddr, &offset) &&
	       elf_file_read_whole(file, offset, ret_bytes, size);
}

static void take_function(struct search *s, unsigned function, const GElf_Sym *symbol)
{
	size_t size = symbol->st_size < MOST_BYTES ? symbol->st_size : MOST_BYTES;
	uint8_t *code;

	if (s->has_function[function] || !size)
		return;
	code = malloc(size);
	if (code && read_at(s->file, symbol->st_value, code, size)) {
		follow_all(code, size, symbol->st_value, &s->found[function]);
		s->has_function[function] = true;
	}
	free(code);
}

static void take_symbol(struct search *s, const char *name, const GElf_Sym *symbol)
{
	static const char *const types[] = {"ompi_mpi_char", "ompi_mpi_short", "ompi_mpi_int",
					    "ompi_mpi_double"};
	static const char *const functions[] = {"MPI_Comm_rank", "MPI_Comm_size",
						"MPI_Comm_test_inter", "MPI_Type_commit"};

	s->is_mpich = s->is_mpich || strncmp(name, "MPIR_", 5) == 0;
	for (unsigned t = 0; t < TYPES; t++) {
		if (strcmp(name, types[t]) == 0)
			s->has_type[t] =
				read_at(s->file, symbol->st_value, s->types[t], TYPE_BYTES);
	}
	for (unsigned f = 0; f < FUNCTIONS; f++) {
		if (strcmp(name, functions[f]) == 0 ||
		    (*name == 'P' && strcmp(name + 1, functions[f]) == 0))
			take_function(s, f, symbol);
	}
}

static void take_symbols(struct search *s, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name =
			elf_strptr(elf_file_libelf(s->file), header->sh_link, symbol.st_name);

		if (name && symbol.st_shndx != SHN_UNDEF)
			take_symbol(s, name, &symbol);
	}
}

/* --- what it means --------------------------------------------------------------------------- */

/* Returns the first offset at which all four basic types have their size; not a later one, because
 * the type's bounds follow, which have the same value. 0: there is none. */
static uint8_t find_size(const struct search *s)
{
	static const uint64_t sizes[] = {1, 2, 4, 8};

	for (size_t offset = 8; offset + 8 <= TYPE_BYTES; offset += 8) {
		bool is = true;

		for (unsigned t = 0; t < TYPES && is; t++) {
			uint64_t value;

			memcpy(&value, s->types[t] + offset, sizeof(value));
			is = s->has_type[t] && value == sizes[t];
		}
		if (is)
			return (uint8_t)offset;
	}
	return 0;
}

static void set_comm(const struct search *s, struct stackd_mpi_library *library)
{
	const struct value *rank = &s->found[COMM_RANK].answer;
	const struct value *size = &s->found[COMM_SIZE].answer;
	const struct value *inter = &s->found[COMM_TEST_INTER].answer;

	if (rank->source != LOADED || size->source != LOADED || rank->n_offsets != 1)
		return;
	library->rank_offset = rank->offsets[0];
	library->count_offset = size->offsets[0];
	library->group_offset = size->n_offsets == 2 ? size->offsets[1] : 0;
	if (inter->source == LOADED && inter->n_offsets == 1)
		library->inter_offset = inter->offsets[0];
}

static void set_mpich(const struct search *s, struct stackd_mpi_library *library)
{
	const struct findings *comm = &s->found[COMM_SIZE], *type = &s->found[TYPE_COMMIT];

	library->comm_bytes = comm->entry_bytes;
	memcpy(library->comm_slots, comm->slots, sizeof(comm->slots));
	library->comms = comm->tables;
	library->entry_offset = comm->entry_offset;
	/* Communicators and datatypes have lists of the same form. */
	if (type->tables && (!comm->tables || type->entry_offset == comm->entry_offset)) {
		library->types = type->tables;
		library->entry_offset = type->entry_offset;
		library->size_offset = SIZE_IN_MPICH;
	}
}

struct stackd_mpi_library mpi_layout_find(const struct elf_file *file)
{
	struct stackd_mpi_library library = {0};
	struct search *s = calloc(1, sizeof(*s));
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (!s)
		return library;
	s->file = file;
	while ((section = elf_nextscn(elf_file_libelf(file), section))) {
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
			take_symbols(s, section, &header);
	}
	library.size_offset = find_size(s);
	if (library.size_offset)
		library.vendor = STACKD_MPI_OPEN;
	else if (s->is_mpich)
		library.vendor = STACKD_MPI_MPICH;
	if (library.vendor)
		set_comm(s, &library);
	if (library.vendor == STACKD_MPI_MPICH)
		set_mpich(s, &library);
	free(s);
	return library;
}
