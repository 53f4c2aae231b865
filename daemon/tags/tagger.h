/* SPDX-License-Identifier: MIT */
/*
 * Which processes keep a tag of their call path, and which functions they chain: what the kernel
 * half reads tags by.
 *
 * A process keeps tags if anything that it has mapped holds libstacktag (its ELF note says so).
 * The note leads to a word in the process's memory with the variable's distance from the thread
 * pointer, which is all that the kernel half needs. The word is filled when the library is
 * initialised: until then the process is asked again every now and then.
 *
 * Within one *program* a tag has one meaning. A program is an executable together with the
 * instrumented files that it has mapped so far, in their order: another library that is loaded
 * later, with functions of the same names perhaps, makes it another program.
 */
#ifndef TAGS_TAGGER_H
#define TAGS_TAGGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/object.h"
#include "proc/process.h"
#include "daemon/capture/sideband.h"
#include "stackd_abi.h"
#include "callgraph/tagged_functions.h"

struct tagger;

/* The kernel half's maps. */
struct tagger_maps {
	int tagged_fd;
	uint32_t *n_tagged; /* how many processes stand there */
};

int tagger_new(const struct tagger_maps *maps, struct tagger **ret_tagger); /* 0 or -ENOMEM */
void tagger_free(struct tagger *tagger);

/* Looks into a process that runs already. 0 or -ENOMEM. */
int tagger_load(struct tagger *tagger, struct process_table *processes, pid_t pid);

/* An event says that a process has mapped code (`object` is what, NULL: nothing of the kind), has
 * a child, which keeps tags as its parent does, has ended, or is another program from now on. To be
 * called as soon as it is known. 0 or -ENOMEM. */
int tagger_on_event(struct tagger *tagger, const struct sideband_event *event,
		    const struct object *object);

/* Asks again the processes whose library was not initialised yet. */
void tagger_poll(struct tagger *tagger);

/* The functions of an object that keep a tag; NULL: none does. */
struct tagged_functions *tagger_functions(struct tagger *tagger, const struct object *object);

/* Is the code at an object's offset that of libstacktag? */
bool tagger_is_runtime(struct tagger *tagger, const struct object *object, uint64_t offset);

uint32_t tagger_processes(const struct tagger *tagger); /* that ever were found to keep tags */

/* No process has kept a tag, and none may yet. */
bool tagger_is_idle(const struct tagger *tagger);

#endif
