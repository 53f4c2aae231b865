/* SPDX-License-Identifier: MIT */
/* See mpi_calls.h. */
#include "daemon/regions/mpi_calls.h"

#include <ctype.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NONE	.how = STACKD_MPI_NONE
#define UNKNOWN .how = STACKD_MPI_UNKNOWN

/* Count, datatype and partner are numbers of arguments, from 1. */
#define PART(c, t, h)	    .count = (c), .type = (t), .how = (h)
#define PEER(c, t, p)	    PART(c, t, STACKD_MPI_ONCE), .peer = (p)
#define ONCE(c, t)	    PART(c, t, STACKD_MPI_ONCE)
#define ALL(c, t)	    PART(c, t, STACKD_MPI_ALL)
#define ROOT(c, t)	    PART(c, t, STACKD_MPI_ROOT)
#define ROOT_ALL(c, t)	    PART(c, t, STACKD_MPI_ROOT_ALL)
#define NOT_ROOT(c, t)	    PART(c, t, STACKD_MPI_NOT_ROOT)
#define IN_PLACE(buf, c, t) .buffer = (buf), .place_count = (c), .place_type = (t)

static const struct {
	const char *name; /* without MPI_; a capital I before it is the same without blocking */
	struct stackd_mpi_part sent, received;
	uint8_t comm, root; /* numbers of arguments */
	bool has_nonblocking;
} calls[] = {
	{"Send", {PEER(2, 3, 4)}, {NONE}, 0, 0, true},
	{"Bsend", {PEER(2, 3, 4)}, {NONE}, 0, 0, true},
	{"Ssend", {PEER(2, 3, 4)}, {NONE}, 0, 0, true},
	{"Rsend", {PEER(2, 3, 4)}, {NONE}, 0, 0, true},
	{"Recv", {NONE}, {PEER(2, 3, 4)}, 0, 0, true},
	{"Mrecv", {NONE}, {ONCE(2, 3)}, 0, 0, false},
	{"Imrecv", {NONE}, {ONCE(2, 3)}, 0, 0, false},
	{"Sendrecv", {PEER(2, 3, 4)}, {PEER(7, 8, 9)}, 0, 0, true},
	{"Sendrecv_replace", {PEER(2, 3, 4)}, {PEER(2, 3, 6)}, 0, 0, true},
	{"Start", {UNKNOWN}, {UNKNOWN}, 0, 0, false},
	{"Startall", {UNKNOWN}, {UNKNOWN}, 0, 0, false},
	{"Allreduce", {ONCE(3, 4)}, {ONCE(3, 4)}, 0, 0, true},
	{"Scan", {ONCE(3, 4)}, {ONCE(3, 4)}, 0, 0, true},
	{"Exscan", {ONCE(3, 4)}, {ONCE(3, 4)}, 0, 0, true},
	{"Reduce_scatter_block", {ALL(3, 4)}, {ONCE(3, 4)}, 6, 0, true},
	{"Reduce_scatter", {UNKNOWN}, {UNKNOWN}, 0, 0, true},
	{"Reduce", {ONCE(3, 4)}, {ROOT(3, 4)}, 7, 6, true},
	{"Bcast", {ROOT(2, 3)}, {NOT_ROOT(2, 3)}, 5, 4, true},
	{"Gather", {ONCE(2, 3), IN_PLACE(1, 5, 6)}, {ROOT_ALL(5, 6)}, 8, 7, true},
	{"Gatherv", {UNKNOWN}, {UNKNOWN}, 0, 0, true},
	{"Scatter", {ROOT_ALL(2, 3)}, {ONCE(5, 6), IN_PLACE(4, 2, 3)}, 8, 7, true},
	{"Scatterv", {UNKNOWN}, {UNKNOWN}, 0, 0, true},
	/* What a process gives of its own is what it gets of each, also in place. */
	{"Allgather", {ONCE(5, 6)}, {ALL(5, 6)}, 7, 0, true},
	{"Allgatherv", {UNKNOWN}, {UNKNOWN}, 0, 0, true},
	{"Alltoall", {ALL(5, 6)}, {ALL(5, 6)}, 7, 0, true},
	{"Alltoallv", {UNKNOWN}, {UNKNOWN}, 0, 0, true},
	{"Alltoallw", {UNKNOWN}, {UNKNOWN}, 0, 0, true},
};

/* --- names ----------------------------------------------------------------------------------- */

/* What stands behind the names of functions of Fortran's interfaces. */
static bool is_fortran_end(const char *end)
{
	static const char *const ends[] = {"_", "__", "_f", "_f08", "_f08_"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (strcmp(end, ends[i]) == 0)
			return true;
	}
	return false;
}

/* Returns whether `name` is that of a call, with or without an I before it, in any case and with an
 * end of Fortran's. */
static bool is_name(const char *name, const char *call, bool has_nonblocking)
{
	size_t len = strlen(call);

	if (strncasecmp(name, "MPI_", 4) != 0)
		return false;
	name += 4;
	if (has_nonblocking && tolower((unsigned char)*name) == 'i' &&
	    strncasecmp(name + 1, call, len) == 0)
		name++;
	if (strncasecmp(name, call, len) != 0)
		return false;
	return !name[len] || is_fortran_end(name + len);
}

static bool is_fortran(const char *name)
{
	const char *end = strstr(name, "_f");

	return islower((unsigned char)*name) || (end && is_fortran_end(end));
}

static struct stackd_mpi_call find(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (is_name(name, calls[i].name, calls[i].has_nonblocking))
			return (struct stackd_mpi_call){.kind = STACKD_MPI_BYTES,
							.sent = calls[i].sent,
							.received = calls[i].received,
							.comm = calls[i].comm,
							.root = calls[i].root};
	}
	if (is_name(name, "Comm_size", false))
		return (struct stackd_mpi_call){.kind = STACKD_MPI_COMM_SIZE};
	if (is_name(name, "Comm_rank", false))
		return (struct stackd_mpi_call){.kind = STACKD_MPI_COMM_RANK};
	return (struct stackd_mpi_call){.kind = STACKD_MPI_OTHER};
}

struct stackd_mpi_call mpi_calls_find(const struct mpi_library *library, const char *name)
{
	struct stackd_mpi_call call = find(name);

	call.library = (uint8_t)library->kind;
	call.size_offset = library->size_offset;
	call.no_partner = library->kind == STACKD_MPI_OPEN ? -2 : -1;
	call.in_place = library->kind == STACKD_MPI_OPEN ? 1 : -1;
	if (call.kind != STACKD_MPI_OTHER && is_fortran(name))
		call.kind = STACKD_MPI_FORTRAN;
	return call;
}

/* --- datatypes ------------------------------------------------------------------------------- */

#define TYPE_BYTES 128 /* of a structure of Open MPI's, in which the size is searched */

struct known_type {
	const char *name;
	uint64_t size;
	uint8_t bytes[TYPE_BYTES];
	bool is_found;
};

static bool read_at(const struct elf_file *file, uint64_t vaddr, void *ret_bytes, size_t size)
{
	uint64_t offset;

	return elf_file_vaddr_to_offset(file, vaddr, &offset) &&
	       pread(elf_file_descriptor(file), ret_bytes, size, (off_t)offset) == (ssize_t)size;
}

/* Looks at the symbols of one table. */
static void take_symbols(const struct elf_file *file, Elf_Scn *section, const GElf_Shdr *header,
			 struct known_type *types, size_t n, bool *ret_is_mpich)
{
	Elf *elf = elf_file_libelf(file);
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);

		if (!name || symbol.st_shndx == SHN_UNDEF)
			continue;
		*ret_is_mpich = *ret_is_mpich || strncmp(name, "MPIR_", 5) == 0;
		for (size_t t = 0; t < n; t++) {
			if (strcmp(name, types[t].name) == 0)
				types[t].is_found =
					read_at(file, symbol.st_value, types[t].bytes, TYPE_BYTES);
		}
	}
}

/* Finds the first place at which all types have their size: behind it are their bounds, which for
 * basic types are the same. 0: there is none. */
static uint8_t find_size(const struct known_type *types, size_t n)
{
	for (size_t offset = 8; offset + 8 <= TYPE_BYTES; offset += 8) {
		bool is = true;

		for (size_t t = 0; t < n && is; t++) {
			uint64_t value;

			memcpy(&value, types[t].bytes + offset, sizeof(value));
			is = types[t].is_found && value == types[t].size;
		}
		if (is)
			return (uint8_t)offset;
	}
	return 0;
}

struct mpi_library mpi_calls_library(const struct elf_file *file)
{
	struct known_type types[] = {{.name = "ompi_mpi_char", .size = 1},
				     {.name = "ompi_mpi_short", .size = 2},
				     {.name = "ompi_mpi_int", .size = 4},
				     {.name = "ompi_mpi_double", .size = 8}};
	const size_t n = sizeof(types) / sizeof(types[0]);
	struct mpi_library library = {0};
	bool is_mpich = false;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf_file_libelf(file), section))) {
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
			take_symbols(file, section, &header, types, n, &is_mpich);
	}
	library.size_offset = find_size(types, n);
	if (library.size_offset)
		library.kind = STACKD_MPI_OPEN;
	else if (is_mpich)
		library.kind = STACKD_MPI_MPICH;
	return library;
}
