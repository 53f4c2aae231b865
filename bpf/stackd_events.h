/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The kinds of event of records: a part of stackd_abi.h, which includes it.
 *
 * A record's header has the time, thread and CPU of its event, and a WALKED or STACK record has the
 * event's path. For each kind, a struct has the other measured values:
 *
 *   kind       struct             the path is that of
 *   SAMPLE     none               the sample
 *   REGION     stackd_pass        the region's entry
 *   LEFT       stackd_pass        the region's function and its caller alone
 *   MARK       stackd_pass        the hit that ends the pass
 *   ALLOC      stackd_alloc       the call of the allocator
 *   FREE       stackd_free        none
 *   FAULT      stackd_alloc       the access to the page
 *   MAP        stackd_alloc       the system call
 *   WAIT       stackd_wait        the waiting thread
 *   UNTRACED   stackd_untraced    none
 *   WAKE       stackd_wake        the thread that woke the other one
 *   LIFE       stackd_life        none
 *   CALL       stackd_call        the call
 *
 * All these structs begin with the kind and have the same size, so the kernel half can copy them
 * without a look at the kind (union stackd_measurement). The other kinds of event have records of
 * separate kinds (enum stackd_record_kind).
 */
#ifndef STACKD_EVENTS_H
#define STACKD_EVENTS_H

enum stackd_event {
	STACKD_EVENT_SAMPLE, /* a sample of a perf event */
	STACKD_EVENT_REGION, /* a pass through a region, at its end */
	/* an instance that was left without a return: by an exception, longjmp(), or the end of its
	 * thread or program */
	STACKD_EVENT_LEFT,
	STACKD_EVENT_MARK,     /* the time from one hit of a mark to the next, at its end */
	STACKD_EVENT_ALLOC,    /* a sampled allocation */
	STACKD_EVENT_FREE,     /* the end of a sampled allocation */
	STACKD_EVENT_FAULT,    /* a sampled page fault of user mode */
	STACKD_EVENT_MAP,      /* a call of mmap() or brk() */
	STACKD_EVENT_WAIT,     /* a sampled wait (a thread was off the CPU), at its end */
	STACKD_EVENT_UNTRACED, /* a wait during which the kernel did not trace a switch */
	STACKD_EVENT_WAKE,     /* a thread ended another thread's wait */
	STACKD_EVENT_LIFE,     /* a thread began or ended; only if waits are recorded */
	STACKD_EVENT_CALL,     /* a call of MPI whose path libstackmpi did not know */

	/* These have separate kinds of records: */
	STACKD_EVENT_READING,	 /* READING: values of counters */
	STACKD_EVENT_LAUNCH,	 /* LAUNCHED: a program was executed */
	STACKD_EVENT_COMPLETE,	 /* COMPLETED: a receive of MPI is complete */
	STACKD_EVENT_CODE,	 /* CODE: hashes of code that the process made */
	STACKD_EVENT_CODE_BYTES, /* CODE_BYTES: the bytes of such code */
	STACKD_EVENT_MANAGED,	 /* MANAGED: the names of a code object of Python's */
	STACKD_EVENT_BRANCHES,	 /* BRANCHES: the processor's branch records */
	STACKD_EVENT_COUNT,
};

/* A pass through a region or mark. */
struct stackd_pass {
	__u64 kind : 8;	      /* STACKD_EVENT_REGION, STACKD_EVENT_LEFT or STACKD_EVENT_MARK */
	__u64 wall_ns : 56;   /* two years */
	__u64 cpu_ns;	      /* CPU time of the thread */
	__u64 nested_wall_ns; /* the part of wall_ns in which instances within this one were open */
	__u64 nested_cpu_ns;
	__u64 sent, received; /* bytes that a call of MPI has sent and received; or
			       * STACKD_MPI_NOT_KNOWN */
	__u64 number : 16;    /* of the region or mark (STACKD_REGION_NUMBER()), from 1 */
	/* the lowest bits of CLOCK_MONOTONIC at its end, which is less than 78 hours before the
	 * record's time */
	__u64 ended_ns : 48;
};

#define STACKD_PASS_MOST_LATE_NS ((1ull << 48) - 1)

#define STACKD_MPI_NOT_KNOWN ((__u64)-1)

/* Flags in the bytes of a call of MPI, unless they are STACKD_MPI_NOT_KNOWN: */
/* bytes that were read from a file, or written to it */
#define STACKD_MPI_OF_FILE (1ull << 62)
/* the size of the buffer; fewer bytes may have been received */
#define STACKD_MPI_AT_MOST	   (1ull << 61)
#define STACKD_MPI_LATER	   (1ull << 60) /* COMPLETED records will say how many bytes */
#define STACKD_MPI_BYTES_OF(value) ((value) & ((1ull << 56) - 1))

/* An allocation, page fault, or call of mmap() or brk(). */
struct stackd_alloc {
	__u8 kind; /* STACKD_EVENT_ALLOC, STACKD_EVENT_FAULT or STACKD_EVENT_MAP */
	__u8 pad[7];
	/* for an allocation: its address, or another number that no live block of the process has.
	 * 0: no record will report its free */
	__u64 address;
	__u64 size;   /* bytes that were asked for */
	__u64 weight; /* bytes that the sample represents; 0: the daemon computes them */
	/* What the thread's samples right before this one represented, if the ring buffer had no
	 * room for them. */
	__u64 lost_bytes;
	__u64 lost_objects;
	__u64 owner; /* process << 32 | thread that owns the memory; 0: the record's thread */
};

struct stackd_free {
	__u8 kind; /* STACKD_EVENT_FREE */
	__u8 pad[7];
	__u64 address; /* as in struct stackd_alloc */
	__u64 owner;   /* as in struct stackd_alloc */
	__u64 pad2[4];
};

/* What a thread waited for. */
enum stackd_object {
	STACKD_OBJECT_NONE, /* only the first argument of the system call is known */
	STACKD_OBJECT_FILE, /* a file of a file system: its inode */
	STACKD_OBJECT_PIPE, /* its inode */
	STACKD_OBJECT_ANON, /* an eventfd, timerfd, ..: its name, "[eventfd]" */
	STACKD_OBJECT_IP,   /* a socket with a peer: its address */
	/* a Unix socket that has an address, or whose peer has one: the inode of the socket with
	 * the address */
	STACKD_OBJECT_UNIX,
	STACKD_OBJECT_SOCKET, /* another socket: its inode */
	STACKD_OBJECT_FUTEX,  /* a futex: its address, and the thread that held it */
};

/* Who has ended a wait. */
enum stackd_waker {
	STACKD_WAKER_UNKNOWN,
	STACKD_WAKER_THREAD,	/* a thread, which has a record of its own, unless the ring
				 * buffer had no room for it */
	STACKD_WAKER_INTERRUPT, /* an interrupt of an idle CPU */
};

/* A flag in the state of a wait whose thread left the CPU because its cgroup had no quota left. Of
 * the scheduler's own states, only that of a dead task has this bit. */
#define STACKD_STATE_THROTTLED 0x80

#define STACKD_NOT_SAMPLED  (1ull << 63) /* a flag in the runnable part of a wait */
#define STACKD_MOST_LATE_NS ((1u << 28) - 1)

struct stackd_wait {
	__u8 kind; /* STACKD_EVENT_WAIT */
	/* the scheduler's number of the task's state; 0: the thread was preempted; or
	 * STACKD_STATE_THROTTLED */
	__u8 state;
	__u8 file_type; /* S_IFMT >> 12 of the file for which it waited; 0: none */
	__u8 is_io;	/* it waited for block I/O */
	__u8 waker;	/* enum stackd_waker */
	__u8 object;	/* enum stackd_object */
	__u8 protocol;	/* IPPROTO_*, of STACKD_OBJECT_IP */
	__u8 pad;
	__u64 blocked_ns; /* time for which it was blocked; 0: that part of the wait is not in
			   * the sample */
	/* time for which it was runnable. With STACKD_NOT_SAMPLED, that part of the wait is not in
	 * the sample, and its length only says when the blocked part ended */
	__u64 runnable_ns;
	/* mean distance of the points in time at which both parts are sampled, a minute at most; 0:
	 * all waits are kept */
	__u64 mean_ns : 36;
	__u64 late_ns : 28; /* from the wait's end to the record's time; the largest number also
			     * means more */
	union {		    /* by `object` */
		struct {
			__u64 argument; /* first argument of the system call: the address of a
					 * futex, or a descriptor */
			__u64 number;	/* number of the inode; for a futex, the thread that held
					 * it; 0: not known */
		};
		__u32 peer[4]; /* an IPv6 address in network order, or a mapped IPv4 address */
		char name[16]; /* ends with a 0 if it is shorter */
	};
	__s16 call; /* number of the system call; -1: the thread was in none */
	__u16 pad2;
	union {
		__u32 generation; /* generation of the inode; for STACKD_OBJECT_FILE */
		struct {
			__u16 local_port, peer_port; /* for STACKD_OBJECT_IP; 0: none */
		};
	};
};

/* A wait during which the kernel did not trace a switch, so that only its length is known. */
struct stackd_untraced {
	__u8 kind;	  /* STACKD_EVENT_UNTRACED */
	__u8 was_blocked; /* 0: the thread was preempted, as far as is known */
	__u8 pad[6];
	__u64 blocked_ns; /* this, runnable_ns and mean_ns are as in struct stackd_wait */
	__u64 runnable_ns;
	__u64 mean_ns;
	__u64 late_ns; /* from the wait's end to the record's time */
	__u64 pad2[2];
};

struct stackd_wake {
	__u8 kind; /* STACKD_EVENT_WAKE */
	__u8 pad[7];
	__u64 time_ns;	/* time of the wake-up (CLOCK_MONOTONIC) */
	__u32 pid, tid; /* process and thread ids of the thread that was woken */
	__u64 pad2[4];
};

struct stackd_life {
	__u8 kind;     /* STACKD_EVENT_LIFE */
	__u8 is_begun; /* 1: the thread is measured from now on; 0: it has left its CPU for the last
			* time */
	__u8 pad[6];
	__u64 pad2[6];
};

/* A call of MPI that libstackmpi has counted. */
struct stackd_call {
	__u64 kind : 8; /* STACKD_EVENT_CALL */
	__u64 wall_ns : 56;
	__u64 cpu_ns;
	__u32 table;  /* of the thread, and */
	__u32 path;   /* the index in stackd_calls.paths under which the library may have the call's
		       * path (stackd_call_path.walked_ns); STACKD_CALL_PATHS: none. Of a region
		       * STACKD_CALL_PATH() */
	__u64 visits; /* 1; 0: more bytes of a call that was sent already */
	__u64 sent, received; /* as in struct stackd_pass */
	__u64 pad : 16;
	__u64 ended_ns : 48; /* as in struct stackd_pass */
};

/* The measured values of an event that is no sample. */
union stackd_measurement {
	__u8 kind; /* enum stackd_event; STACKD_EVENT_SAMPLE: no values */
	struct stackd_pass pass;
	struct stackd_alloc alloc;
	struct stackd_free free;
	struct stackd_wait wait;
	struct stackd_untraced untraced;
	struct stackd_wake wake;
	struct stackd_life life;
	struct stackd_call call;
};

#define STACKD_IS_MEASURED(event) ((event) > STACKD_EVENT_SAMPLE && (event) < STACKD_EVENT_READING)

_Static_assert(sizeof(union stackd_measurement) == 56, "stackd_measurement is shared");
_Static_assert(sizeof(struct stackd_pass) == 56, "stackd_pass fills a stackd_measurement");
_Static_assert(sizeof(struct stackd_alloc) == 56, "stackd_alloc fills a stackd_measurement");
_Static_assert(sizeof(struct stackd_free) == 56, "stackd_free fills a stackd_measurement");
_Static_assert(sizeof(struct stackd_wait) == 56, "stackd_wait fills a stackd_measurement");
_Static_assert(sizeof(struct stackd_untraced) == 56, "stackd_untraced fills a stackd_measurement");
_Static_assert(sizeof(struct stackd_wake) == 56, "stackd_wake fills a stackd_measurement");
_Static_assert(sizeof(struct stackd_life) == 56, "stackd_life fills a stackd_measurement");
_Static_assert(sizeof(struct stackd_call) == 56, "stackd_call fills a stackd_measurement");

#endif
