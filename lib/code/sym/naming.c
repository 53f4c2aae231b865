/* SPDX-License-Identifier: MIT */
/* Chooses the source of a location's name by the kind of its object; see naming.h. */
#include "sym/naming.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "proc/perf_map.h"
#include "sym/symbolizer.h"

#define MAX_LINES   64		 /* inline depth that is kept */
#define QUICK_BYTES (256u << 20) /* estimated size of an object's tables */

/* The symbols that are loaded for an object, by its number. */
struct source {
	bool is_opened;
	struct elf_file *elf; /* a separate handle */
	struct symbolizer_object *symbols;
	uint64_t used; /* value of naming.uses at its last use */
	struct perf_map *jit;
	time_t jit_read_s; /* when the map was read; CLOCK_MONOTONIC */
};

struct naming {
	char *proc_root;
	struct symbolizer *symbolizer;
	const struct kallsyms *ksyms; /* borrowed; NULL: none */
	struct source *sources;
	size_t n_sources;
	uint64_t uses;
	size_t limit;	    /* bytes of symbols; 0: none */
	uint64_t forgotten; /* sources that were closed to keep the limit */
	uint64_t changed;   /* queries for which another file was at the object's path */
	bool is_unproven;   /* the last query was one of these */
	int (*open_jit_map)(void *arg, const struct object *object);
	void *files_arg;
	struct naming_finder finder; /* for foreign objects */
};

static const struct naming_finder finds_here; /* its argument is the naming */

static int open_jit_map_here(void *naming, const struct object *object)
{
	const struct naming *n = naming;

	return perf_map_open(n->proc_root, &object->owner);
}

static int make(const char *proc_root, const struct symbolizer_options *options,
		struct naming **ret_naming)
{
	struct naming *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	n->proc_root = strdup(proc_root);
	err = n->proc_root ? symbolizer_new(options, &n->symbolizer) : -ENOMEM;
	if (err) {
		free(n->proc_root);
		free(n);
		return err;
	}
	n->open_jit_map = open_jit_map_here;
	n->files_arg = n;
	n->finder = finds_here;
	n->finder.arg = n;
	*ret_naming = n;
	return 0;
}

int naming_new(const char *proc_root, struct naming **ret_naming)
{
	const struct symbolizer_options options = {
		.debug_root = "/usr/lib/debug",
		.use_debuginfod = true,
		.with_lines = true,
	};

	return make(proc_root, &options, ret_naming);
}

int naming_new_quick(const char *proc_root, struct naming **ret_naming)
{
	const struct symbolizer_options options = {
		.debug_root = "/usr/lib/debug",
		.with_lines = true,
		.most_bytes = QUICK_BYTES,
	};

	return make(proc_root, &options, ret_naming);
}

int naming_new_elsewhere(const struct naming_files *files, struct naming **ret_naming)
{
	const struct symbolizer_options options = {
		.debug_root = "/usr/lib/debug",
		.files = &files->debug,
		.with_lines = true,
	};
	int err = make("", &options, ret_naming);

	if (err)
		return err;
	(*ret_naming)->open_jit_map = files->open_jit_map;
	(*ret_naming)->files_arg = files->debug.arg;
	return 0;
}

int naming_new_by(const struct naming_finder *finder, struct naming **ret_naming)
{
	int err = make("", &(struct symbolizer_options){0}, ret_naming);

	if (!err)
		(*ret_naming)->finder = *finder;
	return err;
}

void naming_free(struct naming *n)
{
	if (!n)
		return;
	symbolizer_free(n->symbolizer);
	for (size_t i = 0; i < n->n_sources; i++) {
		elf_file_free(n->sources[i].elf);
		perf_map_free(n->sources[i].jit);
	}
	free(n->sources);
	free(n->proc_root);
	free(n);
}

void naming_limit(struct naming *n, size_t bytes)
{
	n->limit = bytes;
	n->finder.ask(n->finder.arg, NAMING_LIMIT, NULL, bytes);
	symbolizer_limit(n->symbolizer, bytes ? bytes / 4 + 1 : 0);
}

void naming_set_kallsyms(struct naming *n, const struct kallsyms *ksyms)
{
	n->ksyms = ksyms;
}

static struct source *source_of(struct naming *n, const struct object *object)
{
	if (VEC_GROW_ZEROED(n->sources, n->n_sources, (size_t)object->number + 1) < 0)
		return NULL;
	return &n->sources[object->number];
}

static void close_symbols(struct source *source)
{
	symbolizer_object_free(source->symbols);
	elf_file_free(source->elf);
	source->symbols = NULL;
	source->elf = NULL;
	source->is_opened = false;
}

/* Closes the least recently used sources, except `but`, until the open ones and `more` bytes are
 * within the limit. */
static void close_old_symbols(struct naming *n, const struct source *but, size_t more)
{
	bool has_closed = false;

	for (;;) {
		struct source *oldest = NULL;
		size_t bytes = more;

		for (size_t i = 0; i < n->n_sources; i++) {
			struct source *s = &n->sources[i];

			if (!s->symbols)
				continue;
			bytes += symbolizer_object_bytes(s->symbols);
			if (s != but && (!oldest || s->used < oldest->used))
				oldest = s;
		}
		if (bytes <= n->limit || !oldest)
			break;
		close_symbols(oldest);
		n->forgotten++;
		has_closed = true;
	}
	if (has_closed)
		malloc_trim(0);
}

void naming_trim(struct naming *n)
{
	n->finder.ask(n->finder.arg, NAMING_TRIM, NULL, 0);
}

uint64_t naming_forgotten(const struct naming *n)
{
	return n->forgotten;
}

uint64_t naming_changed(const struct naming *n)
{
	return n->changed;
}

/* Opens the symbols of an ELF object at its first use, and again when its file has changed. It is
 * not an error if the file has no symbols, or is not the object's any more: the object then has no
 * symbols. */
static int open_symbols(struct naming *n, struct source *source, const struct object *object)
{
	int err;

	if (source->elf && elf_file_is_touched(source->elf))
		close_symbols(source);
	if (source->is_opened || !object->elf)
		return 0;
	source->is_opened = true;
	err = elf_file_clone(object->elf, &source->elf);
	if (err == -ENOEXEC || /* it is truncated at the moment */
	    (!err && elf_file_identity(source->elf) != elf_file_identity(object->elf))) {
		close_symbols(source);
		n->changed++;
		return 0;
	}
	if (err)
		return err == -ENOMEM ? err : 0;
	return symbolizer_object_new(n->symbolizer, source->elf, object->path, &source->symbols);
}

static size_t held_bytes(const struct naming *n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n->n_sources; i++)
		bytes += n->sources[i].symbols ? symbolizer_object_bytes(n->sources[i].symbols) : 0;
	return bytes;
}

static bool is_expensive(struct naming *n, const struct object *object)
{
	struct source *source = source_of(n, object);
	size_t bytes;

	if (!source || open_symbols(n, source, object) || !source->symbols ||
	    symbolizer_object_unread(source->symbols, &bytes) || bytes <= n->limit / 4)
		return false;
	return held_bytes(n) + bytes > n->limit;
}

static bool wants_order(struct naming *n, const struct object *object)
{
	struct source *source = source_of(n, object);

	return source && !open_symbols(n, source, object) && source->symbols &&
	       symbolizer_object_wants_order(source->symbols);
}

static int ask_here(void *naming, enum naming_question question, const struct object *object,
		    uint64_t number)
{
	struct naming *n = naming;

	(void)number; /* naming_limit() has already set the limit */
	switch (question) {
	case NAMING_IS_EXPENSIVE:
		return is_expensive(n, object);
	case NAMING_WANTS_ORDER:
		return wants_order(n, object);
	case NAMING_TRIM:
		if (n->limit)
			close_old_symbols(n, NULL, 0);
		return 0;
	case NAMING_LIMIT:
	case NAMING_AGAIN: /* nothing is counted in this process */
		return 0;
	}
	return 0;
}

static bool has_limit(const struct naming *n, const struct object *object)
{
	return n->limit && object->elf;
}

bool naming_is_expensive(struct naming *n, const struct object *object)
{
	return has_limit(n, object) &&
	       n->finder.ask(n->finder.arg, NAMING_IS_EXPENSIVE, object, 0) > 0;
}

bool naming_wants_order(struct naming *n, const struct object *object)
{
	return has_limit(n, object) &&
	       n->finder.ask(n->finder.arg, NAMING_WANTS_ORDER, object, 0) > 0;
}

/* Returns whether an object's names come from its process or its file, whose bytes are not
 * trusted. */
static bool is_foreign(const struct object *object)
{
	return object->kind == OBJECT_ELF || object->kind == OBJECT_VDSO ||
	       object->kind == OBJECT_JIT;
}

static bool missing_here(void *naming, const struct object *object, struct buf *text)
{
	const struct naming *n = naming;

	return object->number < n->n_sources && n->sources[object->number].symbols &&
	       symbolizer_object_missing(n->sources[object->number].symbols, text);
}

bool naming_missing(struct naming *n, const struct object *object, struct buf *text)
{
	return is_foreign(object) && n->finder.missing(n->finder.arg, object, text);
}

static bool is_unproven_here(void *naming, const struct object *object)
{
	(void)object;
	return ((const struct naming *)naming)->is_unproven;
}

bool naming_is_unproven(const struct naming *n, const struct object *object)
{
	return is_foreign(object) && n->finder.is_unproven(n->finder.arg, object);
}

/* In this process, who fetches is who shows the names: nothing is counted. */
static bool is_unfetched_here(void *naming, const struct object *object)
{
	(void)naming;
	(void)object;
	return false;
}

bool naming_is_unfetched(const struct naming *n, const struct object *object)
{
	return is_foreign(object) && n->finder.is_unfetched(n->finder.arg, object);
}

void naming_ask_again(struct naming *n, bool is)
{
	n->finder.ask(n->finder.arg, NAMING_AGAIN, NULL, is);
}

int naming_unread(struct naming *n, const struct object *object, size_t *ret_bytes)
{
	struct source *source = source_of(n, object);
	size_t bytes = 0;
	int err = source ? open_symbols(n, source, object) : -ENOMEM;

	if (!err && source->symbols)
		err = symbolizer_object_unread(source->symbols, &bytes);
	if (!err)
		*ret_bytes = bytes;
	return err;
}

/* Closes other sources before an object's symbols are read, since symbols take much memory. */
static int make_room(struct naming *n, const struct source *source)
{
	size_t bytes;
	int err = symbolizer_object_unread(source->symbols, &bytes);

	if (!err && bytes)
		close_old_symbols(n, source, bytes);
	return err;
}

static int resolve_elf(struct naming *n, struct source *source, const struct object *object,
		       const struct store_location *location,
		       int (*each)(void *arg, const struct store_line *line), void *arg)
{
	struct symbolizer_frame frames[MAX_LINES];
	int err = open_symbols(n, source, object), count;

	if (err || !source->symbols)
		return err;
	source->used = ++n->uses;
	err = n->limit ? make_room(n, source) : 0;
	if (err)
		return err;
	count = symbolizer_resolve(source->symbols, location->offset, frames, MAX_LINES);
	if (elf_file_is_touched(source->elf)) { /* while it was read */
		n->changed++;
		return count < 0 ? count : 0;
	}
	if (count > MAX_LINES)
		count = MAX_LINES;
	for (int i = 0; i < count && !err; i++) {
		struct store_line line = {
			.location = location->number,
			.depth = (uint32_t)i,
			.function = frames[i].function,
			.file = frames[i].file,
			.line = frames[i].line,
			.function_start = frames[i].start,
			.is_inlined = frames[i].is_inlined,
		};
		err = each(arg, &line);
	}
	return count < 0 ? count : err;
}

static int give_name(const struct store_location *location, const char *name, uint64_t start,
		     int (*each)(void *arg, const struct store_line *line), void *arg)
{
	struct store_line line = {
		.location = location->number,
		.function = name,
		.function_start = start,
	};

	return name ? each(arg, &line) : 0;
}

static int read_jit_map(const struct naming *n, const struct object *object,
			struct perf_map **ret_map)
{
	int fd = n->open_jit_map(n->files_arg, object), err;

	if (fd < 0)
		return fd;
	err = perf_map_read(fd, ret_map);
	close(fd);
	return err;
}

/* The map grows while the program runs, so it is read again if a name is missing, but at most once
 * a second, since it can be large. */
static const char *find_jit(const struct naming *n, struct source *source,
			    const struct object *object, uint64_t address, uint64_t *ret_start)
{
	const char *name = source->jit ? perf_map_find(source->jit, address, ret_start) : NULL;
	struct perf_map *fresh;
	struct timespec now;

	if (name || !object->owner.pid)
		return name;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (source->jit_read_s == now.tv_sec)
		return NULL;
	source->jit_read_s = now.tv_sec;
	if (read_jit_map(n, object, &fresh))
		return NULL;
	perf_map_free(source->jit);
	source->jit = fresh;
	return perf_map_find(fresh, address, ret_start);
}

/* --- names of foreign objects, in this process ------------------------------------------------ */

static int prefetch_here(void *naming, const struct object *object,
			 const struct store_location *locations, size_t count)
{
	(void)naming;
	(void)object;
	(void)locations;
	(void)count;
	return 0;
}

static int resolve_here(void *naming, const struct object *object,
			const struct store_location *location,
			int (*each)(void *arg, const struct store_line *line), void *arg)
{
	struct naming *n = naming;
	struct source *source = source_of(n, object);
	uint64_t start = 0, changed = n->changed;
	const char *name;
	int err;

	if (!source)
		return -ENOMEM;
	n->is_unproven = false;
	if (object->kind == OBJECT_JIT) {
		name = find_jit(n, source, object, location->offset, &start);
		return give_name(location, name, start, each, arg);
	}
	err = resolve_elf(n, source, object, location, each, arg);
	n->is_unproven = changed != n->changed;
	return err;
}

static const struct naming_finder finds_here = {
	.ask = ask_here,
	.resolve = resolve_here,
	.prefetch = prefetch_here,
	.missing = missing_here,
	.is_unproven = is_unproven_here,
	.is_unfetched = is_unfetched_here,
};

/* --- names ------------------------------------------------------------------------------------ */

int naming_prefetch(struct naming *n, const struct object *object,
		    const struct store_location *locations, size_t count)
{
	return is_foreign(object) ? n->finder.prefetch(n->finder.arg, object, locations, count) : 0;
}

/* Returns the name of a location that is found without the finder: of a kernel symbol, a mark or an
 * awaited object; NULL: none. `*ret_start`: the symbol's start in its object; 0: not known. */
static const char *own_name(const struct naming *n, const struct object *object,
			    const struct store_location *location, uint64_t *ret_start)
{
	const char *name = NULL;

	*ret_start = 0;
	switch (object->kind) {
	case OBJECT_KERNEL:
	case OBJECT_MODULE:
		if (n->ksyms)
			name = kallsyms_find(n->ksyms, object->address + location->offset,
					     ret_start);
		*ret_start -= name ? object->address : 0;
		break;
	case OBJECT_MARK:
	case OBJECT_AWAITED:
		name = object->path;
		break;
	case OBJECT_MANAGED: /* the recorder has named it */
	case OBJECT_TAG:     /* not code */
	case OBJECT_ELF:
	case OBJECT_VDSO:
	case OBJECT_JIT:
		break;
	}
	return name;
}

int naming_resolve(struct naming *n, const struct object *object,
		   const struct store_location *location,
		   int (*each)(void *arg, const struct store_line *line), void *arg)
{
	uint64_t start;
	const char *name;

	if (is_foreign(object))
		return n->finder.resolve(n->finder.arg, object, location, each, arg);
	name = own_name(n, object, location, &start);
	return give_name(location, name, start, each, arg);
}

int naming_resolve_start(struct naming *n, const struct object *object,
			 const struct store_location *location,
			 int (*each)(void *arg, const struct store_line *line), void *arg)
{
	struct source *source = source_of(n, object);
	struct symbolizer_frame frame;
	int count = source ? open_symbols(n, source, object) : -ENOMEM;

	if (!count && source->symbols)
		count = symbolizer_start(source->symbols, location->offset, &frame);
	if (count <= 0)
		return count;
	return each(arg, &(struct store_line){.location = location->number,
					      .function_start = frame.start});
}

bool naming_is_quick(const struct object *object)
{
	return object->kind == OBJECT_KERNEL || object->kind == OBJECT_MODULE ||
	       object->kind == OBJECT_JIT;
}

bool naming_is_final(const struct object *object)
{
	return object->kind != OBJECT_JIT;
}
