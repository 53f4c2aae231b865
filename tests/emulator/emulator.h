/* SPDX-License-Identifier: MIT */
/* The interface between the two halves of the emulator: the tool, and the writer of its files. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include "pub_tool_basics.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_tooliface.h"
#include "libvex_guest_amd64.h"

#include "ring.h"

#define EMULATOR_MAX_STACK 60000 /* a record has 16 bits for its size */
#define RINGS		   3
#define MAX_THREADS	   2048

static const unsigned emulator_ring_size[RINGS] = {8, 16, 32};

enum emulator_file {
	FILE_RING,			/* + index of the ring */
	FILE_STACK = FILE_RING + RINGS, /* + index of the ring */
	FILE_ANY = FILE_STACK + RINGS,
	FILE_DWARF,
	FILE_TRUTH,
	FILE_COUNT
};

struct emulated_thread {
	struct ring rings[RINGS], any;
	struct truth truth;
	Addr interrupted, interrupted_sp; /* by a signal whose frame is being made */
	Bool in_transition;		  /* see perf_file.c */
	Bool is_new;			  /* not yet in the files */
};

struct out {
	HChar path[1024];
	UChar *bytes; /* not written yet */
	UInt n;
	ULong size; /* of the file, with those */
};

struct emulator {
	const HChar *prefix;
	Long period, max_samples;
	Int stack_bytes;
	ULong instructions, waited, n_samples;
	Bool is_child;
	struct emulated_thread *threads[MAX_THREADS]; /* by valgrind's number */
	struct out files[FILE_COUNT];
};

void open_files(struct emulator *e);
void write_mapping(struct emulator *e, Addr start, SizeT size);
void write_sample(struct emulator *e, struct emulated_thread *t, Addr ip,
		  const VexGuestAMD64State *state);
void close_files(struct emulator *e);

#endif
