/* SPDX-License-Identifier: MIT */
/*
 * The way of a sample through the daemon; see recorder.h.
 *
 *   WALKED ──► kept part of the thread's path + new frames ──┐
 *   STACK  ──► walk (lib/walk) ──► frames ───────────────────┴─► locations ──► node ──► batch
 *                 ▲
 *            process table
 *
 * Per thread the path of the kernel half's last remembered walk is kept as (location, node)
 * pairs: a WALKED record truncates it and adds its new frames, so tagging costs only what
 * changed. A STACK record leaves it as it is, as the kernel half does.
 */
#include "recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <uthash.h>

#include "branches.h"
#include "base/hash.h"
#include "base/vec.h"
#include "proc/proc_fs.h"
#include "proc/process.h"
#include "record.h"
#include "stack/location.h"
#include "stack/trie.h"
#include "walk/dwarf_walk.h"

#define MAX_PATH (DWARF_WALK_MAX_FRAMES + STACKD_MAX_KERNEL_FRAMES)

/* Heights of first frames that are kept: beyond, a path has none. */
#define MAX_HEIGHT_ORIGINS (1u << 20)

/* Where an address is looked up. */
struct place {
	struct recorder *recorder;
	pid_t pid;
};

/* A process whose side-band events matter. */
struct member {
	pid_t pid;
	UT_hash_handle hh;
};

struct step {
	uint32_t location, node;
	uint32_t height; /* bytes to the end of the stack; 0: not known */
};

#define ENDED_THREADS 256

/* The user part of a thread's remembered path, root first. */
struct last_path {
	pid_t tid;
	uint8_t sequence; /* of the record that it came from */
	bool has_ended;	  /* the thread; see end_path() */
	struct step *steps;
	size_t count, room;
	UT_hash_handle hh;
};

struct recorder {
	struct object_table *objects;
	struct process_table *processes;
	struct location_table *locations;
	struct trie *trie;
	struct dwarf_walk *walk;
	struct tables *tables; /* borrowed; NULL: none */
	struct origin_table *origins;
	struct tagger *tagger; /* NULL: tags are not looked at */
	struct tag_paths *tags;
	struct stackd_tag_record tag; /* read along with the walk that comes next */
	struct branches *branches;    /* NULL: there are no branch records */

	bool everyone;
	uint32_t usual_period; /* of a sample */
	struct member *members;
	struct last_path *paths;
	pid_t ended[ENDED_THREADS]; /* the last ones that did, in turn */
	size_t n_ended;

	struct kallsyms *ksyms; /* NULL: not loaded, or not to be had */
	bool ksyms_tried;
	const struct object **kernel_parts; /* by part; NULL: not entered yet */
	const struct object *unknown;	    /* for addresses of nowhere; NULL: not entered yet */

	struct walk_frame frames[DWARF_WALK_MAX_FRAMES];
	uint32_t path[MAX_PATH];	/* locations, root first */
	uint32_t heights[MAX_PATH + 1]; /* of them; 0: not known */
	uint32_t below; /* height of the slot below the path's first frame; 0: not known */
	bool has_heights;
	VEC(uint32_t) sizes; /* by node, where there are heights */
	struct judged {	     /* the user part of the last WALKED record */
		uint32_t tid;
		uint64_t time_ns;
		size_t count;
		uint32_t path[MAX_PATH];
	} judged;

	struct batch *batch; /* being filled */
	size_t samples_room;
	uint32_t sent_objects, sent_locations, sent_processes, sent_threads, sent_nodes;
	uint32_t sent_origins;

	uint64_t received, sideband_lost, out_of_sequence, judged_right, judged_wrong, judged_cut;
	uint64_t end_reasons[STACKD_END_COUNT];
};

/* --- making and freeing ---------------------------------------------------------------------- */

int recorder_new(bool everyone, uint32_t usual_period, struct recorder **ret_recorder)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->everyone = everyone;
	r->usual_period = usual_period;
	r->sent_nodes = 1;   /* the empty path is known */
	r->sent_origins = 1; /* so is ORIGIN_WALKED */
	r->batch = batch_new();
	err = r->batch ? object_table_new("/proc", &r->objects) : -ENOMEM;
	if (!err)
		err = process_table_new(r->objects, "/proc", &r->processes);
	if (!err)
		err = location_table_new(&r->locations);
	if (!err)
		err = trie_new(&r->trie);
	if (!err)
		err = dwarf_walk_new(&r->walk);
	if (!err)
		err = origin_table_new(&r->origins);
	if (err) {
		recorder_free(r);
		return err;
	}
	*ret_recorder = r;
	return 0;
}

void recorder_free(struct recorder *r)
{
	struct last_path *path, *next_path;
	struct member *member, *next_member;

	if (!r)
		return;
	HASH_ITER (hh, r->paths, path, next_path) {
		HASH_DEL(r->paths, path);
		free(path->steps);
		free(path);
	}
	HASH_ITER (hh, r->members, member, next_member) {
		HASH_DEL(r->members, member);
		free(member);
	}
	batch_free(r->batch);
	branches_free(r->branches);
	tag_paths_free(r->tags);
	tagger_free(r->tagger);
	origin_table_free(r->origins);
	dwarf_walk_free(r->walk);
	trie_free(r->trie);
	location_table_free(r->locations);
	process_table_free(r->processes);
	object_table_free(r->objects);
	kallsyms_free(r->ksyms);
	free(r->kernel_parts);
	free(r->sizes.items);
	free(r);
}

/* --- processes ------------------------------------------------------------------------------- */

static bool is_member(const struct recorder *r, pid_t pid)
{
	struct member *member;

	if (r->everyone)
		return true;
	HASH_FIND_INT(r->members, &pid, member);
	return member != NULL;
}

static int add_member(struct recorder *r, pid_t pid)
{
	struct member *member;

	if (is_member(r, pid))
		return 0;
	member = calloc(1, sizeof(*member));
	if (!member)
		return -ENOMEM;
	member->pid = pid;
	HASH_ADD_INT(r->members, pid, member);
	return 0;
}

static void remove_member(struct recorder *r, pid_t pid)
{
	struct member *member;

	HASH_FIND_INT(r->members, &pid, member);
	if (!member)
		return;
	HASH_DEL(r->members, member);
	free(member);
}

/* A mapping of a process that was there before we were. */
static int look_at_map(void *arg, const struct proc_fs_map *map)
{
	const struct place *place = arg;
	struct recorder *r = place->recorder;
	const struct mapping *m;

	if (!map->executable)
		return 0;
	m = process_table_mapping(r->processes, place->pid, map->start);
	return m ? tagger_on_map(r->tagger, place->pid, m->object, m->start, m->offset) : 0;
}

static int look_for_tags(struct recorder *r, pid_t pid)
{
	struct place place = {.recorder = r, .pid = pid};

	if (!r->tagger)
		return 0;
	tagger_on_end(r->tagger, pid);
	return proc_fs_each_map("/proc", pid, look_at_map, &place) == -ENOMEM ? -ENOMEM : 0;
}

static int look_into(void *arg, pid_t pid)
{
	return look_for_tags(arg, pid);
}

int recorder_load_process(struct recorder *r, pid_t pid)
{
	int err = add_member(r, pid);

	if (!err)
		err = process_table_load(r->processes, pid);
	return err ? err : look_for_tags(r, pid);
}

int recorder_load_all(struct recorder *r)
{
	int loaded = process_table_load_all(r->processes);

	if (loaded < 0 || !r->tagger)
		return loaded < 0 ? loaded : 0;
	return proc_fs_each_process("/proc", look_into, r);
}

/* What an event says about who keeps a tag; `object` is that of a mapping. */
static int foresee_tags(struct recorder *r, const struct sideband_event *event,
			const struct object *object)
{
	if (!r->tagger)
		return 0;
	if (event->kind == SIDEBAND_FORK)
		return tagger_on_fork(r->tagger, event->parent_pid, event->pid);
	if ((event->kind == SIDEBAND_COMM && event->is_exec) ||
	    (event->kind == SIDEBAND_EXIT && event->pid == event->tid))
		tagger_on_end(r->tagger, event->pid);
	else if (event->kind == SIDEBAND_MMAP && object)
		return tagger_on_map(r->tagger, event->pid, object, event->mapping.start,
				     event->mapping.offset);
	return 0;
}

int recorder_use_tags(struct recorder *r, const struct sampler_tags *maps, bool judge)
{
	const struct tagger_maps tagger = {maps->tagged_fd, maps->n_tagged};
	int err = tagger_new(&tagger, &r->tagger);
	const struct tag_paths_options options = {
		.objects = r->objects,
		.locations = r->locations,
		.trie = r->trie,
		.tagger = r->tagger,
		.known_fd = maps->known_fd,
		.max_known = maps->max_known,
		.judge = judge,
	};

	return err ? err : tag_paths_new(&options, &r->tags);
}

void recorder_poll(struct recorder *r)
{
	if (r->tagger)
		tagger_poll(r->tagger);
}

int recorder_foresee(struct recorder *r, const struct sideband_event *event)
{
	const struct object *object;
	int err;

	/* Children become members here already, so that their first mappings are seen in time.
	 * (Rings are read one after the other, so a grandchild can come first: then it becomes one
	 * in the order of time.) */
	if (event->kind == SIDEBAND_FORK && is_member(r, event->parent_pid)) {
		err = add_member(r, event->pid);
		return err ? err : foresee_tags(r, event, NULL);
	}
	if (!is_member(r, event->pid))
		return 0;
	if (event->kind != SIDEBAND_MMAP)
		return foresee_tags(r, event, NULL);
	err = object_table_resolve(r->objects, event->pid, &event->mapping, &object);
	if (!err)
		err = foresee_tags(r, event, object);
	if (!err && r->tables && !r->everyone && object->elf)
		err = tables_prepare(r->tables, object);
	return err == -ENOMEM ? err : 0;
}

/* The kernel had no room for some events: what is known of the members is read again. */
static int reload_members(struct recorder *r)
{
	struct member *member, *next;

	if (r->everyone)
		return recorder_load_all(r);
	HASH_ITER (hh, r->members, member, next) {
		if (process_table_load(r->processes, member->pid) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

static void forget_path(struct recorder *r, pid_t tid)
{
	struct last_path *path;

	HASH_FIND_INT(r->paths, &tid, path);
	if (!path)
		return;
	HASH_DEL(r->paths, path);
	free(path->steps);
	free(path);
}

/* Between the exit event and the thread's last instruction in the kernel there can be samples
 * yet, which build on its path: that is forgotten when some more threads have ended. (A new
 * thread of the same number begins without: on_fork_event().) */
static void end_path(struct recorder *r, pid_t tid)
{
	pid_t *oldest = &r->ended[r->n_ended++ % ENDED_THREADS];
	struct last_path *path;

	HASH_FIND_INT(r->paths, oldest, path);
	if (path && path->has_ended)
		forget_path(r, *oldest);
	*oldest = tid;
	HASH_FIND_INT(r->paths, &tid, path);
	if (path)
		path->has_ended = true;
}

static int on_exit_event(struct recorder *r, const struct sideband_event *event)
{
	end_path(r, event->tid);
	if (event->pid == event->tid)
		remove_member(r, event->pid);
	return process_table_on_exit(r->processes, event->pid, event->tid);
}

static int on_fork_event(struct recorder *r, const struct sideband_event *event)
{
	forget_path(r, event->tid);
	branches_forget(r->branches, event->tid);
	return process_table_on_fork(r->processes, event->pid, event->tid, event->parent_pid,
				     event->parent_tid);
}

int recorder_event(struct recorder *r, const struct sideband_event *event)
{
	if (event->kind == SIDEBAND_LOST) {
		r->sideband_lost += event->lost;
		return reload_members(r);
	}
	if (event->kind == SIDEBAND_FORK && is_member(r, event->parent_pid) &&
	    add_member(r, event->pid))
		return -ENOMEM;
	if (!is_member(r, event->pid))
		return 0;
	switch (event->kind) {
	case SIDEBAND_MMAP:
		return process_table_on_mmap(r->processes, event->pid, &event->mapping);
	case SIDEBAND_COMM:
		return process_table_on_comm(r->processes, event->pid, event->tid, event->text,
					     event->is_exec);
	case SIDEBAND_FORK:
		return on_fork_event(r, event);
	case SIDEBAND_EXIT:
		return on_exit_event(r, event);
	default:
		return 0;
	}
}

/* --- frames to locations --------------------------------------------------------------------- */

static int object_of_nowhere(struct recorder *r, const struct object **ret_object)
{
	const struct object nowhere = {
		.kind = OBJECT_JIT,
		.file_id = hash_mix64(UINT64_C(0x6e6f7768657265)),
		.path = "[unknown]",
	};
	int err = 0;

	if (!r->unknown)
		err = object_table_add(r->objects, &nowhere, &r->unknown);
	if (!err)
		*ret_object = r->unknown;
	return err;
}

static int enter_location(struct recorder *r, const struct object *object, uint64_t offset,
			  bool is_return, uint32_t *ret_location)
{
	const struct location location = {
		.file_id = object->file_id,
		.offset = offset,
		.object = object->number,
		.is_return = is_return,
	};

	return location_intern(r->locations, &location, ret_location);
}

static int user_location(struct recorder *r, const struct walk_frame *frame, uint32_t *ret_location)
{
	const struct object *object = frame->object;
	int err = object ? 0 : object_of_nowhere(r, &object);

	if (err)
		return err;
	return enter_location(r, object, frame->offset, frame->is_return, ret_location);
}

static void load_kernel_symbols(struct recorder *r)
{
	const struct kallsyms_options options = {.proc_root = "/proc", .sys_root = "/sys"};

	if (r->ksyms_tried)
		return;
	r->ksyms_tried = true;
	if (kallsyms_load(&options, &r->ksyms))
		return;
	r->kernel_parts = calloc(kallsyms_part_count(r->ksyms), sizeof(*r->kernel_parts));
	if (!r->kernel_parts) {
		kallsyms_free(r->ksyms);
		r->ksyms = NULL;
	}
}

static uint64_t name_hash(const char *name)
{
	uint64_t hash = 0;

	for (; *name; name++)
		hash = hash_mix64(hash + (uint8_t)*name + 1);
	return hash ? hash : 1;
}

/* The object of the kernel or module that holds an address. */
static int kernel_object(struct recorder *r, uint64_t address, const struct object **ret_object)
{
	const struct kallsyms_part *part;
	struct object object = {.kind = OBJECT_KERNEL};
	size_t index;
	int err;

	load_kernel_symbols(r);
	if (!r->ksyms)
		return object_of_nowhere(r, ret_object);
	part = kallsyms_part(r->ksyms, address, &index);
	if (!r->kernel_parts[index]) {
		object.path = (char *)part->name;
		object.address = part->start;
		if (strcmp(part->name, "[kernel.kallsyms]"))
			object.kind = OBJECT_MODULE;
		object.build_id_len = part->build_id_len;
		memcpy(object.build_id, part->build_id, sizeof(object.build_id));
		object.file_id = part->build_id_len ? elf_file_id_from_build_id(part->build_id,
										part->build_id_len)
						    : name_hash(part->name);
		err = object_table_add(r->objects, &object, &r->kernel_parts[index]);
		if (err)
			return err;
	}
	*ret_object = r->kernel_parts[index];
	return 0;
}

static int kernel_location(struct recorder *r, uint64_t address, bool is_return,
			   uint32_t *ret_location)
{
	const struct object *object;
	uint64_t lookup = address - is_return;
	int err = kernel_object(r, lookup, &object);

	if (err)
		return err;
	return enter_location(r, object, lookup - object->address, is_return, ret_location);
}

/* --- paths ----------------------------------------------------------------------------------- */

static struct last_path *path_of_thread(struct recorder *r, pid_t tid, size_t room)
{
	struct last_path *path;
	struct step *steps;

	HASH_FIND_INT(r->paths, &tid, path);
	if (!path) {
		path = calloc(1, sizeof(*path));
		if (!path)
			return NULL;
		path->tid = tid;
		HASH_ADD_INT(r->paths, tid, path);
	}
	if (path->room < room) {
		steps = reallocarray(path->steps, room + 32, sizeof(*steps));
		if (!steps)
			return NULL;
		path->steps = steps;
		path->room = room + 32;
	}
	return path;
}

void recorder_use_heights(struct recorder *r)
{
	r->has_heights = true;
}

/* Notes how much stack lies between frame i of the path and its caller, for the node that was
 * just entered for it. */
static int note_size(struct recorder *r, size_t i, uint32_t node)
{
	const struct location *l = location_at(r->locations, r->path[i]);

	if (!r->has_heights || node < r->sizes.count)
		return 0;
	if (VEC_RESERVE(&r->sizes, node + 1 - r->sizes.count) < 0)
		return -ENOMEM;
	while (r->sizes.count <= node)
		r->sizes.items[r->sizes.count++] = 0;
	if (i && l->is_return && r->heights[i - 1] && r->heights[i] > r->heights[i - 1])
		r->sizes.items[node] = r->heights[i] - r->heights[i - 1];
	return 0;
}

/* Enters r->path[from..count) below `node`. 0 or -ENOMEM; `steps` (NULL: not wanted) gets them. */
static int enter_steps(struct recorder *r, uint32_t node, size_t from, size_t count,
		       struct step *steps, uint32_t *ret_node)
{
	int err = 0;

	for (size_t i = from; i < count && !err; i++) {
		const struct location *l = location_at(r->locations, r->path[i]);

		err = trie_child(r->trie, node, r->path[i], location_id(l->file_id, l->offset),
				 &node);
		if (!err)
			err = note_size(r, i, node);
		if (steps)
			steps[i] = (struct step){
				.location = r->path[i], .node = node, .height = r->heights[i]};
	}
	*ret_node = node;
	return err;
}

/* Enters the path r->path[0..count); what it shares with the thread's is not looked up again. */
static int enter_path(struct recorder *r, pid_t tid, size_t count, uint32_t *ret_node)
{
	struct last_path *last;
	uint32_t node = TRIE_ROOT;
	size_t same = 0;

	HASH_FIND_INT(r->paths, &tid, last);
	while (last && same < count && same < last->count &&
	       last->steps[same].location == r->path[same])
		node = last->steps[same++].node;
	return enter_steps(r, node, same, count, NULL, ret_node);
}

/* --- samples --------------------------------------------------------------------------------- */

static bool find_code(void *arg, uint64_t address, const struct object **ret_object,
		      uint64_t *ret_offset)
{
	const struct place *place = arg;
	const struct mapping *m =
		process_table_mapping(place->recorder->processes, place->pid, address);

	if (!m)
		return false;
	*ret_object = m->object;
	*ret_offset = address - m->start + m->offset;
	return true;
}

static int keep_origin(struct recorder *r, const struct branches_path *path, uint32_t *ret_origin)
{
	*ret_origin = ORIGIN_WALKED;
	return path->origin.n_runs ? origin_intern(r->origins, &path->origin, ret_origin) : 0;
}

/* Holds the walk in r->frames against the sample's branch records. */
static int walk_with_branches(struct recorder *r, const struct stackd_header *header,
			      const struct walk_input *in, size_t *count,
			      enum stackd_end_reason *reason, uint32_t *ret_origin)
{
	struct branches_path path;
	int err;

	if (!branches_belong(r->branches, header) || header->flags & STACKD_JUDGE)
		return 0;
	err = branches_on_walk(r->branches, (pid_t)header->tid, in, r->frames,
			       DWARF_WALK_MAX_FRAMES, count, *reason, &path);
	if (!err)
		err = keep_origin(r, &path, ret_origin);
	if (!err)
		*reason = path.end;
	return err;
}

/* Walks the user stack of a STACK record into r->frames. */
static int walk(struct recorder *r, const struct stackd_stack_record *record, size_t *ret_count,
		enum stackd_end_reason *ret_reason, uint32_t *ret_origin)
{
	struct place place = {.recorder = r, .pid = (pid_t)record->pid};
	enum stackd_end_reason reason;
	struct walk_input in = {
		.regs = record->regs,
		.stack =
			(const uint8_t *)(record_kernel(&record->header) + record->header.n_kernel),
		.stack_bytes = record->stack_bytes,
		.stack_cut = record->header.flags & STACKD_STACK_CUT,
		.stack_holes = record->holes,
		.find = find_code,
		.arg = &place,
	};

	int err;

	*ret_count = 0;
	*ret_reason = STACKD_END_NO_USER;
	if (!(record->header.flags & STACKD_HAS_REGS))
		return 0;
	*ret_reason = STACKD_END_FOREIGN_ABI;
	if (record->header.flags & STACKD_COMPAT)
		return 0;
	reason = dwarf_walk_stack(r->walk, &in, r->frames, DWARF_WALK_MAX_FRAMES, ret_count);
	err = walk_with_branches(r, &record->header, &in, ret_count, &reason, ret_origin);
	if (err)
		return err;
	if (reason != STACKD_END_ENTRY && record->header.flags & STACKD_IN_EXEC) {
		*ret_count = 0; /* the old program's stack is gone, the new one's not begun */
		reason = STACKD_END_NO_USER;
	}
	*ret_reason = reason;
	return 0;
}

/* Makes known what the kernel half missed: a file's inode, or its table. Asked when the record is
 * read (`early`), the process table may be behind, so then the inode numbers must agree, which
 * they do on most filesystems; else it is asked again in the order of time. */
static int ask_for_tables(struct recorder *r, const struct stackd_stack_record *record, bool early)
{
	const struct stackd_mapping *unknown = &record->unknown;
	const struct mapping *m;

	if (!r->tables)
		return 0;
	if (record->wanted && record->wanted <= object_table_count(r->objects))
		return tables_want(r->tables, object_table_at(r->objects, record->wanted - 1),
				   NULL);
	if (!unknown->key.inode)
		return 0;
	/* A process that was just forked must not be read from /proc now: in the order of time it
	 * is still its parent's copy. */
	if (early && !process_table_knows(r->processes, (pid_t)record->pid))
		return 0;
	m = process_table_mapping(r->processes, (pid_t)record->pid, unknown->start);
	if (!m || m->object->kind == OBJECT_JIT ||
	    unknown->start - m->start + m->offset != unknown->offset)
		return 0;
	if (early && (!m->object->elf || elf_file_inode(m->object->elf) != unknown->key.inode))
		return 0;
	return tables_want(r->tables, m->object, &unknown->key);
}

int recorder_foresee_sample(struct recorder *r, const struct stackd_header *header)
{
	if (header->kind != STACKD_RECORD_STACK)
		return 0;
	return ask_for_tables(r, (const struct stackd_stack_record *)header, true);
}

/* The walked frames as r->path, root first. `end`: address of the stack's end, 0 if not known. */
static int user_path(struct recorder *r, size_t frames, uint64_t end)
{
	int err = 0;

	for (size_t i = 0; i < frames && !err; i++) {
		const struct walk_frame *frame = &r->frames[frames - 1 - i];
		uint64_t height = end > frame->slot ? end - frame->slot : 0;

		err = user_location(r, frame, &r->path[i]);
		r->heights[i] = frame->slot && height <= UINT32_MAX ? (uint32_t)height : 0;
	}
	return err;
}

/* Where the stack of a record ends, if its copy goes that far. */
static uint64_t stack_end(const struct stackd_stack_record *record)
{
	if (record->header.flags & (STACKD_STACK_CUT | STACKD_STACK_FAULT))
		return 0;
	return record->stack_bytes ? record->regs.r[STACKD_REG_RSP] + record->stack_bytes : 0;
}

/* Adds the kernel's frames to r->path. */
static int kernel_path(struct recorder *r, const uint64_t *kernel, size_t n_kernel, size_t *count)
{
	int err = 0;

	for (size_t i = n_kernel; i-- > 0 && !err;) {
		r->heights[*count] = 0;
		err = kernel_location(r, kernel[i], i > 0, &r->path[(*count)++]);
	}
	return err;
}

/* Shows a path that the judge found wrong, for whoever mends it (STACKD_DEBUG). */
static void show_path(const struct recorder *r, const char *title, const uint32_t *path,
		      size_t count)
{
	fprintf(stderr, "%s", title);
	for (size_t i = 0; i < count; i++) {
		const struct location *l = location_at(r->locations, path[i]);
		const struct object *object = object_table_at(r->objects, l->object);
		const char *slash = strrchr(object->path, '/');

		fprintf(stderr, " %s+0x%llx", slash ? slash + 1 : object->path,
			(unsigned long long)l->offset);
	}
	fputc('\n', stderr);
}

static void show_wrong(struct recorder *r, const struct stackd_header *header, size_t count)
{
	r->judged_wrong++;
	if (!getenv("STACKD_DEBUG"))
		return;
	fprintf(stderr, "judge: pid %u tid %u flags %x\n", record_pid(header), header->tid,
		header->flags);
	show_path(r, "  kernel:", r->judged.path, r->judged.count);
	show_path(r, "  libdw: ", r->path, count);
}

/* Holds the path of a judging STACK record against that of the WALKED one before it. Where the
 * judge could not finish (its copy is of one stack, and the thread is on another that a signal
 * handler has), what it saw must be the end of the path. */
static void judge(struct recorder *r, const struct stackd_header *header, size_t count,
		  enum stackd_end_reason reason)
{
	const struct judged *j = &r->judged;
	size_t missing = j->count - count;

	if (j->tid != header->tid || j->time_ns != header->time_ns)
		return;
	if (count > j->count || memcmp(j->path + missing, r->path, count * sizeof(r->path[0])) ||
	    (missing && reason == STACKD_END_ENTRY))
		show_wrong(r, header, count);
	else if (missing)
		r->judged_cut++;
	else
		r->judged_right++;
}

/* The walk of r->path, if a tag was read at the same moment. */
static int learn_tag(struct recorder *r, const struct stackd_header *header, size_t count,
		     enum stackd_end_reason reason)
{
	const struct stackd_header *tag = &r->tag.header;

	if (!r->tags || tag->tid != header->tid || tag->time_ns != header->time_ns)
		return 0;
	return tag_paths_learn(r->tags, &r->tag, r->path, count, reason);
}

/* The origin of a path of which all user frames but the leaf are those of a tag. */
static int tag_origin(struct recorder *r, uint32_t frames, uint32_t *ret_origin)
{
	const struct origin_run run = {
		.frames = frames - 1, .source = FRAME_SOURCE_TAG, .confidence = 100};
	const struct origin origin = {.is_whole = true, .n_runs = 1, .runs = &run};

	*ret_origin = ORIGIN_WALKED;
	return frames > 1 ? origin_intern(r->origins, &origin, ret_origin) : 0;
}

/* The origin of a walked path of so many user frames: how high on the stack it begins. One that
 * branch records have a part in has its origin already. */
static int walked_origin(struct recorder *r, size_t frames, uint32_t *origin)
{
	const struct origin walked = {.height = r->heights[0]};

	if (*origin != ORIGIN_WALKED || !r->has_heights || !frames ||
	    origin_count(r->origins) >= MAX_HEIGHT_ORIGINS)
		return 0;
	return origin_intern(r->origins, &walked, origin);
}

static int take_tag(struct recorder *r, const struct stackd_header *header,
		    struct store_sample *sample, bool *ret_is_sample)
{
	const struct stackd_tag_record *record = (const struct stackd_tag_record *)header;
	struct place place = {.recorder = r, .pid = (pid_t)record->pid};
	const struct object *object;
	struct tag_path path;
	uint64_t offset;
	size_t count = 0;
	int err;

	r->tag = *record;
	if (record->is_followed || !r->tags) {
		*ret_is_sample = false;
		return 0;
	}
	if (!find_code(&place, record->pc, &object, &offset)) {
		offset = record->pc;
		err = object_of_nowhere(r, &object);
		if (err)
			return err;
	}
	err = tag_paths_take(r->tags, record, object, offset, &path);
	if (!err)
		err = tag_origin(r, path.frames, &sample->origin);
	if (!err)
		err = kernel_path(r, record_kernel(header), header->n_kernel, &count);
	sample->end_reason = (uint8_t)path.reason;
	return err ? err : enter_steps(r, path.node, 0, count, NULL, &sample->node);
}

static int take_stack(struct recorder *r, const struct stackd_header *header,
		      struct store_sample *sample, bool *ret_is_sample)
{
	const struct stackd_stack_record *record = (const struct stackd_stack_record *)header;
	enum stackd_end_reason reason;
	size_t count;
	int err = walk(r, record, &count, &reason, &sample->origin);

	if (!err)
		err = user_path(r, count, stack_end(record));
	if (err)
		return err;
	sample->end_reason = (uint8_t)reason;
	if (header->flags & STACKD_JUDGE) {
		judge(r, header, count, sample->end_reason);
		*ret_is_sample = false;
		return 0;
	}
	err = ask_for_tables(r, record, false);
	if (!err)
		err = learn_tag(r, header, count, sample->end_reason);
	if (!err)
		err = walked_origin(r, count, &sample->origin);
	if (!err)
		err = kernel_path(r, record_kernel(header), header->n_kernel, &count);
	return err ? err : enter_path(r, (pid_t)header->tid, count, &sample->node);
}

/* The location of a frame in a WALKED record. -EBADMSG: no such thing. */
static int walked_location(struct recorder *r, const struct stackd_header *header,
			   const struct record_frame *frame, uint32_t *ret_location)
{
	struct place place = {.recorder = r, .pid = (pid_t)record_pid(header)};
	const struct object *object = NULL;
	uint64_t offset = frame->place & STACKD_LOCATION_MASK, base;
	uint32_t file = (uint32_t)(frame->place >> 48);

	if (frame->has_segment) {
		if (!r->tables || !tables_segment(r->tables, frame->segment, &file, &base))
			return -EBADMSG;
		offset = base + frame->place;
	}
	if (file == STACKD_FILE_NONE) {
		if (!find_code(&place, offset, &object, &offset)) {
			int err = object_of_nowhere(r, &object);

			if (err)
				return err;
		}
	} else if (file > object_table_count(r->objects)) {
		return -EBADMSG;
	} else {
		object = object_table_at(r->objects, file - 1);
	}
	return enter_location(r, object, offset, !frame->is_exact, ret_location);
}

/* The new frames of a WALKED record to r->path[kept..), root first. The number of all frames, or
 * -ENOMEM, -EBADMSG. */
static int walked_path(struct recorder *r, const struct stackd_header *header)
{
	size_t count = header->kept;
	struct record_frames frames;
	struct record_frame frame;
	int more = 1, err = 0;

	record_frames(header, r->has_heights, &frames);
	while (!err && count < DWARF_WALK_MAX_FRAMES &&
	       (more = record_frames_next(&frames, &frame)) > 0) {
		r->heights[count] = frame.height;
		err = walked_location(r, header, &frame, &r->path[count]);
		count += !err;
	}
	if (more < 0)
		err = more;
	r->below = frames.below;
	for (size_t i = header->kept, j = count; !err && i + 1 < j; i++) {
		uint32_t location = r->path[--j], height = r->heights[j];

		r->path[j] = r->path[i];
		r->heights[j] = r->heights[i];
		r->path[i] = location;
		r->heights[i] = height;
	}
	return err ? err : (int)count;
}

/* The part of the thread's path that a WALKED record keeps, to r->path. -EBADMSG: this record
 * does not build on the one that was last seen. */
static int kept_path(struct recorder *r, const struct stackd_header *header,
		     const struct last_path *last)
{
	if (header->kept &&
	    (header->kept > last->count || header->sequence != (uint8_t)(last->sequence + 1))) {
		r->out_of_sequence++;
		return -EBADMSG;
	}
	for (size_t i = 0; i < header->kept; i++) {
		r->path[i] = last->steps[i].location;
		r->heights[i] = last->steps[i].height;
	}
	return 0;
}

/* Holds the path of a WALKED record, r->path[0..*count), against the sample's branch records;
 * what they add at the root moves the rest up. */
static int path_with_branches(struct recorder *r, const struct stackd_header *header, size_t *count,
			      uint32_t *node, struct store_sample *sample)
{
	struct place place = {.recorder = r, .pid = (pid_t)record_pid(header)};
	const struct walk_input in = {.find = find_code, .arg = &place};
	struct branches_path path;
	int err;

	if (!branches_belong(r->branches, header) || !*count)
		return 0;
	err = branches_on_path(r->branches, (pid_t)header->tid, &in, r->locations, r->path, *count,
			       header->end_reason, &path);
	if (!err)
		err = keep_origin(r, &path, &sample->origin);
	if (err || !path.more)
		return err;
	if (path.more > DWARF_WALK_MAX_FRAMES - *count)
		path.more = DWARF_WALK_MAX_FRAMES - *count;
	memmove(r->path + path.more, r->path, *count * sizeof(r->path[0]));
	memmove(r->heights + path.more, r->heights, *count * sizeof(r->heights[0]));
	for (size_t i = 0; i < path.more && !err; i++) {
		struct location added = branches_added(r->branches, i);

		err = location_intern(r->locations, &added, &r->path[i]);
		r->heights[i] = 0;
	}
	*count += path.more;
	r->below = 0;
	sample->end_reason = (uint8_t)path.end;
	return err ? err : enter_steps(r, TRIE_ROOT, 0, *count, NULL, node);
}

static int take_walked(struct recorder *r, const struct stackd_header *header,
		       struct store_sample *sample)
{
	struct last_path *last =
		path_of_thread(r, (pid_t)header->tid, header->kept + header->bytes / 3u);
	bool remembered = !(header->flags & STACKD_NOT_REMEMBERED);
	uint32_t node = TRIE_ROOT;
	size_t count;
	int user, err;

	if (!last)
		return -ENOMEM;
	err = kept_path(r, header, last);
	user = err ? err : walked_path(r, header);
	if (user < 0)
		return user;
	r->judged.tid = header->tid;
	r->judged.time_ns = header->time_ns;
	r->judged.count = (size_t)user;
	memcpy(r->judged.path, r->path, (size_t)user * sizeof(r->path[0]));
	if (header->kept)
		node = last->steps[header->kept - 1].node;
	err = enter_steps(r, node, header->kept, (size_t)user, remembered ? last->steps : NULL,
			  &node);
	if (remembered) {
		last->count = (size_t)user;
		last->sequence = header->sequence;
	}
	count = (size_t)user;
	if (!err)
		err = learn_tag(r, header, count, header->end_reason);
	sample->end_reason = header->end_reason;
	if (!err)
		err = path_with_branches(r, header, &count, &node, sample);
	user = (int)count;
	if (!err)
		err = walked_origin(r, count, &sample->origin);
	if (!err)
		err = kernel_path(r, record_kernel(header), header->n_kernel, &count);
	return err ? err : enter_steps(r, node, (size_t)user, count, NULL, &sample->node);
}

static int keep_sample(struct recorder *r, const struct store_sample *sample)
{
	struct batch *b = r->batch;

	if (b->n_samples == r->samples_room) {
		size_t room = r->samples_room ? r->samples_room * 2 : 1024;
		struct store_sample *grown = reallocarray(b->samples, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		b->samples = grown;
		r->samples_room = room;
	}
	b->samples[b->n_samples++] = *sample;
	return 0;
}

/* 0, with whether it was a sample; -ENOMEM; -EBADMSG: the record cannot be used. */
static int take_sample(struct recorder *r, const struct stackd_header *header,
		       enum stackd_end_reason *ret_reason, bool *ret_is_sample)
{
	const struct thread *thread;
	struct store_sample sample = {
		.time_ns = header->time_ns,
		.period = record_period(header, r->usual_period),
		.cpu = header->cpu,
	};
	int err;

	thread = process_table_thread(r->processes, (pid_t)record_pid(header), (pid_t)header->tid);
	if (!thread)
		return -ENOMEM;
	sample.thread = thread->number;
	if (header->kind == STACKD_RECORD_BRANCHES) {
		if (r->branches)
			branches_keep(r->branches, (const struct stackd_branch_record *)header);
		*ret_is_sample = false;
		return 0;
	}
	if ((header->kind & STACKD_KIND_MASK) == STACKD_RECORD_WALKED)
		err = take_walked(r, header, &sample);
	else if (header->kind == STACKD_RECORD_TAG)
		err = take_tag(r, header, &sample, ret_is_sample);
	else
		err = take_stack(r, header, &sample, ret_is_sample);
	if (err || !*ret_is_sample)
		return err;
	*ret_reason = sample.end_reason;
	return keep_sample(r, &sample);
}

int recorder_sample(struct recorder *r, const struct stackd_header *header)
{
	enum stackd_end_reason reason = STACKD_END_LOST_RECORD;
	bool is_sample = true;
	int err = header ? take_sample(r, header, &reason, &is_sample) : 0;

	r->received++;
	if (is_sample)
		r->end_reasons[err ? STACKD_END_LOST_RECORD : reason]++;
	return err == -EBADMSG ? 0 : err;
}

int recorder_use_branches(struct recorder *r, bool is_call_stack, unsigned entries)
{
	return branches_new(r->walk, r->objects, is_call_stack, entries, &r->branches);
}

/* The kernel half knows the vDSO by an inode that no file has. */
void recorder_use_tables(struct recorder *r, struct tables *tables)
{
	const struct stackd_inode key = {.inode = UINT64_MAX};
	const uint64_t start = getauxval(AT_SYSINFO_EHDR); /* our own: there is one for all */
	const struct object_mapping vdso = {.path = "[vdso]", .start = start, .end = start + 1};
	const struct object *object;

	r->tables = tables;
	if (!object_table_resolve(r->objects, getpid(), &vdso, &object))
		tables_want(tables, object, &key);
}

/* --- batches --------------------------------------------------------------------------------- */

/* A grown array's new part: copies of `count` rows made by `fill`. */
static int take_objects(struct recorder *r, struct batch *b)
{
	uint32_t count = object_table_count(r->objects);

	b->objects = calloc(count - r->sent_objects + 1, sizeof(const struct object *));
	if (!b->objects)
		return -ENOMEM;
	for (; r->sent_objects < count; r->sent_objects++)
		b->objects[b->n_objects++] = object_table_at(r->objects, r->sent_objects);
	return 0;
}

static int take_locations(struct recorder *r, struct batch *b)
{
	uint32_t count = location_count(r->locations);

	b->locations = calloc(count - r->sent_locations + 1, sizeof(*b->locations));
	if (!b->locations)
		return -ENOMEM;
	for (; r->sent_locations < count; r->sent_locations++) {
		const struct location *l = location_at(r->locations, r->sent_locations);

		b->locations[b->n_locations++] = (struct store_location){
			.number = r->sent_locations,
			.object = l->object,
			.offset = l->offset,
			.is_return = l->is_return,
		};
	}
	return 0;
}

static int take_nodes(struct recorder *r, struct batch *b)
{
	uint32_t count = trie_count(r->trie);

	b->nodes = calloc(count - r->sent_nodes + 1, sizeof(*b->nodes));
	if (r->has_heights)
		b->sizes = calloc(count - r->sent_nodes + 1, sizeof(*b->sizes));
	if (!b->nodes || (r->has_heights && !b->sizes))
		return -ENOMEM;
	for (; r->sent_nodes < count; r->sent_nodes++) {
		const struct trie_node *node = trie_at(r->trie, r->sent_nodes);

		if (b->sizes && r->sent_nodes < r->sizes.count)
			b->sizes[b->n_nodes] = r->sizes.items[r->sent_nodes];
		b->nodes[b->n_nodes++] = (struct store_node){
			.parent = node->parent,
			.location = node->location,
		};
	}
	return 0;
}

static int take_origins(struct recorder *r, struct batch *b)
{
	uint32_t count = origin_count(r->origins);

	b->origins = calloc(count - r->sent_origins + 1, sizeof(*b->origins));
	if (!b->origins)
		return -ENOMEM;
	for (; r->sent_origins < count; r->sent_origins++) {
		struct origin *origin = &b->origins[b->n_origins];
		struct origin_run *runs;

		*origin = origin_at(r->origins, r->sent_origins);
		runs = calloc((size_t)origin->n_runs + 1, sizeof(*runs));
		if (!runs)
			return -ENOMEM;
		if (origin->n_runs)
			memcpy(runs, origin->runs, origin->n_runs * sizeof(*runs));
		origin->runs = runs;
		b->n_origins++;
	}
	return 0;
}

static int take_processes(struct recorder *r, struct batch *b)
{
	uint32_t count = process_table_process_count(r->processes);

	b->processes = calloc(count - r->sent_processes + 1, sizeof(*b->processes));
	if (!b->processes)
		return -ENOMEM;
	for (; r->sent_processes < count; r->sent_processes++) {
		const struct process *p = process_table_process_at(r->processes, r->sent_processes);
		struct store_process *row = &b->processes[b->n_processes++];

		*row = (struct store_process){
			.number = p->number,
			.pid = p->pid,
			.parent = p->parent,
			.comm = strdup(p->comm),
			.exe = p->exe ? strdup(p->exe) : NULL,
		};
		if (!row->comm || (p->exe && !row->exe))
			return -ENOMEM;
	}
	return 0;
}

static int take_threads(struct recorder *r, struct batch *b)
{
	uint32_t count = process_table_thread_count(r->processes);

	b->threads = calloc(count - r->sent_threads + 1, sizeof(*b->threads));
	if (!b->threads)
		return -ENOMEM;
	for (; r->sent_threads < count; r->sent_threads++) {
		const struct thread *t = process_table_thread_at(r->processes, r->sent_threads);
		struct store_thread *row = &b->threads[b->n_threads++];

		*row = (struct store_thread){
			.number = t->number,
			.process = t->process,
			.tid = t->tid,
			.comm = strdup(t->comm),
		};
		if (!row->comm)
			return -ENOMEM;
	}
	return 0;
}

struct batch *recorder_take_batch(struct recorder *r)
{
	struct batch *b = r->batch, *fresh = batch_new();

	if (!fresh)
		return NULL;
	if (take_objects(r, b) || take_locations(r, b) || take_nodes(r, b) || take_origins(r, b) ||
	    take_processes(r, b) || take_threads(r, b)) {
		batch_free(fresh);
		return NULL;
	}
	dwarf_walk_rest(r->walk);
	r->batch = fresh;
	r->samples_room = 0;
	return b;
}

const struct kallsyms *recorder_kallsyms(const struct recorder *r)
{
	return r->ksyms;
}

void recorder_counts(const struct recorder *r, struct recorder_counts *ret_counts)
{
	static const uint8_t is_complete[] = {
#define COMPLETE			    1
#define PARTIAL				    2
#define LOST				    0
#define STACKD_X(e, name, quality, meaning) [STACKD_END_##e] = quality,
		STACKD_END_REASONS(STACKD_X)
#undef STACKD_X
#undef COMPLETE
#undef PARTIAL
#undef LOST
	};
	struct dwarf_walk_stats walk;

	dwarf_walk_get_stats(r->walk, &walk);
	*ret_counts = (struct recorder_counts){
		.received = r->received,
		.collisions = trie_collisions(r->trie),
		.out_of_sequence = r->out_of_sequence,
		.judged_right = r->judged_right,
		.judged_wrong = r->judged_wrong,
		.judged_cut = r->judged_cut,
		.sideband_lost = r->sideband_lost,
		.tag_processes = r->tagger ? tagger_processes(r->tagger) : 0,
		.walked_frames = walk.frames,
		.cache_hits = walk.cache_hits,
		.cache_misses = walk.cache_misses,
		.frame_pointer_steps = walk.frame_pointer_steps,
	};
	if (r->tags)
		tag_paths_counts(r->tags, &ret_counts->tags);
	for (int i = 0; i < STACKD_END_COUNT; i++) {
		ret_counts->end_reasons[i] = r->end_reasons[i];
		if (is_complete[i] == 1)
			ret_counts->complete += r->end_reasons[i];
		else if (is_complete[i] == 2)
			ret_counts->partial += r->end_reasons[i];
		else
			ret_counts->lost += r->end_reasons[i];
	}
}
