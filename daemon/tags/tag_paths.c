/* SPDX-License-Identifier: MIT */
/*
 * Checks walks by tags, learns the paths of tags, and finds the path of a tag; see tag_paths.h.
 *
 * What is known of a tag outlives the windows of a recording (--window), each of which begins with
 * an empty trie. So the paths of tags are kept in a trie of their own, and are entered into the
 * window's trie when a sample needs them.
 */
#include "daemon/recorder/tag_paths.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "daemon/tags/known_tags.h"
#include "daemon/tags/tagger_code.h"

#define MAX_DOUBTS 4 /* most doubtful links of a path (struct link) */

/* A frame whose function keeps a tag. */
struct link {
	size_t frame;
	struct tagged_code function;
	bool is_doubtful; /* the function may not have added itself to the tag yet, or may have
			   * removed itself already */
};

struct tag_paths {
	struct tag_paths_options with;
	struct known_tags *book;
	const struct object *mark; /* the object of frames for unknown tags; NULL: not entered
				    * yet */
	struct location_table *locations; /* locations of learned paths */
	struct tag_trie *learned;
	VEC(uint32_t)
	nodes;		       /* index: node in `learned`; value: its node in with.trie; 0: not
				* entered yet */
	VEC(uint32_t) pending; /* nodes of `learned` that are being entered, leaf first */
	VEC(struct link) links;
	struct tag_paths_counts counts;
};

int tag_paths_new(const struct tag_paths_options *options, struct tag_paths **ret_paths)
{
	struct tag_paths *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->with = *options;
	err = known_tags_new(options->known_fd, options->max_known, &t->book);
	if (!err)
		err = location_table_new(&t->locations);
	if (!err)
		err = tag_trie_new(&t->learned);
	if (err) {
		tag_paths_free(t);
		return err;
	}
	*ret_paths = t;
	return 0;
}

void tag_paths_free(struct tag_paths *t)
{
	if (!t)
		return;
	known_tags_free(t->book);
	tag_trie_free(t->learned);
	location_table_free(t->locations);
	free(t->nodes.items);
	free(t->pending.items);
	free(t->links.items);
	free(t);
}

void tag_paths_begin_anew(struct tag_paths *t)
{
	t->nodes.count = 0;
}

void tag_paths_counts(const struct tag_paths *t, struct tag_paths_counts *ret_counts)
{
	*ret_counts = t->counts;
	ret_counts->learned = known_tags_count(t->book);
	ret_counts->forgotten = known_tags_forgotten(t->book);
}

/* --- the functions of a walk that keep a tag -------------------------------------------------- */

static const struct object *object_of(const struct tag_paths *t, const struct location *l)
{
	return object_table_at(t->with.objects, l->object);
}

static bool find_function(const struct tag_paths *t, const struct object *object, uint64_t offset,
			  struct tagged_code *ret_function)
{
	uint64_t vaddr;

	return object->elf && elf_file_offset_to_vaddr(object->elf, offset, &vaddr) &&
	       tagger_find(t->with.tagger, object, vaddr, ret_function);
}

static int find_links(struct tag_paths *t, const uint32_t *path, size_t count)
{
	t->links.count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct location *l = location_at(t->with.locations, path[i]);
		struct link link = {.frame = i};

		if (!find_function(t, object_of(t, l), l->offset, &link.function))
			continue;
		if (VEC_RESERVE(&t->links, 1))
			return -ENOMEM;
		t->links.items[t->links.count++] = link;
	}
	return 0;
}

/* Computes the tag that the links give, without the doubtful links whose bits are set in `dropped`
 * (bit 0: the first doubtful link). *ret_last is the last link that was not left out; NULL: there
 * is none. */
static uint64_t chain(const struct tag_paths *t, uint32_t dropped, const struct link **ret_last)
{
	uint32_t doubt = 1;
	uint64_t tag = 0;

	*ret_last = NULL;
	for (size_t i = 0; i < t->links.count; i++) {
		const struct link *link = &t->links.items[i];

		if (link->is_doubtful) {
			bool is_dropped = dropped & doubt;

			doubt <<= 1;
			if (is_dropped)
				continue;
		}
		tag = hash_chain(link->function.is_root ? 0 : tag, link->function.id);
		*ret_last = link;
	}
	return tag;
}

static bool is_runtime(const struct tag_paths *t, uint32_t location)
{
	const struct location *l = location_at(t->with.locations, location);

	return tagger_is_runtime(t->with.tagger, object_of(t, l), l->offset);
}

/* Returns whether the tag may lack the link's function, because the function was interrupted at the
 * instructions that change the tag, or because it is just calling libstacktag to change it. */
static bool is_doubtful(const struct tag_paths *t, const struct link *link, const uint32_t *path,
			size_t count)
{
	const struct location *l = location_at(t->with.locations, path[link->frame]);
	const struct object *object = object_of(t, l);
	uint64_t vaddr;

	if (!l->is_return)
		return elf_file_offset_to_vaddr(object->elf, l->offset, &vaddr) &&
		       tagger_is_window(t->with.tagger, object, vaddr);
	return link->frame + 1 < count && is_runtime(t, path[link->frame + 1]);
}

static uint32_t find_doubts(struct tag_paths *t, const uint32_t *path, size_t count)
{
	uint32_t doubts = 0;

	for (size_t i = t->links.count; i-- > 0 && doubts < MAX_DOUBTS;) {
		struct link *link = &t->links.items[i];

		link->is_doubtful = is_doubtful(t, link, path, count);
		doubts += link->is_doubtful;
	}
	return doubts;
}

/* --- checking and learning -------------------------------------------------------------------- */

enum verdict { RIGHT, WINDOW, BETWEEN, WRONG };

/* Returns whether the sample, or a signal whose handler runs now, has interrupted a function at the
 * instructions that change the tag, or a PLT stub through which it calls libstacktag. */
static bool is_at_change(const struct tag_paths *t, const uint32_t *path)
{
	for (size_t i = t->links.count; i-- > 0;) {
		const struct link *link = &t->links.items[i];

		if (link->is_doubtful &&
		    !location_at(t->with.locations, path[link->frame])->is_return)
			return true;
	}
	return false;
}

/* Returns whether the sample, or a signal whose handler runs now, has interrupted libstacktag. */
static bool is_in_runtime(const struct tag_paths *t, const uint32_t *path, size_t count)
{
	for (size_t i = count; i-- > 0;) {
		if (!location_at(t->with.locations, path[i])->is_return && is_runtime(t, path[i]))
			return true;
	}
	return false;
}

static enum verdict check(struct tag_paths *t, uint64_t tag, const uint32_t *path, size_t count,
			  const struct link **ret_last)
{
	uint32_t doubts;

	if (chain(t, 0, ret_last) == tag)
		return RIGHT;
	doubts = find_doubts(t, path, count);
	for (uint32_t dropped = 1; dropped < 1u << doubts; dropped++) {
		if (chain(t, dropped, ret_last) == tag)
			return WINDOW;
	}
	if (doubts && is_at_change(t, path))
		return BETWEEN;
	/* A function that ends with a jump to libstacktag is no longer on the stack, so the walk
	 * cannot have it. */
	if (is_in_runtime(t, path, count))
		return BETWEEN;
	return WRONG;
}

/* Prints a path that differs from its tag, for debugging (STACKD_DEBUG). */
static void show_wrong(const struct tag_paths *t, const struct stackd_tag_record *record,
		       const uint32_t *path, size_t count)
{
	size_t link = 0;

	if (!getenv("STACKD_DEBUG"))
		return;
	fprintf(stderr, "tag %016llx pid %u tid %u:", (unsigned long long)record->tag, record->pid,
		record->header.tid);
	for (size_t i = 0; i < count; i++) {
		const struct location *l = location_at(t->with.locations, path[i]);
		const char *slash = strrchr(object_of(t, l)->path, '/');
		bool keeps = link < t->links.count && t->links.items[link].frame == i;

		fprintf(stderr, " %s+0x%" PRIx64 "%s%s", slash ? slash + 1 : object_of(t, l)->path,
			l->offset, keeps ? "*" : "",
			keeps && t->links.items[link].is_doubtful ? "?" : "");
		link += keeps;
	}
	fputc('\n', stderr);
}

/* Enters path[0..count) into the trie t->learned, and gives its node. 0 or -ENOMEM. */
static int enter(struct tag_paths *t, const uint32_t *path, size_t count, uint32_t *ret_node)
{
	uint32_t node = TAG_TRIE_ROOT, location;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const struct location *l = location_at(t->with.locations, path[i]);

		err = location_intern(t->locations, l, &location);
		if (!err)
			err = tag_trie_child(t->learned, node, location,
					     location_id(l->file_id, l->offset), &node);
	}
	*ret_node = node;
	return err;
}

static int teach(struct tag_paths *t, const struct stackd_tag_record *record, const uint32_t *path,
		 const struct link *last, enum stackd_end_reason reason)
{
	const struct location *l = location_at(t->with.locations, path[last->frame]);
	const struct object *object = object_of(t, l);
	struct tag_meaning meaning = {
		.waiting = UINT32_MAX,
		.frames = (uint32_t)last->frame + 1,
		.object = l->object,
		.end_reason = (uint8_t)reason,
	};
	int err;

	if (!elf_file_vaddr_to_offset(object->elf, last->function.start, &meaning.start) ||
	    !elf_file_vaddr_to_offset(object->elf, last->function.entry, &meaning.entry))
		return 0;
	meaning.end = meaning.start + (last->function.end - last->function.start);
	err = l->is_return ? location_intern(t->locations, l, &meaning.waiting) : 0;
	if (!err)
		err = enter(t, path, last->frame, &meaning.caller);
	return err ? err : known_tags_teach(t->book, record->program, record->tag, &meaning);
}

int tag_paths_learn(struct tag_paths *t, const struct stackd_tag_record *record,
		    const uint32_t *path, size_t count, enum stackd_end_reason reason)
{
	const struct link *last;
	int err;

	if (reason != STACKD_END_ENTRY) {
		t->counts.unchecked++;
		return 0;
	}
	err = find_links(t, path, count);
	if (err)
		return err;
	switch (check(t, record->tag, path, count, &last)) {
	case RIGHT:
		t->counts.right++;
		break;
	case WINDOW:
		t->counts.window++;
		break;
	case BETWEEN:
		t->counts.between++;
		return 0;
	case WRONG:
		t->counts.wrong++;
		show_wrong(t, record, path, count);
		return 0;
	}
	if (!last || t->with.judge || known_tags_find(t->book, record->program, record->tag))
		return 0;
	return teach(t, record, path, last, reason);
}

/* --- taking ----------------------------------------------------------------------------------- */

/* Adds a location below a node. */
static int add_location(struct tag_paths *t, const struct location *l, uint32_t parent,
			uint32_t *ret_node)
{
	uint32_t number;
	int err = location_intern(t->with.locations, l, &number);

	if (err)
		return err;
	return tag_trie_child(t->with.trie, parent, number, location_id(l->file_id, l->offset),
			      ret_node);
}

/* Adds a frame below a node. */
static int add_frame(struct tag_paths *t, const struct object *object, uint64_t offset,
		     uint32_t parent, uint32_t *ret_node)
{
	const struct location leaf = {
		.file_id = object->file_id,
		.offset = offset,
		.object = object->number,
	};

	return add_location(t, &leaf, parent, ret_node);
}

/* Lists in t->pending the nodes of a learned path that are not in with.trie yet. *ret_node is the
 * node in with.trie below which they are to be entered. 0 or -ENOMEM. */
static int find_pending(struct tag_paths *t, uint32_t learned, uint32_t *ret_node)
{
	uint32_t count = tag_trie_count(t->learned), at = learned;

	if (VEC_RESERVE(&t->nodes, count - t->nodes.count) < 0)
		return -ENOMEM;
	while (t->nodes.count < count)
		t->nodes.items[t->nodes.count++] = 0;
	for (t->pending.count = 0; at != TAG_TRIE_ROOT && !t->nodes.items[at];
	     at = tag_trie_at(t->learned, at)->parent) {
		if (VEC_RESERVE(&t->pending, 1) < 0)
			return -ENOMEM;
		t->pending.items[t->pending.count++] = at;
	}
	*ret_node = at == TAG_TRIE_ROOT ? TAG_TRIE_ROOT : t->nodes.items[at];
	return 0;
}

/* Gives the node in with.trie for a node of t->learned; enters its path into with.trie, unless it
 * is there. 0 or -ENOMEM. */
static int find_node(struct tag_paths *t, uint32_t learned, uint32_t *ret_node)
{
	uint32_t node;
	int err = find_pending(t, learned, &node);

	while (!err && t->pending.count) {
		uint32_t next = t->pending.items[--t->pending.count];
		uint32_t location = tag_trie_at(t->learned, next)->location;

		err = add_location(t, location_at(t->locations, location), node, &node);
		if (!err)
			t->nodes.items[next] = node;
	}
	if (!err)
		*ret_node = node;
	return err;
}

/* Makes the path of an unknown tag: a frame of the object "[tag]" with the tag as its offset. */
static int take_mark(struct tag_paths *t, uint64_t tag, struct tag_path *ret_path)
{
	const struct object mark = {
		.kind = OBJECT_TAG,
		.file_id = hash_mix64(UINT64_C(0x746167)),
		.path = "[tag]",
	};
	int err = t->mark ? 0 : object_table_add(t->with.objects, &mark, &t->mark);

	t->counts.unknown++;
	ret_path->frames = 1;
	ret_path->reason = STACKD_END_TAG_UNKNOWN;
	return err ? err : add_frame(t, t->mark, tag, TAG_TRIE_ROOT, &ret_path->node);
}

static bool is_in(const struct tag_paths *t, const struct tag_meaning *meaning,
		  const struct object *object, uint64_t offset)
{
	struct tagged_code function;
	uint64_t entry;

	if (object->number != meaning->object)
		return false;
	if (offset >= meaning->start && offset < meaning->end)
		return true;
	return find_function(t, object, offset, &function) &&
	       elf_file_vaddr_to_offset(object->elf, function.entry, &entry) &&
	       entry == meaning->entry;
}

/* Adds the tag's innermost function below its caller's node *node, at the location of a call in it;
 * if none is known, at its entry. *node becomes the new node. 0 or -ENOMEM. */
static int take_waiting(struct tag_paths *t, const struct tag_meaning *meaning, uint32_t *node)
{
	const struct object *object = object_table_at(t->with.objects, meaning->object);

	if (meaning->waiting == UINT32_MAX)
		return add_frame(t, object, meaning->entry, *node, node);
	return add_location(t, location_at(t->locations, meaning->waiting), *node, node);
}

int tag_paths_take(struct tag_paths *t, const struct stackd_tag_record *record,
		   const struct object *object, uint64_t offset, struct tag_path *ret_path)
{
	const struct tag_meaning *meaning = known_tags_find(t->book, record->program, record->tag);
	struct tag_path path = {.frames = 1};
	int err = 0;

	if (!record->program) {
		path.reason = STACKD_END_NO_TAG;
		path.node = TAG_TRIE_ROOT;
	} else if (!meaning) {
		return take_mark(t, record->tag, ret_path);
	} else {
		bool is_leaf = is_in(t, meaning, object, offset);

		path.reason = meaning->end_reason;
		path.frames = meaning->frames + !is_leaf;
		err = find_node(t, meaning->caller, &path.node);
		if (!err && !is_leaf)
			err = take_waiting(t, meaning, &path.node);
	}
	if (!err)
		err = add_frame(t, object, offset, path.node, &path.node);
	if (!err)
		*ret_path = path;
	return err;
}
