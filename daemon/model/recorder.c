/* SPDX-License-Identifier: MIT */
/*
 * The way of a sample through the daemon; see recorder.h.
 *
 *   side-band event ──► process table, members, tagger
 *
 *   record ──► walks ──► path ──► paths ──► node ──► outbox ──► batch
 *                ▲         ▲
 *             places    tag_paths (the program's own tag), places (the kernel's frames)
 */
#include "daemon/model/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "daemon/model/judge.h"
#include "daemon/model/members.h"
#include "daemon/model/outbox.h"
#include "daemon/model/thread_paths.h"
#include "daemon/model/locator.h"
#include "proc/proc_fs.h"
#include "proc/process.h"
#include "daemon/capture/record.h"
#include "stack/end_reason.h"
#include "stack/location.h"
#include "stack/trie.h"
#include "daemon/model/walks.h"

/* Heights of first frames that are kept: beyond, a path has none. */
#define MAX_HEIGHT_ORIGINS (1u << 20)

struct recorder {
	struct object_table *objects;
	struct process_table *processes;
	struct location_table *locations;
	struct trie *trie;
	struct origin_table *origins;

	struct members *members;
	struct locator *places;
	struct walks *walks;
	struct thread_paths *paths;
	struct judge *judge; /* NULL: walks are not judged */
	struct outbox *outbox;
	struct tables *tables; /* borrowed; NULL: none */
	struct tagger *tagger; /* NULL: tags are not looked at */
	struct tag_paths *tags;

	uint32_t usual_period; /* of a sample */
	bool has_heights;
	struct path path;	      /* of the sample at hand */
	struct stackd_tag_record tag; /* read along with the walk that comes next */

	uint64_t received, sideband_lost;
	uint64_t end_reasons[STACKD_END_COUNT];
};

/* --- making and freeing ---------------------------------------------------------------------- */

static int make_tables(struct recorder *r)
{
	int err = object_table_new("/proc", &r->objects);

	if (!err)
		err = process_table_new(r->objects, "/proc", &r->processes);
	if (!err)
		err = location_table_new(&r->locations);
	if (!err)
		err = trie_new(&r->trie);
	return err ? err : origin_table_new(&r->origins);
}

static int make_parts(struct recorder *r)
{
	int err = locator_new(r->objects, r->processes, r->locations, &r->places);
	const struct walks_options walks = {r->objects, r->locations, r->origins, r->places,
					    r->trie};

	if (!err)
		err = walks_new(&walks, &r->walks);
	if (!err)
		err = thread_paths_new(r->trie, r->locations, &r->paths);
	if (!err)
		err = outbox_new(&(struct outbox_tables){.objects = r->objects,
							 .locations = r->locations,
							 .trie = r->trie,
							 .origins = r->origins,
							 .processes = r->processes,
							 .paths = r->paths},
				 &r->outbox);
	return err;
}

int recorder_new(bool everyone, uint32_t usual_period, struct recorder **ret_recorder)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->usual_period = usual_period;
	err = members_new(everyone, &r->members);
	if (!err)
		err = make_tables(r);
	if (!err)
		err = make_parts(r);
	if (err) {
		recorder_free(r);
		return err;
	}
	*ret_recorder = r;
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	tag_paths_free(r->tags);
	tagger_free(r->tagger);
	outbox_free(r->outbox);
	judge_free(r->judge);
	thread_paths_free(r->paths);
	walks_free(r->walks);
	locator_free(r->places);
	origin_table_free(r->origins);
	trie_free(r->trie);
	location_table_free(r->locations);
	process_table_free(r->processes);
	object_table_free(r->objects);
	members_free(r->members);
	free(r);
}

void recorder_use_heights(struct recorder *r)
{
	r->has_heights = true;
	walks_use_heights(r->walks);
	thread_paths_use_heights(r->paths);
	outbox_use_sizes(r->outbox);
}

int recorder_use_judge(struct recorder *r)
{
	return judge_new(r->objects, r->locations, &r->judge);
}

int recorder_use_branches(struct recorder *r, bool is_call_stack, unsigned entries)
{
	return walks_use_branches(r->walks, is_call_stack, entries);
}

/* The kernel half knows the vDSO by an inode that no file has. */
void recorder_use_tables(struct recorder *r, struct tables *tables)
{
	const struct stackd_inode key = {.inode = UINT64_MAX};
	const uint64_t start = getauxval(AT_SYSINFO_EHDR); /* our own: there is one for all */
	const struct object_mapping vdso = {.path = "[vdso]", .start = start, .end = start + 1};
	const struct object *object;

	r->tables = tables;
	walks_use_tables(r->walks, tables);
	if (!object_table_resolve(r->objects, getpid(), &vdso, &object))
		tables_want(tables, object, &key);
}

/* --- processes ------------------------------------------------------------------------------- */

static int look_for_tags(void *arg, pid_t pid)
{
	struct recorder *r = arg;

	return r->tagger ? tagger_load(r->tagger, r->processes, pid) : 0;
}

int recorder_load_process(struct recorder *r, pid_t pid)
{
	int err = members_add(r->members, pid);

	if (!err)
		err = process_table_load(r->processes, pid);
	return err ? err : look_for_tags(r, pid);
}

int recorder_load_all(struct recorder *r)
{
	int loaded = process_table_load_all(r->processes);

	if (loaded < 0 || !r->tagger)
		return loaded < 0 ? loaded : 0;
	return proc_fs_each_process("/proc", look_for_tags, r);
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

bool recorder_may_rest(const struct recorder *r)
{
	return !r->tagger || tagger_is_idle(r->tagger);
}

static int foresee_tags(struct recorder *r, const struct sideband_event *event,
			const struct object *object)
{
	return r->tagger ? tagger_on_event(r->tagger, event, object) : 0;
}

int recorder_foresee(struct recorder *r, const struct sideband_event *event)
{
	const struct object *object;
	int err;

	/* Children become members here already, so that their first mappings are seen in time.
	 * (Rings are read one after the other, so a grandchild can come first: then it becomes one
	 * in the order of time.) */
	if (event->kind == SIDEBAND_FORK && members_has(r->members, event->parent_pid)) {
		err = members_add(r->members, event->pid);
		return err ? err : foresee_tags(r, event, NULL);
	}
	if (!members_has(r->members, event->pid))
		return 0;
	if (event->kind != SIDEBAND_MMAP)
		return foresee_tags(r, event, NULL);
	err = object_table_resolve(r->objects, event->pid, &event->mapping, &object);
	if (!err)
		err = foresee_tags(r, event, object);
	if (!err && r->tables && !members_are_all(r->members) && object->elf)
		err = tables_prepare(r->tables, object);
	return err == -ENOMEM ? err : 0;
}

/* The kernel had no room for some events: what is known of the members is read again. */
static int reload(void *arg, pid_t pid)
{
	struct recorder *r = arg;

	return recorder_load_process(r, pid) == -ENOMEM ? -ENOMEM : 0;
}

static int reload_members(struct recorder *r)
{
	return members_are_all(r->members) ? recorder_load_all(r)
					   : members_each(r->members, reload, r);
}

static int on_exit_event(struct recorder *r, const struct sideband_event *event)
{
	int err = process_table_on_exit(r->processes, event->pid, event->tid);

	thread_paths_on_exit(r->paths, event->tid);
	if (!err && !process_table_knows(r->processes, event->pid))
		members_remove(r->members, event->pid); /* that was its last thread */
	return err;
}

static int on_fork_event(struct recorder *r, const struct sideband_event *event)
{
	thread_paths_forget(r->paths, event->tid);
	walks_forget(r->walks, event->tid);
	return process_table_on_fork(r->processes, event->pid, event->tid, event->parent_pid,
				     event->parent_tid);
}

int recorder_event(struct recorder *r, const struct sideband_event *event)
{
	if (event->kind == SIDEBAND_LOST) {
		r->sideband_lost += event->lost;
		return reload_members(r);
	}
	if (event->kind == SIDEBAND_FORK && members_has(r->members, event->parent_pid) &&
	    members_add(r->members, event->pid))
		return -ENOMEM;
	if (!members_has(r->members, event->pid))
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

/* --- samples --------------------------------------------------------------------------------- */

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

/* Adds the kernel's frames to r->path. */
static int add_kernel_path(struct recorder *r, const struct stackd_header *header)
{
	const uint64_t *kernel = record_kernel(header);
	struct path *path = &r->path;
	int err = 0;

	for (size_t i = header->n_kernel; i-- > 0 && !err;) {
		path->heights[path->count] = 0;
		err = locator_of_kernel(r->places, kernel[i], i > 0,
					&path->locations[path->count++]);
	}
	return err;
}

/* The walk of r->path, if a tag was read at the same moment. */
static int learn_tag(struct recorder *r, const struct stackd_header *header,
		     enum stackd_end_reason reason)
{
	const struct stackd_header *tag = &r->tag.header;

	if (!r->tags || tag->tid != header->tid || tag->time_ns != header->time_ns)
		return 0;
	return tag_paths_learn(r->tags, &r->tag, r->path.locations, r->path.count, reason);
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

/* The origin of the walked path r->path: how high on the stack it begins. One that branch records
 * have a part in has its origin already. */
static int walked_origin(struct recorder *r, uint32_t *origin)
{
	const struct origin walked = {.height = r->path.heights[0]};

	if (*origin != ORIGIN_WALKED || !r->has_heights || !r->path.count ||
	    origin_count(r->origins) >= MAX_HEIGHT_ORIGINS)
		return 0;
	return origin_intern(r->origins, &walked, origin);
}

static int take_tag(struct recorder *r, const struct stackd_header *header,
		    struct store_sample *sample, bool *ret_is_sample)
{
	const struct stackd_tag_record *record = (const struct stackd_tag_record *)header;
	const struct object *object;
	struct tag_path path;
	uint64_t offset;
	int err;

	r->tag = *record;
	if (record->is_followed || !r->tags) {
		*ret_is_sample = false;
		return 0;
	}
	if (!locator_find(r->places, (pid_t)record->pid, record->pc, &object, &offset)) {
		offset = record->pc;
		err = locator_nowhere(r->places, &object);
		if (err)
			return err;
	}
	err = tag_paths_take(r->tags, record, object, offset, &path);
	if (!err)
		err = tag_origin(r, path.frames, &sample->origin);
	r->path.count = 0;
	if (!err)
		err = add_kernel_path(r, header);
	sample->end_reason = (uint8_t)path.reason;
	return err ? err : thread_paths_enter(r->paths, &r->path, 0, path.node, &sample->node);
}

static int take_stack(struct recorder *r, const struct stackd_header *header,
		      struct store_sample *sample, bool *ret_is_sample)
{
	const struct stackd_stack_record *record = (const struct stackd_stack_record *)header;
	struct walks_end end;
	int err = walks_of_stack(r->walks, record, &r->path, &end);

	if (err)
		return err;
	if (header->flags & STACKD_JUDGE) {
		judge_hold(r->judge, header, &r->path, end.reason);
		*ret_is_sample = false;
		return 0;
	}
	err = ask_for_tables(r, record, false);
	if (!err)
		err = learn_tag(r, header, end.reason);
	if (!err)
		err = walked_origin(r, &end.origin);
	if (!err)
		err = add_kernel_path(r, header);
	sample->end_reason = (uint8_t)end.reason;
	sample->origin = end.origin;
	return err ? err
		   : thread_paths_enter_whole(r->paths, (pid_t)header->tid, &r->path,
					      &sample->node);
}

static int take_walked(struct recorder *r, const struct stackd_header *header,
		       struct store_sample *sample)
{
	struct walks_end end = {header->end_reason, ORIGIN_WALKED};
	bool has_new_root;
	uint32_t node;
	size_t user;
	int err = thread_paths_recall(r->paths, header, &r->path, &node);

	if (!err)
		err = walks_of_walked(r->walks, header, &r->path);
	if (err)
		return err;
	judge_expect(r->judge, header, &r->path);
	err = thread_paths_enter_walked(r->paths, header, &r->path, node, &node);
	if (!err)
		err = learn_tag(r, header, end.reason);
	if (!err)
		err = walks_add_branches(r->walks, header, &r->path, &end, &has_new_root);
	if (!err && has_new_root)
		err = thread_paths_enter(r->paths, &r->path, 0, TRIE_ROOT, &node);
	if (!err)
		err = walked_origin(r, &end.origin);
	user = r->path.count;
	if (!err)
		err = add_kernel_path(r, header);
	sample->end_reason = (uint8_t)end.reason;
	sample->origin = end.origin;
	return err ? err : thread_paths_enter(r->paths, &r->path, user, node, &sample->node);
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
		walks_keep_branches(r->walks, (const struct stackd_branch_record *)header);
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
	return outbox_keep(r->outbox, &sample);
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

/* --- what has come of it --------------------------------------------------------------------- */

struct batch *recorder_take_batch(struct recorder *r)
{
	walks_rest(r->walks);
	return outbox_take(r->outbox);
}

const struct kallsyms *recorder_kallsyms(const struct recorder *r)
{
	return locator_kallsyms(r->places);
}

void recorder_counts(const struct recorder *r, struct recorder_counts *ret_counts)
{
	const struct judge_counts judged = judge_counts(r->judge);
	struct dwarf_walk_stats walk;

	walks_get_stats(r->walks, &walk);
	*ret_counts = (struct recorder_counts){
		.received = r->received,
		.collisions = trie_collisions(r->trie),
		.out_of_sequence = thread_paths_out_of_sequence(r->paths),
		.judged_right = judged.right,
		.judged_wrong = judged.wrong,
		.judged_cut = judged.cut,
		.sideband_lost = r->sideband_lost,
		.tag_processes = r->tagger ? tagger_processes(r->tagger) : 0,
		.walked_frames = walk.frames,
		.cache_hits = walk.cache_hits,
		.cache_misses = walk.cache_misses,
		.frame_pointer_steps = walk.frame_pointer_steps,
	};
	if (r->tags)
		tag_paths_counts(r->tags, &ret_counts->tags);
	for (unsigned i = 0; i < STACKD_END_COUNT; i++) {
		uint64_t *const sums[] = {
			[END_COMPLETE] = &ret_counts->complete,
			[END_PARTIAL] = &ret_counts->partial,
			[END_LOST] = &ret_counts->lost,
		};

		ret_counts->end_reasons[i] = r->end_reasons[i];
		*sums[end_reason_quality((uint8_t)i)] += r->end_reasons[i];
	}
}
