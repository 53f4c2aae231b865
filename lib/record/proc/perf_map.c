/* SPDX-License-Identifier: MIT */
/*
 * The map is written line by line while the process runs, and memory is used again for other
 * code, so lines overlap. Lines have no time: where they have different names, it is not known
 * which code was there at a sample, and there is no name. To find one by one binary search, the
 * entries are flattened once, after reading:
 *
 *   line 1   [      a      )              pieces   [ a )   [a)   [ c )
 *   line 2       [ b )
 *   line 3              [  c  )
 *
 * by a sweep over the entries' starts and ends with a heap of those that are open, the latest
 * line, whose start is taken, on top; O(n log n) whatever the file holds. All open ones have one
 * name if the sum of their names' hashes is their number times one of them. A file that was never
 * meant to be small is bounded twice: by its bytes, and by MAX_LINES. A last line without its end
 * is still being written: its name may be cut, so it is skipped like one that makes no sense.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/named_file.h"
#include "base/vec.h"
#include "proc/object_id.h"
#include "proc/perf_map.h"
#include "proc/proc_fs.h"

#define MAX_BYTES  (256u << 20)
#define READ_BYTES ((size_t)64 << 10)
#define MAX_LINES  (4u << 20)

struct entry {
	uint64_t start, end;
	uint32_t name; /* offset in text */
	uint32_t line; /* number of the line */
	uint64_t hash; /* of the name */
};

struct end { /* of an entry */
	uint64_t at, hash;
};

struct piece {
	uint64_t start, end;
	uint32_t entry;
};

struct perf_map {
	char *text; /* the file, with names NUL-terminated in place */
	size_t size;
	struct entry *entries; /* by start */
	size_t n_entries, entries_cap;
	struct piece *pieces; /* by start, without overlaps */
	size_t n_pieces, pieces_cap;
	uint64_t skipped;
};

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	free(map->text);
	free(map->entries);
	free(map->pieces);
	free(map);
}

uint64_t perf_map_skipped_lines(const struct perf_map *map)
{
	return map->skipped;
}

/* --- the file -------------------------------------------------------------------------------- */

/* Returns whether the map was written after its process began: an earlier process may have had the
 * same pid. */
static bool is_recent(int path_fd, const struct jit_owner *owner)
{
	struct stat st;

	return !fstat(path_fd, &st) && st.st_mtim.tv_sec >= owner->since_s;
}

/* Opens the map file of a process. Returns a descriptor if it belongs to the process; else
 * -errno. */
static int open_map(const char *proc_root, const struct jit_owner *owner)
{
	bool is_alive = jit_owner_is_alive(proc_root, owner);
	char path[64];

	if (!is_alive && !owner->is_near)
		return -ENOENT;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", owner->ns_pid);
	int path_fd =
		proc_fs_root_file(proc_root, is_alive ? owner->pid : getpid(), path, false, NULL);
	if (path_fd < 0)
		return path_fd;
	int fd = is_alive || is_recent(path_fd, owner)
			 ? named_file_reopen_of(path_fd, owner->uid, owner->euid)
			 : -EACCES;
	close(path_fd);
	return fd;
}

/* Reads to the end of the file, or MAX_BYTES. Ends the text with a NUL. */
static int read_text(struct perf_map *map, int fd)
{
	size_t cap = 0;

	for (;;) {
		if (VEC_GROW(map->text, cap, map->size + READ_BYTES) < 0)
			return -ENOMEM;
		size_t room = cap - 1 - map->size;
		if (room > MAX_BYTES - map->size)
			room = MAX_BYTES - map->size;
		ssize_t n = room ? read(fd, map->text + map->size, room) : 0;
		if (n < 0 && errno != EINTR)
			return -EIO;
		if (!n)
			break;
		map->size += n > 0 ? (size_t)n : 0;
	}
	map->text[map->size] = '\0';
	return 0;
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Reads a hexadecimal number, with or without 0x, and skips the blanks behind it. Returns false if
 * there is none. */
static bool take_hex(const char **at, uint64_t *ret)
{
	uint64_t value = 0;
	const char *c = *at;
	unsigned digits = 0;

	if (c[0] == '0' && (c[1] == 'x' || c[1] == 'X'))
		c += 2;
	for (;; c++, digits++) {
		unsigned digit;
		if (*c >= '0' && *c <= '9')
			digit = (unsigned)(*c - '0');
		else if ((*c | 32) >= 'a' && (*c | 32) <= 'f')
			digit = (unsigned)((*c | 32) - 'a' + 10);
		else
			break;
		if (value >> 60)
			return false;
		value = value << 4 | digit;
	}
	if (!digits || (*c != ' ' && *c != '\t'))
		return false;
	while (*c == ' ' || *c == '\t')
		c++;
	*at = c;
	*ret = value;
	return true;
}

/* Parses "START SIZE NAME". */
static bool parse_line(const char *text, const char *line, struct entry *ret_entry)
{
	uint64_t start, size;

	if (!take_hex(&line, &start) || !take_hex(&line, &size) || !*line || !size)
		return false;
	if (__builtin_add_overflow(start, size, &ret_entry->end))
		return false;
	ret_entry->start = start;
	ret_entry->name = (uint32_t)(line - text);
	ret_entry->hash = object_hash_text(line);
	return true;
}

static int add_entry(struct perf_map *map, const struct entry *entry)
{
	if (VEC_GROW(map->entries, map->entries_cap, map->n_entries + 1) < 0)
		return -ENOMEM;
	map->entries[map->n_entries] = *entry;
	map->entries[map->n_entries].line = (uint32_t)map->n_entries;
	map->n_entries++;
	return 0;
}

static int parse_text(struct perf_map *map)
{
	struct entry entry;
	char *end = map->text + map->size;

	for (char *line = map->text, *next; line < end; line = next) {
		char *stop = memchr(line, '\n', (size_t)(end - line));
		next = stop ? stop + 1 : end;
		if (stop)
			*stop = '\0';
		/* A NUL inside a line would cut its name. */
		bool is_whole = stop && strlen(line) == (size_t)(stop - line);
		if (!is_whole || map->n_entries == MAX_LINES ||
		    !parse_line(map->text, line, &entry))
			map->skipped++;
		else if (add_entry(map, &entry))
			return -ENOMEM;
	}
	return 0;
}

/* --- flattening ------------------------------------------------------------------------------ */

/* A heap of the entries that cover the sweep's address, with the latest line on top. An entry whose
 * range has ended is removed when it comes to the top. */
struct heap {
	const struct entry *entries;
	uint32_t *at;
	size_t count;
};

static void heap_push(struct heap *heap, uint32_t entry)
{
	size_t i = heap->count++;

	while (i) {
		size_t up = (i - 1) / 2;
		if (heap->entries[heap->at[up]].line > heap->entries[entry].line)
			break;
		heap->at[i] = heap->at[up];
		i = up;
	}
	heap->at[i] = entry;
}

static void heap_pop(struct heap *heap)
{
	uint32_t last = heap->at[--heap->count];
	size_t i = 0;

	for (;;) {
		size_t down = 2 * i + 1;
		if (down >= heap->count)
			break;
		if (down + 1 < heap->count &&
		    heap->entries[heap->at[down + 1]].line > heap->entries[heap->at[down]].line)
			down++;
		if (heap->entries[heap->at[down]].line < heap->entries[last].line)
			break;
		heap->at[i] = heap->at[down];
		i = down;
	}
	heap->at[i] = last;
}

static int add_piece(struct perf_map *map, uint64_t start, uint64_t end, uint32_t entry)
{
	struct piece *last = map->n_pieces ? &map->pieces[map->n_pieces - 1] : NULL;

	if (last && last->entry == entry && last->end == start) {
		last->end = end;
		return 0;
	}
	if (VEC_GROW(map->pieces, map->pieces_cap, map->n_pieces + 1) < 0)
		return -ENOMEM;
	map->pieces[map->n_pieces++] = (struct piece){start, end, entry};
	return 0;
}

static int compare_starts(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int compare_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Goes through all starts and ends. `heap` and `ends` have room for all entries. */
static int sweep(struct perf_map *map, struct heap *heap, struct end *ends)
{
	const struct entry *entries = map->entries;
	const size_t n = map->n_entries;
	uint64_t hashes = 0, at, to;
	size_t first = 0, ended = 0;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		ends[i] = (struct end){entries[i].end, entries[i].hash};
	qsort(ends, n, sizeof(*ends), compare_ends);
	for (at = n ? entries[0].start : 0; ended < n && !err; at = to) {
		for (; ended < n && ends[ended].at == at; ended++)
			hashes -= ends[ended].hash;
		for (; first < n && entries[first].start == at; first++) {
			heap_push(heap, (uint32_t)first);
			hashes += entries[first].hash;
		}
		to = ended < n ? ends[ended].at : at;
		if (first < n && entries[first].start < to)
			to = entries[first].start;
		while (heap->count && entries[heap->at[0]].end <= at)
			heap_pop(heap);
		if (heap->count && hashes == (first - ended) * entries[heap->at[0]].hash)
			err = add_piece(map, at, to, heap->at[0]);
	}
	return err;
}

static int flatten(struct perf_map *map)
{
	struct heap heap = {.entries = map->entries};
	struct end *ends;
	int err = -ENOMEM;

	if (!map->n_entries)
		return 0;
	heap.at = malloc(map->n_entries * sizeof(*heap.at));
	ends = malloc(map->n_entries * sizeof(*ends));
	qsort(map->entries, map->n_entries, sizeof(*map->entries), compare_starts);
	if (heap.at && ends)
		err = sweep(map, &heap, ends);
	free(heap.at);
	free(ends);
	return err;
}

int perf_map_open(const char *proc_root, const struct jit_owner *owner)
{
	int fd = open_map(proc_root, owner);

	if (fd == -ESRCH || fd == -ENOTDIR)
		return -ENOENT;
	return fd >= 0 || fd == -ENOENT || fd == -EACCES || fd == -ENOMEM ? fd : -EIO;
}

int perf_map_read(int fd, struct perf_map **ret_map)
{
	struct perf_map *map = calloc(1, sizeof(*map));
	int err = map ? read_text(map, fd) : -ENOMEM;

	if (!err)
		err = parse_text(map);
	if (!err)
		err = flatten(map);
	if (err) {
		perf_map_free(map);
		return err;
	}
	*ret_map = map;
	return 0;
}

int perf_map_load(const char *proc_root, const struct jit_owner *owner, struct perf_map **ret_map)
{
	int fd = perf_map_open(proc_root, owner), err;

	if (fd < 0)
		return fd;
	err = perf_map_read(fd, ret_map);
	close(fd);
	return err;
}

const char *perf_map_find(const struct perf_map *map, uint64_t address, uint64_t *ret_start)
{
	size_t low = 0, high = map->n_pieces;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (map->pieces[mid].end > address)
			high = mid;
		else
			low = mid + 1;
	}
	if (low == map->n_pieces || address < map->pieces[low].start)
		return NULL;
	const struct entry *entry = &map->entries[map->pieces[low].entry];
	*ret_start = entry->start;
	return map->text + entry->name;
}
