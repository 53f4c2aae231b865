/* SPDX-License-Identifier: MIT */
/* Divides a profile into parts; see partition.h. Parts have the numbers of their processes, threads
 * or CPUs; commands, units, containers, labels and ranks are numbered in the order of their first
 * threads.
 */
#include "tree/partition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "base/text.h"
#include "model/cgroup_name.h"
#include "model/labels.h"
#include "model/profile_ranks.h"

static const char *partition_comm(const char *comm)
{
	return comm && *comm ? comm : "?";
}

const char *partition_word(enum partition_by by)
{
	static const char *const words[] = {
		[PARTITION_BY_PROCESS] = "process",	[PARTITION_BY_THREAD] = "thread",
		[PARTITION_BY_COMMAND] = "command",	[PARTITION_BY_CPU] = "cpu",
		[PARTITION_BY_UNIT] = "unit",		[PARTITION_BY_ALL] = "all",
		[PARTITION_BY_CONTAINER] = "container", [PARTITION_BY_RANK] = "rank",
		[PARTITION_BY_REASON] = "reason",	[PARTITION_BY_HOST] = "host",
		[PARTITION_BY_OBJECT] = "object",	[PARTITION_BY_SERVICE] = "service",
		[PARTITION_BY_NAMESPACE] = "namespace", [PARTITION_BY_POD] = "pod",
		[PARTITION_BY_LABEL] = "label",
	};

	return words[by];
}

const char *partition_label(const char *word)
{
	static const char begin[] = "label:";
	const size_t len = sizeof(begin) - 1;

	return strncmp(word, begin, len) == 0 && word[len] ? word + len : NULL;
}

int partition_by_word(const char *word, enum partition_by *ret_by)
{
	if (partition_label(word)) {
		*ret_by = PARTITION_BY_LABEL;
		return 0;
	}
	for (enum partition_by by = PARTITION_BY_PROCESS; by <= PARTITION_BY_ALL; by++) {
		if (by != PARTITION_BY_LABEL && strcmp(partition_word(by), word) == 0) {
			*ret_by = by;
			return 0;
		}
	}
	return -EINVAL;
}

/* Appends the name of a part of sums over many hosts, whose threads have labels (store/store.h). */
static void put_label(enum partition_by by, const struct store_labels *labels, struct buf *b)
{
	if (by == PARTITION_BY_HOST)
		text_put_raw(b, labels->host);
	else if (by == PARTITION_BY_RANK)
		profile_ranks_put(labels->rank, b);
	else if (by == PARTITION_BY_UNIT)
		text_put_raw(b, labels->unit ? labels->unit : "[no unit]");
	else if (by == PARTITION_BY_CONTAINER)
		text_put_raw(b, labels->container ? labels->container : "[no container]");
	else
		text_put_raw(b, partition_comm(labels->command));
}

/* Returns the label by which a partition divides; NULL: it does not divide by one. */
static const char *label_of(const struct partition *p)
{
	switch (p->by) {
	case PARTITION_BY_SERVICE:
	case PARTITION_BY_NAMESPACE:
	case PARTITION_BY_POD:
		return partition_word(p->by);
	case PARTITION_BY_LABEL:
		return p->label;
	default:
		return NULL;
	}
}

/* Appends the name of a thread's part. */
static void put_part(const struct partition *p, uint32_t index, struct buf *b)
{
	const struct store_tables *t = profile_tables(p->profile);
	const struct store_thread *thread = &t->threads[index];

	if (label_of(p)) {
		if (!labels_put(t, thread, label_of(p), b))
			text_printf(b, "[no %s]", label_of(p));
	} else if (thread->labels)
		put_label(p->by, thread->labels, b);
	else if (p->by == PARTITION_BY_HOST)
		text_put_raw(b, t->recording.host ? t->recording.host : "?");
	else if (p->by == PARTITION_BY_RANK)
		profile_ranks_put(p->ranks[thread->process], b);
	else if (p->by == PARTITION_BY_UNIT)
		cgroup_name_unit(thread->cgroup, b);
	else if (p->by == PARTITION_BY_CONTAINER)
		cgroup_name_container(thread->cgroup, b);
	else
		text_put_raw(b, partition_comm(thread->comm));
}

/* Numbers the parts by their names. *ret_parts is the number of parts. Returns 0 or -ENOMEM. */
static int named_parts(struct partition *p, uint32_t *ret_parts)
{
	const struct store_tables *t = profile_tables(p->profile);
	struct buf name = {0};
	struct strings *names;
	int err = strings_new(&names);

	for (uint32_t i = 0; err == 0 && i < t->n_threads; i++) {
		uint32_t known = strings_count(names);

		buf_clear(&name);
		put_part(p, i, &name);
		buf_put_u8(&name, '\0');
		err = name.failed ? -ENOMEM
				  : strings_intern(names, (const char *)name.data,
						   &p->part_of_thread[i]);
		if (err == 0 && p->part_of_thread[i] == known)
			p->first_of_part[known] = i;
	}
	if (err == 0)
		*ret_parts = strings_count(names);
	strings_free(names);
	buf_free(&name);
	return err;
}

static bool has_names(enum partition_by by)
{
	return by == PARTITION_BY_COMMAND || by == PARTITION_BY_UNIT ||
	       by == PARTITION_BY_CONTAINER || by == PARTITION_BY_RANK || by == PARTITION_BY_HOST ||
	       by == PARTITION_BY_SERVICE || by == PARTITION_BY_NAMESPACE ||
	       by == PARTITION_BY_POD || by == PARTITION_BY_LABEL;
}

static bool has_reasons(enum partition_by by)
{
	return by == PARTITION_BY_REASON || by == PARTITION_BY_OBJECT;
}

static int partition_number(struct partition *p, uint32_t *ret_parts)
{
	const struct store_tables *t = profile_tables(p->profile);

	*ret_parts = 1;
	if (has_names(p->by))
		return named_parts(p, ret_parts);
	for (uint32_t i = 0; i < t->n_threads && p->by != PARTITION_BY_ALL; i++)
		p->part_of_thread[i] = p->by == PARTITION_BY_THREAD ? i : t->threads[i].process;
	if (p->by != PARTITION_BY_ALL)
		*ret_parts = p->by == PARTITION_BY_THREAD ? t->n_threads : t->n_processes;
	return 0;
}

/* Returns the reason of an entry's wait; with PARTITION_BY_OBJECT, the object that the thread
 * waited for, if it is known. "on the CPU" if the entry is not a wait. NULL: memory is short. */
static const char *reason_of(const struct partition *p, const struct profile_entry *entry)
{
	size_t n, depth;
	const struct profile_frame *frames =
		profile_frames(p->profile, entry->node, entry->end_reason, entry->origin, &n);

	if (!frames)
		return NULL;
	depth = profile_wait_depth(frames, n);
	if (!depth)
		return "on the CPU";
	return frames[p->by == PARTITION_BY_OBJECT && depth < n ? depth : depth - 1].symbol->name;
}

/* Numbers the reasons, or objects, and sets ret_part[i] to the number that entry i has. Returns 0
 * or -ENOMEM. */
static int number_reasons(struct partition *p, const struct profile_entry *entries, size_t n,
			  uint32_t *ret_part)
{
	int err = strings_new(&p->reasons);

	for (size_t i = 0; err == 0 && i < n; i++) {
		const char *reason = reason_of(p, &entries[i]);

		err = reason ? strings_intern(p->reasons, reason, &ret_part[i]) : -ENOMEM;
	}
	return err;
}

static int number_entries(struct partition *p, const struct profile_entry *entries, size_t n,
			  uint32_t *ret_part, uint32_t *ret_parts)
{
	int err = 0;

	*ret_parts = 0;
	if (has_reasons(p->by))
		err = number_reasons(p, entries, n, ret_part);
	for (size_t i = 0; err == 0 && i < n; i++) {
		if (p->by == PARTITION_BY_CPU)
			ret_part[i] = entries[i].cpu;
		*ret_parts = ret_part[i] >= *ret_parts ? ret_part[i] + 1 : *ret_parts;
	}
	return err;
}

static int group(struct partition *p)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(p->profile, &n);
	uint32_t parts = 0, *of_entry;
	int err;

	if (p->by != PARTITION_BY_CPU && !has_reasons(p->by)) {
		err = partition_number(p, &parts);
		return err < 0 ? err
			       : groups_make(p->profile, p->part_of_thread, parts, &p->groups);
	}
	of_entry = calloc(n + 1, sizeof(*of_entry));
	if (!of_entry)
		return -ENOMEM;
	err = number_entries(p, entries, n, of_entry, &parts);
	if (err == 0)
		err = groups_make_by_entry(p->profile, of_entry, parts, &p->groups);
	free(of_entry);
	return err;
}

static int make(struct profile *profile, enum partition_by by, const char *label,
		struct partition *ret_partition)
{
	size_t n = (size_t)profile_tables(profile)->n_threads + 1;
	struct partition p = {.profile = profile, .by = by, .label = label};
	int err = -ENOMEM;

	p.part_of_thread = calloc(n, sizeof(*p.part_of_thread));
	p.first_of_part = calloc(n, sizeof(*p.first_of_part));
	p.ranks = calloc((size_t)profile_tables(profile)->n_processes + 1, sizeof(*p.ranks));
	if (p.part_of_thread && p.first_of_part && p.ranks)
		err = by == PARTITION_BY_RANK ? profile_ranks_read(profile, p.ranks) : 0;
	if (!err)
		err = group(&p);
	if (err < 0)
		partition_free(&p);
	else
		*ret_partition = p;
	return err;
}

int partition_make(struct profile *profile, enum partition_by by, struct partition *ret_partition)
{
	return make(profile, by, profile_filter(profile)->by_label, ret_partition);
}

int partition_make_label(struct profile *profile, const char *label,
			 struct partition *ret_partition)
{
	return make(profile, PARTITION_BY_LABEL, label, ret_partition);
}

void partition_free(struct partition *p)
{
	groups_free(&p->groups);
	free(p->part_of_thread);
	free(p->first_of_part);
	free(p->ranks);
	strings_free(p->reasons);
	*p = (struct partition){0};
}

uint32_t partition_of(const struct partition *p, uint32_t thread, uint16_t cpu)
{
	return p->by == PARTITION_BY_CPU ? cpu : p->part_of_thread[thread];
}

static void put_process(const struct store_process *process, bool utf8, struct buf *b)
{
	text_printf(b, "process %d ", process->pid);
	text_put_name(b, process->comm ? process->comm : "?", utf8);
}

static void put_named_part(const struct partition *p, uint32_t part, bool utf8, struct buf *b)
{
	struct buf name = {0};

	put_part(p, p->first_of_part[part], &name);
	buf_put_u8(&name, '\0');
	text_put_name(b, label_of(p) ? label_of(p) : partition_word(p->by), utf8);
	text_put_raw(b, " ");
	if (name.failed)
		b->failed = true;
	else
		text_put_name(b, (const char *)name.data, utf8);
	buf_free(&name);
}

void partition_put_name(const struct partition *p, uint32_t part, bool utf8, struct buf *b)
{
	const struct store_tables *t = profile_tables(p->profile);

	switch (p->by) {
	case PARTITION_BY_PROCESS:
		put_process(&t->processes[part], utf8, b);
		if (t->processes[part].exe && *t->processes[part].exe) {
			text_put_raw(b, " (");
			text_put_name(b, t->processes[part].exe, utf8);
			text_put_raw(b, ")");
		}
		break;
	case PARTITION_BY_THREAD:
		text_printf(b, "thread %d ", t->threads[part].tid);
		text_put_name(b, partition_comm(t->threads[part].comm), utf8);
		text_put_raw(b, " of ");
		put_process(&t->processes[t->threads[part].process], utf8, b);
		break;
	case PARTITION_BY_COMMAND:
	case PARTITION_BY_UNIT:
	case PARTITION_BY_CONTAINER:
	case PARTITION_BY_SERVICE:
	case PARTITION_BY_NAMESPACE:
	case PARTITION_BY_POD:
	case PARTITION_BY_LABEL:
	case PARTITION_BY_RANK:
	case PARTITION_BY_HOST:
		put_named_part(p, part, utf8, b);
		break;
	case PARTITION_BY_CPU:
		text_printf(b, "CPU %u", part);
		break;
	case PARTITION_BY_REASON:
	case PARTITION_BY_OBJECT:
		text_put_name(b, strings_at(p->reasons, part), utf8);
		break;
	case PARTITION_BY_ALL:
		text_put_raw(b, "all");
		break;
	}
}

const char *partition_whole(const struct partition *p)
{
	static const char *const wholes[][2] = {
		[PARTITION_BY_PROCESS] = {"this process's samples",
					  "this process's chosen samples"},
		[PARTITION_BY_THREAD] = {"this thread's samples", "this thread's chosen samples"},
		[PARTITION_BY_COMMAND] = {"this command's samples",
					  "this command's chosen samples"},
		[PARTITION_BY_CPU] = {"this CPU's samples", "this CPU's chosen samples"},
		[PARTITION_BY_UNIT] = {"this unit's samples", "this unit's chosen samples"},
		[PARTITION_BY_CONTAINER] = {"this container's samples",
					    "this container's chosen samples"},
		[PARTITION_BY_SERVICE] = {"this service's samples",
					  "this service's chosen samples"},
		[PARTITION_BY_NAMESPACE] = {"this namespace's samples",
					    "this namespace's chosen samples"},
		[PARTITION_BY_POD] = {"this pod's samples", "this pod's chosen samples"},
		[PARTITION_BY_LABEL] = {"this part's samples", "this part's chosen samples"},
		[PARTITION_BY_RANK] = {"this rank's samples", "this rank's chosen samples"},
		[PARTITION_BY_HOST] = {"this host's samples", "this host's chosen samples"},
		[PARTITION_BY_REASON] = {"this reason's samples", "this reason's chosen samples"},
		[PARTITION_BY_OBJECT] = {"this object's samples", "this object's chosen samples"},
		[PARTITION_BY_ALL] = {"all samples", "all chosen samples"},
	};

	return wholes[p->by][profile_is_filtered(p->profile)];
}

const char *partition_plural(const struct partition *p)
{
	static const char *const plurals[] = {
		[PARTITION_BY_PROCESS] = "processes", [PARTITION_BY_THREAD] = "threads",
		[PARTITION_BY_COMMAND] = "commands",  [PARTITION_BY_CPU] = "CPUs",
		[PARTITION_BY_UNIT] = "units",	      [PARTITION_BY_CONTAINER] = "containers",
		[PARTITION_BY_RANK] = "ranks",	      [PARTITION_BY_HOST] = "hosts",
		[PARTITION_BY_REASON] = "reasons",    [PARTITION_BY_OBJECT] = "objects",
		[PARTITION_BY_SERVICE] = "services",  [PARTITION_BY_NAMESPACE] = "namespaces",
		[PARTITION_BY_POD] = "pods",	      [PARTITION_BY_LABEL] = "parts",
		[PARTITION_BY_ALL] = "parts",
	};

	return plurals[p->by];
}

static void json_process(const struct store_process *process, struct json *j)
{
	json_put_int(j, "pid", process->pid);
	json_put_int(j, "parent", process->parent);
	json_put_string(j, "comm", process->comm);
	json_put_string(j, "exe", process->exe);
}

static void json_thread(const struct partition *p, uint32_t thread, struct json *j)
{
	const struct store_tables *t = profile_tables(p->profile);

	json_put_int(j, "tid", t->threads[thread].tid);
	json_put_int(j, "pid", t->processes[t->threads[thread].process].pid);
	json_put_string(j, "comm", t->threads[thread].comm);
}

static void json_named_part(const struct partition *p, uint32_t part, struct json *j)
{
	struct buf name = {0};

	put_part(p, p->first_of_part[part], &name);
	json_put_text(j, partition_word(p->by), &name);
}

void partition_json(const struct partition *p, uint32_t part, struct json *j)
{
	const struct store_tables *t = profile_tables(p->profile);

	switch (p->by) {
	case PARTITION_BY_PROCESS:
		json_process(&t->processes[part], j);
		break;
	case PARTITION_BY_THREAD:
		json_thread(p, part, j);
		break;
	case PARTITION_BY_COMMAND:
		json_put_string(j, "comm", partition_comm(t->threads[p->first_of_part[part]].comm));
		break;
	case PARTITION_BY_UNIT:
	case PARTITION_BY_CONTAINER:
	case PARTITION_BY_SERVICE:
	case PARTITION_BY_NAMESPACE:
	case PARTITION_BY_POD:
	case PARTITION_BY_LABEL:
	case PARTITION_BY_RANK:
	case PARTITION_BY_HOST:
		json_named_part(p, part, j);
		break;
	case PARTITION_BY_CPU:
		json_put_uint(j, "cpu", part);
		break;
	case PARTITION_BY_REASON:
	case PARTITION_BY_OBJECT:
		json_put_string(j, partition_word(p->by), strings_at(p->reasons, part));
		break;
	case PARTITION_BY_ALL:
		json_put_bool(j, "all", true);
		break;
	}
}
