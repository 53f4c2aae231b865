/* SPDX-License-Identifier: MIT */
/*
 * Names of locations, whatever kind of object they lie in: ELF files and the vDSO through
 * lib/code/sym's symbolizer, JIT code through its process's map file, the kernel through kallsyms.
 * One thread at a time.
 */
#ifndef SYM_NAMING_H
#define SYM_NAMING_H

#include "base/buf.h"
#include "proc/object.h"
#include "store/store.h"
#include "sym/debug_file.h"
#include "sym/kallsyms.h"

struct naming;

/* `proc_root` is where JIT code's processes are looked for: "/proc", or a path that is not there
 * where they are not of this machine. Copied. 0 or -ENOMEM. */
int naming_new(const char *proc_root, struct naming **ret_naming);

/* The same for one who waits for the names: nothing is fetched over the network, and programs with
 * very much debug information have the names of their symbols, without inlined calls and lines. */
int naming_new_quick(const char *proc_root, struct naming **ret_naming);

struct naming_files {
	struct debug_source debug;
	int (*open_jit_map)(void *arg, const struct object *object);
};

/* As naming_new(), in a process that cannot open files: `files` are opened by another (see
 * sym/debug_file.h), and so are maps of JIT code, by open_jit_map() with its argument: a descriptor
 * that the caller owns, or -errno. */
int naming_new_elsewhere(const struct naming_files *files, struct naming **ret_naming);

/* What a finder of names is asked of an object besides them. */
enum naming_question {
	NAMING_IS_EXPENSIVE,
	NAMING_WANTS_ORDER,
	NAMING_TRIM,
	NAMING_LIMIT,
	NAMING_AGAIN
};

/* Finds names that a process, or its file, has given: those of ELF objects and of JIT code. One in
 * this process is what naming_new() has; the other asks a process without rights. Functions are as
 * their namesakes below: ask() returns the answer to a question about an object (`number` with
 * NAMING_LIMIT: bytes; with NAMING_AGAIN: 1, or 0). */
struct naming_finder {
	int (*ask)(void *arg, enum naming_question question, const struct object *object,
		   uint64_t number);
	int (*resolve)(void *arg, const struct object *object,
		       const struct store_location *location,
		       int (*each)(void *arg, const struct store_line *line), void *each_arg);
	int (*prefetch)(void *arg, const struct object *object,
			const struct store_location *locations, size_t count);
	bool (*missing)(void *arg, const struct object *object, struct buf *text);
	bool (*is_unproven)(void *arg, const struct object *object);
	void *arg;
};

/* Makes a naming that asks `finder`, which is copied, and complete. 0 or -ENOMEM. */
int naming_new_by(const struct naming_finder *finder, struct naming **ret_naming);

void naming_free(struct naming *naming); /* NULL is fine */

/* Holds symbols of ELF objects in about so many bytes: those of the object that was asked for
 * longest ago go first, and are read again when it is asked for. It pays to ask for one object's
 * locations together. The object at hand may take more, until naming_trim(). 0: no limit. */
void naming_limit(struct naming *naming, size_t bytes);

/* Brings the memory back within the limit. To be called when no more questions are pending. */
void naming_trim(struct naming *naming);

/* Returns how many objects' symbols were put out to keep within the limit. */
uint64_t naming_forgotten(const struct naming *naming);

/* Returns how many questions had no answer because the file had become another one than the
 * object, or was being written to. */
uint64_t naming_changed(const struct naming *naming);

/* Will the next question about this object read many symbols, and put others out for them, which
 * are read anew when they are asked for? Then it pays to ask seldom. */
bool naming_is_expensive(struct naming *naming, const struct object *object);

/* Should its locations be asked for in order of offset? Its line tables are then more than what is
 * held at a time. (The store has locations in order of number in fewer bytes.) */
bool naming_wants_order(struct naming *naming, const struct object *object);

/* Sets the kernel's symbols, which are borrowed until naming_free(); NULL: none. */
void naming_set_kallsyms(struct naming *naming, const struct kallsyms *ksyms);

/* Calls `each` with every line of a location (see struct store_line; strings are lent for the
 * call). No call: nothing is known. Returns 0, -ENOMEM, or the nonzero result of `each`. */
int naming_resolve(struct naming *naming, const struct object *object,
		   const struct store_location *location,
		   int (*each)(void *arg, const struct store_line *line), void *arg);

/* Tells which locations of an object will be asked for next, in this order: another process finds
 * them together. At most NAMING_PREFETCH. 0 or -ENOMEM. */
int naming_prefetch(struct naming *naming, const struct object *object,
		    const struct store_location *locations, size_t count);
#define NAMING_PREFETCH 256

/* Appends the name of a debug file that the answers about an object have lacked, as
 * symbolizer_object_missing(). To be asked right behind them. */
bool naming_missing(struct naming *naming, const struct object *object, struct buf *text);

/* Whether the last answer about an object had no names since its file holds other code now, or is
 * being written to. That may change. */
bool naming_is_unproven(const struct naming *naming, const struct object *object);

/* From now on questions are asked once more, and a worker does not count them as unproven; false:
 * they are new ones. */
void naming_ask_again(struct naming *naming, bool is);

/* Bytes of tables, about, that the next question about an object will have to read. 0 or -ENOMEM.
 */
int naming_unread(struct naming *naming, const struct object *object, size_t *ret_bytes);

/* Calls `each` with one line without a name, but with the function's start, if an ELF object's
 * unwind information has it. That is quick. Errors as naming_resolve(). */
int naming_resolve_start(struct naming *naming, const struct object *object,
			 const struct store_location *location,
			 int (*each)(void *arg, const struct store_line *line), void *arg);

/* Are its names found at once, without reading a file? Those of the kernel are in memory, and those
 * of JIT code can be gone with its process. */
bool naming_is_quick(const struct object *object);

/* JIT code that had no name at first may get one later: locations to ask for again at the end. */
bool naming_is_final(const struct object *object);

#endif
