/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What MPI's functions do with their arguments, and where MPI's libraries keep the data that this
 * needs: a part of stackd_abi.h, which includes it. */
#ifndef STACKD_MPI_H
#define STACKD_MPI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* The implementation of MPI, on which the handles of datatypes depend. */
enum stackd_mpi_vendor {
	STACKD_MPI_NO_LIBRARY, /* none that stackd knows */
	STACKD_MPI_OPEN,       /* Open MPI: a datatype is the address of a structure */
	STACKD_MPI_MPICH,      /* MPICH and its relatives: a datatype is a number */
};

/* How often a call transfers the bytes that its count and datatype give. */
enum stackd_mpi_how {
	STACKD_MPI_NONE,
	STACKD_MPI_ONCE,
	STACKD_MPI_ALL,	     /* once for each process of the communicator */
	STACKD_MPI_ROOT,     /* once, at the root */
	STACKD_MPI_ROOT_ALL, /* at the root, once for each process */
	STACKD_MPI_NOT_ROOT, /* once, but not at the root */
	/* The count is the address of an array with one count for each process: */
	STACKD_MPI_SUM,		/* the sum of the counts */
	STACKD_MPI_ROOT_SUM,	/* the sum of the counts, at the root */
	STACKD_MPI_OWN,		/* the count of this process */
	STACKD_MPI_SUM_TYPED,	/* the sum of the counts; the datatype is the address of an array,
				 * too */
	STACKD_MPI_SINGLE,	/* one element; `count` is not used */
	STACKD_MPI_PARTITIONED, /* for each partition; the second argument is their number */
	STACKD_MPI_UNKNOWN,
};

/* What a call sends, or receives. The members are numbers of arguments, from 1; 0: no such
 * argument. */
struct stackd_mpi_part {
	__u8 count, type;
	__u8 peer;
	__u8 how;    /* enum stackd_mpi_how */
	__u8 buffer; /* if this is MPI_IN_PLACE, the next three replace count, type and how */
	__u8 place_count, place_type, place_how;
};

enum stackd_mpi_kind {
	STACKD_MPI_OTHER,
	STACKD_MPI_BYTES,
	STACKD_MPI_COMM_SIZE, /* MPI_Comm_size: a communicator, and the address for its size */
	STACKD_MPI_COMM_RANK, /* MPI_Comm_rank */
	/* A function with the same number, which this one calls, transfers the bytes: C's function
	 * behind that of Fortran, or the library's behind that of a tool. */
	STACKD_MPI_WITHIN,
	STACKD_MPI_INIT,  /* makes a request, which transfers the bytes each time it is started */
	STACKD_MPI_START, /* starts the request at the first argument */
	STACKD_MPI_STARTALL, /* starts the requests from the second argument on; the first is their
			      * number */
	/* They complete requests: the one at the first argument; or an array at the second
	 * argument, whose length is the first one (`root`: the number of the argument). */
	STACKD_MPI_WAIT,      /* all of them; with `result`, only if the flag there is true */
	STACKD_MPI_WAIT_ANY,  /* the one with the number at `result` */
	STACKD_MPI_WAIT_SOME, /* as many as `result` gives, with the numbers at the fourth
			       * argument */
};

/* What a function of MPI does, by the number of its region. */
struct stackd_mpi_call {
	struct stackd_mpi_part sent, received;
	__u8 comm, root;
	__u8 result;	 /* argument: the address of what the call returns; 0: none */
	__u8 kind;	 /* enum stackd_mpi_kind */
	__u8 library;	 /* which of `mpi_libraries`, from 1; 0: none */
	__u8 is_wide;	 /* counts have 8 bytes, not 4 */
	__s8 no_partner; /* MPI_PROC_NULL */
	__s8 in_place;	 /* MPI_IN_PLACE */
	__u64 vaddr;	 /* of the function's first instruction */
	__u16 number;	 /* the same for all functions that make this call; 0: none */
	__u8 goes_on;	 /* it may end with a jump to another function of MPI */
	__u8 status;	 /* argument: the address of the status, which says how much was received,
			  * read or written; 0: none */
	__u8 is_file;	 /* it writes what it sends, and reads what it receives */
	__u8 is_at_most; /* less than the buffer's size may be received */
	__u8 pad[2];
};

#define STACKD_MPI_LIBRARIES 16

/*
 * Where a library keeps the sizes of datatypes and of communicators, and the process's ranks in
 * these. Zero: not known. In Open MPI a handle is the object's address. In MPICH a handle is a
 * number, made of a kind, a table of objects, and an entry. Each entry begins with its handle.
 */
struct stackd_mpi_library {
	__u8 vendor;	     /* enum stackd_mpi_vendor */
	__u8 size_offset;    /* of a datatype's size, in its structure */
	__u16 rank_offset;   /* of the rank, in a communicator */
	__u16 count_offset;  /* in a communicator: of its size, or of the address of its group, */
	__u16 group_offset;  /* and then of the size in that group */
	__u16 entry_offset;  /* of MPICH: in a list of tables, of the size of an entry */
	__u16 inter_offset;  /* in a communicator: of a number that is odd if there are two
			      * groups */
	__u32 comm_bytes;    /* size of a predefined communicator */
	__u64 comm_slots[2]; /* vaddrs of words, one of which has the address of their table */
	__u64 comms, types;  /* vaddrs of the lists of tables with the other communicators, and the
			      * datatypes */
};

_Static_assert(sizeof(struct stackd_mpi_call) == 40, "stackd_mpi_call is shared");
_Static_assert(sizeof(struct stackd_mpi_library) == 48, "stackd_mpi_library is shared");

#endif
