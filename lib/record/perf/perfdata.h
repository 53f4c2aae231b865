/* SPDX-License-Identifier: MIT */
/*
 * Reads the files that `perf record` writes: perf.data, or the format for pipes.
 *
 * The reader yields decoded records in the order of time. It reads all versions of the format that
 * are in use: attributes of every size, with and without sample_id_all, several events
 * distinguished by ids, zstd-compressed records, MMAP2 with inode or build-id, build-id tables with
 * and without sizes, header features before or after the data. The kernel's tree defines the
 * format, in include/uapi/linux/perf_event.h and
 * tools/perf/Documentation/perf.data-file-format.txt.
 *
 * Nothing in a file is trusted. Every length is checked against its container. Memory is bounded:
 * by PERFDATA_QUEUE_MAX for the queue that restores the order of time, by PERFDATA_FEATURE_MAX for
 * a header section. Invalid data ends the reading with -EBADMSG and a sentence with the offset in
 * the file and the reason. Records of unknown types are skipped and counted. Files of the other
 * byte order and directories (`perf record --threads`) are refused with -ENOTSUP.
 *
 * One thread at a time may use a reader.
 */
#ifndef PERF_PERFDATA_H
#define PERF_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

#define PERFDATA_QUEUE_MAX   ((size_t)256 << 20) /* bytes */
#define PERFDATA_FEATURE_MAX ((size_t)64 << 20)	 /* bytes */
#define PERFDATA_EVENTS_MAX  4096
#define PERFDATA_NO_EVENT    UINT32_MAX

/* An event as it was opened: the part of struct perf_event_attr that matters to readers. */
struct perfdata_event {
	/* "cycles:u"; "" if not recorded. It lives as long as the reader, but a later record of a
	 * pipe can replace it. */
	const char *name;
	uint32_t type; /* PERF_TYPE_... */
	uint64_t config;
	uint64_t period_or_hz; /* a frequency in Hz if `is_frequency` */
	bool is_frequency;
	bool exclude_kernel, exclude_user;
	bool exclude_user_chain; /* call chains have only the kernel's part (--call-graph dwarf) */
	uint64_t sample_type;	 /* PERF_SAMPLE_... */
	uint64_t branch_type;	 /* PERF_SAMPLE_BRANCH_... */
	uint64_t user_regs;	 /* mask of perf's register numbers */
	uint32_t user_stack;	 /* bytes of stack to copy for each sample; 0: none */
	uint16_t max_stack;	 /* frames of a call chain; 0: the kernel's default */
};

enum perfdata_kind {
	PERFDATA_SAMPLE,
	PERFDATA_MMAP,
	PERFDATA_COMM,
	PERFDATA_FORK,
	PERFDATA_EXIT,
	PERFDATA_LOST,	  /* samples that the kernel could not deliver */
	PERFDATA_KSYMBOL, /* kernel code loaded at run time: BPF programs */
};

/* Privilege level of an address: PERF_RECORD_MISC_CPUMODE_MASK. */
enum perfdata_mode {
	PERFDATA_MODE_UNKNOWN,
	PERFDATA_MODE_KERNEL,
	PERFDATA_MODE_USER,
	PERFDATA_MODE_HYPERVISOR,
	PERFDATA_MODE_GUEST_KERNEL,
	PERFDATA_MODE_GUEST_USER,
};

/* A taken branch, in the file's format. */
struct perfdata_branch {
	uint64_t from, to;
	uint64_t flags; /* PERFDATA_BRANCH_... */
};

#define PERFDATA_BRANCH_MISPREDICTED ((uint64_t)1 << 0)
#define PERFDATA_BRANCH_PREDICTED    ((uint64_t)1 << 1)
#define PERFDATA_BRANCH_IN_TX	     ((uint64_t)1 << 2)
#define PERFDATA_BRANCH_ABORT	     ((uint64_t)1 << 3)
#define PERFDATA_BRANCH_CYCLES(f)    ((uint16_t)((f) >> 4)) /* since the last branch; 0: unknown */
#define PERFDATA_BRANCH_TYPE(f)	     ((f) >> 20 & 0xf)	    /* PERF_BR_...; 0: not known */

#define PERFDATA_NO_HW_INDEX UINT64_MAX

enum perfdata_regs_abi { PERFDATA_REGS_NONE, PERFDATA_REGS_32, PERFDATA_REGS_64 };

/* A counter that was read with a sample (PERF_SAMPLE_READ). */
struct perfdata_count {
	uint64_t id, value;
	uint32_t event; /* index of its event; PERFDATA_NO_EVENT: unknown */
};

struct perfdata_sample {
	uint64_t ip;
	uint64_t period; /* 1 if not recorded */
	enum perfdata_mode mode;

	/* The values of the counters of the event's group, or of the event alone; see
	 * perfdata_count_at(). They counted for `running_ns` of the `enabled_ns` in which they were
	 * enabled. */
	const uint64_t *counts;
	size_t n_counts;
	unsigned count_words; /* words of each element of `counts` */
	uint64_t enabled_ns, running_ns;
	bool has_times; /* enabled_ns and running_ns are known */

	/* The call chain, leaf first, with the kernel's PERF_CONTEXT_... markers in it. */
	const uint64_t *callchain;
	size_t n_callchain;
	bool has_callchain; /* samples of the event have call chains, which may be empty */

	/* The branch records, most recent first. */
	const struct perfdata_branch *branches;
	size_t n_branches;
	bool has_branches;
	uint64_t hw_index; /* of branches[0] in the ring; PERFDATA_NO_HW_INDEX: not known */

	/* User registers, in the order of the bits of regs_mask (perf's numbers). */
	const uint64_t *regs;
	uint64_t regs_mask; /* 0: this sample has none */
	enum perfdata_regs_abi regs_abi;

	/* The user stack from the stack pointer up. */
	const uint8_t *stack;
	size_t stack_bytes; /* bytes that were copied */
	/* bytes of stack that were requested; if equal to stack_bytes, the stack may go on */
	size_t stack_room;
};

struct perfdata_mmap {
	uint64_t start, len; /* addresses */
	uint64_t offset;     /* in the file; for the kernel: address of its reference symbol */
	bool is_code;	     /* PROT_EXEC, or not marked as data */
	uint32_t dev_major, dev_minor;
	uint64_t inode; /* 0: unknown */
	/* build-id from the record, or else from the header's table; NULL: none */
	const uint8_t *build_id;
	uint8_t build_id_len; /* at most 20 */
	const char *path;
	enum perfdata_mode mode; /* the kernel and its modules are mapped in pid -1 */
};

struct perfdata_comm {
	const char *comm; /* not cut to 15 characters */
	bool is_exec;
};

struct perfdata_task { /* FORK and EXIT */
	uint32_t parent_pid, parent_tid;
	/* FORK: perf wrote it for a process that ran already when it started; records of its
	 * mappings follow */
	bool is_running;
};

struct perfdata_ksymbol {
	uint64_t start;
	uint32_t len;
	bool is_bpf;
	bool is_gone; /* it was unloaded */
	const char *name;
};

/* The pointers in a record are aligned, and live until the next call of perfdata_next(). */
struct perfdata_record {
	enum perfdata_kind kind;
	/* offset of the record in the file; if it was compressed, offset of the compressed record
	 * that has it */
	uint64_t offset;
	uint64_t time_ns; /* time by the clock that perf chose; 0: unknown */
	uint32_t pid, tid;
	uint32_t cpu; /* UINT32_MAX: not known */
	/* index of the event that the record belongs to; PERFDATA_NO_EVENT: unknown (never for a
	 * sample) */
	uint32_t event;
	union {
		struct perfdata_sample sample;
		struct perfdata_mmap mmap;
		struct perfdata_comm comm;
		struct perfdata_task task;
		struct perfdata_ksymbol ksymbol;
		uint64_t lost;
	};
};

/* The header's description of the recording and its machine. Strings are "" if not recorded; they
 * live as long as the reader. A pipe's header arrives in records, so fields can appear later. */
struct perfdata_info {
	const char *host, *kernel, *perf_version, *arch, *cpu, *cpu_id;
	const char *command;	    /* words, separated by blanks */
	const char *cpu_caps;	    /* "branches=32,max_precise=3", of the core PMU */
	uint32_t cpus;		    /* online; 0: not known */
	uint64_t first_ns, last_ns; /* time of samples; 0: not known */
	int32_t clock_id;	    /* CLOCK_...; -1: perf's own */
	uint64_t clock_ns, unix_ns; /* one moment by both clocks; 0: unknown */
	bool is_pipe, is_compressed;
};

/* Numbers of records read, returned and skipped. */
struct perfdata_counts {
	uint64_t records;     /* records read, of all types */
	uint64_t samples;     /* samples returned */
	uint64_t aux_records; /* AUX, AUXTRACE, ITRACE_START: traces are not decoded */
	uint64_t aux_bytes;   /* bytes of trace data that were skipped */
	/* records of known types that the reader does not return: context switches, namespaces,
	 * maps of CPUs */
	uint64_t other_records;
	uint64_t unknown_records;
	uint64_t out_of_order; /* records returned after a younger one */
	uint64_t lost;	       /* sum of the LOST records */
	uint64_t data_bytes;   /* size of the records in the file, compressed if they are */
};

struct perfdata;

/* Opens a reader and reads the header. `fd` is borrowed until the reader is freed: a regular file
 * is read from its start, anything else as a pipe. Returns 0; -EBADMSG: not perf.data, damaged or
 * truncated; -ENOTSUP: the other byte order, a directory, or a perf older than Linux 3.0; -ENOMEM;
 * or an error of read(2). On failure *ret_error is a sentence that the caller frees, or NULL if
 * there was no memory for it. */
int perfdata_open(int fd, struct perfdata **ret_reader, char **ret_error);
void perfdata_free(struct perfdata *reader); /* accepts NULL */

/* Gives the next record in the order of time. Pointers in it are valid until the next call. Returns
 * 1; 0 at the end; or an error of perfdata_open(), with the sentence in perfdata_error(). Later
 * calls return the same error. */
int perfdata_next(struct perfdata *reader, struct perfdata_record *ret_record);

/* Returns the sentence of the error, "" if there is none. Lives as long as the reader. */
const char *perfdata_error(const struct perfdata *reader);

/* Return the number of events so far (a pipe can add some while it is read), and one of them;
 * `index` must be below the number. The pointer is valid until the next perfdata_next(). */
uint32_t perfdata_event_count(const struct perfdata *reader);
const struct perfdata_event *perfdata_event(const struct perfdata *reader, uint32_t index);

/* Return the header's contents, and the counts so far. Both live as long as the reader. */
const struct perfdata_info *perfdata_info(const struct perfdata *reader);
const struct perfdata_counts *perfdata_counts(const struct perfdata *reader);

/* Returns the build-id that the header's table has for a path, or NULL with length 0. (The table's
 * pids are ignored, because perf lists a file once.) The bytes are valid until the next
 * perfdata_next(). Sorts the table first if it has changed. */
const uint8_t *perfdata_build_id(struct perfdata *reader, const char *path, size_t *ret_len);

/* Returns one of a sample's counters; `index` must be below n_counts. */
struct perfdata_count perfdata_count_at(struct perfdata *reader, uint32_t event,
					const struct perfdata_sample *sample, size_t index);

/* Converts a sample's user registers to DWARF's numbers. Registers that were not recorded become 0.
 * Returns false if there are no 64-bit registers, or if the stack or instruction pointer is
 * missing. */
bool perfdata_user_regs(const struct perfdata_sample *sample, struct stackd_regs *ret_regs);

#endif
