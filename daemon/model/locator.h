/* SPDX-License-Identifier: MIT */
/*
 * Places: from the addresses that a walk gives to locations (an object and an offset in it), which
 * are the same in every process. An address of nowhere gets a place in the object "[unknown]".
 */
#ifndef MODEL_LOCATOR_H
#define MODEL_LOCATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/object.h"
#include "proc/process.h"
#include "stack/location.h"
#include "sym/kallsyms.h"
#include "unwind/dwarf_walk.h"

struct locator;

/* All borrowed. 0 or -ENOMEM. */
int locator_new(struct object_table *objects, struct process_table *processes,
		struct location_table *locations, struct locator **ret_places);
void locator_free(struct locator *places);

/* What is mapped at a process's address; false: nothing that is executable. */
bool locator_find(const struct locator *places, pid_t pid, uint64_t address,
		  const struct object **ret_object, uint64_t *ret_offset);

/* The same as the find function of a walk (struct walk_input), whose argument is one of these. */
struct place_of {
	const struct locator *places;
	pid_t pid;
};
bool locator_find_code(void *place_of, uint64_t address, const struct object **ret_object,
		       uint64_t *ret_offset);

/* The object for what lies nowhere. 0 or -ENOMEM. */
int locator_nowhere(struct locator *places, const struct object **ret_object);

/* The location of an offset in an object; of a frame of a walk; and of a kernel address, where
 * `is_return` tells a return address. 0 or -ENOMEM. */
int locator_enter(struct locator *places, const struct object *object, uint64_t offset,
		  bool is_return, uint32_t *ret_location);
int locator_of_frame(struct locator *places, const struct walk_frame *frame,
		     uint32_t *ret_location);
int locator_of_kernel(struct locator *places, uint64_t address, bool is_return,
		      uint32_t *ret_location);

/* The kernel's symbols, loaded when the first kernel address came; NULL before, and where there
 * are none to be had. */
const struct kallsyms *locator_kallsyms(const struct locator *places);

#endif
