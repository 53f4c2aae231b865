/* SPDX-License-Identifier: MIT */
/*
 * Renumbers the records, so that they do not grow with the age of a daemon; see process.h.
 *
 * A record stays if a pid or tid still refers to it: those of everything that runs, and of what
 * ended a short while ago (PROCESS_TABLE_ENDED_KEPT).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "proc/process_table.h"

/* The records that stay, and the new number of each old one. */
struct renumbering {
	struct process *processes;
	struct thread *threads;
	uint32_t n_processes, n_threads;
	/* By old number; PROCESS_TABLE_GONE: it does not stay. */
	uint32_t *process_numbers, *thread_numbers;
};

static void release(struct renumbering *r)
{
	free(r->processes);
	free(r->threads);
	free(r->process_numbers);
	free(r->thread_numbers);
}

static uint32_t *all_gone(uint32_t count)
{
	uint32_t *numbers = vec_alloc((size_t)count + 1, sizeof(*numbers));

	for (uint32_t i = 0; numbers && i < count; i++)
		numbers[i] = PROCESS_TABLE_GONE;
	return numbers;
}

static int prepare(const struct process_table *table, struct renumbering *ret)
{
	size_t tasks = HASH_COUNT(table->tasks), instances = HASH_COUNT(table->instances);

	/* A task's thread record can belong to a process that no pid refers to any more, so each
	 * task can keep two process records: that of its own process, and that of its thread
	 * record's process. */
	*ret = (struct renumbering){
		.processes = vec_alloc(instances + 2 * tasks + 1, sizeof(*ret->processes)),
		.threads = vec_alloc(tasks + 1, sizeof(*ret->threads)),
		.process_numbers = all_gone(table->n_processes),
		.thread_numbers = all_gone(table->n_threads),
	};
	if (ret->processes && ret->threads && ret->process_numbers && ret->thread_numbers)
		return 0;
	release(ret);
	return -ENOMEM;
}

static uint32_t keep_process(const struct process_table *table, struct renumbering *r, uint32_t old)
{
	uint32_t *number = &r->process_numbers[old];

	if (*number == PROCESS_TABLE_GONE) {
		*number = r->n_processes++;
		r->processes[*number] = table->processes[old];
		r->processes[*number].number = *number;
	}
	return *number;
}

static uint32_t keep_thread(const struct process_table *table, struct renumbering *r, uint32_t old)
{
	uint32_t *number = &r->thread_numbers[old];
	struct thread *thread;

	if (*number == PROCESS_TABLE_GONE) {
		*number = r->n_threads++;
		thread = &r->threads[*number];
		*thread = table->threads[old];
		thread->number = *number;
		thread->process = keep_process(table, r, thread->process);
	}
	return *number;
}

static void renumber_ended(struct ended *ring, size_t size, const uint32_t *numbers)
{
	for (size_t i = 0; i < size; i++) {
		if (!ring[i].id)
			continue;
		ring[i].number = numbers[ring[i].number];
		if (ring[i].number == PROCESS_TABLE_GONE)
			ring[i] = (struct ended){0};
	}
}

static void renumber_rows(uint32_t *rows, size_t count, const uint32_t *numbers)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i] != PROCESS_TABLE_GONE)
			rows[i] = numbers[rows[i]];
	}
}

/* Replaces the records by those that stay, and frees the others' names. */
static void replace(struct process_table *table, struct renumbering *r)
{
	for (uint32_t i = 0; i < table->n_processes; i++) {
		if (r->process_numbers[i] == PROCESS_TABLE_GONE)
			free(table->processes[i].exe);
	}
	free(table->processes);
	free(table->threads);
	table->processes = r->processes;
	table->threads = r->threads;
	table->processes_cap = table->n_processes = r->n_processes;
	table->threads_cap = table->n_threads = r->n_threads;
	r->processes = NULL;
	r->threads = NULL;
}

int process_table_renumber(struct process_table *table)
{
	struct instance *instance, *next_instance;
	struct task *task, *next_task;
	struct renumbering r;
	int err = prepare(table, &r);

	if (err < 0)
		return err;
	HASH_ITER (hh, table->instances, instance, next_instance)
		instance->number = keep_process(table, &r, instance->number);
	HASH_ITER (hh, table->tasks, task, next_task) {
		task->number = keep_thread(table, &r, task->number);
		task->process = keep_process(table, &r, task->process);
	}
	renumber_ended(table->ended_instances, PROCESS_TABLE_ENDED_KEPT, r.process_numbers);
	renumber_ended(table->ended_mappings, PROCESS_TABLE_MAPPINGS_KEPT, r.process_numbers);
	renumber_ended(table->ended_tasks, PROCESS_TABLE_ENDED_KEPT, r.thread_numbers);
	renumber_rows(table->process_rows.items, table->process_rows.count, r.process_numbers);
	renumber_rows(table->thread_rows.items, table->thread_rows.count, r.thread_numbers);
	replace(table, &r);
	release(&r);
	return 0;
}
