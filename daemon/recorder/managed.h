/* SPDX-License-Identifier: MIT */
/*
 * Makes locations of managed code (stackd_managed.h: code that an interpreter runs), and keeps
 * their names.
 *
 * A location of managed code is the same on every run and host for the same source: its object is
 * the source file, whose file id is a hash of language and file name, and its offset is a hash of
 * the function's qualified name, its first line, and the line. Addresses have no part in it. Its
 * name, file and line are known with its first sample, from the code object's record, and go to the
 * store with the location.
 */
#ifndef MODEL_MANAGED_H
#define MODEL_MANAGED_H

#include "proc/object.h"
#include "stack/location.h"
#include "stackd_abi.h"

struct managed;

/* `objects` is borrowed. 0 or -ENOMEM. */
int managed_new(struct object_table *objects, struct managed **ret_managed);
void managed_free(struct managed *managed); /* NULL is fine */

/* Keeps a record's code object (what the interpreter has of a function). To be called as soon as
 * the record is read. 0 or -ENOMEM. */
int managed_keep(struct managed *managed, const struct stackd_managed_record *record);

/* Gives the location of a frame that the kernel half has sent as one of file STACKD_FILE_MANAGED. 0
 * or -ENOMEM. */
int managed_locate(struct managed *managed, uint64_t frame, struct location *ret_location);

/* A function of managed code that user space has read. */
struct managed_function {
	uint32_t language; /* enum stackd_runtime */
	const char *name, *file;
	uint32_t first_line; /* 0: not known */
};

#define MANAGED_NONE	 UINT32_MAX
#define MANAGED_UNPROVEN "[frames not proven]"

/* Keeps a function, and gives its number; MANAGED_NONE: there is no room for more. 0 or -ENOMEM. */
int managed_add(struct managed *managed, const struct managed_function *function,
		uint32_t *ret_number);

/* Gives the location of a line (0: not known) of a function of managed_add(). 0 or -ENOMEM. */
int managed_locate_line(struct managed *managed, uint32_t function, uint32_t line,
			struct location *ret_location);

/* Gives the location of a note that stands for frames, such as "[frames not proven]". 0 or
 * -ENOMEM. */
int managed_locate_note(struct managed *managed, const char *note, struct location *ret_location);

/* The name of a location; its strings live as long as the struct managed. */
struct managed_name {
	const char *function;
	const char *file; /* NULL: none */
	uint32_t line;	  /* 0: none */
	uint32_t first_line;
};

/* Gives the name of a location of managed_locate(). false: the location is not of managed code. */
bool managed_name_of(const struct managed *managed, const struct location *location,
		     struct managed_name *ret_name);

/* Returns how many frames had a code object whose record was lost. */
uint64_t managed_nameless(const struct managed *managed);

#endif
