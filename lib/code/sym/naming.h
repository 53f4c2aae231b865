/* SPDX-License-Identifier: MIT */
/*
 * Finds the names of locations, for every kind of object: ELF files and the vDSO through
 * lib/code/sym's symbolizer, JIT code through its process's map file (/tmp/perf-PID.map), the
 * kernel through kallsyms. A naming must not be used by two threads at a time.
 */
#ifndef SYM_NAMING_H
#define SYM_NAMING_H

#include "base/buf.h"
#include "proc/object.h"
#include "store/store.h"
#include "sym/debug_file.h"
#include "sym/kallsyms.h"

struct naming;

/* `proc_root`, which is copied, is where processes with JIT code are found: "/proc", or a path that
 * does not exist if they ran on another machine. Returns 0 or -ENOMEM. */
int naming_new(const char *proc_root, struct naming **ret_naming);

/* Like naming_new(), for callers that wait for the names: it downloads nothing, and of programs
 * with very much debug information it uses only the symbols, without inlined calls and lines. */
int naming_new_quick(const char *proc_root, struct naming **ret_naming);

struct naming_files {
	struct debug_source debug;
	int (*open_jit_map)(void *arg, const struct object *object);
};

/* Like naming_new(), for a process that cannot open files. Another process opens debug files
 * (files->debug, see sym/debug_file.h) and maps of JIT code. open_jit_map() gets files->debug.arg
 * as `arg`, and returns a descriptor, which the caller owns, or -errno. */
int naming_new_elsewhere(const struct naming_files *files, struct naming **ret_naming);

/* The queries about an object other than those for names; the functions below that answer them say
 * what they mean. */
enum naming_question {
	NAMING_IS_EXPENSIVE,
	NAMING_WANTS_ORDER,
	NAMING_TRIM,
	NAMING_LIMIT,
	NAMING_AGAIN
};

/* Finds names that a process, or its file, determines: those of ELF objects and of JIT code.
 * naming_new() has a finder in this process; another finder asks a process without rights. The
 * functions do what those of the same name below do: ask() returns the answer to a query about an
 * object (`number` with NAMING_LIMIT: bytes; with NAMING_AGAIN: 1, or 0). */
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
	bool (*is_unfetched)(void *arg, const struct object *object);
	void *arg;
};

/* Makes a naming that uses `finder`, which is copied, and must be complete. Returns 0 or
 * -ENOMEM. */
int naming_new_by(const struct naming_finder *finder, struct naming **ret_naming);

void naming_free(struct naming *naming); /* NULL is fine */

/* Limits the symbols of ELF objects to about this many bytes. Beyond the limit, the object that was
 * not queried for the longest time is dropped, and read again at its next query; so query all
 * locations of an object together. The current object may take more, until naming_trim(). 0: no
 * limit. */
void naming_limit(struct naming *naming, size_t bytes);

/* Drops symbols until memory is within the limit. Call it when no more queries follow. */
void naming_trim(struct naming *naming);

/* Returns how many objects' symbols were dropped to keep within the limit. */
uint64_t naming_forgotten(const struct naming *naming);

/* Returns how many queries had no answer because the file was no longer the object's, or was being
 * written to. */
uint64_t naming_changed(const struct naming *naming);

/* Returns whether the next query about this object would read many symbols, and drop those of other
 * objects, which then must be read again. Such an object should be queried seldom. */
bool naming_is_expensive(struct naming *naming, const struct object *object);

/* Returns whether the object's locations should be queried in order of offset, since its line
 * tables exceed the limit. (Otherwise query in order of number: then the store needs fewer
 * bytes.) */
bool naming_wants_order(struct naming *naming, const struct object *object);

/* Sets the kernel's symbols, which are borrowed until naming_free(); NULL: none. */
void naming_set_kallsyms(struct naming *naming, const struct kallsyms *ksyms);

/* Calls `each` with every line of a location (see struct store_line; strings are valid during the
 * call). If nothing is known, there is no call. Returns 0, -ENOMEM, or the nonzero result of
 * `each`. */
int naming_resolve(struct naming *naming, const struct object *object,
		   const struct store_location *location,
		   int (*each)(void *arg, const struct store_line *line), void *arg);

/* Announces the locations of an object that will be queried next, in this order, so that another
 * process can find their names together. At most NAMING_PREFETCH. Returns 0 or -ENOMEM. */
int naming_prefetch(struct naming *naming, const struct object *object,
		    const struct store_location *locations, size_t count);
#define NAMING_PREFETCH 256

/* Appends the name of a debug file that was missing for the answers about an object. Returns as
 * symbolizer_object_missing(). Call it right after these answers. */
bool naming_missing(struct naming *naming, const struct object *object, struct buf *text);

/* Returns whether the last answer about an object had no names because its file now has other code,
 * or is being written to. A later query may have names. */
bool naming_is_unproven(const struct naming *naming, const struct object *object);

/* Returns whether a debug file of an object was not looked for to the end: its fetch from
 * debuginfod servers was ended, or has failed. Who asks later may get it, and find more
 * names. */
bool naming_is_unfetched(const struct naming *naming, const struct object *object);

/* `is` true: announces that the next queries repeat earlier ones, so that they are not counted
 * again in naming_changed(). false: the next queries are new. */
void naming_ask_again(struct naming *naming, bool is);

/* Gives the approximate number of bytes of tables that the next query about an object will read.
 * Returns 0 or -ENOMEM. */
int naming_unread(struct naming *naming, const struct object *object, size_t *ret_bytes);

/* Calls `each` with one line that has the function's start but no name, if an ELF object's unwind
 * information has that start. This is quick. Returns as naming_resolve(). */
int naming_resolve_start(struct naming *naming, const struct object *object,
			 const struct store_location *location,
			 int (*each)(void *arg, const struct store_line *line), void *arg);

/* Returns whether an object's names are found at once, without reading a file of it. The kernel's
 * are in memory; those of JIT code must be found at once, since they can vanish with the
 * process. */
bool naming_is_quick(const struct object *object);

/* Returns whether an object's answers are final. JIT code without a name may get one later, so
 * query it again at the end. */
bool naming_is_final(const struct object *object);

#endif
