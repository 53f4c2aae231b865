/* SPDX-License-Identifier: MIT */
/*
 * Processes that share their memory: clone(CLONE_VM) without CLONE_THREAD, vfork(), posix_spawn().
 * A mapping of one of them is a mapping of all. Such processes are linked in a ring, and all refer
 * to the same set of mappings; a process whose mappings change gives the new set to the others.
 */
#include "proc/process_table.h"

void process_table_share_by(struct process_table *table, process_shares_fn *shares, void *arg)
{
	table->shares = shares;
	table->shares_arg = arg;
}

void process_table_spread(struct instance *instance)
{
	for (struct instance *i = instance->peer; i != instance; i = i->peer) {
		if (i->maps == instance->maps)
			continue;
		mapping_set_unref(i->maps);
		i->maps = mapping_set_ref(instance->maps);
	}
}

bool process_table_is_peer(const struct instance *instance, pid_t pid)
{
	const struct instance *i = instance;

	do {
		if (i->pid == pid)
			return true;
		i = i->peer;
	} while (i != instance);
	return false;
}

void process_table_leave(struct instance *instance)
{
	struct instance *before = instance->peer;

	while (before->peer != instance)
		before = before->peer;
	before->peer = instance->peer;
	instance->peer = instance;
}

void process_table_join(struct process_table *table, struct instance *instance, pid_t pid)
{
	struct instance *other = process_table_find(table, pid), *next;

	if (!table->shares || !other || other == instance || !process_table_is_alive(other) ||
	    process_table_is_peer(instance, pid) ||
	    !table->shares(table->shares_arg, instance->pid, pid))
		return;
	next = other->peer;
	other->peer = instance->peer;
	instance->peer = next;
	process_table_spread(instance);
}
