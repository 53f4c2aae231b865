/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What MPI's functions do with their arguments, and where MPI's libraries keep the data from which
 * bytes are computed. This is a part of stackd_abi.h, which includes it. */
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

/* How often a call transfers the bytes that are given by its count and datatype. */
enum stackd_mpi_how {
	STACKD_MPI_NONE,
	STACKD_MPI_ONCE,
	STACKD_MPI_ALL,	     /* once for each process of the communicator */
	STACKD_MPI_ROOT,     /* once, at the root */
	STACKD_MPI_ROOT_ALL, /* at the root, once for each process of the communicator */
	STACKD_MPI_NOT_ROOT, /* once, but not at the root */
	/* The count is the address of an array with one count for each process: */
	STACKD_MPI_SUM,		/* the sum of the counts */
	STACKD_MPI_ROOT_SUM,	/* the sum of the counts, at the root */
	STACKD_MPI_OWN,		/* the count of this process */
	STACKD_MPI_SUM_TYPED,	/* the sum of the counts; the datatype is the address of an array,
				 * too */
	STACKD_MPI_SINGLE,	/* one element; `count` is not used */
	STACKD_MPI_PARTITIONED, /* once for each partition; the second argument is their number */
	STACKD_MPI_UNKNOWN,
};

/* What a call sends, or what it receives. The members are numbers of its arguments, from 1; 0:
 * there is no such argument. */
struct stackd_mpi_part {
	__u8 count, type;
	__u8 peer;
	__u8 how;    /* enum stackd_mpi_how */
	__u8 buffer; /* if this argument is MPI_IN_PLACE, the next three members replace count,
		      * type and how */
	__u8 place_count, place_type, place_how;
};

enum stackd_mpi_kind {
	STACKD_MPI_OTHER,
	STACKD_MPI_BYTES,
	STACKD_MPI_COMM_SIZE, /* MPI_Comm_size(): a communicator, and the address at which it
			       * stores the size */
	STACKD_MPI_COMM_RANK, /* MPI_Comm_rank */
	/* A function with the same `number`, which this function calls, transfers the bytes: the C
	 * function behind a Fortran function, or the library's function behind a tool's (PMPI). */
	STACKD_MPI_WITHIN,
	STACKD_MPI_INIT,  /* makes a request, which transfers the bytes each time it is started */
	STACKD_MPI_START, /* starts the request whose address is the first argument */
	STACKD_MPI_STARTALL, /* starts the requests from the address in the second argument on;
			      * the first argument is their number */
	/* These complete requests. If `root` is 1, the request whose address is the first argument;
	 * else those in the array whose address is the second argument, and whose length is the
	 * first. */
	STACKD_MPI_WAIT,      /* completes all of them; if there is a `result`, only if the flag
			       * there is true */
	STACKD_MPI_WAIT_ANY,  /* completes the request whose number is stored at `result` */
	STACKD_MPI_WAIT_SOME, /* completes as many requests as `result` says; their numbers are
			       * stored at the fourth argument */
};

/* What a function of MPI does. The map `mpi_calls` has it by the number of the function's
 * region. */
struct stackd_mpi_call {
	struct stackd_mpi_part sent, received;
	__u8 comm, root;
	__u8 result;	 /* argument with the address at which the call stores its result; 0:
			  * none */
	__u8 kind;	 /* enum stackd_mpi_kind */
	__u8 library;	 /* its library's index in `mpi_libraries`, from 1; 0: none */
	__u8 is_wide;	 /* counts have 8 bytes, not 4 */
	__s8 no_partner; /* MPI_PROC_NULL */
	__s8 in_place;	 /* MPI_IN_PLACE */
	__u64 vaddr;	 /* vaddr of the function's first instruction */
	__u16 number;	 /* the same number for all functions that make the same call of MPI (C's
			  * and Fortran's); 0: none */
	__u8 goes_on;	 /* it may end with a jump to another function of MPI */
	/* argument with the address of the MPI_Status, which says how much was received, read or
	 * written; 0: none */
	__u8 status;
	__u8 is_file;	 /* a file's function: it writes what it sends, and reads what it
			  * receives */
	__u8 is_at_most; /* it may receive less than the buffer's size */
	__u8 pad[2];
};

#define STACKD_MPI_LIBRARIES 16

/*
 * Where a library keeps the sizes of datatypes and of communicators, and the process's ranks in the
 * communicators, as offsets in bytes. Zero: not known. In Open MPI a handle is the object's
 * address. In MPICH a handle is a number, made of a kind, a table of objects, and an entry. Each
 * entry begins with its handle.
 */
struct stackd_mpi_library {
	__u8 vendor;	     /* enum stackd_mpi_vendor */
	__u8 size_offset;    /* offset of the size in a datatype's structure */
	__u16 rank_offset;   /* offset of the rank in a communicator's structure */
	__u16 count_offset;  /* offset in a communicator's structure of its size or, if
			      * group_offset is not 0, of the address of its group, */
	__u16 group_offset;  /* and then the offset of the size in that group's structure */
	__u16 entry_offset;  /* of MPICH: offset, in a list of tables, of the size of an entry */
	__u16 inter_offset;  /* offset in a communicator's structure of a number that is odd if
			      * it has two groups */
	__u32 comm_bytes;    /* size of a predefined communicator */
	__u64 comm_slots[2]; /* vaddrs of words, one of which has the address of the table of
			      * predefined communicators */
	__u64 comms, types;  /* vaddrs of the lists of tables with the other communicators, and
			      * with the datatypes */
};

_Static_assert(sizeof(struct stackd_mpi_call) == 40, "stackd_mpi_call is shared");
_Static_assert(sizeof(struct stackd_mpi_library) == 48, "stackd_mpi_library is shared");

#endif
