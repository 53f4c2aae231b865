/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What functions of MPI do with their arguments, and where its libraries keep the data for that: a
 * part of stackd_abi.h, which includes it. */
#ifndef STACKD_MPI_H
#define STACKD_MPI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* The implementation of MPI, on which the handles of datatypes depend. */
enum stackd_mpi_vendor {
	STACKD_MPI_NO_LIBRARY, /* none that is known here */
	STACKD_MPI_OPEN,       /* Open MPI: a datatype is the address of a structure */
	STACKD_MPI_MPICH,      /* MPICH and its relatives: it is a number */
};

/* How often a call passes on as much as its count and datatype say. */
enum stackd_mpi_how {
	STACKD_MPI_NONE,
	STACKD_MPI_ONCE,
	STACKD_MPI_ALL,	     /* once for each process of the communicator */
	STACKD_MPI_ROOT,     /* once, at the root */
	STACKD_MPI_ROOT_ALL, /* at the root, once for each process */
	STACKD_MPI_NOT_ROOT, /* once, but not at the root */
	/* The count is the address of an array that has one for each process: */
	STACKD_MPI_SUM,		/* their sum */
	STACKD_MPI_ROOT_SUM,	/* their sum, at the root */
	STACKD_MPI_OWN,		/* that of this process */
	STACKD_MPI_SUM_TYPED,	/* their sum, and the datatype is the address of an array, too */
	STACKD_MPI_SINGLE,	/* one, and `count` is nothing */
	STACKD_MPI_PARTITIONED, /* as often as the second argument says: of each partition */
	STACKD_MPI_UNKNOWN,
};

/* What a call sends, or receives. These are numbers of arguments, from 1; 0: there is none. */
struct stackd_mpi_part {
	__u8 count, type;
	__u8 peer;
	__u8 how;    /* enum stackd_mpi_how */
	__u8 buffer; /* if that is MPI_IN_PLACE, these are count, type and how */
	__u8 place_count, place_type, place_how;
};

enum stackd_mpi_kind {
	STACKD_MPI_OTHER,
	STACKD_MPI_BYTES,
	STACKD_MPI_COMM_SIZE, /* MPI_Comm_size: a communicator, and where its size is put */
	STACKD_MPI_COMM_RANK, /* MPI_Comm_rank */
	/* Another function of the same number that it calls says it: the one for C of Fortran's
	 * interface, the library's of a tool. */
	STACKD_MPI_WITHIN,
	STACKD_MPI_INIT,  /* makes a request, which passes on the bytes each time it is started */
	STACKD_MPI_START, /* starts the request at the first argument */
	STACKD_MPI_STARTALL, /* as many as the first argument says, from the second one on */
	/* They complete requests, at the first argument, or as many as it says from the second one
	 * on (`root`: the number of the argument). */
	STACKD_MPI_WAIT,      /* all of them; if `result` is there and true */
	STACKD_MPI_WAIT_ANY,  /* the one with the number at `result` */
	STACKD_MPI_WAIT_SOME, /* as many as at `result`, with the numbers at the fourth argument */
};

/* By number of a region: what a function of MPI does. */
struct stackd_mpi_call {
	struct stackd_mpi_part sent, received;
	__u8 comm, root;
	__u8 result;	 /* argument that is the address of what the call gives; 0: none */
	__u8 kind;	 /* enum stackd_mpi_kind */
	__u8 library;	 /* which of `mpi_libraries`, from 1; 0: none */
	__u8 is_wide;	 /* counts have 8 bytes, not 4 */
	__s8 no_partner; /* MPI_PROC_NULL */
	__s8 in_place;	 /* MPI_IN_PLACE */
	__u64 vaddr;	 /* of its first instruction */
	__u16 number;	 /* the same for all functions that make this call; 0: none */
	__u8 goes_on;	 /* it may end with a jump to another function of MPI */
	__u8 status;	 /* argument that is the address of the status, which says how much was
			  * received, read or written; 0: none */
	__u8 is_file;	 /* it writes what it sends, and reads what it receives */
	__u8 is_at_most; /* less than the buffer's size may be received */
	__u8 pad[2];
};

#define STACKD_MPI_LIBRARIES 16

/*
 * Where a library keeps the sizes of datatypes, and of communicators and the ranks in them. Zero:
 * not known. In Open MPI a handle is the object's address. In MPICH it is a number: of a kind, of
 * its objects' table, and of an entry. Each entry begins with its handle.
 */
struct stackd_mpi_library {
	__u8 vendor;	     /* enum stackd_mpi_vendor */
	__u8 size_offset;    /* of a datatype's size in its structure */
	__u16 rank_offset;   /* in a communicator */
	__u16 count_offset;  /* of its size in a communicator; or of the address of its group, */
	__u16 group_offset;  /* and then of the size in that */
	__u16 entry_offset;  /* of MPICH: of the size of an entry in a list of tables */
	__u16 inter_offset;  /* in a communicator: of a number that is odd in one of two groups */
	__u32 comm_bytes;    /* of a predefined communicator, */
	__u64 comm_slots[2]; /* and vaddrs of words of which one has the address of their table */
	__u64 comms, types;  /* vaddrs of the lists of tables of other communicators, datatypes */
};

_Static_assert(sizeof(struct stackd_mpi_call) == 40, "stackd_mpi_call is shared");
_Static_assert(sizeof(struct stackd_mpi_library) == 48, "stackd_mpi_library is shared");

#endif
