/* SPDX-License-Identifier: MIT */
/*
 * The machines (machine.h) of all processes: runtimes that say in memory which managed functions
 * the code that they have made belongs to.
 *
 * A file with such a runtime is recognised by its content, not its name, as soon as the event of
 * its mapping is read. A process that had mapped it before is searched when a stack of it comes to
 * the daemon and it has JIT code. A machine that has not started yet is tried again.
 */
#ifndef RECORDER_MACHINES_H
#define RECORDER_MACHINES_H

#include "daemon/recorder/locator.h"
#include "daemon/recorder/managed.h"
#include "daemon/recorder/thread_paths.h"
#include "stack/location.h"
#include "stackd_abi.h"
#include "unwind/dwarf_walk.h"

struct machine;
struct machines;

struct mount_lists;

struct machines_options { /* all borrowed */
	struct locator *locator;
	struct managed *managed;
	struct location_table *locations;
	struct mount_lists *mounts; /* lists that are kept; NULL: none */
	struct tables *tables;	    /* have layouts of runtimes' files; NULL: none has one */
};

/* 0 or -ENOMEM. */
int machines_new(const struct machines_options *options, struct machines **ret_machines);
void machines_free(struct machines *machines); /* NULL is fine */

/* To be called for each mapping of a file, and each exec, as soon as the event of this time is
 * read. */
void machines_note_mapping(struct machines *machines, pid_t pid, uint64_t time_ns,
			   const struct object_mapping *mapping, const struct object *object);
void machines_note_exec(struct machines *machines, pid_t pid, uint64_t time_ns);

/* Reads what the managed frames of a stack will be found by, while its process lives. To be called
 * for each STACK record as soon as it is read. 0 or -ENOMEM. */
int machines_note(struct machines *machines, const struct stackd_stack_record *record);

/* Returns whether stacks of a machine have come within the last second before now. What they are
 * named by is read once they are here, and only while their process lives. */
bool machines_are_active(const struct machines *machines, uint64_t now_ns);

/* Returns whether a process has a runtime whose frames are known by their words
 * (walk_input.has_words). */
bool machines_has_words(const struct machines *machines, pid_t pid);

enum machines_walk {
	MACHINES_WALK_SAME,   /* no frame was added or removed; some may be proven now */
	MACHINES_WALK_RIGHT,  /* it was corrected, and ends as it did */
	MACHINES_WALK_ENDS,   /* it ends in its last frame, whose caller is not known */
	MACHINES_WALK_GOES_ON /* it ends in its last frame, from which another walk may go on */
};

/* Corrects a walk, leaf first, that has missed frames in a machine's code, or has ended there;
 * `frames` has room for DWARF_WALK_MAX_FRAMES. It takes time linear in the frames before and after.
 * `is_whole` says whether the walk has reached the thread's entry. If the result is
 * MACHINES_WALK_GOES_ON, *ret_regs has the pc, sp and fp of the last frame (0: not known); its
 * address is a return address. */
enum machines_walk machines_correct(struct machines *machines,
				    const struct stackd_stack_record *record,
				    const struct walk_input *in, bool is_whole,
				    struct walk_frame *frames, size_t *count,
				    struct stackd_regs *ret_regs);

/* Replaces the frames of JIT code in the path of a record by the managed frames that they stand
 * for. `frames` are those of the walk, leaf first, from which the path was made; the path has no
 * kernel frames yet. Frames that are not proven stay. *ret_has_moved: it has added or removed
 * frames, so the path's are not those of the walk any more, however many there are. 0 or
 * -ENOMEM. */
int machines_name(struct machines *machines, const struct stackd_stack_record *record,
		  const struct walk_frame *frames, struct path *path, bool *ret_has_moved);

/* The machine of a process whose code the kernel half walks (runtime_machine.is_walked): at
 * present, which is opened if it was not; and at a time. NULL: it has none. machines_of_walked()
 * returns 0 or -ENOMEM. */
int machines_of_walked(struct machines *machines, pid_t pid, uint64_t now_ns,
		       struct machine **ret_machine);
struct machine *machines_walked_at(const struct machines *machines, pid_t pid, uint64_t time_ns);

/* Counts a frame of such a walk in code that was made. */
void machines_count_frame(struct machines *machines, bool is_named);

struct machines_counts {
	uint64_t found;	    /* processes with a machine that is read */
	uint64_t unread;    /* processes with one that is not, because of its version or build */
	uint64_t full;	    /* times that what was known of a process was forgotten: too much */
	uint64_t corrected; /* walks, at one frame or more */
	uint64_t frames;    /* managed frames in paths */
	uint64_t unproven;  /* native frames in a machine's code that have no managed frame */
};

/* Returns the counts so far. */
struct machines_counts machines_counts(const struct machines *machines);

#endif
